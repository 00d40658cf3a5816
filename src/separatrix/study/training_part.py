"""The training part of a table that was split before: by the file of the model, and by the hash.

A study in memory names its test rows; the hash of rows and seed gives them again, whatever their
order. A stream is split by the hash alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.estimators.base import with_classes as as_classes
from separatrix.rows.parts import Hashes, Parts
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Block, Kind, Schema
from separatrix.rows.split import TEST
from separatrix.study.tasks import CLASSIFICATION, weigh_classes, with_classes


@dataclass(frozen=True)
class Split:
    """How a study split its table: seed and test fraction, and the rows that it names as test rows.

    ``digest`` is that of all rows, empty where none was recorded. ``class_weights`` are what a
    training row of each class counts for.
    """

    seed: int
    test: float
    task: str
    streamed: bool
    test_rows: Sequence[int] = ()
    truth: Sequence[Any] = ()
    digest: str = ""
    class_weights: Sequence[float] = ()


@dataclass(frozen=True)
class TrainingPart:
    """Training rows, block by block; how they were found; and what contradicts the record."""

    rows: Rows
    words: str
    contradictions: tuple[str, ...] = ()
    same_rows: bool | None = None

    def blocks(self) -> Iterator[Block]:
        """The training rows of each block."""
        for block in self.rows.blocks():
            yield block if block.parts is None else block.take(block.parts != TEST)


def digest_of(hashes: Hashes) -> str:
    """A digest of rows in any order: the sums of their hashes, and of the squares of these."""
    total = int(np.add.reduce(hashes, dtype=np.uint64)) if len(hashes) else 0
    squares = int(np.add.reduce(hashes * hashes, dtype=np.uint64)) if len(hashes) else 0
    return f"{len(hashes):x}-{total:016x}{squares:016x}"


def scanned_schema(schema: Schema) -> Schema:
    """The schema before rows were read: levels unknown, whole numbers of a target not yet classes.

    Rows have the hashes of training under it.
    """
    columns = tuple(replace(column, levels=()) for column in schema.columns)
    targets = tuple(
        replace(column, kind=Kind.NUMERIC, levels=(), display="")
        if column.kind is Kind.DISCRETE and column.display == "integer"
        else replace(column, levels=())
        for column in schema.targets
    )
    return replace(schema, columns=columns, targets=targets)


def training_part(rows: Rows, split: Split) -> TrainingPart:
    """The rows on which a study with this split trained."""
    parts = Parts(split.seed, split.test)
    if split.streamed:
        words = "Rows were assigned to training by separatrix itself, from their hash."
        coded = as_classes(rows) if split.task == CLASSIFICATION else rows
        return TrainingPart(coded.with_parts(parts), words)
    table = rows.read()
    same = digest_of(table.hashes) == split.digest if split.digest else None
    if split.task == CLASSIFICATION:
        table = with_classes(table)
    hashed = np.asarray(table.with_parts(parts).block.parts) == TEST
    named = np.isin(table.row_ids, np.asarray(split.test_rows, dtype=np.int64))
    count = len(split.test_rows)
    absent = count - int(named.sum())
    missing = (f"{absent} of the {count} test rows are not in the table",) if absent else ()
    if count and (hashed == named).all():
        words = f"The file names its {count} test rows; separatrix's own split by hash agrees."
        return TrainingPart(_label_rows(table, named, split), words, missing, same)
    if count and _same_truth(table, named, split.truth):
        words = f"Training rows are those that the file does not name among its {count} test rows."
        return TrainingPart(_label_rows(table, named, split), words, missing, same)
    words = "Rows were assigned to training by separatrix itself, from their hash."
    return TrainingPart(_label_rows(table, hashed, split), words, (), same)


def _label_rows(table: InMemory, test: Any, split: Split) -> InMemory:
    if len(split.class_weights):
        table = weigh_classes(table, ~np.asarray(test), split.class_weights)
    return table.with_parts(np.where(test, TEST, 0))


def _same_truth(table: InMemory, named: Any, truth: Sequence[Any]) -> bool:
    """Whether the targets of these rows are the recorded ones."""
    from separatrix.study.design import truth_of

    labels = truth_of(table.take(named)).tolist()
    return len(labels) == len(truth) and all(a == b for a, b in zip(labels, truth, strict=True))
