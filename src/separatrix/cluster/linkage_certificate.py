"""Certificate of a linkage: whether merges joined the two closest clusters, by its definition.

    single min d, complete max d, average mean d, centroid ‖μ_A − μ_B‖,
    ward √(2|A||B|/(|A|+|B|)) ‖μ_A − μ_B‖

Up to ``ALL_MERGES`` points all merges are checked against all pairs of clusters; of more points, a
few merges against all clusters of their time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cluster.dendrogram import Dendrogram
from separatrix.distances.base import Metric
from separatrix.distances.names import FunctionMetric, PrecomputedDistances
from separatrix.kernels.base import n_items, take_items
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints

#: Up to this many points all merges are checked; of more points, this many merges.
ALL_MERGES, SOME_MERGES = 300, 12
#: Distances that the check of some merges may compute, and of a user's function.
MAX_PAIRS, MAX_CALLS = 2_000_000, 100_000
TOLERANCE = 1e-9
#: Linkages defined by means; for the others, how distances of members are combined.
BY_MEANS = ("centroid", "ward")
COMBINE: dict[str, np.ufunc] = {"single": np.minimum, "complete": np.maximum, "average": np.add}


def certify_linkage(points: Any, metric: Metric, method: str, table: Floats) -> Certificate:
    """Check ``table`` (SciPy's form) for ``points`` that the fitted ``metric`` has validated."""
    n = n_items(points)
    if n <= ALL_MERGES:
        error = _check_all_merges(points, metric, method, table)
        checked = f"All {n - 1} merges were checked by the definition of the linkage."
    else:
        steps = _merges_to_check(metric, table, by_means=method in BY_MEANS)
        check = _MergeCheck(points, metric, method, table)
        error = max((check.error(int(s)) for s in steps), default=np.nan)
        checked = (
            f"{len(steps)} of the {n - 1} merges were checked by the definition of the linkage: "
            "neither of the two had a closer cluster at that step."
        )
    scale = float(table[:, 2].max(initial=0.0)) or 1.0
    return Certificate(
        claim="Every merge joined the two closest clusters",
        kkt=error / scale,
        tolerance=TOLERANCE,
        statistic="distances of all pairs" if n <= ALL_MERGES else "distances of some pairs",
        notes=(checked, "Merging is greedy: no partition is claimed to be optimal."),
        promised=("kkt",),
    )


# -- all merges of few points ------------------------------------------------------------------


def _check_all_merges(points: Any, metric: Metric, method: str, table: Floats) -> float:
    """The largest error: a height that is not the distance, or by how much a pair was closer."""
    pairs = (
        _MeanDistances(points, method)
        if method in BY_MEANS
        else _MemberDistances(metric, points, method)
    )
    n, worst = n_items(points), 0.0
    node = np.arange(n)
    for s, (a, b, height, _) in enumerate(table):
        live = n - s
        i, k = (int(np.flatnonzero(node[:live] == child)[0]) for child in (a, b))
        d = pairs.distance[:live, :live]
        worst = max(worst, abs(d[i, k] - height), d[i, k] - float(d.min()))
        i, k = min(i, k), max(i, k)
        pairs.merge(i, k, live)
        node[i], node[k] = n + s, node[live - 1]
    return float(worst)


class _MemberDistances:
    """Distances of clusters from those of their members; the last slot moves to the freed one."""

    def __init__(self, metric: Metric, points: Any, method: str) -> None:
        d = np.array(
            points if isinstance(metric, PrecomputedDistances) else metric.distances(points)
        )
        np.fill_diagonal(d, np.inf)
        self.members, self.size, self.mean = d, np.ones(len(d)), method == "average"
        self.combine = COMBINE[method]
        self.distance = d.copy() if self.mean else d

    def merge(self, i: int, k: int, live: int) -> None:
        d, size = self.members, self.size
        row = self.combine(d[i, :live], d[k, :live])
        size[i] += size[k]
        if self.mean:
            _replace(self.distance, i, k, live, row / (size[:live] * size[i]))
        _replace(d, i, k, live, row)
        size[k] = size[live - 1]


class _MeanDistances:
    """Distances of clusters from their means and sizes."""

    def __init__(self, x: Floats, method: str) -> None:
        self.ward = method == "ward"
        self.mean, self.size = x - x.mean(axis=0), np.ones(len(x))
        self.distance = np.stack([self.row(i, len(x)) for i in range(len(x))])

    def row(self, i: int, live: int) -> Floats:
        out = _mean_distances(self.mean[:live], self.size[:live], i, self.ward)
        out[i] = np.inf
        return out

    def merge(self, i: int, k: int, live: int) -> None:
        mean, size = self.mean, self.size
        mean[i] = (size[i] * mean[i] + size[k] * mean[k]) / (size[i] + size[k])
        size[i] += size[k]
        _replace(self.distance, i, k, live, self.row(i, live))
        mean[k], size[k] = mean[live - 1], size[live - 1]


def _mean_distances(mean: Floats, size: Floats, i: int, ward: bool) -> Floats:
    away = np.sqrt(((mean - mean[i]) ** 2).sum(axis=1))
    return np.asarray(away * np.sqrt(2 * size * size[i] / (size + size[i])) if ward else away)


def _replace(d: Floats, i: int, k: int, live: int, row: Floats) -> None:
    """Slot i gets a new row and column, slot k those of the last slot."""
    last = live - 1
    d[i, :live] = d[:live, i] = row
    d[k, :live], d[:live, k] = d[last, :live], d[:live, last]
    d[i, i] = d[k, k] = np.inf


# -- some merges of many points ----------------------------------------------------------------


def _merges_to_check(metric: Metric, table: Floats, *, by_means: bool) -> Ints:
    """Evenly spaced merges among those that few enough distances can check."""
    pairs = MAX_CALLS if isinstance(metric, FunctionMetric) else MAX_PAIRS
    rows = pairs / (len(table) + 1) / SOME_MERGES
    small = np.arange(len(table)) if by_means else np.flatnonzero(table[:, 3] <= max(rows, 2))
    if not len(small):
        return small
    return np.asarray(small[np.unique(np.linspace(0, len(small) - 1, SOME_MERGES).astype(int))])


class _MergeCheck:
    """Checks single merges of many points against the clusters before the merge."""

    def __init__(self, points: Any, metric: Metric, method: str, table: Floats) -> None:
        self.points, self.metric, self.method, self.table = points, metric, method, table
        self.tree = Dendrogram(table)
        # In the order of the drawn tree every cluster at every step is one run of leaves.
        self.order = self.tree.leaves
        self.some_leaf = self.order[self.tree.first_leaf]
        if method in BY_MEANS:
            self.centered = points - points.mean(axis=0)
        elif not isinstance(metric, PrecomputedDistances):
            self.state = metric.precompute(points)

    def error(self, s: int) -> float:
        """By how much merge s misses its height, or the nearest cluster of either side."""
        labels = self.tree.cut(len(self.tree) - s)
        a, b = (int(labels[self.some_leaf[int(node)]]) for node in self.table[s, :2])
        distances = self._from_means if self.method in BY_MEANS else self._from_members
        from_a, from_b = distances(labels, a, b)
        between = from_a[b]
        from_a[a] = from_b[b] = np.inf
        nearest = min(float(from_a.min()), float(from_b.min()))
        return max(abs(float(between - self.table[s, 2])), float(between) - nearest)

    def _from_means(self, labels: Ints, a: int, b: int) -> tuple[Floats, Floats]:
        size, z = np.bincount(labels).astype(float), self.centered
        mean = np.stack([np.bincount(labels, column) for column in z.T], axis=1) / size[:, None]
        ward = self.method == "ward"
        return _mean_distances(mean, size, a, ward), _mean_distances(mean, size, b, ward)

    def _from_members(self, labels: Ints, a: int, b: int) -> tuple[Floats, Floats]:
        """Distance of the clusters a and b to every cluster, from all pairs of members."""
        run = labels[self.order]
        begin = np.append(0, np.flatnonzero(np.diff(run)) + 1)
        size = np.diff(np.append(begin, len(run)))
        rows = []
        for cluster in (a, b):
            members = np.flatnonzero(labels == cluster)
            d = COMBINE[self.method].reduce(self._rows(members), axis=0)[self.order]
            row = np.empty(len(begin))
            row[run[begin]] = COMBINE[self.method].reduceat(d, begin)
            if self.method == "average":
                row[run[begin]] /= size * len(members)
            rows.append(row)
        return rows[0], rows[1]

    def _rows(self, members: Ints) -> Floats:
        points = self.points
        if isinstance(self.metric, PrecomputedDistances):
            return np.asarray(points[members])
        out = np.empty((len(members), n_items(points)))
        self.metric.fill(take_items(points, members), self.state, out)
        return out
