"""Class labels as one-hot targets or integer codes, from arrays or tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from separatrix.estimators.base import RowsEstimator, check_sample_weight
from separatrix.estimators.targets import classes, two_or_more
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term, Terms


class ClassLabels(RowsEstimator):
    """Base class of classifiers: ``classes_`` are the sorted labels."""

    classes_: NDArray[Any]

    def _class_rows(
        self, X: Any, y: Any, sample_weight: Any, *, known: Any = None, reset: bool = True
    ) -> Rows:
        """Training rows with one-hot targets; sets ``classes_`` from ``X, y``.

        Classes whose rows all have weight zero are absent.
        """
        self._expect_labels(X, y)

        def encode(labels: Any) -> tuple[Floats, list[Term]]:
            self.classes_ = _present(labels, sample_weight, known)
            hot = (np.asarray(labels)[:, None] == self.classes_).astype(np.float64)
            return hot, self._terms()

        return self._training_rows(X, y, sample_weight, encode_target=encode, reset=reset)

    def _coded_rows(
        self, X: Any, y: Any, sample_weight: Any, *, known: Any = None, reset: bool = True
    ) -> ArrayRows:
        """Training rows from arrays, whose parts are integer class codes.

        The cost does not depend on the number of classes. A row of weight zero may have any code.
        """
        self._expect_labels(X, y)
        codes = np.empty(0, dtype=np.int64)

        def encode(labels: Any) -> tuple[Floats, list[Term]]:
            nonlocal codes
            self.classes_ = _present(labels, sample_weight, known)
            two_or_more(self.classes_.tolist())
            codes = _positions(labels, self.classes_)
            return np.empty((len(labels), 0)), []

        rows = self._training_rows(X, y, sample_weight, encode_target=encode, reset=reset)
        assert isinstance(rows, ArrayRows)
        return rows.with_parts(codes)

    def _expect_labels(self, X: Any, y: Any) -> None:
        if isinstance(X, Rows):
            self.__dict__.pop("classes_", None)  # set from the table
        elif y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )

    def _terms(self, column: str = "y") -> list[Term]:
        return [Term(column, str(label)) for label in self.classes_.tolist()]

    def _class_terms(self, rows: Rows, targets: Terms) -> Terms:
        """The one-hot terms in the order of ``classes_``."""
        levels = classes(targets)
        if not hasattr(self, "classes_"):
            self.classes_ = np.array(sorted(levels), dtype=object)
        two_or_more(self.classes_.tolist())
        return Terms(tuple(self._terms(rows.schema.targets[0].name)))

    def _known_classes(self, classes: Any) -> Any:
        """Labels that ``partial_fit`` accepts: those of earlier calls, and these."""
        before = getattr(self, "classes_", None)
        if classes is None:
            return before
        stated = np.unique(np.asarray(classes))
        if before is not None and not np.isin(before, stated).all():
            raise InputError(
                f"classes={stated.tolist()} leaves out classes seen before: {before.tolist()}.",
                remedy="Give all classes in the first call, or none.",
            )
        return stated


def _present(labels: NDArray[Any], sample_weight: Any, known: Any) -> NDArray[Any]:
    """Sorted labels of the rows with positive weight, and those ``known`` before."""
    if labels.dtype.kind not in "iub":  # integers are always class labels
        check_classification_targets(labels)
    w = check_sample_weight(sample_weight, len(labels))
    present = _distinct(labels if w is None else labels[w > 0])
    return present if known is None else np.unique(np.concatenate([known, present]))


def _distinct(labels: NDArray[Any]) -> NDArray[Any]:
    """Sorted distinct labels; integers in a narrow range are counted, which beats sorting."""
    low = _smallest_of_range(labels)
    if low is None:
        return np.unique(labels)
    there = np.bincount(_offset(labels, low))
    return (np.flatnonzero(there) + low).astype(labels.dtype)


def _positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each label among the sorted classes; any position for a label of none."""
    low = _smallest_of_range(labels) if classes.dtype == labels.dtype else None
    if low is None:
        return np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    span = np.arange(low, int(labels.max()) + 1, dtype=classes.dtype)
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
