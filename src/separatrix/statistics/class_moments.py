"""Weighted means by class and scatter within classes: sufficient statistics of Gaussian classes.

    μₖ = Σ w x / Σ w,    Sₖ = Σ w (x − μₖ)(x − μₖ)ᵀ        over the rows of class k

``structure`` is the part of the scatter that is stored: ``"full"`` all Sₖ (K x d x d),
``"pooled"`` their sum (d x d), ``"diagonal"`` their diagonals (K x d). The class of a row is its
``block.parts``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.buffers import scratch
from separatrix.rows.schema import Terms
from separatrix.statistics.class_sums import (
    class_sums,
    column_sums,
    sorted_sums,
    use_compiled,
    use_order,
    use_tiles,
)
from separatrix.statistics.class_tiles import tiled_sums
from separatrix.statistics.grouped import counting_argsort
from separatrix.statistics.moments import Moments, not_finite, too_large

#: Numbers of a statistic beyond which it is refused: 8 GB.
MAX_NUMBERS = 1 << 30
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
        if math.prod(shape) > MAX_NUMBERS:
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
    def from_moments(cls, structure: str, parts: Sequence[Moments]) -> Self:
        """From the moments of each class."""
        scatter = np.array([np.diag(p.xx) if structure == "diagonal" else p.xx for p in parts])
        return cls(
            structure,
            np.array([part.count for part in parts], dtype=np.int64),
            np.array([part.weight for part in parts], dtype=float),
            np.array([part.x_mean for part in parts]),
            scatter.sum(axis=0) if structure == "pooled" else scatter,
        )

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
                use_compiled(block.x)
                or use_order(block.x, len(self.weight), self.structure)
                or (use_tiles(block.x) and self.structure != "diagonal")
            ):
                added._from_loops(block, codes)
            else:
                added._by_class(block, codes)
        if not np.isfinite(added.scatter).all():
            sums = added.scatter if self.structure == "pooled" else added.scatter.sum(axis=0)
            raise too_large(block, sums if sums.ndim == 2 else np.diag(sums))
        self.__dict__.update((self + added if self.count.any() else added).__dict__)

    def _from_loops(self, block: Block, codes: Ints) -> None:
        """All classes in one pass."""
        assert isinstance(block.x, np.ndarray)
        if use_order(block.x, len(self.weight), self.structure):
            sums = sorted_sums(
                block.x, codes, block.w, len(self.weight), pooled=self.structure == "pooled"
            )
        elif self.structure == "diagonal":
            sums = column_sums(block.x, codes, block.w, len(self.weight))
        else:
            add_up = tiled_sums if use_tiles(block.x) else class_sums
            sums = add_up(
                block.x, codes, block.w, len(self.weight), pooled=self.structure == "pooled"
            )
        if not np.isfinite(sums.first).all():
            raise not_finite(block, sums.first.sum(axis=0))
        step = sums.first / np.where(self.weight > 0, self.weight, 1.0)[:, None]
        self.mean, self.extremes = sums.shift + step, sums.extremes
        gram = sums.gram[0] if self.structure == "pooled" else sums.gram
        self.scatter = gram - _SCATTER[self.structure](self.weight, step)

    def _by_class(self, block: Block, codes: Ints) -> None:
        """One class after another, by BLAS."""
        order = counting_argsort(codes)
        ends = np.cumsum(self.count)
        for k in np.flatnonzero(self.count):
            self._one_class(int(k), block, order[ends[k] - self.count[k] : ends[k]])

    def _one_class(self, k: int, block: Block, rows: Ints) -> None:
        """Rows of one class, in cache-sized chunks about a provisional center."""
        n, d = len(rows), self.mean.shape[1]
        chunk = int(np.clip(100_000 // max(d, 1), 64, 8192))
        shift = _gather(block, rows[:64]).mean(axis=0)
        shift[~np.isfinite(shift)] = 0.0
        total, weight, weights = np.zeros(d), self.weight[k], block.weights
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
            raise not_finite(block, total)
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

    def expand_classes(self, k: int, at: Ints) -> Self:
        """The statistic for ``k`` classes, of which those known here have the positions ``at``."""
        wide = type(self).empty(self.structure, k, self.mean.shape[1])
        wide.count[at], wide.weight[at], wide.mean[at] = self.count, self.weight, self.mean
        if self.structure == "pooled":
            wide.scatter = self.scatter
        else:
            wide.scatter[at] = self.scatter
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

    def joint(self, terms: Terms, targets: Terms) -> Moments:
        """Moments of all rows, with one indicator per class as targets."""
        d, k = self.mean.shape[1], len(self.weight)
        total = float(self.weight.sum())
        cross = self.weight[:, None] * (self.mean - self.grand_mean)
        scatter = np.empty((d + k, d + k))
        scatter[:d, :d] = total * (self.within + self.between)
        scatter[d:, :d], scatter[:d, d:] = cross, cross.T
        scatter[d:, d:] = np.diag(self.weight) - np.outer(self.weight, self.weight / total)
        mean = np.concatenate([self.grand_mean, self.weight / total])
        return Moments(terms, targets, int(self.count.sum()), total, mean, scatter)

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
