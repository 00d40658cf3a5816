"""JSON lines, one object a row, as a stream of batches; a key that a row lacks is missing there.

A first pass finds the columns and the types of all values. Arrow parses the blocks of both passes;
a block that it refuses is read line by line, which gives the row of every fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.sources.columns import Location, is_number
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.formats.cells import (
    Cells,
    array_of,
    cells_of,
    is_mixed,
    missing_texts,
    type_of,
    without,
    written_columns,
)
from separatrix.rows.sources.places.files import file_size, is_packed, opened_bytes
from separatrix.rows.sources.places.partitions import Partitions
from separatrix.rows.sources.source import LocatedBatch

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 4 << 20
#: Longest line, in bytes.
LONGEST_LINE = 16 << 20
#: Brackets that a line may open before it is left to the slower parser, which refuses deep nesting.
MAX_BRACKETS = 64
#: Keys repeat in every line: numbers take less room in memory than in the file.
_GROWTH, _PACKED_GROWTH = 1.0, 6.0


class JsonLinesSource(FileSource):
    """One table in one or more files of JSON lines."""

    def __init__(
        self,
        paths: list[str],
        options: TextOptions | None = None,
        partitions: Partitions | None = None,
    ) -> None:
        super().__init__(paths, None, partitions)
        self.na = missing_texts(options or TextOptions())

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """The columns in the order in which they occur, with the types of their values."""
        found: dict[str, Cells] = {}
        for path in self.paths:
            start = 0
            for block in _blocks(path):
                count, here = _survey(block, path, start)
                start += count
                for name, cells in here.items():
                    found[name] = found.get(name, Cells.NONE) | cells
        if not found:
            raise InputError(
                "The file is empty.", file=self.name, remedy="Give one object for each row."
            )
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
        """About the bytes of this many columns in memory, judged by the files."""
        part = columns / max(len(self.own.names), 1)
        growth = ((p, _PACKED_GROWTH if is_packed(p) else _GROWTH) for p in self.paths)
        return sum(part * file_size(path) * factor for path, factor in growth)

    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        mixed = any(is_mixed(self.cells[name]) for name in columns)
        for path, shown in self.files:
            start = 0
            for block in _blocks(path):
                batch = None if mixed else self._by_arrow(block, columns)
                if batch is None:
                    batch = self._by_line(_objects(block, path, start), columns)
                for offset in range(0, batch.num_rows, rows):
                    place = Location(shown, start + offset)
                    yield LocatedBatch(batch.slice(offset, rows), place)
                start += batch.num_rows

    def _by_arrow(self, block: bytes, columns: list[str]) -> pa.RecordBatch | None:
        import pyarrow as pa

        types = {name: self.own.field(name).type for name in columns}
        known = [(n, t) for n, t in types.items() if not pa.types.is_null(t) and not _is_list(t)]
        table = _parsed(block, pa.schema(known)) if known else None
        if table is None:
            return None
        table = table.combine_chunks()
        arrays = []
        for name, type_ in types.items():
            if table.schema.get_field_index(name) < 0:
                arrays.append(pa.nulls(table.num_rows, type_))
                continue
            array = table.column(name).combine_chunks()
            arrays.append(without(array, self.na) if pa.types.is_string(type_) else array)
        return pa.RecordBatch.from_arrays(arrays, names=columns)

    def _by_line(self, objects: list[dict[str, Any]], columns: list[str]) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = [
            array_of([row.get(name) for row in objects], self.own.field(name).type, self.na)
            for name in columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=columns)


def _is_list(type_: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(type_))


def _blocks(path: str) -> Iterator[bytes]:
    """Whole lines, a few megabytes at a time."""
    with opened_bytes(path) as file:
        first = True
        while block := _whole_lines(file, path):
            if first:
                _refuse_other_formats(block, path)
                block = block.removeprefix(b"\xef\xbb\xbf")
                first = False
            yield block


def _whole_lines(file: IO[bytes], path: str) -> bytes:
    block = file.read(BLOCK_BYTES)
    if block and not block.endswith(b"\n"):
        rest = file.readline(LONGEST_LINE)
        if len(rest) == LONGEST_LINE:
            raise InputError(
                f"has a line of more than {LONGEST_LINE >> 20} MB.",
                file=path,
                remedy="Write one object for each row on a line of its own.",
            )
        block += rest
    return block


def _refuse_other_formats(block: bytes, path: str) -> None:
    if b"\x00" in block[:64]:
        raise InputError(
            "is not UTF-8 text, which JSON is.", file=path, remedy="Save the file as UTF-8."
        )
    if block.lstrip()[:1] == b"[":
        raise InputError(
            "is one JSON array, not an object on every line.",
            file=path,
            remedy="Write it as JSON lines: jq -c '.[]' array.json > table.jsonl.",
        )


# -- by Arrow --------------------------------------------------------------------------------------


def _parsed(block: bytes, schema: pa.Schema | None = None) -> pa.Table | None:
    """A block as a table; None if Arrow refuses it, or if it nests too deeply to be tried."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    if _brackets(block) > MAX_BRACKETS or not _is_utf8(block):
        return None
    options = arrow_json.ParseOptions(
        explicit_schema=schema,
        unexpected_field_behavior="infer" if schema is None else "ignore",
    )
    reading = arrow_json.ReadOptions(block_size=len(block) + 1)
    try:
        return arrow_json.read_json(pa.BufferReader(block), reading, options)
    except (pa.ArrowException, UnicodeDecodeError):
        return None


