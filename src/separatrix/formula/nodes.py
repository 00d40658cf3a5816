"""The kinds of nodes that say what a model computes for a row, and the answers they end in.

A node holds fitted arrays and the nodes before it, and says in ``compute`` what it makes of their
values (:mod:`separatrix.formula.values`): numbers, a graph, or expressions of one row. Estimators
return the formula of what they predict; whoever writes, draws or explains a model reads the formula
and never the class. Families whose formula has a step of its own define that node beside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.formula.distances import (
    by_differences,
    metric_formula,
    pairwise_distances,
    squares_by_products,
)
from separatrix.formula.inputs import InputColumn, Inputs, input_column, inputs_of
from separatrix.formula.kernels import dense, kernel_diagonal, kernel_values
from separatrix.formula.values import NoFormula, Numbers, Value, concat, rows_of_a_tile
from separatrix.geometry.class_scores import DiagonalScores, LinearScores, ProjectedScores
from separatrix.rows.rows import target_names
from separatrix.rows.schema import Schema, Terms, n_items, to_array


class RowSource(Protocol):
    """New rows: what the first nodes of a formula read."""

    #: Rows that the model refuses, each a column of truth values.
    invalid: list[Any]

    def design(self, node: EncodedColumns) -> Any:
        """The numbers that a model computes with (n x d)."""

    def levels(self, node: RawTerms) -> tuple[Any, Any]:
        """Terms with nothing filled in, 0 where a value is missing; and 1 where there is one."""


class Evaluation:
    """The values of nodes for some rows, each computed once; ``level`` is that of intervals."""

    def __init__(self, rows: RowSource, level: float = 0.95) -> None:
        self.rows = rows
        self.level = level
        self._known: dict[int, tuple[Node, Any]] = {}
        self._inside: dict[int, Evaluation] = {}

    def __call__(self, node: Node) -> Any:
        """The value of a node."""
        known = self._known.get(id(node))
        if known is None:
            value = node.compute(self)
            if node.names:
                value = value.named(node.stage, node.names)
            known = self._known[id(node)] = (node, value)  # the node stays, and so does its id
        return known[1]

    def inside(self, rows: Node) -> Evaluation:
        """The evaluation of a formula at computed rows: one for all of its nodes."""
        if id(rows) not in self._inside:
            inner = Evaluation(MatrixRows(self(rows), self.rows.invalid), self.level)
            self._inside[id(rows)] = inner
        return self._inside[id(rows)]


@dataclass(frozen=True, eq=False)
class Node(ABC):
    """A step of a formula: columns of values for every row. ``names`` are those of its columns."""

    names: tuple[str, ...] = field(default=(), kw_only=True)
    #: The heading under which texts define the columns.
    stage: ClassVar[str] = "steps"

    @abstractmethod
    def compute(self, of: Evaluation) -> Any:
        """The value, from those of other nodes: ``of(node)``."""

    def stored_points(self) -> int:
        """How many stored points this compares a row with."""
        return 0

    def typical_points(self) -> Floats | None:
        """Points (m x d) among which the rows of ``x`` were in training, where this knows any."""
        return None


# -------------------------------------------------------------------------------------------------
# Rows: columns of a table or a matrix, encoded.


@dataclass(frozen=True, eq=False)
class EncodedColumns(Node):
    """The numbers that a model computes with: columns encoded, missing values filled.

    ``read`` makes them of rows as users give them, ``inputs`` say the same in plain words.
    """

    inputs: Inputs
    read: Callable[[Any], Any]
    is_table: bool
    missing_ok: bool = False
    stage: ClassVar[str] = "design"

    def compute(self, of: Evaluation) -> Any:
        """What the rows hold."""
        return of.rows.design(self)


def design_of(model: Any) -> EncodedColumns:
    """The design of a fitted model."""
    missing_ok = bool(getattr(model, "_missing_ok", False))
    encoding = vars(model).get("encoding_")
    is_table = encoding is not None and not encoding.is_identity
    if missing_ok and is_table:
        raise NoFormula("A metric that skips missing values of a table has no export.")
    return EncodedColumns(inputs_of(model), model._design, is_table, missing_ok)


@dataclass(frozen=True, eq=False)
class RawTerms(Node):
    """Values and indicators of levels without anything filled in, and beside them what is there."""

    schema: Schema
    terms: Terms
    read: Callable[[Any], tuple[Floats, Floats]]
    is_table: bool

    @cached_property
    def columns(self) -> tuple[InputColumn, ...]:
        """The columns; a matrix has codes, and all others are levels of their own."""
        read = [input_column(column, self.schema) for column in self.schema.columns]
        if self.is_table:
            return tuple(read)
        return tuple(InputColumn(c.name, c.kind, c.levels, unseen="zeros") for c in read)

    def compute(self, of: Evaluation) -> Any:
        """Terms, and as many marks."""
        return concat(of.rows.levels(self))


class GivenRows:
    """Rows as users give them, for numbers."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.invalid: list[Any] = []

    def design(self, node: EncodedColumns) -> Numbers:
        """By the model's own encoding."""
        return Numbers(np.asarray(to_array(node.read(self.X)), dtype=np.float64))

    def levels(self, node: RawTerms) -> tuple[Numbers, Numbers]:
        """By the model's own encoding."""
        x, there = node.read(self.X)
        return Numbers(x), Numbers(there)


