"""Did every merge join the two closest clusters? Measured again by the definition of the linkage.

single: least distance of two members; complete: greatest; average: mean; centroid: distance of the
means; Ward: the root of twice the scatter that merging adds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cluster.loops.dendrogram import labels_under, places
from separatrix.distances.base import Metric
from separatrix.distances.names import FunctionMetric, PrecomputedDistances
from separatrix.kernels.base import n_items
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints

#: Up to so many points every merge is checked; of more points so many merges.
EVERY, SOME = 300, 12
#: Distances that a check of some merges may measure; of a user's own function.
PAIRS, CALLS = 2_000_000, 100_000
TOLERANCE = 1e-9
#: Linkages of means; of members, how their distances come together.
MEANS = ("centroid", "ward")
UNITED: dict[str, np.ufunc] = {"single": np.minimum, "complete": np.maximum, "average": np.add}


def certify_linkage(points: Any, metric: Metric, method: str, table: Floats) -> Certificate:
    """``points`` as the fitted ``metric`` accepts them, ``table`` in SciPy's form."""
    n = n_items(points)
    if n <= EVERY:
        fault = _every_merge(points, metric, method, table)
        said = f"All {n - 1} merges were checked by the definition of the linkage."
    else:
        steps = _chosen(metric, table, means=method in MEANS)
        again = _Again(points, metric, method, table)
        fault = max((again.fault(int(s)) for s in steps), default=0.0)
        said = (
            f"{len(steps)} of the {n - 1} merges were checked by the definition of the linkage: "
            "neither of the two had a closer cluster at the time."
        )
    scale = float(table[:, 2].max(initial=0.0)) or 1.0
    return Certificate(
        claim="Every merge joined the two closest clusters there were",
        kkt=fault / scale,
        tolerance=TOLERANCE,
        statistic="distances of all pairs" if n <= EVERY else "distances of some pairs",
        notes=(said, "Each step is the best by itself; no partition is claimed to be."),
        promised=("kkt",),
    )


# -- all merges of few points ------------------------------------------------------------------


def _every_merge(points: Any, metric: Metric, method: str, table: Floats) -> float:
    """The largest fault: a height that is not the distance, or a pair that was closer."""
    pairs = _Means(points, method) if method in MEANS else _Pairs(metric, points, method)
    n, worst = n_items(points), 0.0
    node = np.arange(n)
    for s, (a, b, height, _) in enumerate(table):
        live = n - s
        i, k = (int(np.flatnonzero(node[:live] == one)[0]) for one in (a, b))
        there = pairs.distance[:live, :live]
        worst = max(worst, abs(there[i, k] - height), there[i, k] - float(there.min()))
        i, k = min(i, k), max(i, k)
        pairs.join(i, k, live)
        node[i], node[k] = n + s, node[live - 1]
    return float(worst)


class _Pairs:
    """Distances of clusters from those of their members; the last slot fills a gap."""

    def __init__(self, metric: Metric, points: Any, method: str) -> None:
        d = np.array(
            points if isinstance(metric, PrecomputedDistances) else metric.distances(points)
        )
        np.fill_diagonal(d, np.inf)
        self.members, self.size, self.mean = d, np.ones(len(d)), method == "average"
        self.united = UNITED[method]
        self.distance = d.copy() if self.mean else d

    def join(self, i: int, k: int, live: int) -> None:
        d, size = self.members, self.size
        row = self.united(d[i, :live], d[k, :live])
        size[i] += size[k]
        _replace(d, i, k, live, row)
        size[k] = size[live - 1]
        if self.mean:
            live -= 1
            means = d[i, :live] / (size[:live] * size[i])
            _replace(self.distance, i, k, live + 1, _moved(means, k, live))


class _Means:
    """Distances of clusters from their means and sizes."""

    def __init__(self, x: Floats, method: str) -> None:
        self.ward = method == "ward"
        self.mean, self.size = x - x.mean(axis=0), np.ones(len(x))
        self.distance = np.stack([self.row(i, len(x)) for i in range(len(x))])

    def row(self, i: int, live: int) -> Floats:
        out = _between_means(self.mean[:live], self.size[:live], i, self.ward)
        out[i] = np.inf
        return out

    def join(self, i: int, k: int, live: int) -> None:
        mean, size = self.mean, self.size
        mean[i] = (size[i] * mean[i] + size[k] * mean[k]) / (size[i] + size[k])
        size[i] += size[k]
        mean[k], size[k] = mean[live - 1], size[live - 1]
        fresh = self.row(i, live - 1)
        _replace(self.distance, i, k, live, _moved(fresh, k, live - 1))


