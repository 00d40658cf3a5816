"""Classes of tables: whole numbers in the target as classes, and labels in their own type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Column, Kind, Term, Terms
from separatrix.rows.sources.columns import level_text
from separatrix.rows.sources.stream import BatchedRows

#: More distinct numbers than this are no classes.
MAX_CLASSES = 1_000


def label_type(labels: NDArray[Any]) -> str:
    """The type of labels, as :attr:`Column.display` of the target; empty for text."""
    return {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}.get(
        labels.dtype.kind, ""
    )


def labels_in_order(column: Column, levels: Sequence[str]) -> NDArray[Any]:
    """The labels that the levels of a target stand for."""
    if column.display == "integer":
        return np.array([int(level) for level in levels])
    if column.display == "number":
        return np.array([float(level) for level in levels])
    if column.display == "boolean":
        return np.array([level == "True" for level in levels])
    return np.array(levels, dtype=object)


def class_labels(column: Column, levels: Sequence[str]) -> NDArray[Any]:
    """The labels that the levels of a target stand for, sorted."""
    return np.sort(labels_in_order(column, levels))


def with_classes(rows: Rows) -> Rows:
    """Rows whose one numeric target holds classes: whole numbers. Others are returned as is."""
    targets = rows.schema.targets
    if len(targets) != 1 or targets[0].kind is not Kind.NUMERIC or targets[0].display:
        return rows
    if not isinstance(rows, InMemory | BatchedRows) or not _whole(rows):
        return rows
    target = Column(targets[0].name, Kind.DISCRETE, display="integer")
    schema = replace(rows.schema, targets=(target,))
    if isinstance(rows, BatchedRows):
        return rows.under(schema, rows.notes)
    found, codes = np.unique(rows.block.y[:, 0], return_inverse=True)
    terms = tuple(Term(target.name, level_text(value)) for value in found.tolist())
    copy = rows.take(slice(None))
    copy.schema = replace(
        schema, targets=(replace(target, levels=tuple(str(t.level) for t in terms)),)
    )
    copy.block = replace(rows.block, y=indicators(codes, len(found)), targets=Terms(terms))
    return copy


def indicators(codes: NDArray[Any], classes: int) -> Floats:
    """One 0/1 column for each class."""
    hot = np.zeros((len(codes), classes), order="F")
    hot[np.arange(len(codes)), np.ravel(codes)] = 1.0
    return hot


def _whole(rows: Rows) -> bool:
    """Whether the target of the first rows holds few distinct whole numbers."""
    y = next(iter(rows.blocks())).y[:, 0]
    whole = bool(len(y)) and bool((y == np.floor(y)).all())
    return whole and len(np.unique(y)) <= MAX_CLASSES
