"""Tables that the workers of a Dask cluster read: one statistic for each portion, summed."""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.infer import OptionsOf, infer_schema
from separatrix.rows.rows import Rows, S, target_names
from separatrix.rows.schema import Block, Schema
from separatrix.rows.sources.columns import Counts, Location, add_counts, warn_unseen
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.formats import ParquetSource
from separatrix.rows.sources.frames import as_table, refuse_name, table_of_arrays
from separatrix.rows.sources.places import is_remote, is_there
from separatrix.rows.sources.reader import BatchReader, DecodedBatch
from separatrix.rows.sources.source import (
    SAMPLE_ROWS,
    Contradiction,
    FileSource,
    LocatedBatch,
    Source,
    TableSource,
    batch_rows,
)
from separatrix.rows.sources.stream import BLOCK_ROWS, BatchedRows, TableRows, refuse_other_values
from separatrix.rows.travel import Travel, missing_extra
from separatrix.threads import one_blas_thread

# -------------------------------------------------------------------------------------------------
# Dask collections as rows: one statistic per partition, summed on the workers.


class DaskRows(BatchedRows):
    """The partitions of a Dask collection, as delayed tables."""

    def __init__(
        self,
        partitions: list[Any],
        schema: Schema,
        notes: tuple[str, ...] = (),
        left_out: tuple[str, ...] = (),
    ) -> None:
        self.passes = DaskPasses(partitions, BLOCK_ROWS)
        self.schema, self.notes, self.left_out = schema, notes, left_out

    @property
    def travel(self) -> Travel:
        """What traveled so far."""
        return self.passes.travel

    def under(self, schema: Schema, notes: tuple[str, ...]) -> Self:
        """The same table under another schema."""
        other = copy(self)
        other.schema, other.notes = schema, notes
        return other

    def reduce(self, statistic: S) -> S:
        """Compute a statistic: one task per partition, then sums in a fixed order."""
        total = self.passes.reduce(BatchReader(self.schema, self.parts), statistic)
        if total.failure is not None:
            raise total.failure
        self.dropped = total.dropped
        warn_unseen(total.unseen, self.schema.unseen)
        return total.statistic

    def _decode_batches(self, reader: BatchReader) -> Iterator[DecodedBatch]:
        start = 0
        for parcel in self.passes.each(reader, _itself):
            if parcel.failure is not None:
                raise parcel.failure
            for batch in parcel.values:  # row numbers continue from one partition to the next
                yield replace(batch, row_ids=batch.row_ids + start)
            start += sum(len(batch.row_ids) + batch.dropped for batch in parcel.values)


def _itself(batch: DecodedBatch) -> DecodedBatch:
    return batch


def _source(table: Any, index: int) -> TableSource:
    return TableSource(table, f"partition {index}")


def scan_dask(source: Any, target: Any, weight: Any, options: OptionsOf) -> DaskRows:
    """A Dask DataFrame (target and weight by name) or Array (target and weight as arrays)."""
    from dask import delayed

    if hasattr(source, "columns"):
        partitions = [delayed(as_table, pure=True)(part) for part in source.to_delayed()]
        targets, named = target, weight
    else:
        partitions, targets = _of_arrays(source, target, weight)
        named = None if weight is None else "weight"
    inferred = infer_schema(TableSource(_sample(partitions)), options(targets, named))
    source_task = delayed(_source, pure=True)
    sources = [source_task(partition, index) for index, partition in enumerate(partitions)]
    return DaskRows(sources, inferred.schema, inferred.notes, inferred.left_out)


