"""Probabilities from scores by the ROC convex hull: a plateau for every edge.

    p = Δ positives / (Δ positives + Δ negatives)     along an edge of the hull

The hull joins scores whose order contradicts the classes; this is the nondecreasing function with
the least squares and also with the greatest likelihood, the one that pooling adjacent violators
finds. Between plateaus the probability goes in a straight line.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from separatrix.optimize.solution import Certificate
from separatrix.probability.scored import Scored, unit_of
from separatrix.rows.block import Floats

#: Rows from which it is worth sorting the two classes on two threads.
MANY = 50_000
_NONE = np.empty(0)


@dataclass(frozen=True)
class Plateaus:
    """``value`` from score ``low`` to score ``high``, both rising."""

    low: Floats
    high: Floats
    value: Floats

    def probability(self, score: Floats) -> Floats:
        """The probability of the positive class; constant beyond the first and last plateau."""
        ends = np.stack([self.low, self.high], axis=1).ravel()
        return np.asarray(np.interp(score, ends, np.repeat(self.value, 2)))


def hull_plateaus(rows: Scored) -> tuple[Plateaus, Certificate]:
    """The hull of the ROC curve as plateaus, and the proof that no rising function fits better."""
    from separatrix.probability.loops.isotonic import hull_edges, isotonic_violation

    if rows.w is not None:
        rows = replace(rows, w=rows.w / unit_of(rows.w))
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        run = pool.map if rows.score.size >= MANY else map
        pos, neg = run(_sorted, *zip(rows.of_class(True), rows.of_class(False), strict=True))
    low, high, up, right = hull_edges(*pos, *neg)
    plateaus = Plateaus(low, high, up / (up + right))
    certificate = Certificate(
        "The ROC convex hull: no nondecreasing function of the score has a smaller squared error "
        "or a greater likelihood",
        kkt=isotonic_violation(*pos, *neg, plateaus.high, plateaus.value),
        tolerance=1e-9,
        notes=(f"{len(low)} plateaus.",),
        promised=("kkt",),
    )
    return plateaus, certificate


def _sorted(score: Floats, w: Floats | None) -> tuple[Floats, Floats]:
    """Rising scores with their weights; plain sorting is twice as fast as sorting an order."""
    if w is None:
        return np.sort(score), _NONE
    order = np.argsort(score, kind="stable")
    return score[order], w[order]
