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
from scipy import linalg

from separatrix.messages import warn
from separatrix.optimize.losses import Huber
from separatrix.optimize.newton import newton
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preconditioner import Preconditioner, precondition

EPS = float(np.finfo(float).eps)
#: Least σ, as a fraction of the objective per row.
FLOOR = 1e-9
#: Least-squares residuals, relative to the spread of y, below which a fit counts as exact.
EXACT = 1e-9
#: σ falls by no more than these factors in one step: if the plane has settled, and if it has not.
FALL, FALL_LATER = 0.1, 0.7
#: Slope along the plane, relative to the terms that cancel in it, at which it has settled.
SETTLED = 0.02


@dataclass(frozen=True)
class _Setting:
    """The problem in its frame, about the least-squares fit ``start``, in units of its residuals.

    The penalty is βᵀPβ for β = start + δ, δ being what is sought; ``noise`` is the rounding of y.
    """

    frame: Preconditioner
    start: Floats
    unit: float
    noise: float
    loss: Huber
    penalty: Floats
    floor: float
    fit_intercept: bool

    def target(self, z: Floats, y: Floats) -> Floats:
        """Residuals of the least-squares fit, in their own units."""
        return np.asarray((y[:, 0] - z @ self.start) / self.unit)

    def split(self, theta: Floats) -> tuple[Floats, float, float]:
        """(β, a, σ)."""
        r = self.frame.rank
        return theta[:r], float(theta[r]) if self.fit_intercept else 0.0, float(theta[-1])


class _Derivatives:
    """Value, gradient and curvature of the loss at ``theta``; adds up over blocks."""

    def __init__(self, setting: _Setting, theta: Floats) -> None:
        p = len(theta)
        self.setting, self.theta = setting, theta
        self.weight, self.value = 0.0, 0.0
        self.gradient, self.hessian = np.zeros(p), np.zeros((p, p))

    def fresh(self) -> Self:
        """An empty one at the same point."""
        return type(self)(self.setting, self.theta)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        beta, constant, sigma = self.setting.split(self.theta)
        loss = self.setting.loss
        for z, y, w in self.setting.frame.chunks(block):
            ratio = (self.setting.target(z, y) - z @ beta - constant) / sigma
            u = loss.gradient(ratio)
            extra = [np.ones_like(u), u] if self.setting.fit_intercept else [u]
            a = np.column_stack([z, *extra])
            self.weight += float(w.sum())
            self.value += float(w @ (1.0 + 2.0 * loss.value(ratio))) * sigma
            self.gradient -= 2.0 * (a.T @ (w * u))
            self.gradient[-1] += float(w @ (1.0 + u * u))  # which makes it Σ w (1 − u²)
            a *= np.sqrt(w * loss.second_derivative(ratio) * (2.0 / sigma))[:, None]
            self.hessian += a.T @ a

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.weight, total.value = self.weight + other.weight, self.value + other.value
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
            beta = theta[:r] + self.setting.start / self.setting.unit
            pull = self.setting.penalty @ beta
            found.value += float(beta @ pull)
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
        """σ falls fast only where the plane has settled: else its inliers would be lost."""
        found = self._derivatives(theta)
        settled = np.abs(found.gradient[:-1]).max(initial=0.0) <= SETTLED * 2.0 * found.weight
        low = np.full(len(theta), -np.inf)
        low[-1] = max(self.setting.floor, (FALL if settled else FALL_LATER) * theta[-1])
        return low

    def metric(self, theta: Floats) -> Floats:
        """2Σw/σ bounds the curvature along z and the constant; ε² times that along σ."""
        bound = np.full(len(theta), 2.0 * self._derivatives(theta).weight / theta[-1])
        bound[-1] *= self.setting.loss.epsilon**2
        return bound


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
        for z, y, w in self.setting.frame.chunks(block):
            target = self.setting.target(z, y)
            residual = target - z @ beta - constant
            u = self.setting.loss.gradient(residual / sigma) + z @ self.shift[:r]
            u += self.shift[r:].sum()
            outside = np.abs(residual) > 16 * self.setting.noise
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
    frame = precondition(rows, moments, fit_intercept=fit_intercept)
    setting = _setting(frame, moments, Huber(epsilon), alpha, fit_intercept)
    start = np.zeros(frame.rank + 1 + int(fit_intercept))
    start[-1] = max(1.0, setting.floor)
    problem = _HuberProblem(rows, setting)
    found = newton(problem, start, tol=tol, max_iter=max_iter, slope_unit=2.0 * moments.weight)
    certificate = _certify(problem, found, moments, tol)
    if not certificate.holds:
        warn("SEP003", f"Huber regression: {certificate}")
    b, a, sigma = setting.split(found.coef[:, 0])
    unit = setting.unit
    coef, intercept = frame.unscale((setting.start + b * unit)[:, None], np.array([a * unit]))
    return Solution(
        coef,
        intercept,
        certificate,
        found.status,
        found.iterations,
        found.history * unit,
        {"scale": sigma * unit},
    )


