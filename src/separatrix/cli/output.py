"""Where words go: data to standard output, everything else to standard error.

Colour and moving bars appear on a terminal only; ``NO_COLOR`` turns colour off. Off a terminal,
progress is plain lines.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli.failure import SCHEMA_VERSION

if TYPE_CHECKING:
    from rich.console import Console


def print_json(document: dict[str, Any]) -> None:
    """One JSON document on standard output."""
    click.echo(
        json.dumps({"schema_version": SCHEMA_VERSION, **document}, ensure_ascii=False, indent=2)
    )


def console(*, stderr: bool) -> Console:
    """A Rich console that does not read meaning into the text of the user's columns."""
    from rich.console import Console

    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 100
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def say(text: str, *, quiet: bool = False) -> None:
    """A line for the person at the keyboard, broken between words where a terminal is narrow."""
    if quiet:
        return
    if sys.stderr.isatty():
        from shutil import get_terminal_size
        from textwrap import fill

        width = get_terminal_size().columns - 1
        text = fill(text, width, subsequent_indent="  ", break_on_hyphens=False)
    click.echo(text, err=True)


class Plain:
    """Progress off a terminal: one line for each stage."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Say that a stage begins."""
        if done < total:
            click.echo(f"[{done + 1}/{total}] {stage}", err=True)


class Bar:
    """Progress on a terminal: one bar that goes away when the work is done."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("reading", total=None)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Move the bar."""
        self._progress.update(self._task, description=stage, completed=done, total=total)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Any]:
    """Something to call with (stage, done, total) while working."""
    if quiet:
        yield None
    elif not sys.stderr.isatty():
        yield Plain()
    else:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description:<34}"), BarColumn(24), MofNCompleteColumn())
        with Progress(*columns, console=console(stderr=True), transient=True) as bar:
            yield Bar(bar)
