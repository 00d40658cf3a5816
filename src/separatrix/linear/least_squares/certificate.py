"""Certificates of least squares and ridge, computed from the data and the coefficients alone."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from separatrix.messages import warn
from separatrix.optimize.duality import ROUNDING, certify_primal_dual, joint_certificate
from separatrix.optimize.losses import Squared
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments

CLAIM = "Least squares: no other coefficients fit these rows better"
RIDGE_CLAIM = "Ridge: no other coefficients have a smaller sum of squares plus penalty"
TOLERANCE = 1e-8
#: The size that the data give a sum of squares which may itself be zero.
NULL_MODEL = "half the sum of squares of the target about its mean"


def certify_from_moments(
    m: Moments, coef: Floats, alpha: float = 0.0, claim: str = CLAIM
) -> Certificate:
    """Certificate of f(b) = ½ Σ w (y − a − b·x)² + ½ α ‖b‖² at ``coef`` (d x k), from moments.

    f is quadratic, so that its distance from the minimum is half the squared Newton step,
    f(b) − min f = ½ gᵀ(XᵀX + αI)⁻¹g: finite for α = 0 as well, where a penalty's conjugate is not.
    ``kkt`` is the largest cosine between a column and the residual.
    """
    gradient = m.xx @ coef + alpha * coef - m.xy
    scale = np.sqrt(np.maximum(np.diag(m.xx) + alpha, 0.0))
    scale[scale == 0] = 1.0
    yy = np.diag(m.yy)
    fitted = np.einsum("jk,jk->k", coef, 2.0 * m.xy - m.xx @ coef - alpha * coef)
    primal = 0.5 * float(np.maximum(yy - fitted, 0.0).sum())
    equilibrated = gradient / scale[:, None]
    hessian = (m.xx + alpha * np.eye(m.d)) / np.outer(scale, scale)
    step = _newton_step(hessian, equilibrated)
    gap = 0.5 * float(np.maximum(np.einsum("jk,jk->k", equilibrated, step), 0.0).sum())
    size = np.sqrt(np.where(yy > 0, yy, 1.0))
    return Certificate(
        claim=claim,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(np.abs(equilibrated / size), initial=0.0)),
        tolerance=TOLERANCE,
        # the residuals are what cancellation leaves of Σ w y² and of the fitted sums
        rounding=ROUNDING * float((np.abs(yy) + np.abs(fitted)).sum()),
        scale=0.5 * float(yy.sum()),
        scale_of=NULL_MODEL,
        statistic="moments",
    )


def _newton_step(hessian: Floats, gradient: Floats) -> Floats:
    """H⁻¹g by Cholesky; by least squares where dependent columns leave H singular."""
    if hessian.size:  # LAPACK itself: a path asks for a step at every penalty
        factor, info = linalg.lapack.dpotrf(hessian, lower=False, clean=False)
        if not info and factor.diagonal().min() > 1e-6:
            return np.asarray(linalg.lapack.dpotrs(factor, gradient, lower=False)[0])
    return np.asarray(np.linalg.lstsq(hessian, gradient, rcond=1e3 * np.finfo(float).eps)[0])


def certify_wide(
    x: Floats, y: Floats, residual: Floats, rank: int, dependent: list[str]
) -> Certificate:
    """Certificate of least squares from equilibrated rows ``x``: Xᵀr = 0.

    The gap is ½‖Pr‖², with P the projection onto the column space, which is spanned by ``rank``
    eigenvectors of XXᵀ.
    """
    size = np.linalg.norm(y, axis=0)
    size[size == 0] = 1.0
    span = linalg.eigh(x @ x.T, check_finite=False)[1][:, len(x) - rank :]
    primal = 0.5 * float((residual**2).sum())
    gap = 0.5 * float(((span.T @ residual) ** 2).sum())
    return Certificate(
        claim=CLAIM,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(np.abs(x.T @ residual) / size, initial=0.0)),
        tolerance=TOLERANCE,
        scale=0.5 * float((y**2).sum()),
        scale_of=NULL_MODEL,
        rank=rank,
        statistic="the rows",
        dependent=tuple(dependent),
    )


def certify_ridge_rows(
    x: Floats, y: Floats, coef: Floats, alpha: Floats, dual: Floats
) -> Certificate:
    """Certificate of ½‖y − Xb‖² + ½ α ‖b‖² from rows and a dual point (n x k).

    The residual would do for one, but a large column magnifies its rounding: the dual point is
    the residual less what changes no fit.
    """
    residual, v = y - x @ coef, x.T @ dual
    squares, unit_weights = (x**2).sum(axis=0), np.ones(len(y))
    found = []
    for j, a in enumerate(alpha):
        length = float(np.linalg.norm(y[:, j]))
        found.append(
            certify_primal_dual(
                Squared(),
                ElasticNet(np.zeros(len(coef)), np.full(len(coef), a)),
                unit_weights,
                residual[:, j],
                dual[:, j],
                coef[:, j],
                v[:, j],
                claim=RIDGE_CLAIM,
                tolerance=TOLERANCE,
                v_scale=np.sqrt(squares + a) * max(length, np.finfo(float).tiny),
                z_scale=max(length, np.finfo(float).tiny),
                scale=0.5 * length**2,
                scale_of=NULL_MODEL,
            )
        )
    return joint_certificate(found)


def warn_if_not_unique(certificate: Certificate) -> None:
    """Warn where coefficients are not unique, or hardly any of their digits can be trusted."""
    if certificate.dependent:
        shown = ", ".join(certificate.dependent[:5])
        more = len(certificate.dependent) - 5
        shown += f" and {more} more" if more > 0 else ""
        warn(
            "SEP001",
            f"linearly dependent columns: {shown}. The fitted values are unique; of the "
            "coefficients, the minimum-norm solution was returned. Remove these columns, or use "
            "Ridge, to make them unique.",
        )
    elif certificate.digits < 4:
        warn(
            "SEP002",
            f"only about {certificate.digits:.0f} digits of the coefficients can be trusted "
            f"(condition number {certificate.condition:.1e}). Fit from the rows instead of their "
            "moments, or use Ridge.",
        )
