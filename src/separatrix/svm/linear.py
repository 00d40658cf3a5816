"""Linear support vector classification and regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.estimators import class_labels, linear_classifier
from separatrix.estimators.base import LinearModel, reads_tables
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.wrapped import warn_once
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate, Solution, Status, certify_primal_dual
from separatrix.parameters import declare_parameters
from separatrix.probability.calibrations import (
    BinaryCalibration,
    CalibratedClassifier,
    calibrate,
)
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Encoding
from separatrix.statistics.moments import zero_if_constant
from separatrix.svm import crammer_singer, squared
from separatrix.svm.problem import (
    ACCURACY,
    STEPS,
    Budget,
    SolverOptions,
    SquaredProblem,
    check_dual,
    classification_problem,
    intercept_scaling,
    is_better,
    linear_options,
    linear_problem,
    options_for,
    regression_problem,
    squared_problem,
    term_sizes,
)
from separatrix.svm.solver import (
    BinarySVM,
    alpha_of,
    certify,
    fit_linear_svm,
    group_of,
    margin_of,
    records,
    slack_of,
    threshold_of,
)
from separatrix.svm.svr import check_epsilon, refuse_infinite_cost, regression_table
from separatrix.threads import on_one_blas_thread, parallel_map

# -------------------------------------------------------------------------------------------------
# What linear SVMs share.


class LinearSVM(LinearModel):
    """A linear SVM: hyperplanes without a kernel. Numbers of rows are not stored with it."""

    n_samples_fit_: int
    standardize: bool
    _accuracy: float = ACCURACY
    alpha_, slack_, group_ = property(alpha_of), property(slack_of), property(group_of)
    margin_, t_ = property(margin_of), property(threshold_of)
    _svms: list[BinarySVM] | None = None

    @property
    def svms_(self) -> list[BinarySVM]:  # type: ignore[override]
        """The solution of each binary SVM, with its certificate."""
        if self._svms is None:
            raise AttributeError(
                "The numbers of training rows are not stored with this model. "
                "Fit again, or use coef_, intercept_ and certificate_."
            )
        return self._svms

    @property
    def support_(self) -> Ints:
        """Row numbers of the support vectors of any hyperplane."""
        return np.unique(np.concatenate([svm.support for svm in records(self)]))

    def _ridge(self, x: Matrix, w: Floats) -> Floats:
        """ρ of every column: its variance if standardized (one if it is constant), else 1."""
        if not self.standardize:
            return np.ones(x.shape[1])
        mean = np.asarray(w @ x).ravel() / w.sum()
        if sparse.issparse(x):
            variance = np.asarray(w @ x.multiply(x).tocsr()).ravel() / w.sum() - mean**2
        else:
            variance = sum(
                w[i : i + 20_000] @ (x[i : i + 20_000] - mean) ** 2
                for i in range(0, len(w), 20_000)
            ) / float(w.sum())
        spread = zero_if_constant(np.sqrt(np.maximum(variance, 0.0)), mean)
        return np.where(spread > 0.0, spread, 1.0) ** 2

    def _expose(self, svms: list[BinarySVM], n: int, encoding: Encoding, *, flat: bool) -> None:
        self.certificates_ = [svm.certificate for svm in svms]
        solution = Solution(
            np.stack([svm.coef for svm in svms], axis=1),
            np.array([svm.intercept for svm in svms]),
            svms[0].certificate,
            iterations=max(svm.n_iter for svm in svms),
        )
        self._accept(solution, encoding, flat=flat)
        remedy = "Raise max_iter or time_budget; columns of very different size are slow"
        self._svms, self.n_samples_fit_ = svms, n
        certify(self, svms, lambda: f"{remedy}, and standardize=True scales them.")

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_svms"}


# -------------------------------------------------------------------------------------------------
# Linear support vector classification.


@declare_parameters
class LinearSVC(LinearClassifier, LinearSVM):
    """Linear support vector classification: squared hinge, hinge, ℓ₁ penalty, all classes at once.

    With labels y = ±1 and slacks ξ = max(0, 1 − y (w·x + b)),

        squared hinge   min over w, b of ½‖w‖² + ½ (b/s)² + C Σ ω ξ²
        ℓ₁ penalty      min over w, b of ‖w‖₁ + |b|/s + C Σ ω ξ²
        hinge           min over w, b of ½‖w‖² + C Σ ω ξ

    As in liblinear the squared hinge penalizes the intercept, scaled by s = ``intercept_scaling``.
    **The hinge leaves it free**, as the support vector machine has it: there scikit-learn's
    LinearSVC differs, and its SVC(kernel="linear") does not. Several classes are each separated
    from the rest, or all at once by ``multi_class="crammer_singer"``. The solution is exact up to
    rounding unless rows and columns are both many.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        ½‖w‖², or ‖w‖₁, which sets coefficients to zero (squared hinge only).
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss of a slack.
    dual : "auto" or bool, default="auto"
        Unused: the method is chosen by the shape of the table.
    tol : float, default=1e-4
        Duality gap relative to the objective at which to stop, at most 1e-6. Sparse rows stop at
        a tenth of ``tol`` where that is larger, but at most 1e-5.
    C : float, default=1.0
        Cost of slack, multiplied by the weight ω of the row. With the hinge infinity is the hard
        margin, refused with a proof where the classes are not separable.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        Each class against the rest; or one problem for all classes, min over W of
        ½ Σ ‖wₖ‖² + ½ Σ (bₖ/s)² + C Σ ω max over k of ([k ≠ y] + fₖ(x) − f_y(x)), for which
        ``loss`` and ``penalty`` are unused.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1
        s. Infinity leaves the intercept free.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of the rows. As in liblinear, where the squared
        hinge separates one of several classes from the rest, the rest counts as it is.
    verbose : int, default=0
    random_state : int, RandomState or None, default=None
        Unused: the solution is deterministic.
    max_iter : int, default=1000
        Limit of Newton steps, or of groups of 20 interior-point steps or epochs.
    standardize : bool, default=False
        Measure ‖w‖ on columns of unit variance, and leave the intercept free: the fit then depends
        neither on units nor on origins of the columns.
    probability : bool, default=False
        Fit Platt's sigmoid to cross-validated scores; ``predict`` then returns the most probable
        class.
    time_budget : float or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The normal w of each hyperplane.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept b of each hyperplane; ``t_`` is −b.
    alpha_, slack_, group_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        α, slack ξ and group of every training row: "non-support" (α = 0), "free" (0 < α < C, on the
        margin) or "bound" (α = C). With squared losses α = 2 C ω ξ has no bound. Not stored with
        the model.
    support_ : ndarray of shape (n_support,)
        Row numbers of the support vectors of any hyperplane.
    margin_, t_ : float or ndarray of shape (n_classes,)
        The margin 1/‖w‖, and the threshold of the score w·x − t.
    svms_ : list of BinarySVM
        The solution of each binary SVM, with its certificate.
    n_iter_ : int
        Number of iterations, the most of any class.
    certificate_ : Certificate
        Objective, lower bound, duality gap and KKT residual; of several hyperplanes the worst.
    certificates_ : list of Certificate
        One for each hyperplane.

    See Also
    --------
    SVC : Support vector classification with kernels.
    LinearSVCSearch : Chooses C by cross-validation.
    LinearSVR : Linear support vector regression.
    LogisticRegression : Linear classification with probabilities.

    References
    ----------
    - C. Cortes and V. Vapnik, Support-vector networks, Machine Learning 20, 1995.
    - K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based vector
      machines, Journal of Machine Learning Research 2, 2001.
    - R.-E. Fan et al., LIBLINEAR: a library for large linear classification, 2008.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 2], [-1, 2], [-1, -2], [3, 1]], [-1, -1, 1, 1]
    >>> model = sx.LinearSVC(C=5 / 16, loss="hinge").fit(X, y)
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    ([[0.375, -0.5]], [0.375])
    >>> model.group_.tolist()
    ['bound', 'non-support', 'free', 'free']
    >>> sx.LinearSVC().fit(X, y).certificate_.holds
    True
    """

    calibrations_: list[BinaryCalibration] = field(init=False)
    sparsify, densify = linear_classifier.sparsify, linear_classifier.densify

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    dual: Any = "auto"
    tol: float = 1e-4
    C: float = 1.0
    multi_class: str = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: Any = None
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000
    standardize: bool = False
    probability: bool = False
    time_budget: float | None = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = linear_options(self)
        self._check_combination()
        if self.probability:
            return self._fit_probabilities(X, y, sample_weight)
        data = class_labels.coded_rows(self, X, y, sample_weight)
        options = options_for(self, data.x, options)
        if self.multi_class == "crammer_singer":
            svms = self._all_classes(data, options)
        else:
            svms = self._each_class(data, options)
        self._expose(svms, data.n_samples, data.encoding, flat=False)
        if self.multi_class == "crammer_singer":
            self.certificate_ = svms[0].certificate
        return self

    def _check_combination(self) -> None:
        check_option("loss", self.loss, ("squared_hinge", "hinge"))
        check_option("penalty", self.penalty, ("l2", "l1"))
        check_option("multi_class", self.multi_class, ("ovr", "crammer_singer"))
        check_dual(self.dual)
        if np.isinf(self.C) and (self.loss, self.multi_class) != ("hinge", "ovr"):
            raise InputError(
                "C=inf is a hard margin, which the hinge loss has.",
                remedy="Use loss='hinge', or a large finite C.",
            )
        if self.multi_class == "crammer_singer":
            if self.standardize:
                raise InputError(
                    "multi_class='crammer_singer' penalizes the intercept, and standardize=True "
                    "leaves it free.",
                    remedy="Standardize the columns beforehand.",
                )
            return
        refused = {
            ("l1", "squared_hinge"): True,
            ("l2", "hinge"): False,
            ("l1", "hinge"): self.dual,
        }
        pair = (self.penalty, self.loss)
        if pair == ("l1", "hinge") or (self.dual != "auto" and self.dual == refused.get(pair)):
            raise InputError(
                f"Unsupported set of arguments: penalty={self.penalty!r}, loss={self.loss!r}, "
                f"dual={self.dual} are not offered together.",
                remedy="Use loss='squared_hinge' with penalty='l1', and dual='auto'.",
            )

    def _class_factors(self, data: class_labels.CodedRows) -> Floats:
        """The weight of every class."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        total = np.bincount(data.codes, data.w, len(self.classes_)).astype(np.float64)
        return class_labels.weights_by_class(self.class_weight, self.classes_.tolist(), total)

    def _each_class(self, data: class_labels.CodedRows, options: SolverOptions) -> list[BinarySVM]:
        """Each class against the rest, or the second of two against the first."""
        factor = self._class_factors(data)
        weighted = data.w * factor[data.codes]
        ridge, cost = self._ridge(data.x, weighted), float(self.C) * weighted
        names = [f"class {label!r}" for label in self.classes_.tolist()]

        def one(code: int) -> BinarySVM:
            y = np.where(data.codes == code, 1.0, -1.0)
            if self.loss == "hinge":
                problem = linear_problem(
                    classification_problem(y, cost),
                    data.x,
                    ridge,
                    intercept=bool(self.fit_intercept),
                )
                classes = names[code], names[0] if len(names) == 2 else "the rest"
                steps = replace(options, max_iter=STEPS * options.max_iter)
                return fit_linear_svm(problem, data.rows, steps, claim=self._claim, classes=classes)
            weight = cost
            if len(names) > 2:  # as in liblinear, the rest has no weights of classes
                weight = float(self.C) * data.w * np.where(y > 0.0, factor[code], 1.0)
            smooth = squared_problem(
                data.x,
                y,
                weight,
                ridge=ridge,
                l1=self.penalty == "l1",
                intercept_scaling=intercept_scaling(self),
            )
            return fit_squared_svm(smooth, data.rows, options, claim=self._claim)

        with warn_once():
            return parallel_map(one, class_labels.outputs_of(len(names)).tolist())

    def _all_classes(self, data: class_labels.CodedRows, options: SolverOptions) -> list[BinarySVM]:
        """The classes at once; of two, the difference of their scores."""
        scaling = intercept_scaling(self)
        classes = len(self.classes_)
        cost = float(self.C) * data.w * self._class_factors(data)[data.codes]
        problem = crammer_singer.multiclass_problem(data.x, data.codes, cost, classes, scaling)
        steps = replace(options, max_iter=STEPS * options.max_iter)
        svms, coef = fit_all_classes(problem, data.rows, steps)
        intercept = np.zeros(classes)
        if scaling is not None:
            coef, intercept = coef[:-1], scaling * coef[-1]
        if classes == 2:
            w = coef[:, 1] - coef[:, 0]
            b = float(intercept[1] - intercept[0])
            return [replace(svms[1], coef=w, intercept=b, squared_norm=float(w @ w))]
        return [
            replace(svm, coef=coef[:, k].copy(), intercept=float(intercept[k]))
            for k, svm in enumerate(svms)
        ]

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to all rows, and calibrate on out-of-fold scores."""
        plain = clone(self).set_params(probability=False)
        if self.class_weight is not None:  # the calibration weights rows as the model does
            if isinstance(X, Rows):
                X = class_labels.weighted_rows(X, self.class_weight)
            elif y is not None:
                sample_weight = class_labels.weighted_samples(y, sample_weight, self.class_weight)
            plain.set_params(class_weight=None)
        calibrated = CalibratedClassifier(plain, method="platt").fit(X, y, sample_weight)
        parameters = self.get_params(deep=False)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        for name, value in vars(calibrated.estimator_).items():
            if name not in parameters:
                setattr(self, name, value)
        self.calibrations_ = calibrated.calibrations_
        self.certificate_ = calibrated.certificate_
        if calibrated.certificate_.holds:
            own = calibrated.estimator_.certificate_
            self.certificate_ = replace(
                own, notes=(*own.notes, f"{calibrated.certificate_.claim}.")
            )
        return self

    @available_if(lambda self: bool(self.probability))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``; needs ``probability=True``."""
        check_is_fitted(self)
        return calibrate(self.calibrations_, self.decision_function(X))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the sign of the score, the largest score, or probability."""
        check_is_fitted(self)
        scores = self.predict_proba(X) if self.probability else self.decision_function(X)
        return class_labels.label_scores(scores, self.classes_)

    @property
    def _claim(self) -> str:
        if self.loss == "squared_hinge":
            size = "‖w‖₁" if self.penalty == "l1" else "½‖w‖²"
            return f"No hyperplane has a smaller sum of {size} and C times the squared slacks"
        if np.isinf(self.C):
            return "Hard margin: no hyperplane separates the classes by a larger margin"
        return "Soft margin: no hyperplane has a smaller sum of ½‖w‖² and C times the slacks"

    def formula(self) -> nodes.ClassFormula:
        """Linear scores, calibrated where probabilities were asked for."""
        plain = super().formula()
        if not self.probability or plain.scores is None:
            return plain
        maps = [one.map_ for one in self.calibrations_]
        p = nodes.calibrate_scores(maps, plain.scores, self.classes_)
        return nodes.by_probability(p, self.classes_, plain.scores)


# -------------------------------------------------------------------------------------------------
# Linear support vector regression.


@declare_parameters
class LinearSVR(RegressorMixin, LinearSVM):
    """Linear support vector regression with the ε-insensitive loss, or its square.

    Errors up to ε cost nothing, larger ones their excess ξ = max(0, |y − w·x − b| − ε):

        min over w, b of ½‖w‖² + ½ (b/s)² + C Σ ω ξ       (or ξ²)

    As in liblinear the intercept is penalized, scaled by s = ``intercept_scaling``; infinity leaves
    it free, as in :class:`SVR`. The solution is exact up to rounding unless rows and columns are
    both many.

    Parameters
    ----------
    epsilon : float, default=0.0
        Error ε that costs nothing, in units of the target.
    tol : float, default=1e-4
        Duality gap relative to the objective at which to stop, at most 1e-6. Sparse rows stop at
        a tenth of ``tol`` where that is larger, but at most 1e-5.
    C : float, default=1.0
        Cost of error beyond ε, multiplied by the weight ω of the row.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        ξ, or ξ².
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        s. Infinity leaves the intercept free.
    dual : "auto" or bool, default="auto"
        Unused: the method is chosen by the shape of the table.
    verbose : int, default=0
    random_state : int, RandomState or None, default=None
        Unused: the solution is deterministic.
    max_iter : int, default=1000
        Limit of Newton steps, or of groups of 20 interior-point steps or epochs.
    standardize : bool, default=False
        Measure ‖w‖ on columns of unit variance, and leave the intercept free: the fit then depends
        neither on units nor on origins of the columns.
    time_budget : float or None, default=None

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients w.
    intercept_ : ndarray of shape (1,)
        The intercept b; ``t_`` is −b. (The number 0.0 without intercept.)
    alpha_, slack_, group_ : ndarray of shape (n_samples,)
        α⁺ − α⁻ from −C to C, error beyond ε, and group of every training row: "non-support" (error
        below ε), "free" (error ε) or "bound" (|α| = C, error above ε). With the squared loss
        α = 2 C ω ξ has no bound. Not stored with the model.
    support_ : ndarray of shape (n_support,)
        Row numbers of the support vectors.
    margin_, t_ : float
        1/‖w‖, and −b.
    svms_ : list of BinarySVM
        The solution with its certificate.
    n_iter_ : int
    certificate_ : Certificate
        Objective, lower bound, duality gap and KKT residual.

    See Also
    --------
    SVR : Support vector regression with kernels.
    LeastAbsoluteRegressor : The same loss without penalty, for ε = 0.
    LinearSVC : Linear support vector classification.

    References
    ----------
    A. Smola and B. Schölkopf, A tutorial on support vector regression, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.arange(6.0)[:, None]
    >>> model = sx.LinearSVR(C=10.0, epsilon=0.5).fit(X, [0, 1, 2, 3, 4, 8])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([1.333], [-0.5])
    >>> model.certificate_.holds
    True
    """

    _: KW_ONLY
    epsilon: float = 0.0
    tol: float = 1e-4
    C: float = 1.0
    loss: str = "epsilon_insensitive"
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    dual: Any = "auto"
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000
    standardize: bool = False
    time_budget: float | None = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        options = linear_options(self)
        refuse_infinite_cost(self)
        check_epsilon(self)
        check_option("loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))
        check_dual(self.dual)
        if self.loss == "epsilon_insensitive" and self.dual is False:
            raise InputError("The ε-insensitive loss has no dual=False.", remedy="Use dual='auto'.")
        x, target, w, encoding = regression_table(self, X, y, sample_weight)
        options = options_for(self, x, options)
        rows, n = np.flatnonzero(w > 0.0), len(w)
        if len(rows) < n:
            x, target, w = x[rows], target[rows], w[rows]
        svm = self._solved(x, np.ascontiguousarray(target), w, rows, options)
        self._expose([svm], n, encoding, flat=True)
        self.intercept_ = np.array([svm.intercept]) if self.fit_intercept else 0.0
        return self

    def _solved(
        self, x: Matrix, target: Floats, w: Floats, rows: Ints, options: SolverOptions
    ) -> BinarySVM:
        scaling, ridge, cost = intercept_scaling(self), self._ridge(x, w), float(self.C) * w
        claim = (
            "Support vector regression: no hyperplane has a smaller sum of ½‖w‖² and C times the "
        )
        if self.loss == "squared_epsilon_insensitive":
            smooth = squared_problem(
                x,
                target,
                cost,
                epsilon=float(self.epsilon),
                ridge=ridge,
                intercept_scaling=scaling,
            )
            return fit_squared_svm(smooth, rows, options, claim=claim + "squared errors beyond ε")
        problem = linear_problem(
            regression_problem(target, cost, float(self.epsilon)),
            x,
            ridge,
            intercept=scaling is not None,
            intercept_ridge=0.0 if scaling is None else 1.0 / scaling**2,
        )
        steps = replace(options, max_iter=STEPS * options.max_iter)
        return fit_linear_svm(problem, rows, steps, claim=claim + "errors beyond ε")


# -------------------------------------------------------------------------------------------------
# Fit linear SVMs with squared losses, and those of all classes at once: solve, certify.
#
# The squared hinge and the squared ε-insensitive loss are smooth, so that Newton's method in the
# primal solves them (:mod:`separatrix.svm.squared`, :mod:`separatrix.svm.squared`).


#: An excess below this, in units of the scores, may be more rounding than excess.
_NEAR = 1e-6


def fit_squared_svm(
    problem: SquaredProblem, rows: Ints, options: SolverOptions, *, claim: str
) -> BinarySVM:
    """The hyperplane w·x + b with the least objective."""
    budget = options.budget(problem.n)
    tolerance = max(options.tol, 1e-9)
    certified = {"tolerance": tolerance, "claim": claim}
    candidates = _candidates(problem, options.tol, budget, certified)
    best = next(candidates)
    for other in candidates:
        if best.certificate.holds or budget.exhausted:
            break
        best = other if is_better(other.certificate, best.certificate) else best
    w, b, penalty = best.w, best.b, problem.penalty
    excess = problem.excess(np.asarray(problem.x @ w) + b)
    weight = np.where(penalty.l2 > 0.0, penalty.l2, penalty.l1**2)[: len(w)]
    return BinarySVM(
        rows,
        2.0 * problem.cost * excess if best.beta is None else best.beta,
        np.full(problem.n, np.inf),
        np.abs(excess),
        b,
        float(weight @ w**2),
        best.certificate,
        budget.n_iter,
        str(best.status),
        w,
    )


@dataclass(frozen=True)
class _SquaredHingeHyperplane:
    """w, b, and β (None where it follows from the excesses), with their certificate."""

    w: Floats
    b: float
    beta: Floats | None
    certificate: Certificate
    status: Status


def _candidates(
    problem: SquaredProblem, tol: float, budget: Budget, certified: dict[str, Any]
) -> Iterator[_SquaredHingeHyperplane]:
    """Solutions, one after the other until the certificate of one holds.

    Where C is very large, small excesses, and β = 2 c e with them, are lost to rounding. Then the
    hyperplane of a smaller C is moved until no row has a small excess; next, β of rows with hardly
    any excess is the one ≥ 0 for which Xᵀβ is nearest to ρw.
    """
    # C κ(x, x) at which slacks are about 1e-8, known to eight digits, and cost 1e-8 of the
    # objective.
    fraction = 1e8 / (_largest_slope(problem) * float(problem.cost.max()) or 1.0)
    if fraction < 1.0:
        yield _at_smaller_cost(problem, fraction, tol, budget, certified)
    solution = _solve(problem, tol, budget)
    w, b = problem.restore(solution.theta)
    proof = certify_squared(problem, w, b, beta=solution.beta, **certified)
    yield _SquaredHingeHyperplane(w, b, solution.beta, proof, solution.status)
    beta = _beta_of_near_rows(problem, w, b)
    if beta is not None:
        proof = certify_squared(problem, w, b, beta=beta, **certified)
        yield _SquaredHingeHyperplane(w, b, beta, proof, solution.status)


def _solve(problem: SquaredProblem, tol: float, budget: Budget) -> squared.SquaredSolution:
    solve = squared.solve_sparse if problem.penalty.l1.any() else squared.solve_squared
    return solve(problem, tol, budget)


def _largest_slope(problem: SquaredProblem) -> float:
    """The largest ‖x‖², or Σ|x| with an ℓ₁ penalty, in units of the penalty."""
    d, penalty, x = problem.x.shape[1], problem.penalty, problem.x
    if penalty.l1.any():
        return float((abs(x) @ (1.0 / penalty.l1[:d])).max())
    return float((squared.squared_entries(x) @ (1.0 / penalty.l2[:d])).max())


def _at_smaller_cost(
    problem: SquaredProblem, fraction: float, tol: float, budget: Budget, certified: dict[str, Any]
) -> _SquaredHingeHyperplane:
    """The solution at a fraction of all costs, moved until no row has an excess of nearly zero."""
    part = replace(problem, cost=fraction * problem.cost)
    solution = _solve(part, tol, budget)
    w, b = part.restore(solution.theta)
    z = problem.argument(np.asarray(problem.x @ w) + b)
    clear = 1e-14  # how far a hyperplane is moved beyond the nearest rows
    if problem.epsilon is None:
        near = (z < 1.0) & (z > 1.0 - _NEAR)
        factor = (1.0 + clear) / float(z[near].min()) if near.any() else 1.0
    else:
        unit = float(np.abs(problem.t).max(initial=0.0)) or 1.0
        over = np.abs(z) - problem.epsilon
        short = float(over[over < _NEAR * unit].max(initial=0.0)) + clear * unit
        part, factor = replace(part, epsilon=max(problem.epsilon - 2.0 * short, 0.0)), 1.0
        solution = _solve(part, tol, budget)
        w, b = part.restore(solution.theta)
    excess = part.excess(np.asarray(problem.x @ w) + b)
    beta = 2.0 * part.cost * excess if solution.beta is None else solution.beta
    w, b = factor * w, factor * b
    proof = certify_squared(problem, w, b, beta=beta, **certified)
    return _SquaredHingeHyperplane(w, b, beta, proof, solution.status)


def _beta_of_near_rows(problem: SquaredProblem, w: Floats, b: float) -> Floats | None:
    """β = 2 c e, and of rows with an excess of nearly zero by least squares; None of too many."""
    scores = np.asarray(problem.x @ w) + b
    z, unit = problem.argument(scores), 1.0
    kink = np.abs(z) - problem.epsilon if problem.epsilon is not None else 1.0 - z
    sign = problem.t if problem.epsilon is None else np.sign(z)
    if problem.epsilon is not None:
        unit = float(np.abs(problem.t).max(initial=0.0)) or 1.0
    near = np.flatnonzero(np.abs(kink) <= _NEAR * unit)
    if problem.penalty.l1.any() or not 0 < len(near) <= 1000:  # as many as NNLS solves in a second
        return None
    beta = 2.0 * problem.cost * problem.excess(scores)
    beta[near] = 0.0
    x = problem.x[near]
    columns = (x.toarray() if sparse.issparse(x) else np.asarray(x)).T * sign[near]
    ridge, coef = problem.penalty.l2, w
    aim, size = -np.asarray(problem.x.T @ beta), term_sizes(problem.x, np.abs(beta))
    if problem.intercept:
        columns, coef = np.vstack([columns, sign[near]]), np.append(w, b)
        aim, size = np.append(aim, -beta.sum()), np.append(size, np.abs(beta).sum())
    aim, size = aim + ridge * coef, size + ridge * np.abs(coef)
    used = size > 0.0
    columns, aim = columns[used] / size[used, None], aim[used] / size[used]
    largest = float(np.abs(columns).max(initial=0.0)) or 1.0
    beta[near] = sign[near] / largest * nnls(columns / largest, aim)[0]
    return beta


def certify_squared(
    problem: SquaredProblem,
    w: Floats,
    b: float,
    *,
    tolerance: float,
    claim: str,
    beta: Floats | None = None,
) -> Certificate:
    """Certificate of w·x + b from the rows: the dual point is u = ℓ′(z), unless β is given.

    Each condition on a coefficient is measured against the size of its terms.
    """
    d, c, penalty = len(w), problem.cost, problem.penalty
    z = problem.argument(np.asarray(problem.x @ w) + b)
    sign = -problem.t if problem.epsilon is None else np.ones(problem.n)
    u = problem.loss.gradient(z) if beta is None else sign * beta / c
    beta = c * sign * u
    v, coef = np.asarray(problem.x.T @ beta), w
    size = term_sizes(problem.x, np.abs(beta))
    total = float(beta.sum())
    penalized = problem.intercept and not problem.free_intercept
    if problem.intercept:
        v, coef = np.append(v, total), np.append(w, b)
        size = np.append(size, np.abs(beta).sum())
    if problem.free_intercept:
        v[d] = 0.0  # out of balance at most by ``imbalance``
    size += penalty.l1 + penalty.l2 * np.abs(coef)
    return certify_primal_dual(
        problem.loss,
        penalty,
        c,
        z,
        u,
        coef,
        v,
        claim=claim,
        tolerance=tolerance,
        intercept=0.0 if penalized else b,
        imbalance=total if problem.free_intercept else 0.0,
        v_scale=size,
    )


def fit_all_classes(
    problem: crammer_singer.MulticlassProblem, rows: Ints, options: SolverOptions
) -> tuple[list[BinarySVM], Floats]:
    """One record for each class, with the joint certificate, and the coefficients (d x K)."""
    budget = options.budget(len(problem.codes))
    multiclass_solution = crammer_singer.solve_multiclass(problem, options.tol, budget)
    certificate = crammer_singer.certify_multiclass(
        problem, multiclass_solution.w, multiclass_solution.alpha, tolerance=max(options.tol, 1e-9)
    )
    g = problem.shifted_scores(multiclass_solution.w)
    slack = g.max(axis=1) - g[np.arange(len(g)), problem.codes]
    records = [
        BinarySVM(
            rows,
            multiclass_solution.alpha[:, k],
            problem.cost,
            slack,
            0.0,
            float(multiclass_solution.w[:, k] @ multiclass_solution.w[:, k]),
            certificate,
            budget.n_iter,
            str(multiclass_solution.status),
            multiclass_solution.w[:, k],
        )
        for k in range(problem.classes)
    ]
    return records, multiclass_solution.w
