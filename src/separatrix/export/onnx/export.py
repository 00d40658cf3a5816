"""A fitted model as the bytes of an ONNX file, checked before they are written anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix.export.inputs import InputColumn, input_column
from separatrix.export.onnx.check import (
    Agreement,
    agreement,
    expected,
    runtime,
    table_feeds,
)
from separatrix.export.onnx.rounding import roundings
from separatrix.export.sample_rows import parts_of, sample_matrix, sample_table
from separatrix.rows.schema import Kind, Schema


@dataclass(frozen=True)
class OnnxFile:
    """The bytes of a file, and how its answers compare with those of the model."""

    content: bytes
    agreement: Agreement
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    notes: tuple[str, ...] = ()


def columns_of(model: Any) -> tuple[InputColumn, ...]:
    """The columns of the table that a model reads; none for a model that reads a matrix."""
    for part in parts_of(model):
        schema = _schema_of(part)
        if schema is not None:
            return tuple(input_column(column, schema) for column in schema.columns)
    return ()


def _schema_of(part: Any) -> Schema | None:
    """The schema of a model that was fitted to a table; None for one that was to a matrix."""
    if getattr(part, "from_table_", False):
        found: Schema = part.schema_
        return found
    encoding = vars(part).get("encoding_")
    return None if encoding is None or encoding.is_identity else encoding.schema


def onnx_file(model: Any, *, level: float = 0.95) -> OnnxFile:
    """The file of a fitted model, checked on made-up rows; its bytes are not written anywhere."""
    runtime()
    from separatrix.export.onnx.document import built

    columns = columns_of(model)
    found = built(model, columns, level=level)
    X: Any
    if columns:
        values = sample_table(model, columns)
        X, feeds = as_arrow(columns, values), table_feeds(columns, values)
    else:
        X = sample_matrix(model)
        feeds = {"X": X}
    document = found.document
    return OnnxFile(
        document.SerializeToString(),
        agreement(found, feeds, expected(model, X, level), roundings(model, X)),
        tuple(each.name for each in document.graph.input),
        tuple(each.name for each in document.graph.output),
        found.notes,
    )


def as_arrow(columns: tuple[InputColumn, ...], values: dict[str, Any]) -> Any:
    """Made-up columns as a table: dates and times as such."""
    import pyarrow as pa

    found = {}
    for column in columns:
        array = pa.array(values[column.name], type=_type(column))
        found[column.name] = array
    return pa.table(found)


def _type(column: InputColumn) -> Any:
    import pyarrow as pa

    if column.kind is Kind.DISCRETE:
        return pa.string()
    return pa.bool_() if column.kind is Kind.BOOLEAN else pa.float64()
