"""``export_model``: a fitted model in another language, checked against the model at once."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from separatrix.arrays import NDArray
from separatrix.export import expressions as ex
from separatrix.export.check import (
    Check,
    CheckFailed,
    answers_of,
    compare_answers,
    find_ties,
    given_rows,
    make_up_rows,
    run_duckdb,
    run_python,
    run_sqlite,
)
from separatrix.export.program import Output, Program, number_name, program_of
from separatrix.export.python import module_text
from separatrix.export.sql import DIALECTS, SQLDialect, dialect_named
from separatrix.formula.inputs import InputColumn
from separatrix.formula.nodes import formula_of
from separatrix.formula.reading import reading_of
from separatrix.formula.values import NoFormula
from separatrix.messages import InputError, check_option
from separatrix.notebook import MOST_LINES, Item, Preformatted, Sentence, Shown
from separatrix.storage.files import atomic_file

__all__ = ["TARGETS", "Export", "export_model"]


@dataclass(frozen=True, repr=False)
class Export(Shown):
    """A model in another language.

    Parameters
    ----------
    to : str
        The language: ``"sql"``, ``"python"``, ``"json"`` or ``"onnx"``.
    content : str or bytes
        What is written to a file: text, or the bytes of an ONNX graph.
    check : Check
        On how many rows it was compared with the model, by what, and the largest difference.
    notes : tuple of str
        What a reader should know.

    See Also
    --------
    export_model : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> model = sx.MeanRegressor().fit(np.zeros((2, 1)), [1.0, 2.0])
    >>> sx.export_model(model, "python").check.engine
    'Python'
    """

    to: str
    content: str | bytes
    check: Check
    notes: tuple[str, ...] = ()

    def _display(self) -> list[Item]:
        size = f"{len(self.content):,} {'bytes' if isinstance(self.content, bytes) else 'letters'}"
        shown: list[Item] = [Sentence(f"Export to {self.to}, {size}: {self.check}.")]
        shown += map(Sentence, self.notes)
        if isinstance(self.content, str):
            lines = self.content.splitlines()
            rest = [f"… {len(lines) - MOST_LINES:,} lines …"] if len(lines) > MOST_LINES else []
            shown.append(Preformatted("\n".join([*lines[:MOST_LINES], *rest])))
        return shown

    def document(self) -> dict[str, Any]:
        """The export as plain values, the bytes of a graph left out."""
        check = {**asdict(self.check), "words": str(self.check)}
        text = {"content": self.content} if isinstance(self.content, str) else {}
        return {"to": self.to, **text, "check": check, "notes": list(self.notes)}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the content to a file, whole or not at all."""
        data = self.content.encode() if isinstance(self.content, str) else self.content
        with atomic_file(path) as file:
            file.write(data)


def export_model(
    model: Any,
    to: str = "sql",
    *,
    dialect: str = "duckdb",
    table: str = "rows",
    ids: Sequence[str] = (),
    level: float = 0.95,
    rows: Any = None,
) -> Export:
    """Write a fitted model in another language, and check that it gives the same answers.

    The formulas of the model, with the encoding of its columns, missing values, levels,
    calibration and costs, become one SQL query, a Python module without dependencies, a JSON
    document or an ONNX graph. The result is run on rows of the model's columns and compared with
    the model: labels are equal, numbers agree to 1e-9.

    Parameters
    ----------
    model : estimator, str or path-like
        A fitted model, or a file written by :func:`separatrix.save` or ``separatrix fit``.
    to : {"sql", "python", "json", "onnx"}, default="sql"
        The language.
    dialect : {"duckdb", "postgres", "sqlite", "bigquery", "spark"}, default="duckdb"
        That of SQL. Queries for DuckDB and SQLite are run; those for the others are parsed back,
        and their formulas are run in DuckDB.
    table : str, default="rows"
        The table that the query reads; ``schema.table`` names a schema too.
    ids : sequence of str, default=()
        Columns of the table that the query copies beside the answer.
    level : float, default=0.95
        Level of the intervals of models with predictive distributions.
    rows : table, data frame or path, default=None
        Rows to check on; None makes up 512 rows from the columns of the model, with missing
        values, levels that training did not have and extremes.

    Returns
    -------
    Export
        ``content``, ``check`` and ``write(path)``.

    Raises
    ------
    CheckFailed
        If the export and the model differ.

    See Also
    --------
    save : Store a model for this library.
    load : Load it again.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> model = sx.LinearRegression().fit(np.arange(4.0)[:, None], [1.0, 3.0, 5.0, 7.0])
    >>> exported = sx.export_model(model, "python")
    >>> exported.check.rows, exported.check.largest_difference < 1e-9
    (512, True)
    >>> "def predict(row):" in exported.content
    True
    """
    options = check_export_options(to, dialect, table, ids, level)
    fitted, profiles = _load(model)
    if to == "onnx":
        return _onnx(fitted, options.level, profiles, rows)

    return Export(to, *export_text(fitted, profiles, options, rows))


