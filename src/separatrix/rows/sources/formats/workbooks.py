"""Sheets of workbooks (Excel, OpenDocument) as tables.

The sheet is read whole, by calamine, and turned into Arrow columns. Values are those that were
computed when the workbook was saved: no formula is computed, no link followed, no macro run. Cells
with an error (#N/A, #DIV/0!) are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.dialect import column_name, has_header
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.formats.cells import (
    Cells,
    array_of,
    cells_of,
    missing_texts,
    text_of,
    type_of,
    written_columns,
)
from separatrix.rows.sources.formats.workbook_limits import check_workbook, protected, unreadable
from separatrix.rows.sources.places.files import split_place, stored_bytes
from separatrix.rows.sources.places.partitions import Partitions
from separatrix.rows.sources.source import LocatedBatch, refuse_difference, refuse_duplicates
from separatrix.rows.sources.watch import Watch

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows that are turned into columns at a time, and rows from which a header is recognized.
_AT_ONCE, _HEAD = 10_000, 200
#: Sheets that are looked into for the one that is not empty.
_FEW = 5

Row = list[Any]


class WorkbookSource(FileSource):
    """One sheet, of one workbook or of several alike."""

    of_this_process = ("sheets", "tables")

    def __init__(
        self,
        paths: list[str],
        options: TextOptions | None = None,
        expected: Iterable[str] = (),
        partitions: Partitions | None = None,
    ) -> None:
        super().__init__(paths, None, partitions)
        self.options = options or TextOptions()
        self.expected = frozenset(expected)

    @cached_property
    def sheets(self) -> tuple[_Sheet, ...]:
        """The sheets as tables."""
        return tuple(_read(path, self.options, self.expected) for path in self.paths)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which sheet was taken, and what was left out of it."""
        return tuple(dict.fromkeys(note for sheet in self.sheets for note in sheet.notes))

    @property
    def has_header(self) -> bool:  # type: ignore[override]
        """Whether the first sheet names its columns."""
        return self.sheets[0].named

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """The columns, with the types of their cells."""
        found = dict.fromkeys(self.sheets[0].cells, Cells.NONE)
        for path, sheet in zip(self.paths, self.sheets, strict=True):
            refuse_difference(list(found), self.paths[0], list(sheet.cells), path)
            for name, cells in sheet.cells.items():
                found[name] |= cells
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
        return 8.0 * columns * sum(sheet.rows for sheet in self.sheets)

    @cached_property
    def tables(self) -> list[pa.Table]:
        """The sheets with the types that all of them have in common."""
        import pyarrow as pa

        na = missing_texts(self.options)
        tables = []
        for sheet in self.sheets:
            chunks: dict[str, list[pa.Array]] = {name: [] for name in self.own.names}
            for columns in sheet.columns():
                for name, values in columns.items():
                    type_ = self.own.field(name).type
                    chunks[name].append(array_of(values, type_, na))
            arrays = [pa.chunked_array(chunks[f.name], f.type) for f in self.own]
            tables.append(pa.Table.from_arrays(arrays, schema=self.own))
            sheet.release()
        return tables

    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield slices of the sheets."""
        for shown, table in zip(self.shown, self.tables, strict=True):
            start = 0
            for batch in table.select(columns).to_batches(max_chunksize=rows):
                yield LocatedBatch(batch, Location(shown, start))
                start += batch.num_rows


class _Sheet:
    """The cells of a sheet below its header."""

    def __init__(
        self, sheet: Any, path: str, options: TextOptions, expected: frozenset[str]
    ) -> None:
        self._sheet = sheet
        self.notes: list[str] = []
        head = list(islice(self._filled(), _HEAD))
        if not head:
            raise InputError("The sheet is empty.", file=path, remedy="Give one with a table.")
        self._skip = _before(head)
        if self._skip:
            s = "" if self._skip == 1 else "s"
            self.notes.append(f"{self._skip} line{s} before the table skipped.")
        first = _texts(head[self._skip])
        rest = [_texts(row) for row in head[self._skip + 1 :]]
        given = options.header
        self.named = has_header(first, rest, expected) if given is None else given
        if given is None and not self.named:
            self.notes.append(
                "The first line holds values, no names: columns are called column_1 to "
                f"column_{len(first)} (override: `header=True`)."
            )
        found = self._survey(len(first))
        names = _names(first, sheet, self._top()) if self.named else [None] * len(first)
        self._used = [j for j in range(len(first)) if names[j] or found[j]]
        shown = [names[j] or column_name(j) for j in self._used]
        refuse_duplicates(shown, path)
        self.cells = {name: found[j] for j, name in zip(self._used, shown, strict=True)}

    def _top(self) -> int:
        """The row of the sheet with the header."""
        rows = enumerate(self._sheet.iter_rows())
        filled = (index for index, row in rows if any(value != "" for value in row))
        return next(islice(filled, self._skip, None))

    def release(self) -> None:
        """Forget the cells once they are in columns."""
        self._sheet = None

    def _filled(self) -> Iterator[Row]:
        """Rows with some value; empty cells are None."""
        for row in self._sheet.iter_rows():
            cells = [None if value == "" else value for value in row]
            if any(value is not None for value in cells):
                yield cells

    def _body(self) -> Iterator[list[tuple[Any, ...]]]:
        """The columns of some rows at a time."""
        rows = islice(self._filled(), self._skip + bool(self.named), None)
        while chunk := list(islice(rows, _AT_ONCE)):
            yield list(zip(*chunk, strict=True))

    def _survey(self, width: int) -> list[Cells]:
        found, self.rows = [Cells.NONE] * width, 0
        for columns in self._body():
            self.rows += len(columns[0])
            found = [old | _cells(new) for old, new in zip(found, columns, strict=True)]
        return found

    def columns(self) -> Iterator[dict[str, tuple[Any, ...]]]:
        """The columns in use, some rows at a time."""
        for columns in self._body():
            yield {name: columns[j] for name, j in zip(self.cells, self._used, strict=True)}


def _cells(values: tuple[Any, ...]) -> Cells:
    """The types of some cells; a workbook has no integers, but numbers that are whole."""
    found = cells_of(values)
    if Cells.NUMBER in found and all(
        value.is_integer() and abs(value) < 2**53 for value in values if type(value) is float
    ):
        found = (found & ~Cells.NUMBER) | Cells.INTEGER
    return found


def _texts(row: Row) -> list[str]:
    return ["" if value is None else text_of(value).strip() for value in row]


def _before(head: list[Row]) -> int:
    """Lines with a single value above a table of three columns and more: titles and remarks."""
    widths = [sum(value is not None for value in row) for row in head]
    if max(widths) < 3:
        return 0
    return next(i for i, width in enumerate(widths) if width > 1)


def _names(first: list[str], sheet: Any, top: int) -> list[str | None]:
    """The names of the columns; those under one merged cell are counted: Size, Size (2)."""
    names: list[str | None] = [name or None for name in first]
    left = sheet.start[1] if sheet.start else 0
    for (row, start), (_, stop) in sheet.merged_cell_ranges or ():
        at = start - left
        if row == top and 0 <= at < len(names) and names[at]:
            for j in range(at + 1, min(stop - left + 1, len(names))):
                names[j] = names[j] or f"{names[at]} ({j - at + 1})"
    return names


def _read(path: str, options: TextOptions, expected: frozenset[str]) -> _Sheet:
    try:
        import python_calamine as calamine
    except ImportError:
        raise InputError(
            "Workbooks are read by a library that is not installed.",
            file=path,
            remedy="Install it: pip install 'separatrix[excel]'.",
        ) from None
    file, inside = split_place(path)
    try:
        with stored_bytes(file) as raw:

            def read() -> tuple[Any, list[str]]:
                check_workbook(raw, file, options.limits)
                book = calamine.CalamineWorkbook.from_filelike(raw)
                name, notes = _chosen(book, inside, file)
                return book.get_sheet_by_name(name), notes

            cells, notes = Watch(options.limits, path, "the workbook", raw.close, computed=True)(
                read
            )
    except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except calamine.PasswordError:
        raise protected(file) from None
    except BaseException as reason:  # a panic of the library is no Exception
        raise unreadable(path, reason) from reason
    sheet = _Sheet(cells, path, options, expected)
    sheet.notes[:0] = notes
    return sheet


def _chosen(book: Any, inside: str | None, file: str) -> tuple[str, list[str]]:
    """The sheet that is meant: the one named, or the only one that is shown and not empty."""
    sheets = [s for s in book.sheets_metadata if str(s.typ).endswith("WorkSheet")]
    names = [sheet.name for sheet in sheets]
    if inside is not None:
        near = [name for name in names if name.strip().casefold() == inside.casefold()]
        if inside in names or len(near) == 1:
            return (inside if inside in names else near[0]), []
        raise InputError(
            f"there is no sheet {inside!r}.", file=file, remedy=did_you_mean(inside, names)
        )
    shown = [sheet.name for sheet in sheets if str(sheet.visible).endswith(".Visible")]
    if 1 < len(shown) <= _FEW:
        shown = [name for name in shown if book.get_sheet_by_name(name).height] or shown[:1]
    if len(shown) == 1:
        return shown[0], [f"The only sheet with values is read: {shown[0]!r}."]
    if not names:
        raise InputError("The workbook has no sheets.", file=file, remedy="Check the file.")
    raise InputError(
        f"The workbook has {len(shown)} sheets, and one is read."
        if shown
        else "No sheet is shown.",
        file=file,
        remedy=f"Name one: {file}::{(shown or names)[0]}. {did_you_mean('', shown or names)}",
    )
