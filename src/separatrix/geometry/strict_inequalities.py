"""Strict linear inequalities in rational arithmetic: a solution, or the proof that there is none.

    A z > 0    or else    Aᵀλ = 0,  λ ≥ 0,  Σλ = 1                            (Gordan)

Which of the two exists is decided without rounding, for few rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from separatrix.geometry.exact_separation import ONE, ZERO, Row, first_phase


def strict_solution(rows: Sequence[Sequence[Fraction | int]]) -> tuple[Row | None, Row | None]:
    """A vector z with a·z > 0 for every row a, or weights λ with Σ λ a = 0; the other is None."""
    p, k = len(rows), len(rows[0])
    # rows of whole numbers, each times a positive factor: sums of fractions cost far more
    factors = [lcm(*(v.denominator for v in row)) for row in rows]
    equations = [
        [Fraction(int(row[j] * factor)) for row, factor in zip(rows, factors, strict=True)]
        for j in range(k)
    ]
    tableau = first_phase([*equations, [ONE] * p], [ZERO] * k + [ONE])
    if not tableau.cost[-1]:
        weights = [ZERO] * p
        for i, j in enumerate(tableau.basis):
            if j < p:
                weights[j] = tableau.rows[i][-1] * factors[j]
        total = sum(weights, ZERO)
        return None, [w / total for w in weights]
    # the reduced costs of the artificial variables are 1 − y, and a·y ≤ −y₀ < 0 for every row a
    return [tableau.cost[p + j] - ONE for j in range(k)], None


def null_vector(columns: Sequence[Sequence[Fraction | int]]) -> Row | None:
    """Numbers λ, not all zero, with Σ λⱼ columnⱼ = 0; None if the columns are independent."""
    m, p = len(columns[0]), len(columns)
    rows = [[Fraction(column[i]) for column in columns] for i in range(m)]
    pivots: list[int] = []
    for j in range(p):
        i = len(pivots)
        found = next((k for k in range(i, m) if rows[k][j]), None)
        if found is None:
            null = [ZERO] * p
            null[j] = ONE
            for row, pivot in zip(rows, pivots, strict=False):
                null[pivot] = -row[j]
            return null
        rows[i], rows[found] = rows[found], rows[i]
        lead = rows[i][j]
        rows[i] = [v / lead for v in rows[i]]
        for k in range(m):
            if k != i and rows[k][j]:
                factor = rows[k][j]
                rows[k] = [u - factor * v for u, v in zip(rows[k], rows[i], strict=True)]
        pivots.append(j)
    return None
