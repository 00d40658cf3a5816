"""Sums of a block by class, each about a centre of its own, in one compiled sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats, Ints

#: Rows of a panel at most, in an odd number of cache lines: neighbouring columns of a panel then
#: never compete for the same place in the cache.
ROOM = 136
#: Numbers that all panels together hold.
HELD = 1_000_000
#: Columns up to which panels stay in the cache, and numbers from which compiled code pays.
WIDEST, FEWEST = 160, 100_000
#: Rows per call, and rows in which centres are looked for at first.
STEP, LOOKED = 4096, 2048
#: Rows of a class whose mean is its provisional centre.
FIRST = 64


@dataclass(frozen=True)
class ClassSums:
    """About ``shift`` s (K x d): ``first`` Σ w (x − s) (K x d), ``gram`` Σ w (x − s)(x − s)ᵀ.

    ``gram`` has one matrix for each class, a single one for all, or their diagonals (K x d).
    """

    shift: Floats
    first: Floats
    gram: Floats


def suits(x: object) -> bool:
    """Whether the sweep pays: enough numbers, in columns that fit the cache."""
    return isinstance(x, np.ndarray) and x.size >= FEWEST and 0 < x.shape[1] <= WIDEST


def class_sums(x: Floats, codes: Ints, w: Floats | None, k: int, *, pooled: bool) -> ClassSums:
    """Of rows with positive weights, whose classes are ``codes``."""
    from separatrix.statistics.loops.class_sums import deal_rows, empty_panels

    n, d = x.shape
    width, most = -(-d // 4) * 4, 1 if pooled else k
    lines = int(np.clip(HELD // (most * width * 8), 1, ROOM // 8))
    panels = np.zeros((most, width, 8 * (lines - 1 + lines % 2)))
    filled, gram = np.zeros(most, dtype=np.int64), np.zeros((most, width, width))
    shift = class_centres(x, codes, k)
    first = np.zeros((k, d))
    none = np.empty(0)
    for start in range(0, n, STEP):
        here = slice(start, start + STEP)
        deal_rows(
            np.ascontiguousarray(x[here]),
            codes[here],
            none if w is None else w[here],
            shift,
            first,
            panels,
            filled,
            gram,
        )
    empty_panels(panels, filled, gram)
    lower = np.tril(gram[:, :d, :d])
    return ClassSums(shift, first, lower + np.tril(lower, -1).swapaxes(1, 2))


def column_sums(x: Floats, codes: Ints, w: Floats | None, k: int) -> ClassSums:
    """The same with each column by itself; a value that is missing makes its sum NaN."""
    from separatrix.statistics.loops.class_columns import add_squares

    shift = class_centres(x, codes, k)
    first, second = np.zeros_like(shift), np.zeros_like(shift)
    none = np.empty(0)
    for start in range(0, len(x), STEP):
        here = slice(start, start + STEP)
        weights = none if w is None else w[here]
        add_squares(np.ascontiguousarray(x[here]), codes[here], weights, shift, first, second)
    return ClassSums(shift, first, second)


def class_centres(x: Floats, codes: Ints, k: int) -> Floats:
    """The mean of the first rows of each class (K x d), zero where it has none or is not finite.

    Any point amid the rows of a class serves as the centre of its sums.
    """
    there = np.bincount(codes, minlength=k) > 0
    look = codes[:LOOKED]
    if (np.bincount(look, minlength=k) > 0).sum() < there.sum():
        look = codes
    small = look.astype(np.uint8) if k <= 256 else look
    order = np.argsort(small, kind="stable")  # one byte sorts by counting
    counts = np.bincount(look, minlength=k)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(look)) - np.repeat(starts, counts)
    rows, sizes = order[rank < FIRST], np.minimum(counts, FIRST)[there]
    centres = np.zeros((k, x.shape[1]))
    if len(rows):
        sums = np.add.reduceat(x[rows], np.cumsum(sizes) - sizes, axis=0)
        centres[there] = sums / sizes[:, None]
    centres[~np.isfinite(centres)] = 0.0
    return centres
