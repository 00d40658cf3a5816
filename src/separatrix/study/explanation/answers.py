"""What a chosen model answers for rows of the table, what that costs, and how much work it is.

Rows are changed in the raw terms of the table, so that all terms of a column change together and
the encoding of the model (levels, missing values) applies as to any new row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from separatrix.estimators.targets import codes_of
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.rows.rows import InMemory
from separatrix.study.classes.metrics import log_losses
from separatrix.study.classes.out_of_fold import aligned_probabilities
from separatrix.study.describe import stored_rows
from separatrix.study.folds import truth_of
from separatrix.study.result import Study
from separatrix.study.tasks import CLASSIFICATION

#: Numbers predicted from at a time.
BATCH = 2_000_000
#: Work for a row beside products with stored rows: a number is copied and encoded several times.
PER_TERM, PER_ROW, PER_KERNEL_VALUE = 100, 2_000, 60

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
    found: dict[str, list[int]] = {}
    for j, term in enumerate(rows.block.terms):
        found.setdefault(term.column, []).append(j)
    names = [c.name for c in rows.schema.columns if c.name in found]
    return {name: np.array(found[name]) for name in names}


def display_of(rows: InMemory, name: str) -> str:
    """How the numbers of a column are written: as years, dates, … or plainly."""
    return rows.schema.by_name[name].display


def with_features(rows: InMemory, x: Matrix) -> InMemory:
    """Rows of the same table with other features and no targets."""
    y = np.zeros((x.shape[0], rows.block.y.shape[1]))
    return InMemory(rows.schema, replace(rows.block, x=x, y=y, w=None, parts=None))


def permuted(x: Matrix, terms: Ints, donors: Ints) -> Matrix:
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


def all_permuted(x: Matrix, jobs: Sequence[tuple[Ints, Ints]]) -> Matrix:
    """A copy of ``x`` for each of the jobs (terms, donors), one below the other."""
    if sparse.issparse(x):
        return stacked([permuted(x, terms, donors) for terms, donors in jobs])
    n, d = x.shape
    columns = np.empty((d, len(jobs), n))  # column by column: models read them so
    columns[:] = x.T[:, None, :]
    for i, (terms, donors) in enumerate(jobs):
        columns[terms, i] = x[np.ix_(donors, terms)].T
    return columns.reshape(d, -1).T


def stacked(parts: list[Matrix]) -> Matrix:
    """Rows one below the other."""
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)


def row_work(model: Any, rows: InMemory, outputs: int) -> float:
    """Multiplications to predict one row, roughly: products with stored rows count most."""
    terms = len(rows.block.terms)
    stored = sum(_stored(part) for part in estimators_within(model))
    pairs = outputs * (outputs - 1) / 2
    return PER_ROW + terms * (PER_TERM + outputs) + stored * (PER_KERNEL_VALUE + terms + pairs)


def _stored(model: Any) -> int:
    found = stored_rows(model)
    return 0 if found is None else found.count


def estimators_within(model: Any) -> list[Any]:
    """The model and every fitted one inside it, such as the one beneath a calibration."""
    found = [model]
    for name, value in vars(model).items():
        if not name.endswith("_"):
            continue
        inner = value if isinstance(value, list | tuple) else [value]
        for part in inner:
            if isinstance(part, BaseEstimator):
                found += estimators_within(part)
    return found
