"""Linear systems in exact arithmetic: fraction-free elimination (Bareiss).

    M ← (pivot · M − column · row) / previous pivot

Every division is exact, so that integers stay as short as determinants are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

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


def _back(rows: list[list[int]], pivots: Sequence[int], size: int, at: int) -> list[Fraction]:
    x = [Fraction(0)] * size
    for k in reversed(pivots):
        known = sum((rows[k][j] * x[j] for j in pivots if j > k and rows[k][j]), Fraction(0))
        x[k] = (rows[k][at] - known) / rows[k][k]
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
