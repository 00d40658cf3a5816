"""Tables and queries of SQLite, as a stream of batches.

SQLite has types of cells, not of columns: one query finds those of every column.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from separatrix.rows.notations.options import Limits, TextOptions
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.databases.queries import (
    Selection,
    failed_query,
    not_a_query,
    quoted,
    selection,
)
from separatrix.rows.sources.databases.sqlite_guard import Guarded, guarded
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.formats.cells import (
    Cells,
    array_of,
    missing_texts,
    type_of,
    written_columns,
)
from separatrix.rows.sources.places.files import split_place
from separatrix.rows.sources.places.partitions import Partitions
from separatrix.rows.sources.source import LocatedBatch, refuse_difference, refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns whose types one query finds.
_AT_ONCE = 200
_TABLES = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
)
_TYPES = {"integer": Cells.INTEGER, "real": Cells.NUMBER, "text": Cells.TEXT, "blob": Cells.BYTES}


class SqliteSource(FileSource):
    """One table or query of SQLite, of one file or of several alike."""

    by_file = ("selections",)

    def __init__(
        self,
        paths: list[str],
        options: TextOptions | None = None,
        partitions: Partitions | None = None,
    ) -> None:
        super().__init__(paths, None, partitions)
        options = options or TextOptions()
        self.na, self.limits = missing_texts(options), options.limits

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """The table or query of every file."""
        return tuple(_selected(path, self.limits) for path in self.paths)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which table was taken."""
        return tuple(dict.fromkeys(s.note for s in self.selections if s.note))

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """The columns, with the types of their cells."""
        found: dict[str, Cells] = {}
        for path, selected in zip(self.paths, self.selections, strict=True):
            with closing(guarded(path, self.limits, selected.computed)) as database:
                names = _columns(database, selected, path)
                refuse_duplicates(names, path)
                refuse_difference(list(found) or names, self.paths[0], names, path)
                for start in range(0, len(names), _AT_ONCE):
                    few = names[start : start + _AT_ONCE]
                    for name, cells in zip(few, _cells(database, selected, few), strict=True):
                        found[name] = found.get(name, Cells.NONE) | cells
        return found

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names and types of the columns."""
        import pyarrow as pa

        return pa.schema([(name, type_of(cells)) for name, cells in self.cells.items()])

    def is_written(self, name: str) -> bool:
        """Whether the texts of a column may be numbers."""
        return name in written_columns(self.cells)

    def size(self, columns: int) -> float:
        """The bytes of this many columns of numbers in memory."""
        rows = 0
        for path, selected in zip(self.paths, self.selections, strict=True):
            with closing(guarded(path, self.limits, selected.computed)) as database:
                rows += int(database.all(f"SELECT count(*) FROM {selected.relation}")[0][0])
        return 8.0 * rows * columns

    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        import pyarrow as pa

        types = [self.own.field(name).type for name in columns]
        wanted = ", ".join(map(quoted, columns))
        for (path, shown), selected in zip(self.files, self.selections, strict=True):
            start = 0
            with closing(guarded(path, self.limits, selected.computed)) as database:
                for cells in database.batches(f"SELECT {wanted} FROM {selected.relation}", rows):
                    values = list(zip(*cells, strict=True))
                    arrays = [array_of(v, t, self.na) for v, t in zip(values, types, strict=True)]
                    batch = pa.RecordBatch.from_arrays(arrays, names=columns)
                    yield LocatedBatch(batch, Location(shown, start))
                    start += len(cells)


def _selected(path: str, limits: Limits) -> Selection:
    file, inside = split_place(path)
    with closing(guarded(path, limits)) as database:
        found = {str(name): kind == "view" for name, kind in database.all(_TABLES)}
    selected = selection(inside, list(found), file)
    views = {quoted(name) for name, view in found.items() if view}
    return replace(selected, computed=selected.computed or selected.relation in views)


def _columns(database: Guarded, selected: Selection, path: str) -> list[str]:
    """Names of the columns; a query is compiled as it was typed, by itself."""
    if selected.query is None:
        return database.columns(f"SELECT * FROM {selected.relation}")
    try:
        return database.columns(selected.query)
    except (sqlite3.ProgrammingError, sqlite3.Warning) as reason:  # several statements
        if "one statement" in str(reason):
            raise not_a_query(split_place(path)[0]) from None
        raise failed_query(reason, path) from reason


def _cells(database: Guarded, selected: Selection, names: list[str]) -> list[Cells]:
    def mask(name: str) -> str:
        type_ = f"typeof({quoted(name)})"
        marks = (f"{int(cells)}*max({type_}='{word}')" for word, cells in _TYPES.items())
        return "+".join(marks)

    sums = ", ".join(map(mask, names))
    ((*found,),) = database.all(f"SELECT {sums} FROM {selected.relation}")
    return [Cells(int(mask or 0)) for mask in found]
