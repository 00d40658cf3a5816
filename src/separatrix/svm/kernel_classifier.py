"""Classification by binary SVMs with a kernel: one for each pair of classes, or for each class."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels, coded_items, coded_rows, outputs_of
from separatrix.estimators.targets import known_codes
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints
from separatrix.svm.base import KernelSVM
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.primal.solver import few_columns
from separatrix.svm.problem import SolverOptions
from separatrix.svm.solver import BinarySVM
from separatrix.threads import one_blas_thread

#: Classes of which every pair may have a binary SVM.
MOST_CLASSES = 300


def _has_hyperplane(estimator: Any) -> bool:
    return "hyperplane_" in vars(estimator)


class KernelClassifier(ClassifierMixin, ClassLabels, KernelSVM):
    """Two classes have one binary SVM, its score positive for the second class.

    Of K classes every pair i < j has one, its score positive for class i (``decision="ovo"``), or
    each class has one against the rest (``"ovr"``).
    """

    class_weight: Any
    decision: str
    decision_function_shape: str
    break_ties: bool
    cache_size: float

    @abstractmethod
    def _fit_binary(
        self,
        gram: GramMatrix,
        y: Floats,
        w: Floats,
        rows: Ints,
        options: SolverOptions,
        classes: tuple[str, str],
    ) -> BinarySVM:
        """One binary SVM of labels ±1 and weights; ``classes`` are the names of +1 and −1."""

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit every binary SVM, and expose them in scikit-learn's layout."""
        options = SolverOptions.of(self, self.cache_size)
        for name in ("decision", "decision_function_shape"):
            check_option(name, getattr(self, name), ("ovo", "ovr"))
        self._recognize_items(X)
        if self._structures:
            data = coded_items(self, X, y, sample_weight, self.class_weight)
        else:
            data = coded_rows(self, X, y, sample_weight, self.class_weight)
            self.encoding_ = data.encoding
        self.class_weight_ = data.class_weight
        gram = self._gram_matrix(data.x, data.w, data.rows, data.n_samples, data.sample_weight)
        svms = self._fit_svms(gram, data.codes, data.w, options)
        codes, k, weights = data.codes, len(self.classes_), None
        if k > 2 and self.decision == "ovo":
            weights = _dual_coef_one_vs_one(svms, codes, k)
        support = self._expose(gram, svms, data.rows, data.n_samples, codes, weights)
        self.n_support_ = np.bincount(codes[support], minlength=k).astype(np.int32)
        self.n_iter_ = np.array([max(1, svm.n_iter) for svm in svms], dtype=np.int32)
        return self

    # -- binary SVMs -----------------------------------------------------------------------------

    def _fit_svms(
        self, gram: GramMatrix, codes: Ints, w: Floats, options: SolverOptions
    ) -> list[BinarySVM]:
        k = len(self.classes_)
        names = [f"class {label!r}" for label in self.classes_.tolist()]
        rest = names[0] if k == 2 else "the rest"
        if self.decision == "ovo" and k > MOST_CLASSES:
            raise InputError(
                f"{k} classes have {k * (k - 1) // 2} pairs, and each needs a binary SVM.",
                remedy="Use decision='ovr': one binary SVM for each class.",
            )
        if k > 2 and not (gram.linear and few_columns(gram.x)):
            gram = gram.computed(options.cache_size)

        def against_rest(c: int) -> BinarySVM:
            y, every = np.where(codes == c, 1.0, -1.0), np.arange(gram.n)
            return self._fit_binary(gram, y, w, every, options, (names[c], rest))

        def of_pair(pair: tuple[int, int]) -> BinarySVM:
            rows = np.sort(np.concatenate([by_class[pair[0]], by_class[pair[1]]]))
            y, classes = (
                np.where(codes[rows] == pair[0], 1.0, -1.0),
                (names[pair[0]], names[pair[1]]),
            )
            return self._fit_binary(gram.subset(rows), y, w[rows], rows, options, classes)

        if k == 2 or self.decision == "ovr":
            return [against_rest(c) for c in outputs_of(k)]
        by_class = [np.flatnonzero(codes == c) for c in range(k)]
        # one BLAS thread for all pairs: else the end of one would change the sums of another
        with one_blas_thread(), ThreadPoolExecutor(2) as pool:
            return list(pool.map(of_pair, combinations(range(k), 2)))

    # -- predictions -----------------------------------------------------------------------------

    @property
    def _has_pairs(self) -> bool:
        """Whether every pair of more than two classes has a binary SVM."""
        return len(self.classes_) > 2 and self.decision == "ovo"

    def _scores(self, X: Any) -> Floats:
        """A column for each binary SVM."""
        check_is_fitted(self)
        if self._is_linear:
            return self.hyperplane_.score(self._design(X))
        x, k = self._kernel_input(X), len(self.classes_)
        if not self._has_pairs:
            return self.expansions_[0].scores(x)
        parts = [expansion.scores(x) for expansion in self.expansions_]
        pairs = combinations(range(k), 2)
        scores = np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)
        return np.asarray(scores + self.intercept_)

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class.

        With ``decision_function_shape="ovo"`` one for each binary SVM: that of classes i < j is
        positive for i.
        """
        scores = self._scores(X)
        if len(self.classes_) > 2 and self.decision_function_shape == "ovo":
            return scores
        return self._by_class(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the sign of the score, most votes, or the largest score."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise InputError(
                "break_ties=True with decision_function_shape='ovo': pairs have no ties.",
                remedy="break_ties must be False when decision_function_shape is 'ovo'.",
            )
        return self._predicted(self._ranked(self._scores(X)))

    @available_if(_has_hyperplane)  # type: ignore[untyped-decorator]
    def signed_distance(self, X: Any) -> Floats:
        """Distance of every row to the hyperplane, in the units of the columns; linear kernel only.

        Two classes: positive for ``classes_[1]``. More: a column for each binary SVM, that of
        classes i < j positive for i.
        """
        distances = self.hyperplane_.signed_distance(self._design(X))
        return distances[:, 0] if len(self.classes_) == 2 else distances

    @available_if(_has_hyperplane)  # type: ignore[untyped-decorator]
    def margin(self, X: Any, y: Any) -> Floats:
        """Distance of every row to the boundary of its class ``y``; linear kernel only.

        Negative if misclassified. Of several classes: the smallest one among its pairs.
        """
        x, codes, k = self._design(X), known_codes(y, self.classes_), len(self.classes_)
        if k == 2:
            return self.hyperplane_.margin(x, np.where(codes == 1, 1.0, -1.0))
        if not self._has_pairs:
            return self.hyperplane_.class_margin(x, codes)
        nearest = np.full(len(codes), np.inf)
        distances = self.hyperplane_.signed_distance(x)
        for d, (i, j) in zip(distances.T, combinations(range(k), 2), strict=True):
            side = np.where(codes == i, d, np.where(codes == j, -d, np.inf))
            nearest = np.minimum(nearest, side)
        return nearest

    def _class_scores(self, X: Any) -> Floats:
        return self._by_class(self._scores(X))

    def _by_class(self, scores: Floats) -> Floats:
        """One score for the second of two classes, or one for each class."""
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        return _votes(scores, len(self.classes_)) if self._has_pairs else scores

    def _ranked(self, scores: Floats) -> Floats:
        """Scores whose largest is the class predicted; the first of several with most votes.

        A score of exactly zero counts for the later class, as in libsvm.
        """
        if len(self.classes_) == 2:
            return np.where(scores[:, 0] >= 0.0, 1.0, -1.0)
        if self.break_ties or not self._has_pairs:
            return self._by_class(scores)
        return _count(scores, len(self.classes_), scores > 0.0)[0]


def _dual_coef_one_vs_one(svms: list[BinarySVM], codes: Ints, k: int) -> Floats:
    """β against each other class, (n x k − 1): a row takes part in the pairs of its own class."""
    weights = np.zeros((len(codes), k - 1))
    for svm, (i, j) in zip(svms, combinations(range(k), 2), strict=True):
        own = codes[svm.rows]
        weights[svm.rows[own == i], j - 1] = svm.beta[own == i]
        weights[svm.rows[own == j], i] = svm.beta[own == j]
    return weights


def _count(scores: Floats, k: int, first: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Votes of the pairs, for the ``first`` class of each or the other, and sums of scores."""
    count, total = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    votes = zip(scores.T, first.T, combinations(range(k), 2), strict=True)
    for s, for_first, (i, j) in votes:
        count[:, i] += for_first
        count[:, j] += ~for_first
        total[:, i] += s
        total[:, j] -= s
    return count, total


def _votes(scores: Floats, k: int) -> Floats:
    """Votes; ties are broken by sums of scores, which count less than half a vote."""
    count, total = _count(scores, k, scores >= 0.0)
    return count + total / (3.0 * (np.abs(total) + 1.0))
