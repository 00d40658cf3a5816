"""Classifiers whose scores are log odds: probabilities, labels and formulas from the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from separatrix.arrays import Floats, NDArray
from separatrix.estimators.class_labels import label_scores
from separatrix.formula import nodes
from separatrix.mixins import ClassifierMixin
from separatrix.threads import on_one_blas_thread


class LogisticScores(ClassifierMixin):
    """One score of the second of two classes, or one of each of several."""

    classes_: NDArray[Any]

    def _scores(self, X: Any) -> Floats:
        """Scores of the rows (n x 1, or n x classes)."""
        raise NotImplementedError

    @property
    def _scores_formula(self) -> nodes.Node:
        """Their formula."""
        raise NotImplementedError

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Log odds of the second of two classes, or scores of every class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return np.concatenate([expit(-scores), expit(scores)], axis=1)
        return np.asarray(softmax(scores, axis=1))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        return label_scores(self.decision_function(X), self.classes_)

    def formula(self) -> nodes.ClassFormula:
        """Probabilities of the scores."""
        scores = self._scores_formula
        return nodes.by_score(
            scores, self.classes_, probabilities=nodes.probabilities(scores, self.classes_)
        )
