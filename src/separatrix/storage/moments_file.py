"""Moments files (``.moments``): a table as mergeable moments by part, without its rows.

Of a numeric target there are moments by part; of classes, by part and class.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Column, Kind, Schema, Term
from separatrix.rows.sources.reader import no_usable_rows
from separatrix.rows.split import TEST
from separatrix.statistics.class_preparation import (
    ClassMomentsByPart,
    MomentsByClass,
    smallest_cell,
)
from separatrix.statistics.moments import Grouped, Moments, with_placeholders
from separatrix.storage.container import Container, Tensors, encode, write

KIND = "separatrix moments"


@dataclass(frozen=True)
class StoredMoments:
    """Moments of the raw terms by part of the data, with the schema and the split.

    Those of classes are by part and class.
    """

    schema: Schema
    parts: Parts
    groups: Grouped[Moments] | ClassMomentsByPart

    @property
    def by_class(self) -> ClassMomentsByPart | None:
        """Moments by part and class; None of a numeric target."""
        return self.groups if isinstance(self.groups, ClassMomentsByPart) else None

    @property
    def numeric(self) -> Grouped[Moments]:
        """Moments by part of a numeric target; refuses classes."""
        if isinstance(self.groups, ClassMomentsByPart):
            raise InputError(
                "the target of these moments is one of classes.",
                column=self.schema.targets[0].name,
                remedy="Fit a classifier: separatrix fit, or run_study in Python.",
            )
        return self.groups

    def cells(self) -> Iterator[tuple[int, str | None, Moments]]:
        """Every part (and class), with its moments."""
        for part in sorted(self.groups.parts):
            moments: Any = self.groups.parts[part]
            if isinstance(moments, Moments):
                yield part, None, moments
                continue
            for term in sorted(moments.parts, key=str):
                yield part, term.level, moments.parts[term]

    @property
    def counts(self) -> dict[int, int]:
        """Rows by part."""
        found: dict[int, int] = {}
        for part, _, moments in self.cells():
            found[part] = found.get(part, 0) + moments.count
        return found

    def require_rows(self, least: int) -> None:
        """Refuse moments with a sum over fewer rows than ``least``, and name it."""
        if least < 1:
            raise InputError(f"`min_rows` is {least}.", remedy="Use a number from 1.")
        for part, level, moments in self.cells():
            cell = smallest_cell(self.schema, moments, least)
            if cell is None:
                continue
            place = "the test part" if part == TEST else f"fold {part}"
            inside = "" if level is None else f" of class {level!r}"
            what = f" with {cell.what}" if cell.what else ""
            named = " or ".join(repr(name) for name in dict.fromkeys(cell.columns))
            remedy = (
                f"Merge rare levels of {named}, leave the column out (--kind NAME=ignore), "
                if named
                else f"Leave the rows{inside} out, join the class to another, "
                if level is not None
                else "Give more rows, "
            ) + "use fewer folds, or agree on a smaller --min-rows."
            rows = f"{cell.rows} row" + "s" * (cell.rows != 1)
            raise InputError(
                f"{place} has {rows}{inside}{what}, fewer than {least}.", remedy=remedy
            )

    def __add__(self, other: StoredMoments) -> StoredMoments:
        """The moments of both tables. Columns must agree; levels may differ and are united."""
        differences = differing(self, other)
        if differences:
            raise InputError(
                f"The moments cannot be added: {'; '.join(differences)}.",
                remedy="Summarize both tables with the same columns, kinds and options.",
            )

        def ours(moments: Moments) -> Moments:
            return with_placeholders(moments, other.schema, self.schema)

        groups: Any
        if isinstance(other.groups, ClassMomentsByPart):
            groups = ClassMomentsByPart(
                parts={
                    part: MomentsByClass({term: ours(m) for term, m in found.parts.items()})
                    for part, found in other.groups.parts.items()
                }
            )
        else:
            groups = Grouped(Moments(), {p: ours(m) for p, m in other.groups.parts.items()})
        schema = replace(
            self.schema,
            columns=_unite(self.schema.columns, other.schema.columns),
            targets=_unite(self.schema.targets, other.schema.targets),
        )
        return StoredMoments(schema, self.parts, cast(Any, self.groups) + groups)


def save_moments(stored: StoredMoments, path: str | os.PathLike[str]) -> None:
    """Write moments by part (and class) to a file, atomically."""
    tensors: Tensors = {}
    content = {
        "schema": encode(stored.schema, tensors, "schema"),
        "parts": encode(stored.parts, tensors, "parts"),
    }
    groups: dict[str, Any] = {}
    for part, level, moments in stored.cells():
        name = f"part {part}" if level is None else f"part {part} class {level}"
        value = encode(moments, tensors, name)
        if level is None:
            groups[str(part)] = value
        else:
            groups.setdefault(str(part), {})[level] = value
    content["groups" if stored.by_class is None else "classes"] = groups
    write(path, KIND, content, tensors)


def load_moments(path: str | os.PathLike[str]) -> StoredMoments:
    """Read moments from a file, with checks of schema, shapes and finite values."""
    file = Container(path, KIND)
    schema, parts = file.value("schema"), file.value("parts")
    if not isinstance(schema, Schema) or not isinstance(parts, Parts):
        raise file.damaged("the schema is of the wrong type")
    of_classes = "classes" in file
    groups = file.json("classes" if of_classes else "groups")
    if not isinstance(groups, dict) or not groups:
        raise file.damaged("there are no moments in it")
    if of_classes:
        return StoredMoments(schema, parts, _loaded_classes(file, schema, groups))
    found: dict[int, Moments] = {}
    for key, value in groups.items():
        moments = file.rebuild(value)
        if not _is_number(key) or not _is_valid(moments, schema):
            raise file.damaged(f"the moments of part {key[:20]!r} are inconsistent")
        found[int(key)] = moments
    return StoredMoments(schema, parts, Grouped(Moments(), dict(sorted(found.items()))))


def _loaded_classes(file: Container, schema: Schema, groups: dict[str, Any]) -> ClassMomentsByPart:
    """Moments by part and class, each checked."""
    target = schema.targets[0] if len(schema.targets) == 1 else None
    if target is None or target.kind is Kind.NUMERIC:
        raise file.damaged("it holds classes, and its target none")
    found: dict[int, MomentsByClass] = {}
    for key, classes in groups.items():
        if not _is_number(key) or not isinstance(classes, dict) or not classes:
            raise file.damaged(f"the moments of part {key[:20]!r} are inconsistent")
        part = MomentsByClass()
        for level, value in classes.items():
            moments = file.rebuild(value)
            if not _is_valid(moments, replace(schema, targets=())):
                raise file.damaged(f"the moments of class {level[:20]!r} are inconsistent")
            part.parts[Term(target.name, level=level)] = moments
        found[int(key)] = part
    return ClassMomentsByPart(parts=dict(sorted(found.items())))


def _is_number(key: str) -> bool:
    return key.lstrip("-").isdecimal()


def _is_valid(moments: Any, schema: Schema) -> bool:
    """Whether these can be moments of a table under ``schema``."""
    if not isinstance(moments, Moments):
        return False
    if not {term.column for term in moments.terms} <= set(schema.names):
        return False
    if {term.column for term in moments.targets} != {column.name for column in schema.targets}:
        return False
    p = len(moments.terms) + len(moments.targets)
    largest = 1e150  # beyond, sums of squares cannot be squared again without overflow
    return (
        moments.mean.shape == (p,)
        and moments.scatter.shape == (p, p)
        and bool((np.abs(moments.mean) < largest).all())  # which is false for NaN
        and bool((np.abs(moments.scatter) < largest).all())
        and bool((moments.scatter.diagonal() >= 0).all())
        and moments.count > 0
        and moments.weight > 0
    )


def differing(a: StoredMoments, b: StoredMoments) -> list[str]:
    """The differences that prevent adding two sets of moments, a phrase for each."""
    names = []
    for role, ours, theirs in (
        ("column", a.schema.columns, b.schema.columns),
        ("target", a.schema.targets, b.schema.targets),
    ):
        left, right = ({c.name: c.kind for c in side} for side in (ours, theirs))
        names += [f"{role} {n!r} is only in the first" for n in left if n not in right]
        names += [f"{role} {n!r} is only in the second" for n in right if n not in left]
        names += [
            f"{role} {n!r} is {left[n]} in the first and {right[n]} in the second"
            for n in left
            if n in right and left[n] != right[n]
        ]
    for option in ("weight", "group", "missing", "unseen"):
        ours, theirs = getattr(a.schema, option), getattr(b.schema, option)
        if ours != theirs:
            names.append(f"{option} is {ours!r} in the first and {theirs!r} in the second")
    if a.parts != b.parts:
        names.append(f"the split is {a.parts} in the first and {b.parts} in the second")
    return names


def _unite(ours: tuple[Column, ...], theirs: tuple[Column, ...]) -> tuple[Column, ...]:
    """Our columns, with the levels of both."""
    levels = {column.name: column.levels for column in theirs}
    return tuple(
        replace(c, levels=tuple(sorted({*c.levels, *levels[c.name]})))
        if c.kind is Kind.DISCRETE
        else c
        for c in ours
    )


# -------------------------------------------------------------------------------------------------
# Tables reduced to moments where their rows are, and moments of several tables added up.


def summarize(rows: Rows, parts: Parts | None = None, *, min_rows: int = 1) -> StoredMoments:
    """Moments of a table by part, and of classes by part and class, in one pass over its rows.

        μ = Σ w x / Σ w,    S = Σ w (x − μ)(x − μ)ᵀ        for every fold and the test part

    Those of several tables add up to the moments of all their rows: the part of a row follows from
    its content and the seed alone, also where rows are in memory.

    Parameters
    ----------
    rows : Rows
        A table with one target, from :func:`separatrix.scan`.
    parts : Parts, default=None
        The split; None is ``Parts()``. Tables that are to be added need the same.
    min_rows : int, default=1
        Refuse if any sum is over fewer rows: of a part, of a class in it, of a level or a missing
        value, or of a pair of them in two columns.

    Returns
    -------
    StoredMoments
        With the schema and the split; ``+`` adds those of another table.

    See Also
    --------
    merge_moments : Add the moments of several tables.
    save_moments : Write them to a file.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.samples import sample
    >>> from separatrix.storage import summarize
    >>> stored = summarize(sx.scan(sample("wine").path, target="cultivar"), sx.Parts(folds=3))
    >>> sorted(stored.counts), sum(stored.counts.values())
    ([-1, 0, 1, 2], 178)
    >>> sx.run_study(stored).task
    'classification'
    """
    parts = Parts() if parts is None else parts
    schema = rows.schema
    if len(schema.targets) != 1:
        raise InputError(
            f"Moments have one target, and {len(schema.targets)} are named.",
            remedy="Name one: scan(…, target='column').",
        )
    if schema.missing == "regress":
        raise InputError(
            "Imputation by regression needs several passes over the rows.",
            remedy="Summarize with --missing mean or --missing indicator.",
        )
    labeled = _by_content(rows, parts)
    groups: Grouped[Moments] | ClassMomentsByPart
    if schema.targets[0].kind is Kind.NUMERIC:
        groups = labeled.reduce(Grouped(Moments()))
    else:
        groups = labeled.reduce(ClassMomentsByPart())
    stored = StoredMoments(labeled.schema, parts, groups)
    if not any(stored.counts.values()):
        raise no_usable_rows(schema, rows.dropped, None)
    stored.require_rows(min_rows)
    return stored


def _by_content(rows: Rows, parts: Parts) -> Rows:
    """Rows with parts that are the same whichever other rows a table has, as those of a stream.

    Parts of exact size, which rows in memory have elsewhere, depend on all of them; so do parts in
    order of time, and those stay as they are.
    """
    if not isinstance(rows, InMemory) or rows.keys.times is not None:
        return rows.with_parts(parts)
    groups = rows.keys.groups
    return rows.with_parts(parts.assign(rows.hashes if groups is None else groups))


def merge_moments(stored: Sequence[StoredMoments], *, min_rows: int = 1) -> StoredMoments:
    """The moments of all tables together: their sum.

    Parameters
    ----------
    stored : sequence of StoredMoments
        Moments of tables with the same columns, options and split; levels may differ.
    min_rows : int, default=1
        Refuse if any sum of one of the tables, or of all together, is over fewer rows: see
        :func:`summarize`.

    Returns
    -------
    StoredMoments
        As of one table with all rows.

    See Also
    --------
    summarize : The moments of one table.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.storage import merge_moments, summarize
    >>> north = sx.scan({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 2.5]}, target="y")
    >>> south = sx.scan({"x": [4.0, 5.0], "y": [4.5, 5.0]}, target="y")
    >>> both = merge_moments([summarize(north), summarize(south)])
    >>> sum(both.counts.values())
    5
    """
    if not stored:
        raise InputError("There are no moments to merge.", remedy="Give at least one.")
    for number, part in enumerate(stored, start=1):
        try:
            part.require_rows(min_rows)
        except InputError as problem:
            what = f"moments {number} of {len(stored)}: {problem.what}"
            raise InputError(what, remedy=problem.remedy) from problem
    total = stored[0]
    for other in stored[1:]:
        total = total + other
    total.require_rows(min_rows)
    return total
