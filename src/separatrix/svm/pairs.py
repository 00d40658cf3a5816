"""Scores of K classes from those of the binary SVMs of every pair of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.geometry.kernel_expansion import KernelExpansion
from separatrix.rows.block import Floats, Ints
from separatrix.svm.solver import BinarySVM

#: Slope of the sigmoid 1/(1 + e^{−3s}) that a pair of classes has; e^s grows no further than this.
SLOPE, MOST = 3.0, 200.0


def coupled_scores(scores: Floats, k: int) -> Floats:
    """log pₖ of every class (n x K) from pair scores (n x pairs i < j, positive for j).

        1/pₖ = Σⱼ 1/rₖⱼ − (K − 2),     rₖⱼ = 1/(1 + e^{−3 sₖⱼ})  the probability of k among k, j

    The smallest margin of a class counts most, so that a pair of which neither is the class of the
    row hardly does (Price, Knerr, Personnaz and Dreyfus, 1995).
    """
    total = np.zeros((len(scores), k))
    for i, first in _by_first(scores, k):
        odds = np.exp(SLOPE * np.clip(first, -MOST, MOST))
        total[:, i] += odds.sum(axis=1)
        total[:, i + 1 :] += 1.0 / odds
    return np.asarray(-np.log1p(total))


def _by_first(scores: NDArray[Any], k: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """The columns of the pairs i < j, all j of an i at a time."""
    start = 0
    for i in range(k - 1):
        stop = start + k - 1 - i
        yield i, scores[:, start:stop]
        start = stop


def pair_scores(expansions: list[KernelExpansion], x: Any, intercept: Floats) -> Floats:
    """Scores (n x pairs i < j) from one expansion for each class, its k − 1 pairs in columns."""
    k = len(expansions)
    parts = np.stack([expansion.scores(x) for expansion in expansions])
    scores = np.empty((parts.shape[1], len(intercept)))
    for i, pairs in _by_first(scores, k):
        np.add(parts[i, :, i:], parts[i + 1 :, :, i].T, out=pairs)
    scores += intercept
    return scores


def count_votes(scores: Floats, k: int, first: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Votes of the pairs, for the ``first`` class of each or the other, and sums of scores."""
    count, total = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    for (i, s), (_, for_first) in zip(_by_first(scores, k), _by_first(first, k), strict=True):
        count[:, i] += for_first.sum(axis=1)
        count[:, i + 1 :] += ~for_first
        total[:, i] += s.sum(axis=1)
        total[:, i + 1 :] -= s
    return count, total


def vote_scores(scores: Floats, k: int) -> Floats:
    """Votes; ties are broken by sums of scores, which count less than half a vote."""
    count, total = count_votes(scores, k, scores >= 0.0)
    return count + total / (3.0 * (np.abs(total) + 1.0))


def dual_coef_of_pairs(svms: list[BinarySVM], codes: Ints, k: int) -> Floats:
    """β against each other class, (n x k − 1): a row takes part in the pairs of its own class.

    Rows of a binary SVM are those of the first class, then those of the second.
    """
    weights, sizes = np.zeros((len(codes), k - 1)), np.bincount(codes, minlength=k)
    for svm, (i, j) in zip(svms, combinations(range(k), 2), strict=True):
        n = sizes[i]
        weights[svm.rows[:n], j - 1] = svm.beta[:n]
        weights[svm.rows[n:], i] = svm.beta[n:]
    return weights
