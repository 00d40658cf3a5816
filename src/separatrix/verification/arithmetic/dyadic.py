"""Doubles as integers: x = m · 2⁻ˢ with one shift s for a whole column, so that sums are exact."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import mul

Row = Sequence[float]


def scaled(values: Sequence[float]) -> tuple[list[int], int]:
    """Integers m and the shift s with values = m · 2⁻ˢ exactly; s is never negative."""
    ratios = [float(value).as_integer_ratio() for value in values]
    shift = max((d.bit_length() for _, d in ratios), default=1) - 1
    return [n << (shift + 1 - d.bit_length()) for n, d in ratios], shift


def fraction(m: int, shift: int) -> Fraction:
    """m · 2⁻ˢ."""
    return Fraction(m, 1 << shift)


def dot(a: Sequence[int], b: Sequence[int]) -> int:
    """Σ aᵢ bᵢ of integers, exactly."""
    return sum(map(mul, a, b))


def exact_dot(a: Sequence[float], b: Sequence[float]) -> Fraction:
    """Σ aᵢ bᵢ of doubles, exactly."""
    (x, s), (y, t) = scaled(a), scaled(b)
    return fraction(dot(x, y), s + t)


def exact_sum(a: Sequence[float]) -> Fraction:
    """Σ aᵢ of doubles, exactly."""
    x, s = scaled(a)
    return fraction(sum(x), s)


class ExactMoments:
    """Σ w z zᵀ over rows z = (1, x, y), exactly, one block of rows after the other.

    Every column has one shift; it grows when a later block needs a finer one.
    """

    def __init__(self, columns: int) -> None:
        self.count = 0
        self._shifts = [0] * (columns + 1)
        self._weight_shift = 0
        self._sums = [[0] * (columns + 1) for _ in range(columns + 1)]

    def add(self, columns: Sequence[Sequence[float]], weights: Sequence[float] | None) -> None:
        """Add a block of rows, given column by column."""
        n = len(columns[0]) if columns else len(weights or ())
        self.count += n
        found = [([1] * n, 0), *map(scaled, columns)]
        w, weight_shift = ([1] * n, 0) if weights is None else scaled(weights)
        self._refine([shift for _, shift in found], weight_shift)
        extra = self._weight_shift - weight_shift
        for j, (x, s) in enumerate(found):
            weighted = x if weights is None else list(map(mul, x, w))
            for k in range(j + 1):
                z, t = found[k]
                lost = self._shifts[j] - s + self._shifts[k] - t + extra
                self._sums[j][k] += dot(weighted, z) << lost

    def _refine(self, shifts: Sequence[int], weight_shift: int) -> None:
        new = list(map(max, self._shifts, shifts))
        heavier = max(self._weight_shift, weight_shift)
        for j, row in enumerate(self._sums):
            for k in range(j + 1):
                finer = new[j] - self._shifts[j] + new[k] - self._shifts[k]
                row[k] <<= finer + heavier - self._weight_shift
        self._shifts, self._weight_shift = new, heavier

    def matrix(self) -> list[list[Fraction]]:
        """Σ w z zᵀ, symmetric, the constant first."""
        size, s = len(self._sums), self._shifts
        lower = [
            [fraction(self._sums[j][k], s[j] + s[k] + self._weight_shift) for k in range(j + 1)]
            for j in range(size)
        ]
        return [[lower[j][k] if k <= j else lower[k][j] for k in range(size)] for j in range(size)]
