"""Silhouettes: how much nearer every point is to its own cluster than to the next.

a = mean distance to the others of its cluster,  b = least mean distance to another cluster
s = (b − a) / max(a, b)       1: well inside;  0: on the border;  below 0: in the wrong cluster
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.loops.silhouette import distance_sums
from separatrix.distances.base import Metric
from separatrix.distances.names import PrecomputedDistances, metric_from
from separatrix.distances.vectors import Euclidean, SquaredEuclidean
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare

#: Rows below which threads cost more than they save.
WORTH_THREADS = 1_500


@dataclass(frozen=True)
class Silhouette:
    """``samples``: s of every point; ``by_cluster``: its mean in each of ``clusters``; ``score``.

    ``neighbor`` is the cluster that a point is nearest to besides its own. A point alone in its
    cluster has s = 0.
    """

    samples: Floats
    labels: NDArray[Any]
    clusters: NDArray[Any]
    by_cluster: Floats
    neighbor: NDArray[Any]
    score: float

    def __str__(self) -> str:
        means = zip(self.clusters, self.by_cluster, strict=True)
        parts = ", ".join(f"{name}: {value:.3f}" for name, value in means)
        low = int((self.samples < 0).sum())
        return f"Silhouette {self.score:.3f} ({parts}); {low} points are nearer to another cluster."


def silhouette(X: Any, labels: Any, metric: Any = "euclidean") -> Silhouette:
    """Silhouettes of the points of X under any metric ("precomputed": X holds the distances).

    X is a matrix, a data frame, Rows, or a list of what the metric measures.

    Squared Euclidean distances take time in proportion to points times clusters: the mean to a
    cluster is that to its mean plus the cluster's own mean scatter. Euclidean ones are measured in
    single precision, all pairs, in constant memory.
    """
    X = prepare(X).rows.collect().dense() if isinstance(X, Rows) else X
    chosen = metric_from(metric).fitted(X)
    points = chosen.validate(X)
    n, given = n_items(points), np.asarray(labels)
    if given.shape != (n,):
        raise InputError(f"{n} points need {n} labels; the labels have shape {given.shape}.")
    clusters, code = np.unique(given, return_inverse=True)
    _refuse(len(clusters), n)
    order = np.argsort(code, kind="stable")
    sizes = np.bincount(code)
    sums = np.empty((n, len(clusters)))
    sums[order] = _sums(chosen, points, order, np.concatenate([[0], np.cumsum(sizes)]))
    return _finished(sums, sizes, code, given, clusters)


def _refuse(k: int, n: int) -> None:
    if k < 2:
        raise InputError(
            "A silhouette compares clusters, and there is only one.", remedy="Use two or more."
        )
    if k >= n:
        raise InputError(
            "Every point is a cluster of its own: there are no distances within clusters to "
            "compare.",
            remedy="Use fewer clusters than points.",
        )


def _finished(
    sums: Floats, sizes: Ints, code: Ints, given: NDArray[Any], clusters: NDArray[Any]
) -> Silhouette:
    rows = np.arange(len(code))
    own = sums[rows, code] / np.maximum(sizes[code] - 1, 1)
    means = sums / sizes
    means[rows, code] = np.inf
    other = means.argmin(axis=1)
    next_best = means[rows, other]
    larger = np.maximum(own, next_best)
    s = np.divide(next_best - own, larger, out=np.zeros(len(code)), where=larger > 0)
    s[sizes[code] == 1] = 0.0
    by_cluster = np.bincount(code, s) / sizes
    return Silhouette(s, given, clusters, by_cluster, clusters[other], float(s.mean()))


# -- sums of distances to clusters -------------------------------------------------------------


def _sums(metric: Metric, points: Any, order: Ints, ends: Ints) -> Floats:
    """Σ d(x, ·) over every cluster, for the points in the order of their clusters."""
    if isinstance(metric, PrecomputedDistances):
        metric.precompute(points)
        return np.asarray(np.add.reduceat(points[np.ix_(order, order)], ends[:-1], axis=1))
    if isinstance(points, np.ndarray):
        points = np.ascontiguousarray(points[order])
    else:
        points = [points[i] for i in order]
    if type(metric) is SquaredEuclidean:
        return _squared(points, ends)
    if type(metric) is Euclidean:
        return _euclidean(points, ends)
    out = np.empty((len(points), len(ends) - 1))
    for rows, block in metric.prepare(points).blocks(points):
        np.add.reduceat(block, ends[:-1], axis=1, out=out[rows])
    return out


def _squared(x: Floats, ends: Ints) -> Floats:
    """Σ ‖x − z‖² = n_j ‖x − μ_j‖² + S_j: the parallel axis theorem, no pairs."""
    sizes = np.diff(ends)
    z = x - x.mean(axis=0)
    means = np.add.reduceat(z, ends[:-1], axis=0) / sizes[:, None]
    away = z - np.repeat(means, sizes, axis=0)
    within = np.add.reduceat(np.einsum("ij,ij->i", away, away), ends[:-1])
    out = np.empty((len(x), len(sizes)))
    for j, mean in enumerate(means):
        step = z - mean
        out[:, j] = sizes[j] * np.einsum("ij,ij->i", step, step) + within[j]
    return out


def _euclidean(x: Floats, ends: Ints) -> Floats:
    """In single precision; again in double for rows far out whose clusters are near them.

    Rounded coordinates displace a row by ε ‖x‖. Its sums stand while the mean distances that decide
    its silhouette are a hundred thousand times larger. Medians are the origin: a few rows that are
    far away blur none of the others.
    """
    z = x - np.median(x, axis=0)
    sums = _in_single_precision(z, ends)
    decide = np.partition(sums / np.diff(ends), 1, axis=1)[:, 1]
    displaced = np.finfo(np.float32).eps * np.linalg.norm(z, axis=1)
    blurred = np.flatnonzero(decide < 1e5 * displaced)
    if len(blurred):
        for rows, block in Euclidean().prepare(x).blocks(x[blurred]):
            sums[blurred[rows]] = np.add.reduceat(block, ends[:-1], axis=1)
    return sums


def _in_single_precision(z: Floats, ends: Ints) -> Floats:
    unit = float(np.abs(z).max(initial=0.0)) or 1.0
    n, d = z.shape
    columns = np.zeros((d + -d % 4, n), dtype=np.float32)  # a zero column adds no distance
    columns[:d] = z.T / unit
    sums = np.empty((n, len(ends) - 1))
    if n < WORTH_THREADS:
        distance_sums(columns, ends, 0, n, sums)
        return sums * unit
    cuts = np.linspace(0, n, 33).astype(int)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda a, b: distance_sums(columns, ends, a, b, sums), cuts[:-1], cuts[1:]))
    return sums * unit
