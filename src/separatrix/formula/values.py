"""Values of a formula: columns of numbers for rows, in whatever they are computed.

A :class:`Value` has two axes unless it says otherwise, rows and columns. What a model computes is
written once with its operators, ``(x @ coef + intercept).sigmoid()``, and is then numbers
(:class:`Numbers`), a graph of ONNX, or expressions of one row for SQL, Python and JSON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Self, TypeVar

import numpy as np
from numpy.polynomial import chebyshev

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError
from separatrix.optimize.likelihoods import LARGEST_EXPONENT


class NoFormula(InputError):
    """A model, or a step of one, that cannot be written as it was asked for."""


def rows_of_a_tile(points: int) -> int:
    """How many rows are compared with all stored points at a time: a million pairs, 8 MB."""
    return max(16, (1 << 20) // max(1, points))


class Value(ABC):
    """Columns of numbers, truth values or positions for rows.

    Elementwise operators have the names that ONNX gives them.
    """

    __array_ufunc__ = None  # NumPy arrays on the left leave the operation to this class

    # ---- what every kind of value does in its own way

    @abstractmethod
    def apply(self, operator: str, *others: Any) -> Self:
        """An elementwise operator on this and others, which are broadcast."""

    @abstractmethod
    def constant(self, array: Any) -> Self:
        """A stored array as a value of this kind."""

    @abstractmethod
    def __matmul__(self, other: Any) -> Self:
        """The product with a matrix."""

    @abstractmethod
    def reduce(self, operator: str, axis: int, *, keepdims: bool) -> Self:
        """``Sum``, ``Max``, ``Min``, ``ArgMax`` or ``ArgMin`` along an axis."""

    @abstractmethod
    def columns(self, *numbers: int) -> Self:
        """Some columns."""

    @abstractmethod
    def join(self, others: Iterable[Self]) -> Self:
        """This with others beside it."""

    @abstractmethod
    def reshape(self, *shape: int) -> Self:
        """The same entries in another shape; −1 once for what follows from the rest."""

    @abstractmethod
    def unsqueeze(self, *axes: int) -> Self:
        """Axes of length 1 inserted."""

    @abstractmethod
    def transpose(self, *axes: int) -> Self:
        """The axes in another order."""

    @abstractmethod
    def fill(self, number: float, width: int) -> Self:
        """``number`` in as many rows as this has, and ``width`` columns."""

    @abstractmethod
    def smallest(self, k: int, *, largest: bool = False) -> tuple[Self, Self]:
        """The k smallest entries of every row in order, equal ones by column; their columns."""

    @abstractmethod
    def look_up(self, stored: Any) -> Self:
        """Entries, or rows, of a stored array at these positions."""

    @abstractmethod
    def entries(self, positions: Self) -> Self:
        """The entries of every row at these columns."""

    @abstractmethod
    def cumulative(self, *, reverse: bool = False) -> Self:
        """Running sums of every row, from its end if ``reverse``."""

    @abstractmethod
    def over_columns(
        self, start: Self, stored: Sequence[Floats], step: Callable[[Self, list[Self]], Self]
    ) -> Self:
        """``total = step(total, [xⱼ, aⱼ, …])`` over the columns j of this and of stored m x d."""

    @abstractmethod
    def by_tiles(self, rows: int, work: Callable[[Self], Sequence[Self]]) -> list[Self]:
        """``work`` for at most ``rows`` rows at a time, its answers one below another."""

    def by_function(self, function: Callable[[Floats], Floats], refusal: str) -> Self:  # noqa: ARG002
        """A function of numbers that has no other form: ``refusal`` says why."""
        raise NoFormula(refusal)

    def named(self, stage: str, names: Sequence[str]) -> Self:  # noqa: ARG002
        """This, its columns having names in texts."""
        return self

    # ---- arithmetic

    def __add__(self, other: Any) -> Self:
        return self.apply("Add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        return self.apply("Sub", other)

    def __rsub__(self, other: Any) -> Self:
        return self.constant(other).apply("Sub", self)

    def __mul__(self, other: Any) -> Self:
        return self.apply("Mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Self:
        return self.apply("Div", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self.constant(other).apply("Div", self)

    def __pow__(self, other: float) -> Self:
        return self.apply("Pow", other)

    def __neg__(self) -> Self:
        return self.apply("Neg")

    def __gt__(self, other: Any) -> Self:
        return self.apply("Greater", other)

    def __ge__(self, other: Any) -> Self:
        return self.apply("GreaterOrEqual", other)

    def __lt__(self, other: Any) -> Self:
        return self.apply("Less", other)

    def __le__(self, other: Any) -> Self:
        return self.apply("LessOrEqual", other)

    def __and__(self, other: Any) -> Self:
        return self.apply("And", other)

    def __or__(self, other: Any) -> Self:
        return self.apply("Or", other)

    def __invert__(self) -> Self:
        return self.apply("Not")

    def affine(self, matrix: Any, constant: Any) -> Self:
        """Rows times a matrix plus a constant row."""
        return (self @ np.ascontiguousarray(matrix)).apply("Add", np.atleast_2d(constant))

    def equals(self, other: Any) -> Self:
        """Where the entries are equal."""
        return self.apply("Equal", other)

    def is_missing(self) -> Self:
        """Where an entry is missing: NaN."""
        return self.apply("IsNaN")

    def where(self, yes: Any, no: Any) -> Self:
        """``yes`` where this is true, else ``no``."""
        return self.apply("Where", yes, no)

    def exp(self) -> Self:
        """e to the power of each entry."""
        return self.apply("Exp")

    def bounded_exp(self) -> Self:
        """The same, finite for any entry."""
        return self.at_most(LARGEST_EXPONENT).exp()

    def log(self) -> Self:
        """Natural logarithms."""
        return self.apply("Log")

    def sqrt(self) -> Self:
        """Square roots."""
        return self.apply("Sqrt")

    def abs(self) -> Self:
        """Absolute values."""
        return self.apply("Abs")

    def square(self) -> Self:
        """Squares."""
        return self.apply("Mul", self)

    def at_least(self, bound: Any) -> Self:
        """max(entry, bound)."""
        return self.apply("Max", bound)

    def at_most(self, bound: Any) -> Self:
        """min(entry, bound)."""
        return self.apply("Min", bound)

    def double(self) -> Self:
        """True and false as 1 and 0, positions as numbers."""
        return self.apply("Double")

    def integers(self) -> Self:
        """Positions: true and false as 1 and 0."""
        return self.apply("Integers")

    # ---- rows and columns

    def column(self, number: int) -> Self:
        """One column, as n x 1."""
        return self.columns(number)

    def sum(self, axis: int = 1, *, keepdims: bool = True) -> Self:
        """Sums along an axis, which stays with length 1."""
        return self.reduce("Sum", axis, keepdims=keepdims)

    def max(self, axis: int = 1) -> Self:
        """Largest entries along an axis."""
        return self.reduce("Max", axis, keepdims=True)

    def min(self, axis: int = 1) -> Self:
        """Smallest entries along an axis."""
        return self.reduce("Min", axis, keepdims=True)

    def any(self) -> Self:
        """Whether one entry of a row is true (n x 1)."""
        return self.double().max() > 0.5

    def argmax(self) -> Self:
        """The first column with the largest entry, as n x 1."""
        return self.reduce("ArgMax", 1, keepdims=True)

    def argmin(self) -> Self:
        """The first column with the smallest entry, as n x 1."""
        return self.reduce("ArgMin", 1, keepdims=True)

    def flat(self) -> Self:
        """One axis."""
        return self.reshape(-1)

    def length(self) -> Self:
        """Euclidean lengths of the rows."""
        return self.square().sum().sqrt()

    # ---- functions that models share, without overflow and to full relative precision

    def sigmoid(self) -> Self:
        """1/(1 + e^−t), with small ones to full relative precision."""
        small = (-self.abs()).exp()
        return (self >= 0.0).where(1.0, small) / (small + 1.0)

    def two_sigmoids(self) -> Self:
        """1/(1 + eᵗ) and 1/(1 + e^−t) of a single column: a small one has all of its digits."""
        small = (-self.abs()).exp().named("odds", ["odds"])
        whole = small + 1.0
        larger = (1.0 / whole).named("sides", ["larger probability"])
        smaller = (small / whole).named("sides", ["smaller probability"])
        positive = self >= 0.0
        return positive.where(smaller, larger).join([positive.where(larger, smaller)])

    def softmax(self) -> Self:
        """e^s divided by the sums of rows."""
        largest = self.max().named("largest", ["largest score"])
        powers = (self - largest).exp()
        return powers / powers.sum().named("odds total", ["odds total"])

    def log_sigmoid(self) -> Self:
        """log 1/(1 + e^−t)."""
        return self.at_most(0.0) - (-self.abs()).exp().log_one_plus()

    def log_one_plus(self) -> Self:
        """log(1 + t) for t ≥ 0 to full precision: log(u) t/(u − 1) with u = 1 + t."""
        u = self + 1.0
        exact = u.equals(1.0)
        safe = exact.where(2.0, u)
        return exact.where(self, safe.log() * self / (safe - 1.0))

    def log_odds(self) -> Self:
        """log p/(1 − p), finite where p is 0 or 1."""
        p = self.at_least(np.finfo(float).tiny).at_most(1.0 - np.finfo(float).epsneg)
        return (p / (1.0 - p)).log()

    def normalized(self, k: int) -> Self:
        """Rows divided by their sums; 1/k where all entries are zero."""
        total = self.sum()
        positive = total > 0.0
        return positive.where(self / positive.where(total, 1.0), 1.0 / k)

    def interpolate(self, ends: Floats, values: Floats, slope: Floats) -> Self:
        """Linear from end to end of a single column, constant beyond the first and the last."""
        reached = (self >= ends[None, :]).double().sum().at_least(1.0).integers()
        at = reached - np.ones((1, 1), dtype=np.int64)
        inner = (self - at.look_up(ends)) * at.look_up(slope) + at.look_up(values)
        return (self < float(ends[0])).where(float(values[0]), inner)

    def power(self, exponent: float) -> Self:
        """Entries to a power; whole ones by repeated squaring."""
        if not float(exponent).is_integer() or exponent < 1:
            return self**exponent
        left, base, product = int(exponent), self, None
        while left:
            if left & 1:
                product = base if product is None else product * base
            left >>= 1
            if left:
                base = base.square()
        assert product is not None
        return product

    def complementary_error(self) -> Self:
        """erfc(t) to full relative precision.

        Runtimes lack an error function of double precision. It is computed from
        erfc(t) = e^(−t²) u C(u) with u = 2/(2 + t), t ≥ 0, and C a Chebyshev polynomial.
        """
        size = self.abs()
        u = 2.0 / (size + 2.0)
        s = u * 2.0 - 1.0
        last, before = s * 0.0, s * 0.0
        for c in _error_coefficients()[:0:-1]:  # Clenshaw's recurrence
            last, before = s * 2.0 * last - before + c, last
        series = s * last - before + _error_coefficients()[0]
        tail = (-size.square()).exp() * u * series
        return (self >= 0.0).where(tail, 2.0 - tail)

    def error_function(self) -> Self:
        """erf(t), to rounding of one."""
        return 1.0 - self.complementary_error()

    def normal_cdf(self) -> Self:
        """Φ(t) to full relative precision."""
        return (self * float(-np.sqrt(0.5))).complementary_error() * 0.5


@cache
def _error_coefficients() -> tuple[float, ...]:
    from scipy.special import erfcx

    def scale(s: Any) -> Any:
        t = np.maximum(0.5 * (s + 1.0), 1e-12)
        return erfcx(2.0 / t - 2.0) / t

    coefficients: Any = chebyshev.chebinterpolate(scale, 28)  # its error is below rounding
    return tuple(coefficients.tolist())


V = TypeVar("V", bound=Value)


def concat(values: Sequence[V]) -> V:
    """Values side by side."""
    return values[0] if len(values) == 1 else values[0].join(values[1:])


# -------------------------------------------------------------------------------------------------
# Values that are arrays of entries: numbers, or anything else that a row can have.


class ArrayValue(Value):
    """A value whose entries are those of an array; subclasses say how entries are computed."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    @abstractmethod
    def of(self, array: NDArray[Any]) -> Self:
        """A value with these entries."""

    def constant(self, array: Any) -> Self:
        """A stored array."""
        return array if isinstance(array, type(self)) else self.of(np.asarray(array))

    def columns(self, *numbers: int) -> Self:
        """Some columns."""
        return self.of(self.array[:, list(numbers)])

    def join(self, others: Iterable[Self]) -> Self:
        """This with others beside it."""
        arrays = [self.array, *(other.array for other in others)]
        n = max(len(array) for array in arrays)
        wide = [np.broadcast_to(a, (n, *a.shape[1:])) for a in arrays]
        return self.of(np.concatenate(wide, axis=1))

    def reshape(self, *shape: int) -> Self:
        """The same entries in another shape."""
        return self.of(self.array.reshape(shape))

    def unsqueeze(self, *axes: int) -> Self:
        """Axes of length 1 inserted."""
        return self.of(np.expand_dims(self.array, axes))

    def transpose(self, *axes: int) -> Self:
        """The axes in another order."""
        return self.of(self.array.transpose(axes))

    def fill(self, number: float, width: int) -> Self:
        """``number`` everywhere."""
        return self.constant(np.full((len(self.array), width), number))

    def over_columns(
        self, start: Self, stored: Sequence[Floats], step: Callable[[Self, list[Self]], Self]
    ) -> Self:
        """The columns one after another."""
        total = start
        for j in range(self.array.shape[1]):
            total = step(total, [self.columns(j), *(self.constant(a[None, :, j]) for a in stored)])
        return total


