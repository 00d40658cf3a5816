"""The answers of the model itself, and the rows where its decision is a tie."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_clusterer

from separatrix.probability.reject import RejectOption
from separatrix.rows.block import Floats
from separatrix.threads import one_blas_thread

#: Differences of scores below this, relative to their size, are ties.
TIE = 1e-9


def expected_answers(model: Any, rows: Any, *, level: float, interval: bool) -> list[NDArray[Any]]:
    """The columns of the answer, in the order of :func:`separatrix.export.answers.outputs_of`."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # levels that training did not have are there on purpose
        predicted = np.asarray(model.predict(rows))
        if is_clusterer(model):
            return [predicted, model.transform(rows).min(axis=1)]
        if not hasattr(model, "classes_"):
            found = list(predicted.reshape(len(predicted), -1).T)
            if interval:
                found += list(_interval(model, rows, level).T)
            return found
        found = [predicted]
        if hasattr(model, "predict_proba"):
            found += list(np.asarray(model.predict_proba(rows), dtype=float).T)
        return found


def _interval(model: Any, rows: Any, level: float) -> Floats:
    """Ends of predictive or conformal intervals."""
    if hasattr(model, "predictive"):
        return np.asarray(model.predictive(rows).interval(level))
    return np.asarray(model.predict_interval(rows, level=level))


def tied(model: Any, rows: Any) -> NDArray[np.bool_]:
    """Where rounding may decide between two labels or centers."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        return _tied(model, rows)


def _tied(model: Any, rows: Any) -> NDArray[np.bool_]:
    if is_clusterer(model):
        return _close(-np.asarray(model.transform(rows), dtype=float))
    if isinstance(model, RejectOption):
        p = model.predict_proba(rows)
        costs = [model.costs_.expected(p)]
        if model.costs_.reject_cost is not None:
            costs.append((p @ model.costs_.reject_cost)[:, None])
        return _close(-np.column_stack(costs))
    if hasattr(model, "predict_proba"):
        return _close(np.asarray(model.predict_proba(rows), dtype=float))
    scores = np.asarray(model.decision_function(rows), dtype=float)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    return _close(scores)


def _close(scores: Floats) -> NDArray[np.bool_]:
    """Whether the two largest of each row agree up to rounding."""
    if scores.shape[1] < 2:
        return np.zeros(len(scores), dtype=bool)
    second, first = np.sort(scores, axis=1)[:, -2:].T
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(first), np.median(np.abs(scores)))
        return np.asarray(first - second <= TIE * size)
