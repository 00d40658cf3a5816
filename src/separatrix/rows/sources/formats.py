"""Arrow files, Parquet files and JSON lines as streams of batches."""

from __future__ import annotations

import datetime as dt
import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from enum import IntFlag
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.notations import SILENT, TextOptions
from separatrix.rows.sources import places, source
from separatrix.rows.sources.columns import Location, is_number

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


# -------------------------------------------------------------------------------------------------
# Cells of any type as Arrow columns: JSON lines, workbooks and SQLite have no types of columns.
#
# A column of whole numbers, numbers, truth values, dates or texts is read as such. Where the types
# of its cells differ, all are read as text, and numbers in text are recognized as in a text file.
# The same holds where every cell of a table is text, as an import without types leaves it.


class CellTypes(IntFlag):
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


_NUMBERS = CellTypes.INTEGER | CellTypes.NUMBER
_DATES = CellTypes.DATE | CellTypes.DATETIME
_TYPES: tuple[tuple[type, CellTypes], ...] = (  # the first that fits: a truth value is an int, too
    (bool, CellTypes.TRUTH),
    (int, CellTypes.INTEGER),
    (float, CellTypes.NUMBER),
    (str, CellTypes.TEXT),
    (dt.datetime, CellTypes.DATETIME),
    (dt.date, CellTypes.DATE),
    (dt.time, CellTypes.TIME),
    (dt.timedelta, CellTypes.DURATION),
    (bytes, CellTypes.BYTES),
)
_OF_TYPE = dict(_TYPES)


def cells_of(values: Sequence[Any]) -> CellTypes:
    """The types of some cells; None is missing."""
    found = CellTypes.NONE
    for type_ in set(map(type, values)) - {type(None)}:
        found |= _OF_TYPE.get(type_, CellTypes.NESTED)
    int64 = 1 << 63  # whole numbers of 64 bits
    if CellTypes.INTEGER in found and any(
        type(v) is int and not -int64 <= v < int64 for v in values
    ):
        found |= CellTypes.NUMBER  # beyond 64 bits
    return found


def type_of(cells: CellTypes) -> pa.DataType:
    """The type that a column of such cells is read as."""
    import pyarrow as pa

    plain = {
        CellTypes.NONE: pa.null(),
        CellTypes.INTEGER: pa.int64(),
        CellTypes.TEXT: pa.string(),
        CellTypes.BYTES: pa.binary(),
        CellTypes.TRUTH: pa.bool_(),
        CellTypes.DATE: pa.date32(),
        CellTypes.TIME: pa.time64("us"),
        CellTypes.DURATION: pa.duration("us"),
    }
    if cells in plain:
        return plain[cells]
    if cells in _NUMBERS:
        return pa.float64()
    if cells in _DATES:
        return pa.timestamp("us")
    return pa.list_(pa.null()) if CellTypes.NESTED in cells else pa.string()


def is_mixed(cells: CellTypes) -> bool:
    """Whether cells are read as text because their types differ."""
    import pyarrow as pa

    return bool(pa.types.is_string(type_of(cells)) and cells != CellTypes.TEXT)


def written_columns(columns: Mapping[str, CellTypes]) -> frozenset[str]:
    """Columns in whose texts numbers are recognized: of several types, or of a table of texts."""
    if all(cells in (CellTypes.TEXT, CellTypes.NONE) for cells in columns.values()):
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
        array = pa.array([None if v is None else _convert(v, type_) for v in values], type_)
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


def _convert(value: Any, type_: pa.DataType) -> Any:
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


# -------------------------------------------------------------------------------------------------
# Arrow files (Feather) and Arrow streams as batches; every batch is validated before use.


#: First bytes of an Arrow file, and of a table of the first Feather.
_FILE, _FEATHER_1 = b"ARROW1", b"FEA1"


