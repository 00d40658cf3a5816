"""Proofs of optimality, computed from the data and the answer alone: no solver is consulted."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments


def certify_least_squares(
    m: Moments, coef: Floats, penalty: float = 0.0, **known: Any
) -> Certificate:
    """Certificate of f(b) = ½ Σ w (y − a − b·x)² + ½ λ ‖b‖² at ``coef`` (d x k), from moments.

    f is quadratic, so the distance to its minimum is half the squared Newton step,
    f(b) − min f = ½ gᵀ(XᵀX + λI)⁻¹g. ``kkt`` is the largest cosine between a column and the
    residual, which is zero at the minimum whatever the units.
    """
    gradient = m.xx @ coef + penalty * coef - m.xy
    scale = np.sqrt(np.maximum(np.diag(m.xx) + penalty, 0.0))
    scale[scale == 0] = 1.0
    yy = np.diag(m.yy)
    fitted = np.einsum("jk,jk->k", coef, 2.0 * m.xy - m.xx @ coef - penalty * coef)
    primal = 0.5 * float(np.maximum(yy - fitted, 0.0).sum())
    even = gradient / scale[:, None]
    hessian = (m.xx + penalty * np.eye(m.d)) / np.outer(scale, scale)
    step = _newton_step(hessian, even)
    gap = 0.5 * float(np.maximum(np.einsum("jk,jk->k", even, step), 0.0).sum())
    size = np.sqrt(np.where(yy > 0, yy, 1.0))
    return Certificate(
        claim=known.pop("claim", "Least squares: no other coefficients fit these rows better"),
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(np.abs(even / size), initial=0.0)),
        tolerance=known.pop("tolerance", 1e-8),
        scale=0.5 * float(yy.sum()),
        **known,
    )


def _newton_step(hessian: Floats, gradient: Floats) -> Floats:
    """H⁻¹g by Cholesky; by least squares where dependent columns leave H singular."""
    try:
        factor = linalg.cholesky(hessian, check_finite=False)
        if factor.size and np.diag(factor).min() > 1e-6:
            return np.asarray(linalg.cho_solve((factor, False), gradient, check_finite=False))
    except linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(hessian, gradient, rcond=1e3 * np.finfo(float).eps)[0])


def certify_wide(
    x: Floats, y: Floats, residual: Floats, rank: int, dependent: list[str]
) -> Certificate:
    """Certificate of least squares from equilibrated rows ``x``: the residual meets every column
    at a right angle. What it still has in common with their span, half its square, is the gap.
    """
    size = np.linalg.norm(y, axis=0)
    size[size == 0] = 1.0
    span = linalg.eigh(x @ x.T, check_finite=False)[1][:, len(x) - rank :]
    primal = 0.5 * float((residual**2).sum())
    gap = 0.5 * float(((span.T @ residual) ** 2).sum())
    return Certificate(
        claim="Least squares: no other coefficients fit these rows better",
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(np.abs(x.T @ residual) / size, initial=0.0)),
        tolerance=1e-8,
        scale=0.5 * float((y**2).sum()),
        rank=rank,
        statistic="the rows",
        dependent=tuple(dependent),
    )


def certify_shrunk(x: Floats, y: Floats, coef: Floats, alpha: Floats, claim: str) -> Certificate:
    """Certificate of ½‖y − Xb‖² + ½ α ‖b‖² from rows: the dual point is the residual itself.

    Its value there is rᵀy − ½‖r‖² − ‖Xᵀr‖²/(2α), which no primal value can undercut.
    """
    residual = y - x @ coef
    slope = x.T @ residual
    primal = 0.5 * ((residual**2).sum(axis=0) + alpha * (coef**2).sum(axis=0))
    price = (slope**2).sum(axis=0) / (2.0 * alpha)
    dual = np.einsum("ik,ik->k", residual, y) - 0.5 * (residual**2).sum(axis=0) - price
    scale = np.sqrt((x**2).sum(axis=0) + alpha.max())
    size = np.maximum(np.linalg.norm(y, axis=0), np.finfo(float).tiny)
    return Certificate(
        claim=claim,
        primal=float(primal.sum()),
        dual=float(dual.sum()),
        gap=float(np.maximum(primal - dual, 0.0).sum()),
        kkt=float(np.max(np.abs(slope - alpha * coef) / scale[:, None] / size, initial=0.0)),
        tolerance=1e-8,
        scale=0.5 * float((y**2).sum()),
        statistic="the rows",
    )
