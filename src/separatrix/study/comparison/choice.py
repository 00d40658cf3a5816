"""The choice among candidates, by paired differences of their losses.

    dᵢ = lossᵢ(candidate) − lossᵢ(best)      on the same rows i, predicted out of fold

``one_se`` takes the simplest candidate whose mean d is at most its standard error, and at most a
stated share of the loss of the best; ``best`` takes the least loss. Rows that are hard for every
model add to the spread of losses, not to that of differences: pairs tell candidates apart where
means with their standard errors do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from separatrix.rows.block import Floats
from separatrix.study.candidates import BASELINE
from separatrix.study.measure import average, standard_error
from separatrix.study.result import Choice, Difference

RULES = ("one_se", "best")
#: Standard errors of the difference by which the baseline must be beaten: chance alone beats it
#: half of the time.
BASELINE_ERRORS = 2.0
#: A simpler model may be worse than the best by at most this share of its loss, where the loss is
#: known that well; else by no more than the standard error of the loss. Of few rows that of the
#: difference then decides alone.
SHARE = 0.05
#: What each metric is called in a sentence.
METRIC_NAMES = {
    "log_loss": "log loss",
    "error": "error rate",
    "balanced_error": "balanced error rate",
    "auc": "area over the ROC curve",
    "f1": "shortfall of F₁",
    "cost": "expected cost",
    "rmse": "squared error",
    "r2": "squared error",
    "mae": "absolute error",
}


def difference(losses: Floats, others: Floats, w: Floats) -> Difference:
    """The loss minus the other, row by row (or fold by fold)."""
    d = losses - others
    return Difference(average(d, w), standard_error(d, w))


class Paired(Protocol):
    """Mean losses of candidates, simplest first, and their differences on the same rows."""

    @property
    def names(self) -> Sequence[str]:
        """The candidates."""

    def mean(self, name: str) -> float:
        """The mean loss of a candidate."""

    def difference(self, name: str, other: str) -> Difference:
        """The loss of one minus that of the other."""

    def standard_error(self, name: str) -> float:
        """The standard error of the mean loss of a candidate."""


@dataclass(frozen=True)
class RowLosses:
    """Losses by row, or by fold, with weights."""

    losses: Mapping[str, Floats]
    w: Floats

    @property
    def names(self) -> Sequence[str]:
        """The candidates."""
        return list(self.losses)

    def mean(self, name: str) -> float:
        """The mean loss of a candidate."""
        return float(np.average(self.losses[name], weights=self.w))

    def difference(self, name: str, other: str) -> Difference:
        """The loss of one minus that of the other."""
        return difference(self.losses[name], self.losses[other], self.w)

    def standard_error(self, name: str) -> float:
        """The standard error of the mean loss of a candidate."""
        return standard_error(self.losses[name], self.w)


def choose(
    losses: Mapping[str, Floats],
    w: Floats,
    *,
    metric: str,
    rule: str = "one_se",
    evidence: Mapping[str, Floats] | None = None,
    refusal: str = "",
) -> Choice:
    """The winner among candidates, simplest first, by their losses on the same rows.

    Of the others the simplest wins whose loss exceeds the least by no more than one standard error
    of the difference, nor by more than 5 % of the least; where the least is not known to 5 %, as on
    few rows, its own standard error takes the place of the 5 %.

    The baseline wins unless some candidate beats it by two standard errors, in these losses or in
    ``evidence``: other losses of the same rows, such as the log loss where errors are counted.
    ``refusal`` says why others could not be scored.
    """
    more = [] if evidence is None else [RowLosses(evidence, w)]
    return choose_paired(RowLosses(losses, w), *more, metric=metric, rule=rule, refusal=refusal)


def choose_paired(
    losses: Paired, *evidence: Paired, metric: str, rule: str = "one_se", refusal: str = ""
) -> Choice:
    """The winner by paired differences, however they were summed up; see :func:`choose`."""
    names = [name for name in losses.names if name != BASELINE]
    if not names:
        why = f"No other model could be scored on every fold: {refusal}"
        return Choice(BASELINE, rule, metric, why, BASELINE, BASELINE)
    if not any(_beat_baseline(kind) for kind in (losses, *evidence)):
        why = (
            "No model beats the baseline by more than chance: the columns do not help to predict "
            "the target."
        )
        return Choice(BASELINE, rule, metric, why, BASELINE, BASELINE)
    means = {name: losses.mean(name) for name in names}
    best = min(names, key=lambda name: means[name])
    apart = {name: losses.difference(name, best) for name in names}
    material = max(SHARE * abs(means[best]), losses.standard_error(best))
    simplest = next(n for n in names if apart[n].mean <= min(apart[n].standard_error, material))
    winner, other = (simplest, best) if rule == "one_se" else (best, simplest)
    known = losses.standard_error(best) <= SHARE * abs(means[best])
    limit = f"{100 * SHARE:.0f} % of it" if known else "the standard error of its loss"
    why = _reason(winner, best, names, metric, rule, apart[winner], limit)
    return Choice(winner, rule, metric, why, best, other, apart)


def _beat_baseline(losses: Paired) -> bool:
    """Whether any candidate is better than the baseline by more than chance explains."""
    if BASELINE not in losses.names:
        return False
    gains = (losses.difference(BASELINE, name) for name in losses.names if name != BASELINE)
    return any(gain.mean > BASELINE_ERRORS * gain.standard_error for gain in gains)


def _reason(
    winner: str,
    best: str,
    names: Sequence[str],
    metric: str,
    rule: str,
    difference: Difference,
    limit: str,
) -> str:
    measure = METRIC_NAMES.get(metric, metric)
    if len(names) == 1:
        return f"{winner} is the only model compared, and beats the baseline."
    if rule == "best":
        return f"{winner} has the smallest cross-validated {measure}."
    if winner == best == names[0]:
        return f"{winner} has the smallest cross-validated {measure}, and is the simplest model."
    if winner == best:
        return (
            f"{winner} has the smallest cross-validated {measure}, and no simpler model comes "
            f"within one standard error of the difference and {limit}."
        )
    return (
        f"{winner} is the simplest model whose cross-validated {measure} comes within one standard "
        f"error of the difference ({difference.mean:.2g} ± {difference.standard_error:.2g}) of the "
        f"best, {best}, and within {limit}."
    )