class MatrixRows:
    """A matrix of numbers ``x``; missing values are filled where training knew what with."""

    def __init__(self, x: Any, invalid: list[Any] | None = None) -> None:
        self.x = x
        self.invalid: list[Any] = [] if invalid is None else invalid
        self._filled: dict[Inputs, Any] = {}

    def design(self, node: EncodedColumns) -> Any:
        """The matrix itself, or with missing values filled."""
        if node.missing_ok:
            return self.x
        if node.inputs not in self._filled:
            self._filled[node.inputs] = self._complete(node.inputs)
        return self._filled[node.inputs]

    def _complete(self, inputs: Inputs) -> Any:
        missing = self.x.is_missing()
        if all(column.refuses_missing for column in inputs.columns):
            if inputs.columns:
                self.invalid.append(missing.any())
            return self.x
        return missing.where(np.array([[term.fill for term in inputs.terms]]), self.x)

    def levels(self, node: RawTerms) -> tuple[Any, Any]:
        """A column for each number, and for each level of a column of codes."""
        values, there = [], []
        names = list(node.schema.names)
        for term in node.terms:
            column = self.x.column(names.index(term.column))
            missing = column.is_missing()
            value = column if term.level is None else column.equals(float(term.level)).double()
            values.append(missing.where(0.0, value))
            there.append((~missing).double())
        return concat(values), concat(there)


@dataclass(frozen=True, eq=False)
class At(Node):
    """A node of another formula, at computed rows in place of those given."""

    rows: Node
    then: Node

    def compute(self, of: Evaluation) -> Any:
        """The same nodes at the same rows share what they compute."""
        return of.inside(self.rows)(self.then)


@dataclass(frozen=True, eq=False)
class ComputedRows(Node):
    """The rows of an inner formula themselves."""

    def compute(self, of: Evaluation) -> Any:
        """As they are."""
        assert isinstance(of.rows, MatrixRows)
        return of.rows.x


# -------------------------------------------------------------------------------------------------
# Sums and products of columns.


@dataclass(frozen=True, eq=False)
class Constants(Node):
    """The same numbers for every row."""

    x: Node
    numbers: Floats
    stage: ClassVar[str] = "scores"

    def compute(self, of: Evaluation) -> Any:
        """A row of numbers below another."""
        return of(self.x).fill(0.0, len(self.numbers)) + self.numbers[None, :]


@dataclass(frozen=True, eq=False)
class Standardization(Node):
    """(x − center) · factor, column by column."""

    x: Node
    center: Floats
    factor: Floats
    stage: ClassVar[str] = "standardized"

    def typical_points(self) -> Floats:
        """A standard deviation below and above the mean."""
        center, factor = np.ravel(self.center), np.ravel(self.factor)
        spread = np.where(factor > 0.0, 1.0 / np.where(factor > 0.0, factor, 1.0), 0.0)
        return np.stack([center - spread, center + spread])

    def compute(self, of: Evaluation) -> Any:
        """By column."""
        return (of(self.x) - np.atleast_2d(self.center)) * np.atleast_2d(self.factor)


def standardize_rows(standardizer: Any, x: Node) -> Node:
    """Rows as a model takes them, which may standardize them."""
    if standardizer is None:
        return x
    return Standardization(x, standardizer.mean, standardizer.inverse_scale)


@dataclass(frozen=True, eq=False)
class Affine(Node):
    """(x − center) M + constant, M with a column for each output."""

    x: Node
    matrix: Floats
    constant: Any = 0.0
    center: Floats | None = None
    stage: ClassVar[str] = "scores"

    def typical_points(self) -> Floats | None:
        """The center."""
        return None if self.center is None else np.atleast_2d(self.center)

    def compute(self, of: Evaluation) -> Any:
        """A matrix product."""
        x = of(self.x)
        if self.center is not None and np.any(self.center):
            x = x - np.atleast_2d(self.center)
        constant = np.broadcast_to(np.atleast_2d(self.constant), (1, self.matrix.shape[1]))
        return x.affine(self.matrix, constant)


def hyperplanes(model: Any, names: Sequence[str] = ()) -> Affine:
    """coef·x + intercept of a model with ``coef_`` and ``intercept_``."""
    coef = np.atleast_2d(np.asarray(to_array(model.coef_), dtype=np.float64))
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    return Affine(design_of(model), coef.T, intercept, names=tuple(names))


def difference(x: Node, names: Sequence[str] = ()) -> Affine:
    """The second column less the first."""
    return Affine(x, np.array([[-1.0], [1.0]]), names=tuple(names))


@dataclass(frozen=True, eq=False)
class Columns(Node):
    """Some of the columns."""

    x: Node
    numbers: tuple[int, ...]

    def compute(self, of: Evaluation) -> Any:
        """By position."""
        return of(self.x).columns(*self.numbers)


@dataclass(frozen=True, eq=False)
class Joined(Node):
    """Columns of several nodes side by side."""

    parts: tuple[Node, ...]

    def compute(self, of: Evaluation) -> Any:
        """In order."""
        return concat([of(part) for part in self.parts])


@dataclass(frozen=True, eq=False)
class WeightedSum(Node):
    """Σ aₘ of the nodes."""

    parts: tuple[Node, ...]
    weights: Floats
    stage: ClassVar[str] = "average"

    def compute(self, of: Evaluation) -> Any:
        """Term by term, without those of weight zero."""
        pairs = zip(self.parts, self.weights.tolist(), strict=True)
        terms = [of(part) * a for part, a in pairs if a] or [of(self.parts[0]) * 0.0]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total


@dataclass(frozen=True, eq=False)
class Ratio(Node):
    """Columns divided by one column; ``otherwise`` where that is zero."""

    x: Node
    divisor: Node
    otherwise: Any = 0.0

    def compute(self, of: Evaluation) -> Any:
        """Row by row."""
        total = of(self.divisor)
        some = total > 0.0
        return some.where(of(self.x) / some.where(total, 1.0), self.otherwise)


