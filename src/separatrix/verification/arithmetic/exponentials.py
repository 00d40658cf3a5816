"""Exponentials and logarithms in fixed point: integers times 2⁻⁹⁶, with bounds of their errors.

    e⁻ᵗ = 2⁻ᵏ e^(−i/2⁷) e^(−j/2¹⁴) e⁻ʳ,      0 ≤ r < 2⁻¹⁴: a series of eight terms
    log y = x + 2 (y − eˣ)/(y + eˣ) + …,      x a guess in doubles: one step leaves a cubic error

Products are rounded down, by less than one unit each; the tables are made with 32 binary digits
more. The tests compare with ``decimal``, whose functions are correctly rounded.
"""

from __future__ import annotations

import math

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
