"""The Gram matrix of the rows of two classes from its parts."""

from __future__ import annotations

from separatrix.compilation import compiled

#: Rows that are transposed at a time.
_SQUARE = 16


@compiled
def fill_pair(between, first, second, gram):
    """Two classes within, ``first`` and ``second`` (flat), and what is ``between`` them."""
    size, n = between.shape
    for a in range(n):
        row, own = gram[a], first[a * n : a * n + n]
        for b in range(n):
            row[b] = own[b]
    for a in range(size):
        row, own = gram[n + a], second[a * size : a * size + size]
        for b in range(n):
            row[b] = between[a, b]
        for b in range(size):
            row[n + b] = own[b]
    for left in range(0, size, _SQUARE):  # transposed in squares that stay in the cache
        right = size if size < left + _SQUARE else left + _SQUARE
        for b in range(n):
            for a in range(left, right):
                gram[b, n + a] = gram[n + a, b]
