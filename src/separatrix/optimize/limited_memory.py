"""L-BFGS directions: H⁻¹g from the last steps and a given approximation of the inverse Hessian.

J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation, 1980.
"""

from __future__ import annotations

import numpy as np

from separatrix.optimize.newton import LinearSolver
from separatrix.rows.block import Floats

#: Steps that are stored.
MEMORY = 12


class LimitedMemory:
    """The last steps of a descent and the changes of the gradient along them."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Floats, Floats, float]] = []

    def direction(self, gradient: Floats, solve: LinearSolver, *, scaled: bool = False) -> Floats:
        """H⁻¹g; ``solve`` is the approximation that the stored steps correct.

        ``scaled`` multiplies it by the number that fits the last step.
        """
        q, coefficients = gradient.copy(), []
        for step, change, product in reversed(self.pairs):
            a = float(np.vdot(step, q)) / product
            q -= a * change
            coefficients.append(a)
        factor = 1.0
        if scaled and self.pairs:
            _, change, product = self.pairs[-1]
            factor = product / max(float(np.vdot(change, solve(change))), np.finfo(float).tiny)
        q = factor * solve(q)
        for (step, change, product), a in zip(self.pairs, reversed(coefficients), strict=True):
            q += (a - float(np.vdot(change, q)) / product) * step
        return q

    def add(self, step: Floats, change: Floats) -> None:
        """Store a step; one along which rounding hides the curvature is left out."""
        product = float(np.vdot(step, change))
        if product > 1e-12 * float(np.linalg.norm(step)) * float(np.linalg.norm(change)):
            self.pairs = [*self.pairs[1 - MEMORY :], (step, change, product)]

    def clear(self) -> None:
        """Forget all steps."""
        self.pairs = []
