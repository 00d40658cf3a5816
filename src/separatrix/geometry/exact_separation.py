"""Linear separability in rational arithmetic, for the few rows that decide a close call.

    Σ λ a = Σ μ b,  Σλ = Σμ = 1,  λ, μ ≥ 0            (a common point)
    or else w·a ≥ s > t ≥ w·b                            (a separating direction; Farkas)

The first phase of the simplex method with Bland's rule decides which, without rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from separatrix.arrays import Floats

Row = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def exact_weights_or_direction(a: Floats, b: Floats) -> tuple[Floats | None, Floats | None]:
    """Weights of a common point of the rows (those of a first), or a direction w; one is None."""
    m = a.shape[1] + 2
    columns = [[*map(Fraction, row), ONE, ZERO] for row in a.tolist()]
    columns += [[*(-Fraction(v) for v in row), ZERO, ONE] for row in b.tolist()]
    right = [ZERO] * (m - 2) + [ONE, ONE]
    tableau = first_phase([[column[i] for column in columns] for i in range(m)], right)
    p = len(columns)
    if not tableau.cost[-1]:
        weights = np.zeros(p)
        for i, j in enumerate(tableau.basis):
            if j < p:
                weights[j] = float(tableau.rows[i][-1])
        return weights, None
    # the reduced costs of the artificial variables are 1 − y, y the prices of the equations
    y = [ONE - tableau.cost[p + i] for i in range(m - 2)]
    largest = max(map(abs, y))
    return None, np.array([float(-v / largest) if largest else 0.0 for v in y])


class Tableau:
    """Rows of [B⁻¹M, B⁻¹, B⁻¹t], reduced costs with minus the objective last, and the basis."""

    def __init__(self, equations: list[Row], right: Row) -> None:
        m, p = len(equations), len(equations[0])
        self.rows = [
            [*row, *(ONE if i == j else ZERO for j in range(m)), right[i]]
            for i, row in enumerate(equations)
        ]
        self.basis = list(range(p, p + m))
        self.cost = [-sum((row[j] for row in self.rows), ZERO) for j in range(p)]
        self.cost += [ZERO] * m + [-sum(right, ZERO)]

    def pivot(self, i: int, j: int) -> None:
        """Bring column j into the basis in place of row i."""
        pivot = self.rows[i][j]
        self.rows[i] = leaving = [v / pivot if v else v for v in self.rows[i]]
        for k, row in enumerate(self.rows):
            if k != i and row[j]:
                self.rows[k] = _reduce_row(row, leaving, row[j])
        if self.cost[j]:
            self.cost = _reduce_row(self.cost, leaving, self.cost[j])
        self.basis[i] = j


def _reduce_row(row: Row, by: Row, factor: Fraction) -> Row:
    return [u - factor * v if v else u for u, v in zip(row, by, strict=True)]


def first_phase(equations: list[Row], right: Row) -> Tableau:
    """Minimize the sum of artificial variables over equations · λ = right ≥ 0, λ ≥ 0.

    By Bland's rule no basis recurs. Zero is reached where the equations have a solution.
    """
    tableau, p = Tableau(equations, right), len(equations[0])
    while True:
        enter = next((j for j in range(p) if tableau.cost[j] < 0), None)
        if enter is None or not tableau.cost[-1]:
            return tableau
        ratios = [
            (row[-1] / row[enter], tableau.basis[i], i)
            for i, row in enumerate(tableau.rows)
            if row[enter] > 0
        ]
        tableau.pivot(min(ratios)[2], enter)


# -------------------------------------------------------------------------------------------------
# Strict linear inequalities in rational arithmetic: a solution, or the proof that there is none.
#
#     A z > 0    or else    Aᵀλ = 0,  λ ≥ 0,  Σλ = 1                            (Gordan)
#
# Which of the two exists is decided without rounding, for few rows and columns.


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
