"""Discrimination by regression: sigmoid outputs fitted to labels by least squares."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base import check_sample_weight
from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.estimators.standard_design import standard_design
from separatrix.geometry.class_scores import softmax
from separatrix.logistic.sigmoid_squares import fit_sigmoid_squares
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term
from separatrix.statistics.preparation import prepare


class SigmoidRegressionClassifier(ProbabilisticLinearClassifier):
    """min over W, a of ½ Σ w ‖r − σ(Wx + a)‖² / Σ w + ½ α ‖sW‖², with s the columns' deviations.

    Each label has an output σ(w·x + a) between 0 and 1 of its own: labels need neither exclude each
    other nor cover everything. Far rows that are right cost nothing, and far rows that are wrong
    cost at most ½: single bad labels do less harm than under a likelihood, but the error has
    several valleys, and the certificate claims no more than the bottom of one.

    Parameters
    ----------
    alpha : float, default=1e-3
        Penalty on the coefficients of columns of unit variance. It keeps them finite where a
        hyperplane separates the labels; the answer does not depend on units.
    tol, max_iter : when Newton's method stops: slope relative to the steepest possible; steps.

    Attributes
    ----------
    coef_, intercept_ : one row per output: for ``classes_[1]`` of two classes, else for each class
        or label.
    multilabel_ : whether ``y`` was a table of 0 and 1 with a column for each label.
    """

    _sparse_ok = False
    _multi_output = True

    def __init__(self, alpha: float = 1e-3, *, tol: float = 1e-9, max_iter: int = 200) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y`` (n, or n x labels of 0 and 1), or to Rows."""
        if not self.alpha >= 0:
            raise InputError(f"alpha={self.alpha!r} is no penalty.", remedy="Use zero or more.")
        rows = self._labelled_rows(X, y, sample_weight)
        prepared = prepare(rows)
        terms = prepared.moments.targets
        if not self.multilabel_:
            terms = self._class_terms(rows, terms)
        block = prepared.rows.collect()
        block = block.aligned(block.terms, block.targets.union(terms))
        r = block.y[:, [block.targets.position[term] for term in terms]]
        if not self.multilabel_ and r.shape[1] == 2:
            r = r[:, 1:]
        design = standard_design(block, prepared.moments)
        found = fit_sigmoid_squares(
            design.z, r, design.w, alpha=self.alpha, tol=self.tol, max_iter=self.max_iter
        )
        if not found.certificate.holds:
            warn("SEP003", f"{found.certificate}")
        coef, intercept = design.unscale(found.coef)
        solution = Solution(coef, intercept, found.certificate, found.status, found.iterations)
        self._accept(solution, prepared.encoding, flat=False)
        return self

    def _labelled_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows with an indicator per class, or the given ones of labels that may coincide."""
        kind = "" if isinstance(X, Rows) or y is None else type_of_target(y)
        self.multilabel_ = kind == "multilabel-indicator"
        if kind == "multiclass-multioutput":
            raise ValueError("Unknown label type: several targets must hold 0 and 1 alone.")
        if not self.multilabel_:
            labels = np.asarray(y).ravel() if kind else y
            return self._class_rows(X, labels, sample_weight)

        def encode(labels: Any) -> tuple[Floats, list[Term]]:
            dense = labels.toarray() if sparse.issparse(labels) else labels
            self.classes_ = np.arange(dense.shape[1])
            check_sample_weight(sample_weight, len(dense))
            return np.asarray(dense, dtype=float), [Term(f"y{j}") for j in self.classes_]

        return self._training_rows(X, y, sample_weight, encode_target=encode)

    def decision_function(self, X: Any) -> Floats:
        """w·x + a of every output; one number for two classes."""
        check_is_fitted(self)
        scores = np.asarray(self._design(X) @ self.coef_.T + self.intercept_)
        one = len(self.classes_) == 2 and not self.multilabel_
        return scores[:, 0] if one else scores

    def outputs(self, X: Any) -> Floats:
        """σ(w·x + a) of every output, n x k, not made to add up to one."""
        check_is_fitted(self)
        return np.asarray(expit(self._design(X) @ self.coef_.T + self.intercept_))

    def predict_proba(self, X: Any) -> Floats:
        """Outputs of labels that may coincide as they are; those of classes divided by their sum.

        In logarithms: a row that all classes disclaim goes to the one that disclaims it least.
        """
        scores = self.decision_function(X)
        if self.multilabel_:
            return np.asarray(expit(scores))
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(log_expit(scores))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest output; of labels that may coincide, 1 where it exceeds ½."""
        check_is_fitted(self)
        if self.multilabel_:
            return np.asarray(self.decision_function(X) > 0, dtype=int)
        return super().predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
