"""The loops of rows, compiled: hashes, and units dealt to parts."""

from __future__ import annotations

import numpy as np

from separatrix.arrays import NDArray
from separatrix.compilation import compiled

# -------------------------------------------------------------------------------------------------
# Row hashes: every column is mixed by its own key and added, so columns may come in any order.
#
# h(row) = Σ_columns mix(bits(value) xor key(column)),      mix: a 64-bit finalizer (bijective)


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


@compiled(inline="always")
def _content(word, key):
    """mix(bits xor key), after −0.0 → 0.0 and every NaN → one pattern."""
    size = word & _MAGNITUDE
    if size == np.uint64(0):
        word = size
    elif size > _INFINITY:
        word = MISSING_BITS
    return _mix(word ^ key)


@compiled
def add_column(bits: Hashes, key: np.uint64, total: Hashes) -> None:
    """total += mix(bits xor key)."""
    for i in range(bits.size):
        total[i] += _content(bits[i], key)


@compiled
def add_entries(columns, keys, starts, rows, bits, total):
    """The same for some compressed columns, of which only the entries that are not zero are stored.

    Every row is hashed as all zeros, and then corrected for its entries.
    """
    zeros = np.uint64(0)
    for k in range(columns.size):
        j, key = columns[k], keys[k]
        zero = _mix(key)
        zeros += zero
        for at in range(starts[j], starts[j + 1]):
            total[rows[at]] += _content(bits[at], key) - zero
    for i in range(total.size):
        total[i] += zeros


@compiled
def salt_hashes(content: Hashes, salt: np.uint64, out: Hashes) -> None:
    """out = mix(mix(content + salt)): random words, the same for the same content and salt."""
    for i in range(content.size):
        out[i] = _mix(_mix(content[i] + salt))


@compiled
def number_copies(content: Hashes, ordinal: NDArray[np.int64], out: Hashes) -> None:
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


# -------------------------------------------------------------------------------------------------
# Units of rows dealt to one part, as many rows of every stratum as it is to have.


Ints = NDArray[np.int64]


@compiled
def deal(
    order: Ints, starts: Ints, sizes: Ints, quotas: Ints, label: int, free: int, out: Ints
) -> None:
    """Give ``label`` to the first units that are ``free`` until each stratum has its quota of rows.

    ``order`` lists the units stratum by stratum. A unit that is too large is passed over; where the
    quota is missed by more than half of the smallest of these, that one is taken. What a stratum
    has too few or too many is made up for by the next.
    """
    owed = 0
    for s in range(starts.size - 1):
        owed += quotas[s]
        smallest = -1
        for at in range(starts[s], starts[s + 1]):
            unit = order[at]
            if out[unit] != free:
                continue
            if sizes[unit] <= owed:
                out[unit] = label
                owed -= sizes[unit]
            elif smallest < 0 or sizes[unit] < sizes[smallest]:
                smallest = unit
        if smallest >= 0 and sizes[smallest] < 2 * owed:
            out[smallest] = label
            owed -= sizes[smallest]


# -------------------------------------------------------------------------------------------------
# Ends of records in delimited text, where a quoted value may hold ends of lines.
#
# A quote opens a value only at its beginning; two within one stand for a quote; what follows the
# closing one belongs to the value up to the next delimiter.


#: Where a byte may be: at the beginning of a value, in one, in quotes, or behind a closing quote.
_BEGIN, _WITHIN, _QUOTED, _CLOSED = 0, 1, 2, 3


@compiled
def find_records(text, delimiter, state, least, cuts, counts):
    """The first ends of records that are at least ``least`` bytes apart; how many were found.

    ``state`` is what the bytes before left: place in a value, bytes and records read, bytes at the
    last cut, and whether the present line is blank. ``cuts`` are bytes, ``counts`` the records
    before them; blank lines are none.
    """
    place, before, records, last, blank = state[0], state[1], state[2], state[3], state[4]
    found = 0
    for i in range(text.size):
        byte = text[i]
        if place == _QUOTED:
            if byte == 34:
                place = _CLOSED
            continue
        if byte == 34 and place in (_BEGIN, _CLOSED):
            place, blank = _QUOTED, 0
        elif byte == 10:
            records += 1 - blank
            place, blank = _BEGIN, 1
            if before + i + 1 - last >= least and found < cuts.size:
                last = before + i + 1
                cuts[found], counts[found] = last, records
                found += 1
        elif byte == delimiter:
            place, blank = _BEGIN, 0
        elif byte != 13:
            place, blank = _WITHIN, 0
    state[0], state[1], state[2], state[3], state[4] = (
        place,
        before + text.size,
        records,
        last,
        blank,
    )
    return found
