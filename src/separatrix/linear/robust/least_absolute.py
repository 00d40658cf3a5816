"""Least absolute error, with or without a tube, solved exactly.

    min over b, a of Σ w max(0, |y − a − b·x| − ε)

An interior-point method comes near in some twenty steps; a walk over corners finishes. The dual
objective y·u − ε‖u‖₁, at slopes u that balance the rows (Σu = 0, Xᵀu = 0, |u| ≤ w), proves it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.linear.least_squares.certificate import warn_if_not_unique
from separatrix.linear.robust.vertex import Corner, polish
from separatrix.messages import InputError, warn
from separatrix.optimize.interior_point import Interior, interior_point
from separatrix.optimize.losses import EpsilonInsensitive
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preconditioner import Preconditioner, precondition

EPS = float(np.finfo(float).eps)
#: Change of a fitted value, in mean absolute residuals, from which on a second answer is warned of.
NOTICED = 0.05


@dataclass(frozen=True)
class _Table:
    """Rows [z, 1] in the frame; the least-squares residuals, of mean size 1, are the targets."""

    z: Floats
    y: Floats
    w: Floats
    beta: Floats
    unit: float
    w_unit: float
    loss: EpsilonInsensitive
    noise: float

    def objective(self, beta: Floats) -> float:
        """Σ w max(0, |r| − ε), where differences of rounding size count as none."""
        outside = self.loss.value(self.y - self.z @ beta)
        return float(self.w @ np.where(outside <= self.noise, 0.0, outside))

    def bound(self, u: Floats) -> float:
        """The dual objective at u, made feasible: balanced first, then drawn into its box."""
        pull = self.z.T @ u
        free = np.maximum(self.w - np.abs(u), 0.0) + 1e-12 * self.w
        weighted = self.z * free[:, None]
        u = u - weighted @ np.linalg.lstsq(self.z.T @ weighted, pull, rcond=None)[0]
        u = u * min(1.0, 1.0 / float(np.max(np.abs(u) / self.w)) if u.any() else 1.0)
        return float(self.y @ u) - self.loss.epsilon * float(np.abs(u).sum())


def fit_least_absolute(
    rows: Rows,
    moments: Moments,
    *,
    epsilon: float,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
) -> Solution:
    """Solve over all rows, which are held in memory as one dense table."""
    if not epsilon >= 0:
        raise InputError(f"epsilon={epsilon!r} is no width of a tube.", remedy="Use zero or more.")
    frame = precondition(rows, moments, fit_intercept=fit_intercept)
    table = _table(rows, moments, frame, epsilon, fit_intercept)
    interior: Interior | None = None
    corner: Corner | None = None
    beta, u = np.zeros(table.z.shape[1]), np.zeros(len(table.y))
    if table.objective(beta) > 0:
        interior = interior_point(
            table.z,
            table.y,
            table.w,
            epsilon=table.loss.epsilon,
            start=beta,
            tol=0.01 * tol,
            max_iter=max_iter,
        )
        beta, u = interior.beta, interior.u
        corner = polish(
            table.z,
            table.y,
            table.w,
            epsilon=table.loss.epsilon,
            certainty=interior.certainty,
            max_pivots=20 * len(beta) + 50,
        )
    return _solution(table, frame, interior, corner, beta, u, tol)


def _table(
    rows: Rows, moments: Moments, frame: Preconditioner, epsilon: float, fit_intercept: bool
) -> _Table:
    """Collect the rows; shift by the least-squares fit so that residuals lose no digits."""
    pieces = [piece for block in rows.blocks() for piece in frame.chunks(block)]
    z = np.concatenate([piece[0] for piece in pieces])
    y = np.concatenate([piece[1][:, 0] for piece in pieces])
    w = np.concatenate([piece[2] for piece in pieces])
    spread = float(np.abs(y).max())
    start = frame.least_squares(moments)[:, 0]
    y = y - z @ start
    if fit_intercept:
        z = np.column_stack([z, np.ones(len(y))])
        start = np.append(start, 0.0)
    noise = 16 * EPS * spread
    unit = float(np.abs(y).mean())
    unit = unit if unit > noise else (spread or 1.0)
    w_unit = float(w.mean())
    return _Table(
        z,
        y / unit,
        w / w_unit,
        start,
        unit,
        w_unit,
        EpsilonInsensitive(epsilon / unit),
        noise / unit,
    )


def _solution(
    table: _Table,
    frame: Preconditioner,
    interior: Interior | None,
    corner: Corner | None,
    beta: Floats,
    u: Floats,
    tol: float,
) -> Solution:
    """Take the better primal and the better dual of the interior solution and the corner."""
    primal, dual = table.objective(beta), table.bound(u)
    if corner is not None:
        at_corner = table.objective(corner.beta)
        if at_corner <= primal * (1.0 + 1e-9):
            primal, beta = at_corner, corner.beta
        dual = max(dual, table.bound(corner.u))
    dual = min(max(dual, 0.0), primal)  # u = 0 is always allowed
    r = frame.rank
    whole = (table.beta + table.unit * beta)[:, None]
    coef, intercept = frame.unscale(whole[:r], whole[r:].sum(axis=0))
    certificate = _certificate(table, frame, primal, dual, tol, corner)
    _say(certificate, corner)
    return Solution(
        coef,
        intercept,
        certificate,
        "solved" if certificate.holds else "limit reached",
        interior.iterations if interior else 0,
        interior.history if interior else np.zeros(0),
    )


def _certificate(
    table: _Table,
    frame: Preconditioner,
    primal: float,
    dual: float,
    tol: float,
    corner: Corner | None,
) -> Certificate:
    """In the units of y and of the weights as given."""
    unit = table.unit * table.w_unit
    claim = "Least absolute error: a linear program, solved"
    if table.loss.epsilon:
        claim = "Least error beyond a tube: a linear program, solved"
    end = " at a corner" if corner is not None else " by an interior-point method"
    notes: tuple[str, ...] = ()
    if corner is not None and corner.slack > 0.0:
        notes = ("Another corner is exactly as good: the coefficients are not unique.",)
    return Certificate(
        claim + (end if primal > 0 else " without error"),
        primal=primal * unit,
        dual=dual * unit,
        gap=(primal - dual) * unit,
        tolerance=tol,
        rank=frame.rank,
        dependent=frame.dependent,
        notes=notes,
        promised=("gap",),
    )


def _say(certificate: Certificate, corner: Corner | None) -> None:
    warn_if_not_unique(certificate)
    if not certificate.holds:
        warn("SEP003", f"least absolute error: {certificate}")
    elif corner is not None and corner.slack > NOTICED and not certificate.dependent:
        warn(
            "SEP004",
            "least absolute error: several planes have the same smallest sum of absolute "
            "residuals; one at a corner of them was returned.",
        )
