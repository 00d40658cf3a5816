"""From calibration scores to intervals: by one quantile, or by one model for each row left out.

    split          [a(x) − q s(x), b(x) + q s(x)]
    jackknife+     quantiles of a₋ᵢ(x) − Rᵢ s₋ᵢ(x) and of b₋ᵢ(x) + Rᵢ s₋ᵢ(x) over the rows i
    minmax         from the least a₋ᵢ(x) − q s₋ᵢ(x) to the largest b₋ᵢ(x) + q s₋ᵢ(x)
    cross          the hull of all y within Rᵢ of ŷ₋ᵢ(x) for more than α (n + 1) − 1 rows i

cv+ is jackknife+ with folds in place of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from separatrix.conformal.number_scores import Anchors
from separatrix.conformal.quantiles import (
    needed_rank,
    shifted_quantiles,
    upper_quantiles,
)
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Ends of intervals with and against the order of numbers.
Ends = tuple[Floats, Floats]


def tidy(lower: Floats, upper: Floats) -> Floats:
    """Intervals (m x 2); one that is empty shrinks to its middle."""
    crossed = lower > upper
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (lower + upper)
    return np.stack([np.where(crossed, middle, lower), np.where(crossed, middle, upper)], axis=1)


def by_quantile(anchors: Anchors, q: Floats) -> Floats:
    """Intervals about the anchors, with the quantile of each row's category."""
    with np.errstate(invalid="ignore"):
        reach = np.where(np.isinf(q), np.inf, q * anchors.scale)
    return tidy(anchors.lower - reach, anchors.upper + reach)


def jackknife_plus(lower: Floats, upper: Floats, w: Floats | None, level: Fraction) -> Ends:
    """Quantiles of the ends (m x n) that the rows left out give, which are overwritten."""

    def ends(rows: slice) -> Ends:
        low = np.negative(lower[rows], out=lower[rows])
        return -upper_quantiles(low, w, level), upper_quantiles(upper[rows], w, level)

    parts = parallel_map(ends, pieces(len(lower), 16))
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def minmax(lower: Floats, upper: Floats, w: Floats | None, level: Fraction) -> Ends:
    """The least and the largest end; the ends have one quantile for all rows."""
    del w, level
    return lower.min(axis=1), upper.max(axis=1)


def cross_conformal(lower: Floats, upper: Floats, w: Floats | None, level: Fraction) -> Ends:
    """The hull of all y in enough of the n intervals (m x n) of each row."""
    m, n = lower.shape
    weights = np.ones(n) if w is None else w
    total = float(weights.sum())
    needed = total + 1.0 - needed_rank(level, total)  # ⌊α (n + 1)⌋ of whole weights
    if needed < 1.0:
        return np.full(m, -np.inf), np.full(m, np.inf)
    events = np.concatenate([lower, upper], axis=1)
    order = np.argsort(events, axis=1, kind="stable")  # of equals, beginnings first
    steps = np.concatenate([weights, -weights])[order]
    inside = np.cumsum(steps, axis=1) >= needed * (1.0 - 1e-12)
    rows, places = np.arange(m), np.take_along_axis(events, order, axis=1)
    first = inside.argmax(axis=1)
    last = 2 * n - 1 - inside[:, ::-1].argmax(axis=1)  # the event after it ends the last piece
    low, high = places[rows, first], places[rows, np.minimum(last + 1, 2 * n - 1)]
    middle = np.median(places, axis=1)
    none = ~inside.any(axis=1)
    return np.where(none, middle, low), np.where(none, middle, high)


#: Rules for the ends that all rows left out give.
RULES: dict[str, Callable[[Floats, Floats, Floats | None, Fraction], Ends]] = {
    "cv+": jackknife_plus,
    "jackknife+": jackknife_plus,
    "jackknife-minmax": minmax,
    "cross-conformal": cross_conformal,
}


def few_changes(
    base: Floats, indices: Ints, changed: Floats, scores: Floats, level: Fraction
) -> Floats:
    """Jackknife+ where all but a few models agree about a row: (m x 2) in O(k log k) a row."""
    n = len(scores)
    rank = int(needed_rank(level, n))
    if rank > n:
        return np.tile([-np.inf, np.inf], (len(base), 1))
    order = np.argsort(scores, kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    ordered = scores[order]
    upper = shifted_quantiles(base, indices, changed, ordered, place, rank)
    lower = -shifted_quantiles(-base, indices, -changed, ordered, place, rank)
    return tidy(lower, upper)
