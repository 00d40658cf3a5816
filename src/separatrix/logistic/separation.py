"""Separation: directions along which the logistic likelihood increases without a maximum.

The maximum likelihood estimate exists unless some direction v, other than one that changes no
score, never decreases the margin of a row, the score of its class minus that of another:

    (v_y − v_k)·z ≥ 0   for all rows and classes k,   and > 0 for some

With v the likelihood increases towards its supremum at infinity. If all margins are positive the
separation is complete, else quasi-complete: some rows lie on the boundary (Albert and Anderson).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.optimize import linprog

from separatrix.logistic.problem import LogisticProblem
from separatrix.probability.likelihood.derivatives import Chunk, ScoreMargins
from separatrix.rows.block import Floats

#: Margins below these fractions of the largest one are taken to be zero, and then made so.
NEAR_ZERO = (1e-3, 0.05, 0.3)
#: Margins that rounding may leave below zero, as a fraction of the largest.
ROUNDING = 1e-13
#: Rows that are factorized at once.
MAX_STACKED = 5_000
#: Parameters up to which quasi-complete separation is sought, and numbers in a linear program.
MAX_PARAMETERS, MAX_PROGRAM = 2500, 2_000_000


@dataclass(frozen=True)
class Separation:
    """A separating direction: coefficients (d x scores) and intercepts.

    ``smallest_margin`` and ``largest_margin`` over all rows prove it; if ``complete``, every row is
    strictly on the side of its class.
    """

    coef: Floats
    intercept: Floats
    smallest_margin: float
    largest_margin: float
    complete: bool


def quasi_separation(problem: LogisticProblem, theta: Floats, step: Floats) -> Separation | None:
    """A direction with some rows on the boundary, or None if none was found.

    Far from the origin the step keeps only what still increases the likelihood, and θ itself is
    mostly made of such steps. Rows whose margin either nearly leaves at zero must stay there
    exactly: the direction is projected accordingly, and then the margins of all rows are checked.
    """
    finite = np.isfinite(step).all() and np.isfinite(theta).all()
    if theta.size > MAX_PARAMETERS or not finite:
        return None
    for direction in (-step, theta):
        margins = _margins(problem, direction)
        for fraction in NEAR_ZERO:
            tolerance = fraction * margins.largest
            if margins.largest > 0.0 and margins.smallest >= -tolerance:
                found = _projected(problem, direction, tolerance)
                if found is not None:
                    return found
    return None


def separation_by_linear_program(problem: LogisticProblem) -> Separation | None:
    """The largest sum of margins with none of them negative, for tables small enough.

    None if there is no separation, and for larger tables.
    """
    width, k = problem.shape
    block = problem.rows.collect()
    if block.n * max(k - 1, 1) * width * k > MAX_PROGRAM:
        return None
    none = np.zeros((width, k))
    chunks = problem.design.chunks(block)
    rows = np.concatenate([_margin_rows(problem, chunk, none, 0.0) for chunk in chunks])
    best = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1.0, 1.0))
    if best.x is None:
        return None
    direction = best.x.reshape(k, width).T
    largest = float((rows @ best.x).max(initial=0.0))
    return _projected(problem, direction, 1e-5 * largest) if largest > 1e-5 else None


def _margin_rows(
    problem: LogisticProblem, chunk: Chunk, direction: Floats, tolerance: float
) -> Floats:
    """One row a, in units of θ, for each margin a·v of a row that is within ``tolerance`` of 0."""
    z, indicators, w = chunk
    z, own = z[w > 0.0], indicators[w > 0.0] > 0.5
    scores = z @ (direction / problem.scale[:, None])
    if problem.shape[1] == 1:
        sign = np.where(own[:, 1], 1.0, -1.0)
        near = np.abs(scores[:, 0]) <= tolerance
        return np.asarray(sign[near, None] * z[near] / problem.scale)
    margins = scores[own][:, None] - scores
    i, j = np.nonzero((np.abs(margins) <= tolerance) & ~own)
    rows = np.zeros((len(i), own.shape[1], z.shape[1]))
    unit = z[i] / problem.scale
    rows[np.arange(len(i)), own.argmax(axis=1)[i]] = unit
    rows[np.arange(len(i)), j] = -unit
    return rows.reshape(len(i), -1)


def _margins(problem: LogisticProblem, direction: Floats) -> ScoreMargins:
    scaled = direction / problem.scale[:, None]
    return problem.rows.reduce(ScoreMargins(problem.design, scaled))


def _projected(problem: LogisticProblem, direction: Floats, tolerance: float) -> Separation | None:
    """The direction projected so that margins within ``tolerance`` are zero, if it separates.

    The rows themselves are factorized, not their products: two that differ by 10⁻⁹ are not taken
    for one.
    """
    k, p = direction.shape[1], direction.size
    factor = np.zeros((0, p))
    for block in problem.rows.blocks():
        for chunk in problem.design.chunks(block):
            near = _margin_rows(problem, chunk, direction, tolerance)
            for start in range(0, len(near), MAX_STACKED):
                factor = np.vstack([factor, near[start : start + MAX_STACKED]])
                if len(factor) > p:
                    factor = linalg.qr(factor, mode="r", check_finite=False)[0][:p]
    values, right = linalg.svd(factor, check_finite=False)[1:] if len(factor) else ([], np.eye(p))
    rank = int((np.asarray(values) > ROUNDING * max([1.0, *values[:1]])).sum())
    null = right[rank:].T
    projected = null @ (null.T @ direction.T.ravel())
    if not np.linalg.norm(projected) > 1e-6 * np.linalg.norm(direction):
        return None
    return verified_separation(problem, projected.reshape(k, -1).T)


def verified_separation(problem: LogisticProblem, direction: Floats) -> Separation | None:
    """The direction as a separation, if the margins of all rows agree."""
    direction = direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
    margins = _margins(problem, direction)
    smallest, largest = float(margins.smallest), float(margins.largest)
    if not largest > 1e-6 or smallest < -ROUNDING * largest:
        return None
    coef, intercept = problem.unscale(direction)
    return Separation(coef, intercept, smallest, largest, complete=smallest > ROUNDING * largest)
