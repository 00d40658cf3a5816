"""Regression by a kernel SVM: validation of the rows in, attributes out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from separatrix.estimators.base import RowsEstimator, check_sample_weight, require_labels
from separatrix.estimators.targets import one_number
from separatrix.kernels.base import take_items
from separatrix.kernels.features import as_list
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.preparation import prepare
from separatrix.svm.base import KernelSVM
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.problem import SolverOptions
from separatrix.svm.solver import BinarySVM


class KernelRegressor(RegressorMixin, KernelSVM):
    """One SVM of numbers with any kernel."""

    cache_size: float
    n_iter_: int

    @abstractmethod
    def _fit_numbers(
        self, gram: GramMatrix, y: Floats, w: Floats, options: SolverOptions
    ) -> BinarySVM:
        """The SVM of the targets y of rows of positive weight w."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and numbers ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = SolverOptions.of(self, self.cache_size)
        self._recognize_items(X)
        if self._structures:
            x, target, w = self._objects(X, y, sample_weight)
        else:
            x, target, w, self.encoding_ = regression_table(self, X, y, sample_weight)
        rows = np.flatnonzero(w > 0.0)
        gram = self._gram_matrix(take_items(x, rows), w[rows], rows, len(w), w[rows])
        found = self._fit_numbers(gram, np.ascontiguousarray(target[rows]), w[rows], options)
        support = self._expose(gram, [found], rows, len(w))
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = max(1, found.n_iter)
        return self

    def _objects(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Floats, Floats]:
        """Python objects, for a kernel on structures."""
        require_labels(self, y)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = 1  # one object for each row
        target = column_or_1d(y).astype(float)
        check_consistent_length(X, target)
        w = check_sample_weight(sample_weight, len(target))
        return as_list(X), target, unit_weights(w, len(target))

    def predict(self, X: Any) -> Floats:
        """w·φ(x) + b for every row."""
        x = self._kernel_input(X)
        if self._is_linear:
            return self.hyperplane_.score(self._design(X))[:, 0]
        return self.expansions_[0].scores(x)[:, 0]


def regression_table(
    model: RowsEstimator, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Floats, Floats, Encoding]:
    """Design matrix, target, weights and encoding of what ``fit`` was given."""
    rows = model._training_rows(X, y, sample_weight)
    if isinstance(rows, ArrayRows):
        block, encoding = rows.block, identity(rows.schema)
    else:
        prepared = prepare(rows)
        block, encoding = prepared.rows.collect(), prepared.encoding
    one_number(block.targets)
    return block.x, block.y[:, 0], block.weights, encoding
