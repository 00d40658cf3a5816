"""Regression with the absolute, the ε-insensitive or the quantile loss, as a linear program.

    min over b, a of Σ h max(0, r − ε) + l max(0, −r − ε) + Σ λⱼ|bⱼ|,     r = y − a − b·x

h and l are the slopes of a row's loss above and below the tube: h = l = w for absolute deviations,
h = τw and l = (1 − τ)w for the τ-quantile. The penalty is the loss of d further rows, |0 − bⱼ|. An
interior-point method comes near in some twenty steps; simplex pivots finish at an optimal vertex.
The dual variables u of either, with Zᵀu = 0 and −l ≤ u ≤ h, certify it. Rows are preconditioned
chunk by chunk, so that memory holds the table once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from separatrix.linear.robust.certificate import Table, TiltedProblem
from separatrix.linear.robust.design import Design
from separatrix.linear.robust.vertex import Vertex, optimal_vertex
from separatrix.messages import InputError, warn
from separatrix.optimize.interior_point import follow_central_path
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preconditioner import Preconditioner, column_scales, precondition

EPS = float(np.finfo(float).eps)
#: Change of a fitted value, in mean absolute residuals, from which on a second solution is warned
#: of.
NOTICEABLE = 0.05


@dataclass(frozen=True)
class TiltedOptions:
    """Which loss and penalty, and how closely the program is to be solved.

    ``high`` and ``low`` are the slopes of a row of weight 1; ``alpha`` is λ by unit of weight, on
    standardized columns if ``standardize`` is set. With ``mean`` the weights add up to one.
    """

    claim: str
    high: float = 1.0
    low: float = 1.0
    epsilon: float = 0.0
    alpha: float = 0.0
    standardize: bool = False
    fit_intercept: bool = True
    mean: bool = False
    tol: float = 1e-9
    max_iter: int = 100

    def __post_init__(self) -> None:
        if not self.epsilon >= 0.0:
            raise InputError(f"epsilon={self.epsilon!r} is negative.", remedy="Use 0 or more.")


def solve_tilted(rows: Rows, moments: Moments, options: TiltedOptions) -> Solution:
    """Solve over all rows, which stay in memory."""
    preconditioner = _preconditioner(rows, moments, options)
    table = _table(rows.collect(), moments, preconditioner, options)
    beta = np.zeros(table.z.shape[1])
    dual_points, vertex, iterations, history = (
        [np.broadcast_to(0.0, len(table.y))],
        None,
        0,
        np.zeros(0),
    )
    if table.objective(beta) > 0:
        interior = follow_central_path(
            TiltedProblem(table), beta, tol=0.01 * options.tol, max_iter=options.max_iter
        )
        vertex = optimal_vertex(
            table.z,
            table.y,
            (table.high, table.low),
            epsilon=table.epsilon,
            diagonal=interior.diagonal,
            max_pivots=20 * len(beta) + 50,
        )
        beta, iterations, history = interior.beta, interior.iterations, interior.history
        dual_points.append(table.feasible(interior.u))
        if vertex is not None:
            dual_points.append(table.feasible(vertex.u))
            if table.objective(vertex.beta) <= table.objective(beta) * (1.0 + 1e-9):
                beta = vertex.beta
    alternative = _width(table, beta) if vertex is None else vertex.alternative
    certificate = _certificate(table, preconditioner, beta, dual_points, vertex, alternative)
    certificate = replace(certificate, claim=options.claim + certificate.claim)
    _warn(certificate, alternative)
    r = preconditioner.rank
    whole = (table.start + table.unit * beta)[:, None]
    coef, intercept = preconditioner.unscale(whole[:r], whole[r:].sum(axis=0))
    if vertex is not None and options.alpha:  # rows of the penalty at their kink
        coef[vertex.rows[vertex.rows >= table.z.own] - table.z.own] = 0.0
    status = Status.SOLVED if certificate.holds else Status.LIMIT
    return Solution(coef, intercept, certificate, status, iterations, history)


def _preconditioner(rows: Rows, moments: Moments, options: TiltedOptions) -> Preconditioner:
    """Standardization alone with a penalty: its rows make dependent columns independent."""
    if not options.alpha:
        return precondition(rows, moments, fit_intercept=options.fit_intercept)
    m = moments if options.fit_intercept else moments.about_origin()
    scale = column_scales(moments, m)
    scale[scale == 0.0] = 1.0
    return Preconditioner(m.mean[: m.d], scale, None, m.mean[m.d :], options.fit_intercept)


def _table(
    block: Block, moments: Moments, preconditioner: Preconditioner, options: TiltedOptions
) -> Table:
    """The preconditioned table; subtract the least-squares fit so that residuals lose no digits."""
    r, p = preconditioner.rank, preconditioner.rank + int(options.fit_intercept)
    extra = np.eye(r, p) if options.alpha else np.zeros((0, p))
    z = Design(block, preconditioner, extra)
    keep = slice(None) if z.keep is None else z.keep
    y = np.append(block.y[keep, 0] - preconditioner.y_center[0], np.zeros(len(extra)))
    w = block.weights[keep]
    if options.mean:
        w = w / w.sum()
    largest = float(np.abs(y).max())
    start = np.zeros(p)
    if options.alpha:
        m = moments if options.fit_intercept else moments.about_origin()
        cross = (preconditioner.matrix.T @ m.xy)[:, 0]
        start[:r] = np.linalg.lstsq(preconditioner.gram(moments), cross, rcond=None)[0]
    else:
        start[:r] = preconditioner.least_squares(moments)[:, 0]
    y = y - z @ start
    noise = 16 * EPS * largest
    unit = float(np.abs(y[: z.own]).mean())
    unit = unit if unit > noise else (largest or 1.0)
    w_unit = float(w.mean())
    # λⱼ|bⱼ| = (λⱼ/sⱼ)|βⱼ|
    scale = np.ones(len(extra)) if options.standardize else preconditioner.scale[: len(extra)]
    penalty = options.alpha * (float(w.sum()) / w_unit) / scale
    w = w / w_unit
    high = np.append(options.high * w, penalty)
    even = options.high == options.low
    return Table(
        z=z,
        y=y / unit,
        high=high,
        low=high if even else np.append(options.low * w, penalty),
        epsilon=options.epsilon / unit,
        start=start,
        unit=unit,
        w_unit=w_unit,
        noise=noise / unit,
        tol=options.tol,
    )


def _width(table: Table, beta: Floats) -> float:
    """How far a fitted value can move without error, where none has one and ε > 0; a lower bound.

    Inside the tube the plane may move until a row meets its wall. Where rows are at the wall, it
    may move away from it, unless rows of both walls hold it: a linear program over those rows.
    """
    if not table.epsilon or table.objective(beta) > 0.0:
        return 0.0
    r = table.residuals(beta)
    room = table.epsilon - np.abs(r)
    at_wall = np.flatnonzero(room <= 0.0)
    if len(at_wall):
        z = table.z[at_wall] * np.sign(r[at_wall])[:, None]
        found = optimize.linprog(-z.sum(axis=0), -z, np.zeros(len(z)), bounds=(-1.0, 1.0))
        fixed = not found.success or -found.fun <= 1e-9 * max(1.0, float(np.abs(z).sum()))
        if fixed and np.linalg.matrix_rank(z) == z.shape[1]:
            return 0.0
        return table.epsilon
    return float(room.min())


def _certificate(
    table: Table,
    preconditioner: Preconditioner,
    beta: Floats,
    dual_points: list[Floats],
    vertex: Vertex | None,
    alternative: float,
) -> Certificate:
    """The certificate by the best dual point; u = 0 is always feasible.

    The KKT residual is measured at a vertex only: near one, u inside its box goes with residuals
    that are merely small.
    """
    found = min((table.certify(beta, u) for u in dual_points), key=lambda c: c.gap)
    end = " at a vertex" if vertex is not None else " by an interior-point method"
    notes: tuple[str, ...] = ()
    if alternative > 0.0:
        notes = ("Other coefficients have the same objective: they are not unique.",)
    return replace(
        found,
        claim=": a linear program, solved" + (end if found.primal > 0 else " without error"),
        kkt=np.nan if vertex is None else found.kkt,
        rank=preconditioner.rank,
        dependent=preconditioner.dependent,
        notes=notes,
        promised=("gap",) if vertex is None else ("gap", "kkt"),
    )


def _warn(certificate: Certificate, alternative: float) -> None:
    if certificate.dependent:
        shown = ", ".join(certificate.dependent[:5])
        shown += ", …" if len(certificate.dependent) > 5 else ""
        warn(
            "SEP001",
            f"linearly dependent columns: {shown}. Of all coefficients with the same fitted values "
            "those of minimum norm were returned.",
        )
    if not certificate.holds:
        warn("SEP003", f"{certificate}")
    elif alternative > NOTICEABLE:
        warn(
            "SEP004",
            "several planes have the same minimal sum of losses (residuals within the tube cost "
            "nothing, an even number of rows has an interval of medians); one was returned.",
        )
