"""Numbers of rows that moments disclose: of levels, of missing values, and of pairs of them.

    n_ab = Σ 1[a] 1[b] = S_ab + n μ_a μ_b        for indicators a and b of the raw terms

A sum over few rows says much about each. Every level, value and missing value has the number of its
rows in the moments, and so has every pair of them in two columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.schema import Kind, Schema, Term
from separatrix.statistics.moments import Moments


@dataclass(frozen=True)
class SmallCell:
    """So many ``rows`` have what ``what`` says; ``columns`` are those that it is about."""

    rows: int
    what: str
    columns: tuple[str, ...] = ()


def smallest_cell(schema: Schema, moments: Moments, least: int) -> SmallCell | None:
    """The first cell of fewer than ``least`` rows, but some; None if there is none.

    The rows themselves come first, then single levels, then pairs of them.
    """
    if 0 < moments.count < least:
        return SmallCell(moments.count, "")
    names, columns, map_ = _indicators(schema, moments)
    if not names:
        return None
    if schema.weight is not None:
        raise InputError(
            f"under weights ({schema.weight!r}) sums do not tell how many rows have a level or a "
            "missing value, so that their least number cannot be checked.",
            remedy="Summarize without the weights, or leave out columns of text, true/false and "
            "missing values.",
        )
    counts = np.rint(map_ @ _second_moments(moments) @ map_.T).astype(np.int64)
    for i in np.flatnonzero((np.diag(counts) > 0) & (np.diag(counts) < least)):
        return SmallCell(int(counts[i, i]), names[i], (columns[i],))
    few = np.triu((counts > 0) & (counts < least), 1)
    for i, j in np.argwhere(few):
        both = f"{names[i]} and {names[j]}"
        return SmallCell(int(counts[i, j]), both, (columns[i], columns[j]))
    return None


def _second_moments(moments: Moments) -> Floats:
    """Σ u uᵀ of u = (1, raw terms)."""
    mean = np.append(1.0, moments.x_mean)
    total = moments.count * np.outer(mean, mean)
    total[1:, 1:] += moments.xx
    return total


def _indicators(schema: Schema, m: Moments) -> tuple[list[str], list[str], Floats]:
    """Indicators as linear maps of (1, raw terms): what they say, their columns, their weights.

    They are those of levels, of a missing value and of a value, of true and of false.
    """
    names: list[str] = []
    columns: list[str] = []
    rows: list[Floats] = []

    def add(column: str, what: str, weights: dict[int, float]) -> None:
        row = np.zeros(m.d + 1)
        for at, weight in weights.items():
            row[at] += weight
        names.append(what)
        columns.append(column)
        rows.append(row)

    for column in schema.columns:
        name = column.name
        missing = m.terms.position.get(Term(name, missing=True))
        absent = {} if missing is None else {missing + 1: 1.0}
        if missing is not None:
            add(name, f"no value of {name!r}", absent)
            add(name, f"a value of {name!r}", {0: 1.0, missing + 1: -1.0})
        for term, at in m.terms.position.items():
            if term.column == name and term.level is not None:
                add(name, f"{name!r} = {term.level!r}", {at + 1: 1.0})
        value = m.terms.position.get(Term(name))
        if column.kind is Kind.BOOLEAN and value is not None:
            true = {value + 1: 1.0, **dict.fromkeys(absent, -column.placeholder)}
            false = {0: 1.0, value + 1: -1.0}
            false |= dict.fromkeys(absent, column.placeholder - 1.0)
            add(name, f"{name!r} = true", true)
            add(name, f"{name!r} = false", false)
    return names, columns, np.array(rows).reshape(len(rows), m.d + 1)
