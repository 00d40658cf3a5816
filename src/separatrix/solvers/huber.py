"""Huber regression with its scale: robust to outliers, whatever the units of the target.

    min over b, a, σ > 0 of Σ w (σ + σ·H((y − a − b·x)/σ)) + α‖b‖²
    H(z) = z² for |z| ≤ ε,  2ε|z| − ε² beyond

The sum is convex in (b, a, σ) together. Each row of slope u = clip(r/σ, −ε, ε) contributes
−2w·u·(x, 1) and w(1 − u²) to the gradient, and 2w/σ·(x, 1, u)(x, 1, u)ᵀ to the curvature if it is
no outlier: sums over rows, so a pass over the blocks of a table is one evaluation. The dual is

    max of 2 Σ w u y − ‖Xᵀ(w u)‖²/α   with |u| ≤ ε, Σ w u = 0, Σ w u² ≤ Σ w

and the slopes at the answer, made to balance exactly, bound the objective from below.
Where a majority of rows lies on one plane exactly, the best σ is 0; it is then held at a floor
far below the spread of y, and the objective is that of the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from separatrix.losses import Huber
from separatrix.messages import doubt
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import Rows
from separatrix.solvers.newton import newton
from separatrix.solvers.solution import Certificate, Solution
from separatrix.statistics.frame import Frame, frame_of
from separatrix.statistics.moments import Moments

EPS = float(np.finfo(float).eps)
#: Least σ, as a fraction of the spread of y.
FLOOR = 1e-9
#: Least σ to start from: below it, a poor first fit would leave no row inside the parabola.
START = 1e-3
#: σ falls by no more than this factor in one step, so that inliers are never lost at a stroke.
FALL = 0.1


@dataclass(frozen=True)
class _Setting:
    """The problem in its frame: z, y in units of its spread, and the penalty βᵀPβ."""

    frame: Frame
    unit: float
    loss: Huber
    penalty: Floats
    fit_intercept: bool

    def split(self, theta: Floats) -> tuple[Floats, float, float]:
        """(β, a, σ)."""
        r = self.frame.rank
        return theta[:r], float(theta[r]) if self.fit_intercept else 0.0, float(theta[-1])


class _Derivatives:
    """Value, gradient and curvature of the loss at ``theta``; adds up over blocks."""

    def __init__(self, setting: _Setting, theta: Floats) -> None:
        p = len(theta)
        self.setting, self.theta = setting, theta
        self.value, self.gradient, self.hessian = 0.0, np.zeros(p), np.zeros((p, p))

    def fresh(self) -> Self:
        """An empty one at the same point."""
        return type(self)(self.setting, self.theta)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        beta, constant, sigma = self.setting.split(self.theta)
        loss = self.setting.loss
        for z, y, w in self.setting.frame.pieces(block):
            ratio = (y[:, 0] / self.setting.unit - z @ beta - constant) / sigma
            u = loss.slope(ratio)
            extra = [np.ones_like(u), u] if self.setting.fit_intercept else [u]
            a = np.column_stack([z, *extra])
            self.value += float(w @ (1.0 + 2.0 * loss.value(ratio))) * sigma
            self.gradient -= 2.0 * (a.T @ (w * u))
            self.gradient[-1] += float(w @ (1.0 + u * u))  # which makes it Σ w (1 − u²)
            a *= np.sqrt(w * loss.curvature(ratio) * (2.0 / sigma))[:, None]
            self.hessian += a.T @ a

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.value = self.value + other.value
        total.gradient = self.gradient + other.gradient
        total.hessian = self.hessian + other.hessian
        return total


class _HuberProblem:
    """The objective for :func:`newton`; the last point's derivatives are kept."""

    def __init__(self, rows: Rows, setting: _Setting) -> None:
        self.rows, self.setting = rows, setting
        self._at: _Derivatives | None = None

    def _derivatives(self, theta: Floats) -> _Derivatives:
        if self._at is None or not np.array_equal(self._at.theta, theta):
            found = self.rows.reduce(_Derivatives(self.setting, theta))
            r = self.setting.frame.rank
            pull = self.setting.penalty @ theta[:r]
            found.value += float(theta[:r] @ pull)
            found.gradient[:r] += 2.0 * pull
            found.hessian[:r, :r] += 2.0 * self.setting.penalty
            self._at = found
        return self._at

    def value(self, theta: Floats) -> float:
        return self._derivatives(theta).value

    def gradient(self, theta: Floats) -> Floats:
        return self._derivatives(theta).gradient

    def hessian(self, theta: Floats) -> Floats:
        return self._derivatives(theta).hessian

    def lower(self, theta: Floats) -> Floats:
        low = np.full(len(theta), -np.inf)
        low[-1] = max(FLOOR, FALL * theta[-1])
        return low


