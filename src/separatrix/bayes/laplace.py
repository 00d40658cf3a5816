"""The Laplace approximation of a logistic posterior: mode, evidence, certificate."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy import linalg, optimize, sparse
from scipy.special import expit, log_softmax, ndtr, ndtri

from separatrix.arrays import Floats, Matrix, NDArray
from separatrix.bayes.loops import to_probabilities
from separatrix.geometry.class_scores import softmax
from separatrix.matrices.gram import row_gram
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate, Solution
from separatrix.optimize.newton import cholesky_solver, newton
from separatrix.probability.likelihood import LogisticDesign, LogisticHessian, LogisticRows
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import Block, Terms
from separatrix.statistics.moments import FieldStatistic, Standardizer, column_scales
from separatrix.threads import parallel_map, pieces

# -------------------------------------------------------------------------------------------------
# From rows to a certified Laplace approximation: read, maximize, certify.


@dataclass(frozen=True)
class PosteriorOptions:
    """``prior_scale`` is σ, or None to learn it; ``intercept_scale`` is σ₀."""

    prior_scale: float | None
    intercept_scale: float
    fit_intercept: bool
    max_iter: int


@dataclass(frozen=True)
class PosteriorSolution(Solution):
    """The maximum a posteriori with the normal distribution about it."""

    posterior: LaplacePosterior = None  # type: ignore[assignment]
    log_evidence: float = float("nan")


def fit_posterior(
    data: LogisticRows, targets: Terms, options: PosteriorOptions
) -> PosteriorSolution:
    """The Laplace approximation; ``targets`` are the indicators in the order of the classes."""
    problem = build_posterior(
        data, targets, options.intercept_scale, intercept=options.fit_intercept
    )
    learned = options.prior_scale is None and problem.n_penalized > 0
    if learned:
        fit = maximize_evidence(problem, options.max_iter)
    else:
        scale = options.prior_scale or 1.0
        fit = laplace_fit(problem, scale, problem.start(), options.max_iter, slope=False)
    posterior = posterior_of(fit)
    coef, intercept = problem.coordinates.unscale(posterior.mean)
    certificate = certify(fit, data.rows, targets, coef, intercept, learned=learned)
    return PosteriorSolution(
        coef.T, intercept, certificate, iterations=fit.passes, posterior=posterior,
        log_evidence=fit.log_evidence,
    )  # fmt: skip


def posterior_of(fit: LaplaceFit) -> LaplacePosterior:
    """The normal distribution of a fit."""
    coordinates = fit.problem.coordinates
    return LaplacePosterior(
        coordinates,
        fit.prior_scale,
        fit.theta.reshape(coordinates.n_scores, coordinates.width),
        fit.covariance,
    )


# -------------------------------------------------------------------------------------------------
# From rows to the posterior: standardized columns, or the span of the rows where they are fewer.
#
# The prior of the coefficients is the same in all directions of the standardized columns. So if
# there are more columns than rows, coordinates within the span of the standardized rows, Z = U S
# Qᵀ, give the same posterior and the same evidence with r ≤ n coefficients for each score; those
# outside of the span follow the prior.


def build_posterior(
    data: LogisticRows, targets: Terms, intercept_scale: float, *, intercept: bool
) -> LogisticPosterior:
    """The posterior of a table with σ = 1, to be replaced."""
    constant = int(intercept)
    if isinstance(data.rows, ArrayRows) and data.n_columns > len(data.rows):
        return _in_span(data.rows, targets, intercept_scale, intercept=intercept)
    _check_size(data.n_columns + constant, len(targets), f"{data.n_columns} columns")
    moments = data.moments.aligned(data.moments.terms, targets)
    about = moments if intercept else moments.about_origin()
    scale = column_scales(moments, about)
    if not intercept:  # a constant column has no deviation, but scores of its own
        square = np.maximum(np.diag(about.xx), 0.0) / about.weight
        scale = np.sqrt(square)
    scale = np.where(scale > 0.0, scale, np.inf)
    center = moments.x_mean if intercept else np.zeros(moments.d)
    coordinates = Coordinates(center, scale, intercept, len(targets))
    return LogisticPosterior(
        data.rows,
        LogisticDesign(targets, center, None, intercept),
        np.append(scale, np.ones(constant)),
        _precision(len(scale), intercept_scale, constant),
        moments.weight,
        moments.y_mean,
        coordinates,
    )


def _precision(columns: int, intercept_scale: float, constant: int) -> Floats:
    return np.append(np.ones(columns), np.full(constant, intercept_scale**-2))


def _check_size(width: int, n_classes: int, what: str) -> None:
    count = width * (n_classes - 1)
    max_coefficients = 3000  # coefficients whose covariance is held as a matrix
    if count > max_coefficients:
        raise InputError(
            f"The posterior of {what} and {n_classes} classes has {count} coefficients, and their "
            f"covariance {count}² numbers; the limit is {max_coefficients} coefficients.",
            remedy="Use LogisticRegression(standardize=True), or fewer columns.",
        )


def _in_span(
    rows: ArrayRows, targets: Terms, intercept_scale: float, *, intercept: bool
) -> LogisticPosterior:
    """Coordinates within the span of the rows of positive weight."""
    w = rows.block.weights
    block = rows.take(w > 0.0).block
    weights, (n, d) = block.weights, block.x.shape
    _check_size(min(n, d) + int(intercept), len(targets), f"{n} rows")
    max_basis = 50_000_000  # numbers of a basis of the rows
    if min(n, d) * d > max_basis:
        raise InputError(
            f"The span of {n} rows with {d} columns takes a basis of {min(n, d) * d} numbers; the "
            f"limit is {max_basis}.",
            remedy="Use LogisticRegression(standardize=True), or fewer columns.",
        )
    center, scale = _column_scales(block.x, weights, intercept=intercept)
    span = _basis(block.x, center, scale)
    coordinates = Coordinates(center, scale, intercept, len(targets), span)
    z = block.x @ (span / scale[:, None]) - (center / scale) @ span
    projected = ArrayRows(np.asarray(z), block.y, block.w, targets=block.targets.items)
    aligned = block.aligned(block.terms, targets)
    columns = span.shape[1]
    return LogisticPosterior(
        projected,
        LogisticDesign(targets, np.zeros(columns), None, intercept),
        np.ones(columns + int(intercept)),
        _precision(columns, intercept_scale, int(intercept)),
        float(weights.sum()),
        weights @ aligned.y / weights.sum(),
        coordinates,
    )


def _basis(x: Matrix, center: Floats, scale: Floats) -> Floats:
    """An orthonormal basis (d x r) of the standardized rows, the longest direction first."""
    values, vectors = linalg.eigh(row_gram(x, center, scale, np.ones(x.shape[0])))
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors[:, values > 1e-12 * max(float(values[0]), np.finfo(float).tiny)]
    sums = np.asarray(x.T @ vectors) - np.outer(center, vectors.sum(axis=0))
    # lengths differ, so that rounding errors of the longest would not leave the others orthogonal
    return np.asarray(linalg.qr(sums / scale[:, None], mode="economic")[0] if sums.size else sums)


def _column_scales(x: Matrix, w: Floats, *, intercept: bool) -> tuple[Floats, Floats]:
    """Centers and scales of the columns of rows in memory; a constant column has scale ∞."""
    standardizer = Standardizer.from_rows(x, w, keep_mean=True)
    if intercept:
        return standardizer.mean, _positive(standardizer.scale)
    square: NDArray[np.float64] = np.asarray((x.multiply(x) if sparse.issparse(x) else x**2).T @ w)
    return np.zeros(len(square)), _positive(np.sqrt(square / w.sum()))


def _positive(scale: Floats) -> Floats:
    return np.where(scale > 0.0, scale, np.inf)


# -------------------------------------------------------------------------------------------------
# The negative log posterior in standardized coordinates, over rows in memory or in a stream.
#
#     Ψ(θ) = Σ w (log Σₖ e^sₖ − s_y) + ½ Σ λⱼ θⱼ²,        s = C V z,    θ = V row by row
#
# λ = 1/σ² for columns and 1/σ₀² for the intercept. Every evaluation is one pass.


@dataclass(frozen=True)
class PosteriorEvaluation:
    """Ψ at a point, its gradient and its Hessian; and the smallest margin of all rows.

    A positive margin proves that the point separates the classes.
    """

    value: float
    gradient: Floats
    hessian: Floats
    margin: float


@dataclass(frozen=True)
class LogisticPosterior:
    """Rows, their design, and the precision of the prior of each column of z.

    ``scale`` is what θ is divided by for the columns of ``design``. ``proportions`` are those of
    the classes, ``weight`` is Σ w.
    """

    rows: Rows
    design: LogisticDesign
    scale: Floats
    precision: Floats
    weight: float
    proportions: Floats
    coordinates: Coordinates

    @property
    def n_penalized(self) -> int:
        """Coefficients with the variance σ²: all but the intercepts."""
        c = self.coordinates
        return c.n_scores * (c.width - int(c.intercept))

    @property
    def precisions(self) -> Floats:
        """λ of every θ."""
        return np.tile(self.precision, self.coordinates.n_scores)

    def with_scale(self, prior_scale: float) -> LogisticPosterior:
        """The same with another σ."""
        precision = self.precision.copy()
        precision[: len(precision) - int(self.coordinates.intercept)] = prior_scale**-2
        return replace(self, precision=precision)

    def columns_of(self, theta: Floats) -> Floats:
        """θ without its intercepts (zero there)."""
        v = theta.reshape(self.coordinates.n_scores, -1).copy()
        if self.coordinates.intercept:
            v[:, -1] = 0.0
        return v.ravel()

    def point(self, theta: Floats) -> Floats:
        """Coefficients of the design's columns (width x scores) for the passes over rows."""
        v = theta.reshape(self.coordinates.n_scores, -1)
        return np.ascontiguousarray((self.coordinates.basis @ v / self.scale).T)

    def at(self, theta: Floats) -> PosteriorEvaluation:
        """Value, gradient and Hessian in one pass."""
        found = self.rows.reduce(LogisticHessian(self.design, self.point(theta)))
        penalty = self.precisions * theta
        hessian = self.pulled_back(found.hessian)
        np.einsum("ii->i", hessian)[:] += self.precisions
        return PosteriorEvaluation(
            float(found.value) + 0.5 * float(penalty @ theta),
            self.gradient_of(found.gradient) + penalty,
            hessian,
            float(found.margin),
        )

    def gradient_of(self, sums: Floats) -> Floats:
        """A gradient by the scores of the design (width x scores) as one by θ."""
        return np.asarray(self.coordinates.basis.T @ (sums / self.scale[:, None]).T).ravel()

    def pulled_back(self, hessian: Floats) -> Floats:
        """A Hessian over (score, column) of the design as one over θ."""
        basis, m = self.coordinates.basis, len(self.scale)
        k, c = basis.shape
        scaled = hessian.reshape(k, m, k, m) / (self.scale[:, None, None] * self.scale)
        if k == 1:
            return np.asarray(scaled.reshape(m, m))
        half = np.tensordot(basis, scaled, (0, 0))
        full = np.tensordot(half, basis, (2, 0))  # c, m, m, c
        return np.ascontiguousarray(full.transpose(0, 1, 3, 2).reshape(c * m, c * m))

    def pushed_forward(self, covariance: Floats) -> Floats:
        """A covariance of θ as one over (score, column) of the design."""
        basis, m = self.coordinates.basis, len(self.scale)
        k, c = basis.shape
        full = covariance.reshape(c, m, c, m) / (self.scale[:, None, None] * self.scale)
        if k == 1:
            return np.asarray(full.reshape(m, m))
        half = np.tensordot(basis, full, (1, 0))
        wide = np.tensordot(half, basis, (2, 1))  # k, m, m, k
        return np.ascontiguousarray(wide.transpose(0, 1, 3, 2).reshape(k * m, k * m))

    def start(self) -> Floats:
        """No columns, and the log odds of the classes."""
        v = np.zeros((self.coordinates.n_scores, len(self.scale)))
        if self.coordinates.intercept:
            logs = np.log(self.proportions)
            if len(logs) == 2:
                v[0, -1] = logs[1] - logs[0]
            else:
                v[:, -1] = 2.0 * self.coordinates.basis.T @ logs
        return v.ravel()


