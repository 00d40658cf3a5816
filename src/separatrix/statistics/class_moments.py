"""Weighted means by class, and the scatter within classes: all that Gaussian class models need.

    μₖ = Σ w x / Σ w,    Sₖ = Σ w (x − μₖ)(x − μₖ)ᵀ        over the rows of class k

``spread`` says how much of the scatter is kept: ``"each"`` all Sₖ (K x d x d), ``"pooled"`` their
sum (d x d), ``"columns"`` their diagonals (K x d). Rows carry their class as ``block.parts``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Block, Floats
from separatrix.rows.buffers import scratch
from separatrix.rows.schema import Terms
from separatrix.statistics.class_sums import class_sums, column_sums, suits
from separatrix.statistics.moments import Moments, not_finite, too_large

#: For steps δ (K x d) with weights c (K): the scatter Σ c δδᵀ, as much of it as is kept.
_STEP: dict[str, Callable[[Floats, Floats], Floats]] = {
    "each": lambda c, step: (c[:, None] * step)[:, :, None] * step[:, None, :],
    "pooled": lambda c, step: (c[:, None] * step).T @ step,
    "columns": lambda c, step: c[:, None] * step**2,
}


class ClassMoments:
    """``count``, ``weight`` (K), ``mean`` (K x d) and ``scatter`` of the rows of each class."""

    def __init__(
        self,
        spread: str,
        count: NDArray[np.int64],
        weight: Floats,
        mean: Floats,
        scatter: Floats,
    ) -> None:
        self.spread = spread
        self.count, self.weight, self.mean, self.scatter = count, weight, mean, scatter

    @classmethod
    def empty(cls, spread: str, k: int, d: int) -> Self:
        """Of no rows yet, for ``k`` classes and ``d`` columns."""
        shape = {"each": (k, d, d), "pooled": (d, d), "columns": (k, d)}[spread]
        count = np.zeros(k, dtype=np.int64)
        return cls(spread, count, np.zeros(k), np.zeros((k, d)), np.zeros(shape))

    @classmethod
    def stacked(cls, spread: str, parts: Sequence[Moments]) -> Self:
        """From moments of the features, class by class."""
        kept = np.array([np.diag(p.xx) if spread == "columns" else p.xx for p in parts])
        return cls(
            spread,
            np.array([part.count for part in parts], dtype=np.int64),
            np.array([part.weight for part in parts], dtype=float),
            np.array([part.x_mean for part in parts]),
            kept.sum(axis=0) if spread == "pooled" else kept,
        )

    # -- a pass over the rows ------------------------------------------------------------------

    def fresh(self) -> Self:
        """An empty one for the same classes."""
        return type(self).empty(self.spread, *self.mean.shape)

    def update(self, block: Block) -> None:
        """Take in the rows of a block, class by class."""
        if block.w is not None and not block.w.all():  # a row of weight zero is a row removed
            block = block.take(np.flatnonzero(block.w))
        codes = block.parts
        assert codes is not None, "the rows carry no classes"
        seen = self.fresh()
        seen.count = np.bincount(codes, minlength=len(self.weight))
        seen.weight = np.bincount(codes, block.w, len(self.weight)).astype(float)
        with np.errstate(over="ignore", invalid="ignore"):
            if suits(block.x):
                seen._sweep(block, codes)
            else:
                seen._take_each(block, codes)
        if not np.isfinite(seen.scatter).all():
            sums = seen.scatter if self.spread == "pooled" else seen.scatter.sum(axis=0)
            raise too_large(block, sums if sums.ndim == 2 else np.diag(sums))
        self.__dict__.update((self + seen if self.count.any() else seen).__dict__)

    def _sweep(self, block: Block, codes: NDArray[np.int64]) -> None:
        """All classes in one compiled sweep."""
        assert isinstance(block.x, np.ndarray)
        if self.spread == "columns":
            sums = column_sums(block.x, codes, block.w, len(self.weight))
        else:
            sums = class_sums(
                block.x, codes, block.w, len(self.weight), pooled=self.spread == "pooled"
            )
        if not np.isfinite(sums.first).all():
            raise not_finite(block, sums.first.sum(axis=0))
        step = sums.first / np.where(self.weight > 0, self.weight, 1.0)[:, None]
        self.mean = sums.shift + step
        gram = sums.gram[0] if self.spread == "pooled" else sums.gram
        self.scatter = gram - _STEP[self.spread](self.weight, step)

    def _take_each(self, block: Block, codes: NDArray[np.int64]) -> None:
        """One class after the other."""
        small = codes.astype(np.uint8) if len(self.weight) <= 256 else codes
        order = np.argsort(small, kind="stable")  # one byte sorts by counting
        ends = np.cumsum(self.count)
        for k in np.flatnonzero(self.count):
            self._take_class(int(k), block, order[ends[k] - self.count[k] : ends[k]])

    def _take_class(self, k: int, block: Block, rows: NDArray[np.int64]) -> None:
        """Rows of one class, in cache-sized chunks about a provisional centre."""
        n, d = len(rows), self.mean.shape[1]
        chunk = int(np.clip(100_000 // max(d, 1), 64, 8192))
        shift = _gathered(block, rows[:64]).mean(axis=0)
        shift[~np.isfinite(shift)] = 0.0
        total, weight = np.zeros(d), self.weight[k]
        scatter = np.zeros(d if self.spread == "columns" else (d, d))
        for start in range(0, n, chunk):
            here = rows[start : start + chunk]
            z = _gathered(block, here)
            z -= shift
            w = np.ones(len(here)) if block.w is None else block.w[here]
            total += w @ z
            if self.spread == "columns":
                z *= z
                scatter += w @ z
                continue
            if block.w is not None:
                z *= np.sqrt(w)[:, None]
            scatter += z.T @ z
        if not np.isfinite(total).all():
            raise not_finite(block, total)
        total /= weight
        scatter -= weight * (total**2 if self.spread == "columns" else np.outer(total, total))
        self.mean[k] = shift + total
        if self.spread == "pooled":
            self.scatter += scatter
        else:
            self.scatter[k] = scatter

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        step = other.mean - self.mean
        return type(self)(
            self.spread,
            self.count + other.count,
            weight,
            self.mean + step * share[:, None],
            self.scatter + other.scatter + _STEP[self.spread](self.weight * share, step),
        )

    def spread_over(self, k: int, at: NDArray[np.int64]) -> Self:
        """For ``k`` classes, of which those known here stand at the positions ``at``."""
        wide = type(self).empty(self.spread, k, self.mean.shape[1])
        wide.count[at], wide.weight[at], wide.mean[at] = self.count, self.weight, self.mean
        if self.spread == "pooled":
            wide.scatter = self.scatter
        else:
            wide.scatter[at] = self.scatter
        return wide

    def chosen(self, classes: slice) -> Self:
        """Some of the classes alone."""
        assert self.spread != "pooled", "what was pooled cannot be taken apart"
        return type(self)(
            self.spread,
            self.count[classes],
            self.weight[classes],
            self.mean[classes],
            self.scatter[classes],
        )

    # -- finished numbers ----------------------------------------------------------------------

    @property
    def centre(self) -> Floats:
        """The mean of all rows."""
        return np.asarray(self.weight @ self.mean / self.weight.sum())

    @property
    def within(self) -> Floats:
        """Σ Sₖ / Σ w: the pooled covariance (its diagonal, where only columns are kept)."""
        pooled = self.scatter if self.spread == "pooled" else self.scatter.sum(axis=0)
        return np.asarray(pooled / self.weight.sum())

    @property
    def between(self) -> Floats:
        """The covariance of the class means, weighted (its diagonal, where columns are kept)."""
        kind = "columns" if self.spread == "columns" else "pooled"
        share = self.weight / self.weight.sum()
        steps = _STEP[kind](share, self.mean - self.centre)
        return np.asarray(steps.sum(axis=0) if kind == "columns" else steps)

    def joint(self, terms: Terms, targets: Terms) -> Moments:
        """Moments of all rows with one indicator per class as targets."""
        d, k = self.mean.shape[1], len(self.weight)
        total = float(self.weight.sum())
        away = self.weight[:, None] * (self.mean - self.centre)
        scatter = np.empty((d + k, d + k))
        scatter[:d, :d] = total * (self.within + self.between)
        scatter[d:, :d], scatter[:d, d:] = away, away.T
        scatter[d:, d:] = np.diag(self.weight) - np.outer(self.weight, self.weight / total)
        mean = np.concatenate([self.centre, self.weight / total])
        return Moments(terms, targets, int(self.count.sum()), total, mean, scatter)

    @property
    def covariances(self) -> Floats:
        """Sₖ / Wₖ: the maximum-likelihood covariance (or variances) of each class; 0 if unseen."""
        weight = np.where(self.weight > 0, self.weight, 1.0)
        return np.asarray(self.scatter / weight.reshape(-1, *[1] * (self.scatter.ndim - 1)))


def _gathered(block: Block, rows: NDArray[np.int64]) -> Floats:
    """These rows of the block as a dense array of their own."""
    if not isinstance(block.x, np.ndarray):
        return np.asarray(block.x[rows].toarray())
    if not block.x.flags.c_contiguous:
        return np.ascontiguousarray(block.x[rows])
    z = scratch((len(rows), block.x.shape[1]), "C")
    return np.take(block.x, rows, axis=0, out=z, mode="clip")
