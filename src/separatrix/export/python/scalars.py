"""Scalar expressions as Python text."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.export.expressions import (
    All,
    AnyOf,
    Case,
    Compare,
    Exp,
    Expression,
    Filled,
    IsMissing,
    Largest,
    Log,
    Missing,
    Not,
    Number,
    OneOf,
    Product,
    Quotient,
    RawLevel,
    RawNumber,
    Smallest,
    Sqrt,
    Sum,
    Text,
    Truth,
    Value,
)
from separatrix.export.inputs import InputColumn
from separatrix.rows.schema import Kind

#: How tightly parts hold together: an expression inside a tighter one needs parentheses.
CHOICE, OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, ATOM = range(9)


def written(expression: Expression, columns: dict[str, InputColumn], outer: int = CHOICE) -> str:
    """The text of an expression, in parentheses where what is around it holds tighter."""
    text, own = _text(expression, columns)
    return f"({text})" if own < outer else text


def _text(expression: Expression, columns: dict[str, InputColumn]) -> tuple[str, int]:
    def inside(one: Expression, outer: int = CHOICE) -> str:
        return written(one, columns, outer)

    match expression:
        case Number(value):
            return repr(value), SIGN if value < 0 else ATOM
        case Text(value) | Truth(value):
            return repr(value), ATOM
        case Missing():
            return "None", ATOM
        case Value(name):
            return name, ATOM
        case RawNumber(column) | RawLevel(column):
            return _raw(columns[column]), ATOM
        case Sum(terms):
            return _sum(terms, columns), SUM
        case Product(factors):
            if factors[0] == Number(-1.0):
                return "-" + " * ".join(inside(one, SIGN) for one in factors[1:]), PRODUCT
            return " * ".join(inside(one, SIGN) for one in factors), PRODUCT
        case Quotient(a, b):
            return f"{inside(a, PRODUCT)} / {inside(b, SIGN)}", PRODUCT
        case Exp(argument):
            return f"math.exp({inside(argument)})", ATOM
        case Log(argument):
            return f"math.log({inside(argument)})", ATOM
        case Sqrt(argument):
            return f"math.sqrt({inside(argument)})", ATOM
        case Largest((one,)) | Smallest((one,)):
            return inside(one), CHOICE
        case Largest(arguments):
            return f"max({', '.join(map(inside, arguments))})", ATOM
        case Smallest(arguments):
            return f"min({', '.join(map(inside, arguments))})", ATOM
        case Filled(argument, fill):
            first = inside(argument, SUM)
            return f"{inside(fill, OR)} if {first} is None else {inside(argument)}", CHOICE
        case Case(branches, otherwise):
            parts = [
                f"{inside(one.value, OR)} if {inside(one.condition, OR)} else " for one in branches
            ]
            return "".join(parts) + inside(otherwise), CHOICE
    return _condition(expression, columns)


def _condition(expression: Expression, columns: dict[str, InputColumn]) -> tuple[str, int]:
    def inside(one: Expression, outer: int = CHOICE) -> str:
        return written(one, columns, outer)

    match expression:
        case Compare(a, operator, b):
            sign = "==" if operator == "=" else operator
            return f"{inside(a, SUM)} {sign} {inside(b, SUM)}", COMPARISON
        case IsMissing(argument):
            return f"{inside(argument, SUM)} is None", COMPARISON
        case OneOf(argument, (one,)):
            return f"{inside(argument, SUM)} == {one!r}", COMPARISON
        case OneOf(argument, texts):
            return f"{inside(argument, SUM)} in {texts!r}", COMPARISON
        case Not(IsMissing(argument)):
            return f"{inside(argument, SUM)} is not None", COMPARISON
        case Not(OneOf(argument, texts)):
            return f"{inside(argument, SUM)} not in {texts!r}", COMPARISON
        case Not(condition):
            return f"not {inside(condition, COMPARISON)}", NOT
        case All(conditions):
            return " and ".join(inside(one, NOT) for one in conditions), AND
        case AnyOf(conditions):
            return " or ".join(inside(one, AND) for one in conditions), OR
    raise TypeError(f"no expression: {expression!r}")


def _sum(terms: Sequence[Expression], columns: dict[str, InputColumn]) -> str:
    text = written(terms[0], columns, SUM)
    for term in terms[1:]:
        part = written(term, columns, PRODUCT if not isinstance(term, Number) else SIGN)
        text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return text


def _raw(column: InputColumn) -> str:
    """The call that reads a column of the row."""
    name = repr(column.name)
    if column.kind is Kind.DISCRETE:
        return f"_level(row, {name}, {column.missing_texts!r})"
    if column.kind is Kind.BOOLEAN:
        return f"_truth(row, {name})"
    function = "_days" if column.display in ("date", "datetime") else "_number"
    missing = f", {column.missing_numbers!r}" if column.missing_numbers else ""
    return f"{function}(row, {name}{missing})"
