"""From rows to a certified logistic model: set up, start, descend, prove."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from separatrix.messages import doubt
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Terms
from separatrix.solvers.logistic import Descent, metric, minimise
from separatrix.solvers.logistic_certificate import certify_logistic
from separatrix.solvers.logistic_problem import (
    LogisticProblem,
    LogisticSettings,
    discriminant_start,
    problem_of,
)
from separatrix.solvers.logistic_selection import select
from separatrix.solvers.separation import Separation
from separatrix.solvers.solution import Solution
from separatrix.statistics.derivatives import View
from separatrix.statistics.frame import Frame
from separatrix.statistics.moments import Moments


@dataclass(frozen=True)
class LogisticSolution(Solution):
    """A logistic fit with what inference needs.

    ``loss`` is Σ w ℓ; ``covariance`` is H⁻¹ over (score, coefficients, intercept) with scores
    outermost, empty where it has no meaning; ``theta`` lives in the problem's own coordinates.
    """

    loss: float = np.nan
    covariance: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    separation: Separation | None = None
    rank: int = 0
    theta: Floats = field(default_factory=lambda: np.zeros((0, 0)))


def fit_logistic(
    rows: Rows, moments: Moments, targets: Terms, settings: LogisticSettings
) -> LogisticSolution:
    """Fit from rows and their moments; ``targets`` are the indicators in the order of classes."""
    problem = problem_of(rows, moments, targets, settings)
    aligned = moments.aligned(moments.terms, targets)
    start = discriminant_start(problem, aligned)
    return solve_logistic(problem, start, settings, aligned.y_mean)


def fit_wide(rows: ArrayRows, targets: Terms, settings: LogisticSettings) -> LogisticSolution:
    """Fit where columns outnumber rows, without a matrix of columns by columns."""
    if settings.selects:
        problem, share = _many_columns(rows, targets, settings)
    else:
        problem, share = _span_of_rows(rows, targets, settings)
    theta = np.zeros((len(problem.scale), len(share)))
    if settings.fit_intercept:
        theta[-1] = np.log(share) - np.log(share).mean()
    start = theta[:, [1]] - theta[:, [0]] if problem.shape[1] == 1 else theta
    return solve_logistic(problem, start, settings, share)


def solve_logistic(
    problem: LogisticProblem, start: Floats, settings: LogisticSettings, share: Floats
) -> LogisticSolution:
    """Descend from ``start`` and certify; ``share`` holds the shares of the classes."""
    descend = select if settings.selects else minimise
    found = descend(problem, start, settings)
    factor = 1.0 / settings.penalty if settings.penalty > 0.0 else 1.0
    entropy = -float(np.sum(share * np.log(np.maximum(share, np.finfo(float).tiny))))
    certificate, theta, loss = certify_logistic(
        problem,
        found.theta,
        found.step,
        factor,
        tolerance=settings.tol if found.separation is None else np.nan,
        scale=factor * problem.weight * entropy,
        rank=problem.frame.rank if settings.penalty == 0.0 else None,
        dependent=problem.frame.dependent,
        **_words(found),
    )
    _doubts(problem, found, certificate.holds, settings)
    coef, intercept = problem.restore(theta)
    return LogisticSolution(
        coef,
        intercept,
        certificate,
        found.status,
        found.passes,
        found.history,
        loss=loss,
        covariance=_covariance(problem, found, settings),
        separation=found.separation,
        rank=problem.frame.rank,
        theta=theta,
    )


def _words(found: Descent) -> dict[str, object]:
    if found.separation is None:
        return {}
    kind = "completely" if found.separation.complete else "up to rows on the boundary"
    return {
        "claim": f"The classes are separable ({kind}), so no coefficients are the likeliest",
        "notes": (
            "Along separation_ every row's own score keeps or gains its lead over the others "
            f"(least gain {found.separation.low:.1e}, largest {found.separation.high:.1e}).",
        ),
    }


def _doubts(
    problem: LogisticProblem, found: Descent, holds: bool, settings: LogisticSettings
) -> None:
    if problem.frame.dependent and settings.penalty == 0.0:
        doubt(
            "SEP001",
            f"dependent columns: {', '.join(problem.frame.dependent)}. The probabilities are "
            "unique, the coefficients are not; the shortest were returned.",
        )
    if found.separation is not None:
        doubt(
            "SEP006",
            "the classes are separable: the likelihood rises for ever along separation_, and the "
            "coefficients are where the search stopped. Give a penalty, such as C=1.",
        )
    elif not holds:
        doubt(
            "SEP003",
            f"stopped after {found.passes} passes ({found.status}); see certificate_. Raise "
            "max_iter or tol.",
        )


def _covariance(problem: LogisticProblem, found: Descent, settings: LogisticSettings) -> Floats:
    """H⁻¹ carried to the coefficients of the table; only maximum likelihood has one."""
    width, k = problem.shape
    if settings.penalty > 0.0 or found.separation is not None or width * k > 2500:
        return np.zeros((0, 0))
    hessian = found.hessian
    if hessian is None:
        hessian = problem.curved(found.theta - found.step).hessian
    assert hessian is not None
    solve = metric(hessian, problem)
    frame, r = problem.frame, problem.frame.rank
    one = np.zeros((len(frame.centre) + 1, width))
    one[:-1, :r] = frame.matrix
    one[-1, :r] = -frame.centre @ frame.matrix
    one[-1, r:] = 1.0
    whole = linalg.block_diag(*[one] * k)
    columns = [solve(row.reshape(k, width).T).T.ravel() for row in whole]
    return np.asarray(whole @ np.array(columns).T)


# -- more columns than rows --------------------------------------------------------------------


def _spread(rows: ArrayRows) -> tuple[Floats, Floats, Floats, Floats]:
    """Weights, means, deviations and shares of classes, column by column."""
    block = rows.block
    w = np.ones(block.n) if block.w is None else block.w
    mean = np.asarray(block.x.T @ w).ravel() / w.sum()
    square = np.zeros_like(mean)
    for start in range(0, block.n, 64):
        square += w[start : start + 64] @ (block.dense(start, start + 64) - mean) ** 2
    share = w @ block.y / w.sum()
    return w, mean, np.sqrt(square / w.sum()), share


def _many_columns(
    rows: ArrayRows, targets: Terms, settings: LogisticSettings
) -> tuple[LogisticProblem, Floats]:
    w, mean, deviation, share = _spread(rows)
    centre = mean if settings.fit_intercept else np.zeros_like(mean)
    size = deviation if settings.fit_intercept else np.sqrt(deviation**2 + mean**2)
    unit = np.where(size > 1e-15 * np.abs(mean), size, 1.0)
    unit[unit == 0.0] = 1.0
    frame = Frame(centre, unit, None, share, settings.fit_intercept)
    v = deviation if settings.standardize else np.ones_like(unit)
    width = len(unit) + int(settings.fit_intercept)
    lasso, ridge = np.zeros(width), np.zeros(width)
    lasso[: len(unit)] = settings.penalty * settings.l1_ratio * v / unit
    ridge[: len(unit)] = settings.penalty * (1.0 - settings.l1_ratio) * (v / unit) ** 2
    scale = np.append(unit, np.ones(int(settings.fit_intercept)))
    view = View(targets, centre, None, settings.fit_intercept)
    problem = LogisticProblem(rows, view, scale, ridge, lasso, float(w.sum()), frame)
    return problem, share


def _span_of_rows(
    rows: ArrayRows, targets: Terms, settings: LogisticSettings
) -> tuple[LogisticProblem, Floats]:
    """Coordinates within the span of the rows, where the shortest coefficients lie."""
    w, mean, deviation, share = _spread(rows)
    block = rows.take(w > 0).block
    v = deviation if settings.standardize or settings.penalty == 0.0 else np.ones_like(mean)
    v = np.where(v > 1e-15 * np.abs(mean), v, np.inf)
    centre = mean if settings.fit_intercept else np.zeros_like(mean)
    x = (block.dense() - centre) / v
    value, vector = linalg.eigh(x @ x.T)
    kept = value > 1e-13 * max(float(value[-1]), np.finfo(float).tiny) * len(value)
    singular, vector = np.sqrt(value[kept]), vector[:, kept]
    z = vector * singular
    turn = (x.T @ vector) / singular / v[:, None]
    scale = singular / np.sqrt(block.n)
    frame = Frame(centre, scale, turn, share, settings.fit_intercept)
    flat = ArrayRows(z, block.y, block.w, targets=block.targets.items)
    ones = np.ones(int(settings.fit_intercept))
    view = View(targets, np.zeros(len(scale)), None, settings.fit_intercept)
    ridge = np.append(settings.penalty / scale**2, 0.0 * ones)
    problem = LogisticProblem(
        flat,
        view,
        np.append(scale, ones),
        ridge,
        np.zeros(len(ridge)),
        float(w.sum()),
        frame,
    )
    return problem, share
