"""Linear regression by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.estimators.additive import MomentEstimator, PartialFitMixin, TrainingData
from separatrix.linear.influence import FitStatistics
from separatrix.linear.least_squares.solve import from_rows, solve_least_squares
from separatrix.linear.leave_one_out import lines_without_each_row
from separatrix.linear.summary import InferenceMixin
from separatrix.optimize.solution import LeastSquares, Solution
from separatrix.rows.block import Block, Floats
from separatrix.selection.leave_one_out import AffineFits
from separatrix.threads import one_blas_thread


class LinearRegression(InferenceMixin, PartialFitMixin, RegressorMixin, MomentEstimator):
    """Linear regression by least squares.

        min over b, a of Σ w (y − a − b·x)²

    The solution does not depend on the units of the columns. Where columns are linearly dependent
    the fitted values are still unique; of the coefficients the minimum-norm solution is returned,
    and the dependent columns are named on ``certificate_``.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the model has an intercept ``a``.
    copy_X : bool, default=True
        Accepted for compatibility with scikit-learn; it has no effect.
    tol : float, default=1e-6
        Accepted for compatibility with scikit-learn; it has no effect.
    n_jobs : int or None, default=None
        Accepted for compatibility with scikit-learn; it has no effect.
    positive : bool, default=False
        Whether coefficients are constrained to be ≥ 0.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
        Coefficients b, one row per target if there are several.
    intercept_ : float or ndarray of shape (k,)
        Intercept a.
    certificate_ : Certificate
        Duality gap, KKT residual, rank, condition number and trusted digits of the solution.
    rank_ : int
        Number of linearly independent columns (centered, where there is an intercept).
    singular_ : ndarray of shape (min(n, d),)
        Singular values of the columns (centered, where there is an intercept), the largest first.
    marginal_coef_ : ndarray of shape (d,) or (k, d)
        Coefficient of every column in a regression on that column alone.
    moments_ : Moments or None
        Moments of the training rows, to which ``partial_fit`` adds.

    See Also
    --------
    Ridge : Least squares with an ℓ₂ penalty.
    Lasso : Least squares with an ℓ₁ penalty.
    HuberRegressor : Regression that is robust to outliers.

    Notes
    -----
    The solution is computed from moments. Where those would leave fewer than ten correct digits,
    the rows are read once more into moments of twice the precision.

    References
    ----------
    - R. D. Cook, Detection of influential observation in linear regression, Technometrics 19, 1977.
    - D. A. Belsley, E. Kuh and R. E. Welsch, Regression Diagnostics, Wiley, 1980.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[1.0], [2.0], [3.0], [4.0]]
    >>> model = sx.LinearRegression().fit(x, [3.1, 4.9, 7.0, 9.0])
    >>> model.coef_.round(2), round(float(model.intercept_), 2)
    (array([1.98]), 1.05)
    >>> model.summary().standard_errors.round(3)
    array([0.116, 0.042])
    >>> model.predict_interval([[5.0]], level=0.9).round(2)
    array([[10.51, 11.39]])
    """

    _multi_output = True
    _keeps_float32 = True

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    def __sklearn_clone__(self) -> LinearRegression:
        """A clone, before which scikit-learn learns that this is a LinearRegression.

        Its RANSACRegressor draws d + 1 rows for one, and of anything else asks for min_samples.
        Its linear models are imported here, since only its meta-estimators ask, once they cloned.
        """
        from sklearn.linear_model import LinearRegression as Interface

        Interface.register(LinearRegression)
        found: LinearRegression = super().__sklearn_clone__()
        return found

    def _solve(self, data: TrainingData) -> Solution:
        solution = solve_least_squares(
            data, fit_intercept=self.fit_intercept, positive=self.positive
        )
        self.fit_statistics_ = None
        if isinstance(solution, LeastSquares) and data.moments is not None:
            self.fit_statistics_ = FitStatistics.from_solution(
                solution, data.moments, fit_intercept=self.fit_intercept
            )
        return solution

    def _wide(self, block: Block) -> bool:
        return from_rows(block)

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> AffineFits | None:
        """The fits without each of the training rows, in closed form; None if there is none."""
        if self.positive:
            return None
        return lines_without_each_row(self, X, y, sample_weight, 0.0)

    @property
    def rank_(self) -> int:
        """The number of linearly independent columns."""
        if self.certificate_.rank is None:
            raise AttributeError("rank_ is not determined by this solver.")
        return self.certificate_.rank

    @property
    def singular_(self) -> Floats:
        """The roots of the eigenvalues of the scatter matrix; where that was not formed, none."""
        if self.moments_ is None:
            raise AttributeError("singular_ needs the moments, and there are too many columns.")
        m = self.moments_ if self.fit_intercept else self.moments_.about_origin()
        with one_blas_thread():  # as in every fit: the same bits on any number of threads
            values = np.linalg.eigvalsh(m.xx)[::-1][: min(m.count, m.d)]
        return np.asarray(np.sqrt(np.maximum(values, 0.0)))

    @property
    def marginal_coef_(self) -> Floats:
        """σ_xy / σ_xx column by column, equal to ``coef_`` where columns are uncorrelated."""
        if self.moments_ is None:
            raise AttributeError(
                "marginal_coef_ needs the moments, and there are too many columns."
            )
        m = self.moments_ if self.fit_intercept else self.moments_.about_origin()
        variance = np.diag(m.xx)[:, None]
        marginal = np.divide(m.xy, variance, out=np.zeros_like(m.xy), where=variance > 0)
        return marginal[:, 0] if np.ndim(self.coef_) == 1 else marginal.T
