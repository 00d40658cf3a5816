"""Linear support vector machines: the widest margin between classes, a tube about numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import RegressorMixin

from separatrix.estimators.class_weights import weighted_coded_rows
from separatrix.estimators.coded_rows import CodedRows, coded_rows, outputs_of
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.targets import one_number
from separatrix.estimators.wrapped import warn_once
from separatrix.geometry.separation_proof import CommonPoint, separation_proof
from separatrix.messages import InputError
from separatrix.probability.probability_mixin import ProbabilityMixin
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats, Matrix
from separatrix.rows.encoding import Encoding, identity
from separatrix.statistics.preparation import prepare
from separatrix.svm.margins import FittedHinges, MarginModel
from separatrix.svm.primal.problem import tube, two_classes
from separatrix.svm.primal.solve import solve_hinges


class LinearSVC(ProbabilityMixin, LinearClassifier, MarginModel):
    """min over w, b of ½‖w‖² + C Σ ω max(0, 1 − y (w·x + b)),   y = ±1.

    The hinge of the textbooks, with an intercept that is not penalised; several classes each
    against the rest (``OneVsOne(LinearSVC())``: every pair). C = ∞ is the hard margin, refused with
    a proof where classes overlap. Rows far from their margin are judged once and left alone, the
    others are solved for exactly: on tables with many more rows than columns the gap is of
    rounding's size.

    Parameters
    ----------
    C : float, default=1.0
        Price of falling short of the margin; ∞ allows none.
    fit_intercept : bool, default=True
    standardize : bool, default=False
        Measure ‖w‖ on columns of unit variance, so that the fit does not depend on units.
    probability : bool, default=False
        Learn probabilities from the scores of held-out rows (Platt); ``predict`` then answers the
        most probable class.
    class_weight : dict, "balanced" or None
        Weights of classes, which multiply those of the rows.
    tol : float, default=1e-6
        Gap between primal and dual objective, relative to the objective, that counts as solved.
    max_iter : int, default=20000
        Limit of steps (few columns) or sweeps over the rows (many columns).
    time_budget : float or None
        Seconds after which the best answer so far is returned with its gap.
    loss : {"hinge"}
        scikit-learn's default, the squared hinge, is another model and is not offered.
    penalty, dual, multi_class, intercept_scaling, verbose, random_state
        Taken so that code written for scikit-learn runs; the answer does not depend on them.

    Attributes
    ----------
    coef_, intercept_ : (1, d) and (1,) for two classes, else (K, d) and (K,); ``t_`` = −intercept.
    alpha_, slack_, group_, support_, margin_ : what the dual says of every training row.
    certificate_ : primal, dual, gap and worst violation; of several hyperplanes the worst.
    certificates_ : one for each hyperplane.
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
        settings = self._settings()
        if self.loss != "hinge" or self.penalty != "l2":
            raise InputError(
                f"loss={self.loss!r} with penalty={self.penalty!r} is not offered.",
                remedy="This is the support vector machine of hinges and ‖w‖²; for a smooth loss "
                "use LogisticRegression.",
            )
        if self.probability:
            return self._fit_probabilities(X, y, sample_weight)
        coded = coded_rows(self, X, y, sample_weight)
        coded = weighted_coded_rows(coded, self.class_weight, self.classes_)
        ridge = self._ridge(coded.x, coded.w)
        problems, answers = [], []
        with warn_once():
            for own in outputs_of(len(self.classes_)):
                positive = coded.codes == own
                cost = coded.w * self._price(coded, positive, ridge, self.classes_.tolist()[own])
                problem = two_classes(
                    coded.x, positive, cost, ridge, intercept=bool(self.fit_intercept)
                )
                problems.append(problem)
                answers.append(solve_hinges(problem, settings, self._claim))
        fitted = FittedHinges(problems, answers, coded.rows, coded.given)
        self._keep(fitted, coded.encoding, flat=False)
        return self

    def _class_scores(self, X: Any) -> Floats:
        return self.decision_function(X)

    @property
    def _claim(self) -> str:
        if np.isinf(self.C):
            return "Hard margin: no hyperplane separates the classes more widely"
        return "Soft margin: no hyperplane has a smaller sum of ½‖w‖² and C times the slacks"

    def _price(
        self, coded: CodedRows, positive: NDArray[np.bool_], ridge: Floats, label: Any
    ) -> float:
        """C; for the hard margin one so large that no row is let off.

        The margin γ of any separating hyperplane bounds Σα ≤ 1/γ², so at C = 1/γ² no α reaches it.
        """
        if np.isfinite(self.C):
            return float(self.C)
        if not self.fit_intercept:
            raise InputError(
                "A hard margin (C=inf) needs the intercept.",
                remedy="Set fit_intercept=True, or a large finite C.",
            )
        root = np.sqrt(ridge)
        x = sparse.csr_array(coded.x) / root if sparse.issparse(coded.x) else coded.x / root
        proof = separation_proof(x[positive], x[~positive])
        if isinstance(proof, CommonPoint):
            rest = " and the rest" if len(self.classes_) > 2 else ""
            raise InputError(
                f"The classes are not separable, so there is no hard margin: {len(proof.rows_a)} "
                f"rows of class {label!r}{rest} and {len(proof.rows_b)} others have a common point "
                f"in their hulls (their weighted means agree to {proof.disagreement:.1e}).",
                remedy="Use a finite C; linear_separability(X, y) shows the rows and weights.",
            )
        return 2.0 / (proof.margin**2 * float(coded.w.min()))


