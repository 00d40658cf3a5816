"""Misclassification of one row by its k nearest neighbors, for every k."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def misclassified_by_count(copies, weights, codes, truth, n_classes, first, last, out):
    """out[i, k − first] = 1 where the class with most votes among k neighbors is not the true one.

    Neighbors come from near to far, neighbor j counted ``copies[i, j]`` times, an integer. Ties go
    to the first class; where all weights are zero, neighbors count alike.
    """
    weighted, counted = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(copies.shape[0]):
        weighted[:] = 0.0
        counted[:] = 0.0
        by_weight, by_count, k = 0, 0, 0
        for j in range(copies.shape[1]):
            c = codes[i, j]
            for _ in range(int(copies[i, j])):
                if k == last:
                    break
                k += 1
                weighted[c] += weights[i, j]
                counted[c] += 1.0
                by_weight = _largest(weighted, by_weight, c)
                by_count = _largest(counted, by_count, c)
                if k >= first:
                    predicted = by_weight if weighted[by_weight] > 0.0 else by_count
                    out[i, k - first] = 1.0 if predicted != truth[i] else 0.0
            if k == last:
                break


@njit(cache=True, nogil=True)
def _largest(totals, largest, c):
    """The class with the largest total after that of c has grown; the first of equals."""
    if totals[c] > totals[largest] or (totals[c] == totals[largest] and c < largest):
        return c
    return largest
