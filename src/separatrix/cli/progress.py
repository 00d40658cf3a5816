"""Progress of a command on standard error: a bar on a terminal, plain lines elsewhere.

What was inferred is printed before the first model is fitted. Time left is the work that is left at
the pace of the work done, and shown once there is enough of that to go by.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

from separatrix.cli import options, output
from separatrix.study.progress import Listener

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from separatrix.study.result import Entry

#: Seconds below which no number is given.
SOON = 5.0


class TimeLeft:
    """Seconds until a plan of stages is done.

        pace = Σ λᵃ seconds / Σ λᵃ work       over the stages done, a stages ago
        left = pace · work of the stages to come − seconds spent on the present one

    The last difference does not go below the stages after the present one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.plan([])

    def plan(self, proportions: Sequence[float]) -> None:
        """The proportion of the work in each stage; the first begins now, or soon."""
        self._work = list(proportions)
        self._started = self._begun = self._clock()
        self._done = 0
        self._seconds = self._faded_work = 0.0

    def begin(self, n_done: int, total: int) -> None:
        """Another stage begins after ``done`` of ``total``; a new total begins a new plan."""
        if total != len(self._work):
            self.plan([1 / total] * total)
        now = self._clock()
        # Weight of a stage in the pace, relative to the one after it: later stages are more alike.
        fading = 0.85
        for i in range(self._done, min(n_done, len(self._work))):
            spent = now - self._begun if i == self._done else 0.0
            self._seconds = fading * self._seconds + spent
            self._faded_work = fading * self._faded_work + self._work[i]
        self._done, self._begun = n_done, now

    @property
    def fraction(self) -> float:
        """Work done, of one."""
        return min(1.0, sum(self._work[: self._done]))

    @property
    def seconds(self) -> float | None:
        """The estimate; None while there is nothing to go by, or nothing left."""
        if self._done >= len(self._work) or self._faded_work <= 0:
            return None
        now = self._clock()
        # Work done, and seconds, before an estimate means anything.
        if self.fraction < 0.04 or now - self._started < 2.0:
            return None
        pace = self._seconds / self._faded_work
        present, later = self._work[self._done], sum(self._work[self._done + 1 :])
        return pace * later + max(0.0, pace * present - (now - self._begun))

    def __str__(self) -> str:
        return "" if self.seconds is None else f"{duration(self.seconds)} left"


def duration(seconds: float) -> str:
    """A duration in the digits that an estimate has."""
    if seconds < SOON:
        return "a few seconds"
    if seconds < 55:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 55 * 60:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {seconds / 3600:.1f} h"


class Leaderboard(NamedTuple):
    """The candidates compared, the one chosen, and why."""

    entries: tuple[Entry, ...]
    winner: str
    reason: str


class Silent(Listener):
    """Prints nothing; remembers what has been announced, and the leaderboard."""

    def __init__(self) -> None:
        self.announced: list[str] = []
        self.leaderboard: Leaderboard | None = None

    def compared(self, entries: Sequence[Entry], winner: str, reason: str) -> None:
        """The leaderboard, for the case that the command is interrupted."""
        self.leaderboard = Leaderboard(tuple(entries), winner, reason)


class Lines(Silent):
    """One line for each stage that begins."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.left = TimeLeft(clock)

    def __call__(self, stage: str, n_done: int, total: int) -> None:
        """A stage begins, after ``done`` of ``total``."""
        self.left.begin(n_done, total)
        if n_done < total:
            soon = (self.left.seconds or 0.0) < SOON  # not worth a word that stays
            left = "" if soon else f" ({self.left})"
            click.echo(f"[{n_done + 1}/{total}] {stage}{left}", err=True)

    def planned(self, proportions: Sequence[float]) -> None:
        """The proportion of the work in each stage."""
        self.left.plan(proportions)

    def inferred(self, messages: Sequence[str], candidates: Sequence[str]) -> None:
        """What was inferred, and what will be compared."""
        self.announced = [options.with_flags(text) for text in messages]
        for text in self.announced:
            output.say(output.mark_up(text))
        if candidates:
            others = ", ".join(candidates[1:]) or "nothing else"
            output.say(f"· To be compared with the {candidates[0]}: {others} (override: --models).")


class Bar(Lines):
    """A bar that moves with the work done."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        super().__init__()
        self.bar, self.task = bar, task

    def inferred(self, messages: Sequence[str], candidates: Sequence[str]) -> None:
        """Lines stand where the bar was, which goes on below them."""
        self.bar.stop()
        super().inferred(messages, candidates)
        self.bar.start()

    def __call__(self, stage: str, n_done: int, total: int) -> None:
        """A stage begins, after ``done`` of ``total``."""
        self.left.begin(n_done, total)
        self.bar.update(
            self.task,
            description=stage,
            completed=self.left.fraction,
            total=1.0,
            count=f"{min(n_done + 1, total)}/{total}",
            left=self.left,
        )


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Silent]:
    """A listener that is called with (stage, done, total) while working."""
    if quiet:
        yield Silent()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description:<34.34}"),
            BarColumn(20),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[left]}"),  # asked anew at every refresh
        )
        with Progress(*columns, console=output.console(stderr=True), transient=True) as bar:
            yield Bar(bar, bar.add_task("reading", total=None, count="", left=""))
