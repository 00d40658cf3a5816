"""A model as a program for one row: expressions of scalars, definitions in stages, the answer.

A definition uses the columns of the table or definitions of earlier stages, never of its own, so
that each stage is one subquery of SQL or one paragraph of code.

Numbers are double precision. A missing value is a value of its own (NULL, None): only
:class:`IsMissing` and :class:`Filled` may meet one, so that its arithmetic is never relied on.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from separatrix.arrays import Floats, NDArray
from separatrix.export import expressions as ex
from separatrix.formula.inputs import DesignTerm, InputColumn, Inputs
from separatrix.formula.nodes import (
    ClassFormula,
    EncodedColumns,
    Evaluation,
    Formula,
    NumberFormula,
    RawTerms,
    formula_of,
)
from separatrix.formula.values import ArrayValue, NoFormula
from separatrix.rows.schema import Kind

# -------------------------------------------------------------------------------------------------
# Programs: definitions in stages.


#: The stage that reads the table.
FIRST = "inputs"

#: Names that mean something in the languages written to, and those that answers have.
RESERVED = {word.lower() for word in keyword.kwlist} | {
    *("bool", "case", "dict", "exp", "float", "int", "list", "log", "math", "max", "min", "null"),
    *("predict", "refused", "row", "sqrt", "str", "sum", "value"),
}


@dataclass(frozen=True)
class Definition:
    """``name`` stands for an expression; ``meaning`` says what it is."""

    name: str
    expression: ex.Expression
    meaning: str = ""


@dataclass(frozen=True)
class Stage:
    """Definitions that do not use one another."""

    name: str
    definitions: tuple[Definition, ...]


@dataclass(frozen=True)
class Output:
    """A column of the answer; ``label`` is the class whose probability it is, if it is one."""

    name: str
    expression: ex.Expression
    meaning: str = ""
    label: Any = None


@dataclass(frozen=True)
class Refusal:
    """Rows that the model refuses, and why: SQL answers null, Python raises."""

    condition: ex.Expression
    reason: str


@dataclass(frozen=True)
class Program:
    """Everything that a model computes for a row.

    ``title`` says what the model is, ``notes`` what a reader should know about the export.
    """

    title: str
    columns: tuple[InputColumn, ...]
    stages: tuple[Stage, ...]
    outputs: tuple[Output, ...]
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class Builder:
    """Collects definitions and puts each into the first stage where all it uses is known."""

    columns: dict[str, InputColumn] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _stages: list[tuple[str, list[Definition]]] = field(default_factory=list)
    _level: dict[str, int] = field(default_factory=dict)
    _known: dict[ex.Expression, ex.Defined] = field(default_factory=dict)
    _refusals: list[Refusal] = field(default_factory=list)

    def let(
        self, name: str, expression: ex.Expression, *, stage: str, meaning: str = ""
    ) -> ex.Defined:
        """Define ``name`` (or one like it that is free); the same expression is defined once."""
        if isinstance(expression, ex.Defined):
            return expression
        known = self._known.get(expression)
        if known is not None:
            return known
        free = identifier(name, self._level)
        level = max((self._level[used] + 1 for used in ex.values_in(expression)), default=0)
        if level == 0 and not ex.columns_in(expression):
            level = 1  # a constant is not a column of the table
        if not self._stages:
            self._stages.append((FIRST, []))
        while len(self._stages) <= level:
            taken = [label for label, _ in self._stages]
            self._stages.append((number_name(stage, taken), []))
        self._stages[level][1].append(Definition(free, expression, meaning))
        self._level[free] = level
        value = self._known[expression] = ex.Defined(free)
        return value

    def read(self, column: InputColumn) -> ex.Defined:
        """The value of a column of the table: a number, or a level."""
        self.columns.setdefault(column.name, column)
        levels = column.kind is Kind.DISCRETE
        raw = ex.RawLevel(column.name) if levels else ex.RawNumber(column.name)
        return self.let(column.name, raw, stage=FIRST, meaning=column.name)

    def refuse(self, condition: ex.Expression, reason: str) -> None:
        """Refuse the rows where a condition holds."""
        refusal = Refusal(condition, reason)
        if refusal not in self._refusals:
            self._refusals.append(refusal)

    def program(self, title: str, outputs: Sequence[Output]) -> Program:
        """The program of these outputs: what none of them needs is left out."""
        needed: set[str] = set()
        for output in outputs:
            needed |= ex.values_in(output.expression)
        stages: list[Stage] = []
        columns: set[str] = set()
        for name, definitions in reversed(self._stages):
            used = tuple(definition for definition in definitions if definition.name in needed)
            for definition in used:
                needed |= ex.values_in(definition.expression)
                columns |= ex.columns_in(definition.expression)
            if used:
                stages.append(Stage(name, used))
        return Program(
            title,
            tuple(column for name, column in self.columns.items() if name in columns),
            tuple(reversed(stages)),
            tuple(outputs),
            tuple(r for r in self._refusals if ex.values_in(r.condition) <= needed),
            tuple(dict.fromkeys(self.notes)),
        )


def identifier(text: str, taken: Sequence[str] | dict[str, int]) -> str:
    """A name of lower-case letters, digits and underscores that is not taken or reserved."""
    plain = slug(text)
    if plain[0].isdigit():
        plain = f"x_{plain}"
    return number_name(f"{plain}_" if plain in RESERVED else plain, taken)


def slug(text: str) -> str:
    """The letters and digits of a text that every language knows, in lower case."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40] or "x"


