"""Graphs of standard ONNX operators in double precision: values of formulas that are tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.arrays import Floats
from separatrix.formula.values import Value

#: Strings are compared from opset 19 on; onnxruntime reads it since 1.16 (2023).
OPSET, ML_OPSET, IR_VERSION = 19, 3, 9


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
