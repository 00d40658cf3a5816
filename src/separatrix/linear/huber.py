"""Robust regression with Huber's loss and a concomitant scale."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.estimators.base import LinearModel, one_number, reads_tables
from separatrix.messages import InputError, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate, Huber, Solution
from separatrix.optimize.newton import newton
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Block
from separatrix.statistics.moments import (
    FieldStatistic,
    Moments,
    Preconditioner,
    column_scales,
    precondition,
    prepare,
)

# -------------------------------------------------------------------------------------------------
# Robust regression with Huber's loss.


@declare_parameters
class HuberRegressor(RegressorMixin, LinearModel):
    """Huber regression with concomitant scale, robust to outliers in the target.

        min over b, a, σ of Σ w (σ + σ·H((y − a − b·x)/σ)) + α Σ vⱼ² bⱼ² / v
        H(z) = z² for |z| ≤ ε,  2ε|z| − ε² beyond

    Small residuals count by their square, large ones by their absolute value; the scale σ is
    estimated jointly. The penalty is on the coefficients of standardized columns and target (vⱼ
    and v are the standard deviations of column j and of y), so that no unit has an influence.

    Parameters
    ----------
    epsilon : float, default=1.35
        Residuals above ε·σ are outliers; at least 1. The default has 95 % of the efficiency of
        least squares under normal errors.
    max_iter : int, default=100
        Limit of Newton steps; ten are usual.
    alpha : float, default=0.0001
        Weight of the penalty on the coefficients of standardized columns; 0 for none.
    warm_start : bool, default=False
        Whether to start from the coefficients and scale of the last fit.
    fit_intercept : bool, default=True
    tol : float, default=1e-5
        Gradient at which to stop, relative to the terms that cancel in it; the fit goes on to 1e-9
        if that is less.
    standardize : bool, default=True
        Whether the penalty is on standardized columns and target; False is scikit-learn's α‖b‖²,
        which depends on the units of both.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients b.
    intercept_ : float
    scale_ : float
        The scale σ.
    outliers_ : ndarray of bool of shape (n,)
        Which training rows have residuals above ε·σ.
    certificate_ : Certificate
        Duality gap and KKT residual.
    n_iter_ : int
        Number of Newton steps.

    See Also
    --------
    LeastAbsoluteRegressor : Absolute instead of Huber's loss.
    LinearRegression : Least squares.

    References
    ----------
    Huber, Robust statistics, 1981.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.arange(10.0)[:, None]
    >>> y = 2.0 * x[:, 0] + 0.1 * (-1.0) ** np.arange(10)
    >>> y[9] = 100.0
    >>> model = sx.HuberRegressor().fit(x, y)
    >>> bool(model.outliers_[9]), model.coef_.round(1)
    (True, array([2.]))
    """

    _: KW_ONLY
    epsilon: float = 1.35
    max_iter: int = 100
    alpha: float = 0.0001
    warm_start: bool = False
    fit_intercept: bool = True
    tol: float = 1e-5
    standardize: bool = True

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        if not self.epsilon >= 1.0:
            raise InputError(
                f"epsilon={self.epsilon!r} would make most rows outliers.",
                remedy="Use 1 or more; 1.35 is usual.",
            )
        if not self.alpha >= 0.0:
            raise InputError(f"alpha={self.alpha!r} is negative.", remedy="Use 0 or more.")
        if not self.tol >= 0.0:
            raise InputError(f"tol={self.tol!r} is negative.", remedy="Use 0 or more.")
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        accuracy = 1e-9  # relative gradient at which a fit ends; a finer ``tol`` is followed
        options = HuberOptions(
            epsilon=self.epsilon,
            alpha=self.alpha,
            fit_intercept=bool(self.fit_intercept),
            standardize=bool(self.standardize),
            tol=min(self.tol, accuracy) or accuracy,
            max_iter=self.max_iter,
        )
        start = self._warm_start(prepared.moments.d)
        solution = solve_huber(prepared.rows, prepared.moments, options, start)
        self._accept(solution, prepared.encoding, flat=True)
        self.scale_ = solution.scale
        if start is not None:
            self.n_iter_ = solution.iterations
        residuals = [
            block.y[:, 0] - block.matvec(self.coef_) - self.intercept_
            for block in prepared.rows.blocks()
        ]
        self.outliers_ = np.abs(np.concatenate(residuals)) > self.epsilon * self.scale_
        return self

    def _warm_start(self, d: int) -> tuple[Floats, float, float] | None:
        """Coefficients, intercept and scale of the last fit, if it is to start from them."""
        if not self.warm_start or getattr(self, "coef_", np.zeros(0)).shape != (d,):
            return None
        return self.coef_, float(self.intercept_), self.scale_


# -------------------------------------------------------------------------------------------------
# Huber regression with concomitant scale, by Newton's method.
#
#     min over b, a, σ > 0 of Σ w (σ + σ·H((y − a − b·x)/σ)) + α Σ vⱼ² bⱼ² / v
#     H(z) = z² for |z| ≤ ε,  2ε|z| − ε² beyond
#
# vⱼ and v are the standard deviations of column j and of y, or 1 where the penalty is on the
# table's own units.
#
# The objective is jointly convex in (b, a, σ). With u = clip(r/σ, −ε, ε), each row contributes
# −2w·u·(x, 1) and w(1 − u²) to the gradient, and 2w/σ·(x, 1, u)(x, 1, u)ᵀ to the Hessian if it is
# no outlier: sums over rows, so that one evaluation is one pass over the blocks. The dual is
#
#     max of 2 Σ w u y − v ‖V⁻¹Xᵀ(w u)‖²/α   with |u| ≤ ε, Σ w u = 0, Σ w u² ≤ Σ w
#
# and u at the solution, corrected until the constraints hold exactly, gives the lower bound. Sums
# over one pass determine it, so that the gap is the difference of the two values. Where a majority
# of rows lies on one plane exactly, the optimal σ is 0; it is then set to a floor far below the
# standard deviation of y, and the objective is that of the limit.


EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class HuberSolution(Solution):
    """A Huber regression with its ``scale`` σ, in the units of y."""

    scale: float = np.nan


@dataclass(frozen=True)
class _ScaledProblem:
    """The preconditioned problem, about the least-squares fit ``start``, in units of its residuals.

    The variables are δ with β = start + δ, and the penalty is βᵀPβ; ``noise`` is the rounding
    error of y, ``floor`` the least σ.
    """

    preconditioner: Preconditioner
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
        r = self.preconditioner.rank
        return theta[:r], float(theta[r]) if self.fit_intercept else 0.0, float(theta[-1])


class _Derivatives(FieldStatistic):
    """Value, gradient and Hessian of the loss at ``theta``; adds up over blocks."""

    sums = ("weight", "value", "gradient", "hessian")

    def __init__(self, scaled: _ScaledProblem, theta: Floats) -> None:
        p = len(theta)
        self.scaled, self.theta = scaled, theta
        self.weight, self.value = 0.0, 0.0
        self.gradient, self.hessian = np.zeros(p), np.zeros((p, p))

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        beta, constant, sigma = self.scaled.split(self.theta)
        loss = self.scaled.loss
        for z, y, w in self.scaled.preconditioner.chunks(block):
            ratio = (self.scaled.target(z, y) - z @ beta - constant) / sigma
            u = loss.gradient(ratio)
            extra = [np.ones_like(u), u] if self.scaled.fit_intercept else [u]
            a = np.column_stack([z, *extra])
            self.weight += float(w.sum())
            self.value += float(w @ (1.0 + 2.0 * loss.value(ratio))) * sigma
            self.gradient -= 2.0 * (a.T @ (w * u))
            self.gradient[-1] += float(w @ (1.0 + u * u))  # which makes it Σ w (1 − u²)
            a *= np.sqrt(w * loss.second_derivative(ratio) * (2.0 / sigma))[:, None]
            self.hessian += a.T @ a


class _HuberProblem:
    """The objective for :func:`newton`, with the derivatives of the last point cached."""

    def __init__(self, rows: Rows, scaled: _ScaledProblem) -> None:
        self.rows, self.scaled = rows, scaled
        self._at: _Derivatives | None = None

    def _derivatives(self, theta: Floats) -> _Derivatives:
        if self._at is None or not np.array_equal(self._at.theta, theta):
            derivatives = self.rows.reduce(_Derivatives(self.scaled, theta))
            r = self.scaled.preconditioner.rank
            beta = theta[:r] + self.scaled.start / self.scaled.unit
            penalty_gradient = self.scaled.penalty @ beta
            derivatives.value += float(beta @ penalty_gradient)
            derivatives.gradient[:r] += 2.0 * penalty_gradient
            derivatives.hessian[:r, :r] += 2.0 * self.scaled.penalty
            self._at = derivatives
        return self._at

    def value(self, theta: Floats) -> float:
        return self._derivatives(theta).value

    def gradient(self, theta: Floats) -> Floats:
        return self._derivatives(theta).gradient

    def hessian(self, theta: Floats) -> Floats:
        return self._derivatives(theta).hessian

    def lower(self, theta: Floats) -> Floats:
        """Let σ decrease fast only where (b, a) are nearly stationary, lest inliers be lost."""
        derivatives = self._derivatives(theta)
        # Gradient in (b, a), relative to the terms that cancel in it, that counts as nearly
        # stationary.
        stationary = (
            np.abs(derivatives.gradient[:-1]).max(initial=0.0) <= 0.02 * 2.0 * derivatives.weight
        )
        low = np.full(len(theta), -np.inf)
        # Largest decrease of σ in one step: where (b, a) are nearly stationary, and elsewhere.
        low[-1] = max(self.scaled.floor, (0.1 if stationary else 0.7) * theta[-1])
        return low

    def metric(self, theta: Floats) -> Floats:
        """2Σw/σ bounds the second derivatives in (β, a); ε² times that bounds those in σ."""
        bound = np.full(len(theta), 2.0 * self._derivatives(theta).weight / theta[-1])
        bound[-1] *= self.scaled.loss.epsilon**2
        return bound


class _DualSums(FieldStatistic):
    """Sums of the dual objective at u + z·c + c₀, the correction that makes it feasible."""

    sums, maxima = ("inner", "square", "absolute"), ("largest",)

    def __init__(self, scaled: _ScaledProblem, theta: Floats, shift: Floats) -> None:
        self.scaled, self.theta, self.shift = scaled, theta, shift
        self.inner = self.square = self.absolute = self.largest = 0.0

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        beta, constant, sigma = self.scaled.split(self.theta)
        r = self.scaled.preconditioner.rank
        for z, y, w in self.scaled.preconditioner.chunks(block):
            target = self.scaled.target(z, y)
            residual = target - z @ beta - constant
            u = self.scaled.loss.gradient(residual / sigma) + z @ self.shift[:r]
            u += self.shift[r:].sum()
            outside = np.abs(residual) > 16 * self.scaled.noise
            self.inner += float((w * u) @ target)
            self.square += float((w * u) @ u)
            self.absolute += float(w[outside] @ np.abs(residual[outside]))
            self.largest = max(self.largest, float(np.abs(u).max(initial=0.0)))


@dataclass(frozen=True)
class HuberOptions:
    """Which Huber regression, and how closely it is to be solved."""

    epsilon: float = 1.35
    alpha: float = 0.0
    fit_intercept: bool = True
    standardize: bool = True
    tol: float = 1e-9
    max_iter: int = 100


def solve_huber(
    rows: Rows,
    moments: Moments,
    options: HuberOptions,
    start: tuple[Floats, float, float] | None = None,
) -> HuberSolution:
    """Newton's method from the least-squares fit, or from ``start``: (b, a, σ)."""
    preconditioner = precondition(
        rows,
        moments,
        fit_intercept=options.fit_intercept,
        standard_norm=options.standardize and options.alpha > 0.0,
    )
    scaled = _scale(preconditioner, moments, options)
    problem, tol = _HuberProblem(rows, scaled), options.tol
    theta = np.zeros(preconditioner.rank + 1 + int(options.fit_intercept))
    theta[-1] = max(1.0, scaled.floor)
    if start is not None:
        theta = _warm_start(scaled, *start)
    minimum = newton(
        problem, theta, tol=tol, max_iter=options.max_iter, gradient_scale=2.0 * moments.weight
    )
    certificate = _certify(problem, minimum, moments, tol)
    if not certificate.holds:
        warn("SEP003", f"Huber regression: {certificate}")
    b, a, sigma = scaled.split(minimum.coef[:, 0])
    unit = scaled.unit
    coef, intercept = preconditioner.unscale(
        (scaled.start + b * unit)[:, None], np.array([a * unit])
    )
    history = minimum.history * unit
    return HuberSolution(
        coef, intercept, certificate, minimum.status, minimum.iterations, history, sigma * unit
    )


