"""Linear regression by least squares."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints
from separatrix.estimators import base
from separatrix.estimators.base import MomentEstimator, TrainingData, reads_tables
from separatrix.estimators.class_labels import class_rows, class_terms, known_classes
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.linear.inference import FitStatistics, InferenceMixin, lines_without_each_row
from separatrix.linear.lasso import solve_non_negative
from separatrix.linear.least_squares import solve_moments
from separatrix.linear.power_penalty import power_path
from separatrix.linear.routes import from_rows
from separatrix.linear.spectrum import solve_least_squares
from separatrix.messages import InputError, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import LeastSquares, Solution
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows, MappedRows, Rows
from separatrix.rows.schema import Block, Encoding, Term, Terms, identity
from separatrix.selection.leave_one_out import AffineFits
from separatrix.statistics.class_preparation import TargetMap
from separatrix.statistics.moments import Moments, prepare
from separatrix.threads import on_one_blas_thread, one_blas_thread


@declare_parameters
class LinearRegression(InferenceMixin, RegressorMixin, MomentEstimator):
    """Linear regression by least squares.

        min over b, a of Σ w (y − a − b·x)²

    The solution does not depend on the units of the columns. Where columns are linearly dependent
    the fitted values are still unique; of the coefficients the minimum-norm solution is returned,
    and the dependent columns are named on ``certificate_``.

    Parameters
    ----------
    fit_intercept : bool, default=True
    copy_X : bool, default=True
    tol : float, default=1e-6
        Ignored; accepted for scikit-learn compatibility.
    n_jobs : int or None, default=None
        Ignored; accepted for scikit-learn compatibility.
    positive : bool, default=False

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
    intercept_ : float or ndarray of shape (k,)
    certificate_ : Certificate
        Duality gap, KKT residual, rank, condition number and trusted digits of the solution.
    rank_ : int
        Number of linearly independent columns (centered, where there is an intercept).
    singular_ : ndarray of shape (min(n, d),)
        Singular values of the columns (centered, where there is an intercept), the largest first.
    marginal_coef_ : ndarray of shape (d,) or (k, d)
        Coefficient of every column in a regression on that column alone.
    moments_ : Moments or None

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

    partial_fit = base.partial_fit

    _: KW_ONLY
    fit_intercept: bool = True
    copy_X: bool = True
    tol: float = 1e-6
    n_jobs: int | None = None
    positive: bool = False

    def __sklearn_clone__(self) -> LinearRegression:
        """A clone, before which scikit-learn learns that this is a LinearRegression.

        Its RANSACRegressor draws d + 1 rows for one, and of anything else asks for min_samples.
        Its linear models are imported here, since only its meta-estimators ask, once they cloned.
        """
        from sklearn.linear_model import LinearRegression as Interface

        Interface.register(LinearRegression)
        linear_regression: LinearRegression = super().__sklearn_clone__()
        return linear_regression

    def _solve(self, data: TrainingData) -> Solution:
        intercept = bool(self.fit_intercept)
        if self.positive:
            solution = solve_non_negative(data.block or data.source, 0.0, fit_intercept=intercept)
        else:
            solution = solve_least_squares(data, fit_intercept=intercept)
        self.__dict__.pop("fit_statistics_", None)
        if isinstance(solution, LeastSquares) and data.moments is not None:
            self.fit_statistics_ = FitStatistics.from_solution(
                solution, data.moments, fit_intercept=self.fit_intercept
            )
        return solution

    @cached_property
    def fit_statistics_(self) -> FitStatistics | None:  # type: ignore[override]
        """What inference needs; solved for when it is asked for, if the fit did without moments."""
        check_is_fitted(self, "coef_")
        m = None if self.positive else self.moments_
        if m is None or m.count <= m.d:
            return None
        solution = solve_moments(self._rows, m, fit_intercept=self.fit_intercept)
        return FitStatistics.from_solution(solution, m, fit_intercept=self.fit_intercept)

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "coef_"):
            self.fit_statistics_  # noqa: B018 - a loaded model has no rows to solve for them
        return super().__getstate__()

    def _wide(self, block: Block) -> bool:
        return from_rows(block, positive=self.positive)

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None, units: Ints | None = None
    ) -> AffineFits | None:
        """The fits without each of the training rows, in closed form; None if there is none.

        Equal rows of one number in ``units`` are left out together, as are the w rows of a weight.
        """
        if self.positive:
            return None
        return lines_without_each_row(self, X, y, sample_weight, 0.0, units)

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


# -------------------------------------------------------------------------------------------------
# Classification by least squares on class codes.


