"""Isotonic regression of the class on the score, by the ROC convex hull.

    p = Δ positives / (Δ positives + Δ negatives)     along an edge of the hull

Each edge of the hull is a constant piece of the nondecreasing function of least squared error,
which is also that of maximum likelihood: the solution of pooling adjacent violators. Between the
pieces probabilities are interpolated linearly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.optimize.solution import Certificate
from separatrix.probability.binary_scores import BinaryScores
from separatrix.rows.block import Floats, unit_of
from separatrix.threads import parallel_map

#: Rows from which the two classes are sorted on two threads.
MANY = 50_000
_NONE = np.empty(0)


@dataclass(frozen=True)
class IsotonicMap:
    """Piecewise constant: ``value`` from score ``low`` to score ``high``, both increasing."""

    low: Floats
    high: Floats
    value: Floats

    def probability(self, score: Floats) -> Floats:
        """The probability of the positive class; constant beyond the first and last piece."""
        ends = np.stack([self.low, self.high], axis=1).ravel()
        return np.asarray(np.interp(score, ends, np.repeat(self.value, 2)))


def fit_isotonic(rows: BinaryScores) -> tuple[IsotonicMap, Certificate]:
    """The isotonic map from the ROC convex hull."""
    from separatrix.probability.loops import hull_edges, isotonic_violation

    if rows.w is not None:
        rows = replace(rows, w=rows.w / unit_of(rows.w))
    classes = (rows.of_class(True), rows.of_class(False))
    many = rows.score.size >= MANY
    pos, neg = parallel_map(_sorted, classes) if many else map(_sorted, classes)
    low, high, up, right = hull_edges(*pos, *neg)
    fitted = IsotonicMap(low, high, up / (up + right))
    certificate = Certificate(
        "Isotonic regression: no nondecreasing function of the score has a smaller squared error "
        "or a higher likelihood",
        kkt=isotonic_violation(*pos, *neg, fitted.high, fitted.value),
        tolerance=1e-9,
        notes=(f"{len(low)} constant pieces.",),
        promised=("kkt",),
    )
    return fitted, certificate


def _sorted(scores: tuple[Floats, Floats | None]) -> tuple[Floats, Floats]:
    """Sorted scores with their weights; a plain sort takes half the time of an argsort."""
    score, w = scores
    if w is None:
        return np.sort(score), _NONE
    order = np.argsort(score, kind="stable")
    return score[order], w[order]
