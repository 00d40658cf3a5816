"""Lasso and elastic net at one penalty: the route to the solution, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import optimize

from separatrix.estimators.additive import Source, TrainingData
from separatrix.linear.elastic_net.certificate import certify_elastic_net, certify_targets
from separatrix.linear.elastic_net.columns import elastic_net_problem
from separatrix.linear.elastic_net.path import StoppingRule
from separatrix.linear.elastic_net.problem import ElasticNetOptions, ElasticNetProblem
from separatrix.linear.least_squares.minimum_norm import center_rows, solve_wide
from separatrix.linear.least_squares.moments import solve_moments
from separatrix.linear.ridge.spectrum import RidgeOptions
from separatrix.linear.ridge.trace import ridge_from_block
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.rows.block import Block, Floats


@dataclass(frozen=True)
class ElasticNetSolution(Solution):
    """A solution with the duality gap and the number of sweeps of each target."""

    gaps: Floats = field(default_factory=lambda: np.zeros(0))
    sweeps: tuple[int, ...] = ()


def solve_elastic_net(
    data: TrainingData, alpha: float, options: ElasticNetOptions, start: Floats | None = None
) -> Solution:
    """Solve for every target; α = 0 without sign constraint is least squares.

    ``start`` (d x k) are coefficients near the solution, if some are known.
    """
    if not (np.isfinite(alpha) and alpha >= 0.0):
        raise InputError(f"alpha={alpha!r} must be a number ≥ 0.")
    if alpha > 0.0:
        return solve_penalized(data.source, alpha, options, start)
    if options.positive:
        return solve_penalized(data.source if data.block is None else data.block, 0.0, options)
    if data.block is not None:
        return solve_wide(data.block, fit_intercept=options.fit_intercept)
    assert data.moments is not None
    return solve_moments(data.rows, data.moments, fit_intercept=options.fit_intercept)


def solve_penalized(
    source: Source,
    alpha: float,
    options: ElasticNetOptions,
    start: Floats | None = None,
    problem: ElasticNetProblem | None = None,
) -> ElasticNetSolution:
    """Solve for every target with α > 0, or with coefficients ≥ 0, and certify.

    ``start`` (d x k) are coefficients near the solution, and ``problem`` is that of the only
    target, if they are known.
    """
    found = [
        _solve_target(
            source,
            problem or elastic_net_problem(source, options, target),
            alpha,
            target,
            None if start is None else start[:, target],
        )
        for target in range(len(source.targets))
    ]
    coef = np.stack([b for b, _, _ in found], axis=1)
    certificate = certify_elastic_net(source, coef, alpha, options)
    gaps = np.array([certificate.gap])
    if coef.shape[1] > 1:
        gaps = np.array([part.gap for part in certify_targets(source, coef, alpha, options)])
    sweeps = max(n for _, _, n in found)
    if not certificate.holds:
        _warn(certificate, sweeps, options)
    return ElasticNetSolution(
        coef,
        np.array([a for _, a, _ in found]),
        certificate,
        status=Status.SOLVED if certificate.holds else Status.LIMIT,
        iterations=sweeps,
        gaps=gaps,
        sweeps=tuple(n for _, _, n in found),
    )


def solve_non_negative(
    source: Source, alpha: float, *, fit_intercept: bool, standardize: bool = False
) -> Solution:
    """Least squares or ridge, Σ w (y − a − b·x)² + α ‖b‖², with coefficients ≥ 0."""
    options = ElasticNetOptions(
        l1_ratio=0.0, fit_intercept=fit_intercept, positive=True, standardize=standardize
    )
    claim = "Least squares: no other coefficients ≥ 0 fit these rows better"
    if alpha:
        claim = "Ridge: no other coefficients ≥ 0 have a smaller mean square plus penalty"
    solution = solve_penalized(source, alpha / source.weight, options)
    return replace(solution, certificate=replace(solution.certificate, claim=claim))


def _warn(certificate: Certificate, sweeps: int, options: ElasticNetOptions) -> None:
    """Warn with the reason why the tolerance was not reached."""
    left = f"a duality gap of {certificate.gap:.1e} is left of an objective of "
    left += f"{certificate.primal:.3g}"
    if sweeps >= options.max_iter:
        warn(
            "SEP003",
            "Objective did not converge. You might want to increase the number of iterations. "
            f"After {sweeps} sweeps {left}. Raise max_iter, tol or alpha.",
        )
    else:
        warn(
            "SEP003",
            f"{left}: some columns are nearly equal, and rounding hides anything smaller. Raise "
            "alpha, lower l1_ratio, or leave out one of such columns.",
        )


def _solve_target(
    source: Source, problem: ElasticNetProblem, alpha: float, target: int, start: Floats | None
) -> tuple[Floats, float, int]:
    """Coefficients, intercept and number of sweeps."""
    options = problem.options
    if alpha == 0.0:
        return _non_negative(source, problem, target)
    if options.l1_ratio == 0.0 and isinstance(source, Block) and not options.positive:
        return _ridge(source, problem, alpha, target)
    stopping = StoppingRule(options.tol, 0.1 * options.tol, options.max_iter)
    path = problem.path([alpha], stopping, start)
    return path.coefs[0], float(path.intercepts[0]), path.sweeps


def _ridge(
    block: Block, problem: ElasticNetProblem, alpha: float, target: int
) -> tuple[Floats, float, int]:
    """Without ℓ₁ part no column can be left out: solve in the space of the rows instead."""
    options = RidgeOptions(problem.options.fit_intercept, problem.options.standardize)
    alphas = np.full(block.y.shape[1], alpha * problem.scales.weight)
    found = ridge_from_block(block, alphas, options)
    return found.coef[:, target], float(found.intercept[target]), 1


def _non_negative(
    source: Source, problem: ElasticNetProblem, target: int
) -> tuple[Floats, float, int]:
    """Without penalty, coefficients ≥ 0: an active-set method on equilibrated columns."""
    s = problem.scales
    coef, at = np.zeros(len(s.x_mean)), s.nonconstant
    if len(at):
        factor, right = _factor(source, problem.options, target)
        scale = s.x_scale[at]
        coef[at] = optimize.nnls(factor[:, at] / scale, right)[0] / scale
    return coef, float(s.y_mean - coef @ s.x_mean), 1


def _factor(source: Source, options: ElasticNetOptions, target: int) -> tuple[Floats, Floats]:
    """A and c with AᵀA = XᵀX and Aᵀc = Xᵀy, about the means."""
    if isinstance(source, Block):
        x, y, *_ = center_rows(source, options.fit_intercept)
        return x, y[:, target]
    m = source if options.fit_intercept else source.about_origin()
    scale = np.sqrt(np.diag(m.xx))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(m.xx / np.outer(scale, scale))
    positive = values > values.max(initial=0.0) * m.d * np.finfo(float).eps
    root = np.sqrt(values[positive])
    cross = vectors[:, positive].T @ (m.xy[:, target] / scale) / root
    return root[:, None] * vectors[:, positive].T * scale, cross
