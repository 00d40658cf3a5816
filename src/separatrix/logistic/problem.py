"""The logistic likelihood with its penalty, in coordinates where every column has unit size.

    F(θ) = Σ w (log Σₖ e^sₖ − s_y) + Σₖ Σⱼ [½ qⱼ θⱼₖ² + ℓⱼ |θⱼₖ|],      s = θᵀz

z is the row moved to its mean, divided by the deviations, with a constant at the end that no
penalty touches. In the notation of the models this is the objective divided by C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from separatrix.logistic.derivatives import (
    LogisticBlocks,
    LogisticCurvature,
    LogisticDual,
    LogisticSlope,
    View,
)
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats, concatenate
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Terms
from separatrix.statistics.moments import Moments
from separatrix.statistics.preconditioner import Preconditioner, column_scales, precondition


@dataclass(frozen=True)
class LogisticSettings:
    """``penalty`` is 1/C; ``l1_ratio`` the share of the ℓ₁ part."""

    penalty: float = 0.0
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    standardize: bool = False
    tol: float = 1e-8
    max_iter: int = 100

    @property
    def selects(self) -> bool:
        """Whether the penalty has a kink at zero."""
        return self.penalty > 0.0 and self.l1_ratio > 0.0


@dataclass(frozen=True)
class At:
    """F without its ℓ₁ part at a point: value, slope, and the curvature where it was asked for."""

    value: float
    gradient: Floats
    margin: float
    hessian: Floats | None = None


@dataclass(frozen=True)
class LogisticProblem:
    """Rows, how they are seen, and the penalty.

    ``scale`` is the unit of each column of z; ``size`` is what a coefficient θ of one weighs in
    the penalty, which is ℓ = λρ·size and q = λ(1 − ρ)·size². The constant weighs nothing.
    """

    rows: Rows
    view: View
    scale: Floats
    size: Floats
    ridge: Floats
    lasso: Floats
    weight: float
    frame: Preconditioner

    @property
    def shape(self) -> tuple[int, int]:
        """Columns of z and scores."""
        return self.view.width, self.view.scores

    def slope(self, theta: Floats) -> At:
        """Value and slope: the cheapest pass."""
        found = self.rows.reduce(LogisticSlope(self.view, theta / self.scale[:, None]))
        return self._at(theta, found)

    def curved(self, theta: Floats) -> At:
        """Value, slope and curvature in one pass."""
        found = self.rows.reduce(LogisticCurvature(self.view, theta / self.scale[:, None]))
        unit = np.tile(self.scale, theta.shape[1])
        hessian = found.hessian / np.outer(unit, unit)
        return replace(self._at(theta, found), hessian=self._with_ridge(hessian))

    def blocks(self, theta: Floats) -> Floats:
        """The curvature of each score by itself (scores x width x width)."""
        found = self.rows.reduce(LogisticBlocks(self.view, theta / self.scale[:, None]))
        return np.asarray(found.blocks / np.outer(self.scale, self.scale) + np.diag(self.ridge))

    def dual(self, theta: Floats, step: Floats) -> LogisticDual:
        """The sums of a certificate at θ − step, in unit coordinates and without the penalty."""
        unit = self.scale[:, None]
        found = self.rows.reduce(LogisticDual(self.view, theta / unit, step / unit))
        found.gradient, found.balance = found.gradient / unit, found.balance / unit
        return found

    def _at(self, theta: Floats, found: LogisticSlope) -> At:
        pull = self.ridge[:, None] * theta
        value = found.value + 0.5 * float(np.sum(theta * pull))
        return At(value, found.gradient / self.scale[:, None] + pull, found.margin)

    def _with_ridge(self, hessian: Floats) -> Floats:
        np.einsum("ii->i", hessian)[:] += np.tile(self.ridge, self.shape[1])
        return hessian

    def sampled(self, size: int, times: float = 1.0) -> LogisticProblem | None:
        """The same problem over ``size`` rows spread evenly, if there are ``times`` as many.

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
        share = weight / self.weight
        return replace(self, rows=some, weight=weight, ridge=self.ridge * share)

    def first(self, size: int) -> LogisticProblem:
        """The same problem over the first rows, at least ``size`` if there are as many."""
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

    def penalised(self, penalty: float, l1_ratio: float) -> LogisticProblem:
        """The same rows with another penalty λ and share ρ of its ℓ₁ part."""
        ridge, lasso = penalty * (1.0 - l1_ratio) * self.size**2, penalty * l1_ratio * self.size
        return replace(self, ridge=ridge, lasso=lasso)

    def restore(self, theta: Floats) -> tuple[Floats, Floats]:
        """Coefficients (d x scores) and intercepts in the units of the table."""
        r = self.frame.rank
        plain = self.frame.rotation is None
        coef = theta[:r] / self.frame.scale[:, None] if plain else self.frame.matrix @ theta[:r]
        constant = theta[r] if self.view.constant else np.zeros(theta.shape[1])
        return coef, constant - self.frame.center @ coef


