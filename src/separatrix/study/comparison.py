"""Comparison of candidates on the same out-of-fold rows: their losses row by row, and the choice.

Every candidate is scored on all training rows, or on those of some folds where all would take too
long. All are compared on the rows that every one of them was scored on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from separatrix.arrays import Floats, Ints
from separatrix.estimators.base import codes_of
from separatrix.messages import InputError, SeparatrixWarning, warn
from separatrix.rows.schema import to_array, unit_weights
from separatrix.selection.averaging import Average, equal_average
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.moments import prepare
from separatrix.study.candidates import BASELINE, Candidate, display_name
from separatrix.study.design import RowFolds, error_on, thin, truth_of
from separatrix.study.measure import (
    LARGER_IS_BETTER,
    average,
    metric_value,
    standard_error,
)
from separatrix.study.options import (
    METRIC_NAMES,
    Paired,
    RowLosses,
    StudyOptions,
    choose,
    difference,
)
from separatrix.study.progress import Step
from separatrix.study.result import Choice, CrossValidatedScore, Difference, Entry, LearningCurve

AVERAGE, AVERAGE_LABEL = "average", "weighted average"


@dataclass(frozen=True)
class CandidateLosses:
    """Losses of one candidate on the rows that it was scored on, by metric; smaller is better.

    ``rows`` are positions in the table, in order, ``fold`` that of each.
    """

    rows: Ints
    fold: Ints
    w: Floats
    by_metric: Mapping[str, Floats]

    def at(self, rows: Ints) -> CandidateLosses:
        """The same on some of the rows."""
        keep = np.isin(self.rows, rows)
        values = {metric: loss[keep] for metric, loss in self.by_metric.items()}
        return CandidateLosses(self.rows[keep], self.fold[keep], self.w[keep], values)

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
        value, error = metric_value(metric, loss, self.w), standard_error(*self.pool(loss, units))
        if metric == "rmse":  # of the root of the mean that the losses have
            error = error / (2.0 * value) if value > 0 else 0.0
        return CrossValidatedScore(metric, tuple(folds), value, error)

    def pool(self, losses: Floats, units: Ints | None) -> tuple[Floats, Floats]:
        """Mean losses of units of rows, and their weights; ``units`` are those of the table."""
        if units is None:
            return losses, self.w
        at = np.unique(units[self.rows], return_inverse=True)[1]
        w = np.asarray(np.bincount(at, self.w), dtype=float)
        means = np.divide(np.bincount(at, self.w * losses), w, out=np.zeros(len(w)), where=w > 0)
        return means, w


@dataclass(frozen=True)
class Scored:
    """A candidate with its losses; they are None where it refuses the data, for ``note``.

    A stream keeps them elsewhere, as moments.
    """

    candidate: Candidate
    losses: CandidateLosses | None = None
    hyperparameters: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    note: str = ""
    calibrated: str | None = None


def score_candidates(
    candidates: Sequence[Candidate], score: Callable[[Candidate], Scored], step: Step
) -> list[Scored]:
    """What ``score`` gives for each, or why it refuses the data; the baseline must not."""
    scored = []
    for candidate in candidates:
        step(f"comparing {candidate.name}")
        try:
            scored.append(score(candidate))
        except InputError as refusal:
            if candidate.name == BASELINE:
                raise
            scored.append(Scored(candidate, note=refusal.what))
        except NotImplementedError as refusal:  # options that scikit-learn refuses together, too
            scored.append(Scored(candidate, note=str(refusal)))
    return scored


@dataclass(frozen=True)
class Comparison:
    """Candidates, simplest first, compared by ``metric``; ``secondary`` is shown beside it.

    Subclasses say where the losses are: row by row, fold by fold, or as their moments.
    """

    scored: Sequence[Scored]
    metric: str
    secondary: str | None = None

    def paired(self, metric: str) -> Paired:
        """Mean losses and their differences, of the candidates for which the metric is defined."""
        raise NotImplementedError

    def score(self, name: str, metric: str) -> CrossValidatedScore | None:
        """The metric of a candidate by fold; None where it is not defined."""
        raise NotImplementedError

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The leaderboard."""
        return tuple(self._entry(s) for s in self.scored)

    def _entry(self, scored: Scored) -> Entry:
        candidate, nan = scored.candidate, float("nan")
        none = CrossValidatedScore(self.metric, (), nan, nan)
        first = self.score(candidate.name, self.metric) or none
        second = self.secondary and self.score(candidate.name, self.secondary)
        return Entry(
            candidate.name,
            candidate.label,
            self.metric,
            first.folds,
            first.mean,
            first.standard_error,
            dict(scored.hyperparameters),
            note=scored.note,
            secondary=second or None,
            calibrated=scored.calibrated,
        )

    def choose(self, rule: str) -> Choice:
        """The winner; see :func:`separatrix.study.options.choose`."""
        losses = self.paired(self.metric)
        notes = [s.note for s in self.scored if s.candidate.name not in losses.names]
        return choose(
            losses,
            {} if self.secondary is None else {self.secondary: self.paired(self.secondary)},
            metric=self.metric,
            rule=rule,
            refusal=next(filter(None, notes), ""),
        )


