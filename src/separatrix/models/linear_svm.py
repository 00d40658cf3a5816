"""Linear support vector machines: the widest margin between classes, a tube about numbers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.messages import InputError, doubt
from separatrix.models.base import LinearModel
from separatrix.models.class_weights import weights_by_class
from separatrix.models.linear_classifier import LinearClassifier
from separatrix.models.on_line import Coded, coded_rows, outputs_of
from separatrix.models.scaling import varying
from separatrix.models.targets import one_number
from separatrix.models.wrapped import each_notice_once
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats, Matrix
from separatrix.rows.encoding import Encoding, identity
from separatrix.solvers.linear_svm import SupportVectors, solve_hinges
from separatrix.solvers.linear_svm_problem import Hinges, tube, two_classes
from separatrix.solvers.linear_svm_settings import Settings
from separatrix.solvers.separability import Meeting, decide
from separatrix.solvers.solution import Certificate, Solution
from separatrix.statistics.preparation import prepare

#: The names of the three groups of rows, by their number.
GROUPS = np.array(["outside", "on the margin", "inside"], dtype=object)


@dataclass(frozen=True)
class _Fitted:
    """The problems that were solved, the answers, and the place of their rows among those given."""

    problems: list[Hinges]
    answers: list[SupportVectors]
    rows: NDArray[np.int64]
    given: int

    def by_row(self, values: list[Floats]) -> Floats:
        """One number per row given, (n,) or (n x K); zero for rows of no weight."""
        whole = np.zeros((self.given, len(values)))
        whole[self.rows] = np.stack(values, axis=1)
        return whole[:, 0] if len(values) == 1 else whole


class MarginModel(LinearModel):
    """What both share: what the dual says of every row, and how a fit is told to stop.

    Numbers of rows are there as long as the model is in the process that fitted it: a model is not
    a copy of its data.
    """

    C: float
    tol: float
    max_iter: int
    time_budget: float | None
    standardize: bool
    fit_intercept: bool
    _duals: _Fitted | None = None

    def _settings(self) -> Settings:
        if not self.C > 0.0:
            raise InputError(f"C={self.C!r} must be greater than 0.")
        if not self.max_iter >= 1:
            raise InputError(f"max_iter={self.max_iter!r} must be at least 1.")
        if self.time_budget is not None and not self.time_budget > 0.0:
            raise InputError(f"time_budget={self.time_budget!r} must be seconds, or None.")
        budget = np.inf if self.time_budget is None else float(self.time_budget)
        steps = int(self.max_iter)
        return Settings(float(self.tol), steps, steps, time.monotonic() + budget)

    def _ridge(self, x: Matrix, w: Floats) -> Floats:
        """ρ of every column: its variance if standardised (one where it never varies), else 1."""
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
        spread = varying(np.sqrt(np.maximum(variance, 0.0)), mean)
        return np.where(spread > 0.0, spread, 1.0) ** 2

    def _keep(self, fitted: _Fitted, encoding: Encoding, *, flat: bool) -> None:
        """Expose the answers, and say it where one fell short."""
        answers = fitted.answers
        self.certificates_ = [answer.certificate for answer in answers]
        solution = Solution(
            np.stack([answer.w for answer in answers], axis=1),
            np.array([answer.b for answer in answers]),
            _worst(self.certificates_),
            iterations=sum(answer.work for answer in answers),
        )
        self._accept(solution, encoding, flat=flat)
        self._duals = fitted
        if not self.certificate_.holds:
            doubt(
                "SEP003",
                f"support vector machine, {answers[0].status}: {self.certificate_} Raise max_iter "
                "or time_budget; columns of very different size are slow, and standardize=True "
                "makes them alike.",
            )

    @property
    def _fitted_rows(self) -> _Fitted:
        check_is_fitted(self)
        if self._duals is None:
            raise InputError(
                "What belongs to training rows was left behind when this model was stored.",
                remedy="Fit again, or use coef_, intercept_ and certificate_.",
            )
        return self._duals

    @property
    def alpha_(self) -> Floats:
        """Α of every training row; the difference of both sides for a tube."""
        kept = self._fitted_rows
        two_sided = len(kept.problems[0].offset) == 2
        return kept.by_row(
            [
                p.slopes(a.alpha) if two_sided else a.alpha[0]
                for p, a in zip(kept.problems, kept.answers, strict=True)
            ]
        )

    @property
    def slack_(self) -> Floats:
        """ξ of every training row: how far it falls short of its margin, or lies outside the tube.

        Zero up to rounding for rows on their margin.
        """
        kept = self._fitted_rows
        return kept.by_row(
            [
                np.maximum(p.short(p.scores(a.w, a.b)), 0.0).max(axis=0)
                for p, a in zip(kept.problems, kept.answers, strict=True)
            ]
        )

    @property
    def group_(self) -> NDArray[Any]:
        """Of every training row: "outside" (α = 0), "on the margin", or "inside" (α at its top)."""
        kept = self._fitted_rows
        codes = []
        for p, a in zip(kept.problems, kept.answers, strict=True):
            share = a.alpha.max(axis=0) / p.cost
            codes.append((share > 1e-9).astype(float) + (share > 1.0 - 1e-9))
        return np.asarray(GROUPS[kept.by_row(codes).astype(int)])

    @property
    def support_(self) -> NDArray[np.int64]:
        """Numbers of the training rows that have α > 0 in some hyperplane."""
        alpha = self.alpha_.reshape(self._fitted_rows.given, -1)
        return np.flatnonzero((alpha != 0.0).any(axis=1))

    @property
    def margin_(self) -> Any:
        """1/‖w‖ (in units of standardised columns if so fitted): infinite for w = 0."""
        kept = self._fitted_rows
        norms = [
            np.sqrt(p.ridge @ a.w**2) for p, a in zip(kept.problems, kept.answers, strict=True)
        ]
        each = np.array([1.0 / norm if norm > 0.0 else np.inf for norm in norms])
        return float(each[0]) if len(each) == 1 else each

    @property
    def t_(self) -> Any:
        """The threshold t of w·x − t: the intercept with the other sign."""
        check_is_fitted(self)
        t = -np.ravel(self.intercept_)
        return float(t[0]) if len(t) == 1 else t

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_duals"}


class LinearSVC(LinearClassifier, MarginModel):
    """min over w, b of ½‖w‖² + C Σ ω max(0, 1 − y (w·x + b)),   y = ±1.

    The hinge of the textbooks, with an intercept that is not penalised; several classes each
    against the rest. C = ∞ is the hard margin, refused with a proof where classes overlap. Rows far
    from their margin are judged once and left alone, the others are solved for exactly: on tables
    with many more rows than columns the gap is of rounding's size. Probabilities:
    ``CalibratedClassifier(LinearSVC())``.

    Parameters
    ----------
    C : float, default=1.0
        Price of falling short of the margin; ∞ allows none.
    fit_intercept : bool, default=True
    standardize : bool, default=False
        Measure ‖w‖ on columns of unit variance, so that the fit does not depend on units.
    class_weight : dict, "balanced" or None
        Weights of classes, which multiply those of the rows.
    tol : float, default=1e-6
        Gap between primal and dual objective, relative to the objective, that counts as solved.
    max_iter : int, default=2000
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
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 2000,
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
        coded = coded_rows(self, X, y, sample_weight)
        coded = weighted_by_class(coded, self.class_weight, self.classes_)
        ridge = self._ridge(coded.x, coded.w)
        problems, answers = [], []
        with each_notice_once():
            for own in outputs_of(len(self.classes_)):
                positive = coded.codes == own
                cost = coded.w * self._price(coded, positive, ridge, self.classes_.tolist()[own])
                problem = two_classes(
                    coded.x, positive, cost, ridge, intercept=bool(self.fit_intercept)
                )
                problems.append(problem)
                answers.append(solve_hinges(problem, settings, self._claim))
        fitted = _Fitted(problems, answers, coded.rows, coded.given)
        self._keep(fitted, coded.encoding, flat=False)
        return self

    @property
    def _claim(self) -> str:
        if np.isinf(self.C):
            return "Hard margin: no hyperplane separates the classes more widely"
        return "Soft margin: no hyperplane has a smaller sum of ½‖w‖² and C times the slacks"

    def _price(self, coded: Coded, positive: NDArray[np.bool_], ridge: Floats, label: Any) -> float:
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
        proof = decide(x[positive], x[~positive])
        if isinstance(proof, Meeting):
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
        max_iter: int = 2000,
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
        self._keep(_Fitted([problem], [answer], there, len(w)), encoding, flat=True)
        return self

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Matrix, Floats, Floats, Encoding]:
        rows = self._training_rows(X, y, sample_weight)
        if isinstance(rows, ArrayRows):
            block, encoding = rows.block, identity(rows.schema)
        else:
            prepared = prepare(rows)
            one_number(prepared.moments.targets)
            block, encoding = prepared.rows.collect(), prepared.encoding
        w = np.ones(block.n) if block.w is None else block.w
        return block.x, block.y[:, 0], w, encoding


def weighted_by_class(coded: Coded, given: Any, labels: NDArray[Any]) -> Coded:
    """Weights of rows times those of their classes; a class of weight zero is refused."""
    if given is None:
        return coded
    total = np.bincount(coded.codes, coded.w, len(labels)).astype(np.float64)
    factor = weights_by_class(given, labels.tolist(), total)
    if not factor.all():
        raise InputError("class_weight is zero for a class: leave its rows out instead.")
    w = coded.w * factor[coded.codes]
    return Coded(coded.x, coded.codes, w, coded.encoding, coded.rows, coded.given)


def _worst(certificates: list[Certificate]) -> Certificate:
    """Of several certificates the one that is farthest from holding."""
    return max(certificates, key=lambda c: (not c.holds, c.gap / max(c.primal, 1e-300), c.kkt))
