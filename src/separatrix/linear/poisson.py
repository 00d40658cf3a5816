"""Poisson regression: the logarithm of the expected count is an affine function of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.estimators.base import LinearModel, one_number, reads_tables
from separatrix.formula import nodes
from separatrix.linear.spectrum import CenteredRows, PrincipalRows
from separatrix.messages import InputError, check_option, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import ROUNDING, Certificate, Solution, Status
from separatrix.optimize.likelihoods import (
    LARGEST_EXPONENT,
    CountLikelihood,
    refuse_negative_counts,
    refuse_no_events,
)
from separatrix.optimize.newton import backtrack, cholesky_solver, newton
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
from separatrix.threads import on_one_blas_thread


@declare_parameters
class PoissonRegressor(RegressorMixin, LinearModel):
    """Linear regression of counts: the logarithm of the mean is an affine function.

        min over b, a of (1/Σw) Σ w (μ − y + y log(y/μ)) + ½ α ‖b‖²,      μ = exp(a + b·x)

    The loss is half the Poisson deviance. Any numbers that are not negative may be counts; rates
    are counts over an exposure, with the exposure as weight. The intercept is not penalized.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight α of the penalty; 0 for none.
    fit_intercept : bool, default=True
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Ignored; accepted for scikit-learn compatibility. Newton's method is used.
    max_iter : int, default=100
        Limit of Newton steps; ten are usual.
    tol : float, default=1e-4
        Gradient at which to stop, relative to the terms that cancel in it; the fit goes on to 1e-9
        if that is less.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    verbose : int, default=0
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns, so that the fit does not
        depend on units. Coefficients are in the units of the table either way.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients b of the logarithm of the mean.
    intercept_ : float
    certificate_ : Certificate
        Duality gap and KKT residual.
    n_iter_ : int
        Number of Newton steps.

    See Also
    --------
    AdditivePoissonRegressor : Smooth curves of the columns in place of lines.
    LinearRegression : Numbers of any sign.

    References
    ----------
    P. McCullagh and J. A. Nelder, Generalized linear models, 2nd edition, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> model = sx.PoissonRegressor(alpha=0.0).fit(x, [1, 3, 7, 9])
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([2., 8.])
    >>> model.certificate_.holds
    True
    """

    _: KW_ONLY
    alpha: float = 1.0
    fit_intercept: bool = True
    solver: str = "lbfgs"
    max_iter: int = 100
    tol: float = 1e-4
    warm_start: bool = False
    verbose: Any = 0
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and counts ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = self._options()
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        rows, start = prepared.rows, self._last_fit(len(prepared.encoding.terms))
        solution = None
        if isinstance(rows, ArrayRows) and options.alpha > 0.0:
            solution = solve_poisson_in_memory(rows.block, options, start)
        if solution is None:
            solution = solve_poisson(rows, prepared.moments, options, start)
        self._accept(solution, prepared.encoding, flat=True)
        return self

    def _options(self) -> PoissonOptions:
        check_option("solver", self.solver, ("lbfgs", "newton-cholesky"))
        for name, least in (("alpha", 0.0), ("tol", 0.0), ("max_iter", 1)):
            if not getattr(self, name) >= least:
                raise InputError(f"{name}={getattr(self, name)!r} must be at least {least:g}.")
        accuracy = 1e-9  # relative gradient at which a fit ends; a finer ``tol`` is followed
        return PoissonOptions(
            alpha=float(self.alpha),
            fit_intercept=bool(self.fit_intercept),
            standardize=bool(self.standardize),
            tol=min(float(self.tol), accuracy) or accuracy,
            max_iter=int(self.max_iter),
        )

    def _last_fit(self, d: int) -> tuple[Floats, float] | None:
        """Coefficients and intercept of the last fit, if it is to start from them."""
        if not self.warm_start or getattr(self, "coef_", np.zeros(0)).shape != (d,):
            return None
        return self.coef_, float(self.intercept_)

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """The expected count of every row, exp(a + b·x)."""
        return np.asarray(np.exp(np.minimum(super().predict(X), LARGEST_EXPONENT)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D², the part of the deviance of a constant mean that the model explains."""
        from sklearn.metrics import d2_tweedie_score  # slow to import, and few fits are scored

        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def formula(self) -> nodes.NumberFormula:
        """exp(a + b·x)."""
        return nodes.regression(
            nodes.Elementwise(nodes.hyperplanes(self), "bounded_exp"), self, flat=True
        )


