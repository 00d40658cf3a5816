"""Many plots at once: on every processor, in processes that share the memory of this one.

matplotlib is Python throughout, so threads would wait for one another. A process that is forked has
everything imported already and gives back text alone; where one cannot be forked, or fails, this
one draws its plots too. Which process draws a plot does not change a byte of it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from separatrix.pictures.display import Display

#: A plot, and the prefix of its ids.
Named = tuple[Display, str]

PATIENCE = 60.0


def to_svgs(plots: Sequence[Named]) -> list[str]:
    """Every plot as SVG, in order."""
    from separatrix.pictures import svg  # noqa: F401  (imported once, before any fork)

    # Processes at most.
    # Fewer plots are drawn before another process is under way.
    count = max(1, min(_processors(), 4, len(plots) // 3))
    helpers = [_begun(plots[i::count]) for i in range(1, count)]
    svgs: dict[int, list[str]] = {}
    try:
        svgs[0] = _drawn(plots[::count])
        for i, helper in enumerate(helpers, start=1):
            texts = None if helper is None else helper.result()
            mine = plots[i::count]
            svgs[i] = texts if texts is not None and len(texts) == len(mine) else _drawn(mine)
    finally:
        for helper in helpers:
            if helper is not None:
                helper.end()
    return [svgs[i % count][i // count] for i in range(len(plots))]


def _drawn(plots: Sequence[Named]) -> list[str]:
    return [display.to_svg(prefix) for display, prefix in plots]


def _processors() -> int:
    """Processors that this process may use; one where processes are not forked safely."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


@dataclass(frozen=True)
class Helper:
    """A forked process and the end of a pipe from which its plots are read."""

    pid: int
    pipe: int

    def result(self) -> list[str] | None:
        """Its plots; None if they do not arrive whole."""
        pieces, deadline = [], time.monotonic() + PATIENCE
        while select.select([self.pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            piece = os.read(self.pipe, 1 << 20)
            if not piece:
                break
            pieces.append(piece)
        try:
            texts: list[str] = json.loads(b"".join(pieces))
        except ValueError:
            return None
        return texts

    def end(self) -> None:
        """The process ends, whether or not it is done."""
        os.close(self.pipe)
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _begun(plots: Sequence[Named]) -> Helper | None:
    """A process that draws these plots; None if there can be none."""
    reading, writing = os.pipe()
    try:
        with warnings.catch_warnings():
            # idle threads of readers do not exist in the other process, which needs none of them
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError:  # no memory, or no process left
        os.close(reading)
        os.close(writing)
        return None
    if pid:
        os.close(writing)
        return Helper(pid, reading)
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(_drawn(plots)).encode())
    finally:  # nothing of this process may run twice: no handlers, no buffers
        os._exit(0)
