"""Predictions over HTTP: a stored model as a server that this computer alone can ask.

    GET  /health     whether it answers, the model, and how many rows it has predicted
    GET  /schema     the columns of a question, with kinds, levels and ranges; those of an answer
    POST /predict    rows as JSON or as a stream of Arrow, answered in the same form

JSON is a list of records ``[{"bmi": 28.1, …}, …]``, or columns ``{"bmi": [28.1, …], …}``. Rows are
predicted one question at a time, on one thread, and only a few questions may wait: more of either
would not be answered sooner. Options of an answer are those of the server, so that a client cannot
ask for more work than was meant.
"""

from __future__ import annotations

import io
import json
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc
from sklearn.base import is_classifier, is_clusterer

from separatrix import __version__
from separatrix.estimators.extrapolation import keeps_ranges
from separatrix.messages import InputError, SeparatrixWarning
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Column, Kind, Schema
from separatrix.rows.sources.new_rows import rows_like
from separatrix.serving.loopback import (
    JSON,
    Application,
    Guard,
    LoopbackServer,
    encode_error,
    encode_json,
    media_type,
)
from separatrix.storage.model_file import load_study
from separatrix.study.answers import (
    ANY,
    AnswerColumns,
    answer_columns,
    count_extrapolating,
    file_of_model,
    load_predictor,
)
from separatrix.study.document import plain
from separatrix.study.effects import typical_row
from separatrix.threads import one_blas_thread

ARROW = "application/vnd.apache.arrow.stream"
#: Bytes of a question: half a million rows of ten numbers in Arrow.
LARGEST = 48_000_000
#: Rows of a question, so that few bytes cannot ask for much work.
MOST_ROWS = 1_000_000
#: Questions that are read or answered at a time; more are told to come again.
MOST_QUESTIONS = 16
#: How a question and its answer are laid out.
RECORDS, COLUMNS, STREAM = "records", "columns", "stream"


