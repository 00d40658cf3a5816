"""Regression of medians and other quantiles: absolute, ε-insensitive and quantile loss."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.estimators.base import LinearModel
from separatrix.estimators.targets import one_number
from separatrix.linear.robust.least_absolute import TiltedOptions, solve_tilted
from separatrix.messages import InputError, check_option
from separatrix.statistics.preparation import prepare

#: scikit-learn's names of solvers.
SOLVERS = ("highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex")


class LeastAbsoluteRegressor(RegressorMixin, LinearModel):
    """Least absolute deviations, or regression with the ε-insensitive loss.

        min over b, a of Σ w max(0, |y − a − b·x| − ε)

    With ε = 0 the plane through the conditional medians: the size of an outlier has no influence,
    only its side. With ε > 0 residuals up to ε cost nothing. Another ``quantile`` τ weighs errors
    above the plane by 2τ and those below by 2(1 − τ). A linear program, solved by an interior-point
    method and simplex pivots to an exact vertex; the rows stay in memory, once.

    Parameters
    ----------
    epsilon : float, default=0.0
        Residuals up to ε cost nothing; in the units of y.
    fit_intercept : bool, default=True
        Whether the model has an intercept ``a``.
    tol : float, default=1e-9
        Duality gap, relative to the objective, that counts as solved.
    max_iter : int, default=100
        Limit of interior-point steps; twenty are usual.
    quantile : float, default=0.5
        The quantile τ of the target that the plane is to pass through, between 0 and 1.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients b.
    intercept_ : float
        Intercept a.
    certificate_ : Certificate
        Duality gap, and KKT residual at the vertex.
    n_iter_ : int
        Number of interior-point steps.

    See Also
    --------
    QuantileRegressor : The quantile loss with an ℓ₁ penalty, as in scikit-learn.
    HuberRegressor : Squared error for small residuals.
    LinearSVR : The ε-insensitive loss with an ℓ₂ penalty.

    References
    ----------
    Koenker and Bassett, Regression quantiles, 1978.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> model = sx.LeastAbsoluteRegressor().fit(x, [1.0, 3.0, 5.0, 7.0, 90.0])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([2.]), 1.0)
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-9,
        max_iter: int = 100,
        quantile: float = 0.5,
    ) -> None:
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.quantile = quantile

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        check_quantile(self.quantile)
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        claim = "Least absolute deviations" if self.quantile == 0.5 else "Quantile regression"
        options = TiltedOptions(
            "ε-insensitive regression" if self.epsilon else claim,
            high=2.0 * self.quantile,
            low=2.0 * (1.0 - self.quantile),
            epsilon=self.epsilon,
            fit_intercept=bool(self.fit_intercept),
            tol=self.tol,
            max_iter=self.max_iter,
        )
        solution = solve_tilted(prepared.rows, prepared.moments, options)
        self._accept(solution, prepared.encoding, flat=True)
        return self


class QuantileRegressor(RegressorMixin, LinearModel):
    """Linear regression of a quantile of the target, with an ℓ₁ penalty.

        min over b, a of (1/Σw) Σ w ρ(y − a − b·x) + α ‖b‖₁,     ρ(r) = max(τ r, (τ − 1) r)

    A linear program, solved by an interior-point method and simplex pivots to an exact vertex;
    coefficients at zero are zero exactly.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile τ, between 0 and 1.
    alpha : float, default=1.0
        Weight α of the penalty, which depends on the units of X and y; 0 for none.
    fit_intercept : bool, default=True
        Whether the model has an intercept ``a``, which is not penalized.
    solver : str, default="highs"
        One of scikit-learn's names; the solution is exact with any of them.
    solver_options : dict or None, default=None
        Accepted for compatibility with scikit-learn; it has no effect.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns, so that the fit does not
        depend on the units of X.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients b.
    intercept_ : float
        Intercept a.
    certificate_ : Certificate
        Duality gap, and KKT residual at the vertex.
    n_iter_ : int
        Number of interior-point steps.

    See Also
    --------
    LeastAbsoluteRegressor : Without penalty, and with a tube of width ε.
    HuberRegressor : Robust to outliers, for the mean.

    References
    ----------
    Koenker and Bassett, Regression quantiles, 1978.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> model = sx.QuantileRegressor(quantile=0.9, alpha=0.0).fit(x, [1.0, 3.0, 5.0, 7.0, 10.0])
    >>> model.predict([[2.0]]).round(6)
    array([5.5])
    """

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "highs",
        solver_options: Any = None,
        standardize: bool = False,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        check_quantile(self.quantile)
        check_option("solver", self.solver, SOLVERS)
        if not self.alpha >= 0.0 or not np.isfinite(self.alpha):
            raise InputError(f"alpha={self.alpha!r} must be a number ≥ 0.")
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        options = TiltedOptions(
            "Quantile regression",
            high=self.quantile,
            low=1.0 - self.quantile,
            alpha=float(self.alpha),
            standardize=bool(self.standardize),
            fit_intercept=bool(self.fit_intercept),
            mean=True,
        )
        solution = solve_tilted(prepared.rows, prepared.moments, options)
        self._accept(solution, prepared.encoding, flat=True)
        return self


def check_quantile(quantile: float) -> None:
    """Refuse a level that no quantile has."""
    if not 0.0 < quantile < 1.0:
        raise InputError(f"quantile={quantile!r} must lie strictly between 0 and 1.")
