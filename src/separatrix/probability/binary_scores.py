"""Labels of two classes paired with scores: input of ROC curves and calibrations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Floats, check_sample_weight, unit_weights

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class BinaryScores:
    """A score for each row, whether it is of the positive class, and its weight (None: all one)."""

    score: Floats
    is_positive: Flags
    w: Floats | None
    classes: NDArray[Any]
    positive: Any

    @property
    def weights(self) -> Floats:
        """The weight of each row."""
        return unit_weights(self.w, self.score.size)

    def of_class(self, is_positive: bool) -> tuple[Floats, Floats | None]:
        """Scores and weights of the positive rows, or of the others."""
        rows = self.is_positive if is_positive else ~self.is_positive
        return self.score[rows], None if self.w is None else self.w[rows]


def binary_scores(
    purpose: str, y: Any, score: Any, sample_weight: Any = None, *, positive: Any = None
) -> BinaryScores:
    """Pair labels with scores, checked; rows of weight zero are dropped.

    The positive class is by default the second of the two.
    """
    truth, s, w = _checked(y, score, sample_weight)
    classes, is_positive = _two_classes(truth)
    if is_positive is None:
        raise InputError(
            f"{purpose} compares two classes; the rows hold {classes.size}.",
            remedy="Compare one class with the rest: give y == label.",
        )
    if positive is None:
        positive = classes[1]
    elif positive not in classes:
        raise InputError(f"No row is of the positive class {positive!r}; found {list(classes)}.")
    elif positive == classes[0]:
        is_positive = ~is_positive
    return BinaryScores(s, is_positive, w, classes, positive)


def _checked(y: Any, score: Any, sample_weight: Any) -> tuple[NDArray[Any], Floats, Floats | None]:
    """Labels, scores and weights of equal length; rows of weight zero are dropped."""
    # pictures of ROC curves are described without what estimators need
    from separatrix.estimators.base import in_words
    from separatrix.estimators.targets import label_array

    with in_words(score=score):
        truth, s = label_array(y), np.asarray(score, dtype=float)
    if truth.ndim != 1 or truth.shape != s.shape:
        raise InputError(f"y has shape {truth.shape} and score {s.shape}: one score per row.")
    if not np.isfinite(s).all():
        row = int(np.flatnonzero(~np.isfinite(s))[0])
        raise InputError(f"The score is {s[row]}, which cannot be ranked.", row=row + 1)
    w = check_sample_weight(sample_weight, s.size, any_size=True)
    if w is None or w.all():
        return truth, s, w
    positive = w > 0
    return truth[positive], s[positive], w[positive]


def _two_classes(truth: NDArray[Any]) -> tuple[NDArray[Any], Flags | None]:
    """The classes in order, and the rows of the second if there are just two.

    Numbers need no sorting for that: the classes are the least and the largest.
    """
    if truth.dtype.kind in "biuf" and truth.size:
        ends = np.array([truth.min(), truth.max()])
        is_positive = truth == ends[1]
        if ends[0] != ends[1] and (is_positive | (truth == ends[0])).all():
            return ends, is_positive
    classes = np.unique(truth)
    return classes, truth == classes[1] if classes.size == 2 else None
