"""Kernel values between two sets of items, and sums of their derivatives, tile by tile.

g_k = Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ)/∂θ_k    for every entry of θ at once, from one evaluation of every tile

An objective of kernel values (an evidence, a bound) needs no more of the derivatives than these
sums. A product hands the values of its other factors down as part of q, a sum hands down q itself:
what is in memory at a time is a few tiles, whatever the expression and however many
hyperparameters it has. Everything is in double precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.kernels.base import Array, Items, join_items, mirror_lower, n_items
from separatrix.kernels.parameters.hyperparameters import Floats
from separatrix.kernels.tiles import SIDE, copy_to, lower_tiles, tiles
from separatrix.threads import parallel_map

if TYPE_CHECKING:
    from separatrix.kernels.algebra import Composite
    from separatrix.kernels.base import Kernel


class PairTile(ABC):
    """A tile of kernel values that remembers what its derivatives need."""

    #: κ of every pair of the tile; (1, 1) if all are the same.
    values: Floats

    @abstractmethod
    def sums(self, q: Floats) -> Floats:
        """Σ q ∂κ/∂θ over the tile, for every entry of θ."""

    def chained_sums(self, q: Floats, by: Any) -> Floats:
        """Σ q b ∂κ/∂θ; b is None for one, a number, or an array."""
        if by is None:
            return self.sums(q)
        if np.size(by) == 1:
            return self.sums(q) * float(np.ravel(by)[0])
        return self.sums(q * by)

    @abstractmethod
    def products(self, right: Floats, by: Any) -> Floats:
        """Σⱼ b ∂κ/∂θ rⱼ over the columns of the tile: (rows, entries of θ, columns of r)."""


class KernelPairs(ABC):
    """A kernel between two fixed sets of items; ``gram`` says that they are the same."""

    def __init__(self, n: int, m: int, *, gram: bool) -> None:
        self.shape, self.gram = (n, m), gram

    @abstractmethod
    def tile(self, rows: slice, columns: slice) -> PairTile:
        """Kernel values of a tile, ready for derivatives."""

    def values(self, rows: slice, columns: slice) -> Floats:
        """Kernel values of a tile alone, in an array of its own; (1, 1) if all are the same."""
        return self.tile(rows, columns).values

    def start(self, *, derivatives: bool) -> None:
        """Compute what tiles have in common, before threads ask for them."""
        del derivatives


class WholePairs(KernelPairs):
    """Values and derivatives that are computed for all pairs at once, as those of structures."""

    def __init__(self, kernel: Kernel, x: Items, z: Items | None) -> None:
        z = None if z is x else z
        super().__init__(n_items(x), n_items(x if z is None else z), gram=z is None)
        self.kernel, self.x, self.z = kernel, x, z
        self._values: Floats | None = None
        self._derivatives: list[Floats] | None = None

    def _computed(self) -> Floats:
        if self._values is None:
            if self.z is None:
                found = self.kernel.prepare(self.x).gram()
            else:
                found = self.kernel.prepare(self.z).rows(self.x)
            self._values = np.asarray(found, dtype=float)
        return self._values

    def _differentiated(self) -> list[Floats]:
        if self._derivatives is None:
            n = self.shape[0]
            if self.z is None:
                found = self.kernel._derivatives(self.x)
            elif self.kernel._continuous():
                both = self.kernel._derivatives(join_items(self.x, self.z))
                found = [one[:n, n:] for one in both]
            else:
                found = []
            factors = self.kernel._theta_factors()
            self._derivatives = [f * d for f, d in zip(factors, found, strict=True)]
        return self._derivatives

    def start(self, *, derivatives: bool) -> None:
        """Compute everything now, before threads ask for it."""
        self._computed()
        if derivatives:
            self._differentiated()

    def values(self, rows: slice, columns: slice) -> Floats:
        """A copy of the values."""
        return self._computed()[rows, columns].copy()

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """A copy of the values, and the derivatives."""
        derivatives = [one[rows, columns] for one in self._differentiated()]
        return GivenTile(self.values(rows, columns), derivatives)


class GivenTile(PairTile):
    """A tile whose derivatives are at hand, one tile for each entry of θ."""

    def __init__(self, values: Floats, derivatives: list[Floats]) -> None:
        self.values, self.derivatives = values, derivatives

    def sums(self, q: Floats) -> Floats:
        """Σ q ∂κ/∂θ."""
        return np.array([weighted_sum(q, one) for one in self.derivatives], dtype=float)

    def products(self, right: Floats, by: Any) -> Floats:
        """Products with every derivative."""
        return stacked_products(self.derivatives, right, by)


def weighted_sum(q: Floats, values: Floats) -> float:
    """Σ q v over a tile, of which (1, 1) stands for equal values."""
    return float(np.vdot(q, values) if values.shape == q.shape else values[0, 0] * q.sum())


def stacked_products(derivatives: Sequence[Floats], right: Floats, by: Any) -> Floats:
    """Σⱼ b d rⱼ of several arrays d, of which (1, 1) stands for equal values."""
    found = [_product(one if by is None else one * by, right) for one in derivatives]
    rows = max((len(one) for one in found), default=1)
    stacked = np.empty((rows, len(found), right.shape[1]))
    for i, one in enumerate(found):
        stacked[:, i] = one
    return stacked


def _product(values: Floats, right: Floats) -> Floats:
    equal = values.shape[1] != len(right)
    return np.asarray(values * right.sum(axis=0) if equal else values @ right)


class CompositePairs(KernelPairs):
    """The operands of a composite kernel, combined entry by entry while a tile is in the cache."""

    def __init__(self, kernel: Composite, operands: list[KernelPairs]) -> None:
        super().__init__(*operands[0].shape, gram=operands[0].gram)
        self.kernel, self.operands = kernel, operands

    def start(self, *, derivatives: bool) -> None:
        """Start all operands."""
        for operand in self.operands:
            operand.start(derivatives=derivatives)

    def values(self, rows: slice, columns: slice) -> Floats:
        """Combined values of the operands."""
        return self.kernel._combine([one.values(rows, columns) for one in self.operands])

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """Combined tiles of the operands."""
        return CompositeTile(self.kernel, [one.tile(rows, columns) for one in self.operands])


class TileValues(Sequence[Floats]):
    """Values of several tiles, computed where they are needed: a sum needs none."""

    def __init__(self, tiles: list[PairTile]) -> None:
        self.tiles = tiles

    def __len__(self) -> int:
        return len(self.tiles)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [one.values for one in self.tiles[at]]
        return self.tiles[at].values


class CompositeTile(PairTile):
    """Tiles of the operands: each sums its derivatives with q times ∂κ/∂(its values)."""

    def __init__(self, kernel: Composite, operands: list[PairTile]) -> None:
        self.kernel, self.operands = kernel, operands

    @cached_property
    def values(self) -> Floats:  # type: ignore[override]
        """Combined values, where somebody needs them."""
        return self.kernel._combine([one.values.copy() for one in self.operands])

    def sums(self, q: Floats) -> Floats:
        """The chain rule."""
        entries = TileValues(self.operands)
        partials = self.kernel._partials(entries)
        own = [weighted_sum(q, one) for one in self.kernel._own_derivatives(entries)]
        own = [f * one for f, one in zip(self.kernel._own_factors(), own, strict=True)]
        operands = zip(self.operands, partials, strict=True)
        return np.concatenate([own, *(one.chained_sums(q, by) for one, by in operands)])

    def products(self, right: Floats, by: Any) -> Floats:
        """The chain rule."""
        entries = TileValues(self.operands)
        own = [
            f * one
            for f, one in zip(
                self.kernel._own_factors(), self.kernel._own_derivatives(entries), strict=True
            )
        ]
        found = [stacked_products(own, right, by)] if own else []
        for one, partial in zip(self.operands, self.kernel._partials(entries), strict=True):
            both = partial if by is None else by if partial is None else by * partial
            found.append(one.products(right, both))
        rows = max(len(one) for one in found)
        return np.concatenate(
            [np.broadcast_to(one, (rows, *one.shape[1:])) for one in found], axis=1
        )


def gradient_sums(pairs: KernelPairs, q: Array) -> Floats:
    """Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ)/∂θ; of a Gram matrix only the lower triangle of q is read.

    Tiles are summed in their order, so the bits are the same on any number of threads.
    """
    pairs.start(derivatives=True)
    n, m = pairs.shape

    def one(at: tuple[slice, slice]) -> Floats:
        rows, columns = at
        part = np.ascontiguousarray(q[rows, columns], dtype=float)
        if pairs.gram and rows == columns:
            below = np.tril(part, -1)
            part = below + below.T
            np.fill_diagonal(part, np.diagonal(q)[rows])
        sums = pairs.tile(rows, columns).sums(part)
        return 2.0 * sums if pairs.gram and rows != columns else sums

    todo = lower_tiles(n) if pairs.gram else tiles(n, m)
    found = parallel_map(one, todo)
    return np.asarray(sum(found[1:], start=found[0])) if found else np.zeros(0)


def derivative_products(pairs: KernelPairs, right: Array) -> Floats:
    """Σⱼ ∂κ(xᵢ, zⱼ)/∂θ rⱼ for every row, entry of θ and column of ``right``: (n, p, k).

    No matrix of derivatives is stored; a strip of rows is summed by one thread, in order.
    """
    pairs.start(derivatives=True)
    n, m = pairs.shape

    def strip(rows: slice) -> Floats:
        found: Any = 0.0
        for left in range(0, m, SIDE):
            columns = slice(left, min(left + SIDE, m))
            found = found + pairs.tile(rows, columns).products(right[columns], None)
        return np.asarray(np.broadcast_to(found, (rows.stop - rows.start, *found.shape[1:])))

    strips = [slice(top, min(top + SIDE, n)) for top in range(0, n, SIDE)]
    return np.concatenate(parallel_map(strip, strips))


def pair_values(pairs: KernelPairs, out: Array | None = None) -> Array:
    """The matrix κ(xᵢ, zⱼ), tile by tile; a Gram matrix is exactly symmetric."""
    pairs.start(derivatives=False)
    block: Any = np.empty(pairs.shape) if out is None else out

    def fill(at: tuple[slice, slice]) -> None:
        rows, columns = at
        tile = pairs.values(rows, columns)
        if pairs.gram and rows == columns and tile.shape != (1, 1):
            mirror_lower(tile, np.diagonal(tile).copy())
        elif pairs.gram:
            block[columns, rows] = tile.T
        block[rows, columns] = tile

    n, m = pairs.shape
    parallel_map(fill, lower_tiles(n) if pairs.gram else tiles(n, m))
    return copy_to(block, out)