class LinearSVR(RegressorMixin, MarginModel):
    """min over w, b of ½‖w‖² + C Σ ω max(0, |y − w·x − b| − ε).

    Residuals within the tube of half-width ε cost nothing, the others their excess.

    Parameters
    ----------
    C : float, default=1.0
        Price of being outside the tube.
    epsilon : float, default=0.0
        Half-width of the tube, in the units of y.
    fit_intercept, standardize, tol, max_iter, time_budget
        As in :class:`LinearSVC`.
    loss : {"epsilon_insensitive"}
    dual, intercept_scaling, verbose, random_state
        Taken so that code written for scikit-learn runs; the answer does not depend on them.

    Attributes
    ----------
    coef_, intercept_ : (d,) and a number.
    alpha_ : from −C (below the tube) to C (above it); ``slack_``, ``group_``, ``support_``.
    certificate_ : primal, dual, gap and worst violation.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.0,
        fit_intercept: bool = True,
        standardize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 20_000,
        time_budget: float | None = None,
        loss: str = "epsilon_insensitive",
        dual: Any = "auto",
        intercept_scaling: float = 1.0,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.loss = loss
        self.dual = dual
        self.intercept_scaling = intercept_scaling
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        settings = self._settings()
        if not self.epsilon >= 0.0:
            raise InputError(f"epsilon={self.epsilon!r} is no width of a tube.")
        if np.isinf(self.C):
            raise InputError("C must be finite.", remedy="Without penalty: LeastAbsoluteRegressor.")
        if self.loss != "epsilon_insensitive":
            raise InputError(
                f"loss={self.loss!r} is not offered.", remedy="'epsilon_insensitive' is."
            )
        x, target, w, encoding = self._table(X, y, sample_weight)
        there = np.flatnonzero(w > 0.0)
        if len(there) < len(w):
            x, target = x[there], target[there]
        cost = float(self.C) * w[there]
        problem = tube(
            x,
            target,
            float(self.epsilon),
            cost,
            self._ridge(x, w[there]),
            intercept=bool(self.fit_intercept),
        )
        claim = "Support vector regression: no other plane has a smaller sum of ½‖w‖² and C times "
        answer = solve_hinges(problem, settings, claim + "the excess over the tube")
        self._keep(FittedHinges([problem], [answer], there, len(w)), encoding, flat=True)
        return self

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Matrix, Floats, Floats, Encoding]:
        rows = self._training_rows(X, y, sample_weight)
        if isinstance(rows, ArrayRows):
            block, encoding = rows.block, identity(rows.schema)
        else:
            prepared = prepare(rows)
            one_number(prepared.moments.targets)
            block, encoding = prepared.rows.collect(), prepared.encoding
        w = block.weights
        return block.x, block.y[:, 0], w, encoding
