"""A model as a program for one row: definitions in stages, then the answer.

A definition uses the columns of the table or definitions of earlier stages, never of its own, so
that each stage is one subquery of SQL or one paragraph of code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from separatrix.export.expressions import (
    Expression,
    RawLevel,
    RawNumber,
    Value,
    columns_in,
    values_in,
)
from separatrix.export.inputs import InputColumn
from separatrix.rows.schema import Kind

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
    _known: dict[Expression, Value] = field(default_factory=dict)
    _refusals: list[Refusal] = field(default_factory=list)

    def let(self, name: str, expression: Expression, *, stage: str, meaning: str = "") -> Value:
        """Define ``name`` (or one like it that is free); the same expression is defined once."""
        if isinstance(expression, Value):
            return expression
        known = self._known.get(expression)
        if known is not None:
            return known
        free = identifier(name, self._level)
        level = max((self._level[used] + 1 for used in values_in(expression)), default=0)
        if level == 0 and not columns_in(expression):
            level = 1  # a constant is no column of the table
        if not self._stages:
            self._stages.append((FIRST, []))
        while len(self._stages) <= level:
            taken = [label for label, _ in self._stages]
            self._stages.append((numbered(stage, taken), []))
        self._stages[level][1].append(Definition(free, expression, meaning))
        self._level[free] = level
        value = self._known[expression] = Value(free)
        return value

    def read(self, column: InputColumn) -> Value:
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
            used = tuple(one for one in definitions if one.name in needed)
            for one in used:
                needed |= values_in(one.expression)
                columns |= columns_in(one.expression)
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
    return numbered(f"{plain}_" if plain in RESERVED else plain, taken)


def slug(text: str) -> str:
    """The letters and digits of a text that every language knows, in lower case."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40] or "x"


def numbered(name: str, taken: Sequence[str] | dict[str, int]) -> str:
    """A name, or the same with the first number that makes it different from those taken."""
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found
