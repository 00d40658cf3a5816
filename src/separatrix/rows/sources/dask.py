"""Dask collections as rows: one statistic per partition, summed as a tree on the workers.

Every task is a pure function of its partition, so a lost worker costs only its own tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.infer import OptionsOf, infer_schema
from separatrix.rows.rows import S, target_names
from separatrix.rows.schema import Schema
from separatrix.rows.sources.dataframes import as_table, refuse_name, table_of_arrays
from separatrix.rows.sources.reader import BatchReader, DecodedBatch
from separatrix.rows.sources.source import SAMPLE_ROWS, TableSource, batch_rows
from separatrix.rows.sources.stream import BLOCK_ROWS, BatchedRows
from separatrix.rows.sources.unseen import warn_unseen


class DaskRows(BatchedRows):
    """The partitions of a Dask collection, as delayed Arrow tables."""

    def __init__(self, partitions: list[Any], schema: Schema, notes: tuple[str, ...] = ()) -> None:
        self.partitions, self.schema, self.notes = partitions, schema, notes

    def reduce(self, statistic: S) -> S:
        """Compute a statistic: one task per partition, then a tree of sums."""
        from dask import delayed

        reader = BatchReader(self.schema, self.parts)
        one, both = delayed(_reduced, pure=True), delayed(_added, pure=True)
        level = [one(p, i, reader, statistic.fresh()) for i, p in enumerate(self.partitions)]
        while len(level) > 1:
            pairs = [both(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
            level = pairs + (level[-1:] if len(level) % 2 else [])
        total, self.dropped = level[0].compute()
        return total  # type: ignore[no-any-return]

    def _decoded(self, reader: BatchReader) -> Iterator[DecodedBatch]:
        from dask import delayed

        one = delayed(_read, pure=True)
        start = 0
        for index, partition in enumerate(self.partitions):
            batches = one(partition, index, reader).compute()
            for batch in batches:  # row numbers continue from one partition to the next
                yield replace(batch, row_ids=batch.row_ids + start)
            start += sum(len(batch.row_ids) + batch.dropped for batch in batches)


def _read(table: Any, index: int, reader: BatchReader) -> list[DecodedBatch]:
    columns = reader.columns
    source = TableSource(table, f"partition {index}")
    batches = source.batches(columns, batch_rows(BLOCK_ROWS, len(columns)))
    return [reader.read(located.batch, located.location) for located in batches]


def _reduced(table: Any, index: int, reader: BatchReader, statistic: S) -> tuple[S, int]:
    part, dropped = statistic.fresh(), 0
    for decoded in _read(table, index, reader):
        dropped += decoded.dropped
        warn_unseen(decoded.unseen, reader.schema.unseen)
        if decoded.block.n:
            part.update(decoded.block)
    return part, dropped


def _added(a: tuple[S, int], b: tuple[S, int]) -> tuple[S, int]:
    return a[0] + b[0], a[1] + b[1]


def scan_dask(source: Any, target: Any, weight: Any, options: OptionsOf) -> DaskRows:
    """A Dask DataFrame (target and weight by name) or Array (target and weight as arrays)."""
    from dask import delayed

    if hasattr(source, "columns"):
        partitions = [delayed(as_table, pure=True)(part) for part in source.to_delayed()]
        targets, named = target, weight
    else:
        partitions, targets = _of_arrays(source, target, weight)
        named = None if weight is None else "weight"
    found = infer_schema(TableSource(_sample(partitions)), options(targets, named))
    return DaskRows(partitions, found.schema, found.notes)


def _of_arrays(x: Any, y: Any, w: Any) -> tuple[list[Any], tuple[str, ...]]:
    from dask import delayed

    if x.ndim != 2:
        raise InputError(f"The array has {x.ndim} dimensions.", remedy="Give rows by columns.")
    x = x.rechunk({1: -1})
    y, w = _aligned(x, y, "target"), _aligned(x, w, "weight")
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
    one = delayed(_table, pure=True)
    k = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    return [one(*chunk) for chunk in zip(*delayed_chunks, strict=True)], target_names(k)


def _aligned(x: Any, values: Any, role: str) -> Any:
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
