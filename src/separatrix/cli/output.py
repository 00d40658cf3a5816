"""Printing: data to standard output, everything else to standard error.

Color appears on a terminal only; ``NO_COLOR`` turns it off.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli.failure import SCHEMA_VERSION, fill_terminal

if TYPE_CHECKING:
    from rich.console import Console


def print_json(document: dict[str, Any]) -> None:
    """One JSON document on standard output."""
    click.echo(
        json.dumps({"schema_version": SCHEMA_VERSION, **document}, ensure_ascii=False, indent=2)
    )


def console(*, stderr: bool) -> Console:
    """A Rich console without markup: the text of columns is printed as it is."""
    from rich.console import Console

    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 100
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def say(text: str, *, quiet: bool = False) -> None:
    """A line on standard error, broken between words where a terminal is narrow."""
    if quiet:
        return
    click.echo(fill_terminal(text, sys.stderr), err=True)


#: Letters of a name that stands in one line of a table.
NAME = 24


@dataclass(frozen=True)
class OutputColumn:
    """A heading; numbers are aligned right, long text may be cut."""

    heading: str
    right: bool = False
    cut: bool = False


def print_table(
    columns: Sequence[OutputColumn],
    rows: Sequence[Sequence[str]],
    *,
    strong: int | None = None,
    caption: str = "",
) -> None:
    """A table on standard output; the row ``strong`` is bold."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=caption or None)
    table.caption_justify = "left"
    for j, column in enumerate(columns):
        words = [row[j].strip() for row in rows]
        # a name is not broken where another column can give way
        whole = not column.cut and max(map(len, words), default=0) <= NAME
        table.add_column(
            column.heading,
            justify="right" if column.right else "left",
            overflow="ellipsis" if column.cut else "fold",
            no_wrap=whole and not any(" " in word for word in words),
        )
    for i, row in enumerate(rows):
        table.add_row(*row, style="bold" if i == strong else "")
    console(stderr=False).print(table)


def print_lines(lines: Sequence[str]) -> None:
    """Sentences on standard output, broken between words on a terminal alone."""
    out = console(stderr=False)
    for line in lines:
        out.print(line, soft_wrap=not out.is_terminal)


def print_messages(messages: Sequence[str], warnings: Sequence[str]) -> None:
    """What was inferred, then the warnings, on standard error."""
    for text in (*messages, *warnings):
        say(mark_up(text))


def mark_up(text: str) -> str:
    """A message with a dot before it; a warning, by its code, with the way to its explanation."""
    code = re.match(r"SEP\d{3}\b", text)
    return f"· {text}" if code is None else f"! {text} (separatrix explain {code[0]})"


def print_next(files: Sequence[str], place: Path, model: Path | None, python: str) -> None:
    """The files that were written, the command to type next, and the same in Python."""
    say(f"Wrote {', '.join(files)} to {place}/")
    if model is not None:
        say(f"Next: separatrix predict {shlex.quote(str(model))} NEW.csv")
    say("In Python:")
    for line in python.splitlines():  # to be pasted: never broken
        click.echo(f"  {line}", err=True)
