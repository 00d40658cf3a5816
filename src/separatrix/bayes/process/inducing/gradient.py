"""Derivatives of the collapsed bound by hyperparameters and points: one more pass over the rows.

    ∂F = Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ) + Σⱼₗ Pⱼₗ ∂κ(zⱼ, zₗ) − (1/2σ²) Σᵢ wᵢ ∂κ(xᵢ, xᵢ)
    qᵢ = wᵢ (2H κ(Z, xᵢ) + μ yᵢ/σ²)

A trend with a flat prior adds columns to y: see :attr:`CollapsedBound.combination`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.bayes.process.inducing.bound import CollapsedBound
from separatrix.bayes.process.inducing.points import groups, strips
from separatrix.bayes.process.inducing.tangent import movable, tangent
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.rows.block import Block, Floats
from separatrix.threads import parallel_map


class GradientSums:
    """The derivatives of F by θ of the kernel, and by the points, through some rows.

    ``points`` is empty where the kernel has no derivatives by them.
    """

    def __init__(self, bound: CollapsedBound, curved: NDArray[Any]) -> None:
        self.bound, self.curved = bound, curved
        inducing = bound.inducing
        self.moves = movable(inducing.kernel, inducing.points)
        self.theta = np.zeros(len(inducing.kernel.theta))
        self.points = np.zeros(inducing.points.shape if self.moves else (0, 0))

    @classmethod
    def of(cls, bound: CollapsedBound) -> Self:
        """Empty sums at this bound."""
        curved, single = bound.by_rows(), bound.sums.single and bound.inducing.well_conditioned
        return cls(bound, curved.astype(np.float32) if single else curved)

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.bound, self.curved)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.add(block.dense(), block.y, block.w)

    def add(self, x: Items, y: Floats, w: Floats | None = None) -> None:
        """Add rows (or objects) with targets and weights."""

        def part(rows: slice) -> tuple[Floats, Floats]:
            return self._part(take_items(x, rows), y[rows], None if w is None else w[rows])

        for group in groups(n_items(x), len(self.bound.inducing)):
            for theta, points in parallel_map(part, group):
                self.theta = self.theta + theta
                self.points = self.points + points

    def _part(self, x: Items, y: Floats, w: Floats | None) -> tuple[Floats, Floats]:
        """Some rows, a strip at a time."""
        bound, n = self.bound, n_items(x)
        targets = bound.sums.targets.of(x, y) @ bound.combination
        ones = np.full(n, -0.5 * bound.outputs / bound.noise)
        if w is not None:
            ones *= w
        theta = bound.inducing.kernel.diagonal_gradient_sums(x, ones)
        points = np.zeros_like(self.points)
        for rows in strips(n, len(bound.inducing)):
            here = None if w is None else w[rows, None]
            found = self._strip(take_items(x, rows), targets[rows], here)
            theta, points = theta + found[0], points + found[1]
        return theta, points

    def _strip(self, x: Items, targets: Floats, w: Floats | None) -> tuple[Floats, Any]:
        inducing = self.bound.inducing
        moves = self.moves and isinstance(x, np.ndarray)
        near = tangent(inducing.kernel, x, inducing.points) if moves else None
        values = inducing.rows(x) if near is None else near.values
        q = values.astype(self.curved.dtype, copy=False) @ self.curved
        q = q + targets @ self.bound.slopes.T
        if w is not None:
            q *= w
        if near is None:
            return inducing.kernel.gradient_sums(x, q, inducing.points), 0.0
        return near.sums(q)

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.theta, total.points = self.theta + other.theta, self.points + other.points
        return total

    def total(self) -> tuple[Floats, Floats]:
        """∂F/∂(θ, log σ²) and ∂F/∂Z, the points' own kernel included."""
        inducing, own = self.bound.inducing, self.bound.by_points()
        kernel, z, m = inducing.kernel, inducing.points, len(inducing)
        if self.moves:
            theta, points = tangent(kernel, z, z).sums(own)
            points = self.points + 2.0 * points  # a point is on both sides
        else:
            theta, points = kernel.gradient_sums(z, own), self.points
        theta = self.theta + theta
        if inducing.jitter:
            share = np.full(m, inducing.jitter * float(np.trace(own)) / m)
            theta = theta + kernel.diagonal_gradient_sums(z, share)
        return np.append(theta, self.bound.by_log_noise()), points