# -------------------------------------------------------------------------------------------------
# Newton's method, and a dual point that its last step gives.
#
#     P(θ) = Σ w (μ − y + y log(y/μ)) + ½ λ βᵀPβ,      log μ = f = z·β + a,      λ = α Σw
#
# for preconditioned columns z with coefficients β; the penalty is on b = Mβ, so that P = MᵀM. With
# the Newton step H δ = −∇P and t = z·δ the means m = μ (1 + t) are a dual point: Σ w (y − m) = 0,
# and Σ w (y − m) z = λ P(β + δ), to rounding. Its gap is a sum of Fenchel–Young differences:
#
#     P − D = Σ w μ ((1 + t) log(1 + t) − t) + ½ λ δᵀPδ
#
# Means below zero are set to zero, and what that and rounding leave of both conditions is charged
# at |θ|. Where all counts of a group are zero and nothing is penalized there is no minimum, and the
# fit ends where the gap says that nothing is left to gain.


CLAIM = "Poisson regression: no other coefficients have a smaller penalized deviance"


@dataclass(frozen=True)
class PoissonOptions:
    """Which Poisson regression, and how closely it is to be solved."""

    alpha: float = 0.0
    fit_intercept: bool = True
    standardize: bool = False
    tol: float = 1e-9
    max_iter: int = 100


class _PassOverCounts(FieldStatistic):
    """A sum over the rows (z, 1) with their counts, at coefficients ``theta`` of the scores f.

    Without ``columns`` the rows are stored as (z, 1) already.
    """

    def __init__(self, columns: Preconditioner | None, theta: Floats) -> None:
        self.columns, self.theta = columns, theta

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for z, y, w in _chunks(self.columns, block):
            self._add(z, CountLikelihood(y, w), z @ self.theta)

    def _add(self, z: Floats, likelihood: CountLikelihood, f: Floats) -> None:
        raise NotImplementedError


