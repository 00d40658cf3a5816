"""A bound of A⁻¹g for a positive definite A, without solving exactly.

With any R, an inverse in doubles, and E = I − RA (equilibrated, ‖E‖ < ½ in the largest row sum):

    A⁻¹g = (I − E)⁻¹ R g,      ‖A⁻¹g‖∞ ≤ ‖R g‖∞ / (1 − ‖E‖∞)

R only has to be near: E is computed in integers, with what was rounded charged to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from operator import mul

from separatrix.verification.arithmetic.dyadic import scaled
from separatrix.verification.arithmetic.roots import root_above

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
        r, shift = scaled(row)
        one = 1 << (shift + _POINT)
        total = 0
        for j, column in enumerate(columns):
            total += abs((one if i == j else 0) - sum(map(mul, r, column)))
        lost = len(row) * sum(map(abs, r))
        worst = max(worst, Fraction(total + lost, one))
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
    found = [row[size:] for row in rows]
    return found if all(isfinite(v) for row in found for v in row) else None
