"""First and second moments of a block by class, each about its own shift, in compiled loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.statistics.grouped import counting_argsort

#: Rows of a buffer at most, in an odd number of cache lines: adjacent columns of a buffer then
#: never map to the same cache set.
BUFFER_ROWS = 136
#: Values in all buffers together.
BUFFER_VALUES = 1_000_000
#: Columns up to which buffers stay in cache, and values from which compiled code is faster.
MAX_COLUMNS, MIN_VALUES = 160, 100_000
#: Rows per call, and rows from which provisional centers are taken if all classes are among them.
CHUNK_ROWS, SAMPLE_ROWS = 4096, 2048
#: Rows of a class whose mean is its provisional center.
CENTER_ROWS = 16
#: Classes above which none is visited by itself.
FEW_CLASSES = 16


@dataclass(frozen=True)
class ClassSums:
    """About ``shift`` s (K x d): ``first`` Σ w (x − s) (K x d), ``gram`` Σ w (x − s)(x − s)ᵀ.

    ``gram`` has one matrix for each class, a single one for all, or their diagonals (K x d);
    with these come the ``extremes`` of the columns, smallest and largest values (2 x d).
    """

    shift: Floats
    first: Floats
    gram: Floats
    extremes: Floats | None = None


def use_compiled(x: object) -> bool:
    """Whether compiled loops are faster than BLAS: many values, in few enough columns."""
    return isinstance(x, np.ndarray) and x.size >= MIN_VALUES and 0 < x.shape[1] <= MAX_COLUMNS


def use_order(x: object, k: int, structure: str) -> bool:
    """Whether there are many classes, of few values in all."""
    few = isinstance(x, np.ndarray) and 0 < x.size < MIN_VALUES
    return few and k > FEW_CLASSES and structure != "full"


def use_tiles(x: object) -> bool:
    """Whether columns are too many for buffers of the compiled loops, and rows worth threads."""
    return isinstance(x, np.ndarray) and x.size >= MIN_VALUES and x.shape[1] > MAX_COLUMNS


def class_sums(x: Floats, codes: Ints, w: Floats | None, k: int, *, pooled: bool) -> ClassSums:
    """Sums over rows with positive weights and class ``codes``."""
    from separatrix.statistics.loops.class_sums import add_rows, flush_buffers

    n, d = x.shape
    width, n_buffers = -(-d // 4) * 4, 1 if pooled else k
    lines = int(np.clip(BUFFER_VALUES // (n_buffers * width * 8), 1, BUFFER_ROWS // 8))
    buffers = np.zeros((n_buffers, width, 8 * (lines - 1 + lines % 2)))
    filled, gram = np.zeros(n_buffers, dtype=np.int64), np.zeros((n_buffers, width, width))
    shift = provisional_centers(x, codes, k)
    first = np.zeros((k, d))
    unweighted = np.empty(0)
    for start in range(0, n, CHUNK_ROWS):
        here = slice(start, start + CHUNK_ROWS)
        add_rows(
            np.ascontiguousarray(x[here]),
            codes[here],
            unweighted if w is None else w[here],
            shift,
            first,
            buffers,
            filled,
            gram,
        )
    flush_buffers(buffers, filled, gram)
    lower = np.tril(gram[:, :d, :d])
    return ClassSums(shift, first, lower + np.tril(lower, -1).swapaxes(1, 2))


def column_sums(x: Floats, codes: Ints, w: Floats | None, k: int) -> ClassSums:
    """The same with the diagonals of the Gram matrices only; a NaN makes its sums NaN."""
    from separatrix.statistics.loops.class_columns import add_squares

    shift = provisional_centers(x, codes, k)
    first, second = np.zeros_like(shift), np.zeros_like(shift)
    extremes = np.tile(np.array([[np.inf], [-np.inf]]), x.shape[1])
    unweighted = np.empty(0)
    for start in range(0, len(x), CHUNK_ROWS):
        here = slice(start, start + CHUNK_ROWS)
        weights = unweighted if w is None else w[here]
        rows = np.ascontiguousarray(x[here])
        add_squares(rows, codes[here], weights, shift, first, second, extremes)
    return ClassSums(shift, first, second, extremes)


def sorted_sums(x: Floats, codes: Ints, w: Floats | None, k: int, *, pooled: bool) -> ClassSums:
    """Pooled sums, or the diagonals, of few rows in many classes: put in order, all at once."""
    shift = provisional_centers(x, codes, k)
    order = counting_argsort(codes)
    here = codes[order]
    starts = np.flatnonzero(np.diff(here, prepend=-1))
    z = x[order] - shift[here]
    weighted = z if w is None else z * w[order, None]
    first = np.zeros_like(shift)
    first[here[starts]] = np.add.reduceat(weighted, starts, axis=0)
    if pooled:
        return ClassSums(shift, first, (weighted.T @ z)[None])
    second = np.zeros_like(shift)
    second[here[starts]] = np.add.reduceat(weighted * z, starts, axis=0)
    return ClassSums(shift, first, second)


def provisional_centers(x: Floats, codes: Ints, k: int) -> Floats:
    """The mean of the first rows of each class (K x d), 0 where it has none or is not finite.

    Any point among the rows of a class serves as the shift of its sums.
    """
    present = np.bincount(codes, minlength=k) > 0
    sample = codes[: min(SAMPLE_ROWS, 2 * CENTER_ROWS * k)]
    if (np.bincount(sample, minlength=k) > 0).sum() < present.sum():
        sample = codes
    order = counting_argsort(sample)
    counts = np.bincount(sample, minlength=k)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(sample)) - np.repeat(starts, counts)
    rows, sizes = order[rank < CENTER_ROWS], np.minimum(counts, CENTER_ROWS)[present]
    centers = np.zeros((k, x.shape[1]))
    if len(rows):
        sums = np.add.reduceat(x[rows], np.cumsum(sizes) - sizes, axis=0)
        centers[present] = sums / sizes[:, None]
    centers[~np.isfinite(centers)] = 0.0
    return centers
