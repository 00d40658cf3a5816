"""The proof of a logistic fit: no coefficients reach an objective below the dual value.

    D(p) = −Σ w Σₖ pₖ log pₖ − pen*(Σ w (y − p) z)      for any probabilities p that balance the
                                                         columns no penalty touches

At the best coefficients the model's own probabilities attain it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.logistic.problem import LogisticProblem
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats


def certify_logistic(
    problem: LogisticProblem, theta: Floats, step: Floats, factor: float, **known: Any
) -> tuple[Certificate, Floats, float]:
    """Certificate at θ − step (also returned, with Σ w ℓ there), one pass over the rows.

    ``factor`` turns F into the objective that users state. A column without penalty that the dual
    probabilities leave out of balance by rounding is charged at its coefficient.
    """
    found = problem.dual(theta, step)
    theta = theta - step
    k = theta.shape[1]
    l1 = np.repeat(problem.lasso[:, None], k, axis=1)
    l2 = np.repeat(problem.ridge[:, None], k, axis=1)
    penalty = ElasticNet(l1, l2)
    pull = -found.balance
    held = (l1 > 0.0) | (l2 > 0.0)
    shrink = _shrink(pull, l1, l2)
    conjugate = float(penalty.conjugate(shrink * pull)[held].sum())
    slack = float(np.abs(shrink * pull * theta)[~held].sum())
    primal = found.value + penalty.value(theta)
    dual = max(-shrink * found.entropy - conjugate - slack, 0.0)  # no loss is below zero
    kkt = penalty.distance(theta, -found.gradient).max(initial=0.0) / problem.weight
    certificate = Certificate(
        claim=known.pop("claim", "Logistic model: no other coefficients are likelier"),
        primal=factor * primal,
        dual=factor * dual,
        gap=factor * max(primal - dual, 0.0),
        kkt=float(kkt),
        statistic="the rows",
        **known,
    )
    return certificate, theta, float(found.value)


def _shrink(pull: Floats, l1: Floats, l2: Floats) -> float:
    """How far the residuals must shrink for a pure ℓ₁ penalty to hold every column."""
    bound = (l1 > 0.0) & (l2 == 0.0)
    if not bound.any():
        return 1.0
    most = float((np.abs(pull[bound]) / l1[bound]).max())
    return 1.0 if most < 1.0 else (1.0 - 1e-15) / most
