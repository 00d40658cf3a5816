"""Decoding of Arrow batches into raw blocks: values, level indicators, missing indicators.

A row is used if its target and weight are present (and, under ``missing="drop"``, all its values).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.messages import InputError
from separatrix.rows.dates import NAMES, level_codes, part_values
from separatrix.rows.notations import coded_value
from separatrix.rows.parts import Hashes, Parts, hash_rows
from separatrix.rows.rows import NO_KEYS, InMemory
from separatrix.rows.schema import (
    Block,
    Column,
    Kind,
    Schema,
    Term,
    Terms,
    concatenate,
    scratch,
    to_array,
)
from separatrix.rows.sources.columns import (
    MISSING_CODE,
    UNSEEN_CODE,
    Counts,
    Levels,
    Location,
    NumericValues,
    check_boolean,
    into,
    is_number,
    is_time,
    levels,
    numbers,
    recode,
)
from separatrix.rows.sources.source import SuspectedMissing
from separatrix.rows.split import Keys, join_keys

if TYPE_CHECKING:
    import pyarrow as pa


#: A discrete column with more levels than this is refused where moments of all are to be computed:
#: those of d columns are d² numbers. In memory, rare levels may still be pooled.
MAX_LEVELS = 5000
#: A target of more classes is refused: it has a number for every row and class.
MAX_CLASSES = 1000


@dataclass(frozen=True)
class DecodedBatch:
    """A raw block, the number in the source (from 1) of each of its rows, and the rows dropped.

    ``start`` rows of the source (its file) come before the batch.
    ``unseen`` counts the rows of levels that are not among the known ones.
    """

    block: Block
    row_ids: Ints
    dropped: int
    hashes: Hashes | None = None
    keys: Keys = NO_KEYS
    unseen: Counts = field(default_factory=dict)
    start: int = 0


@dataclass(frozen=True)
class BatchReader:
    """Decoder of batches under a schema; assigns rows to ``parts`` where given.

    ``ranges`` are those of numeric columns in which a number that may stand for missing values is
    a contradiction.
    """

    schema: Schema
    parts: Parts | None = None
    with_hashes: bool = False
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns to be read."""
        roles = (self.schema.weight, self.schema.group, self.schema.time)
        read = [name for name, column in self.schema.by_name.items() if not column.part]
        return list(dict.fromkeys([*read, *(name for name in roles if name)]))

    def read(self, batch: pa.RecordBatch, location: Location) -> DecodedBatch:
        """Decode the usable rows of a batch."""
        decoded = self._decode(batch, location)
        w = None if self.schema.weight is None else self._weights(batch, location)
        group, times = self._group(batch, location), self._times(batch, location)
        n = batch.num_rows
        complete = self._complete(decoded, [w, times], n)
        row_ids = np.arange(location.start + 1, location.start + n + 1)
        if complete is not None:
            decoded = {name: _select(column, complete) for name, column in decoded.items()}
            group = {name: _select(column, complete) for name, column in group.items()}
            w, row_ids = (None if w is None else w[complete]), row_ids[complete]
            times = None if times is None else times[complete]
        m = len(row_ids)
        needed = self.parts is not None or self.with_hashes
        hashes = hash_rows(decoded, m) if needed else None
        decoded |= _parts_of_dates(self.schema, decoded)
        keys, labels = NO_KEYS, None
        if hashes is not None:
            keys = Keys(_hashed_groups(group, hashes), times)
        if self.parts is not None and hashes is not None:
            labels = self.parts.assign(hashes if keys.groups is None else keys.groups)
        decoded, unseen = self._recode_known(decoded, location, row_ids)
        x, terms = assemble(self.schema.columns, decoded, m)
        y, targets = assemble(self.schema.targets, decoded, m)
        block = Block(x, to_array(y), w, terms, targets, labels)
        return DecodedBatch(block, row_ids, n - m, hashes, keys, unseen, location.start)

    def _decode(self, batch: pa.RecordBatch, location: Location) -> Columns:
        decoded: Columns = {}
        for column in self.schema.columns + self.schema.targets:
            if column.part:
                continue
            array = batch.column(column.name)
            if column.kind is Kind.DISCRETE:
                decoded[column.name] = levels(array, self.schema.na)
                continue
            values = numbers(array, column.name, location, column.notation)
            decoded[column.name] = values
            if column.kind is Kind.BOOLEAN:
                check_boolean(values.values, column.name, location)
            elif column.name in self.ranges:
                self._check_range(values, column.name, location)
        return decoded

    def _check_range(self, numeric_values: NumericValues, name: str, location: Location) -> None:
        """A number far outside the first rows that may stand for missing values."""
        value = coded_value(numeric_values.range, self.ranges[name])
        if value is not None:
            raise SuspectedMissing.of(
                location.error(
                    f"{value:g} may stand for a missing value.",
                    int((numeric_values.values == value).argmax()),
                    name,
                    "Say so, or not, with `na`.",
                )
            )

    def _weights(self, batch: pa.RecordBatch, location: Location) -> Floats:
        name = self.schema.weight
        assert name is not None
        w = numbers(batch.column(name), name, location, self.schema.notation(name)).values
        if (w < 0).any():
            i = int((w < 0).argmax())
            raise location.error(
                f"holds a negative weight ({w[i]:g}).", i, name, "Weights must be zero or more."
            )
        return w

    def _group(self, batch: pa.RecordBatch, location: Location) -> Columns:
        """The column of groups; none where there is no such column."""
        name = self.schema.group
        if name is None:
            return {}
        array = batch.column(name)
        if is_number(array.type) or is_time(array.type):
            return {name: numbers(array, name, location)}
        return {name: levels(array)}

    def _times(self, batch: pa.RecordBatch, location: Location) -> Floats | None:
        """The times of the rows; a stream cannot be split by them."""
        name = self.schema.time
        if name is None:
            return None
        if self.parts is not None:
            raise InputError(
                "Which rows come last in time is known only when all are in memory.",
                remedy="Read the table into memory (SEPARATRIX_MEMORY=megabytes raises the limit), "
                "or leave out `time`.",
            )
        return numbers(batch.column(name), name, location, self.schema.notation(name)).values

    def _complete(
        self, decoded: Columns, needed: list[Floats | None], n: int
    ) -> NDArray[np.bool_] | None:
        """Mask of the usable rows; None if all are."""
        required = self.schema.targets
        if self.schema.missing == "drop":
            required = required + self.schema.columns
        masks = [decoded[column.name].missing for column in required if not column.part]
        masks += [np.isnan(values) for values in needed if values is not None]
        incomplete = np.zeros(n, dtype=bool)
        for mask in masks:
            if mask is not None:
                incomplete |= mask
        return ~incomplete if incomplete.any() else None

    def _recode_known(
        self, decoded: Columns, location: Location, row_ids: Ints
    ) -> tuple[Columns, Counts]:
        """Codes into the known levels of the schema, where it has them; rows of other levels."""
        recoded, unseen = dict(decoded), Counts()
        for column in self.schema.columns + self.schema.targets:
            column_values = decoded[column.name]
            if not isinstance(column_values, Levels):
                if column_values.slips:
                    unseen[column.name] = column_values.slips
                continue
            if column.levels and column in self.schema.columns:
                recoded[column.name], others = recode(
                    column_values, column, self.schema.unseen, location.file, row_ids
                )
                if others:
                    unseen[column.name] = others
            elif column.levels:
                known = tuple(dict.fromkeys(column.levels + column_values.names))
                recoded[column.name] = into(column_values, known)
            elif column in self.schema.targets:
                if len(column_values.names) > MAX_CLASSES:
                    raise too_many_classes(column.name, location.file)
            elif len(column_values.names) > MAX_LEVELS and not self.with_hashes:
                raise too_many_levels(column.name, location.file)
        return recoded, unseen


