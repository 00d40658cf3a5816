"""How many neighbors? Every row is judged by all others, for all counts from one search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.neighbors.loops import wrong_by_count
from separatrix.neighbors.weights import votes_of
from separatrix.rows.block import Floats

#: Rows whose votes are counted together.
BLOCK = 512
#: Counts that are tried unless more are asked for.
MOST = 128


@dataclass(frozen=True)
class NeighborCounts:
    """Leave-one-out ``error`` of ``count`` = 1, 2, … neighbors, with its ``standard_error``.

    The share of wrong classes, or the mean squared error of numbers.
    """

    count: NDArray[np.int64]
    error: Floats
    standard_error: Floats
    measure: str

    @property
    def best(self) -> int:
        """The count with the least error; of equals the largest, which is the smoothest."""
        return int(self.count[np.flatnonzero(self.error <= self.error.min())[-1]])


def errors_by_count(model: Any, most: int | None) -> NeighborCounts:
    """Votes accumulated from near to far: after the k-th neighbor they are those of k.

    A row of weight w is w rows: one of them is left out, the others are its nearest neighbors.
    """
    w = model.weights_
    n = len(w)
    usual = max(1, min(int(2 * np.sqrt(n)), MOST))
    most = min(usual if most is None else most, n - 1)
    if most < 1:
        raise InputError("One row has no other to be compared with.")
    if (w != w.round()).any():
        raise InputError(
            "Leave-one-out needs weights that are counts of rows.",
            remedy="Give n_neighbors as a number.",
        )
    found = model._search.nearest_others(most, model.points_)
    mistakes = np.empty((n, most))
    for start in range(0, n, BLOCK):
        part = slice(start, start + BLOCK)
        mistakes[part] = _mistakes(model, found.distances[part], found.indices[part], part)
    total = w.sum()
    error = w @ mistakes / total
    spread = np.sqrt(np.maximum(w @ mistakes**2 / total - error**2, 0.0) / total)
    measure = "share of wrong classes" if hasattr(model, "codes_") else "mean squared error"
    return NeighborCounts(np.arange(1, most + 1), error, spread, measure)


def _mistakes(model: Any, d: Floats, near: Any, part: slice) -> Floats:
    """The loss of every row (i) for every count (k)."""
    w = model.weights_
    # Copies of the row itself come first; then every neighbor with as many places as its weight.
    mass = np.column_stack([w[part] - 1.0, w[near]])
    distances = np.column_stack([np.zeros(len(d)), d])
    numbers = np.column_stack([np.arange(part.start, part.start + len(d)), near])
    last, losses = _filled(mass, d.shape[1]), np.empty(d.shape)
    loss = _wrong if hasattr(model, "codes_") else _squared
    if model.weights != "gaussian":
        loss(model, mass, _votes(model, mass, distances), numbers, last, losses)
        return losses
    for k in range(1, d.shape[1] + 1):  # votes depend on how far the k-th neighbor is
        farthest = np.take_along_axis(distances, last[:, k - 1 : k], 1)
        votes = votes_of(model.weights, np.minimum(distances, farthest))
        loss(model, mass, votes, numbers, last[:, k - 1 : k], losses[:, k - 1 : k], k)
    return losses


def _filled(mass: Floats, most: int) -> NDArray[np.int64]:
    """The neighbor that fills the k-th place, for every row and k = 1 … most."""
    counts = np.arange(1, most + 1)
    return np.array([np.searchsorted(row, counts) for row in np.cumsum(mass, axis=1)])


def _wrong(
    model: Any, mass: Floats, votes: Floats, numbers: Any, _: Any, out: Floats, first: int = 1
) -> None:
    """1 where the class with most votes is another, for counts from ``first`` on."""
    codes = model.codes_[numbers]
    wrong, counts = np.empty(out.shape), (first, first + out.shape[1] - 1)
    wrong_by_count(mass, votes, codes, codes[:, 0].copy(), len(model.classes_), *counts, wrong)
    out[:] = wrong


def _squared(
    model: Any, mass: Floats, votes: Floats, numbers: Any, last: Any, out: Floats, first: int = 1
) -> None:
    """(mean of the first k places − y)², averaged over outputs, for counts from ``first`` on."""
    said = model.targets_[numbers]
    means = _means(mass, said, votes, np.arange(first, first + out.shape[1]), last)
    out[:] = ((means - said[:, :1]) ** 2).mean(axis=2)


def _votes(model: Any, mass: Floats, distances: Floats) -> Floats:
    """Votes by distance; the row itself has none unless copies of it are left."""
    votes = votes_of(model.weights, distances[:, 1:])
    alone = np.column_stack([np.zeros(len(votes)), votes])
    if not mass[:, 0].any():
        return alone
    return np.where(mass[:, :1] > 0, votes_of(model.weights, distances), alone)


def _means(
    mass: Floats, opinions: Floats, votes: Floats, counts: NDArray[np.int64], last: Any
) -> Floats:
    """Σ v y / Σ v over the first k places, for every row and count; alike where votes vanish.

    Sums run from near to far. ``last`` is the neighbor that fills the k-th place; what it has
    beyond that place is taken off again.
    """
    said = np.concatenate([opinions, np.ones((*mass.shape, 1))], axis=2)
    rows = np.arange(len(mass))[:, None]
    over = np.maximum(np.cumsum(mass, axis=1)[rows, last] - counts, 0.0)[:, :, None]

    def totals(each: Floats) -> Floats:
        sums = np.cumsum(mass[:, :, None] * each, axis=1)
        return np.asarray(sums[rows, last] - over * each[rows, last])

    sums = totals(votes[:, :, None] * said)
    if not (sums[:, :, -1] > 0).all():
        sums = np.where(sums[:, :, -1:] > 0, sums, totals(said))
    return np.asarray(sums[:, :, :-1] / sums[:, :, -1:])
