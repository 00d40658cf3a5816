"""Conjugate gradients for least squares and ridge, from products with X and Xᵀ alone.

    min over b of ½‖y − Xb‖² + ½λ‖b‖²

Every direction is conjugate to the ones before, so what is gained along one is never lost along
the next: at most one iteration per distinct singular value, and far fewer where they cluster.
Working on X rather than on XᵀX keeps the digits that forming the product would lose. Columns are
brought to one length first (a diagonal preconditioner), so the units of X do not matter; from b = 0
the answer stays in the row space, hence the shortest one (in those units) where there are many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from separatrix.optimize.problem import offers, require
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats, Matrix


class LinearMap(Protocol):
    """A matrix known by its products. ``column_squares()`` (Σ x², by column) is optional."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def matvec(self, b: Floats) -> Floats:
        """X b."""

    def rmatvec(self, r: Floats) -> Floats:
        """Xᵀ r."""


@dataclass(frozen=True)
class CenteredMap:
    """√w·(X − 1μᵀ) without forming it: a sparse X stays sparse though its centerd self is not."""

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
        """Σ w (x − μ)², as Σwx² − 2μΣwx + μ²Σw: close enough for a preconditioner."""
        w = self.root_weight**2
        squares = self.x.multiply(self.x) if sparse.issparse(self.x) else self.x**2
        raw = squares.T @ w - self.center * (2.0 * (self.x.T @ w) - self.center * w.sum())
        return np.asarray(np.maximum(np.asarray(raw).ravel(), 0.0))


def conjugate_gradient(
    operator: LinearMap,
    y: Floats,
    *,
    penalty: float = 0.0,
    tol: float = 1e-10,
    max_iter: int | None = None,
) -> Solution:
    """Solve to ‖Xᵀr − λb‖ ≤ ``tol`` · ‖Xᵀy‖, both measured in columns of one length.

    ``history`` is ½‖y − Xb‖² + ½λ‖b‖² at every iterate; it falls at each of them.
    """
    require("Conjugate gradients", operator, "shape", "matvec", "rmatvec")
    n, d = operator.shape
    unit = _column_units(operator, penalty, d)
    b, residual = np.zeros(d), np.array(y, dtype=float)
    slope = operator.rmatvec(residual) / unit
    direction, size = slope.copy(), float(slope @ slope)
    goal = tol**2 * size
    history = [0.5 * float(residual @ residual)]
    limit = 4 * min(n, d) + 50 if max_iter is None else max_iter
    while size > goal and len(history) <= limit:
        forward = operator.matvec(direction / unit)
        bend = float(forward @ forward) + penalty * float((direction / unit) @ (direction / unit))
        if bend <= 0.0:
            break
        length = size / bend
        b += length * direction
        residual -= length * forward
        slope = operator.rmatvec(residual) / unit - penalty * b / unit**2
        previous, size = size, float(slope @ slope)
        direction = slope + (size / previous) * direction
        history.append(
            0.5 * float(residual @ residual) + 0.5 * penalty * float((b / unit) @ (b / unit))
        )
    return _solution(operator, y, b / unit, unit, penalty, tol, history)


def _column_units(operator: LinearMap, penalty: float, d: int) -> Floats:
    """Lengths of the columns, the penalty's row included; one where nothing is known."""
    if not offers(operator, "column_squares"):
        return np.ones(d)
    unit = np.sqrt(np.asarray(operator.column_squares()) + penalty)  # type: ignore[attr-defined]
    return np.where(unit > 0, unit, 1.0)


def _solution(
    operator: LinearMap,
    y: Floats,
    b: Floats,
    unit: Floats,
    penalty: float,
    tol: float,
    history: list[float],
) -> Solution:
    """Judge the answer by its own residual, computed anew rather than carried along."""
    residual = y - operator.matvec(b)
    back = operator.rmatvec(residual)
    left = back - penalty * b
    whole = float(np.linalg.norm(operator.rmatvec(y) / unit))
    kkt = float(np.linalg.norm(left / unit)) / (whole or 1.0)
    primal = 0.5 * float(residual @ residual) + 0.5 * penalty * float(b @ b)
    dual = gap = np.nan
    if penalty > 0:
        # u = residual is always allowed in the dual y·u − ½‖u‖² − ‖Xᵀu‖²/2λ
        gap = float(left @ left) / (2.0 * penalty)
        dual = primal - gap
    status = "solved" if kkt <= 10 * tol else "limit reached"
    certificate = Certificate(
        "Least squares by conjugate gradients" + (", with a ridge" if penalty else ""),
        primal=primal,
        dual=dual,
        gap=gap,
        kkt=kkt,
        tolerance=10 * tol,
        promised=("gap", "kkt") if penalty > 0 else ("kkt",),
    )
    return Solution(
        b.reshape(-1, 1), np.zeros(1), certificate, status, len(history) - 1, np.array(history)
    )
