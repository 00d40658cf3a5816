"""Checks of targets: one number, several numbers, or classes; labels as integer codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.schema import Term


def numeric(targets: Iterable[Term]) -> None:
    """Raise if the target holds classes."""
    column = next((term.column for term in targets if term.level is not None), None)
    if column is not None:
        raise InputError(
            "the target holds classes, and this model predicts numbers.",
            column=column,
            remedy="Use a classifier, or read it as a number with scan(…, kinds={…: 'numeric'}).",
        )


def refuse_texts(y: Any) -> None:
    """Raise if targets in memory are texts, which this model cannot predict."""
    values = np.asarray(y) if hasattr(y, "dtype") or isinstance(y, (list, tuple)) else None
    if values is None or values.dtype.kind not in "OU" or values.ndim != 1:
        return
    row = next((i for i, value in enumerate(values.tolist()) if isinstance(value, str)), None)
    if row is None or _is_number(values[row]):
        return
    raise InputError(
        f"The target is {values[row]!r}, and this model predicts numbers.",
        row=row + 1,
        column=getattr(y, "name", None),
        remedy="Use a classifier, or give numbers.",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def one_number(targets: Iterable[Term]) -> None:
    """Raise unless the target is one numeric column."""
    terms = tuple(targets)
    numeric(terms)
    if len(terms) != 1:
        raise InputError(
            f"This model predicts one number per row, but there are {len(terms)} targets: "
            f"{', '.join(map(str, terms))}.",
            remedy="Fit each target by itself.",
        )


def classes(targets: Iterable[Term]) -> tuple[str, ...]:
    """The levels of a target that holds classes."""
    terms = tuple(targets)
    columns = {term.column for term in terms}
    if len(columns) != 1 or any(term.level is None for term in terms):
        names = ", ".join(sorted(columns))
        raise InputError(
            "a classifier needs one target that holds classes, and this one holds numbers.",
            column=names,
            remedy="Read it as classes: scan(…, kinds={…: 'discrete'}).",
        )
    return tuple(str(term.level) for term in terms)


def codes_of(labels: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each label among the known classes; −1 for any other."""
    position = {label: k for k, label in enumerate(known.tolist())}
    found, inverse = np.unique(np.asarray(labels), return_inverse=True)
    codes = np.array([position.get(label, -1) for label in found.tolist()], dtype=np.int64)
    return np.asarray(codes[inverse])


def require_labels(model: object, y: Any) -> None:
    """Refuse to fit without targets, in the words of scikit-learn."""
    if y is None:
        raise ValueError(
            f"This {type(model).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )


def with_every_class(p: Any, known: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Probabilities of the ``known`` classes with a column for each of ``classes``; zero if new."""
    found: Floats = np.asarray(p, dtype=float)
    at = codes_of(known, classes)
    if np.array_equal(at, np.arange(len(classes))):
        return found
    whole = np.zeros((len(found), len(classes)))
    whole[:, at[at >= 0]] = found[:, at >= 0]
    return whole


def known_codes(labels: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each label among the classes of the training rows; others are refused."""
    codes = codes_of(labels, known)
    if (codes < 0).any():
        unknown = np.asarray(labels)[codes < 0].tolist()[0]
        raise InputError(
            f"Class {unknown!r} was not among the training rows.",
            remedy="Leave such rows out, or train on rows of this class too.",
        )
    return codes


def label_array(labels: Any) -> NDArray[Any]:
    """Labels of any kind as an array; objects that cannot be sorted are refused."""
    found = np.asarray(labels)
    if found.dtype == object:
        check_labels(found)
    return found


def check_labels(labels: NDArray[Any]) -> None:
    """Refuse missing labels, texts mixed with numbers, and numbers that are no classes."""
    if labels.dtype.kind in "iub":  # integers are always class labels
        return
    if labels.dtype == object:
        refuse_missing_labels(labels)
        items = labels.ravel().tolist()
        if len({isinstance(item, str) for item in items}) > 1:
            raise InputError(
                "The labels mix texts with other values.", remedy="Make all of them texts."
            )
    check_classification_targets(labels)


def refuse_missing_labels(labels: Any) -> None:
    """Refuse None, NaN and pandas' NA among labels that are objects."""
    kind = getattr(labels, "dtype", None)
    if kind is None or (isinstance(kind, np.dtype) and kind.kind != "O"):
        return
    lacking = [i for i, item in enumerate(np.ravel(labels).tolist()) if _is_missing(item)]
    if lacking:
        raise InputError(
            "the label is missing.",
            row=lacking[0] + 1,
            remedy=f"Remove such rows ({len(lacking)}) first.",
        )


def _is_missing(item: Any) -> bool:
    """Whether a label is None, NaN or pandas' NA, whose comparisons have no truth value."""
    try:
        return item is None or bool(item != item)
    except TypeError:
        return True
