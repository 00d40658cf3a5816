"""Weighted means by class and scatter within classes: sufficient statistics of Gaussian classes.

    μₖ = Σ w x / Σ w,    Sₖ = Σ w (x − μₖ)(x − μₖ)ᵀ        over the rows of class k

``structure`` is the part of the scatter that is stored: ``"full"`` all Sₖ (K x d x d),
``"pooled"`` their sum (d x d), ``"diagonal"`` their diagonals (K x d). The class of a row is its
``block.parts``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.messages import InputError
from separatrix.rows.schema import Block, Terms, scratch
from separatrix.statistics import moments
from separatrix.statistics.columns import column_extremes
from separatrix.threads import parallel_map, pieces

#: For differences δ (K x d) with weights c (K): the scatter Σ c δδᵀ in each structure.
_SCATTER: dict[str, Callable[[Floats, Floats], Floats]] = {
    "full": lambda c, step: (c[:, None] * step)[:, :, None] * step[:, None, :],
    "pooled": lambda c, step: (c[:, None] * step).T @ step,
    "diagonal": lambda c, step: c[:, None] * step**2,
}


class ClassMoments:
    """``count``, ``weight`` (K), ``mean`` (K x d) and ``scatter`` of the rows of each class.

    A pass for diagonals finds the ``extremes`` of the columns too (2 x d), where it is compiled.
    """

    extremes: Floats | None = None

    def __init__(
        self,
        structure: str,
        count: Ints,
        weight: Floats,
        mean: Floats,
        scatter: Floats,
    ) -> None:
        self.structure = structure
        self.count, self.weight, self.mean, self.scatter = count, weight, mean, scatter

    @classmethod
    def empty(cls, structure: str, k: int, d: int) -> Self:
        """The statistic of no rows, for ``k`` classes and ``d`` columns."""
        shape = {"full": (k, d, d), "pooled": (d, d), "diagonal": (k, d)}[structure]
        if math.prod(shape) > 1 << 30:  # numbers of a statistic beyond which it is refused: 8 GB
            raise InputError(
                f"{' x '.join(map(str, shape))} products of columns by class take "
                f"{8e-9 * math.prod(shape):.0f} GB of memory.",
                remedy="Use fewer columns, or LinearDiscriminantAnalysis(solver='svd') or "
                "RegularizedDiscriminantAnalysis, which need no such matrix where there are fewer "
                "rows than columns.",
            )
        count = np.zeros(k, dtype=np.int64)
        return cls(structure, count, np.zeros(k), np.zeros((k, d)), np.zeros(shape))

    @classmethod
    def from_moments(cls, structure: str, parts: Sequence[moments.Moments]) -> Self:
        """From the moments of each class."""
        scatter = np.array([np.diag(p.xx) if structure == "diagonal" else p.xx for p in parts])
        return cls(
            structure,
            np.array([part.count for part in parts], dtype=np.int64),
            np.array([part.weight for part in parts], dtype=float),
            np.array([part.x_mean for part in parts]),
            scatter.sum(axis=0) if structure == "pooled" else scatter,
        )

    def as_structure(self, structure: str) -> ClassMoments:
        """The part of the scatter that another structure has, of the full one."""
        scatter = self.scatter
        if structure == "pooled":
            scatter = scatter.sum(axis=0)
        elif structure == "diagonal":
            scatter = scatter.diagonal(0, -2, -1).copy()
        return ClassMoments(structure, self.count, self.weight, self.mean, scatter)

    @property
    def mean_squares(self) -> Floats:
        """Σ w x² / Σ w of all rows."""
        within = self.scatter if self.structure == "diagonal" else self.scatter.diagonal(0, -2, -1)
        within = within if self.structure == "pooled" else within.sum(axis=0)
        with np.errstate(over="ignore"):
            return np.asarray((within + self.weight @ self.mean**2) / self.weight.sum())

    # -- a pass over the rows ------------------------------------------------------------------

    def fresh(self) -> Self:
        """An empty statistic for the same classes."""
        return type(self).empty(self.structure, *self.mean.shape)

    def update(self, block: Block) -> None:
        """Add the rows of a block, each to its class."""
        if block.w is not None and not block.w.all():  # zero weight is the same as removing the row
            block = block.take(np.flatnonzero(block.w))
        codes = block.parts
        assert codes is not None, "the rows have no classes"
        added = self.fresh()
        added.count = np.bincount(codes, minlength=len(self.weight))
        by_class = added.count if block.w is None else np.bincount(codes, block.w, len(self.weight))
        added.weight = by_class.astype(float)
        with np.errstate(over="ignore", invalid="ignore"):
            if (
                moments.use_compiled(block.x)
                or moments.use_order(block.x, len(self.weight), self.structure)
                or (moments.use_tiles(block.x) and self.structure != "diagonal")
            ):
                added._from_loops(block, codes)
            else:
                added._by_class(block, codes)
        if not np.isfinite(added.scatter).all():
            sums = added.scatter if self.structure == "pooled" else added.scatter.sum(axis=0)
            raise moments.too_large(block, sums if sums.ndim == 2 else np.diag(sums))
        self.__dict__.update((self + added if self.count.any() else added).__dict__)

    def _from_loops(self, block: Block, codes: Ints) -> None:
        """All classes in one pass."""
        assert isinstance(block.x, np.ndarray)
        if moments.use_order(block.x, len(self.weight), self.structure):
            sums = sorted_sums(
                block.x, codes, block.w, len(self.weight), pooled=self.structure == "pooled"
            )
        elif self.structure == "diagonal":
            sums = column_sums(block.x, codes, block.w, len(self.weight))
        else:
            add_up = tiled_sums if moments.use_tiles(block.x) else class_sums
            sums = add_up(
                block.x, codes, block.w, len(self.weight), pooled=self.structure == "pooled"
            )
        if not np.isfinite(sums.first).all():
            raise moments.not_finite(block, sums.first.sum(axis=0))
        step = sums.first / np.where(self.weight > 0, self.weight, 1.0)[:, None]
        self.mean, self.extremes = sums.shift + step, sums.extremes
        gram = sums.gram[0] if self.structure == "pooled" else sums.gram
        self.scatter = gram - _SCATTER[self.structure](self.weight, step)

    def _by_class(self, block: Block, codes: Ints) -> None:
        """One class after another, by BLAS."""
        order, weights = moments.counting_argsort(codes), block.weights
        ends = np.cumsum(self.count)
        for k in np.flatnonzero(self.count):
            self._one_class(int(k), block, order[ends[k] - self.count[k] : ends[k]], weights)

    def _one_class(self, k: int, block: Block, rows: Ints, weights: Floats) -> None:
        """Rows of one class, in cache-sized chunks about a provisional center."""
        n, d = len(rows), self.mean.shape[1]
        chunk = min(max(100_000 // max(d, 1), 64), 8192)
        shift = _gather(block, rows[:64]).mean(axis=0)
        shift[~np.isfinite(shift)] = 0.0
        total, weight = np.zeros(d), self.weight[k]
        scatter = np.zeros(d if self.structure == "diagonal" else (d, d))
        for start in range(0, n, chunk):
            here = rows[start : start + chunk]
            z = _gather(block, here)
            z -= shift
            w = weights[here]
            total += w @ z
            if self.structure == "diagonal":
                z *= z
                scatter += w @ z
                continue
            if block.w is not None:
                z *= np.sqrt(w)[:, None]
            scatter += z.T @ z
        if not np.isfinite(total).all():
            raise moments.not_finite(block, total)
        total /= weight
        scatter -= weight * (total**2 if self.structure == "diagonal" else np.outer(total, total))
        self.mean[k] = shift + total
        if self.structure == "pooled":
            self.scatter += scatter
        else:
            self.scatter[k] = scatter

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        fraction = other.weight / np.where(weight > 0, weight, 1.0)
        step = other.mean - self.mean
        total = type(self)(
            self.structure,
            self.count + other.count,
            weight,
            self.mean + step * fraction[:, None],
            self.scatter + other.scatter + _SCATTER[self.structure](self.weight * fraction, step),
        )
        if self.extremes is not None and other.extremes is not None:
            low = np.minimum(self.extremes[0], other.extremes[0])
            total.extremes = np.stack([low, np.maximum(self.extremes[1], other.extremes[1])])
        return total

    def expand_classes(self, k: int, indices: Ints) -> Self:
        """The statistic for ``k`` classes, of which those known here have the positions ``at``."""
        wide = type(self).empty(self.structure, k, self.mean.shape[1])
        wide.count[indices], wide.weight[indices], wide.mean[indices] = (
            self.count,
            self.weight,
            self.mean,
        )
        if self.structure == "pooled":
            wide.scatter = self.scatter
        else:
            wide.scatter[indices] = self.scatter
        return wide

    def take(self, classes: slice) -> Self:
        """Select some of the classes."""
        assert self.structure != "pooled", "a pooled scatter cannot be split by class"
        return type(self)(
            self.structure,
            self.count[classes],
            self.weight[classes],
            self.mean[classes],
            self.scatter[classes],
        )

    # -- finished numbers ----------------------------------------------------------------------

    @property
    def grand_mean(self) -> Floats:
        """The mean of all rows."""
        return np.asarray(self.weight @ self.mean / self.weight.sum())

    @property
    def within(self) -> Floats:
        """Σ Sₖ / Σ w: the pooled covariance (its diagonal, for structure "diagonal")."""
        pooled = self.scatter if self.structure == "pooled" else self.scatter.sum(axis=0)
        return np.asarray(pooled / self.weight.sum())

    @property
    def between(self) -> Floats:
        """The weighted covariance of the class means (its diagonal, for structure "diagonal")."""
        structure = "diagonal" if self.structure == "diagonal" else "pooled"
        priors = self.weight / self.weight.sum()
        step = self.mean - self.mean[np.argmax(priors > 0.0)]  # exact, however far the origin is
        scatter = _SCATTER[structure](priors, step - priors @ step)
        return np.asarray(scatter.sum(axis=0) if structure == "diagonal" else scatter)

    def joint(self, terms: Terms, targets: Terms) -> moments.Moments:
        """Moments of all rows, with one indicator per class as targets."""
        d, k = self.mean.shape[1], len(self.weight)
        total = float(self.weight.sum())
        cross = self.weight[:, None] * (self.mean - self.grand_mean)
        scatter = np.empty((d + k, d + k))
        scatter[:d, :d] = total * (self.within + self.between)
        scatter[d:, :d], scatter[:d, d:] = cross, cross.T
        scatter[d:, d:] = np.diag(self.weight) - np.outer(self.weight, self.weight / total)
        mean = np.concatenate([self.grand_mean, self.weight / total])
        return moments.Moments(terms, targets, int(self.count.sum()), total, mean, scatter)

    @property
    def covariances(self) -> Floats:
        """Sₖ / Wₖ: the maximum-likelihood covariance (or variances) by class; 0 without rows."""
        weight = np.where(self.weight > 0, self.weight, 1.0)
        return np.asarray(self.scatter / weight.reshape(-1, *[1] * (self.scatter.ndim - 1)))


def _gather(block: Block, rows: Ints) -> Floats:
    """Copy these rows of the block into a dense array."""
    if not isinstance(block.x, np.ndarray):
        return np.asarray(block.x[rows].toarray())
    if not block.x.flags.c_contiguous:
        return np.ascontiguousarray(block.x[rows])
    z = scratch((len(rows), block.x.shape[1]), "C")
    return np.take(block.x, rows, axis=0, out=z, mode="clip")


# -------------------------------------------------------------------------------------------------
# First and second moments of a block by class, each about its own shift, in compiled loops.


#: Rows per call.
CHUNK_ROWS = 4096
#: Rows of a class whose mean is its provisional center.
CENTER_ROWS = 16


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


def class_sums(x: Floats, codes: Ints, w: Floats | None, k: int, *, pooled: bool) -> ClassSums:
    """Sums over rows with positive weights and class ``codes``, on threads."""
    from separatrix.statistics.loops import add_rows, flush_buffers

    d, shift = x.shape[1], provisional_centers(x, codes, k)
    width, n_buffers = -(-d // 4) * 4, 1 if pooled else k
    # Values in all buffers together.
    # Rows of a buffer at most, in an odd number of cache lines: adjacent columns of a buffer then
    # never map to the same cache set.
    lines = int(np.clip(1_000_000 // (n_buffers * width * 8), 1, 136 // 8))

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
    sums = parallel_map(add_up, pieces(len(x), max(CHUNK_ROWS, most_sums)))
    lower = np.tril(_total(gram for _, gram in sums)[:, :d, :d])
    first = _total(first for first, _ in sums)
    return ClassSums(shift, first, lower + np.tril(lower, -1).swapaxes(1, 2))


def column_sums(x: Floats, codes: Ints, w: Floats | None, k: int) -> ClassSums:
    """The same with the diagonals of the Gram matrices only; a NaN makes its sums NaN."""
    from separatrix.statistics.loops import add_squares

    shift = provisional_centers(x, codes, k)

    def add_up(part: slice) -> tuple[Floats, Floats, Floats, Floats]:
        first, second = np.zeros_like(shift), np.zeros_like(shift)
        extremes = []
        for rows, here, weights in _chunks(x, codes, w, part):
            add_squares(rows, here, weights, shift, first, second)
            extremes.append(column_extremes(rows))
        low, high = zip(*extremes, strict=True)
        return first, second, np.min(low, axis=0), np.max(high, axis=0)

    sums = parallel_map(add_up, pieces(len(x), max(CHUNK_ROWS, k)))
    first, second, low, high = zip(*sums, strict=True)
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
    return reduce(lambda total, part: np.add(total, part, out=total), found)


def sorted_sums(x: Floats, codes: Ints, w: Floats | None, k: int, *, pooled: bool) -> ClassSums:
    """Pooled sums, or the diagonals, of few rows in many classes: put in order, all at once."""
    shift = provisional_centers(x, codes, k)
    order = moments.counting_argsort(codes)
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
    # Rows from which provisional centers are taken if all classes are among them.
    sample = codes[: min(2048, 2 * CENTER_ROWS * k)]
    counts = np.bincount(sample, minlength=k)
    if not counts.all():
        everywhere = np.bincount(codes, minlength=k)
        if (everywhere[counts == 0] > 0).any():
            sample, counts = codes, everywhere
    present = counts > 0
    order = moments.counting_argsort(sample)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(sample)) - np.repeat(starts, counts)
    rows, sizes = order[rank < CENTER_ROWS], np.minimum(counts, CENTER_ROWS)[present]
    centers = np.zeros((k, x.shape[1]))
    if len(rows):
        sums = np.add.reduceat(x[rows], np.cumsum(sizes) - sizes, axis=0)
        centers[present] = sums / sizes[:, None]
    centers[~np.isfinite(centers)] = 0.0
    return centers


# -------------------------------------------------------------------------------------------------
# Scatter of many columns by class, in tiles of the symmetric half on threads.
#
#     S = Σ w (x − sₖ)(x − sₖ)ᵀ        for all classes together, or for each
#
# Slabs of rows are centered and multiplied tile by tile. Every tile is summed by one thread, slab
# after slab: the sums are the same bits on any number of threads.


def tiled_sums(x: Floats, codes: Ints, w: Floats | None, k: int, *, pooled: bool) -> ClassSums:
    """Sums over rows with positive weights and class ``codes``, for many columns."""
    n, d = x.shape
    shift = provisional_centers(x, codes, k)
    first = np.zeros((k, d))
    gram = np.zeros((1 if pooled else k, d, d))
    weights = np.empty(0) if w is None else np.ascontiguousarray(w)
    order = np.arange(n) if pooled else moments.counting_argsort(codes)
    # Blocks of columns at most: their pairs are the tiles.
    blocks = pieces(d, 96, 12)  # columns of a tile at least
    tiles = [(a, b) for i, a in enumerate(blocks) for b in blocks[: i + 1]]
    slab_rows = 4096  # rows of a slab
    z = np.empty((min(slab_rows, n), d))
    for start in range(0, n, slab_rows):
        rows = order[start : start + slab_rows]
        _center(np.asarray(x), rows, codes, weights, shift, first, z)
        runs = [(0, 0, len(rows))] if pooled else list(_runs(codes[rows]))

        def add(tile: tuple[slice, slice], runs: list[tuple[int, int, int]] = runs) -> None:
            a, b = tile
            for c, low, high in runs:
                gram[c, a, b] += z[low:high, a].T @ z[low:high, b]

        parallel_map(add, tiles)
    for a, b in tiles:
        if a is not b:
            gram[:, b, a] = gram[:, a, b].swapaxes(1, 2)
    return ClassSums(shift, first, gram)


def _center(
    x: Floats, rows: Ints, codes: Ints, w: Floats, shift: Floats, first: Floats, z: Floats
) -> None:
    """Fill a slab with centered rows, and add their sums by class, piece after piece."""
    from separatrix.statistics.loops import shift_rows

    def one(part: slice) -> Floats:
        sums = np.zeros_like(first)
        shift_rows(x, rows[part], codes, w, shift, sums, z[part])
        return sums

    for sums in parallel_map(one, pieces(len(rows), max(64, 4 * len(first)))):
        first += sums


def _runs(codes: Ints) -> Iterator[tuple[int, int, int]]:
    """Class, start and stop of every run of equal codes."""
    cuts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for low, high in pairwise(cuts):
        yield int(codes[low]), low, high