@dataclass(frozen=True)
class RowComparison(Comparison):
    """Candidates compared by their losses row by row, or fold by fold.

    ``units`` number the rows of the table that are not independent, such as those of one group.
    """

    units: Ints | None = None

    @cached_property
    def rows(self) -> Ints:
        """The rows that every contender was scored on: all that are not clearly worse."""
        known = {s.candidate.name: s.losses for s in self.scored if s.losses is not None}
        defined = {n: loss for n, loss in known.items() if loss.defines(self.metric)}
        losses = {
            n: (average(v, loss.w), standard_error(v, loss.w))
            for n, loss in defined.items()
            for v in [loss.by_metric[self.metric]]
        }
        least, spread = min(losses.values())
        # A candidate is clearly worse than the best by so many standard errors and such a share: it
        # cannot win, and the rows that it was scored on do not limit the comparison of the others.
        near = [
            defined[name].rows
            for name, (mean, error) in losses.items()
            if mean - least <= max(4.0 * np.hypot(error, spread), 0.2 * abs(least))
        ]
        return reduce(np.intersect1d, [*near, known[BASELINE].rows])

    @cached_property
    def losses(self) -> dict[str, CandidateLosses]:
        """Losses on those rows, by name; a candidate that is clearly worse may lack some."""
        return {s.candidate.name: s.losses.at(self.rows) for s in self.scored if s.losses}

    @property
    def complete(self) -> tuple[str, ...]:
        """Candidates scored on all of those rows, the baseline apart."""
        return tuple(n for n in self.paired(self.metric).names if n != BASELINE)

    def paired(self, metric: str) -> RowLosses:
        """Losses by name, of candidates scored on all rows for which the metric is defined."""
        losses = {
            n: loss.pool(loss.by_metric[metric], self.units)[0]
            for n, loss in self.losses.items()
            if loss.defines(metric) and len(loss.rows) == len(self.rows)
        }
        baseline = self.losses[BASELINE]
        return RowLosses(losses, baseline.pool(baseline.w, self.units)[1])

    def score(self, name: str, metric: str) -> CrossValidatedScore | None:
        """The metric of a candidate by fold; None where it is not defined."""
        losses = self.losses.get(name)
        if losses is None or not losses.defines(metric):
            return None
        return losses.score(metric, self.units)

    def line(self, name: str, label: str, losses: CandidateLosses, note: str) -> Entry:
        """The line of the leaderboard of one that is not a candidate."""
        score = losses.score(self.metric)
        return Entry(
            name,
            label,
            self.metric,
            score.folds,
            score.mean,
            score.standard_error,
            note=note,
            secondary=None if self.secondary is None else losses.score(self.secondary),
        )

    def reference(
        self, losses: CandidateLosses, winner: str, own: CandidateLosses, n_folds: int
    ) -> Entry:
        """The line of a reference that is not a candidate, against the winner on the same rows.

        ``own`` are the losses of the winner.
        """
        losses = losses.at(own.rows)
        own = own.at(losses.rows)
        chosen, score = own.score(self.metric).mean, losses.score(self.metric).mean
        apart = difference(own.by_metric[self.metric], losses.by_metric[self.metric], losses.w)
        verdict = "neither better nor worse than"
        if abs(apart.mean) > 2.0 * apart.standard_error:
            verdict = "better than" if apart.mean > 0 else "worse than"
        rows = f"{n_folds} fold" + ("s" if n_folds > 1 else "")
        size = ""
        if self.metric not in LARGER_IS_BETTER and chosen > 0.0 and score != chosen:
            share = 100.0 * abs(score / chosen - 1.0)
            size = f": its {score:.4g} is {share:.0f} % {'less' if score < chosen else 'more'}"
        note = (
            f"Reference, not a candidate: on the rows of {rows} it is {verdict} "
            f"{display_name(winner)}, which has {chosen:.4g} there{size}."
        )
        return self.line(NAME, LABEL, losses, note)


