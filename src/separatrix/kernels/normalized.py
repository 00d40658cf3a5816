"""Cosines in feature space: a kernel divided by the lengths of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.kernels.algebra import Unary
from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, n_items, take_items
from separatrix.kernels.derivatives import KernelPairs, PairTile
from separatrix.messages import InputError


@dataclass(frozen=True)
class Normalized(Unary):
    """The cosine in feature space, κ(x, z) / √(κ(x, x) κ(z, z)).

    It is zero for items without features (φ = 0, an empty string for example), also with itself.
    """

    def __str__(self) -> str:
        return f"({self.kernel}).normalized()"

    def _applied_to(self, noiseless: Kernel | None) -> Kernel | None:
        del noiseless
        raise InputError(
            f"The noise of {self} cannot be taken out: it is part of every length.",
            remedy="Add White after .normalized().",
        )

    def prepare(self, z: Items) -> PreparedKernel:
        """The operand prepared, with 1/‖φ(z)‖."""
        return PreparedNormalized(self, z, self.kernel.prepare(z))

    def diagonal(self, x: Items) -> Array:
        """One; zero for items without features."""
        squares = self.kernel.diagonal(x)
        return (squares > 0.0).astype(squares.dtype)

    def diagonal_derivatives(self, x: Items) -> Array:
        """Zero."""
        return np.zeros((n_items(x), len(self._continuous())))

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """Those of the operand, with 1/‖φ‖ of both sides."""
        return NormalizedPairs(self.kernel, x, None if z is x else z)

    def _derivatives(self, x: Items) -> list[Array]:
        cosine, inverse = self.gram(x), _inverse_norms(self.kernel.diagonal(x))
        derivatives = []
        for derivative in self.kernel._derivatives(x):
            norms = 0.5 * np.diagonal(derivative) * inverse**2
            products = derivative * inverse[:, None] * inverse[None, :]
            derivatives.append(products - cosine * (norms[:, None] + norms[None, :]))
        return derivatives


class PreparedNormalized(PreparedKernel):
    """The prepared operand, with 1/‖φ(z)‖ of the centers."""

    def __init__(self, kernel: Kernel, centers: Items, operand: PreparedKernel) -> None:
        super().__init__(kernel, centers)
        self._operand, self._inverse = operand, _inverse_norms(operand.diagonal)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Cosines between x and the centers."""
        inverse = _inverse_norms(self._operand.kernel.diagonal(x))
        return self._divide(self._operand.rows(x, out), inverse)

    def take(self, indices: Items, out: Array | None = None) -> Array:
        """Cosines between centers."""
        return self._divide(self._operand.take(indices, out), self._inverse[indices])

    def subset(self, indices: Items) -> PreparedKernel:
        """The operand prepared for some of the centers."""
        operand, centers = self._operand.subset(indices), take_items(self.centers, indices)
        return PreparedNormalized(self.kernel, centers, operand)

    def gram(self, out: Array | None = None) -> Array:
        """All cosines among the centers, with the exact diagonal."""
        out = self._divide(self._operand.gram(out), self._inverse)
        np.fill_diagonal(out, self.diagonal)
        return out

    def _divide(self, out: Array, inverse: Array) -> Array:
        out *= inverse[:, None] * self._inverse[None, :]
        return out


class NormalizedPairs(KernelPairs):
    """Pairs of the operand κ, with 1/‖φ‖ of both sides and its derivatives.

    c = κ/(‖φ(x)‖ ‖φ(z)‖),    ∂c = ∂κ/(‖φ(x)‖ ‖φ(z)‖) − ½ c (∂κ(x,x)/κ(x,x) + ∂κ(z,z)/κ(z,z))
    """

    def __init__(self, kernel: Kernel, x: Items, z: Items | None) -> None:
        self.operand = kernel.pairs(x, z)
        super().__init__(*self.operand.shape, gram=z is None)
        sides = [x] if z is None else [x, z]
        inverse = [_inverse_norms(np.asarray(kernel.diagonal(s), dtype=float)) for s in sides]
        self.inverse = inverse * 2 if z is None else inverse
        self._sides, self._kernel = sides, kernel
        self.relative: list[Array] = []

    def start(self, *, derivatives: bool) -> None:
        """Start the operand; derivatives of ½ ln κ(x, x)."""
        self.operand.start(derivatives=derivatives)
        if derivatives and not self.relative:
            found = [
                0.5 * self._kernel.diagonal_derivatives(side) * inverse[:, None] ** 2
                for side, inverse in zip(self._sides, self.inverse, strict=False)
            ]
            self.relative = found * 2 if self.gram else found

    def factors(self, rows: slice, columns: slice) -> Array:
        """1/(‖φ(x)‖ ‖φ(z)‖) of every pair."""
        return np.asarray(self.inverse[0][rows][:, None] * self.inverse[1][columns][None, :])

    def values(self, rows: slice, columns: slice) -> Array:
        """Cosines, exactly one on the diagonal."""
        return self._cosines(self.operand.values(rows, columns), rows, columns)

    def _cosines(self, values: Array, rows: slice, columns: slice) -> Array:
        cosines = values * self.factors(rows, columns)
        if self.gram and rows == columns:
            np.fill_diagonal(cosines, np.sign(self.inverse[0][rows]))
        return cosines

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """Cosines and the operand's tile."""
        return NormalizedTile(self, rows, columns)


class NormalizedTile(PairTile):
    """Cosines of a tile, with the operand's tile."""

    def __init__(self, pairs: NormalizedPairs, rows: slice, columns: slice) -> None:
        self.pairs, self.rows, self.columns = pairs, rows, columns
        self.operand = pairs.operand.tile(rows, columns)
        self.values = pairs._cosines(self.operand.values, rows, columns)

    def sums(self, q: Array) -> Array:
        """Σ q ∂c/∂θ."""
        pairs = self.pairs
        found = self.operand.sums(q * pairs.factors(self.rows, self.columns))
        weighted = q * self.values
        found -= weighted.sum(axis=1) @ pairs.relative[0][self.rows]
        found -= weighted.sum(axis=0) @ pairs.relative[1][self.columns]
        return found

    def products(self, right: Array, by: Any) -> Array:
        """Σ b ∂c/∂θ r."""
        pairs, b = self.pairs, 1.0 if by is None else by
        weighted = self.values * b
        found = self.operand.products(right, b * pairs.factors(self.rows, self.columns))
        found = found - pairs.relative[0][self.rows][:, :, None] * (weighted @ right)[:, None, :]
        scaled = pairs.relative[1][self.columns][:, :, None] * right[:, None, :]
        return np.asarray(found - np.tensordot(weighted, scaled, axes=1))


def _inverse_norms(squares: Array) -> Array:
    """1/√s, and 0 where s = 0."""
    positive = squares > 0.0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, squares, 1.0)), 0.0).astype(
        squares.dtype, copy=False
    )
