"""A slow statistic, in a module of its own: workers import it, and nothing else of the tests."""

from __future__ import annotations

import os
import time
from pathlib import Path

from separatrix.rows.schema import Block
from separatrix.statistics.moments import Moments


class Slow(Moments):
    """Moments that take their time, and write down which process made them."""

    folder = ""

    def fresh(self):
        empty = type(self)()
        empty.folder = self.folder
        return empty

    def update(self, block: Block) -> None:
        folder = self.folder
        Path(folder, f"{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(0.2)
        super().update(block)
        self.folder = folder

    def __add__(self, other):
        total = Moments.__add__(Moments(**_plain(self)), Moments(**_plain(other)))
        slow = type(self)(**_plain(total))
        slow.folder = self.folder
        return slow


def _plain(m):
    return {k: v for k, v in m.__dict__.items() if k != "folder"}