def _is_utf8(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _brackets(block: bytes) -> int:
    """A bound on the brackets that one line opens."""
    beyond = block.count(b"[") + block.count(b"{") - block.count(b"\n{")
    if beyond < MAX_BRACKETS:  # those that do not begin a line are all in one, at worst
        return beyond + 1
    codes = np.frombuffer(block, np.uint8)
    opened = (codes == ord("[")) | (codes == ord("{"))
    ends = np.flatnonzero(codes == ord("\n"))
    counts = np.diff(np.cumsum(opened)[np.append(ends, len(codes) - 1)], prepend=0)
    return int(counts.max())


def _survey(block: bytes, path: str, start: int) -> tuple[int, dict[str, Cells]]:
    """The number of rows of a block, and the types of the values of every key."""
    table = _parsed(block)
    if table is None:
        objects = _objects(block, path, start)
        return len(objects), _types(objects)
    return table.num_rows, {field.name: _cells_of_type(field.type) for field in table.schema}


def _cells_of_type(type_: pa.DataType) -> Cells:
    import pyarrow as pa

    if pa.types.is_null(type_):
        return Cells.NONE
    if pa.types.is_boolean(type_):
        return Cells.TRUTH
    if is_number(type_):
        return Cells.INTEGER if pa.types.is_integer(type_) else Cells.NUMBER
    if pa.types.is_string(type_) or pa.types.is_temporal(type_):  # dates are text in JSON
        return Cells.TEXT
    return Cells.NESTED


# -- line by line ----------------------------------------------------------------------------------


def _objects(block: bytes, path: str, start: int) -> list[dict[str, Any]]:
    """The rows of a block; the first that is no object is refused."""
    found: list[dict[str, Any]] = []
    for line in block.split(b"\n"):
        if line and not line.isspace():
            found.append(_object(line, path, start + len(found) + 1))
    return found


def _object(line: bytes, path: str, row: int) -> dict[str, Any]:
    try:
        found = json.loads(line.decode("utf-8"), object_pairs_hook=_unique)
        if b"\\u" in line:  # half a character, written as an escape, is no text
            json.dumps(found, ensure_ascii=False).encode("utf-8")
    except _Repeated as reason:
        raise InputError(
            "the object has this key twice.",
            file=path,
            row=row,
            column=str(reason),
            remedy="Remove one of them.",
        ) from None
    except RecursionError:
        raise InputError(
            "is nested too deeply.", file=path, row=row, remedy="Give plain values in each object."
        ) from None
    except ValueError as reason:
        raise InputError(
            f"is not JSON ({str(reason).splitlines()[0]}).",
            file=path,
            row=row,
            remedy='Write one object on each line, such as {"x": 1.5, "town": "Lund"}.',
        ) from None
    if not isinstance(found, dict):
        raise InputError(
            f"holds a {type(found).__name__}, not an object.",
            file=path,
            row=row,
            remedy='Write one object on each line, such as {"x": 1.5, "town": "Lund"}.',
        )
    return found


class _Repeated(Exception):
    """A key that an object has twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Repeated(next(name for name in names if names.count(name) > 1))
    return found


def _types(objects: list[dict[str, Any]]) -> dict[str, Cells]:
    names = dict.fromkeys(name for row in objects for name in row)
    return {name: cells_of([row.get(name) for row in objects]) for name in names}