@dataclass(frozen=True, eq=False)
class PolynomialTerms(Node):
    """Products of Chebyshev polynomials, or powers, of (x − center)/scale: a column each."""

    x: Node
    center: Floats
    scale: Floats
    exponents: NDArray[np.int64]
    chebyshev: bool

    def typical_points(self) -> Floats:
        """The ends of the range that is mapped to −1 … 1."""
        return np.stack([self.center - self.scale, self.center + self.scale])

    def compute(self, of: Evaluation) -> Any:
        """Each product from an earlier one."""
        t = (of(self.x) - self.center[None, :]) / self.scale[None, :]
        powers = []
        for j, degree in enumerate(self.exponents.max(axis=0, initial=0).tolist()):
            column = t.column(j)
            chain = [column.fill(1.0, 1), column]
            for _ in range(2, degree + 1):
                higher = column * 2.0 * chain[-1] - chain[-2] if self.chebyshev else None
                chain.append(column * chain[-1] if higher is None else higher)
            powers.append(chain)
        terms: dict[tuple[int, ...], Value] = {}
        for exponent in self.exponents:
            last = int(np.flatnonzero(exponent)[-1])
            rest = exponent.copy()
            rest[last] = 0
            factor = powers[last][int(exponent[last])]
            before = terms.get(tuple(rest.tolist()))
            terms[tuple(exponent.tolist())] = factor if before is None else before * factor
        return concat(list(terms.values()))


@dataclass(frozen=True, eq=False)
class Barycentric(Node):
    """The polynomial through ``values`` at ``points``: Σ vⱼ yⱼ/(x − xⱼ) / Σ vⱼ/(x − xⱼ).

    Beyond the points both sums cancel, and also between them unless these are ``stable``: there it
    is ∏ (x − xⱼ) Σ vⱼ yⱼ/(x − xⱼ), differences in units of a quarter of the range and ``log_size``
    the logarithm of the largest weight in these.
    """

    x: Node
    points: Floats
    weights: Floats
    log_size: float
    values: Floats
    stable: bool

    def stored_points(self) -> int:
        """The points."""
        return len(self.points)

    def typical_points(self) -> Floats:
        """The points."""
        return self.points[:, None]

    def compute(self, of: Evaluation) -> Any:
        """So many rows at a time as differences fit into a tile."""
        return of(self.x).by_tiles(rows_of_a_tile(len(self.points)), lambda x: [self.part(x)])[0]

    def part(self, x: Value) -> Value:
        """The values for some of the rows, relative to the middle of the targets."""
        first, last = float(self.points[0]), float(self.points[-1])
        if len(self.points) == 1:
            return x.fill(0.0, self.values.shape[1]) + self.values
        middle = (self.values.min(axis=0) + self.values.max(axis=0)) / 2.0
        difference = (x - self.points[None, :]) * (4.0 / (last - first))
        hit = difference.equals(0.0)
        near = hit.where(1.0, difference)
        terms = self.weights[None, :] / near
        sums = terms @ (self.values - middle)
        size = (near.abs().log().sum() + self.log_size).exp()
        steps = np.where(np.arange(len(self.points))[::-1] % 2, 2.0, -2.0)
        sign = (x < self.points[None, :]).double() @ steps[:, None] + 1.0  # that of ∏ (x − xⱼ)
        result = sums.equals(0.0).where(0.0, sums * size) * sign
        if self.stable:
            beyond = (x < first) | (x > last)
            result = beyond.where(result, sums / beyond.where(1.0, terms.sum()))
        return hit.any().where(hit.double() @ self.values, result + middle[None, :])


@dataclass(frozen=True, eq=False)
class Basis(Node):
    """Powers, products, cosines, jumps and sigmoids of columns, and Gaussian functions of rows."""

    x: Node
    functions: tuple[Any, ...]

    def compute(self, of: Evaluation) -> Any:
        """One function after another."""
        return concat([self._term(of(self.x), one) for one in self.functions])

    def _term(self, x: Value, function: Any) -> Value:
        """One function of the rows, by the functions that it is made of."""
        name, given = function.func.__name__, function.args
        if name == "_product":
            used, exponent = given
            columns = [x.column(j) for j in used.tolist() for _ in range(int(exponent[j]))]
            product = columns[0]
            for column in columns[1:]:
                product = product * column
            return product
        if name == "_gaussian":
            center, rate = given
            total: Value = x.column(0) * 0.0
            for j in np.flatnonzero(rate).tolist():
                total = total + ((x.column(j) - float(center[j])) * float(rate[j])).power(2.0)
            return (total * -0.5).exp()
        j, inner = given
        kind = getattr(getattr(inner, "func", None), "__name__", "")
        if kind == "_cosine":
            return (x.column(j) * float(inner.args[0])).apply("Cos")
        if kind == "_below":
            return (x.column(j) < float(inner.args[0])).double()
        if kind == "_sigmoid":
            return ((x.column(j) - float(inner.args[0])) * float(inner.args[1])).sigmoid()
        raise NoFormula("A function of one's own in a basis expansion has no export.")


# -------------------------------------------------------------------------------------------------
# Spread of predictive distributions.


@dataclass(frozen=True, eq=False)
class PosteriorDeviation(Node):
    """√(added + Σᵣ vᵣ (u·Vᵣ)² + rest ‖u − V Vᵀu‖²): noise, and a normal posterior."""

    u: Node
    directions: Floats
    variances: Floats
    rest: float
    added: float
    stage: ClassVar[str] = "deviations"

    def compute(self, of: Evaluation) -> Any:
        """By direction."""
        u = of(self.u)
        inner = (u @ self.directions).named("directions", ["direction"])
        variance = inner.square() @ self.variances[:, None]
        if self.rest:
            left = u - inner @ self.directions.T
            variance = variance + left.square().sum() * self.rest
        return (variance + self.added).sqrt()


@dataclass(frozen=True, eq=False)
class MixtureDeviation(Node):
    """√Σₘ aₘ (sₘ² + (ŷₘ − ŷ)²) of a mixture with mean ŷ."""

    means: Node
    deviations: Node
    weights: Floats
    stage: ClassVar[str] = "deviations"

    def compute(self, of: Evaluation) -> Any:
        """From the means and deviations of the models."""
        means, weights = of(self.means), self.weights[:, None]
        spread = of(self.deviations).square() + (means - means @ weights).square()
        return (spread @ weights).sqrt()


# -------------------------------------------------------------------------------------------------
# Normal class densities: oₖ + (x − c)·wₖ, or oₖ − ½ ‖(x − c) Aₖ − mₖ‖².


