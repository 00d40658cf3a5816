"""Conjugate gradients for least squares and ridge (CGLS), from products with X and Xᵀ alone.

    min over b of ½‖y − Xb‖² + ½α‖b‖²

At most one iteration per distinct singular value is needed, and far fewer where they cluster.
Working on X rather than on XᵀX keeps the digits that forming the product would lose. Columns are
equilibrated (a diagonal preconditioner), so that the units of X do not matter; from b = 0 the
iterates stay in the row space, so that the solution has minimum norm (in those units).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Matrix
from separatrix.optimize.convex import (
    Certificate,
    ElasticNetPenalty,
    Solution,
    Squared,
    Status,
    certify_primal_dual,
)
from separatrix.optimize.newton import require


class LinearMap(Protocol):
    """A matrix known by its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def matvec(self, b: Floats) -> Floats:
        """X b."""

    def rmatvec(self, r: Floats) -> Floats:
        """Xᵀ r."""


@runtime_checkable
class HasColumnSquares(Protocol):
    """A matrix with the sums of squares of its columns."""

    def column_squares(self) -> Floats:
        """Σ x² by column."""


@dataclass(frozen=True)
class CenteredMap:
    """√w·(X − 1μᵀ) without forming it, so that a sparse X stays sparse."""

    x: Matrix
    center: Floats
    root_weight: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.x.shape[0], self.x.shape[1]

    def matvec(self, b: Floats) -> Floats:
        """√w·(Xb − μ·b)."""
        return np.asarray(self.root_weight * (self.x @ b - self.center @ b))

    def rmatvec(self, r: Floats) -> Floats:
        """Xᵀ(√w·r) − μ Σ√w·r."""
        weighted = self.root_weight * r
        return np.asarray(self.x.T @ weighted - self.center * weighted.sum())

    def column_squares(self) -> Floats:
        """Σ w (x − μ)², as Σwx² − 2μΣwx + μ²Σw: accurate enough for a preconditioner."""
        w = self.root_weight**2
        squares = self.x.multiply(self.x) if sparse.issparse(self.x) else self.x**2
        raw = squares.T @ w - self.center * (2.0 * (self.x.T @ w) - self.center * w.sum())
        return np.asarray(np.maximum(np.asarray(raw).ravel(), 0.0))


def conjugate_gradient(
    operator: LinearMap,
    y: Floats,
    *,
    alpha: float = 0.0,
    tol: float = 1e-10,
    max_iter: int | None = None,
) -> Solution:
    """Solve to ‖Xᵀr − αb‖ ≤ ``tol`` · ‖Xᵀy‖, both measured in equilibrated columns.

    ``history`` is ½‖y − Xb‖² + ½α‖b‖² at every iterate, which decreases.
    """
    require("Conjugate gradients", operator, "shape", "matvec", "rmatvec")
    n, d = operator.shape
    unit = _column_norms(operator, alpha, d)
    b, residual = np.zeros(d), np.array(y, dtype=float)
    gradient = operator.rmatvec(residual) / unit
    direction, square = gradient.copy(), float(gradient @ gradient)
    goal = tol**2 * square
    history = [0.5 * float(residual @ residual)]
    limit = 4 * min(n, d) + 50 if max_iter is None else max_iter
    while square > goal and len(history) <= limit:
        forward = operator.matvec(direction / unit)
        curvature = float(forward @ forward)
        curvature += alpha * float((direction / unit) @ (direction / unit))
        if curvature <= 0.0:
            break
        length = square / curvature
        b += length * direction
        residual -= length * forward
        gradient = operator.rmatvec(residual) / unit - alpha * b / unit**2
        previous, square = square, float(gradient @ gradient)
        direction = gradient + (square / previous) * direction
        history.append(
            0.5 * float(residual @ residual) + 0.5 * alpha * float((b / unit) @ (b / unit))
        )
    certificate = _certify(operator, y, b / unit, unit, alpha, 10 * tol)
    status = Status.SOLVED if certificate.kkt <= 10 * tol else Status.LIMIT
    coef = (b / unit).reshape(-1, 1)
    return Solution(coef, np.zeros(1), certificate, status, len(history) - 1, np.array(history))


def _column_norms(operator: LinearMap, alpha: float, d: int) -> Floats:
    """√(Σx² + α) by column, or 1 where nothing is known."""
    if not isinstance(operator, HasColumnSquares):
        return np.ones(d)
    unit = np.sqrt(np.asarray(operator.column_squares()) + alpha)
    return np.where(unit > 0, unit, 1.0)


def _certify(
    operator: LinearMap, y: Floats, b: Floats, unit: Floats, alpha: float, tolerance: float
) -> Certificate:
    """Certificate by the residual as dual point, computed afresh."""
    residual = y - operator.matvec(b)
    cross = operator.rmatvec(y)
    return certify_residual(residual, operator.rmatvec(residual), b, cross, unit, alpha, tolerance)


def certify_residual(
    residual: Floats,
    v: Floats,
    b: Floats,
    cross: Floats,
    unit: Floats,
    alpha: float,
    tolerance: float,
) -> Certificate:
    """The certificate of b from r = y − Xb, Xᵀr and Xᵀy, with columns of length ``unit``.

    ``kkt`` is ‖Xᵀr − αb‖ / ‖Xᵀy‖ in equilibrated columns. Without penalty the gap is not bounded.
    """
    scale = float(np.linalg.norm(cross / unit)) or 1.0
    certificate = certify_primal_dual(
        Squared(),
        ElasticNetPenalty(np.zeros_like(b), np.full_like(b, alpha)),
        np.ones_like(residual),
        residual,
        residual,
        b,
        v,
        claim="Least squares by conjugate gradients" + (", with an ℓ₂ penalty" if alpha else ""),
        tolerance=tolerance,
    )
    certificate = replace(certificate, kkt=float(np.linalg.norm((v - alpha * b) / unit)) / scale)
    return (
        certificate if alpha else replace(certificate, gap=np.nan, dual=np.nan, promised=("kkt",))
    )
