"""Support vectors of the linear kernel: with few columns w and b are sought, not the coefficients.

Σ β κ(x, ·) is w·x with w = Xᵀβ. Rows by the thousand then share a handful of unknowns, and what
pairs of coefficients approach slowly is a few systems of linear equations.
"""

from __future__ import annotations

import time

import numpy as np

from separatrix.rows.block import Floats, Matrix
from separatrix.svm.dual.problem import DualProblem
from separatrix.svm.dual.solve import Support
from separatrix.svm.primal.options import Settings
from separatrix.svm.primal.problem import Hinges, tube, two_classes
from separatrix.svm.primal.solve import COLUMNS, SupportVectors, solve_hinges

#: Share of its bound from which on a coefficient is at it.
AT_BOUND = 1.0 - 1e-10
#: Steps of the search for w and b at most, and the gap that it aims at.
STEPS, GAP = 2_000, 1e-9


def few_columns(x: Matrix) -> bool:
    """Whether the columns are few enough to be solved for at once."""
    return bool(x.shape[1] <= COLUMNS)


def solve_columns(x: Matrix, problem: DualProblem, deadline: float) -> tuple[Support, int]:
    """β, Xβ and the violation that is left; and the number of steps.

    ``problem`` has finite bounds. The ``deadline`` is one of ``time.perf_counter``.
    """
    hinges = _hinges(x, problem)
    late = time.monotonic() + (deadline - time.perf_counter())
    answer = solve_hinges(hinges, Settings(GAP, STEPS, STEPS, late), "")
    beta = _settled(hinges, answer, problem)
    f = np.asarray(x @ np.asarray(x.T @ beta))
    return Support(beta, f, problem.violation(beta, f)), answer.work


def _hinges(x: Matrix, problem: DualProblem) -> Hinges:
    ridge = np.ones(x.shape[1])
    if ((problem.low < 0.0) & (problem.high > 0.0)).any():
        return tube(x, problem.t, problem.eps, problem.high, ridge, intercept=True)
    cost = np.maximum(problem.high, -problem.low)
    return two_classes(x, problem.t > 0.0, cost, ridge, intercept=True)


def _settled(hinges: Hinges, answer: SupportVectors, problem: DualProblem) -> Floats:
    """β with coefficients that rounding has left a hair from their bound put there; Σβ = 0."""
    beta = hinges.slopes(answer.alpha)
    beta = np.where(beta >= AT_BOUND * problem.high, problem.high, beta)
    beta = np.where(beta <= AT_BOUND * problem.low, problem.low, beta)
    room = np.where(problem.free(beta), np.minimum(beta - problem.low, problem.high - beta), 0.0)
    roomiest = int(np.argmax(room))
    if room[roomiest] > 0.0:
        beta[roomiest] -= beta.sum()
    return np.asarray(np.clip(beta, problem.low, problem.high))
