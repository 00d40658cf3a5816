"""What any model must beat: the mean of the target, or its most frequent class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from separatrix.estimators.additive import MomentEstimator, TrainingData
from separatrix.estimators.base import RowsEstimator
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.schema import Term
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare


class MeanRegressor(RegressorMixin, MomentEstimator):
    """min over a of Σ w (y − a)²: every prediction is the mean of the training rows."""

    def _solve(self, given: TrainingData) -> Solution:
        return _mean(given.moments)

    def _solve_wide(self, rows: ArrayRows) -> Solution:
        y = ArrayRows(np.empty((rows.block.n, 0)), rows.block.y, rows.block.w)
        return _mean(y.reduce(Moments()), rows.block.x.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # by intention
        return tags


def _mean(m: Moments, columns: int | None = None) -> Solution:
    d = m.d if columns is None else columns
    certificate = Certificate(
        "The mean: no constant has a smaller sum of squares",
        rank=0,
        promised=(),
    )
    return Solution(np.zeros((d, len(m.targets))), m.y_mean.copy(), certificate)


class MostFrequentClassifier(ClassifierMixin, RowsEstimator):
    """Every prediction is the class with the largest share (weight) of the training rows."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows` with a discrete target."""
        labels: list[Any] = []

        def indicators(values: Any) -> tuple[Floats, list[Term]]:
            check_classification_targets(values)
            found, codes = np.unique(values, return_inverse=True)
            labels.append(found)
            return np.eye(len(found))[codes], [Term("y", level=str(v)) for v in found]

        rows = self._training_rows(X, y, sample_weight, encode_target=indicators)
        prepared = prepare(rows)
        m = prepared.moments
        self.classes_ = labels[0] if labels else np.array([str(t.level) for t in m.targets])
        self.class_shares_ = m.y_mean.copy()
        self.encoding_ = prepared.encoding
        self.certificate_ = Certificate(
            "The most frequent class; no constant errs less often",
            promised=(),
        )
        return self

    def decision_function(self, X: Any) -> Floats:
        """The share of each class; of two classes, by how much the second outweighs the first."""
        n, shares = self._design(X).shape[0], self.class_shares_
        if len(shares) == 2:
            return np.full(n, shares[1] - shares[0])
        return np.tile(shares, (n, 1))

    def predict_proba(self, X: Any) -> Floats:
        """The share of each class, for every row."""
        n = self._design(X).shape[0]
        return np.tile(self.class_shares_, (n, 1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The same class for every row."""
        n = self._design(X).shape[0]
        return np.asarray(np.repeat(self.classes_[[np.argmax(self.class_shares_)]], n))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # by intention
        return tags
