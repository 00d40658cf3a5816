"""Robust regression with Huber's loss and a concomitant scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats
from separatrix.estimators.base import LinearModel, one_number, reads_tables
from separatrix.linear.spectrum import CenteredRows, PrincipalRows
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.messages import InputError, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate, Huber, Solution, Status
from separatrix.optimize.newton import newton
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows, Rows
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
        rows = prepared.rows
        accuracy = 1e-9  # relative gradient at which a fit ends; a finer ``tol`` is followed
        options = HuberOptions(
            epsilon=self.epsilon,
            alpha=self.alpha,
            fit_intercept=bool(self.fit_intercept),
            standardize=bool(self.standardize),
            tol=min(self.tol, accuracy) or accuracy,
            max_iter=self.max_iter,
        )
        start = self._warm_start(len(prepared.encoding.terms))
        wide = isinstance(rows, ArrayRows) and rows.block.n <= rows.block.x.shape[1]
        if isinstance(rows, ArrayRows) and wide and self.alpha > 0.0 and start is None:
            solution = solve_huber_by_rows(rows.block, options)
        else:
            solution = solve_huber(rows, prepared.moments, options, start)
        self._accept(solution, prepared.encoding, flat=True)
        self.scale_ = solution.scale
        if start is not None:
            self.n_iter_ = solution.iterations
        residuals = [
            block.y[:, 0] - block.matvec(self.coef_) - self.intercept_ for block in rows.blocks()
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
#: Least σ, as a fraction of the objective per row, in units of the residuals.
LEAST_SIGMA = 1e-9
#: Tolerances within which a dual point is found where σ is at its floor, and the loss has kinks.
AT_FLOOR = 100.0
CLAIM = (
    "Huber regression with concomitant scale: no other coefficients and scale have a lower "
    "objective"
)
EXACT_PLANE = "A majority of rows lies on the plane exactly: the scale is zero."


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
    stored: bool = False

    def chunks(self, block: Block) -> Iterator[tuple[Floats, Floats, Floats]]:
        """z, the residuals of the least-squares fit in their own units, and the weights."""
        if self.stored:
            yield block.x, block.y[:, 0], block.weights
            return
        for z, y, w in self.preconditioner.chunks(block):
            yield z, (y[:, 0] - z @ self.start) / self.unit, w

    def split(self, theta: Floats) -> tuple[Floats, float, float]:
        """(β, a, σ)."""
        r = self.preconditioner.rank
        return theta[:r], float(theta[r]) if self.fit_intercept else 0.0, float(theta[-1])


class _Derivatives(FieldStatistic):
    """Value and gradient of the loss at ``theta``, and what makes up its Hessian.

    Of the second derivatives in β, ``chosen`` are those of the outliers, which are fewer and leave
    those of the others of all rows; or, with ``inliers``, of the others.
    """

    sums = ("weight", "value", "gradient", "chosen", "beside")

    def __init__(self, scaled: _ScaledProblem, theta: Floats, *, inliers: bool = False) -> None:
        r, extra = scaled.preconditioner.rank, 1 + int(scaled.fit_intercept)
        self.scaled, self.theta, self.inliers = scaled, theta, inliers
        self.weight, self.value = 0.0, 0.0
        self.gradient = np.zeros(r + extra)
        self.chosen, self.beside = np.zeros((r, r)), np.zeros((r + extra, extra))

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        beta, constant, sigma = self.scaled.split(self.theta)
        loss, r = self.scaled.loss, len(beta)
        for z, target, w in self.scaled.chunks(block):
            ratio = (target - z @ beta - constant) / sigma
            u, curvature = loss.gradient(ratio), w * loss.second_derivative(ratio)
            extra = np.column_stack([np.ones_like(u), u] if self.scaled.fit_intercept else [u])
            self.weight += float(w.sum())
            self.value += float(w @ (1.0 + 2.0 * loss.value(ratio))) * sigma
            weighted = extra * curvature[:, None]
            sums = z.T @ np.column_stack([w * u, weighted])
            self.gradient[:r] -= 2.0 * sums[:, 0]
            self.gradient[r:] -= 2.0 * (extra.T @ (w * u))
            self.gradient[-1] += float(w @ (1.0 + u * u))  # which makes it Σ w (1 − u²)
            self.beside[:r] += sums[:, 1:]
            self.beside[r:] += extra.T @ weighted
            chosen = (curvature > 0.0) == self.inliers
            part = z[chosen] * np.sqrt(w[chosen])[:, None]
            self.chosen += part.T @ part


class _HuberProblem:
    """The objective for :func:`newton`, with the derivatives of the last point cached."""

    def __init__(self, rows: Rows, scaled: _ScaledProblem, gram: Floats) -> None:
        self.rows, self.scaled, self.gram = rows, scaled, gram
        self._at: _Derivatives | None = None

    def _derivatives(self, theta: Floats) -> _Derivatives:
        if self._at is None or not np.array_equal(self._at.theta, theta):
            derivatives = self.rows.reduce(_Derivatives(self.scaled, theta))
            r = self.scaled.preconditioner.rank
            beta = theta[:r] + self.scaled.start / self.scaled.unit
            penalty_gradient = self.scaled.penalty @ beta
            derivatives.value += float(beta @ penalty_gradient)
            derivatives.gradient[:r] += 2.0 * penalty_gradient
            self._at = derivatives
        return self._at

    def value(self, theta: Floats) -> float:
        return self._derivatives(theta).value

    def gradient(self, theta: Floats) -> Floats:
        return self._derivatives(theta).gradient

    def hessian(self, theta: Floats) -> Floats:
        derivatives, r = self._derivatives(theta), self.scaled.preconditioner.rank
        among = self.gram - derivatives.chosen
        # Part of a column's squares below which too few digits of the difference are left.
        if (np.diag(among) < 1e-4 * np.diag(self.gram)).any():
            among = self.rows.reduce(_Derivatives(self.scaled, theta, inliers=True)).chosen
        hessian = np.empty((len(theta), len(theta)))
        hessian[:r, :r] = among
        hessian[:, r:] = derivatives.beside
        hessian[r:, :r] = derivatives.beside[:r].T
        hessian *= 2.0 / theta[-1]
        hessian[:r, :r] += 2.0 * self.scaled.penalty
        return hessian

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
        for z, target, w in self.scaled.chunks(block):
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
    gram = preconditioner.gram(moments)
    rows, scaled = _keep(rows, _scale(preconditioner, moments, options))
    problem, tol = _HuberProblem(rows, scaled, gram), options.tol
    theta = np.zeros(preconditioner.rank + 1 + int(options.fit_intercept))
    theta[-1] = max(1.0, scaled.floor)
    if start is not None:
        theta = _warm_start(scaled, *start)
    minimum, certificate = _minimize(problem, theta, moments, tol, options.max_iter)
    if minimum.status is Status.SOLVED and not certificate.holds:  # a small gradient, a larger gap
        theta, left = minimum.coef[:, 0], options.max_iter - minimum.iterations
        further, certificate = _minimize(problem, theta, moments, 1e-3 * tol, left)
        certificate = replace(certificate, tolerance=max(tol, certificate.tolerance))
        minimum = replace(further, iterations=minimum.iterations + further.iterations)
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


def _minimize(
    problem: _HuberProblem, theta: Floats, moments: Moments, tol: float, max_iter: int
) -> tuple[Solution, Certificate]:
    """Newton's method from ``theta`` to the gradient ``tol``, certified."""
    size = 2.0 * moments.weight
    minimum = newton(problem, theta, tol=tol, max_iter=max_iter, gradient_scale=size)
    return minimum, _certify(problem, minimum, moments, tol)


