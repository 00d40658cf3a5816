"""From Arrow batches to raw blocks: values, level indicators and gap indicators.

A row is kept when its target and weight are known (and, under ``missing="drop"``, all its values).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.messages import InputError, warn
from separatrix.rows.block import Block, Floats, Matrix
from separatrix.rows.buffers import scratch
from separatrix.rows.parts import Parts, Words, content_of
from separatrix.rows.schema import Column, Kind, Schema, Term, Terms
from separatrix.rows.sources.columns import GAP, UNSEEN, Levels, Numbers, Place, levels, numbers

if TYPE_CHECKING:
    import pyarrow as pa

#: More indicator columns than this, mostly zero, are kept sparse.
DENSE_TERMS = 64

#: A discrete column with more levels than this is no table of groups but a list of names.
MOST_LEVELS = 5000

Decoded = dict[str, Numbers | Levels]


@dataclass(frozen=True)
class Reading:
    """A raw block, the number (from 1) that each of its rows has in the source, rows left out."""

    block: Block
    numbers: NDArray[np.int64]
    dropped: int
    content: Words | None = None


@dataclass(frozen=True)
class Reader:
    """Reads batches by a schema; labels rows with ``parts`` where asked for."""

    schema: Schema
    parts: Parts | None = None
    fingerprint: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns that it needs."""
        names = list(self.schema.named)
        return names if self.schema.weight is None else [*names, self.schema.weight]

    def read(self, batch: pa.RecordBatch, place: Place) -> Reading:
        """The rows of a batch that can be used."""
        decoded = self._decoded(batch, place)
        w = None if self.schema.weight is None else self._weights(batch, place)
        n = batch.num_rows
        keep = self._kept(decoded, w, n)
        row_numbers = np.arange(place.start + 1, place.start + n + 1)
        if keep is not None:
            decoded = {name: _some(column, keep) for name, column in decoded.items()}
            w, row_numbers = (None if w is None else w[keep]), row_numbers[keep]
        hashed = self.parts is not None or self.fingerprint
        content = content_of(decoded, len(row_numbers)) if hashed else None
        labels = None
        if self.parts is not None and content is not None:
            labels = self.parts.assign(content)
        decoded = self._closed(decoded, place, row_numbers)
        x, terms = assemble(self.schema.columns, decoded, len(row_numbers))
        y, targets = assemble(self.schema.targets, decoded, len(row_numbers))
        block = Block(x, _dense(y), w, terms, targets, labels)
        return Reading(block, row_numbers, n - len(row_numbers), content)

    def _decoded(self, batch: pa.RecordBatch, place: Place) -> Decoded:
        decoded: Decoded = {}
        for column in self.schema.columns + self.schema.targets:
            array = batch.column(batch.schema.get_field_index(column.name))
            if column.kind is Kind.DISCRETE:
                decoded[column.name] = levels(array)
            else:
                decoded[column.name] = found = numbers(array, column.name, place)
                if column.kind is Kind.BOOLEAN:
                    _refuse_others(found, column.name, place)
        return decoded

    def _weights(self, batch: pa.RecordBatch, place: Place) -> Floats:
        name = self.schema.weight
        assert name is not None
        w = numbers(batch.column(batch.schema.get_field_index(name)), name, place).values
        if (w < 0).any():
            i = int((w < 0).argmax())
            raise InputError(
                f"holds a negative weight ({w[i]:g}).",
                file=place.file,
                row=place.row(i),
                column=name,
                remedy="Weights count how much a row matters: zero or more.",
            )
        return w

    def _kept(self, decoded: Decoded, w: Floats | None, n: int) -> NDArray[np.bool_] | None:
        """Which rows stay; None when all do."""
        judged = self.schema.targets
        if self.schema.missing == "drop":
            judged = judged + self.schema.columns
        gaps = [decoded[column.name].gaps for column in judged]
        if w is not None:
            gaps.append(np.isnan(w))
        away = np.zeros(n, dtype=bool)
        for gap in gaps:
            if gap is not None:
                away |= gap
        return ~away if away.any() else None

    def _closed(self, decoded: Decoded, place: Place, row_numbers: NDArray[np.int64]) -> Decoded:
        """Levels recoded into the known ones, where they are known."""
        closed = dict(decoded)
        for column in self.schema.columns + self.schema.targets:
            found = decoded[column.name]
            if not isinstance(found, Levels):
                continue
            if column.levels and column in self.schema.columns:
                closed[column.name] = recode(found, column, self.schema, place.file, row_numbers)
            elif column.levels:
                known = tuple(dict.fromkeys(column.levels + found.names))
                closed[column.name] = _into(found, known)
            elif len(found.names) > MOST_LEVELS:
                raise too_many_levels(column.name, place.file)
        return closed


def _refuse_others(found: Numbers, name: str, place: Place) -> None:
    """A truth value is 0 or 1."""
    other = ~np.isin(found.values, (0.0, 1.0)) & ~np.isnan(found.values)
    if other.any():
        i = int(other.argmax())
        raise InputError(
            f"holds {found.values[i]:g}, but a boolean column holds 0 and 1 only.",
            file=place.file,
            row=place.row(i),
            column=name,
            remedy=f"Read it as numbers with kinds={{{name!r}: 'numeric'}}.",
        )


