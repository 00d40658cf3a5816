"""A fitted model as an ONNX file: inputs, the graph, outputs, and what the file says of itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.formula import nodes
from separatrix.formula.inputs import DesignTerm, InputColumn, Inputs
from separatrix.formula.values import NoFormula, Value
from separatrix.rows.schema import Kind, Term


@dataclass(frozen=True)
class Built:
    """A model file, and the tensor inside of it whose largest entry, or sign, decides labels."""

    document: Any
    decided_by: str | None = None
    by_sign: bool = False
    notes: tuple[str, ...] = ()


def build_graph(model: Any, columns: tuple[InputColumn, ...] = (), *, level: float = 0.95) -> Built:
    """The valid model file: one input for each of the ``columns``, or a matrix ``X`` without any.

    ``level`` is that of intervals.
    """
    graph = Graph()
    rows: nodes.RowSource
    if columns:
        rows = GraphTable(graph, columns)
    else:
        rows = nodes.MatrixRows(graph.input("X", np.float64, ["N", int(model.n_features_in_)]))
    formula = nodes.formula_of(model)
    decided_by = _outputs(graph, formula, nodes.Evaluation(rows, level))
    document = _document(graph, _metadata(model, formula, columns, level))
    by_sign = isinstance(formula, nodes.ClassFormula) and formula.by_sign
    return Built(document, decided_by, by_sign, formula.notes)


def _metadata(
    model: Any, formula: nodes.Formula, columns: tuple[InputColumn, ...], level: float
) -> dict[str, str]:
    """What the file says of itself, as JSON texts by key."""
    entries: dict[str, Any] = {"model": type(model).__name__}
    if isinstance(formula, nodes.ClassFormula):
        entries["classes"] = formula.labels.tolist()
    if _has_level(formula):
        entries["level"] = level
    names = getattr(model, "feature_names_in_", None)
    if columns:
        entries["columns"] = [
            {"name": c.name, "kind": str(c.kind), "levels": list(c.levels), "display": c.display}
            for c in columns
        ]
    elif names is not None:
        entries["columns"] = [{"name": str(name), "kind": "numeric"} for name in names]
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in entries.items()
    }


def _has_level(formula: nodes.Formula) -> bool:
    """Whether intervals or sets are part of the answer."""
    if isinstance(formula, nodes.ClassFormula):
        return formula.members is not None
    return formula.deviation is not None or formula.interval is not None


def _document(graph: Graph, metadata: dict[str, str]) -> Any:
    import onnx
    from onnx import helper

    from separatrix import __version__

    size = sum(len(initializer.raw_data) for initializer in graph.initializers)
    if size > 2**31 - 2**20:  # lengths are numbers of 31 bits, and the rest takes little
        raise NoFormula(
            f"The numbers of this model take {size / 1e9:.1f} GB, and an ONNX file holds 2 GB."
        )
    body = helper.make_graph(
        graph.nodes, "separatrix", graph.inputs, graph.outputs, graph.initializers
    )
    # strings are compared from opset 19 on; onnxruntime reads it since 1.16 (2023)
    file = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", 19), helper.make_opsetid("ai.onnx.ml", 3)],
        ir_version=9,
        producer_name="separatrix",
        producer_version=__version__,
        doc_string=f"{metadata['model']} fitted by separatrix; double precision.",
    )
    helper.set_model_props(file, metadata)
    onnx.checker.check_model(file, full_check=True)
    return file


def _outputs(graph: Graph, formula: nodes.Formula, of: nodes.Evaluation) -> str | None:
    """Give the answer as outputs; marked rows are NaN, and have a label out of range.

    The name of the tensor that decides labels, if any.
    """
    if isinstance(formula, nodes.NumberFormula):
        _number_outputs(graph, formula, of)
        return None
    _class_outputs(graph, formula, of)
    return None if formula.decided_by is None else str(of(formula.decided_by).name)


def _refusal_of(of: nodes.Evaluation) -> GraphValue | None:
    """The rows that are refused, after all that reads columns was computed."""
    refused: GraphValue | None = None
    for each in of.rows.invalid:
        refused = each if refused is None else refused | each
    return refused


def _number_outputs(graph: Graph, formula: nodes.NumberFormula, of: nodes.Evaluation) -> None:
    shape: list[Any] = ["N"] if formula.flat else ["N", None]
    mean = of(formula.mean)
    deviation = None if formula.deviation is None else of(formula.deviation)
    ends = None if formula.interval is None else of(formula.interval)
    refused = _refusal_of(of)

    def give(name: str, value: GraphValue) -> None:
        value = value if refused is None else refused.where(np.nan, value)
        graph.output(name, value.flat() if formula.flat else value, np.float64, shape)

    give("prediction", mean)
    if deviation is not None:
        give("standard_deviation", deviation)
        ends = mean + deviation * _reach(of.level) if formula.flat else None
    if ends is not None:
        ends = ends if refused is None else refused.where(np.nan, ends)
        graph.output("interval", ends, np.float64, ["N", 2])


def _reach(level: float) -> Any:
    """Ends of a central interval of the standard normal distribution."""
    from scipy.special import ndtri

    end = float(ndtri(0.5 + 0.5 * level))
    return np.array([[-end, end]])


def _class_outputs(graph: Graph, formula: nodes.ClassFormula, of: nodes.Evaluation) -> None:
    kind = label_kind(formula.labels)
    stored = formula.labels if kind is str else formula.labels.astype(kind)
    chosen, beyond = of(formula.chosen), np.full((1, 1), len(formula.labels), dtype=np.int64)
    refused = _refusal_of(of)
    if refused is not None:
        chosen = refused.where(beyond, chosen)
    graph.output("prediction", chosen.flat().look_up(stored), kind, ["N"])
    for name, node in (("probabilities", formula.probabilities), ("scores", formula.scores)):
        if node is not None:
            graph.output(name, of(node), np.float64, ["N", None])
    if formula.distance is not None:
        graph.output("distance", of(formula.distance).flat(), np.float64, ["N"])
    if formula.members is not None:
        graph.output("set", of(formula.members), np.bool_, ["N", None])


def label_kind(labels: NDArray[Any]) -> Any:
    """The element type of predicted labels: whole numbers, numbers, or text."""
    kind = labels.dtype.kind
    if kind in "iub":
        return np.int64
    if kind == "f":
        return np.float64
    if all(isinstance(label, str) for label in labels.tolist()):
        return str
    raise NoFormula("Classes of several types, or of none that ONNX knows, have no tensor.")


# -------------------------------------------------------------------------------------------------
# The columns of a table as inputs, and the designs that models encode them to.
#
# A graph cannot refuse a row in words. Rows that the model refuses are marked as invalid: their
# numbers are NaN, and their labels are out of range, which is an error of the runtime.


class GraphTable:
    """Columns of a table by name: n x 1 of numbers (NaN is missing) or of text (empty is)."""

    def __init__(self, graph: Graph, columns: tuple[InputColumn, ...]) -> None:
        self.invalid: list[GraphValue] = []
        self.graph = graph
        self.columns = {column.name: column for column in columns}
        self.values: dict[str, GraphValue] = {}
        for column in columns:
            kind = str if column.kind is Kind.DISCRETE else np.float64
            self.values[column.name] = graph.input(input_name(column.name), kind, ["N", 1])
        self._designs: dict[Inputs, GraphValue] = {}
        self._lacking: dict[str, GraphValue] = {}

    def design(self, node: nodes.EncodedColumns) -> GraphValue:
        """Terms in the order of the design."""
        inputs = node.inputs
        if inputs not in self._designs:
            for column in inputs.columns:
                self._refuse(column)
            self._designs[inputs] = self._order(inputs.terms)
        return self._designs[inputs]

    def levels(self, node: nodes.RawTerms) -> tuple[GraphValue, GraphValue]:
        """Values and indicators of levels, 0 where a value is missing; and 1 where there is one."""
        values, there = [], []
        for name in dict.fromkeys(term.column for term in node.terms):
            column = self.columns[name]
            self._refuse(column)
            levels = [t.level for t in node.terms if t.column == name and t.level is not None]
            value = self._is(column, levels).double() if levels else self.values[name]
            lacking = self.lacking(column)
            values.append(lacking.where(0.0, value))
            there += [(~lacking).double()] * max(1, len(levels))
        return self.graph.concat(values), self.graph.concat(there)

    def _order(self, terms: tuple[DesignTerm, ...]) -> GraphValue:
        """Blocks of columns side by side, then in the order of the terms."""
        blocks: list[GraphValue] = []
        at: dict[Term, int] = {}
        for name in dict.fromkeys(term.column for term in terms):
            own = [term for term in terms if term.column == name]
            levels = [term.level for term in own if term.level is not None]
            if levels:
                at |= {Term(name, level): len(at) + i for i, level in enumerate(levels)}
                blocks.append(self._is(self.columns[name], levels).double())
            for term in own:
                if term.level is None:
                    at[Term(name, missing=term.missing)] = len(at)
                    blocks.append(self._plain(self.columns[name], term))
        joined = self.graph.concat(blocks)
        order = [at[Term(term.column, term.level, term.missing)] for term in terms]
        return joined if order == sorted(order) else joined.columns(*order)

    def _plain(self, column: InputColumn, term: DesignTerm) -> GraphValue:
        if term.missing:
            return self.lacking(column).double()
        value = self.values[column.name]
        return self.lacking(column).where(float(term.fill), value)

    def _is(self, column: InputColumn, levels: list[str]) -> GraphValue:
        """Whether the text is each of the levels (n x L)."""
        if column.pooled in levels:
            named = [level for level in levels if level != column.pooled]
            rest = ~(self._known(column) | self._empty(column))
            joined = self.graph.concat([self._is(column, named), rest])
            return joined.columns(*([*named, column.pooled].index(level) for level in levels))
        spellings, value = column.spellings, self.values[column.name]
        is_level = value.equals(np.array([levels], dtype=object))
        others = [spellings[level][-1] for level in levels]
        if others == levels:
            return is_level
        return is_level | value.equals(np.array([others], dtype=object))

    def lacking(self, column: InputColumn) -> GraphValue:
        """Where the value is missing; a level that training did not have may be taken for that."""
        if column.name not in self._lacking:
            self._lacking[column.name] = self._missing(column)
        return self._lacking[column.name]

    def _missing(self, column: InputColumn) -> GraphValue:
        value = self.values[column.name]
        if column.kind is Kind.DISCRETE:
            if column.unseen == "missing":
                return ~self._known(column)
            return self._empty(column)
        missing = value.is_missing()
        for number in column.missing_numbers:
            missing = missing | value.equals(float(number))
        return missing

    def _known(self, column: InputColumn) -> GraphValue:
        return self._is(column, list(column.levels)).any()

    def _empty(self, column: InputColumn) -> GraphValue:
        texts = np.array([["", *column.missing_texts]], dtype=object)
        return self.values[column.name].equals(texts).any()

    def _refuse(self, column: InputColumn) -> None:
        """Mark the rows that the model refuses for this column."""
        if column.kind is Kind.DISCRETE and column.unseen == "error":
            self.invalid.append(~(self._known(column) | self._empty(column)))
        if column.refuses_missing:
            self.invalid.append(self.lacking(column))


#: Names of outputs, which no input may have.
OUTPUTS = (
    "prediction", "probabilities", "scores", "standard_deviation", "interval", "distance", "set",
)  # fmt: skip


def input_name(column: str) -> str:
    """The name of a column's input: its own unless an output has it."""
    return f"{column} (input)" if column in OUTPUTS else column


