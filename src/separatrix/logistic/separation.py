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
from scipy.optimize import linprog

from separatrix.logistic.derivatives import LeadOf
from separatrix.logistic.problem import LogisticProblem
from separatrix.rows.block import Floats

#: Leads below these shares of the largest one are taken to be zero, and then made so.
EDGES = (1e-3, 0.05, 0.3)
#: Leads that may be left below zero by rounding, as a share of the largest.
ROUNDING = 1e-9
#: Parameters up to which rows on the boundary are looked for, and numbers in a linear programme.
LARGEST, PROGRAMME = 2500, 2_000_000


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


def completely(problem: LogisticProblem, theta: Floats) -> Separation | None:
    """θ itself as the direction, where it has every row on its own side."""
    return _proved(problem, theta)


def along_boundary(problem: LogisticProblem, theta: Floats, step: Floats) -> Separation | None:
    """A direction that leaves some rows on the boundary, or None if none was found.

    Far out, the step keeps only what still raises the likelihood, and θ itself is mostly made of
    such steps. Rows that either nearly leaves alone must be left alone exactly: it is projected on
    the directions that do, and then the margins of all rows are checked.
    """
    if theta.size > LARGEST or not (np.isfinite(step).all() and np.isfinite(theta).all()):
        return None
    for direction in (-step, theta):
        seen = _leads(problem, direction, 0.0)
        for edge in EDGES:
            if seen.high > 0.0 and seen.low >= -edge * seen.high:
                found = _projected(problem, direction, edge * seen.high)
                if found is not None:
                    return found
    return None


def by_programming(problem: LogisticProblem) -> Separation | None:
    """Decided by linear programming: the largest sum of leads with none of them negative.

    For tables small enough for it; None also stands for the others.
    """
    width, k = problem.shape
    block = problem.rows.collect()
    if block.n * max(k - 1, 1) * width * k > PROGRAMME:
        return None
    leads = np.concatenate([_lead_rows(problem, piece) for piece in problem.view.pieces(block)])
    leads /= np.tile(problem.scale, k)
    best = linprog(-leads.sum(axis=0), A_ub=-leads, b_ub=np.zeros(len(leads)), bounds=(-1.0, 1.0))
    if best.x is None:
        return None
    direction = best.x.reshape(k, width).T
    high = float((leads @ best.x).max(initial=0.0))
    return _projected(problem, direction, 1e-5 * high) if high > 1e-5 else None


def _lead_rows(problem: LogisticProblem, piece: tuple[Floats, Floats, Floats]) -> Floats:
    """One row a for each lead a·v of a row's own score over another one."""
    z, hot, w = piece
    z, hot = z[w > 0.0], hot[w > 0.0]
    if problem.shape[1] == 1:
        return np.asarray(z * np.where(hot[:, [1]] > 0.5, 1.0, -1.0))
    k = hot.shape[1]
    own = hot > 0.5
    apart = own[:, None, :].astype(float) - np.eye(k)
    return np.asarray(
        (apart[:, :, :, None] * z[:, None, None, :])[~own].reshape(-1, k * z.shape[1])
    )


def _leads(problem: LogisticProblem, direction: Floats, edge: float) -> LeadOf:
    return problem.rows.reduce(LeadOf(problem.view, direction / problem.scale[:, None], edge))


def _projected(problem: LogisticProblem, direction: Floats, edge: float) -> Separation | None:
    """The part of a direction that leaves all leads within ``edge`` at zero, if it is one."""
    k = direction.shape[1]
    unit = np.tile(problem.scale, k)
    touching = _leads(problem, direction, edge).touching
    value, vector = linalg.eigh(touching / np.outer(unit, unit))
    most = max(float(value[-1]), np.finfo(float).tiny)
    free = vector[:, value <= 1e-12 * most]
    flat = free @ (free.T @ direction.T.ravel())
    if not np.linalg.norm(flat) > 1e-6 * np.linalg.norm(direction):
        return None
    return _proved(problem, flat.reshape(k, -1).T)


def _proved(problem: LogisticProblem, direction: Floats) -> Separation | None:
    """The direction as a separation, if the margins of all rows agree."""
    direction = direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
    seen = _leads(problem, direction, 0.0)
    if not seen.high > 1e-6 or seen.low < -ROUNDING * seen.high:
        return None
    coef, intercept = problem.restore(direction)
    low, high = float(seen.low), float(seen.high)
    return Separation(coef, intercept, low, high, complete=low > ROUNDING * high)