# -------------------------------------------------------------------------------------------------
# An average of the candidates, by their out-of-fold predictions.
#
#     Σₘ aₘ ŷₘ,   a ≥ 0, Σ a = 1:     equal weights of those as good as the best, or least loss
#     ∝ exp Σₘ aₘ log pₘ,   a ≥ 0:    of classes, least loss
#
# What judges a fold comes from the others: the weights, and as well the best candidate beside which
# the average is judged. The least of many losses is smaller than what its candidate has elsewhere.


@dataclass(frozen=True)
class AveragedCandidates:
    """Weights by name, out-of-fold predictions of the average, and what it gains.

    ``gain`` is that on the best candidate, chosen without the fold that judges it.
    """

    average: Average
    weights: Mapping[str, float]
    predictions: Floats
    losses: CandidateLosses
    gain: Difference

    @property
    def loss(self) -> float:
        """The mean loss that is compared."""
        return average(next(iter(self.losses.by_metric.values())), self.losses.w)

    @property
    def helps(self) -> bool:
        """Whether the average is better than the choice of one, and worth several models."""
        # Share of the loss that an average must save: for less, one model is easier to keep than
        # several.
        return len(self.weights) > 1 and self.gain.mean > 0.005 * abs(self.loss)

    def chosen(self, choice: Choice) -> Choice:
        """The choice of the average instead of a candidate."""
        measure = METRIC_NAMES.get(choice.metric, choice.metric)
        why = (
            f"Chosen without a fold and judged on it, the weighted average has a smaller {measure} "
            f"than the best model (by {self._gain})."
        )
        return replace(choice, winner=AVERAGE, reason=why)

    def __str__(self) -> str:
        parts = ", ".join(
            f"{display_name(name)} {weight:.2f}" for name, weight in self.weights.items()
        )
        kind = "" if self.average.pool == "linear" else f"{self.average.pool} pool of "
        return f"{kind}{parts} (gain on choosing the best model without each fold: {self._gain})"

    @property
    def _gain(self) -> str:
        return f"{self.gain.mean:.2g} ± {self.gain.standard_error:.2g}"