def _of_arrays(x: Any, y: Any, w: Any) -> tuple[list[Any], tuple[str, ...]]:
    from dask import delayed

    if x.ndim != 2:
        raise InputError(f"The array has {x.ndim} dimensions.", remedy="Give rows by columns.")
    x = x.rechunk({1: -1})
    y, w = _align(x, y, "target"), _align(x, w, "weight")
    columns = [x]
    for values in (y, w):
        if values is None:
            columns.append(None)
            continue
        chunks = {0: x.chunks[0]} | dict.fromkeys(range(1, values.ndim), -1)
        known = not any(np.isnan(c) for c in x.chunks[0])
        columns.append(values.rechunk(chunks) if known else values)
    delayed_chunks = [
        [None] * x.numblocks[0] if c is None else c.to_delayed().ravel().tolist() for c in columns
    ]
    if len({len(chunks) for chunks in delayed_chunks}) > 1:
        raise InputError(
            "The target or weight has other chunks than the rows.",
            remedy="Call compute_chunk_sizes() on the arrays, or rechunk them alike.",
        )
    table_task = delayed(_table, pure=True)
    k = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    return [table_task(*chunk) for chunk in zip(*delayed_chunks, strict=True)], target_names(k)


def _align(x: Any, values: Any, role: str) -> Any:
    """A target or weight as a Dask array with as many rows as ``x``."""
    from dask.array import asarray

    if values is None:
        return None
    refuse_name(values, role)
    values = values.to_dask_array(lengths=True) if hasattr(values, "to_dask_array") else values
    values = asarray(values)
    rows, given = x.shape[0], values.shape[0]
    if not np.isnan([rows, given]).any() and rows != given:
        raise InputError(f"The {role} has {given} rows, the table {rows}.")
    return values


def _table(x: Any, y: Any, w: Any) -> Any:
    return table_of_arrays(np.asarray(x), y, w)[0]


def _sample(partitions: list[Any]) -> Any:
    """The first rows of the first partition that has any, to infer the schema."""
    from dask import delayed

    first = delayed(_head, pure=True)
    sample = None
    for partition in partitions:
        sample = first(partition).compute()
        if sample.num_rows:
            return sample
    if sample is None:
        raise InputError("The table has no partitions.", remedy="Give a table with rows.")
    return sample


def _head(table: Any) -> Any:
    return table.slice(0, SAMPLE_ROWS).combine_chunks()


# -------------------------------------------------------------------------------------------------
# Tables in files that the workers of a Dask cluster read, piece by piece.
#
# The schema is inferred here from the first rows, and decided anew here where a later row
# contradicts them, exactly as for files that are read on one machine; everything else is read by
# the workers.


T = TypeVar("T")
#: What is made of a piece: from its number, itself, the reader of its batches, and their rows.
OfPiece = Callable[[int, Source, BatchReader, int], T]


def read_by_workers(rows: Rows, cluster: Any) -> FilesOnDask:
    """The same table, read by the workers of the Dask scheduler at an address."""
    if not isinstance(rows, TableRows) or isinstance(rows.source, TableSource):
        raise InputError(
            "A table in memory is not read by the workers of a cluster.",
            remedy="Give a path to files that the workers see, or leave out `cluster`.",
        )
    if "standard input" in getattr(rows.source, "shown", ()):
        raise InputError(
            "Standard input is not seen by the workers of a cluster.",
            remedy="Store the table in a file that the workers see, or leave out `cluster`.",
        )
    return FilesOnDask(rows, _Shared(connect(cluster)))


class _Shared:
    """The passes over a source, shared by all views of the same table."""

    def __init__(self, client: Any) -> None:
        self.client, self.source = client, None
        self._passes: DaskPasses | None = None
        self.travel = Travel(where=str(client.scheduler.address))

    def passes(self, source: Any, block_rows: int) -> DaskPasses:
        """Passes over the pieces of a source; another source begins anew."""
        if self._passes is None or self.source is not source:
            pieces = pieces_of(source)
            self._passes, self.source = DaskPasses(pieces, block_rows, self.client), source
            self.travel.pieces, self.travel.cached = len(pieces), 0
            self._passes.travel = self.travel
        return self._passes