def problem_of(
    rows: Rows, moments: Moments, targets: Terms, settings: LogisticSettings
) -> LogisticProblem:
    """Set up the problem. Without penalty, dependent columns are found and turned away first."""
    if settings.penalty > 0.0:
        frame = _plain_frame(moments, settings.fit_intercept)
    else:
        frame = precondition(rows, moments, fit_intercept=settings.fit_intercept)
    view = View(targets, frame.center, frame.rotation, settings.fit_intercept)
    size = np.zeros(frame.rank)
    if settings.penalty > 0.0:
        deviation = np.sqrt(np.maximum(np.diag(moments.xx), 0.0) / moments.weight)
        size = (deviation if settings.standardize else 1.0) / frame.scale
    return assemble(rows, view, frame, size, moments.weight, settings)


def assemble(
    rows: Rows,
    view: View,
    frame: Preconditioner,
    size: Floats,
    weight: float,
    settings: LogisticSettings,
) -> LogisticProblem:
    """A problem with its penalty; ``size`` (one for each column of z) is 0 for the constant."""
    ones = np.ones(int(settings.fit_intercept))
    scale, size = np.append(frame.scale, ones), np.append(size, 0.0 * ones)
    none = np.zeros(view.width)
    blank = LogisticProblem(rows, view, scale, size, none, none, weight, frame)
    return blank.penalised(settings.penalty, settings.l1_ratio if settings.penalty > 0.0 else 0.0)


def _plain_frame(moments: Moments, fit_intercept: bool) -> Preconditioner:
    """Centre and unit of every column; one that does not vary keeps the unit one."""
    m = moments if fit_intercept else moments.about_origin()
    size = column_scales(moments, m)
    unit = np.where(size > 0, size, 1.0)
    return Preconditioner(m.x_mean, unit, None, m.y_mean, fit_intercept)


def discriminant_start(problem: LogisticProblem, moments: Moments) -> Floats:
    """Where iterations start: the scores of Gaussian classes that share their spread.

        θₖ = S⁻¹ (μₖ − μ),      S the spread within classes, raised a little where classes part

    All of it is in the moments, since the indicators of the classes are their targets.
    """
    frame, (width, k) = problem.frame, problem.shape
    r = frame.rank
    share = np.maximum(moments.y_mean, np.finfo(float).tiny)
    gram = frame.gram(moments) / moments.weight
    middle = frame.matrix.T @ (moments.xy / moments.weight / share)
    if not frame.centered:
        middle += (frame.matrix.T @ moments.x_mean)[:, None]
    within = gram - (middle * share) @ middle.T + 0.01 * np.eye(r)
    within += np.diag(problem.ridge[:r] / (0.25 * moments.weight))
    slopes = linalg.lstsq(within, middle)[0] if r else middle
    theta = np.zeros((width, len(share)))
    theta[:r] = slopes
    if problem.view.constant:
        theta[r] = np.log(share) - 0.5 * np.sum(middle * slopes, axis=0)
    theta -= theta.mean(axis=1, keepdims=True)
    return theta[:, [1]] - theta[:, [0]] if k == 1 else theta