class Numbers(ArrayValue):
    """Numbers themselves."""

    def of(self, array: NDArray[Any]) -> Numbers:
        """A value with these entries."""
        return Numbers(array)

    def by_function(self, function: Callable[[Floats], Floats], refusal: str) -> Numbers:  # noqa: ARG002
        """As it is."""
        return Numbers(function(self.array))

    def apply(self, operator: str, *others: Any) -> Numbers:
        """The function of NumPy."""
        with np.errstate(all="ignore"):
            return Numbers(_FUNCTIONS[operator](self.array, *(_plain(other) for other in others)))

    def __matmul__(self, other: Any) -> Numbers:
        return Numbers(self.array @ _plain(other))

    def reduce(self, operator: str, axis: int, *, keepdims: bool) -> Numbers:
        """The reduction of NumPy."""
        return Numbers(_REDUCTIONS[operator](self.array, axis=axis, keepdims=keepdims))

    def smallest(self, k: int, *, largest: bool = False) -> tuple[Numbers, Numbers]:
        """By a stable sort."""
        order = np.argsort(-self.array if largest else self.array, axis=1, kind="stable")[:, :k]
        return Numbers(np.take_along_axis(self.array, order, axis=1)), Numbers(order)

    def look_up(self, stored: Any) -> Numbers:
        """By position."""
        return Numbers(np.asarray(stored)[self.array])

    def entries(self, positions: Numbers) -> Numbers:
        """By position in every row."""
        return Numbers(np.take_along_axis(self.array, positions.array, axis=1))

    def cumulative(self, *, reverse: bool = False) -> Numbers:
        """Running sums."""
        step = -1 if reverse else 1
        return Numbers(np.cumsum(self.array[:, ::step], axis=1)[:, ::step])

    def by_tiles(self, rows: int, work: Callable[[Numbers], Sequence[Numbers]]) -> list[Numbers]:
        """One tile after another."""
        starts = range(0, max(1, len(self.array)), rows)
        parts = [work(Numbers(self.array[start : start + rows])) for start in starts]
        return [
            Numbers(np.concatenate([one.array for one in each]))
            for each in zip(*parts, strict=True)
        ]


def _plain(other: Any) -> Any:
    return other.array if isinstance(other, Numbers) else other


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "Neg": np.negative,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Equal": np.equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Not": np.logical_not,
    "IsNaN": np.isnan,
    "Where": np.where,
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Abs": np.abs,
    "Max": np.maximum,
    "Min": np.minimum,
    "Tanh": np.tanh,
    "Sin": np.sin,
    "Cos": np.cos,
    "Floor": np.floor,
    "Double": lambda x: np.asarray(x, dtype=np.float64),
    "Integers": lambda x: np.asarray(x, dtype=np.int64),
}
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "Sum": np.sum,
    "Max": np.max,
    "Min": np.min,
    "ArgMax": np.argmax,
    "ArgMin": np.argmin,
}