class FilesOnDask(TableRows):
    """Rows in files, of which only statistics come here."""

    def __init__(self, rows: TableRows, shared: _Shared) -> None:
        self.__dict__.update(rows.__dict__)
        self._shared = shared

    @property
    def travel(self) -> Travel:
        """What traveled so far."""
        return self._shared.travel

    @property
    def _passes(self) -> DaskPasses:
        return self._shared.passes(self.source, self.block_rows)

    def under(self, schema: Schema, notes: tuple[str, ...]) -> FilesOnDask:
        """The same table under another schema."""
        return FilesOnDask(super().under(schema, notes), self._shared)

    def here(self) -> TableRows:
        """The same table, read by this process."""
        return super().under(self.schema, self.notes)

    def _reader(self) -> BatchReader:
        return BatchReader(self.schema, self.parts, ranges=self.reading.ranges)

    def _reduce(self, statistic: S) -> S:
        total = self._passes.reduce(self._reader(), statistic)
        if total.failure is not None:
            raise total.failure
        self.dropped = total.dropped
        warn_unseen(total.unseen, self.schema.unseen)
        return total.statistic

    def each(self, function: Callable[[DecodedBatch], T]) -> Iterator[T]:
        """What a function makes of every batch on the workers, in order."""
        n_done, dropped, unseen = 0, 0, Counts()
        while True:
            try:
                for parcel in self._passes.each(self._reader(), function, n_done):
                    if parcel.failure is not None:
                        raise parcel.failure
                    yield from parcel.values
                    n_done, dropped = n_done + 1, dropped + parcel.dropped
                    unseen = add_counts(unseen, parcel.unseen)
                break
            except Contradiction as problem:
                before = self.schema
                self._reconsider(problem)
                if n_done and problem.column is not None:
                    refuse_other_values(before, self.schema, problem)
        self.dropped = dropped
        warn_unseen(unseen, self.schema.unseen)

    def each_piece(self, function: OfPiece[T]) -> Iterator[T]:
        """What a function makes of every piece of the table where it is read, in order.

        It is given the number of the piece, the piece, the reader of its batches, and their rows.
        """
        for parcel in self._passes.each_piece(self._reader(), function):
            if isinstance(parcel, InputError):
                raise parcel
            yield parcel


# -------------------------------------------------------------------------------------------------
# Passes over the portions of a table by Dask: one task each, then sums in a fixed order.
#
# Every task is a pure function of its portion, so a lost worker costs only its own tasks, and the
# order of the sums does not depend on who computes them: the result is the same bits.
#
# A table that is read a second time is cached, decoded, in the memory of the workers if half of it
# suffices; otherwise each pass reads it again.


