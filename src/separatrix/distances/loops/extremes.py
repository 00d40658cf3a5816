"""Minimum and first position below a bound, in loops that the compiler vectorizes."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

CHUNK = 128


@compiled
def least(values, start, stop):
    """Minimum of values[start:stop], infinity if empty; eight partial minima."""
    part = values[start:stop]
    a = b = c = d = e = f = g = h = np.inf
    whole = part.size // 8 * 8
    for i in range(0, whole, 8):
        a, b = min(a, part[i]), min(b, part[i + 1])
        c, d = min(c, part[i + 2]), min(d, part[i + 3])
        e, f = min(e, part[i + 4]), min(f, part[i + 5])
        g, h = min(g, part[i + 6]), min(h, part[i + 7])
    for i in range(whole, part.size):
        a = min(a, part[i])
    return min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))


@compiled
def some_within(values, start, stop, limit):
    """Whether any of values[start:stop] is at most ``limit``; a count, which vectorizes."""
    part = values[start:stop]
    count = np.int32(0)
    for i in range(part.size):
        count += np.int32(part[i] <= limit)
    return count > 0


@compiled
def where(values, start, stop, value):
    """The first index in start … stop with values[i] ≤ ``value``; −1 if there is none."""
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        if some_within(values, first, last, value):
            for i in range(first, last):
                if values[i] <= value:
                    return i
    return -1
