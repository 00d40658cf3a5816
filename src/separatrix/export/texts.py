"""Exports that are texts: a query, a module or a document, each run on rows before it is given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from sklearn.base import is_clusterer

from separatrix.export.check.compare import Check, CheckFailed, compared
from separatrix.export.check.engines import run_duckdb, run_python, run_sqlite
from separatrix.export.check.expected import expected_answers, tied
from separatrix.export.check.given import given_rows
from separatrix.export.check.rows import made_up_rows
from separatrix.export.document import json_text
from separatrix.export.options import Options
from separatrix.export.program import Program, numbered
from separatrix.export.python.module import module_text
from separatrix.export.reading import reading_of
from separatrix.export.sql.dialects import DIALECTS, Dialect
from separatrix.export.translate import NoFormula, program_of
from separatrix.messages import InputError

Exported = tuple[str, Check, tuple[str, ...]]


def exported_text(model: Any, profiles: Any, options: Options, rows: Any) -> Exported:
    """The text, its check, and notes."""
    try:
        program = program_of(model, level=options.level)
    except NoFormula as problem:
        raise InputError(f"{problem.what} {_other_targets(model, options.level)}") from problem
    reading = reading_of(model)
    if rows is None:
        table = made_up_rows(model, reading, profiles)
    else:
        table = given_rows(rows, model, reading)
    if options.to == "sql":
        text, found, engine = _sql(program, table, options)
    else:
        module = module_text(program)
        # a document says what the module of the same program does, which can be run
        text = module if options.to == "python" else json_text(program)
        found, engine = run_python(module, table), "Python"
    data = reading.rows(table)
    labels = hasattr(model, "classes_") or is_clusterer(model)
    names = [output.name for output in program.outputs]
    wanted = expected_answers(model, data, level=options.level, interval="lower" in names)
    check = compared(names, wanted, found, engine, tied(model, data) if labels else None)
    if rows is not None:
        check = replace(check, source="the rows given")
    return text, check, program.notes


Written = tuple[str, list[list[Any]], str]


def _other_targets(model: Any, level: float) -> str:
    """Which targets a model without a formula has."""
    from importlib.util import find_spec

    if find_spec("onnx") is None:
        return "ONNX may have one: pip install 'separatrix[onnx]'"
    from separatrix.export.onnx.document import built
    from separatrix.export.onnx.export import columns_of

    try:
        built(model, columns_of(model), level=level)
    except InputError:
        return "Nor has it one to ONNX."
    return "It has one to ONNX (`to='onnx'`)."


def _sql(program: Program, table: pa.Table, options: Options) -> Written:
    from separatrix.export.sql.query import Place, sql_text

    dialect = options.dialect
    text = sql_text(program, dialect, Place(options.table, options.ids))
    _parsed_back(text, dialect)
    order = numbered("row", [name.lower() for name in table.column_names])
    ordered = table.append_column(order, pa.array(range(len(table)), pa.int64()))
    place = Place("rows", (order,))
    runs = dialect if dialect.runs else DIALECTS["duckdb"]
    query = sql_text(program, runs, place)
    run = run_sqlite if runs.name == "sqlite" else run_duckdb
    engine = runs.runs if dialect.runs else f"{runs.runs} (not in {dialect.words})"
    return text, run(query, ordered, "rows", 1), engine


def _parsed_back(text: str, dialect: Dialect) -> None:
    """Refuse a text that sqlglot itself does not read as one query."""
    from sqlglot import exp, parse
    from sqlglot.errors import SqlglotError

    try:
        trees = [tree for tree in parse(text, dialect=dialect.sqlglot) if tree is not None]
    except SqlglotError as problem:
        raise CheckFailed(f"The text is no query of {dialect.words} ({problem}).") from problem
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        raise CheckFailed(f"The text is not one query of {dialect.words}.")