class DaskPasses:
    """Passes over the same portions; ``client`` None is whichever scheduler Dask has."""

    def __init__(self, portions: Sequence[Any], block_rows: int, client: Any = None) -> None:
        self.portions, self.block_rows, self._client = list(portions), block_rows, client
        self.travel = Travel(where="Dask, on this machine", pieces=len(self.portions))
        self._sizes: dict[bytes, int] = {}
        self._cached: tuple[bytes, list[Any]] | None = None

    @property
    def client(self) -> Any:
        """The client that was given, or the one in force; None of other schedulers."""
        if self._client is not None or "distributed" not in sys.modules:
            return self._client
        from distributed.client import default_client

        try:
            return default_client()
        except ValueError:
            return None

    def reduce(self, reader: BatchReader, statistic: S) -> Portion[S]:
        """A statistic of all rows, in one pass."""
        from dask import delayed

        client = self.client
        known = pack(reader)
        portions, ready = self._ready(known, reader, client)
        task = (ready, reader, statistic.fresh(), self.block_rows)
        job = delayed(_Literal(task), pure=False, traverse=False)
        reduce_task, both = delayed(_reduce_portion, pure=False), delayed(_sum, pure=False)
        level = [reduce_task(portion, job) for portion in portions]
        fan_in = 16  # portions whose statistics are added in one task
        while len(level) > 1:
            level = [both(level[i : i + fan_in]) for i in range(0, len(level), fan_in)]
        parcel: Parcel = self._compute_now(level[0], client)
        total: Portion[S] = parcel.opened()
        self._count(client, len(pack(task)), parcel.traveled)
        self.travel.passes += 1
        if total.failure is None:
            self._sizes[known] = total.decoded_bytes
        return total

    def each(
        self, reader: BatchReader, function: Callable[[DecodedBatch], T], first: int = 0
    ) -> Iterator[Answers[T]]:
        """What a function makes of every batch, portion by portion in order."""
        from dask import delayed

        client = self.client
        portions, ready = self._ready(pack(reader), reader, None)
        task = (ready, reader, function, self.block_rows)
        job = delayed(_Literal(task), pure=False, traverse=False)
        answer_task = delayed(_answer_portion, pure=False)
        tasks = (answer_task(portion, job) for portion in portions[first:])
        self._count(client, len(pack(task)), 0)
        self.travel.passes += 1
        for parcel in self._in_order(tasks, client):
            self.travel.received += parcel.traveled
            yield parcel.opened()

    def each_piece(self, reader: BatchReader, function: OfPiece[T]) -> Iterator[T | InputError]:
        """What a function makes of every piece, or the refusal that it met, in order."""
        from dask import delayed

        client = self.client
        task = (reader, function, self.block_rows)
        job = delayed(_Literal(task), pure=False, traverse=False)
        piece_task = delayed(_answer_piece, pure=False)
        tasks = (piece_task(number, piece, job) for number, piece in enumerate(self.portions))
        self._count(client, len(pack(task)), 0)
        self.travel.passes += 1
        for parcel in self._in_order(tasks, client):
            self.travel.received += parcel.traveled
            yield parcel.opened()

    def _in_order(self, tasks: Iterator[Any], client: Any) -> Iterator[Parcel]:
        """The results in the order of the tasks, of which only a few are under way."""
        if client is None:
            yield from (self._compute_now(task, None) for task in tasks)
            return
        under_way: deque[Any] = deque()
        # Portions under way for each worker while answers are fetched in order.
        most = 3 * max(1, workers_of(client))
        for task in tasks:
            under_way.append(client.compute(task))
            if len(under_way) >= most:
                yield _result(under_way.popleft())
        while under_way:
            yield _result(under_way.popleft())

    def _ready(self, known: bytes, reader: BatchReader, client: Any) -> tuple[list[Any], bool]:
        """The portions, decoded and cached by the workers where a second pass is made over them."""
        from dask import delayed

        if self._cached is not None and self._cached[0] == known:
            return self._cached[1], True
        if client is None or known not in self._sizes:
            return self.portions, False
        self._cached, self.travel.cached = None, 0
        self.travel.too_large = self._sizes[known] > free_memory(client)
        if self.travel.too_large:
            return self.portions, False
        job = delayed(_Literal((reader, self.block_rows)), pure=False, traverse=False)
        load = delayed(_load_portion, pure=False)
        cached = client.persist([load(portion, job) for portion in self.portions])
        self._cached, self.travel.cached = (known, cached), self._sizes[known]
        return cached, True

    def _compute_now(self, task: Any, client: Any) -> Parcel:
        if client is None:
            return task.compute()  # type: ignore[no-any-return]
        return _result(client.compute(task))

    def _count(self, client: Any, sent: int, received: int) -> None:
        travel = self.travel
        if client is not None:
            travel.where = str(client.scheduler.address)
            travel.workers = max(travel.workers, workers_of(client))
        travel.sent += sent * max(travel.workers, 1)
        travel.received += received


def _result(future: Any) -> Parcel:
    """The result of a task."""
    with losses_in_words():
        return future.result()  # type: ignore[no-any-return]


