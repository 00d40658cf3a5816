"""Partial dependence: the mean prediction when one column is set to a value in every row.

    PD(v) = mean over training rows of f(row with column = v)

The curves of single rows (individual conditional expectation) show what the mean hides: lines that
are not parallel are an interaction with other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.estimators.targets import codes_of
from separatrix.rows.block import Floats, Matrix, to_array
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind, Term
from separatrix.statistics.grids import value_grid
from separatrix.study.classes.out_of_fold import aligned_probabilities
from separatrix.study.explanation.answers import (
    BATCH,
    columns_at,
    display_of,
    row_work,
    stacked,
    with_features,
)
from separatrix.study.explanation.records import PartialDependence
from separatrix.study.folds import thinned
from separatrix.study.result import Study

#: Columns, and levels of one, that are drawn.
MOST_COLUMNS, MOST_LEVELS = 4, 12
#: Rows averaged over, at least and at most, and the curves of single rows among them.
LEAST_ROWS, MOST_ROWS, CURVES = 20, 300, 30
#: Work (multiplications) of all columns together.
WORK = 4e9


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
    count = int(np.clip(WORK / (each * points), LEAST_ROWS, MOST_ROWS))
    rows = training.take(thinned(np.arange(len(training)), count))
    return tuple(_dependence(study, rows, name, values, deciles) for name, values, deciles in grids)


def _dependence(
    study: Study, rows: InMemory, name: str, values: Sequence[Any], deciles: Floats
) -> PartialDependence:
    """Every row with the column at every value, predicted in batches of values."""
    x, n = rows.block.x, len(rows)
    at_a_time = max(1, BATCH // max(1, n * x.shape[1]))
    found = []
    for start in range(0, len(values), at_a_time):
        some = values[start : start + at_a_time]
        changed = stacked([_set(rows, name, value) for value in some])
        answers = _answers(study, with_features(rows, changed))
        found.append(answers.reshape(len(some), n, -1))
    answers = np.concatenate(found)
    levels = tuple(v for v in values if isinstance(v, str))
    chosen = answers[:, thinned(np.arange(n), CURVES), -1].T
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
    own, new = np.ones(block.x.shape[1]), np.zeros(block.x.shape[1])
    own[at], new[at] = 0.0, row
    rest = sparse.csr_array(block.x @ sparse.diags_array(own))
    return sparse.csr_array(rest + sparse.csr_array(np.tile(new, (block.n, 1))))


def _entry(term: Term, value: Any) -> float:
    """What a term is where its column has the value."""
    if term.missing:
        return 0.0
    if term.level is not None:
        return float(term.level == value)
    return float(value == "true") if isinstance(value, str) else float(value)
