"""Which class leads after one neighbor more has voted, for every count of neighbors."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def wrong_by_count(mass, votes, codes, truth, classes, first, last, out):
    """out[i, k − first] = 1 where the class with most votes among k places is not the true one.

    Neighbors come from near to far, neighbor j with ``mass[i, j]`` places, a whole number. Of
    equals the first class leads; where all votes vanish, places are counted instead.
    """
    weighed, counted = np.zeros(classes), np.zeros(classes)
    for i in range(mass.shape[0]):
        weighed[:] = 0.0
        counted[:] = 0.0
        by_vote, by_place, k = 0, 0, 0
        for j in range(mass.shape[1]):
            c = codes[i, j]
            for _ in range(int(mass[i, j])):
                if k == last:
                    break
                k += 1
                weighed[c] += votes[i, j]
                counted[c] += 1.0
                by_vote = _leader(weighed, by_vote, c)
                by_place = _leader(counted, by_place, c)
                if k >= first:
                    leads = by_vote if weighed[by_vote] > 0.0 else by_place
                    out[i, k - first] = 1.0 if leads != truth[i] else 0.0
            if k == last:
                break


@njit(cache=True, nogil=True)
def _leader(totals, leads, c):
    """Who leads after c got more."""
    if totals[c] > totals[leads] or (totals[c] == totals[leads] and c < leads):
        return c
    return leads
