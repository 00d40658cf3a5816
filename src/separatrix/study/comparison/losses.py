"""Comparison of candidates on the same out-of-fold rows: their losses row by row, and the choice.

Every candidate is scored on all training rows, or on those of some folds where all would take too
long. All are compared on the rows that every one of them was scored on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.comparison.choice import choose, difference
from separatrix.study.comparison.reference import LABEL as REFERENCE_LABEL
from separatrix.study.comparison.reference import NAME as REFERENCE
from separatrix.study.measure import average, metric_value, standard_error
from separatrix.study.result import Choice, CrossValidatedScore, Entry

#: A candidate is clearly worse than the best by so many standard errors and such a share: it cannot
#: win, and the rows that it was scored on do not limit the comparison of the others.
CLEARLY, CLEAR_SHARE = 4.0, 0.2
AVERAGE, AVERAGE_LABEL = "average", "weighted average"


@dataclass(frozen=True)
class Losses:
    """Losses of one candidate on the rows that it was scored on, by metric; smaller is better.

    ``rows`` are positions in the table, in order, ``fold`` that of each.
    """

    rows: Ints
    fold: Ints
    w: Floats
    by_metric: Mapping[str, Floats]

    def at(self, rows: Ints) -> Losses:
        """The same on some of the rows."""
        keep = np.isin(self.rows, rows)
        values = {metric: loss[keep] for metric, loss in self.by_metric.items()}
        return Losses(self.rows[keep], self.fold[keep], self.w[keep], values)

    def defines(self, metric: str) -> bool:
        """Whether the metric is defined on every row."""
        return bool(np.isfinite(self.by_metric[metric]).all())

    def score(self, metric: str, units: Ints | None = None) -> CrossValidatedScore:
        """The metric by fold and over all rows, with its standard error over rows or units."""
        loss = self.by_metric[metric]
        folds = [
            metric_value(metric, loss[self.fold == f], self.w[self.fold == f])
            for f in np.unique(self.fold)
            if self.w[self.fold == f].any()
        ]
        value, error = metric_value(metric, loss, self.w), standard_error(*self.pooled(loss, units))
        if metric == "rmse":  # of the root of the mean that the losses have
            error = error / (2.0 * value) if value > 0 else 0.0
        return CrossValidatedScore(metric, tuple(folds), value, error)

    def pooled(self, losses: Floats, units: Ints | None) -> tuple[Floats, Floats]:
        """Mean losses of units of rows, and their weights; ``units`` are those of the table."""
        if units is None:
            return losses, self.w
        at = np.unique(units[self.rows], return_inverse=True)[1]
        w = np.asarray(np.bincount(at, self.w), dtype=float)
        means = np.divide(np.bincount(at, self.w * losses), w, out=np.zeros(len(w)), where=w > 0)
        return means, w


@dataclass(frozen=True)
class Scored:
    """A candidate with its losses; ``losses`` is None where it refuses the data, for ``note``."""

    candidate: Candidate
    losses: Losses | None
    hyperparameters: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    note: str = ""
    calibrated: str | None = None


def scored_or_refused(candidate: Candidate, score: Callable[[Candidate], Scored]) -> Scored:
    """What ``score`` gives, or why the candidate refuses the data; the baseline must not."""
    try:
        return score(candidate)
    except InputError as refusal:
        if candidate.name == BASELINE:
            raise
        return Scored(candidate, None, note=refusal.what)


@dataclass(frozen=True)
class Comparison:
    """Candidates, simplest first, compared by ``metric``; ``secondary`` is shown beside it.

    ``units`` number the rows of the table that are not independent, such as those of one group.
    """

    scored: Sequence[Scored]
    metric: str
    secondary: str | None = None
    units: Ints | None = None

    @cached_property
    def rows(self) -> Ints:
        """The rows that every contender was scored on: all that are not clearly worse."""
        known = {s.candidate.name: s.losses for s in self.scored if s.losses is not None}
        own = {n: loss for n, loss in known.items() if loss.defines(self.metric)}
        found = {
            n: (average(v, loss.w), standard_error(v, loss.w))
            for n, loss in own.items()
            for v in [loss.by_metric[self.metric]]
        }
        least, spread = min(found.values())
        near = [
            own[name].rows
            for name, (mean, error) in found.items()
            if mean - least <= max(CLEARLY * np.hypot(error, spread), CLEAR_SHARE * abs(least))
        ]
        return reduce(np.intersect1d, [*near, known[BASELINE].rows])

    @cached_property
    def losses(self) -> dict[str, Losses]:
        """Losses on those rows, by name; a candidate that is clearly worse may lack some."""
        return {s.candidate.name: s.losses.at(self.rows) for s in self.scored if s.losses}

    @cached_property
    def complete(self) -> tuple[str, ...]:
        """Candidates scored on all of those rows, the baseline apart."""
        return tuple(n for n in self._defined(self.metric) if n != BASELINE)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The leaderboard."""
        return tuple(self._entry(s) for s in self.scored)

    def _entry(self, scored: Scored) -> Entry:
        candidate, losses = scored.candidate, self.losses.get(scored.candidate.name)
        nan = float("nan")
        first, second = CrossValidatedScore(self.metric, (), nan, nan), None
        if losses is not None and losses.defines(self.metric):
            first = losses.score(self.metric, self.units)
        if losses is not None and self.secondary is not None and losses.defines(self.secondary):
            second = losses.score(self.secondary, self.units)
        return Entry(
            candidate.name,
            candidate.label,
            self.metric,
            first.folds,
            first.mean,
            first.standard_error,
            dict(scored.hyperparameters),
            note=scored.note,
            secondary=second,
            calibrated=scored.calibrated,
        )

    def choose(self, rule: str) -> Choice:
        """The winner; see :func:`separatrix.study.comparison.choice.choose`."""
        losses = self._defined(self.metric)
        notes = [s.note for s in self.scored if s.candidate.name not in losses]
        return choose(
            losses,
            self.losses[BASELINE].pooled(self.losses[BASELINE].w, self.units)[1],
            metric=self.metric,
            rule=rule,
            evidence=None if self.secondary is None else self._defined(self.secondary),
            refusal=notes[0] if notes else "",
        )

    def reference(self, losses: Losses, winner: str, n_folds: int) -> Entry:
        """The line of a reference that is no candidate, against the winner on the same rows."""
        losses = losses.at(self.losses[winner].rows)
        other = self.losses[winner].at(losses.rows)
        found, chosen = losses.score(self.metric), other.score(self.metric)
        apart = difference(other.by_metric[self.metric], losses.by_metric[self.metric], losses.w)
        verdict = "neither better nor worse than"
        if abs(apart.mean) > 2.0 * apart.standard_error:
            verdict = "better than" if apart.mean > 0 else "worse than"
        rows = f"{n_folds} fold" + ("s" if n_folds > 1 else "")
        note = (
            f"Reference, not a candidate: on the rows of {rows} it is {verdict} {winner}, which "
            f"has {chosen.mean:.4g} there."
        )
        return Entry(
            REFERENCE,
            REFERENCE_LABEL,
            self.metric,
            found.folds,
            found.mean,
            found.standard_error,
            note=note,
            secondary=None if self.secondary is None else losses.score(self.secondary),
        )

    def average_entry(self, losses: Losses, note: str) -> Entry:
        """The line of an average of candidates."""
        found = losses.score(self.metric)
        return Entry(
            AVERAGE,
            AVERAGE_LABEL,
            self.metric,
            found.folds,
            found.mean,
            found.standard_error,
            note=note,
            secondary=None if self.secondary is None else losses.score(self.secondary),
        )

    def _defined(self, metric: str) -> dict[str, Floats]:
        """Losses by name, of candidates scored on all rows for which the metric is defined."""
        return {
            n: loss.pooled(loss.by_metric[metric], self.units)[0]
            for n, loss in self.losses.items()
            if loss.defines(metric) and len(loss.rows) == len(self.rows)
        }
