"""Class labels as one-hot targets or integer codes, from arrays, tables or Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.estimators import base
from separatrix.estimators.base import classes
from separatrix.kernels.structures import as_list
from separatrix.messages import InputError
from separatrix.rows import schema
from separatrix.rows.rows import ArrayRows, EncodedRows, InMemory, MappedRows, Rows
from separatrix.statistics.moments import Moments, prepare


def class_rows(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    known: Any = None,
    closed: bool = False,
    reset: bool = True,
) -> Rows:
    """Training rows with one-hot targets; sets ``classes_`` from ``X, y``.

    Classes whose rows all have weight zero are absent. Other labels than those ``known`` are
    refused where these are ``closed``.
    """
    expect_labels(model, X, y)

    def encode(labels: Any) -> tuple[Floats, list[schema.Term]]:
        model.classes_ = present_labels(labels, sample_weight, known, closed)
        hot = (np.asarray(labels)[:, None] == model.classes_).astype(np.float64)
        return hot, [*label_terms(model.classes_)]

    rows: Rows = model._training_rows(X, y, sample_weight, encode_target=encode, reset=reset)
    return rows


def rows_with_codes(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    known: Any = None,
    closed: bool = False,
    reset: bool = True,
    one_class: bool = False,
) -> ArrayRows:
    """Training rows from arrays, whose parts are integer class codes.

    The cost does not depend on the number of classes. A row of weight zero may have any code. All
    rows may be of ``one_class``, where that is said.
    """
    expect_labels(model, X, y)
    codes = np.empty(0, dtype=np.int64)

    def encode(labels: Any) -> tuple[Floats, list[schema.Term]]:
        nonlocal codes
        model.classes_ = present_labels(labels, sample_weight, known, closed)
        if not one_class:
            two_or_more(model.classes_.tolist())
        codes = label_positions(labels, model.classes_)
        return np.empty((len(labels), 0)), []

    rows = model._training_rows(X, y, sample_weight, encode_target=encode, reset=reset)
    assert isinstance(rows, ArrayRows)
    return rows.with_parts(codes)


def expect_labels(model: Any, X: Any, y: Any) -> None:
    """Refuse missing labels; forget ``classes_`` where they are set from a table."""
    if isinstance(X, Rows):
        model.__dict__.pop("classes_", None)  # set from the table
    else:
        base.require_labels(model, y)
        base.refuse_missing_labels(y)


def label_terms(labels: NDArray[Any], column: str = "y") -> schema.Terms:
    """The one-hot term of each label."""
    return schema.Terms(tuple(schema.Term(column, str(label)) for label in labels.tolist()))


def class_terms(
    model: Any, rows: Rows, targets: schema.Terms, *, one_class: bool = False
) -> schema.Terms:
    """The one-hot terms in the order of ``classes_``."""
    levels = classes(targets)
    if not hasattr(model, "classes_"):
        model.classes_ = base.class_labels(rows.schema.targets[0], levels)
    if not one_class:
        two_or_more(model.classes_.tolist())
    return label_terms(model.classes_, rows.schema.targets[0].name)


def label_scores(scores: Floats, labels: NDArray[Any]) -> NDArray[Any]:
    """The class of every row: by the sign of one score, or by the largest of several."""
    chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(labels[chosen])


def known_classes(model: Any, X: Any, classes: Any) -> Any:
    """Labels that ``partial_fit`` accepts: those of earlier calls, and these; no tables."""
    if isinstance(X, Rows):
        raise InputError(
            "partial_fit takes numeric X and labels y.", remedy="Call fit for a table."
        )
    before = getattr(model, "classes_", None)
    if classes is None:
        return before
    stated = np.unique(np.asarray(classes))
    if before is not None and not np.isin(before, stated).all():
        raise InputError(
            f"classes={stated.tolist()} leaves out classes seen before: {before.tolist()}.",
            remedy="Give all classes in the first call, or none.",
        )
    return stated


def present_labels(
    labels: NDArray[Any], sample_weight: Any, known: Any, closed: bool = False
) -> NDArray[Any]:
    """Sorted labels of the rows with positive weight, and those ``known`` before."""
    base.check_labels(labels)
    w = schema.check_sample_weight(sample_weight, len(labels))
    present = _distinct(labels if w is None else labels[w > 0])
    if known is None:
        return present
    together = np.unique(np.concatenate([known, present]))
    if closed and len(together) > len(known):
        other = np.setdiff1d(present, known).tolist()
        raise InputError(
            f"The target label(s) {other[:12]} in y do not exist in the initial classes "
            f"{np.asarray(known).tolist()[:12]}.",
            remedy="List all labels in classes.",
        )
    return together


def _distinct(labels: NDArray[Any]) -> NDArray[Any]:
    """Sorted distinct labels; integers in a narrow range are counted, which beats sorting."""
    low = _smallest_of_range(labels)
    if low is None:
        return np.unique(labels)
    there = np.bincount(_offset(labels, low))
    return (np.flatnonzero(there) + low).astype(labels.dtype)


def label_positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each label among the sorted classes; any position for a label of none."""
    low = _smallest_of_range(labels) if classes.dtype == labels.dtype else None
    if low is None:
        return np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    span = np.arange(low, int(labels.max()) + 1, dtype=classes.dtype)
    if np.array_equal(span, classes):  # a copy: models may keep the codes
        return np.array(_offset(labels, low))
    table = np.minimum(np.searchsorted(classes, span), len(classes) - 1)
    return np.asarray(table[_offset(labels, low)])


