"""The dual solutions at one C after the other, each started from the last one.

    β(C′) starts at β(C) · C′/C

Bound support vectors stay at their bound and Σβ stays zero, so that between neighboring C only rows
near the margin have to change. Made for choosing C by cross-validation: the tolerance is coarse,
and the number of iterations at each C is limited.
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats
from separatrix.svm.loops.smo import smo
from separatrix.svm.problem import SVMProblem

#: Violation of the KKT conditions that is left at each C, in the units of t.
TOLERANCE = 1e-2
#: Limit of iterations at each C: so many, and so many more for each row.
_MAX_ITER, _MAX_ITER_PER_ROW = 2_000, 10


class WarmStartedPath:
    """The SVM of one table along C; ``problem`` is that of C = 1, ``gram`` the Gram matrix.

    ``gram`` is float64 and contiguous; ``beta`` are the coefficients at the current C.
    """

    def __init__(self, gram: Floats, problem: SVMProblem, tol: float = TOLERANCE) -> None:
        self.gram, self.problem, self.tol = gram, problem, tol
        self.diagonal = np.ascontiguousarray(np.diag(gram))
        self.beta, self.f, self.C = np.zeros(problem.n), np.zeros(problem.n), 1.0
        self.both_signs = bool((problem.low < 0).any() and (problem.high > 0).any())

    def solve(self, C: float) -> float:
        """Solve at another C; returns the intercept b."""
        p = self.problem.with_cost(C)
        self.beta *= C / self.C
        self.f *= C / self.C
        np.clip(self.beta, p.low, p.high, out=self.beta)  # what rounding adds
        if self.both_signs:
            limit = _MAX_ITER + _MAX_ITER_PER_ROW * p.n
            data = (self.gram, self.diagonal, p.t, p.low, p.high, p.epsilon)
            smo(*data, self.beta, self.f, self.tol, limit)
        self.C = C
        return p.best_intercept(self.beta, self.f)