def _keep(rows: Rows, scaled: _ScaledProblem) -> tuple[Rows, _ScaledProblem]:
    """The rows of z and their targets, stored where the table is dense and in memory itself."""
    if not isinstance(rows, ArrayRows) or sparse.issparse(rows.block.x):
        return rows, scaled
    chunks = [
        (z, (y[:, 0] - z @ scaled.start) / scaled.unit, w)
        for z, y, w in scaled.preconditioner.chunks(rows.block)
    ]
    z, target, w = (np.concatenate(part) for part in zip(*chunks, strict=True))
    return ArrayRows(z, target, w), replace(scaled, stored=True)


def _warm_start(scaled: _ScaledProblem, coef: Floats, intercept: float, scale: float) -> Floats:
    """Coefficients, intercept and scale in the units of the table as a point θ."""
    beta, constant = scaled.preconditioner.inverse(coef, intercept)
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
    floor = max(LEAST_SIGMA * max(1.0, shrinkage), 1e3 * noise)
    loss = Huber(options.epsilon)
    return _ScaledProblem(preconditioner, start, unit, noise, loss, penalty, floor, fit_intercept)


def _certify(
    problem: _HuberProblem, solution: Solution, moments: Moments, tol: float
) -> Certificate:
    """Primal and dual objective, in the units of y, the dual point being made feasible."""
    s, theta = problem.scaled, solution.coef[:, 0]
    beta, _, sigma = s.split(theta)
    gradient = problem.gradient(theta)
    r, gram = s.preconditioner.rank, problem.gram
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
    return Certificate(
        CLAIM,
        primal=primal * s.unit,
        dual=dual * s.unit,
        gap=(primal - dual) * s.unit,
        kkt=np.nan if at_floor else solution.certificate.kkt,
        tolerance=AT_FLOOR * tol if at_floor else tol,
        rounding=rounding * s.unit,
        dependent=s.preconditioner.dependent,
        notes=(EXACT_PLANE,) * at_floor,
        promised=("gap",) if at_floor else ("gap", "kkt"),
    )


