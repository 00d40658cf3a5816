"""One-hot encoding of a numeric matrix in which some columns hold codes of levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.schema import Block, Column, Kind, Schema, Term, Terms
from separatrix.rows.sources.columns import Location, check_boolean, level_text, warn_unseen


@dataclass(frozen=True)
class OneHotColumns:
    """One 0/1 indicator per level in place of each discrete column of ``schema``; NaN stays NaN.

    Where the schema lists the levels of a column, any other level becomes all zeros, with a
    warning (SEP005).
    """

    schema: Schema

    @property
    def is_identity(self) -> bool:
        """Whether all columns are numeric, so that nothing changes."""
        return all(column.kind is Kind.NUMERIC for column in self.schema.columns)

    def apply(self, block: Block) -> Block:
        """Replace the discrete columns of a block by indicators."""
        if self.is_identity:
            return block
        x = np.ascontiguousarray(block.dense().T)  # column by column, as it is read and written
        levels = [_levels(x[j], column) for j, column in enumerate(self.schema.columns)]
        out = np.empty((sum(1 if known is None else len(known) for known in levels), block.n))
        terms: list[Term] = []
        for j, (column, known) in enumerate(zip(self.schema.columns, levels, strict=True)):
            if known is None:
                if column.kind is Kind.BOOLEAN:
                    check_boolean(x[j], column.name, Location())
                out[len(terms)] = x[j]
                terms.append(Term(column.name))
            else:
                _indicators(x[j], column, known, out[len(terms) : len(terms) + len(known)])
                terms += [Term(column.name, level) for level in known]
        return replace(block, x=out.T, terms=Terms(tuple(terms)))


def _levels(values: Floats, column: Column) -> tuple[str, ...] | None:
    """The levels of a discrete column: those of the schema, else those that occur."""
    if column.kind is not Kind.DISCRETE:
        return None
    return column.levels or tuple(sorted(str(level_text(v)) for v in _distinct(values).tolist()))


def _distinct(values: Floats) -> Floats:
    """The distinct values; small integers are counted, which is faster than sorting."""
    present = values[~np.isnan(values)]
    if present.size and present.min() >= 0 and present.max() < 10_000:
        integers = present.astype(np.int64)
        if (integers == present).all():
            return np.flatnonzero(np.bincount(integers)).astype(float)
    return np.unique(present)


def _indicators(values: Floats, column: Column, levels: tuple[str, ...], out: Floats) -> None:
    """Row l of ``out`` is the indicator of level l; a missing value is NaN in all of them."""
    for line, level in zip(out, levels, strict=True):
        line[:] = values == float(level)
    if out.sum() < len(values):
        other = np.flatnonzero(~out.any(axis=0))
        rest = values[other]
        out[:, other[np.isnan(rest)]] = np.nan
        found, counts = np.unique(rest[~np.isnan(rest)], return_counts=True)
        names = (str(level_text(v)) for v in found.tolist())
        unseen = Counter(dict(zip(names, counts.tolist(), strict=True)))
        warn_unseen({column.name: unseen}, "zeros")


def with_kinds(schema: Schema, kinds: Any) -> Schema:
    """Set the kinds of columns: one kind for all, a list, or a mapping by name or position."""
    d, names = len(schema.columns), schema.names
    words = ["numeric"] * d
    if isinstance(kinds, str):
        words = [kinds] * d
    elif isinstance(kinds, Mapping):
        for key, word in kinds.items():
            if key not in names and key not in range(d):
                raise InputError(
                    f"kinds has an entry for column {key!r}, which does not exist.",
                    remedy=did_you_mean(str(key), names),
                )
            words[names.index(key) if key in names else int(key)] = word
    elif kinds is not None:
        words = list(kinds)
    if len(words) != d:
        raise InputError(f"kinds has {len(words)} entries for {d} columns.")
    unknown = [word for word in words if word not in list(Kind)]
    if unknown:
        raise InputError(
            f"{unknown[0]!r} is not a kind of column.",
            remedy="Use 'numeric', 'boolean' or 'discrete'.",
        )
    typed = zip(schema.columns, words, strict=True)
    return replace(schema, columns=tuple(replace(c, kind=Kind(word)) for c, word in typed))