@contextmanager
def losses_in_words() -> Iterator[None]:
    """Say in words that a cluster, or one worker after the other, is lost."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as problem:
        raise InputError(
            "Several workers of the cluster died over the same piece of the table.",
            remedy="Give workers more memory, or write the table in smaller files or row groups.",
        ) from problem
    except Exception as problem:  # a task is cancelled, or its answer is cut off
        if "Cancelled" not in type(problem).__name__ and not isinstance(problem, CommClosedError):
            raise
        raise InputError(
            "The connection to the Dask scheduler was lost.",
            remedy="Start the scheduler again, and then the command.",
        ) from problem


class _Literal:
    """A value that every task of a pass takes, sent once to a worker."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _batches(portion: Any, ready: bool, reader: BatchReader, rows: int) -> Iterator[DecodedBatch]:
    """The batches of a portion; what is wrong with it is raised while they are read."""
    if ready:
        yield from portion
        return
    refuse_unseen_file(portion)
    yield from decoded_batches(portion, reader, rows)


def _reduce_portion(portion: Any, job: _Literal) -> Parcel:
    ready, reader, statistic, rows = job.value
    return Parcel.of(reduce_batches(_batches(portion, ready, reader, rows), statistic))


def _answer_portion(portion: Any, job: _Literal) -> Parcel:
    ready, reader, function, rows = job.value
    return Parcel.of(answer_batches(_batches(portion, ready, reader, rows), function))


def _answer_piece(number: int, piece: Any, job: _Literal) -> Parcel:
    reader, function, rows = job.value
    try:
        refuse_unseen_file(piece)
        with one_blas_thread():
            return Parcel.of(function(number, piece, reader, rows))
    except InputError as problem:
        return Parcel.of(problem)


def _load_portion(portion: Any, job: _Literal) -> list[DecodedBatch]:
    reader, rows = job.value
    return list(_batches(portion, False, reader, rows))


def _sum(parcels: list[Parcel]) -> Parcel:
    return sum_parcels(parcels)


# -------------------------------------------------------------------------------------------------
# A table in files as pieces that different machines can read, in the order of its rows.
#
# Pieces are files, and groups of rows within large Parquet files; they follow from the files alone,
# never from the number of workers, so that sums are the same bits on every cluster.


#: Rows of a Parquet file that make a piece: more where its row groups are larger.
PIECE_ROWS = 500_000
#: Bytes of a text file that make a piece: about as many rows.
PIECE_BYTES = 64 << 20


def pieces_of(source: Source) -> list[Source]:
    """The pieces of a table, in the order of its rows; one if it cannot be divided."""
    if not isinstance(source, FileSource):
        return [source]
    sources: list[Source] = []
    for i, shown in enumerate(source.shown):
        piece = source.piece(i)
        if isinstance(piece, ParquetSource):
            sources += _row_groups(piece, shown)
        else:
            sources += piece.cut(PIECE_BYTES) if isinstance(piece, CsvSource) else [piece]
    return sources


def _row_groups(parquet_source: ParquetSource, shown: str) -> list[Source]:
    """Groups of rows of a Parquet file, each of at least so many rows."""
    import pyarrow.parquet as pq

    if is_remote(parquet_source.paths[0]) or parquet_source.partitions.names:
        return [parquet_source]
    counts = []
    with pq.ParquetFile(parquet_source.paths[0]) as file:
        metadata = file.metadata
        counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    sources: list[Source] = []
    start, groups, rows = 0, [], 0
    for i, n in enumerate(counts):
        groups.append(i)
        rows += n
        if rows >= PIECE_ROWS or i == len(counts) - 1:
            sources.append(RowGroups(parquet_source, shown, groups, start))
            start, groups, rows = start + rows, [], 0
    return sources or [parquet_source]


class RowGroups:
    """Some row groups of a Parquet file, of which the first row is row ``start`` + 1."""

    def __init__(self, source: ParquetSource, name: str, groups: list[int], start: int) -> None:
        self.source, self.name, self.groups, self.start = source, name, groups, start
        self.paths = source.paths

    @property
    def arrow(self) -> Any:
        """Names and types of the columns."""
        return self.source.arrow

    def batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches of these row groups in order."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path, start = self.paths[0], self.start
        try:
            with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(rows, row_groups=self.groups, columns=columns):
                    yield LocatedBatch(batch, Location(self.name, start))
                    start += batch.num_rows
        except (pa.ArrowException, OSError) as reason:
            detail = str(reason).splitlines()[0].rstrip(".")
            raise InputError(
                f"cannot be read as Parquet; it is cut short or damaged ({detail}).",
                file=self.name,
                row=start + 1,
                remedy="Write or download the file again.",
            ) from reason


