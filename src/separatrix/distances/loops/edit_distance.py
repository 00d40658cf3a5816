"""Edit distance between sequences of letter codes, 64 letters per machine word."""

from __future__ import annotations

import numpy as np
from numba import njit

WORD = 64


@njit(cache=True, nogil=True)
def edit_distances(letters, starts, others, other_starts, alphabet, out):
    """Fewest insertions, deletions and replacements from every sequence to every other.

    Sequence i is ``letters[starts[i]:starts[i + 1]]``, codes below ``alphabet``.
    """
    n, m = starts.size - 1, other_starts.size - 1
    for i in range(n):
        first = letters[starts[i] : starts[i + 1]]
        words = max(1, (first.size + WORD - 1) // WORD)
        found = np.zeros((alphabet, words), dtype=np.uint64)
        for a in range(first.size):
            found[first[a], a // WORD] |= np.uint64(1) << np.uint64(a % WORD)
        rises = np.empty(words, dtype=np.uint64)
        falls = np.empty(words, dtype=np.uint64)
        for k in range(m):
            second = others[other_starts[k] : other_starts[k + 1]]
            out[i, k] = _distance(first.size, found, second, rises, falls)


@njit(cache=True, nogil=True)
def _distance(length, found, second, rises, falls):
    """One column of the table of distances at a time, as bits.

    Going down a column the distance changes by +1, 0 or −1 from letter to letter. Bits of ``rises``
    and ``falls`` hold these steps, so that one word operation updates 64 cells; the sum whose carry
    ripples through a word is the run of matches along a diagonal.
    """
    if length == 0:
        return second.size
    words = rises.size
    one = np.uint64(1)
    top = np.uint64(WORD - 1)
    last = np.uint64((length - 1) % WORD)
    rises[:] = ~np.uint64(0)
    falls[:] = np.uint64(0)
    distance = length
    for b in range(second.size):
        up, down = one, np.uint64(0)  # the row above the table rises by one at each letter
        for w in range(words):
            equal = found[second[b], w]
            rise, fall = rises[w], falls[w]
            vertical = equal | fall
            equal |= down
            horizontal = (((equal & rise) + rise) ^ rise) | equal
            plus = fall | ~(horizontal | rise)
            minus = rise & horizontal
            if w == words - 1:
                distance += np.int64((plus >> last) & one) - np.int64((minus >> last) & one)
            next_up, next_down = (plus >> top) & one, (minus >> top) & one
            plus = (plus << one) | up
            minus = (minus << one) | down
            rises[w] = minus | ~(vertical | plus)
            falls[w] = plus & vertical
            up, down = next_up, next_down
    return distance
