"""Kernels of rows of numbers that depend on the inner product x·z alone.

Linear        x·z
Polynomial    (s x·z + c)^p
Sigmoid       tanh(s x·z + c)          not Mercer
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial

import numpy as np

from separatrix.kernels.base import Array, Items, Kernel, hyper
from separatrix.kernels.tiles import Products, lengths, matrix, rows_alike
from separatrix.messages import InputError


class InnerProductKernel(Kernel):
    """κ(x, z) = f(x·z): a matrix product, then a function of every entry."""

    def prepare(self, z: Items) -> Products:
        """Centers, multiplied by blocks of rows."""
        return Products(self, matrix(z), self._entries)

    def diagonal(self, x: Items) -> Array:
        """f(‖x‖²)."""
        square = lengths(matrix(x))
        self._entries(square)
        return square

    def _entries(self, product: Array) -> None:
        """f, in place."""

    def _products(self, x: Items) -> Array:
        """The inner products of all pairs of rows."""
        return Linear().gram(x)


@dataclass(frozen=True)
class Linear(InnerProductKernel):
    """κ(x, z) = x·z, with φ(x) = x."""

    def feature_map(self, x: Items) -> Array:
        """φ(x) = x."""
        return np.asarray(matrix(x))

    def prepare(self, z: Items) -> LinearRows:
        """Centers whose weighted sums are one vector."""
        return LinearRows(self, matrix(z), self._entries)

    def squared_distance(self, x: Items, z: Items | None = None) -> Array:
        """‖x − z‖² from the differences themselves: no digits are lost to an offset."""
        from scipy.spatial.distance import cdist  # slow to import

        x, z = rows_alike(x, x if z is None else z)
        if isinstance(x, np.ndarray):
            return np.asarray(cdist(x, z, "sqeuclidean").astype(x.dtype, copy=False))
        return super().squared_distance(x, z)


class LinearRows(Products):
    """Inner products with the centers."""

    def times(self, x: Items, weights: Array) -> Array:
        """x·(Σⱼ wⱼ zⱼ): a hyperplane."""
        x, z = rows_alike(x, self.centers)
        return np.asarray(x @ (z.T @ weights), dtype=float)


@dataclass(frozen=True)
class Polynomial(InnerProductKernel):
    """κ(x, z) = (s x·z + c)^p, with s the ``scale``, c the ``constant`` and p the ``degree``.

    φ(x) holds every product of p of the coordinates, and with c > 0 every product of fewer, too.
    The degree is a whole number: a broken power of an inner product is not Mercer in general.
    Nor is a polynomial with c < 0 or s < 0.
    """

    degree: int = hyper(2, 1, 10, smooth=False)
    constant: float = hyper(1.0, 1e-5, 1e5)
    scale: float = hyper(1.0, 1e-5, 1e5)

    def __post_init__(self) -> None:
        if self.degree != int(self.degree) or self.degree < 1:
            raise InputError(
                f"The degree of a polynomial kernel is {self.degree!r}.",
                remedy="It is a whole number, 1 or more.",
            )
        object.__setattr__(self, "degree", int(self.degree))

    @property
    def mercer(self) -> bool:
        """A polynomial whose coefficients are not negative is; others need not be."""
        return self.constant >= 0.0 and self.scale >= 0.0

    def _entries(self, product: Array) -> None:
        product *= self.scale
        product += self.constant
        if self.degree == 2:
            product *= product
        elif self.degree > 2:
            np.copyto(product, _power(product, self.degree))

    def _slopes(self, x: Items) -> list[Array]:
        product = self._products(x)
        inner = self.degree * _power(self.scale * product + self.constant, self.degree - 1)
        return [inner, inner * product]

    def feature_map(self, x: Items) -> Array:
        """φ(x) with φ(x)·φ(z) = κ(x, z): one column for every product of at most p coordinates.

        For p = 2 in the plane: (x₁², x₂², √2 x₁x₂), followed for c = 1 by (√2 x₁, √2 x₂, 1). A
        product with exponents e₀ (of the constant), e₁, …, e_d is weighed by √(p!/(e₀! e₁! …)).
        """
        if not self.mercer:
            raise InputError(
                f"{self} has no feature map.",
                remedy="The constant and the scale of a polynomial must not be negative.",
            )
        x = np.asarray(matrix(x))
        columns = []
        for size in range(self.degree, -1 if self.constant > 0.0 else self.degree - 1, -1):
            for chosen in _powers_first(x.shape[1], size):
                spare = self.degree - size
                ways = factorial(self.degree) / factorial(spare)
                for column in set(chosen):
                    ways /= factorial(chosen.count(column))
                weight = np.sqrt(ways * self.constant**spare * self.scale**size)
                columns.append(weight * x[:, list(chosen)].prod(axis=1))
        return np.column_stack(columns).astype(x.dtype)


@dataclass(frozen=True)
class Sigmoid(InnerProductKernel):
    """κ(x, z) = tanh(s x·z + c). Indefinite: no map φ stands behind it, whatever s and c.

    Methods that need a Mercer kernel warn when the Gram matrix at hand shows it.
    """

    scale: float = hyper(1.0, 1e-5, 1e5)
    constant: float = hyper(0.0, -1e5, 1e5)

    @property
    def mercer(self) -> bool:
        """Never."""
        return False

    def _entries(self, product: Array) -> None:
        product *= self.scale
        product += self.constant
        np.tanh(product, out=product)

    def _slopes(self, x: Items) -> list[Array]:
        product = self._products(x)
        steepness = 1.0 - np.tanh(self.scale * product + self.constant) ** 2
        return [steepness * product, steepness]


def _power(base: Array, degree: int) -> Array:
    """base^degree by repeated squaring: exact signs, and much faster than a general power."""
    result = np.ones_like(base)
    while degree:
        if degree & 1:
            result *= base
        degree >>= 1
        if degree:
            base = base * base
    return result


def _powers_first(d: int, size: int) -> list[tuple[int, ...]]:
    """Which coordinates to multiply: pure powers first, then mixed products."""
    every = combinations_with_replacement(range(d), size)
    return sorted(every, key=lambda chosen: len(set(chosen)))
