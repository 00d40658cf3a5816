"""First and second moments of a block by class, each about its own shift, in compiled loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.rows.buffers import scratch
from separatrix.statistics.column_extremes import column_extremes
from separatrix.statistics.grouped import counting_argsort
from separatrix.threads import parallel_map, pieces

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


def on_threads(x: object) -> bool:
    """Whether sums of a block of rows are added up on threads by themselves."""
    return use_compiled(x) or use_tiles(x)


def class_sums(x: Floats, codes: Ints, w: Floats | None, k: int, *, pooled: bool) -> ClassSums:
    """Sums over rows with positive weights and class ``codes``, on threads."""
    from separatrix.statistics.loops.class_sums import add_rows, flush_buffers

    d, shift = x.shape[1], provisional_centers(x, codes, k)
    width, n_buffers = -(-d // 4) * 4, 1 if pooled else k
    lines = int(np.clip(BUFFER_VALUES // (n_buffers * width * 8), 1, BUFFER_ROWS // 8))

    def add_up(part: slice) -> tuple[Floats, Floats]:
        room = 8 * (lines - 1 + lines % 2)
        buffers = scratch((n_buffers * width, room), "C").reshape(n_buffers, width, room)
        buffers[:, d:] = 0.0
        filled, gram = np.zeros(n_buffers, dtype=np.int64), np.zeros((n_buffers, width, width))
        first = np.zeros((k, d))
        for rows, here, weights in _chunks(x, codes, w, part):
            add_rows(rows, here, weights, shift, first, buffers, filled, gram)
        flush_buffers(buffers, filled, gram)
        return first, gram

    most_sums = n_buffers * width**2 // (2 * d)  # those of all pieces are at most twice the data
    found = parallel_map(add_up, pieces(len(x), max(CHUNK_ROWS, most_sums)))
    lower = np.tril(_total(gram for _, gram in found)[:, :d, :d])
    first = _total(first for first, _ in found)
    return ClassSums(shift, first, lower + np.tril(lower, -1).swapaxes(1, 2))


def column_sums(x: Floats, codes: Ints, w: Floats | None, k: int) -> ClassSums:
    """The same with the diagonals of the Gram matrices only; a NaN makes its sums NaN."""
    from separatrix.statistics.loops.class_columns import add_squares

    shift = provisional_centers(x, codes, k)

    def add_up(part: slice) -> tuple[Floats, Floats, Floats, Floats]:
        first, second = np.zeros_like(shift), np.zeros_like(shift)
        extremes = []
        for rows, here, weights in _chunks(x, codes, w, part):
            add_squares(rows, here, weights, shift, first, second)
            extremes.append(column_extremes(rows))
        low, high = zip(*extremes, strict=True)
        return first, second, np.min(low, axis=0), np.max(high, axis=0)

    found = parallel_map(add_up, pieces(len(x), max(CHUNK_ROWS, k)))
    first, second, low, high = zip(*found, strict=True)
    extremes = np.stack([np.min(low, axis=0), np.max(high, axis=0)])
    return ClassSums(shift, _total(first), _total(second), extremes)


def _chunks(
    x: Floats, codes: Ints, w: Floats | None, part: slice
) -> Iterator[tuple[Floats, Ints, Floats]]:
    """Rows of a piece in C order, a few at a time, with their codes and weights (none: empty)."""
    unweighted = np.empty(0)
    for start in range(part.start, part.stop, CHUNK_ROWS):
        here = slice(start, min(start + CHUNK_ROWS, part.stop))
        yield np.ascontiguousarray(x[here]), codes[here], unweighted if w is None else w[here]


def _total(found: Iterable[Floats]) -> Floats:
    """The sum of arrays, in order, written over the first."""
    return reduce(lambda total, one: np.add(total, one, out=total), found)


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
    sample = codes[: min(SAMPLE_ROWS, 2 * CENTER_ROWS * k)]
    counts = np.bincount(sample, minlength=k)
    if not counts.all():
        everywhere = np.bincount(codes, minlength=k)
        if (everywhere[counts == 0] > 0).any():
            sample, counts = codes, everywhere
    present = counts > 0
    order = counting_argsort(sample)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(sample)) - np.repeat(starts, counts)
    rows, sizes = order[rank < CENTER_ROWS], np.minimum(counts, CENTER_ROWS)[present]
    centers = np.zeros((k, x.shape[1]))
    if len(rows):
        sums = np.add.reduceat(x[rows], np.cumsum(sizes) - sizes, axis=0)
        centers[present] = sums / sizes[:, None]
    centers[~np.isfinite(centers)] = 0.0
    return centers
