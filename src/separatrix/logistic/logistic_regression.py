"""Logistic regression by maximum likelihood, or with an elastic-net penalty."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, NDArray
from separatrix.callbacks import CallbackSupportMixin, with_callbacks
from separatrix.estimators import class_labels, linear_classifier
from separatrix.estimators.base import number_type, reads_tables
from separatrix.estimators.inference import CoefficientTable, no_summary, p_phrase
from separatrix.estimators.linear_classifier import (
    ProbabilisticLinearClassifier,
)
from separatrix.logistic.fit import LogisticSolution, solve_logistic, starting_point
from separatrix.logistic.problem import LogisticOptions, LogisticProblem, Separation
from separatrix.logistic.tuning import FIT_POINTS, RidgeFolds, fold_fits
from separatrix.logistic.wide import MAX_FULL, WideLogistic
from separatrix.messages import InputError, check_option, warn_as
from separatrix.parameters import declare_parameters
from separatrix.probability.likelihood import LogisticRows
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Encoding, Terms
from separatrix.selection.criteria import FitFigures
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.moments import Standardizer
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# What logistic models share: class weights, probabilities, a reference class, checked options.


class LogisticClassifier(ProbabilisticLinearClassifier):
    """What logistic models share: class weights, probabilities, and a reference class."""

    sparsify, densify = linear_classifier.sparsify, linear_classifier.densify
    C: float
    l1_ratio: float | None
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
            return class_labels.class_rows(self, X, y, sample_weight)
        if isinstance(X, Rows):
            return class_labels.weighted_rows(
                class_labels.class_rows(self, X, y, sample_weight), given
            )
        return class_labels.class_rows(
            self, X, y, class_labels.weighted_samples(y, sample_weight, given)
        )

    def _read(self, rows: Rows, options: LogisticOptions) -> tuple[LogisticRows, Terms]:
        """Encoded rows, and the indicators in the order of ``classes_``, which are set here."""
        data = LogisticRows.of(rows)
        terms = class_labels.class_terms(self, rows, data.targets)
        max_l1_classes = 500  # classes up to which an ℓ₁ penalty is solved for all scores at once
        if options.has_l1 and len(self.classes_) > max_l1_classes:
            raise InputError(
                f"An ℓ₁ penalty over the scores of {len(self.classes_)} classes at once would take "
                f"hours; the limit is {max_l1_classes}.",
                remedy="Use l1_ratio=0, or OneVsRest(LogisticRegression(l1_ratio=1.0)).",
            )
        if self.reference is not None and self.reference not in self.classes_.tolist():
            raise InputError(
                f"reference={self.reference!r} is not a class.",
                remedy=f"Choose one of {self.classes_.tolist()[:12]}, or None.",
            )
        return data, terms

    def _store(self, solution: LogisticSolution, encoding: Encoding) -> None:
        """Expose a solution; the scores of a reference class are zero."""
        self._accept(solution, encoding, flat=False)
        self.separation_: Separation | None = solution.separation
        if self.reference is None or len(self.classes_) == 2:
            return
        indices = np.flatnonzero(self.classes_ == self.reference)
        self.coef_ = self.coef_ - self.coef_[indices]
        self.intercept_ = self.intercept_ - self.intercept_[indices]

    def _ridge_folds(self, data: TuningData, C: float, points: int) -> RidgeFolds:
        """Columns and weights of the classes for a comparison on folds, up to C."""
        if self.l1_ratio:
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
            factor = class_labels.weights_by_class(
                self.class_weight, list(range(data.n_classes)), total
            )
        return RidgeFolds.of(data, x, factor, points, intercept=bool(self.fit_intercept))

    def _options(self, C: float) -> LogisticOptions:
        """The parameters, checked."""
        if not C > 0.0:
            raise InputError(f"C={C!r} must be greater than 0.", remedy="C=inf means no penalty.")
        l1_ratio = 0.0 if self.l1_ratio is None else float(self.l1_ratio)
        if not 0.0 <= l1_ratio <= 1.0:
            raise InputError(f"l1_ratio={self.l1_ratio!r} must be between 0 and 1.")
        if not self.tol >= 0.0:
            raise InputError(f"tol={self.tol!r} must be 0 or more.")
        if not self.max_iter >= 0:
            raise InputError(f"max_iter={self.max_iter!r} must be 0 or more.")
        return LogisticOptions(
            0.0 if np.isinf(C) else 1.0 / float(C),
            l1_ratio,
            bool(self.fit_intercept),
            bool(self.standardize),
            float(self.tol),
            int(self.max_iter),
        )


@declare_parameters
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
    dual : bool, default=False
        Ignored; accepted for scikit-learn compatibility.
    tol : float, default=1e-4
        Upper bound of the tolerance on the gradient, for standardized columns and per row, and on
        the duality gap, as a fraction of the loss without columns. Fits go on to 1e-8; to
        1e-6 where there are more than 600 columns, and to 1e-5 where many classes are dense.
    fit_intercept : bool, default=True
        Whether scores have an intercept, which is not penalized (but see ``solver``).
    intercept_scaling : float, default=1
        With ``solver="liblinear"`` the intercept a is penalized as a coefficient of a/this.
    class_weight : dict, "balanced" or None, default=None
    random_state : object, default=None
        Ignored; accepted for scikit-learn compatibility.
    solver : str, default="lbfgs"
        One of scikit-learn's names. The method is chosen by the data, and any penalty goes with any
        name; only "liblinear" has an answer of its own: two classes, intercept penalized.
    max_iter : int, default=100
        Steps at most; 0 returns the start.
    verbose : int, default=0
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    n_jobs : object, default=None
        Ignored; accepted for scikit-learn compatibility.
    standardize : bool, default=False
        Apply the penalty to standardized columns, so that the fit does not depend on units.
    reference : label or None, default=None
        With more than two classes, the class whose scores are zero; None makes the scores of all
        classes add up to zero (with an ℓ₁ part: as the penalty has them). Probabilities are equal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
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

    fit_statistics_: LogisticFitStatistics | None = field(init=False)

    penalty: Any = "deprecated"
    _: KW_ONLY
    C: float = 1.0
    l1_ratio: float = 0.0
    dual: bool = False
    tol: float = 1e-4
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: Any = None
    random_state: Any = None
    solver: str = "lbfgs"
    max_iter: int = 100
    verbose: int = 0
    warm_start: bool = False
    n_jobs: Any = None
    standardize: bool = False
    reference: Any = None

    @reads_tables
    @with_callbacks
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

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Predict every fold of ``data`` by a fit to the others, with the C given.

        Without penalty the fit ends where the classes of a fold prove separable, which is noted.
        """
        check_parameters(self)
        C = float(penalty_of(self)[0])
        return fold_fits(self._ridge_folds(data, C, FIT_POINTS), C, data.loss)

    @on_one_blas_thread
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
    """The accuracy that fits of such a problem go on to where ``tol`` asks for less."""
    if options.has_l1 or not isinstance(problem, WideLogistic):
        return 1e-8
    width, k = problem.shape
    if k == 1 or problem.is_sparse:
        return 1e-6  # by products with the rows, whose number grows with every digit
    return 1e-7 if width * k <= MAX_FULL else 1e-5


