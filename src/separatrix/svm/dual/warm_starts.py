"""Support vector machines at one price C after the other, each starting where the last one ended.

    β(C′) starts at β(C) · C′/C

Rows at their bound stay there and the sum stays zero, so that between neighbouring prices only the
rows near the margin have to move. Made for choosing C: digits that no error on held-out rows could
see are left out, and the work at each price is bounded.
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats
from separatrix.svm.dual.problem import DualProblem
from separatrix.svm.loops.smo import descend

#: Violation at which a price is left, in the units of t.
TOLERANCE = 1e-2
#: Pairs at most for each price: so many, and so many more for each row.
_PAIRS, _PAIRS_PER_ROW = 2_000, 10


class WarmStartedPath:
    """The machine of one table; ``problem`` is that of C = 1, ``gram`` holds all inner products.

    ``gram`` is float64 and contiguous; ``beta`` are the coefficients at the price reached.
    """

    def __init__(self, gram: Floats, problem: DualProblem, tol: float = TOLERANCE) -> None:
        self.gram, self.problem, self.goal = gram, problem, tol
        self.diagonal = np.ascontiguousarray(np.diag(gram))
        self.beta, self.f, self.price = np.zeros(problem.n), np.zeros(problem.n), 1.0
        self.both = bool((problem.low < 0).any() and (problem.high > 0).any())

    def to(self, price: float) -> float:
        """Go on to another price; the offset b there."""
        one = self.problem
        posed = DualProblem(one.t, one.low * price, one.high * price, one.eps)
        self.beta *= price / self.price
        self.f *= price / self.price
        np.clip(self.beta, posed.low, posed.high, out=self.beta)  # what rounding adds
        if self.both:
            most = _PAIRS + _PAIRS_PER_ROW * one.n
            bounds = (posed.low, posed.high, posed.eps)
            descend(self.gram, self.diagonal, posed.t, *bounds, self.beta, self.f, self.goal, most)
        self.price = price
        return posed.offset(self.beta, self.f)