@dataclass(frozen=True, eq=False)
class QuadraticForms(Node):
    """oₖ − ½ ‖(x − c) Aₖ − mₖ‖² of every class k."""

    x: Node
    center: Floats
    maps: Floats
    means: Floats
    offset: Floats
    stage: ClassVar[str] = "scores"

    def typical_points(self) -> Floats:
        """The center."""
        return np.atleast_2d(self.center)

    def compute(self, of: Evaluation) -> Any:
        """All maps at once."""
        k, _, r = self.maps.shape
        maps, means = np.concatenate(list(self.maps), axis=1), self.means.reshape(1, k * r)
        z = (of(self.x) - np.atleast_2d(self.center)).affine(maps, -means)
        square = z.reshape(-1, k, r).square().sum(2, keepdims=False)
        return square * -0.5 + self.offset[None, :]


@dataclass(frozen=True, eq=False)
class DiagonalForms(Node):
    """oₖ − ½ Σⱼ ((xⱼ − μₖⱼ) aₖⱼ)² of every class k."""

    x: Node
    means: Floats
    scale: Floats
    offset: Floats
    stage: ClassVar[str] = "scores"

    def typical_points(self) -> Floats:
        """The means of the classes."""
        return self.means

    def compute(self, of: Evaluation) -> Any:
        """Column by column."""
        x = of(self.x)

        def add(total: Value, at: list[Value]) -> Value:
            return total + ((at[0] - at[1]) * at[2]).square()

        start = x.fill(0.0, len(self.means))
        square = x.over_columns(start, [self.means, self.scale], add)
        return square * -0.5 + self.offset[None, :]


def density_scores(scores: Any, x: Node, names: Sequence[str] = ()) -> Node:
    """ln P(k) + ln p(x | k) up to what classes share (n x K)."""
    known = tuple(names)
    if isinstance(scores, LinearScores):
        return Affine(x, scores.coef.T, scores.offset, np.ravel(scores.center), names=known)
    if isinstance(scores, DiagonalScores):
        return DiagonalForms(x, scores.means, scores.scale, scores.offset, names=known)
    if isinstance(scores, ProjectedScores):
        projected = tuple(f"projection {i + 1}" for i in range(scores.projection.shape[1]))
        center = np.ravel(scores.center)
        x = Affine(x, scores.projection, 0.0, center, names=projected)
        return density_scores(scores.inner, x, names)
    center = np.ravel(scores.center)
    return QuadraticForms(x, center, scores.maps, scores.means, scores.offset, names=known)


# -------------------------------------------------------------------------------------------------
# Functions of scores: probabilities, calibration, coupling of pairs.


@dataclass(frozen=True, eq=False)
class Probabilities(Node):
    """Sigmoids of ``one`` score for two classes; softmax of several."""

    scores: Node
    one: bool
    stage: ClassVar[str] = "probabilities"

    def compute(self, of: Evaluation) -> Any:
        """By the number of columns."""
        scores = of(self.scores)
        return scores.two_sigmoids() if self.one else scores.softmax()


@dataclass(frozen=True, eq=False)
class Elementwise(Node):
    """A function of every entry: ``sigmoid``, ``log_odds``, ``bounded_exp`` and so on."""

    x: Node
    function: str

    def compute(self, of: Evaluation) -> Any:
        """By name."""
        return getattr(of(self.x), self.function)()


@dataclass(frozen=True, eq=False)
class BoundedLog(Node):
    """Logarithms of entries, those below ``least`` taken as that."""

    x: Node
    least: float

    def compute(self, of: Evaluation) -> Any:
        """Finite where an entry is zero."""
        return of(self.x).at_least(self.least).log()


@dataclass(frozen=True, eq=False)
class Piecewise(Node):
    """Constant pieces of a column, linear in between, constant beyond the first and the last."""

    x: Node
    low: Floats
    high: Floats
    value: Floats
    stage: ClassVar[str] = "calibrated"

    def compute(self, of: Evaluation) -> Any:
        """By the number of ends that are reached."""
        score = of(self.x)
        ends = np.stack([self.low, self.high], axis=1).ravel()
        values = np.repeat(self.value, 2)
        gaps = np.diff(ends)
        slope = np.where(gaps > 0.0, np.diff(values) / np.where(gaps > 0.0, gaps, 1.0), 0.0)
        return score.interpolate(ends, values, np.append(slope, 0.0))


@dataclass(frozen=True, eq=False)
class Proportions(Node):
    """Rows divided by their sums; equal parts where all entries are zero."""

    x: Node
    k: int
    stage: ClassVar[str] = "probabilities"

    def compute(self, of: Evaluation) -> Any:
        """Row by row."""
        return of(self.x).normalized(self.k)


@dataclass(frozen=True, eq=False)
class LogNormalized(Node):
    """Logarithms of softmax."""

    x: Node
    stage: ClassVar[str] = "scores"

    def compute(self, of: Evaluation) -> Any:
        """Relative to the largest."""
        x = of(self.x)
        shifted = x - x.max()
        return shifted - shifted.exp().sum().log()


@dataclass(frozen=True, eq=False)
class LinearLimits(Node):
    """x·cₖ + constantₖ of every class k, where infinite coefficients decide first.

    Classes that the most negative infinite terms exclude have −∞, and 0 · ∞ is 0. ``excluding``
    (d x K) are the signs of infinite terms, and ``always`` what is added to their sums.
    """

    x: Node
    coef: Floats
    constant: Floats
    excluding: Floats
    always: Floats
    stage: ClassVar[str] = "scores"

    def compute(self, of: Evaluation) -> Any:
        """By counts of infinite terms."""
        x = of(self.x)
        scores = x.affine(self.coef.T, self.constant)
        if not (self.excluding.any() or self.always.any()):
            return scores
        terms = x.affine(self.excluding, self.always)
        never = np.isneginf(self.constant)[None, :]
        possible = x.constant(never).where(np.inf, terms) if never.any() else terms
        return (terms > possible.min()).where(-np.inf, scores)


