"""Many classes from classifiers of two: one against the rest, or every pair, with doubt.

The columns of a table are encoded once, and every classifier of two works on the same design.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels
from separatrix.estimators.wrapped import (
    Labelled,
    each_notice_once,
    fitted,
    joint_certificate,
    log_odds,
    require_classifier,
    scores_of,
)
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.probability.coupling import couple
from separatrix.probability.reject_label import answers
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare

Method = TypeVar("Method", bound=Callable[..., Any])


class BinaryEnsemble(MetaEstimatorMixin, ClassifierMixin, ClassLabels):
    """Classifiers of two classes that decide together among many."""

    estimators_: list[Any]
    encoding_: Encoding
    certificate_: Certificate

    def __init__(
        self, estimator: Any, *, reject: bool = False, reject_label: Any = "reject"
    ) -> None:
        self.estimator = estimator
        self.reject = reject
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        require_classifier(self.estimator)
        rows = self._coded(X, y, sample_weight)
        if self.reject:
            answers(self.classes_, self.reject_label)
        if len(self.classes_) == 2:
            self.estimators_ = [fitted(self.estimator, rows)]
        else:
            with each_notice_once():
                self.estimators_ = [fitted(self.estimator, part) for part in self._parts(rows)]
        self.certificate_ = joint_certificate(
            f"{len(self.estimators_)} classifiers of two classes decide among {len(self.classes_)}",
            self.estimators_,
        )
        return self

    def _coded(self, X: Any, y: Any, sample_weight: Any) -> Labelled:
        """The design, the position of each row's class, and weights; rows of no weight are gone."""
        if isinstance(X, Rows):
            given = self._class_rows(X, y, sample_weight)
            prepared = prepare(given)
            terms = self._class_terms(given, prepared.moments.targets)
            block = prepared.rows.collect()
            block = block.aligned(block.terms, terms)
            self.encoding_, codes = prepared.encoding, block.y.argmax(axis=1)
        else:
            rows = self._coded_rows(X, y, sample_weight)
            block, self.encoding_ = rows.block, identity(rows.schema)
            assert block.parts is not None
            codes = block.parts
        all_rows = Labelled(block.x, codes, block.w)
        counted = all_rows.counted
        return all_rows if len(counted) == len(codes) else all_rows.take(counted)

    @abstractmethod
    def _parts(self, rows: Labelled) -> Iterator[Labelled]:
        """The rows of each classifier, labelled 0 and 1."""

    def _scores(self, X: Any) -> Floats:
        """A column for each classifier: positive where it says 1."""
        check_is_fitted(self)
        x = self._design(X)
        score = log_odds if hasattr(self.estimators_[0], "predict_proba") else scores_of
        return np.stack([score(model, x) for model in self.estimators_], axis=1)

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else self._by_class(scores)

    @abstractmethod
    def _by_class(self, scores: Floats) -> Floats:
        """One score for each class from those of the classifiers."""

    @abstractmethod
    def _claimed(self, scores: Floats) -> NDArray[np.bool_]:
        """Which classes claim a row (n x K)."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score; with ``doubt``, the one class that claims the row."""
        scores = self._scores(X)
        if len(self.classes_) == 2:
            chosen = (scores[:, 0] > 0).astype(np.int64)
        else:
            chosen = self._by_class(scores).argmax(axis=1)
        if not self.reject:
            return np.asarray(self.classes_[chosen])
        if len(self.classes_) > 2:
            claimed = self._claimed(scores)
            alone = claimed.sum(axis=1) == 1
            chosen = np.where(alone, claimed.argmax(axis=1), len(self.classes_))
        return np.asarray(answers(self.classes_, self.reject_label)[chosen])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows that were answered, and rightly: doubt counts as no right answer."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def _gives_probabilities(ensemble: BinaryEnsemble) -> bool:
    members = getattr(ensemble, "estimators_", [ensemble.estimator])
    return hasattr(members[0], "predict_proba")


