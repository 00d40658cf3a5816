"""Exact arithmetic: dyadic integers, linear systems, and enclosures of what is not rational."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, isqrt, lcm, log10
from operator import mul
from typing import NamedTuple

# -------------------------------------------------------------------------------------------------
# Doubles as integers: x = m · 2⁻ˢ with one shift s for a whole column, so that sums are exact.


Row = Sequence[float]


def scale_to_integers(values: Sequence[float]) -> tuple[list[int], int]:
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
    (x, s), (y, t) = scale_to_integers(a), scale_to_integers(b)
    return fraction(dot(x, y), s + t)


def exact_sum(a: Sequence[float]) -> Fraction:
    """Σ aᵢ of doubles, exactly."""
    x, s = scale_to_integers(a)
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
        integers = [([1] * n, 0), *map(scale_to_integers, columns)]
        w, weight_shift = ([1] * n, 0) if weights is None else scale_to_integers(weights)
        self._refine([shift for _, shift in integers], weight_shift)
        extra = self._weight_shift - weight_shift
        for j, (x, s) in enumerate(integers):
            weighted = x if weights is None else list(map(mul, x, w))
            for k in range(j + 1):
                z, t = integers[k]
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


# -------------------------------------------------------------------------------------------------
# Linear systems in exact arithmetic: fraction-free elimination (Bareiss).
#
#     M ← (pivot · M − column · row) / previous pivot
#
# Every division is exact, so that integers stay as short as determinants are.


Matrix = list[list[Fraction]]


class ExactSolution(NamedTuple):
    """A solution x (one list for each right-hand side), zero for columns left out, and the rank."""

    x: list[list[Fraction]]
    pivots: list[int]

    @property
    def rank(self) -> int:
        """Number of independent columns."""
        return len(self.pivots)


def solve_symmetric(
    a: Sequence[Sequence[Fraction]], b: Sequence[Sequence[Fraction]]
) -> ExactSolution:
    """A solution of A X = B for a positive semi-definite A; B by column.

    Pivots are taken on the diagonal from the first on; a column that depends on earlier ones has a
    pivot of zero and is left out, as its row and column of the remainder are zero too.
    """
    size = len(a)
    rows = [_integers([*a[i], *(column[i] for column in b)]) for i in range(size)]
    pivots: list[int] = []
    previous = 1
    for k in range(size):
        pivot = rows[k][k]
        if pivot == 0:
            continue
        _eliminate(rows, k, previous, range(k + 1, size))
        previous = pivot
        pivots.append(k)
    return ExactSolution([_back(rows, pivots, size, size + c) for c in range(len(b))], pivots)


def _eliminate(rows: list[list[int]], k: int, previous: int, below: Sequence[int]) -> None:
    row, pivot = rows[k], rows[k][k]
    for i in below:
        other, factor = rows[i], rows[i][k]
        for j in range(k + 1, len(other)):
            other[j] = (pivot * other[j] - factor * row[j]) // previous
        other[k] = 0


def _back(rows: list[list[int]], pivots: Sequence[int], size: int, index: int) -> list[Fraction]:
    x = [Fraction(0)] * size
    for k in reversed(pivots):
        known = sum((rows[k][j] * x[j] for j in pivots if j > k and rows[k][j]), Fraction(0))
        x[k] = (rows[k][index] - known) / rows[k][k]
    return x


def _integers(row: Sequence[Fraction]) -> list[int]:
    """A row times the least common denominator of its entries."""
    common = lcm(*(value.denominator for value in row))
    return [int(value * common) for value in row]


def quadratic(a: Sequence[Sequence[Fraction]], x: Sequence[Fraction]) -> Fraction:
    """xᵀ A x."""
    return sum((x[i] * v for i, v in enumerate(product(a, x))), Fraction(0))


def product(a: Sequence[Sequence[Fraction]], x: Sequence[Fraction]) -> list[Fraction]:
    """A x."""
    return [sum((r * v for r, v in zip(row, x, strict=True)), Fraction(0)) for row in a]


def determinant(a: Sequence[Sequence[Fraction]]) -> Fraction:
    """The determinant of a positive semi-definite matrix; zero where it is singular."""
    rows = [[*map(Fraction, row)] for row in a]
    value = Fraction(1)
    for k in range(len(rows)):
        pivot = rows[k][k]
        if pivot == 0:
            return Fraction(0)
        value *= pivot
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / pivot
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return value


# -------------------------------------------------------------------------------------------------
# Square roots of fractions, from below and from above, and digits of agreement.


#: Binary digits of a root.
BITS = 128


def root_below(value: Fraction) -> Fraction:
    """The largest multiple of a power of two (about 128 digits) whose square is at most value."""
    if value <= 0:
        return Fraction(0)
    shift = max(0, BITS - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    return Fraction(isqrt((value.numerator << 2 * shift) // value.denominator), 1 << shift)


def root_above(value: Fraction) -> Fraction:
    """A bound of the root from above, as close."""
    if value <= 0:
        return Fraction(0)
    shift = max(0, BITS - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    return Fraction(isqrt((value.numerator << 2 * shift) // value.denominator) + 1, 1 << shift)


def as_float(value: Fraction) -> float:
    """The nearest double; infinity where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def digits(error: Fraction, size: Fraction) -> float:
    """−log₁₀ |error| / |size|, at most 16, of numbers that are stored as doubles."""
    if error == 0:
        return 16.0
    if size == 0:
        return 0.0
    ratio = abs(error) / abs(size)
    exponent = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    if exponent > 900:
        return 0.0
    if exponent < -900:
        return 16.0
    return max(0.0, min(16.0, -log10(float(ratio))))