def number_name(name: str, taken: Sequence[str] | dict[str, int]) -> str:
    """A name, or the same with the first number that makes it different from those taken."""
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found


# -------------------------------------------------------------------------------------------------
# From the columns of a table to the terms of a design, as expressions.


STAGE = "design"


def design(b: Builder, inputs: Inputs) -> tuple[ex.Defined, ...]:
    """The terms of the design in order."""
    b.notes += inputs.notes
    columns = inputs.by_name
    return tuple(_term(b, term, columns[term.column]) for term in inputs.terms)


def column_value(b: Builder, column: InputColumn) -> ex.Defined:
    """The value of a column; rows that the model refuses for it are refused."""
    value = b.read(column)
    if column.kind is Kind.DISCRETE and column.unseen == "error":
        known = ex.Not(ex.OneOf(value, known_texts(column)))
        reason = f"column {column.name!r} holds a level that training did not have"
        b.refuse(ex.All((ex.Not(ex.IsMissing(value)), known)), reason)
    if column.refuses_missing:
        b.refuse(lacks_value(value, column), f"column {column.name!r} has no value")
    return value


def lacks_value(value: ex.Expression, column: InputColumn) -> ex.Expression:
    """Whether a value is missing; a level that training did not have may be taken for that."""
    if column.kind is Kind.DISCRETE and column.unseen == "missing":
        return ex.Not(ex.OneOf(value, known_texts(column)))
    return ex.IsMissing(value)


def known_texts(column: InputColumn) -> tuple[str, ...]:
    """All texts of the levels of a column."""
    return tuple(text for texts in column.spellings.values() for text in texts)


def indicator(condition: ex.Expression) -> ex.Expression:
    """1 where a condition holds, else 0."""
    return ex.Case((ex.Branch(condition, ex.ONE),), ex.ZERO)


def is_level(value: ex.Expression, column: InputColumn, level: str) -> ex.Expression:
    """Whether a value is this level; one of the pooled levels is any text but the others."""
    if level == column.pooled:
        return ex.All((ex.Not(ex.IsMissing(value)), ex.Not(ex.OneOf(value, known_texts(column)))))
    return ex.OneOf(value, column.spellings[level])


def _term(b: Builder, term: DesignTerm, column: InputColumn) -> ex.Defined:
    value = column_value(b, column)
    name = str(term)
    expression: ex.Expression
    if term.missing:
        expression = indicator(lacks_value(value, column))
    elif term.level is not None:
        expression = indicator(is_level(value, column, term.level))
    elif column.refuses_missing:
        return value
    else:
        name, expression = f"{name} filled", ex.Filled(value, ex.Number(term.fill))
    return b.let(name, expression, stage=STAGE, meaning=name)


# -------------------------------------------------------------------------------------------------
# The formula of a model as expressions of one row: values whose entries are expressions.
#
# Every operator makes an expression of its operands' expressions, which share what they have in
# common. :func:`program_of` then gives a name to whatever is used more than once, and to the
# columns of nodes that have names, and puts the definitions into stages.


#: Operations up to which a formula is written: some 400 kB of text, seconds to write and to check.
MOST_OPERATIONS = 15_000
#: Stands for ∞: sums with it stay finite, and e to minus this power is 0.
HUGE = 1e300

CONDITIONS = (ex.Compare, ex.IsMissing, ex.OneOf, ex.All, ex.AnyOf, ex.Not, ex.Truth)
ATOMS = (ex.Number, ex.Text, ex.Truth, ex.Missing, ex.Defined)


def program_of(model: Any, *, level: float = 0.95) -> Program:
    """A fitted model as a program for one row; ``level`` is that of intervals."""
    unrolled = Unrolled()
    formula = formula_of(model)
    of = Evaluation(TableRow(unrolled), level)
    outputs = _outputs(unrolled, formula, of, level)
    unrolled.refuse_length(type(model).__name__)
    unrolled.builder.notes += formula.notes
    return _order_program(unrolled, _title(model), outputs)


def _title(model: Any) -> str:
    """The model in words: its class, and those within it."""
    names = [type(model).__name__]
    while hasattr(model, "estimator_"):
        model = model.estimator_
        names.append(type(model).__name__)
    return " of ".join(names)


