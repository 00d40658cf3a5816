"""Regression or classification, inferred from the target."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Block, Column, Kind, Term, Terms, unit_weights

REGRESSION, CLASSIFICATION = "regression", "classification"

#: Whole numbers with at most so many distinct values, each of them common, name classes.
MOST_CLASSES = 10
ROWS_PER_CLASS = 5
#: So many if the target is called a class, or if they occur about equally often.
MOST_NUMBERED_CLASSES, MOST_EQUAL_CLASSES = 100, 50

#: Names of columns whose whole numbers are codes of classes.
CLASS_NAME = re.compile(
    r"(?i:(^|[\W_\d])(class|label|type|category|digit|letter|species|grade|group|genre|kind|code|"
    r"cluster|diagnosis|outcome|segment|cultivar|klasse|classe|clase)(e?s)?($|[\W_\d]))"
    r"|[a-z](Class|Label|Type|Category|Digit|Letter|Species|Grade|Group|Genre|Kind|Code)$"
)


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
    counts: Counter[float] = Counter()
    for block in blocks:  # stops at the first block that shows too many values for classes
        values, n_each = np.unique(block.y[:, 0], return_counts=True)
        if len(values) + len(counts) > MOST_CLASSES and (values != np.floor(values)).any():
            return _describe_task(target.name, REGRESSION, "holds numbers that are not whole")
        counts.update(dict(zip(values.tolist(), n_each.tolist(), strict=True)))
        if len(counts) > MOST_NUMBERED_CLASSES:
            why = f"has more than {MOST_NUMBERED_CLASSES} distinct values"
            return _describe_task(target.name, REGRESSION, why)
    return counted_task(target, counts)


def counted_task(target: Column, counts: Counter[float]) -> InferredTask:
    """The task by the distinct values of a numeric target, and how often each occurs."""
    k, n = len(counts), sum(counts.values())
    if k > MOST_NUMBERED_CLASSES:
        why = f"has more than {MOST_NUMBERED_CLASSES} distinct values"
        return _describe_task(target.name, REGRESSION, why)
    if k == 2 and n >= 2 * ROWS_PER_CLASS:
        return _describe_task(target.name, CLASSIFICATION, "has two distinct values")
    if target.display or any(value != int(value) for value in counts):
        return _describe_task(target.name, REGRESSION, "holds numbers")
    return _whole_numbers(target.name, counts, k, n)


def _whole_numbers(name: str, counts: Counter[float], k: int, n: int) -> InferredTask:
    """Classes, if they are few, called so, or about equally frequent."""
    common = n >= ROWS_PER_CLASS * k
    if k <= MOST_CLASSES and common:
        why = f"holds whole numbers with only {k} distinct values"
        return _describe_task(name, CLASSIFICATION, why)
    if CLASS_NAME.search(name) and common:
        why = f"is called so and holds whole numbers with {k} distinct values"
        return _describe_task(name, CLASSIFICATION, why)
    rarest = min(counts.values())
    # About equally often: in at least this part of an equal share, and in so many rows.
    if k <= MOST_EQUAL_CLASSES and rarest >= max(20, 0.25 * n / k):
        why = f"holds {k} distinct whole numbers, each in {rarest} rows or more of {n}"
        return _describe_task(name, CLASSIFICATION, why)
    if k > MOST_CLASSES:
        return _describe_task(name, REGRESSION, f"has more than {MOST_CLASSES} distinct values")
    return _describe_task(name, REGRESSION, "holds numbers")


def _describe_task(name: str, task: str, why: str) -> InferredTask:
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


def refuse_many_classes(k: int, n: int, target: Column, task: str | None = None) -> list[str]:
    """Refuse classes of so few rows each that they are rather numbers, dates or names.

    Where ``task`` was requested as classification, a message says that they are many, unless most
    classes have one row alone: such a class is either learned or tested, and never both.
    """
    if k <= max(MOST_CLASSES, n // ROWS_PER_CLASS):
        return []
    what = "numbers" if target.kind is Kind.NUMERIC else "texts"
    # Rows of a class, on average, from which a requested classification goes on: one to learn from,
    # one to tune on, one to test.
    possible = 3 * k <= n
    if possible and task == CLASSIFICATION:
        return [
            f"Target {target.name!r} has {k} classes in {n} rows, {n / k:.1f} rows each: classes "
            "of one row are not predicted, and scores are rough (give more rows, or join classes)."
        ]
    classes = "If they are classes all the same, use `task='classification'`. " * possible
    remedy = (
        "Use `task='regression'`."
        if target.kind is Kind.NUMERIC
        else "Name another target; if these are numbers, say how they are written: `decimal`, "
        "`thousands`, `na`."
    )
    raise InputError(
        f"the target has {k} distinct {what} in {n} rows, too many for classes.",
        column=target.name,
        remedy=classes + remedy,
    )


def with_classes(table: InMemory, task: str | None = None) -> InMemory:
    """The same rows with a numeric target read as classes (0, 1, …: one indicator for each).

    ``task`` is the one that was requested; what it allows is among the notes of the table.
    """
    target = table.schema.targets[0]
    if target.kind is not Kind.NUMERIC:
        many = refuse_many_classes(len(table.block.targets), table.block.n, target, task)
        if not many:
            return table
        rows = table.with_hashes()
        rows.notes = (*table.notes, *many)
        return rows
    values, codes = np.unique(table.block.y[:, 0], return_inverse=True)
    many = refuse_many_classes(len(values), len(codes), target, task)
    named = [level_name(value) for value in values]
    levels = tuple(sorted(named))  # by text, as when the column is read as discrete
    y: Floats = np.eye(len(levels))[[levels.index(name) for name in named]][codes]
    terms = Terms(tuple(Term(target.name, level=level) for level in levels))
    schema = replace(table.schema, targets=(Column(target.name, Kind.DISCRETE, levels=levels),))
    rows = table.with_hashes()
    rows.schema, rows.block = schema, replace(table.block, y=y, targets=terms)
    rows.notes = (*table.notes, *many)
    return rows


def class_factors(table: InMemory, training: Ints, given: Any) -> tuple[float, ...]:
    """What a training row of each class counts for; their total weight stays what it was.

    ``given`` is "balanced" (every class weighs the same) or a factor by label, 1 if left out.
    """
    from separatrix.estimators.class_labels import weights_by_class

    labels = [str(term.level) for term in table.block.targets]
    w = unit_weights(table.block.w, table.block.n)[training]
    total = w @ table.block.y[training]
    if isinstance(given, Mapping):
        given = {_label_text(label): factor for label, factor in given.items()}
    present = total > 0.0  # a class of the test set alone has no rows to weigh
    factors = np.ones(len(labels))
    if isinstance(given, Mapping):
        factors[:] = weights_by_class(given, labels, total)
    else:
        named = [label for label, known in zip(labels, present, strict=True) if known]
        factors[present] = weights_by_class(given, named, total[present])
    return tuple((factors * (total.sum() / (factors @ total))).tolist())


def _label_text(label: Any) -> str:
    """A class as it is called in a table: 1.0 and 1 are "1"."""
    numeric = isinstance(label, int | float | np.number) and not isinstance(label, bool)
    return level_name(float(label)) if numeric else str(label)


def weigh_classes(table: InMemory, training: Any, factors: Sequence[float]) -> InMemory:
    """The same rows, in which those of training count by the factor of their class."""
    w = unit_weights(table.block.w, table.block.n).copy()
    w[training] *= (table.block.y @ np.asarray(factors))[training]
    rows = table.with_hashes()
    rows.block = replace(table.block, w=w)
    return rows


def level_name(value: float) -> str:
    """A class by name: whole numbers without a decimal point."""
    return str(int(value)) if value == int(value) else repr(float(value))