@dataclass(frozen=True, eq=False)
class TwoColumns(Node):
    """1 − p and p."""

    second: Node
    stage: ClassVar[str] = "probabilities"

    def compute(self, of: Evaluation) -> Any:
        """Side by side."""
        p = of(self.second)
        return concat([1.0 - p, p])


def calibrate_scores(maps: Sequence[Any], scores: Node, labels: Any) -> Node:
    """Probabilities of two classes from one score, or of several, divided by their sum."""
    names, k = probability_names(labels), len(labels)
    if k == 2:
        return TwoColumns(maps[0].formula(scores), names=names)
    each = tuple(one.formula(Columns(scores, (j,))) for j, one in enumerate(maps))
    return Proportions(Joined(each), k, names=names)


def probabilities(scores: Node, labels: Any) -> Node:
    """Logistic probabilities: sigmoids of the score of two classes, or softmax."""
    return Probabilities(scores, one=len(labels) == 2, names=probability_names(labels))


def decision_scores(formula: ClassFormula) -> Node:
    """One score of the second of two classes, or one of each, as calibrations take them."""
    k, p = len(formula.labels), formula.probabilities
    if p is not None and (k > 2 or formula.scores is None):
        return Elementwise(Columns(p, (1,)) if k == 2 else p, "log_odds")
    assert formula.scores is not None
    return formula.scores


def second_probability(formula: ClassFormula) -> Node:
    """The probability of the second of two classes."""
    assert formula.probabilities is not None
    return Columns(formula.probabilities, (1,))


def pairs_of(k: int) -> tuple[Floats, Floats]:
    """Indicators of the first and of the second class of every pair i < j (pairs x K)."""
    first, second = (list(one) for one in zip(*combinations(range(k), 2), strict=True))
    eye = np.eye(k)
    return eye[first], eye[second]


#: Probabilities of pairs of classes stay this far from 0 and 1, as in libsvm, or none could couple.
LEAST_OF_PAIRS = 1e-7


@dataclass(frozen=True, eq=False)
class Coupled(Node):
    """Class probabilities from the log odds of pairs i < j, positive for j.

    p is the minimum of a quadratic form Q with Σ p = 1, so that (Q + 11ᵀ) p is proportional to 1.
    The matrix is positive definite; sweeping its columns one by one gives minus its inverse.
    """

    odds: Node
    k: int
    stage: ClassVar[str] = "probabilities"

    def compute(self, of: Evaluation) -> Any:
        """By sweeps."""
        k = self.k
        second = of(self.odds).sigmoid().at_least(LEAST_OF_PAIRS).at_most(1.0 - LEAST_OF_PAIRS)
        first = 1.0 - second
        pairs = list(combinations(range(k), 2))
        to_upper, to_lower = np.zeros((len(pairs), k * k)), np.zeros((len(pairs), k * k))
        for at, (i, j) in enumerate(pairs):
            to_upper[at, i * k + j] = 1.0
            to_lower[at, j * k + i] = 1.0
        r = (first @ to_upper + second @ to_lower).reshape(-1, k, k)
        eye = np.eye(k)
        a = r.square().sum(1) * eye - r * r.transpose(0, 2, 1) + 1.0
        for j in range(k):
            unit = eye[:, j : j + 1]
            column = a @ unit
            pivot = column.transpose(0, 2, 1) @ unit
            shifted = column - unit
            product = shifted @ shifted.transpose(0, 2, 1)
            a = a - product / pivot - 2.0 * unit * unit.T
        p = (-a.sum(2, keepdims=False)).at_least(0.0)
        return p / p.sum()


@dataclass(frozen=True, eq=False)
class CoupledScores(Node):
    """log pₖ of every class from scores of pairs i < j, positive for i: odds are e^(slope·score).

    Scores count up to ``most``.
    """

    scores: Node
    k: int
    slope: float
    most: float
    stage: ClassVar[str] = "scores"

    def compute(self, of: Evaluation) -> Any:
        """Sums of the odds against a class."""
        first, second = pairs_of(self.k)
        scores = of(self.scores).at_least(-self.most).at_most(self.most)
        odds = (scores * -self.slope).exp()
        return -(odds @ first + (1.0 / odds) @ second).log_one_plus()


@dataclass(frozen=True, eq=False)
class Votes(Node):
    """Votes of pairs i < j: for i where the score is positive (or zero), else for j.

    With ``break_ties`` sums of scores decide between classes of as many votes.
    """

    scores: Node
    k: int
    zero_is_first: bool
    break_ties: bool
    stage: ClassVar[str] = "votes"

    def compute(self, of: Evaluation) -> Any:
        """Sums over the pairs of a class."""
        scores = of(self.scores)
        i, j = pairs_of(self.k)
        won = (scores >= 0.0 if self.zero_is_first else scores > 0.0).double()
        votes = won @ i + (1.0 - won) @ j
        if not self.break_ties:
            return votes
        total = scores @ (i - j)
        return votes + total / ((total.abs() + 1.0) * 3.0)


# -------------------------------------------------------------------------------------------------
# Stored points: kernel sums over centers, distances, votes and means of neighbors.


@dataclass(frozen=True, eq=False)
class KernelSum(Node):
    """Σⱼ aⱼ κ(zⱼ, x) + b of every function; of a precomputed kernel the columns j."""

    x: Node
    kernel: Any
    centers: Any
    weights: Floats
    intercept: Floats
    stage: ClassVar[str] = "scores"

    def stored_points(self) -> int:
        """The centers."""
        return n_items(self.centers)

    def typical_points(self) -> Floats | None:
        """The centers, unless they are numbers of columns."""
        return None if type(self.kernel).__name__ == "Precomputed" else dense(self.centers)

    def compute(self, of: Evaluation) -> Any:
        """So many rows at a time as kernel values fit into a tile."""
        x, b = of(self.x), np.atleast_2d(self.intercept)
        m = n_items(self.centers)
        if m == 0:
            return x.fill(0.0, 1) + b

        def work(part: Value) -> list[Value]:
            return [self.values(part).affine(self.weights, b)]

        return x.by_tiles(rows_of_a_tile(m), work)[0]

    def values(self, x: Value) -> Value:
        """κ of rows with all centers (n x m)."""
        if type(self.kernel).__name__ == "Precomputed":
            return x.columns(*(int(c) for c in self.centers))
        return kernel_values(self.kernel, x, dense(self.centers))


