"""The regularization path of logistic regression, and its best point by a criterion."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.logistic.base import LogisticClassifier
from separatrix.logistic.figures import SHARED, logistic_figures
from separatrix.logistic.fit import solve_logistic, starting_point
from separatrix.logistic.path import PathPoints, certified_path, penalty_grid
from separatrix.logistic.problem import LogisticOptions
from separatrix.messages import check_option, warn
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Terms
from separatrix.selection import rules
from separatrix.selection.criteria.figures import PathFigures


class LogisticPathBase(LogisticClassifier):
    """The path over all rows and the fit at the chosen point, by whichever rule it is chosen."""

    Cs: Any
    eps: float
    _no_inference = (
        "the penalty shrinks the coefficients and was chosen by looking at the same rows. Fit "
        "LogisticRegression with C=inf for inference."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = self._options(1.0)
        rows = self._path_rows(self._weighted_rows(X, y, sample_weight))
        data, targets = self._read(rows, options)
        start = starting_point(data, targets, options)
        remedy = "For a fit without penalty use LogisticRegression."
        Cs = rules.number_or_values("Cs", self.Cs, remedy)
        if isinstance(Cs, int):
            Cs = penalty_grid(start, Cs, float(self.eps), options.l1_ratio)
        path = certified_path(start, Cs, options)
        if not path.certified:
            warn("SEP003", "points of the path were left above tol; see gaps_. Raise max_iter.")
        self.Cs_, self.coefs_, self.intercepts_ = path.Cs, path.coefs, path.intercepts
        self.gaps_, self.degrees_of_freedom_ = path.gaps, path.degrees_of_freedom
        self.log_likelihoods_, self.weight_ = -path.losses, float(path.weight)
        best = self._best(path, rows, targets, options)
        self.C_ = float(path.Cs[best])
        chosen = replace(options, penalty=1.0 / self.C_, tol=min(options.tol, 1e-8))
        problem = start.problem.with_penalty(chosen.penalty, chosen.l1_ratio)
        solution = solve_logistic(problem, path.thetas[best], chosen, start.priors)
        self._store(solution, data.encoding)
        return self

    def path_figures(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
    ) -> PathFigures:
        """What :func:`criteria` reads of the path; losses of folds where rows are given."""
        from separatrix.logistic.cross_validation.logistic_cv import LogisticCV

        check_is_fitted(self)
        losses = getattr(self, "log_loss_path_", None)
        if X is not None and (losses is None or cv is not None):
            model = LogisticCV(self.Cs_, cv=cv, **{name: getattr(self, name) for name in SHARED})
            losses = model.fit(X, y, sample_weight).log_loss_path_
        return logistic_figures(self, X, y, sample_weight, losses)

    @abstractmethod
    def _path_rows(self, rows: Rows) -> Rows:
        """The rows that the path is fitted to; parameters are checked here."""

    @abstractmethod
    def _best(self, path: PathPoints, rows: Rows, targets: Terms, options: LogisticOptions) -> int:
        """Index of the point to predict with."""


class LogisticPath(LogisticPathBase):
    """The regularization path of logistic regression over C, and its best point by AIC or BIC.

        aic = −2 log L + 2 df,      bic = −2 log L + log(Σw) df

    df is the effective number of coefficients at each C.

    Parameters
    ----------
    Cs : int or array-like, default=30
        Values of C, or how many to place evenly on a log scale above the largest one at which all
        coefficients are zero (for a ridge penalty: that of ``l1_ratio=0.01``).
    l1_ratio : float, default=0.0
        ρ, the fraction of the ℓ₁ part: 0 is ridge, 1 is lasso.
    eps : float, default=1e-4
        The first C as a fraction of the last.
    criterion : {"bic", "aic"}, default="bic"
        The information criterion to minimize.
    fit_intercept : bool, default=True
        Whether scores have an intercept, which is never penalized.
    standardize : bool, default=False
        Apply the penalty to standardized columns, so that the fit does not depend on units.
    reference : label or None, default=None
        With more than two classes, the class whose scores are zero.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply the sample weights.
    tol : float, default=1e-6
        Tolerance at each point, as in :class:`LogisticRegression`.
    max_iter : int, default=200
        Passes over the rows at most, at each point.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    Cs_ : ndarray of shape (n_points,)
        Values of C, strongest penalty first.
    coefs_ : ndarray of shape (n_points, 1 or n_classes, n_features)
        Coefficients along the path.
    intercepts_ : ndarray of shape (n_points, 1 or n_classes)
        Intercepts along the path.
    gaps_ : ndarray of shape (n_points,)
        Duality gap of every point.
    degrees_of_freedom_ : ndarray of shape (n_points,)
        Effective number of coefficients.
    log_likelihoods_, aic_, bic_ : ndarray of shape (n_points,)
        Log-likelihood and criteria along the path.
    weight_ : float
        Sum of the weights of the rows.
    C_ : float
        The chosen C.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients at the chosen C.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts at the chosen C.
    certificate_ : Certificate
        That of the chosen point.
    n_iter_ : int
        Passes over the rows for the chosen point.

    See Also
    --------
    LogisticCV : C by cross-validation.
    LogisticRegression : One value of C.
    LassoPath : The same for least squares.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani, Regularization paths for generalized linear models
    via coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 4))
    >>> y = X[:, 0] + rng.logistic(size=200) > 0
    >>> path = sx.LogisticPath(10, l1_ratio=1.0).fit(X, y)
    >>> path.coefs_.shape, bool(path.coefs_[0].any())
    ((10, 1, 4), False)
    >>> path.coef_.astype(bool)
    array([[ True, False, False, False]])
    """

    def __init__(
        self,
        Cs: Any = 30,
        *,
        l1_ratio: float = 0.0,
        eps: float = 1e-4,
        criterion: str = "bic",
        fit_intercept: bool = True,
        standardize: bool = False,
        reference: Any = None,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
    ) -> None:
        self.Cs = Cs
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.reference = reference
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _path_rows(self, rows: Rows) -> Rows:
        check_option("criterion", self.criterion, ("aic", "bic"))
        return rows

    def _best(self, path: PathPoints, *_: Any) -> int:
        df = path.degrees_of_freedom
        self.aic_ = 2.0 * (path.losses + df)
        self.bic_ = 2.0 * path.losses + np.log(path.weight) * df
        return rules.minimum(1.0 / path.Cs, self.aic_ if self.criterion == "aic" else self.bic_)