class OnePass:
    """Ψ as Newton's method asks for it: value, gradient and Hessian of a point in one pass."""

    def __init__(self, problem: LogisticPosterior) -> None:
        self.problem = problem
        self._last: tuple[bytes, PosteriorEvaluation] | None = None
        self.passes = 0

    def at(self, theta: Floats) -> PosteriorEvaluation:
        """All three, computed once for each point."""
        key = theta.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = (key, self.problem.at(theta))
            self.passes += 1
        return self._last[1]

    def value(self, x: Floats) -> float:
        """Ψ(θ)."""
        return self.at(x).value

    def gradient(self, x: Floats) -> Floats:
        """∇Ψ(θ)."""
        return self.at(x).gradient

    def hessian(self, x: Floats) -> Floats:
        """∇²Ψ(θ)."""
        return self.at(x).hessian


# -------------------------------------------------------------------------------------------------
# Coordinates in which the prior is the same for every coefficient, and the way back.
#
#     z = ((x − center) / scale, 1),        s = C V z,        V ~ N(0, σ²)
#
# Columns are standardized, so that the prior does not depend on units. A common term of all scores
# changes no probability: V has one row less than there are classes, and C has columns that add up
# to zero. The log odds of any two classes have coefficients of variance σ²; with two classes V
# itself are those of the second against the first.


