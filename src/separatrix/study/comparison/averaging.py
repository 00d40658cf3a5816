"""An average of the candidates: weights on the simplex from their out-of-fold predictions.

The weights that judge a fold come from the other folds. The average is taken where it beats the
best candidate by more than one standard error of the difference; its weights then come from all
folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.selection.averaging import Average
from separatrix.study.candidates import BASELINE
from separatrix.study.comparison.choice import difference
from separatrix.study.comparison.losses import AVERAGE, Comparison, Losses
from separatrix.study.comparison.options import Options
from separatrix.study.result import Choice, Difference, Entry

#: Candidates with less weight are not worth a fit of their own.
MIN_WEIGHT = 0.01


@dataclass(frozen=True)
class AveragedCandidates:
    """Weights by name, out-of-fold predictions of the average, and what it gains on the best."""

    average: Average
    weights: Mapping[str, float]
    predictions: Floats
    losses: Losses
    gain: Difference

    @property
    def helps(self) -> bool:
        """Whether the average is better than the best candidate by more than chance explains."""
        return self.gain.mean > max(self.gain.standard_error, 0.0)

    def chosen(self, choice: Choice) -> Choice:
        """The choice of the average instead of a candidate."""
        why = (
            f"The weighted average beats the best model, {choice.best}, by more than one standard "
            f"error of the difference ({self._gain})."
        )
        return replace(choice, winner=AVERAGE, reason=why)

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights.items())
        return f"{parts} (gain on the best model: {self._gain})"

    @property
    def _gain(self) -> str:
        return f"{self.gain.mean:.2g} ± {self.gain.standard_error:.2g}"


def average_candidates(
    predictions: Mapping[str, Floats],
    fold: Ints,
    weigh: Callable[[Floats, Ints], Average],
    losses_of: Callable[[Floats], Losses],
    best: Floats,
) -> AveragedCandidates:
    """Average predictions of the same rows, one array by candidate.

    ``weigh(stacked, rows)`` finds weights from some of the rows; ``losses_of`` gives the losses of
    averaged predictions, of which the first metric is compared with ``best``, those of the best
    candidate.
    """
    names, stacked = list(predictions), np.stack(list(predictions.values()))
    mixed = np.empty_like(stacked[0])
    for number in np.unique(fold):
        own = fold == number
        weights = weigh(stacked, np.flatnonzero(~own)).weights
        mixed[own] = np.tensordot(weights, stacked[:, own], 1)
    losses = losses_of(mixed)
    values = next(iter(losses.by_metric.values()))
    found = weigh(stacked, np.arange(len(fold)))
    keep = found.weights >= MIN_WEIGHT
    share = np.where(keep, found.weights, 0.0)
    share = share / share.sum()
    return AveragedCandidates(
        Average(share[keep], found.value, found.gap),
        {name: float(a) for name, a in zip(names, share, strict=True) if a > 0},
        mixed,
        losses,
        difference(best, values, losses.w),
    )


class Averageable(Protocol):
    """A comparison whose candidates can be averaged."""

    @property
    def comparison(self) -> Comparison:
        """The candidates and their losses."""

    def average(self, best: str) -> AveragedCandidates | None:
        """The average of the candidates; None if there are too few."""


@dataclass(frozen=True)
class Chosen:
    """The choice, the leaderboard, and the average if it is the choice."""

    choice: Choice
    entries: tuple[Entry, ...]
    averaged: AveragedCandidates | None = None


def choose_winner(compared: Averageable, options: Options) -> Chosen:
    """Choose a candidate, or an average of several where that is asked for and better."""
    comparison = compared.comparison
    choice = comparison.choose(options.rule)
    if not options.average or choice.winner == BASELINE:
        return Chosen(choice, comparison.entries)
    found = compared.average(choice.best)
    if found is None:
        return Chosen(choice, comparison.entries)
    entries = (*comparison.entries, comparison.average_entry(found.losses, str(found)))
    if not found.helps:
        return Chosen(choice, entries)
    return Chosen(found.chosen(choice), entries, found)