class ArrowSource(source.FileSource):
    """One table in one or more files of Arrow's format for files or for streams."""

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names and types of the columns; the files are checked to agree."""
        schemas = []
        for path in self.paths:
            with _open_file(path, None) as (schema, _):
                schemas.append(schema)
            source.refuse_difference(schemas[0].names, self.paths[0], schema.names, path)
        return schemas[0]

    def size(self, columns: int) -> float:
        """About the bytes of this many columns in memory, judged by the files."""
        part = columns / max(len(self.own.names), 1)
        # Buffers may be compressed in the file, numbers hardly grow.
        return sum(3.0 * part * places.file_size(path) for path in self.paths)

    def file_batches(self, columns: list[str], rows: int) -> Iterator[source.LocatedBatch]:
        """Yield batches in the order of the files."""
        for path, shown in self.files:
            start = 0
            with _open_file(path, columns) as (_, batches):
                for batch in batches:
                    for offset in range(0, batch.num_rows, rows):
                        piece = batch.slice(offset, rows).select(columns)
                        yield source.LocatedBatch(piece, Location(shown, start + offset))
                    start += batch.num_rows


@contextmanager
def _open_file(
    path: str, columns: list[str] | None
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema of a file, and its batches with only some columns read."""
    import pyarrow as pa

    try:
        with _source(path) as file:
            magic = file.read(len(_FILE))
            file.seek(0)
            if magic[: len(_FEATHER_1)] == _FEATHER_1:
                raise InputError(
                    "is of the first version of Feather, which is no longer written.",
                    file=path,
                    remedy="Write it again: pyarrow.feather.write_feather(table, path).",
                )
            whole = magic == _FILE
            reader = pa.ipc.open_file(file) if whole else pa.ipc.open_stream(file)
            schema = reader.schema
            source.refuse_duplicates(schema.names, path)
            if columns is not None:
                fields = [schema.get_field_index(name) for name in columns]
                options = pa.ipc.IpcReadOptions(included_fields=sorted(fields))
                file.seek(0)
                open_ = pa.ipc.open_file if whole else pa.ipc.open_stream
                reader = open_(file, options=options)
            yield schema, _valid(reader, whole)
    except (pa.ArrowException, OSError, EOFError, MemoryError, UnicodeDecodeError) as reason:
        raise _explain_damage(path, reason) from reason


def _source(path: str) -> Any:
    """The bytes of a file; those of a local one are mapped, so that few are in memory."""
    import pyarrow as pa

    if places.is_plain(path):
        return pa.memory_map(path, "r")
    file = places.opened_bytes(path)
    return pa.PythonFile(file, mode="r") if file.seekable() else pa.BufferReader(file.read())


def _valid(reader: Any, whole: bool) -> Iterator[pa.RecordBatch]:
    """The batches, none of which points outside of itself."""
    batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if whole else reader
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _explain_damage(path: str, reason: BaseException) -> InputError:
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"cannot be read as an Arrow file; it is cut short or damaged ({detail}).",
        file=path,
        remedy="Write or download the file again.",
    )


# -------------------------------------------------------------------------------------------------
# Parquet files as a stream of batches.


class ParquetSource(source.FileSource):
    """One table in one or more Parquet files."""

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names and types of the columns; the files are checked to agree."""
        schemas = []
        for path in self.paths:
            with _open_parquet(path) as file:
                schemas.append(file.schema_arrow)
            source.refuse_duplicates(schemas[-1].names, path)
            source.refuse_difference(schemas[0].names, self.paths[0], schemas[-1].names, path)
        return schemas[0]

    def size(self, columns: int) -> float:
        """The bytes of this many columns of numbers in memory."""
        rows = 0
        for path in self.paths:
            with _open_parquet(path) as file:
                rows += file.metadata.num_rows
        return 8.0 * rows * columns

    def file_batches(self, columns: list[str], rows: int) -> Iterator[source.LocatedBatch]:
        """Yield batches in the order of the files."""
        import pyarrow as pa

        for path, shown in self.files:
            start = 0
            try:
                with _open_parquet(path) as file:
                    for batch in file.iter_batches(rows, columns=columns):
                        yield source.LocatedBatch(batch, Location(shown, start))
                        start += batch.num_rows
            except (pa.ArrowException, OSError) as reason:
                raise _damaged_parquet(shown, reason, start) from reason


def _open_parquet(path: str) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = path if places.is_plain(path) else places.stored_bytes(path)
        return pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
    except (pa.ArrowException, OSError) as reason:
        raise _damaged_parquet(path, reason, None) from reason


def _damaged_parquet(path: str, reason: Exception, row: int | None) -> InputError:
    detail = str(reason).splitlines()[0].rstrip(".")
    return InputError(
        f"cannot be read as Parquet; it is cut short or damaged ({detail}).",
        file=path,
        row=None if row is None else row + 1,
        remedy="Write or download the file again.",
    )


# -------------------------------------------------------------------------------------------------
# JSON lines, one object a row, as a stream of batches; a key that a row lacks is missing there.
#
# A first pass finds the columns and the types of all values. Arrow parses the blocks of both
# passes; a block that it refuses is read line by line, which gives the row of every fault.


#: Brackets that a line may open before it is left to the slower parser, which refuses deep nesting.
MAX_BRACKETS = 64


class CellSource(source.FileSource):
    """Files whose columns have the types that their cells need together."""

    @cached_property
    @abstractmethod
    def cells(self) -> dict[str, CellTypes]:
        """The columns, with the types of their cells in all files together."""

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names and types of the columns."""
        import pyarrow as pa

        return pa.schema([(name, type_of(cells)) for name, cells in self.cells.items()])

    def is_written(self, name: str) -> bool:
        """Whether the texts of a column may be numbers."""
        return name in written_columns(self.cells)


