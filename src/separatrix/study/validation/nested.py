"""The selection judged on rows that had no part in it: an outer loop around all of it.

    for each fold:   the other rows ─ folds of their own ─ comparison ─ choice ─ fit ─┐
                     the fold ────────────────────────────────────────────────────────┴─ losses

The score by which a winner was chosen is the best of several, and too good for that; the outer one
belongs to the whole procedure on that many rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.rows import InMemory
from separatrix.study.comparison.averaging import Averageable, Chosen
from separatrix.study.comparison.cross_validation import muted
from separatrix.study.comparison.losses import Losses
from separatrix.study.design import StudyDesign
from separatrix.study.folds import MIN_TRAINING_ROWS
from separatrix.study.measure import LARGER_IS_BETTER, metric_value
from separatrix.study.progress import Step
from separatrix.study.result import Predictions
from separatrix.study.validation.records import Nested, OuterFold


@dataclass(frozen=True)
class Selected:
    """What was chosen from some rows, and how it answers others."""

    chosen: Chosen
    predict: Callable[[InMemory], Predictions]


@dataclass(frozen=True)
class Procedure:
    """A selection that can be repeated on other rows, and the losses of its answers by row.

    ``compare`` is its first step alone.
    """

    metric: str
    compare: Callable[[StudyDesign, Step], Averageable]
    select: Callable[[StudyDesign, Step], Selected]
    losses: Callable[[Predictions], Floats]


def nested_selection(design: StudyDesign, procedure: Procedure, step: Step) -> Nested:
    """The procedure without each fold in turn.

    Folds that leave too few rows to repeat it, such as the first in time, are passed over; where
    all do, there is no score, and the summary says why.
    """
    folds, found, rows, fold_of, refusal = design.folds, [], [], [], ""
    for fold in range(folds.k):
        inner = folds.within(design.parts, fold)
        outside = folds.split(fold)[1]
        own = replace(design, table=inner.table, folds=inner)
        here = _outer(step, fold + 1, folds.k)
        if len(inner.training) < MIN_TRAINING_ROWS or inner.k < 2:
            refusal = f"{len(inner.training)} training rows are too few."
            continue
        try:
            with muted():
                selected = procedure.select(own, here)
                answers = selected.predict(folds.table.take(outside))
        except InputError as problem:
            refusal = problem.what
            continue
        found.append((selected.chosen, answers))
        rows.append(outside)
        fold_of.append(np.full(len(outside), fold))
    if not found:
        text = f"The selection cannot be repeated without any of {folds.k} outer folds: {refusal}"
        none = math.nan
        return Nested(procedure.metric, none, none, none, none, (), {}, text)
    together = _joined([answers for _, answers in found])
    at = np.concatenate(rows)
    w = unit_weights(together.w, len(at))
    order = np.argsort(at)
    losses = Losses(
        at[order],
        np.concatenate(fold_of)[order],
        w[order],
        {procedure.metric: procedure.losses(together)[order]},
    )
    return _record(design, procedure.metric, [chosen for chosen, _ in found], losses, refusal)


def _outer(step: Step, fold: int, folds: int) -> Step:
    return lambda stage: step(f"{stage}, outer fold {fold} of {folds}")


def _record(
    design: StudyDesign, metric: str, chosen: list[Chosen], losses: Losses, refusal: str
) -> Nested:
    score = losses.score(metric, design.folds.units)
    numbers = np.unique(losses.fold)
    outer = []
    for number, selection in zip(numbers, chosen, strict=True):
        name, own = selection.choice.winner, losses.fold == number
        entry = next(e for e in selection.entries if e.name == name)
        value = _value(metric, losses.by_metric[metric][own], losses.w[own])
        tuned = _middle(entry.hyperparameters)
        outer.append(OuterFold(name, entry.mean, value, int(own.sum()), tuned))
    power = 2.0 if metric == "rmse" else 1.0  # a mean of squares has its root taken at the end
    means = np.array([f.inner for f in outer]) ** power
    inner = float(np.average(means, weights=[f.n_rows for f in outer]) ** (1.0 / power))
    better = inner - score.mean if metric in LARGER_IS_BETTER else score.mean - inner
    counts = dict(Counter(f.winner for f in outer).most_common())
    text = _summary(counts, len(outer))
    if len(outer) < design.folds.k:
        count = design.folds.k - len(outer)
        text += f" {count} outer fold{'s are' if count > 1 else ' is'} passed over: {refusal}"
    return Nested(
        metric, score.mean, score.standard_error, inner, better, tuple(outer), counts, text
    )


def _value(metric: str, losses: Floats, w: Floats) -> float:
    return metric_value(metric, losses, w) if w.any() else math.nan


def _summary(counts: dict[str, int], n: int) -> str:
    name, times = next(iter(counts.items()))
    if times == n:
        return f"Without each of {n} outer folds {name} is chosen: the selection is stable."
    listed = ", ".join(f"{other} in {count}" for other, count in counts.items())
    return f"The choice depends on the rows: of {n} outer folds it is {listed}."


def _middle(hyperparameters: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    """The tuned value in the middle of the inner folds, by name."""
    return {
        name: sorted(values, key=repr if _mixed(values) else None)[len(values) // 2]  # type: ignore[arg-type]
        for name, values in hyperparameters.items()
        if values
    }


def _mixed(values: tuple[Any, ...]) -> bool:
    return not all(isinstance(v, int | float) for v in values)


def _joined(found: list[Predictions]) -> Predictions:
    """The answers of all outer folds, one after the other."""
    p = [one.probabilities for one in found]
    return Predictions(
        np.concatenate([one.rows for one in found]),
        np.concatenate([one.truth for one in found]),
        np.concatenate([np.asarray(one.predicted) for one in found]),
        None,
        np.concatenate([unit_weights(one.w, len(one.truth)) for one in found]),
        None if any(one is None for one in p) else np.concatenate([x for x in p if x is not None]),
    )
