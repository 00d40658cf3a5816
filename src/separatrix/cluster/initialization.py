"""Initial centers, medoids and partitions: drawn far apart, greedy (BUILD), or at random.

k-means++ draws each center with probability proportional to its weight times its squared distance
(medoids: its distance) to the centers before it. Draws follow the cumulative weight of the rows in
lexicographic order, so that neither the order of rows nor their units matter, and a row of weight
w is drawn like w equal rows.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.cluster.loops import small_tables
from separatrix.cluster.loops.pam import total_reductions
from separatrix.kernels.base import n_items
from separatrix.rows.block import Floats, Ints

if TYPE_CHECKING:
    from separatrix.cluster.kernel_lloyd import GramBlocks

Singles = NDArray[np.float32]

#: Largest sparse matrix, in numbers, that is made dense to sort its rows.
MAX_DENSE = 20_000_000
#: Numbers in a table up to which one compiled loop draws all centers.
SMALL = 150_000


def lexicographic_order(x: Any) -> Ints:
    """Rows sorted by the first column, ties by the next ones; other items in their own order."""
    if sparse.issparse(x) and x.shape[0] * x.shape[1] <= MAX_DENSE:
        x = x.toarray()
    if not isinstance(x, np.ndarray) or x.ndim != 2:
        return np.arange(n_items(x))
    order = np.argsort(x[:, 0], kind="stable")
    first = x[order, 0]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort(x.T[::-1])
    return np.asarray(order)


def draw(weight: Floats, u: Floats) -> Ints:
    """Rows at which the cumulative weight passes the fractions u; never one of weight zero."""
    cumulative = np.cumsum(weight)
    found = np.searchsorted(cumulative, u * cumulative[-1], side="right")
    last = int(np.flatnonzero(weight)[-1])
    return np.asarray(np.minimum(found, last))


# -- centers of K-means ----------------------------------------------------------------------------


class SortedRows(NamedTuple):
    """Rows in lexicographic order relative to their mean, their ‖·‖², weights, and the mean."""

    z: Floats
    square: Floats
    weight: Floats
    origin: Floats


def sorted_rows(x: Floats, w: Floats) -> SortedRows:
    """What all initializations of the same rows share."""
    order = lexicographic_order(x)
    origin = (w @ x) / w.sum()
    z = x[order] - origin
    return SortedRows(z, np.einsum("ij,ij->i", z, z), w[order], origin)


def kmeans_plusplus(x: Floats, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """k-means++ centers: of 2 + log k candidates the one that leaves the least inertia is taken.

    When every row equals a center already, the last centers repeat rows.
    """
    return plusplus_centers(sorted_rows(x, w), k, rng)


def plusplus_centers(rows: SortedRows, k: int, rng: np.random.Generator) -> Floats:
    """k-means++ centers of sorted rows."""
    z, square, w, origin = rows
    trials = 2 + int(np.log(k))
    if z.size <= SMALL:
        u = rng.random(1 + (k - 1) * trials)
        found = small_tables.plusplus(z, np.ascontiguousarray(z.T), w, k, trials, u)
        return np.asarray(z[found] + origin)
    chosen = [draw(w, rng.random(1))[0]]
    nearest = _squared_distances(z, square, z[chosen])[:, 0]
    for _ in range(1, k):
        loss = w * nearest
        u = rng.random(trials)
        if not loss.any():
            chosen.append(draw(w, u)[0])
            continue
        candidates = draw(loss, u)
        closer = np.minimum(_squared_distances(z, square, z[candidates]), nearest[:, None])
        best = int((w @ closer).argmin())
        nearest = closer[:, best].copy()
        chosen.append(candidates[best])
    return np.asarray(z[np.array(chosen)] + origin)


def random_centers(x: Floats, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Rows drawn by weight; none twice, and no two equal ones while there are others."""
    z, square, w, origin = sorted_rows(x, w)
    left, chosen = w.copy(), []
    for _ in range(k):
        chosen.append(draw(left if left.any() else w, rng.random(1))[0])
        left[_squared_distances(z, square, z[chosen[-1:]])[:, 0] == 0.0] = 0.0
    return np.asarray(z[np.array(chosen)] + origin)