# -------------------------------------------------------------------------------------------------
# Values of formulas that are tensors: graphs of standard operators in double precision.


class GraphValue(Value):
    """A tensor of a graph."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def op(self, operator: str, *others: Any, **attributes: Any) -> GraphValue:
        """The node ``operator(self, *others)``."""
        return self.graph.node(operator, self, *others, **attributes)

    def apply(self, operator: str, *others: Any) -> GraphValue:
        """The node of this operator."""
        if operator == "Double":
            return self.op("Cast", to=_elements(np.float64))
        if operator == "Integers":
            return self.op("Cast", to=_elements(np.int64))
        if operator in ("Mul", "Div"):
            others = tuple(self._safe_factor(other) for other in others)
        return self.op(operator, *others)

    def _safe_factor(self, factor: Any) -> Any:
        """A factor as it is, or a column of it.

        onnxruntime fuses a matrix product with one stored factor, which it rounds to single
        precision; it leaves alone what is not a constant.
        """
        if isinstance(factor, Value) or np.size(factor) != 1:
            return factor
        number = float(np.ravel(factor)[0])
        exact = not np.isfinite(number) or float(np.float32(number)) == number
        return factor if exact else self.fill(number, 1)

    def constant(self, array: Any) -> GraphValue:
        """A stored array."""
        return self.graph.value(array)

    def __matmul__(self, other: Any) -> GraphValue:
        stored = other if isinstance(other, Value) else np.ascontiguousarray(other)
        return self.op("MatMul", stored)

    def reduce(self, operator: str, axis: int, *, keepdims: bool) -> GraphValue:
        """A reduction along an axis."""
        if operator.startswith("Arg"):
            return self.op(operator, axis=axis, keepdims=int(keepdims))
        return self.op(f"Reduce{operator}", integers(axis), keepdims=int(keepdims))

    def columns(self, *numbers: int) -> GraphValue:
        """Some columns."""
        return self.op("Gather", integers(*numbers), axis=1)

    def join(self, others: Iterable[GraphValue]) -> GraphValue:
        """This with others beside it."""
        return self.graph.concat([self, *others])

    def rows(self, start: Any, stop: Any) -> GraphValue:
        """Rows from ``start`` up to ``stop``."""
        return self.op("Slice", start, stop, integers(0))

    def reshape(self, *shape: int) -> GraphValue:
        """The same entries in another shape."""
        return self.op("Reshape", integers(*shape))

    def unsqueeze(self, *axes: int) -> GraphValue:
        """Axes of length 1 inserted."""
        return self.op("Unsqueeze", integers(*axes))

    def transpose(self, *axes: int) -> GraphValue:
        """The axes in another order."""
        return self.op("Transpose", perm=list(axes))

    def fill(self, number: float, width: int) -> GraphValue:
        """``number`` in as many rows as this has, and ``width`` columns."""
        n = self.op("Shape").op("Gather", integers(0), axis=0)
        shape = self.graph.concat([n, self.graph.constant(integers(width))], axis=0)
        return self.graph.constant(np.full((1, 1), number)).op("Expand", shape)

    def smallest(self, k: int, *, largest: bool = False) -> tuple[GraphValue, GraphValue]:
        """Of equal ones the first."""
        values, at = self.graph.several("TopK", 2, self, integers(k), axis=1, largest=int(largest))
        return values, at

    def look_up(self, stored: Any) -> GraphValue:
        """Entries, or rows, of a stored array."""
        return self.graph.value(np.asarray(stored)).op("Gather", self, axis=0)

    def entries(self, positions: GraphValue) -> GraphValue:
        """The entries of every row at these columns."""
        return self.op("GatherElements", positions, axis=1)

    def cumulative(self, *, reverse: bool = False) -> GraphValue:
        """Running sums of every row."""
        return self.op("CumSum", np.array(1), reverse=int(reverse))

    def over_columns(
        self,
        start: GraphValue,
        stored: Sequence[Floats],
        step: Callable[[GraphValue, list[GraphValue]], GraphValue],
    ) -> GraphValue:
        """A loop in the graph: no more than one number for each pair is in memory."""
        if not stored[0].shape[1]:
            return start
        items = [self.transpose(1, 0).unsqueeze(2)]
        items += [self.constant(np.ascontiguousarray(a.T[:, None, :])) for a in stored]
        inner = Graph(self.graph)
        state = inner.input(inner.fresh("state"), np.float64, [None, None])
        each = [inner.input(inner.fresh("item"), np.float64, [None, None]) for _ in items]
        inner.output(inner.fresh("next"), step(state, each), np.float64, [None, None])
        body = inner.body(inner.fresh("step"))
        return self.graph.several("Scan", 1, start, *items, body=body, num_scan_inputs=len(items))[
            0
        ]

    def by_tiles(
        self, rows: int, work: Callable[[GraphValue], Sequence[GraphValue]]
    ) -> list[GraphValue]:
        """What is in memory at a time does not grow with the number of rows.

        Rows of zeros fill up the last tile, and their answers are cut off.
        """
        graph = self.graph
        shape = self.op("Shape")
        n, d = (shape.op("Gather", integers(axis), axis=0) for axis in (0, 1))
        unit = graph.constant(integers(1))
        tile = n.op("Min", integers(rows)).op("Max", unit)
        count = (n + (tile - unit)).op("Div", tile).op("Max", unit)
        fill = graph.concat([count * tile - n, d], axis=0)
        zeros = graph.node("Expand", graph.constant(np.zeros((1, 1))), fill)
        padded = graph.concat([self, zeros], axis=0)
        tiles = padded.op("Reshape", graph.concat([count, tile, d], axis=0))
        inner = Graph(graph)
        answers = list(work(inner.input(inner.fresh("tile"), np.float64, [None, None])))
        for value in answers:
            inner.output(inner.fresh("answer"), value, np.float64, [None, None])
        body = inner.body(inner.fresh("tile_graph"))
        graph_values = graph.several("Scan", len(answers), tiles, body=body, num_scan_inputs=1)
        return [_join_tiles(each).rows(integers(0), n) for each in graph_values]


class Graph:
    """A graph under construction; a body inside a loop has a ``parent`` and shares its constants.

    Constants are stored once however often they are used.
    """

    def __init__(self, parent: Graph | None = None) -> None:
        self.root: Graph = self if parent is None else parent.root
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        if parent is None:
            self.initializers: list[Any] = []
            self._constants: dict[tuple[Any, ...], str] = {}
            self._count = 0

    def fresh(self, stem: str) -> str:
        """A name that occurs nowhere else."""
        self.root._count += 1
        return f"sx:{stem}:{self.root._count}"

    def constant(self, array: Any) -> GraphValue:
        """A stored array; plain numbers are doubles."""
        from onnx import helper, numpy_helper

        a = np.asarray(array)
        if a.dtype.kind in "fiub" and a.dtype != np.int64 and a.dtype != np.bool_:
            a = a.astype(np.float64)
        strings = a.dtype.kind in "OUS"
        texts = [str(text).encode() for text in a.ravel().tolist()] if strings else []
        key = ("O" if strings else a.dtype.kind, a.shape, tuple(texts) if strings else a.tobytes())
        name = self.root._constants.get(key)
        if name is None:
            name = self.fresh("constant")
            if strings:
                tensor = helper.make_tensor(name, _elements("string"), a.shape, texts)
            else:
                tensor = numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name)
            self.root.initializers.append(tensor)
            self.root._constants[key] = name
        return GraphValue(self, name)

    def value(self, given: Any) -> GraphValue:
        """A tensor as it is, anything else as a constant; plain numbers are doubles."""
        if isinstance(given, GraphValue):
            return given
        if isinstance(given, bool):
            return self.constant(np.bool_(given))
        if isinstance(given, int | float):
            return self.constant(np.float64(given))
        return self.constant(given)

    def several(
        self, operator: str, outputs: int, *inputs: Any, **attributes: Any
    ) -> list[GraphValue]:
        """A node with several outputs."""
        from onnx import helper

        names = [self.value(each).name for each in inputs]
        found = [self.fresh(operator.lower()) for _ in range(outputs)]
        domain = attributes.pop("domain", "")
        self.nodes.append(helper.make_node(operator, names, found, domain=domain, **attributes))
        return [GraphValue(self, name) for name in found]

    def node(self, operator: str, *inputs: Any, **attributes: Any) -> GraphValue:
        """A node with one output."""
        return self.several(operator, 1, *inputs, **attributes)[0]

    def concat(self, values: Sequence[Any], axis: int = 1) -> GraphValue:
        """Values side by side (``axis=1``) or one below another."""
        return values[0] if len(values) == 1 else self.node("Concat", *values, axis=axis)

    def input(self, name: str, kind: Any, shape: Sequence[Any]) -> GraphValue:
        """An input of the graph."""
        from onnx import helper

        self.inputs.append(helper.make_tensor_value_info(name, _elements(kind), list(shape)))
        return GraphValue(self, name)

    def output(self, name: str, value: GraphValue, kind: Any, shape: Sequence[Any]) -> None:
        """Give a value as an output of the graph."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, _elements(kind), list(shape)))

    def body(self, name: str) -> Any:
        """This graph as the body of a loop."""
        from onnx import helper

        return helper.make_graph(self.nodes, name, self.inputs, self.outputs)


def integers(*numbers: int) -> NDArray[np.int64]:
    """Whole numbers as ONNX takes axes, shapes and positions."""
    return np.array(numbers, dtype=np.int64)


def _elements(kind: Any) -> int:
    """The number of an element type in ONNX."""
    from onnx import TensorProto, helper

    if kind in ("string", str):
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(kind)))


def _join_tiles(tiles: GraphValue) -> GraphValue:
    """Tiles one below another: (tiles · rows) x columns."""
    width = tiles.op("Shape").op("Gather", integers(2), axis=0)
    graph = tiles.graph
    return tiles.op("Reshape", graph.concat([graph.constant(integers(-1)), width], axis=0))
