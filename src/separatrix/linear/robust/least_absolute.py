"""Regression with the absolute or ε-insensitive loss, as a linear program.

    min over b, a of Σ w max(0, |y − a − b·x| − ε)

An interior-point method comes near in some twenty steps; simplex pivots finish at an optimal
vertex. The dual variables u of either, with Σ w u = 0, Xᵀ(w u) = 0 and |u| ≤ 1, certify it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.linear.least_squares.certificate import warn_if_not_unique
from separatrix.linear.robust.vertex import Vertex, optimal_vertex
from separatrix.messages import warn
from separatrix.optimize.duality import certify_primal_dual
from separatrix.optimize.interior_point import interior_point
from separatrix.optimize.losses import EpsilonInsensitive
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preconditioner import Preconditioner, precondition

EPS = float(np.finfo(float).eps)
#: Change of a fitted value, in mean absolute residuals, from which on a second solution is warned
#: of.
NOTICEABLE = 0.05


@dataclass(frozen=True)
class _Table:
    """Preconditioned rows [z, 1] with least-squares residuals, of mean size 1, as targets.

    ``start`` are the least-squares coefficients, ``unit`` and ``w_unit`` the units of residuals
    and weights, ``noise`` the rounding error of a residual.
    """

    z: Floats
    y: Floats
    w: Floats
    start: Floats
    unit: float
    w_unit: float
    loss: EpsilonInsensitive
    noise: float

    def residuals(self, beta: Floats) -> Floats:
        """y − zβ, exactly at a kink of the loss where they are within rounding of it."""
        r = self.y - self.z @ beta
        at_kink = np.abs(np.abs(r) - self.loss.epsilon) <= self.noise
        return np.where(at_kink, np.sign(r) * self.loss.epsilon, r)

    def objective(self, beta: Floats) -> float:
        """Σ w max(0, |r| − ε)."""
        return float(self.w @ self.loss.value(self.residuals(beta)))

    def feasible(self, u: Floats) -> Floats:
        """The dual point u, made feasible: zᵀ(w u) = 0 first, then scaled to |u| ≤ 1."""
        interior = np.maximum(1.0 - np.abs(u), 0.0) + 1e-12
        weighted = self.z * (self.w * interior)[:, None]
        imbalance = self.z.T @ (self.w * u)
        correction = np.linalg.lstsq(self.z.T @ weighted, imbalance, rcond=None)[0]
        u = u - interior * (self.z @ correction)
        return np.asarray(u / max(1.0, float(np.abs(u).max(initial=0.0))))

    def certify(self, beta: Floats, u: Floats, tol: float) -> Certificate:
        """Certificate of β by a feasible dual point, in the units of y and of the weights."""
        none = np.zeros(self.z.shape[1])
        dual = self.w * u
        found = certify_primal_dual(
            self.loss,
            ElasticNet(none, none),
            self.w,
            self.residuals(beta),
            u,
            beta,
            self.z.T @ dual,
            claim="Least absolute deviations: a linear program",
            tolerance=tol,
            v_scale=np.abs(self.z).T @ self.w,
        )
        unit = self.unit * self.w_unit
        return replace(
            found, primal=found.primal * unit, dual=found.dual * unit, gap=found.gap * unit
        )


def solve_least_absolute(
    rows: Rows,
    moments: Moments,
    *,
    epsilon: float,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
) -> Solution:
    """Solve over all rows, which are collected in memory as one dense table."""
    loss = EpsilonInsensitive(epsilon)
    preconditioner = precondition(rows, moments, fit_intercept=fit_intercept)
    table = _table(rows, moments, preconditioner, loss, fit_intercept)
    beta = np.zeros(table.z.shape[1])
    dual_points, vertex, iterations, history = [np.zeros(len(table.y))], None, 0, np.zeros(0)
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
        vertex = optimal_vertex(
            table.z,
            table.y,
            table.w,
            epsilon=table.loss.epsilon,
            diagonal=interior.diagonal,
            max_pivots=20 * len(beta) + 50,
        )
        beta, iterations, history = interior.beta, interior.iterations, interior.history
        dual_points.append(table.feasible(interior.u / table.w))
        if vertex is not None:
            dual_points.append(table.feasible(vertex.u / table.w))
            if table.objective(vertex.beta) <= table.objective(beta) * (1.0 + 1e-9):
                beta = vertex.beta
    certificate = _certificate(table, preconditioner, beta, dual_points, vertex, tol)
    _warn(certificate, vertex)
    r = preconditioner.rank
    whole = (table.start + table.unit * beta)[:, None]
    coef, intercept = preconditioner.unscale(whole[:r], whole[r:].sum(axis=0))
    status = Status.SOLVED if certificate.holds else Status.LIMIT
    return Solution(coef, intercept, certificate, status, iterations, history)


def _table(
    rows: Rows,
    moments: Moments,
    preconditioner: Preconditioner,
    loss: EpsilonInsensitive,
    fit_intercept: bool,
) -> _Table:
    """Collect the rows; subtract the least-squares fit so that residuals lose no digits."""
    chunks = [chunk for block in rows.blocks() for chunk in preconditioner.chunks(block)]
    z = np.concatenate([chunk[0] for chunk in chunks])
    y = np.concatenate([chunk[1][:, 0] for chunk in chunks])
    w = np.concatenate([chunk[2] for chunk in chunks])
    largest = float(np.abs(y).max())
    start = preconditioner.least_squares(moments)[:, 0]
    y = y - z @ start
    if fit_intercept:
        z = np.column_stack([z, np.ones(len(y))])
        start = np.append(start, 0.0)
    noise = 16 * EPS * largest
    unit = float(np.abs(y).mean())
    unit = unit if unit > noise else (largest or 1.0)
    w_unit = float(w.mean())
    scaled = EpsilonInsensitive(loss.epsilon / unit)
    return _Table(z, y / unit, w / w_unit, start, unit, w_unit, scaled, noise / unit)


def _certificate(
    table: _Table,
    preconditioner: Preconditioner,
    beta: Floats,
    dual_points: list[Floats],
    vertex: Vertex | None,
    tol: float,
) -> Certificate:
    """The certificate by the best dual point; u = 0 is always feasible.

    The KKT residual is measured at a vertex only: near one, u inside its box goes with residuals
    that are merely small.
    """
    found = min((table.certify(beta, u, tol) for u in dual_points), key=lambda c: c.gap)
    claim = "Least absolute deviations: a linear program, solved"
    if table.loss.epsilon:
        claim = "ε-insensitive regression: a linear program, solved"
    end = " at a vertex" if vertex is not None else " by an interior-point method"
    notes: tuple[str, ...] = ()
    if vertex is not None and vertex.alternative > 0.0:
        notes = ("Another vertex has the same objective: the coefficients are not unique.",)
    return replace(
        found,
        claim=claim + (end if found.primal > 0 else " without error"),
        kkt=np.nan if vertex is None else found.kkt,
        rank=preconditioner.rank,
        dependent=preconditioner.dependent,
        notes=notes,
        promised=("gap",) if vertex is None else ("gap", "kkt"),
    )


def _warn(certificate: Certificate, vertex: Vertex | None) -> None:
    warn_if_not_unique(certificate)
    if not certificate.holds:
        warn("SEP003", f"least absolute deviations: {certificate}")
    elif vertex is not None and vertex.alternative > NOTICEABLE and not certificate.dependent:
        warn(
            "SEP004",
            "least absolute deviations: several planes have the same minimal sum of absolute "
            "residuals; one at a vertex of the set of solutions was returned.",
        )