def _between_means(mean: Floats, size: Floats, i: int, ward: bool) -> Floats:
    away = np.sqrt(((mean - mean[i]) ** 2).sum(axis=1))
    return np.asarray(away * np.sqrt(2 * size * size[i] / (size + size[i])) if ward else away)


def _moved(row: Floats, k: int, live: int) -> Floats:
    """A row over the slots after slot ``live`` has gone to k, as it was before."""
    return np.append(row, row[k] if k < live else np.inf)


def _replace(d: Floats, i: int, k: int, live: int, row: Floats) -> None:
    """Slot i gets a new row and column, slot k those of the last."""
    last = live - 1
    d[i, :live] = d[:live, i] = row
    d[k, :live], d[:live, k] = d[last, :live], d[:live, last]
    d[i, i] = d[k, k] = np.inf


# -- some merges of many points ----------------------------------------------------------------


def _chosen(metric: Metric, table: Floats, *, means: bool) -> Ints:
    """Merges spread over the whole history, such as can be measured again in little time."""
    pairs = CALLS if isinstance(metric, FunctionMetric) else PAIRS
    rows = pairs / (len(table) + 1) / SOME
    able = np.arange(len(table)) if means else np.flatnonzero(table[:, 3] <= max(rows, 2))
    if not len(able):
        return able
    return np.asarray(able[np.unique(np.linspace(0, len(able) - 1, SOME).astype(int))])


class _Again:
    """Merges of many points, each measured again from the clusters that there were before it."""

    def __init__(self, points: Any, metric: Metric, method: str, table: Floats) -> None:
        self.points, self.metric, self.method, self.table = points, metric, method, table
        self.left, self.right, size = (
            np.ascontiguousarray(table[:, j].astype(np.int64)) for j in (0, 1, 3)
        )
        n = len(table) + 1
        # In the order of a drawn tree every cluster of every time is one run of leaves.
        place = np.empty(2 * n - 1, dtype=np.int64)
        places(self.left, self.right, size, place)
        self.order = np.empty(n, dtype=np.int64)
        self.order[place[:n]] = np.arange(n)
        if method in MEANS:
            self.centerd = points - points.mean(axis=0)
        elif not isinstance(metric, PrecomputedDistances):
            self.state = metric.precompute(points)

    def fault(self, s: int) -> float:
        """How far merge s misses its height, or the nearest cluster of either side."""
        n = len(self.table) + 1
        labels = np.empty(n, dtype=np.int64)
        labels_under(self.left, self.right, np.arange(n - 1) < s, labels)
        a, b = (int(labels[self._leaf(int(node))]) for node in self.table[s, :2])
        rows = self._of_means if self.method in MEANS else self._of_members
        from_a, from_b = rows(labels, a, b)
        between = from_a[b]
        from_a[a] = from_b[b] = np.inf
        nearest = min(float(from_a.min()), float(from_b.min()))
        return max(abs(float(between - self.table[s, 2])), float(between) - nearest)

    def _leaf(self, node: int) -> int:
        """Any leaf of a node."""
        n = len(self.table) + 1
        while node >= n:
            node = int(self.left[node - n])
        return node

    def _of_means(self, labels: Ints, a: int, b: int) -> tuple[Floats, Floats]:
        size, z = np.bincount(labels).astype(float), self.centerd
        mean = np.stack([np.bincount(labels, column) for column in z.T], axis=1) / size[:, None]
        ward = self.method == "ward"
        return _between_means(mean, size, a, ward), _between_means(mean, size, b, ward)

    def _of_members(self, labels: Ints, a: int, b: int) -> tuple[Floats, Floats]:
        """Distance of the clusters a and b to every cluster, from all pairs of members."""
        run = labels[self.order]
        begin = np.append(0, np.flatnonzero(np.diff(run)) + 1)
        size = np.diff(np.append(begin, len(run)))
        found = []
        for one in (a, b):
            members = np.flatnonzero(labels == one)
            d = UNITED[self.method].reduce(self._rows(members), axis=0)[self.order]
            row = np.empty(len(begin))
            row[run[begin]] = UNITED[self.method].reduceat(d, begin)
            if self.method == "average":
                row[run[begin]] /= size * len(members)
            found.append(row)
        return found[0], found[1]

    def _rows(self, members: Ints) -> Floats:
        points = self.points
        if isinstance(self.metric, PrecomputedDistances):
            return np.asarray(points[members])
        some = points[members] if isinstance(points, np.ndarray) else [points[i] for i in members]
        out = np.empty((len(members), n_items(points)))
        self.metric.fill(some, self.state, out)
        return out
