"""Meta-classifiers: fitting, scoring, certifying and cross-validating what they wrap."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import log_expit, logit
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing, assert_all_finite, column_or_1d, get_tags, indexable
from sklearn.utils.validation import has_fit_parameter

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import base
from separatrix.estimators.base import codes_of
from separatrix.estimators.class_labels import two_or_more
from separatrix.estimators.extrapolation import extrapolates
from separatrix.messages import InputError
from separatrix.mixins import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from separatrix.optimize.convex import Certificate
from separatrix.rows.parts import Hashes
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Schema, check_sample_weight
from separatrix.rows.split import TOGETHER
from separatrix.selection.folds import copies_of, folds_of

_collecting: ContextVar[bool] = ContextVar("collecting", default=False)


@dataclass(frozen=True)
class LabeledRows:
    """Rows of any kind, a label for each, and weights (None: all one)."""

    x: Any
    y: NDArray[Any]
    w: Floats | None

    def take(self, index: NDArray[Any]) -> LabeledRows:
        """Some of the rows, by position."""
        x = self.x.take(index) if isinstance(self.x, InMemory) else _safe_indexing(self.x, index)
        return LabeledRows(x, self.y[index], None if self.w is None else self.w[index])

    def split(
        self, estimator: Any, train: NDArray[Any], test: NDArray[Any]
    ) -> tuple[LabeledRows, LabeledRows]:
        """Training and test rows as the estimator takes them: compared with its training rows."""
        parts = self.take(train), self.take(test)
        if not is_pairwise(estimator):
            return parts
        train_parts, other = (replace(part, x=columns_of(part.x, train)) for part in parts)
        return train_parts, other

    def copies(self, at: NDArray[np.int64], consequence: str = TOGETHER) -> Hashes | None:
        """A key that rows share with their copies, if chance does not explain these: SEP009."""
        some = self.take(at)
        y = some.y if some.y.dtype.kind == "f" else some.y.astype(str)
        return copies_of(some.x, y, consequence)

    @property
    def positive_weight(self) -> NDArray[np.int64]:
        """Positions of the rows with positive weight."""
        return np.flatnonzero(np.ones(len(self.y), dtype=bool) if self.w is None else self.w > 0)


def is_pairwise(estimator: Any) -> bool:
    """Whether ``X`` compares rows with the training rows: a Gram matrix, or distances."""
    return bool(get_tags(estimator).input_tags.pairwise)


def takes_structures(estimator: Any) -> bool:
    """Whether the estimator compares Python objects: strings, sets, trees, graphs."""
    return bool(getattr(estimator, "_structures", False))


def columns_of(x: Any, index: NDArray[Any]) -> Any:
    """Some columns of a matrix, by position: one for each training row."""
    if isinstance(x, Rows):
        raise InputError(
            "Folds of a Gram matrix or of distances need a matrix, and a table was given.",
            remedy="Give X and y.",
        )
    return _safe_indexing(x if hasattr(x, "shape") else np.asarray(x), index, axis=1)


def labeled_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> LabeledRows:
    """Rows, labels and weights given to ``fit``; a table brings its own labels and weights."""
    if isinstance(X, Rows):
        base.refuse_targets(y, sample_weight)
        rows = base.with_classes(X).read()
        levels = base.classes(rows.block.targets)
        labels = base.labels_in_order(rows.schema.targets[0], levels)
        return LabeledRows(rows, labels[rows.block.y.argmax(axis=1)], rows.block.w)
    base.require_labels(model, y)
    base.refuse_missing_labels(y)
    with base.in_words(y=y):
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
    base.check_labels(labels)
    X, labels = indexable(X, labels)
    return LabeledRows(X, np.asarray(labels), check_sample_weight(sample_weight, len(labels)))


def numbered_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> LabeledRows:
    """Rows with one number each as target, and weights, given to ``fit``."""
    if isinstance(X, Rows):
        base.refuse_targets(y, sample_weight)
        rows = X.read()
        base.one_number(rows.block.targets)
        return LabeledRows(rows, rows.block.y[:, 0], rows.block.w)
    base.require_labels(model, y)
    with base.in_words(y=y):
        numbers = column_or_1d(y, warn=True, dtype=np.float64)
        assert_all_finite(numbers, input_name="y")
    X, numbers = indexable(X, numbers)
    return LabeledRows(X, numbers, check_sample_weight(sample_weight, len(numbers)))


@contextmanager
def warn_once() -> Iterator[None]:
    """Collect the warnings of many fits, and issue each of them once at the end.

    Within another collection, on a thread of it perhaps, there is nothing to do: the filters of
    warnings belong to the whole process.
    """
    if _collecting.get():
        yield
        return
    token = _collecting.set(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        _collecting.reset(token)
    for w in {str(warning.message): warning for warning in caught}.values():
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def require_classifier(estimator: Any) -> None:
    """Refuse anything that cannot be fitted to classes."""
    if not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise InputError(
            f"{type(estimator).__name__} is not a classifier.", remedy="Give one as estimator."
        )


def fit_wrapped(estimator: Any, rows: LabeledRows) -> Any:
    """A copy of the estimator, fitted to the rows."""
    require_classifier(estimator)
    return _fitted_copy(estimator, rows)


def fit_to_numbers(estimator: Any, rows: LabeledRows) -> Any:
    """A copy of a regression model, fitted to the rows."""
    if not hasattr(estimator, "fit") or not is_regressor(estimator):
        raise InputError(
            f"{type(estimator).__name__} is not a regression model.",
            remedy="Give one as estimator.",
        )
    return _fitted_copy(estimator, rows)


def _fitted_copy(estimator: Any, rows: LabeledRows) -> Any:
    model = clone(estimator)
    if isinstance(rows.x, Rows):
        if not isinstance(model, base.RowsEstimator | WrappedClassifier):
            raise InputError(
                f"{type(model).__name__} reads matrices, and a table was given.",
                remedy="Give X and y, or a model of this library.",
            )
        return model.fit(rows.x)
    if rows.w is None:
        return model.fit(rows.x, rows.y)
    if not has_fit_parameter(model, "sample_weight"):
        raise InputError(
            f"{type(model).__name__} takes no sample_weight.", remedy="Leave the weights out."
        )
    return model.fit(rows.x, rows.y, sample_weight=rows.w)


def decision_scores(model: Any, X: Any) -> Floats:
    """Scores (n) for the second of two classes, or (n x K), as calibrations take them.

    Of several classes log odds are taken if the model has probabilities, since scores such as log
    densities share a term in x and are only comparable within a row.
    """
    k = len(model.classes_)
    if hasattr(model, "predict_proba") and (k > 2 or not hasattr(model, "decision_function")):
        scores = log_odds(model.predict_proba(X))
    else:
        scores = np.asarray(model.decision_function(X), dtype=float)
    if scores.shape[1:] != (() if k == 2 else (k,)):
        raise InputError(
            f"{type(model).__name__} gives scores of shape {scores.shape} for {k} classes.",
            remedy="One score per class is needed: choose a one-against-the-rest form of it.",
        )
    return scores


def joint_scores(model: Any, scores: Floats) -> Floats:
    """Scores of :func:`decision_scores` as (n x K) whose softmax are the probabilities."""
    if scores.ndim == 1:
        return np.column_stack([np.zeros(len(scores)), scores])
    return np.asarray(log_expit(scores)) if hasattr(model, "predict_proba") else scores


def log_odds(probabilities: Any) -> Floats:
    """log p/(1 − p) of each class, or of the second of two; finite where p is 0 or 1."""
    p = np.asarray(probabilities, dtype=float)
    p = p[:, 1] if p.shape[1] == 2 else p
    return np.asarray(logit(np.clip(p, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)))


def schema_of(model: Any) -> Schema | None:
    """The columns that a fitted model reads from tables; None for one that reads matrices alone."""
    while hasattr(model, "estimator_"):
        model = model.estimator_
    encoding = getattr(model, "encoding_", None)
    schema = getattr(model, "schema_", None) if encoding is None else encoding.schema
    return schema if isinstance(schema, Schema) else None


def joint_certificate(claim: str, parts: Sequence[Any], *notes: str) -> Certificate:
    """The worst of several certificates, or of those of fitted models, some of other libraries.

    That of one part is its own, under the claim of the whole.
    """
    certificates = (
        p if isinstance(p, Certificate) else getattr(p, "certificate_", None) for p in parts
    )
    known: list[Certificate] = [c for c in certificates if c is not None]
    if not known:
        return Certificate(claim, notes=("No part has a certificate.", *notes), promised=())
    if len(parts) == 1:
        first = known[0]
        return replace(
            first,
            claim=f"{claim}. {first.claim}",
            primal=np.nan,  # the objective is that of the part
            dual=np.nan,
            gap=first.relative_gap,
            rounding=first.relative_rounding,
            scale=np.nan,
            notes=(*first.notes, *notes),
        )
    worst = max(known, key=lambda c: (not c.holds, _violation(c)))
    return Certificate(
        claim,
        gap=worst.relative_gap,
        rounding=worst.relative_rounding,
        kkt=worst.kkt,
        tolerance=worst.tolerance,
        notes=(*_parts_in_words(known, len(parts)), *notes),
        promised=worst.promised,
    )


def _parts_in_words(known: Sequence[Certificate], count: int) -> list[str]:
    """How many parts are certified, and what the first says that is not."""
    failed = [certificate for certificate in known if not certificate.holds]
    absent = count - len(known)
    text = []
    if failed:
        verb = "falls" if len(failed) == 1 else "fall"
        text.append(f"{len(failed)} of {count} parts {verb} short: {failed[0].claim}.")
    elif not absent:
        text.append(
            "Both parts are certified." if count == 2 else f"All {count} parts are certified."
        )
    if absent:
        text.append(f"{absent} of {count} parts {'has' if absent == 1 else 'have'} no certificate.")
    return text


def _violation(certificate: Certificate) -> float:
    """The KKT residual in units of the tolerance; 0 where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.divide(certificate.kkt, certificate.tolerance), nan=0.0))


