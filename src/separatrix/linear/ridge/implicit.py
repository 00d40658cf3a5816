"""Least squares and ridge for sparse rows whose square matrices would not fit: products alone.

    min over b of ½‖y − Zb‖² + ½α‖b‖²

Conjugate gradients (CGLS) on shortened or equilibrated columns, all targets at once: units of the
columns do not matter; centering is part of the product, so that the rows stay sparse. Without
penalty the solution has minimum norm in equilibrated columns. A path starts at each penalty from
the solution at the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from separatrix.linear.ridge.wide import CenteredRows
from separatrix.messages import warn
from separatrix.optimize.conjugate_gradient import certify_residual
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.rows.block import Block, Floats

#: ‖Zᵀr − αb‖ relative to ‖Zᵀy‖, both in equilibrated columns, at which the iteration ends; the
#: certificate allows rounding a little more.
ENOUGH, TOLERANCE = 5e-9, 1e-8

#: Steps after which equilibrated columns are tried.
FIRST_STEPS = 300
#: Sparse rows with more columns than this form no columns x columns matrix, and with more rows
#: than this no rows x rows matrix.
MANY_COLUMNS, FEW_ROWS = 5_000, 2_000


@dataclass
class Iterate:
    """Coefficients (d x k) of the columns of Z, their KKT residuals, and the number of steps."""

    coef: Floats
    kkt: Floats
    steps: int


class ImplicitRidge:
    """The problem of a table, for any penalty: norms of its columns and Zᵀy are computed once."""

    def __init__(self, rows: CenteredRows) -> None:
        self.rows = rows
        self.squares = rows.z.weighted_squares(rows.root**2)
        self.cross = rows.transposed_times(rows.y)

    def solve(self, alphas: Floats, start: Floats | None = None) -> tuple[Iterate, Certificate]:
        """One α for every target, certified; further where the gap asks for more digits.

        Steps are first those of columns of which only the long ones are shortened; equilibrated
        columns follow where these do not come near, as in very different units.
        """
        full = self._units(alphas)
        found = self._descend(alphas, start, ENOUGH, self._shortened(alphas), FIRST_STEPS)
        if (found.kkt > ENOUGH).any():
            found = self._further(found, alphas, ENOUGH, full)
        certificate = self.certify(found.coef, alphas)
        if not certificate.holds:
            found = self._further(found, alphas, 1e-3 * ENOUGH, full)
            certificate = self.certify(found.coef, alphas)
        return found, certificate

    def _further(self, found: Iterate, alphas: Floats, enough: float, unit: Floats) -> Iterate:
        limit = 4 * min(self.rows.z.shape) + 50
        more = self._descend(alphas, found.coef, enough, unit, limit)
        return replace(more, steps=found.steps + more.steps)

    def _descend(
        self, alphas: Floats, start: Floats | None, enough: float, unit: Floats, limit: int
    ) -> Iterate:
        """Conjugate gradients on columns divided by ``unit``, until those of length one agree."""
        rows, full = self.rows, self._units(alphas)
        size = np.linalg.norm(self.cross / full, axis=0)
        size[size == 0.0] = 1.0
        b, residual, gradient = np.zeros_like(self.cross), rows.y.copy(), self.cross / unit
        if start is not None:
            b = start.copy()
            residual -= rows.times(b)
            gradient = (rows.transposed_times(residual) - alphas * b) / unit
        direction, square, steps, weight = gradient, (gradient**2).sum(axis=0), 0, unit / full
        while True:
            kkt = np.linalg.norm(gradient * weight, axis=0) / size
            if not (kkt > enough).any() or steps >= limit:
                break
            move = direction / unit
            forward = rows.times(move)
            curvature = (forward**2).sum(axis=0) + alphas * (move**2).sum(axis=0)
            length = np.divide(square, curvature, out=np.zeros_like(square), where=curvature > 0.0)
            if not length.any():
                break
            b += length * move
            residual -= length * forward
            gradient = (rows.transposed_times(residual) - alphas * b) / unit
            before, square = square, (gradient**2).sum(axis=0)
            ratio = np.divide(square, before, out=np.zeros_like(square), where=before > 0.0)
            direction = gradient + ratio * direction
            steps += 1
        return Iterate(b, kkt, steps)

    def certify(self, coef: Floats, alphas: Floats) -> Certificate:
        """The worst certificate of the targets, from the rows and the coefficients alone.

        ``kkt`` is ‖Zᵀr − αb‖ / ‖Zᵀy‖ in equilibrated columns. Without penalty the gap is not
        bounded.
        """
        unit, residual = self._units(alphas), self.rows.y - self.rows.times(coef)
        v = self.rows.transposed_times(residual)
        found = [
            certify_residual(
                residual[:, j], v[:, j], coef[:, j], self.cross[:, j], unit[:, j], alpha, TOLERANCE
            )
            for j, alpha in enumerate(alphas.tolist())
        ]
        return max(found, key=lambda certificate: certificate.kkt)

    def _units(self, alphas: Floats) -> Floats:
        """√(Σz² + α) of every column and target."""
        unit = np.sqrt(self.squares[:, None] + alphas)
        return np.asarray(np.where(unit > 0.0, unit, 1.0))

    def _shortened(self, alphas: Floats) -> Floats:
        """The same with the shorter half of the columns as they are: their nullspace stays one.

        Without penalty all are equilibrated, since the solution of minimum norm depends on it.
        """
        typical = float(np.median(self.squares[self.squares > 0.0])) if self.squares.any() else 0.0
        shortened = np.sqrt(np.maximum(self.squares, 4.0 * typical)[:, None] + alphas)
        return np.asarray(np.where(alphas > 0.0, shortened, self._units(alphas)))


def by_products(block: Block) -> bool:
    """Whether to solve by products alone: sparse rows, and too many of rows and columns."""
    n, d = block.x.shape
    return bool(sparse.issparse(block.x) and d > MANY_COLUMNS and n > FEW_ROWS)


def largest_eigenvalue(rows: CenteredRows, steps: int = 20) -> float:
    """About the largest eigenvalue of ZᵀZ, from below, by the power method."""
    v, value = np.full((rows.z.shape[0], 1), 1.0) + rows.y[:, :1], 0.0
    for _ in range(steps):
        length = float(np.linalg.norm(v))
        if not length:
            break
        v = rows.round_trip(v / length)[1]
        value = float(np.linalg.norm(v))
    return value


def implicit_path(rows: CenteredRows, alphas: Floats) -> tuple[Floats, list[Certificate]]:
    """Coefficients (m x d x k) of the columns of Z and certificates, the largest penalty first."""
    problem, k = ImplicitRidge(rows), rows.y.shape[1]
    coefs = np.empty((len(alphas), rows.z.shape[1], k))
    certificates: dict[int, Certificate] = {}
    near = None
    for i in np.argsort(-alphas, kind="stable"):
        same = np.full(k, alphas[i])
        found, certificates[int(i)] = problem.solve(same, near)
        coefs[i] = near = found.coef
    return coefs, [certificates[i] for i in range(len(alphas))]


def solve_sparse(
    block: Block, alphas: Floats, *, fit_intercept: bool, standardize: bool = False
) -> Solution:
    """One α per target; 0 is least squares."""
    rows = CenteredRows.of(block, fit_intercept, standardize)
    problem = ImplicitRidge(rows)
    found, certificate = problem.solve(alphas)
    if not certificate.holds:
        warn(
            "SEP003",
            f"conjugate gradients stopped after {found.steps} steps with a KKT residual of "
            f"{certificate.kkt:.1e}. A penalty (Ridge) makes it faster.",
        )
    coef, intercept = rows.in_table_units(found.coef)
    status = Status.SOLVED if certificate.holds else Status.LIMIT
    return Solution(coef, intercept, certificate, status, found.steps)
