"""Certificate of a maximum a posteriori: the gradient of the log posterior at the coefficients.

Computed from the coefficients of the table as they are exposed, by another formula than that of
the solver:

    ∂Ψ/∂(σⱼ bₖⱼ) = Σ w (pₖ − yₖ) (xⱼ − μⱼ)/σⱼ + 2 λ σⱼ bₖⱼ       (K scores that add up to zero)

for every standardized column, with λ instead of 2 λ where two classes have one score.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from separatrix.bayes.logistic.coordinates import Coordinates
from separatrix.bayes.logistic.evidence import LARGEST_SCALE, SMALLEST_SCALE, LaplaceFit
from separatrix.bayes.logistic.predictive import PROBIT_ERROR, QUADRATURE_ERROR
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Terms
from separatrix.statistics.fields import FieldStatistic

#: Largest gradients that count as zero: of the log posterior for each row, and of the evidence.
TOLERANCE = 1e-7
#: Values in a chunk of rows.
CHUNK_VALUES = 500_000


class TableGradient(FieldStatistic):
    """Loss and gradient (K x (1 + d)) by the coefficients of standardized columns."""

    sums = ("loss", "gradient")

    def __init__(self, targets: Terms, at: Coordinates, coef: Floats, intercept: Floats) -> None:
        self.targets, self.at = targets, at
        self.coef, self.intercept = coef, intercept
        self.loss = 0.0
        self.gradient = np.zeros((len(coef), 1 + coef.shape[1]))

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        block = block.aligned(block.terms, self.targets)
        size = max(64, CHUNK_VALUES // max(block.x.shape[1], len(self.targets), 1))
        for start in range(0, block.n, size):
            stop = min(start + size, block.n)
            x, y = block.dense(start, stop), block.y[start:stop]
            w = np.ones(stop - start) if block.w is None else block.w[start:stop]
            scores = x @ self.coef.T + self.intercept
            if scores.shape[1] == 1:
                scores = np.column_stack([np.zeros(len(scores)), scores])
            logs = log_softmax(scores, axis=1)
            self.loss -= float(w @ np.sum(y * logs, axis=1))
            residual = (w[:, None] * (np.exp(logs) - y))[:, -len(self.coef) :]
            self.gradient[:, 0] += residual.sum(axis=0)
            self.gradient[:, 1:] += residual.T @ self.at.standardized(x)


def certify(
    fit: LaplaceFit, rows: Rows, targets: Terms, coef: Floats, intercept: Floats, *, learned: bool
) -> Certificate:
    """Gradient of the log posterior at the coefficients; and of the evidence, if σ was learned."""
    problem, at = fit.problem, fit.problem.coordinates
    sums = rows.reduce(TableGradient(targets, at, coef, intercept))
    finite = np.isfinite(at.scale)
    b = np.where(finite, coef * np.where(finite, at.scale, 0.0), 0.0)
    constant = intercept + coef @ at.center
    factor = 1.0 if at.n_classes == 2 else 2.0
    precision = fit.prior_scale**-2
    penalty = 0.5 * factor * precision * float(np.sum(b**2))
    gradient = sums.gradient[:, 1:] + factor * precision * b
    largest = float(np.abs(gradient).max(initial=0.0))
    if at.intercept:
        wide = float(problem.precision[-1])
        penalty += 0.5 * factor * wide * float(np.sum(constant**2))
        here = sums.gradient[:, 0] + factor * wide * constant
        largest = max(largest, float(np.abs(here).max()))
    size = problem.weight + precision * float(np.abs(b).max(initial=0.0))
    slope = abs(_projected(fit)) / max(problem.n_penalized, 1) if learned else 0.0
    return Certificate(
        claim="Bayesian logistic regression: the log posterior is largest at these coefficients, "
        "and its curvature there is positive definite",
        primal=float(sums.loss) + penalty,
        kkt=max(largest / size, slope),
        tolerance=TOLERANCE,
        condition=fit.condition,
        statistic="the rows",
        notes=_notes(fit, largest / size, learned=learned),
        promised=("kkt",),
    )


def _projected(fit: LaplaceFit) -> float:
    """The slope of the evidence by log λ, zero where it points out of the scales that are tried."""
    if fit.prior_scale <= 1.0001 * SMALLEST_SCALE:
        return min(fit.slope, 0.0)
    if fit.prior_scale >= 0.9999 * LARGEST_SCALE:
        return max(fit.slope, 0.0)
    return fit.slope


def _notes(fit: LaplaceFit, gradient: float, *, learned: bool) -> tuple[str, ...]:
    notes = [
        f"Gradient of the log posterior {gradient:.1e} for each row.",
        f"Log evidence {fit.log_evidence:.6g} (Laplace approximation) with the prior scale "
        f"{fit.prior_scale:.4g} of standardized columns.",
    ]
    if learned:
        notes.append(f"Its derivative by the logarithm of the prior's precision {fit.slope:.1e}.")
    if learned and fit.prior_scale <= 1.0001 * SMALLEST_SCALE:
        notes.append(
            "It is largest at the smallest scale that is tried: the columns say nothing about the "
            "classes."
        )
    if fit.margin > 0.0:
        notes.append(
            "A hyperplane separates the classes: the posterior is far from normal, and the "
            "evidence hardly limits the prior scale. Compare with draws (sample), or give "
            "prior_scale."
        )
    if fit.problem.coordinates.n_classes == 2:
        notes.append(
            f"Predictive probabilities by quadrature are within {QUADRATURE_ERROR:.0e} of their "
            f"integrals, and the probit approximation within {PROBIT_ERROR}."
        )
    return tuple(notes)