# -------------------------------------------------------------------------------------------------
# scikit-learn's parameters of logistic regression: checked, and brought down to C and ρ.
#
# ``penalty`` is deprecated there: ``C`` and ``l1_ratio`` say the same.


LIBLINEAR = "liblinear"
SOLVERS = ("lbfgs", LIBLINEAR, "newton-cg", "newton-cholesky", "sag", "saga")
UNSET = "deprecated"
PENALTIES = ("l1", "l2", "elasticnet")


def penalty_of(model: Any) -> tuple[float, float]:
    """(C, ρ) of a model with scikit-learn's ``penalty``."""
    ratio = 0.0 if model.l1_ratio is None else float(model.l1_ratio)
    if model.penalty is None:
        return np.inf, 0.0
    ratio = {"l1": 1.0, "l2": 0.0}.get(model.penalty, ratio)
    return float(model.C), ratio


def check_parameters(model: Any) -> None:
    """Refuse values that scikit-learn refuses, before any row is read."""
    if model.penalty is not None and model.penalty != UNSET:
        _check_penalty(model.penalty)
    check_option("solver", model.solver, SOLVERS)
    _check_number("C", model.C, 0.0, open_below=True)
    if model.l1_ratio is not None:
        _check_number("l1_ratio", model.l1_ratio, 0.0, 1.0)
    elif model.penalty == "elasticnet":
        raise InputError("penalty='elasticnet' needs an l1_ratio.", remedy="Say l1_ratio=0.5.")
    _check_number("tol", model.tol, 0.0)
    _check_number("intercept_scaling", model.intercept_scaling, 0.0, open_below=True)
    if not isinstance(model.max_iter, Integral) or model.max_iter < 0:
        raise InputError(f"max_iter={model.max_iter!r} must be a whole number, 0 or more.")
    for name in ("dual", "fit_intercept", "warm_start", "standardize"):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise InputError(f"{name}={getattr(model, name)!r} must be True or False.")


def _check_penalty(penalty: Any) -> None:
    if isinstance(penalty, Real):
        raise InputError(
            f"penalty={penalty!r} is not a penalty.",
            remedy=f"C is given by its name: C={penalty!r}.",
        )
    check_option("penalty", penalty, PENALTIES)


