"""Certificate of a logistic fit: a lower bound on the objective from the dual problem.

    D(p) = −Σ w Σₖ pₖ log pₖ − pen*(Σ w (y − p) z)      for any probabilities p with zero gradient
                                                         in the columns without penalty

At the optimum the probabilities of the model attain it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.logistic.problem import LogisticProblem
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
    """Certificate at θ − step, in one pass over the rows.

    ``factor`` turns F into the objective of the estimators. In a column without penalty, what
    rounding leaves of the dual gradient is charged to the gap at the size of its coefficient.
    """
    found = problem.dual(theta, step)
    theta = theta - step
    penalty = problem.penalty
    v = -found.dual_gradient
    penalized = (penalty.l1 > 0.0) | (penalty.l2 > 0.0)
    t = _feasible_scale(v, penalty)
    conjugate = float(penalty.conjugate(t * v)[penalized].sum())
    slack = float(np.abs(t * v * theta)[~penalized].sum())
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


def _feasible_scale(v: Floats, penalty: ElasticNet) -> float:
    """The factor that makes v dual feasible for columns with a pure ℓ₁ penalty."""
    lasso = (penalty.l1 > 0.0) & (penalty.l2 == 0.0)
    if not lasso.any():
        return 1.0
    largest = float((np.abs(v[lasso]) / penalty.l1[lasso]).max())
    return 1.0 if largest < 1.0 else (1.0 - 1e-15) / largest
