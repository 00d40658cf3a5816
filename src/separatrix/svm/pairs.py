"""Scores of K classes from those of the binary SVMs of every pair of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from separatrix.rows.block import Floats

#: Slope of the sigmoid 1/(1 + e^{−3s}) that a pair of classes has; e^s grows no further than this.
SLOPE, MOST = 3.0, 200.0


def coupled_scores(scores: Floats, k: int) -> Floats:
    """log pₖ of every class (n x K) from pair scores (n x pairs i < j, positive for j).

        1/pₖ = Σⱼ 1/rₖⱼ − (K − 2),     rₖⱼ = 1/(1 + e^{−3 sₖⱼ})  the probability of k among k, j

    The smallest margin of a class counts most, so that a pair of which neither is the class of the
    row hardly does (Price, Knerr, Personnaz and Dreyfus, 1995).
    """
    total = np.zeros((len(scores), k))
    for s, (i, j) in zip(scores.T, combinations(range(k), 2), strict=True):
        odds = np.exp(SLOPE * np.clip(s, -MOST, MOST))
        total[:, i] += odds
        total[:, j] += 1.0 / odds
    return np.asarray(-np.log1p(total))
