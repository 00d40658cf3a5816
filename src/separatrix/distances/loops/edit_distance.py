"""Levenshtein distance by the bit-parallel algorithm of Myers (1999), 64 symbols per word."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

WORD = 64


@compiled
def edit_distances(symbols, starts, others, other_starts, alphabet, out):
    """Levenshtein distance of every sequence to every other.

    Sequence i is ``symbols[starts[i]:starts[i + 1]]``, codes below ``alphabet``.
    """
    n, m = starts.size - 1, other_starts.size - 1
    for i in range(n):
        first = symbols[starts[i] : starts[i + 1]]
        words = max(1, (first.size + WORD - 1) // WORD)
        matches = np.zeros((alphabet, words), dtype=np.uint64)
        for a in range(first.size):
            matches[first[a], a // WORD] |= np.uint64(1) << np.uint64(a % WORD)
        positive = np.empty(words, dtype=np.uint64)
        negative = np.empty(words, dtype=np.uint64)
        for k in range(m):
            second = others[other_starts[k] : other_starts[k + 1]]
            out[i, k] = _distance(first.size, matches, second, positive, negative)


@compiled
def _distance(length, matches, second, positive, negative):
    """The dynamic-programming table, one column at a time, as bits.

    Down a column the distance changes by +1, 0 or −1. The bits of ``positive`` and ``negative``
    hold these differences, so that one word operation updates 64 cells; the carry of the sum
    propagates along a diagonal of matches.
    """
    if length == 0:
        return second.size
    words = positive.size
    one = np.uint64(1)
    top = np.uint64(WORD - 1)
    last = np.uint64((length - 1) % WORD)
    positive[:] = ~np.uint64(0)
    negative[:] = np.uint64(0)
    distance = length
    for b in range(second.size):
        up, down = one, np.uint64(0)  # row 0 of the table grows by one with each symbol
        for w in range(words):
            equal = matches[second[b], w]
            up_bits, down_bits = positive[w], negative[w]
            vertical = equal | down_bits
            equal |= down
            horizontal = (((equal & up_bits) + up_bits) ^ up_bits) | equal
            plus = down_bits | ~(horizontal | up_bits)
            minus = up_bits & horizontal
            if w == words - 1:
                distance += np.int64((plus >> last) & one) - np.int64((minus >> last) & one)
            next_up, next_down = (plus >> top) & one, (minus >> top) & one
            plus = (plus << one) | up
            minus = (minus << one) | down
            positive[w] = minus | ~(vertical | plus)
            negative[w] = plus & vertical
            up, down = next_up, next_down
    return distance
