"""The number, weights and metric of neighbors by cross-validation, from one search for all k.

    loss_f(k, weights, metric) = Σ w ℓ(y, ŷ_k(x)) / Σ w     over the rows of fold f

The nearest training rows of every row are sorted once for each metric and fold; predictions by
the first k of them follow for all k and weights in one pass over the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.distances.search import Neighbors
from separatrix.distances.search.neighbors import NeighborSearch
from separatrix.messages import InputError
from separatrix.neighbors import loops
from separatrix.rows.block import Floats, Ints, to_array
from separatrix.selection.tuning import Tuning, TuningData, require_classes, smoothest_by_fold
from separatrix.threads import parallel_map

#: Numbers of neighbors that are compared: all small ones, then about one sixth apart.
COUNTS = (*range(1, 14), 15, 17, 20, 23, 27, 31, 36, 42, 49, 57, 66, 77, 90, 108, 128)
#: Neighbors that are found first; more only if nearly so many prove useful.
FIRST, USEFUL = 31, 17
METRICS = ("euclidean", "manhattan")
WEIGHTS = {"uniform": loops.UNIFORM, "gaussian": loops.GAUSSIAN, "distance": loops.DISTANCE}
#: Votes spread over all classes that are compared by log loss.
SMOOTHING = (3.0, 1.0, 0.3, 0.1, 0.03)
#: Equal error rates are told apart by this much of the log loss.
TIE = 1e-6
#: Cost of one distance, in operations: for each column, and for the comparison with the k-th.
COLUMN_COST, PAIR_COST = {"euclidean": 0.2, "manhattan": 1.0}, 4.0
#: Cost of one distance by a tree over that by matrix products.
TREE_COST = 8.0
#: Fewer queries than this decide too little: so many are taken whatever they cost.
MIN_QUERIES = 500


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
        return error, error + TIE * log_loss

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
    found = _tune(_Comparison.of(data, FIRST, standardize=standardize))
    chosen = [found.parameters, *(found.grid[at] for at in found.by_fold)]
    if max(point["n_neighbors"] for point in chosen) <= USEFUL:
        return found
    return _tune(_Comparison.of(data, COUNTS[-1], standardize=standardize))


def _tune(comparison: _Comparison) -> Tuning:
    """One search for each metric and fold, for all counts of the comparison."""
    data = comparison.data
    grid, pairs = comparison.grid, data.folds.pairs
    queries, note = _queries(data, comparison.points.shape[1])

    def compare(at: int) -> tuple[_Fold, tuple[Floats, Floats]]:
        fold = comparison.search(pairs[at][0], queries[at])
        return fold, comparison.losses(fold)

    found = parallel_map(compare, range(len(pairs)))
    folds = [fold for fold, _ in found]
    losses, decisive = (np.stack(part, axis=1) for part in zip(*(x for _, x in found), strict=True))
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
    fraction = max(data.work / max(cost, 1.0), MIN_QUERIES / total)
    if fraction >= 1.0:
        return tests, ""
    some = data.spread(int(data.n * fraction))
    selected = [np.intersect1d(test, some) for test in tests]
    used = sum(map(len, selected))
    return selected, f"neighbors were compared on {used} of {total} rows"


def _search_cost(n: int, d: int, metric: str) -> float:
    """Operations to find the neighbors of one row, by a tree in few dimensions."""
    by_tree = TREE_COST * COUNTS[-1] * 2.0 ** min(d, 24)
    return float(min(n * (COLUMN_COST[metric] * d + PAIR_COST), by_tree))


def _nearest(points: Floats, w: Floats, train: Ints, rows: Ints, k: int, metric: str) -> Neighbors:
    """Training rows nearest to ``rows``, so many that their weights add up to k."""
    train = train[w[train] > 0.0]
    search = NeighborSearch(points[train], metric)
    count = min(k, len(train))
    while True:
        found = search.nearest(points[rows], count)
        indices = train[found.indices]
        if count == len(train) or (w[indices].sum(axis=1) >= k * (1.0 - 1e-12)).all():
            return Neighbors(found.distances, indices)
        count = min(len(train), 2 * count)  # weights below one need more rows
