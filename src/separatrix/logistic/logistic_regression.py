"""Logistic regression by maximum likelihood, or with an elastic-net penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.precision import number_type
from separatrix.logistic.base import LogisticClassifier
from separatrix.logistic.fit import LogisticSolution, solve_logistic, starting_point
from separatrix.logistic.parameters import LIBLINEAR, check_parameters, penalty_of, warn_as_there
from separatrix.logistic.problem import LogisticOptions, LogisticProblem
from separatrix.logistic.summary import LogisticFitStatistics, LogisticSummary, summarize
from separatrix.logistic.tuning import FIT_POINTS, fold_fits
from separatrix.logistic.wide.problem import WideLogistic
from separatrix.logistic.wide.sampled_hessian import MAX_FULL
from separatrix.messages import InputError
from separatrix.probability.likelihood.rows import LogisticRows
from separatrix.rows.block import Floats
from separatrix.rows.schema import Terms
from separatrix.selection.criteria.figures import FitFigures
from separatrix.selection.tuning import Tuning, TuningData

#: Fits go on to this accuracy where ``tol`` asks for less; those by products with the rows to the
#: third, dense ones of several classes to the second, or of many to the last.
ACCURACY, NEAR_ACCURACY, WIDE_ACCURACY, CLASSES_ACCURACY = 1e-8, 1e-7, 1e-6, 1e-5


class LogisticRegression(CallbackSupportMixin, LogisticClassifier):
    """Logistic regression for two or more classes, with or without an elastic-net penalty.

        min over W, a of C Σ w (log Σₖ e^sₖ − s_y) + ρ ‖W‖₁ + ½ (1 − ρ) ‖W‖²,   s = W x + a

    Two classes have one score, that of ``classes_[1]``, and p = 1/(1 + e^−s). More have one each,
    and pₖ is proportional to e^sₖ. Without penalty (C = ∞) this is maximum likelihood, the fit does
    not depend on units, and ``summary()`` gives standard errors.

    If the classes are separable (completely or quasi-completely) the maximum likelihood estimate
    does not exist. This is detected, proved by the margins of all rows, and warned about (SEP006):
    ``separation_`` is the direction along which the likelihood increases without a maximum, and the
    coefficients are those of the last iteration. ``summary()`` then infers those that stay finite,
    if there are any: a level that one class alone has takes nothing away from other columns.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, default="deprecated"
        As in scikit-learn, where it is deprecated: say ``l1_ratio``, and ``C=inf`` for None.
    C : float, default=1.0
        Weight of the likelihood relative to the penalty; infinite is maximum likelihood.
    l1_ratio : float, default=0.0
        ρ, the fraction of the ℓ₁ part: 0 is ridge, 1 is lasso.
    dual : bool, default=False
        Taken and unused.
    tol : float, default=1e-4
        Upper bound of the tolerance on the gradient, for standardized columns and per row, and on
        the duality gap, as a fraction of the loss without columns. Fits go on to 1e-8; to
        1e-6 where there are more than 600 columns, and to 1e-5 where many classes are dense.
    fit_intercept : bool, default=True
        Whether scores have an intercept, which is not penalized (but see ``solver``).
    intercept_scaling : float, default=1
        With ``solver="liblinear"`` the intercept a is penalized as a coefficient of a/this.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply the sample weights.
    random_state : object, default=None
        Taken and unused.
    solver : str, default="lbfgs"
        One of scikit-learn's names. The method is chosen by the data, and any penalty goes with any
        name; only "liblinear" has an answer of its own: two classes, intercept penalized.
    max_iter : int, default=100
        Steps at most; 0 returns the start.
    verbose : int, default=0
        Taken and unused.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    n_jobs : object, default=None
        Taken and unused.
    standardize : bool, default=False
        Apply the penalty to standardized columns, so that the fit does not depend on units.
    reference : label or None, default=None
        With more than two classes, the class whose scores are zero; None makes the scores of all
        classes add up to zero (with an ℓ₁ part: as the penalty has them). Probabilities are equal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; in single precision if ``X`` is.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    separation_ : Separation or None
        The separating direction if the maximum likelihood estimate does not exist.
    fit_statistics_ : LogisticFitStatistics or None
        What ``summary`` needs.
    certificate_ : Certificate
        Primal and dual objective, duality gap and KKT residual.
    n_iter_ : ndarray of shape (1,)
        Steps.

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
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.LogisticRegression(C=np.inf).fit(X, [0, 0, 1, 0, 1, 1])
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
        penalty: Any = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "lbfgs",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: Any = None,
        standardize: bool = False,
        reference: Any = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.reference = reference

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_parameters(self)
        warn_as_there(self)
        context = self._init_callback_context()
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        C, l1_ratio = penalty_of(self)
        options = replace(self._options(C), l1_ratio=l1_ratio)
        before = self._last_fit() if self.warm_start else None
        data, targets = self._read(self._weighted_rows(X, y, sample_weight), options)
        solution = self._solve(data, targets, options, before)
        self._store(solution, data.encoding)
        self.n_iter_ = np.array([min(max(solution.iterations - 1, 1), self.max_iter)], np.int32)
        if number_type(X) is np.float32 and self.solver != LIBLINEAR:
            self.coef_ = self.coef_.astype(np.float32)
            self.intercept_ = self.intercept_.astype(np.float32)
        self.fit_statistics_ = LogisticFitStatistics.of(solution, self.fit_intercept)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def _solve(
        self, data: LogisticRows, targets: Terms, options: LogisticOptions, before: Any
    ) -> LogisticSolution:
        """The fit, from the coefficients of ``before`` where they fit the problem."""
        if self.solver == LIBLINEAR and len(self.classes_) > 2:
            raise InputError(
                "The 'liblinear' solver does not support multiclass classification.",
                remedy="Leave solver at its default, or use OneVsRest(LogisticRegression(…)).",
            )
        start = starting_point(data, targets, options)
        options = replace(options, tol=min(options.tol, _accuracy(start.problem, options)))
        theta = start.theta if options.max_iter else np.zeros_like(start.theta)
        if before is not None and before[0].T.shape == (data.n_columns, theta.shape[1]):
            again = start.problem.rescale(before[0].T, before[1])
            theta = theta if again is None else again
        return solve_logistic(start.problem, theta, options, start.priors)

    def _last_fit(self) -> tuple[Floats, Floats] | None:
        """Coefficients and intercepts of the last fit, if there was one."""
        if not hasattr(self, "coef_"):
            return None
        self.densify()
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise InputError(
                "Floating-point under-/overflow: coefficients of the last fit, from which "
                "warm_start begins, are not finite.",
                remedy="Use warm_start=False.",
            )
        return self.coef_.astype(np.float64), np.asarray(self.intercept_, dtype=np.float64)

    def _options(self, C: float) -> LogisticOptions:
        options = super()._options(C)
        free = self.solver != LIBLINEAR or options.penalty == 0.0
        return replace(
            options,
            intercept_scaling=np.inf if free else float(self.intercept_scaling),
            method=f"the method in place of {self.solver}",
        )

    def tune(self, data: TuningData) -> Tuning:
        """Predict every fold of ``data`` by a fit to the others, with the C given.

        Without penalty the fit ends where the classes of a fold prove separable, which is noted.
        """
        check_parameters(self)
        C = float(penalty_of(self)[0])
        return fold_fits(self._ridge_folds(data, C, FIT_POINTS), C, data.loss)

    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the C that was tried, the only one."""
        self.set_params(**tuning.parameters)
        self.fit(rows)
        return self

    def summary(self, *_: Any, level: float = 0.95, **__: Any) -> LogisticSummary:
        """Estimates, standard errors, z, p, intervals and odds ratios; refused with a reason."""
        check_is_fitted(self)
        return summarize(self, level)

    def fit_figures(self) -> FitFigures | None:
        """What :func:`criteria` reads of the fit; None with a penalty, or without a maximum."""
        e = self.fit_statistics_
        if e is None or np.isfinite(penalty_of(self)[0]):
            return None
        scores = len(self.classes_) - 1
        freedom = float(scores * (e.rank + int(self.fit_intercept)))
        return FitFigures(e.weight, freedom, e.log_likelihood)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.solver != LIBLINEAR
        return tags


def _accuracy(problem: LogisticProblem, options: LogisticOptions) -> float:
    """The accuracy that fits of such a problem go on to."""
    if options.has_l1 or not isinstance(problem, WideLogistic):
        return ACCURACY
    width, k = problem.shape
    if k == 1 or problem.is_sparse:
        return WIDE_ACCURACY
    return NEAR_ACCURACY if width * k <= MAX_FULL else CLASSES_ACCURACY
