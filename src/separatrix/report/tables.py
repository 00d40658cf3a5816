"""Tables of the page as rows of text: data, leaderboard, test scores, warnings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.discriminant.covariance_tests import MardiaTest
from separatrix.estimators.inference import Inference, p_phrase, p_text
from separatrix.formatting import (
    exact,
    join_words,
    number,
    plural,
    score_info,
    score_text,
    spread_text,
    value_text,
)
from separatrix.messages import WARNINGS
from separatrix.optimize.convex import Certificate
from separatrix.pictures.predictive import level_text
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.schema import Kind, unit_weights
from separatrix.study import findings, result
from separatrix.study.candidates import display_name
from separatrix.study.description import BinarySVMFit, ClassCoefficients, OddsRatios
from separatrix.study.summary import best_first, label_of

#: Measures of one class against the others.
MACRO = ("auc", "f1")
#: Longer tables are cut here, and say so.
MAX_LINES = 100


@dataclass(frozen=True)
class Cell:
    """Text as shown, the number it sorts by, and whether it is aligned right."""

    text: str
    value: float | None = None
    right: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a table: its heading cell with a badge and a note, then the other cells.

    A ``fenced`` line stands apart from those above it, and stays below them when they are sorted.
    """

    name: str
    cells: tuple[Cell, ...]
    badge: str = ""
    label: str = ""
    strong: bool = False
    fenced: bool = False


@dataclass(frozen=True)
class ReportTable:
    """Headings (text, whether aligned right), lines, and a note on what was left out."""

    headings: tuple[tuple[str, bool], ...]
    lines: tuple[Line, ...]
    note: str = ""


def figure(value: float | None, text: str | None = None) -> Cell:
    """A number aligned right, as ``text`` or in the usual format."""
    number_ = math.nan if value is None else float(value)
    return Cell(number(number_) if text is None else text, number_, right=True)


def data_table(columns: tuple[ColumnProfile, ...], target: str = "") -> ReportTable:
    """Every column: kind, missing values, range or levels, mean and standard deviation."""
    lines = tuple(
        Line(c.name, _column_cells(c), "target" if c.name == target else "")
        for c in columns[:MAX_LINES]
    )
    note = ""
    if len(columns) > MAX_LINES:
        note = f"The first {MAX_LINES} of {len(columns):,} columns are shown."
    heads = ("Column", "Kind", "Missing", "Range or levels", "Mean", "Std. deviation")
    return ReportTable(
        tuple((h, h in {"Missing", "Mean", "Std. deviation"}) for h in heads), lines, note
    )


def _column_cells(column: ColumnProfile) -> tuple[Cell, ...]:
    share = 100 * column.missing / column.count if column.count else 0.0
    missing = f"{column.missing:,} ({share:.1f} %)" if column.missing else "0"
    if column.kind == Kind.NUMERIC:
        display = column.display
        ends = f"{value_text(column.minimum, display)} to {value_text(column.maximum, display)}"
        unknown = "not stored" if math.isfinite(column.mean) else "no values"
        span = ends if math.isfinite(column.minimum) else unknown
        moments = (
            figure(column.mean, value_text(column.mean, display) if display else None),
            figure(column.std, spread_text(column.std, display)),
        )
    else:
        span, moments = _levels(column), (Cell("", right=True), Cell("", right=True))
    return (
        Cell(column.display or str(column.kind)),
        figure(column.missing, missing),
        Cell(span),
        *moments,
    )


