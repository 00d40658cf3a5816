"""What a study tells in Python while it runs: what it inferred, then the stage under way.

A notebook shows a bar that goes when the study is done; a terminal one line that is written over; a
program whose standard error is a file one line for each stage that begins a second or more after
the last. The numbers are those of the bar of the command.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from separatrix.notebook import Details, as_html
from separatrix.study.progress import Listener

#: Letters of the bar on a terminal.
BAR = 20


class Announcement(Listener):
    """Hears of a study and passes it on to a notebook or to standard error."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cell = _notebook_cell()
        self._work: list[float] = []
        self._last_line = self._clock()
        self._width = 0

    def planned(self, proportions: Sequence[float]) -> None:
        """The proportion of the work in each stage."""
        self._work = list(proportions)

    def inferred(self, messages: Sequence[str], candidates: Sequence[str]) -> None:
        """What was inferred, and what is compared."""
        lines = [str(message) for message in messages]
        if candidates:
            others = ", ".join(candidates[1:]) or "nothing else"
            lines.append(f"To be compared with the {candidates[0]}: {others} (override: `models`).")
        if self._cell is not None:
            self._cell.show(as_html([Details("What was inferred", lines)]))
            return
        self._erase()
        print(*(f"· {line}" for line in lines), sep="\n", file=sys.stderr, flush=True)

    def __call__(self, stage: str, n_done: int, total: int) -> None:
        """A stage begins, after ``n_done`` of ``total``."""
        work = self._work if len(self._work) == total else [1.0 / total] * total
        share, over = sum(work[:n_done]), n_done >= total
        if self._cell is not None:
            self._cell.update("" if over else _bar(stage, share))
        elif sys.stderr.isatty():
            self._write_over("" if over else f"{'━' * round(BAR * share):<{BAR}} {stage}")
        # Seconds below which a line that stays is not worth writing.
        elif not over and self._clock() - self._last_line >= 1.0:
            self._last_line = self._clock()
            print(f"[{n_done + 1}/{total}] {stage}", file=sys.stderr, flush=True)

    def _write_over(self, line: str) -> None:
        self._erase()
        print(line[:79], end="", file=sys.stderr, flush=True)
        self._width = len(line[:79])

    def _erase(self) -> None:
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0


def _bar(stage: str, share: float) -> str:
    return (
        f'<div class="separatrix-shown"><progress value="{share:.3f}" max="1"></progress> '
        f"{html.escape(stage)}</div>"
    )


class NotebookOutput:
    """The output of a notebook's cell."""

    def __init__(self, display: Any, as_html: Any) -> None:
        self._display, self._as_html = display, as_html
        self._bar: Any = None

    def show(self, text: str) -> None:
        """Show below what is shown already."""
        self._display(self._as_html(text))

    def update(self, text: str) -> None:
        """Show in the place of what was shown before."""
        if self._bar is None:
            self._bar = self._display(self._as_html(text), display_id=True)
        else:
            self._bar.update(self._as_html(text))


def _notebook_cell() -> NotebookOutput | None:
    """The cell that runs; None outside of a notebook."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython  # type: ignore[import-not-found, unused-ignore]
    from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

    shell = get_ipython()
    return NotebookOutput(display, HTML) if shell is not None and hasattr(shell, "kernel") else None


def listener_for(progress: Any, verbose: bool) -> Any:
    """The report of progress that was given, or an announcement unless silence was asked for."""
    return Announcement() if progress is None and verbose else progress
