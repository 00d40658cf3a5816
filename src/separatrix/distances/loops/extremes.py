"""Where a minimum is, and whether any value is below a bound; both loops are vectorized."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.distances.loops.scalars import smaller

CHUNK = 128


@compiled
def first_least(values, start, stop):
    """The first index in start … stop of the minimum: ``start`` where all are infinite."""
    at, least = start, np.inf
    for first in range(start, stop, CHUNK):
        last = first + CHUNK if first + CHUNK < stop else stop
        part, low = values[first:last], np.inf
        for i in range(part.size):
            low = smaller(low, part[i])
        if low < least:
            at, least = first, low
    while values[at] > least:
        at += 1
    return at


@compiled
def some_within(values, start, stop, limit):
    """Whether any of values[start:stop] is at most ``limit``; a count, which vectorizes."""
    part = values[start:stop]
    count = np.int32(0)
    for i in range(part.size):
        count += np.int32(part[i] <= limit)
    return count > 0