class Wrapper(MetaEstimatorMixin, BaseEstimator):
    """An estimator over another one (``estimator``), which takes what the inner one takes."""

    estimator: Any
    extrapolates = extrapolates

    @property
    def _structures(self) -> bool:
        return takes_structures(self.estimator)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


class WrappedClassifier(ClassifierMixin, Wrapper):
    """A classifier that wraps another one, ``estimator_`` once fitted."""

    estimator: Any
    estimator_: Any
    classes_: NDArray[Any]
    certificate_: Certificate

    def _expose(self, model: Any) -> Self:
        """Expose the columns and classes of the fitted estimator."""
        self.estimator_, self.classes_ = model, model.classes_
        for name in ("n_features_in_", "feature_names_in_", "encoding_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = get_tags(self.estimator).input_tags.pairwise
        return tags


# -------------------------------------------------------------------------------------------------
# Probabilities of every row, by a model that has not seen it.


@dataclass(frozen=True)
class CrossValidatedProbabilities:
    """``probabilities`` (n x K) of ``classes``, and the position of each row's own class."""

    classes: NDArray[Any]
    truth: Ints
    probabilities: Floats


def cross_validate_probabilities(
    estimator: Any, X: Any, y: Any = None, *, cv: Any = 5
) -> CrossValidatedProbabilities:
    """Probabilities of the rows of each fold by a copy fitted to the other folds.

        p(row) = model fitted without the fold of the row

    Parameters
    ----------
    estimator : classifier
        A classifier with ``predict_proba``; a :class:`~separatrix.CalibratedClassifier` is
        calibrated within the training rows of each fold.
    X : array-like of shape (n, d) or Rows
        Features, or a table with its labels.
    y : array-like of shape (n,), default=None
        Labels, where ``X`` is not a table.
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds is stratified by class.

    Returns
    -------
    CrossValidatedProbabilities
        ``classes``, ``truth`` and ``probabilities``, in the order of the rows.

    See Also
    --------
    separatrix.CalibratedClassifier : Calibrated probabilities for any classifier.
    separatrix.RejectOption : Decisions of least expected cost.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.estimators.wrapped import cross_validate_probabilities
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "a", "b", "b"]
    >>> found = cross_validate_probabilities(sx.LogisticRegression(), X, y, cv=3)
    >>> found.probabilities[:, 1].round(1)
    array([0. , 0.3, 0.2, 0.8, 0.7, 1. ])
    """
    rows = labeled_rows(estimator, X, y, None)
    labels = np.unique(rows.y)
    two_or_more(labels.tolist())
    codes = codes_of(rows.y, labels)
    every = np.arange(len(codes))
    folds = folds_of(cv, len(codes), codes=codes, copied=lambda: rows.copies(every))
    with warn_once():
        parts = folds.map(lambda train, test: _of_fold(estimator, rows, train, test, labels))
    return CrossValidatedProbabilities(labels, codes, folds.out_of_fold(parts))


def _of_fold(
    estimator: Any, rows: LabeledRows, train: Ints, test: Ints, classes: NDArray[Any]
) -> Floats:
    train_rows, other = rows.split(estimator, train, test)
    model = fit_wrapped(estimator, train_rows)
    if len(model.classes_) != len(classes):
        known = set(model.classes_.tolist())
        absent = next(label for label in classes.tolist() if label not in known)
        raise InputError(
            f"Class {absent!r} is absent from the training rows of a fold.",
            remedy="Give at least two rows of each class.",
        )
    return np.asarray(model.predict_proba(other.x), dtype=float)