def refuse_unseen_file(source: Any) -> None:
    """Refuse, on a worker, a local file that only the machine of the caller has."""
    for path in getattr(source, "paths", ()):
        if not is_there(path):
            raise InputError(
                "a worker of the cluster does not see this file.",
                file=path,
                remedy="Put the table where all workers see it under the same path: a shared "
                "folder, or a store such as s3://.",
            )


# -------------------------------------------------------------------------------------------------
# What a worker makes of its portion of a table, and how two portions become one.
#
# A worker turns the rows of a portion into a statistic; statistics are all that leaves it. A
# refusal (a value that cannot be read) is a result like any other: of two, the first in the order
# of the rows counts, as it would on one machine.


@dataclass
class Portion(Generic[S]):
    """The statistic of some rows; rows left out, unknown levels, and bytes of the rows decoded."""

    statistic: S
    dropped: int = 0
    unseen: Counts = field(default_factory=Counts)
    decoded_bytes: int = 0
    failure: InputError | None = None

    def __add__(self, other: Portion[S]) -> Portion[S]:
        for side in (self, other):
            if side.failure is not None:
                return side
        return Portion(
            self.statistic + other.statistic,
            self.dropped + other.dropped,
            add_counts(add_counts(Counts(), self.unseen), other.unseen),
            self.decoded_bytes + other.decoded_bytes,
        )


@dataclass(frozen=True)
class Parcel:
    """A result as it leaves a worker, and the bytes that left workers for it to be made."""

    payload: bytes
    before: int = 0

    @classmethod
    def of(cls, result: Any, before: int = 0) -> Parcel:
        """Pack a result."""
        return cls(pack(result), before)

    @property
    def traveled(self) -> int:
        """Bytes of this parcel and of all that went into it."""
        return self.before + len(self.payload)

    def opened(self) -> Any:
        """What is in the parcel; only ever made by workers that run this code for this process."""
        return pickle.loads(self.payload)


