"""Tables of the chosen model: coefficients, odds ratios, binary SVMs, certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from separatrix.estimators.coefficient_inference import Inference
from separatrix.estimators.inference import p_phrase
from separatrix.optimize.solution import Certificate
from separatrix.pictures.formatting import number, plural
from separatrix.report.tables import MAX_LINES, Cell, Line, Table, figure, p_value
from separatrix.rows.block import Floats, Ints
from separatrix.study.description import (
    BinarySVMFit,
    ClassCoefficients,
    OddsRatios,
)
from separatrix.study.result import Study


def coefficients_of(study: Study) -> Table | None:
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
    table: Table, levels: Mapping[str, str], prefixes: Sequence[str] = ("",)
) -> Table:
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


def class_coefficient_table(found: ClassCoefficients, labels: tuple[str, ...]) -> Table:
    """Coefficients of several outputs or classes side by side."""
    coef = found.estimates
    heads = list(labels) if len(labels) == len(coef) else [str(k) for k in range(len(coef))]
    shown, note = _largest(np.abs(coef).max(axis=0))
    lines = [Line(found.names[j], tuple(figure(v) for v in coef[:, j])) for j in shown]
    lines.insert(0, Line("intercept", tuple(figure(float(v)) for v in found.intercepts)))
    return Table((("Term", False), *((head, True) for head in heads)), tuple(lines), note)


def coefficient_table(
    found: Inference, dependent: Sequence[str] = (), spread: str = "Standard error"
) -> Table:
    """Coefficients with standard error, interval, t (or z), p and VIF where there is inference.

    The standard error is called ``spread``. A column among the ``dependent`` with a coefficient of
    zero is constant.
    """
    by_size = found.estimates if found.t_values is None else np.nan_to_num(found.t_values)
    shown, note = _largest(by_size)
    if found.intervals is None:
        lines = [Line(found.names[j], (figure(found.estimates[j]),)) for j in shown]
        if found.intercept is not None:
            lines.insert(0, Line("intercept", (figure(found.intercept),)))
        return Table((("Term", False), ("Coefficient", True)), tuple(lines), note)
    constant = {n for n, b in zip(found.names, found.estimates, strict=True) if b == 0.0}
    constant &= set(dependent)
    lines = [
        Line(found.names[j], _inferred(found, int(j)), "constant" * (found.names[j] in constant))
        for j in shown
    ]
    inflated = found.variance_inflation is not None
    if found.intercept_row is not None:
        value, error, t_value, p_value, low, high = found.intercept_row
        cells = _estimate(value, error, t_value, p_value, low, high)
        cells += (Cell("", math.nan, right=True),) * inflated
        lines.insert(0, Line("intercept", cells))
    heads = ["Term", "Coefficient", spread, "95 % interval", found.letter, "p"]
    heads += ["VIF"] * inflated
    return Table(tuple((h, h != "Term") for h in heads), tuple(lines), note)


def _inferred(found: Inference, j: int) -> tuple[Cell, ...]:
    assert found.standard_errors is not None
    assert found.t_values is not None
    assert found.p_values is not None
    assert found.intervals is not None
    numbers = (found.standard_errors[j], found.t_values[j], found.p_values[j])
    cells = _estimate(found.estimates[j], *numbers, *found.intervals[j])
    if found.variance_inflation is None:
        return cells
    factor = float(found.variance_inflation[j])
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


def odds_table(study: Study) -> Table | None:
    """Coefficients of a logistic regression, and odds ratios e^b per unit and per deviation."""
    found = study.description.odds
    if found is None:
        return None
    scale = _deviations(study, len(found.names))
    shown, note = _largest(np.nan_to_num(found.z_values))
    lines = tuple(
        Line(
            found.names[j],
            _odds_cells(found, int(j), scale[j]),
            "no finite estimate" * (found.names[j] in found.no_finite_estimate),
        )
        for j in shown
    )
    heads = ["Term", "Coefficient", "Standard error", "p", "Odds ratio per unit (95 %)"]
    if np.isfinite(scale).any():
        heads.append("per standard deviation (95 %)")
    table = Table(tuple((head, head != "Term") for head in heads), lines, note)
    prefixes = ("",) if len(study.classes) < 3 else tuple(f"{c}: " for c in study.classes)
    return with_reference_levels(table, study.description.reference_levels, prefixes)


def _odds_cells(found: OddsRatios, j: int, scale: float) -> tuple[Cell, ...]:
    known = [
        figure(found.estimates[j]),
        figure(found.standard_errors[j], number(found.standard_errors[j], 3)),
        p_value(found.p_values[j]),
    ]
    for size in (1.0, scale):
        if found.names[j].endswith("intercept") or found.names[j] in found.no_finite_estimate:
            known.append(Cell("", math.nan, right=True))
        elif math.isfinite(size):
            known.append(_ratio_cell(found.estimates[j] * size, *found.intervals[j] * size))
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


def _deviations(study: Study, count: int) -> Floats:
    """The standard deviation that belongs to each line of the odds ratios; NaN where not known."""
    coef, part = study.description.coefficients, study.training
    terms = 0 if coef is None else coef.shape[-1]
    scale = None if part is None else part.scale
    if scale is None or len(scale) != terms:
        return np.full(count, math.nan)
    constant = [1.0] if count % terms else []
    own = np.array([*constant, *np.asarray(scale, dtype=float)])
    return np.tile(own, count // own.size) if count % own.size == 0 else np.full(count, math.nan)


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


def stored_rows_text(study: Study) -> str:
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


def svm_table(study: Study) -> Table | None:
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
    return Table((("Binary SVM", False), *((head, True) for head in heads)), tuple(lines))


def _svm_cells(svm: BinarySVMFit) -> tuple[Cell, ...]:
    found = svm.certificate
    return (
        Cell("–" if svm.n_support is None else f"{svm.n_support:,}", svm.n_support, right=True),
        *(figure(v, f"{v:.8g}".replace("-", "−")) for v in (found.primal, found.dual)),
        *(figure(v, f"{v:.1e}".replace("-", "−")) for v in (found.gap, found.kkt)),
    )


def _svm_name(study: Study, j: int, count: int) -> str:
    if count == 1:
        return "both classes" if study.task == "classification" else "all rows"
    return f"{study.classes[j]} against the rest" if count == len(study.classes) else f"{j + 1}"


def quality_text(found: Inference | None) -> str:
    """R², σ and the tests of a least-squares fit as a whole, in a sentence."""
    if found is None or found.r_squared is None or found.intervals is None:
        return ""
    text = f"On the training rows R² = {found.r_squared:.3f}"
    whole = found.quality
    if whole is not None:
        text += f" (adjusted {whole.adjusted_r_squared:.3f})"
    if found.sigma is not None:
        text += f" and σ = {number(found.sigma)}"
    if whole is None:
        return f"{text}."
    text += f" on {number(whole.degrees_of_freedom)} degrees of freedom."
    if math.isfinite(whole.f_statistic):
        text += f" All coefficients together: F = {number(whole.f_statistic)}, "
        text += f"{p_phrase(whole.f_p_value)}."
    return f"{text} AIC {number(whole.aic)}, BIC {number(whole.bic)}."
