"""What a certificate records, against what the rows give: gap, bounds and KKT residual."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Any

from separatrix.verification.arithmetic.roots import digits, rounded
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import PROVED, REFUTED, Claim

#: A gap, relative to the objective, and a KKT residual that rounding in doubles may leave.
ROUNDED_GAP = Fraction(1, 10**13)
ROUNDED_KKT = Fraction(1, 10**11)
#: A measured quantity may be this much above the recorded one.
FACTOR = 10


def number(value: Any) -> Fraction | None:
    """A finite number of a record; None for anything else."""
    if isinstance(value, int | float) and isfinite(value):
        return Fraction(value)
    return None


def gap_claims(
    certificate: Record,
    value: Fraction,
    gap: Fraction,
    scale: Fraction,
    tolerance: float,
    *,
    how: str = "exactly",
    rounding: Fraction = ROUNDED_GAP,
) -> list[Claim]:
    """The gap is within the tolerance, is not above the recorded one, and belongs to its bounds."""
    size = max(abs(value), abs(scale)) or Fraction(1)
    relative = gap / size
    shown = f"The objective is above its minimum by at most {rounded(gap):.2g} ({how})"
    limit = min(Fraction(tolerance), number(certificate["tolerance"]) or Fraction(tolerance))
    stated = number(certificate["gap"])
    if stated is not None and stated / size > limit and gap <= FACTOR * stated:
        admitted = "; the record says that the tolerance was not reached."
        return [Claim("duality gap", PROVED, shown + admitted), *_bounds(certificate, size)]
    if relative > limit:
        sentence = (
            f"{shown}: {rounded(relative):.2g} of it, and the tolerance is {rounded(limit):.1g}."
        )
        return [Claim("duality gap", REFUTED, sentence)]
    claims = [
        Claim("duality gap", PROVED, f"{shown}; the tolerance is {rounded(limit):.1g} of it.")
    ]
    if stated is not None and gap > FACTOR * max(stated, Fraction(0)) + rounding * size:
        sentence = f"{shown}, and {rounded(stated):.2g} is recorded."
        return [Claim("duality gap", REFUTED, sentence)]
    return claims + _bounds(certificate, size)


def _bounds(certificate: Record, size: Fraction) -> list[Claim]:
    """Primal less dual is the gap, all as recorded."""
    primal, dual, gap = (number(certificate[name]) for name in ("primal", "dual", "gap"))
    if primal is None or dual is None or gap is None:
        return []
    found = digits(primal - dual - gap, size)
    if found >= 9:
        return []
    sentence = (
        f"Objective less lower bound is {rounded(primal - dual):.3g}, not {rounded(gap):.3g}."
    )
    return [Claim("lower bound", REFUTED, sentence)]


def kkt_claims(
    certificate: Record, kkt: Fraction, allowed: Fraction, tolerance: float
) -> list[Claim]:
    """The KKT residual is within the tolerance, and is not above the recorded one."""
    shown = f"The optimality conditions are violated by at most {rounded(kkt):.2g}"
    limit = min(Fraction(tolerance), number(certificate["tolerance"]) or Fraction(tolerance))
    stated = number(certificate["kkt"])
    if stated is not None and stated > limit and kkt <= FACTOR * stated:
        admitted = "; the record says that the tolerance was not reached."
        return [Claim("KKT conditions", PROVED, shown + admitted)]
    if kkt > limit + allowed:
        sentence = f"{shown}, and the tolerance is {rounded(limit):.1g}."
        return [Claim("KKT conditions", REFUTED, sentence)]
    if stated is not None and kkt > FACTOR * stated + ROUNDED_KKT + allowed:
        return [
            Claim("KKT conditions", REFUTED, f"{shown}, and {rounded(stated):.2g} is recorded.")
        ]
    return [Claim("KKT conditions", PROVED, f"{shown} (tolerance {rounded(limit):.1g}).")]
