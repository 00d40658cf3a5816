"""Means and standard deviations by which columns were standardized, against the exact ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from separatrix.verification.arithmetic.dyadic import exact_dot, exact_sum
from separatrix.verification.arithmetic.roots import digits, root_above
from separatrix.verification.design import Design
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import PROVED, REFUTED, Claim

#: Digits of a mean, in standard deviations, and of a standard deviation.
LEAST = 8.0
#: A standard deviation below this part of the mean is that of a constant column.
CONSTANT = Fraction(1, 10**12)


def standardized(standardizer: Any, design: Design) -> list[list[float]]:
    """The doubles (x − μ)·(1/σ) that the model saw, rounded as it rounded them."""
    if not isinstance(standardizer, Record):
        return design.rows
    columns = []
    pairs = zip(
        design.columns, standardizer["mean"].values, standardizer["scale"].values, strict=True
    )
    for column, mean, scale in pairs:
        inverse = 1.0 / scale if scale > 0.0 else 0.0
        columns.append([(x - mean) * inverse for x in column])
    return [list(row) for row in zip(*columns, strict=True)]


def standardizer_claims(standardizer: Any, design: Design, weights: list[float]) -> list[Claim]:
    """The claim that means and deviations are those of the rows; none where there is no scaling."""
    if not isinstance(standardizer, Record):
        return []
    total = exact_sum(weights)
    least = 16.0
    pairs = zip(
        design.columns, standardizer["mean"].values, standardizer["scale"].values, strict=True
    )
    for column, mean, scale in pairs:
        exact = exact_dot(column, weights) / total
        weighted = [
            w * x for w, x in zip(map(Fraction, weights), map(Fraction, column), strict=True)
        ]
        square = sum((v * Fraction(x) for v, x in zip(weighted, column, strict=True)), Fraction(0))
        deviation = root_above(max(square / total - exact**2, Fraction(0)))
        size = max(deviation, abs(exact) * CONSTANT)
        least = min(least, digits(Fraction(mean) - exact, max(size, abs(exact) / 10**6)))
        if scale > 0.0 or deviation > abs(exact) * CONSTANT:
            least = min(least, digits(Fraction(scale) - deviation, size))
    sentence = (
        f"Means and deviations of columns agree with the recorded ones to {least:.0f} digits."
    )
    return [Claim("standardization", PROVED if least >= LEAST else REFUTED, sentence, least)]