def _parts_of_dates(schema: Schema, decoded: Columns) -> Columns:
    """The columns that are parts of dates."""
    parts: Columns = {}
    for column in schema.columns:
        if not column.part:
            continue
        dates = decoded[column.of]
        assert isinstance(dates, NumericValues)
        if column.part in NAMES:
            parts[column.name] = Levels(*level_codes(dates.values, dates.missing, column.part))
            continue
        values = part_values(np.nan_to_num(dates.values), column.part).astype(float)
        if dates.missing is not None:
            values[dates.missing] = np.nan
        parts[column.name] = NumericValues(values, dates.missing)
    return parts


def _hashed_groups(group: Columns, hashes: Hashes) -> Hashes | None:
    """The hash of each row's group; a row without one is a group of its own."""
    for column in group.values():
        group_hashes = hash_rows(group, len(hashes))
        return (
            group_hashes
            if column.missing is None
            else np.where(column.missing, hashes, group_hashes)
        )
    return None


def too_many_levels(name: str, file: str | None) -> InputError:
    """The refusal of a discrete column that holds names or identifiers."""
    return InputError(
        f"has more than {MAX_LEVELS} distinct levels, too many for one coefficient each.",
        file=file,
        column=name,
        remedy=f"Leave it out with kinds={{{name!r}: 'ignore'}}, or group its levels.",
    )