# -------------------------------------------------------------------------------------------------
# Exponentials and logarithms in fixed point: integers times 2⁻⁹⁶, with bounds of their errors.
#
#     e⁻ᵗ = 2⁻ᵏ e^(−i/2⁷) e^(−j/2¹⁴) e⁻ʳ,      0 ≤ r < 2⁻¹⁴: a series of eight terms
#     log y = x + 2 (y − eˣ)/(y + eˣ) + …,      x a guess in doubles: one step leaves a cubic error
#
# Products are rounded down, by less than one unit each; the tables are made with 32 binary digits
# more. The tests compare with ``decimal``, whose functions are correctly rounded.


#: Binary digits after the point.
POINT = 96
ONE = 1 << POINT
#: Bound of the error of :func:`exp_minus`, in units of 2⁻⁹⁶, for an exact argument.
EXP_ERROR = 16
#: Bound of the error of :func:`log`, in units of 2⁻⁹⁶.
LOG_ERROR = 64

_GUARD = 32
_FINE, _COARSE = 14, 7
_TERMS = 8


def _series(t: int, bits: int) -> int:
    """e⁻ᵗ for 0 ≤ t < 1 at 2⁻ᵇⁱᵗˢ, by its series with terms rounded down."""
    total, term, n = 1 << bits, 1 << bits, 0
    while term:
        n += 1
        term = (term * t >> bits) // n
        total += -term if n % 2 else term
    return total


def _log_two(bits: int) -> int:
    """log 2 = 2 artanh 1/3 at 2⁻ᵇⁱᵗˢ."""
    total, power, n = 0, (2 << bits) // 3, 1
    while power:
        total += power // n
        power //= 9
        n += 2
    return total