def class_basis(n_classes: int) -> Floats:
    """C (K x (K − 1)): columns that add up to zero, with CᵀC = ½ I and rows at distance one."""
    return np.asarray(linalg.helmert(n_classes).T / np.sqrt(2.0))


@dataclass(frozen=True)
class Coordinates:
    """The design z of a table and what its coefficients mean in the units of the table.

    ``scale`` is infinite for a constant column, whose z is zero. Where there are more columns than
    rows, ``span`` (d x r) is an orthonormal basis of the standardized rows: z then has r columns,
    and the coefficients outside of the span, of which the rows say nothing, follow their prior.
    """

    center: Floats
    scale: Floats
    intercept: bool
    n_classes: int
    span: Floats | None = field(default=None)

    @property
    def width(self) -> int:
        """Length of z."""
        columns = len(self.center) if self.span is None else self.span.shape[1]
        return columns + int(self.intercept)

    @property
    def n_scores(self) -> int:
        """Rows of V."""
        return self.n_classes - 1

    @property
    def basis(self) -> Floats:
        """What the scores are in rows of V: C, or 1 for the one score of two classes."""
        return np.ones((1, 1)) if self.n_classes == 2 else class_basis(self.n_classes)

    def standardize_columns(self, x: Floats) -> Floats:
        """(x − center) / scale."""
        return np.asarray((x - self.center) / self.scale)

    def design(self, x: Floats) -> Floats:
        """Rows of z."""
        z = self.standardize_columns(x)
        if self.span is not None:
            z = z @ self.span
        return np.column_stack([z, np.ones(len(z))]) if self.intercept else z

    def unscale(self, v: Floats) -> tuple[Floats, Floats]:
        """Coefficients (… x scores x d) and intercepts (… x scores) of the table from V (… x m)."""
        r = self.width - int(self.intercept)
        columns = v[..., :r] if self.span is None else v[..., :r] @ self.span.T
        return self.to_table(columns, v[..., r] if self.intercept else np.zeros(v.shape[:-1]))

    def to_table(self, columns: Floats, constant: Floats) -> tuple[Floats, Floats]:
        """The same from coefficients of all standardized columns and of the constant."""
        coef = np.einsum("kc,...cd->...kd", self.basis, columns) / self.scale
        intercept = np.einsum("kc,...c->...k", self.basis, constant) - coef @ self.center
        return coef, intercept


