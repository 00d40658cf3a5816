"""New rows under the schema of the training rows: columns are matched by name, in any order.

No row is dropped when predicting: target and weight are not read, and missing values are imputed
even where training dropped such rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.dates import with_parts_of_dates
from separatrix.rows.notations import CLOCK, TextOptions
from separatrix.rows.recognition import SameNotation, written_as
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import Block, Column, Kind, Schema, Term, TermMap, Terms, to_array
from separatrix.rows.sources.columns import (
    UNSEEN_CODE,
    Counts,
    Levels,
    add_counts,
    recode,
    warn_unseen,
)
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.frames import as_table
from separatrix.rows.sources.paths import is_path, open_paths
from separatrix.rows.sources.source import Source, TableSource, head, refuse_duplicates
from separatrix.rows.sources.spooled import is_arrow_stream, open_arrow_stream
from separatrix.rows.sources.stream import TableRows


def rows_like(
    x: Any,
    schema: Schema,
    *,
    target: bool = False,
    unseen: str | None = None,
    text: TextOptions | None = None,
) -> Rows:
    """New rows under a known schema; extra columns are listed in ``ignored``.

    With ``target``, the target columns are read too, and rows without a target are dropped.
    ``unseen`` is a policy for levels absent from training other than that of the schema. Numbers
    and dates are read as they were written in training, unless ``text`` says otherwise; single
    texts among them are missing values, with a warning, unless it is ``strict``.
    """
    if unseen is not None:
        schema = replace(schema, unseen=unseen)
    text = text or TextOptions()
    schema = written_as(schema, text)
    targets = schema.targets if target else ()
    missing = "mean" if schema.missing == "drop" else schema.missing
    schema = replace(schema, targets=targets, weight=None, group=None, time=None, missing=missing)
    if isinstance(x, Rows):
        _refuse_lacking(schema, list(x.schema.by_name), None)
        same = x.schema.columns == schema.columns or any(
            x.schema.columns == _of_new_rows(schema, slips=slips).columns for slips in (True, False)
        )
        return x if same else MatchedRows(x, schema)
    if sparse.issparse(x):
        _refuse_width(x.shape[1], schema)
        plain = ArrayRows(sparse.csr_array(x).astype(np.float64), names=schema.read_names)
        return MatchedRows(plain, schema)
    source = _source(x, schema, text)
    _refuse_lacking(schema, source.arrow.names, source.name)
    schema = _of_new_rows(schema, slips=not text.strict and schema.unseen != "error")
    rows = TableRows(
        source,
        schema,
        ignored=tuple(name for name in source.arrow.names if name not in schema.by_name),
        revise=SameNotation(),
    )
    head(source, [schema.columns[0].name])
    return rows


def same_rows(x: Any, schema: Schema, *, text: TextOptions | None = None) -> TableRows:
    """The table of training again, with its target, weight, groups and times.

    Rows are dropped as in training, and columns read as they were written then.
    """
    text = text or TextOptions()
    schema = written_as(schema, text)
    source = _source(x, schema, text)
    roles = [name for name in (schema.weight, schema.group, schema.time) if name]
    _refuse_lacking(schema, source.arrow.names, source.name)
    for name in roles:
        if name not in source.arrow.names:
            raise InputError(
                f"there is no column {name!r}, which training had.",
                file=source.name,
                remedy=did_you_mean(name, source.arrow.names),
            )
    return TableRows(source, schema, revise=SameNotation())


#: How texts are written in a column that training read as dates or times by itself.
_FORMS = {"date": "year-first", "datetime": "year-first", "time": CLOCK}


def _of_new_rows(schema: Schema, *, slips: bool) -> Schema:
    """The schema with the notation of dates; with ``slips`` single texts are missing values."""

    def note(column: Column) -> Column:
        if column.kind is not Kind.NUMERIC:
            return column
        dates = column.notation.dates or _FORMS.get(column.display, "")
        return replace(column, notation=replace(column.notation, dates=dates, slips=slips))

    return replace(schema, columns=tuple(map(note, schema.columns)))


def _source(x: Any, schema: Schema, text: TextOptions) -> Source:
    source: Source
    if is_path(x):
        kinds = {c.name: c.kind for c in schema.by_name.values() if not c.part}
        header = text.header if text.header is not None or schema.header else False
        layout = replace(text, header=header, na=schema.na)
        source = open_paths(x, kinds, layout, kinds)
        if isinstance(source, CsvSource):
            columns = schema.by_name.values()
            source = source.as_text(c.name for c in columns if c.notation.needs_text)
    elif isinstance(x, np.ndarray) or (isinstance(x, list) and x and not isinstance(x[0], dict)):
        matrix = np.asarray(x)
        if matrix.ndim != 2:
            raise InputError(
                f"The array has {matrix.ndim} dimensions.", remedy="Give a matrix: rows by columns."
            )
        _refuse_width(matrix.shape[1], schema)
        source = TableSource(as_table({n: matrix[:, j] for j, n in enumerate(schema.read_names)}))
    elif is_arrow_stream(x):
        source = open_arrow_stream(x)
    else:
        source = TableSource(as_table(x))
    refuse_duplicates(source.arrow.names, source.name)
    return source


def _refuse_width(width: int, schema: Schema) -> None:
    if width != len(schema.read_names):
        raise InputError(
            f"The matrix has {width} columns, training had {len(schema.read_names)}.",
            remedy="Give the columns of the training table, or a table with names.",
        )


def _refuse_lacking(schema: Schema, names: list[str], file: str | None) -> None:
    present = frozenset(names)
    for column in schema.columns + schema.targets:
        if column.name not in present and not column.part:
            raise InputError(
                f"there is no column {column.name!r}, which training had.",
                file=file,
                remedy=did_you_mean(column.name, names),
            )


class MatchedRows(Rows):
    """Raw rows of one schema restated in the terms of another."""

    def __init__(self, rows: Rows, schema: Schema) -> None:
        self.rows, self.schema = rows, schema
        self.ignored = tuple(name for name in rows.schema.names if name not in schema.by_name)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        start, unseen = 0, Counts()
        for block in self.rows.blocks():
            yield self._match(with_parts_of_dates(block, self.schema), start, unseen)
            start += block.n
        warn_unseen(unseen, self.schema.unseen)

    def _match(self, block: Block, start: int, unseen: Counts) -> Block:
        entries: list[tuple[int, int, float]] = []
        new: list[Term] = []
        their = self.rows.schema.by_name
        groups: dict[str, list[Term]] = {}
        for term in block.terms:
            groups.setdefault(term.column, []).append(term)
        for column in self.schema.columns:
            old = groups.get(column.name, [])
            like = their.get(column.name, column)  # a part of dates that they lack is as ours
            self._check_kind(column, like)
            to_missing: list[Term] = []
            if column.kind is Kind.DISCRETE:
                others = self._unseen(block, column, old, start)
                if column.pooled:
                    at = len(new) + column.levels.index(column.pooled)
                    entries += [
                        (block.terms.position[term], at, 1.0)
                        for term in old
                        if term.level is not None and term.level not in column.levels
                    ]
                add_counts(unseen, {column.name: others})
                if self.schema.unseen == "missing":
                    to_missing = [Term(column.name, level=level) for level in others]
                terms = [Term(column.name, level=level) for level in column.levels]
            else:
                terms = [Term(column.name)]
            missing = Term(column.name, missing=True)
            if missing in block.terms.position or to_missing:
                terms.append(missing)
                at = len(new) + len(terms) - 1
                entries += [(block.terms.position[term], at, 1.0) for term in to_missing]
                if column.kind is not Kind.DISCRETE:  # missing values had another placeholder
                    shift = column.placeholder - like.placeholder
                    entries.append((block.terms.position[missing], len(new), shift))
            entries += [
                (block.terms.position[term], len(new) + j, 1.0)
                for j, term in enumerate(terms)
                if term in block.terms.position
            ]
            new += terms
        x = TermMap(block.terms, Terms(tuple(new)), tuple(entries)).rows(block.x)
        return Block(x, block.y, block.w, Terms(tuple(new)), block.targets, block.parts)

    @staticmethod
    def _check_kind(column: Column, new_column: Column) -> None:
        if (column.kind is Kind.DISCRETE) != (new_column.kind is Kind.DISCRETE):
            raise InputError(
                f"is {new_column.kind} here, but was {column.kind} in training.",
                column=column.name,
                remedy=f"Scan the table with kinds={{{column.name!r}: {str(column.kind)!r}}}.",
            )

    def _unseen(self, block: Block, column: Column, old: list[Term], start: int) -> Counter[str]:
        """Rows of each level that occurs here but not in training; refused as in a file."""
        unseen: list[str] = []
        codes = np.full(block.n, UNSEEN_CODE)
        for term in old:
            if term.level is None or term.level in column.levels:
                continue
            here = np.ravel(to_array(block.x[:, [block.terms.position[term]]])) != 0
            if here.any():
                codes[here] = len(unseen)
                unseen.append(term.level)
        numbers = np.arange(start + 1, start + block.n + 1)
        return recode(Levels(codes, tuple(unseen)), column, self.schema.unseen, None, numbers)[1]
