"""Square roots of fractions, from below and from above, and digits of agreement."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isqrt, log10

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


def rounded(value: Fraction) -> float:
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
