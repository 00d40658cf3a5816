"""Ridge regression: one penalty, every penalty, or the one that predicts best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin

from separatrix.estimators.additive import MomentEstimator, PartialFitMixin, TrainingData
from separatrix.linear.elastic_net.problem import Settings
from separatrix.linear.elastic_net.solve import Source, claiming, solve_elastic_net
from separatrix.linear.least_squares.certificate import certify_shrunk
from separatrix.linear.least_squares.minimum_norm import centred, solve_wide
from separatrix.linear.least_squares.solve import fit_least_squares
from separatrix.linear.least_squares.sparse import solve_sparse, too_many_columns
from separatrix.linear.ridge.solve import CLAIM, Spectrum, fit_ridge
from separatrix.messages import InputError
from separatrix.optimize.conjugate_gradient import CentredMap
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments


class RidgeFamily(RegressorMixin, MomentEstimator):
    """What the ridge estimators share: the scale of the penalty, and why there is no inference."""

    _multi_output = True
    _column_is_vector = True
    _no_inference = (
        "Ridge coefficients are shrunk on purpose: their bias is unknown, so standard errors and p "
        "values would not mean what they say. Use LinearRegression for inference."
    )
    fit_intercept: bool
    standardize: bool

    def _about(self, m: Moments) -> tuple[Moments, Floats]:
        """The moments that are fitted, over scaled columns, and the scale."""
        m = m if self.fit_intercept else m.about_origin()
        scale = np.ones(m.d)
        if self.standardize:
            deviation = np.sqrt(np.diag(m.xx) / m.weight)
            scale = np.where(deviation > 1e-14 * np.abs(m.x_mean), deviation, 1.0)
            m = m.mapped(np.diag(1.0 / scale), m.terms)
        return m, scale

    def _decompose_wide(self, block: Block) -> Spectrum:
        scale = None if self.standardize else np.ones(block.x.shape[1])
        return Spectrum.of_rows(block, scale, fit_intercept=self.fit_intercept)

    def _certify_wide(
        self, rows: ArrayRows, s: Spectrum, coef: Floats, alpha: Floats
    ) -> Certificate:
        x, y, *_ = centred(rows.block, self.fit_intercept)
        return certify_shrunk(x / s.scale, y, coef * s.scale[:, None], alpha, CLAIM)


class Ridge(PartialFitMixin, RidgeFamily):
    """min over b, a of Σ w (y − a − b·x)² + α ‖b‖²; the intercept is not penalised.

    Parameters
    ----------
    alpha : float or one per target, default=1.0
        Weight of the penalty; 0 is least squares.
    fit_intercept : bool, default=True
    standardize : bool, default=False
        Measure the penalty on columns of unit variance, so that the fit does not depend on units.
        Coefficients are in the units of the table either way.
    positive : bool, default=False
        Allow no negative coefficient.
    copy_X, max_iter, tol, solver, random_state
        Taken so that code written for scikit-learn runs; the answer does not depend on them.
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.standardize = standardize

    def _penalties(self, targets: int) -> Floats:
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=float))
        if (
            alpha.ndim > 1
            or len(alpha) not in (1, targets)
            or not (np.isfinite(alpha) & (alpha >= 0)).all()
        ):
            raise InputError(
                f"alpha={self.alpha!r} must be one number ≥ 0, or one for each of "
                f"{targets} targets."
            )
        return np.broadcast_to(alpha, (targets,))

    def _solve(self, given: TrainingData) -> Solution:
        alpha = self._penalties(len(given.moments.targets))
        if self.positive:
            return self._not_negative(given.moments, alpha)
        return _by_target(
            alpha,
            lambda: fit_least_squares(given.rows, given.moments, fit_intercept=self.fit_intercept),
            lambda positive: self._shrink(given.moments, positive),
        )

    def _not_negative(self, source: Source, alpha: Floats) -> Solution:
        """The elastic net without ℓ₁ part, whose error is a mean and not a sum."""
        if alpha.min() < alpha.max():
            raise InputError("With positive=True all targets share one alpha.")
        settings = Settings(
            l1_ratio=0.0,
            fit_intercept=self.fit_intercept,
            positive=True,
            standardize=self.standardize,
        )
        claim = "Ridge: no other coefficients ≥ 0 have a smaller mean square plus penalty"
        return claiming(claim, solve_elastic_net(source, alpha[0] / source.weight, settings))

    def _shrink(self, moments: Moments, alpha: Floats) -> Solution:
        m, scale = self._about(moments)
        solution = fit_ridge(m, alpha)
        return replace(solution, coef=solution.coef / scale[:, None])

    def _solve_wide(self, rows: ArrayRows) -> Solution:
        alpha = self._penalties(rows.block.y.shape[1])
        if self.positive:
            return self._not_negative(rows.block, alpha)
        if too_many_columns(rows.block):
            return self._solve_sparse(rows.block, alpha)
        return _by_target(
            alpha,
            lambda: solve_wide(rows.block, fit_intercept=self.fit_intercept),
            lambda positive: self._shrink_wide(rows, positive),
        )

    def _shrink_wide(self, rows: ArrayRows, alpha: Floats) -> Solution:
        spectrum = self._decompose_wide(rows.block)
        coefs, intercepts = spectrum.coefs(alpha)
        at = np.arange(len(alpha))
        coef = coefs[at, :, at].T
        certificate = self._certify_wide(rows, spectrum, coef, alpha)
        return Solution(coef, intercepts[at, at], certificate)

    def _solve_sparse(self, block: Block, alpha: Floats) -> Solution:
        scale = np.ones(block.x.shape[1])
        if self.standardize:
            w = block.weights
            mean = (block.x.T @ w) / w.sum() if self.fit_intercept else 0.0 * scale
            squares = CentredMap(block.x, mean, np.sqrt(w)).column_squares()
            scale = np.sqrt(np.where(squares > 0, squares / w.sum(), 1.0))
        scaled = replace(block, x=sparse.csr_array(block.x.multiply(1.0 / scale)))
        solution = solve_sparse(scaled, alpha, fit_intercept=self.fit_intercept)
        return replace(solution, coef=solution.coef / scale[:, None])

    def _wide(self, block: Block) -> bool:
        return super()._wide(block) or too_many_columns(block)


def _by_target(
    alpha: Floats, plain: Callable[[], Solution], shrunk: Callable[[Floats], Solution]
) -> Solution:
    """Least squares for the targets with α = 0, ridge for the others; the worse proof for all."""
    if not alpha.any():
        return plain()
    found = shrunk(np.where(alpha > 0, alpha, 1.0))
    if alpha.all():
        return found
    free = plain()
    return replace(
        found,
        coef=np.where(alpha > 0, found.coef, free.coef),
        intercept=np.where(alpha > 0, found.intercept, free.intercept),
        certificate=max(found.certificate, free.certificate, key=lambda c: c.kkt),
    )
