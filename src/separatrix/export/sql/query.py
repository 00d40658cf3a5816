"""A program as one query: a subquery for each stage, then the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from separatrix.export.expressions import (
    AnyOf,
    Branch,
    Case,
    Compare,
    Exp,
    Expression,
    Log,
    Missing,
    Number,
    Sqrt,
    Value,
    values_in,
    within,
)
from separatrix.export.program import Definition, Program, Stage, identifier, numbered
from separatrix.export.sql.dialects import Dialect
from separatrix.export.sql.scalars import Scalars, raw_column
from separatrix.messages import InputError

REFUSED = "refused"
#: Stages up to which it does not matter whether subqueries are inlined.
FEW_STAGES = 3


@dataclass(frozen=True)
class Place:
    """The table that is read, and columns of it that are copied beside the answer."""

    table: str = "rows"
    ids: tuple[str, ...] = ()


def sql_text(program: Program, dialect: Dialect, place: Place) -> str:
    """The query as text, with a few lines of comment before it."""
    tree = query_of(program, dialect, place)
    lines = [f"-- {line}" for line in _comments(program, dialect)]
    return "\n".join([*lines, tree.sql(dialect=dialect.sqlglot, pretty=True) + ";"]) + "\n"


def query_of(program: Program, dialect: Dialect, place: Place) -> exp.Select:
    """The query as a syntax tree."""
    _refuse_ids(program, place.ids)
    scalars = Scalars(dialect, {column.name: column for column in program.columns})
    stages = _with_refusals(program)
    known = [one.name for stage in stages for one in stage.definitions]
    ids: dict[str, str] = {}
    for name in place.ids:
        ids[name] = identifier(f"id {name}", [*known, *ids.values()])
    needed = _needed(program, stages)
    outputs = [
        (output.name, _unless_refused(output.expression, program)) for output in program.outputs
    ]
    source, before = _table(place.table, dialect), ids
    taken: list[str] = []
    query = exp.select()
    for stage, later in zip(stages, needed, strict=True):
        name = numbered(stage.name, taken)
        taken.append(name)
        own = {one.name for one in stage.definitions}
        carried = [n for n in known if n in later and n not in own and n in _done(stages, stage)]
        if stage is stages[0]:
            copied = [_as(raw_column(raw), alias) for raw, alias in before.items()]
        else:
            copied = [exp.column(alias, quoted=True) for alias in before.values()]
        columns = [
            *copied,
            *(exp.column(n, quoted=True) for n in carried),
            *(_as(scalars.of(one.expression), one.name) for one in stage.definitions),
        ]
        inner = exp.select(*columns, copy=False).from_(source, copy=False)
        query = query.with_(
            exp.to_identifier(name, quoted=True),
            as_=inner,
            copy=False,
            materialized=True if dialect.inlines and len(stages) > FEW_STAGES else None,
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
    any_of = AnyOf(tuple(one.condition for one in program.refusals))
    refused = Definition(REFUSED, Case((Branch(any_of, Number(1)),), Number(0)))
    if len(stages) == 1:
        return [*stages, Stage("checked", (refused,))]
    second = stages[1]
    stages[1] = Stage(second.name, (*second.definitions, refused))
    return stages


def _unless_refused(expression: Expression, program: Program) -> Expression:
    if not program.refusals:
        return expression
    refused = Compare(Value(REFUSED), "=", Number(1))
    return Case((Branch(refused, Missing()),), expression)


def _needed(program: Program, stages: Sequence[Stage]) -> list[set[str]]:
    """For each stage the names that later stages and the answer use."""
    later: set[str] = {REFUSED} if program.refusals else set()
    for output in program.outputs:
        later |= values_in(output.expression)
    found = []
    for stage in reversed(stages):
        found.append(set(later))
        for one in stage.definitions:
            later |= values_in(one.expression)
    return found[::-1]


def _done(stages: Sequence[Stage], stage: Stage) -> set[str]:
    """The names that stages before this one define."""
    before = stages[: list(stages).index(stage)]
    return {one.name for earlier in before for one in earlier.definitions}


def _table(name: str, dialect: Dialect) -> exp.Table:
    """The table by name, perhaps with schema and catalog; anything else is one quoted name."""
    try:
        found = exp.maybe_parse(name, into=exp.Table, dialect=dialect.sqlglot)
    except (ParseError, TokenError):
        found = None
    parts = list(found.parts) if isinstance(found, exp.Table) and not found.alias else []
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


def _comments(program: Program, dialect: Dialect) -> list[str]:
    """What the query is; names of the table are written as ASCII, so that no line ends early."""
    found = [f"{program.title}, exported by separatrix for {dialect.words}."]
    found += [ascii(note)[1:-1] for note in program.notes]
    functions = {
        type(one)
        for stage in program.stages
        for definition in stage.definitions
        for one in within(definition.expression)
    }
    if dialect.name == "sqlite" and functions & {Exp, Log, Sqrt}:
        found.append("EXP, LN and SQRT need SQLite 3.35 or later with its math functions.")
    if program.refusals:
        found.append("Rows that the model refuses have NULL in every column of the answer:")
        found += [f"  {ascii(one.reason)[1:-1]}" for one in program.refusals[:20]]
        if len(program.refusals) > 20:
            found.append(f"  and {len(program.refusals) - 20} more")
    found.append("The answer:")
    found += [f"  {one.name}: {ascii(one.meaning)[1:-1]}" for one in program.outputs]
    return found
