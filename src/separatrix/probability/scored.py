"""Rows of two classes with a score each: what thresholds and calibrations are learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Floats

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Scored:
    """``hit`` marks the rows of the positive class; ``w`` is None where all weights are one."""

    score: Floats
    hit: Flags
    w: Floats | None
    classes: NDArray[Any]
    positive: Any

    @property
    def weights(self) -> Floats:
        """One number per row."""
        return np.ones(self.score.size) if self.w is None else self.w

    def of_class(self, hit: bool) -> tuple[Floats, Floats | None]:
        """Scores and weights of the positive rows, or of the others."""
        rows = self.hit if hit else ~self.hit
        return self.score[rows], None if self.w is None else self.w[rows]


def scored(
    purpose: str, y: Any, score: Any, sample_weight: Any = None, *, positive: Any = None
) -> Scored:
    """Check and pair labels with scores; rows of no weight are gone.

    The positive class is by default the second of the two.
    """
    truth, s, w = _checked(y, score, sample_weight)
    classes, hit = _two_classes(truth)
    if hit is None:
        raise InputError(
            f"{purpose} compares two classes; the rows hold {classes.size}.",
            remedy="Compare one class with the rest: give y == label.",
        )
    if positive is None:
        positive = classes[1]
    elif positive not in classes:
        raise InputError(f"No row is of the positive class {positive!r}; found {list(classes)}.")
    elif positive == classes[0]:
        hit = ~hit
    return Scored(s, hit, w, classes, positive)


def _checked(y: Any, score: Any, sample_weight: Any) -> tuple[NDArray[Any], Floats, Floats | None]:
    """Three vectors of one length; rows of no weight are gone."""
    truth, s = np.asarray(y), np.asarray(score, dtype=float)
    if truth.ndim != 1 or truth.shape != s.shape:
        raise InputError(f"y has shape {truth.shape} and score {s.shape}: one score per row.")
    if not np.isfinite(s).all():
        row = int(np.flatnonzero(~np.isfinite(s))[0])
        raise InputError(f"The score is {s[row]}, which has no place in an order.", row=row)
    w = checked_weights(sample_weight, s.size)
    if w is None or w.all():
        return truth, s, w
    keep = w > 0
    return truth[keep], s[keep], w[keep]


def unit_of(values: Floats) -> float:
    """The power of two next below the largest size: dividing by it loses no digit.

    Squares and products of what is left can neither overflow nor vanish.
    """
    largest = float(np.abs(values).max(initial=0.0))
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)) if largest else 1.0


def checked_weights(sample_weight: Any, n: int) -> Floats | None:
    """One finite number that is not negative per row, or None."""
    if sample_weight is None:
        return None
    w = np.asarray(sample_weight, dtype=float)
    if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any():
        raise InputError("sample_weight must hold one finite number ≥ 0 per row.")
    if n and not w.any():
        raise InputError("sample_weight is zero for every row: nothing is left to learn from.")
    return w


def _two_classes(truth: NDArray[Any]) -> tuple[NDArray[Any], Flags | None]:
    """The classes in order, and the rows of the second if there are just two.

    Numbers need no sorting for that: the classes are the least and the largest.
    """
    if truth.dtype.kind in "biuf" and truth.size:
        ends = np.array([truth.min(), truth.max()])
        hit = truth == ends[1]
        if ends[0] != ends[1] and (hit | (truth == ends[0])).all():
            return ends, hit
    classes = np.unique(truth)
    return classes, truth == classes[1] if classes.size == 2 else None
