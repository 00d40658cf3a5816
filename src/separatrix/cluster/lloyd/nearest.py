"""The nearest center of every row from products, with what rounding leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.cluster.loops.assignments import nearest_and_gain
from separatrix.rows.block import Floats

#: Squared distance over squared norms below which products would lose digits.
MIN_FRACTION = 1e-3
#: Clusters up to which sums by BLAS are faster than those of a sparse matrix.
MAX_DENSE = 32


def nearest_centers(x: Floats, centers: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Label and squared distance of every row; products are taken about the mean of the centers."""
    origin = centers.mean(axis=0)
    z, c = np.ascontiguousarray(x - origin), np.ascontiguousarray(centers - origin)
    label, square, _ = nearest_and_gains(z, c, np.ones(len(z)))
    return label, square


def nearest_and_gains(
    z: Floats, centers: Floats, w: Floats, known: Floats | None = None
) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Label, squared distance and gain (see :func:`nearest_and_gain`) of every row.

    Rows and centers are relative to an origin near them. Where rounding could decide, distances are
    computed from differences, and the first of equally near centers is taken.
    """
    own, norms = np.einsum("ij,ij->i", z, z), np.einsum("ij,ij->i", centers, centers)
    label, square, gain, _, noise = nearest_of_centered(z, own, centers, norms, w, known)
    gain[gain <= 2.0 * noise * w] = 0.0  # below the error of products
    near = np.flatnonzero(square <= MIN_FRACTION * (own + norms.max()))
    if len(near):
        step = z[near] - centers[label[near]]
        square[near] = np.einsum("ij,ij->i", step, step)
    return label, square, gain


def membership(clusters: NDArray[Any], w: Floats, k: int) -> Any:
    """The matrix (k x n) whose product with rows is Σ w x of every cluster.

    Row i counts in the clusters ``clusters[i]`` with the weights ``w[i]``.
    """
    n, each = clusters.shape
    if k <= MAX_DENSE:
        members = np.zeros((k, n))
        members[clusters, np.arange(n)[:, None]] = w
        return members
    entries = (w.ravel(), clusters.ravel(), np.arange(n + 1) * each)
    return sparse.csc_array(entries, shape=(k, n))


def nearest_of_centered(
    z: Floats,
    own: Floats,
    centers: Floats,
    norms: Floats,
    w: Floats,
    known: Floats | None = None,
) -> tuple[NDArray[np.int32], Floats, Floats, Floats, Floats]:
    """Label, squared distance, gain and margin of every row, and a bound of their errors.

    ``own`` and ``norms`` are the squared norms of rows and centers. Of centers that are equally
    near but for rounding, differences decide, and then the order.
    """
    label, square, gain, margin = nearest_from_products(z @ centers.T, own, norms, w, known)
    noise = 8 * (z.shape[1] + 4) * np.finfo(float).eps * (own + norms.max())
    tied = np.flatnonzero(margin <= noise)
    if len(tied):
        from scipy.spatial.distance import cdist  # slow to import

        label[tied] = cdist(z[tied], centers, "sqeuclidean").argmin(axis=1)
    return label, square, gain, margin, noise


def nearest_from_products(
    product: Floats, own: Floats, norms: Floats, w: Floats, known: Floats | None = None
) -> tuple[NDArray[np.int32], Floats, Floats, Floats]:
    """Label, squared distance, gain and margin of every row (:func:`nearest_and_gain`)."""
    n, k = product.shape
    label = np.empty(n, dtype=np.int32)
    near, gain, margin = np.empty(n), np.empty(n), np.empty(n)
    cluster_weights = np.full(k, np.inf) if known is None else known
    nearest_and_gain(product, own, norms, cluster_weights, w, label, near, margin, gain)
    return label, near, gain, margin
