"""Classification by binary SVMs with a kernel: one for each pair of classes, or for each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import (
    ClassLabels,
    coded_items,
    coded_rows,
    outputs_of,
    refuse_singletons,
)
from separatrix.estimators.targets import known_codes
from separatrix.kernels.base import n_items, take_items
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints
from separatrix.svm.base import KernelSVM
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.pairs import count_votes, dual_coef_of_pairs, pair_scores, vote_scores
from separatrix.svm.primal.solver import few_columns
from separatrix.svm.problem import SolverOptions
from separatrix.svm.solver import BinarySVM
from separatrix.threads import parallel_map, pieces

#: Classes of which every pair may have a binary SVM.
MOST_CLASSES = 300
#: Scores of pairs of classes that a thread computes at a time.
ENTRIES = 1 << 20


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
        refuse_singletons(len(data.codes), self.classes_)
        self.class_weight_ = data.class_weight
        gram = self._gram_matrix(data.x, data.w, data.rows, data.n_samples, data.sample_weight)
        svms = self._fit_svms(gram, data.codes, data.w, options)
        codes, k, weights = data.codes, len(self.classes_), None
        if k > 2 and self.decision == "ovo":
            weights = dual_coef_of_pairs(svms, codes, k)
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

        if k > 2 and self.decision == "ovo":
            return self._fit_pairs(gram, codes, w, options, names)

        def against_rest(c: int) -> BinarySVM:
            y, every = np.where(codes == c, 1.0, -1.0), np.arange(gram.n)
            return self._fit_binary(gram, y, w, every, options, (names[c], rest))

        return [against_rest(c) for c in outputs_of(k)]

    def _fit_pairs(
        self, gram: GramMatrix, codes: Ints, w: Floats, options: SolverOptions, names: list[str]
    ) -> list[BinarySVM]:
        """The binary SVM of every pair of classes; rows of the first, then of the second."""
        by_class = [np.flatnonzero(codes == c) for c in range(len(names))]
        known = self._fit_together(gram, codes, w, options)

        def of_pair(pair: tuple[int, int]) -> BinarySVM:
            i, j = pair
            rows = np.concatenate([by_class[i], by_class[j]])
            y, classes = np.where(codes[rows] == i, 1.0, -1.0), (names[i], names[j])
            return self._fit_binary(gram.subset(rows), y, w[rows], rows, options, classes)

        pairs = list(combinations(range(len(names)), 2))
        left = [p for p, svm in enumerate(known) if svm is None] if known else range(len(pairs))
        found = parallel_map(of_pair, [pairs[p] for p in left])
        solved = dict(zip(left, found, strict=True))
        return [solved[p] if p in solved else known[p] for p in range(len(pairs))]

    def _fit_together(
        self,
        gram: GramMatrix,  # noqa: ARG002
        codes: Ints,  # noqa: ARG002
        w: Floats,  # noqa: ARG002
        options: SolverOptions,  # noqa: ARG002
    ) -> list[Any]:
        """The binary SVMs of all pairs at once, None for one that is not solved; or nothing."""
        return []

    # -- predictions -----------------------------------------------------------------------------

    @property
    def _has_pairs(self) -> bool:
        """Whether every pair of more than two classes has a binary SVM."""
        return len(self.classes_) > 2 and self.decision == "ovo"

    def _scores(self, X: Any) -> Floats:
        """A column for each binary SVM."""
        return self._from_scores(X, lambda scores: scores)

    def _from_scores(self, X: Any, finish: Callable[[Floats], Floats]) -> Floats:
        """A function of the scores of every row; those of many pairs some rows at a time."""
        check_is_fitted(self)
        if self._is_linear:
            return finish(self.hyperplane_.score(self._design(X)))
        x, k = self._kernel_input(X), len(self.classes_)
        if not self._has_pairs:
            return finish(self.expansions_[0].scores(x))
        n, rows = n_items(x), max(64, min(512, ENTRIES // (k * (k - 1) // 2)))
        if n <= rows:
            return finish(pair_scores(self.expansions_, x, self.intercept_))

        def piece(part: slice) -> Floats:
            return finish(pair_scores(self.expansions_, take_items(x, part), self.intercept_))

        try:
            return np.concatenate(parallel_map(piece, pieces(n, rows, n // rows)))
        except InputError:  # all rows once more, to name the row among all
            return finish(pair_scores(self.expansions_, x, self.intercept_))

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class.

        With ``decision_function_shape="ovo"`` one for each binary SVM: that of classes i < j is
        positive for i.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2 and self.decision_function_shape == "ovo":
            return self._scores(X)
        return self._from_scores(X, self._by_class)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the sign of the score, most votes, or the largest score."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise InputError(
                "break_ties=True with decision_function_shape='ovo': pairs have no ties.",
                remedy="break_ties must be False when decision_function_shape is 'ovo'.",
            )
        return self._predicted(self._from_scores(X, self._ranked))

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
        return self._from_scores(X, self._by_class)

    def _by_class(self, scores: Floats) -> Floats:
        """One score for the second of two classes, or one for each class."""
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        return vote_scores(scores, len(self.classes_)) if self._has_pairs else scores

    def _ranked(self, scores: Floats) -> Floats:
        """Scores whose largest is the class predicted; the first of several with most votes.

        A score of exactly zero counts for the later class, as in libsvm.
        """
        if len(self.classes_) == 2:
            return np.where(scores[:, 0] >= 0.0, 1.0, -1.0)
        if self.break_ties or not self._has_pairs:
            return self._by_class(scores)
        return count_votes(scores, len(self.classes_), scores > 0.0)[0]
