"""A small language of scalar expressions: what a model computes for one row, in no language yet.

Numbers are double precision. A missing value is a value of its own (NULL, None): only
:class:`IsMissing` and :class:`Filled` may meet one, so that its arithmetic is never relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Number:
    """A constant: a float, or an int where it is the label of a class."""

    value: float | int


@dataclass(frozen=True, slots=True)
class Text:
    """A constant text: a level or the label of a class."""

    value: str


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false, as the label of a class."""

    value: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """No value: the answer for a row that the model refuses."""


@dataclass(frozen=True, slots=True)
class Defined:
    """What an earlier definition is called."""

    name: str


@dataclass(frozen=True, slots=True)
class RawNumber:
    """The number in a column of the table, missing where it is null, NaN or stands for missing.

    Dates are days since 1970-01-01; true and false are 1 and 0.
    """

    column: str


@dataclass(frozen=True, slots=True)
class RawLevel:
    """The level in a column of the table, without spaces around it, missing where it is null."""

    column: str


@dataclass(frozen=True, slots=True)
class SumOf:
    """a + b + …"""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ProductOf:
    """a · b · …"""

    factors: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """a / b, with b other than zero."""

    numerator: Expression
    denominator: Expression


@dataclass(frozen=True, slots=True)
class Exp:
    """eˣ; x is at most zero wherever models use it, so that it does not overflow."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Log:
    """The natural logarithm of a positive number."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Sqrt:
    """The square root of a number that is not negative."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest of several numbers."""

    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest of several numbers."""

    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """a < b, a <= b, a > b, a >= b or a = b."""

    left: Expression
    operator: str
    right: Expression


@dataclass(frozen=True, slots=True)
class IsMissing:
    """Whether a value is missing."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class OneOf:
    """Whether a text is one of several; of a missing one it is not."""

    argument: Expression
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class All:
    """Whether all conditions hold."""

    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Whether one of the conditions holds."""

    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Whether a condition does not hold."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Filled:
    """A value, or another where it is missing."""

    argument: Expression
    fill: Expression


@dataclass(frozen=True, slots=True)
class Branch:
    """What a case is where its condition holds."""

    condition: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition holds, else another."""

    branches: tuple[Branch, ...]
    otherwise: Expression


Expression = (
    Number
    | Text
    | Truth
    | Missing
    | Defined
    | RawNumber
    | RawLevel
    | SumOf
    | ProductOf
    | Quotient
    | Exp
    | Log
    | Sqrt
    | Largest
    | Smallest
    | Compare
    | IsMissing
    | OneOf
    | All
    | AnyOf
    | Not
    | Filled
    | Branch
    | Case
)


def children(expression: Expression) -> Iterator[Expression]:
    """The expressions directly within an expression."""
    for part in fields(expression):
        value = getattr(expression, part.name)
        for child in value if isinstance(value, tuple) else (value,):
            if not isinstance(child, str | int | float):
                yield child


def rebuilt(
    expression: Expression, part: Callable[[Expression], Sequence[Expression]]
) -> Expression:
    """An expression of the same kind with other parts: for one in a list there may be several."""
    given: dict[str, Any] = {}
    for each in fields(expression):
        value = getattr(expression, each.name)
        if isinstance(value, tuple):
            given[each.name] = tuple(
                new
                for child in value
                for new in ((child,) if isinstance(child, str) else part(child))
            )
        else:
            plain = isinstance(value, str | int | float)
            given[each.name] = value if plain else part(value)[0]
    return type(expression)(**given)


def within(expression: Expression) -> Iterator[Expression]:
    """An expression and all within it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)


def values_in(expression: Expression) -> set[str]:
    """The names of the definitions that an expression uses."""
    return {node.name for node in within(expression) if isinstance(node, Defined)}


def columns_in(expression: Expression) -> set[str]:
    """The columns of the table that an expression reads."""
    return {node.column for node in within(expression) if isinstance(node, RawNumber | RawLevel)}