def _warm_start(scaled: _ScaledProblem, coef: Floats, intercept: float, scale: float) -> Floats:
    """Coefficients, intercept and scale in the units of the table as a point θ."""
    p = scaled.preconditioner
    length = np.linalg.norm(p.matrix, axis=1)  # in units of each column, whatever those are
    length[length == 0.0] = 1.0
    beta = np.linalg.lstsq(p.matrix / length[:, None], coef / length, rcond=None)[0]
    constant = intercept - float(p.y_center[0]) + float(p.center @ coef)
    extra = [constant / scaled.unit] if scaled.fit_intercept else []
    sigma = max(scale / scaled.unit, scaled.floor)
    return np.concatenate([(beta - scaled.start) / scaled.unit, extra, [sigma]])


def _scale(
    preconditioner: Preconditioner, moments: Moments, options: HuberOptions
) -> _ScaledProblem:
    """Start from ridge regression with the same penalty; its residuals are the unit of y.

    Where that fit is exact, the standard deviation of y is the unit.
    """
    alpha, fit_intercept = options.alpha, options.fit_intercept
    m = moments if fit_intercept else moments.about_origin()
    gram, matrix = preconditioner.gram(moments), preconditioner.matrix
    penalized = matrix * column_scales(moments, m)[:, None] if options.standardize else matrix
    cross, square = (matrix.T @ m.xy)[:, 0], penalized.T @ penalized
    deviation = float(np.sqrt(m.yy[0, 0] / m.weight)) or 1.0
    alpha = alpha / deviation if options.standardize else alpha
    unit, start = deviation, np.zeros(preconditioner.rank)
    # Least-squares residuals, relative to the deviation of y, below which a fit counts as exact.
    exact = 1e-9
    for weight in (0.0, alpha):  # α is relative to the size of residuals
        start = linalg.solve(gram + unit * weight * square, cross, assume_a="pos")
        left = float(m.yy[0, 0] - 2.0 * start @ cross + start @ gram @ start) / m.weight
        unit = max(float(np.sqrt(max(left, 0.0))), exact * deviation)
    unit = unit if unit > exact * deviation else deviation
    penalty, noise = alpha * unit * square, EPS * deviation / unit
    # Σw·σ is then at most a billionth of the objective, and well above the rounding of residuals
    shrinkage = float(start @ penalty @ start) / unit**2 / m.weight
    # Least σ, as a fraction of the objective per row.
    floor = max(1e-9 * max(1.0, shrinkage), 1e3 * noise)
    loss = Huber(options.epsilon)
    return _ScaledProblem(preconditioner, start, unit, noise, loss, penalty, floor, fit_intercept)


