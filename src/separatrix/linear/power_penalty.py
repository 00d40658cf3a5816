"""Least squares with the penalty Σ|b|ᵖ, 1 ≤ p ≤ 2, from moments: between the lasso and ridge.

    min over b, a of   ½ Σ w (y − a − b·x)² + ½ α Σⱼ |bⱼ|ᵖ

With xⱼ − x̄ⱼ = sⱼ uⱼ, y − ȳ = σ t and βⱼ = sⱼ bⱼ/σ this is Σw σ² times

    ½ ‖t − Uβ‖² + Σⱼ λⱼ |βⱼ|ᵖ,    λⱼ = ½ α (σ/sⱼ)ᵖ / (Σw σ²)

Coordinates descend one after another: each takes the minimum of ½ (β − z)² + λ|β|ᵖ; Newton's step
on those that are not zero finishes. Below p = 2 the
penalty is no quadratic, and its slope at zero is steep (for p = 1 it jumps), so that small
coefficients shrink more than large ones; above p = 1 none is exactly zero.

Certificate: for any multiple θ ≤ 1 of the residual r, v = θ Uᵀr, the objective is above its minimum
by at most  ½ (1 − θ)² ‖r‖² + Σ [λ|β|ᵖ + (λ|·|ᵖ)*(v) − v β].
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from separatrix.arrays import Floats
from separatrix.linear.elastic_net import ElasticNetOptions, MomentColumns, elastic_net_problem
from separatrix.linear.least_squares import solve_moments
from separatrix.linear.loops import descend_with_powers
from separatrix.optimize.convex import Certificate, Solution, Status, joint_certificate
from separatrix.statistics.moments import Moments

#: Sweeps over all coordinates between two computations of the gap.
SWEEPS = 20
MAX_ROUNDS = 500
#: The gap, relative to the objective of no coefficients, below which descent ends once it stalls.
TOLERANCE = 1e-10


def power_path(
    moments: Moments, alphas: Floats, p: float, *, fit_intercept: bool
) -> Iterator[Solution]:
    """Solutions of all targets at each α, each started at the last; descending is fastest."""
    options = ElasticNetOptions(fit_intercept=fit_intercept)
    problems = [elastic_net_problem(moments, options, k) for k in range(len(moments.targets))]
    starts = [np.zeros(len(problem.products.target)) for problem in problems]
    for alpha in alphas:
        if not alpha:
            yield solve_moments(None, moments, fit_intercept=fit_intercept)
            continue
        coef, intercepts, certificates = np.zeros((moments.d, len(problems))), [], []
        rounds = 0
        for k, problem in enumerate(problems):
            s, at, columns = problem.scales, problem.scales.nonconstant, problem.products
            assert isinstance(columns, MomentColumns)
            unit = s.weight * s.y_scale**2
            ratio = s.y_scale / s.x_scale[at]
            lam = 0.5 * alpha * ratio**p / (unit or 1.0)
            starts[k], gap, used = _solve(columns, lam, p, starts[k])
            rounds = max(rounds, used)
            coef[at, k] = starts[k] * ratio
            intercepts.append(s.y_mean - coef[:, k] @ s.x_mean)
            certificates.append(_certificate(columns, lam, p, starts[k], gap, unit))
        converged = all(c.holds for c in certificates)
        certificate = certificates[0] if len(certificates) == 1 else joint_certificate(certificates)
        status = Status.CONVERGED if converged else Status.LIMIT
        yield Solution(coef, np.array(intercepts), certificate, status, rounds * SWEEPS)


def _solve(
    columns: MomentColumns, lam: Floats, p: float, beta: Floats
) -> tuple[Floats, float, int]:
    """Coefficients in standard units, their duality gap, and the rounds of sweeps."""
    beta, gap, rounds = beta.copy(), _gap(columns, lam, p, beta), 0
    while rounds < MAX_ROUNDS:
        before, rounds = gap, rounds + 1
        descend_with_powers(columns.correlation, columns.target, lam, p, beta, SWEEPS)
        gap = _gap(columns, lam, p, beta)
        newton = _newton_step(columns, lam, p, beta)
        if (closer := _gap(columns, lam, p, newton)) < gap:
            beta, gap = newton, closer
        if gap <= TOLERANCE and gap > 0.5 * before:  # rounding ends the descent
            break
    return beta, gap, rounds


def _newton_step(columns: MomentColumns, lam: Floats, p: float, beta: Floats) -> Floats:
    """One step on the coefficients that are not zero, with their signs."""
    at = np.flatnonzero(beta)
    size, hessian = np.abs(beta[at]), columns.correlation[np.ix_(at, at)].copy()
    if not len(at):
        return beta
    gradient = _residual(columns, beta)[0][at] - np.sign(beta[at]) * lam[at] * p * size ** (p - 1.0)
    with np.errstate(over="ignore"):
        curvature = lam[at] * p * (p - 1.0) * size ** (p - 2.0)
    np.fill_diagonal(hessian, hessian.diagonal() + np.minimum(curvature, 1e100))
    moved = beta.copy()
    moved[at] += np.linalg.lstsq(hessian, gradient, rcond=None)[0]
    return moved


def _residual(columns: MomentColumns, beta: Floats) -> tuple[Floats, float]:
    """Uᵀr and ‖r‖²."""
    v = columns.target - columns.correlation @ beta
    return v, max(1.0 - float((columns.target + v) @ beta), 0.0)


def _gap(columns: MomentColumns, lam: Floats, p: float, beta: Floats) -> float:
    """The Fenchel–Young gap at the residual, shrunk for p = 1 until its conjugate is finite."""
    if not len(beta):
        return 0.0
    v, square = _residual(columns, beta)
    theta = 1.0
    if p == 1.0:
        with np.errstate(divide="ignore"):
            theta = min(1.0, float(np.min(lam / np.abs(v), initial=np.inf)))
        conjugate = np.zeros_like(v)
    else:
        q = p / (p - 1.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            power = (np.abs(v) / (lam * p)) ** q
            conjugate = np.where(v == 0.0, 0.0, (p - 1.0) * lam * power)
    excess = lam * np.abs(beta) ** p + conjugate - theta * v * beta
    return 0.5 * (1.0 - theta) ** 2 * square + float(np.maximum(excess, 0.0).sum())


def _certificate(
    columns: MomentColumns,
    lam: Floats,
    p: float,
    beta: Floats,
    gap: float,
    unit: float,
) -> Certificate:
    _, square = _residual(columns, beta)
    primal = unit * (0.5 * square + float(lam @ np.abs(beta) ** p))
    return Certificate(
        f"Penalized least squares, Σ|b|^{p:g}: duality gap from the moments",
        primal=primal,
        dual=primal - unit * gap,
        gap=unit * gap,
        tolerance=1e-9,
        promised=("gap",),
    )