# -------------------------------------------------------------------------------------------------
# The columns of the answer.


def _outputs(unrolled: Unrolled, formula: Formula, of: Evaluation, level: float) -> list[Output]:
    if isinstance(formula, ClassFormula):
        return _class_outputs(unrolled, formula, of)
    means = of(formula.mean).array[0]
    if len(means) > 1 or not formula.flat:
        targets = formula.targets or tuple(f"y{i}" for i in range(len(means)))
        names: list[str] = []
        for target in targets:
            names.append(identifier(f"predicted {target}", names))
        columns = zip(names, means, targets, strict=True)
        return [Output(name, value, f"the prediction of {t}") for name, value, t in columns]
    outputs = [Output("predicted", means[0], "the prediction")]
    for end, expression in zip(("lower", "upper"), _ends(unrolled, formula, of), strict=False):
        outputs.append(Output(end, expression, f"{end} end of the {100 * level:.6g}% interval"))
    return outputs


def _ends(unrolled: Unrolled, formula: NumberFormula, of: Evaluation) -> Sequence[ex.Expression]:
    """Lower and upper end of the interval, if they are short enough and finite."""
    before = unrolled.operations
    if formula.deviation is not None:
        reach = float(ndtri(0.5 + 0.5 * of.level))
        ends = of(formula.mean) + of(formula.deviation) * np.array([[-reach, reach]])
    elif formula.interval is not None:
        ends = of(formula.interval)
    else:
        return ()
    length = unrolled.operations - before
    if unrolled.operations > MOST_OPERATIONS:
        unrolled.operations = before
        unrolled.builder.notes.append(
            f"Intervals are not part of the export: they take {length:,} operations for a row."
        )
        return ()
    if any(isinstance(end, ex.Number) for end in ends.array[0]):
        unrolled.builder.notes.append(
            "Intervals are not part of the export: of so few rows they are infinite."
        )
        return ()
    return tuple(ends.array[0])


def _class_outputs(unrolled: Unrolled, formula: ClassFormula, of: Evaluation) -> list[Output]:
    chosen = of(formula.chosen).look_up(formula.labels).array.ravel()[0]
    if formula.is_clustering:
        outputs = [Output("cluster", chosen, "the nearest cluster")]
        if formula.distance is not None:
            nearest = of(formula.distance).array.ravel()[0]
            outputs.append(Output("distance", nearest, "the distance to its center"))
        return outputs
    outputs, taken = [Output("predicted", chosen, "the predicted class")], ["predicted"]
    if formula.members is not None:
        unrolled.builder.notes.append("Sets of labels are not part of the export.")
    if formula.probabilities is not None:
        p = of(formula.probabilities).array[0]
        for name, probability in zip(formula.labels.tolist(), p, strict=False):
            free = identifier(f"probability {name}", taken)
            taken.append(free)
            outputs.append(Output(free, probability, f"probability of class {name!r}", name))
    return outputs


# -------------------------------------------------------------------------------------------------
# What was unrolled: how many operations, and the names of expressions.


@dataclass
class Unrolled:
    """The expressions of one formula under construction."""

    builder: Builder = field(default_factory=Builder)
    operations: int = 0
    #: Expression, stage and name by identity.
    names: dict[int, tuple[ex.Expression, str, str]] = field(default_factory=dict)

    def counts(self, operations: int) -> bool:
        """Count operations; whether they are still written."""
        self.operations += operations
        return self.operations <= MOST_OPERATIONS

    def refuse_length(self, name: str) -> None:
        """Refuse a formula that is too long, and say how long it would be."""
        if self.operations > MOST_OPERATIONS:
            raise NoFormula(
                f"A row takes {self.operations:,} operations, and up to {MOST_OPERATIONS:,} are "
                f"written out: this {name} has no export to SQL, Python or JSON."
            )


class TableRow:
    """One row of a table: definitions of the builder for what the formula reads."""

    def __init__(self, unrolled: Unrolled) -> None:
        self.unrolled = unrolled
        self.invalid: list[Any] = []

    def design(self, node: EncodedColumns) -> ScalarValue:
        """The terms of the design in order."""
        if node.missing_ok:
            raise NoFormula(
                "Distances that skip missing values have no export to SQL, Python or JSON."
            )
        return self._row(design(self.unrolled.builder, node.inputs))

    def levels(self, node: RawTerms) -> tuple[ScalarValue, ScalarValue]:
        """Terms with nothing filled in, 0 where a value is missing; and 1 where there is one."""
        b, columns = self.unrolled.builder, {column.name: column for column in node.columns}
        values: list[ex.Expression] = []
        there: list[ex.Expression] = []
        for term in node.terms:
            column = columns[term.column]
            value = column_value(b, column)
            if term.level is not None:
                filled = indicator(is_level(value, column, term.level))
            else:
                filled = ex.Filled(value, ex.ZERO)
            values.append(b.let(str(term), filled, stage="design", meaning=str(term)))
            known = indicator(ex.Not(lacks_value(value, column)))
            there.append(b.let(f"{column.name} is known", known, stage="design"))
        return self._row(values), self._row(there)

    def _row(self, expressions: Sequence[ex.Expression]) -> ScalarValue:
        array = np.empty((1, len(expressions)), dtype=object)
        array[0, :] = expressions
        return ScalarValue(self.unrolled, array)