def _levels(column: ColumnProfile, most: int = 5) -> str:
    if not column.levels and math.isfinite(column.mean):
        return f"true in {100 * column.mean:.1f} %"
    ordered = sorted(column.levels.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{level} ({count:,})" for level, count in ordered[:most])
    rest = (column.distinct or len(ordered)) - most
    return f"{text} and {rest:,} more" if rest > 0 else text or "no values"


def data_sentence(n: int, columns: tuple[ColumnProfile, ...], target: str = "") -> str:
    """Numbers of rows, columns and missing values."""
    features = [c for c in columns if c.name != target]
    kinds = [f"{m} {kind}" for kind in Kind if (m := sum(c.kind == kind for c in features))]
    incomplete = [c for c in columns if c.missing]
    use = "as features" if target else "to cluster by"
    text = f"{plural(n, 'row')}, {plural(len(features), 'column')} {use} ({join_words(kinds)})."
    if not incomplete:
        return f"{text} No value is missing."
    worst = max(incomplete, key=lambda c: c.missing / max(c.count, 1))
    share = 100 * worst.missing / max(worst.count, 1)
    return (
        f"{text} {plural(len(incomplete), 'column')} with missing values, most of them in "
        f"{worst.name} ({share:.1f} %)."
    )


def leaderboard_table(study: result.Study) -> ReportTable:
    """Candidates with mean over the folds, 95 % interval, and tuned hyperparameters.

    Below them, fenced off, the reference, which is not a candidate.
    """
    lines = []
    other = next((e.secondary.metric for e in study.leaderboard if e.secondary is not None), None)
    fenced = [] if study.reference is None else [study.reference]
    for entry in (*best_first(study.leaderboard), *fenced):
        tuned = [f"{key} = {_range(values)}" for key, values in entry.hyperparameters.items()]
        if entry.calibrated is not None:
            tuned.append(f"{entry.calibrated} calibration")
        won = entry.name == study.winner
        cells = (
            figure(entry.mean, score_text(entry.mean, entry.metric)),
            interval(*fold_interval(entry), entry.metric),
            *_secondary(entry, other),
            Cell(
                "" if entry in fenced else "; ".join(t for t in (", ".join(tuned), entry.note) if t)
            ),
        )
        badge = "chosen" if won else ("reference, not a candidate" if entry in fenced else "")
        name, label = display_name(entry.name), label_of(entry)
        lines.append(Line(name, cells, badge, label, strong=won, fenced=entry in fenced))
    short = score_info(study.leaderboard[0].metric).short if study.leaderboard else "Score"
    heads = [("Model", False), (f"{short}, cross-validated", True), ("95 % interval", True)]
    if other is not None:
        heads.append((score_info(other).short, True))
    return ReportTable((*heads, ("Tuned hyperparameters", False)), tuple(lines))


def _secondary(entry: result.Entry, metric: str | None) -> tuple[Cell, ...]:
    """The secondary metric; an empty cell where only some candidates have it."""
    if metric is None:
        return ()
    if entry.secondary is None:
        return (Cell("", math.nan, right=True),)
    return (figure(entry.secondary.mean, score_text(entry.secondary.mean, metric)),)


def _range(values: tuple[Any, ...]) -> str:
    """A tuned value; the range of one that differs between the folds, or the names of several."""
    if any(isinstance(v, str) or v is None for v in values):
        return " or ".join(sorted({str(v) for v in values}))
    ends = dict.fromkeys(number(float(v), 2) for v in (min(values), max(values)))
    return " to ".join(ends)


def fold_interval(entry: result.Entry) -> tuple[float, float]:
    """Mean ± 1.96 standard errors over the rows."""
    if not entry.folds or not math.isfinite(entry.standard_error):
        return math.nan, math.nan
    reach = 1.96 * entry.standard_error
    low, high = entry.mean - reach, entry.mean + reach
    known = score_info(entry.metric)
    if not known.higher_is_better or known.is_rate:
        low = max(low, 0.0)
    return low, min(high, 1.0) if known.is_rate else high


def score_table(study: result.Study) -> ReportTable:
    """Scores on the test set, of the model and of the baseline."""
    lines = [
        Line(
            _score_name(study, score.metric),
            (*score_cells(score), *score_cells(findings.counterpart(study, score.metric))),
        )
        for score in study.test
    ]
    heads = (("Measure", False), ("Model", True), ("95 % interval", True), ("Baseline", True))
    return ReportTable((*heads, ("95 % interval", True)), tuple(lines))


def _score_name(study: result.Study, metric: str) -> str:
    """A measure by name; of more than two classes F1 and AUC are means over them."""
    short = score_info(metric).short
    return f"{short}, mean over classes" if metric in MACRO and len(study.classes) > 2 else short


def score_cells(score: result.Score | None) -> tuple[Cell, Cell]:
    """A score and its 95 % interval."""
    if score is None:
        return Cell("–", right=True), Cell("", right=True)
    value = figure(score.value, score_text(score.value, score.metric))
    return value, interval(score.low, score.high, score.metric)


def interval(low: float, high: float, metric: str) -> Cell:
    """An interval of a metric; an empty cell where an end is not known."""
    known = math.isfinite(low) and math.isfinite(high)
    return Cell(
        f"{score_text(low, metric)} to {score_text(high, metric)}" if known else "", right=True
    )


def p_value(p: float) -> Cell:
    """A p-value."""
    return figure(p, p_text(p))


@dataclass(frozen=True)
class Warned:
    """A warning: its code, its text, and the reason for such a warning."""

    code: str
    text: str
    reason: str = ""


def list_warnings(texts: tuple[str, ...]) -> list[Warned]:
    """Warnings with code and reason, each once."""
    listed = []
    for text in dict.fromkeys(texts):
        code, _, rest = text.partition(" ")
        entry = WARNINGS.get(code.rstrip(":"))
        listed.append(Warned(entry.code, rest, entry.reason) if entry else Warned("", text))
    return listed


# -------------------------------------------------------------------------------------------------
# Tables of the chosen model: coefficients, odds ratios, binary SVMs, certificate.


def coefficients_of(study: result.Study) -> ReportTable | None:
    """The coefficients of a linear model that is not the baseline; None for any other."""
    model = study.description
    if model.inference is not None:
        spread = "Standard error" if model.evidence is None else "Posterior deviation"
        table = coefficient_table(model.inference, model.certificate.dependent, spread)
    elif model.class_coefficients is not None:
        table = class_coefficient_table(model.class_coefficients, study.classes)
    else:
        return None
    return with_reference_levels(table, model.reference_levels)


def with_reference_levels(
    table: ReportTable, levels: Mapping[str, str], prefixes: Sequence[str] = ("",)
) -> ReportTable:
    """The table with a line for every level that the others of its column are compared with."""
    empty = (Cell("", right=True),) * (len(table.headings) - 2)
    lines, placed = [], set()
    for line in table.lines:
        for prefix, (column, level) in product(prefixes, levels.items()):
            start = f"{prefix}{column}="
            if line.name.startswith(start) and start not in placed:
                placed.add(start)
                zero = (Cell("0", 0.0, right=True), *empty)
                lines.append(Line(f"{start}{level}", zero, badge="reference"))
        lines.append(line)
    return replace(table, lines=tuple(lines))


def _largest(values: Floats) -> tuple[Ints, str]:
    """Positions of the largest absolute values, in order; a note if there are more."""
    shown = np.sort(np.argsort(-np.abs(values), kind="stable")[:MAX_LINES])
    n = values.size
    return shown, "" if shown.size == n else f"The {MAX_LINES} largest of {n:,} coefficients."


def class_coefficient_table(
    class_coefficients: ClassCoefficients, labels: tuple[str, ...]
) -> ReportTable:
    """Coefficients of several outputs or classes side by side."""
    coef = class_coefficients.estimates
    heads = list(labels) if len(labels) == len(coef) else [str(k) for k in range(len(coef))]
    shown, note = _largest(np.abs(coef).max(axis=0))
    lines = [Line(class_coefficients.names[j], tuple(figure(v) for v in coef[:, j])) for j in shown]
    lines.insert(
        0, Line("intercept", tuple(figure(float(v)) for v in class_coefficients.intercepts))
    )
    return ReportTable((("Term", False), *((head, True) for head in heads)), tuple(lines), note)


def coefficient_table(
    inference: Inference, dependent: Sequence[str] = (), spread: str = "Standard error"
) -> ReportTable:
    """Coefficients with standard error, interval, t (or z), p and VIF where there is inference.

    The standard error is called ``spread``. A column among the ``dependent`` with a coefficient of
    zero is constant.
    """
    by_size = (
        inference.estimates if inference.t_values is None else np.nan_to_num(inference.t_values)
    )
    shown, note = _largest(by_size)
    if inference.intervals is None:
        lines = [Line(inference.names[j], (figure(inference.estimates[j]),)) for j in shown]
        if inference.intercept is not None:
            lines.insert(0, Line("intercept", (figure(inference.intercept),)))
        return ReportTable((("Term", False), ("Coefficient", True)), tuple(lines), note)
    constant = {n for n, b in zip(inference.names, inference.estimates, strict=True) if b == 0.0}
    constant &= set(dependent)
    lines = [
        Line(
            inference.names[j],
            _inference_cells(inference, int(j)),
            "constant" * (inference.names[j] in constant),
        )
        for j in shown
    ]
    inflated = inference.variance_inflation is not None
    if inference.intercept_row is not None:
        value, error, t_value, p_value, low, high = inference.intercept_row
        cells = _estimate(value, error, t_value, p_value, low, high)
        cells += (Cell("", math.nan, right=True),) * inflated
        lines.insert(0, Line("intercept", cells))
    heads = ["Term", "Coefficient", spread, "95 % interval", inference.letter, "p"]
    heads += ["VIF"] * inflated
    return ReportTable(tuple((h, h != "Term") for h in heads), tuple(lines), note)


def _inference_cells(inference: Inference, j: int) -> tuple[Cell, ...]:
    assert inference.standard_errors is not None
    assert inference.t_values is not None
    assert inference.p_values is not None
    assert inference.intervals is not None
    numbers = (inference.standard_errors[j], inference.t_values[j], inference.p_values[j])
    cells = _estimate(inference.estimates[j], *numbers, *inference.intervals[j])
    if inference.variance_inflation is None:
        return cells
    factor = float(inference.variance_inflation[j])
    return (*cells, figure(factor, number(factor, 3)))


def _estimate(
    value: float, error: float, t: float, p: float, low: float, high: float
) -> tuple[Cell, ...]:
    span = f"{number(low)} to {number(high)}" if math.isfinite(low) else "not unique"
    return (
        figure(value),
        figure(error, number(error, 3)),
        Cell(span, right=True),
        figure(t, f"{t:.2f}".replace("-", "−") if math.isfinite(t) else "–"),
        p_value(p),
    )


def odds_table(study: result.Study) -> ReportTable | None:
    """Coefficients of a logistic regression, and odds ratios e^b per unit and per deviation."""
    odds = study.description.odds
    if odds is None:
        return None
    scale = _deviations(study, len(odds.names))
    shown, note = _largest(np.nan_to_num(odds.z_values))
    lines = tuple(
        Line(
            odds.names[j],
            _odds_cells(odds, int(j), scale[j]),
            "no finite estimate" * (odds.names[j] in odds.no_finite_estimate),
        )
        for j in shown
    )
    heads = ["Term", "Coefficient", "Standard error", "p", "Odds ratio per unit (95 %)"]
    if np.isfinite(scale).any():
        heads.append("per standard deviation (95 %)")
    table = ReportTable(tuple((head, head != "Term") for head in heads), lines, note)
    prefixes = ("",) if len(study.classes) < 3 else tuple(f"{c}: " for c in study.classes)
    return with_reference_levels(table, study.description.reference_levels, prefixes)


def _odds_cells(odds_ratios: OddsRatios, j: int, scale: float) -> tuple[Cell, ...]:
    known = [
        figure(odds_ratios.estimates[j]),
        figure(odds_ratios.standard_errors[j], number(odds_ratios.standard_errors[j], 3)),
        p_value(odds_ratios.p_values[j]),
    ]
    for size in (1.0, scale):
        if (
            odds_ratios.names[j].endswith("intercept")
            or odds_ratios.names[j] in odds_ratios.no_finite_estimate
        ):
            known.append(Cell("", math.nan, right=True))
        elif math.isfinite(size):
            known.append(
                _ratio_cell(odds_ratios.estimates[j] * size, *odds_ratios.intervals[j] * size)
            )
    return tuple(known)


def _ratio_cell(value: float, low: float, high: float) -> Cell:
    ratio = _power(value)
    if not math.isfinite(low):
        return figure(ratio, _ratio(ratio))
    return figure(ratio, f"{_ratio(ratio)} ({_ratio(_power(low))} to {_ratio(_power(high))})")


def _ratio(value: float) -> str:
    """Three digits; more where all of them would say 1."""
    near = abs(value - 1.0)
    if near >= 0.005 or near < 1e-6:
        return number(value, 3)
    return number(value, 1 - math.floor(math.log10(near)) + (value > 1))


def _power(exponent: float) -> float:
    """e to the power, infinite where it overflows."""
    return math.exp(exponent) if exponent < 709 else math.inf


def _deviations(study: result.Study, count: int) -> Floats:
    """The standard deviation that belongs to each line of the odds ratios; NaN where not known."""
    coef, part = study.description.coefficients, study.training
    terms = 0 if coef is None else coef.shape[-1]
    scale = None if part is None else part.scale
    if scale is None or len(scale) != terms:
        return np.full(count, math.nan)
    constant = [1.0] if count % terms else []
    deviations = np.array([*constant, *np.asarray(scale, dtype=float)])
    return (
        np.tile(deviations, count // deviations.size)
        if count % deviations.size == 0
        else np.full(count, math.nan)
    )


def certificate_numbers(certificate: Certificate) -> list[tuple[str, str]]:
    """The finite numbers of a certificate, with their names."""
    numbers = (
        ("primal objective", certificate.primal, "{:.8g}"),
        ("dual objective", certificate.dual, "{:.8g}"),
        ("duality gap", certificate.gap, "{:.2e}"),
        ("KKT violation", certificate.kkt, "{:.2e}"),
        ("tolerance", certificate.tolerance, "{:.2e}"),
        ("condition number", certificate.condition, "{:.3g}"),
        ("rank", certificate.rank, "{:d}"),
        ("correct digits", certificate.digits, "{:.1f}"),
    )
    shown = [
        (name, layout.format(value).replace("-", "−"))
        for name, value, layout in numbers
        if value is not None and math.isfinite(value)
    ]
    statistic = certificate.statistic
    return [*shown, ("computed from", statistic)] if statistic else shown


def stored_rows_text(study: result.Study) -> str:
    """The stored rows, how the model predicts from them, and the tuned hyperparameters."""
    model = study.description
    if model.stored_rows is None:
        return ""
    text = f"The model contains {model.stored_rows}; they are in model.sx, so share it only with "
    text += "those who may see them. "
    search, neighbors = model.svm_search, model.neighbors
    if neighbors is not None:
        nearest = plural(neighbors.n_neighbors, "nearest neighbor")
        what = "mean" if study.task == "regression" else "vote"
        return text + f"A prediction is the {what} of the {nearest}."
    if search is not None and search.bandwidth is not None:
        epsilon = "" if search.epsilon is None else f", ε = {number(search.epsilon, 3)}"
        text += (
            "The score of a row is a weighted sum of RBF kernels centered at them, of bandwidth "
            f"{number(search.bandwidth, 3)} standard deviations; C = {number(search.C, 3)}"
            f"{epsilon}. Tuned by cross-validation on {plural(search.n_rows, 'row')}, over "
            f"{plural(search.n_bandwidths, 'bandwidth')} and all values of C along each path."
        )
    return text.strip()


def svm_table(study: result.Study) -> ReportTable | None:
    """Primal and dual objective, duality gap and KKT violation of each binary SVM.

    None for other models, and for one SVM without calibration, whose certificate is the model's.
    """
    svms = study.description.svms
    if not svms or (len(svms) == 1 and not study.description.wrapped):
        return None
    lines = [
        Line(_svm_name(study, j, len(svms)), _svm_cells(svm))
        for j, svm in enumerate(svms[:MAX_LINES])
    ]
    heads = ("Support vectors", "Primal", "Dual", "Duality gap", "KKT violation")
    return ReportTable((("Binary SVM", False), *((head, True) for head in heads)), tuple(lines))


def _svm_cells(svm: BinarySVMFit) -> tuple[Cell, ...]:
    certificate = svm.certificate
    return (
        Cell("–" if svm.n_support is None else f"{svm.n_support:,}", svm.n_support, right=True),
        *(figure(v, f"{v:.8g}".replace("-", "−")) for v in (certificate.primal, certificate.dual)),
        *(figure(v, f"{v:.1e}".replace("-", "−")) for v in (certificate.gap, certificate.kkt)),
    )


def _svm_name(study: result.Study, j: int, count: int) -> str:
    if count == 1:
        return "both classes" if study.task == "classification" else "all rows"
    return f"{study.classes[j]} against the rest" if count == len(study.classes) else f"{j + 1}"


def quality_text(inference: Inference | None) -> str:
    """R², σ and the tests of a least-squares fit as a whole, in a sentence."""
    if inference is None or inference.r_squared is None or inference.intervals is None:
        return ""
    text = f"On the training rows R² = {inference.r_squared:.3f}"
    whole = inference.quality
    if whole is not None:
        text += f" (adjusted {whole.adjusted_r_squared:.3f})"
    if inference.sigma is not None:
        text += f" and σ = {number(inference.sigma)}"
    if whole is None:
        return f"{text}."
    text += f" on {number(whole.degrees_of_freedom)} degrees of freedom."
    if math.isfinite(whole.f_statistic):
        text += f" All coefficients together: F = {number(whole.f_statistic)}, "
        text += f"{p_phrase(whole.f_p_value)}."
    return f"{text} AIC {number(whole.aic)}, BIC {number(whole.bic)}."


# -------------------------------------------------------------------------------------------------
# Tables that only classifiers have: scores by class, confusions, calibrations, costs, tests.


def class_table(study: result.Study) -> ReportTable | None:
    """Precision, recall, F1 and AUC of every class on the test set."""
    if not study.class_scores:
        return None
    lines = tuple(
        Line(
            class_score.label,
            (
                figure(class_score.support, exact(class_score.support)),
                *(with_interval(score) for score in (class_score.precision, class_score.recall)),
                figure(class_score.f1.value, score_text(class_score.f1.value, "f1")),
                with_interval(class_score.auc),
            ),
        )
        for class_score in study.class_scores[:MAX_LINES]
    )
    heads = ("Class", "Rows", "Precision (95 %)", "Recall (95 %)", "F1", "AUC (95 %)")
    n = len(study.class_scores)
    note = f"The first {MAX_LINES} of {n:,} classes." if n > MAX_LINES else ""
    return ReportTable(tuple((head, head != "Class") for head in heads), lines, note)


def with_interval(score: result.Score) -> Cell:
    """A score and, in parentheses, its interval."""
    value = score_text(score.value, score.metric)
    if not (math.isfinite(score.low) and math.isfinite(score.high)):
        return figure(score.value, value)
    low, high = (score_text(v, score.metric) for v in (score.low, score.high))
    return figure(score.value, f"{value} ({low.removesuffix(' %')} to {high.removesuffix(' %')})")


def confusion_table(study: result.Study) -> ReportTable | None:
    """The most frequent confusions of many classes; None where the matrix shows them all."""
    answers = _answers(study)
    if answers is None or len(study.classes) < 5:  # of fewer classes the table shows all
        return None
    truth, called, w = answers
    wrong = truth != called
    if not wrong.any():
        return None
    pairs, at = np.unique(np.stack([truth[wrong], called[wrong]]), axis=1, return_inverse=True)
    counts = np.bincount(np.ravel(at), w[wrong])
    top = np.argsort(-counts, kind="stable")[:10]  # confusions that are listed
    lines = tuple(_confusion(pairs[0, j], pairs[1, j], counts[j], truth, w) for j in top)
    share = 100 * counts[top].sum() / counts.sum()
    note = ""
    if len(counts) > len(top):
        note = (
            f"These are {share:.0f} % of all errors; {len(counts) - len(top):,} more pairs occur."
        )
    heads = (("True class", False), ("Predicted", False), ("Rows", True))
    return ReportTable((*heads, ("Of the true class", True)), lines, note)


def _answers(study: result.Study) -> tuple[Any, Any, Floats] | None:
    """Truth, answer and weight: of the test rows, or of all pairs of classes of a stream."""
    if study.stream is not None:
        return cells_of(study, study.stream)
    test = study.test_predictions
    if test is None:
        return None
    truth, called = (np.asarray(v).astype(str) for v in (test.truth, test.predicted))
    return truth, called, unit_weights(test.w, len(truth))


def _confusion(truth: str, called: str, count: float, all_truth: Any, w: Floats) -> Line:
    part = count / w[all_truth == truth].sum()
    return Line(
        truth, (Cell(called), figure(count, exact(count)), figure(part, score_text(part, "error")))
    )


def covariance_table(study: result.Study) -> ReportTable | None:
    """Mardia's tests by class."""
    tests = study.covariance_tests
    if tests is None or not (tests.normality or tests.not_tested):
        return None
    lines = [Line(label, _normal_cells(test)) for label, test in tests.normality.items()]
    empty = Cell("", right=True)
    lines += [
        Line(label, (empty, empty, empty, empty, Cell(reason)))
        for label, reason in tests.not_tested.items()
    ]
    heads = ("Class", "Skewness", "p", "Kurtosis", "p", "Verdict")
    shown = tuple(lines[:MAX_LINES])
    note = "" if len(lines) <= MAX_LINES else f"The first {MAX_LINES} of {len(lines):,} classes."
    return ReportTable(tuple((h, h not in {"Class", "Verdict"}) for h in heads), shown, note)


def _normal_cells(test: MardiaTest) -> tuple[Cell, ...]:
    verdict = "not normal" if test.p_value < 0.05 else "compatible with normality"
    return (
        figure(test.skewness, number(test.skewness, 3)),
        p_value(test.skewness_p),
        figure(test.kurtosis, number(test.kurtosis, 3)),
        p_value(test.kurtosis_p),
        Cell(verdict),
    )


def calibration_table(study: result.Study) -> ReportTable | None:
    """Cross-validated log loss of every calibration method."""
    check = study.calibration
    if check is None or not check.methods:
        return None
    rows: list[tuple[str | None, result.CrossValidatedScore]] = [
        (None, check.before),
        *check.methods.items(),
    ]
    lines = tuple(
        Line(
            "uncalibrated" if method is None else method,
            _mean_cells(score),
            "used" if method == check.method else "",
            strong=method == check.method,
        )
        for method, score in rows
    )
    heads = (("Calibration", False), ("Log loss, mean over folds", True))
    return ReportTable((*heads, ("Standard error", True)), lines)


def _mean_cells(score: result.CrossValidatedScore) -> tuple[Cell, ...]:
    error = score.standard_error
    return figure(score.mean, number(score.mean, 4)), figure(error, number(error, 2))


def cost_table(study: result.Study) -> ReportTable | None:
    """The cost matrix; None where one sentence says it."""
    if study.decision is None or len(study.classes) > 12 or cost_sentence(study):
        return None
    costs, labels = study.decision.costs, list(study.classes)
    columns = costs.matrix
    if costs.reject_cost is not None:
        columns, labels = (
            np.column_stack([columns, costs.reject_cost]),
            [*labels, study.decision.reject_label],
        )
    lines = tuple(
        Line(label, tuple(figure(float(v), exact(float(v))) for v in row))
        for label, row in zip(study.classes, columns, strict=True)
    )
    return ReportTable((("True class", False), *((label, True) for label in labels)), lines)


def cost_sentence(study: result.Study) -> str:
    """Costs that are the same for every class."""
    if study.decision is None:
        return ""
    costs = study.decision.costs
    if (costs.matrix != 1.0 - np.eye(len(costs.matrix))).any():
        return ""
    if costs.reject_cost is None:
        return "Every error costs 1."
    if np.ptp(costs.reject_cost) > 0:
        return ""
    return f"Every error costs 1, and a rejection {exact(float(costs.reject_cost[0]))}."


def decision_table(study: result.Study) -> ReportTable | None:
    """The decisions of least expected cost on the test set."""
    made = study.decision
    if made is None:
        return None
    lines = [
        Line("Mean cost", score_cells(made.cost)),
        Line("Mean cost, most probable class predicted", score_cells(made.cost_without)),
    ]
    if made.costs.reject_cost is not None:
        lines += [
            Line("Coverage (rows not rejected)", score_cells(made.coverage)),
            Line("Risk (mean cost of those)", score_cells(made.risk)),
        ]
    return ReportTable((("Measure", False), ("Value", True), ("95 % interval", True)), tuple(lines))


# -------------------------------------------------------------------------------------------------
# How models were validated: folds, repeats, leave-one-out, and the outer loop of the selection.


def fitted_sentence(study: result.Study) -> str:
    """How often each candidate was fitted, and to what; empty where no folds were used."""
    folds = max((len(e.folds) for e in study.leaderboard), default=0)
    rows = f"{study.n_train:,} training rows"
    if folds < 2:
        return ""
    if study.validation == "leave_one_out":
        return (
            f"Each row of the {rows} (or each group of them) was predicted by models of all others "
            "(leave-one-out)."
        )
    if study.repeats is not None:
        each, times = study.repeats.n_folds, study.repeats.n_repeats
        return (
            f"The {rows} were dealt into {each} folds {times} times. Each candidate was fitted "
            f"{each * times} times, each time without one fold, and validated on that fold; a "
            f"row’s loss is its mean over the repeats."
        )
    return (
        f"Each candidate was fitted {folds} times on the {rows}, each time without one fold, and "
        "validated on that fold."
    )


def repeats_sentence(study: result.Study) -> str:
    """What the repeats show, and what their errors mean."""
    repeats = study.repeats
    if repeats is None:
        return ""
    text = repeats.summary[:1].upper() + repeats.summary[1:]
    if math.isnan(repeats.ratio):
        return (
            f"{text} Repeats cut the folds at other times; standard errors are not corrected, "
            "since folds in order of time are not random draws."
        )
    return (
        f"{text} The standard deviation over repeats says how much the draw of the folds matters; "
        "it is not a standard error. The corrected one (Nadeau and Bengio) allows for training "
        f"rows that folds share: √((1/{repeats.n_repeats * repeats.n_folds} + {repeats.ratio:.2g}) "
        "s²) over all folds."
    )


def repeats_table(study: result.Study) -> ReportTable | None:
    """Every candidate over the repeats; None without repeats."""
    repeats = study.repeats
    if repeats is None:
        return None
    corrected = not math.isnan(repeats.ratio)
    heads = [
        ("Model", False),
        (f"{score_info(repeats.metric).short}, mean", True),
        ("Std. deviation over repeats", True),
        *([("Corrected std. error", True)] if corrected else []),
        ("Difference from the winner", True),
        ("Chosen in", True),
    ]
    lines = tuple(
        Line(
            display_name(score.name),
            (
                figure(score.mean, score_text(score.mean, repeats.metric)),
                figure(score.spread, number(score.spread, 2)),
                *([figure(score.corrected_error, _error(score))] if corrected else []),
                figure(score.difference, _apart(score, study.winner, corrected)),
                figure(score.chosen, f"{score.chosen} of {repeats.n_repeats}"),
            ),
            strong=score.name == study.winner,
        )
        for score in sorted(repeats.scores, key=_rank(study))
    )
    return ReportTable(tuple(heads), lines)


def _rank(study: result.Study) -> Callable[[result.RepeatedScore], int]:
    """The place of a candidate on the leaderboard, best first."""
    names = [entry.name for entry in best_first(study.leaderboard)]
    return lambda score: names.index(score.name)


def _error(score: result.RepeatedScore) -> str:
    return number(score.corrected_error, 2)


def _apart(score: result.RepeatedScore, winner: str, corrected: bool) -> str:
    if score.name == winner or math.isnan(score.difference):
        return "–"
    text = number(score.difference, 3)
    return f"{text} ± {number(score.difference_error, 2)}" if corrected else text


def nested_sentence(study: result.Study) -> str:
    """The score of the whole selection, and how much better it looked from inside."""
    nested = study.nested
    if nested is None:
        return ""
    if not nested.folds:
        return nested.summary
    name, metric = score_info(nested.metric).short, nested.metric
    return (
        "The whole selection (comparison, tuning, choice, fit) was repeated without each of "
        f"{plural(len(nested.folds), 'outer fold')} and judged there: {name} "
        f"{score_text(nested.outer, metric)} ± {number(nested.standard_error, 2)}. Inside, the "
        f"winners had {score_text(nested.inner, metric)}: {_optimism(nested)} {nested.summary}"
    )


def _optimism(nested: result.Nested) -> str:
    size = number(abs(nested.optimism), 2)
    if abs(nested.optimism) <= nested.standard_error:
        return (
            f"an optimism of {number(nested.optimism, 2)}, within the standard error of the outer "
            "score."
        )
    if nested.optimism > 0:
        return f"an optimism of {size}; expect the outer score of new rows, not the inner one."
    return f"the inner score is worse by {size}: inner models were fitted to fewer rows."


def nested_table(study: result.Study) -> ReportTable | None:
    """What was chosen without each outer fold; None without an outer loop."""
    nested = study.nested
    if nested is None or not nested.folds:
        return None
    heads = (
        ("Outer fold", False),
        ("Rows", True),
        ("Chosen", False),
        ("Tuned", False),
        ("Score inside", True),
        ("Score outside", True),
    )
    lines = tuple(
        Line(
            str(at + 1),
            (
                figure(fold.n_rows, f"{fold.n_rows:,}"),
                Cell(display_name(fold.winner)),
                Cell(", ".join(f"{n} {_value(v)}" for n, v in fold.hyperparameters.items()) or "–"),
                figure(fold.inner, score_text(fold.inner, nested.metric)),
                figure(fold.outer, score_text(fold.outer, nested.metric)),
            ),
        )
        for at, fold in enumerate(nested.folds)
    )
    return ReportTable(heads, lines)


def _value(value: object) -> str:
    return number(value, 3) if isinstance(value, int | float) else str(value)


# -------------------------------------------------------------------------------------------------
# Tables and sentences on predictive distributions, and on what a Bayesian model learned.


def interval_table(study: result.Study) -> ReportTable | None:
    """Coverage and mean width of intervals on the test set, by level."""
    uncertainty = study.uncertainty
    if uncertainty is None:
        return None
    lines = []
    for score in uncertainty.test:
        inside = score.coverage
        ends = f"{100 * inside.low:.1f} to {100 * inside.high:.1f} %"
        lines.append(
            Line(
                level_text(score.level),
                (
                    figure(inside.value, f"{100 * inside.value:.1f} %"),
                    Cell(ends, right=True),
                    figure(score.width),
                ),
            )
        )
    heads = ("Level", "Targets within", "95 % confidence interval", "Mean width")
    return ReportTable(tuple((head, head != "Level") for head in heads), tuple(lines))


def uncertainty_text(study: result.Study) -> str:
    """What the pictures of predictive distributions are made of."""
    uncertainty = study.uncertainty
    if uncertainty is None:
        return ""
    loss = uncertainty.log_loss
    text = (
        "Every prediction is a distribution of the target. On the test set the negative log "
        f"predictive density is {score_text(loss.value, 'nlpd')} per row "
        f"({score_text(loss.low, 'nlpd')} to {score_text(loss.high, 'nlpd')}); lower is better."
    )
    if uncertainty.check is None:
        return text
    rows = plural(len(uncertainty.check.pit), "training row")
    return (
        f"{text} Coverage, F(y) and standardized residuals below are of {rows}, each predicted by "
        "a model that was fitted without it."
    )


def evidence_text(study: result.Study) -> str:
    """Log evidence and noise of a Bayesian model, in a sentence."""
    evidence = study.description.evidence
    if evidence is None:
        return ""
    text = f"Log evidence {number(evidence.log_evidence, 6)}"
    if evidence.noise is not None and math.isfinite(evidence.noise):
        text += f", standard deviation of the noise {number(evidence.noise, 4)}"
    if evidence.settings:
        text += f"; {evidence.settings}"
    return f"{text}."


def process_text(study: result.Study) -> str:
    """The kernel of a Gaussian process and how its length scales are meant."""
    process = study.description.process
    if process is None:
        return ""
    text = f"A Gaussian process with kernel {process.kernel}. {evidence_text(study)}"
    if process.n_inducing is not None:
        text += f" It is carried by {plural(process.n_inducing, 'inducing point')}."
    if process.shared:
        ratios = process.length_scales / column_spreads(study, process.names)
        ratio = float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else math.nan
        if not math.isfinite(ratio):
            return text
        size = f"{number(ratio, 3)} standard deviations"
        return f"{text} Every column has the same length scale, {size}."
    if not process.names:
        return text
    return (
        f"{text} Along a column the function bends within one length scale; where that is many "
        "times the spread of the column, it is nearly linear along it, or constant. A length scale "
        "marked “open” is one that the rows do not determine."
    )


def column_spreads(study: result.Study, names: tuple[str, ...]) -> Floats:
    """Standard deviations of columns of the design in the training rows; NaN where not stored."""
    part = study.training
    known: dict[str, float] = {}
    if part is not None and part.scale is not None:
        known = dict(zip(part.names, part.scale.tolist(), strict=True))
    return np.array([known.get(name, math.nan) for name in names])


def length_scale_table(study: result.Study) -> ReportTable | None:
    """Length scales in the units of the columns and in standard deviations, with intervals."""
    process = study.description.process
    if process is None or not process.names or process.shared:
        return None
    spreads = column_spreads(study, process.names)
    lines = []
    for j, name in enumerate(process.names):
        value, spread = float(process.length_scales[j]), float(spreads[j])
        low, high = (float(end) for end in process.intervals[j])
        known = math.isfinite(low) and math.isfinite(high)
        lines.append(
            Line(
                name,
                (
                    figure(value),
                    Cell(f"{number(low)} to {number(high)}" if known else "open", right=True),
                    figure(value / spread if spread > 0 else math.nan),
                ),
            )
        )
    heads = ("Column", "Length scale", "95 % interval", "In standard deviations")
    return ReportTable(tuple((head, head != "Column") for head in heads), tuple(lines))


# -------------------------------------------------------------------------------------------------
# Tables and sentences on conformal intervals and sets.


#: The level of the sentence, the pictures and the coverage by class.
SHOWN = 0.9


def shown_check(study: result.Study) -> result.CoverageCheck | None:
    """The check at the level that is shown in detail, or at the next lower one."""
    conformal = study.conformal
    checks = () if conformal is None else conformal.checks
    below = [check for check in checks if check.level <= SHOWN]
    return below[-1] if below else None


def coverage_table(study: result.Study) -> ReportTable | None:
    """Coverage and mean size on the test set, by level."""
    conformal = study.conformal
    if conformal is None or not conformal.checks:
        return None
    size = "Mean number of labels" if conformal.classes else "Mean width"
    lines = [
        Line(level_text(check.level), (*_coverage(check.coverage), figure(check.size)))
        for check in conformal.checks
    ]
    heads = ("Level", "Test rows within", "95 % confidence interval", size)
    return ReportTable(tuple((head, head != "Level") for head in heads), tuple(lines))


def conformal_class_table(study: result.Study) -> ReportTable | None:
    """Coverage of the rows of each class at the level that is shown."""
    check = shown_check(study)
    if check is None or not check.by_class:
        return None
    lines = [Line(name, _coverage(score)) for name, score in check.by_class.items()]
    heads = ("Class", "Test rows within", "95 % confidence interval")
    return ReportTable(tuple((head, head != "Class") for head in heads), tuple(lines))


def _coverage(score: result.Score) -> tuple[Cell, Cell]:
    ends = f"{100 * score.low:.1f} to {100 * score.high:.1f} %"
    value = "" if math.isnan(score.value) else f"{100 * score.value:.1f} %"
    return figure(score.value, value), Cell(ends, right=True)


def conformal_text(study: result.Study) -> str:
    """What is guaranteed, how it was checked, and how to get it; or why there is nothing."""
    conformal = study.conformal
    if conformal is None:
        return ""
    if conformal.refusal:
        return f"There are no conformal intervals: {conformal.refusal}"
    what = "set of labels" if conformal.classes else "interval"
    text = " ".join(conformal.remarks(SHOWN))
    text += f" separatrix predict --level writes the {what} of new rows."
    if study.uncertainty is not None:
        text += (
            " Predictive intervals hold what they say where the model is right; these hold it "
            "whatever the model, and are as wide in units of its standard deviation as the test "
            "rows require."
        )
    if not conformal.checks:
        return f"{text} There are too few test rows to check it."
    return (
        f"{text} The coverage was checked on each half of the test rows, calibrated on the other."
    )


# -------------------------------------------------------------------------------------------------
# Tables of a study that read its rows as a stream: sums over the whole test part.


#: A true class that the training rows do not have.
UNKNOWN = "(another class)"


def cells_of(study: result.Study, stream: result.StreamRecord) -> tuple[Any, Any, Floats]:
    """Truth, answer and weight of every pair that occurs in the test part."""
    reject = "reject" if study.decision is None else study.decision.reject_label
    truths, answers = [*study.classes, UNKNOWN], [*study.classes, reject]
    at = np.argwhere(stream.confusion > 0)
    truth, called = np.array(truths)[at[:, 0]], np.array(answers)[at[:, 1]]
    return truth, called, stream.confusion[at[:, 0], at[:, 1]]


def confusion_matrix(study: result.Study) -> ReportTable | None:
    """All pairs of truth and answer, of few classes."""
    stream, names = study.stream, study.classes
    # Classes up to which all pairs of truth and answer are shown.
    if stream is None or len(names) > 12:
        return None
    counts = stream.confusion
    rejected = counts[:, -1].any() and study.decision is not None
    reject = "" if study.decision is None else study.decision.reject_label
    columns = [*names, *([reject] if rejected else [])]
    truths = [*names, *([UNKNOWN] if counts[-1].any() else [])]
    lines = tuple(
        Line(name, tuple(figure(float(v), exact(round(float(v), 2))) for v in row[: len(columns)]))
        for name, row in zip(truths, counts, strict=False)
    )
    return ReportTable((("True class", False), *((name, True) for name in columns)), lines)


def reliability_table(study: result.Study) -> ReportTable | None:
    """Probability of the predicted class against the frequency of right answers."""
    stream = study.stream
    if stream is None or not stream.reliability[2].any():
        return None
    lines = tuple(
        Line(
            f"{k / 10:.1f} to {(k + 1) / 10:.1f}",
            (
                figure(float(p), number(float(p), 3)),
                figure(float(right), number(float(right), 3)),
                Cell(exact(round(float(weight), 2)), right=True),
            ),
        )
        for k, (p, right, weight) in enumerate(stream.reliability.T)
        if weight > 0
    )
    heads = (("Probability of the answer", False), ("Mean", True), ("Right answers", True))
    return ReportTable((*heads, ("Rows", True)), lines)
