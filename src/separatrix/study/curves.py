"""A study of learning curves: read a table, fit every size and complexity, say what helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.bayes.bayesian_ridge import BayesianRidge
from separatrix.estimators.baseline import MostFrequentClassifier
from separatrix.linear.polynomial import CHUNK_VALUES, polynomial_expansion
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.messages import InputError
from separatrix.mixins import BaseEstimator
from separatrix.neighbors.k_neighbors import KNeighborsClassifier, KNeighborsRegressor
from separatrix.notebook import Shown
from separatrix.rows.expansion import Expansion
from separatrix.rows.rare_levels import pool_rare_levels
from separatrix.rows.rows import EncodedRows, InMemory, MappedRows, Rows
from separatrix.rows.schema import Term
from separatrix.selection.curves import (
    LEVEL,
    LearningCurveLosses,
    LearningCurves,
    Nesting,
    PowerLaw,
    Step,
    design_of_training,
    digits,
    fit_power_law,
    losses_from_moments,
    losses_from_refits,
    step_errors,
)
from separatrix.selection.folds import RefitRows
from separatrix.statistics.moments import Grouped, Moments, prepare
from separatrix.study import inferred, tasks
from separatrix.study.announcement import listener_for
from separatrix.study.checks import check_table
from separatrix.study.comparison import mute_warnings
from separatrix.study.design import reason_to_stream, truth_of, with_warnings
from separatrix.study.document import plain
from separatrix.study.progress import stages, tell_inferred
from separatrix.study.tasks import CLASSIFICATION, REGRESSION
from separatrix.threads import one_blas_thread

# -------------------------------------------------------------------------------------------------
# The result of a study of learning curves, and as a document of plain values.


YES, NO, UNCLEAR = "yes", "no", "unclear"


@dataclass(frozen=True)
class ColumnCurve:
    """Error of the linear model over the number of columns, mean over random choices of them.

    ``counts`` (q) are numbers of columns, the last of them all; ``validation`` (q x folds) are
    mean losses of test rows.
    """

    counts: Floats
    validation: Floats


@dataclass(frozen=True)
class Advice:
    """Whether more of something would help: ``answer`` is "yes", "no" or "unclear".

    ``gain`` is how much the error would fall, between ``low`` and ``high`` with 90 % probability
    by the power law; NaN where that is not determined.
    """

    what: str
    answer: str
    sentence: str
    gain: float = np.nan
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True, repr=False)
class CurveStudy(Shown):
    """Learning curves of a table, and what would help."""

    target: str
    task: str
    n_rows: int
    n_columns: int
    curves: LearningCurves
    columns: ColumnCurve | None
    advice: tuple[Advice, ...]
    summary: str
    messages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str = ""
    command: str = ""
    seed: int = 0

    def __str__(self) -> str:
        sentences = [advice.sentence for advice in self.advice]
        return "\n".join([str(self.curves), "", self.summary, *sentences])


def document_of(study: CurveStudy) -> dict[str, Any]:
    """The study as plain values, for ``result.json``."""
    curves = study.curves
    doubled = curves.extrapolate(2.0 * float(curves.sizes[-1]))
    return {
        "target": study.target,
        "task": study.task,
        "rows": study.n_rows,
        "columns": study.n_columns,
        "metric": curves.metric,
        "summary": study.summary,
        "advice": [
            {
                "what": a.what,
                "answer": a.answer,
                "sentence": a.sentence,
                "gain": _known(a.gain),
                "low": _known(a.low),
                "high": _known(a.high),
            }
            for a in study.advice
        ],
        "models": list(curves.names),
        "training_rows": plain(curves.sizes),
        "error": [[_known(v) for v in line] for line in curves.mean],
        "standard_error": [[_known(v) for v in line] for line in curves.standard_error],
        "with_twice_the_rows": {
            e.name: {"error": _known(e.error), "low": _known(e.low), "high": _known(e.high)}
            for e in doubled
        },
        "column_counts": [] if study.columns is None else plain(study.columns.counts),
        "messages": list(study.messages),
        "warnings": list(study.warnings),
        "source": study.source,
        "command": study.command,
        "seed": study.seed,
    }


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


#: Columns, once encoded, and rows of classes, for which all sizes are fitted.
MOST_COLUMNS, MOST_CLASS_ROWS = 600, 20_000
#: Rows that a stream is taken to have: enough for all ranks.
MANY = 10**6
STAGES = 6

Found = tuple[list[str], LearningCurveLosses, ColumnCurve | None, list[str]]


def run_curve(
    rows: Rows,
    *,
    task: str | None = None,
    folds: int = 5,
    seed: int = 0,
    progress: Any = None,
    verbose: bool = True,
    source: str = "",
    command: str = "",
) -> CurveStudy:
    """Learning curves of a table, and whether more rows, columns or flexibility would help.

    Models of growing flexibility (a constant, a linear model, polynomials, nearest neighbors) are
    fitted to nested training sets of growing size, and tested on the same rows left out. The curve
    of the best is extended by a power law; random choices of the columns say what columns add. No
    test set is held out: errors are those of folds.

    Parameters
    ----------
    rows : Rows
        The table with its target, from :func:`separatrix.scan`.
    task : {"regression", "classification"}, default=None
        None infers it from the target.
    folds : int, default=5
        Number of folds.
    seed : int, default=0
        Seed of the split and of the choices of columns.
    progress : callable or scikit-learn callback, default=None
        Called with (stage, done, total).
    verbose : bool, default=True
        Whether what was inferred and the stage under way are shown, in a notebook or on standard
        error, where no ``progress`` is given.
    source : str, default=""
        Name of the table, for the report.
    command : str, default=""
        Command that gives the same study, for the report.

    Returns
    -------
    CurveStudy
        The curves, what would help, and a sentence on each; prints as text.

    See Also
    --------
    learning_curves : Curves of models of your own.
    run_study : Choose and test a model.

    References
    ----------
    C. Cortes, L. D. Jackel, S. A. Solla, V. Vapnik and J. S. Denker, Learning curves:
    asymptotic values and rate of convergence, NIPS, 1993.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.samples import sample
    >>> rows = sx.scan(sample("diabetes").path, target="progression")
    >>> study = sx.run_curve(rows)
    >>> study.curves.names
    ('mean', 'linear', 'degree 2', 'neighbors')
    >>> [(advice.what, advice.answer) for advice in study.advice]
    [('more rows', 'no'), ('more columns', 'unclear'), ('a more flexible model', 'no')]
    """
    progress = listener_for(progress, verbose)
    target = inferred.one_target(rows.schema)
    if task is not None:
        tasks.refuse_task(task, target)
    streamed = reason_to_stream(rows)
    with one_blas_thread(), stages(progress, STAGES) as step:
        step("reading")
        if streamed:
            found, about = _run_streamed(rows, task, streamed, folds, seed)
        else:
            found, about = _in_memory(rows.read(), task, folds, seed, progress, step)
        step("power laws")
        names, losses, columns, notes = found
        loss = "squared error" if about["task"] == REGRESSION else "error rate"
        curves = LearningCurves(
            losses.sizes, tuple(names), losses.validation, losses.training, loss
        )
        advice, summary = advise(curves, columns, about["n_columns"])
    messages = (*about.pop("messages"), *notes)
    return CurveStudy(
        target=target.name,
        curves=curves,
        columns=columns,
        advice=advice,
        summary=summary,
        messages=messages,
        source=source,
        command=command,
        seed=seed,
        **about,
    )


def _in_memory(
    table: InMemory, task: str | None, folds: int, seed: int, progress: Any, step: Any
) -> tuple[Found, dict[str, Any]]:
    messages: list[str] = []
    if table.keys.times is not None:
        raise InputError(
            "Learning curves take rows at random, and a time column puts them in order.",
            remedy="Leave out `time`, or use run_study, whose curve respects it.",
        )
    requested = task
    if task is None:
        seen = tasks.infer_task(table.schema.targets[0], [table.block])
        task = seen.task
        messages.append(seen.message)
    if task == CLASSIFICATION:
        table = tasks.with_classes(table, requested)
    inferred.refuse_constant_target(truth_of(table), table.schema.targets[0].name)
    checked, warned = with_warnings(lambda: check_table(table))
    n_rows = len(table)
    if task == CLASSIFICATION and n_rows > MOST_CLASS_ROWS:
        some = np.random.default_rng(seed).permutation(n_rows)[:MOST_CLASS_ROWS]
        table = table.take(np.sort(some))
        messages.append(f"{MOST_CLASS_ROWS:,} rows of {n_rows:,}, drawn at random, are used.")
    known = set(table.notes)
    table = pool_rare_levels(
        table,
        MOST_COLUMNS,
        f"models of every size and complexity are fitted to at most {MOST_COLUMNS} columns",
        "grouping its levels before",
    )
    messages += [note for note in table.notes if note not in known]
    if len(table.block.terms) > MOST_COLUMNS:
        raise InputError(
            f"{len(table.block.terms)} columns, levels counted, are too many for a model of every "
            "size and complexity.",
            remedy=f"Ignore some (kinds={{…: 'ignore'}}); up to {MOST_COLUMNS} are fitted.",
        )
    messages += checked
    tell_inferred(progress, [*messages, *warned], ())
    with mute_warnings():
        ladder = Ladder.of(table, folds, seed)
        fit = numbers if task == REGRESSION else classes
        result = fit(ladder, seed, step)
    about = {
        "task": task,
        "n_rows": n_rows,
        "n_columns": len(table.schema.columns),
        "messages": messages,
        "warnings": warned,
    }
    return result, about


def _run_streamed(
    rows: Rows, task: str | None, why: str, folds: int, seed: int
) -> tuple[Found, dict[str, Any]]:
    """The linear model alone, from one pass over a table that is not read into memory."""
    seen = tasks.infer_task(rows.schema.targets[0], rows.blocks())
    if (task or seen.task) == CLASSIFICATION:
        raise inferred.cannot_classify(why)
    nesting = Nesting.of(MANY, folds)
    parts = rows.with_parts(nesting.parts(seed)).reduce(Grouped(Moments())).parts

    steps = [Step("mean", MeanModel()), Step(LINEAR, linear_model())]
    with mute_warnings():
        losses = losses_from_moments(parts, nesting, steps, design_of_training(rows))
    n = sum(part.count for part in parts.values())
    about = {
        "task": REGRESSION,
        "n_rows": n,
        "n_columns": len(rows.schema.columns),
        "messages": [f"The table is {why}: linear models alone, from one pass."],
        "warnings": (),
    }
    return ([step.name for step in steps], losses, None, []), about


# -------------------------------------------------------------------------------------------------
# The ladder of complexities of a table: a constant, a linear model, polynomials, neighbors.
#
# Numbers: one pass over the rows gives moments of the terms of the highest degree, by part. Those
# of a lower degree, and of any choice of columns, are among them, so that every size, degree and
# choice is solved from that pass. Classes and neighbors are refitted.


#: Terms of a polynomial at most, its degrees, and rows for which neighbors are refitted.
MOST_TERMS, DEGREES, MOST_NEIGHBOR_ROWS = 150, (1, 2, 3), 4_000
#: Fractions of the columns, and random choices of each.
FRACTIONS, CHOICES = (0.25, 0.5, 0.75), 6
LINEAR = "linear"

Tick = Callable[[str], None]


class MeanModel(BaseEstimator):
    """The mean of the target, from moments."""

    coef_: Floats
    intercept_: float

    def fit(self, m: Moments) -> Self:
        """Zero coefficients, and the mean."""
        self.coef_, self.intercept_ = np.zeros(m.d), float(m.y_mean[0])
        return self


def linear_model() -> BayesianRidge:
    """Ridge regression with the penalty of the highest evidence of its own training rows."""
    return BayesianRidge(standardize=True)


@dataclass(frozen=True)
class Ladder:
    """A table in memory as a matrix, its parts, and the terms of its polynomials."""

    table: InMemory
    nesting: Nesting
    labels: Ints
    x: Floats
    terms: tuple[Term, ...]
    expansion: Expansion
    rows: MappedRows

    @classmethod
    def of(cls, table: InMemory, folds: int, seed: int) -> Ladder:
        """Encoded by the levels and means of all rows: no target enters them."""
        nesting = Nesting.of(len(table), folds)
        labels = nesting.labels(table, seed)
        parted = table.with_parts(labels)
        prepared = prepare(parted)
        block = prepared.rows.collect()
        terms = tuple(block.terms.items)
        degree = max(k for k in DEGREES if k == 1 or comb(len(terms) + k, k) - 1 <= MOST_TERMS)
        expansion = polynomial_expansion(prepared.rows, terms, prepared.encoding, degree)
        encoded = EncodedRows(parted, prepared.encoding)
        chunk = max(64, CHUNK_VALUES // len(expansion.exponents))
        mapped = MappedRows(encoded, expansion, chunk)
        return cls(table, nesting, labels, np.asarray(block.dense()), terms, expansion, mapped)

    @property
    def degrees(self) -> list[int]:
        """Degrees that have terms of their own: a product of indicators may be none."""
        order = self.expansion.exponents.sum(axis=1)
        return [k for k in DEGREES if (order == k).any()]

    def terms_upto(self, degree: int) -> Ints:
        """Positions of the terms up to a degree."""
        return np.flatnonzero(self.expansion.exponents.sum(axis=1) <= degree)

    @property
    def columns(self) -> dict[str, Ints]:
        """Positions of the terms of each column of the table."""
        columns_found: dict[str, list[int]] = {}
        for j, term in enumerate(self.terms):
            columns_found.setdefault(term.column, []).append(j)
        return {name: np.array(at) for name, at in columns_found.items()}

    def choices(self, seed: int) -> list[tuple[int, list[Ints]]]:
        """Numbers of columns, and the terms of random choices of as many."""
        columns = list(self.columns.values())
        # Columns from which on fewer of them are tried.
        if len(columns) < 4:
            return []
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(len(columns)) for _ in range(CHOICES)]
        counts = sorted({max(1, round(f * len(columns))) for f in FRACTIONS})
        return [
            (q, [np.sort(np.concatenate([columns[j] for j in order[:q]])) for order in orders])
            for q in counts
        ]


def name_of(degree: int) -> str:
    """The name of a polynomial."""
    return LINEAR if degree == 1 else f"degree {degree}"


def numbers(
    ladder: Ladder, seed: int, step: Tick
) -> tuple[list[str], LearningCurveLosses, ColumnCurve | None, list[str]]:
    """Names, losses, the curve over columns, and messages, for a target of numbers."""
    step("reading moments by part")
    parts = ladder.rows.reduce(Grouped(Moments())).parts
    step("linear and polynomial models")
    steps = [Step("mean", MeanModel())]
    steps += [Step(name_of(k), linear_model(), ladder.terms_upto(k)) for k in ladder.degrees]
    learning_curve_losses = losses_from_moments(parts, ladder.nesting, steps)
    names, messages = [step_losses.name for step_losses in steps], []
    step("nearest neighbors")
    if len(ladder.x) <= MOST_NEIGHBOR_ROWS:
        y = ladder.table.block.y[:, 0]
        rows = RefitRows(lambda at: ladder.x[at], y, ladder.table.block.w, "squared error")
        model = KNeighborsRegressor("auto", standardize=True)
        learning_curve_losses = join_losses(
            learning_curve_losses, losses_from_refits(rows, ladder.labels, ladder.nesting, [model])
        )
        names.append("neighbors")
    else:
        messages.append(f"Nearest neighbors are left out above {MOST_NEIGHBOR_ROWS:,} rows.")
    step("random choices of columns")
    return (
        names,
        learning_curve_losses,
        _columns_of_numbers(ladder, parts, learning_curve_losses, seed),
        messages,
    )


def _columns_of_numbers(
    ladder: Ladder, parts: Any, learning_curve_losses: LearningCurveLosses, seed: int
) -> ColumnCurve | None:
    choices, k = ladder.choices(seed), ladder.nesting.folds
    if not choices:
        return None
    # the terms of degree 1 are the columns themselves, scaled
    first = ladder.terms_upto(1)
    place = {int(np.flatnonzero(ladder.expansion.exponents[i])[0]): i for i in first.tolist()}
    nesting = ladder.nesting
    sides = [(nesting.growing(parts, f)[-1], nesting.left_out(parts, f)) for f in range(k)]
    losses = np.empty((len(choices) + 1, k))
    for i, (_, some) in enumerate(choices):
        for fold, (train, test) in enumerate(sides):
            each = []
            for terms in some:
                at = np.array([place[j] for j in terms.tolist()])
                step = Step("", linear_model(), at)
                each.append(float(step_errors(step, train, test)[0][0]))
            losses[i, fold] = np.mean(each)
    losses[-1] = learning_curve_losses.validation[-1, 1]
    counts = np.array([*(q for q, _ in choices), len(ladder.columns)], dtype=float)
    return ColumnCurve(counts, losses)


def classes(
    ladder: Ladder, seed: int, step: Tick
) -> tuple[list[str], LearningCurveLosses, ColumnCurve | None, list[str]]:
    """The same for a target of classes, by the error rate."""
    truth, w = truth_of(ladder.table), ladder.table.block.w

    def refit_losses(model: Any, x: Floats) -> LearningCurveLosses:
        rows = RefitRows(_taken(x), truth, w, "error rate")
        return losses_from_refits(rows, ladder.labels, ladder.nesting, [model])

    step("linear models")
    names, messages = ["most frequent class", LINEAR], []
    losses = refit_losses(MostFrequentClassifier(), ladder.x)
    losses = join_losses(losses, refit_losses(linear_classifier(), ladder.x))
    step("polynomials")
    if 2 in ladder.degrees:
        x = ladder.expansion.transform(ladder.x)[:, ladder.terms_upto(2)]
        losses = join_losses(losses, refit_losses(linear_classifier(), x))
        names.append(name_of(2))
    step("nearest neighbors")
    if len(ladder.x) <= MOST_NEIGHBOR_ROWS:
        losses = join_losses(
            losses, refit_losses(KNeighborsClassifier("auto", standardize=True), ladder.x)
        )
        names.append("neighbors")
    else:
        messages.append(f"Nearest neighbors are left out above {MOST_NEIGHBOR_ROWS:,} rows.")
    step("random choices of columns")
    return names, losses, _columns_of_classes(ladder, truth, losses, seed), messages


def linear_classifier() -> LogisticRegression:
    """Logistic regression with a weak penalty on standardized columns."""
    return LogisticRegression(standardize=True)


def _taken(x: Floats) -> Callable[[Any], Floats]:
    return lambda at: x[at]


def _columns_of_classes(
    ladder: Ladder, truth: Any, learning_curve_losses: LearningCurveLosses, seed: int
) -> ColumnCurve | None:
    choices, nesting = ladder.choices(seed), ladder.nesting
    if not choices:
        return None
    losses = np.empty((len(choices) + 1, nesting.folds))
    for i, (_, some) in enumerate(choices):
        for fold in range(nesting.folds):
            train = nesting.train(ladder.labels, fold, nesting.ranks)
            test = nesting.test(ladder.labels, fold)
            each = []
            for terms in some:
                x, w = ladder.x[:, terms], ladder.table.block.w
                rows = RefitRows(_taken(x), truth, w, "error rate")
                each.append(rows.mean_loss(rows.fitted(linear_classifier(), train), test))
            losses[i, fold] = np.mean(each)
    losses[-1] = learning_curve_losses.validation[-1, 1]
    counts = np.array([*(q for q, _ in choices), len(ladder.columns)], dtype=float)
    return ColumnCurve(counts, losses)


def join_losses(first: LearningCurveLosses, second: LearningCurveLosses) -> LearningCurveLosses:
    """Losses of more models on the same training sets."""
    return LearningCurveLosses(
        first.sizes,
        np.concatenate([first.validation, second.validation], axis=1),
        np.concatenate([first.training, second.training], axis=1),
    )


# -------------------------------------------------------------------------------------------------
# Whether more rows, more columns or a more flexible model would help, in words.
#
# Gains are those of power laws with intervals of 90 % over folds drawn anew, or differences between
# models on the same folds with their standard errors.


#: A gain of less than this fraction of the error is little, one of more than that helps.
LITTLE, MUCH = 0.02, 0.01
#: How many times the columns, and the rows up to which curves are followed to a crossing.
MORE_COLUMNS, FARTHEST = 1.5, 100.0
NAMES = {"rmse": "RMSE", "error": "the error rate", "log loss": "the log loss"}


def advise(
    curves: LearningCurves, columns: ColumnCurve | None, n_columns: int
) -> tuple[tuple[Advice, ...], str]:
    """What would help, and one sentence on all of it."""
    best = int(curves.best[-1])
    # An error of this fraction of that of a constant is rounding.
    exact = curves.mean[-1] <= 1e-6 * curves.mean[-1, 0]
    if exact.any():
        return _exact(curves, int(exact.argmax()))
    advices = (
        rows_advice(curves, best),
        columns_advice(curves, columns, n_columns),
        model_advice(curves, best),
    )
    return advices, _summary(advices)


def _exact(curves: LearningCurves, best: int) -> tuple[tuple[Advice, ...], str]:
    """A target that is a function of the columns leaves nothing to gain."""
    what = ("more rows", "more columns", "a more flexible model")
    sentences = (
        f"More rows: they would change nothing; {curves.names[best]} is exact with these.",
        "More columns: these determine the target.",
        f"A more flexible model: none is needed beyond {curves.names[best]}.",
    )
    advices = tuple(Advice(w, NO, text) for w, text in zip(what, sentences, strict=True))
    return advices, f"Nothing is left to gain: {curves.names[best]} is exact on rows left out."


def _summary(advices: tuple[Advice, ...]) -> str:
    helping = [a for a in advices if a.answer == YES]
    if not helping:
        open_ = [a.what for a in advices if a.answer == UNCLEAR]
        if open_:
            return f"Nothing is certain to help; {_list_words(open_)} might."
        return "Neither more rows, more columns nor a more flexible model would change much."
    helping.sort(key=lambda a: -a.gain if np.isfinite(a.gain) else 0.0)
    what = _list_words([a.what for a in helping])
    return f"{what[0].upper()}{what[1:]} would help."


def _list_words(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _answer(low: float, high: float, error: float) -> str:
    if high < LITTLE * error:
        return NO
    return YES if low > MUCH * error else UNCLEAR


def _metric(curves: LearningCurves) -> str:
    return NAMES.get(curves.metric, curves.metric)


def _text(curves: LearningCurves, value: float) -> str:
    return f"{100 * value:.2g} %" if curves.metric == "error" else digits(value, 3)


def _change(curves: LearningCurves, value: float) -> str:
    return f"{100 * value:.2g} points" if curves.metric == "error" else digits(value, 2)


def _range(curves: LearningCurves, low: float, high: float) -> str:
    """The ends of an interval of changes."""
    if curves.metric == "error":
        return f"{100 * low:.2g} to {100 * high:.2g}"
    return f"{digits(low, 2)} to {digits(high, 2)}"


def rows_advice(curves: LearningCurves, best: int) -> Advice:
    """The best model of now with twice the rows, and with any number of them."""
    what, law, n = "more rows", curves.power_laws[best], float(curves.sizes[-1])
    error = float(curves.mean[-1, best])
    if law is None:
        return _without_law(curves, best)
    now, then, limit = (curves.draws_at(best, m) for m in (n, 2.0 * n, np.inf))
    gain, low, high = law.interval(now - then)
    answer = _answer(low, high, error)
    words = {
        YES: "they would help",
        NO: "they would change little",
        UNCLEAR: "they might help; the folds leave it open",
    }[answer]
    sentence = (
        f"More rows: {words}. With twice as many ({2 * n:,.0f} for training) {_metric(curves)} of "
        f"the best model, {curves.names[best]}, would fall by {_change(curves, gain)} "
        f"({_range(curves, low, high)}) from {_text(curves, error)}"
    )
    end, least, most = law.interval(limit)
    if law.determined:
        sentence += (
            f"; its limit for any number of rows is about {_text(curves, end)} "
            f"({_text(curves, least)} to {_text(curves, most)})."
        )
    else:
        sentence += "; its limit is not determined by so short a curve."
    return Advice(what, answer, sentence, gain, low, high)


def _without_law(curves: LearningCurves, best: int) -> Advice:
    """Whether the error still falls, where the curve is too short or too steep for a power law."""
    what, mean, sizes = "more rows", curves.mean[:, best], curves.sizes
    half = int(np.abs(sizes[:-1] - sizes[-1] / 2).argmin())
    losses = curves.validation[:, best]
    if not np.isfinite(mean[[half, -1]]).all():
        return Advice(what, UNCLEAR, "More rows: too few sizes could be fitted to tell.")
    fell = float(mean[half] - mean[-1])
    spread = _spread(curves, losses[half] - losses[-1], float(mean[-1]))
    steep = fell > 2.0 * spread and fell > MUCH * mean[-1]
    words = "they would help" if steep else "they might help; the folds leave it open"
    sentence = (
        f"More rows: {words}. From {sizes[half]:,.0f} to {sizes[-1]:,.0f} training rows "
        f"{_metric(curves)} of the best model, {curves.names[best]}, "
        f"{'fell' if fell >= 0 else 'rose'} by {_change(curves, abs(fell))} ± "
        f"{_change(curves, spread)} to {_text(curves, mean[-1])}: too "
        "short a curve for a power law beyond them."
    )
    return Advice(what, YES if steep else UNCLEAR, sentence)


def columns_advice(curves: LearningCurves, columns: ColumnCurve | None, n_columns: int) -> Advice:
    """The linear model with fewer of the columns.

    Where they add little to the last, others of their kind would not either. Where they do add, the
    error falls with their number until the last of them whether or not there are others that the
    target depends on: no table can tell, and the answer is open.
    """
    what = "more columns"
    if columns is None:
        return Advice(
            what, UNCLEAR, f"More columns: {n_columns} are too few to tell from fewer of them."
        )
    error = float(curves.shown(columns.validation[-1].mean()))
    raised = float(curves.shown(columns.validation[-2].mean())) - error
    spread = _spread(curves, columns.validation[-2] - columns.validation[-1], error)
    sentence = (
        f"With {columns.counts[-2]:.0f} of the {columns.counts[-1]:.0f} columns, chosen at random, "
        f"{_metric(curves)} of the linear model is {_change(curves, abs(raised))} ± "
        f"{_change(curves, spread)} {'higher' if raised >= 0 else 'lower'}"
    )
    if raised <= spread or raised < MUCH * error:
        words = "others of the same kind would change little"
        return Advice(what, NO, f"More columns: {words}. {sentence}.")
    words = "the last of them still add something, and others might"
    law = fit_power_law(columns.counts, columns.validation)
    if law is None:
        return Advice(what, UNCLEAR, f"More columns: {words}. {sentence}.")
    more = MORE_COLUMNS * float(columns.counts[-1])
    now, then = (curves.shown(law.at(q)) for q in (float(columns.counts[-1]), more))
    gain, low, high = law.interval(now - then)
    sentence += (
        ". If the target depends on others as on these, half as many again would lower it by "
        f"{_change(curves, gain)} ({_range(curves, low, high)}); no table can tell if it does."
    )
    return Advice(what, UNCLEAR, f"More columns: {words}. {sentence}", gain, low, high)


def _spread(curves: LearningCurves, differences: Floats, error: float) -> float:
    """Standard error of a difference over folds, which share their training rows."""
    k = len(differences)
    spread = float(differences.std(ddof=1) * np.sqrt(1.0 / k + 1.0 / (k - 1)))
    return spread / (2.0 * error) if curves.loss == "squared error" and error > 0 else spread


def model_advice(curves: LearningCurves, best: int) -> Advice:
    """The best of the more flexible models beside the linear one."""
    what = "a more flexible model"
    if len(curves.names) < 3:
        return Advice(what, UNCLEAR, "A more flexible model: none could be tried on this table.")
    validation, mean = curves.validation[-1], curves.mean[-1]
    if best == 0:
        return Advice(
            what,
            NO,
            f"A more flexible model: no model beats the {curves.names[0]}, whose "
            f"{_metric(curves).removeprefix('the ')} is {_text(curves, mean[0])}.",
        )
    flexible = mean[2:]
    if not np.isfinite(flexible).any():
        return Advice(what, UNCLEAR, "A more flexible model: none could be fitted to all rows.")
    rival = 2 + int(np.nanargmin(flexible))
    gain = float(mean[1] - mean[rival])
    spread = _spread(curves, validation[1] - validation[rival], float(mean[1]))
    compared = (
        f"{curves.names[rival]} has {_text(curves, mean[rival])}, {curves.names[1]} "
        f"{_text(curves, mean[1])} (difference {_change(curves, abs(gain))} ± "
        f"{_change(curves, spread)})"
    )
    # a difference of one standard error either way leaves it open
    low, high = gain - 1.645 * spread, gain + 1.645 * spread
    if gain > spread and gain > MUCH * mean[1]:
        further = ""
        if rival == len(curves.names) - 1:
            further = " It is the most flexible that was tried: a still more flexible one may help."
        sentence = f"A more flexible model: it helps; {compared}.{further}"
        return Advice(what, YES, sentence, gain, low, high)
    answer = NO if gain <= spread else UNCLEAR
    words = "it does not help with so many rows" if answer == NO else "it hardly helps"
    sentence = f"A more flexible model: {words}; {compared}."
    return Advice(what, answer, f"{sentence}{_crossing(curves, rival)}", gain, low, high)


def _crossing(curves: LearningCurves, rival: int) -> str:
    """Where the power law of a more flexible model falls below that of the linear one."""
    simple, flexible = curves.power_laws[1], curves.power_laws[rival]
    if simple is None or flexible is None or not _are_determined(simple, flexible):
        return ""
    n = np.geomspace(1.0, FARTHEST, 200) * float(curves.sizes[-1])
    # the folds of both laws were drawn alike, so that draws can be compared one by one
    below = np.array([np.mean(flexible.at(m) < simple.at(m)) for m in n.tolist()])
    if below[0] >= LEVEL or below[-1] < LEVEL:
        return ""
    return (
        f" By their power laws {curves.names[rival]} would be ahead from about "
        f"{float(f'{n[int((below >= LEVEL).argmax())]:.1g}'):,.0f} rows on."
    )


def _are_determined(*laws: PowerLaw) -> bool:
    return all(law.determined for law in laws)
