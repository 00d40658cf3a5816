"""Linear support vector classification."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.estimators.class_labels import CodedRows, coded_rows, outputs_of
from separatrix.estimators.class_weights import weights_by_class
from separatrix.estimators.linear_classifier import LinearClassifier, SparseCoefficients
from separatrix.estimators.wrapped import warn_once
from separatrix.messages import InputError, check_option
from separatrix.probability.probability_mixin import ProbabilityMixin
from separatrix.rows.block import Floats
from separatrix.svm.base import LinearSVM
from separatrix.svm.primal.crammer_singer import multiclass_problem
from separatrix.svm.primal.options import (
    STEPS,
    check_dual,
    intercept_scaling,
    linear_options,
    options_for,
)
from separatrix.svm.primal.squared_problem import squared_problem
from separatrix.svm.problem import SolverOptions, classification_problem, linear_problem
from separatrix.svm.solver import BinarySVM, fit_linear_svm
from separatrix.svm.squared_solver import fit_all_classes, fit_squared_svm
from separatrix.threads import parallel_map


class LinearSVC(SparseCoefficients, ProbabilityMixin, LinearClassifier, LinearSVM):
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
        Whether there is an intercept b.
    intercept_scaling : float, default=1
        s. Infinity leaves the intercept free.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of the rows. As in liblinear, where the squared
        hinge separates one of several classes from the rest, the rest counts as it is.
    verbose : int, default=0
        Unused.
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
        Seconds after which the best solution so far is returned, with its duality gap.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
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

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        standardize: bool = False,
        probability: bool = False,
        time_budget: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.standardize = standardize
        self.probability = probability
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = linear_options(self)
        self._check_combination()
        if self.probability:
            return self._fit_probabilities(X, y, sample_weight)
        data = coded_rows(self, X, y, sample_weight)
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

    def _class_factors(self, data: CodedRows) -> Floats:
        """The weight of every class."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        total = np.bincount(data.codes, data.w, len(self.classes_)).astype(np.float64)
        return weights_by_class(self.class_weight, self.classes_.tolist(), total)

    def _each_class(self, data: CodedRows, options: SolverOptions) -> list[BinarySVM]:
        """Each class against the rest, or the second of two against the first."""
        factor = self._class_factors(data)
        weighted = data.w * factor[data.codes]
        ridge, cost = self._ridge(data.x, weighted), float(self.C) * weighted
        names = [f"class {label!r}" for label in self.classes_.tolist()]

        def one(own: int) -> BinarySVM:
            y = np.where(data.codes == own, 1.0, -1.0)
            if self.loss == "hinge":
                problem = linear_problem(
                    classification_problem(y, cost),
                    data.x,
                    ridge,
                    intercept=bool(self.fit_intercept),
                )
                classes = names[own], names[0] if len(names) == 2 else "the rest"
                steps = replace(options, max_iter=STEPS * options.max_iter)
                return fit_linear_svm(problem, data.rows, steps, claim=self._claim, classes=classes)
            weight = cost
            if len(names) > 2:  # as in liblinear, the rest has no weights of classes
                weight = float(self.C) * data.w * np.where(y > 0.0, factor[own], 1.0)
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
            return parallel_map(one, outputs_of(len(names)).tolist())

    def _all_classes(self, data: CodedRows, options: SolverOptions) -> list[BinarySVM]:
        """The classes at once; of two, the difference of their scores."""
        scaling = intercept_scaling(self)
        classes = len(self.classes_)
        cost = float(self.C) * data.w * self._class_factors(data)[data.codes]
        problem = multiclass_problem(data.x, data.codes, cost, classes, scaling)
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

    def _class_scores(self, X: Any) -> Floats:
        return self.decision_function(X)

    @property
    def _claim(self) -> str:
        if self.loss == "squared_hinge":
            size = "‖w‖₁" if self.penalty == "l1" else "½‖w‖²"
            return f"No hyperplane has a smaller sum of {size} and C times the squared slacks"
        if np.isinf(self.C):
            return "Hard margin: no hyperplane separates the classes by a larger margin"
        return "Soft margin: no hyperplane has a smaller sum of ½‖w‖² and C times the slacks"
