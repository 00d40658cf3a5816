"""Passes over the portions of a table by Dask: one task each, then sums in a fixed order.

Every task is a pure function of its portion, so a lost worker costs only its own tasks, and the
order of the sums does not depend on who computes them: the result is the same bits.

A table that is read a second time is cached, decoded, in the memory of the workers if half of it
suffices; otherwise each pass reads it again.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from separatrix.messages import InputError
from separatrix.rows.distributed.pieces import refuse_unseen_file
from separatrix.rows.distributed.portions import (
    FAN_IN,
    Answers,
    Parcel,
    Portion,
    answered,
    decoded_batches,
    packed,
    reduced,
    sum_parcels,
)
from separatrix.rows.distributed.scheduler import free_memory, workers_of
from separatrix.rows.distributed.travel import Travel
from separatrix.rows.rows import S
from separatrix.rows.sources.reader import BatchReader, DecodedBatch

T = TypeVar("T")

#: Portions under way for each worker while answers are fetched in order.
WINDOW = 3


class Passes:
    """Passes over the same portions; ``client`` None is whichever scheduler Dask has."""

    def __init__(self, portions: Sequence[Any], block_rows: int, client: Any = None) -> None:
        self.portions, self.block_rows, self._client = list(portions), block_rows, client
        self.travel = Travel(pieces=len(self.portions))
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
        known = packed(reader)
        portions, ready = self._ready(known, reader, client)
        task = (ready, reader, statistic.fresh(), self.block_rows)
        job = delayed(_Literal(task), pure=False, traverse=False)
        one, both = delayed(_reduced, pure=False), delayed(_sum, pure=False)
        level = [one(portion, job) for portion in portions]
        while len(level) > 1:
            level = [both(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        parcel: Parcel = self._computed(level[0], client)
        total: Portion[S] = parcel.opened()
        self._count(client, len(packed(task)), parcel.traveled)
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
        portions, ready = self._ready(packed(reader), reader, None)
        task = (ready, reader, function, self.block_rows)
        job = delayed(_Literal(task), pure=False, traverse=False)
        one = delayed(_answered, pure=False)
        tasks = (one(portion, job) for portion in portions[first:])
        self._count(client, len(packed(task)), 0)
        self.travel.passes += 1
        for parcel in self._in_order(tasks, client):
            self.travel.received += parcel.traveled
            yield parcel.opened()

    def _in_order(self, tasks: Iterator[Any], client: Any) -> Iterator[Parcel]:
        """The results in the order of the tasks, of which only a few are under way."""
        if client is None:
            yield from (self._computed(task, None) for task in tasks)
            return
        under_way: deque[Any] = deque()
        most = WINDOW * max(1, workers_of(client))
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
        load = delayed(_loaded, pure=False)
        cached = client.persist([load(portion, job) for portion in self.portions])
        self._cached, self.travel.cached = (known, cached), self._sizes[known]
        return cached, True

    def _computed(self, task: Any, client: Any) -> Parcel:
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
    """The result of a task; a cluster that is lost is said in words."""
    from distributed import KilledWorker

    try:
        return future.result()  # type: ignore[no-any-return]
    except KilledWorker as problem:
        raise InputError(
            "Several workers of the cluster died over the same piece of the table.",
            remedy="Give workers more memory, or write the table in smaller files or row groups.",
        ) from problem
    except Exception as problem:
        if "Cancelled" not in type(problem).__name__:
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


def _reduced(portion: Any, job: _Literal) -> Parcel:
    ready, reader, statistic, rows = job.value
    return Parcel.of(reduced(_batches(portion, ready, reader, rows), statistic))


def _answered(portion: Any, job: _Literal) -> Parcel:
    ready, reader, function, rows = job.value
    return Parcel.of(answered(_batches(portion, ready, reader, rows), function))


def _loaded(portion: Any, job: _Literal) -> list[DecodedBatch]:
    reader, rows = job.value
    return list(_batches(portion, False, reader, rows))


def _sum(parcels: list[Parcel]) -> Parcel:
    return sum_parcels(parcels)