def too_many_classes(name: str, file: str | None) -> InputError:
    """The refusal of a target that holds names or identifiers."""
    return InputError(
        f"the target has more than {MAX_CLASSES} distinct texts, too many for classes.",
        file=file,
        column=name,
        remedy="Name another target; if these are numbers, say how they are written: `decimal`, "
        "`thousands`, `na`.",
    )


def _select(column: NumericValues | Levels, rows: NDArray[np.bool_]) -> NumericValues | Levels:
    if isinstance(column, Levels):
        codes = column.codes[rows]
        used = np.unique(codes[codes >= 0])
        table = np.full(len(column.names) + 2, UNSEEN_CODE)
        table[used], table[MISSING_CODE] = np.arange(len(used)), MISSING_CODE
        return Levels(table[codes], tuple(column.names[i] for i in used))
    mask = None if column.missing is None else column.missing[rows]
    return NumericValues(column.values[rows], mask if mask is not None and mask.any() else None)


def join(schema: Schema, batches: list[DecodedBatch], file: str | None) -> InMemory:
    """All batches as one table in memory; the levels that occur become the known ones."""
    dropped = sum(batch.dropped for batch in batches)
    if not sum(batch.block.n for batch in batches):
        raise no_usable_rows(schema, dropped, file)
    blocks = [batch.block for batch in batches if batch.block.n]
    terms = schema.ordered({term for block in blocks for term in block.terms})
    targets = schema.ordered({term for block in blocks for term in block.targets})
    block = concatenate([block.aligned(terms, targets) for block in blocks])
    rows = InMemory(
        _with_levels(schema, block),
        block,
        np.concatenate([batch.row_ids for batch in batches]),
        np.concatenate([batch.hashes for batch in batches if batch.hashes is not None]),
        join_keys([batch.keys for batch in batches]),
    )
    rows.dropped = dropped
    return rows


def _with_levels(schema: Schema, block: Block) -> Schema:
    """The schema with the levels of the block."""
    updated: dict[str, list[str]] = {}
    for term in (*block.terms, *block.targets):
        if term.level is not None:
            updated.setdefault(term.column, []).append(term.level)
    columns, targets = (
        tuple(replace(c, levels=c.levels or tuple(sorted(updated.get(c.name, ())))) for c in group)
        for group in (schema.columns, schema.targets)
    )
    return replace(schema, columns=columns, targets=targets)


def no_usable_rows(schema: Schema, dropped: int, file: str | None) -> InputError:
    """The refusal of a table without a usable row."""
    targets = ", ".join(repr(c.name) for c in schema.targets) or "the target"
    where = "some column" if schema.missing == "drop" else targets
    reason = f"each of its {dropped} rows lacks a value in {where}" if dropped else "it has no rows"
    return InputError(
        f"no row can be used: {reason}.",
        file=file,
        remedy="Choose another target, or missing='mean' if other columns have missing values.",
    )