def kernel_sum(expansion: Any, x: Node, names: Sequence[str] = ()) -> KernelSum:
    """The formula of a kernel expansion."""
    refuse_objects(expansion.kernel)
    return KernelSum(
        x,
        expansion.kernel,
        expansion.centers,
        expansion.weights,
        expansion.intercept,
        names=tuple(names),
    )


def refuse_objects(kernel: Any) -> None:
    """Refuse a kernel of strings, sets, graphs, …"""
    if not kernel.of_vectors and type(kernel).__name__ != "Precomputed":
        raise NoFormula(f"The kernel {kernel} compares objects, and a formula has numbers only.")


@dataclass(frozen=True, eq=False)
class StoredPoints(Node):
    """Anything that compares rows ``x`` with stored points, dense or sparse."""

    x: Node
    points: Any

    @cached_property
    def rows(self) -> Floats:
        """The points (m x d)."""
        return dense(self.points)

    def stored_points(self) -> int:
        """All of them."""
        return n_items(self.points)

    def typical_points(self) -> Floats:
        """The points."""
        return self.rows


@dataclass(frozen=True, eq=False)
class Distances(StoredPoints):
    """Distances to stored points (n x m)."""

    metric: Any
    stage: ClassVar[str] = "distances"

    def compute(self, of: Evaluation) -> Any:
        """By the metric."""
        return pairwise_distances(self.metric, of(self.x), self.rows)


@dataclass(frozen=True, eq=False)
class NearestCenter(Node):
    """The distance to the nearest of centers, whose position is ``chosen``, from their squares."""

    squares: Distances
    chosen: Node
    stage: ClassVar[str] = "distances"

    def compute(self, of: Evaluation) -> Any:
        """From differences, which do not cancel."""
        centers = self.squares.rows
        if by_differences(centers):
            return of(self.squares).min().sqrt()
        own = of(self.chosen).flat().look_up(centers)
        return (of(self.squares.x) - own).length()


@dataclass(frozen=True, eq=False)
class KernelClusters(StoredPoints):
    """Squared distances in feature space to centroids, or mean distances to members.

    Centroids have the squared norms ``norms``; members the kernel values ``diagonal`` with
    themselves. ``weights`` (m x K) are those of the points in their clusters.
    """

    kernel: Any
    weights: Floats
    norms: Floats | None
    diagonal: Floats
    stage: ClassVar[str] = "distances"

    def compute(self, of: Evaluation) -> Any:
        """So many rows at a time as kernel values fit into a tile."""

        def work(part: Value) -> list[Value]:
            values = kernel_values(self.kernel, part, self.rows)
            if self.norms is not None:
                return [self.norms[None, :] - (values @ self.weights) * 2.0]
            own = kernel_diagonal(self.kernel, part)
            square = (own - values * 2.0 + self.diagonal[None, :]).at_least(0.0)
            return [square.sqrt() @ self.weights]

        return of(self.x).by_tiles(rows_of_a_tile(len(self.rows)), work)[0]


@dataclass(frozen=True, eq=False)
class Exemplars(StoredPoints):
    """Weighted sums of the targets of stored points (n x t), and their weights.

    The columns are Σ wⱼ tⱼ for each target, Σ wⱼ, and how many points of equal weight these are.
    ``weights`` says how a weight follows from a distance, ``sample_weight`` are those of points.
    """

    metric: Any
    weights: Any
    sample_weight: Floats
    targets: Floats

    @abstractmethod
    def part(self, x: Value) -> Value:
        """The columns for some of the rows."""

    def compute(self, of: Evaluation) -> Any:
        """So many rows at a time as distances fit into a tile."""
        m, d = self.rows.shape
        wide = m if by_differences(self.rows) else m + 64 * d
        x = of(self.x)
        return x.by_tiles(rows_of_a_tile(wide), lambda part: [self.part(part)])[0]

    @cached_property
    def sums(self) -> Columns:
        """Σ wⱼ tⱼ."""
        return Columns(self, tuple(range(self.targets.shape[1])))

    @cached_property
    def total(self) -> Columns:
        """Σ wⱼ."""
        return Columns(self, (self.targets.shape[1],))


@dataclass(frozen=True, eq=False)
class SmoothedVotes(Node):
    """(m p + s/K)/(m + s): proportions p of m neighbors of equal weight beside s of every class."""

    near: Exemplars
    k: int
    s: float
    stage: ClassVar[str] = "probabilities"

    def compute(self, of: Evaluation) -> Any:
        """Row by row."""
        sums, total, m = of(self.near.sums), of(self.near.total), of(self.near).column(self.k + 1)
        return (m * (sums / total) + self.s / self.k) / (m + self.s)


