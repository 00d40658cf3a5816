"""A program as a JSON document: enough to compute the answers in any language.

The format is described in ``docs/guide/export.md``.
"""

from __future__ import annotations

import json
from typing import Any

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
from separatrix.export.program import Output, Program

FORMAT, VERSION = "separatrix export", 1


def json_text(program: Program) -> str:
    """The document as text; numbers are written so that reading them gives the same bits."""
    return json.dumps(document_of(program), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def document_of(program: Program) -> dict[str, Any]:
    """The document as plain values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": program.title,
        "notes": list(program.notes),
        "columns": [_column(column) for column in program.columns],
        "stages": [
            {
                "name": stage.name,
                "definitions": [
                    {"name": one.name, "meaning": one.meaning, "is": plain(one.expression)}
                    for one in stage.definitions
                ],
            }
            for stage in program.stages
        ],
        "refusals": [
            {"where": plain(one.condition), "reason": one.reason} for one in program.refusals
        ],
        "outputs": [_output(output) for output in program.outputs],
    }


def _column(column: InputColumn) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": column.name,
        "kind": str(column.kind),
        "missing_texts": list(column.missing_texts),
        "missing_numbers": list(column.missing_numbers),
    }
    if column.display:
        found["display"] = column.display
    if column.levels:
        found["levels"] = list(column.levels)
        found["unseen"] = column.unseen
    if column.pooled:
        found["pooled"] = column.pooled
    return found


def _output(output: Output) -> dict[str, Any]:
    found = {"name": output.name, "meaning": output.meaning}
    if output.label is not None:
        found["class"] = output.label
    return found | {"is": plain(output.expression)}


_LISTS = {
    Sum: ("sum", "terms"),
    Product: ("product", "factors"),
    Largest: ("largest", "arguments"),
    Smallest: ("smallest", "arguments"),
    All: ("all", "conditions"),
    AnyOf: ("any", "conditions"),
}
_SINGLE = {Exp: "exp", Log: "log", Sqrt: "sqrt", IsMissing: "missing"}


def plain(expression: Expression) -> Any:
    """An expression as nested lists, objects and numbers."""
    if isinstance(expression, Number | Truth):
        return expression.value
    if type(expression) in _LISTS:
        name, field = _LISTS[type(expression)]
        return {name: [plain(one) for one in getattr(expression, field)]}
    if isinstance(expression, Exp | Log | Sqrt | IsMissing):
        return {_SINGLE[type(expression)]: plain(expression.argument)}
    match expression:
        case Text(text):
            return {"text": text}
        case Value(name):
            return {"value": name}
        case RawNumber(column):
            return {"number_in": column}
        case RawLevel(column):
            return {"level_in": column}
        case Quotient(a, b):
            return {"quotient": [plain(a), plain(b)]}
        case Compare(a, operator, b):
            return {"compare": [plain(a), operator, plain(b)]}
        case OneOf(argument, texts):
            return {"one_of": [plain(argument), list(texts)]}
        case Not(condition):
            return {"not": plain(condition)}
        case Filled(argument, fill):
            return {"filled": [plain(argument), plain(fill)]}
        case Case(branches, otherwise):
            pairs = [[plain(one.condition), plain(one.value)] for one in branches]
            return {"case": pairs, "else": plain(otherwise)}
    raise TypeError(f"no expression: {expression!r}")
