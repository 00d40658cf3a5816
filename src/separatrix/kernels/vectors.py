"""Kernels of rows of numbers that are functions of the inner product x·z.

Linear        x·z
Polynomial    (s x·z + c)^p
Sigmoid       tanh(s x·z + c)          not Mercer
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import Any

import numpy as np

from separatrix.kernels.base import (
    Array,
    GivenTile,
    Items,
    Kernel,
    KernelPairs,
    PreparedTiles,
    as_matrix,
    check_integer,
    common_matrices,
    hyperparameter,
    product_into,
    squared_norms,
)
from separatrix.messages import InputError
from separatrix.rows.schema import n_items


class InnerProductKernel(Kernel):
    """κ(x, z) = f(x·z): a matrix product, then a function of every entry."""

    by_tiles = True

    def prepare(self, z: Items) -> PreparedInnerProducts:
        """The centers as a matrix."""
        return PreparedInnerProducts(self, as_matrix(z))

    def diagonal(self, x: Items) -> Array:
        """f(‖x‖²)."""
        square = squared_norms(as_matrix(x))
        self._apply(square)
        return square

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """Both sides as matrices."""
        return InnerProductPairs(self, x, z)

    def diagonal_derivatives(self, x: Items) -> Array:
        """Derivatives of f at ‖x‖²."""
        arrays = self._slopes(squared_norms(as_matrix(x)).astype(float))
        return np.array(arrays).reshape(-1, n_items(x)).T * self._theta_factors()

    def _apply(self, product: Array) -> None:
        """f, in place."""

    def _slopes(self, product: Array) -> list[Array]:
        """Derivatives of f by its continuous hyperparameters."""
        del product
        return []

    def _derivatives(self, x: Items) -> list[Array]:
        return self._slopes(Linear().gram(x))


class InnerProductPairs(KernelPairs):
    """Products of rows of two tables, then a function of every entry."""

    def __init__(self, kernel: InnerProductKernel, x: Items, z: Items | None) -> None:
        gram = z is None or z is x
        x, z = common_matrices(x, x if gram else z)
        super().__init__(x.shape[0], z.shape[0], gram=gram)
        self.kernel, self.x = kernel, x.astype(float, copy=False)
        self.z = self.x if gram else z.astype(float, copy=False)
        self.factors = kernel._theta_factors()

    def _products(self, rows: slice, columns: slice) -> Array:
        x, z = self.x[rows], self.z[columns]
        tile = np.empty((x.shape[0], z.shape[0]))
        product_into(x, z.T, tile)
        return tile

    def values(self, rows: slice, columns: slice) -> Array:
        """f(x·z)."""
        tile = self._products(rows, columns)
        self.kernel._apply(tile)
        return tile

    def tile(self, rows: slice, columns: slice) -> GivenTile:
        """f(x·z) and its derivatives."""
        tile = self._products(rows, columns)
        slopes = zip(self.factors, self.kernel._slopes(tile), strict=True)
        derivatives = [factor * slope for factor, slope in slopes]
        self.kernel._apply(tile)
        return GivenTile(tile, derivatives)


class PreparedInnerProducts(PreparedTiles):
    """κ(x, z) = f(x·z), with f applied in place to every tile of inner products."""

    kernel: InnerProductKernel

    def _arrays(self, x: Items) -> tuple[Any, ...]:
        return (x,)

    def _tile(self, rows: tuple[Any, ...], columns: slice, tile: Array) -> None:
        product_into(rows[0], self.centers[columns].T, tile)
        self.kernel._apply(tile)


@dataclass(frozen=True)
class Linear(InnerProductKernel):
    """Linear kernel, the inner product itself.

        κ(x, z) = x·z,    φ(x) = x

    See Also
    --------
    Polynomial : powers of the inner product.
    Gaussian : the radial basis function kernel.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Linear().gram([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    def feature_map(self, x: Items) -> Array:
        """φ(x) = x."""
        return np.asarray(as_matrix(x))

    def prepare(self, z: Items) -> PreparedLinear:
        """The centers as a matrix, whose weighted sums are single vectors."""
        return PreparedLinear(self, as_matrix(z))

    def squared_distance(self, x: Items, z: Items | None = None) -> Array:
        """‖x − z‖² from the coordinate differences, which does not cancel."""
        from scipy.spatial.distance import cdist  # slow to import

        x, z = common_matrices(x, x if z is None else z)
        if isinstance(x, np.ndarray):
            return np.asarray(cdist(x, z, "sqeuclidean").astype(x.dtype, copy=False))
        return super().squared_distance(x, z)


class PreparedLinear(PreparedInnerProducts):
    """Inner products with the centers."""

    def dot(self, x: Items, weights: Array) -> Array:
        """x·(Σⱼ wⱼ zⱼ)."""
        x, z = common_matrices(x, self.centers)
        return np.asarray(x @ (z.T @ weights), dtype=float)


@dataclass(frozen=True)
class Polynomial(InnerProductKernel):
    """Polynomial kernel.

        κ(x, z) = (s x·z + c)^p

    The features are all monomials of degree p, and with c > 0 those of lower degrees, too. With
    c < 0 or s < 0 the kernel is not Mercer in general.

    Parameters
    ----------
    degree : int, default=2
        p, a positive integer.
    constant : float, default=1.0
        c; ``coef0`` in scikit-learn.
    scale : float, default=1.0
        s; ``gamma`` in scikit-learn.

    See Also
    --------
    Linear : degree 1.
    BasisExpansion : explicit polynomial features.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> kernel = sx.Polynomial(2, constant=1.0)
    >>> kernel.gram([[2.0, 3.0]], [[-1.0, 4.0]])
    array([[121.]])
    >>> phi = kernel.feature_map([[2.0, 3.0], [-1.0, 4.0]])
    >>> round(float(phi[0] @ phi[1]), 6)
    121.0
    """

    degree: int = hyperparameter(2, 1, 10, continuous=False)
    constant: float = hyperparameter(1.0, 1e-5, 1e5)
    scale: float = hyperparameter(1.0, 1e-5, 1e5)

    def __post_init__(self) -> None:
        check_integer(self.degree, "The degree of a polynomial kernel", 1)
        object.__setattr__(self, "degree", int(self.degree))

    @property
    def mercer(self) -> bool:
        """Whether neither the constant nor the scale is negative."""
        return self.constant >= 0.0 and self.scale >= 0.0

    def _apply(self, product: Array) -> None:
        product *= self.scale
        product += self.constant
        if self.degree == 2:
            product *= product
        elif self.degree > 2:
            np.copyto(product, _power(product, self.degree))

    def _slopes(self, product: Array) -> list[Array]:
        outer = self.degree * _power(self.scale * product + self.constant, self.degree - 1)
        return [outer, outer * product]

    def feature_map(self, x: Items) -> Array:
        """φ(x) with φ(x)·φ(z) = κ(x, z): one column for every monomial of degree at most p.

        For p = 2 in the plane: (x₁², x₂², √2 x₁x₂), followed for c = 1 by (√2 x₁, √2 x₂, 1). A
        monomial with exponents e₀ (of the constant), e₁, …, e_d has the factor √(p!/(e₀! e₁! …)).
        """
        if not self.mercer:
            raise InputError(
                f"{self} has no feature map.",
                remedy="The constant and the scale of a polynomial must not be negative.",
            )
        x = np.asarray(as_matrix(x))
        self._refuse_many_monomials(*x.shape)
        columns = []
        for size in range(self.degree, -1 if self.constant > 0.0 else self.degree - 1, -1):
            for factors in _monomials(x.shape[1], size):
                rest = self.degree - size
                multinomial = factorial(self.degree) / factorial(rest)
                for column in set(factors):
                    multinomial /= factorial(factors.count(column))
                weight = np.sqrt(multinomial * self.constant**rest * self.scale**size)
                columns.append(weight * x[:, list(factors)].prod(axis=1))
        return np.column_stack(columns).astype(x.dtype)

    def _refuse_many_monomials(self, n: int, d: int) -> None:
        """Refuse a feature map that would not fit into memory, before it is begun."""
        count = comb(d + self.degree - (self.constant <= 0.0), self.degree)
        if max(n, 1) * count > 50_000_000:  # numbers that an explicit feature map may have
            raise InputError(
                f"The feature map of degree {self.degree} has {count:,} columns for {d} columns of "
                f"x: {8e-9 * n * count:,.0f} GB for {n} rows.",
                remedy="Use the kernel itself, which needs no feature map, or a lower degree.",
            )


@dataclass(frozen=True)
class Sigmoid(InnerProductKernel):
    """Sigmoid kernel, which is indefinite: no feature map exists, whatever s and c.

        κ(x, z) = tanh(s x·z + c)

    Methods that need a Mercer kernel warn (SEP007) if the Gram matrix has a negative eigenvalue.

    Parameters
    ----------
    scale : float, default=1.0
        s; ``gamma`` in scikit-learn.
    constant : float, default=0.0
        c; ``coef0`` in scikit-learn.

    See Also
    --------
    is_mercer : tests a Gram matrix for negative eigenvalues.
    Gaussian : a Mercer kernel of bounded values.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Sigmoid(0.5, -1.0).mercer
    False
    >>> sx.Sigmoid().gram([[1.0]], [[0.5]]).round(4)
    array([[0.4621]])
    """

    scale: float = hyperparameter(1.0, 1e-5, 1e5)
    constant: float = hyperparameter(0.0, -1e5, 1e5)

    @property
    def mercer(self) -> bool:
        """False."""
        return False

    def _apply(self, product: Array) -> None:
        product *= self.scale
        product += self.constant
        np.tanh(product, out=product)

    def _slopes(self, product: Array) -> list[Array]:
        outer = 1.0 - np.tanh(self.scale * product + self.constant) ** 2
        return [outer * product, outer]


def _power(base: Array, degree: int) -> Array:
    """base^degree by repeated squaring, much faster than a general power."""
    result = np.ones_like(base)
    while degree:
        if degree & 1:
            result *= base
        degree >>= 1
        if degree:
            base = base * base
    return result


def _monomials(d: int, size: int) -> list[tuple[int, ...]]:
    """The factors of all monomials of one degree: pure powers first, then mixed products."""
    monomials = combinations_with_replacement(range(d), size)
    return sorted(monomials, key=lambda factors: len(set(factors)))
