"""Where K-means begins: rows drawn far apart (k-means++), or at random.

Draws follow the cumulative weight of the rows in lexicographic order, so that neither the order of
rows nor their units matter, and a row of weight w is drawn like w equal rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.kernels.base import n_items
from separatrix.rows.block import Floats

#: Numbers of a sparse matrix that are spread out to sort its rows.
MOST_SPREAD = 20_000_000


def in_order(x: Any) -> NDArray[np.int64]:
    """Rows sorted by the first column, ties by the next ones; anything but a matrix as it is."""
    if sparse.issparse(x) and x.shape[0] * x.shape[1] <= MOST_SPREAD:
        x = x.toarray()
    if not isinstance(x, np.ndarray) or x.ndim != 2:
        return np.arange(n_items(x))
    order = np.argsort(x[:, 0], kind="stable")
    first = x[order, 0]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort(x.T[::-1])
    return np.asarray(order)


def spread_start(x: Floats, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """k-means++: each center is drawn by weight times squared distance to those before.

    Of 2 + log k candidates the one that leaves the least scatter is taken. When every row sits on
    a center already, the last centers repeat rows.
    """
    z, w, origin = _sorted(x, w)
    square = np.einsum("ij,ij->i", z, z)
    chosen = [drawn(w, rng.random(1))[0]]
    nearest = _squares(z, square, z[chosen])[:, 0]
    trials = 2 + int(np.log(k))
    for _ in range(1, k):
        loss = w * nearest
        u = rng.random(trials)
        if not loss.any():
            chosen.append(drawn(w, u)[0])
            continue
        candidates = drawn(loss, u)
        closer = np.minimum(_squares(z, square, z[candidates]), nearest[:, None])
        best = int((w @ closer).argmin())
        nearest = closer[:, best].copy()
        chosen.append(candidates[best])
    return np.asarray(z[np.array(chosen)] + origin)


def random_start(x: Floats, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Rows drawn by weight; none twice, and no two equal ones while there are others."""
    z, w, origin = _sorted(x, w)
    square = np.einsum("ij,ij->i", z, z)
    left = w.copy()
    chosen = []
    for _ in range(k):
        u = rng.random(1)
        i = drawn(left if left.any() else w, u)[0]
        chosen.append(i)
        left[_squares(z, square, z[[i]])[:, 0] == 0.0] = 0.0
    return np.asarray(z[np.array(chosen)] + origin)


def _sorted(x: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
    order = in_order(x)
    origin = (w @ x) / w.sum()
    return x[order] - origin, w[order], origin


def drawn(weight: Floats, u: Floats) -> NDArray[np.int64]:
    """Rows at which the cumulative weight passes the shares u; rows of no weight never."""
    up = np.cumsum(weight)
    found = np.searchsorted(up, u * up[-1], side="right")
    last = int(np.flatnonzero(weight)[-1])
    return np.asarray(np.minimum(found, last))


def _squares(z: Floats, square: Floats, c: Floats) -> Floats:
    """‖z − c‖² of all pairs; exactly 0 for equal rows, and where only rounding is left."""
    norms = np.einsum("ij,ij->i", c, c)
    out = z @ (-2.0 * c.T)
    out += square[:, None]
    out += norms
    noise = 16 * np.finfo(float).eps * (square[:, None] + norms)
    close = np.argwhere(out <= noise)
    if len(close) <= 4 * len(z):  # direct where the difference has few digits
        i, j = close.T
        out[i, j] = ((z[i] - c[j]) ** 2).sum(axis=1)
    return np.maximum(out, 0.0)
