"""Where a converter reads its rows: a matrix, or the columns of a table that the model encodes.

A graph cannot refuse a row in words. Rows that the model refuses are marked in ``invalid``: their
numbers are NaN, and their labels are out of range, which is an error of the runtime.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from separatrix.export.inputs import DesignTerm, InputColumn, Inputs, inputs_of
from separatrix.export.onnx.graph import Graph, Value
from separatrix.rows.schema import Kind, Term, Terms


class GraphRows(ABC):
    """New rows in a graph."""

    #: The level of intervals and sets.
    level: float = 0.95

    def __init__(self) -> None:
        self.invalid: list[Value] = []

    @abstractmethod
    def design(self, model: Any) -> Value:
        """The numbers that a model computes with (n x d)."""

    @abstractmethod
    def raw_terms(self, model: Any) -> Value:
        """The terms of naive Bayes without anything filled in: NaN where a value is missing."""


class Matrix(GraphRows):
    """A matrix of numbers ``x``."""

    def __init__(self, x: Value) -> None:
        super().__init__()
        self.x = x
        self._filled: dict[Inputs, Value] = {}

    def design(self, model: Any) -> Value:
        """The matrix itself; missing values are filled where training knew what with."""
        if not hasattr(model, "n_features_in_"):
            return self.x
        inputs = inputs_of(model)
        if inputs not in self._filled:
            self._filled[inputs] = self._complete(model, inputs)
        return self._filled[inputs]

    def _complete(self, model: Any, inputs: Inputs) -> Value:
        if getattr(model, "_missing_ok", False):
            return self.x
        missing = self.x.op("IsNaN")
        if all(column.refuses_missing for column in inputs.columns):
            if inputs.columns:
                self.invalid.append(missing.double().max() > 0.5)
            return self.x
        fill = np.array([[term.fill for term in inputs.terms]])
        return missing.where(fill, self.x)

    def raw_terms(self, model: Any) -> Value:
        """A column for each number, and for each level of a column of codes."""
        found = []
        names = list(model.schema_.names)
        for term in model.density_.terms:
            column = self.x.column(names.index(term.column))
            if term.level is None:
                found.append(column)
            else:
                same = column.equals(float(term.level)).double()
                found.append(column.op("IsNaN").where(np.nan, same))
        return self.x.graph.concat(found)


class GraphTable(GraphRows):
    """Columns of a table by name: n x 1 of numbers (NaN is missing) or of text (empty is)."""

    def __init__(self, graph: Graph, columns: tuple[InputColumn, ...]) -> None:
        super().__init__()
        self.graph = graph
        self.columns = {column.name: column for column in columns}
        self.values: dict[str, Value] = {}
        for column in columns:
            kind = str if column.kind is Kind.DISCRETE else np.float64
            self.values[column.name] = graph.input(input_name(column.name), kind, ["N", 1])
        self._designs: dict[Inputs, Value] = {}
        self._lacking: dict[str, Value] = {}

    def design(self, model: Any) -> Value:
        """Terms in the order of the model's design."""
        inputs = inputs_of(model)
        if inputs not in self._designs:
            for column in inputs.columns:
                self._refuse(column)
            self._designs[inputs] = self._ordered(inputs.terms)
        return self._designs[inputs]

    def _ordered(self, terms: tuple[DesignTerm, ...]) -> Value:
        """Blocks of columns side by side, then in the order of the terms."""
        blocks: list[Value] = []
        at: dict[Term, int] = {}
        for name in dict.fromkeys(term.column for term in terms):
            own = [term for term in terms if term.column == name]
            levels = [term.level for term in own if term.level is not None]
            if levels:
                at |= {Term(name, level): len(at) + i for i, level in enumerate(levels)}
                blocks.append(self.levels(self.columns[name], levels).double())
            for term in own:
                if term.level is None:
                    at[Term(name, missing=term.missing)] = len(at)
                    blocks.append(self._plain(self.columns[name], term))
        joined = self.graph.concat(blocks)
        order = [at[Term(term.column, term.level, term.missing)] for term in terms]
        return joined if order == sorted(order) else joined.columns(*order)

    def _plain(self, column: InputColumn, term: DesignTerm) -> Value:
        if term.missing:
            return self.lacking(column).double()
        value = self.values[column.name]
        return self.lacking(column).where(float(term.fill), value)

    def levels(self, column: InputColumn, levels: list[str]) -> Value:
        """Whether the text is each of the levels (n x L)."""
        if column.pooled in levels:
            named = [level for level in levels if level != column.pooled]
            rest = ~(self._known(column) | self._empty(column))
            joined = self.graph.concat([self.levels(column, named), rest])
            return joined.columns(*([*named, column.pooled].index(level) for level in levels))
        spellings, value = column.spellings, self.values[column.name]
        found = value.equals(np.array([levels], dtype=object))
        others = [spellings[level][-1] for level in levels]
        if others == levels:
            return found
        return found | value.equals(np.array([others], dtype=object))

    def lacking(self, column: InputColumn) -> Value:
        """Where the value is missing; a level that training did not have may be taken for that."""
        if column.name not in self._lacking:
            self._lacking[column.name] = self._missing(column)
        return self._lacking[column.name]

    def _missing(self, column: InputColumn) -> Value:
        value = self.values[column.name]
        if column.kind is Kind.DISCRETE:
            if column.unseen == "missing":
                return ~self._known(column)
            return self._empty(column)
        missing = value.op("IsNaN")
        for number in column.missing_numbers:
            missing = missing | value.equals(float(number))
        return missing

    def _known(self, column: InputColumn) -> Value:
        return self.levels(column, list(column.levels)).double().max() > 0.5

    def _empty(self, column: InputColumn) -> Value:
        texts = np.array([["", *column.missing_texts]], dtype=object)
        return self.values[column.name].equals(texts).double().max() > 0.5

    def _refuse(self, column: InputColumn) -> None:
        """Mark the rows that the model refuses for this column."""
        if column.kind is Kind.DISCRETE and column.unseen == "error":
            self.invalid.append(~(self._known(column) | self._empty(column)))
        if column.refuses_missing:
            self.invalid.append(self.lacking(column))

    def raw_terms(self, model: Any) -> Value:
        """Values and indicators of levels; NaN for all of them where the value is missing."""
        found = []
        terms: Terms = model.density_.terms
        for name in dict.fromkeys(term.column for term in terms):
            column = self.columns[name]
            self._refuse(column)
            levels = [t.level for t in terms if t.column == name and t.level is not None]
            value = self.levels(column, levels).double() if levels else self.values[name]
            found.append(self.lacking(column).where(np.nan, value))
        return self.graph.concat(found)


#: Names of outputs, which no input may have.
OUTPUTS = (
    "prediction", "probabilities", "scores", "standard_deviation", "interval", "distance", "set",
)  # fmt: skip


def input_name(column: str) -> str:
    """The name of a column's input: its own unless an output has it."""
    return f"{column} (input)" if column in OUTPUTS else column
