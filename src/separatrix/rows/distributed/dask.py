"""Dask collections as rows: one statistic per partition, summed on the workers."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.distributed.passes import Passes
from separatrix.rows.distributed.travel import Travel
from separatrix.rows.infer import OptionsOf, infer_schema
from separatrix.rows.rows import S, target_names
from separatrix.rows.schema import Schema
from separatrix.rows.sources.dataframes import as_table, refuse_name, table_of_arrays
from separatrix.rows.sources.reader import BatchReader, DecodedBatch
from separatrix.rows.sources.source import SAMPLE_ROWS, TableSource
from separatrix.rows.sources.stream import BLOCK_ROWS, BatchedRows
from separatrix.rows.sources.unseen import warn_unseen


class DaskRows(BatchedRows):
    """The partitions of a Dask collection, as delayed tables."""

    def __init__(self, partitions: list[Any], schema: Schema, notes: tuple[str, ...] = ()) -> None:
        self.passes = Passes(partitions, BLOCK_ROWS)
        self.schema, self.notes = schema, notes

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

    def _decoded(self, reader: BatchReader) -> Iterator[DecodedBatch]:
        start = 0
        for found in self.passes.each(reader, _itself):
            if found.failure is not None:
                raise found.failure
            for batch in found.values:  # row numbers continue from one partition to the next
                yield replace(batch, row_ids=batch.row_ids + start)
            start += sum(len(batch.row_ids) + batch.dropped for batch in found.values)


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
    found = infer_schema(TableSource(_sample(partitions)), options(targets, named))
    one = delayed(_source, pure=True)
    sources = [one(partition, index) for index, partition in enumerate(partitions)]
    return DaskRows(sources, found.schema, found.notes)


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
