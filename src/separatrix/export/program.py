"""A model as a program for one row: expressions of scalars, definitions in stages, the answer.

A definition uses the columns of the table or definitions of earlier stages, never of its own, so
that each stage is one subquery of SQL or one paragraph of code.

Numbers are double precision. A missing value is a value of its own (NULL, None): only
:class:`IsMissing` and :class:`Filled` may meet one, so that its arithmetic is never relied on.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from separatrix.formula.inputs import DesignTerm, InputColumn, Inputs
from separatrix.rows.schema import Kind

# -------------------------------------------------------------------------------------------------
# Expressions: what a model computes for one row, in no language yet.


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


# -------------------------------------------------------------------------------------------------
# Programs: definitions in stages.


#: The stage that reads the table.
FIRST = "inputs"

#: Names that mean something in the languages written to, and those that answers have.
RESERVED = frozenset(
    {
        "and",
        "as",
        "assert",
        "async",
        "await",
        "bool",
        "break",
        "case",
        "class",
        "continue",
        "def",
        "del",
        "dict",
        "elif",
        "else",
        "except",
        "exp",
        "false",
        "finally",
        "float",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "int",
        "is",
        "lambda",
        "list",
        "log",
        "math",
        "max",
        "min",
        "none",
        "nonlocal",
        "not",
        "null",
        "or",
        "pass",
        "predict",
        "raise",
        "return",
        "row",
        "sqrt",
        "str",
        "sum",
        "true",
        "try",
        "value",
        "while",
        "with",
        "yield",
        "refused",
    }
)


@dataclass(frozen=True)
class Definition:
    """``name`` stands for an expression; ``meaning`` says what it is."""

    name: str
    expression: Expression
    meaning: str = ""


@dataclass(frozen=True)
class Stage:
    """Definitions that do not use one another."""

    name: str
    definitions: tuple[Definition, ...]


@dataclass(frozen=True)
class Output:
    """A column of the answer; ``label`` is the class whose probability it is, if it is one."""

    name: str
    expression: Expression
    meaning: str = ""
    label: Any = None


@dataclass(frozen=True)
class Refusal:
    """Rows that the model refuses, and why: SQL answers null, Python raises."""

    condition: Expression
    reason: str


@dataclass(frozen=True)
class Program:
    """Everything that a model computes for a row.

    ``title`` says what the model is, ``notes`` what a reader should know about the export.
    """

    title: str
    columns: tuple[InputColumn, ...]
    stages: tuple[Stage, ...]
    outputs: tuple[Output, ...]
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class Builder:
    """Collects definitions and puts each into the first stage where all it uses is known."""

    columns: dict[str, InputColumn] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _stages: list[tuple[str, list[Definition]]] = field(default_factory=list)
    _level: dict[str, int] = field(default_factory=dict)
    _known: dict[Expression, Defined] = field(default_factory=dict)
    _refusals: list[Refusal] = field(default_factory=list)

    def let(self, name: str, expression: Expression, *, stage: str, meaning: str = "") -> Defined:
        """Define ``name`` (or one like it that is free); the same expression is defined once."""
        if isinstance(expression, Defined):
            return expression
        known = self._known.get(expression)
        if known is not None:
            return known
        free = identifier(name, self._level)
        level = max((self._level[used] + 1 for used in values_in(expression)), default=0)
        if level == 0 and not columns_in(expression):
            level = 1  # a constant is not a column of the table
        if not self._stages:
            self._stages.append((FIRST, []))
        while len(self._stages) <= level:
            taken = [label for label, _ in self._stages]
            self._stages.append((number_name(stage, taken), []))
        self._stages[level][1].append(Definition(free, expression, meaning))
        self._level[free] = level
        value = self._known[expression] = Defined(free)
        return value

    def read(self, column: InputColumn) -> Defined:
        """The value of a column of the table: a number, or a level."""
        self.columns.setdefault(column.name, column)
        levels = column.kind is Kind.DISCRETE
        raw = RawLevel(column.name) if levels else RawNumber(column.name)
        return self.let(column.name, raw, stage=FIRST, meaning=column.name)

    def refuse(self, condition: Expression, reason: str) -> None:
        """Refuse the rows where a condition holds."""
        refusal = Refusal(condition, reason)
        if refusal not in self._refusals:
            self._refusals.append(refusal)

    def program(self, title: str, outputs: Sequence[Output]) -> Program:
        """The program of these outputs: what none of them needs is left out."""
        needed: set[str] = set()
        for output in outputs:
            needed |= values_in(output.expression)
        stages: list[Stage] = []
        columns: set[str] = set()
        for name, definitions in reversed(self._stages):
            used = tuple(definition for definition in definitions if definition.name in needed)
            for definition in used:
                needed |= values_in(definition.expression)
                columns |= columns_in(definition.expression)
            if used:
                stages.append(Stage(name, used))
        return Program(
            title,
            tuple(column for name, column in self.columns.items() if name in columns),
            tuple(reversed(stages)),
            tuple(outputs),
            tuple(r for r in self._refusals if values_in(r.condition) <= needed),
            tuple(dict.fromkeys(self.notes)),
        )


def identifier(text: str, taken: Sequence[str] | dict[str, int]) -> str:
    """A name of lower-case letters, digits and underscores that is not taken or reserved."""
    plain = slug(text)
    if plain[0].isdigit():
        plain = f"x_{plain}"
    return number_name(f"{plain}_" if plain in RESERVED else plain, taken)


def slug(text: str) -> str:
    """The letters and digits of a text that every language knows, in lower case."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40] or "x"


def number_name(name: str, taken: Sequence[str] | dict[str, int]) -> str:
    """A name, or the same with the first number that makes it different from those taken."""
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found


# -------------------------------------------------------------------------------------------------
# Sums, and labels as constants.


ZERO, ONE = Number(0.0), Number(1.0)
#: Terms of a sum before it is made of sums.
MOST_TERMS = 100


def total(terms: Iterable[Expression]) -> Expression:
    """The sum of the terms, without zeros."""
    nonzero = tuple(term for term in terms if term != ZERO)
    if len(nonzero) > MOST_TERMS:  # languages limit the depth of expressions
        groups = [nonzero[i : i + MOST_TERMS] for i in range(0, len(nonzero), MOST_TERMS)]
        return total(SumOf(group) if len(group) > 1 else group[0] for group in groups)
    if not nonzero:
        return ZERO
    return nonzero[0] if len(nonzero) == 1 else SumOf(nonzero)


def label(value: Any) -> Expression:
    """The label of a class as a constant."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool):
        return Truth(plain)
    if isinstance(plain, int | float):
        return Number(plain)
    return Text(str(plain))


# -------------------------------------------------------------------------------------------------
# From the columns of a table to the terms of a design, as expressions.


STAGE = "design"


def design(b: Builder, inputs: Inputs) -> tuple[Defined, ...]:
    """The terms of the design in order."""
    b.notes += inputs.notes
    columns = inputs.by_name
    return tuple(_term(b, term, columns[term.column]) for term in inputs.terms)


def column_value(b: Builder, column: InputColumn) -> Defined:
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


def _term(b: Builder, term: DesignTerm, column: InputColumn) -> Defined:
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
