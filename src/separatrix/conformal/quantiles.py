"""Quantiles with the finite-sample correction of conformal prediction.

    q = the ⌈level (n + 1)⌉-th smallest of n scores,     ∞ where that exceeds n

A new score is as likely as each of the n to be in any place of their order, so that it is at most q
with a probability of at least the level. The level counts as it is written: 0.9 (9 + 1) is 9, not
the float above it. A score of weight w counts w times.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: Numbers that are in memory at a time for selections.
BLOCK_NUMBERS = 2_000_000


def checked_level(level: float) -> Fraction:
    """The level as a fraction, as it is written in decimals."""
    number = float(level)
    if not 0.0 < number < 1.0:
        raise InputError(
            f"level={level!r} must be between 0 and 1.", remedy="Use 0.9 for intervals of 90 %."
        )
    return Fraction(repr(number))


def needed_rank(level: Fraction, total: float) -> float:
    """The weight that scores up to the quantile must reach, of a total weight of the scores.

    ⌈level (n + 1)⌉ of n scores; level (Σw + 1) where weights are not whole.
    """
    whole = float(total).is_integer()
    exact = level * ((int(total) if whole else Fraction(total)) + 1)
    return float(ceil(exact)) if whole else float(exact)


def rows_needed(level: float) -> int:
    """The number of calibration rows from which intervals of this level are finite."""
    fraction = checked_level(level)
    return ceil(fraction / (1 - fraction))


def upper_quantile(scores: Floats, w: Floats | None, level: Fraction) -> float:
    """The quantile of the scores; ∞ where there are too few."""
    if w is None or bool((w == 1.0).all()):
        rank = int(needed_rank(level, len(scores)))
        if rank > len(scores):
            return np.inf
        return float(np.partition(scores, rank - 1)[rank - 1])
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(w[order])
    rank_ = needed_rank(level, float(reached[-1]) if len(reached) else 0.0)
    at = int(np.searchsorted(reached, rank_ * (1.0 - 1e-14), side="left"))
    return float(scores[order[at]]) if at < len(scores) else np.inf


def category_quantiles(
    scores: Floats, w: Floats | None, codes: Ints, count: int, level: Fraction
) -> Floats:
    """The quantile of each category; the last, of a category without rows, is infinite."""
    found = np.full(count + 1, np.inf)
    for c in range(count):
        at = codes == c
        found[c] = upper_quantile(scores[at], None if w is None else w[at], level)
    return found


def upper_quantiles(values: Floats, w: Floats | None, level: Fraction) -> Floats:
    """The quantile of each row of ``values`` (m x n), which is overwritten."""
    m, n = values.shape
    if w is None or bool((w == 1.0).all()):
        rank = int(needed_rank(level, n))
        if rank > n:
            return np.full(m, np.inf)
        values.partition(rank - 1, axis=1)
        return values[:, rank - 1].copy()
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(w[order], axis=1)
    rank_ = needed_rank(level, float(w.sum())) * (1.0 - 1e-14)
    at = np.count_nonzero(reached < rank_, axis=1)
    inside = at < n
    found = np.full(m, np.inf)
    rows = np.flatnonzero(inside)
    found[rows] = values[rows, order[rows, at[rows]]]
    return found


def shifted_quantiles(
    base: Floats, indices: Ints, changed: Floats, ordered: Floats, place: Ints, rank: int
) -> Floats:
    """The rank-th smallest of bᵢ + Rᵢ, where bᵢ is ``base`` but for k of the n: in O(k log k).

    ``base`` (m) is common to all rows but those at ``indices`` (m x k), where ``changed`` replaces
    it; ``ordered`` are the scores R in order and ``place`` the position of each row in that order.
    At most k of the n values leave their places and k come in, so that the answer is among those
    2 k + 1 places around the rank, or among the k.
    """
    n, k = len(ordered), indices.shape[1]
    first, last = max(0, rank - 1 - k), min(n, rank + k)
    moved = place[indices]
    window = np.broadcast_to(ordered[first:last], (len(base), last - first)).copy()
    window += base[:, None]
    inside = (moved >= first) & (moved < last)
    rows = np.broadcast_to(np.arange(len(base))[:, None], moved.shape)[inside]
    window[rows, moved[inside] - first] = np.inf
    below = first - np.count_nonzero(moved < first, axis=1)
    added = changed + ordered[moved]
    candidates = np.sort(np.concatenate([window, added], axis=1), axis=1)
    return np.asarray(candidates[np.arange(len(base)), rank - 1 - below])
