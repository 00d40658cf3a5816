"""A fitted model as an ONNX file: inputs, the graph, outputs, and what the file says of itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.export.inputs import InputColumn
from separatrix.export.onnx.answers import Answer, Classes, PredictedNumbers, label_kind
from separatrix.export.onnx.converters import convert
from separatrix.export.onnx.graph import IR_VERSION, ML_OPSET, OPSET, Graph, Value
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows, GraphTable, Matrix

#: Bytes that a file of this format may have: lengths are numbers of 31 bits.
MOST_BYTES = 2**31 - 2**20


@dataclass(frozen=True)
class Built:
    """A model file, and the tensor inside of it whose largest entry, or sign, decides labels."""

    document: Any
    decided_by: str | None = None
    by_sign: bool = False
    notes: tuple[str, ...] = ()


def built(model: Any, columns: tuple[InputColumn, ...] = (), *, level: float = 0.95) -> Built:
    """The valid model file: one input for each of the ``columns``, or a matrix ``X`` without any.

    ``level`` is that of intervals.
    """
    graph = Graph()
    source: GraphRows
    if columns:
        source = GraphTable(graph, columns)
    else:
        source = Matrix(graph.input("X", np.float64, ["N", int(model.n_features_in_)]))
    source.level = level
    answer = convert(model, source)
    _outputs(graph, answer, source.invalid, level)
    document = _document(graph, _metadata(model, answer, columns, level))
    if isinstance(answer, Classes) and answer.decided_by is not None:
        return Built(document, answer.decided_by.name, answer.by_sign, answer.notes)
    return Built(document, notes=answer.notes)


def _metadata(
    model: Any, answer: Answer, columns: tuple[InputColumn, ...], level: float
) -> dict[str, str]:
    """What the file says of itself, as JSON texts by key."""
    found: dict[str, Any] = {"model": type(model).__name__}
    if isinstance(answer, Classes):
        found["classes"] = answer.labels.tolist()
    if _has_level(answer):
        found["level"] = level
    names = getattr(model, "feature_names_in_", None)
    if columns:
        found["columns"] = [
            {"name": c.name, "kind": str(c.kind), "levels": list(c.levels), "display": c.display}
            for c in columns
        ]
    elif names is not None:
        found["columns"] = [{"name": str(name), "kind": "numeric"} for name in names]
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in found.items()
    }


def _has_level(answer: Answer) -> bool:
    """Whether intervals or sets are part of the answer."""
    if isinstance(answer, Classes):
        return answer.members is not None
    return answer.deviation is not None or answer.interval is not None


def _document(graph: Graph, metadata: dict[str, str]) -> Any:
    import onnx
    from onnx import helper

    from separatrix import __version__

    size = sum(len(one.raw_data) for one in graph.initializers)
    if size > MOST_BYTES:
        raise GraphRefused(
            f"The numbers of this model take {size / 1e9:.1f} GB, and an ONNX file holds 2 GB."
        )
    body = helper.make_graph(
        graph.nodes, "separatrix", graph.inputs, graph.outputs, graph.initializers
    )
    found = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="separatrix",
        producer_version=__version__,
        doc_string=f"{metadata['model']} fitted by separatrix; double precision.",
    )
    helper.set_model_props(found, metadata)
    onnx.checker.check_model(found, full_check=True)
    return found


def _outputs(graph: Graph, answer: Answer, invalid: list[Value], level: float) -> None:
    """Give the answer as outputs; marked rows are NaN, and have a label out of range."""
    refused = None
    for each in invalid:
        refused = each if refused is None else refused | each
    if isinstance(answer, Classes):
        _class_outputs(graph, answer, refused)
    else:
        _number_outputs(graph, answer, refused, level)


def _number_outputs(
    graph: Graph, answer: PredictedNumbers, refused: Value | None, level: float
) -> None:
    shape: list[Any] = ["N"] if answer.flat else ["N", None]

    def give(name: str, value: Value) -> None:
        value = value if refused is None else refused.where(np.nan, value)
        graph.output(name, value.flat() if answer.flat else value, np.float64, shape)

    give("prediction", answer.mean)
    ends = answer.interval
    if answer.deviation is not None:
        give("standard_deviation", answer.deviation)
        ends = answer.mean + answer.deviation * _reach(level) if answer.flat else None
    if ends is not None:
        ends = ends if refused is None else refused.where(np.nan, ends)
        graph.output("interval", ends, np.float64, ["N", 2])


def _reach(level: float) -> Any:
    """Ends of a central interval of the standard normal distribution."""
    from scipy.special import ndtri

    end = float(ndtri(0.5 + 0.5 * level))
    return np.array([[-end, end]])


def _class_outputs(graph: Graph, answer: Classes, refused: Value | None) -> None:
    kind = label_kind(answer.labels)
    stored = answer.labels if kind is str else answer.labels.astype(kind)
    chosen, beyond = answer.chosen, np.full((1, 1), len(answer.labels), dtype=np.int64)
    if refused is not None:
        chosen = refused.where(beyond, chosen)
    label = graph.constant(stored).op("Gather", chosen.flat(), axis=0)
    graph.output("prediction", label, kind, ["N"])
    for name, value in (("probabilities", answer.probabilities), ("scores", answer.scores)):
        if value is not None:
            graph.output(name, value, np.float64, ["N", None])
    if answer.distance is not None:
        graph.output("distance", answer.distance.flat(), np.float64, ["N"])
    if answer.members is not None:
        graph.output("set", answer.members, np.bool_, ["N", None])
