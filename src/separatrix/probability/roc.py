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

from separatrix.probability.scored import scored
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
        from separatrix.probability.loops.hull import upper_hull

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
    rows = scored("A ROC curve", y, score, sample_weight, positive=positive)
    order = np.argsort(-rows.score, kind="stable")
    s, w, hit = rows.score[order], rows.weights[order], rows.hit[order]
    last = np.append(np.flatnonzero(np.diff(s)), s.size - 1)
    return RocCurve(
        thresholds=np.concatenate([[np.inf], s[last]]),
        true_positives=np.concatenate([[0.0], np.cumsum(w * hit)[last]]),
        false_positives=np.concatenate([[0.0], np.cumsum(w * ~hit)[last]]),
        positive=rows.positive,
    )
