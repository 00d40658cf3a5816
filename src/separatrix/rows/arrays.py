"""A numeric matrix in memory, dense or CSR, with targets and weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.rows.block import Block, Floats, Ints, Matrix
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Column, Kind, Schema, Term, Terms


class ArrayRows(InMemory):
    """Numeric rows in memory that are a design already: no level to encode, no value missing.

    ``has_names`` says whether the columns were given names.
    """

    def __init__(
        self,
        x: Matrix,
        y: Floats | None = None,
        w: Floats | None = None,
        *,
        names: Sequence[str] | None = None,
        targets: Sequence[Term] | None = None,
        parts: Ints | None = None,
    ) -> None:
        n, d = x.shape
        y = np.empty((n, 0)) if y is None else y[:, None] if y.ndim == 1 else y
        self.has_names = names is not None
        features = tuple(names) if names is not None else column_names(d)
        if targets is None:
            targets = [Term("y" if y.shape[1] == 1 else f"y{j}") for j in range(y.shape[1])]
        terms = Terms(tuple(Term(name) for name in features))
        super().__init__(
            Schema(tuple(Column(name) for name in features), _target_columns(targets)),
            Block(x, y, w, terms, Terms(tuple(targets)), parts),
        )


def column_names(d: int) -> tuple[str, ...]:
    """Names for the columns of a matrix without any: x0, x1, …"""
    return tuple(f"x{j}" for j in range(d))


def _target_columns(targets: Sequence[Term]) -> tuple[Column, ...]:
    """One column for each name; those given as level indicators are discrete."""
    levels: dict[str, tuple[str, ...]] = {}
    for term in targets:
        known = levels.setdefault(term.column, ())
        levels[term.column] = known if term.level is None else (*known, term.level)
    return tuple(
        Column(name, Kind.DISCRETE if known else Kind.NUMERIC, known)
        for name, known in levels.items()
    )
