"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from separatrix.messages import InputError

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
)


def reading_options(command: F) -> F:
    """How a table is read: weight, kinds, missing values, unseen levels."""
    weight = click.option("--weight", metavar="COLUMN", help="Column with the weight of each row.")
    return weight(column_options(command))


def column_options(command: F) -> F:
    """How columns are read: kinds, missing values, unseen levels."""
    options = (
        click.option(
            "--kind",
            "kinds",
            multiple=True,
            metavar="COLUMN=KIND",
            help="Read a column as numeric, boolean, discrete, or ignore it. Repeatable.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["mean", "drop", "regress", "indicator"]),
            default="mean",
            show_default=True,
            help="How missing values are imputed.",
        ),
        click.option(
            "--unseen",
            type=click.Choice(["error", "zeros"]),
            default="error",
            show_default=True,
            help="A level that is not in the training rows: an error, or encoded as zeros.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def split_options(command: F) -> F:
    """How rows are split: seed, test set, folds."""
    options = (
        click.option(
            "--seed",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help="Seed of the split.",
        ),
        click.option(
            "--test",
            type=click.FloatRange(0, 0.9, min_open=True),
            default=0.2,
            show_default=True,
            help="Fraction of the rows in the held-out test set.",
        ),
        click.option(
            "--folds",
            type=click.IntRange(2, 50),
            default=5,
            show_default=True,
            help="Folds of the cross-validation.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def kinds_of(given: tuple[str, ...]) -> dict[str, str]:
    """``("zip=discrete",)`` as a mapping; a column's name may contain ``=`` itself."""
    kinds = {}
    for text in given:
        column, equals, kind = text.rpartition("=")
        if not equals or not column:
            raise InputError(
                f"--kind {text!r} has no kind.", remedy="Write it as --kind COLUMN=discrete."
            )
        kinds[column] = kind
    return kinds


def table_at(text: str) -> str:
    """The path behind a table argument: ``sample:NAME`` is a built-in table, the rest is itself."""
    from separatrix.samples import PREFIX, sample

    return str(sample(text.removeprefix(PREFIX)).path) if text.startswith(PREFIX) else text


def stem_of(text: str) -> str:
    """A short name for a table, used to name results."""
    from separatrix.samples import PREFIX

    if text == "-":
        return "standard-input"
    stem = Path(text.removeprefix(PREFIX)).name.split(".")[0]
    return "".join(c for c in stem if c.isalnum() or c in "-_") or "table"


def scanned(
    table: str,
    target: str | None,
    weight: str | None,
    kinds: tuple[str, ...],
    missing: str,
    unseen: str,
) -> Any:
    """The rows of a table argument."""
    from separatrix.rows.scan import scan

    return scan(
        table_at(table),
        target=target,
        weight=weight,
        kinds=kinds_of(kinds),
        missing=missing,
        unseen=unseen,
    )
