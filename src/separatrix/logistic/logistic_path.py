"""The regularization path of logistic regression, and its best point by a criterion."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix.arrays import Floats
from separatrix.estimators.base import reads_tables
from separatrix.logistic.fit import solve_logistic, starting_point
from separatrix.logistic.logistic_regression import LogisticClassifier
from separatrix.logistic.path import PathPoints, certified_path, losses_of_folds, penalty_grid
from separatrix.logistic.problem import LogisticOptions
from separatrix.logistic.tuning import coefficient_path, grid_of_penalties, tune_ridge
from separatrix.matrices.products import multiply
from separatrix.messages import check_option, warn
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Terms
from separatrix.selection import rules
from separatrix.selection.criteria import PathFigures
from separatrix.selection.folds import folding
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.threads import on_one_blas_thread


class LogisticPathBase(LogisticClassifier):
    """The path over all rows and the fit at the chosen point, by whichever rule it is chosen."""

    Cs: Any
    eps: float
    _no_inference = (
        "the penalty shrinks the coefficients and was chosen by looking at the same rows. Fit "
        "LogisticRegression with C=inf for inference."
    )

    @reads_tables
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


@declare_parameters
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
    tol : float, default=1e-6
        Tolerance at each point, as in :class:`LogisticRegression`.
    max_iter : int, default=200
        Passes over the rows at most, at each point.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
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

    Cs: Any = 30
    _: KW_ONLY
    l1_ratio: float = 0.0
    eps: float = 1e-4
    criterion: str = "bic"
    fit_intercept: bool = True
    standardize: bool = False
    reference: Any = None
    class_weight: Any = None
    tol: float = 1e-6
    max_iter: int = 200

    def _path_rows(self, rows: Rows) -> Rows:
        check_option("criterion", self.criterion, ("aic", "bic"))
        return rows

    def _best(self, path: PathPoints, *_: Any) -> int:
        df = path.degrees_of_freedom
        self.aic_ = 2.0 * (path.losses + df)
        self.bic_ = 2.0 * path.losses + np.log(path.weight) * df
        return rules.minimum(1.0 / path.Cs, self.aic_ if self.criterion == "aic" else self.bic_)


# -------------------------------------------------------------------------------------------------
# What criteria of complexity read of a path of logistic regression.


#: Parameters of a path that its fits to folds share.
SHARED = ("l1_ratio", "fit_intercept", "standardize", "class_weight", "tol", "max_iter")
NO_LEAST_SQUARES = "its closed form is that of least squares."
NO_EVIDENCE = "it has no closed form here; BayesianLogisticRegression approximates it."
NO_LIKELIHOOD = "this path was tuned on the folds of a study, and has no likelihoods."
NO_ROWS = "fractions of errors need the training rows: criteria(path, X, y)."
SEVERAL = "the bound is that of two classes."
FREEDOM = "degrees of freedom stand for the VC dimension."


def logistic_figures(
    model: Any, X: Any, y: Any, sample_weight: Any, fold_losses: Floats | None
) -> PathFigures:
    """Figures of a fitted path."""
    known = hasattr(model, "log_likelihoods_")
    reasons = {"MDL": NO_LEAST_SQUARES, "evidence": NO_EVIDENCE}
    errors = None
    if len(model.classes_) > 2:
        reasons["structural risk"] = SEVERAL
    elif X is None or y is None or isinstance(X, Rows):
        reasons["structural risk"] = NO_ROWS
    else:
        reasons["structural risk"] = FREEDOM
        errors = error_rates(model, X, y, sample_weight)
    if not known:
        reasons |= dict.fromkeys(("AIC", "AICc", "BIC", "structural risk"), NO_LIKELIHOOD)
    return PathFigures(
        "C",
        tuple(model.Cs_.tolist()),
        1.0 / model.Cs_,
        float(model.weight_) if known else np.nan,
        freedom=model.degrees_of_freedom_ if known else None,
        log_likelihood=model.log_likelihoods_ if known else None,
        errors=errors if known else None,
        fold_losses=fold_losses,
        loss="log loss",
        reasons=reasons,
    )


def error_rates(model: Any, X: Any, y: Any, sample_weight: Any) -> Floats:
    """Weighted fraction of rows that each point of a path of two classes gets wrong."""
    x = model._design(X)
    scores = np.asarray(multiply(x, model.coefs_[:, 0].T)) + model.intercepts_[:, 0]
    positive = column_or_1d(y) == model.classes_[1]
    wrong = (scores > 0.0) != positive[:, None]
    return np.asarray(np.average(wrong, axis=0, weights=sample_weight))


# -------------------------------------------------------------------------------------------------
# Logistic regression with the penalty chosen by folds, along the regularization path.


@declare_parameters
class LogisticCV(LogisticPathBase):
    """Logistic regression with C chosen by cross-validated log loss along the path.

        C = argmin mean over folds of −(1/n) Σ log p(y | x)      over the test rows of each fold

    A table that is read as a stream is read into memory first, since folds name its rows.

    Parameters
    ----------
    Cs : int or array-like, default=20
        Values of C, or how many, as in :class:`LogisticPath`.
    l1_ratio : float, default=0.0
    eps : float, default=1e-4
        The first C as a fraction of the last.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds as in scikit-learn; a number makes stratified ones. None is 5, or as many as the
        rarest class has rows, but 2 at least.
    rule : {"min", "one_se", "elbow"}, default="min"
        Take the C of the smallest mean log loss, or the smallest C whose mean log loss is within
        one standard error of it: that of its mean, or of the differences from it ("elbow").
    fit_intercept : bool, default=True
        Whether scores have an intercept, which is never penalized.
    standardize : bool, default=False
        Apply the penalty to standardized columns, so that the fit does not depend on units.
    reference : label or None, default=None
        With more than two classes, the class whose scores are zero.
    class_weight : dict, "balanced" or None, default=None
    tol : float, default=1e-6
        Tolerance at each point, as in :class:`LogisticRegression`.
    max_iter : int, default=200
        Passes over the rows at most, at each point.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    log_loss_path_ : ndarray of shape (n_points, n_folds)
        Mean log loss of the test rows for every C and fold.
    Cs_ : ndarray of shape (n_points,)
        Values of C, strongest penalty first.
    coefs_ : ndarray of shape (n_points, 1 or n_classes, n_features)
        Coefficients along the path over all rows.
    intercepts_ : ndarray of shape (n_points, 1 or n_classes)
        Intercepts along the path over all rows.
    gaps_ : ndarray of shape (n_points,)
        Duality gap of every point.
    degrees_of_freedom_ : ndarray of shape (n_points,)
        Effective number of coefficients.
    log_likelihoods_ : ndarray of shape (n_points,)
        Log-likelihood of all rows along the path.
    weight_ : float
        Sum of the weights of the rows.
    C_ : float
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients at the chosen C, fitted to all rows.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts at the chosen C.
    certificate_ : Certificate
        That of the chosen point.
    n_iter_ : int
        Passes over the rows for the chosen point.

    See Also
    --------
    LogisticPath : C by an information criterion.
    LogisticRegression : One value of C.
    LassoCV : The same for least squares.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani, Regularization paths for generalized linear models
    via coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> y = X[:, 0] + rng.logistic(size=100) > 0
    >>> model = sx.LogisticCV(5, cv=3).fit(X, y)
    >>> model.log_loss_path_.shape, bool(model.C_ in model.Cs_)
    ((5, 3), True)
    """

    Cs: Any = 20
    _: KW_ONLY
    l1_ratio: float = 0.0
    eps: float = 1e-4
    cv: Any = None
    rule: str = "min"
    fit_intercept: bool = True
    standardize: bool = False
    reference: Any = None
    class_weight: Any = None
    tol: float = 1e-6
    max_iter: int = 200

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare values of C on the folds of ``data``, by ridge penalties only.

        Paths are solved to about four digits of the loss, and end where it has clearly risen.
        Standardized columns are standardized over all rows, as in a fit to all of them.
        """
        Cs = rules.number_or_values("Cs", self.Cs, "Give a list of values, or their number.")
        points = Cs if isinstance(Cs, int) else len(Cs)
        folds = self._ridge_folds(data, 1.0, points)
        if isinstance(Cs, int):
            Cs = grid_of_penalties(folds.rows, Cs, float(self.eps))
        return tune_ridge(folds, Cs, data.loss)

    @on_one_blas_thread
    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the C that was chosen; there is a path for two classes only."""
        self.C_ = float(tuning.parameters["C"])
        self.Cs_ = np.array([point["C"] for point in tuning.grid])
        self.log_loss_path_ = tuning.losses
        options = replace(self._options(self.C_), tol=min(float(self.tol), 1e-8))
        table = self._weighted_rows(rows, None, None).read()
        data, targets = self._read(table, options)
        start = starting_point(data, targets, options)
        two = len(self.classes_) == 2
        # of more classes the path is not shown: a few points lead to the chosen one
        Cs = self.Cs_ if two else self.C_ * np.array([0.01, 0.1, 1.0])
        coefs, intercepts = coefficient_path(data.rows.collect(), targets, Cs, options)
        if two:
            self.coefs_, self.intercepts_ = coefs, intercepts
        index = int(np.argmin(np.abs(Cs - self.C_)))
        near = start.problem.rescale(coefs[index].T, intercepts[index])
        near = start.theta if near is None else near
        self._store(solve_logistic(start.problem, near, options, start.priors), data.encoding)
        return self

    def _path_rows(self, rows: Rows) -> InMemory:
        check_option("rule", self.rule, rules.RULES)
        table = rows.read()
        return table.take(folding(table.block.w, self.cv))

    def _best(self, path: PathPoints, rows: Rows, targets: Terms, options: LogisticOptions) -> int:
        assert isinstance(rows, InMemory)
        losses = losses_of_folds(rows, targets, self.cv, self.classes_, path.Cs, options)
        self.log_loss_path_ = np.stack(losses, axis=1)
        return rules.RULES[self.rule](1.0 / path.Cs, self.log_loss_path_)