_if_probabilities: Callable[[Method], Method] = available_if(_gives_probabilities)


class OneVsRest(BinaryEnsemble):
    """K classifiers, class k against all others; the largest score wins.

    With ``doubt`` a row belongs to the one class that claims it (score above zero) and is in doubt
    where none or several do. Two classes need one classifier, which always decides.

    Parameters
    ----------
    estimator : classifier of two classes.
    doubt : bool, default=False
        Whether rows that no class or several claim are answered ``reject_label``.
    reject_label : default="reject"

    Attributes
    ----------
    estimators_ : the classifiers in the order of ``classes_`` (one for two classes).
    """

    def _parts(self, rows: Labelled) -> Iterator[Labelled]:
        for k in range(len(self.classes_)):
            yield Labelled(rows.x, (rows.y == k).astype(np.int64), rows.w)

    def _by_class(self, scores: Floats) -> Floats:
        return scores

    def _claimed(self, scores: Floats) -> NDArray[np.bool_]:
        return scores > 0

    @_if_probabilities
    def predict_proba(self, X: Any) -> Floats:
        """The probabilities against the rest, divided by their sum."""
        x = self._design(X)
        p = np.stack([m.predict_proba(x)[:, 1] for m in self.estimators_], axis=1)
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - p, p])
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])


class OneVsOne(BinaryEnsemble):
    """K(K − 1)/2 classifiers, one for each pair of classes.

    Where they give probabilities, those of the pairs are coupled: the p with Σ p = 1 that minimises
    Σᵢⱼ (rⱼᵢ pᵢ − rᵢⱼ pⱼ)², rᵢⱼ being P(i) against j (Wu, Lin and Weng's second method), and the
    most probable class wins. Else the class with most votes does, and equal votes are decided by
    the sum of the scores. With ``doubt`` a row belongs to the class that wins against every other
    one, and is in doubt where there is none.

    Parameters
    ----------
    estimator : classifier of two classes.
    doubt : bool, default=False
        Whether rows that no class wins outright are answered ``reject_label``.
    reject_label : default="reject"
    max_classes : int, default=100
        More classes are refused: the number of classifiers grows with its square.

    Attributes
    ----------
    estimators_ : the classifiers in the order (0, 1), (0, 2), …, (1, 2), …
    """

    def __init__(
        self,
        estimator: Any,
        *,
        reject: bool = False,
        reject_label: Any = "reject",
        max_classes: int = 100,
    ) -> None:
        super().__init__(estimator, reject=reject, reject_label=reject_label)
        self.max_classes = max_classes

    def _parts(self, rows: Labelled) -> Iterator[Labelled]:
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
            yield Labelled(pair.x, (pair.y == j).astype(np.int64), pair.w)

    @_if_probabilities
    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of all classes that fit those of the pairs best."""
        return couple(self._scores(X), len(self.classes_))

    def _votes(self, scores: Floats) -> Floats:
        votes = np.zeros((len(scores), len(self.classes_)))
        for s, (i, j) in zip(scores.T, combinations(range(len(self.classes_)), 2), strict=True):
            votes[:, i] += s <= 0
            votes[:, j] += s > 0
        return votes

    def _by_class(self, scores: Floats) -> Floats:
        """Probabilities; or votes, and less than half a vote for how clearly they were won."""
        if _gives_probabilities(self):
            return couple(scores, len(self.classes_))
        total = np.zeros((len(scores), len(self.classes_)))
        for s, (i, j) in zip(scores.T, combinations(range(len(self.classes_)), 2), strict=True):
            total[:, i] -= s
            total[:, j] += s
        return self._votes(scores) + total / (3.0 * (np.abs(total) + 1.0))

    def _claimed(self, scores: Floats) -> NDArray[np.bool_]:
        return np.asarray(self._votes(scores) == len(self.classes_) - 1)
