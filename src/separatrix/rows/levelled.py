"""A matrix of numbers of which some columns name levels: these become indicators, as in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.messages import InputError, did_you_mean, doubt
from separatrix.rows.block import Block, Floats
from separatrix.rows.columns import level_text
from separatrix.rows.schema import Column, Kind, Schema, Term, Terms


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
        x, parts, terms = block.dense(), [], []
        for j, column in enumerate(self.schema.columns):
            values = x[:, [j]]
            if column.kind is Kind.DISCRETE:
                values, levels = _indicators(values, column)
                terms += [Term(column.name, level) for level in levels]
            else:
                if column.kind is Kind.BOOLEAN:
                    _refuse_others(values, column.name)
                terms.append(Term(column.name))
            parts.append(values)
        return replace(block, x=np.concatenate(parts, axis=1), terms=Terms(tuple(terms)))


def _indicators(values: Floats, column: Column) -> tuple[Floats, list[str]]:
    found = np.unique(values[~np.isnan(values)])
    by_text = {str(level_text(v)): v for v in found.tolist()}
    levels = list(column.levels) or sorted(by_text)
    unseen = sorted(set(by_text) - set(levels))
    if unseen:
        doubt(
            "SEP005",
            f"column {column.name!r} holds {', '.join(unseen[:5])}, which training did not: "
            "these values are passed over.",
        )
    at = np.array([by_text.get(level, np.nan) for level in levels])
    hot = (values == at).astype(float)
    hot[np.isnan(values[:, 0])] = np.nan
    return hot, levels


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