def _squared_distances(z: Floats, square: Floats, c: Floats) -> Floats:
    """‖z − c‖² of all pairs; exactly 0 for equal rows, and where only rounding is left."""
    norms = np.einsum("ij,ij->i", c, c)
    out = z @ (-2.0 * c.T)
    out += square[:, None]
    out += norms
    noise = 16 * np.finfo(float).eps * (square[:, None] + norms)
    close = np.argwhere(out <= noise)
    if len(close) <= 4 * len(z):  # from differences where products cancel
        i, j = close.T
        out[i, j] = ((z[i] - c[j]) ** 2).sum(axis=1)
    return np.maximum(out, 0.0)


# -- medoids, from a matrix of distances -----------------------------------------------------------


def build_medoids(distance: Singles, weight: Floats, k: int, _: Any) -> Ints:
    """BUILD: first the medoid of all rows, then the row that lowers the loss most, and so on."""
    n = len(distance)
    nearest, reduction = np.full(n, np.inf), np.empty(n)
    chosen = [int((distance @ weight.astype(np.float32)).argmin())]
    cuts = np.linspace(0, n, 9).astype(int)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while len(chosen) < k:
            np.minimum(nearest, distance[chosen[-1]], out=nearest)
            list(
                pool.map(
                    lambda a, b: total_reductions(distance, nearest, weight, a, b, reduction),
                    cuts[:-1],
                    cuts[1:],
                )
            )
            reduction[chosen] = -1.0
            chosen.append(int(reduction.argmax()))
    return np.array(chosen, dtype=np.int64)


def kmedoids_plusplus(distance: Singles, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows drawn by weight times distance to those before; of 2 + log k the best is taken."""
    chosen = [int(draw(weight, rng.random(1))[0])]
    nearest = distance[chosen[0]].astype(float)
    for _ in range(1, k):
        loss = weight * nearest
        loss[chosen] = 0.0
        if not loss.any():  # every row equals a medoid
            others = np.setdiff1d(np.arange(len(weight)), chosen)
            return np.concatenate([chosen, others[: k - len(chosen)]]).astype(np.int64)
        candidates = draw(loss, rng.random(2 + int(np.log(k))))
        losses = np.minimum(distance[candidates], nearest) @ weight
        chosen.append(int(candidates[losses.argmin()]))
        np.minimum(nearest, distance[chosen[-1]], out=nearest)
    return np.array(chosen, dtype=np.int64)


def random_medoids(distance: Singles, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows drawn by weight; none twice, and no two equal ones while there are others."""
    left, chosen = weight.copy(), []
    for u in rng.random(k):
        chosen.append(int(draw(left, np.array([u]))[0]))
        left[distance[chosen[-1]] == 0.0] = 0.0
        if not left.any():
            left = weight.copy()
            left[chosen] = 0.0
    return np.array(chosen, dtype=np.int64)


# -- partitions of kernel K-means ------------------------------------------------------------------


def kernel_plusplus(gram: GramBlocks, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Labels by the nearest of k rows drawn by k-means++ with distances from the kernel."""
    chosen = [int(draw(weight, rng.random(1))[0])]
    nearest, labels = gram.squared_distances(chosen[0]), np.zeros(gram.n, dtype=np.int64)
    for j in range(1, k):
        loss = weight * nearest
        loss[chosen] = 0.0
        if not loss.any():
            loss = weight.copy()
            loss[chosen] = 0.0
        i = int(draw(loss, rng.random(1))[0])
        squares = gram.squared_distances(i)
        closer = squares < nearest
        closer[i] = True
        labels[closer], nearest = j, np.minimum(nearest, squares)
        chosen.append(i)
    labels[chosen] = np.arange(k)
    return labels
