"""How much a label would tell: a score for each row of a pool, larger for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Rows of a pool that expected errors are computed for, the most uncertain ones, and on.
CANDIDATES, JUDGES = 30, 200
#: Models of a committee, each fitted to rows drawn with replacement.
MEMBERS = 8


def between_boxes(model: Any, pool: Any) -> Floats:
    """Rows between S and G of a class, close calls first; 0 where all consistent boxes agree.

    Of one box alone, the closest call is halfway between S and the box common to G: whatever the
    label, it moves one of them there.
    """
    undecided = (np.asarray(model.certainty(pool)) == 0).any(axis=1)
    return np.where(undecided, smallest_margin(model, pool), 0.0)


def smallest_margin(model: Any, pool: Any) -> Floats:
    """1 − (p₁ − p₂), the two largest probabilities; without any, 1/(1 + gap) of the scores."""
    if hasattr(model, "predict_proba"):
        return np.asarray(1.0 - _gap(np.asarray(model.predict_proba(pool), dtype=float)))
    if not hasattr(model, "decision_function"):
        raise InputError(
            f"{type(model).__name__} has neither probabilities nor scores to find close calls by.",
            remedy="Wrap it in CalibratedClassifier, or give a list of models that may disagree.",
        )
    scores = np.asarray(model.decision_function(pool), dtype=float)
    return 1.0 / (1.0 + (np.abs(scores) if scores.ndim == 1 else _gap(scores)))


def _gap(values: Floats) -> Floats:
    """The largest value of each row minus the second."""
    ordered = np.partition(values, values.shape[1] - 2, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def disagreement(models: Sequence[Any], pool: Any) -> Floats:
    """How far models are apart: the entropy of their mean prediction less their mean entropy.

    In bits, from probabilities where all have them, and else from votes.
    """
    labels = np.unique(np.concatenate([np.asarray(model.classes_) for model in models]))
    soft = all(hasattr(model, "predict_proba") for model in models)
    predictions = []
    for model in models:
        prediction = np.zeros((0, len(labels)))
        if soft:
            found = np.asarray(model.predict_proba(pool), dtype=float)
            prediction = np.zeros((len(found), len(labels)))
            prediction[:, np.searchsorted(labels, model.classes_)] = found
        else:
            prediction = (np.asarray(model.predict(pool))[:, None] == labels).astype(float)
        predictions.append(prediction)
    mean = np.mean(predictions, axis=0)
    each = np.mean([_entropy(prediction) for prediction in predictions], axis=0)
    return np.asarray(np.maximum(_entropy(mean) - each, 0.0))


def _entropy(p: Floats) -> Floats:
    return np.asarray(-xlogy(p, p).sum(axis=1) / np.log(2.0))


def committee(model: Any, X: Any, y: Any, seed: int) -> list[Any]:
    """Copies of a model, each fitted to as many training rows drawn with replacement."""
    rng = np.random.default_rng(seed)
    y = np.asarray(y)
    first = np.unique(y, return_index=True)[1]  # one row of each class is in every draw
    members = []
    for _ in range(MEMBERS):
        rows = np.concatenate([first, rng.integers(0, len(y), len(y) - len(first))])
        members.append(clone(model).fit(_safe_indexing(X, rows), y[rows]))
    return members


def expected_error_reduction(model: Any, pool: Any, X: Any, y: Any) -> Floats:
    """By how much a label is expected to lower the mean of 1 − p₁ over the pool.

    For each of the most uncertain rows and each class the model is fitted again with that label;
    the reductions are averaged by the present probabilities. Other rows have −∞.
    """
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{type(model).__name__} has no predict_proba to expect errors from.",
            remedy="Wrap it in CalibratedClassifier, or use strategy='margin'.",
        )
    uncertain = smallest_margin(model, pool)
    candidates = np.argsort(-uncertain, kind="stable")[:CANDIDATES]
    judges = _safe_indexing(
        pool, np.linspace(0, len(uncertain) - 1, min(JUDGES, len(uncertain))).astype(int)
    )
    now = float(np.mean(1.0 - model.predict_proba(judges).max(axis=1)))
    prior = np.asarray(model.predict_proba(_safe_indexing(pool, candidates)), dtype=float)
    result = np.full(len(uncertain), -np.inf)
    for at, probabilities in zip(candidates, prior, strict=True):
        expected = 0.0
        for label, p in zip(model.classes_, probabilities, strict=True):
            more = clone(model).fit(
                join(X, _safe_indexing(pool, np.array([at]))), np.append(np.asarray(y), label)
            )
            expected += p * float(np.mean(1.0 - more.predict_proba(judges).max(axis=1)))
        result[at] = now - expected
    return result


def join(X: Any, more: Any) -> Any:
    """Rows below other rows of the same container."""
    if sparse.issparse(X):
        return sparse.vstack([X, more], format="csr")
    if nw.dependencies.is_into_dataframe(X):
        return nw.concat([nw.from_native(X), nw.from_native(more)]).to_native()
    return np.concatenate([np.asarray(X), np.asarray(more)])
