"""Regression that a few wild rows cannot bend: Huber's loss, and absolute error."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.estimators.base import LinearModel
from separatrix.estimators.targets import one_number
from separatrix.linear.robust.huber import fit_huber
from separatrix.linear.robust.least_absolute import fit_least_absolute
from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare


class HuberRegressor(RegressorMixin, LinearModel):
    """min over b, a, σ of Σ w (σ + σ·H((y − a − b·x)/σ)) + α‖b‖².

    H(z) is z² for |z| ≤ ε and 2ε|z| − ε² beyond: small residuals count by their square, large ones
    in proportion, and σ, found along with the rest, says what "small" means in the units of y.
    Columns are equilibrated inside, so that the answer is the minimum whatever the units of X.

    Parameters
    ----------
    epsilon : float, default=1.35
        Residuals above ε·σ are outliers; at least 1. The default gives up 5 % of the efficiency of
        least squares where the noise is normal.
    max_iter : int, default=100
        Limit of Newton steps; ten are usual.
    alpha : float, default=0.0001
        Weight of the penalty ‖b‖², which does depend on the units of X; 0 for none.
    tol : float, default=1e-9
        The slope of the objective, relative to the terms that cancel in it, at which to stop.
    fit_intercept : bool, default=True
        Whether the map has a constant ``a``.
    warm_start : bool, default=False
        Taken so that code written for scikit-learn runs; the answer does not depend on it.

    Attributes
    ----------
    scale_ : float
        σ.
    outliers_ : array of bool
        Which training rows have residuals above ε·σ.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 0.0001,
        warm_start: bool = False,
        tol: float = 1e-9,
        fit_intercept: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.tol = tol
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        if not self.epsilon >= 1.0:
            raise InputError(
                f"epsilon={self.epsilon!r} would make outliers of most rows.",
                remedy="Use 1 or more; 1.35 is usual.",
            )
        if not self.alpha >= 0.0:
            raise InputError(
                f"alpha={self.alpha!r} rewards large coefficients.", remedy="Use 0 or more."
            )
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.moments.targets)
        solution = fit_huber(
            prepared.rows,
            prepared.moments,
            epsilon=self.epsilon,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._accept(solution, prepared.encoding, flat=True)
        self.scale_ = float(solution.extra["scale"])
        self.outliers_ = np.abs(self._residuals(prepared.rows)) > self.epsilon * self.scale_
        return self

    def _residuals(self, rows: Rows) -> Floats:
        return np.concatenate([_residuals_of(self, block) for block in rows.blocks()])


def _residuals_of(model: LinearModel, block: Block) -> Floats:
    return np.asarray(block.y[:, 0] - block.matvec(model.coef_) - model.intercept_)


class LeastAbsoluteRegressor(RegressorMixin, LinearModel):
    """min over b, a of Σ w max(0, |y − a − b·x| − ε).

    With ε = 0 the sum of absolute residuals: the plane through the conditional medians, which the
    size of an outlier cannot move, only its side. With ε > 0 residuals inside the tube of that
    half-width cost nothing. A linear program, solved by an interior-point method and then
    carried to an exact corner; the rows are held in memory.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width of the tube, in the units of y.
    fit_intercept : bool, default=True
        Whether the map has a constant ``a``.
    tol : float, default=1e-9
        Gap between primal and dual objective, relative to the objective, that counts as solved.
    max_iter : int, default=100
        Limit of interior-point steps; twenty are usual.
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-9,
        max_iter: int = 100,
    ) -> None:
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.moments.targets)
        solution = fit_least_absolute(
            prepared.rows,
            prepared.moments,
            epsilon=self.epsilon,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._accept(solution, prepared.encoding, flat=True)
        return self
