"""What a study is asked for, how much work it may do, and the rule by which it chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from separatrix.arrays import Floats
from separatrix.messages import InputError, check_option, did_you_mean
from separatrix.selection.tuning import NORMAL, QUICK, THOROUGH
from separatrix.study.candidates import BASELINE, check_models, display_name, power
from separatrix.study.class_scores import CLASS_METRICS
from separatrix.study.measure import average, standard_error
from separatrix.study.result import LEVEL, Choice, Difference
from separatrix.study.tasks import CLASSIFICATION, REGRESSION

# -------------------------------------------------------------------------------------------------
# How much work a study may do, counted in floating-point operations and never in seconds.
#
# The same table gives the same comparison on a fast machine and on a slow one. A candidate that
# tunes is told how much it may do and finds its own way to stay within it: fewer rows for the
# search, fewer folds, fewer rows. One that cannot is left out, with the reason.


EFFORTS = {"quick": QUICK, "normal": NORMAL, "thorough": THOROUGH}


@dataclass(frozen=True)
class Effort:
    """A limit on the work of each candidate that tunes."""

    name: str = "normal"

    def __post_init__(self) -> None:
        check_option("effort", self.name, tuple(EFFORTS))

    @property
    def work(self) -> float:
        """Operations that one candidate may take."""
        return EFFORTS[self.name]

    def columns(self, rows: int, folds: int) -> int:
        """Columns of a design whose moments and their decompositions on all folds stay within.

        n d² for the moments, and (k + 1)·c·d³ for the decompositions of k folds and of all rows.
        """
        by_rows = math.sqrt(self.work / max(rows, 1))
        # Operations of an eigendecomposition of d columns over d³ (Golub and Van Loan, table
        # 8.3.1).
        by_columns = (self.work / ((folds + 1) * 9.0)) ** (1.0 / 3.0)
        return int(min(by_rows, by_columns))

    def about(self, proportions: Sequence[float]) -> str:
        """What the models that tune may do, each and in all.

        ``proportions`` are those of the work that each may do.
        """
        total = self.work * sum(proportions)
        return (
            f"Effort {self.name}: at most {power(self.work)} operations for a model that tunes, "
            f"{power(total)} in all (override: `effort`)."
        )


# -------------------------------------------------------------------------------------------------
# How a study is validated: in how many folds, how often, and whether the selection is judged.


#: The value of ``folds`` that leaves out one row (or one group) at a time.
LEAVE_ONE_OUT = "loo"
#: Repeats at most: the standard error over rows is reached long before.
MOST_REPEATS = 50


@dataclass(frozen=True)
class Validation:
    """``folds`` folds, ``repeats`` times; ``nested`` asks for an outer loop around the selection.

    With ``leave_one_out`` the folds tune and calibrate, and every row is predicted by models of
    all others.
    """

    folds: int = 5
    repeats: int = 1
    nested: bool = False
    leave_one_out: bool = False

    @classmethod
    def of(cls, folds: Any, repeats: Any, nested: bool) -> Validation:
        """From the parameters of a study; refuses what is not a number of folds or repeats."""
        loo = isinstance(folds, str) and folds.lower() == LEAVE_ONE_OUT
        if isinstance(folds, str) and not loo:
            raise InputError(
                f"`folds` cannot be {folds!r}.",
                remedy="Give a number, or 'loo' to leave out one row at a time.",
            )
        if isinstance(repeats, bool) or not isinstance(repeats, int):
            raise InputError(
                f"`repeats` is {repeats!r}.", remedy="Give a whole number, such as `repeats=5`."
            )
        if not 1 <= repeats <= MOST_REPEATS:
            raise InputError(
                f"`repeats` is {repeats}; from 1 to {MOST_REPEATS} are possible.",
                remedy="Ten show how much the folds matter; more rows say more than more repeats.",
            )
        if loo and repeats > 1:
            raise InputError(
                "Leaving out one row at a time has no second way to do it.",
                remedy="Leave out `repeats`, or give a number of `folds`.",
            )
        # Folds that tune and calibrate where every row is left out once.
        return cls(5 if loo else int(folds), repeats, bool(nested), loo)

    @property
    def comparisons(self) -> int:
        """How often all candidates are compared."""
        return self.repeats + (self.folds if self.nested else 0)

    def refuse_for(self, *, time: str | None) -> None:
        """Leave-one-out against the order of time."""
        if self.leave_one_out and time is not None:
            raise InputError(
                "leaving out one row at a time would predict it from later rows.",
                column=time,
                remedy="Give a number of `folds`: each is then predicted from earlier rows alone.",
            )

    def refuse_for_moments(self) -> None:
        """Whatever needs the rows again, where there are only moments."""
        for name, wanted in (
            ("repeats", self.repeats > 1),
            ("nested", self.nested),
            ("folds", self.leave_one_out),
        ):
            if wanted:
                value = f"`{name}='{LEAVE_ONE_OUT}'`" if name == "folds" else f"`{name}`"
                raise InputError(
                    f"{value} needs the rows themselves, and there are only sums over fixed folds.",
                    remedy="Leave it out, or study a sample of the rows that fits into memory.",
                )

    def stages(self, work: Sequence[float], compared: int, folds: int) -> list[float]:
        """Work of the stages: ``work`` begins with those of ``compared`` candidates."""
        first, rest = list(work[:compared]), list(work[compared:])
        outer = [w * (folds - 1) / folds for w in first] * folds if self.nested else []
        return first * self.repeats + outer + rest

    def about(self, n_candidates: int, group: str | None) -> list[str]:
        """What is done beyond folds, in sentences."""
        sentences = []
        if self.leave_one_out:
            unit = "row" if group is None else f"{group!r}"
            sentences.append(
                f"Leave-one-out: each {unit} is predicted by models of all others; parameters are "
                f"tuned, and probabilities calibrated, on {self.folds} folds without it "
                "(override: `folds`)."
            )
        if self.repeats > 1:
            sentences.append(
                f"{self.repeats} repeats: the folds are drawn {self.repeats} times, and models are "
                "compared by the mean of a row's losses (override: `repeats`)."
            )
        if self.nested:
            sentences.append(
                f"Nested: the whole selection among {n_candidates} models is repeated without each "
                f"of {self.folds} outer folds, and judged there (override: `nested`)."
            )
        return sentences


# -------------------------------------------------------------------------------------------------
# What a study is asked for: metric, rule, effort, costs; and refusals of what it cannot be.


#: What regression models may be compared by.
NUMBER_METRICS = ("rmse", "mae", "r2")


def check_names(task: str | None, models: Sequence[str] | None, metric: str | None) -> None:
    """Refuse, before a table is read, names that would be unknown whatever is in it."""
    if task is not None:
        check_option("task", task, (REGRESSION, CLASSIFICATION))
    check_models(models or (), (REGRESSION, CLASSIFICATION) if task is None else (task,))
    known = dict.fromkeys((*CLASS_METRICS, *NUMBER_METRICS))
    if task is not None:
        known = dict.fromkeys(CLASS_METRICS if task == CLASSIFICATION else NUMBER_METRICS)
    if metric is not None and metric not in known:
        raise InputError(
            f"Models are not compared by {metric!r}.", remedy=did_you_mean(metric, known)
        )


def refuse_in_passes(**given: Any) -> None:
    """Refuse options that need the rows in memory, where they are read in passes or are sums."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"`{name}` needs the rows in memory, and these are read in passes or are sums.",
                remedy="Leave it out, or study a sample of the rows that fits into memory.",
            )


