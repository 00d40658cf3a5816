"""Several classes from binary classifiers: one-vs-rest and one-vs-one, with a reject option.

The columns of a table are encoded once, and every binary classifier works on the same design.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import combinations, islice
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import class_labels, wrapped
from separatrix.estimators.base import RowsEstimator, reads_tables, validate_data
from separatrix.estimators.wrapped import log_odds
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula
from separatrix.kernels.structures import as_list
from separatrix.messages import InputError, warn
from separatrix.mixins import ClassifierMixin, MetaEstimatorMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters, describe_parameters
from separatrix.probability.calibrations import normalize
from separatrix.probability.costs import labels_with_reject
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Encoding, check_sample_weight, identity
from separatrix.statistics.moments import prepare
from separatrix.threads import MIN_PIECES, on_one_blas_thread, parallel_map

# -------------------------------------------------------------------------------------------------
# Binary classifiers that vote among several classes: fitting, scores and decisions.


@declare_parameters
class BinaryEnsemble(MetaEstimatorMixin, ClassifierMixin, RowsEstimator):
    """Binary classifiers that vote among several classes."""

    estimators_: list[Any] = field(init=False)
    encoding_: Encoding = field(init=False)
    certificate_: Certificate = field(init=False)
    pairwise_indices_: list[Ints] | None = field(init=False)

    estimator: Any
    _: KW_ONLY
    reject: bool = False
    reject_label: Any = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        wrapped.require_classifier(self.estimator)
        rows = self._code_rows(X, y, sample_weight)
        if self.reject:
            labels_with_reject(self.classes_, self.reject_label)
        if len(self.classes_) == 2:
            self.estimators_ = [wrapped.fit_wrapped(self.estimator, rows)]
        else:
            with wrapped.warn_once():
                self.estimators_ = self._each_fitted(self._parts(rows))
        return self._certify_all()

    def _each_fitted(self, parts: Iterator[wrapped.LabeledRows]) -> list[Any]:
        """A classifier for each part: on threads, some parts at a time."""
        models: list[Any] = []
        while batch := list(islice(parts, MIN_PIECES)):
            models += self._on_threads(
                lambda part: wrapped.fit_wrapped(self.estimator, part), batch
            )
        return models

    def _on_threads(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """``work`` for each item; classifiers of other libraries have threads of their own."""
        if type(self.estimator).__module__.startswith("separatrix."):
            return parallel_map(work, items)
        return [work(item) for item in items]

    def _certify_all(self) -> Self:
        self.certificate_ = wrapped.joint_certificate(
            f"{len(self.estimators_)} binary classifiers for {len(self.classes_)} classes",
            self.estimators_,
        )
        return self

    @property
    def _structures(self) -> bool:
        return wrapped.takes_structures(self.estimator)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _code_rows(self, X: Any, y: Any, sample_weight: Any) -> wrapped.LabeledRows:
        """Design, class codes and weights of the rows with positive weight."""
        self.pairwise_indices_ = None
        if self._structures:
            coded = class_labels.coded_items(self, X, y, sample_weight)
            return wrapped.LabeledRows(
                coded.x, coded.codes, None if sample_weight is None else coded.w
            )
        if isinstance(X, Rows):
            table = class_labels.class_rows(self, X, y, sample_weight)
            prepared = prepare(table)
            terms = class_labels.class_terms(self, table, prepared.targets)
            block = prepared.rows.collect()
            block = block.aligned(block.terms, terms)
            self.encoding_, codes = prepared.encoding, block.y.argmax(axis=1)
        else:
            rows = class_labels.rows_with_codes(self, X, y, sample_weight)
            block, self.encoding_ = rows.block, identity(rows.schema)
            assert block.parts is not None
            codes = block.parts
        class_labels.refuse_singletons(len(codes), self.classes_)
        all_rows = wrapped.LabeledRows(block.x, codes, block.w)
        weighted = all_rows.positive_weight
        if wrapped.is_pairwise(self.estimator) or len(weighted) == len(codes):
            return all_rows
        return all_rows.take(weighted)

    def _inputs(self, X: Any) -> list[Any]:
        """New rows as each classifier takes them: compared with its own training rows."""
        check_is_fitted(self)
        x: Any = as_list(X) if self._structures else self._design(X)
        indices = getattr(self, "pairwise_indices_", None) or [None] * len(self.estimators_)
        return [x if columns is None else wrapped.columns_of(x, columns) for columns in indices]

    @abstractmethod
    def _parts(self, rows: wrapped.LabeledRows) -> Iterator[wrapped.LabeledRows]:
        """The rows of each binary classifier, labeled 0 and 1."""

    def _scores(self, X: Any) -> Floats:
        """One column for each binary classifier, positive for its class 1."""
        inputs = self._inputs(X)
        pairs = list(zip(self.estimators_, inputs, strict=True))
        if gives_probabilities(self):
            columns = self._on_threads(lambda pair: log_odds(pair[0].predict_proba(pair[1])), pairs)
        else:
            columns = self._on_threads(lambda pair: wrapped.decision_scores(*pair), pairs)
        return np.stack(columns, axis=1)

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else self._by_class(scores)

    @abstractmethod
    def _by_class(self, scores: Floats) -> Floats:
        """One score for each class from those of the binary classifiers."""

    @abstractmethod
    def _accept_scores(self, scores: Floats) -> NDArray[np.bool_]:
        """Which classes accept a row (n x K)."""

    @on_one_blas_thread
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
            accepted = self._accept_scores(scores)
            accepted_once = accepted.sum(axis=1) == 1
            chosen = np.where(accepted_once, accepted.argmax(axis=1), len(self.classes_))
        return np.asarray(labels_with_reject(self.classes_, self.reject_label)[chosen])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Fraction of rows predicted right; a rejected row is not."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        tags.input_tags.pairwise = wrapped.is_pairwise(self.estimator)
        return tags

    def _members(self) -> tuple[list[nodes.ClassFormula], nodes.Node]:
        """The formulas of the binary classifiers, and their scores, positive for class 1."""
        if self.pairwise_indices_:
            raise NoFormula("Pairs of classes with precomputed kernels have no export.")
        if self._structures:
            raise NoFormula("The kernel compares objects, and a formula has numbers only.")
        x = nodes.design_of(self)
        members = [nodes.at_rows(x, nodes.class_formula_of(one)) for one in self.estimators_]
        if gives_probabilities(self):
            odds = [nodes.decision_scores(replace(one, scores=None)) for one in members]
            return members, nodes.Joined(tuple(odds))
        return members, nodes.Joined(tuple(nodes.decision_scores(one) for one in members))

    def _formula_of(
        self,
        scores: nodes.Node,
        by_class: nodes.Node,
        accepted: nodes.Node,
        p: nodes.Node | None,
    ) -> nodes.ClassFormula:
        """The largest score; with ``reject`` the only class that accepts a row."""
        labels, k = self.classes_, len(self.classes_)
        if self.reject:
            labels = labels_with_reject(self.classes_, self.reject_label)
        if k == 2:
            chosen: nodes.Node = nodes.ChosenLabel(scores, one=True)
            return nodes.ClassFormula(chosen, labels, scores, p, decided_by=scores, by_sign=True)
        chosen = nodes.ChosenLabel(by_class, one=False)
        if self.reject:
            chosen = nodes.OneClaim(accepted, k)
        return nodes.ClassFormula(chosen, labels, by_class, p, decided_by=by_class)


def gives_probabilities(ensemble: BinaryEnsemble) -> bool:
    """Whether the classifiers do, or would."""
    members = getattr(ensemble, "estimators_", [ensemble.estimator])
    return all(hasattr(member, "predict_proba") for member in members)


@describe_parameters
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

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        A matrix ``y`` of zeros and ones has a column for each label that a row may have; one that
        is the same in every row is predicted so, with a warning.
        """
        several = sparse.issparse(y) or np.asarray(y).ndim == 2
        self.multilabel_ = bool(several and type_of_target(y) == "multilabel-indicator")
        if not self.multilabel_:
            return super().fit(X, y, sample_weight)
        wrapped.require_classifier(self.estimator)
        x, labels, w = label_columns(self, X, y, sample_weight, structures=self._structures)
        self.classes_, self.pairwise_indices_ = np.arange(labels.shape[1]), None
        constant = labels.min(axis=0) == labels.max(axis=0)
        for column in np.flatnonzero(constant):
            warn("SEP016", f"label {column} is {labels[0, column]} in every row, and predicted so.")
        with wrapped.warn_once():
            models = iter(
                self._each_fitted(
                    wrapped.LabeledRows(x, indicator, w) for indicator in labels.T[~constant]
                )
            )
        self.estimators_ = [
            ConstantLabel(int(labels[0, column])) if same else next(models)
            for column, same in enumerate(constant)
        ]
        return self._certify_all()

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train every classifier on these rows too; the first call names the classes."""
        begun = hasattr(self, "estimators_")
        before = self.classes_ if begun else None
        rows = class_labels.rows_with_codes(
            self, X, y, None, known=class_labels.known_classes(self, X, classes), reset=not begun
        )
        if before is not None and len(before) != len(self.classes_):
            self.classes_ = before
            raise InputError(
                "A class is new, and training began without it.",
                remedy="Name all classes in the first call: partial_fit(X, y, classes=…).",
            )
        outputs = class_labels.outputs_of(len(self.classes_))
        if not begun:
            self.estimators_ = [clone(self.estimator) for _ in outputs]
        self.encoding_ = identity(rows.schema)
        for k, model in zip(outputs, self.estimators_, strict=True):
            model.partial_fit(
                rows.block.x, (rows.block.parts == k).astype(np.int64), classes=[0, 1]
            )
        return self._certify_all()

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        return self._scores(X) if self.multilabel_ else super().decision_function(X)

    @on_one_blas_thread
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

    def _parts(self, rows: wrapped.LabeledRows) -> Iterator[wrapped.LabeledRows]:
        for k in range(len(self.classes_)):
            yield wrapped.LabeledRows(rows.x, (rows.y == k).astype(np.int64), rows.w)

    def _by_class(self, scores: Floats) -> Floats:
        return scores

    def _accept_scores(self, scores: Floats) -> NDArray[np.bool_]:
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
        return normalize(p)

    def formula(self) -> nodes.ClassFormula:
        """The class whose classifier has the largest score, or the only one that accepts a row."""
        if self.multilabel_:
            raise NoFormula("Several labels for a row have no export.")
        members, scores = self._members()
        k, names, p = len(self.classes_), nodes.probability_names(self.classes_), None
        if gives_probabilities(self):
            own = nodes.Joined(tuple(nodes.second_probability(one) for one in members))
            p = (
                nodes.TwoColumns(own, names=names)
                if k == 2
                else nodes.Proportions(own, k, names=names)
            )
        return self._formula_of(scores, scores, nodes.Marks(scores, 0.0), p)


@declare_parameters
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
    max_classes : int, default=100
        More classes are refused: the number of classifiers grows with the square.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
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

    _: KW_ONLY
    max_classes: int = 100

    def _parts(self, rows: wrapped.LabeledRows) -> Iterator[wrapped.LabeledRows]:
        k = len(self.classes_)
        if k > self.max_classes:
            raise InputError(
                f"{k} classes make {k * (k - 1) // 2} pairs, and each needs a classifier.",
                remedy=f"Use OneVsRest, or allow it by max_classes={k}.",
            )
        order = np.argsort(rows.y, kind="stable")
        by_class = np.split(order, np.cumsum(np.bincount(rows.y, minlength=k))[:-1])
        for i, j in combinations(range(k), 2):
            both = np.sort(np.concatenate([by_class[i], by_class[j]]))
            if wrapped.is_pairwise(self.estimator):
                self.pairwise_indices_ = [*(self.pairwise_indices_ or []), both]
            pair, _ = rows.split(self.estimator, both, both[:0])
            yield wrapped.LabeledRows(pair.x, (pair.y == j).astype(np.int64), pair.w)

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

    def _accept_scores(self, scores: Floats) -> NDArray[np.bool_]:
        return np.asarray(self._votes(scores) == len(self.classes_) - 1)

    def formula(self) -> nodes.ClassFormula:
        """Coupled probabilities, or votes with sums of scores to break ties."""
        _, scores = self._members()
        k = len(self.classes_)
        against = nodes.Affine(scores, -np.eye(max(1, k * (k - 1) // 2)))
        votes = nodes.Votes(against, k, zero_is_first=True, break_ties=False)
        accepted = nodes.Marks(votes, k - 1.5)
        if gives_probabilities(self):
            p = nodes.Coupled(scores, k, names=nodes.probability_names(self.classes_))
            return self._formula_of(scores, p, accepted, p)
        by_class = nodes.Votes(against, k, zero_is_first=True, break_ties=True)
        return self._formula_of(scores, by_class, accepted, None)


# -------------------------------------------------------------------------------------------------
# A label that every training row has, or none: there is nothing to learn, and it is predicted.


@dataclass(frozen=True)
class ConstantLabel:
    """A binary classifier that gives every row the same ``label``, 0 or 1."""

    label: int

    @property
    def classes_(self) -> Ints:
        """Zero and one."""
        return np.arange(2)

    def predict(self, X: Any) -> Ints:
        """The label, for every row."""
        return np.full(_num_samples(X), self.label)

    def decision_function(self, X: Any) -> Floats:
        """The label as a score, as in scikit-learn."""
        return self.predict(X).astype(float)

    def predict_proba(self, X: Any) -> Floats:
        """One for the label, zero for the other."""
        scores = self.decision_function(X)
        return np.column_stack([1.0 - scores, scores])

    def formula(self) -> nodes.ClassFormula:
        """The same label for every row."""
        score = nodes.Constants(nodes.ComputedRows(), np.array([float(self.label)]))
        p = nodes.TwoColumns(score)
        return replace(nodes.by_score(score, self.classes_), probabilities=p)


# -------------------------------------------------------------------------------------------------
# Targets of several labels a row: a matrix of zeros and ones, a column for each label.


def label_columns(
    model: Any, X: Any, y: Any, sample_weight: Any, *, structures: bool
) -> tuple[Any, Ints, Floats | None]:
    """Rows, labels (n x L) and weights; ``structures`` are lists of objects."""
    labels = np.asarray(y.toarray() if sparse.issparse(y) else y)
    check_consistent_length(X, labels)
    labels = (labels > 0).astype(np.int64)
    model.__dict__.pop("encoding_", None)
    if structures:
        model.n_features_in_ = 1
        return list(X), labels, check_sample_weight(sample_weight, len(labels))
    x = validate_data(model, X, accept_sparse="csr", dtype=np.float64)
    return x, labels, check_sample_weight(sample_weight, len(labels))


# -------------------------------------------------------------------------------------------------
# Pairwise coupling: class probabilities from those of every pair of classes.
#
#     min over p of  Σᵢ Σⱼ≠ᵢ (rⱼᵢ pᵢ − rᵢⱼ pⱼ)²     with Σ p = 1,     rᵢⱼ = P(i | i or j)
#
# Every term vanishes if one p agrees with all pairs. This is the second method of Wu, Lin and Weng
# (2004): one linear system for each row, whose solution is never negative.


def couple(log_odds: Floats, k: int) -> Floats:
    """n x K probabilities; a column of ``log_odds`` for each pair i < j, positive for j."""
    p = np.empty((len(log_odds), k))
    # Matrix entries of the systems that are solved at a time.
    step = max(1, 2_000_000 // (k + 1) ** 2)
    for start in range(0, len(p), step):
        here = slice(start, start + step)
        p[here] = _solve_batch(log_odds[here], k)
    return p


def _solve_batch(log_odds: Floats, k: int) -> Floats:
    n = len(log_odds)
    r = np.zeros((n, k, k))
    for s, (i, j) in zip(log_odds.T, combinations(range(k), 2), strict=True):
        r[:, j, i] = np.clip(expit(s), nodes.LEAST_OF_PAIRS, 1.0 - nodes.LEAST_OF_PAIRS)
        r[:, i, j] = 1.0 - r[:, j, i]
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(k)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
