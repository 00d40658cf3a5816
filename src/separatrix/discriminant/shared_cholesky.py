"""One covariance for all classes, of many columns, by a Cholesky factorization.

    R = D⁻¹ Σ D⁻¹ = L Lᵀ,      w = D⁻¹ R⁻¹ D⁻¹ (μ − c)

D are the standard deviations within classes. R − t I has a factor if and only if all eigenvalues
of R are above t: then no direction is left out, and K systems are all that scores need. An
eigendecomposition would take ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.discriminant.gaussian_problem import (
    GaussianFit,
    GaussianProblem,
    scale_or_one,
    total_standardizer,
)
from separatrix.geometry.class_scores import LinearScores
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.rows.block import Floats
from separatrix.statistics.standardizer import EPS, zero_if_constant

#: Columns from which a factorization is worth its while.
MIN_COLUMNS = 96
#: Steps of the Lanczos iterations for the largest and smallest eigenvalue.
STEPS = 24
#: The relative change of a step that ends them.
ACCURACY = 1e-3


def fit_shared(problem: GaussianProblem, covariance: Floats) -> GaussianFit | None:
    """Scores of classes with one covariance (d x d); None where some direction does not vary."""
    m, d = problem.moments, len(covariance)
    if d < MIN_COLUMNS:
        return None
    total = np.diag(m.within) + np.diag(m.between)
    standardizer = total_standardizer(total, m.grand_mean)
    varies = standardizer.scale > 0.0
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    known = np.abs(m.grand_mean) + scale_or_one(standardizer)
    if not varies.any() or (zero_if_constant(deviation, known)[varies] == 0.0).any():
        return None
    unit = deviation[varies]
    whole = bool(varies.all())
    inner = covariance if whole else covariance[np.ix_(varies, varies)]
    correlation = inner / unit
    correlation /= unit[:, None]
    if not all_above(correlation, max((problem.tol or 0.0) ** 2, 10 * d * EPS)):
        return None
    factor = cholesky_factor(correlation.copy())
    if factor is None:
        return None
    return _solved(problem, covariance, correlation, factor, varies, unit)


def all_above(matrix: Floats, least: float) -> bool:
    """Whether all eigenvalues are above ``least``: the matrix less that has a factor."""
    shifted = matrix.copy()
    shifted.flat[:: len(shifted) + 1] -= least
    return cholesky_factor(shifted) is not None


def _solved(
    problem: GaussianProblem,
    covariance: Floats,
    correlation: Floats,
    factor: Floats,
    varies: NDArray[np.bool_],
    unit: Floats,
) -> GaussianFit:
    center = problem.center
    right = np.concatenate([problem.means - center, center[None]])[:, varies] / unit
    solved = cholesky_solve(factor, right.T).T
    k = len(problem.means)
    error = np.abs(solved[:k] @ correlation - right[:k]).max(initial=0.0)
    error /= max(float(np.abs(right[:k]).max(initial=0.0)), np.finfo(float).tiny)
    coef = np.zeros((k + 1, len(varies)))
    coef[:, varies] = solved / unit
    square = np.einsum("kd,kd->k", right[:k], solved[:k])
    offset = problem.log_priors - 0.5 * square
    scores = LinearScores(center, coef[:k], offset, coef[k])
    condition = _largest(lambda v: correlation @ v, len(unit)) * _largest(
        lambda v: cholesky_solve(factor, v), len(unit)
    )
    return GaussianFit(scores, covariance, int(varies.sum()), condition, float(error))


def _largest(times: Callable[[Floats], Floats], d: int) -> float:
    """The largest eigenvalue of a positive definite matrix, by Lanczos' method."""
    v = np.sin(1.0 + np.arange(d))
    basis = [v / np.linalg.norm(v)]
    diagonal: list[float] = []
    beside: list[float] = []
    found = 0.0
    for _ in range(min(STEPS, d)):
        u = times(basis[-1])
        diagonal.append(float(u @ basis[-1]))
        before, found = found, float(linalg.eigvalsh_tridiagonal(diagonal, beside)[-1])
        q = np.array(basis)
        for _again in range(2):  # orthogonal to rounding errors
            u = u - q.T @ (q @ u)
        size = float(np.linalg.norm(u))
        if found - before <= ACCURACY * found or size <= 1e-14 * max(diagonal):
            break
        beside.append(size)
        basis.append(u / size)
    return found
