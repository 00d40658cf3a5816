"""Kernels of structures that are computed pair by pair, by dynamic programming."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, mirrored
from separatrix.kernels.features import objects
from separatrix.kernels.tiles import Tile, handed, on_tiles

#: The imaginary step of derivatives. A kernel f that is a polynomial in λ has
#: f(λ + ih) = f(λ) + ih f′(λ) + …: no difference is taken, so h can be as small as can be.
STEP = 1e-30

#: Which pairs of a block are wanted.
ALL, LOWER, DIAGONAL = 0, 1, 2


class Encoded(ABC):
    """Items as arrays of numbers; labels are numbered as the centers' dictionary says."""

    largest: int

    def __init__(self, known: dict[Any, int], arrays: tuple[NDArray[np.int64], ...]) -> None:
        self.known, self.arrays = known, arrays

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def costs(self) -> NDArray[np.int64]:
        """The size of every item."""


class PairRows(PreparedKernel):
    """Centers as arrays; every row of a block is a run of pairs."""

    def __init__(self, kernel: Kernel, centers: list[Any], encode: Any) -> None:
        super().__init__(kernel, centers)
        self._encode = encode
        self._encoded: Encoded = encode(centers, {}, learn=True)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Every item of x with every center."""
        new = self._encode(objects(x), self._encoded.known, learn=False)
        block = np.empty((len(new), len(self)))
        fill_pairs(self.kernel, new, self._encoded, block, part=ALL)
        return handed(block, out)

    def gram(self) -> Array:
        """The lower triangle, mirrored."""
        return self._square(np.float64)

    def _square(self, dtype: Any, **how: Any) -> Array:
        block = np.zeros((len(self), len(self)), dtype=dtype)
        fill_pairs(self.kernel, self._encoded, self._encoded, block, part=LOWER, **how)
        return mirrored(block, np.diagonal(block).copy())


def pairs_with_themselves(items: list[Any], encode: Any, kernel: Kernel) -> Array:
    """κ(xᵢ, xᵢ), as the one column of a block of one row each."""
    encoded = encode(items, {}, learn=True)
    block = np.empty((len(items), 1))
    fill_pairs(kernel, encoded, encoded, block, part=DIAGONAL)
    return block[:, 0]


def fill_pairs(kernel: Any, x: Encoded, z: Encoded, block: Array, **how: Any) -> None:
    """Rows in groups of about equal work, on every processor."""
    if block.size == 0:
        return
    centers = z.costs.max() if how["part"] == DIAGONAL else z.costs.sum()
    work = np.cumsum(x.costs * max(1, int(centers)))
    groups = np.searchsorted(work, np.linspace(0, work[-1], 33)[1:-1])
    bounds = np.unique(np.concatenate([[0], groups, [len(x)]]))

    def fill(rows: slice, _: slice) -> None:
        kernel._fill(x, z, rows.start, rows.stop, block, **how)

    todo: list[Tile] = [
        (slice(a, b), slice(0, block.shape[1])) for a, b in pairwise(bounds.tolist())
    ]
    on_tiles(fill, todo, int(work[-1]) // block.size)
