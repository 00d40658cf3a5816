"""What one pass over rows tells of given centers: sums, scatter and possible gains by cluster.

    mass_j = Σ w,    shift_j = Σ w (x − c_j),    scatter = Σ w ‖x − c‖²     over rows nearest c_j

The mean of a cluster is c_j + shift_j / mass_j: sums are taken about the centers, so they keep
their digits however far the rows are from the origin.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.loops.assignments import add_rows, judge, own_squares
from separatrix.rows.block import Block, Floats, unit_weights
from separatrix.rows.loops.hashing import add_column

#: Distances of a block of rows to all centers that are held at once.
BLOCK_NUMBERS = 2_000_000


class ClusterSums:
    """Sums of the rows nearest to each of the ``centers`` (k x d), in units of ``scale``.

    ``far`` holds up to k rows that add most to the scatter (for clusters that are empty), ``gain``
    what moving the best single row would take off the scatter and ``movers`` the number of rows
    that would, when the ``mass`` that the clusters have is ``known``.
    """

    def __init__(self, centers: Floats, scale: Floats, known: Floats | None = None) -> None:
        k, d = centers.shape
        self.centers, self.scale, self.known = centers, scale, known
        self.mass, self.shift, self.scatter = np.zeros(k), np.zeros((k, d)), 0.0
        self.count = np.zeros(k, dtype=np.int64)
        self.gain, self.movers = 0.0, 0
        self.far, self.far_loss = np.zeros((0, d)), np.zeros(0)

    def fresh(self) -> Self:
        """An empty one about the same centers."""
        return type(self)(self.centers, self.scale, self.known)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        k = len(self.centers)
        step = max(64, BLOCK_NUMBERS // k)
        for start in range(0, block.n, step):
            x = block.dense(start, start + step) / self.scale
            w = np.ones(len(x)) if block.w is None else block.w[start : start + step]
            if not w.all():
                x, w = x[w > 0], w[w > 0]
            label, square, gain = nearest_centers(x, self.centers, w, self.known)
            add_rows(
                x - self.centers[label], w, label, 0, len(x), self.shift, self.mass, self.count
            )
            self.scatter += float(w @ square)
            if self.known is not None and len(x):
                self.gain = max(self.gain, float(gain.max()))
                self.movers += int((gain > 1e-12 * w * square).sum())
            self._keep_far(x, w * square)

    def _keep_far(self, x: Floats, loss: Floats) -> None:
        k = len(self.centers)
        if len(loss) > k:
            most = np.argpartition(-loss, k)[:k]
            x, loss = x[most], loss[most]
        far, losses = np.concatenate([self.far, x]), np.concatenate([self.far_loss, loss])
        order = np.lexsort((*far.T, -losses))[:k]
        self.far, self.far_loss = far[order], losses[order]

    def __add__(self, other: Self) -> Self:
        both = self.fresh()
        both.mass, both.shift = self.mass + other.mass, self.shift + other.shift
        both.scatter, both.count = self.scatter + other.scatter, self.count + other.count
        both.gain, both.movers = max(self.gain, other.gain), self.movers + other.movers
        both.far, both.far_loss = self.far, self.far_loss
        both._keep_far(other.far, other.far_loss)
        return both

    def means(self) -> Floats:
        """The means of the clusters; empty ones go to the rows that add most to the scatter."""
        kept = self.mass > 0
        new = self.centers.copy()
        new[kept] += self.shift[kept] / self.mass[kept, None]
        there = np.flatnonzero(self.far_loss > 0)
        for j, i in zip(np.flatnonzero(~kept), there, strict=False):
            new[j] = self.far[i]
        return new


def nearest_centers(
    x: Floats, centers: Floats, w: Floats | None = None, mass: Floats | None = None
) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Label, squared distance and possible gain (see :func:`judge`) of every row.

    Products are taken about the middle of the centers. Rows for which rounding could decide are
    measured directly, and the first of equally near centers has them.
    """
    middle = centers.mean(axis=0)
    z, c = np.ascontiguousarray(x - middle), np.ascontiguousarray(centers - middle)
    n = len(z)
    label = np.empty(n, dtype=np.int32)
    square, gain, lead = np.empty(n), np.empty(n), np.empty(n)
    norms = (c**2).sum(axis=1)
    product, own = z @ c.T, np.einsum("ij,ij->i", z, z)
    known = np.full(len(c), np.inf) if mass is None else mass
    judge(product, own, norms, known, unit_weights(w, n), label, square, lead, gain)
    noise = 8 * (x.shape[1] + 4) * np.finfo(float).eps * (own + norms.max())
    gain[gain <= 2.0 * noise * (1.0 if w is None else w)] = 0.0  # less than products can tell
    for i in np.flatnonzero(lead <= noise):
        direct = ((z[i] - c) ** 2).sum(axis=1)
        label[i] = direct.argmin()
    own_squares(z, c, label, 0, n, square)
    return label, square, gain


class RowSample:
    """Distinct rows with their weights, chosen by a hash of their content and a seed.

    The ``size`` rows of smallest hash are kept, whatever the order and the blocks of the table; a
    repeated row is one row with more weight.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed
        self.key = np.zeros(0, dtype=np.uint64)
        self.rows: Floats = np.zeros((0, 0))
        self.weight = np.zeros(0)

    def fresh(self) -> Self:
        """An empty one of the same make."""
        return type(self)(self.size, self.seed)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        w = block.weights
        step = max(64, BLOCK_NUMBERS // max(len(block.terms), 1))
        for start in range(0, block.n, step):
            kept = w[start : start + step] > 0
            x = np.ascontiguousarray(block.dense(start, start + step)[kept])
            self._take(_hashed(x, self.seed), x, w[start : start + step][kept])

    def _take(self, key: NDArray[np.uint64], x: Floats, w: Floats) -> None:
        rows = x if not len(self.key) else np.concatenate([self.rows, x])
        found, first, which = np.unique(
            np.concatenate([self.key, key]), return_index=True, return_inverse=True
        )
        weight = np.asarray(np.bincount(which, np.concatenate([self.weight, w])), dtype=float)
        self.key, self.rows = found[: self.size], rows[first[: self.size]]
        self.weight = weight[: self.size]

    def __add__(self, other: Self) -> Self:
        both = self.fresh()
        both.key, both.rows, both.weight = self.key, self.rows, self.weight
        if len(other.key):
            both._take(other.key, other.rows, other.weight)
        return both


def _hashed(x: Floats, seed: int) -> NDArray[np.uint64]:
    total = np.zeros(len(x), dtype=np.uint64)
    rng = np.random.default_rng([seed, 7])
    for f in range(x.shape[1]):
        key = np.uint64(rng.integers(0, 2**63))
        add_column(np.ascontiguousarray(x[:, f]).view(np.uint64), key, total)
    return total
