"""The binary SVMs of one fold along C: solved on its training rows, scored on its test rows.

    β(C′) starts at β(C) · C′/C

Bound support vectors stay at their bound and Σβ stays zero, so that between neighboring C only rows
near the margin have to change. The tolerance is coarse, and the number of iterations at each C is
limited.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.svm.problem import SVMProblem
from separatrix.svm.tuning.binary import BinaryProblem
from separatrix.svm.tuning.problems import Problems

#: Violation of the KKT conditions that is left at each C, in the units of t; of few rows, where it
#: costs nothing, a finer one.
TOLERANCE, FINE_TOLERANCE, FEW_ROWS = 3e-2, 1e-4, 300
#: Limit of iterations at each C: for a problem of any size, and for each row.
MAX_ITER, MAX_ITER_PER_ROW = 5_000, 5


class FoldPath:
    """One C after the other for all problems of a fold; ``gram`` is that of all rows.

    ``grams`` are those of the rows of each problem; ``work`` counts iterations times rows.
    """

    def __init__(
        self,
        gram: NDArray[np.floating],
        grams: list[NDArray[np.floating]],
        problems: Problems,
        train: Ints,
        test: Ints,
        tol: float = TOLERANCE,
    ) -> None:
        self.gram, self.grams, self.problems, self.test, self.tol = gram, grams, problems, test, tol
        training = np.zeros(len(gram), dtype=bool)
        training[train] = True
        self.low, self.high = problems.bounds(training)
        self.diagonal = np.ascontiguousarray(np.diag(gram), dtype=float)
        n = len(problems.t)
        self.beta, self.f, self.b = np.zeros(n), np.zeros(n), np.zeros(problems.count)
        self.C, self.work = 1.0, 0
        self.cross = gram[test] if problems.pairs else gram[:0]

    def solve(self, C: float) -> None:
        """Every problem at another C."""
        p, grown = self.problems, float(C) / self.C
        low, high, diagonal = C * self.low, C * self.high, self.diagonal[p.rows]
        np.clip(grown * self.beta, low, high, out=self.beta)  # what rounding adds is cut off
        self.f *= grown
        for at, gram in enumerate(self.grams):
            own = slice(p.starts[at], p.starts[at + 1])
            bounded = SVMProblem(p.t[own], low[own], high[own], p.epsilon)
            problem = BinaryProblem(gram, diagonal[own], bounded)
            limit = MAX_ITER + MAX_ITER_PER_ROW * bounded.n
            work, self.b[at] = problem.solve(self.beta[own], self.f[own], self.tol, limit)
            self.work += work
        self.C = float(C)

    @property
    def n_support(self) -> int:
        """Number of training rows that are support vectors of any problem."""
        return len(np.unique(self.problems.rows[self.beta != 0.0]))

    def scores(self) -> Floats:
        """Scores of the test rows (rows x problems) at the current C."""
        p = self.problems
        if p.pairs:
            return self._pair_scores()
        return np.asarray(self.f.reshape(p.count, -1)[:, self.test].T + self.b)

    def _pair_scores(self) -> Floats:
        """Products of the rows of each class with its coefficients against every other class."""
        p, k = self.problems, self.problems.pairs
        ends = np.r_[p.segments[: k - 1, 0][:1], p.segments[0, 1], p.segments[: k - 1, 3]]
        weights = [np.empty((ends[c + 1] - ends[c], k - 1), self.gram.dtype) for c in range(k)]
        pairs = list(combinations(range(k), 2))
        for q, (i, j) in enumerate(pairs):
            cut = p.starts[q] + len(weights[i])
            weights[i][:, j - 1] = self.beta[p.starts[q] : cut]
            weights[j][:, i] = self.beta[cut : p.starts[q + 1]]
        parts = [self.cross[:, ends[c] : ends[c + 1]] @ weights[c] for c in range(k)]
        found = np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)
        return np.asarray(found + self.b, dtype=float)
