"""Separable classes: directions along which the likelihood rises for ever.

The likelihood of a logistic model has a maximum unless some direction v, other than one that
changes no score, never lowers the lead of a row's own score over another:

    (v_y − v_k)·z ≥ 0   for all rows and classes k,   and > 0 for some

Along such a v no row ever loses, so the coefficients have no finite best value. If all leads grow
the classes are separated completely, else some rows lie on the boundary itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats
from separatrix.solvers.logistic_problem import LogisticProblem
from separatrix.statistics.derivatives import LeadOf

#: Leads below this share of the largest one are taken to be zero, and then made so.
EDGE = 1e-3
#: Leads that may be left below zero by rounding, as a share of the largest.
ROUNDING = 1e-9
#: Parameters up to which rows on the boundary are looked for.
LARGEST = 2500


@dataclass(frozen=True)
class Separation:
    """A direction that no row objects to: coefficients (d x scores) and constants.

    ``low`` and ``high`` are the least and the largest lead under it, the proof; with ``complete``
    every row is strictly on its own side.
    """

    coef: Floats
    intercept: Floats
    low: float
    high: float
    complete: bool


def separation_of(
    problem: LogisticProblem, theta: Floats, step: Floats, margin: float
) -> Separation | None:
    """The separating direction, proved by the margins of all rows; None if none was found.

    Where all rows are on their own side already, θ is the direction. Else the step is: far out it
    keeps only what still raises the likelihood. Rows that it nearly leaves alone must be left
    alone exactly, so it is projected on the directions that do, and then all margins are checked.
    """
    if margin > 0.0:
        return _named(problem, theta, 1.0, complete=True)
    if theta.size > LARGEST or not np.isfinite(step).all():
        return None
    seen = _leads(problem, -step, 0.0)
    if not (seen.high > 0.0 and seen.low >= -EDGE * seen.high):
        return None
    touching = _leads(problem, -step, EDGE * seen.high).touching
    unit = np.tile(problem.scale, theta.shape[1])
    value, vector = linalg.eigh(touching / np.outer(unit, unit))
    most = max(float(value[-1]), np.finfo(float).tiny)
    open_ = vector[:, value <= 1e-12 * most]
    flat = -step.T.ravel()
    direction = (open_ @ (open_.T @ flat)).reshape(theta.T.shape).T
    return _named(problem, direction, 0.0, complete=False)


def _leads(problem: LogisticProblem, direction: Floats, edge: float) -> LeadOf:
    return problem.rows.reduce(LeadOf(problem.view, direction / problem.scale[:, None], edge))


def _named(
    problem: LogisticProblem, direction: Floats, least: float, *, complete: bool
) -> Separation | None:
    size = float(np.linalg.norm(direction))
    if not size > 1e-6 * least:
        return None
    if not size > 0.0:
        return None
    direction = direction / size
    seen = _leads(problem, direction, 0.0)
    if not seen.high > 1e-6 or seen.low < (0.0 if complete else -ROUNDING * seen.high):
        return None
    coef, intercept = problem.restore(direction)
    return Separation(
        coef, intercept, float(seen.low), float(seen.high), complete or seen.low > EDGE * seen.high
    )
