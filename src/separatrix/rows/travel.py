"""What traveled between the machines that read a table and this process, in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix.messages import InputError


@dataclass
class Travel:
    """Bytes sent to workers and received from them; how the table was read.

    ``received`` counts every statistic that left a task, whether it crossed the network or was
    added on the same machine: no more than that traveled. ``cached`` are the bytes of rows that the
    workers have in memory between passes, 0 where they read them again.
    """

    where: str = ""
    workers: int = 0
    pieces: int = 0
    passes: int = 0
    sent: int = 0
    received: int = 0
    cached: int = 0
    too_large: bool = False

    def document(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "scheduler": self.where,
            "workers": self.workers,
            "pieces": self.pieces,
            "passes": self.passes,
            "bytes_sent": self.sent,
            "bytes_received": self.received,
            "bytes_cached": self.cached,
        }

    def sentence(self) -> str:
        """One sentence: who read the table, how often, and what traveled."""
        passes = "once" if self.passes == 1 else f"{self.passes} times"
        memory = ""
        if self.cached:
            memory = f" The workers cached its rows between passes ({size(self.cached)})."
        elif self.too_large:
            memory = " Its rows do not fit into half of the workers' memory: each pass read them."
        workers = f"{self.workers} worker{'s' * (self.workers != 1)} at " if self.workers else ""
        pieces = f"{self.pieces} piece{'s' * (self.pieces != 1)}"
        return (
            f"The table was read {passes} by {workers}{self.where}, in {pieces}: {size(self.sent)} "
            f"went to the workers, {size(self.received)} of results came back.{memory}"
        )


def size(count: float) -> str:
    """Bytes in words: ``12.3 kB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"


def missing_extra(what: str, library: str, extra: str) -> InputError:
    """The refusal of a table that needs a library that is not installed."""
    return InputError(
        f"{what} needs {library}, which is not installed.",
        remedy=f"Install it: pip install 'separatrix[{extra}]'.",
    )
