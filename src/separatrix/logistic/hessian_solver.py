"""Solvers g ↦ H⁻¹g with the Hessian of a logistic likelihood, exact or from a sample of rows."""

from __future__ import annotations

import numpy as np

from separatrix.logistic.problem import LogisticProblem
from separatrix.optimize.cholesky import LinearSolver, cholesky_solver
from separatrix.rows.block import Floats

#: Parameters up to which the Hessian of a sample is a full matrix; beyond, block diagonal.
MAX_FULL = 2500
#: Multiplications that the Hessian of a sample may cost.
SAMPLE_COST = 2e9


def sample_size(parameters: int) -> int:
    """Rows whose Hessian is cheap enough."""
    return int(max(SAMPLE_COST / max(parameters, 1) ** 2, 2000))


def hessian_solver(hessian: Floats, problem: LogisticProblem) -> LinearSolver:
    """g ↦ H⁻¹g. A common shift of all scores, which changes nothing, is given a curvature."""
    width, k = problem.shape
    full = hessian.copy()
    if k > 1:
        full += np.kron(np.ones((k, k)), np.eye(width)) * (problem.weight / k**2)
    solve_flat = cholesky_solver(full)

    def solve(g: Floats) -> Floats:
        return np.asarray(solve_flat(g.T.ravel()).reshape(k, width).T)

    return solve


def sampled_solver(problem: LogisticProblem, theta: Floats) -> LinearSolver:
    """g ↦ H⁻¹g with H at θ from a sample of rows: full, block diagonal, or an upper bound."""
    width, k = problem.shape
    small = width * k <= MAX_FULL
    size = sample_size(width * k if small else width)
    sample = problem.subsample(size) or problem.head(size)
    ratio = problem.weight / sample.weight
    if small:
        hessian = sample.hessian(theta).hessian
        assert hessian is not None
        return hessian_solver(hessian * ratio, problem)
    if width > MAX_FULL:
        bound = 0.25 * problem.weight + problem.ridge
        return lambda g: g / bound[:, None]
    solvers = [cholesky_solver(block * ratio) for block in sample.hessian_blocks(theta)]
    return lambda g: np.column_stack([solve(g[:, j]) for j, solve in enumerate(solvers)])
