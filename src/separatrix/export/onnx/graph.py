"""Graphs of standard ONNX operators in double precision, written as arithmetic of tensors.

A :class:`Value` is a tensor of the graph. Its operators add nodes, so that a formula reads as in
NumPy: ``(x @ coef + intercept).sigmoid()``. Every value has two axes unless it says otherwise:
rows, and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Strings are compared from opset 19 on; onnxruntime reads it since 1.16 (2023).
OPSET, ML_OPSET, IR_VERSION = 19, 3, 9


class Value:
    """A tensor of a graph."""

    __array_ufunc__ = None  # NumPy arrays on the left leave the operation to this class

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def op(self, operator: str, *others: Any, **attributes: Any) -> Value:
        """The node ``operator(self, *others)``."""
        return self.graph.node(operator, self, *others, **attributes)

    def __add__(self, other: Any) -> Value:
        return self.op("Add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self.op("Sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.op("Mul", self._safe_factor(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Value:
        return self.op("Div", self._safe_factor(other))

    def _safe_factor(self, factor: Any) -> Any:
        """A factor as it is, or a column of it.

        onnxruntime fuses a matrix product with one stored factor, which it rounds to single
        precision; it leaves alone what is no constant.
        """
        if isinstance(factor, Value) or np.size(factor) != 1:
            return factor
        number = float(np.ravel(factor)[0])
        exact = not np.isfinite(number) or float(np.float32(number)) == number
        return factor if exact else self.filled(number, 1)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.node("Div", other, self)

    def __matmul__(self, other: Any) -> Value:
        return self.op("MatMul", other)

    def __pow__(self, other: Any) -> Value:
        return self.op("Pow", other)

    def __neg__(self) -> Value:
        return self.op("Neg")

    def __gt__(self, other: Any) -> Value:
        return self.op("Greater", other)

    def __ge__(self, other: Any) -> Value:
        return self.op("GreaterOrEqual", other)

    def __lt__(self, other: Any) -> Value:
        return self.op("Less", other)

    def __le__(self, other: Any) -> Value:
        return self.op("LessOrEqual", other)

    def __and__(self, other: Any) -> Value:
        return self.op("And", other)

    def __or__(self, other: Any) -> Value:
        return self.op("Or", other)

    def __invert__(self) -> Value:
        return self.op("Not")

    def affine(self, matrix: Any, constant: Any) -> Value:
        """Rows times a matrix plus a constant row."""
        product = self.op("MatMul", np.ascontiguousarray(matrix))
        return product.op("Add", np.atleast_2d(constant))

    def equals(self, other: Any) -> Value:
        """Where the entries are equal."""
        return self.op("Equal", other)

    def exp(self) -> Value:
        """e to the power of each entry."""
        return self.op("Exp")

    def log(self) -> Value:
        """Natural logarithms."""
        return self.op("Log")

    def sqrt(self) -> Value:
        """Square roots."""
        return self.op("Sqrt")

    def abs(self) -> Value:
        """Absolute values."""
        return self.op("Abs")

    def square(self) -> Value:
        """Squares."""
        return self.op("Mul", self)

    def sigmoid(self) -> Value:
        """1/(1 + e^−t), with small ones to full relative precision."""
        small = (-self.abs()).exp()
        return (self >= 0.0).where(1.0, small) / (1.0 + small)

    def softmax(self) -> Value:
        """e^s divided by the sums of rows."""
        powers = (self - self.max()).exp()
        return powers / powers.sum()

    def at_least(self, bound: float) -> Value:
        """max(entry, bound)."""
        return self.op("Max", bound)

    def where(self, yes: Any, no: Any) -> Value:
        """``yes`` where this is true, else ``no``."""
        return self.op("Where", yes, no)

    def sum(self, axis: int = 1, *, keepdims: bool = True) -> Value:
        """Sums along an axis, which stays with length 1."""
        return self.op("ReduceSum", integers(axis), keepdims=int(keepdims))

    def max(self, axis: int = 1) -> Value:
        """Largest entries along an axis."""
        return self.op("ReduceMax", integers(axis), keepdims=1)

    def min(self, axis: int = 1) -> Value:
        """Smallest entries along an axis."""
        return self.op("ReduceMin", integers(axis), keepdims=1)

    def argmax(self) -> Value:
        """The first column with the largest entry, as n x 1."""
        return self.op("ArgMax", axis=1, keepdims=1)

    def argmin(self) -> Value:
        """The first column with the smallest entry, as n x 1."""
        return self.op("ArgMin", axis=1, keepdims=1)

    def columns(self, *numbers: int) -> Value:
        """Some columns."""
        return self.op("Gather", integers(*numbers), axis=1)

    def column(self, number: int) -> Value:
        """One column, as n x 1."""
        return self.columns(number)

    def rows(self, start: Any, stop: Any) -> Value:
        """Rows from ``start`` up to ``stop``."""
        return self.op("Slice", start, stop, integers(0))

    def reshape(self, *shape: int) -> Value:
        """The same entries in another shape; −1 once for what follows from the rest."""
        return self.op("Reshape", integers(*shape))

    def flat(self) -> Value:
        """One axis."""
        return self.reshape(-1)

    def unsqueeze(self, *axes: int) -> Value:
        """Axes of length 1 inserted."""
        return self.op("Unsqueeze", integers(*axes))

    def double(self) -> Value:
        """Numbers in double precision; true and false are 1 and 0."""
        return self.op("Cast", to=_elements(np.float64))

    def integers(self) -> Value:
        """Whole numbers."""
        return self.op("Cast", to=_elements(np.int64))

    def transpose(self) -> Value:
        """The matrix with axes exchanged."""
        return self.op("Transpose", perm=[1, 0])

    def filled(self, number: float, width: int) -> Value:
        """``number`` in as many rows as this has, and ``width`` columns."""
        n = self.op("Shape").op("Gather", integers(0), axis=0)
        shape = self.graph.concat([n, self.graph.constant(integers(width))], axis=0)
        return self.graph.constant(np.full((1, 1), number)).op("Expand", shape)


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

    def constant(self, array: Any) -> Value:
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
        return Value(self, name)

    def value(self, given: Any) -> Value:
        """A tensor as it is, anything else as a constant; plain numbers are doubles."""
        if isinstance(given, Value):
            return given
        if isinstance(given, bool):
            return self.constant(np.bool_(given))
        if isinstance(given, int | float):
            return self.constant(np.float64(given))
        return self.constant(given)

    def several(self, operator: str, outputs: int, *inputs: Any, **attributes: Any) -> list[Value]:
        """A node with several outputs."""
        from onnx import helper

        names = [self.value(each).name for each in inputs]
        found = [self.fresh(operator.lower()) for _ in range(outputs)]
        domain = attributes.pop("domain", "")
        self.nodes.append(helper.make_node(operator, names, found, domain=domain, **attributes))
        return [Value(self, name) for name in found]

    def node(self, operator: str, *inputs: Any, **attributes: Any) -> Value:
        """A node with one output."""
        return self.several(operator, 1, *inputs, **attributes)[0]

    def concat(self, values: Sequence[Any], axis: int = 1) -> Value:
        """Values side by side (``axis=1``) or one below another."""
        return values[0] if len(values) == 1 else self.node("Concat", *values, axis=axis)

    def smallest(self, x: Value, k: int, *, largest: bool = False) -> tuple[Value, Value]:
        """The k smallest entries of every row in order, equal ones by column; their columns."""
        values, at = self.several("TopK", 2, x, integers(k), axis=1, largest=int(largest))
        return values, at

    def input(self, name: str, kind: Any, shape: Sequence[Any]) -> Value:
        """An input of the graph."""
        from onnx import helper

        self.inputs.append(helper.make_tensor_value_info(name, _elements(kind), list(shape)))
        return Value(self, name)

    def output(self, name: str, value: Value, kind: Any, shape: Sequence[Any]) -> None:
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
