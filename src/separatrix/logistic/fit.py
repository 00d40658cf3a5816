"""From rows to a certified logistic model: set up, start, descend, prove."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.logistic.certificate import certify_logistic
from separatrix.logistic.derivatives import View
from separatrix.logistic.newton import Descent, minimise
from separatrix.logistic.preconditioner import LARGEST_METRIC, metric
from separatrix.logistic.problem import (
    LogisticProblem,
    LogisticSettings,
    assemble,
    discriminant_start,
    problem_of,
)
from separatrix.logistic.proximal_newton import ALL, select
from separatrix.logistic.separation import Separation
from separatrix.messages import warn
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Terms
from separatrix.statistics.moments import Moments
from separatrix.statistics.preconditioner import Preconditioner


@dataclass(frozen=True)
class LogisticSolution(Solution):
    """A logistic fit with what inference needs.

    ``loss`` is Σ w ℓ; ``covariance`` is H⁻¹ over (score, coefficients, intercept) with scores
    outermost, empty where it has no meaning; ``identified`` marks coefficients (and, last, the
    intercept) that dependent columns leave unique; ``theta`` lives in the problem's own
    coordinates.
    """

    loss: float = np.nan
    covariance: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    identified: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    separation: Separation | None = None
    rank: int = 0
    theta: Floats = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class Posed:
    """A problem, where to start on it, and the shares of the classes."""

    problem: LogisticProblem
    start: Floats
    share: Floats


def pose(rows: Rows, moments: Moments, targets: Terms, settings: LogisticSettings) -> Posed:
    """From rows and their moments; ``targets`` are the indicators in the order of classes."""
    problem = problem_of(rows, moments, targets, settings)
    aligned = moments.aligned(moments.terms, targets)
    width, k = problem.shape
    if settings.selects and width * k > ALL:  # working sets grow from nothing
        return Posed(problem, constant_start(problem, aligned.y_mean), aligned.y_mean)
    return Posed(problem, discriminant_start(problem, aligned), aligned.y_mean)


def pose_wide(rows: ArrayRows, targets: Terms, settings: LogisticSettings) -> Posed:
    """Where columns outnumber rows: without a matrix of columns by columns."""
    setup = _many_columns if settings.selects else _span_of_rows
    problem, share = setup(rows, targets, settings)
    return Posed(problem, constant_start(problem, share), share)


def constant_start(problem: LogisticProblem, share: Floats) -> Floats:
    """The best model without columns."""
    theta = np.zeros((len(problem.scale), len(share)))
    if problem.view.constant:
        logs = np.log(np.maximum(share, np.finfo(float).tiny))
        theta[-1] = logs - logs.mean()
    return theta[:, [1]] - theta[:, [0]] if problem.shape[1] == 1 else theta


def fit_logistic(
    rows: Rows, moments: Moments, targets: Terms, settings: LogisticSettings
) -> LogisticSolution:
    """Pose and solve."""
    posed = pose(rows, moments, targets, settings)
    return solve_logistic(posed.problem, posed.start, settings, posed.share)


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
    if found.separation is not None:
        certificate = _unbounded(certificate, found.separation)
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
        identified=_identified(problem.frame),
        separation=found.separation,
        rank=problem.frame.rank,
        theta=theta,
    )


def _unbounded(certificate: Certificate, separation: Separation) -> Certificate:
    """What is known where no coefficients are best: classes that part completely tend to loss 0."""
    if separation.complete:
        return replace(certificate, dual=0.0, gap=certificate.primal)
    return replace(certificate, dual=np.nan, gap=np.nan)


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
        warn(
            "SEP001",
            f"dependent columns: {', '.join(problem.frame.dependent)}. The probabilities are "
            "unique, the coefficients are not; the shortest were returned.",
        )
    if found.separation is not None:
        warn(
            "SEP006",
            "the classes are separable: the likelihood rises for ever along separation_, and the "
            "coefficients are where the search stopped. Give a penalty, such as C=1.",
        )
    elif not holds:
        warn(
            "SEP003",
            f"stopped after {found.passes} passes ({found.status}); see certificate_. Raise "
            "max_iter or tol.",
        )


def _covariance(problem: LogisticProblem, found: Descent, settings: LogisticSettings) -> Floats:
    """H⁻¹ carried to the coefficients of the table; only maximum likelihood has one."""
    width, k = problem.shape
    if settings.penalty > 0.0 or found.separation is not None or width * k > LARGEST_METRIC:
        return np.zeros((0, 0))
    hessian = found.hessian
    if hessian is None:
        hessian = problem.curved(found.theta - found.step).hessian
    assert hessian is not None
    solve = metric(hessian, problem)
    frame, r = problem.frame, problem.frame.rank
    one = np.zeros((len(frame.center) + 1, width))
    one[:-1, :r] = frame.matrix
    one[-1, :r] = -frame.center @ frame.matrix
    one[-1, r:] = 1.0
    whole = linalg.block_diag(*[one] * k)
    columns = [solve(row.reshape(k, width).T).T.ravel() for row in whole]
    return np.asarray(whole @ np.array(columns).T)


def _identified(frame: Preconditioner) -> NDArray[np.bool_]:
    """Which coefficients all likeliest models share: eⱼ, or for the intercept the centre, must lie
    in the span of the rows about their centre.
    """
    d = len(frame.center)
    if frame.rotation is None:
        return np.ones(d + 1, dtype=bool)
    size = np.linalg.norm(frame.matrix, axis=1)
    unit = np.where(size > 0.0, size, 1.0)
    span = linalg.orth(frame.matrix / unit[:, None], rcond=1e-10)
    own = np.sum(span**2, axis=1) > 1.0 - 1e-8
    far = frame.center / unit
    left = np.linalg.norm(far - span @ (span.T @ far))
    return np.append(own, left <= 1e-8 * np.linalg.norm(far))


# -- more columns than rows --------------------------------------------------------------------


def _spread(rows: ArrayRows) -> tuple[Floats, Floats, Floats, Floats]:
    """Weights, means, deviations and shares of classes, column by column."""
    block = rows.block
    w = block.weights
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
    frame = Preconditioner(centre, unit, None, share, settings.fit_intercept)
    size = (deviation if settings.standardize else 1.0) / unit
    view = View(targets, centre, None, settings.fit_intercept)
    return assemble(rows, view, frame, size, float(w.sum()), settings), share


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
    frame = Preconditioner(centre, scale, turn, share, settings.fit_intercept)
    flat = ArrayRows(z, block.y, block.w, targets=block.targets.items)
    view = View(targets, np.zeros(len(scale)), None, settings.fit_intercept)
    return assemble(flat, view, frame, 1.0 / scale, float(w.sum()), settings), share
