"""What a certificate records, against what the rows give: gap, bounds and KKT residual."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Any

from separatrix.verification.arithmetic.roots import digits, rounded
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import CONSISTENT, PROVED, REFUTED, Claim

#: A gap, relative to the objective, and a KKT residual that rounding in doubles may leave.
ROUNDED_GAP = Fraction(1, 10**13)
ROUNDED_KKT = Fraction(1, 10**11)
#: A measured quantity may be this much above the recorded one.
FACTOR = 10
ZERO = Fraction(0)


def number(value: Any) -> Fraction | None:
    """A finite number of a record; None for anything else."""
    if isinstance(value, int | float) and isfinite(value):
        return Fraction(value)
    return None


def gap_claims(
    certificate: Record,
    value: Fraction,
    gap: Fraction,
    tolerance: float,
    *,
    scale: Fraction = ZERO,
    scale_of: str = "",
    error: Fraction = ZERO,
    how: str = "exactly",
    rounding: Fraction = ROUNDED_GAP,
) -> list[Claim]:
    """The gap is within the tolerance, is not above the recorded one, and belongs to its bounds.

    The tolerance is one of the objective's ``value``. Where the objective may truly be zero, it is
    one of ``scale``, which the data fix. A gap within ``error``, or within the rounding errors that
    the record states, is no more than consistent.
    """
    size = max(abs(value), scale)
    shown = f"The objective is above its minimum by at most {rounded(gap):.2g} ({how})"
    limit = min(Fraction(tolerance), number(certificate["tolerance"]) or Fraction(tolerance))
    stated = number(certificate["gap"])
    error = max(error, number(certificate.get("rounding", 0.0)) or ZERO)
    if stated is not None and stated > limit * size + error and gap <= FACTOR * stated:
        admitted = "; the record says that the tolerance was not reached."
        return [Claim("duality gap", PROVED, shown + admitted), *_bounds(certificate, size)]
    within = f"the tolerance is {rounded(limit):.1g}"
    if gap <= limit * abs(value):
        part = f", {rounded(gap / abs(value)):.1g} of it" if gap else ""
        claim = Claim("duality gap", PROVED, f"{shown}{part}; {within}.")
    elif gap <= limit * scale:
        part = f"{rounded(gap / scale):.1g} of {scale_of}, {rounded(scale):.3g}"
        claim = Claim("duality gap", PROVED, f"{shown}: {part}; {within} of that.")
    elif gap <= limit * size + error:
        sentence = f"{shown}: within the rounding errors of its terms, {rounded(error):.1g}."
        claim = Claim("duality gap", CONSISTENT, sentence, digits(gap, value))
    else:
        part = f"{rounded(gap / size):.2g} of it, and {within}" if size else f"{within} of it"
        return [Claim("duality gap", REFUTED, f"{shown}: {part}.")]
    if stated is not None and gap > FACTOR * max(stated, ZERO) + rounding * size + error:
        sentence = f"{shown}, and {rounded(stated):.2g} is recorded."
        return [Claim("duality gap", REFUTED, sentence)]
    return [claim, *_bounds(certificate, size)]


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
