"""Lasso and elastic net at one penalty: from moments or from columns, with a certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import optimize

from separatrix.linear.elastic_net.certificate import certify_elastic_net
from separatrix.linear.elastic_net.columns import problem_from_block
from separatrix.linear.elastic_net.moments import problem_from_moments
from separatrix.linear.elastic_net.path import Stopping
from separatrix.linear.elastic_net.problem import Problem, Settings
from separatrix.linear.least_squares.minimum_norm import centred, solve_wide
from separatrix.linear.least_squares.solve import fit_least_squares
from separatrix.linear.ridge.solve import Spectrum
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments

#: What an elastic net is solved from: moments, or rows in memory where columns outnumber rows.
Source = Moments | Block

#: More columns than rows, and than this: their moments would be larger than the table.
WIDE = 2_000


def problem_of(source: Source, settings: Settings, target: int = 0) -> Problem:
    """The problem of one target, on the inner products that the source offers."""
    if not source.weight:
        raise InputError("There are no rows to fit.")
    if isinstance(source, Moments):
        return problem_from_moments(source, settings, target)
    return problem_from_block(source, settings, target)


def solve_elastic_net(
    source: Source,
    alpha: float,
    settings: Settings,
    *,
    rows: Rows | None = None,
    start: Floats | None = None,
) -> Solution:
    """Solve for every target.

    ``rows`` (if they can be read again) serve α = 0 alone; ``start`` (d) are coefficients near the
    solution, if some are known.
    """
    if not (np.isfinite(alpha) and alpha >= 0.0):
        raise InputError(f"alpha={alpha!r} must be a number ≥ 0.")
    if alpha == 0.0 and not settings.positive:
        if isinstance(source, Moments):
            return fit_least_squares(rows, source, fit_intercept=settings.fit_intercept)
        return solve_wide(source, fit_intercept=settings.fit_intercept)
    found = [
        _solve_target(source, alpha, settings, target, start)
        for target in range(len(source.targets))
    ]
    coef = np.stack([b for b, _, _ in found], axis=1)
    certificate = certify_elastic_net(source, coef, alpha, settings)
    sweeps = max(n for _, _, n in found)
    if not certificate.holds:
        _say(certificate, sweeps, settings)
    return Solution(
        coef,
        np.array([a for _, a, _ in found]),
        certificate,
        status="solved" if certificate.holds else "stopped early",
        iterations=sweeps,
    )


def claiming(claim: str, solution: Solution) -> Solution:
    """The same solution under the name of the model it was found for."""
    return replace(solution, certificate=replace(solution.certificate, claim=claim))


def _say(certificate: Certificate, sweeps: int, settings: Settings) -> None:
    """Which of two things kept the solver from its tolerance."""
    left = f"a duality gap of {certificate.gap:.1e} is left of an objective of "
    left += f"{certificate.primal:.3g}"
    if sweeps >= settings.max_iter:
        warn("SEP003", f"{left} after {sweeps} sweeps. Raise max_iter, tol or alpha.")
    else:
        warn(
            "SEP003",
            f"{left}: some columns nearly coincide, and rounding hides anything smaller. Raise "
            "alpha, lower l1_ratio, or leave out one of such columns.",
        )


def _solve_target(
    source: Source, alpha: float, settings: Settings, target: int, start: Floats | None
) -> tuple[Floats, float, int]:
    """Coefficients, intercept and number of sweeps."""
    problem = problem_of(source, settings, target)
    if alpha == 0.0:
        return _non_negative(source, problem, target)
    if settings.l1_ratio == 0.0 and isinstance(source, Block) and not settings.positive:
        return _ridge_on_rows(source, problem, alpha, target)
    stopping = Stopping(settings.tol, 0.1 * settings.tol, settings.max_iter)
    path = problem.path([alpha], stopping, start)
    return path.coefs[0], float(path.intercepts[0]), path.sweeps


def _ridge_on_rows(
    block: Block, problem: Problem, alpha: float, target: int
) -> tuple[Floats, float, int]:
    """Without ℓ₁ part every column takes part: solve in the space of the rows instead."""
    u, settings = problem.units, problem.settings
    scale = np.ones_like(u.x_scale)
    if settings.standardize:
        scale[u.live] = u.x_scale[u.live]
    spectrum = Spectrum.of_rows(block, scale, fit_intercept=settings.fit_intercept)
    coefs, intercepts = spectrum.coefs(np.array([alpha * u.weight]))
    return coefs[0, :, target], float(intercepts[0, target]), 1


def _non_negative(source: Source, problem: Problem, target: int) -> tuple[Floats, float, int]:
    """Without penalty, coefficients ≥ 0: an active-set method on equilibrated columns."""
    u = problem.units
    coef = np.zeros(len(u.x_mean))
    if len(u.live):
        factor, right = _factor(source, problem.settings, target)
        scale = u.x_scale[u.live]
        coef[u.live] = optimize.nnls(factor[:, u.live] / scale, right)[0] / scale
    return coef, float(u.y_mean - coef @ u.x_mean), 1


def _factor(source: Source, settings: Settings, target: int) -> tuple[Floats, Floats]:
    """A and c with AᵀA = XᵀX and Aᵀc = Xᵀy, about the means."""
    if isinstance(source, Block):
        x, y, *_ = centred(source, settings.fit_intercept)
        return x, y[:, target]
    m = source if settings.fit_intercept else source.about_origin()
    spread = np.sqrt(np.diag(m.xx))
    spread[spread == 0.0] = 1.0
    values, vectors = np.linalg.eigh(m.xx / np.outer(spread, spread))
    kept = values > values.max(initial=0.0) * m.d * np.finfo(float).eps
    root = np.sqrt(values[kept])
    cross = vectors[:, kept].T @ (m.xy[:, target] / spread) / root
    return root[:, None] * vectors[:, kept].T * spread, cross
