"""Sheets of workbooks (Excel, OpenDocument) as tables.

The sheet is read whole, by calamine, and turned into Arrow columns. Values are those that were
computed when the workbook was saved: no formula is computed, no link followed, no macro run. Cells
with an error (#N/A, #DIV/0!) are missing.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.notations import Limits, TextOptions
from separatrix.rows.sources import formats, places
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.csv import column_name, has_header
from separatrix.rows.sources.source import LocatedBatch, refuse_difference, refuse_duplicates
from separatrix.rows.sources.watch import Watch, describe_limit

if TYPE_CHECKING:
    import pyarrow as pa


Row = list[Any]


class WorkbookSource(formats.CellSource):
    """One sheet, of one workbook or of several alike."""

    of_this_process = ("sheets", "tables")

    def __init__(
        self,
        paths: list[str],
        options: TextOptions | None = None,
        expected: Iterable[str] = (),
        partitions: places.Partitions | None = None,
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
    def cells(self) -> dict[str, formats.CellTypes]:
        """The columns, with the types of their cells."""
        found = dict.fromkeys(self.sheets[0].cells, formats.CellTypes.NONE)
        for path, sheet in zip(self.paths, self.sheets, strict=True):
            refuse_difference(list(found), self.paths[0], list(sheet.cells), path)
            for name, cells in sheet.cells.items():
                found[name] |= cells
        return found

    def size(self, columns: int) -> float:
        """The bytes of this many columns of numbers in memory."""
        return 8.0 * columns * sum(sheet.rows for sheet in self.sheets)

    @cached_property
    def tables(self) -> list[pa.Table]:
        """The sheets with the types that all of them have in common."""
        import pyarrow as pa

        na = formats.missing_texts(self.options)
        tables = []
        for sheet in self.sheets:
            chunks: dict[str, list[pa.Array]] = {name: [] for name in self.own.names}
            for columns in sheet.columns():
                for name, values in columns.items():
                    type_ = self.own.field(name).type
                    chunks[name].append(formats.array_of(values, type_, na))
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
        head = list(islice(self._fill_cells(), 200))  # rows from which a header is recognized
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
        columns = self._survey(len(first))
        names = _names(first, sheet, self._top()) if self.named else [None] * len(first)
        self._used = [j for j in range(len(first)) if names[j] or columns[j]]
        shown = [names[j] or column_name(j) for j in self._used]
        refuse_duplicates(shown, path)
        self.cells = {name: columns[j] for j, name in zip(self._used, shown, strict=True)}

    def _top(self) -> int:
        """The row of the sheet with the header."""
        rows = enumerate(self._sheet.iter_rows())
        filled = (index for index, row in rows if any(value != "" for value in row))
        return next(islice(filled, self._skip, None))

    def release(self) -> None:
        """Forget the cells once they are in columns."""
        self._sheet = None

    def _fill_cells(self) -> Iterator[Row]:
        """Rows with some value; empty cells are None."""
        for row in self._sheet.iter_rows():
            cells = [None if value == "" else value for value in row]
            if any(value is not None for value in cells):
                yield cells

    def _body(self) -> Iterator[list[tuple[Any, ...]]]:
        """The columns of some rows at a time."""
        rows = islice(self._fill_cells(), self._skip + bool(self.named), None)
        while chunk := list(islice(rows, 10_000)):  # rows that are turned into columns at a time
            yield list(zip(*chunk, strict=True))

    def _survey(self, width: int) -> list[formats.CellTypes]:
        found, self.rows = [formats.CellTypes.NONE] * width, 0
        for columns in self._body():
            self.rows += len(columns[0])
            found = [old | _cells(new) for old, new in zip(found, columns, strict=True)]
        return found

    def columns(self) -> Iterator[dict[str, tuple[Any, ...]]]:
        """The columns in use, some rows at a time."""
        for columns in self._body():
            yield {name: columns[j] for name, j in zip(self.cells, self._used, strict=True)}


def _cells(values: tuple[Any, ...]) -> formats.CellTypes:
    """The types of some cells; a workbook has no integers, but numbers that are whole."""
    cells = formats.cells_of(values)
    if formats.CellTypes.NUMBER in cells and all(
        value.is_integer() and abs(value) < 2**53 for value in values if type(value) is float
    ):
        cells = (cells & ~formats.CellTypes.NUMBER) | formats.CellTypes.INTEGER
    return cells


def _texts(row: Row) -> list[str]:
    return ["" if value is None else formats.text_of(value).strip() for value in row]


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
    file, inside = places.split_place(path)
    try:
        with places.stored_bytes(file) as raw:

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
        raise refuse_protected(file) from None
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
    if 1 < len(shown) <= 5:  # sheets that are looked into for the one that is not empty
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


# -------------------------------------------------------------------------------------------------
# What is looked at in a workbook before a library reads it: size, cells far apart, declarations.
#
# The library lays out all cells up to the last one, so that a file of a kilobyte with a cell in the
# last corner would fill all memory. An upper bound of that room is counted here from the bytes.


#: Bytes of memory for a cell: the library takes about 70, and its parts are read beside them.
_CELL = 100
_ATTRIBUTES = rb"((?:[^>\"']|\"[^\"]*\"|'[^']*')*)"
_TAG = re.compile(rb"<(?:\w+:)?(row|c)\b" + _ATTRIBUTES + rb">")
_PLACE = re.compile(rb"\br\s*=\s*[\"']([A-Z]{0,3})(\d{1,7})[\"']")
_CELL_AT = re.compile(rb'<c r="([A-Z]{1,3})(\d{1,7})"')
_LINE_AT = re.compile(rb'<row r="(\d{1,7})"')
#: Other tags that begin like that of a cell: of columns, comments, formats.
_OTHERS = (b"<co", b"<cf", b"<cu", b"<ce", b"<ch", b"<cp", b"<cl")
_UNPLACED = re.compile(rb"\br\s*=")
_ODS = re.compile(
    rb"<(/?)table:(table-row|table-cell|covered-table-cell|table)\b" + _ATTRIBUTES + rb">"
)
_REPEATED = re.compile(rb"number-(?:rows|columns)-repeated\s*=\s*[\"'](\d+)[\"']")

#: The text of a part, read anew at every call.
Texts = Callable[[], Iterator[bytes]]
_DECLARED = (b"<!DOCTYPE", b"<!ENTITY", b"<!doctype", b"<!entity")


def check_workbook(raw: IO[bytes], path: str, limits: Limits) -> None:
    """Refuse a workbook that is built to fill memory; its content, not its name, tells how."""
    archived = raw.read(2) == b"PK"
    raw.seek(0)
    if not archived:
        try_workbook(raw, path, limits)
        return
    most = limits.bytes / _CELL
    try:
        with zipfile.ZipFile(raw) as archive:
            total = sum(info.file_size for info in archive.infolist())
            if total > limits.bytes:
                raise _too_large(path, f"{total / 2**30:.3g} GB of text", limits)
            for info in archive.infolist():
                if info.flag_bits & 1:
                    raise refuse_protected(path)
                if info.filename.lower().endswith("workbook.bin"):
                    raise _suspicious(path, "is a binary workbook (.xlsb)")
                texts = partial(_tags, archive, info, path)
                cells = _xlsx_cells(texts, most)
                if info.filename.lower() == "content.xml":  # of OpenDocument
                    cells = max(cells, _ods_cells(texts))
                if cells > most:
                    raise _too_large(path, f"{cells:,} cells up to the last one", limits)
    except (zipfile.BadZipFile, NotImplementedError, OSError, RuntimeError, EOFError) as reason:
        raise places.explain_damage(path, reason) from reason
    raw.seek(0)


def _tags(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> Iterator[bytes]:
    """The text of a part, cut between tags; nothing of it may declare entities."""
    guard = places.Unpacked(archive.open(info), io.BytesIO(), lambda: info.compress_size, path)
    rest = b""
    chunk = 1 << 20  # bytes that are read at a time
    while data := guard.read(chunk):
        if not rest and data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise _suspicious(path, "is not written in UTF-8")
        data = rest + data
        if any(mark in data for mark in _DECLARED):
            raise _suspicious(path, "declares entities, which no program that writes tables does")
        cut = data.rfind(b"<")
        rest = data[cut:] if cut >= 0 and b">" not in data[cut:] else b""
        if len(rest) > chunk:
            if info.filename.endswith((".xml", ".rels")):
                raise _suspicious(path, "has a tag without end")
            return  # pictures
        yield data[: len(data) - len(rest)]


def _xlsx_cells(texts: Texts, most: float) -> int:
    """Cells of a sheet up to the last one with a value; a quick bound is enough where it is low."""
    bound = _xlsx_bound(texts())
    return bound if bound is not None and bound <= most else _xlsx_exact(texts())


def _xlsx_bound(texts: Iterator[bytes]) -> int | None:
    """Rows times columns where all tags are written as usual; None if one is not."""
    rows = columns = 0
    for text in texts:
        cells, lines = _CELL_AT.findall(text), _LINE_AT.findall(text)
        begun = text.count(b"<c") - sum(map(text.count, _OTHERS))
        usual = begun == len(cells) and text.count(b"<row") == len(lines)
        if not usual or b":c" in text or b":row" in text:
            return None
        columns = max(columns, max(map(_number, {letters for letters, _ in cells}), default=0))
        digits = {*lines, *(number for _, number in cells)}
        rows = max(rows, max(map(int, digits), default=0))
    return rows * columns


def _xlsx_exact(texts: Iterator[bytes]) -> int:
    row = last = column = rows = columns = 0
    for text in texts:
        for tag in _TAG.finditer(text):
            match = _PLACE.search(tag[2])
            if match is None and _UNPLACED.search(tag[2]):
                return 1 << 62  # a place that no sheet has
            if tag[1] == b"row":
                row, column = (int(match[2]) if match else row + 1), 0
                continue
            column += 1
            placed = bool(match and match[1])
            if match and placed:
                last, column = int(match[2]), _number(match[1])
            if not tag[2].endswith(b"/"):  # a cell without a place may count from either
                rows, columns = max(rows, last, 0 if placed else row), max(columns, column)
    return rows * columns


def _number(letters: bytes) -> int:
    """The number of the column ``AB``."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _ods_cells(texts: Texts) -> int:
    """Cells of the largest sheet up to the last one with a value."""
    most = row = rows = columns = width = used = repeated = 0
    for text in texts():
        for tag in _ODS.finditer(text):
            end, name, attributes = tag.groups()
            match = _REPEATED.search(attributes)
            times = int(match[1]) if match else 1
            if name == b"table":
                row = rows = columns = 0
            elif name == b"table-row" and not end:
                width, used, repeated = 0, 0, times
            if name == b"table-row" and (end or attributes.endswith(b"/")):
                row += repeated
                if used:
                    rows, columns = row, max(columns, used)
                most = max(most, rows * columns)
            elif name.endswith(b"cell") and not end:
                width += times
                if not attributes.endswith(b"/") or b"value" in attributes:
                    used = width
    return most


