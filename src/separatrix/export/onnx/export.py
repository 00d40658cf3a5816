"""A fitted model as the bytes of an ONNX file, checked before they are written anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.export.check import answers_of, given_rows, made_up_rows
from separatrix.export.onnx.check import (
    Agreement,
    agreement,
    roundings,
    runtime,
    sample_matrix,
    table_feeds,
)
from separatrix.export.onnx.document import built
from separatrix.formula.inputs import InputColumn, InputTable
from separatrix.formula.nodes import formula_of
from separatrix.formula.reading import reading_of
from separatrix.messages import InputError
from separatrix.rows.profile import ColumnProfile


@dataclass(frozen=True)
class OnnxFile:
    """The bytes of a file, how its answers compare with those of the model, and notes."""

    content: bytes
    agreement: Agreement
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    notes: tuple[str, ...] = ()


def columns_of(model: Any) -> tuple[InputColumn, ...]:
    """The columns of the table that a model reads; none for a model that reads a matrix."""
    reading = reading_of(formula_of(model))
    return reading.columns if reading.is_table else ()


def onnx_file(
    model: Any,
    *,
    level: float = 0.95,
    profiles: Sequence[ColumnProfile] = (),
    rows: Any = None,
) -> OnnxFile:
    """The file of a fitted model, checked on ``rows``, or on rows made up from its columns.

    ``level`` is that of intervals and sets, ``profiles`` say where the values of columns were.
    """
    runtime()
    columns = columns_of(model)
    graph = built(model, columns, level=level)
    X: Any
    if columns:
        reading = InputTable(columns, is_matrix=False)
        made_up = rows is None
        X = made_up_rows(model, reading, profiles) if made_up else given_rows(rows, model, reading)
        feeds = table_feeds(columns, X)
    elif rows is not None:
        raise InputError(
            "The model was fitted to a matrix without a table's columns.",
            remedy="Leave the rows out: some are made up.",
        )
    else:
        X = sample_matrix(model)
        feeds = {"X": X}
    document = graph.document
    agreed = agreement(graph, feeds, answers_of(model, X, level), roundings(model, X))
    return OnnxFile(
        document.SerializeToString(),
        agreed,
        tuple(each.name for each in document.graph.input),
        tuple(each.name for each in document.graph.output),
        (*graph.notes, *agreed.remarks),
    )
