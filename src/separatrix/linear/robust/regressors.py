"""Robust regression with Huber's loss."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.estimators.base import LinearModel
from separatrix.estimators.targets import one_number
from separatrix.linear.robust.huber import HuberOptions, solve_huber
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.statistics.preparation import prepare

#: Relative gradient at which a fit ends; a finer ``tol`` is followed.
ACCURACY = 1e-9


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
        Whether the model has an intercept ``a``.
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
        Intercept a.
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

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-5,
        standardize: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.standardize = standardize

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
        options = HuberOptions(
            epsilon=self.epsilon,
            alpha=self.alpha,
            fit_intercept=bool(self.fit_intercept),
            standardize=bool(self.standardize),
            tol=min(self.tol, ACCURACY) or ACCURACY,
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
