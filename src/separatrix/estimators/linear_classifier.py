"""Base classes of classifiers with linear or logistic scores: distances, margins, predictions."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, NDArray
from separatrix.estimators.base import LinearModel, known_codes
from separatrix.estimators.class_labels import label_scores
from separatrix.formula import nodes
from separatrix.geometry.class_scores import softmax
from separatrix.matrices.products import multiply
from separatrix.mixins import ClassifierMixin
from separatrix.threads import on_one_blas_thread


class LinearClassifier(ClassifierMixin, LinearModel):
    """One hyperplane for two classes, or one linear score for each of several."""

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        check_is_fitted(self)
        scores = multiply(self._design(X), self.coef_.T)
        scores = np.asarray(scores + self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the side of the hyperplane, or by the largest score."""
        return label_scores(self.decision_function(X), self.classes_)

    def signed_distance(self, X: Any) -> Floats:
        """Distance of every row to the hyperplane, as :meth:`decision_function` in sign and shape.

        In the units of the columns. For K classes: to the hyperplane fₖ(x) = 0 of each class.
        """
        x = self._design(X)
        distances = self.hyperplane_.signed_distance(x)
        return distances[:, 0] if len(self.classes_) == 2 else distances

    def margin(self, X: Any, y: Any) -> Floats:
        """Distance of every row to the boundary of its class ``y``; negative if misclassified."""
        x = self._design(X)
        codes = known_codes(y, self.classes_)
        if len(self.classes_) == 2:
            return self.hyperplane_.margin(x, np.where(codes == 1, 1.0, -1.0))
        return self.hyperplane_.class_margin(x, codes)

    def formula(self) -> nodes.ClassFormula:
        """Linear scores, and their sign or the largest of them."""
        return nodes.by_score(self._linear_scores(), self.classes_)

    def _linear_scores(self) -> nodes.Affine:
        return nodes.hyperplanes(self, nodes.score_names(self.classes_))


def logistic_probabilities(scores: Floats) -> Floats:
    """Class probabilities: sigmoid of the log odds (n) of two, softmax of scores of more."""
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    return softmax(scores)


class ProbabilisticLinearClassifier(LinearClassifier):
    """A linear classifier with class probabilities; logistic ones unless a subclass has others."""

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """One probability for each class, in the order of ``classes_``: sigmoid or softmax."""
        return logistic_probabilities(self.decision_function(X))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; the first of those whose probabilities are the same number."""
        return label_scores(self.predict_proba(X), self.classes_)

    def formula(self) -> nodes.ClassFormula:
        """Sigmoid or softmax of linear scores."""
        scores = self._linear_scores()
        return nodes.by_probability(
            nodes.probabilities(scores, self.classes_), self.classes_, scores
        )


# -------------------------------------------------------------------------------------------------
# Coefficients that can be stored as a sparse matrix, as in scikit-learn: methods of some models.


Model = TypeVar("Model", bound=Any)


def sparsify(self: Model) -> Model:
    """Make ``coef_`` a sparse matrix, which saves memory where most of it is zero."""
    check_is_fitted(self)
    self.coef_ = sparse.csr_matrix(self.coef_)
    return self


def densify(self: Model) -> Model:
    """Make ``coef_`` an array again."""
    check_is_fitted(self)
    if sparse.issparse(self.coef_):
        self.coef_ = self.coef_.toarray()
    return self


# -------------------------------------------------------------------------------------------------
# Classifiers whose scores are log odds: probabilities, labels and formulas from the scores.


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
        return logistic_probabilities(self.decision_function(X))

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
