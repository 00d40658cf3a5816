"""Rows that are in memory already: a dense or CSR matrix with targets and weights."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Block, Floats, Matrix
from separatrix.rows.rows import Rows, S, reduce_on_threads
from separatrix.rows.schema import Column, Schema, Term, Terms

#: Rows below which a second thread costs more than it saves.
ROWS_PER_THREAD = 20_000


class ArrayRows(Rows):
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
        y = np.empty((n, 0)) if y is None else y.reshape(n, -1)
        features = tuple(names) if names is not None else tuple(f"x{j}" for j in range(d))
        if targets is None:
            targets = [Term("y" if y.shape[1] == 1 else f"y{j}") for j in range(y.shape[1])]
        self.schema = Schema(
            tuple(Column(name) for name in features),
            tuple(Column(name) for name in dict.fromkeys(t.column for t in targets)),
        )
        self.block = Block(
            x, y, w, Terms(tuple(Term(name) for name in features)), Terms(tuple(targets)), parts
        )

    def blocks(self) -> Iterator[Block]:
        yield self.block

    def with_parts(self, parts: NDArray[np.int64]) -> ArrayRows:
        """The same rows, each labelled with its part."""
        other = object.__new__(ArrayRows)
        other.schema, other.block = self.schema, replace(self.block, parts=parts)
        return other

    def take(self, index: NDArray[Any] | slice) -> ArrayRows:
        """Some of the rows."""
        other = object.__new__(ArrayRows)
        other.schema, other.block = self.schema, self.block.take(index)
        return other

    def reduce(self, statistic: S) -> S:
        n = self.block.n
        threads = max(1, min(os.cpu_count() or 1, n // ROWS_PER_THREAD))
        cuts = [n * i // threads for i in range(threads + 1)]
        return reduce_on_threads(
            statistic,
            [
                lambda a=a, b=b: iter([self.block.take(slice(a, b))])  # type: ignore[misc]
                for a, b in zip(cuts, cuts[1:], strict=False)
            ],
        )