def _onnx(model: Any, level: float, profiles: Any, rows: Any) -> Export:
    """The graph of a model, checked in ONNX Runtime."""
    from separatrix.export.onnx.export import onnx_file

    file = onnx_file(model, level=level, profiles=profiles, rows=rows)
    agreement = file.agreement
    if not agreement.holds:
        raise CheckFailed(f"{agreement} The export is not written.")
    largest = max(agreement.error.values(), default=0.0)
    check = Check(agreement.rows, "ONNX Runtime", float(largest), agreement.ties)
    if rows is not None:
        check = replace(check, source="the rows given")
    return Export("onnx", file.content, check, file.notes)


def _load(model: Any) -> tuple[Any, Any]:
    """A fitted model, and the profiles of its columns where a study is stored with it."""
    if not isinstance(model, str | os.PathLike):
        return model, ()
    from separatrix.storage import load, load_study

    study = load_study(model)
    return load(model), getattr(study, "columns", ())


# -------------------------------------------------------------------------------------------------
# What may be chosen of an export.


#: Languages, and the libraries that writing and checking them needs, by extra.
TARGETS = {
    "sql": ("sql", ("sqlglot", "duckdb")),
    "python": ("", ()),
    "json": ("", ()),
    "onnx": ("onnx", ("onnx", "onnxruntime")),
}


@dataclass(frozen=True)
class ExportOptions:
    """The checked options of an export."""

    to: str
    dialect: SQLDialect
    table: str = "rows"
    ids: tuple[str, ...] = ()
    level: float = 0.95


def check_export_options(
    to: str, dialect: str, table: str, ids: Sequence[str], level: float
) -> ExportOptions:
    """The options, or the first that is wrong."""
    check_option("to", to, TARGETS)
    extra, needed = TARGETS[to]
    lacking = [name for name in needed if find_spec(name) is None]
    if lacking:
        raise InputError(
            f"An export to {to} needs {' and '.join(lacking)}, which is not installed.",
            remedy=f"Run: pip install 'separatrix[{extra}]'",
        )
    if not 0.0 < level < 1.0:
        raise InputError(f"level={level!r} must be between 0 and 1.")
    if not table:
        raise InputError("The name of the table is empty.")
    return ExportOptions(to, dialect_named(dialect), table, tuple(ids), level)


# -------------------------------------------------------------------------------------------------
# Exports that are texts: a query, a module or a document, each run on rows before it is given.


Exported = tuple[str, Check, tuple[str, ...]]


def export_text(model: Any, profiles: Any, options: ExportOptions, rows: Any) -> Exported:
    """The text, its check, and notes."""
    try:
        program = program_of(model, level=options.level)
    except NoFormula as problem:
        raise InputError(f"{problem.what} {_other_targets(model, options.level)}") from problem
    formula = formula_of(model)
    reading = reading_of(formula)
    if rows is None:
        table = make_up_rows(model, reading, profiles)
    else:
        table = given_rows(rows, model, reading)
    if options.to == "sql":
        text, answers, engine = _sql(program, table, options)
    else:
        module = module_text(program)
        # a document says what the module of the same program does, which can be run
        text = module if options.to == "python" else json_text(program)
        answers, engine = run_python(module, table), "Python"
    data = reading.rows(table)
    names = [output.name for output in program.outputs]
    wanted = columns_of_answers(answers_of(model, data, options.level), names)
    check = compare_answers(names, wanted, answers, engine, find_ties(formula, data))
    if rows is not None:
        check = replace(check, source="the rows given")
    return text, check, program.notes


def columns_of_answers(
    answers: dict[str, NDArray[Any]], names: Sequence[str]
) -> list[NDArray[Any]]:
    """The answers of the model as the columns of the outputs."""
    n = len(answers["prediction"])
    further = "interval" if "lower" in names else "distance" if "distance" in names else None
    if further is None and len(names) > 1 and "probabilities" in answers:
        further = "probabilities"
    parts = [answers["prediction"]] + ([answers[further]] if further else [])
    return [column for part in parts for column in part.reshape(n, -1).T]


Written = tuple[str, list[list[Any]], str]


def _other_targets(model: Any, level: float) -> str:
    """Which targets a model without a formula has."""
    from importlib.util import find_spec

    if find_spec("onnx") is None:
        return "ONNX may have one: pip install 'separatrix[onnx]'"
    from separatrix.export.onnx.document import build_graph
    from separatrix.export.onnx.export import columns_of

    try:
        build_graph(model, columns_of(model), level=level)
    except InputError:
        return "ONNX cannot hold it either."
    return "It has one to ONNX (`to='onnx'`)."


