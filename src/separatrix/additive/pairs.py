"""Which pairs of columns explain what the curves leave: a screen of all of them in one pass.

Each column is cut into a few bins. With the sums R_c of residuals and W_c of weights in the cells
of a pair, the part of Σ R_c²/W_c that neither column explains by itself is compared with what
chance would leave, in standard deviations of chance. The greatest of P pairs without any effect
has about √(2 log P) of them: a pair is found where it has more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from separatrix.additive import loops
from separatrix.additive.basis import PAIR_INTERVALS, ColumnBasis
from separatrix.arrays import Floats
from separatrix.threads import parallel_map, pieces

#: Bins of a column of numbers.
BINS = 6
#: Functions of a side of a pair of curves.
SIDE = PAIR_INTERVALS + 3


def best_pairs(
    bases: Sequence[ColumnBasis], x: Floats, residual: Floats, weight: Floats, count: int
) -> list[tuple[int, int]]:
    """The ``count`` pairs that explain most of the residuals beyond chance, best first.

    ``residual`` are Σ-able scores (weights times residuals, n x outputs) and ``weight`` their
    variances by row. A pair with more coefficients than two curves have is for those who name it.
    """
    sides = [min(basis.size, SIDE) if basis.is_smooth else basis.size for basis in bases]
    known = combinations(range(len(bases)), 2)
    pairs = np.array([(j, k) for j, k in known if sides[j] * sides[k] <= SIDE**2], dtype=np.int64)
    if not count or not len(pairs):
        return []
    bins = np.column_stack([_bins(basis, x, weight.sum(axis=1)) for basis in bases])
    counts = bins.max(axis=0) + 1
    cells = int(counts.max()) ** 2
    shape = (len(pairs), cells, residual.shape[1])

    def part(rows: slice) -> tuple[Floats, Floats]:
        sums, weights = np.zeros(shape), np.zeros(shape)
        loops.add_cells(rows.start, rows.stop, bins, counts, residual, weight, pairs, sums, weights)
        return sums, weights

    parts = parallel_map(part, pieces(len(x), 20_000))
    sums, weights = (np.sum([part[i] for part in parts], axis=0) for i in (0, 1))
    gains = [
        _gain(
            sums[p, : counts[j] * counts[k]].reshape(counts[j], counts[k], -1),
            weights[p, : counts[j] * counts[k]].reshape(counts[j], counts[k], -1),
        )
        for p, (j, k) in enumerate(pairs)
    ]
    # Rounded, so that the order of equal ones does not hang on the last digits of sums.
    order = np.argsort(-np.round(gains, 6), kind="stable")[:count]
    order = order[np.asarray(gains)[order] > np.sqrt(2.0 * np.log(len(pairs)))]
    return [(int(j), int(k)) for j, k in pairs[order]]


def _bins(basis: ColumnBasis, x: Floats, w: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The bin of each row."""
    if not basis.is_smooth:
        level = np.where(x[:, basis.terms].any(axis=1), x[:, basis.terms].argmax(axis=1) + 1, 0)
        order = np.argsort(-np.bincount(level, w, basis.size), kind="stable")
        place = np.empty(basis.size, dtype=np.int64)
        # Of more than twelve levels the rarest share a bin.
        place[order] = np.minimum(np.arange(basis.size), 11)
        return place[level]
    column = x[:, basis.terms[0]]
    inverse = np.unique(column, return_inverse=True)[1]
    share = np.cumsum(np.bincount(inverse, w))
    share = (share - 0.5 * np.bincount(inverse, w)) / share[-1]
    # Shares are rounded, so that a distinct value has the same bin whatever the order of sums.
    bins = np.minimum((np.round(share, 9) * BINS).astype(np.int64), BINS - 1)
    return np.asarray(np.unique(bins, return_inverse=True)[1][inverse], dtype=np.int64)


def _gain(sums: Floats, weights: Floats) -> float:
    """What cells explain beyond rows and columns, in standard deviations of chance."""

    def explain(r: Floats, w: Floats) -> float:
        some = w > 0.0
        return float((r[some] ** 2 / w[some]).sum())

    total = explain(sums, weights)
    for axis in (0, 1):
        total -= explain(sums.sum(axis=axis), weights.sum(axis=axis))
    total += explain(sums.sum(axis=(0, 1)), weights.sum(axis=(0, 1)))
    cells = int((weights > 0.0).sum()) / sums.shape[2]
    freedom = max(cells - sums.shape[0] - sums.shape[1] + 1.0, 1.0) * sums.shape[2]
    return float((total - freedom) / np.sqrt(2.0 * freedom))