def _smallest_of_range(labels: NDArray[Any]) -> int | None:
    """The smallest of integer labels in a narrow range; None for any other labels."""
    if labels.dtype.kind not in "iu" or not len(labels):
        return None
    low, high = int(labels.min()), int(labels.max())
    return low if high - low < 10_000 and high < 2**62 else None


def _offset(labels: NDArray[Any], low: int) -> NDArray[np.int64]:
    whole = labels.astype(np.int64, copy=False)
    return whole - low if low else whole


def two_or_more(labels: Iterable[object]) -> None:
    """Raise if there is only one class."""
    known = list(labels)
    if len(known) < 2:
        only = f" ({known[0]!r})" if known else ""
        raise InputError(
            f"The target has only one class{only}: a classifier needs at least two.",
            remedy="Give rows of at least two classes.",
        )


def refuse_singletons(n: int, labels: NDArray[Any]) -> None:
    """Raise if each of many rows is a class of its own, where pairs of classes are compared."""
    # Classes of one row each for which pairs of classes are still few.
    if n > 20 and len(labels) == n:
        first, second = labels[:2].tolist()
        raise InputError(
            f"Each of the {n} rows is a class of its own ({first!r}, {second!r}, …): no class has "
            "a second row to learn from.",
            remedy="Is the target a number or an identifier? Use a regressor, or another column.",
        )


@dataclass(frozen=True)
class CodedRows:
    """Design matrix, class codes and weights of the rows of positive weight, and the encoding.

    ``rows`` are their numbers among all ``n_samples`` rows. ``w`` is ``sample_weight`` times the
    ``class_weight`` of the row's class.
    """

    x: Matrix
    codes: Ints
    w: Floats
    encoding: schema.Encoding
    rows: Ints
    n_samples: int
    sample_weight: Floats
    class_weight: Floats = field(default_factory=lambda: np.ones(0))


def coded_rows(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weight: Any = None,
    *,
    one_class: bool = False,
) -> CodedRows:
    """Coded rows of the arguments of ``fit``; sets ``classes_``, which may be ``one_class``."""
    if not isinstance(X, Rows):
        arrays = rows_with_codes(model, X, y, sample_weight, one_class=one_class)
        coded = coded_arrays(arrays)
    else:
        rows = class_rows(model, X, y, sample_weight)
        prepared = prepare(rows)
        terms = class_terms(model, rows, prepared.targets, one_class=one_class)
        block = prepared.rows.collect()
        coded = _positive_weight(block, block.codes(terms), prepared.encoding)
    return _with_class_weights(coded, class_weight, model.classes_)


