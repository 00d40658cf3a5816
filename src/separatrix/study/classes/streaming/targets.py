"""Classes of a stream: a numeric target is read as classes from its distinct values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Block
from separatrix.rows.mapped import MappedRows
from separatrix.rows.parts import Parts
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Column, Kind, Term, Terms
from separatrix.rows.sources.stream import TableRows
from separatrix.study.tasks import (
    MOST_NUMBERED_CLASSES,
    REGRESSION,
    InferredTask,
    counted_task,
    infer_task,
    level_name,
)

#: Distinct numbers beyond which a target is not counted further.
MOST_VALUES = 10 * MOST_NUMBERED_CLASSES


class TargetValues:
    """How often each number occurs in a target, of at most ``MOST_VALUES``; merges with ``+``."""

    def __init__(self, counts: Counter[float] | None = None) -> None:
        self.counts: Counter[float] = Counter() if counts is None else counts

    def fresh(self) -> Self:
        """No values."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if len(self.counts) > MOST_VALUES:
            return
        values, counts = np.unique(block.y[:, 0], return_counts=True)
        self.counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def __add__(self, other: Self) -> Self:
        if len(self.counts) > MOST_VALUES:
            return self
        return type(self)(self.counts + other.counts)


@dataclass(frozen=True)
class StreamTarget:
    """The task that the target of a stream suits, and the values of a numeric one."""

    inferred: InferredTask
    values: Counter[float] | None


def stream_target(rows: Rows, target: Column, task: str | None) -> StreamTarget:
    """The task by the target: the first rows decide, or a pass that counts its values."""
    if target.kind is not Kind.NUMERIC:
        return StreamTarget(infer_task(target, ()), None)
    # rows of a cluster stay there: its values are counted, none is fetched
    here = isinstance(rows, TableRows) and rows.travel is None
    first = next(iter(rows.blocks()), None) if here else None
    blocks = [] if first is None else [first]
    early = infer_task(target, blocks)
    values = {float(v) for block in blocks for v in np.unique(block.y[:, 0])}
    broken = any(v != np.floor(v) for v in values) and len(values) > 2
    decided = broken or len(values) > MOST_NUMBERED_CLASSES
    if task == REGRESSION or (task is None and decided):
        return StreamTarget(early, None)
    counts = rows.reduce(TargetValues()).counts
    return StreamTarget(counted_task(target, counts), counts)


@dataclass(frozen=True)
class ClassTargets:
    """Indicators of the classes ``levels`` in place of a numeric target."""

    column: str
    levels: tuple[str, ...]
    values: tuple[float, ...]

    def apply(self, block: Block) -> Block:
        """The same rows with one indicator for each class."""
        order = np.argsort(self.values)
        known = np.array(self.values)[order]
        at = np.searchsorted(known, block.y[:, 0]).clip(0, len(known) - 1)
        y = np.zeros((block.n, len(self.levels)))
        y[np.arange(block.n), order[at]] = 1.0
        targets = Terms(tuple(Term(self.column, level=level) for level in self.levels))
        return replace(block, y=y, targets=targets)


class ClassifiedRows(MappedRows):
    """Rows whose numeric target is read as classes; parts are those of the numbers."""

    def __init__(self, rows: Rows, targets: ClassTargets) -> None:
        super().__init__(rows, targets)
        column = Column(targets.column, Kind.DISCRETE, levels=targets.levels)
        self.targets = targets
        self.schema = replace(rows.schema, targets=(column,))

    def with_parts(self, parts: Parts) -> ClassifiedRows:
        """Label each row with its part, by its content before the target was read as classes."""
        return ClassifiedRows(self.rows.with_parts(parts), self.targets)


def with_class_target(rows: Rows, target: Column, values: Counter[float] | None) -> Rows:
    """The same rows with a target of classes."""
    if target.kind is not Kind.NUMERIC:
        return rows
    assert values is not None
    if len(values) > MOST_VALUES:
        raise InputError(
            f"the target has more than {MOST_VALUES} distinct numbers, too many for classes.",
            column=target.name,
            remedy="Use `task='regression'`.",
        )
    names = {level_name(value): value for value in values}
    levels = tuple(sorted(names))
    return ClassifiedRows(
        rows, ClassTargets(target.name, levels, tuple(names[level] for level in levels))
    )