# -------------------------------------------------------------------------------------------------
# How the curvature of the likelihood changes with the scores: the third derivative, traced.
#
#     g = ∇_θ tr(Σ H(θ)),        H = Σ w z zᵀ ⊗ (diag p − p pᵀ)
#
# for a fixed matrix Σ. With Bₖₗ = zᵀ Σₖₗ z of a row and h = Σ pₖ Bₖₖ − pᵀB p,
#
#     ∂h/∂sₘ = pₘ (Bₘₘ − Σ pₖ Bₖₖ) − 2 pₘ ((B p)ₘ − pᵀB p)
#
# which for one score is p (1 − p)(1 − 2p) zᵀ Σ z.


class CurvatureSlope(FieldStatistic):
    """g at ``point`` (width x scores); ``covariance`` is Σ over (score, column) of the design."""

    sums = ("gradient",)

    def __init__(self, design: LogisticDesign, point: Floats, covariance: Floats) -> None:
        self.design, self.point, self.covariance = design, point, covariance
        self.gradient = np.zeros_like(point)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for z, _, w in self.design.chunks(block):
            scores = z @ self.point
            slope = self._binary(z, scores) if scores.shape[1] == 1 else self._several(z, scores)
            self.gradient += z.T @ (w[:, None] * slope)

    def _binary(self, z: Floats, scores: Floats) -> Floats:
        p, q = expit(scores[:, 0]), expit(-scores[:, 0])
        spread = np.einsum("ij,ij->i", z @ self.covariance, z)
        return np.asarray((p * q * (q - p) * spread)[:, None])

    def _several(self, z: Floats, scores: Floats) -> Floats:
        k, m = scores.shape[1], z.shape[1]
        p, b = softmax(scores), np.empty((len(z), k, k))
        for j in range(k):
            part = (z @ self.covariance[j * m : (j + 1) * m]).reshape(len(z), k, m)
            b[:, j] = np.einsum("nkm,nm->nk", part, z)
        diagonal = np.einsum("nkk->nk", b)
        cross = np.einsum("nkl,nl->nk", b, p)
        mean, both = np.sum(p * diagonal, axis=1), np.sum(p * cross, axis=1)
        return np.asarray(p * (diagonal - mean[:, None]) - 2.0 * p * (cross - both[:, None]))


# -------------------------------------------------------------------------------------------------
# The Laplace approximation of the evidence, and the prior scale that maximizes it.
#
#     log Z(σ) ≈ −Ψ(θ̂) − ½ log |A| + ½ Σ log λ,        A = ∇²Ψ(θ̂),    λ = 1/σ²
#
# With ρ = log λ and θ̂ moving along dθ̂/dρ = −A⁻¹λθ̂, its derivative is
#
#     d log Z/dρ = ½ (q − λ‖θ̂‖² − λ tr A⁻¹) + ½ g·A⁻¹λθ̂,      g = ∇_θ tr(A⁻¹ H(θ))
#
# over the q coefficients of columns; the last term is how the Hessian itself depends on θ̂, which
# MacKay's fixed point λ = (q − λ tr A⁻¹)/‖θ̂‖² leaves out. That gives the first step; the root of
# the exact derivative is then bracketed and found by Brent's method.


#: Prior scales that are tried, of coefficients of standardized columns.
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 1e3


@dataclass(frozen=True)
class LaplaceFit:
    """The maximum a posteriori for one prior scale, and the evidence there.

    ``slope`` is the derivative of ``log_evidence`` by log λ, NaN where it was not needed; ``fixed``
    is the λ of MacKay's fixed point.
    """

    problem: LogisticPosterior
    prior_scale: float
    theta: Floats
    covariance: Floats
    log_evidence: float
    condition: float
    margin: float
    passes: int
    slope: float = np.nan
    fixed: float = np.nan


def laplace_fit(
    problem: LogisticPosterior, prior_scale: float, start: Floats, max_iter: int, *, slope: bool
) -> LaplaceFit:
    """Newton's method from ``start``, then the Gaussian at its end."""
    problem = problem.with_scale(prior_scale)
    one_pass = OnePass(problem)
    # Largest gradient of Ψ that ends Newton's method, for each row.
    mode = newton(one_pass, start, tol=1e-12, max_iter=max_iter, gradient_scale=problem.weight)
    theta = _polish(one_pass, mode.coef[:, 0])
    at = one_pass.at(theta)
    covariance, log_determinant, condition = _inverse(at.hessian)
    log_evidence = -at.value - 0.5 * log_determinant + 0.5 * float(np.log(problem.precisions).sum())
    derivative, fixed = _slope(problem, theta, covariance) if slope else (np.nan, np.nan)
    return LaplaceFit(
        problem, prior_scale, theta, covariance, log_evidence, condition, at.margin,
        one_pass.passes,
        derivative, fixed,
    )  # fmt: skip


def _polish(one_pass: OnePass, theta: Floats) -> Floats:
    """Full Newton steps while they shrink the gradient: Ψ itself has too few digits to tell."""
    at = one_pass.at(theta)
    for _ in range(3):
        largest = float(np.abs(at.gradient).max(initial=0.0))
        if largest <= 1e-14 * one_pass.problem.weight:
            break
        new = theta - cholesky_solver(at.hessian)(at.gradient)
        there = one_pass.at(new)
        if not np.abs(there.gradient).max(initial=0.0) < 0.5 * largest:
            break
        theta, at = new, there
    return theta


