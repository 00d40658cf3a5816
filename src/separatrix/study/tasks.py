"""Regression or classification, inferred from the target."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Column, Kind, Term, Terms

REGRESSION, CLASSIFICATION = "regression", "classification"

#: Whole numbers with at most so many distinct values, each of them common, name classes.
MOST_CLASSES = 10
ROWS_PER_CLASS = 5


@dataclass(frozen=True)
class InferredTask:
    """The task, and the message that says why and how to override it."""

    task: str
    message: str


def infer_task(target: Column, blocks: Iterable[Block]) -> InferredTask:
    """Categories are classes; numbers are a regression target unless few and whole."""
    if target.kind is not Kind.NUMERIC:
        return InferredTask(
            CLASSIFICATION,
            f"Classification, because the values of target {target.name!r} are text or true/false "
            "(for regression, name a numeric column as `target`).",
        )
    seen: set[float] = set()
    n = 0
    for block in blocks:  # stops at the first block that shows too many values for classes
        n += block.n
        seen.update(np.unique(block.y[:, 0]).tolist())
        if len(seen) > MOST_CLASSES:
            return _inferred(
                target.name, REGRESSION, f"has more than {MOST_CLASSES} distinct values"
            )
    if len(seen) == 2 and n >= 2 * ROWS_PER_CLASS:
        return _inferred(target.name, CLASSIFICATION, "has two distinct values")
    if all(value == int(value) for value in seen) and n >= ROWS_PER_CLASS * len(seen):
        why = f"holds whole numbers with only {len(seen)} distinct values"
        return _inferred(target.name, CLASSIFICATION, why)
    return _inferred(target.name, REGRESSION, "holds numbers")


def _inferred(name: str, task: str, why: str) -> InferredTask:
    other = CLASSIFICATION if task == REGRESSION else REGRESSION
    return InferredTask(
        task, f"{task.capitalize()}, because target {name!r} {why} (override: `task='{other}'`)."
    )


def refuse_task(task: str, target: Column) -> None:
    """A task that the target cannot serve."""
    if task not in (REGRESSION, CLASSIFICATION):
        raise InputError(
            f"There is no task {task!r}.", remedy=did_you_mean(task, [REGRESSION, CLASSIFICATION])
        )
    if task == REGRESSION and target.kind is not Kind.NUMERIC:
        raise InputError(
            "the target holds text or true/false, which regression cannot predict.",
            column=target.name,
            remedy="Use `task='classification'`, or name a numeric column as target.",
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