def _sql(program: Program, table: pa.Table, options: ExportOptions) -> Written:
    from separatrix.export.sql import SourceTable, sql_text

    dialect = options.dialect
    text = sql_text(program, dialect, SourceTable(options.table, options.ids))
    _parse_back(text, dialect)
    order = number_name("row", [name.lower() for name in table.column_names])
    ordered = table.append_column(order, pa.array(range(len(table)), pa.int64()))
    place = SourceTable("rows", (order,))
    runs = dialect if dialect.runs else DIALECTS["duckdb"]
    query = sql_text(program, runs, place)
    run = run_sqlite if runs.name == "sqlite" else run_duckdb
    engine = runs.runs if dialect.runs else f"{runs.runs} (not in {dialect.words})"
    return text, run(query, ordered, "rows", 1), engine


def _parse_back(text: str, dialect: SQLDialect) -> None:
    """Refuse a text that sqlglot itself does not read as one query."""
    from sqlglot import exp, parse
    from sqlglot.errors import SqlglotError

    try:
        trees = [tree for tree in parse(text, dialect=dialect.sqlglot) if tree is not None]
    except SqlglotError as problem:
        raise CheckFailed(f"The text is not a query of {dialect.words} ({problem}).") from problem
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        raise CheckFailed(f"The text is not one query of {dialect.words}.")


# -------------------------------------------------------------------------------------------------
# A program as a JSON document: enough to compute the answers in any language.
#
# The format is described in ``docs/guide/export.md``.


def json_text(program: Program) -> str:
    """The document as text; numbers are written so that reading them gives the same bits."""
    return json.dumps(document_of(program), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def document_of(program: Program) -> dict[str, Any]:
    """The document as plain values."""
    return {
        "format": "separatrix export",
        "version": 1,
        "model": program.title,
        "notes": list(program.notes),
        "columns": [_column(column) for column in program.columns],
        "stages": [
            {
                "name": stage.name,
                "definitions": [
                    {"name": item.name, "meaning": item.meaning, "is": plain(item.expression)}
                    for item in stage.definitions
                ],
            }
            for stage in program.stages
        ],
        "refusals": [
            {"where": plain(item.condition), "reason": item.reason} for item in program.refusals
        ],
        "outputs": [_output(output) for output in program.outputs],
    }


def _column(column: InputColumn) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": column.name,
        "kind": str(column.kind),
        "missing_texts": list(column.missing_texts),
        "missing_numbers": list(column.missing_numbers),
    }
    if column.display:
        entry["display"] = column.display
    if column.levels:
        entry["levels"] = list(column.levels)
        entry["unseen"] = column.unseen
    if column.pooled:
        entry["pooled"] = column.pooled
    return entry


def _output(output: Output) -> dict[str, Any]:
    entry = {"name": output.name, "meaning": output.meaning}
    if output.label is not None:
        entry["class"] = output.label
    return entry | {"is": plain(output.expression)}


_WORDS: dict[type[ex.Expression], str] = {
    ex.SumOf: "sum", ex.ProductOf: "product", ex.Largest: "largest", ex.Smallest: "smallest",
    ex.All: "all", ex.AnyOf: "any",
    ex.Exp: "exp", ex.Log: "log", ex.Sqrt: "sqrt", ex.IsMissing: "missing", ex.Not: "not",
}  # fmt: skip


def plain(expression: ex.Expression) -> Any:
    """An expression as nested lists, objects and numbers."""
    if isinstance(expression, ex.Number | ex.Truth):
        return expression.value
    match expression:
        case ex.OfSeveral(arguments):
            return {_WORDS[type(expression)]: [plain(argument) for argument in arguments]}
        case ex.OfOne(argument):
            return {_WORDS[type(expression)]: plain(argument)}
        case ex.Missing():
            return None
        case ex.Text(text):
            return {"text": text}
        case ex.Defined(name):
            return {"value": name}
        case ex.RawNumber(column):
            return {"number_in": column}
        case ex.RawLevel(column):
            return {"level_in": column}
        case ex.Quotient(a, b):
            return {"quotient": [plain(a), plain(b)]}
        case ex.Compare(a, operator, b):
            return {"compare": [plain(a), operator, plain(b)]}
        case ex.OneOf(argument, texts):
            return {"one_of": [plain(argument), list(texts)]}
        case ex.Filled(argument, fill):
            return {"filled": [plain(argument), plain(fill)]}
        case ex.Case(branches, otherwise):
            pairs = [[plain(branch.condition), plain(branch.value)] for branch in branches]
            return {"case": pairs, "else": plain(otherwise)}
    raise TypeError(f"no expression: {expression!r}")
