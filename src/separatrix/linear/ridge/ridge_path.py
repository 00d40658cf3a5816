"""The ridge path, and the point of it with the best criterion."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.additive import PartialFitMixin, TrainingData
from separatrix.linear.least_squares.solve import from_rows
from separatrix.linear.ridge.figures import ridge_figures
from separatrix.linear.ridge.ridge import RidgeBase
from separatrix.linear.ridge.spectrum import RidgeTrace, Spectrum, trace_moments
from separatrix.linear.ridge.trace import trace_rows
from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block, Floats
from separatrix.selection import rules
from separatrix.selection.criteria.figures import PathFigures
from separatrix.selection.folds import DEFAULT_FOLDS


def refuse_without_spectrum(path: RidgeTrace) -> None:
    """Refuse what needs all eigenvalues where there are too many rows and columns for that."""
    refuse_lost_spectrum(path.spectrum, path.coefs)


def refuse_lost_spectrum(spectrum: Spectrum, coefs: Floats) -> None:
    """The same from a spectrum and coefficients."""
    if not len(spectrum.values) and coefs.any():
        raise InputError(
            "These sparse rows and columns are too many for an eigendecomposition, which degrees "
            "of freedom and leave-one-out errors need.",
            remedy="Use RidgeCV with folds (cv=5), or Ridge at one penalty.",
        )


class RidgePathBase(RidgeBase):
    """Base class of models that compute the path and select a point of it."""

    alphas: Any

    def _wide(self, block: Block) -> bool:
        return from_rows(block)

    @abstractmethod
    def _best(self, path: RidgeTrace, data: TrainingData) -> int:
        """Index of the penalty to predict with."""

    def coef_at(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients and intercept at any penalty, on the grid or not."""
        alphas = np.array([float(alpha)])
        if self.spectrum_.directions is None and self._rows is not None:
            block = self._rows.collect()
            path = trace_rows(block, self._options(), lambda _: alphas)
            coefs, intercepts = path.coefs, path.intercepts
        else:
            coefs, intercepts = self.spectrum_.coefs(alphas)
        if np.ndim(self.coef_) == 1:
            return coefs[0, :, 0], intercepts[0, 0]
        return coefs[0].T, intercepts[0]

    def path_figures(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
    ) -> PathFigures:
        """What :func:`criteria` reads of the path; losses of folds where rows are given."""
        check_is_fitted(self)
        refuse_lost_spectrum(self.spectrum_, self.coefs_)
        errors = getattr(self, "mse_path_", None)
        if X is not None and (errors is None or cv is not None):
            errors = self._cross_validated(X, y, sample_weight, cv)
        return ridge_figures(self, errors)

    def _cross_validated(self, X: Any, y: Any, sample_weight: Any, cv: Any) -> Floats:
        """Mean squared errors of folds (m x folds) at the penalties of the path."""
        from separatrix.linear.ridge.ridge_cv import RidgeCV

        shared: Any = {"fit_intercept": self.fit_intercept, "standardize": self.standardize}
        model = RidgeCV(self.alphas_, cv=DEFAULT_FOLDS if cv is None else cv, **shared)
        return model.fit(X, y, sample_weight).mse_path_

    def _solve(self, data: TrainingData) -> Solution:
        path = self._trace(data)
        return self._select(path, self._best(path, data))

    def _trace(self, data: TrainingData) -> RidgeTrace:
        """The path over all rows."""
        options = self._options()
        if data.block is not None:
            return trace_rows(data.block, options, self._grid)
        assert data.moments is not None
        m, scale = options.scaled(data.moments)
        spectrum = Spectrum.from_moments(m, scale)
        return trace_moments(m, spectrum, self._grid(spectrum))

    def _grid(self, spectrum: Spectrum) -> Floats:
        if self.alphas is None or isinstance(self.alphas, int | np.integer):
            return spectrum.grid(100 if self.alphas is None else int(self.alphas))
        return self._penalties(self.alphas)

    def _penalties(self, given: Any) -> Floats:
        """Penalties given by the user, checked."""
        alphas = rules.numbers("alphas", given, "> 0.0, or 0 for least squares")
        if np.ndim(given) > 1 or not len(alphas):
            raise InputError("alphas must be a list of penalties ≥ 0, a number of them, or None.")
        return alphas

    def _select(self, path: RidgeTrace, best: int) -> Solution:
        self._store(path)
        self.alpha_ = float(path.alphas[best])
        return Solution(path.coefs[best], path.intercepts[best], path.certificates[best])

    def _store(self, path: RidgeTrace) -> None:
        """The solutions at all penalties."""
        one_target = path.coefs.shape[2] == 1
        self.spectrum_, self.alphas_ = path.spectrum, path.alphas
        self.coefs_ = path.coefs[:, :, 0] if one_target else path.coefs.transpose(0, 2, 1)
        self.intercepts_ = path.intercepts[:, 0] if one_target else path.intercepts
        self.gaps_ = np.array([c.gap for c in path.certificates])


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

    References
    ----------
    A. E. Hoerl and R. W. Kennard, Ridge regression: biased estimation for nonorthogonal
    problems, Technometrics 12, 1970.

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
        refuse_without_spectrum(path)
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
