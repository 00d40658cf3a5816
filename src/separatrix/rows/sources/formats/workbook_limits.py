"""What is looked at in a workbook before a library reads it: size, cells far apart, declarations.

The library lays out all cells up to the last one, so that a file of a kilobyte with a cell in the
last corner would fill all memory. An upper bound of that room is counted here from the bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any

from separatrix.messages import InputError
from separatrix.rows.notations.options import Limits
from separatrix.rows.sources.formats.old_workbooks import try_workbook
from separatrix.rows.sources.places.compression import Unpacked, damaged
from separatrix.rows.sources.watch import raised

#: Bytes of memory for a cell: the library takes about 70, and its parts are read beside them.
_CELL = 100
_CHUNK = 1 << 20
#: Cells of a sheet with a place that is none.
_NOWHERE = 1 << 62
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
                    raise protected(path)
                if info.filename.lower().endswith("workbook.bin"):
                    raise _suspicious(path, "is a binary workbook (.xlsb)")
                texts = partial(_tags, archive, info, path)
                cells = _xlsx_cells(texts, most)
                if info.filename.lower() == "content.xml":  # of OpenDocument
                    cells = max(cells, _ods_cells(texts))
                if cells > most:
                    raise _too_large(path, f"{cells:,} cells up to the last one", limits)
    except (zipfile.BadZipFile, NotImplementedError, OSError, RuntimeError, EOFError) as reason:
        raise damaged(path, reason) from reason
    raw.seek(0)


def _tags(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> Iterator[bytes]:
    """The text of a part, cut between tags; nothing of it may declare entities."""
    guard = Unpacked(archive.open(info), io.BytesIO(), lambda: info.compress_size, path)
    rest = b""
    while data := guard.read(_CHUNK):
        if not rest and data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise _suspicious(path, "is not written in UTF-8")
        data = rest + data
        if any(mark in data for mark in _DECLARED):
            raise _suspicious(path, "declares entities, which no program that writes tables does")
        cut = data.rfind(b"<")
        rest = data[cut:] if cut >= 0 and b">" not in data[cut:] else b""
        if len(rest) > _CHUNK:
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
            found = _PLACE.search(tag[2])
            if found is None and _UNPLACED.search(tag[2]):
                return _NOWHERE
            if tag[1] == b"row":
                row, column = (int(found[2]) if found else row + 1), 0
                continue
            column += 1
            placed = bool(found and found[1])
            if found and placed:
                last, column = int(found[2]), _number(found[1])
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
            found = _REPEATED.search(attributes)
            times = int(found[1]) if found else 1
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
        f"limit: {raised(limits, 'bytes')}.",
    )


def _suspicious(path: str, what: str) -> InputError:
    return InputError(
        f"{what}: it is not read.", file=path, remedy="Save the sheet as CSV, and give that."
    )


def protected(path: str) -> InputError:
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