_WIDE = POINT + _GUARD
LOG_TWO = _log_two(_WIDE) >> _GUARD
_INVERSES = [ONE // math.factorial(n) for n in range(_TERMS + 1)]
_TABLE = [_series((i << _WIDE) >> _COARSE, _WIDE) >> _GUARD for i in range(1 << _COARSE)]
_SMALL = [_series((j << _WIDE) >> _FINE, _WIDE) >> _GUARD for j in range(1 << (_FINE - _COARSE))]


def exp_minus(t: int) -> int:
    """e⁻ᵗ of t · 2⁻⁹⁶ ≥ 0, in units of 2⁻⁹⁶ and within ``EXP_ERROR`` of them."""
    k, r = divmod(t, LOG_TWO)
    if k > POINT:
        return 0
    i, r = r >> (POINT - _COARSE), r & ((1 << (POINT - _COARSE)) - 1)
    j, r = r >> (POINT - _FINE), r & ((1 << (POINT - _FINE)) - 1)
    s = _INVERSES[_TERMS]
    for n in range(_TERMS - 1, -1, -1):
        s = _INVERSES[n] - (s * r >> POINT)
    return ((s * _TABLE[i] >> POINT) * _SMALL[j] >> POINT) >> k


def log(y: int) -> int:
    """log of y · 2⁻⁹⁶ > 0, in units of 2⁻⁹⁶ and within ``LOG_ERROR`` of them.

    y is brought to [1, 2); of x = log y + δ, |δ| < 2⁻⁴⁰, the step x + 2(y − eˣ)/(y + eˣ) has an
    error of δ³/12.
    """
    shift = y.bit_length() - 1 - POINT
    m = y >> shift if shift >= 0 else y << -shift
    guess = math.log(m / ONE)
    x = max(0, int(guess * (1 << 60))) << (POINT - 60)
    inverse = exp_minus(x)  # e⁻ˣ: y e⁻ˣ is near 1
    ratio = m * inverse >> POINT
    step = ((ratio - ONE) << (POINT + 1)) // (ratio + ONE)
    return x + step + shift * LOG_TWO


# -------------------------------------------------------------------------------------------------
# A bound of A⁻¹g for a positive definite A, without solving exactly.
#
# With any R, an inverse in doubles, and E = I − RA (equilibrated, ‖E‖ < ½ in the largest row sum):
#
#     A⁻¹g = (I − E)⁻¹ R g,      ‖A⁻¹g‖∞ ≤ ‖R g‖∞ / (1 − ‖E‖∞)
#
# R only has to be near: E is computed in integers, with what was rounded charged to it.


#: Binary digits after the point of the equilibrated matrix.
_POINT = 100


def step_bound(
    a: Sequence[Sequence[Fraction]], g: Sequence[Fraction]
) -> tuple[list[Fraction], Fraction] | None:
    """Bounds of |A⁻¹g| by coordinate and of gᵀA⁻¹g; None where A is nearly singular."""
    size = len(a)
    unit = [1 / root_above(a[j][j]) if a[j][j] > 0 else Fraction(0) for j in range(size)]
    if not all(unit):
        return None
    equal = [
        [int(a[i][j] * unit[i] * unit[j] * (1 << _POINT)) for j in range(size)] for i in range(size)
    ]
    inverse = _inverse([[v / (1 << _POINT) for v in row] for row in equal])
    if inverse is None:
        return None
    off = _row_sums(inverse, equal)
    if off >= Fraction(1, 2):
        return None
    right = [v * u for v, u in zip(g, unit, strict=True)]
    image = [
        abs(sum((Fraction(r) * v for r, v in zip(row, right, strict=True)), Fraction(0)))
        for row in inverse
    ]
    largest = max(image) / (1 - off)
    return [largest * u for u in unit], largest * sum(map(abs, right), Fraction(0))


def _row_sums(inverse: list[list[float]], equal: list[list[int]]) -> Fraction:
    """‖I − RA‖∞ from above, with a unit of 2⁻¹⁰⁰ lost in each entry of A."""
    worst = Fraction(0)
    columns = list(zip(*equal, strict=True))
    for i, row in enumerate(inverse):
        r, shift = scale_to_integers(row)
        unit = 1 << (shift + _POINT)
        total = 0
        for j, column in enumerate(columns):
            total += abs((unit if i == j else 0) - sum(map(mul, r, column)))
        lost = len(row) * sum(map(abs, r))
        worst = max(worst, Fraction(total + lost, unit))
    return worst


def _inverse(a: list[list[float]]) -> list[list[float]] | None:
    """The inverse in doubles, by elimination on the diagonal."""
    size = len(a)
    rows = [[*row, *(1.0 if i == j else 0.0 for j in range(size))] for i, row in enumerate(a)]
    for k in range(size):
        pivot = rows[k][k]
        if not pivot > 0.0:
            return None
        top = [v / pivot for v in rows[k]]
        rows[k] = top
        for i in range(size):
            factor = rows[i][k]
            if i != k and factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], top, strict=True)]
    inverse = [row[size:] for row in rows]
    return inverse if all(isfinite(v) for row in inverse for v in row) else None


