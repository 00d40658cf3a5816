"""Predictions by the k nearest neighbors without each of the training rows.

ŷ₋ᵢ(x) = ŷ(x) unless i is one of the k nearest rows of x; then the (k + 1)-th takes its place. The
leave-one-out predictions of the training rows themselves are those by their nearest others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.distances.vectors import Chebyshev, Euclidean, Manhattan, Minkowski
from separatrix.neighbors.weights import distance_weights
from separatrix.rows.block import Floats, Ints

#: Metrics that learn nothing from the rows.
FIXED = (Chebyshev, Euclidean, Manhattan, Minkowski)


@dataclass(frozen=True)
class NeighborFits:
    """Fits of which all but k say the same about a new row; ``own`` (n) or (n x K)."""

    own: Floats

    def changes(self, model: Any, X: Any) -> tuple[Floats, Ints, Floats]:
        """ŷ(x) (m), its k nearest rows (m x k), and what it is without each of them (m x k).

        Of classes, probabilities with one more axis.
        """
        k = model.n_neighbors_
        distances, indices = model.kneighbors(X, k + 1)
        answers = model._answers_of_neighbors()
        base = answers(distances[:, :k], indices[:, :k])
        changed = np.empty((len(base), k, *base.shape[1:]))
        for j in range(k):
            others = np.delete(np.arange(k + 1), j)
            changed[:, j] = answers(distances[:, others], indices[:, others])
        return base, indices[:, :k], changed

    def at(self, model: Any, X: Any) -> Floats:
        """ŷ₋ᵢ(x) (m x n), or (m x n x K)."""
        base, indices, changed = self.changes(model, X)
        m, n = len(base), len(self.own)
        found = np.repeat(base[:, None], n, axis=1)
        found[np.arange(m)[:, None], indices] = changed
        return found


#: Distances and indices of neighbors ↦ what they say.
Answers = Callable[[Floats, Ints], Floats]


def mean_answers(weights: Any, targets: Floats, smoothing: float = 0.0) -> Answers:
    """Weighted means of targets (n x q); of votes, smoothed."""

    def answers(distances: Floats, indices: Ints) -> Floats:
        v = distance_weights(weights, distances)
        total = v.sum(axis=1, keepdims=True)
        found = np.einsum("ij,ijq->iq", v / total, targets[indices])
        if smoothing:
            m = total**2 / (v**2).sum(axis=1, keepdims=True)
            found = (m * found + smoothing / found.shape[1]) / (m + smoothing)
        return np.asarray(found)

    return answers


def has_form(model: Any) -> bool:
    """Whether nothing but the rows themselves was learned, and every row counts once."""
    fixed = isinstance(model.metric_, FIXED) and not model.standardize
    counts = model._unit_weights and model.n_neighbors_ < model.n_samples_fit_
    encoding = vars(model).get("encoding_")
    plain = encoding is not None and encoding.is_identity
    return bool(fixed and counts and plain and model.n_neighbors != "auto")


def own_answers(model: Any) -> Floats:
    """What its nearest others say about each training row, by the arithmetic of new rows."""
    distances, indices = model.kneighbors(None)
    answers: Answers = model._answers_of_neighbors()
    return answers(distances, indices)