# -------------------------------------------------------------------------------------------------
# No more rows than columns: the plane through all of them, or coordinates along principal axes.


def solve_huber_by_rows(block: Block, options: HuberOptions) -> HuberSolution:
    """Huber regression of n rows in memory with n ≤ d and a penalty, from their products."""
    principal = PrincipalRows.of(block, options.fit_intercept, options.standardize)
    rows = principal.rows
    deviation = float(np.sqrt((rows.y**2).sum() / rows.weight)) or 1.0
    alpha = options.alpha / deviation if options.standardize else options.alpha
    exact = _pass_through(rows, principal.gram, alpha, deviation, options)
    if exact is not None:
        return exact
    coordinates = principal.coordinates()
    inner = replace(options, alpha=alpha, standardize=False)
    return principal.in_table_units(solve_huber(coordinates, coordinates.reduce(Moments()), inner))


def _pass_through(
    rows: CenteredRows, gram: Floats, alpha: float, deviation: float, options: HuberOptions
) -> HuberSolution | None:
    """The plane through all rows with the least penalty, if its dual point is feasible."""
    root, size = rows.root, float(np.diag(gram).mean())
    matrix = gram * np.outer(root, root)
    if options.fit_intercept:  # the mean is no direction of centered rows; targets have none of it
        matrix += size / rows.weight * np.outer(root, root)
    factor = cholesky_factor(matrix)
    if factor is None:
        return None
    dual = np.zeros_like(rows.y)
    for _ in range(3):  # the first solution, and two rounds of refinement by its residual
        dual += cholesky_solve(factor, rows.y - rows.round_trip(dual)[1])
    if options.fit_intercept:
        dual -= root[:, None] * (root @ dual) / rows.weight
    coef, fitted = rows.round_trip(dual)
    residual, inner = rows.y - fitted, alpha * dual
    outside = float(np.abs(inner[:, 0] / root).max(initial=0.0)) > options.epsilon
    if outside or float((inner**2).sum()) > rows.weight:
        return None
    penalty = alpha * float((coef**2).sum())
    lower = 2.0 * float((inner * rows.y).sum()) - penalty
    primal = penalty + 2.0 * options.epsilon * float(root @ np.abs(residual[:, 0]))
    # as in the general problem: the least σ, and the rounding of residuals
    floor = deviation * max(LEAST_SIGMA * max(1.0, penalty / deviation / rows.weight), 1e3 * EPS)
    if np.abs(residual[:, 0] / root).max(initial=0.0) > floor:
        return None
    rounding = (64.0 * EPS * deviation + (1.0 + options.epsilon**2) * floor) * rows.weight
    certificate = Certificate(
        CLAIM,
        primal=primal,
        dual=lower,
        gap=max(primal - lower, 0.0),
        tolerance=AT_FLOOR * options.tol,
        rounding=rounding,
        notes=(EXACT_PLANE,),
        promised=("gap",),
    )
    if not certificate.holds:
        return None
    history = np.array([primal])
    return HuberSolution(*rows.in_table_units(coef), certificate, Status.SOLVED, 1, history, floor)
