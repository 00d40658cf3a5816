"""Linear support vector classification."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.estimators.class_labels import coded_rows, outputs_of
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.wrapped import warn_once
from separatrix.messages import InputError
from separatrix.probability.probability_mixin import ProbabilityMixin
from separatrix.rows.block import Floats
from separatrix.svm.base import LinearSVM
from separatrix.svm.problem import SolverOptions, classification_problem, linear_problem
from separatrix.svm.solver import fit_linear_svm


class LinearSVC(ProbabilityMixin, LinearClassifier, LinearSVM):
    """Linear support vector classification with the hinge loss.

    The intercept is not penalized:

        min over w, b of ½‖w‖² + C Σ ω max(0, 1 − y (w·x + b)),   y = ±1.

    Several classes are each separated from the rest (``OneVsOne(LinearSVC())``: every pair). Where
    there are many more rows than columns the solution is exact up to rounding.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of slack, multiplied by the weight ω of the row. Infinity is the hard margin,
        refused with a proof where the classes are not separable.
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    standardize : bool, default=False
        Measure ‖w‖ on columns of unit variance, so that the fit does not depend on their units.
    probability : bool, default=False
        Fit Platt's sigmoid to cross-validated scores; ``predict`` then returns the most probable
        class.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of the rows.
    tol : float, default=1e-6
        Duality gap relative to the objective at which to stop.
    max_iter : int, default=20000
        Limit of interior-point steps (few columns) or of epochs of coordinate descent (many).
    time_budget : float or None, default=None
        Seconds after which the best solution so far is returned, with its duality gap.
    loss : {"hinge"}, default="hinge"
        scikit-learn's default, the squared hinge, is another model and is not offered.
    penalty : {"l2"}, default="l2"
        The penalty ½‖w‖².
    dual : object, default="auto"
        Ignored, accepted for compatibility with scikit-learn, as are the following four.
    multi_class : str, default="ovr"
        Ignored.
    intercept_scaling : float, default=1.0
        Ignored: the intercept is not penalized.
    verbose : int, default=0
        Ignored.
    random_state : int, RandomState or None, default=None
        Ignored: the solution is deterministic.

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
        margin) or "bound" (α = C). Not stored with the model.
    support_ : ndarray of shape (n_support,)
        Row numbers of the support vectors of any hyperplane.
    margin_, t_ : float or ndarray of shape (n_classes,)
        The margin 1/‖w‖, and the threshold of the score w·x − t.
    svms_ : list of BinarySVM
        The solution of each binary SVM, with its certificate.
    n_iter_ : int
        Number of iterations.
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
    C. Cortes and V. Vapnik, Support-vector networks, Machine Learning 20, 1995.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 2], [-1, 2], [-1, -2], [3, 1]], [-1, -1, 1, 1]
    >>> model = sx.LinearSVC(C=5 / 16).fit(X, y)
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    ([[0.375, -0.5]], [0.375])
    >>> model.group_.tolist()
    ['bound', 'non-support', 'free', 'free']
    >>> model.certificate_.holds
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        probability: bool = False,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 20_000,
        time_budget: float | None = None,
        loss: str = "hinge",
        penalty: str = "l2",
        dual: Any = "auto",
        multi_class: str = "ovr",
        intercept_scaling: float = 1.0,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.probability = probability
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.loss = loss
        self.penalty = penalty
        self.dual = dual
        self.multi_class = multi_class
        self.intercept_scaling = intercept_scaling
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = SolverOptions.of(self)
        if self.loss != "hinge" or self.penalty != "l2":
            raise InputError(
                f"loss={self.loss!r} with penalty={self.penalty!r} is not offered.",
                remedy="This model has the hinge loss and the penalty ‖w‖²; for a smooth loss use "
                "LogisticRegression.",
            )
        if self.probability:
            return self._fit_probabilities(X, y, sample_weight)
        data = coded_rows(self, X, y, sample_weight, self.class_weight)
        ridge, cost = self._ridge(data.x, data.w), float(self.C) * data.w
        names = [f"class {label!r}" for label in self.classes_.tolist()]
        svms = []
        with warn_once():
            for own in outputs_of(len(names)):
                problem = classification_problem(np.where(data.codes == own, 1.0, -1.0), cost)
                rest = names[0] if len(names) == 2 else "the rest"
                svm = fit_linear_svm(
                    linear_problem(problem, data.x, ridge, intercept=bool(self.fit_intercept)),
                    data.rows,
                    options,
                    claim=self._claim,
                    classes=(names[own], rest),
                )
                svms.append(svm)
        self._expose(svms, data.n_samples, data.encoding, flat=False)
        return self

    def _class_scores(self, X: Any) -> Floats:
        return self.decision_function(X)

    @property
    def _claim(self) -> str:
        if np.isinf(self.C):
            return "Hard margin: no hyperplane separates the classes by a larger margin"
        return "Soft margin: no hyperplane has a smaller sum of ½‖w‖² and C times the slacks"