def _too_large(path: str, what: str, limits: Limits) -> InputError:
    return InputError(
        f"has {what}, more than is read from a workbook ({limits.bytes / _CELL:,.0f} cells).",
        file=path,
        remedy="Save the sheet as CSV; that is read as a stream, whatever its size. Or raise the "
        f"limit: {describe_limit(limits, 'bytes')}.",
    )


def _suspicious(path: str, what: str) -> InputError:
    return InputError(
        f"{what}: it is not read.", file=path, remedy="Save the sheet as CSV, and give that."
    )


def refuse_protected(path: str) -> InputError:
    """The refusal of a workbook with a password."""
    return InputError(
        "is protected by a password.",
        file=path,
        remedy="Save it without a password, or the sheet as CSV.",
    )


def unreadable(path: str, reason: Any) -> InputError:
    """The refusal of a workbook that the library cannot read."""
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"cannot be read as a workbook ({detail}).",
        file=path,
        remedy="Open it and save it again, or save the sheet as CSV.",
    )


# -------------------------------------------------------------------------------------------------
# Workbooks of the old binary format, tried in a process of their own with little memory.

_TRIAL = """
import io, sys
memory = float(sys.argv[1])
try:
    import resource
    if memory < sys.maxsize:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except ImportError:
    pass
try:
    from python_calamine import CalamineWorkbook
    book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    for name in book.sheet_names:
        book.get_sheet_by_name(name)
except MemoryError:
    sys.exit(2)
"""


def try_workbook(raw: IO[bytes], path: str, limits: Limits) -> None:
    """Refuse a workbook that fails other than by an error, which the library gives again."""
    # Part of the limit of memory that the file itself may take; 65 536 x 256 cells take 1.2 GB.
    most = int(min(limits.bytes / 4, sys.maxsize - 1))
    data = raw.read(most + 1)
    raw.seek(0)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _TRIAL, str(limits.bytes)],
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=min(limits.seconds, threading.TIMEOUT_MAX),
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        ended = -1
    if ended not in (0, 1) or len(data) > most:
        raise InputError(
            "takes more memory or time than any sheet of this format should: it is not read.",
            file=path,
            remedy="Save the sheet as CSV and give that, or raise the limits: "
            f"{describe_limit(limits, 'bytes')} or {describe_limit(limits, 'seconds')}.",
        )
