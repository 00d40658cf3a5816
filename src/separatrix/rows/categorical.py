"""A matrix of numbers of which some columns name levels: these become indicators, as in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.messages import InputError, did_you_mean, warn
from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Column, Kind, Schema, Term, Terms
from separatrix.rows.sources.columns import level_text


@dataclass(frozen=True)
class Levelled:
    """Blocks of one number per column, seen as raw blocks of ``schema``; NaN stays NaN.

    Levels of a discrete column that are known in the schema are the only ones: another is passed
    over like a missing value, and said.
    """

    schema: Schema

    @property
    def plain(self) -> bool:
        """Whether nothing changes."""
        return all(column.kind is Kind.NUMERIC for column in self.schema.columns)

    def apply(self, block: Block) -> Block:
        """The block with indicators in place of discrete columns."""
        if self.plain:
            return block
        x = np.ascontiguousarray(block.dense().T)  # by column, as it is read and written
        levels = [_levels(x[j], column) for j, column in enumerate(self.schema.columns)]
        out = np.empty((sum(1 if own is None else len(own) for own in levels), block.n))
        terms: list[Term] = []
        for j, (column, own) in enumerate(zip(self.schema.columns, levels, strict=True)):
            if own is None:
                if column.kind is Kind.BOOLEAN:
                    _refuse_others(x[j], column.name)
                out[len(terms)] = x[j]
                terms.append(Term(column.name))
            else:
                _indicators(x[j], column, own, out[len(terms) : len(terms) + len(own)])
                terms += [Term(column.name, level) for level in own]
        return replace(block, x=out.T, terms=Terms(tuple(terms)))


def _levels(values: Floats, column: Column) -> tuple[str, ...] | None:
    """The levels of a discrete column: those known, else those met."""
    if column.kind is not Kind.DISCRETE:
        return None
    return column.levels or tuple(sorted(str(level_text(v)) for v in _distinct(values).tolist()))


def _distinct(values: Floats) -> Floats:
    """The values that occur; small whole numbers are marked off, which is faster than sorting."""
    there = values[~np.isnan(values)]
    if there.size and there.min() >= 0 and there.max() < 10_000:
        whole = there.astype(np.int64)
        if (whole == there).all():
            return np.flatnonzero(np.bincount(whole)).astype(float)
    return np.unique(there)


def _indicators(values: Floats, column: Column, levels: tuple[str, ...], out: Floats) -> None:
    """1 in the line of each value's level; NaN throughout where the value is missing."""
    for line, level in zip(out, levels, strict=True):
        line[:] = values == float(level)
    if out.sum() < len(values):
        odd = np.flatnonzero(~out.any(axis=0))
        rest = values[odd]
        out[:, odd[np.isnan(rest)]] = np.nan
        unseen = [str(level_text(v)) for v in _distinct(rest).tolist()]
        if unseen:
            warn(
                "SEP005",
                f"column {column.name!r} holds {', '.join(unseen[:5])}, which training did not: "
                "these values are passed over.",
            )


def _refuse_others(values: Floats, name: str) -> None:
    odd = np.flatnonzero(~(np.isnan(values) | (values == 0) | (values == 1)))
    if odd.size:
        raise InputError(
            f"holds {values.flat[odd[0]]:g}, but a yes/no column holds 0 and 1.",
            row=int(odd[0]) + 1,
            column=name,
            remedy="Compare it with a threshold first, or call it 'numeric' or 'discrete'.",
        )


def with_kinds(schema: Schema, kinds: Any) -> Schema:
    """The schema of a matrix with kinds: one word for all columns, a list, or by name or place."""
    d, names = len(schema.columns), schema.names
    words = ["numeric"] * d
    if isinstance(kinds, str):
        words = [kinds] * d
    elif isinstance(kinds, Mapping):
        for key, word in kinds.items():
            if key not in names and key not in range(d):
                raise InputError(
                    f"kinds names a column {key!r}, which is not there.",
                    remedy=did_you_mean(str(key), names),
                )
            words[names.index(key) if key in names else int(key)] = word
    elif kinds is not None:
        words = list(kinds)
    if len(words) != d:
        raise InputError(f"kinds has {len(words)} entries for {d} columns.")
    odd = [word for word in words if word not in list(Kind)]
    if odd:
        raise InputError(
            f"{odd[0]!r} is no kind of column.", remedy="Use 'numeric', 'boolean' or 'discrete'."
        )
    typed = zip(schema.columns, words, strict=True)
    return replace(schema, columns=tuple(replace(c, kind=Kind(word)) for c, word in typed))