def _check_number(
    name: str, value: Any, low: float, high: float = np.inf, *, open_below: bool = False
) -> None:
    inside = isinstance(value, Real) and low <= float(value) <= high
    if not inside or (open_below and value == low):
        if high < np.inf:
            raise InputError(f"{name}={value!r} must be between {low:g} and {high:g}.")
        bound = "greater than" if open_below else "at least"
        more = "C=inf means no penalty." if name == "C" else None
        raise InputError(f"{name}={value!r} must be {bound} {low:g}.", remedy=more)


def warn_as_there(model: Any) -> None:
    """The warnings that scikit-learn gives about deprecated or inconsistent parameters."""
    if model.penalty != UNSET:
        warn_as(
            FutureWarning,
            "'penalty' was deprecated: use l1_ratio=0 for 'l2', l1_ratio=1 for 'l1', a number "
            "between for 'elasticnet', and C=inf for None.",
        )
        if model.penalty is None and model.C != 1.0:
            warn_as(
                UserWarning,
                f"Setting penalty=None will ignore the C of {model.C!r}: it means C=inf.",
            )
    elif model.l1_ratio is None:
        warn_as(FutureWarning, "'l1_ratio=None' was deprecated: use a number from 0 to 1.")
    C, ratio = penalty_of(model)
    if model.penalty in ("l1", "l2") and model.l1_ratio != ratio:
        warn_as(
            UserWarning,
            f"Inconsistent values: penalty={model.penalty} with l1_ratio={model.l1_ratio}, which "
            "is unused.",
        )
    elif np.isinf(C) and model.l1_ratio not in (None, 0, 1):
        warn_as(UserWarning, f"l1_ratio={model.l1_ratio!r} is unused without penalty.")
    if model.penalty in ("l1", "l2") and model.l1_ratio not in (None, 0, 1):
        warn_as(
            UserWarning,
            "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
            f"(penalty={model.penalty})",
        )
    if model.n_jobs is not None:
        warn_as(FutureWarning, "'n_jobs' has no effect, and is deprecated.")


# -------------------------------------------------------------------------------------------------
# Inference on the coefficients of logistic regression by maximum likelihood.
#
#     Var b = H⁻¹,    z = b / se ~ Normal,    2 (log L − log L₀) ~ χ²(coefficients)
#
# A weight counts as that many equal rows, here as everywhere in the library.


@dataclass(frozen=True)
class LogisticFitStatistics:
    """What a maximum likelihood fit stores for inference, without its rows.

    ``covariance`` is over (score, coefficients, intercept), scores outermost; ``null`` is the
    log-likelihood without columns. ``estimates`` and ``infinite`` are those of :class:`Limit` where
    classes are quasi-completely separable, empty elsewhere.
    """

    covariance: Floats
    identified: NDArray[np.bool_]
    log_likelihood: float
    null: float
    weight: float
    rank: int
    estimates: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    infinite: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(cls, solution: LogisticSolution, fit_intercept: bool) -> LogisticFitStatistics | None:
        """None where no inference is possible."""
        limit = solution.limit
        if not solution.covariance.size and limit is None:
            return None
        p = solution.priors
        null = float(np.sum(p * np.log(p))) if fit_intercept else -np.log(len(p))
        known = (solution.weight * null, solution.weight, solution.rank)
        if limit is None:
            return cls(solution.covariance, solution.identified, -solution.loss, *known)
        return cls(
            limit.covariance,
            solution.identified,
            -limit.loss,
            *known,
            limit.estimates,
            limit.infinite,
        )


@dataclass(frozen=True, repr=False)
class LogisticSummary(CoefficientTable):
    """Coefficients of logistic regression with their inference; prints as a table.

    With more than two classes, estimates compare each class with ``reference``. The terms of
    ``no_finite_estimate`` separate some rows of a class from all others: their likelihood has no
    maximum, and they have the coefficients of the last iteration, without a standard error.
    """

    letter: ClassVar[str] = "z"

    odds_ratios: Floats
    reference: str
    observations: float
    log_likelihood: float
    null_log_likelihood: float
    likelihood_ratio: float
    degrees_of_freedom: int
    likelihood_ratio_p: float
    pseudo_r_squared: float
    aic: float
    bic: float
    certificate: str
    no_finite_estimate: tuple[str, ...] = ()

    @property
    def z_values(self) -> Floats:
        """b / se."""
        return self.statistics

    def extra_columns(self) -> dict[str, Floats]:
        """Odds ratios e^b."""
        return {"odds_ratio": self.odds_ratios}

    def fit_lines(self) -> list[str]:
        """Quality of the fit, and its certificate."""
        return [
            f"Compared with class {self.reference}. Log-likelihood {self.log_likelihood:.6g} "
            f"(constant model {self.null_log_likelihood:.6g}); likelihood ratio "
            f"{self.likelihood_ratio:.6g} on {self.degrees_of_freedom} degrees of freedom "
            f"({p_phrase(self.likelihood_ratio_p)}), pseudo R² {self.pseudo_r_squared:.4g}",
            f"AIC {self.aic:.6g}, BIC {self.bic:.6g}",
            *self._infinite(),
            self.certificate,
        ]

    def _infinite(self) -> list[str]:
        """A line on the terms without a finite estimate."""
        if not self.no_finite_estimate:
            return []
        return [f"No finite estimate (separable classes): {', '.join(self.no_finite_estimate)}"]


