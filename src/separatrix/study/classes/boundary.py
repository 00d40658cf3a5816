"""The winner along the plane on which the classes lie farthest apart, for tables of any columns.

Columns of numbers move along the plane; all others are held at their most frequent level.
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
    DecisionSurface,
    decision_surface,
    utilities,
)
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind, Term
from separatrix.study.data import RowFolds, truth_of
from separatrix.study.result import Predictions
from separatrix.study.test_predictions import SHOWN_ROWS, thinned


def plane_of(model: Any, bench: RowFolds, held: Predictions) -> DecisionSurface | None:
    """What ``model`` answers on the plane, with the test part as dots; None where none exists."""
    classes = tuple(str(c) for c in model.classes_)
    some = thinned(np.arange(len(bench.training)), SHOWN_ROWS)
    trained = bench.table.take(bench.training[some])
    dots = thinned(np.arange(len(bench.held)), MOST_DOTS)
    shown = bench.table.take(bench.held[dots])
    numbers = Numbers(trained)
    try:
        return decision_surface(
            (numbers.of(trained.block), _codes(truth_of(trained), classes), trained.block.w),
            (numbers.of(shown.block), _codes(np.asarray(held.truth)[dots], classes)),
            lambda values: utilities(model, numbers.rows(values)),
            _codes(np.asarray(held.predicted)[dots], classes),
            classes,
            names=numbers.names,
            fixed=numbers.fixed,
        )
    except InputError:
        return None


def _codes(labels: NDArray[Any], classes: tuple[str, ...]) -> NDArray[np.intp]:
    """Positions among the classes; their number for any other label, such as doubt."""
    place = {label: i for i, label in enumerate(classes)}
    return np.array([place.get(str(v), len(classes)) for v in labels], dtype=np.intp)


@dataclass(frozen=True)
class Numbers:
    """The columns of numbers of a table, apart from the rest of it."""

    table: InMemory

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of numbers, in order."""
        return tuple(self.table.block.terms.items[j].column for j in self._at)

    @cached_property
    def _at(self) -> list[int]:
        numeric = {c.name for c in self.table.schema.columns if c.kind is Kind.NUMERIC}
        terms = self.table.block.terms
        return [
            j
            for j, term in enumerate(terms)
            if term.column in numeric and term.level is None and not term.missing
        ]

    @cached_property
    def _means(self) -> Floats:
        """The mean of each column over the rows that have it."""
        x, gaps = self._parts(self.table.block)
        seen = np.where(gaps, 0.0, 1.0)
        if self.table.block.w is not None:
            seen = seen * self.table.block.w[:, None]
        return np.asarray((x * seen).sum(axis=0) / np.maximum(seen.sum(axis=0), 1e-300))

    def _parts(self, block: Block) -> tuple[Floats, NDArray[np.bool_]]:
        raw, terms = block.dense(), block.terms
        x, gaps = raw[:, self._at], np.zeros((block.n, len(self._at)), dtype=bool)
        for i, name in enumerate(self.names):
            at = terms.position.get(Term(name, missing=True))
            if at is not None:
                gaps[:, i] = raw[:, at] > 0
        return np.asarray(x), gaps

    def of(self, block: Block) -> Floats:
        """The numbers of a block, a gap at the mean of its column."""
        x, gaps = self._parts(block)
        return np.where(gaps, self._means, x)

    @cached_property
    def _held(self) -> tuple[Floats, tuple[str, ...]]:
        """A row without numbers, each other column at its most frequent value; and in words."""
        terms = self.table.block.terms
        row, said = np.zeros(len(terms)), []
        totals = np.asarray(self.table.block.dense().mean(axis=0))
        for column in self.table.schema.columns:
            levels = [
                j
                for j, term in enumerate(terms)
                if term.column == column.name and not term.missing and j not in self._at
            ]
            if not levels:
                continue
            if terms.items[levels[0]].level is None:
                row[levels[0]] = float(totals[levels[0]] >= 0.5)
                said.append(f"{column.name} at {'true' if row[levels[0]] else 'false'}")
                continue
            most = levels[int(np.argmax(totals[levels]))]
            row[most] = 1.0
            said.append(f"{column.name} at {terms.items[most].level}")
        return row, tuple(said)

    @property
    def fixed(self) -> tuple[str, ...]:
        """What the columns without numbers are held at, a phrase each."""
        return self._held[1]

    def rows(self, values: Floats) -> InMemory:
        """A table of these numbers."""
        block = self.table.block
        x = np.tile(self._held[0], (len(values), 1))
        x[:, self._at] = values
        empty = np.zeros((len(values), block.y.shape[1]))
        return InMemory(self.table.schema, replace(block, x=x, y=empty, w=None, parts=None))