def _setting(
    frame: Preconditioner, moments: Moments, loss: Huber, alpha: float, fit_intercept: bool
) -> _Setting:
    """Start from least squares with the same penalty; its residuals are the unit of y.

    Where that fit is exact, the spread of y is.
    """
    m = moments if fit_intercept else moments.about_origin()
    gram, matrix = frame.gram(moments), frame.matrix
    towards, square = (matrix.T @ m.xy)[:, 0], matrix.T @ matrix
    spread = float(np.sqrt(m.yy[0, 0] / m.weight)) or 1.0
    unit, start = spread, np.zeros(frame.rank)
    for pull in (0.0, alpha):  # the weight of the penalty depends on the size of residuals
        start = linalg.solve(gram + unit * pull * square, towards, assume_a="pos")
        left = float(m.yy[0, 0] - 2.0 * start @ towards + start @ gram @ start) / m.weight
        unit = max(float(np.sqrt(max(left, 0.0))), EXACT * spread)
    unit = unit if unit > EXACT * spread else spread
    penalty, noise = alpha * unit * square, EPS * spread / unit
    # Σw·σ is then a billionth of the objective at most, and well above the rounding of residuals
    shrinkage = float(start @ penalty @ start) / unit**2 / m.weight
    floor = max(FLOOR * max(1.0, shrinkage), 1e3 * noise)
    return _Setting(frame, start, unit, noise, loss, penalty, floor, fit_intercept)


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
    whole = beta + s.start / s.unit
    pull = s.penalty @ whole
    at_floor = sigma <= s.floor
    primal = problem.value(theta)
    if at_floor:
        primal = 2.0 * s.loss.epsilon * sums.beyond + float(whole @ pull)
    # what a σ at its floor, or the rounding of residuals that σ magnifies, may hide
    blur = 64 * s.noise / sigma
    if at_floor:
        blur = min(500 * s.floor * moments.weight / max(primal, EPS), 1e-3)
    # Σ w u·target with Σ w u z = P·β, restated for y itself; u = 0 is always allowed
    dual = 2.0 * shrink * (sums.work + float(pull @ s.start) / s.unit)
    dual = min(max(dual - shrink**2 * float(whole @ pull), 0.0), primal)
    return Certificate(
        "Huber regression with its scale: a convex problem, solved by Newton's method",
        primal=primal * s.unit,
        dual=dual * s.unit,
        gap=(primal - dual) * s.unit,
        kkt=np.nan if at_floor else found.certificate.kkt,
        tolerance=max(tol, blur),
        dependent=s.frame.dependent,
        notes=("A majority of rows lies on the plane exactly: the scale is zero.",) * at_floor,
        promised=("gap",) if at_floor else ("gap", "kkt"),
    )