def average_candidates(
    predictions: Mapping[str, Floats],
    fold: Ints,
    weigh: Sequence[Callable[[Floats, Ints], Average]],
    losses_of: Callable[[Floats], CandidateLosses],
) -> AveragedCandidates:
    """Average predictions of the same rows, one array by candidate.

    Each of ``weigh`` finds weights of least loss from predictions and some of the rows;
    ``losses_of`` gives the losses of predictions, of which the first metric decides.
    """
    names, stacked = list(predictions), np.stack(list(predictions.values()))
    scored = [losses_of(p) for p in stacked]
    w = scored[0].w
    losses = np.stack([next(iter(s.by_metric.values())) for s in scored], axis=1)

    def best(rows: Ints) -> Average:
        means = w[rows] @ losses[rows]
        return Average((np.arange(len(names)) == means.argmin()).astype(float), np.nan, None)

    def least(rule: Callable[[Floats, Ints], Average], rows: Ints) -> Average:
        means = w[rows] @ losses[rows]
        # Candidates with more than so many times the loss of the best have no part in weights of
        # least loss: their few large errors would decide them, fold by fold.
        near = means <= 2.0 * means.min()
        found = rule(stacked[near], rows)
        weights = np.zeros(len(names))
        weights[near] = found.weights
        return replace(found, weights=weights)

    def equal(rows: Ints) -> Average:
        return equal_average(losses[rows], w[rows])

    def judge(rule: Callable[[Ints], Average]) -> tuple[Floats, CandidateLosses]:
        mixed = np.empty_like(stacked[0])
        for number in np.unique(fold):
            inside = fold == number
            mixed[inside] = rule(np.flatnonzero(~inside)).of(stacked[:, inside])
        return mixed, losses_of(mixed)

    single = next(iter(judge(best)[1].by_metric.values()))
    found = []
    rules: list[Callable[[Ints], Average]] = [equal, *(partial(least, one) for one in weigh)]
    for rule in rules:
        mixed, mixed_losses = judge(rule)
        whole = rule(np.arange(len(fold)))
        # Candidates with less weight are not worth a fit of their own.
        keep = whole.weights >= 0.01
        share = np.where(keep, whole.weights, 0.0)
        share *= whole.weights.sum() / share.sum()
        values = next(iter(mixed_losses.by_metric.values()))
        found.append(
            AveragedCandidates(
                replace(whole, weights=share[keep]),
                {name: float(a) for name, a in zip(names, share, strict=True) if a > 0},
                mixed,
                mixed_losses,
                difference(single, values, mixed_losses.w),
            )
        )
    return min(found, key=lambda averaged: averaged.loss)


class Averageable(Protocol):
    """A comparison whose candidates can be averaged."""

    @property
    def comparison(self) -> RowComparison:
        """The candidates and their losses."""

    def average(self, best: str) -> AveragedCandidates | None:
        """The average of the candidates; None if there are too few, or several sets of folds."""


@dataclass(frozen=True)
class ComparisonOutcome:
    """The choice, the leaderboard, and the average if it is the choice."""

    choice: Choice
    entries: tuple[Entry, ...]
    averaged: AveragedCandidates | None = None


def choose_winner(compared: Averageable, options: StudyOptions) -> ComparisonOutcome:
    """Choose a candidate, or for accuracy an average of several; and what the other goal takes."""
    comparison = compared.comparison
    choice, entries = comparison.choose(options.rule), comparison.entries
    if choice.winner == BASELINE:
        return ComparisonOutcome(choice, entries)
    averaged = compared.average(choice.best)
    line = None
    if averaged is not None:
        line = comparison.line(AVERAGE, AVERAGE_LABEL, averaged.losses, str(averaged))
    better = averaged if averaged is not None and averaged.helps else None
    if options.goal == "accuracy":
        entries = entries if line is None else (*entries, line)
        choice = choice if better is None else better.chosen(choice)
    elif better is not None:
        choice = replace(choice, other_rule_winner=AVERAGE)
    if choice.other_rule_winner != choice.winner:
        lines = {entry.name: entry for entry in (*entries, *([] if line is None else [line]))}
        choice = replace(choice, other=lines[choice.other_rule_winner])
    return ComparisonOutcome(choice, entries, better if choice.winner == AVERAGE else None)


# -------------------------------------------------------------------------------------------------
# A reference that is not a candidate: gradient-boosted trees on the same folds.
#
# It says how much is lost by staying with geometric models. The trees are scikit-learn's; they are
# never chosen and never stored.


NAME, LABEL = "boosting", "gradient-boosted trees"
ITERATIONS, LEARNING_RATE, LEAVES = 40, 0.2, 16
#: Folds that are predicted at most: enough for a comparison on the same rows.
MOST_FOLDS = 3


@dataclass(frozen=True)
class ReferencePredictions:
    """Predictions out of fold (probabilities, or numbers) of some rows, by position."""

    rows: Ints
    predictions: Floats
    n_folds: int


