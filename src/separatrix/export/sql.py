"""A program as one query: a subquery for each stage, then the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from separatrix.export import expressions as ex
from separatrix.export.program import Definition, Program, Stage, identifier, number_name
from separatrix.formula.inputs import InputColumn
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.schema import Kind

REFUSED = "refused"


@dataclass(frozen=True)
class SourceTable:
    """The table that is read, and columns of it that are copied beside the answer."""

    table: str = "rows"
    ids: tuple[str, ...] = ()


def sql_text(program: Program, dialect: SQLDialect, place: SourceTable) -> str:
    """The query as text, with a few lines of comment before it."""
    tree = query_of(program, dialect, place)
    lines = [f"-- {line}" for line in _comments(program, dialect)]
    return "\n".join([*lines, tree.sql(dialect=dialect.sqlglot, pretty=True) + ";"]) + "\n"


def query_of(program: Program, dialect: SQLDialect, place: SourceTable) -> exp.Select:
    """The query as a syntax tree."""
    _refuse_ids(program, place.ids)
    scalars = Scalars(dialect, {column.name: column for column in program.columns})
    stages = _with_refusals(program)
    known = [definition.name for stage in stages for definition in stage.definitions]
    ids: dict[str, str] = {}
    for name in place.ids:
        ids[name] = identifier(f"id {name}", [*known, *ids.values()])
    needed = _find_needed(program, stages)
    outputs = [
        (output.name, _check_not_refused(output.expression, program)) for output in program.outputs
    ]
    source, before = _table(place.table, dialect), ids
    taken: list[str] = []
    query = exp.select()
    for stage, later in zip(stages, needed, strict=True):
        name = number_name(stage.name, taken)
        taken.append(name)
        names = {definition.name for definition in stage.definitions}
        carried = [n for n in known if n in later and n not in names and n in _done(stages, stage)]
        if stage is stages[0]:
            copied = [_as(raw_column(raw), alias) for raw, alias in before.items()]
        else:
            copied = [exp.column(alias, quoted=True) for alias in before.values()]
        columns = [
            *copied,
            *(exp.column(n, quoted=True) for n in carried),
            *(
                _as(scalars.of(definition.expression), definition.name)
                for definition in stage.definitions
            ),
        ]
        inner = exp.select(*columns, copy=False).from_(source, copy=False)
        query = query.with_(
            exp.to_identifier(name, quoted=True),
            as_=inner,
            copy=False,
            # of three stages it does not matter whether subqueries are inlined
            materialized=True if dialect.inlines and len(stages) > 3 else None,
        )
        source = exp.Table(this=exp.to_identifier(name, quoted=True))
    if stages:
        copied = [_as(exp.column(alias, quoted=True), raw) for raw, alias in before.items()]
    else:
        copied = [raw_column(raw) for raw in before]
    return query.select(
        *copied, *(_as(scalars.of(expression), name) for name, expression in outputs), copy=False
    ).from_(source, copy=False)


def _as(tree: exp.Expression, name: str) -> exp.Expression:
    return exp.alias_(tree, name, quoted=True, copy=False)


def _with_refusals(program: Program) -> list[Stage]:
    """The stages, the second of which also says which rows are refused."""
    stages = list(program.stages)
    if not program.refusals:
        return stages
    any_of = ex.AnyOf(tuple(refusal.condition for refusal in program.refusals))
    refused = Definition(REFUSED, ex.Case((ex.Branch(any_of, ex.Number(1)),), ex.Number(0)))
    if len(stages) == 1:
        return [*stages, Stage("checked", (refused,))]
    second = stages[1]
    stages[1] = Stage(second.name, (*second.definitions, refused))
    return stages


def _check_not_refused(expression: ex.Expression, program: Program) -> ex.Expression:
    if not program.refusals:
        return expression
    refused = ex.Compare(ex.Defined(REFUSED), "=", ex.Number(1))
    return ex.Case((ex.Branch(refused, ex.Missing()),), expression)


def _find_needed(program: Program, stages: Sequence[Stage]) -> list[set[str]]:
    """For each stage the names that later stages and the answer use."""
    later: set[str] = {REFUSED} if program.refusals else set()
    for output in program.outputs:
        later |= ex.values_in(output.expression)
    found = []
    for stage in reversed(stages):
        found.append(set(later))
        for one in stage.definitions:
            later |= ex.values_in(one.expression)
    return found[::-1]


def _done(stages: Sequence[Stage], stage: Stage) -> set[str]:
    """The names that stages before this one define."""
    before = stages[: list(stages).index(stage)]
    return {definition.name for earlier in before for definition in earlier.definitions}


def _table(name: str, dialect: SQLDialect) -> exp.Table:
    """The table by name, perhaps with schema and catalog; anything else is one quoted name."""
    try:
        parsed = exp.maybe_parse(name, into=exp.Table, dialect=dialect.sqlglot)
    except (ParseError, TokenError):
        parsed = None
    parts = list(parsed.parts) if isinstance(parsed, exp.Table) and not parsed.alias else []
    names = [part.name for part in parts if isinstance(part, exp.Identifier)]
    if not names or len(names) != len(parts) or len(names) > 3:
        names = [name]
    quoted = [exp.to_identifier(one, quoted=True) for one in names]
    fields = dict(zip(("this", "db", "catalog"), reversed(quoted), strict=False))
    return exp.Table(**fields)


def _refuse_ids(program: Program, ids: Sequence[str]) -> None:
    taken = {output.name.lower() for output in program.outputs}
    for name in ids:
        if name.lower() in taken:
            raise InputError(
                f"The column {name!r} has the name of a column of the answer.",
                remedy="Copy it under another name, in a view.",
            )


def _comments(program: Program, dialect: SQLDialect) -> list[str]:
    """What the query is; names of the table are written as ASCII, so that no line ends early."""
    lines = [f"{program.title}, exported by separatrix for {dialect.words}."]
    lines += [ascii(note)[1:-1] for note in program.notes]
    functions = {
        type(item)
        for stage in program.stages
        for definition in stage.definitions
        for item in ex.within(definition.expression)
    }
    if dialect.name == "sqlite" and functions & {ex.Exp, ex.Log, ex.Sqrt}:
        lines.append("EXP, LN and SQRT need SQLite 3.35 or later with its math functions.")
    if program.refusals:
        lines.append("Rows that the model refuses have NULL in every column of the answer:")
        lines += [f"  {ascii(item.reason)[1:-1]}" for item in program.refusals[:20]]
        if len(program.refusals) > 20:
            lines.append(f"  and {len(program.refusals) - 20} more")
    lines.append("The answer:")
    lines += [f"  {item.name}: {ascii(item.meaning)[1:-1]}" for item in program.outputs]
    return lines


# -------------------------------------------------------------------------------------------------
# Scalar expressions as syntax trees of SQL.


_COMPARISONS = {"<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "=": exp.EQ}
_FUNCTIONS = {ex.Exp: exp.Exp, ex.Log: exp.Ln, ex.Sqrt: exp.Sqrt}
#: Trees that need no parentheses within others.
_ATOMS = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Boolean, exp.Null)


@dataclass(frozen=True)
class Scalars:
    """Writes expressions in one dialect; ``columns`` are those of the table."""

    dialect: SQLDialect
    columns: dict[str, InputColumn]

    def of(self, expression: ex.Expression) -> exp.Expression:
        """The tree of an expression."""
        match expression:
            case ex.Number(value):
                return self.number(value)
            case ex.Text(value):
                return text(value)
            case ex.Truth(value):
                return exp.Boolean(this=value)
            case ex.Missing():
                return exp.Null()
            case ex.Defined(name):
                return exp.column(name, quoted=True)
            case ex.RawNumber(column):
                return self._raw_number(self.columns[column])
            case ex.RawLevel(column):
                return self._raw_level(self.columns[column])
            case ex.SumOf(terms):
                return self._sum(terms)
            case ex.ProductOf(factors):
                return self._product(factors)
            case ex.Quotient(a, b):
                parts = {"this": self._atom(a), "expression": self._atom(b)}
                return exp.Div(**parts, typed=True, safe=False)
            case ex.Exp(argument) if self.dialect.small_powers:
                # e to a power below −745 is zero in double precision
                power, tiny = self.of(argument), self.number(-745.0)
                case = exp.Case().when(exp.LT(this=_inside(power), expression=tiny), "0.0")
                return case.else_(exp.Exp(this=power.copy()))
            case ex.Exp(argument) | ex.Log(argument) | ex.Sqrt(argument):
                return _FUNCTIONS[type(expression)](this=self.of(argument))
            case ex.Largest(arguments):
                return self._extreme(exp.Greatest, arguments)
            case ex.Smallest(arguments):
                return self._extreme(exp.Least, arguments)
            case ex.Filled(argument, fill):
                return exp.Coalesce(this=self.of(argument), expressions=[self.of(fill)])
            case ex.Case(branches, otherwise):
                case_of = exp.Case()
                for branch in branches:
                    condition, value = self.of(branch.condition), self.of(branch.value)
                    case_of = case_of.when(condition, value, copy=False)
                return case_of.else_(self.of(otherwise), copy=False)
        return self._condition(expression)

    def _condition(self, expression: ex.Expression) -> exp.Expression:
        match expression:
            case ex.Compare(a, operator, b):
                return _COMPARISONS[operator](this=self._atom(a), expression=self._atom(b))
            case ex.IsMissing(argument):
                return exp.Is(this=self._atom(argument), expression=exp.Null())
            case ex.OneOf(argument, (one,)):
                return exp.EQ(this=self._atom(argument), expression=text(one))
            case ex.OneOf(argument, texts):
                return exp.In(this=self._atom(argument), expressions=[text(t) for t in texts])
            case ex.Not(ex.OneOf(argument, _) as inner):  # of null, IN would be null and NOT IN too
                absent = exp.Is(this=self._atom(argument), expression=exp.Null())
                return exp.Paren(this=exp.or_(absent, exp.Not(this=self._atom(inner))))
            case ex.Not(condition):
                return exp.Not(this=self._atom(condition))
            case ex.All(conditions):
                return exp.and_(*(self._atom(one) for one in conditions), wrap=False)
            case ex.AnyOf(conditions):
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
        """The text without spaces; what is not a level is missing anyway under the usual policy."""
        level: exp.Expression = exp.Trim(this=exp.cast(raw_column(column.name), "text"))
        if column.unseen == "missing":
            return level
        for token in ("", *column.missing_texts):
            level = exp.Nullif(this=level, expression=text(token))
        return level

    def _sum(self, terms: Sequence[ex.Expression]) -> exp.Expression:
        total = self._atom(terms[0]) if isinstance(terms[0], ex.SumOf) else self.of(terms[0])
        for term in terms[1:]:
            if isinstance(term, ex.Number) and term.value < 0:
                total = exp.Sub(this=total, expression=self.number(-term.value))
                continue
            negative = _negate(term)
            if negative is not None:
                total = exp.Sub(this=total, expression=_factor(self.of(negative)))
            else:
                total = exp.Add(this=total, expression=_factor(self.of(term)))
        return total

    def _product(self, factors: Sequence[ex.Expression]) -> exp.Expression:
        if factors[0] == ex.Number(-1.0):
            rest = factors[1] if len(factors) == 2 else ex.ProductOf(tuple(factors[1:]))
            return exp.Neg(this=_inside(self.of(rest)))
        trees = [self._atom(factor) for factor in factors]
        return reduce(lambda a, b: exp.Mul(this=a, expression=b), trees)

    def _extreme(self, function: Any, arguments: Sequence[ex.Expression]) -> exp.Expression:
        first, *rest = (self.of(argument) for argument in arguments)
        if not rest:
            return first
        # no argument is null: each dialect's own function will do, whatever that makes of nulls
        native = self.dialect.name == "duckdb"
        return function(this=first, expressions=rest, ignore_nulls=native)

    def _atom(self, expression: ex.Expression) -> exp.Expression:
        return _inside(self.of(expression))


def _negate(term: ex.Expression) -> ex.Expression | None:
    """What is subtracted, if the term is a negative number times something."""
    if not isinstance(term, ex.ProductOf):
        return None
    first, *rest = term.arguments
    if not isinstance(first, ex.Number) or first.value >= 0:
        return None
    if first.value == -1.0:
        return rest[0] if len(rest) == 1 else ex.ProductOf(tuple(rest))
    return ex.ProductOf((ex.Number(-first.value), *rest))


def _inside(tree: exp.Expression) -> exp.Expression:
    """A tree as part of another: in parentheses, unless it needs none."""
    alone = isinstance(tree, _ATOMS) and not isinstance(tree, exp.Connector)
    return tree if alone else exp.Paren(this=tree)


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


def _without_nan(number: exp.Expression, dialect: SQLDialect) -> exp.Expression:
    """Null in place of NaN."""
    if dialect.name == "bigquery":  # NaN equals nothing there
        return exp.Case().when(exp.Not(this=exp.IsNan(this=number)), number.copy())
    return exp.Nullif(this=number, expression=exp.cast(text("NaN"), "double"))


def _days(raw: exp.Expression, dialect: SQLDialect, display: str) -> exp.Expression:
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


# -------------------------------------------------------------------------------------------------
# The dialects of SQL that models are written in, and where they differ for our purposes.


@dataclass(frozen=True)
class SQLDialect:
    """A dialect by its name on the command line, in words, and for sqlglot.

    ``exact_decimals``: plain decimals are DECIMAL there, so that constants are written with an
    exponent. ``small_powers``: e to a very negative power is an error. ``has_nan``: columns can
    hold NaN. ``inlines``: subqueries are inlined wherever they are used, which doubles the work
    with every stage unless they are materialized. ``runs`` says where an export is run to check
    it, if it can be run here.
    """

    name: str
    words: str
    sqlglot: str
    exact_decimals: bool = False
    small_powers: bool = False
    has_nan: bool = True
    inlines: bool = False
    runs: str = ""


DIALECTS = {
    one.name: one
    for one in (
        SQLDialect("duckdb", "DuckDB", "duckdb", exact_decimals=True, runs="DuckDB"),
        SQLDialect(
            "postgres",
            "PostgreSQL",
            "postgres",
            exact_decimals=True,
            small_powers=True,
            inlines=True,
        ),
        SQLDialect("sqlite", "SQLite", "sqlite", has_nan=False, inlines=True, runs="SQLite"),
        SQLDialect("bigquery", "BigQuery", "bigquery"),
        SQLDialect("spark", "Spark SQL", "spark", exact_decimals=True),
    )
}
#: Other names of the same.
ALIASES = {"postgresql": "postgres", "sparksql": "spark", "databricks": "spark"}


def dialect_named(name: str) -> SQLDialect:
    """The dialect called ``name``, in any case."""
    lower = name.lower()
    dialect = DIALECTS.get(ALIASES.get(lower, lower))
    if dialect is None:
        raise InputError(
            f"There is no dialect {name!r} of SQL here.", remedy=did_you_mean(lower, DIALECTS)
        )
    return dialect
