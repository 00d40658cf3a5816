"""The number, weights and metric of neighbors by cross-validation, from one search for all k.

    loss_f(k, weights, metric) = Σ w ℓ(y, ŷ_k(x)) / Σ w     over the rows of fold f

The nearest training rows of every row are sorted once for each metric and fold; predictions by
the first k of them follow for all k and weights in one pass over the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances.search import NearestNeighborSearch, Neighbors
from separatrix.messages import InputError
from separatrix.neighbors import loops
from separatrix.neighbors.base import distance_weights
from separatrix.neighbors.loops import misclassified_by_count
from separatrix.rows.schema import to_array
from separatrix.selection.leave_one_out import LeftOut
from separatrix.selection.tuning import Tuning, TuningData, require_classes, smoothest_by_fold
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Numbers of neighbors that are compared: all small ones, then about one sixth apart.
COUNTS = (*range(1, 14), 15, 17, 20, 23, 27, 31, 36, 42, 49, 57, 66, 77, 90, 108, 128)
METRICS = ("euclidean", "manhattan")
WEIGHTS = {"uniform": loops.UNIFORM, "gaussian": loops.GAUSSIAN, "distance": loops.DISTANCE}
#: Votes spread over all classes that are compared by log loss.
SMOOTHING = (3.0, 1.0, 0.3, 0.1, 0.03)


@dataclass(frozen=True)
class _Fold:
    """Rows of one fold with their nearest training rows by each metric, near to far."""

    rows: Ints
    near: tuple[Neighbors, ...]


@dataclass(frozen=True)
class _Comparison:
    """The data with what neighbors average: Σ v·value by code.

    Codes are those of classes, whose values are one; numbers are values with one code.
    """

    data: TuningData
    points: Floats
    codes: Ints
    values: Floats
    counts: list[int]

    @classmethod
    def of(cls, data: TuningData, most: int, *, standardize: bool) -> _Comparison:
        points = to_array(data.z if standardize else data.x)
        y, counts = np.asarray(data.y).reshape(data.n), _counts(data, most)
        if data.n_classes:
            require_classes(data)
            return cls(data, points, y.astype(np.int64), np.ones(data.n), counts)
        return cls(data, points, np.zeros(data.n, dtype=np.int64), y.astype(np.float64), counts)

    @property
    def grid(self) -> list[dict[str, Any]]:
        """Every combination, the largest counts first: they are the smoothest."""
        grid = [
            {"n_neighbors": k, "metric": metric, "weights": weights}
            for k in reversed(self.counts) for metric in METRICS for weights in WEIGHTS
        ]  # fmt: skip
        if not self.data.n_classes:
            return grid
        return [{**point, "smoothing": s} for point in grid for s in SMOOTHING]

    def search(self, train: Ints, rows: Ints) -> _Fold:
        """The neighbors of ``rows`` among the training rows."""
        w, k = self.data.w, self.counts[-1]
        near = [_nearest(self.points, w, train, rows, k, metric) for metric in METRICS]
        return _Fold(rows, tuple(near))

    def losses(self, fold: _Fold) -> tuple[Floats, Floats]:
        """Mean loss of the fold by the grid, and what decides: equal error rates differ in it."""
        rows, w = fold.rows, self.data.w
        v, ks = w[rows], np.array(self.counts, dtype=np.float64)
        sums = []
        for near in fold.near:
            for kind in WEIGHTS.values():
                given = (near.distances, near.indices, w, self.codes, self.values, kind, ks)
                if self.data.n_classes:
                    smoothing = np.array(SMOOTHING)
                    k = self.data.n_classes
                    sums.append(loops.class_losses(*given, self.codes[rows], v, smoothing, k))
                else:
                    sums.append(loops.number_losses(*given, self.values[rows], v))
        # counts (largest first) x metrics and weights x losses
        mean = np.stack(sums, axis=1)[::-1] / v.sum()
        if not self.data.n_classes:
            chosen = mean[:, :, 0 if self.data.loss == "squared" else 1].ravel()
            return chosen, chosen
        log_loss = mean[:, :, 1:].ravel()
        if self.data.loss == "log_loss":
            return log_loss, log_loss
        error = np.repeat(mean[:, :, 0].ravel(), len(SMOOTHING))
        # Equal error rates are told apart by this much of the log loss.
        return error, error + 1e-6 * log_loss

    def predict(self, fold: _Fold, chosen: Mapping[str, Any]) -> Floats:
        """The rows of a fold by one combination: probabilities, or one number each."""
        near = fold.near[METRICS.index(chosen["metric"])]
        means = np.empty((len(fold.rows), max(1, self.data.n_classes)))
        loops.means_of_neighbors(
            near.distances,
            near.indices,
            self.data.w,
            self.codes,
            self.values,
            WEIGHTS[chosen["weights"]],
            float(chosen["n_neighbors"]),
            float(chosen.get("smoothing", 0.0)),
            means,
        )
        return means if self.data.n_classes else means[:, 0]


def tune_neighbors(data: TuningData, *, standardize: bool) -> Tuning:
    """Compare counts, weights and metrics on the folds; for classes also the smoothing of votes."""
    # Neighbors that are found first.
    tuning = _tune(_Comparison.of(data, 31, standardize=standardize))
    chosen = [tuning.parameters, *(tuning.grid[at] for at in tuning.by_fold)]
    # More only if nearly so many prove useful.
    if max(point["n_neighbors"] for point in chosen) <= 17:
        return tuning
    return _tune(_Comparison.of(data, COUNTS[-1], standardize=standardize))


def _tune(comparison: _Comparison) -> Tuning:
    """One search for each metric and fold, for all counts of the comparison."""
    data = comparison.data
    grid, pairs = comparison.grid, data.folds.pairs
    queries, note = _queries(data, comparison.points.shape[1])

    def compare(index: int) -> tuple[_Fold, tuple[Floats, Floats]]:
        fold = comparison.search(pairs[index][0], queries[index])
        return fold, comparison.losses(fold)

    compared = parallel_map(compare, range(len(pairs)))
    folds = [fold for fold, _ in compared]
    losses, decisive = (
        np.stack(part, axis=1) for part in zip(*(x for _, x in compared), strict=True)
    )
    weight = np.array([data.w[test].sum() for _, test in pairs])
    counts = np.array([theta["n_neighbors"] for theta in grid], dtype=float)
    best, by_fold = smoothest_by_fold(decisive, counts, weight)
    predicted = [comparison.predict(f, grid[at]) for f, at in zip(folds, by_fold, strict=True)]
    rows = np.concatenate([fold.rows for fold in folds])
    kind = "probabilities" if data.n_classes else "values"
    found_at = (rows, np.concatenate(predicted), kind, note)
    return Tuning(grid[best], tuple(grid), losses, by_fold, *found_at)


def _counts(data: TuningData, most: int) -> list[int]:
    """Counts up to ``most`` that the training rows of every fold can fill."""
    least = min(data.w[train].sum() for train, _ in data.folds.pairs)
    counts = [k for k in COUNTS if k <= min(least, most)]
    if not counts:
        raise InputError(
            f"The training rows of a fold have a total weight of {least:g}: that is less than one "
            "neighbor.",
            remedy="Use fewer folds, or weights that count rows.",
        )
    return counts


def _queries(data: TuningData, d: int) -> tuple[list[Ints], str]:
    """Rows of every fold to predict, all or an even selection within the work allowed."""
    tests = [test for _, test in data.folds.pairs]
    total = sum(map(len, tests))
    cost = sum(
        len(test) * _search_cost(len(train), d, metric)
        for train, test in data.folds.pairs for metric in METRICS
    )  # fmt: skip
    # Fewer queries than this decide too little: so many are taken whatever they cost.
    fraction = max(data.work / max(cost, 1.0), 500 / total)
    if fraction >= 1.0:
        return tests, ""
    some = data.spread(int(data.n * fraction))
    selected = [np.intersect1d(test, some) for test in tests]
    used = sum(map(len, selected))
    return selected, f"neighbors were compared on {used} of {total} rows"


def _search_cost(n: int, d: int, metric: str) -> float:
    """Operations to find the neighbors of one row, by a tree in few dimensions."""
    # Cost of one distance by a tree over that by matrix products.
    by_tree = 8.0 * COUNTS[-1] * 2.0 ** min(d, 24)
    # One among all: for each column, and for the comparison with the k-th.
    column = {"euclidean": 0.2, "manhattan": 1.0}[metric]
    return float(min(n * (column * d + 4.0), by_tree))


def _nearest(points: Floats, w: Floats, train: Ints, rows: Ints, k: int, metric: str) -> Neighbors:
    """Training rows nearest to ``rows``, so many that their weights add up to k."""
    train = train[w[train] > 0.0]
    search = NearestNeighborSearch(points[train], metric)
    count = min(k, len(train))
    while True:
        neighbors = search.nearest(points[rows], count)
        indices = train[neighbors.indices]
        if count == len(train) or (w[indices].sum(axis=1) >= k * (1.0 - 1e-12)).all():
            return Neighbors(neighbors.distances, indices)
        count = min(len(train), 2 * count)  # weights below one need more rows


# -------------------------------------------------------------------------------------------------
# Leave-one-out error of k nearest neighbors for every k, from one search.
#
#     error(k) = Σ wᵢ ℓ(yᵢ, ŷᵢ(k)) / Σ wᵢ,     ŷᵢ(k) from the k nearest of the other rows
#
# A row of weight w is w equal rows. They are left out together, with the copies of the row, unless
# chance explains copies: then one is left out, and the others are its nearest neighbors. Sums over
# neighbors run from near to far, so that those of k neighbors follow from those of k − 1.


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

    @property
    def targets(self) -> NDArray[Any]:
        """Classes as texts, or numbers, a column for each target."""

    def take(self, rows: Ints) -> Self:
        """The loss of some rows."""

    def fill(self, near: _Neighborhoods, weights: Floats, first: int, out: Floats) -> None:
        """Write the losses to ``out`` (rows x counts)."""


@dataclass(frozen=True)
class ZeroOneLoss:
    """1 where the class with most votes is not the true one."""

    codes: Ints
    n_classes: int
    measure: ClassVar[str] = "misclassification rate"

    @property
    def targets(self) -> NDArray[Any]:
        """Classes as texts."""
        return self.codes.astype(str)

    def take(self, rows: Ints) -> Self:
        """The loss of some rows."""
        return replace(self, codes=self.codes[rows])

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

    @property
    def targets(self) -> NDArray[Any]:
        """Combinations of classes as texts."""
        codes = np.column_stack([loss.codes for loss in self.losses])
        return np.unique(codes, axis=0, return_inverse=True)[1].astype(str)

    def take(self, rows: Ints) -> Self:
        """The loss of some rows."""
        return replace(self, losses=tuple(loss.take(rows) for loss in self.losses))

    def fill(self, near: _Neighborhoods, weights: Floats, first: int, out: Floats) -> None:
        """Write the losses to ``out`` (rows x counts)."""
        buffer = np.empty(out.shape)
        out[:] = 0.0
        for loss in self.losses:
            loss.fill(near, weights, first, buffer)
            out += buffer / len(self.losses)


@dataclass(frozen=True)
class SquaredLoss:
    """(mean of the neighbors − y)², averaged over outputs."""

    targets: Floats
    measure: ClassVar[str] = "mean squared error"

    def take(self, rows: Ints) -> Self:
        """The loss of some rows."""
        return replace(self, targets=self.targets[rows])

    def fill(self, near: _Neighborhoods, weights: Floats, first: int, out: Floats) -> None:
        """Write the losses to ``out`` (rows x counts)."""
        y = self.targets[near.indices]
        means = _means_by_count(near, y, weights, np.arange(first, first + out.shape[1]))
        out[:] = ((means - y[:, :1]) ** 2).mean(axis=2)


def leave_one_out_errors(
    search: NearestNeighborSearch,
    points: Any,
    left_out: LeftOut,
    weights: Any,
    loss: CountLoss,
    max_neighbors: int | None,
) -> LeaveOneOutErrors:
    """Errors of k = 1 … ``max_neighbors``, by default 2√(Σ w) and at most 128.

    ``points``, which are searched, and the rows of ``loss`` are those of ``left_out``.
    """
    w, out, total = left_out.weight, left_out.out, float(left_out.weight.sum())
    if (w != w.round()).any():
        raise InputError(
            "Leave-one-out needs weights that are counts of rows.",
            remedy="Give n_neighbors as a number.",
        )
    default = max(1, min(int(2 * np.sqrt(total)), 128))  # the largest k that is tried by default
    most = min(default if max_neighbors is None else max_neighbors, int(total - out.max()))
    if most < 1:
        raise InputError("Leave-one-out needs at least two rows that differ.")
    neighbors = search.nearest(points, min(most + 1, len(w)))
    losses = np.empty((len(w), most))

    def fill(part: slice) -> None:
        near = _neighborhoods(
            left_out, neighbors.distances[part], neighbors.indices[part], part.start, most
        )
        _fill_losses(near, weights, loss, losses[part])

    block = 512  # rows whose losses are computed together
    parallel_map(fill, pieces(len(w), block, most=max(MIN_PIECES, len(w) // block)))
    error = w @ losses / total
    spread = np.sqrt((w * out) @ (losses - error) ** 2) / total
    return LeaveOneOutErrors(np.arange(1, most + 1), error, spread, loss.measure)


def _neighborhoods(
    left_out: LeftOut, distances: Floats, indices: Ints, start: int, most: int
) -> _Neighborhoods:
    """The row itself, not counted, then its neighbors as often as their weights say."""
    self_indices = np.arange(start, start + len(distances))
    copies = left_out.weight[indices]
    copies -= np.where(indices == self_indices[:, None], left_out.out[indices], 0.0)
    copies = np.column_stack([np.zeros(len(self_indices)), copies])
    distances = np.column_stack([distances[:, :1], distances])
    # at distance zero a row that is left out would be all that inverse distances see
    distances = np.where(copies > 0.0, distances, distances[:, -1:])
    # one search for all rows: each begins where the one before ends
    begin = (most + 2.0) * np.arange(len(copies))[:, None]
    reached = np.minimum(np.cumsum(copies, axis=1), most + 1.0) + begin
    position = np.searchsorted(reached.ravel(), np.arange(1, most + 1) + begin)
    last = position - copies.shape[1] * np.arange(len(copies))[:, None]
    return _Neighborhoods(np.column_stack([self_indices, indices]), copies, distances, last)


def _fill_losses(near: _Neighborhoods, weights: Any, loss: CountLoss, out: Floats) -> None:
    if not (isinstance(weights, str) and weights == "gaussian"):
        loss.fill(near, distance_weights(weights, near.distances), 1, out)
        return
    for k in range(1, out.shape[1] + 1):  # the bandwidth is the distance of the k-th neighbor
        last = near.last[:, k - 1 : k]
        farthest = np.take_along_axis(near.distances, last, 1)
        neighborhoods = _Neighborhoods(near.indices, near.copies, near.distances, last)
        values = distance_weights(weights, np.minimum(near.distances, farthest))
        loss.fill(neighborhoods, values, k, out[:, k - 1 : k])


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