def coded_items(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weight: Any = None,
    known: Any = None,
) -> CodedRows:
    """Coded Python objects, for a kernel on structures; sets ``classes_``, which may be known."""
    expect_labels(model, X, y)
    if isinstance(X, Rows):
        raise InputError("A kernel on structures takes lists of objects, no tables.")
    for name in ("feature_names_in_", "encoding_"):
        model.__dict__.pop(name, None)
    model.n_features_in_ = 1  # one object for each row
    labels = column_or_1d(y)
    check_consistent_length(X, labels)
    model.classes_ = present_labels(labels, sample_weight, known, closed=known is not None)
    two_or_more(model.classes_.tolist())
    w = schema.unit_weights(schema.check_sample_weight(sample_weight, len(labels)), len(labels))
    rows = np.flatnonzero(w > 0.0)
    codes = label_positions(labels, model.classes_)[rows]
    items: Any = schema.take_items(as_list(X), rows)
    no_columns: Any = None
    codes, w_positive, n = codes.astype(np.int64), w[rows], len(w)
    coded_rows = CodedRows(items, codes, w_positive, no_columns, rows, n, w_positive)
    return _with_class_weights(coded_rows, class_weight, model.classes_)


def coded_arrays(rows: ArrayRows) -> CodedRows:
    """Coded rows of arrays, whose parts are the class codes."""
    return _positive_weight(rows.block, rows.block.parts, schema.identity(rows.schema))


def _positive_weight(block: schema.Block, codes: Any, encoding: schema.Encoding) -> CodedRows:
    w = block.weights
    x, codes = block.x, np.asarray(codes, dtype=np.int64)
    rows = np.flatnonzero(w > 0.0)
    if len(rows) < block.n:
        x, codes, w = x[rows], codes[rows], w[rows]
    w = np.asarray(w, dtype=np.float64)
    return CodedRows(x, codes, w, encoding, rows, block.n, w)


def _with_class_weights(coded: CodedRows, given: Any, labels: NDArray[Any]) -> CodedRows:
    """Weights multiplied by those of the classes; None changes nothing."""
    if given is None:
        return replace(coded, class_weight=np.ones(len(labels)))
    total = np.bincount(coded.codes, coded.w, len(labels)).astype(np.float64)
    factor = weights_by_class(given, labels.tolist(), total)
    return replace(coded, w=coded.w * factor[coded.codes], class_weight=factor)


def outputs_of(classes: int) -> Ints:
    """The positive class of each output: the second of two, or each of several."""
    return np.array([1]) if classes == 2 else np.arange(classes)


# -------------------------------------------------------------------------------------------------
# The one reader of ``class_weight``: a factor for every class, multiplied into the row weights.


def weights_by_class(given: Any, labels: list[Any], total: Floats) -> Floats:
    """One positive factor for each class; ``total`` holds the class weights Wₖ before.

    "balanced" is W / (K Wₖ): afterwards every class weighs W / K. Classes that a mapping leaves out
    have the factor 1. A factor of zero would remove a class from ``classes_`` silently: refused.
    """
    if isinstance(given, str) and given == "balanced":
        return np.asarray(total.sum() / (len(total) * total))
    if not isinstance(given, Mapping):
        raise InputError(
            f"class_weight={given!r} is not a mapping.", remedy="Use 'balanced' or {…}."
        )
    unknown = [key for key in given if key not in labels]
    if unknown:
        raise InputError(
            f"class_weight names {unknown[0]!r}, and the classes are {labels[:12]}.",
            remedy="Write the labels as they are in the target.",
        )
    factor = np.array([float(given.get(label, 1.0)) for label in labels])
    if not (np.isfinite(factor) & (factor >= 0.0)).all():
        raise InputError("class_weight must be finite and not negative.")
    if not factor.all():
        raise InputError(
            f"class_weight is zero for class {labels[int(np.argmin(factor))]!r}.",
            remedy="Leave its rows out instead.",
        )
    return factor


