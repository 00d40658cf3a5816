"""Logistic regression by maximum likelihood, or with an elastic-net penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_weights import weighted_rows, weighted_samples, weights_by_class
from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.logistic.fit import LogisticRows, LogisticSolution, fit_logistic
from separatrix.logistic.problem import LogisticOptions
from separatrix.logistic.separation import Separation
from separatrix.logistic.summary import LogisticFitStatistics, LogisticSummary, summarize
from separatrix.logistic.tuning import FIT_POINTS, RidgeFolds, fold_fits
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Terms
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.standardizer import Standardizer

#: Classes up to which an ℓ₁ penalty is solved for all scores at once.
MAX_L1_CLASSES = 500


class LogisticClassifier(ProbabilisticLinearClassifier):
    """What logistic models share: class weights, probabilities, and a reference class."""

    C: float
    l1_ratio: float
    fit_intercept: bool
    standardize: bool
    tol: float
    max_iter: int
    class_weight: Any
    reference: Any

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities, exact also where these underflow."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def _weighted_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Training rows whose weights are multiplied by those of their classes."""
        given = self.class_weight
        if given is None or (y is None and not isinstance(X, Rows)):
            return self._class_rows(X, y, sample_weight)
        if isinstance(X, Rows):
            return weighted_rows(self._class_rows(X, y, sample_weight), given)
        return self._class_rows(X, y, weighted_samples(y, sample_weight, given))

    def _read(self, rows: Rows, options: LogisticOptions) -> tuple[LogisticRows, Terms]:
        """Encoded rows, and the indicators in the order of ``classes_``, which are set here."""
        data = LogisticRows.of(rows)
        terms = self._class_terms(rows, data.targets)
        if options.has_l1 and len(self.classes_) > MAX_L1_CLASSES:
            raise InputError(
                f"An ℓ₁ penalty over the scores of {len(self.classes_)} classes at once would take "
                f"hours; the limit is {MAX_L1_CLASSES}.",
                remedy="Use l1_ratio=0, or OneVsRest(LogisticRegression(C, l1_ratio)).",
            )
        if self.reference is not None and self.reference not in self.classes_.tolist():
            raise InputError(
                f"reference={self.reference!r} is no class.",
                remedy=f"Choose one of {self.classes_.tolist()[:12]}, or None.",
            )
        return data, terms

    def _store(self, solution: LogisticSolution, encoding: Encoding) -> None:
        """Expose a solution; the scores of a reference class are zero."""
        self._accept(solution, encoding, flat=False)
        self.separation_: Separation | None = solution.separation
        if self.reference is None or len(self.classes_) == 2:
            return
        at = np.flatnonzero(self.classes_ == self.reference)
        self.coef_ = self.coef_ - self.coef_[at]
        self.intercept_ = self.intercept_ - self.intercept_[at]

    def _ridge_folds(self, data: TuningData, C: float, points: int) -> RidgeFolds:
        """Columns and weights of the classes for a comparison on folds, up to C."""
        if self.l1_ratio > 0.0:
            raise InputError(
                f"l1_ratio={self.l1_ratio!r}: only ridge penalties are compared on given folds.",
                remedy="Use l1_ratio=0, or fit, which has folds of its own.",
            )
        x = data.z if self.standardize or np.isinf(C) else data.x
        if not self.fit_intercept and x is data.z:  # scores are zero at the origin of the table
            x = data.x * Standardizer.from_rows(data.x, data.w).inverse_scale
        factor = np.ones(data.n_classes)
        if self.class_weight is not None:
            total = np.bincount(data.y, data.w, data.n_classes).astype(np.float64)
            factor = weights_by_class(self.class_weight, list(range(data.n_classes)), total)
        return RidgeFolds.of(data, x, factor, points, intercept=bool(self.fit_intercept))

    def _options(self, C: float) -> LogisticOptions:
        """The parameters, checked."""
        if not C > 0.0:
            raise InputError(f"C={C!r} must be greater than 0.", remedy="C=inf means no penalty.")
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise InputError(f"l1_ratio={self.l1_ratio!r} must be between 0 and 1.")
        if not self.tol > 0.0:
            raise InputError(f"tol={self.tol!r} must be greater than 0.")
        if not self.max_iter >= 1:
            raise InputError(f"max_iter={self.max_iter!r} must be at least 1.")
        return LogisticOptions(
            0.0 if np.isinf(C) else 1.0 / float(C),
            float(self.l1_ratio),
            bool(self.fit_intercept),
            bool(self.standardize),
            float(self.tol),
            int(self.max_iter),
        )


