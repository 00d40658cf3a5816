"""Certificate of a linkage: whether merges joined the two closest clusters, by its definition.

    single min d, complete max d, average mean d, centroid ‖μ_A − μ_B‖,
    ward √(2|A||B|/(|A|+|B|)) ‖μ_A − μ_B‖

Weighted and median linkage are average and centroid linkage with weights: the two parts of a
cluster count alike, so that a member counts 2^−depth.

Up to ``ALL_MERGES`` points all merges are checked against all pairs of clusters; of more points, a
few merges against all clusters of their time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cluster.connectivity import ConnectedPoints
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
#: Points of a graph up to which all merges are checked.
MAX_CONNECTED = 500
TOLERANCE = 1e-9
#: Linkages defined by means; for the others, how distances of members are combined.
BY_MEANS = ("centroid", "median", "ward")
COMBINE: dict[str, np.ufunc] = {
    **{"single": np.minimum, "complete": np.maximum},
    **{"average": np.add, "weighted": np.add},
}
#: Linkages in which both parts of a cluster count alike, whatever their sizes.
BY_HALVES = ("weighted", "median")


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


# -- points that a graph connects ---------------------------------------------------------------


def certify_connected_linkage(
    connected: ConnectedPoints, method: str, table: Floats
) -> Certificate:
    """Check that merges joined the closest two connected clusters, from a dense matrix."""
    n = connected.n
    few = n <= MAX_CONNECTED
    error = _check_connected(connected, method, table) if few else np.nan
    scale = float(table[:, 2].max(initial=0.0)) or 1.0
    note = (
        f"All {n - 1} merges were checked by the definition of the linkage."
        if few
        else f"Merges of more than {MAX_CONNECTED} connected points are not checked again."
    )
    return Certificate(
        claim="Every merge joined the two closest clusters that are connected"
        if few
        else "Merges of connected clusters, the closest first",
        kkt=error / scale,
        tolerance=TOLERANCE,
        statistic="distances of connected points",
        notes=(note, "Merging is greedy: no partition is claimed to be optimal."),
        promised=("kkt",) if few else (),
    )


def _check_connected(connected: ConnectedPoints, method: str, table: Floats) -> float:
    """The largest error of a height, or by how much a connected pair was closer."""
    n, worst = connected.n, 0.0
    joined = np.zeros((n, n), dtype=bool)
    joined[connected.first, connected.second] = joined[connected.second, connected.first] = True
    d = np.full((n, n), np.inf)
    d[connected.first, connected.second] = connected.edge_lengths()
    d = np.minimum(d, d.T)
    size, slot = np.ones(n), {node: node for node in range(n)}
    x = connected.points
    mean: Floats | None = None if method in COMBINE else x - x.mean(axis=0)
    for s, (a, b, height, _) in enumerate(table):
        i, k = slot.pop(int(a)), slot.pop(int(b))
        worst = max(worst, abs(d[i, k] - height), d[i, k] - float(d.min()))
        both, either = joined[i] & joined[k], joined[i] | joined[k]
        either[[i, k]] = False
        m, o = size[i], size[k]
        size[i] += size[k]
        if mean is None:
            weight = 0.5 if method in BY_HALVES else m / (m + o)
            own, other = d[i, both], d[k, both]
            row = np.minimum(d[i], d[k])  # one of the two is infinite where one is connected
            row[both] = (
                weight * own + (1.0 - weight) * other
                if COMBINE[method] is np.add
                else COMBINE[method](own, other)
            )
        else:
            weight = 0.5 if method in BY_HALVES else m / (m + o)
            mean[i] = weight * mean[i] + (1.0 - weight) * mean[k]
            row = _mean_distances(mean, size, i, method == "ward")
        row[~either] = np.inf
        joined[i] = joined[:, i] = either
        joined[k] = joined[:, k] = False
        d[i] = d[:, i] = row
        d[k] = d[:, k] = np.inf
        slot[n + s] = i
    return float(worst)


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
        self.combine, self.halves = COMBINE[method], method in BY_HALVES
        self.distance = d.copy() if self.mean else d

    def merge(self, i: int, k: int, live: int) -> None:
        d, size = self.members, self.size
        row = self.combine(d[i, :live], d[k, :live])
        if self.halves:
            row *= 0.5
        size[i] += size[k]
        if self.mean:
            _replace(self.distance, i, k, live, row / (size[:live] * size[i]))
        _replace(d, i, k, live, row)
        size[k] = size[live - 1]


class _MeanDistances:
    """Distances of clusters from their means and sizes."""

    def __init__(self, x: Floats, method: str) -> None:
        self.ward, self.halves = method == "ward", method in BY_HALVES
        self.mean, self.size = x - x.mean(axis=0), np.ones(len(x))
        self.distance = np.stack([self.row(i, len(x)) for i in range(len(x))])

    def row(self, i: int, live: int) -> Floats:
        out = _mean_distances(self.mean[:live], self.size[:live], i, self.ward)
        out[i] = np.inf
        return out

    def merge(self, i: int, k: int, live: int) -> None:
        mean, size = self.mean, self.size
        mean[i] = (size[i] * mean[i] + size[k] * mean[k]) / (size[i] + size[k])
        size[i] = 1.0 if self.halves else size[i] + size[k]
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
        from_a, from_b = distances(labels, self._weights(labels, s), a, b)
        between = from_a[b]
        from_a[a] = from_b[b] = np.inf
        nearest = min(float(from_a.min()), float(from_b.min()))
        return max(abs(float(between - self.table[s, 2])), float(between) - nearest)

    def _weights(self, labels: Ints, s: int) -> Floats:
        """The weight of every point in the mean of its cluster before merge s."""
        n = len(self.tree)
        if self.method not in BY_HALVES:
            return np.asarray(1.0 / np.bincount(labels)[labels])
        weight, pairs = [1.0] * (2 * n - 1), self.table[:s, :2].astype(int).tolist()
        for merge in range(s - 1, -1, -1):
            left, right = pairs[merge]
            weight[left] = weight[right] = 0.5 * weight[n + merge]
        return np.array(weight[:n])

    def _from_means(self, labels: Ints, weight: Floats, a: int, b: int) -> tuple[Floats, Floats]:
        size, z = np.bincount(labels).astype(float), self.centered
        sums = [np.bincount(labels, weight * column) for column in z.T]
        mean: Floats = np.asarray(np.stack(sums, axis=1), dtype=float)
        ward = self.method == "ward"
        return _mean_distances(mean, size, a, ward), _mean_distances(mean, size, b, ward)

    def _from_members(self, labels: Ints, weight: Floats, a: int, b: int) -> tuple[Floats, Floats]:
        """Distance of the clusters a and b to every cluster, from all pairs of members."""
        run = labels[self.order]
        begin = np.append(0, np.flatnonzero(np.diff(run)) + 1)
        combine, rows = COMBINE[self.method], []
        for cluster in (a, b):
            members = np.flatnonzero(labels == cluster)
            d = self._rows(members)
            if combine is np.add:
                d = d * weight[members, None] * weight
            row = np.empty(len(begin))
            row[run[begin]] = combine.reduceat(combine.reduce(d, axis=0)[self.order], begin)
            rows.append(row)
        return rows[0], rows[1]

    def _rows(self, members: Ints) -> Floats:
        points = self.points
        if isinstance(self.metric, PrecomputedDistances):
            return np.asarray(points[members])
        out = np.empty((len(members), n_items(points)))
        self.metric.fill(take_items(points, members), self.state, out)
        return out