def reference_predictions(data: TuningData) -> ReferencePredictions | None:
    """Trees fitted without a fold, for as many folds as the work allows; None if for none."""
    n, d = data.x.shape
    trees = ITERATIONS * (1 if data.n_classes <= 2 else data.n_classes)
    # Operations of one tree: for each column, and for each value of the table.
    work = trees * d * (1.5e5 + 12.0 * n)
    # Share of the work of a candidate: for all folds, and for the first.
    if work > 0.2 * data.work:
        return None
    count = int(np.clip(0.05 * data.work / work, 1, min(MOST_FOLDS, len(data.folds))))
    rows, predictions = [], []
    import sklearn.ensemble  # noqa: F401  loads its OpenMP, which the limit must find

    with threadpool_limits(1):  # sums over threads would change last digits
        for train, test in data.folds.pairs[:count]:
            rows.append(test)
            predictions.append(_predict_baseline(data, train, test))
    return ReferencePredictions(np.concatenate(rows), np.concatenate(predictions), count)


def _predict_baseline(data: TuningData, train: Ints, test: Ints) -> Floats:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    options: dict[str, Any] = {
        "max_iter": ITERATIONS,
        "learning_rate": LEARNING_RATE,
        "max_leaf_nodes": LEAVES,
        "early_stopping": False,
        "random_state": 0,
    }
    w = None if (data.w == 1.0).all() else data.w[train]  # bins of weighted rows take long
    if not data.n_classes:
        loss = "absolute_error" if data.loss == "absolute" else "squared_error"
        model = HistGradientBoostingRegressor(loss=loss, **options)
        model.fit(to_array(data.x[train]), data.y[train], w)
        return np.asarray(model.predict(to_array(data.x[test])))
    p = np.zeros((len(test), data.n_classes))
    known = np.unique(data.y[train])
    if len(known) == 1:  # as the earliest rows in time may be: trees of one class predict two
        p[:, known] = 1.0
        return p
    trees = HistGradientBoostingClassifier(**options)
    trees.fit(to_array(data.x[train]), data.y[train], w)
    p[:, trees.classes_.astype(int)] = trees.predict_proba(to_array(data.x[test]))
    return p


# -------------------------------------------------------------------------------------------------
# Cross-validation of the candidates: fits without one fold, and lines of the leaderboard.


T = TypeVar("T")


class FoldedData(Protocol):
    """Data in folds that a candidate can be fitted to without one of them."""

    @property
    def k(self) -> int:
        """Number of folds."""

    def fit_without(self, candidate: Candidate, fold: int) -> Any:
        """The candidate fitted to all folds but one."""


