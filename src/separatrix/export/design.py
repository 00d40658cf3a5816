"""From the columns of a table to the terms of a design, as expressions."""

from __future__ import annotations

from separatrix.export.expressions import (
    All,
    Branch,
    Case,
    Compare,
    Expression,
    Filled,
    IsMissing,
    Not,
    Number,
    OneOf,
    Value,
)
from separatrix.export.inputs import DesignTerm, InputColumn, Inputs
from separatrix.export.program import Builder
from separatrix.rows.schema import Kind

STAGE = "design"
ONE, ZERO = Number(1.0), Number(0.0)


def design(b: Builder, inputs: Inputs) -> tuple[Value, ...]:
    """The terms of the design in order."""
    b.notes += inputs.notes
    columns = inputs.by_name
    return tuple(_term(b, term, columns[term.column]) for term in inputs.terms)


def column_value(b: Builder, column: InputColumn) -> Value:
    """The value of a column; rows that the model refuses for it are refused."""
    value = b.read(column)
    if column.kind is Kind.DISCRETE and column.unseen == "error":
        known = Not(OneOf(value, known_texts(column)))
        reason = f"column {column.name!r} holds a level that training did not have"
        b.refuse(All((Not(IsMissing(value)), known)), reason)
    if column.refuses_missing:
        b.refuse(lacks_value(value, column), f"column {column.name!r} has no value")
    return value


def lacks_value(value: Expression, column: InputColumn) -> Expression:
    """Whether a value is missing; a level that training did not have may be taken for that."""
    if column.kind is Kind.DISCRETE and column.unseen == "missing":
        return Not(OneOf(value, known_texts(column)))
    return IsMissing(value)


def known_texts(column: InputColumn) -> tuple[str, ...]:
    """All texts of the levels of a column."""
    return tuple(text for texts in column.spellings.values() for text in texts)


def indicator(condition: Expression) -> Expression:
    """1 where a condition holds, else 0."""
    return Case((Branch(condition, ONE),), ZERO)


def is_level(value: Expression, column: InputColumn, level: str) -> Expression:
    """Whether a value is this level; one of the pooled levels is any text but the others."""
    if level == column.pooled:
        return All((Not(IsMissing(value)), Not(OneOf(value, known_texts(column)))))
    return OneOf(value, column.spellings[level])


def _term(b: Builder, term: DesignTerm, column: InputColumn) -> Value:
    value = column_value(b, column)
    name = str(term)
    expression: Expression
    if term.missing:
        expression = indicator(lacks_value(value, column))
    elif term.level is not None:
        expression = indicator(is_level(value, column, term.level))
    elif column.refuses_missing:
        return value
    else:
        name, expression = f"{name} filled", Filled(value, Number(term.fill))
    return b.let(name, expression, stage=STAGE, meaning=name)


def above(value: Expression, threshold: float) -> Expression:
    """1 where a number is above a threshold, else 0."""
    return indicator(Compare(value, ">", Number(threshold)))
