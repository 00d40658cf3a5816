"""Solvers g ↦ H⁻¹g with the Hessian of a logistic likelihood, exact or from a sample of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import linalg

from separatrix.logistic.problem import LogisticProblem
from separatrix.rows.block import Floats

#: Parameters up to which the Hessian of a sample is a full matrix; beyond, block diagonal.
MAX_FULL = 2500
#: Multiplications that the Hessian of a sample may cost.
SAMPLE_COST = 2e9

Solver = Callable[[Floats], Floats]


def sample_size(parameters: int) -> int:
    """Rows whose Hessian is cheap enough."""
    return int(max(SAMPLE_COST / max(parameters, 1) ** 2, 2000))


def hessian_solver(hessian: Floats, problem: LogisticProblem) -> Solver:
    """g ↦ H⁻¹g. A common shift of all scores, which changes nothing, is given a curvature."""
    width, k = problem.shape
    full = hessian.copy()
    if k > 1:
        full += np.kron(np.ones((k, k)), np.eye(width)) * (problem.weight / k**2)
    solve_flat = _cholesky_solver(full)

    def solve(g: Floats) -> Floats:
        return np.asarray(solve_flat(g.T.ravel()).reshape(k, width).T)

    return solve


def sampled_solver(problem: LogisticProblem, theta: Floats) -> Solver:
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
    solvers = [_cholesky_solver(block * ratio) for block in sample.hessian_blocks(theta)]
    return lambda g: np.column_stack([solve(g[:, j]) for j, solve in enumerate(solvers)])


def _cholesky_solver(h: Floats) -> Solver:
    """h⁻¹ by Cholesky after scaling to a unit diagonal, which is raised only as far as needed."""
    unit = np.sqrt(np.maximum(np.diag(h), 0.0))
    unit[unit == 0.0] = float(unit.max(initial=0.0)) or 1.0
    scaled = h / np.outer(unit, unit)
    for ridge in (0.0, *10.0 ** np.arange(-14.0, 3.0)):
        try:
            factor = linalg.cho_factor(scaled + ridge * np.eye(len(unit)), check_finite=False)
        except linalg.LinAlgError:
            continue
        if np.isfinite(factor[0]).all():
            return partial(_cholesky_solve, factor, unit)
    return lambda g: g / unit**2


def _cholesky_solve(factor: tuple[Floats, bool], unit: Floats, g: Floats) -> Floats:
    return np.asarray(linalg.cho_solve(factor, g / unit, check_finite=False) / unit)
