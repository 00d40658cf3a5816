"""The comparison on several sets of folds, and what the choice of folds does to it.

    lossᵢ = mean over repeats of the loss of row i out of fold
    se² = (1/J + n_test/n_train) s²       over the J scores of all folds of all repeats

The second line is Nadeau and Bengio's correction (Inference for the generalization error, 2003):
folds share training rows, so that s²/J alone is far too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.study.comparison.losses import Comparison, Losses, Scored
from separatrix.study.design import StudyDesign
from separatrix.study.folds import RowFolds
from separatrix.study.progress import Step
from separatrix.study.result import Entry
from separatrix.study.validation.records import RepeatedScore, Repeats


@dataclass(frozen=True)
class RepeatedComparison(Comparison):
    """Losses averaged over ``repeats``; entries have the folds of all of them."""

    repeats: tuple[Comparison, ...] = ()

    def _entry(self, scored: Scored) -> Entry:
        entry = super()._entry(scored)
        own = [named(repeat, entry.name) for repeat in self.repeats]
        second = entry.secondary
        if second is not None:
            known = [e.secondary.folds for e in own if e.secondary is not None]
            second = replace(second, folds=tuple(v for folds in known for v in folds))
        return replace(entry, folds=tuple(v for e in own for v in e.folds), secondary=second)


def named(comparison: Comparison, name: str) -> Entry:
    """The line of a candidate."""
    return next(entry for entry in comparison.entries if entry.name == name)


def repeated_comparison(
    first: Comparison,
    design: StudyDesign,
    compare: Callable[[StudyDesign, Step], Comparison],
    repeats: int,
    step: Step,
) -> RepeatedComparison:
    """The first comparison with others on folds drawn again."""
    found = [first]
    for repeat in range(1, repeats):
        other = replace(design, folds=design.folds.again(design.parts, repeat, repeats))
        found.append(compare(other, _numbered(step, repeat + 1, repeats)))
    scored = [_averaged([c.scored[at] for c in found]) for at in range(len(first.scored))]
    return RepeatedComparison(scored, first.metric, first.secondary, first.units, tuple(found))


def _numbered(step: Step, repeat: int, repeats: int) -> Step:
    return lambda stage: step(f"{stage}, repeat {repeat} of {repeats}")


def _averaged(found: Sequence[Scored]) -> Scored:
    """One candidate over all repeats; refused if any of them was."""
    refused = next((one for one in found if one.losses is None), None)
    if refused is not None:
        return refused
    names = found[0].hyperparameters
    values = {n: tuple(v for one in found for v in one.hyperparameters.get(n, ())) for n in names}
    losses = mean_losses([one.losses for one in found if one.losses is not None])
    return replace(found[0], losses=losses, hyperparameters=values)


def mean_losses(found: Sequence[Losses]) -> Losses:
    """The mean of a row's losses over the repeats that scored it."""
    rows = np.unique(np.concatenate([losses.rows for losses in found]))
    fold, w = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
    count = np.zeros(len(rows))
    total = {metric: np.zeros(len(rows)) for metric in found[0].by_metric}
    for losses in reversed(found):  # the folds of the first have the last word
        at = np.searchsorted(rows, losses.rows)
        fold[at], w[at] = losses.fold, losses.w
        count[at] += 1
        for metric, values in losses.by_metric.items():
            total[metric][at] += values
    return Losses(rows, fold, w, {metric: values / count for metric, values in total.items()})


def about_repeats(
    comparison: RepeatedComparison, folds: RowFolds, winner: str, rule: str
) -> Repeats:
    """Mean, spread and corrected errors of every candidate that was scored in all repeats."""
    ratio = math.nan if folds.ordered else _ratio(folds)
    winners = [repeat.choose(rule).winner for repeat in comparison.repeats]
    scores = tuple(
        _score(comparison, name, winner, ratio, winners.count(name))
        for name in (s.candidate.name for s in comparison.scored if s.losses is not None)
        if all(named(repeat, name).folds for repeat in comparison.repeats)
    )
    n = len(comparison.repeats)
    own = next((s for s in scores if s.name == winner), None)
    text = f"{winner} is chosen in {winners.count(winner)} of {n} repeats"
    if own is not None:
        text += f"; its score has a standard deviation of {own.spread:.2g} over them"
    return Repeats(comparison.metric, n, folds.k, ratio, scores, f"{text}.")


def _ratio(folds: RowFolds) -> float:
    """Test rows for each training row, the mean over folds."""
    sizes = [tuple(map(len, folds.split(fold))) for fold in range(folds.k)]
    return float(np.mean([test / max(train, 1) for train, test in sizes]))


def _score(
    comparison: RepeatedComparison, name: str, winner: str, ratio: float, chosen: int
) -> RepeatedScore:
    own = [named(repeat, name) for repeat in comparison.repeats]
    other = [named(repeat, winner) for repeat in comparison.repeats]
    paired = [(a.folds, b.folds) for a, b in zip(own, other, strict=True)]
    apart: Any = np.array([])
    if all(len(a) == len(b) for a, b in paired):
        apart = np.concatenate([np.subtract(a, b) for a, b in paired])
    means = np.array([entry.mean for entry in own])
    return RepeatedScore(
        name,
        tuple(means.tolist()),
        float(means.mean()),
        float(means.std(ddof=1)) if len(means) > 1 else 0.0,
        corrected_error(np.concatenate([entry.folds for entry in own]), ratio),
        float(apart.mean()) if len(apart) else math.nan,
        corrected_error(apart, ratio),
        chosen,
    )


def corrected_error(scores: Any, ratio: float) -> float:
    """√((1/J + n_test/n_train) s²) of the scores of J folds; NaN for fewer than two."""
    if len(scores) < 2:
        return math.nan
    return float(np.sqrt((1.0 / len(scores) + ratio) * np.var(scores, ddof=1)))