def pack(result: Any) -> bytes:
    """A result as bytes; classes that only the caller's script has travel by value."""
    try:
        return pickle.dumps(result, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle  # type: ignore[import-untyped]

        return bytes(cloudpickle.dumps(result, protocol=5))


def decoded_batches(source: Source, reader: BatchReader, rows: int) -> Iterator[DecodedBatch]:
    """The batches of a portion, decoded one after another."""
    columns = reader.columns
    for located in source.batches(columns, batch_rows(rows, len(columns))):
        yield reader.read(located.batch, located.location)


def reduce_batches(batches: Iterable[DecodedBatch], statistic: S) -> Portion[S]:
    """The statistic of a portion: batches are added in order, as when files are streamed."""
    total = Portion(statistic.fresh())
    try:
        with one_blas_thread():
            for decoded in batches:
                part = statistic.fresh()
                if decoded.block.n:
                    part.update(decoded.block)
                size = block_bytes(decoded.block)
                total += Portion(part, decoded.dropped, decoded.unseen, size)
    except InputError as problem:
        return Portion(statistic.fresh(), failure=problem)
    return total


@dataclass
class Answers(Generic[T]):
    """What a function made of each batch of a portion, in order."""

    values: list[T] = field(default_factory=list)
    dropped: int = 0
    unseen: Counts = field(default_factory=Counts)
    failure: InputError | None = None


def answer_batches(
    batches: Iterable[DecodedBatch], function: Callable[[DecodedBatch], T]
) -> Answers[T]:
    """Apply a function to every batch of a portion."""
    answers: Answers[T] = Answers()
    try:
        with one_blas_thread():
            for decoded in batches:
                answers.values.append(function(decoded))
                answers.dropped += decoded.dropped
                answers.unseen = add_counts(answers.unseen, decoded.unseen)
    except InputError as problem:
        answers.failure = problem
    return answers


def block_bytes(block: Block) -> int:
    """Memory of a decoded block."""
    x = block.x
    nbytes = (
        x.data.nbytes + x.indices.nbytes + x.indptr.nbytes if hasattr(x, "indptr") else x.nbytes
    )
    others = (values.nbytes for values in (block.y, block.w, block.parts) if values is not None)
    return int(nbytes + sum(others))


def sum_parcels(parcels: Sequence[Parcel]) -> Parcel:
    """The sum of the portions in some parcels, in their order."""
    total: Portion[Any] = parcels[0].opened()
    for parcel in parcels[1:]:
        total = total + parcel.opened()
    return Parcel.of(total, sum(parcel.traveled for parcel in parcels))


# -------------------------------------------------------------------------------------------------
# Connection to a Dask scheduler, refused with a message within seconds where there is none.


#: Seconds to wait for the scheduler, and for its first worker.
CONNECT_SECONDS, WORKER_SECONDS = 4, 4

_clients: dict[str, Any] = {}


def connect(address: Any) -> Any:
    """A client of the scheduler at an address, or the client that is given."""
    try:
        from distributed import Client
    except ImportError as absent:
        raise missing_extra("A cluster", "Dask", "dask") from absent
    if not isinstance(address, str):
        if not isinstance(address, Client):
            raise InputError(
                f"`cluster` is a {type(address).__name__}.",
                remedy="Give the address of a Dask scheduler, such as tcp://127.0.0.1:8786.",
            )
        return _check_client(address, address.scheduler.address)
    known = _clients.get(address)
    if known is None or known.status != "running":
        _clients[address] = known = _check_client(_open_client(address), address)
    return known


def _open_client(address: str) -> Any:
    import logging

    from distributed import Client

    if "://" not in address or not address.rpartition(":")[2].rstrip("/").isdigit():
        raise InputError(
            f"{address!r} is not the address of a Dask scheduler.",
            remedy="Write it with protocol and port, as tcp://127.0.0.1:8786.",
        )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is raised
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as problem:
        raise InputError(
            f"No Dask scheduler answers at {address} ({_first_line(problem)}).",
            remedy="Start one with `dask scheduler` and workers with `dask worker ADDRESS`, or "
            "check the address.",
        ) from problem


def _check_client(client: Any, address: str) -> Any:
    """The client, if workers are there and run this version."""
    from separatrix import __version__

    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except Exception as problem:
        raise InputError(
            f"The Dask scheduler at {address} has no workers.",
            remedy=f"Start some: dask worker {address}.",
        ) from problem
    try:
        versions = set(client.run(version).values())
    except Exception as problem:
        raise InputError(
            f"The workers at {address} cannot run separatrix ({_first_line(problem)}).",
            remedy=f"Install it there: pip install 'separatrix[dask]=={__version__}'.",
        ) from problem
    others = sorted(versions - {__version__})
    if others:
        raise InputError(
            f"The workers at {address} run separatrix {others[0]}, this process {__version__}.",
            remedy="Install the same version on both.",
        )
    return client


def version() -> str:
    """The version of this library where it is called."""
    from separatrix import __version__

    return __version__


def free_memory(client: Any) -> float:
    """Bytes that the workers have to spare: half of the memory of each, less what it uses."""
    spare = 0.0
    for worker in _workers(client).values():
        limit, used = worker.get("memory_limit") or 0, worker.get("metrics", {}).get("memory", 0)
        spare += max(0.5 * limit - used, 0.0)
    return spare


def workers_of(client: Any) -> int:
    """How many workers there are now."""
    return len(_workers(client))


def _workers(client: Any) -> dict[str, dict[str, Any]]:
    with losses_in_words():
        return dict(client.scheduler_info(n_workers=-1)["workers"])


def _first_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__