def _chunks(
    columns: Preconditioner | None, block: Block
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """(z, 1), the counts and the weights of a block in chunks."""
    if columns is None:
        yield block.x, block.y, block.weights
        return
    for z, y, w in columns.chunks(block):
        yield (np.column_stack([z, np.ones(len(z))]) if columns.centered else z), y, w


class _CountDerivatives(_PassOverCounts):
    """Value, gradient and Hessian of the loss; ``size`` is that of the terms of the value."""

    sums = ("value", "size", "gradient", "hessian")

    def __init__(self, columns: Preconditioner | None, theta: Floats) -> None:
        super().__init__(columns, theta)
        self.value = self.size = 0.0
        self.gradient = np.zeros(len(theta))
        self.hessian = np.zeros((len(theta), len(theta)))

    def _add(self, z: Floats, likelihood: CountLikelihood, f: Floats) -> None:
        refuse_negative_counts(likelihood.counts)
        f = f[:, None]
        means = likelihood.means(f)
        self.value += likelihood.loss(f)
        terms = means + likelihood.counts * (1.0 + np.abs(f))
        self.size += float(likelihood.cost @ terms[:, 0])
        self.gradient -= z.T @ likelihood.pull(means)[:, 0]
        rooted = z * np.sqrt(likelihood.own_curvature(means))
        self.hessian += rooted.T @ rooted


class _CountDualSums(_PassOverCounts):
    """The gap of the rows at the dual point of a step, and what clipping leaves unbalanced."""

    sums = ("gap", "clipped")

    def __init__(self, columns: Preconditioner | None, theta: Floats, step: Floats) -> None:
        super().__init__(columns, theta)
        self.step, self.gap, self.clipped = step, 0.0, np.zeros(len(theta))

    def _add(self, z: Floats, likelihood: CountLikelihood, f: Floats) -> None:
        t = z @ self.step
        clipped, t = np.maximum(-1.0 - t, 0.0), np.maximum(t, -1.0)
        weighted = likelihood.own_curvature(likelihood.means(f[:, None]))[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(t > -1.0, (1.0 + t) * np.log1p(t) - t, 1.0)
        self.gap += float(weighted @ np.maximum(entropy, 0.0))
        self.clipped += z.T @ (weighted * clipped)


class _PoissonProblem:
    """The objective for :func:`newton`, with the derivatives of the last point cached."""

    def __init__(self, rows: Rows, columns: Preconditioner | None, penalty: Floats) -> None:
        self.rows, self.columns, self.penalty = rows, columns, penalty
        self._at: _CountDerivatives | None = None

    def derivatives(self, theta: Floats) -> _CountDerivatives:
        if self._at is None or not np.array_equal(self._at.theta, theta):
            self._at = self.rows.reduce(_CountDerivatives(self.columns, theta))
            pull = self.penalty @ theta
            self._at.value += 0.5 * float(theta @ pull)
            self._at.gradient += pull
            self._at.hessian += self.penalty
        return self._at

    def value(self, theta: Floats) -> float:
        return self.derivatives(theta).value

    def gradient(self, theta: Floats) -> Floats:
        return self.derivatives(theta).gradient

    def hessian(self, theta: Floats) -> Floats:
        return self.derivatives(theta).hessian


def solve_poisson(
    rows: Rows,
    moments: Moments,
    options: PoissonOptions,
    start: tuple[Floats, float] | None = None,
) -> Solution:
    """Newton's method from a constant mean, or from ``start``: (b, a)."""
    mean = float(moments.y_mean[0])
    refuse_no_events(mean)
    penalized = options.standardize and options.alpha > 0.0
    columns = precondition(
        rows, moments, fit_intercept=options.fit_intercept, standard_norm=penalized
    )
    columns = replace(columns, y_center=np.zeros(1))
    about = moments if options.fit_intercept else moments.about_origin()
    matrix = columns.matrix
    matrix = matrix * column_scales(moments, about)[:, None] if options.standardize else matrix
    rank, size = columns.rank, columns.rank + int(options.fit_intercept)
    penalty, theta = np.zeros((size, size)), np.zeros(size)
    penalty[:rank, :rank] = options.alpha * moments.weight * (matrix.T @ matrix)
    if options.fit_intercept:
        theta[-1] = np.log(mean)
    if start is not None:
        beta, constant = columns.inverse(*start)
        theta[:rank], theta[rank:] = beta, constant
    problem = _PoissonProblem(rows, columns, penalty)
    if isinstance(rows, ArrayRows) and not sparse.issparse(rows.block.x):
        chunks = zip(*_chunks(columns, rows.block), strict=True)
        problem = _PoissonProblem(ArrayRows(*map(np.concatenate, chunks)), None, penalty)
    minimum = newton(
        problem,
        theta,
        tol=1e-2 * options.tol,  # a smaller gradient than is promised: one more step at most
        max_iter=options.max_iter,
        gradient_scale=2.0 * mean * moments.weight,
    )
    certificate = replace(
        _certify(problem, minimum, moments.weight),
        tolerance=options.tol,
        dependent=columns.dependent,
    )
    if not certificate.holds:
        warn("SEP003", f"Poisson regression: {certificate}")
    theta = minimum.coef[:, 0]
    coef, intercept = columns.unscale(theta[:rank, None], theta[rank:].sum(keepdims=True))
    return replace(
        minimum, coef=coef, intercept=intercept, certificate=certificate,
        history=minimum.history / moments.weight,
    )  # fmt: skip


def _certify(problem: _PoissonProblem, minimum: Solution, weight: float) -> Certificate:
    """Primal value and gap, for each unit of weight."""
    theta = minimum.coef[:, 0]
    there = problem.derivatives(theta)
    step = -cholesky_solver(there.hessian)(there.gradient)
    sums = problem.rows.reduce(_CountDualSums(problem.columns, theta, step))
    unbalanced = np.abs(there.hessian @ step + there.gradient) + np.abs(sums.clipped)
    charge = 2.0 * float(unbalanced @ np.abs(theta))
    gap = sums.gap + 0.5 * float(step @ problem.penalty @ step) + charge
    return Certificate(
        CLAIM,
        primal=there.value / weight,
        dual=(there.value - gap) / weight,
        gap=gap / weight,
        kkt=minimum.certificate.kkt,
        rounding=ROUNDING * there.size / weight,
        statistic="the rows",
    )


# -------------------------------------------------------------------------------------------------
# Rows in memory and a penalty: Newton steps by conjugate gradients, from products with the rows.
#
# At the minimum over a the means μ themselves are a dual point: Σ w (y − μ) = 0, and the gap is
# that of the penalty alone, ‖∇P‖² / 2λ, for coefficients β of centered columns.


def solve_poisson_in_memory(
    block: Block, options: PoissonOptions, start: tuple[Floats, float] | None = None
) -> Solution | None:
    """Rows in memory and a penalty: along the axes of few rows, or by products."""
    n, d = block.x.shape
    dense = not sparse.issparse(block.x)
    # Axes take n² d/2 + 5 n³ multiplications, and about fifty products 2 n d each, which are ten
    # times as slow.
    if dense and start is None and n <= d and n / 2 + 5.0 * n**2 / d <= 1_000:
        principal = PrincipalRows.of(block, options.fit_intercept, options.standardize)
        rows, inner = principal.coordinates(), replace(options, standardize=False)
        return principal.in_table_units(solve_poisson(rows, rows.reduce(Moments()), inner))
    return solve_poisson_by_products(block, options, start)


@dataclass(frozen=True)
class _PointByProducts:
    """Coefficients and constant θ, expected counts, and the objective with its gradient there."""

    theta: Floats
    means: Floats
    value: float
    gradient: Floats


class _PoissonByProducts:
    """The problem of rows z, centered where there is an intercept, and of ``ridge`` λ."""

    def __init__(self, rows: CenteredRows, counts: Floats, options: PoissonOptions) -> None:
        w = rows.root**2
        self.rows, self.likelihood = rows, CountLikelihood(counts, w)
        self.free = float(options.fit_intercept)
        self.mean = float(w @ counts[:, 0]) / rows.weight
        squares = rows.z.weighted_squares(w)
        self.ridge = np.append(np.full(len(squares), options.alpha * rows.weight), 0.0)
        self.curvature = np.append(self.mean * squares, self.mean * rows.weight) + self.ridge
        #: Sizes of the terms that cancel in the gradient at the minimum.
        self.size = 2.0 * self.mean * np.sqrt(np.append(squares, rows.weight) * rows.weight)

    def scores(self, v: Floats) -> Floats:
        return np.asarray(self.rows.z.times(v[:-1]) + v[-1])

    def sums(self, u: Floats) -> Floats:
        return np.append(self.rows.z.transposed_times(u), self.free * u.sum())

    def at(self, theta: Floats) -> _PointByProducts:
        f = self.scores(theta)[:, None]
        means = self.likelihood.means(f)
        value = self.likelihood.loss(f) + 0.5 * float(self.ridge @ theta**2)
        gradient = self.ridge * theta - self.sums(self.likelihood.pull(means)[:, 0])
        return _PointByProducts(theta, means, value, gradient)

    def kkt(self, point: _PointByProducts) -> float:
        known = self.size > 0.0
        return float(np.max(np.abs(point.gradient[known]) / self.size[known], initial=0.0))

    def gap(self, point: _PointByProducts) -> float:
        """That of a balanced point."""
        return 0.5 * float(np.sum(point.gradient[:-1] ** 2 / self.ridge[:-1]))

    def is_solved(self, point: _PointByProducts, tol: float) -> bool:
        """To more digits than are promised: Newton's steps double them at the end."""
        return self.kkt(point) <= 1e-2 * tol and self.gap(point) <= 1e-5 * tol * point.value

    def direction(self, point: _PointByProducts, accuracy: float) -> Floats:
        """−H⁻¹∇P up to a part ``accuracy`` of its length, by preconditioned conjugate gradients."""
        weight = self.likelihood.own_curvature(point.means)[:, 0]
        step, rest = np.zeros_like(point.theta), -point.gradient
        d = z = rest / self.curvature
        rho = first = float(z @ rest)
        for _ in range(200):
            if rho <= accuracy**2 * first:
                break
            image = self.sums(weight * self.scores(d)) + self.ridge * d
            t = rho / float(d @ image)
            step, rest = step + t * d, rest - t * image
            z = rest / self.curvature
            rho, before = float(z @ rest), rho
            d = z + rho / before * d
        return step


def solve_poisson_by_products(
    block: Block, options: PoissonOptions, start: tuple[Floats, float] | None = None
) -> Solution | None:
    """Poisson regression of rows in memory with a penalty; None where it is not certified."""
    counted = np.flatnonzero(block.weights > 0.0)
    block = block if len(counted) == block.n else block.take(counted)
    refuse_negative_counts(block.y)
    refuse_no_events(float(block.y.sum()))
    rows = CenteredRows.of(block, options.fit_intercept, options.standardize)
    problem = _PoissonByProducts(rows, block.y, options)
    theta = np.zeros(block.x.shape[1] + 1)
    theta[-1] = problem.free * np.log(problem.mean)
    if start is not None:
        theta[:-1] = start[0] * rows.scale
        theta[-1] = problem.free * (start[1] + rows.x_mean @ start[0])
    point, steps = problem.at(theta), 0
    history = [point.value / rows.weight]
    while not problem.is_solved(point, options.tol) and steps < options.max_iter:
        move = problem.direction(point, min(0.1, problem.kkt(point) ** 0.5))
        here = point.theta
        found = backtrack(
            lambda t, here=here, move=move: problem.at(here + t * move),  # type: ignore[misc]
            point.value,
            float(point.gradient @ move),
        )
        if found is None:  # rounding hides any further decrease
            break
        point, steps = found[1], steps + 1
        history.append(point.value / rows.weight)
    if options.fit_intercept:  # the dual point asks for balance
        shift = problem.likelihood.best_offsets(problem.scores(point.theta)[:, None])
        point = problem.at(np.append(point.theta[:-1], point.theta[-1] + shift))
    certificate = _certify_by_products(problem, point, options.tol)
    if not certificate.holds:
        return None
    coef = point.theta[:-1, None] / rows.scale[:, None]
    intercept = point.theta[-1:] - rows.x_mean @ coef
    return Solution(coef, intercept, certificate, Status.SOLVED, steps, np.array(history))


def _certify_by_products(
    problem: _PoissonByProducts, point: _PointByProducts, tolerance: float
) -> Certificate:
    """The gap at a balanced point, for each unit of weight."""
    weight = problem.rows.weight
    gap = problem.gap(point) + 2.0 * abs(float(point.gradient[-1] * point.theta[-1]))
    f = np.abs(np.log(point.means))
    terms = point.means + problem.likelihood.counts * (1.0 + f)
    return Certificate(
        CLAIM,
        primal=point.value / weight,
        dual=(point.value - gap) / weight,
        gap=gap / weight,
        kkt=problem.kkt(point),
        tolerance=tolerance,
        rounding=ROUNDING * float(problem.likelihood.cost @ terms[:, 0]) / weight,
        statistic="the rows",
    )
