"""Inference where classes are quasi-completely separable: what stays finite in the limit.

Along a direction of recession v the likelihood increases towards its supremum at infinity. In the
limit the margins that v moves no longer count, and the others determine every combination of
coefficients that is orthogonal to all such directions, as maximum likelihood does elsewhere:

    θ(t) = θ* + t v,    ∇²F(θ(t)) → H,    H v = 0,    covariance H⁺ on the complement of null H

A level that occurs in one class alone thus has no finite coefficient, and takes nothing away from
the coefficients of other columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.logistic.problem import LogisticProblem
from separatrix.logistic.separation import Separation
from separatrix.rows.block import Floats

#: Largest margin along the direction of recession: rows of a ten-thousandth of it count no more.
FAR = 4e5
#: Curvatures below this fraction of the largest are zero in the limit.
FLAT = 1e-10
#: Passes at most; directions that the first one does not include need some thirty.
PASSES = 80


@dataclass(frozen=True)
class Limit:
    """Coefficients (scores x terms, the intercept last) and their covariance in the limit.

    ``infinite`` (scores · terms x directions) spans the directions of recession: a coefficient with
    an entry other than zero has no finite estimate. ``loss`` is the infimum of Σ w ℓ.
    """

    estimates: Floats
    covariance: Floats
    infinite: Floats
    loss: float


def limit_of(problem: LogisticProblem, theta: Floats, separation: Separation) -> Limit | None:
    """The limit of quasi-completely separable classes; None where it was not reached."""
    width, k = problem.shape
    shift = np.zeros((width * k, width * k))
    if k > 1:  # a common shift of all scores, which changes nothing, is given a curvature
        shift += np.kron(np.ones((k, k)), np.eye(width)) * (problem.weight / k**2)
    theta = theta + FAR / separation.largest_margin * _direction(problem, separation)
    at = problem.hessian(theta)
    for _ in range(PASSES):
        assert at.hessian is not None
        values, vectors = linalg.eigh(at.hessian + shift)
        finite = values > FLAT * values[-1]
        root = vectors[:, finite] / np.sqrt(values[finite])
        step = (root @ (root.T @ at.gradient.T.ravel())).reshape(k, width).T
        if np.abs(step).max() <= 1e-7:
            return _in_table_units(problem, theta - step, root, vectors[:, ~finite], at.value)
        new = problem.hessian(theta - step)
        while new.value > at.value + 1e-9 * problem.weight and np.abs(step).max() > 1e-7:
            step = step / 2
            new = problem.hessian(theta - step)
        theta, at = theta - step, new
    return None


def _direction(problem: LogisticProblem, separation: Separation) -> Floats:
    """The direction of recession in the coordinates of the problem."""
    p = problem.preconditioner
    z = linalg.lstsq(p.matrix, separation.coef)[0]
    if not problem.design.intercept:
        return np.asarray(z)
    return np.vstack([z, separation.intercept + p.center @ separation.coef])


def _in_table_units(
    problem: LogisticProblem, theta: Floats, root: Floats, flat: Floats, loss: float
) -> Limit:
    """Coefficients, covariance and directions of recession; ``root`` rootᵀ is H⁺."""
    k = theta.shape[1]
    coef, intercept = problem.unscale(theta)
    jacobian = linalg.block_diag(*[jacobian_of(problem)] * k)
    infinite = jacobian @ flat
    infinite[np.abs(infinite) <= 1e-6 * np.linalg.norm(jacobian, axis=1)[:, None]] = 0.0
    spread = jacobian @ root
    estimates = np.column_stack([coef.T, intercept])
    return Limit(estimates, np.asarray(spread @ spread.T), infinite, loss)


def jacobian_of(problem: LogisticProblem) -> Floats:
    """The coefficients of the table, and last the intercept, as linear in those of one score."""
    p, r = problem.preconditioner, problem.preconditioner.rank
    one = np.zeros((len(p.center) + 1, problem.shape[0]))
    one[:-1, :r] = p.matrix
    one[-1, :r] = -p.center @ p.matrix
    one[-1, r:] = 1.0
    return one
