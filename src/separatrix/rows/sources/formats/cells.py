"""Cells of any type as Arrow columns: JSON lines, workbooks and SQLite have no types of columns.

A column of whole numbers, numbers, truth values, dates or texts is read as such. Where the types of
its cells differ, all are read as text, and numbers in text are recognized as in a text file. The
same holds where every cell of a table is text, as an import without types leaves it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence, Set
from enum import IntFlag
from typing import TYPE_CHECKING, Any

from separatrix.rows.notations.missing import SILENT
from separatrix.rows.notations.options import TextOptions

if TYPE_CHECKING:
    import pyarrow as pa


class Cells(IntFlag):
    """Types of the cells of a column."""

    NONE = 0
    INTEGER = 1
    NUMBER = 2
    TEXT = 4
    BYTES = 8
    TRUTH = 16
    DATE = 32
    DATETIME = 64
    TIME = 128
    DURATION = 256
    NESTED = 512


_NUMBERS = Cells.INTEGER | Cells.NUMBER
_DATES = Cells.DATE | Cells.DATETIME
_INT64 = 1 << 63
_TYPES: tuple[tuple[type, Cells], ...] = (  # the first that fits: a truth value is an int, too
    (bool, Cells.TRUTH),
    (int, Cells.INTEGER),
    (float, Cells.NUMBER),
    (str, Cells.TEXT),
    (dt.datetime, Cells.DATETIME),
    (dt.date, Cells.DATE),
    (dt.time, Cells.TIME),
    (dt.timedelta, Cells.DURATION),
    (bytes, Cells.BYTES),
)
_OF_TYPE = dict(_TYPES)


def cells_of(values: Sequence[Any]) -> Cells:
    """The types of some cells; None is missing."""
    found = Cells.NONE
    for type_ in set(map(type, values)) - {type(None)}:
        found |= _OF_TYPE.get(type_, Cells.NESTED)
    if Cells.INTEGER in found and any(type(v) is int and not -_INT64 <= v < _INT64 for v in values):
        found |= Cells.NUMBER  # beyond 64 bits
    return found


def type_of(cells: Cells) -> pa.DataType:
    """The type that a column of such cells is read as."""
    import pyarrow as pa

    plain = {
        Cells.NONE: pa.null(),
        Cells.INTEGER: pa.int64(),
        Cells.TEXT: pa.string(),
        Cells.BYTES: pa.binary(),
        Cells.TRUTH: pa.bool_(),
        Cells.DATE: pa.date32(),
        Cells.TIME: pa.time64("us"),
        Cells.DURATION: pa.duration("us"),
    }
    if cells in plain:
        return plain[cells]
    if cells in _NUMBERS:
        return pa.float64()
    if cells in _DATES:
        return pa.timestamp("us")
    return pa.list_(pa.null()) if Cells.NESTED in cells else pa.string()


def is_mixed(cells: Cells) -> bool:
    """Whether cells are read as text because their types differ."""
    import pyarrow as pa

    return bool(pa.types.is_string(type_of(cells)) and cells != Cells.TEXT)


def written_columns(columns: Mapping[str, Cells]) -> frozenset[str]:
    """Columns in whose texts numbers are recognized: of several types, or of a table of texts."""
    if all(cells in (Cells.TEXT, Cells.NONE) for cells in columns.values()):
        return frozenset(columns)
    return frozenset(name for name, cells in columns.items() if is_mixed(cells))


def array_of(values: Sequence[Any], type_: pa.DataType, na: Set[str] = frozenset()) -> pa.Array:
    """The cells of a column in the type that was found for it; texts in ``na`` are missing."""
    import pyarrow as pa

    if pa.types.is_list(type_):  # objects in cells: refused by name where the column is used
        return pa.nulls(len(values), type_)
    try:
        array = pa.array(values, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # cells of several types
        array = pa.array([None if v is None else _converted(v, type_) for v in values], type_)
    return without(array, na) if pa.types.is_string(type_) else array


def without(texts: pa.Array, na: Set[str]) -> pa.Array:
    """The texts, missing where they say so, as in a text file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not na:
        return texts
    missing = pc.is_in(texts, pa.array(sorted(na), texts.type))
    return pc.if_else(missing, pa.scalar(None, texts.type), texts)


def missing_texts(options: TextOptions) -> frozenset[str]:
    """The texts that are missing values in every column."""
    return SILENT if options.na is None else frozenset({"", *options.na})


def _converted(value: Any, type_: pa.DataType) -> Any:
    """One cell in the type of its column."""
    import pyarrow as pa

    if pa.types.is_string(type_):
        return text_of(value)
    if pa.types.is_timestamp(type_) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    if not pa.types.is_floating(type_):
        return value
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits: refused as infinite, by its row
        return math.inf


def text_of(value: Any) -> str:
    """A cell as a text file has it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return str(value)
