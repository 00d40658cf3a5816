"""Row hashes: every column is mixed by its own key and added, so columns may come in any order.

h(row) = Σ_columns mix(bits(value) xor key(column)),      mix: a 64-bit finalizer (bijective)
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

#: Bits of a missing value, whichever NaN the source used.
MISSING_BITS = np.uint64(0x7FF8000000000000)

_MAGNITUDE = np.uint64(0x7FFFFFFFFFFFFFFF)
_INFINITY = np.uint64(0x7FF0000000000000)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_STRIDE = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True, inline="always")
def _mix(word):
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def add_column(bits: Hashes, key: np.uint64, total: Hashes) -> None:
    """total += mix(bits xor key), after −0.0 → 0.0 and every NaN → one pattern."""
    for i in range(bits.size):
        word = bits[i]
        size = word & _MAGNITUDE
        if size == np.uint64(0):
            word = size
        elif size > _INFINITY:
            word = MISSING_BITS
        total[i] += _mix(word ^ key)


@njit(cache=True, nogil=True)
def assign_parts(
    content: Hashes,
    ordinal: Hashes,
    salt: np.uint64,
    test: float,
    folds: int,
    out: NDArray[np.int64],
) -> None:
    """u = mix(content + salt + ordinal·odd) / 2⁶⁴; u < test is the test part, else a fold."""
    scale = folds / (1.0 - test)
    for i in range(content.size):
        word = content[i] + salt
        if ordinal.size:
            word += ordinal[i] * _STRIDE
        u = float(_mix(_mix(word)) >> np.uint64(11)) * 2.0**-53
        out[i] = -1 if u < test else min(folds - 1, int((u - test) * scale))
