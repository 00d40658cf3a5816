"""Kernel ridge regression of many rows on some of them as centers, by conjugate gradients.

    min over a of Σ w (y − K_nm a)² + λ aᵀ K_mm a,     K_mm = T Tᵀ,   A Aᵀ = (Σw/m) TᵀT + λ I
    a = T⁻ᵀ A⁻ᵀ β:   B β = A⁻¹ T⁻¹ K_mn W y,   B = A⁻¹ T⁻¹ (K_mn W K_nm + λ K_mm) T⁻ᵀ A⁻ᵀ

B is near the identity where the centers are a sample of the rows, so that a few iterations do.
Kernel values are made strip by strip and never stored: in single precision for the iterations, in
double for the residual from which they start again where it is not small yet.
A. Rudi, L. Carratino and L. Rosasco, FALKON: an optimal large scale kernel method, 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.arrays import Floats
from separatrix.kernel_machines.learned_metric import MetricCenters, MetricKernel, strips
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.threads import parallel_map

#: Iterations at most, and the relative residual at which they end: that of single precision.
ITERATIONS, RESIDUAL = 60, 1e-5
#: Relative residual that is promised of the fit.
TOLERANCE_OF_CENTERS = 1e-3


@dataclass(frozen=True)
class CentersFit:
    """Coefficients (m x k), the centers in double precision, the objective and the residual.

    The residual is that of the preconditioned normal equations, relative to their right side.
    """

    coef: Floats
    centers: MetricCenters
    objective: float
    residual: float


def fit_centers(
    kernel: MetricKernel, z: Floats, right: Floats, w: Floats, where: Floats, lam: float
) -> CentersFit:
    """The fit of centered targets (n x k) with the centers ``where`` (m x d)."""
    centers = kernel.prepare(where)
    single = MetricCenters(
        kernel, centers.middle, *(s.astype(np.float32) for s in (centers.u, centers.v))
    )
    rows = single.rows(z)
    gram = centers.gram()
    m = len(gram)
    full = gram + np.tril(gram, -1).T
    at = np.arange(m)
    gram[at, at] += 1e-8 * m  # what rounding can leave below zero
    t = _factor(gram)
    inner = (w.sum() / m) * (t.T @ t)
    inner[at, at] += lam
    a = _factor(inner)

    def outward(beta: Floats) -> Floats:
        inside = solve_triangular(a, beta, lower=True, trans=1, check_finite=False)
        return np.asarray(solve_triangular(t, inside, lower=True, trans=1, check_finite=False))

    def inward(g: Floats) -> Floats:
        inside = solve_triangular(t, g, lower=True, check_finite=False)
        return np.asarray(solve_triangular(a, inside, lower=True, check_finite=False))

    def image(direction: Floats) -> Floats:
        coef = outward(direction)
        return inward(_sums(single, rows, w, coef) + lam * (full @ coef))

    right_side = inward(_sums(single, rows, w, None, right))
    size = float(np.linalg.norm(right_side)) or 1.0
    exact = centers.rows(z)
    beta, rest = np.zeros((m, right.shape[1])), right_side
    for _ in range(3):  # each is worth the digits of single precision
        beta += _conjugate_gradients(image, rest)
        coef = outward(beta)
        pull, squares = _residuals(centers, exact, w, right, coef)
        rest = inward(pull - lam * (full @ coef))
        relative = float(np.linalg.norm(rest)) / size
        if relative <= 0.5 * TOLERANCE_OF_CENTERS:
            break
    return CentersFit(coef, centers, squares + lam * float(np.vdot(coef, full @ coef)), relative)


def _conjugate_gradients(image: Callable[[Floats], Floats], right: Floats) -> Floats:
    """β with B β = ``right``, every column for itself."""
    beta, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    square = (residual**2).sum(axis=0)
    limit = RESIDUAL**2 * square
    for _ in range(ITERATIONS):
        if (square <= limit).all():
            break
        moved = image(direction)
        curvature = (direction * moved).sum(axis=0)
        step = np.divide(square, curvature, out=np.zeros_like(square), where=curvature > 0.0)
        beta += step * direction
        residual -= step * moved
        new = (residual**2).sum(axis=0)
        ratio = np.divide(new, square, out=np.zeros_like(square), where=square > 0.0)
        direction = residual + ratio * direction
        square = new
    return beta


def _factor(matrix: Floats) -> Floats:
    factor = cholesky_factor(matrix)
    if factor is None:
        raise np.linalg.LinAlgError("the kernel of the centers is not positive definite")
    return np.tril(factor)


def _sums(
    centers: MetricCenters, rows: MetricCenters, w: Floats, coef: Floats | None, right: Any = None
) -> Floats:
    """K_mn W (K_nm a), or K_mn W y."""

    def strip(part: slice) -> Floats:
        values = centers.values(rows.take(part))
        inner = right[part] if coef is None else values @ coef.astype(np.float32)
        weighted = (w[part, None] * inner).astype(np.float32)
        return np.asarray(values.T @ weighted, dtype=np.float64)

    k = right.shape[1] if coef is None else coef.shape[1]
    return _sum_strips(strip, len(rows), (len(centers), k))


def _residuals(
    centers: MetricCenters, rows: MetricCenters, w: Floats, right: Floats, coef: Floats
) -> tuple[Floats, float]:
    """K_mn W (y − K_nm a), and Σ w (y − K_nm a)²."""

    def strip(part: slice) -> Floats:
        values = centers.values(rows.take(part))
        error = right[part] - values @ coef
        weighted = w[part, None] * error
        squares = (weighted * error).sum(axis=0)
        return np.concatenate([values.T @ weighted, squares[None]])

    total = _sum_strips(strip, len(rows), (len(centers) + 1, coef.shape[1]))
    return total[:-1], float(total[-1].sum())


def _sum_strips(strip: Callable[[slice], Floats], n: int, shape: tuple[int, int]) -> Floats:
    """The sum over strips of rows, in their order."""
    total, groups = np.zeros(shape), strips(n)
    for start in range(0, len(groups), 64):  # strips whose sums are in memory at a time
        for part in parallel_map(strip, groups[start : start + 64]):
            total += part
    return total