# -------------------------------------------------------------------------------------------------
# Values whose entries are expressions.


class ScalarValue(ArrayValue):
    """The columns of one row."""

    def __init__(self, unrolled: Unrolled, array: NDArray[Any]) -> None:
        super().__init__(array)
        self.unrolled = unrolled

    def of(self, array: NDArray[Any]) -> ScalarValue:
        """A value with these entries; numbers and truth values become constants."""
        if array.dtype != object:
            array = np.asarray(_CONSTANT(np.asarray(array, dtype=object)), dtype=object)
        return ScalarValue(self.unrolled, array)

    def _made(
        self, shape: tuple[int, ...], make: Callable[[], Any], operations: int
    ) -> ScalarValue:
        """Expressions that are made only as long as the formula is not too long."""
        if not self.unrolled.counts(operations):
            return ScalarValue(self.unrolled, np.full(shape, ex.ZERO, dtype=object))
        return ScalarValue(self.unrolled, np.asarray(make(), dtype=object).reshape(shape))

    def apply(self, operator: str, *others: Any) -> ScalarValue:
        """An expression for each entry."""
        function = _OPERATORS.get(operator)
        if function is None:
            raise NoFormula(f"{_WORDS[operator]} have no export to SQL, Python or JSON.")
        arrays = [self.array, *(self.constant(other).array for other in others)]
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        return self._made(shape, lambda: function(*arrays), int(np.prod(shape)))

    def __matmul__(self, other: Any) -> ScalarValue:
        a = self.array
        if isinstance(other, ScalarValue):
            b = other.array
        else:
            stored = np.asarray(other, dtype=np.float64)
            if stored.ndim == 2 and a.ndim == 2:
                return self._linear(stored)
            b = self.constant(stored).array
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])

        def product() -> Any:
            return _sums(_OPERATORS["Mul"](a[..., :, :, None], b[..., None, :, :]), -2)

        return self._made(shape, product, int(np.prod(shape)) * a.shape[-1])

    def _linear(self, matrix: Floats) -> ScalarValue:
        """Sums over the coefficients that are not zero."""
        x, shape = self.array, (len(self.array), matrix.shape[1])

        def product() -> Any:
            products = np.empty(shape, dtype=object)
            for k, column in enumerate(matrix.T):
                indices = np.flatnonzero(column)
                for i in range(len(x)):
                    products[i, k] = ex.total([_times(float(column[j]), x[i, j]) for j in indices])
            return products

        return self._made(shape, product, int(np.count_nonzero(matrix)))

    def reduce(self, operator: str, axis: int, *, keepdims: bool) -> ScalarValue:
        """One expression for each row of entries."""
        shape = list(self.array.shape)
        if keepdims:
            shape[axis] = 1
        else:
            del shape[axis]
        rows = np.moveaxis(self.array, axis, -1)
        function = _REDUCTIONS[operator]

        def reduce_rows() -> Any:
            reductions = np.empty(rows.shape[:-1], dtype=object)
            for at in np.ndindex(*reductions.shape):
                reductions[at] = function(tuple(rows[at]))
            return reductions

        return self._made(tuple(shape), reduce_rows, self.array.size)

    def smallest(self, k: int, *, largest: bool = False) -> tuple[ScalarValue, ScalarValue]:
        """One after another: each is the least of those that come after the one before."""
        signed = -self if largest else self
        d, m = signed.array[0], self.array.shape[1]
        if not self.unrolled.counts(4 * m * k):
            blank = np.full((1, k), ex.ZERO, dtype=object)
            return ScalarValue(self.unrolled, blank), ScalarValue(self.unrolled, blank)
        values: list[ex.Expression] = []
        positions: list[ex.Expression] = []
        for rank in range(k):
            left = list(d)
            if rank:
                v, p = values[-1], positions[-1]
                for j in range(m):
                    after: ex.Expression = ex.Compare(d[j], ">", v)
                    if j:
                        tie = ex.All((ex.Compare(d[j], "=", v), ex.Compare(p, "<", ex.Number(j))))
                        after = ex.AnyOf((after, tie))
                    left[j] = ex.Case((ex.Branch(after, d[j]),), ex.Number(HUGE))
            least = ex.Smallest(tuple(left)) if m > 1 else left[0]
            at = [
                ex.Branch(ex.Compare(value, "=", least), ex.Number(j))
                for j, value in enumerate(left[:-1])
            ]
            values.append(least)
            positions.append(ex.Case(tuple(at), ex.Number(m - 1)) if at else ex.Number(0))
        scalar_value = ScalarValue(self.unrolled, np.array([values], dtype=object))
        return -scalar_value if largest else scalar_value, ScalarValue(
            self.unrolled, np.array([positions], dtype=object)
        )

    def look_up(self, stored: Any) -> ScalarValue:
        """A case for each position that there is."""
        array = np.asarray(stored)
        constants = np.asarray(_CONSTANT(array.astype(object)), dtype=object)
        shape = (*self.array.shape, *array.shape[1:])

        def found() -> Any:
            out = np.empty(shape, dtype=object)
            for at in np.ndindex(*self.array.shape):
                for rest in np.ndindex(*array.shape[1:]):
                    position: Any = self.array[at]
                    choice: Any = constants[(slice(None), *rest)]
                    out[(*at, *rest)] = _entry(position, choice)
            return out

        return self._made(shape, found, int(np.prod(shape)) * len(array))

    def entries(self, positions: ScalarValue) -> ScalarValue:
        """A case for each column."""
        row, shape = self.array[0], positions.array.shape

        def found() -> Any:
            return [_entry(place, row) for place in positions.array.flat]

        return self._made(shape, found, int(np.prod(shape)) * len(row))

    def cumulative(self, *, reverse: bool = False) -> ScalarValue:
        """Running sums."""
        row: list[ex.Expression] = list(self.array[0])
        sums: list[ex.Expression] = []
        for value in reversed(row) if reverse else row:
            sums.append(_add(sums[-1], value) if sums else value)
        return self._made(self.array.shape, lambda: sums[::-1] if reverse else sums, len(row))

    def by_tiles(
        self,
        rows: int,  # noqa: ARG002
        work: Callable[[ScalarValue], Sequence[ScalarValue]],
    ) -> list[ScalarValue]:
        """There is one row."""
        return list(work(self))

    def interpolate(self, ends: Floats, values: Floats, slope: Floats) -> ScalarValue:
        """A case for each piece."""
        return self._made(
            self.array.shape,
            lambda: _pieces(self.array.ravel()[0], ends, values, slope),
            5 * len(ends),
        )

    def named(self, stage: str, names: Sequence[str]) -> ScalarValue:
        """Names of the columns, which what has one already keeps."""
        row = list(self.array.flat)
        known = (
            names if len(names) == len(row) else [f"{names[0]} {i + 1}" for i in range(len(row))]
        )
        for value, name in zip(row, known, strict=True):
            if not isinstance(value, (*ATOMS, *CONDITIONS)):
                self.unrolled.names.setdefault(id(value), (value, stage, name))
        return self


