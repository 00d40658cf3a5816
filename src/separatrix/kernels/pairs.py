"""Kernels of structures that are computed pair by pair, by dynamic programming."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, mirror_lower
from separatrix.kernels.features import as_list
from separatrix.kernels.tiles import copy_to, for_each_tile
from separatrix.messages import InputError
from separatrix.rows.block import Ints

#: Step h of the complex-step derivative: f(λ + ih) = f(λ) + ih f′(λ) + … for a polynomial f. No
#: difference is taken, so h can be as small as floats allow.
IMAGINARY_STEP = 1e-30

#: Which pairs of a block to compute.
ALL, LOWER, DIAGONAL = 0, 1, 2


class Encoding:
    """Items as integer arrays; labels are numbered by ``vocabulary``.

    ``sizes`` holds the size of every item.
    """

    def __init__(self, vocabulary: dict[Any, int], arrays: tuple[Ints, ...], sizes: Ints) -> None:
        self.vocabulary, self.arrays, self.sizes = vocabulary, arrays, sizes
        self.max_size = int(sizes.max(initial=0))


class PairwiseKernel(Kernel):
    """A kernel with a ``decay`` λ whose values are polynomials in λ, computed pair by pair."""

    decay: float
    of_vectors = False

    @abstractmethod
    def encode(self, items: list[Any], vocabulary: dict[Any, int], *, extend: bool) -> Encoding:
        """Items as integer arrays; new labels extend the vocabulary, or are numbered −1."""

    @abstractmethod
    def fill(
        self, x: Encoding, z: Encoding, rows: slice, part: int, decay: complex, out: Array
    ) -> None:
        """Compute some rows of ``out``, real or complex."""

    def prepare(self, z: Items) -> PreparedPairs:
        """The centers as integer arrays."""
        return PreparedPairs(self, as_list(z))

    def diagonal(self, x: Items) -> Array:
        """Every item with itself."""
        encoding = self.encode(as_list(x), {}, extend=True)
        block = np.empty((len(encoding.sizes), 1))
        _fill_parallel(self, encoding, encoding, DIAGONAL, self.decay, block)
        return block[:, 0]

    def diagonal_derivatives(self, x: Items) -> Array:
        """By one complex step, every item with itself."""
        encoding = self.encode(as_list(x), {}, extend=True)
        block = np.empty((len(encoding.sizes), 1), dtype=np.complex128)
        _fill_parallel(self, encoding, encoding, DIAGONAL, self._shifted_decay, block)
        return self._theta_factors() * block.imag / IMAGINARY_STEP

    @property
    def _shifted_decay(self) -> complex:
        return complex(self.decay, IMAGINARY_STEP)

    def _derivatives(self, x: Items) -> list[Array]:
        shifted = self.prepare(x).gram_at(self._shifted_decay, np.complex128)
        return [shifted.imag / IMAGINARY_STEP]


class PreparedPairs(PreparedKernel):
    """The encoded centers of a pairwise kernel."""

    kernel: PairwiseKernel

    def __init__(self, kernel: PairwiseKernel, centers: list[Any]) -> None:
        super().__init__(kernel, centers)
        self._encoding = kernel.encode(centers, {}, extend=True)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Every item of x with every center."""
        new = self.kernel.encode(as_list(x), self._encoding.vocabulary, extend=False)
        block = np.empty((len(new.sizes), len(self)))
        _fill_parallel(self.kernel, new, self._encoding, ALL, self.kernel.decay, block)
        return copy_to(block, out)

    def gram(self, out: Array | None = None) -> Array:
        """The lower triangle, mirrored."""
        return copy_to(self.gram_at(self.kernel.decay, np.float64), out)

    def gram_at(self, decay: complex, dtype: Any) -> Array:
        """The Gram matrix for another, possibly complex decay."""
        block = np.zeros((len(self), len(self)), dtype=dtype)
        _fill_parallel(self.kernel, self._encoding, self._encoding, LOWER, decay, block)
        return mirror_lower(block, np.diagonal(block).copy())


def _fill_parallel(
    kernel: PairwiseKernel, x: Encoding, z: Encoding, part: int, decay: complex, block: Array
) -> None:
    """Rows in groups of about equal work, on all processors."""
    if block.size == 0:
        return
    column_work = z.sizes.max() if part == DIAGONAL else z.sizes.sum()
    work = np.cumsum(x.sizes * max(1, int(column_work)))
    groups = np.searchsorted(work, np.linspace(0, work[-1], 33)[1:-1])
    bounds = np.unique(np.concatenate([[0], groups, [len(x.sizes)]]))

    def fill(rows: slice, _: slice) -> None:
        kernel.fill(x, z, rows, part, decay, block)

    columns = slice(0, block.shape[1])
    strips = [(slice(a, b), columns) for a, b in pairwise(bounds.tolist())]
    for_each_tile(fill, strips, int(work[-1]) // block.size)


def check_decay(decay: float) -> None:
    """Refuse a decay outside (0, 1]."""
    if not 0.0 < decay <= 1.0:
        raise InputError(
            f"The decay is {decay!r}.", remedy="Take a number above 0, up to 1 (no decay)."
        )
