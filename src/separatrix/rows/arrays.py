"""Rows that are in memory already: a dense or CSR matrix with targets and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Block, Floats, Matrix
from separatrix.rows.parts import Parts, block_content
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Column, Kind, Schema, Term, Terms


class ArrayRows(InMemory):
    """Numeric rows in memory. One block; split over threads when it is large."""

    def __init__(
        self,
        x: Matrix,
        y: Floats | None = None,
        w: Floats | None = None,
        *,
        names: Sequence[str] | None = None,
        targets: Sequence[Term] | None = None,
        parts: NDArray[np.int64] | None = None,
    ) -> None:
        n, d = x.shape
        y = np.empty((n, 0)) if y is None else y[:, None] if y.ndim == 1 else y
        self.named = names is not None
        features = tuple(names) if names is not None else column_names(d)
        if targets is None:
            targets = [Term("y" if y.shape[1] == 1 else f"y{j}") for j in range(y.shape[1])]
        self.schema = Schema(
            tuple(Column(name) for name in features),
            _target_columns(targets),
        )
        self._row_ids: NDArray[np.int64] | None = None
        self.block = Block(
            x, y, w, Terms(tuple(Term(name) for name in features)), Terms(tuple(targets)), parts
        )

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """The number that each row has among those given first."""
        return np.arange(1, self.block.n + 1) if self._row_ids is None else self._row_ids

    def with_parts(self, parts: Parts | NDArray[np.int64]) -> ArrayRows:
        """The same rows, each labelled with its part: as given, or by the content of the rows."""
        labels = (
            parts.assign_in_memory(block_content(self.block)) if isinstance(parts, Parts) else parts
        )
        return self._like(replace(self.block, parts=labels), self._row_ids)

    def take(self, index: NDArray[Any] | slice) -> ArrayRows:
        """Some of the rows."""
        return self._like(self.block.take(index), self.row_ids[index])

    def _like(self, block: Block, row_ids: NDArray[np.int64] | None) -> ArrayRows:
        other = object.__new__(ArrayRows)
        other.schema, other.block, other._row_ids = self.schema, block, row_ids
        other.named = self.named
        return other


def column_names(d: int) -> tuple[str, ...]:
    """What the columns of a bare matrix are called: x0, x1, …"""
    return tuple(f"x{j}" for j in range(d))


def _target_columns(targets: Sequence[Term]) -> tuple[Column, ...]:
    """One column for each name; those that come as level indicators are discrete."""
    levels: dict[str, tuple[str, ...]] = {}
    for term in targets:
        known = levels.setdefault(term.column, ())
        levels[term.column] = known if term.level is None else (*known, term.level)
    return tuple(
        Column(name, Kind.DISCRETE if known else Kind.NUMERIC, known)
        for name, known in levels.items()
    )