class JsonLinesSource(CellSource):
    """One table in one or more files of JSON lines."""

    def __init__(
        self,
        paths: list[str],
        options: TextOptions | None = None,
        partitions: places.Partitions | None = None,
    ) -> None:
        super().__init__(paths, None, partitions)
        self.na = missing_texts(options or TextOptions())

    @cached_property
    def cells(self) -> dict[str, CellTypes]:
        """The columns in the order in which they occur, with the types of their values."""
        found: dict[str, CellTypes] = {}
        for path in self.paths:
            start = 0
            for block in _blocks(path):
                count, here = _survey(block, path, start)
                start += count
                for name, cells in here.items():
                    found[name] = found.get(name, CellTypes.NONE) | cells
        if not found:
            raise InputError(
                "The file is empty.", file=self.name, remedy="Give one object for each row."
            )
        return found

    def size(self, columns: int) -> float:
        """About the bytes of this many columns in memory, judged by the files."""
        part = columns / max(len(self.own.names), 1)
        # Keys repeat in every line: numbers take less room in memory than in the file.
        growth = ((p, 6.0 if places.is_packed(p) else 1.0) for p in self.paths)
        return sum(part * places.file_size(path) * factor for path, factor in growth)

    def file_batches(self, columns: list[str], rows: int) -> Iterator[source.LocatedBatch]:
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
                    yield source.LocatedBatch(batch.slice(offset, rows), place)
                start += batch.num_rows

    def _by_arrow(self, block: bytes, columns: list[str]) -> pa.RecordBatch | None:
        import pyarrow as pa

        types = {name: self.own.field(name).type for name in columns}
        known = [(n, t) for n, t in types.items() if not pa.types.is_null(t) and not _is_list(t)]
        table = _parse_block(block, pa.schema(known)) if known else None
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
    with places.opened_bytes(path) as file:
        first = True
        while block := _whole_lines(file, path):
            if first:
                _refuse_other_formats(block, path)
                block = block.removeprefix(b"\xef\xbb\xbf")
                first = False
            yield block


def _whole_lines(file: IO[bytes], path: str) -> bytes:
    block = file.read(4 << 20)  # bytes that are read at a time
    longest_line = 16 << 20  # longest line, in bytes
    if block and not block.endswith(b"\n"):
        rest = file.readline(longest_line)
        if len(rest) == longest_line:
            raise InputError(
                f"has a line of more than {longest_line >> 20} MB.",
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


def _parse_block(block: bytes, schema: pa.Schema | None = None) -> pa.Table | None:
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


def _survey(block: bytes, path: str, start: int) -> tuple[int, dict[str, CellTypes]]:
    """The number of rows of a block, and the types of the values of every key."""
    table = _parse_block(block)
    if table is None:
        objects = _objects(block, path, start)
        return len(objects), _types(objects)
    return table.num_rows, {field.name: _cells_of_type(field.type) for field in table.schema}


def _cells_of_type(type_: pa.DataType) -> CellTypes:
    import pyarrow as pa

    if pa.types.is_null(type_):
        return CellTypes.NONE
    if pa.types.is_boolean(type_):
        return CellTypes.TRUTH
    if is_number(type_):
        return CellTypes.INTEGER if pa.types.is_integer(type_) else CellTypes.NUMBER
    if pa.types.is_string(type_) or pa.types.is_temporal(type_):  # dates are text in JSON
        return CellTypes.TEXT
    return CellTypes.NESTED


# -- line by line ----------------------------------------------------------------------------------


def _objects(block: bytes, path: str, start: int) -> list[dict[str, Any]]:
    """The rows of a block; the first that is not an object is refused."""
    objects: list[dict[str, Any]] = []
    for line in block.split(b"\n"):
        if line and not line.isspace():
            objects.append(_object(line, path, start + len(objects) + 1))
    return objects


def _object(line: bytes, path: str, row: int) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_unique)
        if b"\\u" in line:  # half a character, written as an escape, is no text
            json.dumps(value, ensure_ascii=False).encode("utf-8")
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
    if not isinstance(value, dict):
        raise InputError(
            f"holds a {type(value).__name__}, not an object.",
            file=path,
            row=row,
            remedy='Write one object on each line, such as {"x": 1.5, "town": "Lund"}.',
        )
    return value


class _Repeated(Exception):
    """A key that an object has twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Repeated(next(name for name in names if names.count(name) > 1))
    return entries


def _types(objects: list[dict[str, Any]]) -> dict[str, CellTypes]:
    names = dict.fromkeys(name for row in objects for name in row)
    return {name: cells_of([row.get(name) for row in objects]) for name in names}
