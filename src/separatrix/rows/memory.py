"""A table read into memory once: its raw block, which can be cut and labelled at will."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Block, concatenate
from separatrix.rows.parts import Parts, Words, block_content
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Schema
from separatrix.rows.sources.reader import Reading


class MemoryRows(InMemory):
    """Raw rows in memory. ``row_ids`` are the numbers of the rows in the source, from 1."""

    def __init__(
        self, schema: Schema, block: Block, row_ids: NDArray[np.int64], content: Words
    ) -> None:
        self.schema, self.block, self.content = schema, block, content
        self._row_ids = row_ids

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """The number that each row has in the source."""
        return self._row_ids

    def take(self, index: NDArray[Any] | slice) -> MemoryRows:
        """Some of the rows, by position or mask."""
        return self._like(self.block.take(index), index)

    def with_parts(self, parts: Parts | NDArray[np.int64]) -> MemoryRows:
        """The same rows, each labelled with its part; copies of a row may go to several parts."""
        labels = parts.assign_in_memory(self.content) if isinstance(parts, Parts) else parts
        return self._like(replace(self.block, parts=labels), slice(None))

    def _like(self, block: Block, index: NDArray[Any] | slice) -> MemoryRows:
        other = MemoryRows(self.schema, block, self.row_ids[index], self.content[index])
        other.dropped, other.notes, other.ignored = self.dropped, self.notes, self.ignored
        return other


def of_block(schema: Schema, block: Block) -> MemoryRows:
    """A block as a table of its own, its rows numbered from 1."""
    return MemoryRows(schema, block, np.arange(1, block.n + 1), block_content(block))


def from_readings(schema: Schema, readings: list[Reading], file: str | None) -> MemoryRows:
    """All readings as one table; the levels that were met become the known ones."""
    if not sum(reading.block.n for reading in readings):
        raise no_rows_left(schema, sum(r.dropped for r in readings), file)
    block = concatenate([reading.block for reading in readings if reading.block.n])
    block = block.aligned(schema.ordered(block.terms), schema.ordered(block.targets))
    schema = close_levels(schema, block)
    content = [reading.content for reading in readings if reading.content is not None]
    rows = MemoryRows(
        schema,
        block,
        np.concatenate([reading.numbers for reading in readings]),
        np.concatenate(content) if content else np.zeros(0, dtype=np.uint64),
    )
    rows.dropped = sum(reading.dropped for reading in readings)
    return rows


def close_levels(schema: Schema, block: Block) -> Schema:
    """The schema with the levels of the block as those known."""
    met: dict[str, list[str]] = {}
    for term in (*block.terms, *block.targets):
        if term.level is not None:
            met.setdefault(term.column, []).append(term.level)
    columns, targets = (
        tuple(replace(c, levels=c.levels or tuple(sorted(met.get(c.name, ())))) for c in group)
        for group in (schema.columns, schema.targets)
    )
    return replace(schema, columns=columns, targets=targets)


def no_rows_left(schema: Schema, dropped: int, file: str | None) -> InputError:
    """The refusal of a table of which nothing can be used."""
    roles = ", ".join(repr(c.name) for c in schema.targets) or "the target"
    lost = f"every one of its {dropped} rows lacks a value" if dropped else "it has no rows"
    where = "some column" if schema.missing == "drop" else roles
    return InputError(
        f"no row can be used: {lost}{f' in {where}' if dropped else ''}.",
        file=file,
        remedy="Choose another target, or missing='mean' if the gaps are in the other columns.",
    )
