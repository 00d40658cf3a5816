"""What a fitted model reads from a table, in plain words: columns, and terms of the design.

    design term = value, filled where missing  |  1 for a level, else 0  |  1 if missing, else 0

This is all of the encoding: imputation by a constant, dummy coding, indicators of missing values,
levels that training did not have. It is independent of any language that a model is written in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.notations import IN_EVERY_COLUMN
from separatrix.rows.schema import Column, Encoding, Kind, Schema, Term, column_names


@dataclass(frozen=True)
class InputColumn:
    """A column of the table as a model reads it.

    ``missing_texts`` and ``missing_numbers`` stand for missing values beside null, NaN and empty
    texts. ``unseen`` says what a level outside ``levels`` is: ``"missing"``, ``"zeros"`` (a level
    of its own, which no term has) or ``"error"``. With ``refuses_missing`` a row without a value
    is refused. ``display`` is that of :class:`~separatrix.rows.schema.Column`: of ``"date"`` and
    ``"datetime"`` the numbers are days since 1970-01-01. ``pooled`` names the level of every text
    outside ``levels``; it is empty where there is none.
    """

    name: str
    kind: Kind = Kind.NUMERIC
    levels: tuple[str, ...] = ()
    display: str = ""
    missing_texts: tuple[str, ...] = ()
    missing_numbers: tuple[float, ...] = ()
    unseen: str = "missing"
    refuses_missing: bool = False
    pooled: str = ""
    #: What part of a date it is, which a table does not have as a column.
    part: str = ""
    #: A value that occurs, for rows made up to check an export.
    typical: float = 0.0

    @property
    def spellings(self) -> dict[str, tuple[str, ...]]:
        """The texts of each level: 3 is also written 3.0 where the table holds numbers."""
        known = set(self.levels)
        found: dict[str, tuple[str, ...]] = {}
        for level in self.levels:
            number = f"{level}.0" if level.lstrip("-").isdecimal() else level
            found[level] = (level,) if number in known else (level, number)
        return found


@dataclass(frozen=True)
class DesignTerm:
    """A number of the design: the value of a column, or the indicator of a level or of missing.

    ``fill`` is the value where it is missing.
    """

    column: str
    level: str | None = None
    missing: bool = False
    fill: float = 0.0

    def __str__(self) -> str:
        return str(Term(self.column, self.level, self.missing))


@dataclass(frozen=True)
class Inputs:
    """The columns that a model reads, and the terms of its design in order."""

    columns: tuple[InputColumn, ...]
    terms: tuple[DesignTerm, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def by_name(self) -> dict[str, InputColumn]:
        """The columns by name."""
        return {column.name: column for column in self.columns}


def inputs_of(model: Any) -> Inputs:
    """What a fitted model reads: the columns and terms of its encoding."""
    encoding = getattr(model, "encoding_", None)
    if encoding is None and hasattr(model, "n_features_in_"):
        names = getattr(model, "feature_names_in_", column_names(model.n_features_in_))
        plain = tuple(InputColumn(str(name), refuses_missing=True) for name in names)
        return Inputs(plain, tuple(DesignTerm(column.name) for column in plain))
    if not isinstance(encoding, Encoding):
        raise InputError(
            f"{type(model).__name__} has no columns of a table or a matrix to read from.",
            remedy="Fit it to rows of numbers, a data frame or scan(…).",
        )
    if encoding.is_identity:
        return _matrix_inputs(encoding)
    return _table_inputs(encoding)


def _matrix_inputs(encoding: Encoding) -> Inputs:
    """Plain numbers: missing ones become the means of training, if these are known."""
    schema = encoding.schema
    filled = any(column.placeholder for column in schema.columns)
    columns = tuple(
        replace(input_column(column, schema), refuses_missing=not filled)
        for column in schema.columns
    )
    terms = tuple(DesignTerm(c.name, fill=c.placeholder) for c in schema.columns)
    return Inputs(columns, terms)


def _table_inputs(encoding: Encoding) -> Inputs:
    """Columns of any kind, encoded as :class:`~separatrix.rows.schema.Encoding` does."""
    schema = encoding.schema
    by_regression = encoding.imputation is not None
    columns = tuple(
        replace(input_column(column, schema), refuses_missing=by_regression)
        for column in schema.columns
    )
    placeholder = {column.name: column.placeholder for column in schema.columns}
    terms = tuple(
        DesignTerm(
            term.column,
            term.level,
            term.missing,
            0.0
            if term.level is not None or term.missing
            else encoding.fill_values.get(term.column, placeholder[term.column]),
        )
        for term in encoding.terms
    )
    notes: tuple[str, ...] = ()
    if by_regression:
        notes = (
            "Missing values were imputed by regression on the other columns, which is not part of "
            "the export: a row without all values is refused.",
        )
    return Inputs(columns, terms, notes)


def input_column(column: Column, schema: Schema) -> InputColumn:
    """A column with its policies for missing values and unseen levels."""
    given = IN_EVERY_COLUMN if schema.na is None else schema.na
    discrete = column.kind is Kind.DISCRETE
    named = tuple(level for level in column.levels if level != column.pooled)
    return InputColumn(
        column.name,
        column.kind,
        named if discrete else (),
        column.display,
        tuple(sorted({*given, *column.notation.na})) if discrete else (),
        () if discrete else column.notation.sentinels,
        "zeros" if column.pooled else schema.unseen,
        pooled=column.pooled,
        part=column.part,
        typical=column.placeholder,
    )


@dataclass(frozen=True)
class InputTable:
    """The columns in the order of training.

    ``is_matrix`` of a model that reads arrays and refuses missing values; ``is_table`` of one whose
    columns were encoded.
    """

    columns: tuple[InputColumn, ...]
    is_matrix: bool
    is_table: bool = True

    def rows(self, table: Any) -> Any:
        """Rows of an Arrow table as the model takes them."""
        if not self.is_matrix:
            return table
        columns = [table.column(column.name).to_numpy() for column in self.columns]
        return np.column_stack(columns).astype(np.float64)
