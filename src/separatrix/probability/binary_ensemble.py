"""Binary classifiers that vote among several classes: fitting, scores and decisions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels, coded_items, refuse_singletons
from separatrix.estimators.wrapped import (
    LabeledRows,
    columns_of,
    decision_scores,
    fitted,
    is_pairwise,
    joint_certificate,
    log_odds,
    require_classifier,
    takes_structures,
    warn_once,
)
from separatrix.kernels.features import as_list
from separatrix.optimize.solution import Certificate
from separatrix.probability.reject import labels_with_reject
from separatrix.rows.block import Floats, Ints
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare
from separatrix.threads import MIN_PIECES, parallel_map


class BinaryEnsemble(MetaEstimatorMixin, ClassifierMixin, ClassLabels):
    """Binary classifiers that vote among several classes."""

    estimators_: list[Any]
    encoding_: Encoding
    certificate_: Certificate
    pairwise_indices_: list[Ints] | None

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
                self.estimators_ = self._each_fitted(self._parts(rows))
        return self._certified()

    def _each_fitted(self, parts: Iterator[LabeledRows]) -> list[Any]:
        """A classifier for each part: on threads, some parts at a time."""
        found: list[Any] = []
        while batch := list(islice(parts, MIN_PIECES)):
            found += self._on_threads(lambda part: fitted(self.estimator, part), batch)
        return found

    def _on_threads(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """``work`` for each item; classifiers of other libraries have threads of their own."""
        if type(self.estimator).__module__.startswith("separatrix."):
            return parallel_map(work, items)
        return [work(item) for item in items]

    def _certified(self) -> Self:
        self.certificate_ = joint_certificate(
            f"{len(self.estimators_)} binary classifiers for {len(self.classes_)} classes",
            self.estimators_,
        )
        return self

    @property
    def _structures(self) -> bool:
        return takes_structures(self.estimator)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _coded(self, X: Any, y: Any, sample_weight: Any) -> LabeledRows:
        """Design, class codes and weights of the rows with positive weight."""
        self.pairwise_indices_ = None
        if self._structures:
            coded = coded_items(self, X, y, sample_weight)
            return LabeledRows(coded.x, coded.codes, None if sample_weight is None else coded.w)
        if isinstance(X, Rows):
            table = self._class_rows(X, y, sample_weight)
            prepared = prepare(table)
            terms = self._class_terms(table, prepared.targets)
            block = prepared.rows.collect()
            block = block.aligned(block.terms, terms)
            self.encoding_, codes = prepared.encoding, block.y.argmax(axis=1)
        else:
            rows = self._coded_rows(X, y, sample_weight)
            block, self.encoding_ = rows.block, identity(rows.schema)
            assert block.parts is not None
            codes = block.parts
        refuse_singletons(len(codes), self.classes_)
        all_rows = LabeledRows(block.x, codes, block.w)
        weighted = all_rows.positive_weight
        if is_pairwise(self.estimator) or len(weighted) == len(codes):
            return all_rows
        return all_rows.take(weighted)

    def _inputs(self, X: Any) -> list[Any]:
        """New rows as each classifier takes them: compared with its own training rows."""
        check_is_fitted(self)
        x: Any = as_list(X) if self._structures else self._design(X)
        own = getattr(self, "pairwise_indices_", None) or [None] * len(self.estimators_)
        return [x if columns is None else columns_of(x, columns) for columns in own]

    @abstractmethod
    def _parts(self, rows: LabeledRows) -> Iterator[LabeledRows]:
        """The rows of each binary classifier, labeled 0 and 1."""

    def _scores(self, X: Any) -> Floats:
        """One column for each binary classifier, positive for its class 1."""
        inputs = self._inputs(X)
        pairs = list(zip(self.estimators_, inputs, strict=True))
        if gives_probabilities(self):
            columns = self._on_threads(lambda pair: log_odds(pair[0].predict_proba(pair[1])), pairs)
        else:
            columns = self._on_threads(lambda pair: decision_scores(*pair), pairs)
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
        tags.input_tags.pairwise = is_pairwise(self.estimator)
        return tags


def gives_probabilities(ensemble: BinaryEnsemble) -> bool:
    """Whether the classifiers do, or would."""
    members = getattr(ensemble, "estimators_", [ensemble.estimator])
    return all(hasattr(member, "predict_proba") for member in members)