# -------------------------------------------------------------------------------------------------
# Decoded columns as one matrix of raw terms: dense, or sparse when most entries are zero.


Columns = dict[str, NumericValues | Levels]


def assemble(columns: tuple[Column, ...], decoded: Columns, n: int) -> tuple[Matrix, Terms]:
    """Columns as a matrix of raw terms: dense in Fortran order, or CSR when mostly zeros."""
    terms = Terms(tuple(t for column in columns for t in _terms(column, decoded[column.name])))
    nonzero = len(columns) + 1  # per row
    # Blocks with more terms than this, most of them zero, are sparse.
    to_matrix = _to_csr if len(terms) > max(64, 8 * nonzero) else _to_dense
    return to_matrix(columns, decoded, terms, n), terms


def _terms(column: Column, values: NumericValues | Levels) -> list[Term]:
    if isinstance(values, Levels):
        terms = [Term(column.name, level=level) for level in values.names]
    else:
        terms = [Term(column.name)]
    if values.missing is not None:
        terms.append(Term(column.name, missing=True))
    return terms


def _to_dense(columns: tuple[Column, ...], decoded: Columns, terms: Terms, n: int) -> Floats:
    x = scratch((n, len(terms)))
    j = 0
    for column in columns:
        values = decoded[column.name]
        if isinstance(values, Levels):
            known = np.flatnonzero(values.codes >= 0)
            x[:, j : j + len(values.names)] = 0.0
            x[known, j + values.codes[known]] = 1.0
            j += len(values.names)
        else:
            x[:, j] = values.values
            if values.missing is not None:
                x[values.missing, j] = column.placeholder
            j += 1
        if values.missing is not None:
            x[:, j] = values.missing
            j += 1
    return x


def _to_csr(columns: tuple[Column, ...], decoded: Columns, terms: Terms, n: int) -> Matrix:
    levels = [found for c in columns if isinstance(found := decoded[c.name], Levels)]
    if len(levels) == len(columns) and all(
        found.codes.min(initial=0) >= MISSING_CODE for found in levels
    ):
        return _levels_to_csr(levels, len(terms), n)
    entries: list[tuple[NDArray[np.int32], NDArray[np.int32], Floats]] = []
    j = 0
    for column in columns:
        found = decoded[column.name]
        if isinstance(found, Levels):
            rows = _rows_where(found.codes >= 0)
            entries.append(
                (rows, np.int32(j) + found.codes[rows].astype(np.int32), np.ones(len(rows)))
            )
            j += len(found.names)
        else:
            values = np.where(np.isnan(found.values), column.placeholder, found.values)
            rows = _rows_where(values != 0.0)
            entries.append((rows, np.full(len(rows), j, dtype=np.int32), values[rows]))
            j += 1
        if found.missing is not None:
            rows = _rows_where(found.missing)
            entries.append((rows, np.full(len(rows), j, dtype=np.int32), np.ones(len(rows))))
            j += 1
    i, at, data = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csr_array((data, (i, at)), shape=(n, len(terms)))


def _rows_where(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Positions in half of the memory: a batch has fewer than 2³¹ rows."""
    return np.flatnonzero(mask).astype(np.int32)


def _levels_to_csr(columns: list[Levels], width: int, n: int) -> Matrix:
    """One entry for each column of a row: that of its level, or of the missing value."""
    at = np.empty((n, len(columns)), dtype=np.int32)
    first = 0
    for j, column in enumerate(columns):
        missing = column.missing
        known = len(column.names)
        codes = column.codes if missing is None else np.where(missing, known, column.codes)
        np.add(codes, first, out=at[:, j], casting="unsafe")
        first += known + (missing is not None)
    ends = np.arange(0, n * len(columns) + 1, len(columns), dtype=np.int32)
    return sparse.csr_array((np.ones(at.size), at.reshape(-1), ends), shape=(n, width))
