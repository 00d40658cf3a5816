"""Logistic regression: probabilities from scores, by maximum likelihood or with a penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.additive import MAX_STORED_COLUMNS
from separatrix.estimators.class_weights import weighted_rows, weighted_samples
from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.logistic.fit import (
    LogisticSolution,
    Posed,
    pose,
    pose_wide,
    solve_logistic,
)
from separatrix.logistic.problem import LogisticSettings
from separatrix.logistic.separation import Separation
from separatrix.logistic.summary import LogisticEvidence, LogisticSummary, summarise
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import Rows
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_sums import use_compiled
from separatrix.statistics.preparation import Prepared, prepare

#: Classes up to which an ℓ₁ penalty is solved for all scores at once.
MOST_SELECTING = 500


class LogisticClassifier(ProbabilisticLinearClassifier):
    """What logistic models share: probabilities, and scores measured from a reference class."""

    C: float
    l1_ratio: float
    fit_intercept: bool
    standardize: bool
    tol: float
    max_iter: int
    class_weight: Any
    reference: Any

    def predict_proba(self, X: Any) -> Floats:
        """One probability for each class, in the order of ``classes_``."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities, right where these are too small for a number."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def _weighed_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Training rows, whose weights are multiplied by those of their classes."""
        given = self.class_weight
        if given is None or (y is None and not isinstance(X, Rows)):
            return self._class_rows(X, y, sample_weight)
        if isinstance(X, Rows):
            return weighted_rows(self._class_rows(X, y, sample_weight), given)
        return self._class_rows(X, y, weighted_samples(y, sample_weight, given))

    def _place(self, solution: LogisticSolution, encoding: Encoding) -> None:
        """Expose a solution; with a reference class its scores are zero."""
        self._accept(solution, encoding, flat=False)
        self.separation_: Separation | None = solution.separation
        if self.reference is None or len(self.classes_) == 2:
            return
        at = np.flatnonzero(self.classes_ == self.reference)
        self.coef_ = self.coef_ - self.coef_[at]
        self.intercept_ = self.intercept_ - self.intercept_[at]

    def _pose(self, rows: Rows, settings: LogisticSettings) -> tuple[Posed, Encoding]:
        """The problem that the rows pose; ``classes_`` are known afterwards."""
        if isinstance(rows, ArrayRows) and wide(rows):
            terms = self._class_terms(rows, rows.block.targets)
            self._check_classes(settings)
            return pose_wide(rows, terms, settings), identity(rows.schema)
        prepared = _swept(rows) or prepare(rows)
        terms = self._class_terms(rows, prepared.moments.targets)
        self._check_classes(settings)
        posed = pose(prepared.rows, prepared.moments, terms, settings)
        return posed, prepared.encoding

    def _check_classes(self, settings: LogisticSettings) -> None:
        if settings.selects and len(self.classes_) > MOST_SELECTING:
            raise InputError(
                f"An ℓ₁ penalty over the scores of {len(self.classes_)} classes at once would take "
                f"hours; the limit is {MOST_SELECTING}.",
                remedy="Use l1_ratio=0, or OneVsRest(LogisticRegression(C, l1_ratio)).",
            )
        if self.reference is not None and self.reference not in self.classes_.tolist():
            raise InputError(
                f"reference={self.reference!r} is no class.",
                remedy=f"Choose one of {self.classes_.tolist()[:12]}, or None.",
            )


class LogisticRegression(LogisticClassifier):
    """min over W, a of C Σ w (log Σₖ e^sₖ − s_y) + ρ ‖W‖₁ + ½ (1 − ρ) ‖W‖²,   s = W x + a.

    Two classes have one score, that of ``classes_[1]``, and p = 1/(1 + e^−s). More have one each,
    and pₖ is proportional to e^sₖ. Without penalty (C = ∞, the default) this is maximum likelihood,
    the answer does not depend on units, and ``summary()`` gives standard errors.

    Where the classes are separable no coefficients are the likeliest. This is found, proved by the
    margins of all rows, and said (SEP006): ``separation_`` holds the direction along which the
    likelihood rises for ever, the coefficients are those where the search stopped, and there is no
    summary.

    Parameters
    ----------
    C : float, default=inf
        Weight of the likelihood against the penalty, as in scikit-learn.
    l1_ratio : float, default=0.0
        ρ, the share of the ℓ₁ part: 0 shrinks, 1 selects.
    fit_intercept : bool, default=True
        Whether scores have a constant, which is never penalised.
    standardize : bool, default=False
        Measure the penalty on columns of unit variance, so that the fit does not depend on units.
    reference : label, default=None
        With more than two classes, the class whose scores are zero; None lets the scores of all
        classes add up to zero (with ℓ₁ part: as the penalty wants them). Probabilities are the
        same.
    class_weight : dict, "balanced" or None
        Weights of classes, which multiply those of the rows.
    tol : float, default=1e-8
        Slope at which to stop, for columns of unit variance and per row; also the duality gap
        asked for, as a share of the likelihood without columns.
    max_iter : int, default=200
        Passes over the rows at most.
    dual, intercept_scaling, random_state, solver, verbose, warm_start, n_jobs
        Taken so that code written for scikit-learn runs; the answer does not depend on them.

    Attributes
    ----------
    coef_, intercept_ : (1, d) and (1,) for two classes, else (K, d) and (K,).
    classes_ : the labels in order.
    separation_ : the separating direction, or None.
    certificate_ : primal and dual value, gap, distance to the optimality conditions.
    n_iter_ : passes over the rows.
    """

    evidence_: LogisticEvidence | None

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
        settings = settings_of(self, self.C)
        rows = self._weighed_rows(X, y, sample_weight)
        posed, encoding = self._pose(rows, settings)
        solution = solve_logistic(posed.problem, posed.start, settings, posed.share)
        self._place(solution, encoding)
        self.evidence_ = LogisticEvidence.of(
            solution, posed.problem.weight, posed.share, self.fit_intercept
        )
        return self

    def summary(self, *_: Any, level: float = 0.95, **__: Any) -> LogisticSummary:
        """Estimates, standard errors, z, p, intervals, odds ratios; refused with a reason."""
        check_is_fitted(self)
        return summarise(self, level)


def wide(rows: ArrayRows) -> bool:
    """Whether columns outnumber rows so far that a matrix of columns by columns is out of place."""
    n, d = rows.block.x.shape
    return bool(d > max(n, 200) or d > max(MAX_STORED_COLUMNS, n // 4))


def _swept(rows: Rows) -> Prepared | None:
    """Many rows in memory: their moments by class, in one compiled sweep, make those of all."""
    if not isinstance(rows, ArrayRows) or not use_compiled(rows.block.x):
        return None
    block = rows.block
    codes = block.y.argmax(axis=1)
    empty = ClassMoments.empty("pooled", len(block.targets), block.x.shape[1])
    moments = rows.with_parts(codes).reduce(empty).joint(block.terms, block.targets)
    return Prepared(rows, moments, identity(rows.schema))


def settings_of(model: LogisticClassifier, C: float) -> LogisticSettings:
    """The model's parameters, checked."""
    if not C > 0.0:
        raise InputError(f"C={C!r} must be greater than 0.", remedy="C=inf means no penalty.")
    if not 0.0 <= model.l1_ratio <= 1.0:
        raise InputError(f"l1_ratio={model.l1_ratio!r} must be between 0 and 1.")
    if not model.tol > 0.0:
        raise InputError(f"tol={model.tol!r} must be greater than 0.")
    if not model.max_iter >= 1:
        raise InputError(f"max_iter={model.max_iter!r} must be at least 1.")
    return LogisticSettings(
        0.0 if np.isinf(C) else 1.0 / float(C),
        float(model.l1_ratio),
        bool(model.fit_intercept),
        bool(model.standardize),
        float(model.tol),
        int(model.max_iter),
    )
