"""Every threshold of a score at once: the ROC curve, its convex hull, precision and recall.

    tpr(t) = P(score ≥ t | positive),     fpr(t) = P(score ≥ t | negative)

A row of equal scores is crossed in one step, so ties give a slanted edge and count one half in the
area. The hull is the best that any choice of threshold, or a mixture of two, can reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class RocCurve:
    """Weights of the positives and negatives at or above each threshold, from (0, 0) onwards.

    ``thresholds`` fall from infinity (nothing is called positive); ``positive`` is the class that
    a high score speaks for.
    """

    thresholds: Floats
    true_positives: Floats
    false_positives: Floats
    positive: Any

    @property
    def tpr(self) -> Floats:
        """Share of the positives found at each threshold."""
        return np.asarray(self.true_positives / self.true_positives[-1])

    @property
    def fpr(self) -> Floats:
        """Share of the negatives called positive at each threshold."""
        return np.asarray(self.false_positives / self.false_positives[-1])

    def tpr_at(self, fpr: Floats) -> Floats:
        """The largest true positive rate at each false positive rate, mixing where it must.

        Between two thresholds a mixture of both reaches every point of the line that joins them.
        """
        x, y = self.fpr, self.tpr
        left = np.searchsorted(x, fpr, side="right") - 1
        right = np.minimum(left + 1, x.size - 1)
        width = x[right] - x[left]
        share = np.where(width > 0, (fpr - x[left]) / np.where(width > 0, width, 1.0), 0.0)
        return np.asarray(y[left] + share * (y[right] - y[left]))

    @property
    def area(self) -> float:
        """P(score of a positive > score of a negative) + ½ P(equal), the area by trapezoids."""
        return float(np.trapezoid(self.tpr, self.fpr))

    @cached_property
    def hull(self) -> NDArray[np.int64]:
        """Positions of the vertices of the convex hull, from (0, 0) to (1, 1).

        Found on the counts, not on the rates: products of counts are exact in float64.
        """
        from separatrix.compiled.hull import upper_hull

        return np.asarray(upper_hull(self.false_positives, self.true_positives))

    @property
    def hull_area(self) -> float:
        """The area under the hull: never below :attr:`area`."""
        return float(np.trapezoid(self.tpr[self.hull], self.fpr[self.hull]))

    @property
    def precision(self) -> Floats:
        """Share of the rows called positive that are; 1 where none is called so."""
        called = self.true_positives + self.false_positives
        return np.divide(self.true_positives, called, out=np.ones_like(called), where=called > 0)

    @property
    def average_precision(self) -> float:
        """Σ (recall − recall before) · precision over the thresholds."""
        return float(np.sum(np.diff(self.tpr) * self.precision[1:]))


def roc_curve(y: Any, score: Any, *, positive: Any = None, sample_weight: Any = None) -> RocCurve:
    """Sweep the threshold over ``score``; ``positive`` is by default the second of two classes."""
    truth, s, w = _checked(y, score, sample_weight)
    classes = np.unique(truth)
    if classes.size != 2:
        raise InputError(
            f"A ROC curve compares two classes; the rows hold {classes.size}.",
            remedy="Compare one class with the rest: roc_curve(y == label, score).",
        )
    if positive is None:
        positive = classes[1]
    elif positive not in classes:
        raise InputError(f"No row is of the positive class {positive!r}; found {list(classes)}.")
    order = np.argsort(-s, kind="stable")
    s, w, hit = s[order], w[order], (truth == positive)[order]
    last = np.append(np.flatnonzero(np.diff(s)), s.size - 1)
    return RocCurve(
        thresholds=np.concatenate([[np.inf], s[last]]),
        true_positives=np.concatenate([[0.0], np.cumsum(w * hit)[last]]),
        false_positives=np.concatenate([[0.0], np.cumsum(w * ~hit)[last]]),
        positive=positive,
    )


def _checked(y: Any, score: Any, sample_weight: Any) -> tuple[NDArray[Any], Floats, Floats]:
    """Three vectors of one length; rows of no weight are gone."""
    truth, s = np.asarray(y), np.asarray(score, dtype=float)
    if truth.ndim != 1 or truth.shape != s.shape:
        raise InputError(f"y has shape {truth.shape} and score {s.shape}: one score per row.")
    if not np.isfinite(s).all():
        row = int(np.flatnonzero(~np.isfinite(s))[0])
        raise InputError(f"The score is {s[row]}, which has no place in an order.", row=row)
    if sample_weight is None:
        return truth, s, np.ones(s.size)
    w = np.asarray(sample_weight, dtype=float)
    if w.shape != s.shape or not np.isfinite(w).all() or (w < 0).any():
        raise InputError("sample_weight must hold one finite number ≥ 0 per row.")
    keep = w > 0
    return truth[keep], s[keep], w[keep]
