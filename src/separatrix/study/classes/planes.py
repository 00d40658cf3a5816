"""The winner on the plane that separates the class means most: decision regions, and SVM margins.

Numeric columns vary along the plane; all others are fixed at their most frequent level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.probability.decision_surface import (
    MOST_DOTS,
    DecisionFunctionSurface,
    DecisionSurface,
    decision_function_surface,
    decision_surface,
    utilities,
)
from separatrix.rows.block import Block, Floats, to_array, unit_weights
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind, Term
from separatrix.study.folds import SHOWN_ROWS, RowFolds, thinned, truth_of
from separatrix.study.result import Margins, Predictions
from separatrix.svm.base import SupportVectorModel


def surface_of(model: Any, folds: RowFolds, test: Predictions) -> DecisionSurface | None:
    """Predictions of ``model`` on the plane, with the test rows; None where there is none."""
    classes = tuple(str(c) for c in model.classes_)
    training = folds.table.take(thinned(folds.training, SHOWN_ROWS))
    points = thinned(np.arange(len(folds.test)), MOST_DOTS)
    shown = folds.table.take(folds.test[points])
    numeric = NumericColumns(training)
    try:
        return decision_surface(
            (numeric.of(training.block), _codes(truth_of(training), classes), training.block.w),
            (numeric.of(shown.block), _codes(np.asarray(test.truth)[points], classes)),
            lambda values: utilities(model, numeric.rows(values)),
            _codes(np.asarray(test.predicted)[points], classes),
            classes,
            names=numeric.names,
            fixed=numeric.fixed,
        )
    except InputError:
        return None


def _codes(labels: NDArray[Any], classes: tuple[str, ...]) -> NDArray[np.intp]:
    """Positions among the classes; their number for any other label, such as a rejection."""
    place = {label: i for i, label in enumerate(classes)}
    return np.array([place.get(str(v), len(classes)) for v in labels], dtype=np.intp)


def margins_of(core: Any, folds: RowFolds) -> Margins | None:
    """Dual coefficients of the training rows; None unless ``core`` is one binary SVM."""
    if not isinstance(core, SupportVectorModel) or len(core.classes_) != 2:
        return None
    some = thinned(np.arange(len(folds.training)), SHOWN_ROWS)
    rows = folds.table.take(folds.training[some])
    w = unit_weights(rows.block.w, len(some))
    labels = np.array([str(v) for v in truth_of(rows)])
    scores = np.asarray(core.decision_function(rows), dtype=float)
    alpha = np.abs(core.alpha_)[some]
    return Margins(alpha, float(core.C_) * w, labels, scores, _surface(core, rows, labels))


def _surface(core: Any, rows: InMemory, labels: NDArray[Any]) -> DecisionFunctionSurface | None:
    """The decision function on a plane with the rows; None unless two columns vary."""
    numeric = NumericColumns(rows)
    try:
        return decision_function_surface(
            numeric.of(rows.block),
            (labels == str(core.classes_[1])).astype(np.intp),
            lambda values: np.asarray(core.decision_function(numeric.rows(values)), dtype=float),
            w=rows.block.w,
            names=numeric.names,
            fixed=numeric.fixed,
        )
    except InputError:
        return None


@dataclass(frozen=True)
class NumericColumns:
    """The numeric columns of a table, apart from the rest of it."""

    table: InMemory

    @property
    def names(self) -> tuple[str, ...]:
        """The numeric columns, in order."""
        return tuple(c.name for c in self.table.schema.columns if c.kind is Kind.NUMERIC)

    @cached_property
    def _at(self) -> list[int]:
        return [self.table.block.terms.position[Term(name)] for name in self.names]

    @cached_property
    def _means(self) -> Floats:
        """The mean of each column over the rows that have it."""
        x, missing = self.values(self.table.block)
        present = np.where(missing, 0.0, 1.0)
        if self.table.block.w is not None:
            present = present * self.table.block.w[:, None]
        return np.asarray((x * present).sum(axis=0) / np.maximum(present.sum(axis=0), 1e-300))

    def values(self, block: Block) -> tuple[Floats, NDArray[np.bool_]]:
        """The numeric values of a block, and which of them are missing."""
        x = to_array(block.x[:, self._at])
        missing = np.zeros((block.n, len(self._at)), dtype=bool)
        for i, name in enumerate(self.names):
            at = block.terms.position.get(Term(name, missing=True))
            if at is not None:
                missing[:, i] = np.ravel(to_array(block.x[:, [at]])) > 0
        return x, missing

    def of(self, block: Block) -> Floats:
        """The numeric values of a block, missing ones at the mean of their column."""
        x, missing = self.values(block)
        return np.where(missing, self._means, x)

    @cached_property
    def _fixed_row(self) -> tuple[Floats, tuple[str, ...]]:
        """A row with each other column at its most frequent value; and in words."""
        terms = self.table.block.terms
        row, texts = np.zeros(len(terms)), []
        totals = np.ravel(self.table.block.x.mean(axis=0))
        others: dict[str, list[int]] = {}
        numeric = frozenset(self._at)
        for j, term in enumerate(terms):
            if not term.missing and j not in numeric:
                others.setdefault(term.column, []).append(j)
        for column in self.table.schema.columns:
            levels = others.get(column.name)
            if levels is None:
                continue
            if terms.items[levels[0]].level is None:
                row[levels[0]] = float(totals[levels[0]] >= 0.5)
                texts.append(f"{column.name} at {'true' if row[levels[0]] else 'false'}")
                continue
            most = levels[int(np.argmax(totals[levels]))]
            row[most] = 1.0
            texts.append(f"{column.name} at {terms.items[most].level}")
        return row, tuple(texts)

    @property
    def fixed(self) -> tuple[str, ...]:
        """What the other columns are fixed at, a phrase each."""
        return self._fixed_row[1]

    def rows(self, values: Floats) -> InMemory:
        """A table of these values in the numeric columns."""
        block = self.table.block
        x = np.tile(self._fixed_row[0], (len(values), 1))
        x[:, self._at] = values
        empty = np.zeros((len(values), block.y.shape[1]))
        return InMemory(self.table.schema, replace(block, x=x, y=empty, w=None, parts=None))