@contextmanager
def mute_warnings() -> Iterator[None]:
    """Without warnings: they are shown once, for the model that is chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        yield


def cross_validate(
    candidate: Candidate, folds: FoldedData, evaluate: Callable[[Any, int], T]
) -> tuple[list[T], dict[str, tuple[Any, ...]]]:
    """``evaluate(model, fold)`` of a model fitted to the other folds; tuned values by name."""
    results, tuned = [], []
    with mute_warnings():
        for fold in range(folds.k):
            model = folds.fit_without(candidate, fold)
            results.append(evaluate(model, fold))
            tuned.append([float(getattr(model, name)) for name in candidate.tuned])
    columns = zip(candidate.tuned, zip(*tuned, strict=True), strict=True)
    return results, {name.rstrip("_"): tuple(values) for name, values in columns}


# -------------------------------------------------------------------------------------------------
# The learning curve of the chosen model: error against the number of training rows.


#: Fractions of the training rows of a fold.
FRACTIONS, SLOW_FRACTIONS = (0.1, 0.2, 0.4, 0.7, 1.0), (0.2, 0.5, 1.0)
MIN_ROWS = 5
#: Rows that a slow model is fitted to, and rows that any is scored on, at most.
MAX_SLOW_ROWS, MAX_SCORED = 3_000, 2_000
#: A training error below this share of the validation error says that every row is passed through.
EXACT_SHARE = 0.01


def learning_curve(
    candidate: Candidate,
    folds: RowFolds,
    metric: str,
    seed: int,
    tuning: Tuning | None = None,
) -> LearningCurve | None:
    """Training and validation error by number of training rows, on the folds alone.

    Each size is a prefix of one random order, so that a larger set contains the smaller ones.
    Tuned parameters stay those that were chosen: nothing is tuned again.
    """
    order = np.random.default_rng(seed).permutation(len(folds.labels))
    terms = len(folds.table.block.terms)
    work = terms * len(folds.training) * folds.table.block.y.shape[1]
    # Terms, and terms times rows times classes, from which fits take so long that every other point
    # and two folds must do.
    slow = candidate.slow or terms > 300 or work > 3e7
    splits = []
    many = slow and len(folds.training) > MAX_SLOW_ROWS
    for fold in range(folds.k)[: 1 if many else 2 if slow else MOST_FOLDS]:
        training, outside = folds.split(fold)
        member = np.zeros(len(order), dtype=bool)
        member[training] = True
        splits.append((order[member[order]], outside))
    smallest = min(len(training) for training, _ in splits)
    if many:
        smallest = min(smallest, MAX_SLOW_ROWS)
    fractions = SLOW_FRACTIONS if slow else FRACTIONS
    sizes, train, validation = [], [], []
    source = folds.source(candidate)
    for size in sorted({max(MIN_ROWS, int(fraction * smallest)) for fraction in fractions}):
        errors = []
        try:
            with mute_warnings():
                for training, outside in splits:
                    model = folds.fitted(candidate, training[:size], tuning)
                    sides = (thin(training[:size], MAX_SCORED), thin(outside, MAX_SCORED))
                    errors.append([error_on(model, source.take(rows)) for rows in sides])
        except InputError:  # too few rows for this model: the curve starts further right
            continue
        sizes.append(size)
        train.append([a for a, _ in errors])
        validation.append([b for _, b in errors])
    if len(sizes) < 2:
        return None
    return LearningCurve(tuple(sizes), np.array(train), np.array(validation), metric)


def warn_of_exact_fit(curve: LearningCurve | None, name: str, baseline: float) -> None:
    """SEP021 where the error of training rows is next to none, and that of others is not.

    ``baseline`` is the error of the baseline, by which the second is measured.
    """
    if curve is None:
        return
    train, validation = float(curve.train[-1].mean()), float(curve.validation[-1].mean())
    if train < EXACT_SHARE * validation and validation > EXACT_SHARE * baseline:
        warn(
            "SEP021",
            f"{display_name(name)} has an error of {train:.2g} on its training rows and of "
            f"{validation:.2g} on rows left out: it fits the training rows exactly.",
        )


# -------------------------------------------------------------------------------------------------
# The training rows of a study as candidates that tune are given them.


#: What searches minimize, by what candidates are compared by.
LOSSES = {
    "error": "error",
    "balanced_error": "error",
    "rmse": "squared",
    "r2": "squared",
    "mae": "absolute",
}


def tuning_data(folds: RowFolds, classes: Any, metric: str, work: float) -> TuningData:
    """Encoded columns of the training rows, with their folds; ``classes`` are empty for numbers.

    Columns are imputed, and later standardized, by all training rows: that uses no target, and one
    matrix then serves all folds.
    """
    rows = folds.design.take(folds.training)
    block = prepare(rows).rows.collect()
    truth = truth_of(rows)
    w: Floats = unit_weights(block.w, len(truth))
    # Larger designs stay sparse where they are: each candidate fills in the rows that it needs.
    dense = 8.0 * block.n * len(block.terms) <= 100e6
    x = block.dense() if dense and folds.design is folds.table else block.x
    y = codes_of(truth, classes) if len(classes) else np.asarray(truth, dtype=float)
    loss = LOSSES.get(metric, "log_loss")
    return TuningData(x, y, w, folds.pairs(), len(classes), loss, work)
