"""The ridge path, and the point of it with the best criterion or cross-validated error."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from separatrix.estimators.additive import PartialFitMixin, TrainingData, needs_rows
from separatrix.linear.ridge.leave_one_out import LeaveOneOut
from separatrix.linear.ridge.ridge import RidgeBase
from separatrix.linear.ridge.spectrum import RidgeTrace, Spectrum, trace_block, trace_moments
from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.selection import rules

#: Rows from which leave-one-out errors average over the rounding of float32.
MANY_ROWS = 50_000


class RidgePathBase(RidgeBase):
    """Base class of models that compute the path and select a point of it."""

    alphas: Any

    @abstractmethod
    def _best(self, path: RidgeTrace, data: TrainingData) -> int:
        """Index of the penalty to predict with."""

    def coef_at(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients and intercept at any penalty, on the grid or not."""
        coefs, intercepts = self.spectrum_.coefs(np.array([float(alpha)]))
        if np.ndim(self.coef_) == 1:
            return coefs[0, :, 0], intercepts[0, 0]
        return coefs[0].T, intercepts[0]

    def _solve(self, data: TrainingData) -> Solution:
        options = self._options()
        if data.block is not None:
            spectrum = Spectrum.from_block(data.block, options)
            path = trace_block(data.block, spectrum, self._grid(spectrum), options)
        else:
            assert data.moments is not None
            m, scale = options.scaled(data.moments)
            spectrum = Spectrum.from_moments(m, scale)
            path = trace_moments(m, spectrum, self._grid(spectrum))
        return self._select(path, self._best(path, data))

    def _grid(self, spectrum: Spectrum) -> Floats:
        if self.alphas is None or isinstance(self.alphas, int | np.integer):
            return spectrum.grid(100 if self.alphas is None else int(self.alphas))
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=float))
        if alphas.ndim != 1 or not alphas.size or not (np.isfinite(alphas) & (alphas >= 0)).all():
            raise InputError("alphas must be a list of penalties ≥ 0, a number of them, or None.")
        return alphas

    def _select(self, path: RidgeTrace, best: int) -> Solution:
        one_target = path.coefs.shape[2] == 1
        self.spectrum_ = path.spectrum
        self.alphas_, self.alpha_ = path.alphas, float(path.alphas[best])
        self.coefs_ = path.coefs[:, :, 0] if one_target else path.coefs.transpose(0, 2, 1)
        self.intercepts_ = path.intercepts[:, 0] if one_target else path.intercepts
        self.gaps_ = np.array([c.gap for c in path.certificates])
        return Solution(path.coefs[best], path.intercepts[best], path.certificates[best])


