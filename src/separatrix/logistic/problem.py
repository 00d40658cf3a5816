"""The penalized logistic likelihood in preconditioned coordinates.

    F(θ) = Σ w (log Σₖ e^sₖ − s_y) + Σₖ Σⱼ [½ qⱼ θⱼₖ² + ℓⱼ |θⱼₖ|],      s = θᵀz

z is the row centered, divided by the standard deviations, with a constant at the end that is not
penalized unless the options say so. In the notation of the estimators F is the objective divided
by C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import linprog

from separatrix.arrays import Floats
from separatrix.optimize.convex import ROUNDING as duality_ROUNDING
from separatrix.optimize.convex import Certificate, ElasticNetPenalty, without_rounding
from separatrix.optimize.newton import cholesky_solver
from separatrix.probability import likelihood
from separatrix.rows.rows import ArrayRows, EncodedRows, InMemory, Rows
from separatrix.rows.schema import Block, Terms, concatenate
from separatrix.statistics.moments import (
    Moments,
    Preconditioner,
    Standardizer,
    column_scales,
    precondition,
)


@dataclass(frozen=True)
class LogisticOptions:
    """``penalty`` is λ = 1/C, ``l1_ratio`` the fraction ρ of its ℓ₁ part.

    An intercept a is penalized as a coefficient a/``intercept_scaling``; infinite leaves it free.
    ``method`` is what messages call the fit.
    """

    penalty: float = 0.0
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    standardize: bool = False
    tol: float = 1e-8
    max_iter: int = 100
    intercept_scaling: float = np.inf
    method: str = "the fit"

    @property
    def centered(self) -> bool:
        """Whether columns may be centered: the penalty of an intercept is one at the origin."""
        return self.fit_intercept and np.isinf(self.intercept_scaling)

    @property
    def has_l1(self) -> bool:
        """Whether the penalty has an ℓ₁ part."""
        return self.penalty > 0.0 and self.l1_ratio > 0.0


@dataclass(frozen=True)
class LossEvaluation:
    """F without its ℓ₁ part at a point: value, gradient, smallest margin, and perhaps Hessian."""

    value: float
    gradient: Floats
    margin: float
    hessian: Floats | None = None


@dataclass(frozen=True)
class LogisticProblem:
    """Rows, their design, and the penalty.

    ``scale`` is the unit of each column of z. ``penalty_scale`` multiplies a coefficient θⱼ in the
    penalty: ℓ = λρ·penalty_scale and q = λ(1 − ρ)·penalty_scale²; it is 0 for a free intercept.
    """

    rows: Rows
    design: likelihood.LogisticDesign
    scale: Floats
    penalty_scale: Floats
    ridge: Floats
    lasso: Floats
    weight: float
    preconditioner: Preconditioner

    @property
    def shape(self) -> tuple[int, int]:
        """Columns of z and scores."""
        return self.design.width, self.design.n_scores

    @property
    def penalty(self) -> ElasticNetPenalty:
        """The penalty by coefficient, equal for every score."""
        k = self.shape[1]
        lasso = np.repeat(self.lasso[:, None], k, axis=1)
        return ElasticNetPenalty(lasso, np.repeat(self.ridge[:, None], k, axis=1))

    def gradient(self, theta: Floats) -> LossEvaluation:
        """Value and gradient, the cheapest pass."""
        found = self.rows.reduce(
            likelihood.LogisticGradient(self.design, theta / self.scale[:, None])
        )
        return self._evaluation(theta, found)

    def hessian(self, theta: Floats) -> LossEvaluation:
        """Value, gradient and Hessian in one pass."""
        found = self.rows.reduce(
            likelihood.LogisticHessian(self.design, theta / self.scale[:, None])
        )
        unit = np.tile(self.scale, theta.shape[1])
        hessian = found.hessian / np.outer(unit, unit)
        np.einsum("ii->i", hessian)[:] += np.tile(self.ridge, self.shape[1])
        return replace(self._evaluation(theta, found), hessian=hessian)

    def hessian_blocks(self, theta: Floats) -> Floats:
        """The diagonal blocks of the Hessian (scores x width x width)."""
        blocks = self.rows.reduce(
            likelihood.LogisticHessianBlocks(self.design, theta / self.scale[:, None])
        )
        return np.asarray(blocks.blocks / np.outer(self.scale, self.scale) + np.diag(self.ridge))

    def dual(self, theta: Floats, step: Floats) -> likelihood.LogisticDual:
        """The sums of a certificate at θ − step, in unit coordinates and without the penalty."""
        unit = self.scale[:, None]
        found = self.rows.reduce(likelihood.LogisticDual(self.design, theta / unit, step / unit))
        found.gradient, found.dual_gradient = found.gradient / unit, found.dual_gradient / unit
        if not (np.isfinite(theta).all() and np.isfinite(step).all()):
            found.value = np.nan
        return found

    def _evaluation(
        self, theta: Floats, logistic_gradient: likelihood.LogisticGradient
    ) -> LossEvaluation:
        ridge = self.ridge[:, None] * theta
        value = logistic_gradient.value + 0.5 * float(
            np.sum(theta * ridge)
        )  # not finite if θ is not
        return LossEvaluation(
            value,
            logistic_gradient.gradient / self.scale[:, None] + ridge,
            logistic_gradient.margin,
        )

    def subsample(self, size: int, times: float = 1.0) -> LogisticProblem | None:
        """The problem over ``size`` evenly spaced rows, if there are ``times`` as many.

        Its sums are to be multiplied by the ratio of the weights.
        """
        table = self.rows.rows if isinstance(self.rows, EncodedRows) else self.rows
        if not isinstance(table, InMemory) or len(table) < times * size:
            return None
        at = (np.arange(size) * (len(table) / size)).astype(np.intp)
        some: Rows = table.take(at)
        weight = some.collect().weight
        if not weight > 0.0:
            return None
        if isinstance(self.rows, EncodedRows):
            some = EncodedRows(some, self.rows.encoding)
        return replace(self, rows=some, weight=weight, ridge=self.ridge * weight / self.weight)

    def head(self, size: int) -> LogisticProblem:
        """The problem over the first ``size`` rows, or all if there are fewer."""
        blocks: list[Block] = []
        for block in self.rows.blocks():
            missing = size - sum(known.n for known in blocks)
            if missing <= 0:
                break
            blocks.append(block.take(slice(0, missing)))
        head = concatenate(blocks)
        rows = ArrayRows(head.x, head.y, head.w, targets=head.targets.items)
        weight = head.weight
        if not weight > 0.0:
            return self
        return replace(self, rows=rows, weight=weight, ridge=self.ridge * weight / self.weight)

    def with_penalty(self, penalty: float, l1_ratio: float) -> LogisticProblem:
        """The same rows with another penalty λ and fraction ρ of its ℓ₁ part."""
        ridge = penalty * (1.0 - l1_ratio) * self.penalty_scale**2
        return replace(self, ridge=ridge, lasso=penalty * l1_ratio * self.penalty_scale)

    def unscale(self, theta: Floats) -> tuple[Floats, Floats]:
        """Coefficients (d x scores) and intercepts in the units of the table."""
        p, r = self.preconditioner, self.preconditioner.rank
        coef = p.coef(theta[:r])
        intercept = theta[r] if self.design.intercept else np.zeros(theta.shape[1])
        return coef, intercept - p.center @ coef

    def rescale(self, coef: Floats, intercept: Floats) -> Floats | None:
        """θ from coefficients (d x scores) and intercepts; None for rotated columns."""
        p = self.preconditioner
        if p.rotated:
            return None
        # columns far from zero cancel in it: what is left are the digits of the intercept
        center = p.center.astype(np.longdouble)
        constant = (intercept + (center[:, None] * coef).sum(axis=0)).astype(float)
        constant = constant[None, :] if self.design.intercept else constant[:0]
        return np.vstack([coef * p.scale[:, None], constant.reshape(-1, coef.shape[1])])

    def as_returned(self, theta: Floats) -> Floats:
        """θ of the doubles that stand for it in the units of the table."""
        coefficients = self.rescale(*self.unscale(theta))
        return theta if coefficients is None else coefficients


def build_problem(
    rows: Rows, moments: Moments, targets: Terms, options: LogisticOptions
) -> LogisticProblem:
    """The problem of a table. Without penalty, linearly dependent columns are removed first."""
    fit_intercept = options.fit_intercept
    if options.penalty > 0.0:
        m = moments if options.centered else moments.about_origin()
        scale = column_scales(moments, m)
        scale = np.where(scale > 0, scale, 1.0)  # a constant column has the scale 1
        preconditioner = Preconditioner(m.x_mean, scale, None, m.y_mean, options.centered)
        unit = Standardizer.from_moments(moments).scale if options.standardize else 1.0
        penalty_scale = unit / scale
    else:
        preconditioner = precondition(rows, moments, fit_intercept=fit_intercept)
        penalty_scale = np.zeros(preconditioner.rank)
    design = likelihood.LogisticDesign(
        targets, preconditioner.center, preconditioner.rotation, fit_intercept
    )
    return assemble_problem(rows, design, preconditioner, penalty_scale, moments.weight, options)


def assemble_problem(
    rows: Rows,
    design: likelihood.LogisticDesign,
    preconditioner: Preconditioner,
    penalty_scale: Floats,
    weight: float,
    options: LogisticOptions,
) -> LogisticProblem:
    """A problem with its penalty; ``penalty_scale`` has one entry for each column of z but 1."""
    intercept_scale = np.ones(int(options.fit_intercept))
    scale = np.append(preconditioner.scale, intercept_scale)
    penalty_scale = np.append(penalty_scale, intercept_scale / options.intercept_scaling)
    none = np.zeros(design.width)
    problem = LogisticProblem(
        rows, design, scale, penalty_scale, none, none, weight, preconditioner
    )
    l1_ratio = options.l1_ratio if options.penalty > 0.0 else 0.0
    return problem.with_penalty(options.penalty, l1_ratio)


def discriminant_start(problem: LogisticProblem, moments: Moments) -> Floats:
    """Starting point: the scores of linear discriminant analysis.

        θₖ = S⁻¹ (μₖ − μ),      S the within-class covariance, plus a little on the diagonal

    All of it follows from the moments, since the indicators of the classes are their targets.
    """
    p, (width, k) = problem.preconditioner, problem.shape
    r = p.rank
    priors = np.maximum(moments.y_mean, np.finfo(float).tiny)
    gram = p.gram(moments) / moments.weight
    means = p.matrix.T @ (moments.xy / moments.weight / priors)
    if not p.centered:
        means += (p.matrix.T @ moments.x_mean)[:, None]
    within = gram - (means * priors) @ means.T + 0.01 * np.eye(r)
    within += np.diag(problem.ridge[:r] / (0.25 * moments.weight))
    coefficients = cholesky_solver(within)(means) if r else means
    theta = np.zeros((width, len(priors)))
    theta[:r] = coefficients
    if problem.design.intercept:
        theta[r] = np.log(priors) - 0.5 * np.sum(means * coefficients, axis=0)
    theta -= theta.mean(axis=1, keepdims=True)
    return theta[:, [1]] - theta[:, [0]] if k == 1 else theta


def constant_start(problem: LogisticProblem, priors: Floats) -> Floats:
    """The maximum likelihood estimate without columns: log priors as intercepts."""
    theta = np.zeros((len(problem.scale), len(priors)))
    if problem.design.intercept:
        logs = np.log(np.maximum(priors, np.finfo(float).tiny))
        theta[-1] = logs - logs.mean()
    return theta[:, [1]] - theta[:, [0]] if problem.shape[1] == 1 else theta


# -------------------------------------------------------------------------------------------------
# Separation: directions along which the logistic likelihood increases without a maximum.
#
# The maximum likelihood estimate exists unless some direction v, other than one that changes no
# score, never decreases the margin of a row, the score of its class minus that of another:
#
#     (v_y − v_k)·z ≥ 0   for all rows and classes k,   and > 0 for some
#
# With v the likelihood increases towards its supremum at infinity. If all margins are positive the
# separation is complete, else quasi-complete: some rows lie on the boundary (Albert and Anderson).


#: Margins that rounding may leave below zero, as a fraction of the largest.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Separation:
    """A separating direction: coefficients (d x scores) and intercepts.

    ``smallest_margin`` and ``largest_margin`` over all rows prove it; if ``complete``, every row is
    strictly on the side of its class.
    """

    coef: Floats
    intercept: Floats
    smallest_margin: float
    largest_margin: float
    complete: bool


def quasi_separation(problem: LogisticProblem, theta: Floats, step: Floats) -> Separation | None:
    """A direction with some rows on the boundary, or None if none was found.

    Far from the origin the step keeps only what still increases the likelihood, and θ itself is
    mostly made of such steps. Rows whose margin either nearly leaves at zero must stay there
    exactly: the direction is projected accordingly, and then the margins of all rows are checked.
    """
    finite = np.isfinite(step).all() and np.isfinite(theta).all()
    # Parameters up to which quasi-complete separation is sought.
    if theta.size > 2500 or not finite:
        return None
    for direction in (-step, theta):
        margins = _margins(problem, direction)
        # Margins below these fractions of the largest one are taken to be zero, and then made so.
        for fraction in (1e-3, 0.05, 0.3):
            tolerance = fraction * margins.largest
            if margins.largest > 0.0 and margins.smallest >= -tolerance:
                separation = _project_separation(problem, direction, tolerance)
                if separation is not None:
                    return separation
    return None


def separation_by_linear_program(problem: LogisticProblem) -> Separation | None:
    """The largest sum of margins with none of them negative, for tables small enough.

    None if there is no separation, and for larger tables.
    """
    width, k = problem.shape
    block = problem.rows.collect()
    if block.n * max(k - 1, 1) * width * k > 2_000_000:  # numbers in a linear program
        return None
    none = np.zeros((width, k))
    chunks = problem.design.chunks(block)
    rows = np.concatenate([_margin_rows(problem, chunk, none, 0.0) for chunk in chunks])
    best = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1.0, 1.0))
    if best.x is None:
        return None
    direction = best.x.reshape(k, width).T
    largest = float((rows @ best.x).max(initial=0.0))
    return _project_separation(problem, direction, 1e-5 * largest) if largest > 1e-5 else None


def _margin_rows(
    problem: LogisticProblem, chunk: likelihood.Chunk, direction: Floats, tolerance: float
) -> Floats:
    """One row a, in units of θ, for each margin a·v of a row that is within ``tolerance`` of 0."""
    z, indicators, w = chunk
    z, is_positive = z[w > 0.0], indicators[w > 0.0] > 0.5
    scores = z @ (direction / problem.scale[:, None])
    if problem.shape[1] == 1:
        sign = np.where(is_positive[:, 1], 1.0, -1.0)
        near = np.abs(scores[:, 0]) <= tolerance
        return np.asarray(sign[near, None] * z[near] / problem.scale)
    margins = scores[is_positive][:, None] - scores
    i, j = np.nonzero((np.abs(margins) <= tolerance) & ~is_positive)
    rows = np.zeros((len(i), is_positive.shape[1], z.shape[1]))
    unit = z[i] / problem.scale
    rows[np.arange(len(i)), is_positive.argmax(axis=1)[i]] = unit
    rows[np.arange(len(i)), j] = -unit
    return rows.reshape(len(i), -1)


def _margins(problem: LogisticProblem, direction: Floats) -> likelihood.ScoreMargins:
    scaled = direction / problem.scale[:, None]
    return problem.rows.reduce(likelihood.ScoreMargins(problem.design, scaled))


def _project_separation(
    problem: LogisticProblem, direction: Floats, tolerance: float
) -> Separation | None:
    """The direction projected so that margins within ``tolerance`` are zero, if it separates.

    The rows themselves are factorized, not their products: two that differ by 10⁻⁹ are not taken
    for one.
    """
    k, p = direction.shape[1], direction.size
    factor = np.zeros((0, p))
    max_stacked = 5_000  # rows that are factorized at once
    for block in problem.rows.blocks():
        for chunk in problem.design.chunks(block):
            near = _margin_rows(problem, chunk, direction, tolerance)
            for start in range(0, len(near), max_stacked):
                factor = np.vstack([factor, near[start : start + max_stacked]])
                if len(factor) > p:
                    factor = linalg.qr(factor, mode="r", check_finite=False)[0][:p]
    values, right = linalg.svd(factor, check_finite=False)[1:] if len(factor) else ([], np.eye(p))
    rank = int((np.asarray(values) > ROUNDING * max([1.0, *values[:1]])).sum())
    null = right[rank:].T
    projected = null @ (null.T @ direction.T.ravel())
    if not np.linalg.norm(projected) > 1e-6 * np.linalg.norm(direction):
        return None
    return verified_separation(problem, projected.reshape(k, -1).T)


def verified_separation(problem: LogisticProblem, direction: Floats) -> Separation | None:
    """The direction as a separation, if the margins of all rows agree."""
    direction = direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
    margins = _margins(problem, direction)
    smallest, largest = float(margins.smallest), float(margins.largest)
    if not largest > 1e-6 or smallest < -ROUNDING * largest:
        return None
    coef, intercept = problem.unscale(direction)
    return Separation(coef, intercept, smallest, largest, complete=smallest > ROUNDING * largest)


# -------------------------------------------------------------------------------------------------
# Certificate of a logistic fit: a lower bound on the objective from the dual problem.
#
#     D(p) = −Σ w Σₖ pₖ log pₖ − pen*(Σ w (y − p) z)      for any probabilities p with zero gradient
#                                                          in the columns without penalty
#
# At the optimum the probabilities of the model attain it.


class CertifiedPoint(NamedTuple):
    """A certificate, the point θ it belongs to, and the loss Σ w ℓ there."""

    certificate: Certificate
    theta: Floats
    loss: float


def certify_logistic(
    problem: LogisticProblem,
    theta: Floats,
    step: Floats,
    factor: float,
    *,
    tolerance: float = np.nan,
) -> CertifiedPoint:
    """Certificate of the coefficients that are returned for θ − step, in one pass over the rows.

    ``factor`` turns F into the objective of the estimators. What rounding leaves of the dual
    gradient is charged to the gap at the size of its coefficient.
    """
    step = theta - problem.as_returned(theta - step)
    found = problem.dual(theta, step)
    theta = theta - step
    penalty = problem.penalty
    v, slack = _without_rounding(penalty, theta, -found.dual_gradient, found.value, problem.weight)
    t = _feasible_scale(v, penalty)
    conjugate = float(penalty.conjugate(t * v).sum())
    primal = found.value + penalty.value(theta)
    dual = max(-t * found.entropy - conjugate - slack, 0.0)  # no loss is below zero
    kkt = penalty.distance(theta, -found.gradient).max(initial=0.0) / problem.weight
    certificate = Certificate(
        claim="Logistic regression: no other coefficients have a lower objective",
        primal=factor * primal,
        dual=factor * dual,
        gap=factor * float(np.maximum(primal - dual, 0.0)),
        kkt=float(kkt),
        tolerance=tolerance,
        statistic="the rows",
    )
    return CertifiedPoint(certificate, theta, float(found.value))


def gap_at(
    penalty: ElasticNetPenalty, theta: Floats, gradient: Floats, loss: float, weight: float
) -> float:
    """The gap of F at θ by the probabilities there, from Σ w ℓ, its gradient and Σ w.

    With ℓ(s) + ℓ*(r) = r·s it is (1 − t) Σ w ℓ + p(θ) + p*(t v) − t v·θ; what rounding leaves of v
    counts once in that and once as the charge of the certificate.
    """
    v, slack = _without_rounding(penalty, theta, -gradient, loss, weight)
    t = _feasible_scale(v, penalty)
    return (1.0 - t) * loss + float(penalty.excess(theta, t * v).sum()) + 2.0 * slack


def _without_rounding(
    penalty: ElasticNetPenalty, theta: Floats, v: Floats, loss: float, weight: float
) -> tuple[Floats, float]:
    """v nearer to ∂p(θ) by its rounding errors, and Σ |v·θ| of what was taken from it.

    v = Σ w (y − p) z adds up terms whose absolute values sum to √(Σ w ℓ · Σ w z²) at most, as
    |y − p|² ≤ ℓ, and z² is 1 on average. In a column without penalty all of v is taken: it is
    what an iteration left.
    """
    free = (penalty.l1 == 0.0) & (penalty.l2 == 0.0)
    error = np.where(free, np.inf, duality_ROUNDING * np.sqrt(max(loss, 0.0) * weight))
    return without_rounding(penalty, theta, v, error)


def _feasible_scale(v: Floats, penalty: ElasticNetPenalty) -> float:
    """The factor that makes v dual feasible for columns with a pure ℓ₁ penalty."""
    lasso = (penalty.l1 > 0.0) & (penalty.l2 == 0.0)
    if not lasso.any():
        return 1.0
    largest = float((np.abs(v[lasso]) / penalty.l1[lasso]).max())
    return 1.0 if largest < 1.0 else (1.0 - 1e-15) / largest