class _DualSums:
    """What the dual needs of the slopes u + z·c + c₀ that balance: three sums and a maximum."""

    def __init__(self, setting: _Setting, theta: Floats, shift: Floats) -> None:
        self.setting, self.theta, self.shift = setting, theta, shift
        self.work = self.square = self.beyond = self.largest = 0.0

    def fresh(self) -> Self:
        """An empty one for the same slopes."""
        return type(self)(self.setting, self.theta, self.shift)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        beta, constant, sigma = self.setting.split(self.theta)
        r = self.setting.frame.rank
        for z, y, w in self.setting.frame.pieces(block):
            target = y[:, 0] / self.setting.unit
            residual = target - z @ beta - constant
            u = self.setting.loss.slope(residual / sigma) + z @ self.shift[:r]
            u += self.shift[r:].sum()
            outside = np.abs(residual) > 16 * EPS
            self.work += float((w * u) @ target)
            self.square += float((w * u) @ u)
            self.beyond += float(w[outside] @ np.abs(residual[outside]))
            self.largest = max(self.largest, float(np.abs(u).max(initial=0.0)))

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.work, total.square = self.work + other.work, self.square + other.square
        total.beyond = self.beyond + other.beyond
        total.largest = max(self.largest, other.largest)
        return total


def fit_huber(
    rows: Rows,
    moments: Moments,
    *,
    epsilon: float,
    alpha: float,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
) -> Solution:
    """Newton's method from the least-squares fit; ``extra["scale"]`` is σ in the units of y."""
    frame = frame_of(rows, moments, fit_intercept=fit_intercept)
    m = moments if fit_intercept else moments.about_origin()
    unit = float(np.sqrt(m.yy[0, 0] / m.weight)) or 1.0
    matrix = frame.matrix
    setting = _Setting(
        frame, unit, Huber(epsilon), alpha * unit * (matrix.T @ matrix), fit_intercept
    )
    beta = frame.least_squares(moments)[:, 0] / unit
    left = float(m.yy[0, 0] / unit**2 - beta @ (matrix.T @ m.xy)[:, 0] / unit) / m.weight
    start = np.concatenate(
        [beta, np.zeros(int(fit_intercept)), [max(np.sqrt(max(left, 0.0)), START)]]
    )
    problem = _HuberProblem(rows, setting)
    found = newton(problem, start, tol=tol, max_iter=max_iter, slope_unit=2.0 * m.weight)
    certificate = _certify(problem, found, moments, tol)
    if not certificate.holds:
        doubt("SEP003", f"Huber regression: {certificate}")
    b, a, sigma = setting.split(found.coef[:, 0])
    coef, intercept = frame.restore(b[:, None] * unit, np.array([a * unit]))
    return Solution(
        coef,
        intercept,
        certificate,
        found.status,
        found.iterations,
        found.history * unit,
        {"scale": sigma * unit},
    )


def _certify(problem: _HuberProblem, found: Solution, moments: Moments, tol: float) -> Certificate:
    """Primal and dual objective, in the units of y; the dual from slopes that balance exactly."""
    s, theta = problem.setting, found.coef[:, 0]
    beta, _, sigma = s.split(theta)
    slope = problem.gradient(theta)
    r, gram = s.frame.rank, s.frame.gram(moments)
    # moving u by z·c + c₀ changes its pull on (β, a) by the Gram matrix times (c, c₀)
    shift = 0.5 * np.concatenate([np.linalg.solve(gram, slope[:r]), slope[r:-1] / moments.weight])
    sums = problem.rows.reduce(_DualSums(s, theta, shift))
    shrink = min(
        1.0,
        s.loss.epsilon / max(sums.largest, EPS),
        float(np.sqrt(moments.weight / max(sums.square, EPS))),
    )
    pull = float(beta @ s.penalty @ beta)
    at_floor = sigma <= FLOOR
    primal = 2.0 * s.loss.epsilon * sums.beyond + pull if at_floor else problem.value(theta)
    # u = 0 is always allowed, hence no dual is below 0
    dual = min(max(2.0 * shrink * sums.work - shrink**2 * pull, 0.0), primal)
    notes = ("A majority of rows lies on the plane exactly: the scale is zero.",) * at_floor
    return Certificate(
        "Huber regression with its scale: a convex problem, solved by Newton's method",
        primal=primal * s.unit,
        dual=dual * s.unit,
        gap=(primal - dual) * s.unit,
        kkt=found.certificate.kkt,
        # residuals are known to rounding only, and σ magnifies them
        tolerance=max(tol, 64 * EPS / sigma),
        dependent=s.frame.dependent,
        notes=notes,
    )