def weighted_samples(y: Any, sample_weight: Any, given: Any) -> Floats:
    """Sample weights times the weights of their classes, for labels in an array."""
    labels = column_or_1d(y)
    w = schema.unit_weights(schema.check_sample_weight(sample_weight, len(labels)), len(labels))
    known = np.unique(labels[w > 0])
    codes = base.codes_of(labels, known)
    total = np.bincount(codes[w > 0], w[w > 0], len(known)).astype(np.float64)
    factor = weights_by_class(given, known.tolist(), total)
    return w * np.where(codes < 0, 0.0, factor[codes])


@dataclass(frozen=True)
class ClassFactors:
    """Multiplies the weights of rows by the factor of their class, block by block."""

    factor: dict[schema.Term, float]

    def apply(self, block: schema.Block) -> schema.Block:
        """The block with its new weights."""
        by_row = block.y @ np.array([self.factor.get(term, 0.0) for term in block.targets])
        return replace(block, w=by_row if block.w is None else by_row * block.w)


def weighted_rows(rows: Rows, given: Any) -> Rows:
    """A table whose weights are multiplied by those of the classes; balancing costs one pass."""
    if isinstance(rows, EncodedRows):
        return EncodedRows(weighted_rows(rows.rows, given), rows.encoding)
    moments = rows.reduce(Moments())
    present = moments.y_mean > 0.0
    targets = [term for term, there in zip(moments.targets, present, strict=True) if there]
    total = moments.weight * moments.y_mean[present]
    labels = base.labels_in_order(rows.schema.targets[0], classes(targets)).tolist()
    factors = weights_by_class(given, labels, total)
    through = ClassFactors(dict(zip(targets, factors.tolist(), strict=True)))
    if not isinstance(rows, InMemory):
        return MappedRows(rows, through)
    copy = rows.take(slice(None))
    copy.block = through.apply(rows.block)
    return copy


def class_priors(given: Any, weight: Floats, *, rescaled: bool = False) -> Floats:
    """Prior probabilities: as given and checked, uniform, or the class proportions (None).

    Those that do not add up to 1 are refused, or ``rescaled``.
    """
    if given is None:
        return np.asarray(weight / weight.sum())
    if isinstance(given, str) and given == "uniform":
        return np.full(len(weight), 1.0 / len(weight))
    priors = np.asarray(given, dtype=float)
    if priors.shape != weight.shape:
        raise InputError(
            f"Number of priors must match number of classes: shape {priors.shape} for "
            f"{len(weight)} classes."
        )
    total = float(priors.sum())
    if not (priors >= 0).all():
        raise InputError(f"Class priors must be non-negative, and {priors.tolist()} are not.")
    if not (0 < total < np.inf) or (abs(total - 1.0) > 1e-5 and not rescaled):
        raise InputError(
            f"The sum of the priors should be 1: {priors.tolist()} add up to {total:.6g}."
        )
    return np.asarray(priors / total)


def require_classes(model: Any, classes: Any) -> NDArray[Any]:
    """All possible labels: stated in the first call of ``partial_fit``, the same in every other."""
    before: NDArray[Any] | None = getattr(model, "classes_", None)
    stated = None if classes is None else np.unique(np.asarray(classes))
    if stated is None:
        if before is None:
            raise InputError("classes must be passed on the first call to partial_fit.")
        return before
    if before is not None and not np.array_equal(before, stated):
        raise InputError(
            f"classes={stated.tolist()} is not the same as on last call to partial_fit, "
            f"{before.tolist()}."
        )
    return stated