def too_many_levels(name: str, file: str | None) -> InputError:
    """The refusal of a column of names, addresses or identifiers."""
    return InputError(
        f"has more than {MOST_LEVELS} different levels, too many to learn one number for each.",
        file=file,
        column=name,
        remedy=f"Leave it out with kinds={{{name!r}: 'ignore'}}, or group its levels.",
    )


def recode(
    found: Levels, column: Column, schema: Schema, file: str | None, rows: NDArray[np.int64]
) -> Levels:
    """Codes into the known levels of the column; an unseen one is refused or becomes all zeros."""
    known = set(column.levels)
    unseen = [name for name in found.names if name not in known]
    if unseen and schema.unseen == "error":
        code = found.names.index(unseen[0])
        shown = ", ".join(repr(level) for level in column.levels[:8])
        raise InputError(
            f"the level {unseen[0]!r} was not met in training (known: {shown}"
            f"{', …' if len(column.levels) > 8 else ''}).",
            file=file,
            row=int(rows[int((found.codes == code).argmax())]),
            column=column.name,
            remedy="Correct it, or train with unseen='zeros' to give unseen levels no effect.",
        )
    if unseen:
        warn(
            "SEP005",
            f"column {column.name!r}: {', '.join(map(repr, unseen[:5]))} not met in training; "
            "encoded as all zeros.",
        )
    return _into(found, column.levels)


def _into(found: Levels, known: tuple[str, ...]) -> Levels:
    at = {name: i for i, name in enumerate(known)}
    table = np.array([at.get(name, UNSEEN) for name in found.names] + [UNSEEN, GAP])
    return Levels(table[found.codes], known)


def _some(column: Numbers | Levels, keep: NDArray[np.bool_]) -> Numbers | Levels:
    if isinstance(column, Levels):
        codes = column.codes[keep]
        met = np.unique(codes[codes >= 0])
        table = np.full(len(column.names) + 2, UNSEEN)
        table[met], table[GAP] = np.arange(len(met)), GAP
        return Levels(table[codes], tuple(column.names[i] for i in met))
    gaps = None if column.gaps is None else column.gaps[keep]
    return Numbers(column.values[keep], gaps if gaps is not None and gaps.any() else None)


def _dense(y: Matrix) -> Floats:
    return np.asarray(y.toarray() if sparse.issparse(y) else y)


# -- laying the columns side by side ---------------------------------------------------------------


def assemble(columns: tuple[Column, ...], decoded: Decoded, n: int) -> tuple[Matrix, Terms]:
    """Columns as a matrix of raw terms: dense by columns, or CSR when mostly zeros."""
    terms = Terms(tuple(t for column in columns for t in _terms(column, decoded[column.name])))
    stored = len(columns) + 1
    lay = _sparse if len(terms) > max(DENSE_TERMS, 8 * stored) else _side_by_side
    return lay(columns, decoded, terms, n), terms


def _terms(column: Column, found: Numbers | Levels) -> list[Term]:
    if isinstance(found, Levels):
        terms = [Term(column.name, level=level) for level in found.names]
    else:
        terms = [Term(column.name)]
    if found.gaps is not None:
        terms.append(Term(column.name, missing=True))
    return terms


def _side_by_side(columns: tuple[Column, ...], decoded: Decoded, terms: Terms, n: int) -> Floats:
    x = scratch((n, len(terms)))
    j = 0
    for column in columns:
        found = decoded[column.name]
        if isinstance(found, Levels):
            here = np.flatnonzero(found.codes >= 0)
            x[:, j : j + len(found.names)] = 0.0
            x[here, j + found.codes[here]] = 1.0
            j += len(found.names)
        else:
            x[:, j] = found.values
            if found.gaps is not None:
                x[found.gaps, j] = column.origin
            j += 1
        if found.gaps is not None:
            x[:, j] = found.gaps
            j += 1
    return x


def _sparse(columns: tuple[Column, ...], decoded: Decoded, terms: Terms, n: int) -> Matrix:
    entries: list[tuple[NDArray[np.intp], NDArray[np.intp], Floats]] = []
    j = 0
    for column in columns:
        found = decoded[column.name]
        if isinstance(found, Levels):
            here = np.flatnonzero(found.codes >= 0)
            entries.append((here, j + found.codes[here], np.ones(len(here))))
            j += len(found.names)
        else:
            values = np.where(np.isnan(found.values), column.origin, found.values)
            here = np.flatnonzero(values)
            entries.append((here, np.full(len(here), j), values[here]))
            j += 1
        if found.gaps is not None:
            here = np.flatnonzero(found.gaps)
            entries.append((here, np.full(len(here), j), np.ones(len(here))))
            j += 1
    i, at, data = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csr_array((data, (i, at)), shape=(n, len(terms)))
