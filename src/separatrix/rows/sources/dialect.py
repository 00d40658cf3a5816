"""The layout of a text file: encoding, lines before the table, separator, header.

Encodings are checked over the whole file, the rest is decided from its first lines.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from itertools import pairwise

from separatrix.messages import InputError
from separatrix.rows.notations.missing import AMONG_NUMBERS, SILENT
from separatrix.rows.notations.options import DELIMITERS, TextOptions
from separatrix.rows.sources.places.files import chunks, is_plain, opened_bytes

#: Bytes from which the layout is decided, and lines of them.
HEAD_BYTES, HEAD_LINES = 1 << 18, 200
_COMMENT = re.compile(r"\s*(#|//|%)")
_VALUE = re.compile(r"^[(+-]?\s*[$€£¥]?\s*[-+]?[\d.,' ]*\d[\d.,' ]*([eE][+-]?\d+)?\s*[%$€£¥]?\)?$")
_DATE = re.compile(r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\S+)*$")
_NA = AMONG_NUMBERS | SILENT


@dataclass(frozen=True)
class Dialect:
    """How one file is laid out; ``names`` are given where no header line has them."""

    encoding: str
    delimiter: str
    skip: int
    columns: tuple[str, ...]
    names: tuple[str, ...] | None
    notes: tuple[str, ...] = ()

    @property
    def has_header(self) -> bool:
        """Whether the columns are named in the file."""
        return self.names is None or self.names[:1] != (column_name(0),)


def column_name(position: int) -> str:
    """The name of a column without one."""
    return f"column_{position + 1}"


def not_a_table(shown: str, reason: BaseException) -> InputError:
    """The refusal of a file that is not a text table, or is truncated."""
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"cannot be read as a text table ({detail}).",
        file=shown,
        remedy="Save it as CSV with a header line and \\n or \\r\\n at the end of lines.",
    )


def dialect_of(path: str, shown: str, options: TextOptions, expected: frozenset[str]) -> Dialect:
    """The layout of a file; ``expected`` are names of columns that the caller mentioned."""
    with opened_bytes(path) as file:
        head = file.read(HEAD_BYTES)
    encoding = options.encoding or _encoding(path, head)
    notes = []
    if options.encoding is None and not encoding.startswith("utf-8"):
        name = {"cp1252": "Windows-1252"}.get(encoding, encoding.upper())
        notes.append(f"The file is not UTF-8: read as {name} (override: `encoding`).")
    lines = _lines(head, encoding, shown)
    skip, separator, comments = _before(lines)
    if comments:
        s = "" if comments == 1 else "s"
        notes.append(f"{comments} comment line{s} before the table skipped.")
    body = lines[skip : skip + HEAD_LINES]
    if not body or not "".join(body).strip():
        raise InputError(
            "The file is empty.", file=shown, remedy="Give a table with a header and some rows."
        )
    try:
        delimiter = options.delimiter or separator or _delimiter(body)
        return _with_names(lines, skip, delimiter, encoding, options, expected, notes)
    except csv.Error as reason:
        raise not_a_table(shown, reason) from reason


def _with_names(
    lines: list[str],
    skip: int,
    delimiter: str,
    encoding: str,
    options: TextOptions,
    expected: frozenset[str],
    notes: list[str],
) -> Dialect:
    records = _records(lines[skip : skip + HEAD_LINES], delimiter)
    first, rest = records[0], records[1:]
    header = options.header
    if header is None:
        commented = _commented_header(lines[:skip], first, delimiter)
        if commented is not None and not expected & set(first):
            notes.append("The names of the columns are those in the last comment line.")
            return Dialect(encoding, delimiter, skip, commented, commented, tuple(notes))
        header = has_header(first, rest, expected)
    if header:
        names = tuple(name.strip() for name in first)
        if names != tuple(first):  # "x, y": the spaces are no part of the names
            height = 1 + sum(name.count("\n") for name in first)  # lines of the header
            return Dialect(encoding, delimiter, skip + height, names, names, tuple(notes))
        return Dialect(encoding, delimiter, skip, names, None, tuple(notes))
    names = tuple(column_name(j) for j in range(len(first)))
    if options.header is None:
        notes.append(
            f"The first line holds values, no names: columns are called {names[0]} to {names[-1]} "
            "(override: `header=True`)."
        )
    return Dialect(encoding, delimiter, skip, names, names, tuple(notes))


# -- encoding --------------------------------------------------------------------------------------


def _encoding(path: str, head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in head[:4096]:
        even, odd = head[0:4096:2].count(0), head[1:4096:2].count(0)
        if max(even, odd) > len(head[:4096]) // 8 and min(even, odd) * 8 < max(even, odd):
            return "utf-16-le" if odd > even else "utf-16-be"
    valid, invalid, controls = _beyond_ascii(path, head)
    if invalid <= valid:  # UTF-8, perhaps with damage, which is reported by its row
        return "utf-8"
    return "iso8859-1" if controls else "cp1252"


def _beyond_ascii(path: str, head: bytes) -> tuple[int, int, bool]:
    """Characters of UTF-8, bytes that are none, and whether some are not of Windows-1252."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    valid, invalid, controls = 0, 0, False
    cut = False  # whether a character may continue in the next chunk
    for chunk in chunks(path) if is_plain(path) else [head]:
        if chunk.isascii() and not cut:
            continue
        text = decoder.decode(chunk)
        bad = text.count("\ufffd")
        invalid += bad
        valid += len(re.findall(r"[^\x00-\x7f]", text)) - bad
        controls |= any(byte in chunk for byte in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d"))
        cut = bool(decoder.getstate()[0])
    return valid, invalid, controls


def _lines(head: bytes, encoding: str, shown: str) -> list[str]:
    """The first lines; the last one, which may be cut, is left out of many."""
    try:
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    except (UnicodeError, TypeError) as reason:
        raise not_a_table(shown, reason) from reason
    lines = list(io.StringIO(text.removeprefix("\ufeff"), newline=None))
    if len(head) == HEAD_BYTES and len(lines) > 1:
        lines.pop()
    return [line.rstrip("\r\n") for line in lines]


# -- lines before the table ------------------------------------------------------------------------


def _before(lines: list[str]) -> tuple[int, str | None, int]:
    """Lines to skip, a separator named by ``sep=;``, and the number of comments among them."""
    skip, comments, separator = 0, 0, None
    for line in lines:
        named = re.fullmatch(r"sep=(.)", line.strip('\ufeff" '))
        if named and skip == 0:
            separator = named[1]
        elif _COMMENT.match(line):
            comments += 1
        elif line.strip():
            break
        skip += 1
    return skip, separator, comments


def _commented_header(
    before: list[str], first: list[str], delimiter: str
) -> tuple[str, ...] | None:
    """The names in the last comment, if they fit a table of values below it."""
    if not before or not _COMMENT.match(before[-1]):
        return None
    text = _COMMENT.sub("", before[-1], count=1)
    names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
    fits = len(names) == len(first) > 1 and all(names) and len(set(names)) == len(names)
    if not fits or any(is_value(name) for name in names) or not any(map(is_value, first)):
        return None
    return tuple(names)


# -- separator and header --------------------------------------------------------------------------


def _records(lines: list[str], delimiter: str) -> list[list[str]]:
    """The records of some lines; a name or value in quotes may break a line."""
    whole = (line + "\n" for line in lines)
    return [record for record in csv.reader(whole, delimiter=delimiter) if record]


def _delimiter(lines: list[str]) -> str:
    """The separator that cuts every line into equally many values; else that of the header."""
    best, most = "", 1
    for delimiter in DELIMITERS:
        try:
            widths = {len(record) for record in _records(lines[:50], delimiter)}
        except csv.Error:
            continue
        if len(widths) == 1 and max(widths) > most:
            best, most = delimiter, max(widths)
    return best or max(DELIMITERS, key=lines[0].count)


def is_value(text: str) -> bool:
    """Whether a text is a number or a date, not a name."""
    text = text.strip()
    return bool(_VALUE.match(text) or _DATE.match(text))


def has_header(first: list[str], rest: list[list[str]], expected: frozenset[str]) -> bool:
    """Whether the first record names columns: a column of numbers under a word shows it."""
    counted = [[str(j + k) for j in range(len(first))] for k in (0, 1)]
    if expected & set(first) or not rest or first in counted:
        return True
    named = valued = unlike = recurring = 0
    for j, cell in enumerate(first):
        below = [record[j].strip() for record in rest if j < len(record)]
        below = [text for text in below if text not in _NA]
        cell = cell.strip()
        if below and all(map(is_value, below)):
            named += not is_value(cell) and cell not in _NA
            valued += is_value(cell)
        else:
            distinct = set(below)
            recurring += cell in distinct
            unlike += cell not in distinct and 2 * len(distinct) <= len(below)
    if named or (valued and unlike and _increasing(first)):
        return True
    if valued:
        return False
    return 3 * recurring < 2 * len(first) or len(first) < 2 or len(rest) < 5


def _increasing(cells: list[str]) -> bool:
    """Whether the numbers among cells increase, as wavelengths and years in a header do."""
    numbers = [float(cell) for cell in cells if re.fullmatch(r"\d+\.?\d*", cell.strip())]
    return len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
