"""Scalar expressions as syntax trees of SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sqlglot import exp

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
from separatrix.export.sql.dialects import Dialect
from separatrix.messages import InputError
from separatrix.rows.schema import Kind

#: e to a power below this is zero in double precision.
SMALLEST_POWER = -745.0

_COMPARISONS = {"<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "=": exp.EQ}
_FUNCTIONS = {Exp: exp.Exp, Log: exp.Ln, Sqrt: exp.Sqrt}
#: Trees that need no parentheses within others.
_ATOMS = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Boolean, exp.Null)


@dataclass(frozen=True)
class Scalars:
    """Writes expressions in one dialect; ``columns`` are those of the table."""

    dialect: Dialect
    columns: dict[str, InputColumn]

    def of(self, expression: Expression) -> exp.Expression:
        """The tree of an expression."""
        match expression:
            case Number(value):
                return self.number(value)
            case Text(value):
                return text(value)
            case Truth(value):
                return exp.Boolean(this=value)
            case Missing():
                return exp.Null()
            case Value(name):
                return exp.column(name, quoted=True)
            case RawNumber(column):
                return self._raw_number(self.columns[column])
            case RawLevel(column):
                return self._raw_level(self.columns[column])
            case Sum(terms):
                return self._sum(terms)
            case Product(factors):
                return self._product(factors)
            case Quotient(a, b):
                parts = {"this": self._atom(a), "expression": self._atom(b)}
                return exp.Div(**parts, typed=True, safe=False)
            case Exp(argument) if self.dialect.small_powers:
                power, tiny = self.of(argument), self.number(SMALLEST_POWER)
                case = exp.Case().when(exp.LT(this=_inside(power), expression=tiny), "0.0")
                return case.else_(exp.Exp(this=power.copy()))
            case Exp(argument) | Log(argument) | Sqrt(argument):
                return _FUNCTIONS[type(expression)](this=self.of(argument))
            case Largest(arguments):
                return self._extreme(exp.Greatest, arguments)
            case Smallest(arguments):
                return self._extreme(exp.Least, arguments)
            case Filled(argument, fill):
                return exp.Coalesce(this=self.of(argument), expressions=[self.of(fill)])
            case Case(branches, otherwise):
                found = exp.Case()
                for branch in branches:
                    condition, value = self.of(branch.condition), self.of(branch.value)
                    found = found.when(condition, value, copy=False)
                return found.else_(self.of(otherwise), copy=False)
        return self._condition(expression)

    def _condition(self, expression: Expression) -> exp.Expression:
        match expression:
            case Compare(a, operator, b):
                return _COMPARISONS[operator](this=self._atom(a), expression=self._atom(b))
            case IsMissing(argument):
                return exp.Is(this=self._atom(argument), expression=exp.Null())
            case OneOf(argument, (one,)):
                return exp.EQ(this=self._atom(argument), expression=text(one))
            case OneOf(argument, texts):
                return exp.In(this=self._atom(argument), expressions=[text(t) for t in texts])
            case Not(OneOf(argument, _) as inner):  # of null, IN would be null and NOT IN too
                absent = exp.Is(this=self._atom(argument), expression=exp.Null())
                return exp.Paren(this=exp.or_(absent, exp.Not(this=self._atom(inner))))
            case Not(condition):
                return exp.Not(this=self._atom(condition))
            case All(conditions):
                return exp.and_(*(self._atom(one) for one in conditions), wrap=False)
            case AnyOf(conditions):
                return exp.or_(*(self._atom(one) for one in conditions), wrap=False)
        raise TypeError(f"no expression: {expression!r}")

    def number(self, value: float | int) -> exp.Expression:
        """A constant, exact to the last bit; whole numbers of labels stay whole."""
        written = repr(abs(value))
        if isinstance(value, float) and self.dialect.exact_decimals and "e" not in written:
            written += "" if value.is_integer() and abs(value) < 1e6 else "e0"
        literal = exp.Literal.number(written)
        return exp.Neg(this=literal) if value < 0 else literal

    def _raw_number(self, column: InputColumn) -> exp.Expression:
        raw = raw_column(column.name)
        if column.kind is Kind.BOOLEAN:
            return _truth(raw)
        if column.display in ("date", "datetime"):
            found = _days(raw, self.dialect, column.display)
        else:
            found = exp.cast(raw, "double")
            if self.dialect.has_nan:
                found = _without_nan(found, self.dialect)
        for number in column.missing_numbers:
            found = exp.Nullif(this=found, expression=self.number(number))
        return found

    def _raw_level(self, column: InputColumn) -> exp.Expression:
        """The text without spaces; what is no level is missing anyway under the usual policy."""
        found: exp.Expression = exp.Trim(this=exp.cast(raw_column(column.name), "text"))
        if column.unseen == "missing":
            return found
        for token in ("", *column.missing_texts):
            found = exp.Nullif(this=found, expression=text(token))
        return found

    def _sum(self, terms: Sequence[Expression]) -> exp.Expression:
        found = self._atom(terms[0]) if isinstance(terms[0], Sum) else self.of(terms[0])
        for term in terms[1:]:
            if isinstance(term, Number) and term.value < 0:
                found = exp.Sub(this=found, expression=self.number(-term.value))
                continue
            negative = _negated(term)
            if negative is not None:
                found = exp.Sub(this=found, expression=_factor(self.of(negative)))
            else:
                found = exp.Add(this=found, expression=_factor(self.of(term)))
        return found

    def _product(self, factors: Sequence[Expression]) -> exp.Expression:
        if factors[0] == Number(-1.0):
            rest = factors[1] if len(factors) == 2 else Product(tuple(factors[1:]))
            return exp.Neg(this=_inside(self.of(rest)))
        trees = [self._atom(one) for one in factors]
        return reduce(lambda a, b: exp.Mul(this=a, expression=b), trees)

    def _extreme(self, function: Any, arguments: Sequence[Expression]) -> exp.Expression:
        first, *rest = (self.of(one) for one in arguments)
        if not rest:
            return first
        return function(this=first, expressions=rest, ignore_nulls=True)

    def _atom(self, expression: Expression) -> exp.Expression:
        return _inside(self.of(expression))


def _negated(term: Expression) -> Expression | None:
    """What is subtracted, if the term is a negative number times something."""
    if not isinstance(term, Product):
        return None
    first, *rest = term.factors
    if not isinstance(first, Number) or first.value >= 0:
        return None
    if first.value == -1.0:
        return rest[0] if len(rest) == 1 else Product(tuple(rest))
    return Product((Number(-first.value), *rest))


def _inside(tree: exp.Expression) -> exp.Expression:
    """A tree as part of another: in parentheses, unless it needs none."""
    return tree if isinstance(tree, _ATOMS) else exp.Paren(this=tree)


def _factor(tree: exp.Expression) -> exp.Expression:
    """A term of a sum: products need no parentheses."""
    return tree if isinstance(tree, exp.Mul | exp.Div) else _inside(tree)


def raw_column(name: str) -> exp.Expression:
    """A column of the table, quoted."""
    _refuse_unwritable(name)
    return exp.column(name, quoted=True)


def text(value: str) -> exp.Expression:
    """A constant text; sqlglot writes quotes and backslashes as each dialect needs them."""
    _refuse_unwritable(value)
    return exp.Literal.string(value)


def _refuse_unwritable(value: str) -> None:
    if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise InputError(
            f"The text {value!a} holds a character that SQL cannot write.",
            remedy="Rename it and fit again, or export to Python or JSON.",
        )


def _truth(raw: exp.Expression) -> exp.Expression:
    """1 and 0 for true and false, whatever type the column has."""
    written = exp.Lower(this=exp.cast(raw, "text"))
    case = exp.Case()
    for texts, value in ((("true", "t", "1", "1.0"), "1.0"), (("false", "f", "0", "0.0"), "0.0")):
        members = exp.In(this=written.copy(), expressions=[text(one) for one in texts])
        case = case.when(members, exp.Literal.number(value))
    return case


def _without_nan(number: exp.Expression, dialect: Dialect) -> exp.Expression:
    """Null in place of NaN."""
    if dialect.name == "bigquery":  # NaN equals nothing there
        return exp.Case().when(exp.Not(this=exp.IsNan(this=number)), number.copy())
    return exp.Nullif(this=number, expression=exp.cast(text("NaN"), "double"))


def _days(raw: exp.Expression, dialect: Dialect, display: str) -> exp.Expression:
    """Days since 1970-01-01 of a date or a time."""
    if dialect.name == "sqlite":
        day = exp.Anonymous(this="JULIANDAY", expressions=[raw])
        return exp.Sub(this=day, expression=exp.Literal.number("2440587.5"))
    seconds_a_day = exp.Literal.number("86400.0")
    if dialect.name in ("bigquery", "spark"):
        if display == "date":  # whatever the time zone of the session
            return exp.Anonymous(this="UNIX_DATE", expressions=[exp.cast(raw, "date")])
        zoned = "timestamptz" if dialect.name == "bigquery" else "timestamp"
        moment = exp.cast(raw, zoned)
        micros = exp.Anonymous(this="UNIX_MICROS", expressions=[moment])
        return exp.Div(
            this=micros, expression=exp.Literal.number("86400000000.0"), typed=True, safe=False
        )
    moment = exp.cast(raw, "timestamp")
    seconds = exp.Extract(this=exp.var("EPOCH"), expression=moment)
    return exp.Div(
        this=exp.cast(seconds, "double"), expression=seconds_a_day, typed=True, safe=False
    )
