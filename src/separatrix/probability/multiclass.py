"""Several classes from binary classifiers: one-vs-rest and one-vs-one, with a reject option.

The columns of a table are encoded once, and every binary classifier works on the same design.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from separatrix.estimators.class_labels import outputs_of
from separatrix.estimators.wrapped import (
    LabeledRows,
    is_pairwise,
    require_classifier,
    warn_once,
)
from separatrix.messages import InputError, warn
from separatrix.probability.binary_ensemble import BinaryEnsemble, gives_probabilities
from separatrix.probability.calibrated import normalized
from separatrix.probability.constant_label import ConstantLabel
from separatrix.probability.coupling import couple
from separatrix.probability.label_columns import label_columns
from separatrix.rows.block import Floats
from separatrix.rows.encoding import identity


class OneVsRest(BinaryEnsemble):
    """One-vs-rest: K binary classifiers, and the class with the largest score.

        prediction = argmax over k of fₖ(x),     fₖ: class k against all others

    With ``reject`` a row is predicted if exactly one class accepts it (score above zero) and
    rejected otherwise. Two classes need one classifier, which always decides.

    Parameters
    ----------
    estimator : classifier
        A binary classifier.
    reject : bool, default=False
        Whether rows that no class or several classes accept are rejected.
    reject_label : str, number or None, default=None
        What ``predict`` returns for rejected rows; None is "reject", or −1 (one less than the
        smallest class, if that is less) among numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels in order; with several labels a row, their column numbers.
    multilabel_ : bool
        Whether a row may have several labels.
    estimators_ : list of classifiers
        In the order of ``classes_`` (one for two classes).
    certificate_ : Certificate
        The worst of theirs.

    See Also
    --------
    OneVsOne : One classifier for each pair of classes.
    RejectOption : Rejects by expected cost.

    References
    ----------
    R. Rifkin and A. Klautau, In defense of one-vs-all classification, Journal of Machine
    Learning Research 5, 2004.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [0.5], [5.0], [5.5], [9.0], [9.5]], [0, 0, 1, 1, 2, 2]
    >>> model = sx.OneVsRest(sx.LeastSquaresClassifier(), reject=True, reject_label=-1).fit(X, y)
    >>> model.predict([[0.2], [9.3], [5.2]]).tolist()
    [0, 2, -1]
    """

    multilabel_: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        A matrix ``y`` of zeros and ones has a column for each label that a row may have; one that
        is the same in every row is predicted so, with a warning.
        """
        several = sparse.issparse(y) or np.asarray(y).ndim == 2
        self.multilabel_ = bool(several and type_of_target(y) == "multilabel-indicator")
        if not self.multilabel_:
            return super().fit(X, y, sample_weight)
        require_classifier(self.estimator)
        x, labels, w = label_columns(self, X, y, sample_weight, structures=self._structures)
        self.classes_, self.pairwise_indices_ = np.arange(labels.shape[1]), None
        constant = labels.min(axis=0) == labels.max(axis=0)
        for column in np.flatnonzero(constant):
            warn("SEP016", f"label {column} is {labels[0, column]} in every row, and predicted so.")
        with warn_once():
            found = iter(self._each_fitted(LabeledRows(x, own, w) for own in labels.T[~constant]))
        self.estimators_ = [
            ConstantLabel(int(labels[0, column])) if same else next(found)
            for column, same in enumerate(constant)
        ]
        return self._certified()

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train every classifier on these rows too; the first call names the classes."""
        begun = hasattr(self, "estimators_")
        before = self.classes_ if begun else None
        rows = self._coded_rows(X, y, None, known=self._known_classes(X, classes), reset=not begun)
        if before is not None and len(before) != len(self.classes_):
            self.classes_ = before
            raise InputError(
                "A class is new, and training began without it.",
                remedy="Name all classes in the first call: partial_fit(X, y, classes=…).",
            )
        own = outputs_of(len(self.classes_))
        if not begun:
            self.estimators_ = [clone(self.estimator) for _ in own]
        self.encoding_ = identity(rows.schema)
        for k, model in zip(own, self.estimators_, strict=True):
            model.partial_fit(
                rows.block.x, (rows.block.parts == k).astype(np.int64), classes=[0, 1]
            )
        return self._certified()

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        return self._scores(X) if self.multilabel_ else super().decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score; with ``reject``, the only one that accepts the row.

        Of several labels a row: a matrix of zeros and ones.
        """
        if self.multilabel_:
            return (self._scores(X) > 0.0).astype(np.int64)
        return super().predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Fraction of rows predicted right, in all of their labels; a rejected row is not."""
        if self.multilabel_:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        return super().score(X, y, sample_weight)

    def _parts(self, rows: LabeledRows) -> Iterator[LabeledRows]:
        for k in range(len(self.classes_)):
            yield LabeledRows(rows.x, (rows.y == k).astype(np.int64), rows.w)

    def _by_class(self, scores: Floats) -> Floats:
        return scores

    def _accepted(self, scores: Floats) -> NDArray[np.bool_]:
        return scores > 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of each class against the rest, normalized to sum to one.

        Of several labels a row: the probability of each.
        """
        pairs = list(zip(self.estimators_, self._inputs(X), strict=True))
        columns = self._on_threads(lambda pair: pair[0].predict_proba(pair[1])[:, 1], pairs)
        p = np.stack(columns, axis=1)
        if self.multilabel_:
            return p
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - p, p])
        return normalized(p)


