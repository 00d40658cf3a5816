"""Scatter within and between clusters, and the plane that shows the latter best.

Σ w ‖x − μ‖²  =  Σⱼ Σ w ‖x − μⱼ‖² over cluster j  +  Σⱼ wⱼ ‖μⱼ − μ‖²
  total                 within                        between

These are the traces of the matrices T = Σ_j S_j + B, with (x − μ)(x − μ)ᵀ in place of ‖x − μ‖².
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.rows.schema import check_sample_weight, unit_weights


@dataclass(frozen=True, repr=False)
class ScatterDecomposition(Shown):
    """Traces of the scatter matrices: ``total`` = ``within.sum()`` + ``between``.

    ``within`` has one number per cluster, in the order of ``labels``; ``means`` and ``sizes`` (the
    sums of weights) are those of the clusters. The matrices themselves, d x d, are computed when
    asked for: ``total_matrix`` = ``within_matrices.sum(axis=0)`` + ``between_matrix``.
    """

    total: float
    within: Floats
    between: float
    labels: NDArray[Any]
    sizes: Floats
    means: Floats
    #: Rows of positive weight, the number of their cluster in ``labels``, and their weights.
    rows: Floats = field(repr=False)
    codes: Ints = field(repr=False)
    weights: Floats = field(repr=False)

    @property
    def within_matrices(self) -> Floats:
        """S_j = Σ w (x − μ_j)(x − μ_j)ᵀ of every cluster, of shape (n_clusters, d, d)."""
        d = self.rows.shape[1]
        out = np.empty((len(self.sizes), d, d))
        for j, mean in enumerate(self.means):
            members = self.codes == j
            z = self.rows[members] - mean
            out[j] = (z * self.weights[members, None]).T @ z
        return out

    @property
    def between_matrix(self) -> Floats:
        """B = Σ_j w_j (μ_j − μ)(μ_j − μ)ᵀ."""
        z = self.means - self._mean
        return np.asarray((z * self.sizes[:, None]).T @ z)

    @property
    def total_matrix(self) -> Floats:
        """T = Σ w (x − μ)(x − μ)ᵀ."""
        z = self.rows - self._mean
        return np.asarray((z * self.weights[:, None]).T @ z)

    @property
    def _mean(self) -> Floats:
        origin = self.means[0]
        return np.asarray(origin + self.sizes @ (self.means - origin) / self.sizes.sum())

    @property
    def explained(self) -> float:
        """Fraction of the scatter that is between clusters; NaN when all rows are equal."""
        return self.between / self.total if self.total > 0 else float("nan")

    def __str__(self) -> str:
        parts = " + ".join(f"{value:.6g}" for value in (*self.within, self.between))
        return f"{self.total:.6g} = {parts} (the last between the clusters)"


def scatter_decomposition(X: Any, labels: Any, sample_weight: Any = None) -> ScatterDecomposition:
    """Split the scatter of rows into that within and that between clusters.

        Σ w ‖x − μ‖²  =  Σⱼ Σ w ‖x − μⱼ‖² over cluster j  +  Σⱼ wⱼ ‖μⱼ − μ‖²

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    labels : array-like of shape (n_samples,)
        Cluster of every row.
    sample_weight : array-like of shape (n_samples,), default=None
        w; by default 1.

    Returns
    -------
    ScatterDecomposition
        ``total``, ``within`` by cluster, ``between``, the fraction ``explained``, and the matrices
        ``total_matrix``, ``within_matrices`` and ``between_matrix``.

    See Also
    --------
    KMeans : Minimizes the scatter within clusters.
    silhouette : Compares distances within clusters with those to the nearest other one.

    Examples
    --------
    >>> import separatrix as sx
    >>> parts = sx.scatter_decomposition([[0.0], [2.0], [9.0], [11.0]], [0, 0, 1, 1])
    >>> print(parts)
    85 = 2 + 2 + 81 (the last between the clusters)
    >>> round(parts.explained, 3)
    0.953
    >>> parts.within_matrices.tolist(), parts.between_matrix.tolist()
    ([[[2.0]], [[2.0]]], [[81.0]])
    """
    x = np.asarray(X, dtype=np.float64)
    given = np.asarray(labels)
    if x.ndim != 2 or given.shape != (len(x),) or not len(x):
        raise InputError(
            f"Rows of shape {x.shape} and labels of shape {given.shape} do not match.",
            remedy="Give a matrix with rows, and one label for each of them.",
        )
    if not np.isfinite(x).all():
        raise InputError("X contains NaN or infinity; scatter needs finite numbers.")
    w = unit_weights(check_sample_weight(sample_weight, len(x)), len(x))
    x, given, w = x[w > 0], given[w > 0], w[w > 0]
    names, code = np.unique(given, return_inverse=True)
    origin = x[0]  # sums about a row do not cancel when all rows are far from zero
    z = x - origin
    sizes: Floats = np.asarray(np.bincount(code, w), dtype=float)
    means = _cluster_sums(z * w[:, None], code) / sizes[:, None]
    mean = (w @ z) / w.sum()
    square = w * ((z - means[code]) ** 2).sum(axis=1)
    within: Floats = np.asarray(np.bincount(code, square), dtype=float)
    between = float(sizes @ ((means - mean) ** 2).sum(axis=1))
    total = float(w @ ((z - mean) ** 2).sum(axis=1))
    return ScatterDecomposition(
        total, within, between, names, sizes, means + origin, x, np.asarray(code, np.int64), w
    )


def _cluster_sums(x: Floats, code: NDArray[np.integer]) -> Floats:
    """Sums of the rows of every cluster."""
    return np.stack([np.bincount(code, column) for column in x.T], axis=1)


# -- the plane of the cluster means ----------------------------------------------------------------


@dataclass(frozen=True)
class ClusterProjection:
    """Rows projected (``coordinates``, n x 2) on two orthonormal ``directions`` (d x 2).

    ``between`` and ``total`` are the fractions of the scatter between clusters, and of the total
    scatter, that lie in the plane.
    """

    coordinates: Floats
    directions: Floats
    between: float
    total: float


def cluster_projection(z: Floats, codes: NDArray[np.integer]) -> ClusterProjection:
    """The plane of largest scatter between clusters, which ``codes`` number 0, 1, ….

    Its directions are the principal components of the means, weighted by cluster size; with two
    clusters the second direction is the first principal component of what is left of the rows.
    """
    z, sizes = z - z.mean(axis=0), np.bincount(codes).astype(float)
    weighted = _cluster_sums(z, codes) / np.sqrt(sizes)[:, None]
    directions = _directions(z, weighted)
    return ClusterProjection(
        z @ directions, directions, _fraction(weighted, directions), _fraction(z, directions)
    )


def _directions(z: Floats, means: Floats) -> Floats:
    """Two orthonormal directions (d x 2): principal components of the means, then of the rows."""
    if np.linalg.norm(means) <= 1e-9 * np.linalg.norm(z):
        means = np.zeros_like(means)  # of one cluster, but for rounding
    directions = _principal_components(means, 2)
    if directions.shape[1] < 2:
        rest = z - z @ directions @ directions.T
        directions = np.column_stack(
            [directions, _principal_components(rest, 2 - directions.shape[1])]
        )
    plane = np.zeros((z.shape[1], 2))
    plane[:, : directions.shape[1]] = directions
    # The sign is arbitrary: the largest loading is positive.
    largest = np.abs(plane).argmax(axis=0)
    sign = np.sign(plane[largest, [0, 1]])
    return plane * np.where(sign == 0, 1.0, sign)


def _principal_components(rows: Floats, count: int) -> Floats:
    """At most ``count`` right singular vectors whose singular values are not rounding errors."""
    if len(rows) > rows.shape[1]:
        rows = np.asarray(np.linalg.qr(rows, mode="r"))  # the same singular vectors, d rows
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    rank = int((values > 1e-9 * values.max(initial=0.0)).sum()) if values.any() else 0
    return np.asarray(right[: min(rank, count)].T)


def _fraction(rows: Floats, directions: Floats) -> float:
    """Fraction of the squared norm of the rows that lies in the plane."""
    whole = float((rows**2).sum())
    return float(((rows @ directions) ** 2).sum()) / whole if whole > 0 else float("nan")
