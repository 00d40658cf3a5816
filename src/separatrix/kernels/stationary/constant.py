"""Kernels that compare nothing: a constant, and white noise. They join kernels of any items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, n_items, take_items
from separatrix.kernels.derivatives import (
    GivenTile,
    KernelPairs,
    PairTile,
    stacked_products,
    weighted_sum,
)
from separatrix.kernels.parameters.hyperparameters import Floats, check_positive, hyperparameter
from separatrix.kernels.tiles import copy_to


@dataclass(frozen=True)
class Constant(Kernel):
    """Constant kernel: an offset that all items share, or the variance that a product has.

        κ(x, z) = c

    In a sum it adds an unknown constant of variance c to functions, as a factor it scales them.
    It joins kernels of rows of numbers as well as kernels of structures.

    Parameters
    ----------
    constant : float, default=1.0
        c, above zero.

    See Also
    --------
    White : noise, independent from row to row.
    Linear : with a constant, linear functions with an intercept.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press,
    2006.

    Examples
    --------
    >>> import separatrix as sx
    >>> (sx.Constant(2.0) * sx.Gaussian(1.0) + sx.Constant(0.5)).gram([[0.0], [1.0]]).round(3)
    array([[2.5  , 1.713],
           [1.713, 2.5  ]])
    """

    constant: float = hyperparameter(1.0, 1e-5, 1e5)
    of_anything = True
    by_tiles = True

    def __post_init__(self) -> None:
        check_positive(self.constant, "The constant of Constant")

    def prepare(self, z: Items) -> PreparedKernel:
        """Nothing to prepare."""
        return PreparedConstant(self, z)

    def diagonal(self, x: Items) -> Array:
        """c."""
        return np.full(n_items(x), self.constant, dtype=_dtype(x))

    def diagonal_derivatives(self, x: Items) -> Array:
        """∂c/∂log c = c."""
        return np.full((n_items(x), 1), self.constant)

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """c for every pair."""
        return ConstantPairs(self.constant, x, z)

    def _derivatives(self, x: Items) -> list[Array]:
        return [np.ones((n_items(x), n_items(x)))]


class PreparedConstant(PreparedKernel):
    """c for every pair."""

    kernel: Constant

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """c for every pair."""
        shape = (n_items(x), len(self))
        return copy_to(np.full(shape, self.kernel.constant, dtype=_dtype(x, self.centers)), out)


class ConstantPairs(KernelPairs):
    """c for every pair."""

    def __init__(self, constant: float, x: Items, z: Items | None) -> None:
        gram = z is None or z is x
        super().__init__(n_items(x), n_items(x if gram else z), gram=gram)
        self.constant = constant

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """c, which is its own derivative by log c."""
        del rows, columns
        return ConstantTile(self.constant)


class ConstantTile(PairTile):
    """c for every pair of a tile."""

    def __init__(self, constant: float) -> None:
        self.values = np.full((1, 1), constant)

    def sums(self, q: Floats) -> Floats:
        """c Σ q."""
        return np.array([weighted_sum(q, self.values)])

    def chained_sums(self, q: Floats, by: Any) -> Floats:
        """c Σ q b, without the products."""
        return self.sums(q) if by is None else self.values[0] * weighted_sum(q, np.atleast_2d(by))

    def products(self, right: Floats, by: Any) -> Floats:
        """c Σ b r."""
        return stacked_products([self.values], right, by)


@dataclass(frozen=True)
class White(Kernel):
    """White noise: independent from row to row.

        κ(xᵢ, xⱼ) = σ² if i = j, else 0

    It adds σ² to the diagonal of a Gram matrix, and nothing between two different sets of rows,
    even where they hold equal rows: their noise is not the same. It joins kernels of rows of
    numbers as well as kernels of structures.

    Parameters
    ----------
    variance : float, default=1.0
        σ², above zero.

    See Also
    --------
    Constant : what all rows share.
    Kernel.without_noise : an expression without its noise.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press,
    2006.

    Examples
    --------
    >>> import separatrix as sx
    >>> kernel = sx.Gaussian(1.0) + sx.White(0.1)
    >>> kernel.gram([[0.0], [1.0]]).round(3)
    array([[1.1  , 0.607],
           [0.607, 1.1  ]])
    >>> kernel.gram([[0.0], [1.0]], [[0.0]]).round(3)
    array([[1.   ],
           [0.607]])
    """

    variance: float = hyperparameter(1.0, 1e-5, 1e5)
    of_anything = True
    by_tiles = True

    def __post_init__(self) -> None:
        check_positive(self.variance, "The variance of White")

    def prepare(self, z: Items) -> PreparedKernel:
        """Nothing to prepare."""
        return PreparedNoise(self, z)

    def diagonal(self, x: Items) -> Array:
        """σ²."""
        return np.full(n_items(x), self.variance, dtype=_dtype(x))

    def diagonal_derivatives(self, x: Items) -> Array:
        """∂σ²/∂log σ² = σ²."""
        return np.full((n_items(x), 1), self.variance)

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """σ² on the diagonal of a Gram matrix."""
        return NoisePairs(self.variance, x, z)

    def _derivatives(self, x: Items) -> list[Array]:
        return [np.eye(n_items(x))]

    def _noiseless(self) -> Kernel | None:
        return None


class PreparedNoise(PreparedKernel):
    """σ² of every center with itself, zero between it and any other row."""

    kernel: White

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Zero: noise of other rows is independent."""
        return copy_to(np.zeros((n_items(x), len(self)), dtype=_dtype(x, self.centers)), out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of σ² I."""
        at = np.arange(len(self))[indices]
        block = np.zeros((len(at), len(self)), dtype=_dtype(self.centers))
        block[np.arange(len(at)), at] = self.kernel.variance
        return copy_to(block, out)

    def subset(self, indices: Any) -> PreparedKernel:
        """Some of the centers."""
        return PreparedNoise(self.kernel, take_items(self.centers, indices))


class NoisePairs(KernelPairs):
    """σ² where a row meets itself."""

    def __init__(self, variance: float, x: Items, z: Items | None) -> None:
        gram = z is None or z is x
        super().__init__(n_items(x), n_items(x if gram else z), gram=gram)
        self.variance = variance

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """The part of σ² I within the tile."""
        same = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
        if not self.gram or not len(same):
            values = np.zeros((1, 1))
        else:
            values = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
            values[same - rows.start, same - columns.start] = self.variance
        return GivenTile(values, [values])


def _dtype(*sides: Items) -> Any:
    """float32 if all sides are, else float64."""
    single = all(getattr(side, "dtype", None) == np.float32 for side in sides)
    return np.float32 if single else np.float64
