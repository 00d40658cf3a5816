"""Several classes from binary classifiers: one-vs-rest and one-vs-one, with a reject option.

The columns of a table are encoded once, and every binary classifier works on the same design.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels
from separatrix.estimators.wrapped import (
    LabeledRows,
    decision_scores,
    fitted,
    joint_certificate,
    log_odds,
    require_classifier,
    warn_once,
)
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.probability.calibrated import normalized
from separatrix.probability.coupling import couple
from separatrix.probability.reject import labels_with_reject
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare


class BinaryEnsemble(MetaEstimatorMixin, ClassifierMixin, ClassLabels):
    """Binary classifiers that vote among several classes."""

    estimators_: list[Any]
    encoding_: Encoding
    certificate_: Certificate

    def __init__(self, estimator: Any, *, reject: bool = False, reject_label: Any = None) -> None:
        self.estimator = estimator
        self.reject = reject
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        require_classifier(self.estimator)
        rows = self._coded(X, y, sample_weight)
        if self.reject:
            labels_with_reject(self.classes_, self.reject_label)
        if len(self.classes_) == 2:
            self.estimators_ = [fitted(self.estimator, rows)]
        else:
            with warn_once():
                self.estimators_ = [fitted(self.estimator, part) for part in self._parts(rows)]
        self.certificate_ = joint_certificate(
            f"{len(self.estimators_)} binary classifiers for {len(self.classes_)} classes",
            self.estimators_,
        )
        return self

    def _coded(self, X: Any, y: Any, sample_weight: Any) -> LabeledRows:
        """Design, class codes and weights of the rows with positive weight."""
        if isinstance(X, Rows):
            table = self._class_rows(X, y, sample_weight)
            prepared = prepare(table)
            terms = self._class_terms(table, prepared.moments.targets)
            block = prepared.rows.collect()
            block = block.aligned(block.terms, terms)
            self.encoding_, codes = prepared.encoding, block.y.argmax(axis=1)
        else:
            rows = self._coded_rows(X, y, sample_weight)
            block, self.encoding_ = rows.block, identity(rows.schema)
            assert block.parts is not None
            codes = block.parts
        all_rows = LabeledRows(block.x, codes, block.w)
        weighted = all_rows.positive_weight
        return all_rows if len(weighted) == len(codes) else all_rows.take(weighted)

    @abstractmethod
    def _parts(self, rows: LabeledRows) -> Iterator[LabeledRows]:
        """The rows of each binary classifier, labeled 0 and 1."""

    def _scores(self, X: Any) -> Floats:
        """One column for each binary classifier, positive for its class 1."""
        check_is_fitted(self)
        x = self._design(X)
        if hasattr(self.estimators_[0], "predict_proba"):
            columns = [log_odds(model.predict_proba(x)) for model in self.estimators_]
        else:
            columns = [decision_scores(model, x) for model in self.estimators_]
        return np.stack(columns, axis=1)

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else self._by_class(scores)

    @abstractmethod
    def _by_class(self, scores: Floats) -> Floats:
        """One score for each class from those of the binary classifiers."""

    @abstractmethod
    def _accepted(self, scores: Floats) -> NDArray[np.bool_]:
        """Which classes accept a row (n x K)."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score; with ``reject``, the only one that accepts the row."""
        scores = self._scores(X)
        if len(self.classes_) == 2:
            chosen = (scores[:, 0] > 0).astype(np.int64)
        else:
            chosen = self._by_class(scores).argmax(axis=1)
        if not self.reject:
            return np.asarray(self.classes_[chosen])
        if len(self.classes_) > 2:
            accepted = self._accepted(scores)
            one = accepted.sum(axis=1) == 1
            chosen = np.where(one, accepted.argmax(axis=1), len(self.classes_))
        return np.asarray(labels_with_reject(self.classes_, self.reject_label)[chosen])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Fraction of rows predicted right; a rejected row is not."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def _gives_probabilities(ensemble: BinaryEnsemble) -> bool:
    members = getattr(ensemble, "estimators_", [ensemble.estimator])
    return hasattr(members[0], "predict_proba")


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
        The class labels in order.
    estimators_ : list of classifiers
        In the order of ``classes_`` (one for two classes).
    certificate_ : Certificate
        The worst of theirs.

    See Also
    --------
    OneVsOne : One classifier for each pair of classes.
    RejectOption : Rejects by expected cost.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [0.5], [5.0], [5.5], [9.0], [9.5]], [0, 0, 1, 1, 2, 2]
    >>> model = sx.OneVsRest(sx.LeastSquaresClassifier(), reject=True, reject_label=-1).fit(X, y)
    >>> model.predict([[0.2], [9.3], [5.2]]).tolist()
    [0, 2, -1]
    """

    def _parts(self, rows: LabeledRows) -> Iterator[LabeledRows]:
        for k in range(len(self.classes_)):
            yield LabeledRows(rows.x, (rows.y == k).astype(np.int64), rows.w)

    def _by_class(self, scores: Floats) -> Floats:
        return scores

    def _accepted(self, scores: Floats) -> NDArray[np.bool_]:
        return scores > 0

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of each class against the rest, normalized to sum to one."""
        x = self._design(X)
        p = np.stack([m.predict_proba(x)[:, 1] for m in self.estimators_], axis=1)
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
            pair = rows.take(np.sort(np.concatenate([own[i], own[j]])))
            yield LabeledRows(pair.x, (pair.y == j).astype(np.int64), pair.w)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
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
        if _gives_probabilities(self):
            return couple(scores, len(self.classes_))
        first, second = self._pairs()
        total = scores @ (second - first)
        return self._votes(scores) + total / (3.0 * (np.abs(total) + 1.0))

    def _accepted(self, scores: Floats) -> NDArray[np.bool_]:
        return np.asarray(self._votes(scores) == len(self.classes_) - 1)
