"""Derivatives of sums of kernel values by the hyperparameters and by the inducing points, together.

    Σᵢⱼ qᵢⱼ κ(xᵢ, zⱼ):     ∂/∂θ, and ∂/∂zⱼ for every point

For a radial kernel κ = f(s) with slope g = −2 f′(s), all of them are products of G = q ∘ g with the
rows: with u = x/σ and v = z/σ,

    ∂/∂log σ_c = Σ G (u_c − v_c)² = Σᵢ (G1)ᵢ u²ᵢ − 2 Σⱼ (Gᵀu)ⱼ vⱼ + Σⱼ (Gᵀ1)ⱼ v²ⱼ
    ∂/∂zⱼ = ((Gᵀu)ⱼ − (Gᵀ1)ⱼ vⱼ)/σ

Sums, products and multiples hand q down. Other kernels have derivatives by θ alone: their points
stay where they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import reduce
from typing import Any

import numpy as np

from separatrix.kernels import Constant, Kernel
from separatrix.kernels.algebra import Product, Scaled, Sum
from separatrix.kernels.stationary.radial import RadialKernel
from separatrix.rows.block import Floats


def movable(kernel: Kernel, points: Any) -> bool:
    """Whether the derivatives of this kernel by its points are known."""
    if not isinstance(points, np.ndarray):
        return False
    if isinstance(kernel, Sum | Product):
        return all(movable(operand, points) for operand in kernel.operands)
    if isinstance(kernel, Scaled):
        return movable(kernel.kernel, points)
    return isinstance(kernel, RadialKernel | Constant)


class Tangent(ABC):
    """Kernel values of some rows with the points, and sums of their derivatives."""

    values: Floats

    @abstractmethod
    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        """Σ q ∂κ by θ, and by the points (m x d)."""


def tangent(kernel: Kernel, x: Floats, z: Floats) -> Tangent:
    """The values κ(x, z), ready for derivatives."""
    if isinstance(kernel, Sum):
        return _SumTangent([tangent(operand, x, z) for operand in kernel.operands])
    if isinstance(kernel, Product):
        return _ProductTangent([tangent(operand, x, z) for operand in kernel.operands])
    if isinstance(kernel, Scaled):
        return _ScaledTangent(kernel.factor, tangent(kernel.kernel, x, z))
    if isinstance(kernel, Constant):
        return _ConstantTangent(kernel.constant, x, z)
    assert isinstance(kernel, RadialKernel)
    return _RadialTangent(kernel, x, z)


class _RadialTangent(Tangent):
    def __init__(self, kernel: RadialKernel, x: Floats, z: Floats) -> None:
        self.kernel = kernel
        self.inverse = kernel.inverse_bandwidths(x.shape[1])
        center = z.mean(axis=0)
        self.u, self.v = (x - center) * self.inverse, (z - center) * self.inverse
        squares = -2.0 * (self.u @ self.v.T)
        squares += np.einsum("ij,ij->i", self.u, self.u)[:, None]
        squares += np.einsum("ij,ij->i", self.v, self.v)[None, :]
        self.values = np.maximum(squares, 0.0, out=squares)
        self.slopes = np.empty_like(squares)
        self.others = kernel.apply(self.values, self.slopes, 1.0, 0.0)

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        others = [float(np.vdot(q, one)) for one in self.others]
        g = q * self.slopes
        products, columns = g.T @ self.u, g.sum(axis=0)
        by_bandwidth = g.sum(axis=1) @ self.u**2 + columns @ self.v**2
        by_bandwidth -= 2.0 * (products * self.v).sum(axis=0)
        if not self.kernel.by_column:
            by_bandwidth = np.array([by_bandwidth.sum()])
        by_points = (products - columns[:, None] * self.v) * self.inverse
        return np.concatenate([others, by_bandwidth]), by_points


class _ConstantTangent(Tangent):
    def __init__(self, constant: float, x: Floats, z: Floats) -> None:
        self.constant, self.shape = constant, z.shape
        self.values = np.full((len(x), len(z)), constant)

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        return np.array([self.constant * q.sum()]), np.zeros(self.shape)


class _ScaledTangent(Tangent):
    def __init__(self, factor: float, inner: Tangent) -> None:
        self.factor, self.inner = factor, inner
        self.values = factor * inner.values

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        theta, points = self.inner.sums(q)
        own = float(np.vdot(q, self.values))
        return np.append(own, self.factor * theta), self.factor * points


class _SumTangent(Tangent):
    def __init__(self, operands: list[Tangent]) -> None:
        self.operands = operands
        self.values = reduce(np.add, [one.values for one in operands])

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        found = [one.sums(q) for one in self.operands]
        return np.concatenate([theta for theta, _ in found]), reduce(np.add, [p for _, p in found])


class _ProductTangent(Tangent):
    def __init__(self, operands: list[Tangent]) -> None:
        self.operands = operands
        self.values = reduce(np.multiply, [one.values for one in operands])

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        found = []
        for i, one in enumerate(self.operands):
            others = [other.values for j, other in enumerate(self.operands) if j != i]
            found.append(one.sums(reduce(np.multiply, others, q)))
        return np.concatenate([theta for theta, _ in found]), reduce(np.add, [p for _, p in found])
