"""Expressions of scalars: what a model computes for one row, in no language yet.

Numbers are double precision. A missing value is a value of its own (NULL, None): only
:class:`IsMissing` and :class:`Filled` may meet one, so that its arithmetic is never relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Expression:
    """A constant, a value of the table, or what is computed of other expressions."""


@dataclass(frozen=True)
class Number(Expression):
    """A constant: a float, or an int where it is the label of a class."""

    value: float | int


@dataclass(frozen=True)
class Text(Expression):
    """A constant text: a level or the label of a class."""

    value: str


@dataclass(frozen=True)
class Truth(Expression):
    """True or false, as the label of a class."""

    value: bool


@dataclass(frozen=True)
class Missing(Expression):
    """No value: the answer for a row that the model refuses."""


@dataclass(frozen=True)
class Defined(Expression):
    """What an earlier definition is called."""

    name: str


@dataclass(frozen=True)
class RawValue(Expression):
    """What a column of the table holds, missing where it is null."""

    column: str


class RawNumber(RawValue):
    """The number, missing too where it is NaN or stands for missing.

    Dates are days since 1970-01-01; true and false are 1 and 0.
    """


class RawLevel(RawValue):
    """The level, without spaces around it."""


@dataclass(frozen=True)
class OfOne(Expression):
    """What is computed of one expression."""

    argument: Expression


class Exp(OfOne):
    """eˣ; x is at most zero wherever models use it, so that it does not overflow."""


class Log(OfOne):
    """The natural logarithm of a positive number."""


class Sqrt(OfOne):
    """The square root of a number that is not negative."""


class IsMissing(OfOne):
    """Whether a value is missing."""


class Not(OfOne):
    """Whether a condition does not hold."""


@dataclass(frozen=True)
class OfSeveral(Expression):
    """What is computed of a list of expressions."""

    arguments: tuple[Expression, ...]


class SumOf(OfSeveral):
    """a + b + …"""


class ProductOf(OfSeveral):
    """a · b · …"""


class Largest(OfSeveral):
    """The largest of several numbers."""


class Smallest(OfSeveral):
    """The smallest of several numbers."""


class All(OfSeveral):
    """Whether all conditions hold."""


class AnyOf(OfSeveral):
    """Whether one of the conditions holds."""


@dataclass(frozen=True)
class Quotient(Expression):
    """a / b, with b other than zero."""

    numerator: Expression
    denominator: Expression


@dataclass(frozen=True)
class Compare(Expression):
    """a < b, a <= b, a > b, a >= b or a = b."""

    left: Expression
    operator: str
    right: Expression


@dataclass(frozen=True)
class OneOf(Expression):
    """Whether a text is one of several; of a missing one it is not."""

    argument: Expression
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Filled(Expression):
    """A value, or another where it is missing."""

    argument: Expression
    fill: Expression


@dataclass(frozen=True)
class Branch(Expression):
    """What a case is where its condition holds."""

    condition: Expression
    value: Expression


@dataclass(frozen=True)
class Case(Expression):
    """The value of the first branch whose condition holds, else another."""

    branches: tuple[Branch, ...]
    otherwise: Expression


def children(expression: Expression) -> Iterator[Expression]:
    """The expressions directly within an expression."""
    for part in fields(expression):
        value = getattr(expression, part.name)
        for child in value if isinstance(value, tuple) else (value,):
            if not isinstance(child, str | int | float):
                yield child


def rebuild(
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


# -------------------------------------------------------------------------------------------------
# Sums, and labels as constants.


ZERO, ONE = Number(0.0), Number(1.0)


def total(terms: Iterable[Expression]) -> Expression:
    """The sum of the terms, without zeros."""
    nonzero = tuple(term for term in terms if term != ZERO)
    most = 100  # languages limit the depth of expressions: longer sums are sums of sums
    if len(nonzero) > most:
        groups = [nonzero[i : i + most] for i in range(0, len(nonzero), most)]
        return total(SumOf(group) if len(group) > 1 else group[0] for group in groups)
    if not nonzero:
        return ZERO
    return nonzero[0] if len(nonzero) == 1 else SumOf(nonzero)


def label_constant(value: Any) -> Expression:
    """The label of a class as a constant."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool):
        return Truth(plain)
    if isinstance(plain, int | float):
        return Number(plain)
    return Text(str(plain))
