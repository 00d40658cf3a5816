"""Regression or classification: told by the target, said aloud, and open to correction."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Column, Kind, Term, Terms

REGRESSION, CLASSIFICATION = "regression", "classification"

#: Whole numbers with at most so many distinct values, each of them common, name classes.
MOST_CLASSES = 10
ROWS_PER_CLASS = 5


@dataclass(frozen=True)
class InferredTask:
    """What the target was taken for, and the sentence that says why and how to override it."""

    task: str
    said: str


def take_for(target: Column, blocks: Iterable[Block]) -> InferredTask:
    """Tell the task by the target: words are classes; numbers are measured unless few and whole."""
    if target.kind is not Kind.NUMERIC:
        return InferredTask(
            CLASSIFICATION,
            f"Target {target.name!r} is taken for classification, because its values are words or "
            "true/false (for regression, name a column of numbers with --target).",
        )
    seen: set[float] = set()
    n = 0
    for block in blocks:  # stops at the first block that shows too many values for classes
        n += block.n
        seen.update(np.unique(block.y[:, 0]).tolist())
        if len(seen) > MOST_CLASSES:
            return _taken(target.name, REGRESSION, f"it has more than {MOST_CLASSES} values")
    if len(seen) == 2 and n >= 2 * ROWS_PER_CLASS:
        return _taken(target.name, CLASSIFICATION, "it has two distinct values")
    if all(value == int(value) for value in seen) and n >= ROWS_PER_CLASS * len(seen):
        why = f"it holds whole numbers with only {len(seen)} distinct values"
        return _taken(target.name, CLASSIFICATION, why)
    return _taken(target.name, REGRESSION, "it holds numbers")


def _taken(name: str, task: str, why: str) -> InferredTask:
    other = CLASSIFICATION if task == REGRESSION else REGRESSION
    return InferredTask(
        task, f"Target {name!r} is taken for {task}, because {why} (override: --task {other})."
    )


def refuse_task(task: str, target: Column) -> None:
    """A task that the target cannot serve."""
    from separatrix.messages import did_you_mean

    if task not in (REGRESSION, CLASSIFICATION):
        raise InputError(
            f"There is no task {task!r}.", remedy=did_you_mean(task, [REGRESSION, CLASSIFICATION])
        )
    if task == REGRESSION and target.kind is not Kind.NUMERIC:
        raise InputError(
            "the target holds words or true/false, which regression cannot predict.",
            column=target.name,
            remedy="Use --task classification, or name a column of numbers as target.",
        )


def with_classes(table: InMemory) -> InMemory:
    """The same rows with a numeric target read as classes (0, 1, …: one indicator for each)."""
    target = table.schema.targets[0]
    if target.kind is not Kind.NUMERIC:
        return table
    values, codes = np.unique(table.block.y[:, 0], return_inverse=True)
    named = [_level(value) for value in values]
    levels = tuple(sorted(named))  # by text, as when the column is read as discrete
    y: Floats = np.eye(len(levels))[[levels.index(name) for name in named]][codes]
    terms = Terms(tuple(Term(target.name, level=level) for level in levels))
    schema = replace(table.schema, targets=(Column(target.name, Kind.DISCRETE, levels=levels),))
    rows = copy(table)
    rows.schema, rows.block = schema, replace(table.block, y=y, targets=terms)
    return rows


def _level(value: float) -> str:
    """A class by name: whole numbers without a decimal point."""
    return str(int(value)) if value == int(value) else repr(float(value))
