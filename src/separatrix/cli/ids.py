"""Columns of row identifiers, copied beside predictions.

A column counts as one by its name (``id``, ``customer_id``, ``orderId``, ``uuid``), never by its
content: the columns of the result must not depend on the rows of one table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from separatrix.messages import InputError, did_you_mean

_ID = re.compile(r"(?i:(^|[\W_])(id|uuid|guid)$)|[a-z](Id|ID)$")
#: Names that the result has already.
TAKEN = ("row", "predicted")
#: Names that the table of clusters has.
TAKEN_BY_CLUSTERS = ("row", "cluster", "silhouette", "distance")


def copied_columns(
    names: list[str],
    requested: tuple[str, ...],
    *,
    option: str = "--keep",
    taken: tuple[str, ...] = TAKEN,
) -> list[str]:
    """The requested columns, then those named like identifiers."""
    for name in requested:
        if name not in names or name in taken:
            what = (
                "there is no such column"
                if name not in names
                else "the result has a column of this name"
            )
            raise InputError(
                f"{what} (given as {option}).",
                column=name,
                remedy=did_you_mean(name, names) if name not in names else "Rename the column.",
            )
    found = [name for name in names if _ID.search(name) and name not in taken]
    return list(dict.fromkeys([*requested, *found]))


class Ids:
    """The values of some columns of a source, row by row in order; text as it stands in a file."""

    def __init__(self, source: Any, columns: list[str]) -> None:
        self.columns = columns
        self._rows = _values(source, columns) if columns else iter(())

    def take(self, n: int) -> list[list[Any]]:
        """The next ``n`` rows, a list for each column."""
        rows = list(islice(self._rows, n)) if self.columns else []
        return [list(values) for values in zip(*rows, strict=True)]


def _values(source: Any, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    from separatrix.rows.sources.csv import CsvSource

    if isinstance(source, CsvSource):  # numbers, too, as they are written
        source = source.as_text(columns)
    for piece in source.batches(columns, 65_536):
        yield from zip(*(piece.batch[name].to_pylist() for name in columns), strict=True)