@dataclass
class Predictor:
    """A stored model as a function of tables, with what it reads and answers."""

    model: Any
    schema: Schema
    answers: AnswerColumns
    references: Mapping[str, Any] = field(default_factory=dict)
    target: str = ""
    unseen: str | None = None
    n_predicted: int = 0

    @classmethod
    def of_file(cls, path: str | Path, *, unseen: str | None = None, **options: Any) -> Predictor:
        """The model of a file or of the directory of a study; options of ``answer_columns``."""
        fitted, schema = load_predictor(path)
        study = load_study(file_of_model(path))
        target = getattr(study, "target", "") or next((c.name for c in schema.targets), "")
        found = {each.name: each for each in getattr(study, "references", ())}
        answers = answer_columns(path, fitted, schema, **options)
        predictor = cls(fitted, schema, answers, found, target, unseen)
        predictor.warm_up()
        return predictor

    def warm_up(self) -> None:
        """Predict a typical row, so that no loop is compiled while a client waits."""
        row = typical_row(self.schema, tuple(self.references.values()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.answers.columns(row)
            count_extrapolating(self.model, row)

    def predict(self, table: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Columns of the answer by their headings, and what is to be said beside them."""
        rows: Any = rows_like(table, self.schema, unseen=self.unseen)
        columns: list[list[Any]] = [[] for _ in self.answers.all_headings]
        beyond: dict[str, int] = {}
        with warnings.catch_warnings(record=True) as caught, one_blas_thread():
            warnings.simplefilter("always", SeparatrixWarning)
            for block in rows.blocks():
                piece = InMemory(rows.schema, block)
                for column, values in zip(columns, self.answers.columns(piece), strict=True):
                    column.append(np.asarray(values))
                for name, count in count_extrapolating(self.model, piece).items():
                    beyond[name] = beyond.get(name, 0) + count
        self.n_predicted += len(table)
        messages = [str(w.message) for w in caught if issubclass(w.category, SeparatrixWarning)]
        about: dict[str, Any] = {"warnings": list(dict.fromkeys(messages))}
        if keeps_ranges(self.model):
            about["extrapolating_rows"] = beyond.pop(ANY, 0)
            about["extrapolating_columns"] = beyond
        named = zip(self.answers.all_headings, columns, strict=True)
        return {name: np.concatenate(parts) for name, parts in named}, about

    def describe_health(self) -> dict[str, Any]:
        """The answer of /health."""
        return {
            "status": "ok",
            "model": type(self.model).__name__,
            "separatrix": __version__,
            "rows_predicted": self.n_predicted,
        }

    def describe(self) -> dict[str, Any]:
        """The answer of /schema."""
        task = "cluster" if is_clusterer(self.model) else "regression"
        task = "classification" if is_classifier(self.model) else task
        classes = (
            [plain(label) for label in self.model.classes_] if is_classifier(self.model) else []
        )
        return {
            "model": type(self.model).__name__,
            "task": task,
            "target": self.target,
            "classes": classes,
            "columns": [self._describe(c) for c in self.schema.columns if not c.part],
            "answer": self.answers.all_headings,
            "remarks": self.answers.all_remarks,
            "limits": {"bytes": LARGEST, "rows": MOST_ROWS, "questions": MOST_QUESTIONS},
            "types": [JSON, ARROW],
        }

    def _describe(self, column: Column) -> dict[str, Any]:
        kind = {Kind.DISCRETE: "levels", Kind.BOOLEAN: "boolean"}.get(column.kind, "number")
        found: dict[str, Any] = {"name": column.name, "kind": column.display or kind}
        if column.kind is Kind.DISCRETE:
            return {**found, "levels": list(column.levels)}
        reference = self.references.get(column.name)
        if column.kind is Kind.NUMERIC and reference is not None and len(reference.values):
            found["range"] = [float(reference.values[0]), float(reference.values[-1])]
        return found


# -------------------------------------------------------------------------------------------------
# Questions and answers as JSON and as Arrow.


def read_question(body: bytes, kind: str) -> tuple[pa.Table, str]:
    """The rows of a question as a table, and how they are laid out."""
    table, layout = (_read_stream(body), STREAM) if kind == ARROW else _read_json(body)
    if not len(table):
        raise InputError("the question has no rows.", remedy="Send at least one.")
    if len(table) > MOST_ROWS:
        raise InputError(
            f"the question has {len(table):,} rows; at most {MOST_ROWS:,} are predicted at a time.",
            remedy="Send them in parts.",
        )
    return table.combine_chunks(), layout  # many small batches would be predicted one by one


def _read_stream(body: bytes) -> pa.Table:
    try:
        table = ipc.open_stream(pa.py_buffer(body)).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise InputError(
            f"the question is not a stream of Arrow ({_first_sentence(problem)}).",
            remedy="Write it by pyarrow.ipc.new_stream.",
        ) from problem
    return table


def _first_sentence(problem: BaseException) -> str:
    return str(problem).strip().splitlines()[0].rstrip(".") if str(problem).strip() else "empty"


def _read_json(body: bytes) -> tuple[pa.Table, str]:
    try:
        given = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or a number of thousands of digits
        raise InputError(
            "the question is not JSON.", remedy='Send [{"column": value, …}, …].'
        ) from None
    if isinstance(given, dict):
        if given and all(isinstance(values, list) for values in given.values()):
            return _as_table(given), COLUMNS
        given = [given]  # a row by itself
    if not isinstance(given, list) or not all(isinstance(row, dict) for row in given):
        raise InputError(
            "the question is neither a list of records nor columns.",
            remedy='Send [{"column": value, …}, …] or {"column": [value, …], …}.',
        )
    return _as_table(_columns_of(given)), RECORDS


def _refuse_constant(word: str) -> Any:
    raise ValueError(word)


def _columns_of(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Records as columns: a value that is missing is null, not left out."""
    names = list(records[0]) if records else []
    for number, row in enumerate(records, start=1):
        if row.keys() != records[0].keys():
            lacking = [name for name in names if name not in row]
            what = f"has no {lacking[0]!r}" if lacking else "has columns that the first has not"
            raise InputError(
                f"record {number} {what}.", remedy="Give every record the same columns, or null."
            )
    return {name: [row[name] for row in records] for name in names}


def _as_table(columns: dict[str, list[Any]]) -> pa.Table:
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise InputError(f"the columns have different lengths: {sorted(lengths)}.")
    arrays = {name: _as_array(name, values) for name, values in columns.items()}
    return pa.table(arrays)


def _as_array(name: str, values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int, float}:
        values = (
            [None if value is None else float(value) for value in values]
            if float in kinds
            else values
        )
    elif len(kinds) > 1 or kinds & {dict, list}:
        raise InputError(
            "holds values of several kinds." if len(kinds) > 1 else "holds lists or objects.",
            column=name,
            remedy="Send numbers, texts, true and false, or null.",
        )
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        raise InputError(
            "holds a number too large.", column=name, remedy="Send it as a floating-point number."
        ) from None


def write_answer(columns: dict[str, Any], about: dict[str, Any], layout: str) -> tuple[bytes, str]:
    """An answer in the layout of its question, and its content type."""
    if layout == STREAM:
        return _write_stream(columns, about), ARROW
    values = {name: plain(column) for name, column in columns.items()}
    answer: Any = values
    if layout == RECORDS:
        names = list(values)
        answer = [dict(zip(names, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return encode_json({"predictions": answer, **about}).encode(), JSON


def _write_stream(columns: dict[str, Any], about: dict[str, Any]) -> bytes:
    """Columns as Arrow; what is said beside them is metadata of the schema."""
    arrays = {
        name: pa.array([None if v is None else str(v) for v in column.tolist()], pa.string())
        if column.dtype.kind in "OUS"
        else pa.array(column, from_pandas=True)
        for name, column in columns.items()
    }
    table = pa.table(arrays).replace_schema_metadata({"separatrix": encode_json(about)})
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


# -------------------------------------------------------------------------------------------------
# The server.


def application(predictor: Predictor) -> Application:
    """The routes as a Starlette application."""
    import anyio.to_thread
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    one_at_a_time = anyio.CapacityLimiter(1)

    async def health(_: Request) -> Response:
        return Response(encode_json(predictor.describe_health()), media_type=JSON)

    async def schema(_: Request) -> Response:
        return Response(encode_json(predictor.describe()), media_type=JSON)

    async def predict(request: Request) -> Response:
        body, kind = await request.body(), media_type(request.headers.get("content-type"))
        status, text, answered = await anyio.to_thread.run_sync(
            answer_question, predictor, body, kind, limiter=one_at_a_time
        )
        return Response(text, status, media_type=answered)

    async def refuse(_: Request, problem: Exception) -> Response:
        status = problem.status_code if isinstance(problem, HTTPException) else 500
        reason = {
            404: "There are /health, /schema and /predict.",
            405: "/predict is asked by POST, /health and /schema by GET.",
        }
        return Response(encode_error(status, reason[status]), status, media_type=JSON)

    routes: Application = Starlette(
        routes=[
            Route("/health", health),
            Route("/schema", schema),
            Route("/predict", predict, methods=["POST"]),
        ],
        exception_handlers={404: refuse, 405: refuse},
    )
    return routes


def answer_question(predictor: Predictor, body: bytes, kind: str) -> tuple[int, bytes, str]:
    """Status, answer and its type; a refusal says why, a defect is printed where we started."""
    try:
        table, layout = read_question(body, kind)
        answer, answered = write_answer(*predictor.predict(table), layout)
    except InputError as problem:
        place = {"column": problem.column, "row": problem.row}
        about = {name: value for name, value in place.items() if value is not None}
        return 400, encode_error(400, str(problem), **about).encode(), JSON
    except Exception as defect:
        traceback.print_exc()
        return (
            500,
            encode_error(500, f"A defect of separatrix: {type(defect).__name__}.").encode(),
            JSON,
        )
    return 200, answer, answered


class PredictionServer(LoopbackServer):
    """Predictions of a model, served until :meth:`close`."""

    def __init__(self, predictor: Predictor, port: int = 0) -> None:
        self.predictor = predictor
        names = ("127.0.0.1", "localhost")
        guard = Guard(
            application(predictor), LARGEST, types=(JSON, ARROW), names=names, most=MOST_QUESTIONS
        )
        super().__init__(guard, port)
