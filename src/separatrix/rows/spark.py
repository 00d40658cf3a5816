"""Spark data frames as rows: one statistic per partition, computed by ``mapInArrow``.

Every partition yields one row, its number and its statistic; the driver adds them in the order of
the partitions. The rows themselves stay where they are.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

from separatrix.messages import InputError
from separatrix.rows.distributed import Parcel, Portion, pack, reduce_batches
from separatrix.rows.infer import OptionsOf, infer_schema
from separatrix.rows.rows import S
from separatrix.rows.schema import Schema
from separatrix.rows.sources.columns import Location, warn_unseen
from separatrix.rows.sources.reader import BatchReader, DecodedBatch
from separatrix.rows.sources.source import SAMPLE_ROWS, TableSource
from separatrix.rows.sources.stream import BatchedRows
from separatrix.rows.travel import Travel

#: What the partitions answer.
ANSWER = "number int, payload binary"


class SparkRows(BatchedRows):
    """The partitions of a Spark data frame."""

    def __init__(
        self,
        frame: Any,
        schema: Schema,
        notes: tuple[str, ...] = (),
        left_out: tuple[str, ...] = (),
    ) -> None:
        self.schema, self.notes, self.left_out = schema, notes, left_out
        self._table = _Table(frame)

    @property
    def travel(self) -> Travel:
        """What traveled so far."""
        return self._table.travel

    def under(self, schema: Schema, notes: tuple[str, ...]) -> Self:
        """The same table under another schema."""
        other = copy(self)
        other.schema, other.notes = schema, notes
        return other

    def reduce(self, statistic: S) -> S:
        """Compute a statistic: one task per partition, added in the order of the partitions."""
        reader = BatchReader(self.schema, self.parts)
        total: Portion[S] | None = None
        for portion in self._table.portions(reader, statistic):
            total = portion if total is None else total + portion
        total = Portion(statistic.fresh()) if total is None else total
        if total.failure is not None:
            raise total.failure
        self._table.decoded_bytes = total.decoded_bytes
        self.dropped = total.dropped
        warn_unseen(total.unseen, self.schema.unseen)
        return total.statistic

    def _decode_batches(self, reader: BatchReader) -> Iterator[DecodedBatch]:
        start, partition, length = 0, 0, 0
        for number, batch in self._table.batches(reader):
            if number != partition:  # row numbers continue from one partition to the next
                start, partition, length = start + length, number, 0
            length += len(batch.row_ids) + batch.dropped
            yield replace(batch, row_ids=batch.row_ids + start, start=batch.start + start)


class _Table:
    """A data frame, cached by Spark from its second pass on, and what traveled."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.travel = Travel(where=_place(frame), workers=_executors(frame))
        self.decoded_bytes = 0
        self._cached: dict[tuple[str, ...], Any] = {}

    def portions(self, reader: BatchReader, statistic: S) -> Iterator[Portion[S]]:
        """The statistic of every partition, in their order."""
        task = pack((reader, statistic.fresh()))
        answers = _answers(self._columns(reader).mapInArrow(_Reduced(task), ANSWER).collect)
        travel = self.travel
        travel.passes, travel.pieces = travel.passes + 1, max(travel.pieces, len(answers))
        travel.sent += len(task) * len(answers)
        for answer in sorted(answers, key=lambda answer: answer.number):
            travel.received += len(answer.payload)
            yield Parcel(bytes(answer.payload)).opened()

    def batches(self, reader: BatchReader) -> Iterator[tuple[int, DecodedBatch]]:
        """The decoded rows themselves, fetched partition by partition."""
        task = pack(reader)
        frame = self._columns(reader, first=True).mapInArrow(_Decoded(task), ANSWER)
        self.travel.passes += 1
        for answer in _answers(frame.toLocalIterator):
            self.travel.received += len(answer.payload)
            found = Parcel(bytes(answer.payload)).opened()
            if isinstance(found, InputError):
                raise found
            yield answer.number, found

    def _columns(self, reader: BatchReader, *, first: bool = False) -> Any:
        """The columns that are read, which Spark caches when they are read a second time."""
        names = tuple(reader.columns)
        if names in self._cached:
            return self._cached[names]
        selected = self.frame.select([f"`{name.replace('`', '``')}`" for name in names])
        if first or not self.travel.passes:
            return selected
        self._cached = {names: selected.persist()}  # in memory; on disk where that is short
        self.travel.cached = self.decoded_bytes
        return selected


class _Reduced:
    """The statistic of a partition, on its worker."""

    def __init__(self, task: bytes) -> None:
        self.task = task

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        reader, statistic = pickle.loads(self.task)
        number = _partition()
        portion = reduce_batches(_read(batches, reader, number), statistic)
        yield _answer(number, pack(portion))


class _Decoded:
    """The decoded batches of a partition, on its worker; a refusal ends them."""

    def __init__(self, task: bytes) -> None:
        self.task = task

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        number = _partition()
        try:
            for decoded in _read(batches, pickle.loads(self.task), number):
                yield _answer(number, pack(decoded))
        except InputError as problem:
            yield _answer(number, pack(problem))


def _read(batches: Iterator[Any], reader: BatchReader, number: int) -> Iterator[DecodedBatch]:
    start = 0
    for batch in batches:
        yield reader.read(batch, Location(f"partition {number}", start))
        start += batch.num_rows


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _answer(number: int, payload: bytes) -> Any:
    import pyarrow as pa

    columns = [pa.array([number], pa.int32()), pa.array([payload], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["number", "payload"])


def _answers(run: Any) -> Any:
    """What Spark answers; workers without this library, or with another Python, are named."""
    try:
        return run()
    except Exception as problem:
        lacking = re.search(r"No module named '(\w+)'", str(problem))
        if "PYTHON_VERSION_MISMATCH" not in str(problem) and lacking is None:
            raise
        known = os.environ.get("PYSPARK_PYTHON", "python3")
        what = "run another version of Python" if lacking is None else f"cannot import {lacking[1]}"
        raise InputError(
            f"The workers of Spark, which run {known}, {what}.",
            remedy=f"Before the session starts, set PYSPARK_PYTHON to a Python that has it (here "
            f"{sys.executable}), or install it there: pip install 'separatrix[spark]'.",
        ) from problem


def _place(frame: Any) -> str:
    session = frame.sparkSession
    return f"Spark ({session.conf.get('spark.master', 'remote')})"


def _executors(frame: Any) -> int:
    """The executors of a session, beside the driver; 0 where it works itself, or does not tell."""
    try:
        return int(frame.sparkSession.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1
    except Exception:  # a session on another machine (Spark Connect) has no context here
        return 0


def scan_spark(source: Any, target: Any, weight: Any, options: OptionsOf) -> SparkRows:
    """A Spark data frame, with target and weight by name."""
    frame = source.to_spark() if hasattr(source, "to_spark") else source
    sample = TableSource(frame.limit(SAMPLE_ROWS).toArrow())
    inferred = infer_schema(sample, options(target, weight))
    return SparkRows(frame, inferred.schema, inferred.notes, inferred.left_out)
