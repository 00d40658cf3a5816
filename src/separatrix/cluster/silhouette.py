"""Silhouettes: distances within clusters compared with those to the nearest other cluster.

a = mean distance to the others of its cluster,  b = least mean distance to another cluster
s = (b − a) / max(a, b)       near 1: well inside;  0: on the border;  negative: misplaced
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster.loops import distance_sums
from separatrix.distances.metrics import Euclidean, Metric, SquaredEuclidean, as_square
from separatrix.distances.names import PrecomputedDistances, metric_from
from separatrix.estimators.metric_inputs import points_of_table
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.rows.rows import Rows
from separatrix.rows.schema import n_items, take_items
from separatrix.threads import parallel_map, pieces


@dataclass(frozen=True, repr=False)
class Silhouette(Shown):
    """``samples``: s of every point; ``by_cluster``: mean in each of ``clusters``; ``score``: mean.

    ``neighbor`` is the nearest other cluster of every point. A point alone in its cluster has
    s = 0.
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
    """Silhouette coefficients of points and clusters.

        s = (b − a) / max(a, b)

    with a the mean distance to the other points of the own cluster and b the least mean distance to
    another cluster.

    Parameters
    ----------
    X : array-like, Rows or list
        The points: a matrix, a data frame, Rows, or a list of what the metric compares; for
        "precomputed", their distances, a square matrix or in condensed form.
    labels : array-like of shape (n_samples,)
        Cluster of every point.
    metric : str, Metric or callable, default="euclidean"
        A name, a metric, a function of two points, or "precomputed".

    Returns
    -------
    Silhouette
        ``samples``, ``by_cluster``, the nearest other cluster ``neighbor``, and the mean ``score``.

    See Also
    --------
    scatter_decomposition : Scatter within and between clusters.
    KMeans : Clusters about means.

    Notes
    -----
    Euclidean distances of all pairs are computed in single precision, in constant memory; squared
    ones follow from the cluster means in time proportional to points times clusters.

    References
    ----------
    Rousseeuw, P. J. (1987). Silhouettes: a graphical aid to the interpretation and validation of
    cluster analysis. Journal of Computational and Applied Mathematics 20.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.silhouette([[0.0], [1.0], [9.0], [11.0]], ["a", "a", "b", "b"])
    >>> found.samples.round(2).tolist()
    [0.9, 0.89, 0.76, 0.81]
    >>> round(found.score, 2), found.neighbor.tolist()
    (0.84, ['b', 'b', 'a', 'a'])
    """
    chosen = metric_from(metric)
    if isinstance(X, Rows):
        X, chosen = points_of_table(X, chosen)
    if isinstance(chosen, PrecomputedDistances):
        X = as_square(X)
    fitted = chosen.fitted(X)
    points = fitted.validate(X)
    n, given = n_items(points), np.asarray(labels)
    if given.shape != (n,):
        raise InputError(f"{n} points need {n} labels; the labels have shape {given.shape}.")
    clusters, code = np.unique(given, return_inverse=True)
    _check_clusters(len(clusters), n)
    order = np.argsort(code, kind="stable")
    sizes = np.bincount(code)
    sums = np.empty((n, len(clusters)))
    sums[order] = _distance_sums(fitted, points, order, np.concatenate([[0], np.cumsum(sizes)]))
    return _with_labels(sums, sizes, code, given, clusters)


def _check_clusters(k: int, n: int) -> None:
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


def coefficients(sums: Floats, sizes: Ints, code: Ints) -> tuple[Floats, Ints]:
    """s of every point from its sums of distances to all clusters; and the nearest other one.

    ``code`` is the position of the cluster of each point, ``sizes`` the sizes of the clusters.
    """
    rows = np.arange(len(code))
    to_own_cluster = sums[rows, code] / np.maximum(sizes[code] - 1, 1)
    means = sums / sizes
    means[rows, code] = np.inf
    other = means.argmin(axis=1)
    next_best = means[rows, other]
    apart = np.isinf(to_own_cluster) & np.isinf(next_best) & (sizes[code] > 1)
    if apart.any():
        raise InputError(
            f"Row {int(np.argmax(apart)) + 1} is infinitely far from some row of every cluster, "
            "its own among them: it has no silhouette.",
            remedy="Take each connected part by itself.",
        )
    larger = np.maximum(to_own_cluster, next_best)
    finite = (larger > 0) & np.isfinite(larger)
    s = np.divide(next_best - to_own_cluster, larger, out=np.zeros(len(code)), where=finite)
    s[np.isinf(next_best)], s[np.isinf(to_own_cluster)] = 1.0, -1.0  # the limits
    s[sizes[code] == 1] = 0.0
    return s, other


def _with_labels(
    sums: Floats, sizes: Ints, code: Ints, given: NDArray[Any], clusters: NDArray[Any]
) -> Silhouette:
    s, other = coefficients(sums, sizes, code)
    by_cluster = np.bincount(code, s) / sizes
    return Silhouette(s, given, clusters, by_cluster, clusters[other], float(s.mean()))


# -- sums of distances to clusters -------------------------------------------------------------


def _distance_sums(metric: Metric, points: Any, order: Ints, ends: Ints) -> Floats:
    """Σ d(x, ·) over every cluster, for the points in the order of their clusters."""
    if isinstance(metric, PrecomputedDistances):
        metric.precompute(points)
        return np.asarray(np.add.reduceat(points[np.ix_(order, order)], ends[:-1], axis=1))
    points = take_items(points, order)
    if type(metric) is SquaredEuclidean:
        return _squared_euclidean_sums(points, ends)
    if type(metric) is Euclidean:
        return _euclidean_sums(points, ends)
    out = np.empty((len(points), len(ends) - 1))
    for rows, block in metric.prepare(points).blocks(points):
        np.add.reduceat(block, ends[:-1], axis=1, out=out[rows])
    return out


def _squared_euclidean_sums(x: Floats, ends: Ints) -> Floats:
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


def _euclidean_sums(x: Floats, ends: Ints) -> Floats:
    """In single precision; again in double for rows far out whose clusters are near them.

    Rounding displaces a row by ε ‖x‖, which is negligible while the mean distances that determine
    its silhouette are 1e5 times larger. The origin is the median, so that a few rows far away do
    not affect the others.
    """
    z = x - np.median(x, axis=0)
    sums = _single_precision_sums(z, ends)
    relevant = np.partition(sums / np.diff(ends), 1, axis=1)[:, 1]
    displaced = np.finfo(np.float32).eps * np.linalg.norm(z, axis=1)
    inexact = np.flatnonzero(relevant < 1e5 * displaced)
    if len(inexact):
        for rows, block in Euclidean().prepare(x).blocks(x[inexact]):
            sums[inexact[rows]] = np.add.reduceat(block, ends[:-1], axis=1)
    return sums


def _single_precision_sums(z: Floats, ends: Ints) -> Floats:
    unit = float(np.abs(z).max(initial=0.0)) or 1.0
    n, d = z.shape
    columns = np.zeros((d + -d % 4, n), dtype=np.float32)  # a zero column adds no distance

    def lay_out(rows: slice) -> None:
        np.divide(z[rows].T, unit, out=columns[:d, rows], casting="same_kind")

    min_work = 1_000_000  # distances, times columns, that are worth a piece of their own
    parallel_map(lay_out, pieces(n, min_work // (d + 1)))
    sums = np.empty((n, len(ends) - 1))

    def add(rows: slice) -> None:
        distance_sums(columns, ends, rows.start, rows.stop, sums)

    parallel_map(add, pieces(n, min_work // (n * len(columns) + 1) + 1))
    return sums * unit
