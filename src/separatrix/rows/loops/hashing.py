"""Row hashes: every column is mixed by its own key and added, so columns may come in any order.

h(row) = Σ_columns mix(bits(value) xor key(column)),      mix: a 64-bit finalizer (bijective)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Hashes = NDArray[np.uint64]

#: Bits of a missing value, whichever NaN the source used.
MISSING_BITS = np.uint64(0x7FF8000000000000)

_MAGNITUDE = np.uint64(0x7FFFFFFFFFFFFFFF)
_INFINITY = np.uint64(0x7FF0000000000000)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_STRIDE = np.uint64(0x9E3779B97F4A7C15)


@compiled(inline="always")
def _mix(word):
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


@compiled
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


@compiled
def salted(content: Hashes, salt: np.uint64, out: Hashes) -> None:
    """out = mix(mix(content + salt)): random words, the same for the same content and salt."""
    for i in range(content.size):
        out[i] = _mix(_mix(content[i] + salt))


@compiled
def numbered(content: Hashes, ordinal: NDArray[np.int64], out: Hashes) -> None:
    """out = content + ordinal·odd: a hash of its own for each of several equal rows."""
    for i in range(content.size):
        out[i] = content[i] + np.uint64(ordinal[i]) * _STRIDE


@compiled
def assign_parts(words: Hashes, test: float, folds: int, out: NDArray[np.int64]) -> None:
    """u = word / 2⁶⁴; u < test is the test part, else fold ⌊folds (u − test) / (1 − test)⌋."""
    scale = folds / (1.0 - test)
    for i in range(words.size):
        u = float(words[i] >> np.uint64(11)) * 2.0**-53
        out[i] = -1 if u < test else min(folds - 1, int((u - test) * scale))