@dataclass(frozen=True)
class StudyOptions:
    """Metric, goal and effort of a study; ``costs``, ``reject`` and ``class_weight`` of classes.

    ``level`` is that of predictive intervals, of regression models that have them.
    ``reference`` asks for a reference that is not a candidate. ``validation`` says how candidates
    are judged.
    """

    metric: str | None = None
    goal: str = "simplicity"
    effort: Effort = field(default_factory=Effort)
    costs: Any = None
    reject: float | None = None
    reference: bool = True
    level: float = LEVEL
    validation: Validation = field(default_factory=Validation)
    class_weight: Any = None

    @property
    def rule(self) -> str:
        """The rule by which the goal chooses among the candidates."""
        return GOALS[self.goal]

    def metric_for(self, task: str) -> str:
        """The metric that decides, checked against the task."""
        check_option("goal", self.goal, tuple(GOALS))
        known = CLASS_METRICS if task == CLASSIFICATION else NUMBER_METRICS
        if self.metric is None:
            return known[0]
        if self.metric not in known:
            kind = "Classifiers" if task == CLASSIFICATION else "Regression models"
            raise InputError(
                f"{kind} are not compared by {self.metric!r}.",
                remedy=did_you_mean(self.metric, known),
            )
        if self.metric == "cost" and self.costs is None and self.reject is None:
            raise InputError(
                "There are no costs to compare by.", remedy="Give `costs` (or `reject`) as well."
            )
        return self.metric

    def refuse_for(self, task: str) -> None:
        """An unknown metric, no level of intervals, or costs of classes where there are none."""
        self.metric_for(task)
        if not 0.0 < self.level < 1.0:
            raise InputError(
                f"`level` {self.level:g} is not between 0 and 1.", remedy="Use `level=0.9`, say."
            )
        if task == CLASSIFICATION:
            return
        for name, value in (
            ("costs", self.costs),
            ("reject", self.reject),
            ("class_weight", self.class_weight),
        ):
            if value is not None:
                raise InputError(
                    f"`{name}` is an option of classification, and the target is numeric.",
                    remedy="Leave it out, or use `task='classification'`.",
                )


