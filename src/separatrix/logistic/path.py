"""A logistic model at every penalty of a list, each point started from those before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from separatrix.logistic.certificate import certify_logistic
from separatrix.logistic.fit import Posed, constant_start
from separatrix.logistic.newton import Descent, minimise
from separatrix.logistic.problem import LogisticProblem, LogisticSettings
from separatrix.logistic.proximal_newton import select
from separatrix.rows.block import Floats
from separatrix.threads import small_products

#: Share of the ℓ₁ part that the first penalty is computed for where there is none.
LEAST_SHARE = 0.01
#: Coefficients up to which degrees of freedom are counted by the curvature.
COUNTED = 1500


@dataclass(frozen=True)
class LogisticTrace:
    """The path, strongest penalty first. ``coefs`` is (points x scores x d).

    ``losses`` holds Σ w ℓ, ``gaps`` the certified distance of C·F from its best value, and
    ``freedom`` the effective number of coefficients, constants included.
    """

    Cs: Floats
    coefs: Floats
    intercepts: Floats
    losses: Floats
    gaps: Floats
    freedom: Floats
    thetas: Floats
    reached: bool


def grid(posed: Posed, number: int, eps: float, l1_ratio: float) -> Floats:
    """Values of C, evenly on a log scale: the first leaves all coefficients at zero.

    1/C₀ = max over columns of |slope of the constant model| / (ρ · size)
    """
    problem = posed.problem.penalised(0.0, 0.0)
    slope = problem.slope(constant_start(problem, posed.share)).gradient
    held = problem.size > 0.0
    pulls = np.abs(slope[held]) / problem.size[held, None]
    largest = float(pulls.max(initial=0.0)) / max(l1_ratio, LEAST_SHARE)
    largest = largest if largest > 0.0 else problem.weight
    return np.asarray(np.geomspace(1.0, 1.0 / eps, number) / largest)


def points(
    posed: Posed, Cs: Floats, settings: LogisticSettings
) -> Iterator[tuple[LogisticProblem, Descent]]:
    """The problem and where its descent ended, at every C in increasing order.

    Coefficients run about straight in log C, so each descent starts on the line through the last
    two; no further along it than those are apart, since a path of any C may turn.
    """
    theta = last = constant_start(posed.problem, posed.share)
    logs = np.log(np.asarray(Cs, dtype=float))
    gaps = np.diff(logs, prepend=[logs[0], logs[0]])
    for C, before, gap in zip(Cs, gaps[:-1], gaps[1:], strict=True):
        ahead = min(gap / before, 1.0) if before > 0.0 else 0.0
        point = replace(settings, penalty=1.0 / float(C))
        problem = posed.problem.penalised(point.penalty, point.l1_ratio)
        start = theta + ahead * (theta - last)
        found = (select if point.selects else minimise)(problem, start, point)
        theta, last = found.theta - found.step, theta
        yield problem, found


def trace(posed: Posed, Cs: Floats, settings: LogisticSettings) -> LogisticTrace:
    """Solve and certify at every C, in increasing order."""
    coefs, intercepts, losses, gaps, freedom, thetas = [], [], [], [], [], []
    reached = True
    with small_products(posed.start.size):
        for C, (problem, found) in zip(Cs, points(posed, Cs, settings), strict=True):
            certificate, theta, loss = certify_logistic(
                problem,
                found.theta,
                found.step,
                float(C),
                tolerance=settings.tol,
                scale=float(C) * problem.weight,
            )
            reached &= certificate.holds
            coef, intercept = problem.restore(theta)
            coefs.append(coef.T)
            intercepts.append(intercept)
            losses.append(loss)
            gaps.append(certificate.gap)
            freedom.append(effective(problem, theta, found.hessian))
            thetas.append(theta)
    return LogisticTrace(
        np.asarray(Cs, dtype=float),
        np.array(coefs),
        np.array(intercepts),
        np.array(losses),
        np.array(gaps),
        np.array(freedom),
        np.array(thetas),
        reached,
    )


def planes(posed: Posed, Cs: Floats, settings: LogisticSettings) -> Iterator[tuple[Floats, Floats]]:
    """Coefficients (scores x d) and intercepts at every C: what held-out rows are scored by."""
    for problem, found in points(posed, Cs, settings):
        coef, intercept = problem.restore(found.theta - found.step)
        yield coef.T, intercept


def effective(problem: LogisticProblem, theta: Floats, hessian: Floats | None) -> float:
    """trace of L (L + Q)⁻¹ over the coefficients that are not zero, L the likelihood's curvature.

    Without ℓ₂ part this is their number (less one per column where all scores of more than two
    classes may be raised alike).
    """
    free = (theta != 0.0) | (problem.size == 0.0)[:, None]
    at = np.flatnonzero(free.T.ravel())
    if theta.size > COUNTED:
        return float(len(at))
    if hessian is None:
        hessian = problem.curved(theta).hessian
    assert hessian is not None
    whole = hessian[np.ix_(at, at)]
    ridge = np.tile(problem.ridge, theta.shape[1])[at]
    values, vectors = np.linalg.eigh(whole)
    kept = values > 1e-10 * max(float(values[-1]) if len(values) else 0.0, np.finfo(float).tiny)
    held = np.einsum("ij,i,ij->j", vectors[:, kept], ridge, vectors[:, kept]) / values[kept]
    return float(np.sum(1.0 - held))