def _entry(position: ex.Expression, row: Sequence[ex.Expression]) -> ex.Expression:
    """The entry of a row at a position."""
    if isinstance(position, ex.Number):
        return row[min(int(position.value), len(row) - 1)]
    if isinstance(position, ex.Case) and _is_table(position):
        branches = [ex.Branch(b.condition, _entry(b.value, row)) for b in position.branches]
        return ex.Case(tuple(branches), _entry(position.otherwise, row))
    branches = [
        ex.Branch(ex.Compare(position, "=", ex.Number(j)), value)
        for j, value in enumerate(row[:-1])
    ]
    return ex.Case(tuple(branches), row[-1]) if branches else row[-1]


def _is_table(case: ex.Case) -> bool:
    """Whether all values of a case are constants."""
    values = [branch.value for branch in case.branches] + [case.otherwise]
    return all(isinstance(value, ex.Number) for value in values)


def _pieces(score: ex.Expression, ends: Floats, values: Floats, slope: Floats) -> ex.Expression:
    """Constant pieces, linear in between, constant beyond the first and the last."""
    branches = [
        ex.Branch(ex.Compare(score, "<=", ex.Number(float(ends[0]))), ex.Number(float(values[0])))
    ]
    for x0, x1, y0, rise in zip(ends, ends[1:], values, slope, strict=False):
        if x1 > x0:
            away = ex.SumOf((score, ex.Number(-float(x0))))
            at = _add(ex.Number(float(y0)), _times(float(rise), away))
            branches.append(ex.Branch(ex.Compare(score, "<", ex.Number(float(x1))), at))
    return ex.Case(tuple(branches), ex.Number(float(values[-1])))


# -------------------------------------------------------------------------------------------------
# Operators: constants are computed, and what makes no difference is left out.