def summarize(model: Any, level: float) -> LogisticSummary:
    """Build the :class:`LogisticSummary` of a fitted model with ``fit_statistics_``."""
    _refuse(model)
    e: LogisticFitStatistics = model.fit_statistics_
    d, k = model.coef_.shape[1], model.coef_.shape[0]
    contrast, labels, reference = _contrasts(model)
    estimates = contrast @ np.column_stack([model.coef_, model.intercept_])
    infinite = _infinite(e, contrast, d)
    if e.estimates.size:
        estimates = np.where(infinite, estimates, contrast @ e.estimates)
    covariance = e.covariance.reshape(k, d + 1, k, d + 1)
    variance = np.einsum("ck,kjlj,cl->cj", contrast, covariance, contrast)
    order = [d, *range(d)] if model.fit_intercept else list(range(d))
    names = tuple(["intercept"] * model.fit_intercept + list(model.encoding_.names))
    names = tuple(f"{label}: {name}" if k > 1 else name for label in labels for name in names)
    infinite = infinite[:, order].ravel()
    estimates, variance = estimates[:, order].ravel(), variance[:, order].ravel()
    unique = np.tile(e.identified[order], len(contrast)) & ~infinite
    errors = np.where(unique, np.sqrt(np.maximum(variance, 0.0)), np.nan)
    with np.errstate(over="ignore"):
        odds = np.exp(estimates)
    coefficients, compared = e.rank * len(contrast), len(contrast)
    ratio = max(2.0 * (e.log_likelihood - e.null), 0.0)
    parameters = coefficients + compared * int(model.fit_intercept)
    return LogisticSummary(
        names=names,
        estimates=estimates,
        standard_errors=errors,
        law=stats.norm,
        level=level,
        odds_ratios=odds,
        reference=str(reference),
        observations=e.weight,
        log_likelihood=e.log_likelihood,
        null_log_likelihood=e.null,
        likelihood_ratio=ratio,
        degrees_of_freedom=coefficients,
        likelihood_ratio_p=float(stats.chi2.sf(ratio, coefficients)) if coefficients else 1.0,
        pseudo_r_squared=1.0 - e.log_likelihood / e.null if e.null else np.nan,
        aic=2.0 * (parameters - e.log_likelihood),
        bic=float(np.log(e.weight) * parameters - 2.0 * e.log_likelihood),
        certificate=str(model.certificate_),
        no_finite_estimate=tuple(name for name, far in zip(names, infinite, strict=True) if far),
    )


def _infinite(e: LogisticFitStatistics, contrast: Floats, d: int) -> NDArray[np.bool_]:
    """Which coefficients (classes compared x terms) change along a direction of recession."""
    if not e.infinite.size:
        return np.zeros((len(contrast), d + 1), dtype=bool)
    along = e.infinite.reshape(contrast.shape[1], d + 1, -1)
    moved = np.abs(np.einsum("ck,kjm->cjm", contrast, along))
    size = np.einsum("ck,kjm->cjm", np.abs(contrast), np.abs(along))
    return np.asarray((moved > 1e-6 * size).any(axis=2))


def _contrasts(model: Any) -> tuple[Floats, list[Any], Any]:
    """The contrasts of the scores with the reference class, and the classes compared."""
    classes = model.classes_.tolist()
    if len(classes) == 2:
        return np.ones((1, 1)), [classes[1]], classes[0]
    index = 0 if model.reference is None else classes.index(model.reference)
    contrast = np.eye(len(classes))
    contrast[:, index] -= 1.0
    others = [j for j in range(len(classes)) if j != index]
    return contrast[others], [classes[j] for j in others], classes[index]


def _refuse(model: Any) -> None:
    if np.isfinite(penalty_of(model)[0]):
        no_summary(
            "the penalty shrinks the coefficients on purpose, and standard errors of maximum "
            "likelihood do not hold for them. Fit with C=inf."
        )
    if model.separation_ is not None and model.fit_statistics_ is None:
        no_summary(
            "the classes are separable, so the maximum likelihood estimate does not exist. Use "
            "more rows or fewer columns."
        )
    if model.fit_statistics_ is None:
        no_summary("the model has too many coefficients for their covariance matrix.")