def _inverse(hessian: Floats) -> tuple[Floats, float, float]:
    """A⁻¹, log |A| and the condition of A scaled to a unit diagonal."""
    unit = np.sqrt(np.diag(hessian))
    scaled = hessian / np.outer(unit, unit)
    values, vectors = linalg.eigh(scaled)
    if not values[0] > 0.0:
        raise InputError(
            "The curvature of the log posterior is not positive definite within rounding errors.",
            remedy="Give a smaller prior_scale.",
        )
    half = vectors / np.sqrt(values)
    covariance = (half @ half.T) / np.outer(unit, unit)
    determinant = float(np.log(values).sum() + 2.0 * np.log(unit).sum())
    return covariance, determinant, float(values[-1] / values[0])


def _slope(problem: LogisticPosterior, theta: Floats, covariance: Floats) -> tuple[float, float]:
    """d log Z/dρ, and the λ of the fixed point."""
    inside = problem.columns_of(np.ones_like(theta)) > 0.0
    if not inside.any():
        return 0.0, np.nan
    precision = float(problem.precision[0])
    columns = problem.columns_of(theta)
    square = float(columns @ columns)
    trace = precision * float(np.diag(covariance)[inside].sum())
    q = problem.n_penalized
    passed = CurvatureSlope(
        problem.design, problem.point(theta), problem.pushed_forward(covariance)
    )
    g = problem.gradient_of(problem.rows.reduce(passed).gradient)
    implicit = 0.5 * float(g @ (covariance @ (precision * columns)))
    explicit = 0.5 * (q - precision * square - trace)
    return explicit + implicit, (q - trace) / max(square, np.finfo(float).tiny)


def maximize_evidence(problem: LogisticPosterior, max_iter: int) -> LaplaceFit:
    """The prior scale of largest evidence between the smallest and the largest that are tried."""
    search = _FitsByPenalty(problem, max_iter)
    low, high = -2.0 * np.log(LARGEST_SCALE), -2.0 * np.log(SMALLEST_SCALE)
    at, other = 0.0, None
    here = search(at)
    longest_step = 4.0  # the longest step of ρ before the maximum is bracketed
    while other is None:
        step = float(np.log(here.fixed)) - at if here.fixed > 0.0 else np.nan
        if not step * here.slope > 0.0:
            step = np.sign(here.slope)
        # a little beyond the fixed point, so that the maximum lies between
        step = float(np.clip(1.5 * step, -longest_step, longest_step))
        step = step if abs(step) > 1e-3 else 1e-3 * np.sign(here.slope or 1.0)
        there = float(np.clip(at + step, low, high))
        found = search(there)
        if found.slope * here.slope <= 0.0:
            other = there
        elif there in (low, high):
            return found  # the evidence still grows at the last scale that is tried
        else:
            at, here = there, found
    root = optimize.brentq(search.slope, min(at, other), max(at, other), xtol=1e-13, rtol=1e-13)
    best, none = search(float(root)), search(high)
    return none if none.log_evidence > best.log_evidence and none.slope >= 0.0 else best


class _FitsByPenalty:
    """Fits by ρ = log λ; each starts where the nearest one ended."""

    def __init__(self, problem: LogisticPosterior, max_iter: int) -> None:
        self.problem, self.max_iter = problem, max_iter
        self.fits: dict[float, LaplaceFit] = {}

    def slope(self, rho: float) -> float:
        """The derivative of the evidence, exactly zero where more digits would not matter."""
        fit_at = self(rho).slope
        # Derivative of the evidence that ends the search, for each coefficient.
        return 0.0 if abs(fit_at) <= 1e-10 * self.problem.n_penalized else fit_at

    def __call__(self, rho: float) -> LaplaceFit:
        if rho not in self.fits:
            scale = float(np.exp(-0.5 * rho))
            start = self.problem.start()
            if self.fits:
                near = min(self.fits, key=lambda known: abs(known - rho))
                fit = self.fits[near]
                # along the path of θ̂, to first order in ρ
                columns = fit.problem.precisions * fit.problem.columns_of(fit.theta)
                start = fit.theta - np.clip(rho - near, -0.5, 0.5) * (fit.covariance @ columns)
            self.fits[rho] = laplace_fit(self.problem, scale, start, self.max_iter, slope=True)
        return self.fits[rho]


# -------------------------------------------------------------------------------------------------
# The Laplace approximation of a posterior: a normal distribution of all coefficients.
#
#     θ ~ N(θ̂, A⁻¹),        scores of a row z:  N(C V̂ z, C S Cᵀ),   Sₐᵦ = zᵀ (A⁻¹)ₐᵦ z
#
# Where there are more columns than rows, a row has a part outside of the span of the training rows,
# of which these say nothing: it adds the prior's variance σ² times its square.