def _constant(value: Any) -> ex.Expression:
    if isinstance(value, ex.Expression):
        return value
    if isinstance(value, str):
        return ex.Text(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return ex.Missing() if np.isnan(number) else ex.Number(float(np.clip(number, -HUGE, HUGE)))
    return ex.label_constant(value)


def _values(expressions: Sequence[ex.Expression]) -> list[float] | None:
    """The values of numbers; None where not all are."""
    numbers = [
        float(expression.value) for expression in expressions if isinstance(expression, ex.Number)
    ]
    return numbers if len(numbers) == len(expressions) else None


def _is_huge(one: ex.Expression) -> bool:
    return isinstance(one, ex.Number) and abs(one.value) >= HUGE


def _add(a: ex.Expression, b: ex.Expression) -> ex.Expression:
    if isinstance(a, ex.Number) and isinstance(b, ex.Number):
        return ex.Number(float(np.clip(float(a.value) + float(b.value), -HUGE, HUGE)))
    if _is_huge(a) or _is_huge(b):  # whatever is added to it is lost in rounding
        return a if _is_huge(a) else b
    return ex.total((a, b))


def _times(a: float, x: ex.Expression) -> ex.Expression:
    if a == 0.0:
        return ex.ZERO
    if a == 1.0:
        return x
    if isinstance(x, ex.Number):
        return ex.Number(float(np.clip(float(a) * float(x.value), -HUGE, HUGE)))
    if isinstance(x, ex.ProductOf) and isinstance(x.arguments[0], ex.Number):
        rest = x.arguments[1] if len(x.arguments) == 2 else ex.ProductOf(x.arguments[1:])
        return _times(a * float(x.arguments[0].value), rest)
    if isinstance(x, ex.Case) and a == -1.0 and len(x.branches) == 1:
        ((condition, value),) = ((b.condition, b.value) for b in x.branches)
        return ex.Case((ex.Branch(condition, _times(a, value)),), _times(a, x.otherwise))
    return ex.ProductOf((ex.Number(float(a)), x))


def _multiply(a: ex.Expression, b: ex.Expression) -> ex.Expression:
    if isinstance(a, ex.Number):
        return _times(float(a.value), b)
    if isinstance(b, ex.Number):
        return _times(float(b.value), a)
    return ex.ProductOf((a, b))


def _divide(a: ex.Expression, b: ex.Expression) -> ex.Expression:
    if isinstance(b, ex.Number) and b.value == 1.0:
        return a
    if isinstance(a, ex.Number) and isinstance(b, ex.Number) and b.value:
        return ex.Number(float(a.value) / float(b.value))
    return ex.ZERO if a == ex.ZERO else ex.Quotient(a, b)


def _power(a: ex.Expression, p: ex.Expression) -> ex.Expression:
    """aᵖ = e^(p log a) of a positive number; zero stays zero."""
    if isinstance(a, ex.Number) and isinstance(p, ex.Number):
        return ex.Number(float(a.value) ** float(p.value))
    return ex.Case(
        (ex.Branch(ex.Compare(a, ">", ex.ZERO), ex.Exp(_multiply(p, ex.Log(a)))),), ex.ZERO
    )


def _absolute(x: ex.Expression) -> ex.Expression:
    if isinstance(x, ex.Number):
        return ex.Number(abs(x.value))
    return ex.Case((ex.Branch(ex.Compare(x, ">", ex.ZERO), x),), _times(-1.0, x))


def _tangent(x: ex.Expression) -> ex.Expression:
    """tanh x = ± (1 − e^−2|x|) / (1 + e^−2|x|)."""
    small = ex.Exp(_times(-2.0, _absolute(x)))
    ratio = ex.Quotient(_add(ex.ONE, _times(-1.0, small)), _add(ex.ONE, small))
    return ex.Case((ex.Branch(ex.Compare(x, ">=", ex.ZERO), ratio),), _times(-1.0, ratio))


def _compare(operator: str) -> Callable[[ex.Expression, ex.Expression], ex.Expression]:
    decided = {
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
        "=": np.equal,
    }

    def compare(a: ex.Expression, b: ex.Expression) -> ex.Expression:
        if isinstance(a, ex.Number) and isinstance(b, ex.Number):
            return ex.Truth(bool(decided[operator](a.value, b.value)))
        condition = _mark(a)
        if condition is not None and operator == ">" and b == ex.Number(0.5):
            return condition
        return ex.Compare(a, operator, b)

    return compare


def _mark(x: ex.Expression) -> ex.Expression | None:
    """The condition whose indicator this is, or that one of several holds."""
    if isinstance(x, ex.Case) and x.otherwise == ex.ZERO and len(x.branches) == 1:
        return x.branches[0].condition if x.branches[0].value == ex.ONE else None
    if isinstance(x, ex.Largest):
        parts = [_mark(one) for one in x.arguments]
        return _any(*(p for p in parts if p is not None)) if None not in parts else None
    return None


def _all(*conditions: ex.Expression) -> ex.Expression:
    return _join_conditions(ex.All, conditions, neutral=True)


def _any(*conditions: ex.Expression) -> ex.Expression:
    return _join_conditions(ex.AnyOf, conditions, neutral=False)


def _join_conditions(
    kind: Any, conditions: Sequence[ex.Expression], *, neutral: bool
) -> ex.Expression:
    left: list[ex.Expression] = []
    for one in conditions:
        if isinstance(one, ex.Truth):
            if one.value != neutral:
                return one
        else:
            left += one.arguments if isinstance(one, kind) else [one]
    if not left:
        return ex.Truth(neutral)
    return left[0] if len(left) == 1 else kind(tuple(left))


def _not(condition: ex.Expression) -> ex.Expression:
    if isinstance(condition, ex.Truth):
        return ex.Truth(not condition.value)
    return condition.argument if isinstance(condition, ex.Not) else ex.Not(condition)


def _where(condition: ex.Expression, yes: ex.Expression, no: ex.Expression) -> ex.Expression:
    if isinstance(condition, ex.Truth):
        return yes if condition.value else no
    if yes is no or (isinstance(yes, ex.Number) and yes == no):
        return yes
    if isinstance(no, ex.Case) and _is_table(no) and isinstance(yes, ex.Number):
        return ex.Case((ex.Branch(condition, yes), *no.branches), no.otherwise)
    return ex.Case((ex.Branch(condition, yes),), no)


def _double(x: ex.Expression) -> ex.Expression:
    if isinstance(x, ex.Truth):
        return ex.ONE if x.value else ex.ZERO
    return indicator(x) if isinstance(x, CONDITIONS) else x


def _extreme(kind: Any, sign: float) -> Callable[[Sequence[ex.Expression]], ex.Expression]:
    def extreme(arguments: Sequence[ex.Expression]) -> ex.Expression:
        known = _values(arguments)
        if known is not None:
            return ex.Number(max(known) if sign > 0.0 else min(known))
        worst = ex.Number(-sign * HUGE)
        left = [argument for argument in arguments if argument != worst]
        return left[0] if len(left) == 1 else kind(tuple(left))

    return extreme


def _best(kind: Any, sign: float) -> Callable[[Sequence[ex.Expression]], ex.Expression]:
    """The position of the largest or smallest entry, of several the first."""
    extreme, operator = _extreme(kind, sign), ">" if sign > 0 else "<"

    def best(row: Sequence[ex.Expression]) -> ex.Expression:
        known = _values(row)
        if known is not None:
            return ex.Number(int(np.argmax(np.array(known) * sign)))
        if len(row) == 2:
            return ex.Case(
                (ex.Branch(ex.Compare(row[1], operator, row[0]), ex.Number(1)),), ex.Number(0)
            )
        if len(row) == 1:
            return ex.Number(0)
        most = extreme(row)
        at = [
            ex.Branch(ex.Compare(value, "=", most), ex.Number(j))
            for j, value in enumerate(row[:-1])
        ]
        return ex.Case(tuple(at), ex.Number(len(row) - 1))

    return best


def _function(
    kind: Any, function: Callable[[float], Any]
) -> Callable[[ex.Expression], ex.Expression]:
    def expression(x: ex.Expression) -> ex.Expression:
        return ex.Number(float(function(float(x.value)))) if isinstance(x, ex.Number) else kind(x)

    return expression


def _elementwise(function: Callable[..., Any], arguments: int) -> Any:
    return np.frompyfunc(function, arguments, 1)


def _sums(array: Any, axis: int) -> Any:
    rows = np.moveaxis(np.asarray(array, dtype=object), axis, -1)
    sums = np.empty(rows.shape[:-1], dtype=object)
    for at in np.ndindex(*sums.shape):
        sums[at] = _add_up(list(rows[at]))
    return sums


def _add_up(terms: Sequence[ex.Expression]) -> ex.Expression:
    known = _values(terms)
    return ex.total(terms) if known is None else ex.Number(float(np.sum(known)))


_CONSTANT = _elementwise(_constant, 1)
_LARGEST, _SMALLEST = _extreme(ex.Largest, 1.0), _extreme(ex.Smallest, -1.0)
_OPERATORS: dict[str, Any] = {
    "Add": _elementwise(_add, 2),
    "Sub": _elementwise(lambda a, b: _add(a, _times(-1.0, b)), 2),
    "Mul": _elementwise(_multiply, 2),
    "Div": _elementwise(_divide, 2),
    "Pow": _elementwise(_power, 2),
    "Neg": _elementwise(lambda x: _times(-1.0, x), 1),
    "Greater": _elementwise(_compare(">"), 2),
    "GreaterOrEqual": _elementwise(_compare(">="), 2),
    "Less": _elementwise(_compare("<"), 2),
    "LessOrEqual": _elementwise(_compare("<="), 2),
    "Equal": _elementwise(_compare("="), 2),
    "And": _elementwise(_all, 2),
    "Or": _elementwise(_any, 2),
    "Not": _elementwise(_not, 1),
    "IsNaN": _elementwise(lambda x: ex.Truth(isinstance(x, ex.Missing)), 1),
    "Where": _elementwise(_where, 3),
    "Exp": _elementwise(_function(ex.Exp, np.exp), 1),
    "Log": _elementwise(_function(ex.Log, np.log), 1),
    "Sqrt": _elementwise(_function(ex.Sqrt, np.sqrt), 1),
    "Abs": _elementwise(_absolute, 1),
    "Max": _elementwise(lambda a, b: _LARGEST((a, b)), 2),
    "Min": _elementwise(lambda a, b: _SMALLEST((a, b)), 2),
    "Tanh": _elementwise(_tangent, 1),
    "Double": _elementwise(_double, 1),
    "Integers": _elementwise(_double, 1),
}
_WORDS = {"Sin": "Sines", "Cos": "Cosines", "Floor": "Periodic functions"}
_REDUCTIONS: dict[str, Callable[[Sequence[ex.Expression]], ex.Expression]] = {
    "Sum": _add_up,
    "Max": _LARGEST,
    "Min": _SMALLEST,
    "ArgMax": _best(ex.Largest, 1.0),
    "ArgMin": _best(ex.Smallest, -1.0),
}


# -------------------------------------------------------------------------------------------------
# From expressions that share parts to definitions in stages.


def _order_program(unrolled: Unrolled, title: str, outputs: Sequence[Output]) -> Program:
    """The program: named parts, and parts that are used several times, are definitions."""
    uses = _uses([output.expression for output in outputs])
    written: dict[int, ex.Expression] = {}
    steps = 0
    for one in _children_first([output.expression for output in outputs]):
        new = ex.rebuild(one, partial(_splice, one, written, uses, unrolled))
        if isinstance(new, ex.SumOf):
            new = ex.total(new.arguments)
        name = unrolled.names.get(id(one))
        if name is not None:
            _, stage, words = name
            new = unrolled.builder.let(words, new, stage=stage, meaning=words)
        elif uses[id(one)] > 1 and not isinstance(one, ex.Branch):
            condition = isinstance(one, CONDITIONS)
            # what is short is written again wherever it is used; a condition is short for longer
            if _is_larger(new, 12 if condition else 3):
                steps += 1
                number = indicator(new) if condition else new
                step = unrolled.builder.let(f"step {steps}", number, stage="steps")
                new = ex.Compare(step, "=", ex.ONE) if condition else step
        written[id(one)] = new
    settled = [
        Output(o.name, written.get(id(o.expression), o.expression), o.meaning, o.label)
        for o in outputs
    ]
    return unrolled.builder.program(title, settled)


def _splice(
    around: ex.Expression,
    written: dict[int, ex.Expression],
    uses: Counter[int],
    unrolled: Unrolled,
    part: ex.Expression,
) -> Sequence[ex.Expression]:
    """What a part became: several terms of a sum within a sum that nothing else uses."""
    new = written.get(id(part), part)
    same = type(around) is type(part) and type(new) is type(part)
    if same and uses[id(part)] == 1 and id(part) not in unrolled.names:
        if isinstance(new, ex.SumOf):
            return new.arguments
        if isinstance(new, ex.ProductOf):
            return new.arguments
        if isinstance(new, ex.Largest | ex.Smallest):
            return new.arguments
    return (new,)


def _uses(roots: Sequence[ex.Expression]) -> Counter[int]:
    """How often each expression is part of others."""
    uses: Counter[int] = Counter()
    stack = list(roots)
    for root in roots:
        uses[id(root)] += 1
    seen: set[int] = set()
    while stack:
        root = stack.pop()
        if id(root) in seen:
            continue
        seen.add(id(root))
        for part in ex.children(root):
            uses[id(part)] += 1
            stack.append(part)
    return uses


def _children_first(roots: Sequence[ex.Expression]) -> Sequence[ex.Expression]:
    """Every expression but atoms once, after those within it."""
    order: list[ex.Expression] = []
    seen: set[int] = set()
    stack: list[tuple[ex.Expression, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        root, ready = stack.pop()
        if ready:
            order.append(root)
        elif id(root) not in seen and not isinstance(root, ATOMS):
            seen.add(id(root))
            stack.append((root, True))
            stack += [(part, False) for part in reversed(list(ex.children(root)))]
    return order


def _is_larger(expression: ex.Expression, nodes: int) -> bool:
    """Whether an expression has more than so many nodes."""
    count, stack = 0, [expression]
    while stack and count <= nodes:
        count += 1
        stack += ex.children(stack.pop())
    return count > nodes