def _certify(
    problem: _HuberProblem, solution: Solution, moments: Moments, tol: float
) -> Certificate:
    """Primal and dual objective, in the units of y, the dual point being made feasible."""
    s, theta = problem.scaled, solution.coef[:, 0]
    beta, _, sigma = s.split(theta)
    gradient = problem.gradient(theta)
    r, gram = s.preconditioner.rank, s.preconditioner.gram(moments)
    # changing u by z·c + c₀ changes Σ w u (z, 1) by the Gram matrix times (c, c₀)
    shift = 0.5 * np.concatenate(
        [np.linalg.solve(gram, gradient[:r]), gradient[r:-1] / moments.weight]
    )
    sums = problem.rows.reduce(_DualSums(s, theta, shift))
    shrink = min(
        1.0,
        s.loss.epsilon / max(sums.largest, EPS),
        float(np.sqrt(moments.weight / max(sums.square, EPS))),
    )
    beta_total = beta + s.start / s.unit
    penalty_gradient = s.penalty @ beta_total
    at_floor = sigma <= s.floor
    primal = problem.value(theta)
    if at_floor:
        primal = 2.0 * s.loss.epsilon * sums.absolute + float(beta_total @ penalty_gradient)
    # residuals have rounding errors; where σ should be 0, its floor adds its own share
    rounding = 64.0 * s.noise * moments.weight
    if at_floor:
        rounding += (1.0 + s.loss.epsilon**2) * s.floor * moments.weight
    # Σ w u·target with Σ w u z = P·β, restated for y itself; u = 0 is feasible
    dual = 2.0 * shrink * (sums.inner + float(penalty_gradient @ s.start) / s.unit)
    dual = min(max(dual - shrink**2 * float(beta_total @ penalty_gradient), 0.0), primal)
    # Tolerances within which a dual point is found where σ is at its floor, and the loss has kinks.
    return Certificate(
        "Huber regression with concomitant scale: no other coefficients and scale have a lower "
        "objective",
        primal=primal * s.unit,
        dual=dual * s.unit,
        gap=(primal - dual) * s.unit,
        kkt=np.nan if at_floor else solution.certificate.kkt,
        tolerance=100.0 * tol if at_floor else tol,
        rounding=rounding * s.unit,
        dependent=s.preconditioner.dependent,
        notes=("A majority of rows lies on the plane exactly: the scale is zero.",) * at_floor,
        promised=("gap",) if at_floor else ("gap", "kkt"),
    )