@declare_parameters
class LeastSquaresClassifier(LinearClassifier):
    """Linear classifier by least-squares regression on class codes.

        min over W, a of Σ w ‖c(y) − a − W·x‖² + α Σ |W|ᵖ

    Two classes have the codes −1 and +1, and x is assigned to ``classes_[1]`` where w·x + a > 0.
    K classes have one-hot codes, and the largest score wins. Scores are not probabilities.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the hyperplanes have an intercept, which is not penalized.
    alpha : float, default=0.0
        α; with a penalty the coefficients depend on the units of the columns.
    p : float, default=2.0
        The power of the penalty, from 1 (lasso: some coefficients are zero) to 2 (ridge).

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    coef_ : ndarray of shape (1, d) or (K, d)
        Coefficients, one row for two classes, else one row per class.
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts.
    certificate_ : Certificate
        Duality gap, KKT residual, rank and condition number.
    moments_ : Moments
        Moments of the columns and the one-hot classes, to which ``partial_fit`` adds, and from
        which ``path`` solves for other penalties.

    See Also
    --------
    LinearRegression : The same criterion for a numeric target.
    LinearDiscriminantAnalysis : Gaussian classes with a common covariance.
    LogisticRegression : A linear classifier with probabilities.

    Notes
    -----
    With one column and two classes the coefficient is 2·π⁺π⁻(μ⁺ − μ⁻)/σ², π being the class
    proportions, and the threshold is x̄ − ȳ/coef: at the mean where classes are balanced, else
    moved towards the rarer class. The solution follows from moments alone and does not depend on
    the units of X.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, The Elements of Statistical Learning, 2nd edition,
    Springer, 2009, section 4.2.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[0.0], [1.0], [3.0], [4.0]]
    >>> model = sx.LeastSquaresClassifier().fit(x, ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [3.5]])
    array(['a', 'b'], dtype='<U1')
    >>> model.coef_.round(2), model.intercept_.round(2)
    (array([[0.6]]), array([-1.2]))
    """

    moments_: Moments = field(init=False)

    _: KW_ONLY
    fit_intercept: bool = True
    alpha: float = 0.0
    p: float = 2.0

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check_penalty(self.alpha)
        rows = class_rows(self, X, y, sample_weight)
        prepared = prepare(rows)
        terms = class_terms(self, rows, prepared.targets)
        moments = prepared.moments.aligned(prepared.moments.terms, terms)
        self._learn(prepared.rows, moments, prepared.encoding)
        return self

    @on_one_blas_thread
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists what may come."""
        first = not hasattr(self, "moments_")
        known = known_classes(self, X, classes)
        rows = class_rows(self, X, y, sample_weight, known=known, reset=first)
        assert isinstance(rows, ArrayRows)
        terms = class_terms(self, rows, rows.block.targets)
        moments = rows.reduce(Moments())
        if not first:
            moments = self.moments_ + moments
        self._learn(None, moments.aligned(moments.terms, terms), identity(rows.schema))
        return self

    @on_one_blas_thread
    def path(self, alphas: Any) -> tuple[Floats, Floats]:
        """Coefficients and intercepts at other penalties, from the moments of the fit.

        Parameters
        ----------
        alphas : array-like of shape (m,)
            Penalties; from strong to weak is fastest.

        Returns
        -------
        coefs : ndarray of shape (m, 1, d) or (m, K, d)
            Those of ``coef_`` at each penalty.
        intercepts : ndarray of shape (m, 1) or (m, K)
            Those of ``intercept_``.
        """
        check_is_fitted(self, "moments_")
        levels = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        for alpha in levels.tolist():
            self._check_penalty(alpha)
        moments = self._targets()[0]
        solved = list(power_path(moments, levels, self.p, fit_intercept=self.fit_intercept))
        return np.array([s.coef.T for s in solved]), np.array([s.intercept for s in solved])

    def _check_penalty(self, alpha: float) -> None:
        if not 0.0 <= alpha < np.inf:
            raise InputError(f"alpha={alpha!r} must be a number, 0 or more.")
        if not 1.0 <= self.p <= 2.0:
            raise InputError(
                f"p={self.p!r} must lie between 1 and 2.",
                remedy="Below 1 the penalty is not convex; use p=1 for zeros among coefficients.",
            )

    def _targets(self) -> tuple[Moments, TargetMap | None]:
        """The moments with ±1 in place of the indicators of two classes."""
        if len(self.classes_) != 2:
            return self.moments_, None
        name = self.moments_.targets.items[1].column
        signs = TargetMap(np.array([[-1.0], [1.0]]), Terms((Term(name),)))
        return signs.moments(self.moments_), signs

    def _learn(self, rows: Rows | None, moments: Moments, encoding: Encoding) -> None:
        self.moments_ = moments
        moments, signs = self._targets()
        if self.alpha:
            levels = np.array([self.alpha])
            path = power_path(moments, levels, self.p, fit_intercept=self.fit_intercept)
            self._accept(next(path), encoding, flat=False)
            if not self.certificate_.holds:
                warn("SEP003", f"{self.certificate_}")
            return
        rows = MappedRows(rows, signs) if rows is not None and signs is not None else rows
        solution = solve_moments(rows, moments, fit_intercept=self.fit_intercept)
        self._accept(solution, encoding, flat=False)
