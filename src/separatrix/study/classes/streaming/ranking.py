"""A sketch of scores by which a stream is ranked: ROC curves and areas at a stated resolution.

    key = the bits of a score, in the order of numbers, without the last ``shift`` of them

Scores of equal key are ties. The sketch is exact while there are few distinct scores; beyond
``most`` keys the last bit is dropped from all. It merges with ``+``. The area is that of the curve
with ties; half of the pairs that are tied bound what the ties may change.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from separatrix.probability.proportions import wilson
from separatrix.rows.block import Floats
from separatrix.study.measure import Z95
from separatrix.study.score import Score

#: Distinct keys of the scores of one class, and of all classes together.
MOST_KEYS, ALL_KEYS = 16_384, 131_072
_SIGN = np.uint64(1) << np.uint64(63)

Keys = NDArray[np.uint64]


def ordered_bits(values: Floats) -> Keys:
    """Whole numbers in the order of the values."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


@dataclass(frozen=True)
class Ranking:
    """Weights of positive and other rows by key, in order; ``squares`` are Σw² of both kinds."""

    most: int = MOST_KEYS
    shift: int = 0
    keys: Keys = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    positive: Floats = field(default_factory=lambda: np.zeros(0))
    other: Floats = field(default_factory=lambda: np.zeros(0))
    squares: tuple[float, float] = (0.0, 0.0)

    def of(self, scores: Floats, is_positive: NDArray[np.bool_], w: Floats) -> Ranking:
        """The sketch of some rows."""
        keys, at = np.unique(ordered_bits(scores), return_inverse=True)
        up, down = w * is_positive, w * ~is_positive
        sums = [np.bincount(at, v, len(keys)).astype(float) for v in (up, down)]
        squares = float(up @ up), float(down @ down)
        return Ranking(self.most, 0, keys, sums[0], sums[1], squares).coarser(self.shift)

    def coarser(self, shift: int) -> Ranking:
        """With at least so many bits dropped, and no more keys than allowed."""
        found = self
        if shift > found.shift:
            found = found._shifted(shift)
        while len(found.keys) > found.most:
            found = found._shifted(found.shift + 1)
        return found

    def _shifted(self, shift: int) -> Ranking:
        keys, at = np.unique(self.keys >> np.uint64(shift - self.shift), return_inverse=True)
        sums = [np.bincount(at, v, len(keys)).astype(float) for v in (self.positive, self.other)]
        return replace(self, shift=shift, keys=keys, positive=sums[0], other=sums[1])

    def __add__(self, other: Ranking) -> Ranking:
        shift = max(self.shift, other.shift)
        a, b = self.coarser(shift), other.coarser(shift)
        shift = max(a.shift, b.shift)
        a, b = a.coarser(shift), b.coarser(shift)
        keys, at = np.unique(np.concatenate([a.keys, b.keys]), return_inverse=True)
        sums = [
            np.bincount(at, np.concatenate(pair), len(keys)).astype(float)
            for pair in ((a.positive, b.positive), (a.other, b.other))
        ]
        squares = (a.squares[0] + b.squares[0], a.squares[1] + b.squares[1])
        return Ranking(self.most, shift, keys, sums[0], sums[1], squares).coarser(shift)

    # -- finished numbers ----------------------------------------------------------------------

    @property
    def area(self) -> Score:
        """The area under the ROC curve, ties counting one half, with DeLong's interval.

        NaN where there are rows of one kind alone.
        """
        up, down = float(self.positive.sum()), float(self.other.sum())
        if not (up > 0 and down > 0):
            return Score("auc", np.nan, np.nan, np.nan)
        below = np.cumsum(self.other) - 0.5 * self.other
        above = up - np.cumsum(self.positive) + 0.5 * self.positive
        area = float(self.positive @ below) / (up * down)
        sizes = [up**2 / self.squares[0], down**2 / self.squares[1]]
        spread = (
            float(self.positive @ (below / down - area) ** 2) / up,
            float(self.other @ (above / up - area) ** 2) / down,
        )
        variance = sum(v / max(n - 1, 1) for v, n in zip(spread, sizes, strict=True))
        if variance == 0.0 and area in (0.0, 1.0):  # every pair in order, on so few rows
            return Score("auc", area, *wilson(area, min(sizes)).tolist())
        half = Z95 * variance**0.5
        return Score("auc", area, max(0.0, area - half), min(1.0, area + half))

    @property
    def resolution(self) -> float:
        """What ties may change of the area at most: half the share of pairs that are tied."""
        up, down = float(self.positive.sum()), float(self.other.sum())
        if not (up > 0 and down > 0) or not self.shift:
            return 0.0
        return 0.5 * float(self.positive @ self.other) / (up * down)