class OneVsOne(BinaryEnsemble):
    """One-vs-one: K(K − 1)/2 binary classifiers, one for each pair of classes.

        min over p of Σᵢⱼ (rⱼᵢ pᵢ − rᵢⱼ pⱼ)²  with Σ p = 1,     rᵢⱼ = P(i | i or j)

    Where the classifiers give probabilities, those of the pairs are coupled as above and the most
    probable class is predicted. Otherwise the class with most votes is, ties being broken by the
    sum of the scores. With ``reject`` a row is rejected unless one class wins all of its pairs.

    Parameters
    ----------
    estimator : classifier
        A binary classifier.
    reject : bool, default=False
        Whether rows that no class wins outright are rejected.
    reject_label : str, number or None, default=None
        What ``predict`` returns for rejected rows; None is "reject", or −1 (one less than the
        smallest class, if that is less) among numbers.
    max_classes : int, default=100
        More classes are refused: the number of classifiers grows with the square.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels in order.
    estimators_ : list of classifiers
        In the order (0, 1), (0, 2), …, (1, 2), …
    certificate_ : Certificate
        The worst of theirs.

    See Also
    --------
    OneVsRest : One classifier for each class.
    SVC : Pairs of classes by itself.

    References
    ----------
    T.-F. Wu, C.-J. Lin and R. C. Weng, Probability estimates for multi-class classification by
    pairwise coupling, 2004.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [9.5]], ["a", "a", "b", "b", "c", "c"]
    >>> model = sx.OneVsOne(sx.LinearSVC()).fit(X, y)
    >>> len(model.estimators_), model.predict([[0.2], [4.4], [9.1]]).tolist()
    (3, ['a', 'b', 'c'])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        reject: bool = False,
        reject_label: Any = None,
        max_classes: int = 100,
    ) -> None:
        super().__init__(estimator, reject=reject, reject_label=reject_label)
        self.max_classes = max_classes

    def _parts(self, rows: LabeledRows) -> Iterator[LabeledRows]:
        k = len(self.classes_)
        if k > self.max_classes:
            raise InputError(
                f"{k} classes make {k * (k - 1) // 2} pairs, and each needs a classifier.",
                remedy=f"Use OneVsRest, or allow it by max_classes={k}.",
            )
        order = np.argsort(rows.y, kind="stable")
        own = np.split(order, np.cumsum(np.bincount(rows.y, minlength=k))[:-1])
        for i, j in combinations(range(k), 2):
            both = np.sort(np.concatenate([own[i], own[j]]))
            if is_pairwise(self.estimator):
                self.pairwise_indices_ = [*(self.pairwise_indices_ or []), both]
            pair, _ = rows.split(self.estimator, both, both[:0])
            yield LabeledRows(pair.x, (pair.y == j).astype(np.int64), pair.w)

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities by pairwise coupling."""
        return couple(self._scores(X), len(self.classes_))

    def _pairs(self) -> tuple[Floats, Floats]:
        """One-hot classes i and j of every pair i < j (pairs x K)."""
        k = len(self.classes_)
        i, j = np.triu_indices(k, 1)
        return np.eye(k)[i], np.eye(k)[j]

    def _votes(self, scores: Floats) -> Floats:
        first, second = self._pairs()
        return np.asarray((scores <= 0) @ first + (scores > 0) @ second)

    def _by_class(self, scores: Floats) -> Floats:
        """Coupled probabilities; or votes, plus less than half a vote for the sum of the scores."""
        if gives_probabilities(self):
            return couple(scores, len(self.classes_))
        first, second = self._pairs()
        total = scores @ (second - first)
        return self._votes(scores) + total / (3.0 * (np.abs(total) + 1.0))

    def _accepted(self, scores: Floats) -> NDArray[np.bool_]:
        return np.asarray(self._votes(scores) == len(self.classes_) - 1)
