"""Scratch arrays for short-lived blocks, reused by the thread that made them.

Fresh pages from the operating system cost more than filling them. A buffer is reused only when
nothing else refers to it, so a block that is stored keeps its memory.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Larger arrays, in numbers, are allocated anew each time.
MAX_SIZE = 4_000_000
#: Buffers per thread.
MAX_BUFFERS = 4


class _Pool(threading.local):
    def __init__(self) -> None:
        self.buffers: list[Floats] = []


_pool = _Pool()


def scratch(shape: tuple[int, int], order: Literal["C", "F"] = "F") -> Floats:
    """An uninitialized array of this shape."""
    size = math.prod(shape)
    if not 0 < size <= MAX_SIZE:
        return np.empty(shape, order=order)
    return _free_buffer(size)[:size].reshape(shape, order=order)


def _free_buffer(size: int) -> Floats:
    buffers = _pool.buffers
    best = -1
    for i in range(len(buffers)):
        # two references: that of the pool, and the argument of getrefcount
        if buffers[i].size >= size and sys.getrefcount(buffers[i]) <= 2:
            # the smallest: a large one may be needed next
            best = i if best < 0 or buffers[i].size < buffers[best].size else best
    if best >= 0:
        return buffers[best]
    buffer = np.empty(size)
    buffers.append(buffer)
    if len(buffers) > MAX_BUFFERS:
        del buffers[0]
    return buffer