class LogisticRegression(LogisticClassifier):
    """Logistic regression for two or more classes, with or without an elastic-net penalty.

        min over W, a of C Σ w (log Σₖ e^sₖ − s_y) + ρ ‖W‖₁ + ½ (1 − ρ) ‖W‖²,   s = W x + a

    Two classes have one score, that of ``classes_[1]``, and p = 1/(1 + e^−s). More have one each,
    and pₖ is proportional to e^sₖ. Without penalty (C = ∞, the default) this is maximum likelihood,
    the fit does not depend on units, and ``summary()`` gives standard errors.

    If the classes are separable (completely or quasi-completely) the maximum likelihood estimate
    does not exist. This is detected, proved by the margins of all rows, and warned about (SEP006):
    ``separation_`` is the direction along which the likelihood increases without a maximum, and the
    coefficients are those of the last iteration. ``summary()`` then infers those that stay finite,
    if there are any: a level that one class alone has takes nothing away from other columns.

    Parameters
    ----------
    C : float, default=inf
        Weight of the likelihood relative to the penalty, as in scikit-learn.
    l1_ratio : float, default=0.0
        ρ, the fraction of the ℓ₁ part: 0 is ridge, 1 is lasso.
    fit_intercept : bool, default=True
        Whether scores have an intercept, which is never penalized.
    standardize : bool, default=False
        Apply the penalty to standardized columns, so that the fit does not depend on units.
    reference : label or None, default=None
        With more than two classes, the class whose scores are zero; None makes the scores of all
        classes add up to zero (with an ℓ₁ part: as the penalty has them). Probabilities are equal.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply the sample weights.
    tol : float, default=1e-8
        Tolerance on the gradient, for standardized columns and per row, and on the duality gap, as
        a fraction of the loss without columns.
    max_iter : int, default=200
        Passes over the rows at most.
    dual, intercept_scaling, random_state, solver, verbose, warm_start, n_jobs : object
        Accepted so that code written for scikit-learn runs; the result does not depend on them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    separation_ : Separation or None
        The separating direction if the maximum likelihood estimate does not exist.
    fit_statistics_ : LogisticFitStatistics or None
        What ``summary`` needs.
    certificate_ : Certificate
        Primal and dual objective, duality gap and KKT residual.
    n_iter_ : int
        Passes over the rows.

    See Also
    --------
    LogisticPath : All values of C.
    LogisticCV : C by cross-validation.
    LinearDiscriminantAnalysis : The same form of boundary from normal classes.
    linear_separability : Whether a hyperplane separates two classes.

    References
    ----------
    A. Albert and J. A. Anderson, "On the existence of maximum likelihood estimates in logistic
    regression models", Biometrika, 1984.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.LogisticRegression().fit(X, [0, 0, 1, 0, 1, 1])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[1.214]]), array([-3.035]))
    >>> model.predict_proba([[2.5]]).round(3)
    array([[0.5, 0.5]])
    >>> model.certificate_.holds
    True
    """

    fit_statistics_: LogisticFitStatistics | None

    def __init__(
        self,
        C: float = np.inf,
        l1_ratio: float = 0.0,
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        reference: Any = None,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 200,
        dual: bool = False,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        solver: str = "newton",
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: Any = None,
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.reference = reference
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.dual = dual
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.solver = solver
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = self._options(self.C)
        data, targets = self._read(self._weighted_rows(X, y, sample_weight), options)
        solution = fit_logistic(data, targets, options)
        self._store(solution, data.encoding)
        self.fit_statistics_ = LogisticFitStatistics.of(solution, self.fit_intercept)
        return self

    def tune(self, data: TuningData) -> Tuning:
        """Predict every fold of ``data`` by a fit to the others, with the C given.

        Without penalty the fit ends where the classes of a fold prove separable, which is noted.
        """
        self._options(C := float(self.C))
        return fold_fits(self._ridge_folds(data, C, FIT_POINTS), C, data.loss)

    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the C that was tried, the only one."""
        self.set_params(**tuning.parameters)
        return self.fit(rows)

    def summary(self, *_: Any, level: float = 0.95, **__: Any) -> LogisticSummary:
        """Estimates, standard errors, z, p, intervals and odds ratios; refused with a reason."""
        check_is_fitted(self)
        return summarize(self, level)