# -------------------------------------------------------------------------------------------------
# The choice among candidates, by paired differences of their losses.
#
#     dᵢ = lossᵢ(candidate) − lossᵢ(best)      on the same rows i, predicted out of fold
#
# ``one_se`` takes the simplest candidate whose mean d is at most its standard error, and at most a
# stated share of the loss of the best; ``best`` takes the least loss. Rows that are hard for every
# model add to the spread of losses, not to that of differences: pairs tell candidates apart where
# means with their standard errors do not.


#: The rule of each goal: the simplest model that is as good as the best, or the best itself, and
#: beside it the average of the candidates.
GOALS = {"simplicity": "one_se", "accuracy": "best"}
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
    losses: Paired,
    evidence: Mapping[str, Paired] | None = None,
    *,
    metric: str,
    rule: str = "one_se",
    refusal: str = "",
) -> Choice:
    """The winner among candidates, simplest first, by paired differences of their losses.

    Of the others the simplest wins whose loss exceeds the least by no more than one standard error
    of the difference, nor by more than 5 % of the least; where the least is not known to 5 %, as on
    few rows, its own standard error takes the place of the 5 %.

    The baseline wins unless some candidate beats it by two standard errors, in these losses or in
    ``evidence``: losses of the same rows in other metrics, such as the log loss where errors are
    counted. A winner that is worse than the baseline in one of the metrics is called so.
    ``refusal`` says why others could not be scored.
    """
    measured = {metric: losses, **(evidence or {})}
    names = [name for name in losses.names if name != BASELINE]
    if not names:
        why = f"No other model could be scored on every fold: {refusal}"
        return Choice(BASELINE, rule, metric, why, BASELINE, BASELINE)
    if not any(_beat_baseline(kind) for kind in measured.values()):
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
    why += "".join(_worse(winner, kind, m) for m, kind in measured.items())
    return Choice(winner, rule, metric, why, best, other, apart)


def _beat_baseline(losses: Paired) -> bool:
    """Whether any candidate is better than the baseline by more than chance explains."""
    if BASELINE not in losses.names:
        return False
    gains = (losses.difference(BASELINE, name) for name in losses.names if name != BASELINE)
    # Standard errors of the difference by which the baseline must be beaten: chance alone beats it
    # half of the time.
    return any(gain.mean > 2.0 * gain.standard_error for gain in gains)


def _worse(winner: str, losses: Paired, metric: str) -> str:
    """That the winner is worse than the baseline in a metric; empty where it is not."""
    if not {winner, BASELINE} <= set(losses.names):
        return ""
    winner_loss, plain = losses.mean(winner), losses.mean(BASELINE)
    if not winner_loss > plain:
        return ""
    so = ": do not rely on its probabilities" if metric == "log_loss" else ""
    return (
        f" Its {METRIC_NAMES.get(metric, metric)} ({winner_loss:.3g}) is worse than that of the "
        f"baseline ({plain:.3g}){so}."
    )


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
    shown = display_name(winner)
    if len(names) == 1:
        return f"{shown} is the only model compared, and beats the baseline."
    if rule == "best":
        return f"{shown} has the smallest cross-validated {measure}."
    if winner == best == names[0]:
        return f"{shown} has the smallest cross-validated {measure}, and is the simplest model."
    if winner == best:
        return (
            f"{shown} has the smallest cross-validated {measure}, and no simpler model comes "
            f"within one standard error of the difference and {limit}."
        )
    return (
        f"{shown} is the simplest model whose cross-validated {measure} comes within one standard "
        f"error of the difference ({difference.mean:.2g} ± {difference.standard_error:.2g}) of the "
        f"best, {display_name(best)}, and within {limit}."
    )
