"""Exact moments of a design, and those that a model file records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from separatrix.verification.arithmetic.dyadic import ExactMoments
from separatrix.verification.arithmetic.roots import digits
from separatrix.verification.design import Design
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import PROVED, RECORDED_DIGITS, REFUTED, Claim, equal

Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Sums:
    """Σ w z zᵀ over z = (1, x₁ … x_d, y₁ … y_k), exactly."""

    count: int
    d: int
    matrix: Matrix

    @property
    def weight(self) -> Fraction:
        """Σ w."""
        return self.matrix[0][0]

    @property
    def targets(self) -> range:
        """Positions of the targets."""
        return range(self.d + 1, len(self.matrix))

    @cached_property
    def centered(self) -> Matrix:
        """Σ w (z − z̄)(z − z̄)ᵀ."""
        first, weight = self.matrix[0], self.weight
        return [
            [value - first[j] * first[k] / weight for k, value in enumerate(row)]
            for j, row in enumerate(self.matrix)
        ]

    def mean(self, j: int) -> Fraction:
        """The mean of a column."""
        return self.matrix[0][j] / self.weight


def sums_of(blocks: Iterable[Design]) -> Sums:
    """The exact moments of a design, in one pass over its blocks."""
    total: ExactMoments | None = None
    d = count = 0
    for block in blocks:
        count += block.n if block.weights is None else sum(w > 0.0 for w in block.weights)
        columns = [*block.columns, *block.targets]
        if total is None:
            total, d = ExactMoments(len(columns)), len(block.columns)
        total.add(columns, block.weights)
    if total is None:
        return Sums(0, 0, [[Fraction(0)]])
    return Sums(count, d, total.matrix())


def recorded_moments(sums: Sums, moments: Any) -> list[Claim]:
    """The count, means and centered products that a model file records, against the exact ones."""
    if not isinstance(moments, Record) or moments.of != "Moments":
        return []
    claims = [equal("rows", "Number of training rows", moments["count"], sums.count)]
    mean, scatter = moments["mean"].values, moments["scatter"].rows
    size = len(sums.matrix)
    if len(mean) != size - 1:  # of other columns: those of the table before encoding
        return claims
    exact = sums.centered
    least, at = 16.0, "means"
    for j in range(1, size):
        spread = max(abs(sums.mean(j)), Fraction(0))
        found = digits(
            Fraction(mean[j - 1]) - sums.mean(j), spread + _root(exact[j][j] / sums.weight)
        )
        least, at = min((least, at), (found, f"mean {j}"))
        for k in range(1, j + 1):
            scale = _root(exact[j][j]) * _root(exact[k][k])
            raw = abs(sums.matrix[j][k])  # rounding is relative to this where a column is constant
            error = Fraction(scatter[j - 1][k - 1]) - exact[j][k]
            found = 16.0 if abs(error) <= raw / 10**14 else digits(error, scale)
            least, at = min((least, at), (found, f"product {j}, {k}"))
    verdict = PROVED if least >= RECORDED_DIGITS - 1 else REFUTED
    where = "" if verdict == PROVED else f" ({at} is the worst)"
    sentence = (
        f"Means and products of columns agree with the recorded ones to {least:.0f} digits{where}."
    )
    return [*claims, Claim("moments", verdict, sentence, least)]


def _root(value: Fraction) -> Fraction:
    """A root to double precision, for sizes."""
    from separatrix.verification.arithmetic.roots import root_above

    return root_above(value)
