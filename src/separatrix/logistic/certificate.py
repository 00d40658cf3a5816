"""Certificate of a logistic fit: a lower bound on the objective from the dual problem.

    D(p) = −Σ w Σₖ pₖ log pₖ − pen*(Σ w (y − p) z)      for any probabilities p with zero gradient
                                                         in the columns without penalty

At the optimum the probabilities of the model attain it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.logistic.problem import LogisticProblem
from separatrix.optimize.duality import ROUNDING, without_rounding
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats


class CertifiedPoint(NamedTuple):
    """A certificate, the point θ it belongs to, and the loss Σ w ℓ there."""

    certificate: Certificate
    theta: Floats
    loss: float


def certify_logistic(
    problem: LogisticProblem,
    theta: Floats,
    step: Floats,
    factor: float,
    *,
    tolerance: float = np.nan,
) -> CertifiedPoint:
    """Certificate of the coefficients that are returned for θ − step, in one pass over the rows.

    ``factor`` turns F into the objective of the estimators. What rounding leaves of the dual
    gradient is charged to the gap at the size of its coefficient.
    """
    step = theta - problem.as_returned(theta - step)
    found = problem.dual(theta, step)
    theta = theta - step
    penalty = problem.penalty
    v, slack = _without_rounding(penalty, theta, -found.dual_gradient, found.value, problem.weight)
    t = _feasible_scale(v, penalty)
    conjugate = float(penalty.conjugate(t * v).sum())
    primal = found.value + penalty.value(theta)
    dual = max(-t * found.entropy - conjugate - slack, 0.0)  # no loss is below zero
    kkt = penalty.distance(theta, -found.gradient).max(initial=0.0) / problem.weight
    certificate = Certificate(
        claim="Logistic regression: no other coefficients have a lower objective",
        primal=factor * primal,
        dual=factor * dual,
        gap=factor * float(np.maximum(primal - dual, 0.0)),
        kkt=float(kkt),
        tolerance=tolerance,
        statistic="the rows",
    )
    return CertifiedPoint(certificate, theta, float(found.value))


def gap_at(
    penalty: ElasticNet, theta: Floats, gradient: Floats, loss: float, weight: float
) -> float:
    """The gap of F at θ by the probabilities there, from Σ w ℓ, its gradient and Σ w.

    With ℓ(s) + ℓ*(r) = r·s it is (1 − t) Σ w ℓ + p(θ) + p*(t v) − t v·θ; what rounding leaves of v
    counts once in that and once as the charge of the certificate.
    """
    v, slack = _without_rounding(penalty, theta, -gradient, loss, weight)
    t = _feasible_scale(v, penalty)
    return (1.0 - t) * loss + float(penalty.excess(theta, t * v).sum()) + 2.0 * slack


def _without_rounding(
    penalty: ElasticNet, theta: Floats, v: Floats, loss: float, weight: float
) -> tuple[Floats, float]:
    """v nearer to ∂p(θ) by its rounding errors, and Σ |v·θ| of what was taken from it.

    v = Σ w (y − p) z adds up terms whose absolute values sum to √(Σ w ℓ · Σ w z²) at most, as
    |y − p|² ≤ ℓ, and z² is 1 on average. In a column without penalty all of v is taken: it is
    what an iteration left.
    """
    free = (penalty.l1 == 0.0) & (penalty.l2 == 0.0)
    error = np.where(free, np.inf, ROUNDING * np.sqrt(max(loss, 0.0) * weight))
    return without_rounding(penalty, theta, v, error)


def _feasible_scale(v: Floats, penalty: ElasticNet) -> float:
    """The factor that makes v dual feasible for columns with a pure ℓ₁ penalty."""
    lasso = (penalty.l1 > 0.0) & (penalty.l2 == 0.0)
    if not lasso.any():
        return 1.0
    largest = float((np.abs(v[lasso]) / penalty.l1[lasso]).max())
    return 1.0 if largest < 1.0 else (1.0 - 1e-15) / largest
