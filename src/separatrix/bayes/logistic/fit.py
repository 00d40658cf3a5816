"""From rows to a certified Laplace approximation: read, maximize, certify."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.bayes.logistic.build import build_posterior
from separatrix.bayes.logistic.certificate import certify
from separatrix.bayes.logistic.evidence import LaplaceFit, laplace_fit, maximize_evidence
from separatrix.bayes.logistic.laplace import LaplacePosterior
from separatrix.optimize.solution import Solution
from separatrix.probability.likelihood.rows import LogisticRows
from separatrix.rows.schema import Terms


@dataclass(frozen=True)
class PosteriorOptions:
    """``prior_scale`` is σ, or None to learn it; ``intercept_scale`` is σ₀."""

    prior_scale: float | None
    intercept_scale: float
    fit_intercept: bool
    max_iter: int


@dataclass(frozen=True)
class PosteriorSolution(Solution):
    """The maximum a posteriori with the normal distribution about it."""

    posterior: LaplacePosterior = None  # type: ignore[assignment]
    log_evidence: float = float("nan")


def fit_posterior(
    data: LogisticRows, targets: Terms, options: PosteriorOptions
) -> PosteriorSolution:
    """The Laplace approximation; ``targets`` are the indicators in the order of the classes."""
    problem = build_posterior(
        data, targets, options.intercept_scale, intercept=options.fit_intercept
    )
    learned = options.prior_scale is None and problem.n_penalized > 0
    if learned:
        fit = maximize_evidence(problem, options.max_iter)
    else:
        scale = options.prior_scale or 1.0
        fit = laplace_fit(problem, scale, problem.start(), options.max_iter, slope=False)
    posterior = posterior_of(fit)
    coef, intercept = problem.coordinates.unscale(posterior.mean)
    certificate = certify(fit, data.rows, targets, coef, intercept, learned=learned)
    return PosteriorSolution(
        coef.T, intercept, certificate, iterations=fit.passes, posterior=posterior,
        log_evidence=fit.log_evidence,
    )  # fmt: skip


def posterior_of(fit: LaplaceFit) -> LaplacePosterior:
    """The normal distribution of a fit."""
    at = fit.problem.coordinates
    return LaplacePosterior(
        at, fit.prior_scale, fit.theta.reshape(at.n_scores, at.width), fit.covariance
    )