@dataclass(frozen=True)
class LaplacePosterior:
    """The normal distribution of the coefficients V (scores x width) in standardized coordinates.

    ``covariance`` is over V row by row.
    """

    coordinates: Coordinates
    prior_scale: float
    mean: Floats
    covariance: Floats

    @cached_property
    def factor(self) -> Floats:
        """F with F Fᵀ = A⁻¹."""
        unit = np.sqrt(np.diag(self.covariance))
        values, vectors = linalg.eigh(self.covariance / np.outer(unit, unit))
        return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))

    def logits(self, x: Matrix) -> tuple[Floats, Floats]:
        """Means (n x c) and covariances (n x c x c) of V z for the rows of a table."""
        n, c = x.shape[0], self.coordinates.n_scores
        mean, covariance = np.empty((n, c)), np.empty((n, c, c))
        each = max(len(self.mean[0]), len(self.coordinates.center), c * c, 1)
        # Numbers that a chunk of rows may take, and the fewest rows of a piece of work.
        parts = pieces(n, 512, max(64, -(-n * each // 2_000_000)))

        def part(rows: slice) -> None:
            mean[rows], covariance[rows] = self._logits(_dense(x, rows))

        parallel_map(part, parts)
        return mean, covariance

    def _logits(self, x: Floats) -> tuple[Floats, Floats]:
        c, m = self.mean.shape
        z = self.coordinates.design(x)
        spread = np.empty((c, len(z), self.factor.shape[1]))
        for a in range(c):
            np.matmul(z, self.factor[a * m : (a + 1) * m], out=spread[a])
        covariance = np.einsum("anp,bnp->nab", spread, spread)
        if self.coordinates.span is not None:
            whole = self.coordinates.standardize_columns(x)
            inside = whole @ self.coordinates.span
            outside = np.sum((whole - inside @ self.coordinates.span.T) ** 2, axis=1)
            np.einsum("naa->na", covariance)[:] += self.prior_scale**2 * outside[:, None]
        return z @ self.mean.T, covariance

    def draws(self, n_samples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Coefficients (n_samples x scores x d) and intercepts in the units of the table."""
        normal = rng.standard_normal((n_samples, self.mean.size))
        v = self.mean + (normal @ self.factor.T).reshape(n_samples, *self.mean.shape)
        return self.to_table(v, rng)

    def to_table(self, v: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """V (… x scores x width) in the units of the table, with what the span leaves out."""
        coordinates = self.coordinates
        if coordinates.span is None:
            return coordinates.unscale(v)
        r = coordinates.span.shape[1]
        columns = v[..., :r] @ coordinates.span.T
        free = self.prior_scale * rng.standard_normal(columns.shape)
        columns += free - (free @ coordinates.span) @ coordinates.span.T
        return coordinates.to_table(
            columns, v[..., r] if coordinates.intercept else np.zeros(v.shape[:-1])
        )

    def standard_deviations(self) -> tuple[Floats, Floats]:
        """Standard deviations of the coefficients (scores x d) and the intercepts of the table."""
        at, basis = self.coordinates, self.coordinates.basis
        c, m = self.mean.shape
        blocks = self.covariance.reshape(c, m, c, m)
        by_score = np.einsum("ka,ambn,kb->kmn", basis, blocks, basis, optimize=True)
        d, r = len(at.center), m - int(at.intercept)
        columns = by_score[:, :r, :r]
        free = self.prior_scale**2 * np.sum(basis**2, axis=1)
        if at.span is None:
            variance = np.einsum("kmm->km", columns)
        else:
            variance = np.einsum("dr,krs,ds->kd", at.span, columns, at.span, optimize=True)
            variance = variance + free[:, None] * np.maximum(1.0 - np.sum(at.span**2, axis=1), 0.0)
        # the intercept of the table: that of z, minus the centers
        shift = at.center / at.scale
        within = shift if at.span is None else shift @ at.span
        row = np.append(-within, np.ones(int(at.intercept)))
        constant = np.einsum("m,kmn,n->k", row, by_score, row)
        if at.span is not None:
            outside = float(np.sum((shift - at.span @ within) ** 2))
            constant = constant + free * outside
        coef = np.sqrt(variance) / at.scale if d else np.sqrt(variance)
        return coef, np.sqrt(np.maximum(constant, 0.0))


def _dense(x: Matrix, rows: slice) -> Floats:
    part = x[rows]
    return np.asarray(part.toarray() if sparse.issparse(part) else part)


# -------------------------------------------------------------------------------------------------
# Predictive probabilities: the mean of the sigmoid, or of the softmax, of normal scores.
#
#     P(class) = E σ(f),   f ~ N(m, s²)
#
# Two classes, by quadrature: Gauss–Hermite with 64 nodes for s ≤ 1; beyond, where the sigmoid is
# steeper than the normal density, the same integral by parts, ∫ σ′(u) Φ((m − u)/s) du, by the
# trapezoidal rule, which converges geometrically because σ′ is analytic in a strip. Both are within
# 1e-12. The probit approximation replaces σ by Φ(√(π/8) f) of equal slope: σ(m / √(1 + πs²/8)).
#
# Several classes: tensor products of Gauss–Hermite rules for three and four classes while the
# scores have small variances, and a fixed Sobol sequence with its mirror image otherwise.


#: Variance of a coordinate of the scores up to which tensor products are the more accurate.
WIDE: defaultdict[int, float] = defaultdict(lambda: -1.0, {2: 9.0, 3: 2.0})
#: Largest difference between the probit approximation and the integral, over all m and s.
PROBIT_ERROR = 0.018
#: Error of the quadrature of two classes.
QUADRATURE_ERROR = 1e-12


def sigmoid_mean(mean: Floats, variance: Floats) -> Floats:
    """E σ(f) by quadrature."""
    sd = np.sqrt(variance)
    out = np.empty_like(mean)
    parallel_map(
        lambda rows: _sigmoid_mean(mean[rows], sd[rows], out[rows]), pieces(len(mean), 4096)
    )
    return out


def _sigmoid_mean(mean: Floats, sd: Floats, out: Floats) -> None:
    nodes, weights = _hermite(64)
    small = sd <= 1.0
    out[small] = expit(mean[small, None] + sd[small, None] * nodes) @ weights
    u, slope = _logistic_density()
    m, s = mean[~small], sd[~small]
    # the nearer class, so that a small probability has its digits
    tail = ndtr((-np.abs(m)[:, None] - u) / s[:, None]) @ slope
    out[~small] = np.where(m <= 0.0, tail, 1.0 - tail)


@cache
def _hermite(count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of a rule for N(0, 1)."""
    nodes, weights = hermegauss(count)
    total = float(np.sum(weights))
    return np.array(nodes, dtype=np.float64), np.array(weights / total, dtype=np.float64)


@cache
def _logistic_density() -> tuple[Floats, Floats]:
    """Nodes u and h σ′(u) of the trapezoidal rule, which add up to one."""
    u = np.linspace(-32.0, 32.0, 129)
    slope = expit(u) * expit(-u)
    return u, np.asarray(slope / slope.sum())


def probit_mean(mean: Floats, variance: Floats) -> Floats:
    """σ(m / √(1 + πs²/8)), MacKay's approximation."""
    return np.asarray(expit(mean / np.sqrt(1.0 + np.pi * variance / 8.0)))


def softmax_mean(
    mean: Floats, covariance: Floats, basis: Floats, *, coarse: bool = False
) -> Floats:
    """E softmax(C f) by row over the nodes of a rule; a ``coarse`` one has about half of them."""
    out, dimension = np.empty((len(mean), len(basis))), mean.shape[1]
    narrow = np.einsum("naa->na", covariance).max(axis=1) <= WIDE[dimension]
    for rule, rows in ((_tensor, np.flatnonzero(narrow)), (_sobol, np.flatnonzero(~narrow))):
        if len(rows):
            out[rows] = _over_nodes(mean[rows], covariance[rows], basis, *rule(dimension, coarse))
    return out


def _over_nodes(
    mean: Floats, covariance: Floats, basis: Floats, nodes: Floats, weights: Floats
) -> Floats:
    """Σ over nodes of weight · softmax(C (mean + root · node)) by row.

    The most probable class at the mean has what the others leave of one: their probabilities are
    sums of positive terms, small as they may be.
    """
    out, k = np.empty((len(mean), len(basis))), np.arange(len(basis) - 1)

    def part(rows: slice) -> None:
        values, vectors = np.linalg.eigh(covariance[rows])
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
        first = (mean[rows] @ basis.T).argmax(axis=1)[:, None]
        others = k + (k >= first)
        differences = basis[others] - basis[first]
        scores = differences @ root @ nodes + differences @ mean[rows, :, None]
        to_probabilities(scores, weights)
        value = scores.sum(axis=2)
        np.put_along_axis(out[rows], others, value, 1)
        np.put_along_axis(out[rows], first, 1.0 - value.sum(axis=1, keepdims=True), 1)

    # Scores of nodes computed at a time.
    parallel_map(part, pieces(len(mean), 1, max(64, len(mean) * nodes.size // 50_000)))
    return out


@cache
def _tensor(dimension: int, coarse: bool) -> tuple[Floats, Floats]:
    """Nodes (dimension x q) and weights of a tensor product of Gauss–Hermite rules."""
    count = {2: 61, 3: 19}[dimension]  # nodes of every axis
    count = count * 3 // 4 if coarse else count
    t, w = _hermite(count)
    grid = np.meshgrid(*[t] * dimension, indexing="ij")
    weights = np.prod(np.meshgrid(*[w] * dimension, indexing="ij"), axis=0).ravel()
    nodes = np.stack([axis.ravel() for axis in grid])
    used = weights > 1e-17
    return np.ascontiguousarray(nodes[:, used]), weights[used] / weights[used].sum()


@cache
def _sobol(dimension: int, coarse: bool) -> tuple[Floats, Floats]:
    """Nodes (dimension x q) of a Sobol sequence and of its mirror image, and equal weights."""
    from scipy.stats import qmc

    count = 1024 if coarse else 2048
    uniform = qmc.Sobol(dimension, scramble=False).random(count) + 0.5 / count
    half = ndtri(uniform).T
    nodes = np.concatenate([half, -half], axis=1)
    return np.ascontiguousarray(nodes), np.full(2 * count, 0.5 / count)


def softmax_probit(mean: Floats, covariance: Floats, basis: Floats) -> Floats:
    """1 / Σⱼ exp((mⱼ − mₖ) / √(1 + πsⱼₖ²/8)), sⱼₖ² the variance of a difference of scores.

    Divided by their sum; with two classes this is MacKay's approximation.
    """
    scores = mean @ basis.T
    spread = np.einsum("ka,nab,lb->nkl", basis, covariance, basis, optimize=True)
    diagonal = np.einsum("nkk->nk", spread)
    variance = np.maximum(diagonal[:, :, None] + diagonal[:, None, :] - 2.0 * spread, 0.0)
    differences = scores[:, None, :] - scores[:, :, None]  # mⱼ − mₖ at [k, j]
    return softmax(
        -np.logaddexp.reduce(differences / np.sqrt(1.0 + np.pi * variance / 8.0), axis=2)
    )


# -------------------------------------------------------------------------------------------------
# Certificate of a maximum a posteriori: the gradient of the log posterior at the coefficients.
#
# Computed from the coefficients of the table as they are exposed, by another formula than that of
# the solver:
#
#     ∂Ψ/∂(σⱼ bₖⱼ) = Σ w (pₖ − yₖ) (xⱼ − μⱼ)/σⱼ + 2 λ σⱼ bₖⱼ       (K scores that add up to zero)
#
# for every standardized column, with λ instead of 2 λ where two classes have one score.


class TableGradient(FieldStatistic):
    """Loss and gradient (K x (1 + d)) by the coefficients of standardized columns."""

    sums = ("loss", "gradient")

    def __init__(self, targets: Terms, at: Coordinates, coef: Floats, intercept: Floats) -> None:
        self.targets, self.at = targets, at
        self.coef, self.intercept = coef, intercept
        self.loss = 0.0
        self.gradient = np.zeros((len(coef), 1 + coef.shape[1]))

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        block = block.aligned(block.terms, self.targets)
        # Values in a chunk of rows.
        size = max(64, 500_000 // max(block.x.shape[1], len(self.targets), 1))
        for start in range(0, block.n, size):
            stop = min(start + size, block.n)
            x, y = block.dense(start, stop), block.y[start:stop]
            w = np.ones(stop - start) if block.w is None else block.w[start:stop]
            scores = x @ self.coef.T + self.intercept
            if scores.shape[1] == 1:
                scores = np.column_stack([np.zeros(len(scores)), scores])
            logs = log_softmax(scores, axis=1)
            self.loss -= float(w @ np.sum(y * logs, axis=1))
            residual = (w[:, None] * (np.exp(logs) - y))[:, -len(self.coef) :]
            self.gradient[:, 0] += residual.sum(axis=0)
            self.gradient[:, 1:] += residual.T @ self.at.standardize_columns(x)


def certify(
    fit: LaplaceFit, rows: Rows, targets: Terms, coef: Floats, intercept: Floats, *, learned: bool
) -> Certificate:
    """Gradient of the log posterior at the coefficients; and of the evidence, if σ was learned."""
    problem, at = fit.problem, fit.problem.coordinates
    sums = rows.reduce(TableGradient(targets, at, coef, intercept))
    finite = np.isfinite(at.scale)
    b = np.where(finite, coef * np.where(finite, at.scale, 0.0), 0.0)
    constant = intercept + coef @ at.center
    factor = 1.0 if at.n_classes == 2 else 2.0
    precision = fit.prior_scale**-2
    penalty = 0.5 * factor * precision * float(np.sum(b**2))
    gradient = sums.gradient[:, 1:] + factor * precision * b
    largest = float(np.abs(gradient).max(initial=0.0))
    if at.intercept:
        wide = float(problem.precision[-1])
        penalty += 0.5 * factor * wide * float(np.sum(constant**2))
        here = sums.gradient[:, 0] + factor * wide * constant
        largest = max(largest, float(np.abs(here).max()))
    size = problem.weight + precision * float(np.abs(b).max(initial=0.0))
    slope = abs(_projected_gap(fit)) / max(problem.n_penalized, 1) if learned else 0.0
    # Largest gradients that count as zero: of the log posterior for each row, and of the evidence.
    return Certificate(
        claim="Bayesian logistic regression: the log posterior is largest at these coefficients, "
        "and its curvature there is positive definite",
        primal=float(sums.loss) + penalty,
        kkt=max(largest / size, slope),
        tolerance=1e-7,
        condition=fit.condition,
        statistic="the rows",
        notes=_notes(fit, largest / size, learned=learned),
        promised=("kkt",),
    )


def _projected_gap(fit: LaplaceFit) -> float:
    """The slope of the evidence by log λ, zero where it points out of the scales that are tried."""
    if fit.prior_scale <= 1.0001 * SMALLEST_SCALE:
        return min(fit.slope, 0.0)
    if fit.prior_scale >= 0.9999 * LARGEST_SCALE:
        return max(fit.slope, 0.0)
    return fit.slope


def _notes(fit: LaplaceFit, gradient: float, *, learned: bool) -> tuple[str, ...]:
    notes = [
        f"Gradient of the log posterior {gradient:.1e} for each row.",
        f"Log evidence {fit.log_evidence:.6g} (Laplace approximation) with the prior scale "
        f"{fit.prior_scale:.4g} of standardized columns.",
    ]
    if learned:
        notes.append(f"Its derivative by the logarithm of the prior's precision {fit.slope:.1e}.")
    if learned and fit.prior_scale <= 1.0001 * SMALLEST_SCALE:
        notes.append(
            "It is largest at the smallest scale that is tried: the columns say nothing about the "
            "classes."
        )
    if fit.margin > 0.0:
        notes.append(
            "A hyperplane separates the classes: the posterior is far from normal, and the "
            "evidence hardly limits the prior scale. Compare with draws (sample), or give "
            "prior_scale."
        )
    if fit.problem.coordinates.n_classes == 2:
        notes.append(
            f"Predictive probabilities by quadrature are within {QUADRATURE_ERROR:.0e} of their "
            f"integrals, and the probit approximation within {PROBIT_ERROR}."
        )
    return tuple(notes)
