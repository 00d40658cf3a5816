"""What logistic models share: class weights, probabilities, a reference class, checked options."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.class_weights import weighted_rows, weighted_samples, weights_by_class
from separatrix.estimators.linear_classifier import (
    ProbabilisticLinearClassifier,
    SparseCoefficients,
)
from separatrix.logistic.fit import LogisticSolution
from separatrix.logistic.problem import LogisticOptions
from separatrix.logistic.separation import Separation
from separatrix.logistic.tuning import RidgeFolds
from separatrix.messages import InputError
from separatrix.probability.likelihood.rows import LogisticRows
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Terms
from separatrix.selection.tuning import TuningData
from separatrix.statistics.standardizer import Standardizer

#: Classes up to which an ℓ₁ penalty is solved for all scores at once.
MAX_L1_CLASSES = 500


class LogisticClassifier(SparseCoefficients, ProbabilisticLinearClassifier):
    """What logistic models share: class weights, probabilities, and a reference class."""

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
                remedy="Use l1_ratio=0, or OneVsRest(LogisticRegression(l1_ratio=1.0)).",
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
            factor = weights_by_class(self.class_weight, list(range(data.n_classes)), total)
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