@dataclass(frozen=True, eq=False)
class Nearest(Exemplars):
    """The k nearest points; of equally near ones the first."""

    k: float

    def part(self, x: Value) -> Value:
        """The columns for some of the rows."""
        _, at, weights, effective = self.neighbors(x)
        sums = [(at.look_up(np.ascontiguousarray(t)) * weights).sum() for t in self.targets.T]
        return concat([*sums, weights.sum(), effective])

    def neighbors(self, x: Value) -> tuple[Value, Value, Value, Value]:
        """Distances, positions and weights of the nearest, and how many of equal weight it is."""
        distances, at = self._nearest(x)
        distances = distances.named("neighbors", ["distance of neighbor"])
        at, w = at.named("neighbors", ["neighbor"]), self.sample_weight
        unit, copies = bool((w == 1.0).all()), (distances >= 0.0).where(1.0, 1.0)
        if not unit:
            own = at.look_up(w)
            before = own.cumulative() - own
            copies = (self.k - before).at_least(0.0).apply("Min", own)
            distances = (copies > 0.0).where(distances, distances.column(0))
        if unit and _is_uniform(self.weights):
            return distances, at, copies, copies.sum()
        values = distance_weights(self.weights, distances)
        weights = copies * values
        return distances, at, weights, weights.sum().square() / (weights * values).sum()

    def _nearest(self, x: Value) -> tuple[Value, Value]:
        """Distances and positions of the nearest, near to far."""
        metric, k = metric_formula(self.metric, self.rows), self._count()
        mapped = metric.map_rows(x)
        if metric.of_squares is None or by_differences(metric.points):
            distances = metric.distances(mapped, metric.points)
            return distances.named("distances", ["distance"]).smallest(k)
        # the sixteen after the k nearest are compared once more: products rank them roughly
        count = min(len(metric.points), k + 16)
        _, at = squares_by_products(mapped, metric.points).smallest(count)
        at, _ = at.smallest(count)  # in order of rows, so that the first of equals is first
        near = at.look_up(metric.points)
        square = (mapped.unsqueeze(1) - near).square().sum(2, keepdims=False)
        exact, position = metric.of_squares(square).smallest(k)
        return exact, at.entries(position)

    def _count(self) -> int:
        """Points that surely have a total weight of k."""
        w = self.sample_weight
        if (w == 1.0).all():
            return int(min(self.k, len(w)))
        reached = np.flatnonzero(np.cumsum(np.sort(w)) >= self.k * (1 - 1e-12))
        return int(reached[0]) + 1 if len(reached) else len(w)


@dataclass(frozen=True, eq=False)
class Within(Exemplars):
    """All points within a radius."""

    radius: float

    def part(self, x: Value) -> Value:
        """The columns for some of the rows."""
        distances = pairwise_distances(self.metric, x, self.rows)
        distances = distances.named("distances", ["distance"])
        near = distances <= float(self.radius)
        weights = distance_weights(self.weights, distances, near) * self.sample_weight[None, :]
        return weights @ np.column_stack([self.targets, np.ones(len(self.rows))])


@dataclass(frozen=True, eq=False)
class Smoothed(Exemplars):
    """All points, with Gaussian weights exp(−d²/2h²) relative to the nearest; ``weights`` is h."""

    def part(self, x: Value) -> Value:
        """The columns for some of the rows."""
        distances = pairwise_distances(self.metric, x, self.rows)
        weights = gaussian_weights(distances, float(self.weights)) * self.sample_weight[None, :]
        return weights @ np.column_stack([self.targets, np.ones(len(self.rows))])


@dataclass(frozen=True, eq=False)
class LogKernelDensity(StoredPoints):
    """ln Σ wᵢ K(d(x, xᵢ)/h) + ``offset``, with K(u) = exp(−u²/2) or exp(−u)."""

    metric: Any
    h: float
    log_weights: Floats
    gaussian: bool
    offset: float
    stage: ClassVar[str] = "scores"

    def compute(self, of: Evaluation) -> Any:
        """Relative to the largest term, so many rows at a time as distances fit into a tile."""
        points, x = self.rows, of(self.x)

        def work(part: Value) -> list[Value]:
            u = pairwise_distances(self.metric, part, points) / self.h
            terms = (u.square() * -0.5 if self.gaussian else -u) + self.log_weights[None, :]
            top = terms.max()
            return [(terms - top).exp().sum().log() + (top + self.offset)]

        return x.by_tiles(rows_of_a_tile(len(points)), work)[0]


def _is_uniform(weights: Any) -> bool:
    return weights is None or (isinstance(weights, str) and weights == "uniform")


def distance_weights(weights: Any, distances: Value, near: Value | None = None) -> Value:
    """The weight of every neighbor from its distance; ``near`` marks those that count."""
    there = distances >= 0.0 if near is None else near
    if _is_uniform(weights):
        return there.double()
    if isinstance(weights, str) and weights == "distance":
        zero = distances.equals(0.0) & there
        any_zero = zero.any()
        least = any_zero.where(1.0, there.where(distances, np.inf).min())
        inverse = least / zero.where(1.0, distances)
        return any_zero.where(zero.double(), there.where(inverse, 0.0))
    if isinstance(weights, str):
        h = there.where(distances, 0.0).max()
        ratio = distances / (h > 0.0).where(h, 1.0)
        return there.where((ratio.square() * -0.5).exp(), 0.0)
    if type(weights).__name__ == "Gaussian":
        return gaussian_weights(distances, float(weights.bandwidth), there)
    raise NoFormula("Weights by a function of one's own have no export.")


def gaussian_weights(distances: Value, h: float, there: Value | None = None) -> Value:
    """exp(−d²/2h²) relative to the nearest."""
    counted = distances if there is None else there.where(distances, np.inf)
    nearest = counted.min()
    square = ((distances - nearest) / h) * ((distances + nearest) / h)
    weights = distances.equals(nearest).where(1.0, (square * -0.5).exp())
    return weights if there is None else there.where(weights, 0.0)


# -------------------------------------------------------------------------------------------------
# Decisions: which of the labels.


@dataclass(frozen=True, eq=False)
class ChosenLabel(Node):
    """The position of the largest entry of a row; of one column, whether it is above zero.

    With ``zero_is_second`` a score of zero decides for the second of two classes.
    """

    by: Node
    one: bool
    zero_is_second: bool = False
    stage: ClassVar[str] = "decisions"

    def compute(self, of: Evaluation) -> Any:
        """Positions (n x 1)."""
        x = of(self.by)
        if not self.one:
            return x.argmax()
        return (x >= 0.0 if self.zero_is_second else x > 0.0).integers()


@dataclass(frozen=True, eq=False)
class Cheapest(Node):
    """The position of the least expected cost, the first of equals."""

    costs: Node
    stage: ClassVar[str] = "decisions"

    def compute(self, of: Evaluation) -> Any:
        """Positions (n x 1)."""
        return of(self.costs).argmin()


