"""A finished study with what the columns are like and what its model makes of them.

Importance is measured on the test rows, after everything was chosen; all else is drawn from the
training rows. Work is bounded by counts, so the same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.estimators.base import codes_of
from separatrix.formula.nodes import formula_of
from separatrix.formula.reading import stored_points
from separatrix.formula.values import NoFormula
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind, Term, to_array
from separatrix.statistics.columns import (
    donor_rows,
    histogram_edges,
    mean_rise,
    pairwise_correlations,
    value_grid,
)
from separatrix.study.candidates import BASELINE
from separatrix.study.class_scores import log_losses
from separatrix.study.comparison import mute_warnings
from separatrix.study.design import SHOWN_ROWS, RowFolds, thin, truth_of
from separatrix.study.out_of_fold import aligned_probabilities
from separatrix.study.result import (
    ColumnCorrelations,
    ColumnDistribution,
    ColumnImportance,
    ColumnPairs,
    PartialDependence,
    Study,
)
from separatrix.study.tasks import CLASSIFICATION


def explain(study: Study, folds: RowFolds) -> Study:
    """The study with importance, partial dependence, histograms and correlations of its columns."""
    training = folds.table.take(thin(folds.training, SHOWN_ROWS))
    names = [c.name for c in folds.table.schema.columns]
    importance: ColumnImportance | None = None
    dependence: tuple[PartialDependence, ...] = ()
    if study.winner != BASELINE:
        loss, outputs = row_loss(study), max(1, len(study.classes))
        with mute_warnings():
            test = folds.table.take(folds.test)
            importance = column_importance(loss, test, training, study.model, outputs, study.seed)
            if importance is not None:
                dependence = partial_dependence(study, training, _with_curves(importance))
                leading = [*(curve.column for curve in dependence), *importance.columns]
                names = [*dict.fromkeys([*leading, *names])]
    return replace(
        study,
        importance=importance,
        dependence=dependence,
        distributions=distributions(training, names, study.classes),
        correlations=correlations(training, names, study.columns, study.target),
        pairs=column_pairs(training, study.columns, study.classes),
    )


def _with_curves(column_importance: ColumnImportance) -> list[str]:
    """Columns whose interval is above zero; with few of those, others that seem to matter."""
    rises = zip(
        column_importance.columns, column_importance.low, column_importance.increase, strict=True
    )
    # Columns that are drawn even where chance could explain their importance.
    return [name for i, (name, low, rise) in enumerate(rises) if low > 0 or (rise > 0 and i < 3)]


# -------------------------------------------------------------------------------------------------
# What a chosen model answers for rows of the table, what that costs, and how much work it is.
#
# Rows are changed in the raw terms of the table, so that all terms of a column change together and
# the encoding of the model (levels, missing values) applies as to any new row.


#: Numbers predicted from at a time.
BATCH = 2_000_000

#: The loss of a row by the metric that models are compared by; AUC and F1 have none of their own.
LOSSES = {
    "rmse": "squared_error",
    "r2": "squared_error",
    "mae": "absolute_error",
    "log_loss": "log_loss",
    "auc": "log_loss",
    "error": "error",
    "f1": "error",
    "balanced_error": "balanced_error",
    "cost": "cost",
}


@dataclass(frozen=True)
class RowLoss:
    """The ``name`` of a loss and its ``values`` for rows, given their targets."""

    name: str
    values: Callable[[InMemory, NDArray[Any]], Floats]


def row_loss(study: Study) -> RowLoss:
    """The loss that belongs to the metric of the leaderboard."""
    metric = study.leaderboard[0].metric if study.leaderboard else ""
    model, classes = study.model, np.array(study.classes, dtype=object)
    if study.task != CLASSIFICATION:
        if LOSSES.get(metric) == "absolute_error":
            return RowLoss("absolute_error", lambda rows, y: np.abs(model.predict(rows) - y))
        return RowLoss("squared_error", lambda rows, y: (model.predict(rows) - y) ** 2)
    name = LOSSES.get(metric, "log_loss")
    if name == "log_loss" and hasattr(model, "predict_proba"):
        return RowLoss(name, lambda rows, y: _log_losses(model, rows, y, classes))
    if name == "cost" and study.decision is not None:
        return RowLoss(name, _cost(study, classes))
    name = "balanced_error" if name == "balanced_error" else "error"
    return RowLoss(name, lambda rows, y: (_texts(model.predict(rows)) != _texts(y)).astype(float))


def _log_losses(model: Any, rows: InMemory, y: NDArray[Any], classes: NDArray[Any]) -> Floats:
    p = aligned_probabilities(model, rows, classes)
    assert p is not None
    return np.asarray(log_losses(p, codes_of(y, classes)))


def _cost(study: Study, classes: NDArray[Any]) -> Callable[[InMemory, NDArray[Any]], Floats]:
    decision = study.decision
    assert decision is not None
    table = decision.costs.with_reject

    def values(rows: InMemory, y: NDArray[Any]) -> Floats:
        answers = codes_of(_texts(study.model.predict(rows)), classes)
        answers = np.where(answers < 0, len(classes), answers)  # a rejection
        truth = codes_of(_texts(y), classes)
        # A class that the model cannot know costs what the dearest error does.
        return np.where(truth < 0, table.max(), table[truth, answers])

    return values


def _texts(labels: Any) -> NDArray[Any]:
    return np.array([str(v) for v in np.asarray(labels).tolist()], dtype=object)


def loss_weights(name: str, rows: InMemory) -> Floats:
    """The weight of each row in the mean loss: with balanced errors, every class counts alike."""
    w = rows.block.weights
    if name != "balanced_error":
        return w
    _, code = np.unique(truth_of(rows), return_inverse=True)
    total = np.bincount(code, w)
    return np.asarray(w / np.where(total > 0, total, 1.0)[code])


def columns_at(rows: InMemory) -> dict[str, Ints]:
    """The positions of the terms of every column that has any."""
    columns_by_place: dict[str, list[int]] = {}
    for j, term in enumerate(rows.block.terms):
        columns_by_place.setdefault(term.column, []).append(j)
    names = [c.name for c in rows.schema.columns if c.name in columns_by_place]
    return {name: np.array(columns_by_place[name]) for name in names}


def display_of(rows: InMemory, name: str) -> str:
    """How the numbers of a column are written: as years, dates, … or plainly."""
    return rows.schema.by_name[name].display


def with_features(rows: InMemory, x: Matrix) -> InMemory:
    """Rows of the same table with other features and no targets."""
    y = np.zeros((x.shape[0], rows.block.y.shape[1]))
    return InMemory(rows.schema, replace(rows.block, x=x, y=y, w=None, parts=None))


def permute_terms(x: Matrix, terms: Ints, donors: Ints) -> Matrix:
    """A copy of ``x`` in which the given terms of row i are those of row ``donors[i]``."""
    if not sparse.issparse(x):
        out = np.array(x, order="F")
        out[:, terms] = x[np.ix_(donors, terms)]
        return out
    own = np.zeros(x.shape[1])
    own[terms] = 1.0
    rest = sparse.csr_array(x @ sparse.diags_array(1.0 - own))
    taken = sparse.csr_array(sparse.csr_array(x)[donors] @ sparse.diags_array(own))
    return sparse.csr_array(rest + taken)


def permute_all(x: Matrix, jobs: Sequence[tuple[Ints, Ints]]) -> Matrix:
    """A copy of ``x`` for each of the jobs (terms, donors), one below the other."""
    if sparse.issparse(x):
        return stack([permute_terms(x, terms, donors) for terms, donors in jobs])
    n, d = x.shape
    columns = np.empty((d, len(jobs), n))  # column by column: models read them so
    columns[:] = x.T[:, None, :]
    for i, (terms, donors) in enumerate(jobs):
        columns[terms, i] = x[np.ix_(donors, terms)].T
    return columns.reshape(d, -1).T


def stack(parts: list[Matrix]) -> Matrix:
    """Rows one below the other."""
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)


def row_work(model: Any, rows: InMemory, outputs: int) -> float:
    """Multiplications to predict one row, roughly: products with stored rows count most."""
    terms = len(rows.block.terms)
    try:
        stored = stored_points(formula_of(model))
    except NoFormula:  # of another library, or of objects
        stored = 0
    pairs = outputs * (outputs - 1) / 2
    # Work for a row beside products with stored rows: a number is copied and encoded several times.
    return 2_000 + terms * (100 + outputs) + stored * (60 + terms + pairs)


# -------------------------------------------------------------------------------------------------
# Permutation importance of columns on test rows: how much worse the model predicts without one.
#
# All terms of a column (levels, the indicator of missing values) are permuted together. The work is
# bounded: with many columns or dear predictions there are fewer donors, then fewer rows, and then
# only those columns are measured whose permutation changes the loss of a few training rows most.


#: Rows that tell which columns change predictions at all, at most.
SCREEN_ROWS = 50
#: Work (multiplications) of the whole, and of choosing the columns.
WORK, SCREEN_WORK = 8e9, 2e9


def column_importance(
    loss: RowLoss, test: InMemory, training: InMemory, model: object, outputs: int, seed: int
) -> ColumnImportance | None:
    """Importance of every column (of many, of those that change predictions most).

    ``training`` rows choose the columns where there are too many to measure all. None where
    fewer than two test rows are left, or no column is.
    """
    columns = columns_at(test)
    total, each = len(columns), row_work(model, test, outputs)
    # Test rows, donors of each, and the rows below which columns are left out instead.
    rows = test.take(thin(np.arange(len(test)), 2_000))
    n = len(rows)
    if n < 2 or not columns:
        return None
    fewest = min(n, 200)
    # Columns measured in any case, however dear a prediction is.
    affordable = max(12, int(WORK / (each * fewest)))
    if total > affordable:
        columns = _screen_columns(loss, training, columns, affordable, each, seed)
    by_column = max(fewest, int(WORK / (each * len(columns))))
    if by_column < n:
        rows = rows.take(thin(np.arange(n), by_column))
        n = len(rows)
    repeats = min(10, n - 1, max(1, by_column // n))
    return _measure_column(loss, rows, columns, repeats, seed, total)


def _measure_column(
    loss: RowLoss, rows: InMemory, columns: dict[str, Ints], repeats: int, seed: int, total: int
) -> ColumnImportance:
    y, w = truth_of(rows), loss_weights(loss.name, rows)
    before = np.asarray(loss.values(with_features(rows, rows.block.x), y), dtype=float)
    donors = donor_rows(len(rows), repeats, seed)
    found = np.array(
        [
            mean_rise(rise, donors, w)
            for rise in _rises(loss, rows, y, before, [*columns.values()], donors)
        ]
    )
    names = np.array([*columns], dtype=object)
    order = np.argsort(-found[:, 0], kind="stable")
    value, half = found[order].T
    return ColumnImportance(
        tuple(names[order].tolist()),
        value,
        value - half,
        value + half,
        loss.name,
        float(np.average(before, weights=w)),
        len(rows),
        repeats,
        total,
    )


def _rises(
    loss: RowLoss,
    rows: InMemory,
    y: NDArray[Any],
    before: Floats,
    columns: list[Ints],
    donors: Ints,
) -> list[Floats]:
    """The rise of the loss (donors x rows) for each column; many rows are predicted at a time."""
    x, n = rows.block.x, len(rows)
    jobs = [(c, r) for c in range(len(columns)) for r in range(len(donors))]
    at_a_time = max(1, BATCH // max(1, n * x.shape[1]))
    rises_by_column = np.empty((len(columns), len(donors), n))
    for start in range(0, len(jobs), at_a_time):
        some = jobs[start : start + at_a_time]
        changed = permute_all(x, [(columns[c], donors[r]) for c, r in some])
        after = loss.values(with_features(rows, changed), np.tile(y, len(some)))
        for (c, r), values in zip(some, np.reshape(after, (len(some), n)), strict=True):
            rises_by_column[c, r] = values - before
    return list(rises_by_column)


def _screen_columns(
    loss: RowLoss, rows: InMemory, columns: dict[str, Ints], count: int, each: float, seed: int
) -> dict[str, Ints]:
    """The ``count`` columns whose permutation changes the loss of a few training rows most."""
    most = int(np.clip(SCREEN_WORK / (each * len(columns)), 2, SCREEN_ROWS))
    rows = rows.take(thin(np.arange(len(rows)), most))
    y = truth_of(rows)
    before = loss.values(with_features(rows, rows.block.x), y)
    donors = donor_rows(len(rows), 1, seed)
    change = [
        float(np.abs(rise).mean())
        for rise in _rises(loss, rows, y, before, [*columns.values()], donors)
    ]
    order = np.argsort(-np.array(change), kind="stable")[:count]
    names = [*columns]
    return {names[j]: columns[names[j]] for j in sorted(order.tolist())}


# -------------------------------------------------------------------------------------------------
# Partial dependence: the mean prediction when one column is set to a value in every row.
#
#     PD(v) = mean over training rows of f(row with column = v)
#
# The curves of single rows (individual conditional expectation) show what the mean hides: lines
# that are not parallel are an interaction with other columns.


#: Columns, and levels of one, that are drawn: as curves, histograms and bars.
MOST_COLUMNS, MOST_LEVELS = 4, 12
#: Rows averaged over, at least and at most, and the curves of single rows among them.
LEAST_ROWS, DEPENDENCE_ROWS, CURVES = 20, 300, 30


def partial_dependence(
    study: Study, training: InMemory, columns: Sequence[str]
) -> tuple[PartialDependence, ...]:
    """The dependence on each of the columns, which are in decreasing order of importance."""
    outputs = max(1, len(study.classes))
    grids = [
        (name, *grid)
        for name in columns[:MOST_COLUMNS]
        if len((grid := _grid(training, name))[0]) > 1
    ]
    points = sum(len(values) for _, values, _ in grids)
    if not points:
        return ()
    each = row_work(study.model, training, outputs)
    # Work (multiplications) of all columns together.
    count = int(np.clip(4e9 / (each * points), LEAST_ROWS, DEPENDENCE_ROWS))
    rows = training.take(thin(np.arange(len(training)), count))
    return tuple(_dependence(study, rows, name, values, deciles) for name, values, deciles in grids)


def _dependence(
    study: Study, rows: InMemory, name: str, values: Sequence[Any], deciles: Floats
) -> PartialDependence:
    """Every row with the column at every value, predicted in batches of values."""
    x, n = rows.block.x, len(rows)
    at_a_time = max(1, BATCH // max(1, n * x.shape[1]))
    dependences = []
    for start in range(0, len(values), at_a_time):
        some = values[start : start + at_a_time]
        changed = stack([_set(rows, name, value) for value in some])
        answers = _answers(study, with_features(rows, changed))
        dependences.append(answers.reshape(len(some), n, -1))
    answers = np.concatenate(dependences)
    levels = tuple(v for v in values if isinstance(v, str))
    chosen = answers[:, thin(np.arange(n), CURVES), -1].T
    two = answers.shape[2] == 2
    outputs = study.classes or (study.target,)
    return PartialDependence(
        name,
        np.zeros(0) if levels else np.array(values, dtype=float),
        levels,
        np.average(answers, axis=1, weights=rows.block.weights)[:, 1 if two else 0 :],
        chosen.astype(np.float32) if len(outputs) <= 2 else np.zeros((0, len(values)), np.float32),
        outputs[-1:] if two else outputs,
        _scale(study),
        deciles,
        n,
        display_of(rows, name),
    )


def _scale(study: Study) -> str:
    if not study.classes:
        return "prediction"
    return "probability" if hasattr(study.model, "predict_proba") else "proportion"


def _answers(study: Study, rows: InMemory) -> Floats:
    """A prediction, probabilities, or an indicator of the predicted class, for each row."""
    model = study.model
    if not study.classes:
        return np.asarray(model.predict(rows), dtype=float)
    classes = np.array(study.classes, dtype=object)
    p = aligned_probabilities(model, rows, classes)
    if p is not None:
        return p
    codes = codes_of([str(label) for label in model.predict(rows)], classes)
    return np.asarray(codes[:, None] == np.arange(len(classes)), dtype=float)


def _grid(rows: InMemory, name: str) -> tuple[list[Any], Floats]:
    """Values of a column worth a look, in order, and the deciles of numbers."""
    column = rows.schema.by_name[name]
    block, at = rows.block, columns_at(rows)[name]
    terms = [block.terms.items[j] for j in at]
    if column.kind is Kind.BOOLEAN and Term(name) in terms:
        return ["false", "true"], np.zeros(0)
    if Term(name) not in terms:
        count = np.asarray(to_array(block.x[:, at]).sum(axis=0))
        ranked = [
            (-count[i], str(t.level)) for i, t in enumerate(terms) if not t.missing and count[i] > 0
        ]
        return [level for _, level in sorted(ranked)[:MOST_LEVELS]], np.zeros(0)
    values = _numbers(rows, name)
    if not len(values):
        return [], np.zeros(0)
    deciles = np.quantile(values, np.arange(1, 10) / 10)
    return value_grid(values).tolist(), deciles


def _numbers(rows: InMemory, name: str) -> Floats:
    """The numbers of a column that are not missing."""
    block = rows.block
    values = _term(block.x, block.terms.position[Term(name)])
    at = block.terms.position.get(Term(name, missing=True))
    return values if at is None else values[_term(block.x, at) == 0]


def _term(x: Matrix, j: int) -> Floats:
    return np.asarray(np.ravel(to_array(x[:, [j]])), dtype=float)


def _set(rows: InMemory, name: str, value: Any) -> Matrix:
    """The features of all rows with the column at a value."""
    block, at = rows.block, columns_at(rows)[name]
    row = np.array([_entry(block.terms.items[j], value) for j in at])
    if not sparse.issparse(block.x):
        x = np.array(block.x, order="F")
        x[:, at] = row
        return x
    factors, new = np.ones(block.x.shape[1]), np.zeros(block.x.shape[1])
    factors[at], new[at] = 0.0, row
    rest = sparse.csr_array(block.x @ sparse.diags_array(factors))
    return sparse.csr_array(rest + sparse.csr_array(np.tile(new, (block.n, 1))))


def _entry(term: Term, value: Any) -> float:
    """What a term is where its column has the value."""
    if term.missing:
        return 0.0
    if term.level is not None:
        return float(term.level == value)
    return float(value == "true") if isinstance(value, str) else float(value)


# -------------------------------------------------------------------------------------------------
# Histograms of columns by class or with the mean of the target, and correlations of numbers.


#: Numeric columns that are correlated with one another, and those of them that are drawn.
MOST_CORRELATED, MOST_DRAWN = 300, 14


def distributions(
    rows: InMemory, columns: Sequence[str], classes: tuple[str, ...]
) -> tuple[ColumnDistribution, ...]:
    """One for each of the first columns, after that of the target."""
    y, target = truth_of(rows), rows.schema.targets[0].name
    if classes:
        distributions_found = [
            _levels(target, codes_of(y, np.array(classes, object)), [*classes], rows, (), None)
        ]
    else:
        distributions_found = [_column_numbers(target, np.asarray(y, dtype=float), rows, (), None)]
    known = columns_at(rows)
    distributions_found += [
        _distribution(rows, name, known[name], y, classes)
        for name in columns[:MOST_COLUMNS]
        if name in known
    ]
    return tuple(d for d in distributions_found if d.counts.size)


def _distribution(
    rows: InMemory, name: str, indices: Ints, y: NDArray[Any], classes: tuple[str, ...]
) -> ColumnDistribution:
    terms = [rows.block.terms.items[j] for j in indices]
    raw = to_array(rows.block.x[:, indices])
    gaps = [i for i, t in enumerate(terms) if t.missing]
    present = np.ones(len(raw), dtype=bool) if not gaps else raw[:, gaps[0]] == 0
    column = rows.schema.by_name[name]
    if column.kind is Kind.NUMERIC:
        values = raw[:, terms.index(Term(name))]
        values = np.where(present, values, np.nan)
        return _column_numbers(name, values, rows, classes, y)
    if Term(name) in terms:  # yes or no
        codes, levels = raw[:, terms.index(Term(name))].astype(np.int64), ["false", "true"]
    else:
        shown = [i for i, t in enumerate(terms) if not t.missing]
        codes, levels = raw[:, shown].argmax(axis=1), [str(terms[i].level) for i in shown]
        present &= raw[:, shown].max(axis=1) > 0
    return _levels(name, np.where(present, codes, -1), levels, rows, classes, y)


def _column_numbers(
    name: str, values: Floats, rows: InMemory, classes: tuple[str, ...], y: NDArray[Any] | None
) -> ColumnDistribution:
    known = np.isfinite(values)
    if not known.any():
        return ColumnDistribution(name, np.zeros(0), (), np.zeros((0, 1)))
    edges = histogram_edges(values[known])
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, -1, len(edges) - 1)
    bins = np.where(values == edges[-1], len(edges) - 2, bins)
    inside = known & (bins >= 0) & (bins < len(edges) - 1)
    counts, mean, deviation = _by_bin(np.where(inside, bins, -1), len(edges) - 1, rows, classes, y)
    return ColumnDistribution(
        name,
        edges,
        (),
        counts,
        classes,
        mean,
        deviation,
        int((~known).sum()),
        int((known & ~inside).sum()),
        display_of(rows, name),
    )


def _levels(
    name: str,
    codes: Ints,
    levels: list[str],
    rows: InMemory,
    classes: tuple[str, ...],
    y: NDArray[Any] | None,
) -> ColumnDistribution:
    total = np.bincount(codes[codes >= 0], minlength=len(levels))
    ranked = sorted(range(len(levels)), key=lambda i: (-total[i], levels[i]))
    ranked = [i for i in ranked if total[i]][:MOST_LEVELS]
    place = np.full(len(levels) + 1, -1)
    place[ranked] = np.arange(len(ranked))
    counts, mean, deviation = _by_bin(place[codes], len(ranked), rows, classes, y)
    outside = int(total.sum() - total[ranked].sum())
    return ColumnDistribution(
        name,
        np.zeros(0),
        tuple(levels[i] for i in ranked),
        counts,
        classes,
        mean,
        deviation,
        int((codes < 0).sum()),
        outside,
    )


def _by_bin(
    bins: Ints, count: int, rows: InMemory, classes: tuple[str, ...], y: NDArray[Any] | None
) -> tuple[Floats, Floats | None, Floats | None]:
    """Weight by bin and class; or by bin, with mean and deviation of a numeric target."""
    inside = bins >= 0
    at, w = bins[inside], rows.block.weights[inside]
    if classes and y is not None:
        codes = codes_of(y, np.array(classes, dtype=object))[inside]
        counts = np.zeros((count, len(classes)))
        np.add.at(counts, (at[codes >= 0], codes[codes >= 0]), w[codes >= 0])
        return counts, None, None
    total: Floats = np.bincount(at, w, count).astype(float)
    if y is None:
        return total[:, None], None, None
    target = np.asarray(y, dtype=float)[inside]
    center = float(np.average(target, weights=w)) if w.sum() > 0 else 0.0
    target = target - center
    some = np.where(total > 0, total, np.nan)
    mean = np.bincount(at, w * target, count) / some
    square = np.bincount(at, w * target**2, count) / some
    return total[:, None], mean + center, np.sqrt(np.maximum(square - mean**2, 0.0))


def correlations(
    rows: InMemory, leading: Sequence[str], columns: tuple[ColumnProfile, ...], target: str
) -> ColumnCorrelations | None:
    """Pearson's r of the leading numeric columns and of a numeric target; None for fewer than two.

    Each pair uses the rows in which both are present. Of many columns the leading ones are given,
    then those of the largest correlations.
    """
    numeric = [c.name for c in columns if c.kind is Kind.NUMERIC and c.std > 0 and c.name != target]
    usable = frozenset(numeric)
    ranked = [n for n in leading if n in usable]
    names = list(dict.fromkeys(ranked + numeric))[:MOST_CORRELATED]
    if len(names) < 2:
        return None
    x = _with_gaps(rows, names)
    present = np.isfinite(x).astype(float)
    x = np.nan_to_num(x)
    if rows.schema.targets[0].kind is Kind.NUMERIC:
        names = [*names, target]
        x = np.column_stack([x, rows.block.y[:, 0]])
        present = np.column_stack([present, np.ones(len(x))])
    matrix = pairwise_correlations(x, present, rows.block.weights)
    shown = _leading(matrix, len(names))
    return ColumnCorrelations(
        tuple(names[j] for j in shown), matrix[np.ix_(shown, shown)], len(numeric), len(x)
    )


def column_pairs(
    rows: InMemory, columns: tuple[ColumnProfile, ...], classes: tuple[str, ...]
) -> ColumnPairs | None:
    """The rows of the numeric columns that vary, where there are at least two and few."""
    target = rows.schema.targets[0]
    names = [c.name for c in columns if c.kind is Kind.NUMERIC and c.std > 0]
    names = [name for name in names if name != target.name]
    numeric = target.kind is Kind.NUMERIC and not classes
    # Numeric columns, a numeric target among them, of which every pair is drawn.
    if not 2 <= len(names) + numeric <= 6:
        return None
    x, codes = _with_gaps(rows, names), np.zeros(len(rows.block.weights), dtype=np.int64)
    if numeric:
        names, x = [*names, target.name], np.column_stack([x, rows.block.y[:, 0]])
    elif classes:
        codes = codes_of(truth_of(rows), np.array(classes, dtype=object))
    there = (codes >= 0) & (rows.block.weights > 0.0)
    return ColumnPairs(tuple(names), x[there], codes[there])


def _with_gaps(rows: InMemory, names: Sequence[str]) -> Floats:
    """The values of numeric columns, NaN where there is none."""
    known = rows.block.terms.position
    x = np.array(to_array(rows.block.x[:, [known[Term(name)] for name in names]]), dtype=float)
    for j, name in enumerate(names):
        gap = known.get(Term(name, missing=True))
        if gap is not None:
            x[np.ravel(to_array(rows.block.x[:, [gap]])) != 0, j] = np.nan
    return x


def _leading(matrix: Floats, count: int) -> list[int]:
    """Positions of the columns given: half of them the first, the others of the largest |r|."""
    if count <= MOST_DRAWN:
        return list(range(count))
    other = np.abs(matrix - np.eye(count))
    strongest = np.argsort(-np.nan_to_num(other).max(axis=1), kind="stable").tolist()
    first = [*range(MOST_DRAWN // 2), count - 1]
    rest = [j for j in strongest if j not in first][: MOST_DRAWN - len(first)]
    return sorted([*first, *rest])
