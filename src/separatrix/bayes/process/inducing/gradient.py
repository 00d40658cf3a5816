"""Derivatives of the collapsed bound by the hyperparameters: one more pass over the rows.

∂F/∂θ = Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ)/∂θ + Σⱼₗ Pⱼₗ ∂κ(zⱼ, zₗ)/∂θ − (1/2σ²) Σᵢ wᵢ ∂κ(xᵢ, xᵢ)/∂θ
qᵢ = wᵢ (2H κ(Z, xᵢ) + μ yᵢ/σ²)
"""

from __future__ import annotations

from typing import Self

import numpy as np

from separatrix.bayes.process.inducing.bound import CollapsedBound
from separatrix.bayes.process.inducing.sums import groups
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.rows.block import Block, Floats
from separatrix.threads import parallel_map


class GradientSums:
    """The derivatives of F by the hyperparameters of the kernel through some rows."""

    def __init__(self, bound: CollapsedBound, curved: Floats, theta: Floats | None = None) -> None:
        self.bound, self.curved = bound, curved
        entries = len(bound.inducing.kernel.theta)
        self.theta = np.zeros(entries) if theta is None else theta

    @classmethod
    def of(cls, bound: CollapsedBound) -> Self:
        """Empty sums at this bound."""
        return cls(bound, bound.by_rows())

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.bound, self.curved)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.add(block.x, block.y, block.w)

    def add(self, x: Items, y: Floats, w: Floats | None = None) -> None:
        """Add rows (or objects) with targets and weights."""
        targets = y - self.bound.sums.center

        def part(rows: slice) -> Floats:
            return self._part(take_items(x, rows), targets[rows], None if w is None else w[rows])

        for group in groups(n_items(x), len(self.bound.inducing)):
            for found in parallel_map(part, group):
                self.theta = self.theta + found

    def _part(self, x: Items, y: Floats, w: Floats | None) -> Floats:
        inducing, noise, k = self.bound.inducing, self.bound.noise, self.bound.sums.outputs
        q = inducing.rows(x) @ self.curved
        q += y @ (self.bound.coefficients.T / noise)
        ones = np.full(n_items(x), -0.5 * k / noise)
        if w is not None:
            q *= w[:, None]
            ones *= w
        kernel = inducing.kernel
        found = kernel.gradient_sums(x, q, inducing.points)
        return np.asarray(found + kernel.diagonal_gradient_sums(x, ones))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.bound, self.curved, self.theta + other.theta)

    def total(self) -> Floats:
        """∂F/∂(θ, log σ²), the points' own kernel included."""
        inducing, points = self.bound.inducing, self.bound.by_points()
        kernel, z, m = inducing.kernel, inducing.points, len(inducing)
        theta = self.theta + kernel.gradient_sums(z, points)
        if inducing.jitter:
            share = np.full(m, inducing.jitter * float(np.trace(points)) / m)
            theta = theta + kernel.diagonal_gradient_sums(z, share)
        return np.append(theta, self.bound.by_log_noise())