@dataclass(frozen=True, eq=False)
class AtLeast(Node):
    """max(entry, bound)."""

    x: Node
    bound: float

    def compute(self, of: Evaluation) -> Any:
        """Entry by entry."""
        return of(self.x).at_least(self.bound)


@dataclass(frozen=True, eq=False)
class Snapped(Node):
    """Entries, and 0 where they are that up to rounding."""

    x: Node
    rounding: float
    stage: ClassVar[str] = "scores"

    def compute(self, of: Evaluation) -> Any:
        """Entry by entry."""
        x = of(self.x)
        return (x.abs() <= self.rounding).where(0.0, x)


@dataclass(frozen=True, eq=False)
class Least(Node):
    """The least entry of a row."""

    x: Node

    def compute(self, of: Evaluation) -> Any:
        """One column."""
        return of(self.x).min()


@dataclass(frozen=True, eq=False)
class OneClaim(Node):
    """The only class whose mark is 1 (or what was ``chosen``), a rejection where not one has it."""

    marks: Node
    rejection: int
    chosen: Node | None = None
    stage: ClassVar[str] = "decisions"

    def compute(self, of: Evaluation) -> Any:
        """Positions (n x 1)."""
        marks = of(self.marks)
        chosen = marks.argmax() if self.chosen is None else of(self.chosen)
        beyond = np.full((1, 1), self.rejection, dtype=np.int64)
        return marks.sum().equals(1.0).where(chosen, beyond)


@dataclass(frozen=True, eq=False)
class Marks(Node):
    """1 where an entry is above a threshold (or at it), else 0."""

    x: Node
    above: float
    inclusive: bool = False

    def compute(self, of: Evaluation) -> Any:
        """Entry by entry."""
        x = of(self.x)
        return (x >= self.above if self.inclusive else x > self.above).double()


# -------------------------------------------------------------------------------------------------
# Formulas: what a model answers.


@dataclass(frozen=True, eq=False)
class NumberFormula:
    """Predicted numbers (n x k), one axis if ``flat``, and their spread where it is known.

    ``deviation`` are standard deviations of normal predictive distributions; ``interval`` the two
    ends where these are not a multiple of a deviation.
    """

    mean: Node
    flat: bool = True
    deviation: Node | None = None
    interval: Node | None = None
    targets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ClassFormula:
    """Positions of predicted ``labels`` (n x 1), and what they were decided by.

    ``scores`` are those of ``decision_function``: one column for the second of two classes, or
    one for each. ``decided_by`` are the numbers whose largest is predicted; where it has one
    column or ``by_sign``, signs decide. ``distance`` is that to the nearest center of a
    clustering, ``members`` marks the labels in the set of a row.
    """

    chosen: Node
    labels: NDArray[Any]
    scores: Node | None = None
    probabilities: Node | None = None
    decided_by: Node | None = None
    by_sign: bool = False
    distance: Node | None = None
    is_clustering: bool = False
    members: Node | None = None
    notes: tuple[str, ...] = ()


Formula = NumberFormula | ClassFormula


def regression(mean: Node, model: Any, *, flat: bool, count: int = 1, **more: Any) -> NumberFormula:
    """The formula of ``count`` predicted numbers, with the names of the targets."""
    terms = getattr(vars(model).get("encoding_"), "targets", ())
    targets = tuple(str(term) for term in terms)
    if len(targets) != count:
        targets = target_names(count)
    names = tuple(f"predicted {target}" for target in targets)
    return NumberFormula(replace(mean, names=names), flat, targets=targets, **more)


def by_score(scores: Node, labels: NDArray[Any], **more: Any) -> ClassFormula:
    """The second of two classes where its score is above zero, or the class of the largest."""
    two = len(labels) == 2
    return ClassFormula(
        ChosenLabel(scores, two), labels, scores, decided_by=scores, by_sign=two, **more
    )


def by_probability(
    probabilities: Node, labels: NDArray[Any], scores: Node | None = None
) -> ClassFormula:
    """The most probable class, the first of equals."""
    chosen = ChosenLabel(probabilities, one=False)
    return ClassFormula(chosen, labels, scores, probabilities, decided_by=probabilities)


F = TypeVar("F", bound="NumberFormula | ClassFormula")


def at_rows(rows: Node, formula: F) -> F:
    """A formula at computed rows in place of those given."""
    moved: dict[str, Any] = {
        part.name: At(rows, node)
        for part in fields(formula)
        if isinstance(node := getattr(formula, part.name), Node)
    }
    return replace(formula, **moved)


def score_names(labels: Any, stem: str = "score") -> tuple[str, ...]:
    """Names of scores: of the second of two classes, or of each."""
    names = [f"{stem} {label}" for label in np.asarray(labels).tolist()]
    return tuple(names[-1:] if len(names) == 2 else names)


def probability_names(labels: Any) -> tuple[str, ...]:
    """Names of the probabilities of all classes."""
    return tuple(f"probability {label}" for label in np.asarray(labels).tolist())


def formula_of(model: Any) -> Formula:
    """What a fitted model answers, pipelines included."""
    if type(model).__name__ == "Pipeline":
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        *transformers, last = steps
        formula = formula_of(last)
        for step in reversed(transformers):
            if not hasattr(type(step), "transform_formula"):
                raise NoFormula(f"The step {type(step).__name__} of a pipeline has no export.")
            formula = at_rows(step.transform_formula(), formula)
        return formula
    if hasattr(model, "formula"):
        found: Formula = model.formula()
        return found
    name, home = type(model).__name__, type(model).__module__.split(".")[0]
    if home != "separatrix":
        raise NoFormula(
            f"{name} of {home} is not a model of this library, which alone have formulas."
        )
    raise NoFormula(f"{name} predicts nothing for new rows that a formula could.")


def class_formula_of(model: Any) -> ClassFormula:
    """The formula of a classifier."""
    formula = formula_of(model)
    assert isinstance(formula, ClassFormula)
    return formula


def number_formula_of(model: Any) -> NumberFormula:
    """The formula of a regression model."""
    formula = formula_of(model)
    assert isinstance(formula, NumberFormula)
    return formula
