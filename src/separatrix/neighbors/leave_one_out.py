"""Leave-one-out error of k nearest neighbors for every k, from one search.

    error(k) = Σ wᵢ ℓ(yᵢ, ŷᵢ(k)) / Σ wᵢ,     ŷᵢ(k) from the k nearest of the other rows

A row of weight w is w equal rows: one of them is left out, the others are its nearest neighbors.
Sums over neighbors run from near to far, so that those of k neighbors follow from those of k − 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from separatrix.distances.search.neighbors import NeighborSearch
from separatrix.messages import InputError
from separatrix.neighbors.loops import misclassified_by_count
from separatrix.neighbors.weights import distance_weights
from separatrix.rows.block import Floats, Ints
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Rows whose losses are computed together.
BLOCK = 512
#: The largest k that is tried by default.
MAX_NEIGHBORS = 128


@dataclass(frozen=True)
class LeaveOneOutErrors:
    """Leave-one-out ``error`` of ``n_neighbors`` = 1, 2, …, with its ``standard_error``.

    ``measure`` names the error: misclassification rate, or mean squared error.
    """

    n_neighbors: Ints
    error: Floats
    standard_error: Floats
    measure: str

    @property
    def best(self) -> int:
        """The k with the least error; of equals the largest, which is the smoothest."""
        return int(self.n_neighbors[np.flatnonzero(self.error <= self.error.min())[-1]])


@dataclass(frozen=True)
class _Neighborhoods:
    """Rows with their neighbors: ``indices`` (the row itself first), ``copies``, ``distances``.

    ``copies[i, j]`` is how often neighbor j of row i counts; ``last[i, k]`` is the neighbor with
    which k + 1 of them are reached.
    """

    indices: Ints
    copies: Floats
    distances: Floats
    last: Ints


class CountLoss(Protocol):
    """The loss of every row for k = first, first + 1, … neighbors."""

    measure: ClassVar[str]

    def fill(self, near: _Neighborhoods, weights: Floats, first: int, out: Floats) -> None:
        """Write the losses to ``out`` (rows x counts)."""


@dataclass(frozen=True)
class ZeroOneLoss:
    """1 where the class with most votes is not the true one."""

    codes: Ints
    n_classes: int
    measure: ClassVar[str] = "misclassification rate"

    def fill(self, near: _Neighborhoods, weights: Floats, first: int, out: Floats) -> None:
        """Write the losses to ``out`` (rows x counts)."""
        codes, last = self.codes[near.indices], first + out.shape[1] - 1
        wrong = np.empty(out.shape)
        misclassified_by_count(
            near.copies, weights, codes, codes[:, 0].copy(), self.n_classes, first, last, wrong
        )
        out[:] = wrong


@dataclass(frozen=True)
class SeveralLosses:
    """The mean over several targets of classes."""

    losses: tuple[ZeroOneLoss, ...]
    measure: ClassVar[str] = ZeroOneLoss.measure

    def fill(self, near: _Neighborhoods, weights: Floats, first: int, out: Floats) -> None:
        """Write the losses to ``out`` (rows x counts)."""
        one = np.empty(out.shape)
        out[:] = 0.0
        for loss in self.losses:
            loss.fill(near, weights, first, one)
            out += one / len(self.losses)


@dataclass(frozen=True)
class SquaredLoss:
    """(mean of the neighbors − y)², averaged over outputs."""

    targets: Floats
    measure: ClassVar[str] = "mean squared error"

    def fill(self, near: _Neighborhoods, weights: Floats, first: int, out: Floats) -> None:
        """Write the losses to ``out`` (rows x counts)."""
        y = self.targets[near.indices]
        means = _means_by_count(near, y, weights, np.arange(first, first + out.shape[1]))
        out[:] = ((means - y[:, :1]) ** 2).mean(axis=2)


def leave_one_out_errors(
    search: NeighborSearch,
    points: Any,
    sample_weight: Floats,
    weights: Any,
    loss: CountLoss,
    max_neighbors: int | None,
) -> LeaveOneOutErrors:
    """Errors of k = 1 … ``max_neighbors``, by default 2√(Σ w) and at most 128."""
    w, n, total = sample_weight, len(sample_weight), float(sample_weight.sum())
    if (w != w.round()).any():
        raise InputError(
            "Leave-one-out needs weights that are counts of rows.",
            remedy="Give n_neighbors as a number.",
        )
    default = max(1, min(int(2 * np.sqrt(total)), MAX_NEIGHBORS))
    most = min(default if max_neighbors is None else max_neighbors, int(total) - 1)
    if most < 1 or n < 2:
        raise InputError("Leave-one-out needs at least two rows.")
    found = search.nearest_others(min(most, n - 1), points)
    losses = np.empty((n, most))

    def fill(part: slice) -> None:
        near = _neighborhoods(w, found.distances[part], found.indices[part], part.start, most)
        _fill_losses(near, weights, loss, losses[part])

    parallel_map(fill, pieces(n, BLOCK, most=max(MIN_PIECES, n // BLOCK)))
    error = w @ losses / total
    spread = np.sqrt(np.maximum(w @ losses**2 / total - error**2, 0.0) / total)
    return LeaveOneOutErrors(np.arange(1, most + 1), error, spread, loss.measure)


def _neighborhoods(
    w: Floats, distances: Floats, indices: Ints, start: int, most: int
) -> _Neighborhoods:
    """Copies of the row itself come first, then its neighbors as often as their weights say."""
    own = np.arange(start, start + len(distances))
    copies = np.column_stack([w[own] - 1.0, w[indices]])
    # one search for all rows: each begins where the one before ends
    begin = (most + 2.0) * np.arange(len(copies))[:, None]
    reached = np.minimum(np.cumsum(copies, axis=1), most + 1.0) + begin
    found = np.searchsorted(reached.ravel(), np.arange(1, most + 1) + begin)
    last = found - copies.shape[1] * np.arange(len(copies))[:, None]
    return _Neighborhoods(
        np.column_stack([own, indices]),
        copies,
        np.column_stack([np.zeros(len(distances)), distances]),
        last,
    )


def _fill_losses(near: _Neighborhoods, weights: Any, loss: CountLoss, out: Floats) -> None:
    if not (isinstance(weights, str) and weights == "gaussian"):
        loss.fill(near, _weights(near, weights), 1, out)
        return
    for k in range(1, out.shape[1] + 1):  # the bandwidth is the distance of the k-th neighbor
        last = near.last[:, k - 1 : k]
        farthest = np.take_along_axis(near.distances, last, 1)
        one = _Neighborhoods(near.indices, near.copies, near.distances, last)
        values = distance_weights(weights, np.minimum(near.distances, farthest))
        loss.fill(one, values, k, out[:, k - 1 : k])


def _weights(near: _Neighborhoods, weights: Any) -> Floats:
    """Weights by distance; zero for the row itself unless copies of it are left."""
    others = distance_weights(weights, near.distances[:, 1:])
    alone = np.column_stack([np.zeros(len(others)), others])
    if not near.copies[:, 0].any():
        return alone
    return np.where(near.copies[:, :1] > 0, distance_weights(weights, near.distances), alone)


def _means_by_count(near: _Neighborhoods, y: Floats, weights: Floats, counts: Ints) -> Floats:
    """Σ v y / Σ v over the first k neighbors, for every row and k; unweighted where Σ v = 0.

    The sums at ``last`` may count the last neighbor too often; the excess is subtracted.
    """
    copies, last = near.copies, near.last
    extended = np.concatenate([y, np.ones((*copies.shape, 1))], axis=2)
    rows = np.arange(len(copies))[:, None]
    excess = np.maximum(np.cumsum(copies, axis=1)[rows, last] - counts, 0.0)[:, :, None]

    def totals(terms: Floats) -> Floats:
        sums = np.cumsum(copies[:, :, None] * terms, axis=1)
        return np.asarray(sums[rows, last] - excess * terms[rows, last])

    sums = totals(weights[:, :, None] * extended)
    if not (sums[:, :, -1] > 0).all():
        sums = np.where(sums[:, :, -1:] > 0, sums, totals(extended))
    return np.asarray(sums[:, :, :-1] / sums[:, :, -1:])
