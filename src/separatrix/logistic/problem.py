"""The penalized logistic likelihood in preconditioned coordinates.

    F(θ) = Σ w (log Σₖ e^sₖ − s_y) + Σₖ Σⱼ [½ qⱼ θⱼₖ² + ℓⱼ |θⱼₖ|],      s = θᵀz

z is the row centered, divided by the standard deviations, with a constant at the end that is not
penalized unless the options say so. In the notation of the estimators F is the objective divided
by C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from separatrix.optimize.penalties import ElasticNet
from separatrix.probability.likelihood.derivatives import (
    LogisticDesign,
    LogisticDual,
    LogisticGradient,
    LogisticHessian,
    LogisticHessianBlocks,
)
from separatrix.rows.block import Block, Floats, concatenate
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Terms
from separatrix.statistics.moments import Moments
from separatrix.statistics.preconditioner import Preconditioner, column_scales, precondition
from separatrix.statistics.standardizer import Standardizer


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
class Evaluation:
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
    design: LogisticDesign
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
    def penalty(self) -> ElasticNet:
        """The penalty by coefficient, equal for every score."""
        k = self.shape[1]
        lasso = np.repeat(self.lasso[:, None], k, axis=1)
        return ElasticNet(lasso, np.repeat(self.ridge[:, None], k, axis=1))

    def gradient(self, theta: Floats) -> Evaluation:
        """Value and gradient, the cheapest pass."""
        found = self.rows.reduce(LogisticGradient(self.design, theta / self.scale[:, None]))
        return self._evaluation(theta, found)

    def hessian(self, theta: Floats) -> Evaluation:
        """Value, gradient and Hessian in one pass."""
        found = self.rows.reduce(LogisticHessian(self.design, theta / self.scale[:, None]))
        unit = np.tile(self.scale, theta.shape[1])
        hessian = found.hessian / np.outer(unit, unit)
        np.einsum("ii->i", hessian)[:] += np.tile(self.ridge, self.shape[1])
        return replace(self._evaluation(theta, found), hessian=hessian)

    def hessian_blocks(self, theta: Floats) -> Floats:
        """The diagonal blocks of the Hessian (scores x width x width)."""
        found = self.rows.reduce(LogisticHessianBlocks(self.design, theta / self.scale[:, None]))
        return np.asarray(found.blocks / np.outer(self.scale, self.scale) + np.diag(self.ridge))

    def dual(self, theta: Floats, step: Floats) -> LogisticDual:
        """The sums of a certificate at θ − step, in unit coordinates and without the penalty."""
        unit = self.scale[:, None]
        found = self.rows.reduce(LogisticDual(self.design, theta / unit, step / unit))
        found.gradient, found.dual_gradient = found.gradient / unit, found.dual_gradient / unit
        if not (np.isfinite(theta).all() and np.isfinite(step).all()):
            found.value = np.nan
        return found

    def _evaluation(self, theta: Floats, found: LogisticGradient) -> Evaluation:
        ridge = self.ridge[:, None] * theta
        value = found.value + 0.5 * float(np.sum(theta * ridge))  # not finite if θ is not
        return Evaluation(value, found.gradient / self.scale[:, None] + ridge, found.margin)

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
        coef = theta[:r] / p.scale[:, None] if p.rotation is None else p.matrix @ theta[:r]
        intercept = theta[r] if self.design.intercept else np.zeros(theta.shape[1])
        return coef, intercept - p.center @ coef

    def rescale(self, coef: Floats, intercept: Floats) -> Floats | None:
        """θ from coefficients (d x scores) and intercepts; None for rotated columns."""
        p = self.preconditioner
        if p.rotation is not None:
            return None
        # columns far from zero cancel in it: what is left are the digits of the intercept
        center = p.center.astype(np.longdouble)
        constant = (intercept + (center[:, None] * coef).sum(axis=0)).astype(float)
        constant = constant[None, :] if self.design.intercept else constant[:0]
        return np.vstack([coef * p.scale[:, None], constant.reshape(-1, coef.shape[1])])

    def as_returned(self, theta: Floats) -> Floats:
        """θ of the doubles that stand for it in the units of the table."""
        found = self.rescale(*self.unscale(theta))
        return theta if found is None else found


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
    design = LogisticDesign(targets, preconditioner.center, preconditioner.rotation, fit_intercept)
    return assemble_problem(rows, design, preconditioner, penalty_scale, moments.weight, options)


def assemble_problem(
    rows: Rows,
    design: LogisticDesign,
    preconditioner: Preconditioner,
    penalty_scale: Floats,
    weight: float,
    options: LogisticOptions,
) -> LogisticProblem:
    """A problem with its penalty; ``penalty_scale`` has one entry for each column of z but 1."""
    one = np.ones(int(options.fit_intercept))
    scale = np.append(preconditioner.scale, one)
    penalty_scale = np.append(penalty_scale, one / options.intercept_scaling)
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
    coefficients = linalg.lstsq(within, means)[0] if r else means
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
