"""Memory for blocks that live for a moment, used again by the thread that made it.

Asking the system for fresh pages costs more than filling them. A buffer is lent again only when
nothing refers to it any more, so whoever keeps a block keeps its memory too.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Larger arrays, in numbers, are left to the system.
LARGEST = 4_000_000
#: Buffers that a thread keeps.
KEPT = 4


class _Shelf(threading.local):
    def __init__(self) -> None:
        self.buffers: list[Floats] = []


_shelf = _Shelf()


def scratch(shape: tuple[int, int], order: Literal["C", "F"] = "F") -> Floats:
    """An array of this shape whose values mean nothing yet."""
    size = math.prod(shape)
    if not 0 < size <= LARGEST:
        return np.empty(shape, order=order)
    return _lent(size)[:size].reshape(shape, order=order)


def _lent(size: int) -> Floats:
    buffers = _shelf.buffers
    for i in range(len(buffers)):
        # two references: the shelf's, and the one that this call passes on
        if buffers[i].size >= size and sys.getrefcount(buffers[i]) <= 2:
            return buffers[i]
    buffer = np.empty(size)
    buffers.append(buffer)
    if len(buffers) > KEPT:
        del buffers[0]
    return buffer
