"""Kernel ridge regression of many rows on some of them as centers, by conjugate gradients.

    min over a of Σ w (y − K_nm a)² + λ aᵀ K_mm a,     K_mm = T Tᵀ,   A Aᵀ = (Σw/m) TᵀT + λ I
    a = T⁻ᵀ A⁻ᵀ β:   B β = A⁻¹ T⁻¹ K_mn W y,   B = A⁻¹ T⁻¹ (K_mn W K_nm + λ K_mm) T⁻ᵀ A⁻ᵀ

B is near the identity where the centers are a sample of the rows, so that a few iterations do.
Kernel values are made strip by strip, in single precision, and never stored; sums are in double.
A. Rudi, L. Carratino and L. Rosasco, FALKON: an optimal large scale kernel method, 2017.
"""

from __future__ import annotations

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

    def normal(coef: Floats) -> Floats:
        return _sums(single, rows, w, coef) + lam * (full @ coef)

    beta, b = np.zeros((m, right.shape[1])), inward(_sums(single, rows, w, None, right))
    residual, direction = b.copy(), b.copy()
    square = (residual**2).sum(axis=0)
    limit = RESIDUAL**2 * square
    for _ in range(ITERATIONS):
        if (square <= limit).all():
            break
        image = inward(normal(outward(direction)))
        curvature = (direction * image).sum(axis=0)
        step = np.divide(square, curvature, out=np.zeros_like(square), where=curvature > 0.0)
        beta += step * direction
        residual -= step * image
        new = (residual**2).sum(axis=0)
        ratio = np.divide(new, square, out=np.zeros_like(square), where=square > 0.0)
        direction = residual + ratio * direction
        square = new
    coef = outward(beta)
    # once more from the start: rounding errors of the recurrence do not enter
    rest = inward(_sums(single, rows, w, None, right) - normal(coef))
    values = single.dot(rows, coef.astype(np.float32)).astype(np.float64)
    objective = float((w @ (right - values) ** 2).sum() + lam * np.vdot(coef, full @ coef))
    size = float(np.sqrt((b**2).sum()))
    relative = float(np.sqrt((rest**2).sum())) / size if size > 0.0 else 0.0
    return CentersFit(coef, centers, objective, relative)


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

    groups = strips(len(rows))
    total = np.zeros((len(centers), right.shape[1] if coef is None else coef.shape[1]))
    for start in range(0, len(groups), 64):
        for part in parallel_map(strip, groups[start : start + 64]):
            total += part
    return total
