"""Graphs of standard ONNX operators in double precision, written as arithmetic of tensors.

A :class:`Value` is a tensor of the graph. Its operators add nodes, so that a formula reads as in
NumPy: ``(x @ coef + intercept).sigmoid()``. Every value has two axes unless it says otherwise:
rows, and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from separatrix.bayes.laplace import _hermite, _logistic_density

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


# -------------------------------------------------------------------------------------------------
# Loops in a graph: over the columns of rows, and over tiles of rows.


def accumulate(
    start: Value, items: Sequence[Value], step: Callable[[Value, list[Value]], Value]
) -> Value:
    """``state = step(state, items[i])`` for i along the first axis of the items."""
    outer = start.graph
    inner = Graph(outer)
    state = inner.input(inner.fresh("state"), np.float64, [None, None])
    each = [inner.input(inner.fresh("item"), np.float64, [None, None]) for _ in items]
    inner.output(inner.fresh("next"), step(state, each), np.float64, [None, None])
    body = inner.body(inner.fresh("step"))
    return outer.several("Scan", 1, start, *items, body=body, num_scan_inputs=len(items))[0]


def by_tiles(
    x: Value, rows: int, work: Callable[[Value], Sequence[tuple[Value, Any]]]
) -> list[Value]:
    """``work`` for at most ``rows`` rows of ``x`` at a time: n x k tensors with their kind.

    What is in memory at a time does not grow with the number of rows. Rows of zeros fill up the
    last tile, and their answers are cut off.
    """
    graph = x.graph
    shape = x.op("Shape")
    n, d = (shape.op("Gather", integers(axis), axis=0) for axis in (0, 1))
    one = graph.constant(integers(1))
    tile = n.op("Min", integers(rows)).op("Max", one)
    count = (n + (tile - one)).op("Div", tile).op("Max", one)
    fill = graph.concat([count * tile - n, d], axis=0)
    zeros = graph.node("Expand", graph.constant(np.zeros((1, 1))), fill)
    padded = graph.concat([x, zeros], axis=0)
    tiles = padded.op("Reshape", graph.concat([count, tile, d], axis=0))
    inner = Graph(graph)
    answers = list(work(inner.input(inner.fresh("tile"), np.float64, [None, None])))
    for value, kind in answers:
        inner.output(inner.fresh("answer"), value, kind, [None, None])
    body = inner.body(inner.fresh("tile_graph"))
    found = graph.several("Scan", len(answers), tiles, body=body, num_scan_inputs=1)
    return [_joined(each).rows(integers(0), n) for each in found]


def _joined(tiles: Value) -> Value:
    """Tiles one below another: (tiles · rows) x columns."""
    width = tiles.op("Shape").op("Gather", integers(2), axis=0)
    graph = tiles.graph
    return tiles.op("Reshape", graph.concat([graph.constant(integers(-1)), width], axis=0))


# -------------------------------------------------------------------------------------------------
# The error function and means of sigmoids under normal distributions, as graphs.
#
# Runtimes lack an error function of double precision. It is computed here from
#
#     erfc(x) = e^(−x²) t C(t),     t = 2/(2 + x),  x ≥ 0
#
# with C a Chebyshev polynomial, whose coefficients are computed when it is first used.


#: Degree of C: its error is below rounding.
DEGREE = 28


@cache
def _coefficients() -> tuple[float, ...]:
    from scipy.special import erfcx

    def scaled(s: Any) -> Any:
        t = np.maximum(0.5 * (s + 1.0), 1e-12)
        return erfcx(2.0 / t - 2.0) / t

    found: Any = chebyshev.chebinterpolate(scaled, DEGREE)
    return tuple(found.tolist())


def complementary_error(x: Value) -> Value:
    """erfc(x) to full relative precision."""
    size = x.abs()
    t = 2.0 / (size + 2.0)
    s = t * 2.0 - 1.0
    last, before = s * 0.0, s * 0.0
    for c in _coefficients()[:0:-1]:  # Clenshaw's recurrence
        last, before = s * 2.0 * last - before + c, last
    series = s * last - before + _coefficients()[0]
    tail = (-size.square()).exp() * t * series
    return (x >= 0.0).where(tail, 2.0 - tail)


def error_function(x: Value) -> Value:
    """erf(x), to rounding of one."""
    return 1.0 - complementary_error(x)


def normal_cdf(z: Value) -> Value:
    """Φ(z) to full relative precision."""
    return complementary_error(z * float(-np.sqrt(0.5))) * 0.5


def mean_sigmoid(mean: Value, variance: Value) -> Value:
    """E σ(f), f ~ N(m, s²), by the quadrature of Bayesian logistic regression (n x 1)."""
    sd = variance.sqrt()
    nodes, weights = _hermite(64)
    narrow = (mean + sd * nodes[None, :]).sigmoid() @ weights[:, None]
    u, slope = _logistic_density()
    wide = (sd > 0.0).where(sd, 1.0)
    tail = normal_cdf((-mean.abs() - u[None, :]) / wide) @ slope[:, None]
    wide_mean = (mean <= 0.0).where(tail, 1.0 - tail)
    return (sd <= 1.0).where(narrow, wide_mean)


def probit_mean(mean: Value, variance: Value) -> Value:
    """σ(m / √(1 + πs²/8))."""
    return (mean / (variance * (np.pi / 8.0) + 1.0).sqrt()).sigmoid()