class RidgePath(PartialFitMixin, RidgePathBase):
    """Ridge regression for all penalties, with the best of them by a criterion.

        b(α) = argmin over b, a of Σ w (y − a − b·x)² + α ‖b‖²        for every α

    One eigendecomposition of the moments gives the solution at every penalty.

    Parameters
    ----------
    alphas : array, int or None, default=None
        Penalties to report; a number or None places that many (100) on a log scale that spans the
        eigenvalues of XᵀX.
    criterion : {"bic", "aic", "gcv"}, default="bic"
        Selects ``alpha_``; "gcv" is generalized cross-validation, n·RSS/(n − df)².
    fit_intercept : bool, default=True
        Whether the model has an intercept, which is not penalized.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    alphas_ : ndarray of shape (m,)
        The penalties.
    coefs_ : ndarray of shape (m, d) or (m, k, d)
        Coefficients for every penalty.
    intercepts_ : ndarray of shape (m,) or (m, k)
        Intercepts for every penalty.
    gaps_ : ndarray of shape (m,)
        Duality gap at every penalty.
    degrees_of_freedom_ : ndarray of shape (m,)
        Effective degrees of freedom, the intercept included.
    aic_ : ndarray of shape (m,)
        Akaike's criterion for every penalty.
    bic_ : ndarray of shape (m,)
        The Bayesian information criterion for every penalty.
    gcv_ : ndarray of shape (m,)
        Generalized cross-validation error for every penalty.
    spectrum_ : Spectrum
        The eigendecomposition, which ``coef_at`` evaluates at any penalty.
    alpha_ : float
        The selected penalty.
    coef_ : ndarray of shape (d,) or (k, d)
        Coefficients at ``alpha_``.
    intercept_ : float or ndarray of shape (k,)
        Intercept at ``alpha_``.
    certificate_ : Certificate
        Duality gap and KKT residual at ``alpha_``.

    See Also
    --------
    Ridge : One penalty.
    RidgeCV : Selection by cross-validation.
    LassoPath : The path of the lasso.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-1.0], [0.0], [1.0]]
    >>> path = sx.RidgePath([2.0, 0.0]).fit(x, [-2.0, 0.0, 2.0])
    >>> path.coefs_
    array([[1.],
           [2.]])
    >>> path.coef_at(6.0)[0]
    array([0.5])
    """

    def __init__(
        self,
        alphas: Any = None,
        *,
        criterion: str = "bic",
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _best(self, path: RidgeTrace, data: TrainingData) -> int:  # noqa: ARG002
        spectrum, alphas, n = path.spectrum, path.alphas, path.spectrum.weight
        freedom = spectrum.degrees_of_freedom(alphas) + int(self.fit_intercept)
        squares = spectrum.rss(alphas).mean(axis=1)
        self.degrees_of_freedom_ = freedom
        self.aic_ = rules.aic(squares, freedom, n)
        self.bic_ = rules.bic(squares, freedom, n)
        self.gcv_ = np.where(freedom < n, n * squares / np.maximum(n - freedom, 1e-12) ** 2, np.inf)
        criteria = {"aic": self.aic_, "bic": self.bic_, "gcv": self.gcv_}
        check_option("criterion", self.criterion, criteria)
        return rules.minimum(alphas, criteria[self.criterion])


class RidgeCV(RidgePathBase):
    """Ridge regression with the penalty of the least cross-validated error.

        min over b, a of Σ w (y − a − b·x)² + α ‖b‖²,      α selected on rows left out

    Parameters
    ----------
    alphas : array, int or None, default=None
        Penalties, as in RidgePath.
    cv : None, int, splitter or iterable of (train, test), default=None
        None is leave-one-out in closed form; otherwise folds, whose moments come from one pass
        over the rows. A row of weight w counts as w equal rows, one of which is left out.
    rule : {"min", "one_se"}, default="min"
        The least mean error, or the largest penalty within one standard error of it (with folds).
    fit_intercept : bool, default=True
        Whether the model has an intercept, which is not penalized.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    alpha_ : float
        The selected penalty.
    best_score_ : float
        Minus the mean cross-validated error at ``alpha_``.
    mse_path_ : ndarray of shape (m, folds)
        Mean squared errors of test rows for every penalty; one column for leave-one-out.
    alphas_ : ndarray of shape (m,)
        The penalties.
    coefs_ : ndarray of shape (m, d) or (m, k, d)
        Coefficients for every penalty, fitted to all rows.
    intercepts_ : ndarray of shape (m,) or (m, k)
        Intercepts for every penalty.
    gaps_ : ndarray of shape (m,)
        Duality gap at every penalty.
    coef_ : ndarray of shape (d,) or (k, d)
        Coefficients at ``alpha_``.
    intercept_ : float or ndarray of shape (k,)
        Intercept at ``alpha_``.
    certificate_ : Certificate
        Duality gap and KKT residual at ``alpha_``.

    See Also
    --------
    RidgePath : Selection by a criterion, from moments alone.
    Ridge : One penalty.
    LassoCV : The same for the lasso.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-2.0], [-1.0], [0.0], [1.0], [2.0]]
    >>> model = sx.RidgeCV([0.1, 10.0]).fit(x, [-4.1, -1.9, 0.0, 2.0, 4.0])
    >>> model.alpha_
    0.1
    >>> model.mse_path_.shape
    (2, 1)
    """

    def __init__(
        self,
        alphas: Any = None,
        *,
        cv: Any = None,
        rule: str = "min",
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        if self.cv is None:
            return super()._read(rows)
        return TrainingData.with_folds(rows, self.cv)

    def _best(self, path: RidgeTrace, data: TrainingData) -> int:
        check_option("rule", self.rule, rules.RULES)
        errors = self._errors(path, data)
        best = rules.RULES[self.rule](path.alphas, errors)
        self.mse_path_, self.best_score_ = errors, -float(errors[best].mean())
        return best

    def _errors(self, path: RidgeTrace, data: TrainingData) -> Floats:
        """Mean squared errors of test rows, penalties x folds."""
        if self.cv is None:
            if data.rows is None:
                raise needs_rows()
            return self._leave_one_out(path, data.rows)
        columns = []
        for train, test in data.folds(self.cv):
            coefs, intercepts = Spectrum.of(train, self._options()).coefs(path.alphas)
            errors = [
                rules.validation_error(test, coefs[:, :, k], intercepts[:, k], k)
                for k in range(coefs.shape[2])
            ]
            columns.append(np.mean(errors, axis=0))
        return np.stack(columns, axis=1)

    def _leave_one_out(self, path: RidgeTrace, rows: Rows) -> Floats:
        """In float32 where that cannot matter: many rows, and residuals that are not tiny."""
        s = path.spectrum
        unexplained = float(np.min(s.rss(path.alphas).sum(axis=1) / max(s.yy.sum(), 1e-300)))
        if s.weight >= MANY_ROWS and unexplained > 1e-3:
            single = rows.reduce(self._statistic(path, np.float32))
            if single.least > 1e-2:  # no row has a leverage close to 1
                return np.asarray(single.total / s.weight / s.cross.shape[1])[:, None]
        double = rows.reduce(self._statistic(path, np.float64))
        return np.asarray(double.total / s.weight / s.cross.shape[1])[:, None]

    def _statistic(self, path: RidgeTrace, precision: Any) -> LeaveOneOut:
        s = path.spectrum
        nonzero = s.values > s.values.max(initial=0.0) * len(s.values) * np.finfo(float).eps
        root = np.sqrt(s.values[nonzero])
        return LeaveOneOut(
            s.directions[:, nonzero] / s.scale[:, None] / root,
            (s.values[:, None] * s.inverse_eigenvalues(path.alphas))[nonzero],
            s.cross[nonzero] / root[:, None],
            s.x_mean,
            s.y_mean,
            1.0 / s.weight if self.fit_intercept else 0.0,
            precision,
        )
