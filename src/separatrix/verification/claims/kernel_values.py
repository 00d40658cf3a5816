"""Kernel values of rows of doubles as integers times 2⁻ᵖ, with a bound of their error.

Linear and polynomial kernels are exact fractions; the Gaussian kernel is enclosed: the exponent is
rounded once, and the exponential has the error of :mod:`..arithmetic.exponentials`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

from separatrix.verification.arithmetic.dyadic import scaled
from separatrix.verification.arithmetic.exponentials import EXP_ERROR, POINT, exp_minus
from separatrix.verification.stored.records import Record

Rows = Sequence[Sequence[float]]
#: Binary digits of the factor of a squared distance, beyond those of the point.
_MORE = 96
KERNELS = ("Linear", "Polynomial", "Gaussian")


@dataclass(frozen=True)
class KernelValues:
    """``row(i)``: values of row i against all rows at ``at``, in units of 2⁻ᵖ within ``error``."""

    point: int
    error: int
    row: Callable[[int, Sequence[int]], list[int]]

    def fraction(self, value: int) -> Fraction:
        """A value in units of 2⁻ᵖ."""
        return Fraction(value, 1 << self.point)


def kernel_values(kernel: Record, rows: Rows) -> KernelValues:
    """The kernel of some rows."""
    flat, shift = scaled([value for row in rows for value in row])
    width = len(rows[0]) if rows else 0
    z = [flat[i * width : (i + 1) * width] for i in range(len(rows))]
    if kernel.of == "Gaussian":
        return _gaussian(kernel["bandwidth"], z, shift)
    if kernel.of == "Polynomial":
        return _polynomial(kernel, z, shift)

    def linear(i: int, at: Sequence[int]) -> list[int]:
        own = z[i]
        return [sum(map(mul, own, z[j])) for j in at]

    return KernelValues(2 * shift, 0, linear)


def _polynomial(kernel: Record, z: list[list[int]], shift: int) -> KernelValues:
    """(s x·z + c)^p, exactly: s and c are doubles."""
    (scale, constant), own = scaled([kernel["scale"], kernel["constant"]])
    degree = int(kernel["degree"])
    offset = constant << 2 * shift

    def values(i: int, at: Sequence[int]) -> list[int]:
        row = z[i]
        return [(scale * sum(map(mul, row, z[j])) + offset) ** degree for j in at]

    return KernelValues((2 * shift + own) * degree, 0, values)


def _gaussian(bandwidth: float | list[float], z: list[list[int]], shift: int) -> KernelValues:
    """exp(−½ Σ ((x − z)/σ)²); columns with bandwidths of their own are multiplied first."""
    width = len(z[0]) if z else 0
    sigmas = bandwidth if isinstance(bandwidth, list) else [bandwidth] * width
    factors = [1 / (2 * Fraction(sigma) ** 2) for sigma in sigmas]
    common = min(factors, default=Fraction(1))
    down = 2 * shift + _MORE
    relative = [int(f / common * (1 << _MORE)) for f in factors]  # one where bandwidths agree
    weighted = [list(map(mul, row, relative)) for row in z]
    squares = [sum(map(mul, row, other)) for row, other in zip(z, weighted, strict=True)]
    bits = POINT + _MORE + max(0, common.denominator.bit_length() - common.numerator.bit_length())
    factor = int(common * (1 << bits))
    fall = down + bits - POINT

    def values(i: int, at: Sequence[int]) -> list[int]:
        row, own = z[i], squares[i]
        return [
            exp_minus((own + squares[j] - 2 * sum(map(mul, row, weighted[j]))) * factor >> fall)
            for j in at
        ]

    # the exponent, at most 2⁷ where the exponential counts, is low by 2⁻⁹⁵ of itself and a unit
    return KernelValues(POINT, EXP_ERROR + (1 << 8) + 1, values)