# -------------------------------------------------------------------------------------------------
# A search in doubles for dual coefficients of a few rows: nothing is claimed of what it finds.
#
#     max over β of  qᵀβ − ½ ‖v + Xᵀβ‖²_{1/ρ} − ½ (s + Σβ)²/ρ₀,      low ≤ β ≤ high
#
# Where the intercept is free (ρ₀ = 0), Σβ = −s: two coefficients move at a time, those that violate
# the conditions most; else one.


#: Violation at which the search ends.
SMALL = 1e-13


@dataclass
class DualSearch:
    """The problem of some rows, the others being fixed: v and s are their Xᵀβ and Σβ."""

    x: list[list[float]]
    q: list[float]
    low: list[float]
    high: list[float]
    ridge: list[float]
    intercept_ridge: float | None
    v: list[float]
    s: float

    def run(self) -> list[float]:
        """β of the rows, within their bounds."""
        n = len(self.x)
        beta = [min(max(0.0, a), b) for a, b in zip(self.low, self.high, strict=True)]
        if not n:
            return beta
        scaled = [[v / r for v, r in zip(row, self.ridge, strict=True)] for row in self.x]
        square = [_dot(row, z) for row, z in zip(self.x, scaled, strict=True)]
        gradient = [q - _dot(z, self.v) for q, z in zip(self.q, scaled, strict=True)]
        balanced = self.intercept_ridge == 0.0
        if balanced:
            self._spread(beta, gradient, scaled)
        rho = self.intercept_ridge or 0.0
        for _ in range(100 * n):  # far more steps than a search takes that ends
            step = self._pair(beta, gradient, scaled, square) if balanced else None
            if not balanced:
                step = self._single(beta, gradient, square, rho)
            if step is None:
                break
            for i, move in step:
                beta[i] += move
                self.s += move
                for k in range(n):
                    gradient[k] -= move * _dot(self.x[i], scaled[k])
        return [min(max(b, lo), hi) for b, lo, hi in zip(beta, self.low, self.high, strict=True)]

    def _spread(self, beta: list[float], gradient: list[float], scaled: list[list[float]]) -> None:
        """Start where Σβ = −s, if the bounds allow it."""
        missing = -self.s - sum(beta)
        for i in sorted(
            range(len(beta)), key=lambda k: -gradient[k] if missing > 0 else gradient[k]
        ):
            move = min(max(missing, self.low[i] - beta[i]), self.high[i] - beta[i])
            if move:
                beta[i] += move
                missing -= move
                self.s += move
                for k in range(len(beta)):
                    gradient[k] -= move * _dot(self.x[i], scaled[k])

    def _pair(
        self,
        beta: list[float],
        gradient: list[float],
        scaled: list[list[float]],
        square: list[float],
    ) -> list[tuple[int, float]] | None:
        up = [k for k, b in enumerate(beta) if b < self.high[k]]
        down = [k for k, b in enumerate(beta) if b > self.low[k]]
        if not up or not down:
            return None
        i, j = max(up, key=gradient.__getitem__), min(down, key=gradient.__getitem__)
        over = gradient[i] - gradient[j]
        if over <= SMALL * (1.0 + abs(gradient[i])):
            return None
        curve = square[i] + square[j] - 2.0 * _dot(self.x[i], scaled[j])
        move = over / curve if curve > 0.0 else float("inf")
        move = min(move, self.high[i] - beta[i], beta[j] - self.low[j])
        return [(i, move), (j, -move)] if 0.0 < move < float("inf") else None

    def _single(
        self, beta: list[float], gradient: list[float], square: list[float], rho: float
    ) -> list[tuple[int, float]] | None:
        best, chosen = 0.0, None
        for k, b in enumerate(beta):
            slope = gradient[k] - (self.s / rho if rho else 0.0)
            curve = square[k] + (1.0 / rho if rho else 0.0)
            move = slope / curve if curve > 0.0 else 0.0
            move = min(max(move, self.low[k] - b), self.high[k] - b)
            if abs(move * slope) > best:
                best, chosen = abs(move * slope), [(k, move)]
        return chosen if best > SMALL**2 else None


def _dot(a: list[float], b: list[float]) -> float:
    return sum(p * q for p, q in zip(a, b, strict=True))
