"""What a worker makes of its portion of a table, and how two portions become one.

A worker turns the rows of a portion into a statistic; statistics are all that leaves it. A refusal
(a value that cannot be read) is a result like any other: of two, the first in the order of the rows
counts, as it would on one machine.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from separatrix.messages import InputError
from separatrix.rows.block import Block
from separatrix.rows.rows import S
from separatrix.rows.sources.reader import BatchReader, DecodedBatch
from separatrix.rows.sources.source import Source, batch_rows
from separatrix.rows.sources.unseen import Counts, added
from separatrix.threads import one_blas_thread

T = TypeVar("T")

#: Portions whose statistics are added in one task.
FAN_IN = 16


@dataclass
class Portion(Generic[S]):
    """The statistic of some rows; rows left out, unknown levels, and bytes of the rows decoded."""

    statistic: S
    dropped: int = 0
    unseen: Counts = field(default_factory=Counts)
    decoded_bytes: int = 0
    failure: InputError | None = None

    def __add__(self, other: Portion[S]) -> Portion[S]:
        for one in (self, other):
            if one.failure is not None:
                return one
        return Portion(
            self.statistic + other.statistic,
            self.dropped + other.dropped,
            added(added(Counts(), self.unseen), other.unseen),
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
        return cls(packed(result), before)

    @property
    def traveled(self) -> int:
        """Bytes of this parcel and of all that went into it."""
        return self.before + len(self.payload)

    def opened(self) -> Any:
        """What is in the parcel; only ever made by workers that run this code for this process."""
        return pickle.loads(self.payload)


def packed(result: Any) -> bytes:
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


def reduced(batches: Iterable[DecodedBatch], statistic: S) -> Portion[S]:
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


def answered(batches: Iterable[DecodedBatch], function: Callable[[DecodedBatch], T]) -> Answers[T]:
    """Apply a function to every batch of a portion."""
    found: Answers[T] = Answers()
    try:
        with one_blas_thread():
            for decoded in batches:
                found.values.append(function(decoded))
                found.dropped += decoded.dropped
                found.unseen = added(found.unseen, decoded.unseen)
    except InputError as problem:
        found.failure = problem
    return found


def block_bytes(block: Block) -> int:
    """Memory of a decoded block."""
    x = block.x
    own = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes if hasattr(x, "indptr") else x.nbytes
    others = (values.nbytes for values in (block.y, block.w, block.parts) if values is not None)
    return int(own + sum(others))


def sum_parcels(parcels: Sequence[Parcel]) -> Parcel:
    """The sum of the portions in some parcels, in their order."""
    total: Portion[Any] = parcels[0].opened()
    for parcel in parcels[1:]:
        total = total + parcel.opened()
    return Parcel.of(total, sum(parcel.traveled for parcel in parcels))
