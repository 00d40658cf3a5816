"""Moments by part of one dense block, without putting its rows in order first."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Block, Floats
from separatrix.rows.buffers import scratch
from separatrix.statistics.loops.part_moments import add_parts
from separatrix.statistics.moments import Moments, not_finite, too_large

#: Rows that are multiplied together: few enough to stay in cache, in an odd number of its lines.
CHUNK = 520
#: Rows that are sorted by part together: those of few columns stay in cache.
ORDERED = 8_192
#: Columns beyond which BLAS multiplies faster than the compiled loop.
MAX_COLUMNS = 100
#: Numbers of a block below which NumPy is as fast, with nothing to compile.
MIN_VALUES = 20_000
#: Numbers in the sums of all parts together.
MAX_SUMS = 2_000_000


def moments_by_part(block: Block) -> dict[int, Moments] | None:
    """The moments of every part; None where NumPy is as fast, or sums are too many."""
    x, y, labels = block.x, block.y, block.parts
    if not isinstance(x, np.ndarray) or x.dtype != np.float64 or labels is None or not block.n:
        return None
    low, count = int(labels.min()), int(labels.max()) - int(labels.min()) + 1
    p = x.shape[1] + y.shape[1]
    width = p + 1 + -(p + 1) % 4  # the loop multiplies four columns at a time
    if p > MAX_COLUMNS or x.size < MIN_VALUES or count * width**2 > MAX_SUMS:
        return None
    # as few kinds of arrays as can be: each would be compiled by itself
    if not (x.flags.c_contiguous or x.flags.f_contiguous) or not x.flags.writeable:
        x = x.copy(order="C")
    y, labels = np.require(y, None, ["C", "W"]), np.require(labels, np.int64, ["C", "W"])
    w = np.empty(0) if block.w is None else np.require(block.w, None, ["C", "W"])
    order = np.empty(min(block.n, max(ORDERED, 2 * CHUNK * count)), np.int64)
    z = scratch((width, CHUNK), "C")
    z[p + 1 :] = 0.0
    counts, shift = np.zeros(count, np.int64), np.zeros((count, p))
    sums = np.zeros((count, width, width))
    add_parts(x, y, w, labels, low, order, np.empty(count, np.int64), z, counts, shift, sums)
    parts = np.flatnonzero(counts).tolist()
    if block.w is not None:  # zero weight is the same as removing the row
        counts = np.bincount(labels[block.w > 0.0] - low, minlength=count)
    return {
        low + k: _moments(block, int(counts[k]), sums[k, : p + 1, : p + 1], shift[k]) for k in parts
    }


def _moments(block: Block, count: int, sums: Floats, shift: Floats) -> Moments:
    """Moments from Σ w (z, 1)(z, 1)ᵀ, of which the lower triangle is given; z is less ``shift``."""
    weight = float(sums[-1, -1])
    if not count or not weight > 0.0:
        return Moments(block.terms, block.targets)
    total, lower = sums[-1, :-1], np.tril(sums[:-1, :-1])
    if not np.isfinite(total).all():
        raise not_finite(block, total)
    if not np.isfinite(lower).all():
        raise too_large(block, lower)
    gram = lower + np.tril(lower, -1).T
    mean = total / weight
    gram -= weight * np.outer(mean, mean)
    return Moments(block.terms, block.targets, count, weight, shift + mean, gram)
