"""Moments files (``.moments``): a table as mergeable moments by part, without its rows."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.rows.schema import Column, Kind, Schema
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import with_placeholders
from separatrix.storage.codec import Tensors, encode
from separatrix.storage.container import Container, write

KIND = "separatrix moments"


@dataclass(frozen=True)
class StoredMoments:
    """Moments of the raw terms by part of the data, with the schema and the split."""

    schema: Schema
    parts: Parts
    groups: Grouped[Moments]

    def __add__(self, other: StoredMoments) -> StoredMoments:
        """The moments of both tables. Columns must agree; levels may differ and are united."""
        differences = differing(self, other)
        if differences:
            raise InputError(
                f"The moments cannot be added: {'; '.join(differences)}.",
                remedy="Summarize both tables with the same columns, kinds and options.",
            )
        theirs = {
            part: with_placeholders(m, other.schema, self.schema)
            for part, m in other.groups.parts.items()
        }
        groups = self.groups + Grouped(Moments(), theirs)
        schema = replace(
            self.schema,
            columns=_united(self.schema.columns, other.schema.columns),
            targets=_united(self.schema.targets, other.schema.targets),
        )
        return StoredMoments(schema, self.parts, groups)


def save_moments(stored: StoredMoments, path: str | os.PathLike[str]) -> None:
    """Write moments by part to a file, atomically."""
    tensors: Tensors = {}
    groups = {str(k): stored.groups.parts[k] for k in sorted(stored.groups.parts)}
    content = {
        "schema": encode(stored.schema, tensors, "schema"),
        "parts": encode(stored.parts, tensors, "parts"),
        "groups": {k: encode(m, tensors, f"part {k}") for k, m in groups.items()},
    }
    write(path, KIND, content, tensors)


def load_moments(path: str | os.PathLike[str]) -> StoredMoments:
    """Read moments from a file, with checks of schema, shapes and finite values."""
    file = Container(path, KIND)
    schema, parts, groups = file.value("schema"), file.value("parts"), file.json("groups")
    if not isinstance(schema, Schema) or not isinstance(parts, Parts):
        raise file.damaged("the schema is of the wrong type")
    if not isinstance(groups, dict) or not groups:
        raise file.damaged("there are no moments in it")
    found: dict[int, Moments] = {}
    for key, value in groups.items():
        moments = file.rebuild(value)
        if not key.lstrip("-").isdecimal() or not _is_valid(moments, schema):
            raise file.damaged(f"the moments of part {key[:20]!r} are inconsistent")
        found[int(key)] = moments
    return StoredMoments(schema, parts, Grouped(Moments(), dict(sorted(found.items()))))


def _is_valid(moments: Any, schema: Schema) -> bool:
    """Whether these can be moments of a table under ``schema``."""
    if not isinstance(moments, Moments):
        return False
    if not {term.column for term in moments.terms} <= set(schema.names):
        return False
    if {term.column for term in moments.targets} != {column.name for column in schema.targets}:
        return False
    p = len(moments.terms) + len(moments.targets)
    return (
        moments.mean.shape == (p,)
        and moments.scatter.shape == (p, p)
        and bool((np.abs(moments.mean) < _LARGEST).all())  # which is false for NaN
        and bool((np.abs(moments.scatter) < _LARGEST).all())
        and bool((moments.scatter.diagonal() >= 0).all())
        and moments.count > 0
        and moments.weight > 0
    )


#: Sums of squares beyond this cannot be squared again without overflow.
_LARGEST = 1e150


def differing(a: StoredMoments, b: StoredMoments) -> list[str]:
    """The differences that prevent adding two sets of moments, a phrase for each."""
    found = []
    for role, ours, theirs in (
        ("column", a.schema.columns, b.schema.columns),
        ("target", a.schema.targets, b.schema.targets),
    ):
        left, right = ({c.name: c.kind for c in side} for side in (ours, theirs))
        found += [f"{role} {n!r} is only in the first" for n in left if n not in right]
        found += [f"{role} {n!r} is only in the second" for n in right if n not in left]
        found += [
            f"{role} {n!r} is {left[n]} in the first and {right[n]} in the second"
            for n in left
            if n in right and left[n] != right[n]
        ]
    for option in ("weight", "group", "missing", "unseen"):
        ours, theirs = getattr(a.schema, option), getattr(b.schema, option)
        if ours != theirs:
            found.append(f"{option} is {ours!r} in the first and {theirs!r} in the second")
    if a.parts != b.parts:
        found.append(f"the split is {a.parts} in the first and {b.parts} in the second")
    return found


def _united(ours: tuple[Column, ...], theirs: tuple[Column, ...]) -> tuple[Column, ...]:
    """Our columns, with the levels of both."""
    levels = {column.name: column.levels for column in theirs}
    return tuple(
        replace(c, levels=tuple(sorted({*c.levels, *levels[c.name]})))
        if c.kind is Kind.DISCRETE
        else c
        for c in ours
    )
