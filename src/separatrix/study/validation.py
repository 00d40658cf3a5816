"""The choice among candidates that were compared once, or on several sets of folds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.catalogue import passes
from separatrix.messages import InputError
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import unit_weights
from separatrix.selection.leave_one_out import leave_one_out_fits
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.moments import Standardizer
from separatrix.study.candidates import BASELINE, Candidate, Size
from separatrix.study.comparison import (
    Averageable,
    CandidateLosses,
    ComparisonOutcome,
    RowComparison,
    Scored,
    choose_winner,
    cross_validate,
    mute_warnings,
)
from separatrix.study.design import MIN_TRAINING_ROWS, RowFolds, StudyDesign
from separatrix.study.measure import LARGER_IS_BETTER, metric_value
from separatrix.study.options import StudyOptions
from separatrix.study.progress import Step, tell_compared
from separatrix.study.result import Entry, Nested, OuterFold, Predictions, RepeatedScore, Repeats

C = TypeVar("C", bound=Averageable)


def choose_validated(
    compared: C, design: StudyDesign, options: StudyOptions, procedure: Procedure, step: Step
) -> tuple[C, ComparisonOutcome, dict[str, Any]]:
    """The winner, told to a listener; the comparison it comes from; what a study says about it.

    Repeats choose by mean losses; predictions, tuned parameters and calibration stay those of the
    first. The outer loop judges the procedure, and changes nothing in the choice.
    """
    wanted, repeats = options.validation, None
    if wanted.repeats > 1:
        together = repeated_comparison(
            compared.comparison,
            design,
            lambda other, step: procedure.compare(other, step).comparison,
            wanted.repeats,
            step,
        )
        data: Any = compared
        compared = replace(data, comparison=together)
    chosen = choose_winner(compared, options)
    choice = chosen.choice
    if wanted.repeats > 1:
        repeats = about_repeats(together, design.folds, choice.winner, options.rule)
    tell_compared(design.progress, chosen.entries, choice.winner, choice.reason)
    nested = nested_selection(design, procedure, step) if wanted.nested else None
    scheme = design.folds.scheme
    return compared, chosen, {"validation": scheme, "repeats": repeats, "nested": nested}


# -------------------------------------------------------------------------------------------------
# The comparison on several sets of folds, and what the choice of folds does to it.
#
#     lossᵢ = mean over repeats of the loss of row i out of fold
#     se² = (1/J + n_test/n_train) s²       over the J scores of all folds of all repeats
#
# The second line is Nadeau and Bengio's correction (Inference for the generalization error, 2003):
# folds share training rows, so that s²/J alone is far too small.


@dataclass(frozen=True)
class RepeatedComparison(RowComparison):
    """Losses averaged over ``repeats``; entries have the folds of all of them."""

    repeats: tuple[RowComparison, ...] = ()

    def _entry(self, scored: Scored) -> Entry:
        entry = super()._entry(scored)
        entries = [find_entry(repeat, entry.name) for repeat in self.repeats]
        second = entry.secondary
        if second is not None:
            known = [e.secondary.folds for e in entries if e.secondary is not None]
            second = replace(second, folds=tuple(v for folds in known for v in folds))
        return replace(entry, folds=tuple(v for e in entries for v in e.folds), secondary=second)


def find_entry(comparison: RowComparison, name: str) -> Entry:
    """The line of a candidate."""
    return next(entry for entry in comparison.entries if entry.name == name)


def repeated_comparison(
    first: RowComparison,
    design: StudyDesign,
    compare: Callable[[StudyDesign, Step], RowComparison],
    repeats: int,
    step: Step,
) -> RepeatedComparison:
    """The first comparison with others on folds drawn again."""
    comparisons = [first]
    for repeat in range(1, repeats):
        other = replace(design, folds=design.folds.again(design.parts, repeat, repeats))
        comparisons.append(compare(other, _number_step(step, repeat + 1, repeats)))
    scored = [
        _average_scores([c.scored[at] for c in comparisons]) for at in range(len(first.scored))
    ]
    return RepeatedComparison(
        scored, first.metric, first.secondary, first.units, tuple(comparisons)
    )


def _number_step(step: Step, repeat: int, repeats: int) -> Step:
    return lambda stage: step(f"{stage}, repeat {repeat} of {repeats}")


def _average_scores(found: Sequence[Scored]) -> Scored:
    """One candidate over all repeats; refused if any of them was."""
    refused = next((one for one in found if one.losses is None), None)
    if refused is not None:
        return refused
    names = found[0].hyperparameters
    values = {n: tuple(v for one in found for v in one.hyperparameters.get(n, ())) for n in names}
    losses = mean_losses([one.losses for one in found if one.losses is not None])
    return replace(found[0], losses=losses, hyperparameters=values)


def mean_losses(candidate_losses: Sequence[CandidateLosses]) -> CandidateLosses:
    """The mean of a row's losses over the repeats that scored it."""
    rows = np.unique(np.concatenate([losses.rows for losses in candidate_losses]))
    fold, w = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
    count = np.zeros(len(rows))
    total = {metric: np.zeros(len(rows)) for metric in candidate_losses[0].by_metric}
    for losses in reversed(candidate_losses):  # the folds of the first have the last word
        position = np.searchsorted(rows, losses.rows)
        fold[position], w[position] = losses.fold, losses.w
        count[position] += 1
        for metric, values in losses.by_metric.items():
            total[metric][position] += values
    return CandidateLosses(
        rows, fold, w, {metric: values / count for metric, values in total.items()}
    )


def about_repeats(
    comparison: RepeatedComparison, folds: RowFolds, winner: str, rule: str
) -> Repeats:
    """Mean, spread and corrected errors of every candidate that was scored in all repeats."""
    ratio = math.nan if folds.ordered else _ratio(folds)
    winners = [repeat.choose(rule).winner for repeat in comparison.repeats]
    scores = tuple(
        _score(comparison, name, winner, ratio, winners.count(name))
        for name in (s.candidate.name for s in comparison.scored if s.losses is not None)
        if all(find_entry(repeat, name).folds for repeat in comparison.repeats)
    )
    n = len(comparison.repeats)
    winner_score = next((s for s in scores if s.name == winner), None)
    text = f"{winner} is chosen in {winners.count(winner)} of {n} repeats"
    if winner_score is not None:
        text += f"; its score has a standard deviation of {winner_score.spread:.2g} over them"
    return Repeats(comparison.metric, n, folds.k, ratio, scores, f"{text}.")


def _ratio(folds: RowFolds) -> float:
    """Test rows for each training row, the mean over folds."""
    sizes = [tuple(map(len, folds.split(fold))) for fold in range(folds.k)]
    return float(np.mean([test / max(train, 1) for train, test in sizes]))


def _score(
    comparison: RepeatedComparison, name: str, winner: str, ratio: float, chosen: int
) -> RepeatedScore:
    entries = [find_entry(repeat, name) for repeat in comparison.repeats]
    other = [find_entry(repeat, winner) for repeat in comparison.repeats]
    paired = [(a.folds, b.folds) for a, b in zip(entries, other, strict=True)]
    apart: Any = np.array([])
    if all(len(a) == len(b) for a, b in paired):
        apart = np.concatenate([np.subtract(a, b) for a, b in paired])
    means = np.array([entry.mean for entry in entries])
    return RepeatedScore(
        name,
        tuple(means.tolist()),
        float(means.mean()),
        float(means.std(ddof=1)) if len(means) > 1 else 0.0,
        corrected_error(np.concatenate([entry.folds for entry in entries]), ratio),
        float(apart.mean()) if len(apart) else math.nan,
        corrected_error(apart, ratio),
        chosen,
    )


def corrected_error(scores: Any, ratio: float) -> float:
    """√((1/J + n_test/n_train) s²) of the scores of J folds; NaN for fewer than two."""
    if len(scores) < 2:
        return math.nan
    return float(np.sqrt((1.0 / len(scores) + ratio) * np.var(scores, ddof=1)))


# -------------------------------------------------------------------------------------------------
# Every row predicted by a model of all others: by a closed form where there is one, else n fits.
#
#     θ̂_f = argmin_θ of the losses on all folds but f       tunes the models that predict fold f
#     ŷᵢ  = prediction by the model with θ̂_f fitted to all rows but i,     i in fold f
#
# The losses of a row do not influence the parameters that predict it. Copies of a row, and the rows
# of a group, are left out together. Closed forms (``leave_one_out_fits`` of an estimator) are for
# rows that stand alone and have no weights; they encode and standardize columns by all training
# rows, which uses no target.


T = TypeVar("T")


@dataclass(frozen=True)
class FoldModels:
    """The models that predict the rows of each fold: a candidate, and its search if it has one."""

    candidates: tuple[Candidate, ...]
    tuning: Tuning | None
    hyperparameters: dict[str, tuple[Any, ...]]

    def fitted(self, folds: RowFolds, rows: Ints, fold: int) -> Any:
        """The model of a fold, fitted to some rows."""
        return folds.fitted(
            self.candidates[fold], rows, None if self.tuning is None else self.tuning.without(fold)
        )


def fold_models(candidate: Candidate, folds: RowFolds, data: TuningData) -> FoldModels:
    """What each fold is predicted with: parameters that were tuned without it."""
    with mute_warnings():
        if candidate.tunable:
            tuning = candidate.make(folds.k).tune(data.with_share(candidate.share))
            return FoldModels((candidate,) * folds.k, tuning, tuning.parameters_by_fold)
        if not candidate.tuned:
            return FoldModels((candidate,) * folds.k, None, {})
        chosen, tuned = cross_validate(candidate, folds, lambda model, _: model.at_chosen_penalty())
    fixed = tuple(
        replace(
            candidate,
            model=type(model).__name__,
            options=model.get_params(deep=False),
            tuned=(),
            folds=False,
        )
        for model in chosen
    )
    return FoldModels(fixed, None, tuned)


def leave_out(
    models: FoldModels, folds: RowFolds, data: TuningData, answer: Callable[[Any, Ints, int], T]
) -> list[T]:
    """``answer(model, rows, fold)`` of a model of all rows but these, unit by unit."""
    units = [folds.training[unit] for unit in _units(folds)]
    refuse_work(models.candidates[0], data, len(units))
    fold_of = np.full(len(folds.labels), -1, dtype=np.int64)
    fold_of[folds.training] = data.fold
    results = []
    with mute_warnings():
        for rows in units:
            fold = int(fold_of[rows[0]])
            others = np.setdiff1d(folds.training, rows, assume_unique=True)
            results.append(answer(models.fitted(folds, others, fold), rows, fold))
    return results


def closed_form(models: FoldModels, folds: RowFolds, data: TuningData) -> Floats | None:
    """Numbers, or probabilities, in order of training rows, from one fit for each fold.

    None where there is no such form.
    """
    first = models.candidates[0]
    if first.name == BASELINE:
        return _baseline(folds, data)
    alone = folds.units is None and bool((data.w == 1.0).all())
    if first.raw or not alone or not isinstance(data.x, np.ndarray):
        return None
    forms: list[tuple[Any, Floats | None]] = []
    predicted: Floats | None = None
    with mute_warnings():
        for fold, candidate in enumerate(models.candidates):
            theta = {**candidate.options, **_parameters(models.tuning, fold)}
            known = next((answers for other, answers in forms if other == theta), None)
            answers = _own(candidate, data, theta) if known is None else known
            if answers is None:
                return None
            forms.append((theta, answers))
            predicted = np.empty_like(answers) if predicted is None else predicted
            predicted[data.fold == fold] = answers[data.fold == fold]
    return predicted


def _parameters(tuning: Tuning | None, fold: int) -> dict[str, Any]:
    return {} if tuning is None else dict(tuning.without(fold).parameters)


def _own(candidate: Candidate, data: TuningData, theta: dict[str, Any]) -> Floats | None:
    """Answers about every row by the model of all others, at fixed parameters."""
    model = candidate.make(2)
    if not hasattr(model, "leave_one_out_fits") or set(theta) - set(model.get_params(deep=False)):
        return None
    x = data.x
    if theta.get("standardize"):  # once for all fits
        x, theta = Standardizer.from_rows(x, data.w).transform(x), {**theta, "standardize": False}
    fits = leave_one_out_fits(model.set_params(**theta).fit(x, data.y), x, data.y, None)
    if fits is None:
        return None
    exact = np.asarray(fits.own, dtype=float)
    expected = (data.n, data.n_classes) if data.n_classes else (data.n,)
    return exact if exact.shape == expected and np.isfinite(exact).all() else None


def _units(folds: RowFolds) -> list[Ints]:
    """Positions among the training rows of what is left out together, in order of its key."""
    _, unit = np.unique(folds.unit_keys[folds.training], return_inverse=True)
    order = np.argsort(unit, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(unit[order])) + 1)


def _baseline(folds: RowFolds, data: TuningData) -> Floats:
    """The mean of the target over all other units."""
    _, unit = np.unique(folds.unit_keys[folds.training], return_inverse=True)
    k, w = int(unit.max()) + 1, data.w
    sums, weight = np.bincount(unit, w * data.y, k), np.bincount(unit, w, k)
    rest = weight.sum() - weight
    if (rest <= 0).any():
        raise InputError("All weight is in one row or group, which cannot be left out.")
    return np.asarray(((sums.sum() - sums) / rest)[unit])


def refuse_work(candidate: Candidate, data: TuningData, fits: int) -> None:
    """Refuse so many fits where they take more operations than a candidate may."""
    work, limit = fits * fit_work(candidate, data), candidate.share * data.work
    if work <= limit:
        return
    raise InputError(
        f"leave-one-out takes {fits} fits of {candidate.name}, about {work / limit:.2g} times the "
        f"{limit:.2g} operations that are allowed.",
        remedy="Give a number of `folds`, or a larger `effort`.",
    )


def fit_work(candidate: Candidate, data: TuningData) -> float:
    """Operations of one fit with given parameters, roughly and rather too many than too few."""
    n, d = data.x.shape
    size = Size(n, d, max(1, data.n_classes))
    # Operations of one fit besides its arithmetic: checks, encoding, certificate.
    return 1e7 + (candidate.fit_operations or passes(30.0))(size)


# -------------------------------------------------------------------------------------------------
# The selection judged on rows that had no part in it: an outer loop around all of it.
#
#     for each fold:   the other rows ─ folds of their own ─ comparison ─ choice ─ fit ─┐
#                      the fold ────────────────────────────────────────────────────────┴─ losses
#
# The score by which a winner was chosen is the best of several, and too good for that; the outer
# one belongs to the whole procedure on that many rows.


@dataclass(frozen=True)
class Selected:
    """What was chosen from some rows, and how it answers others."""

    chosen: ComparisonOutcome
    predict: Callable[[InMemory], Predictions]


class Procedure(Protocol):
    """A selection that can be repeated on other rows, and the losses of its answers by row."""

    @property
    def metric(self) -> str:
        """The metric that decides."""

    def compare(self, design: StudyDesign, step: Step) -> Averageable:
        """The first step alone."""

    def select(self, design: StudyDesign, step: Step) -> Selected:
        """Compare, choose and fit."""

    def judge(self, predictions: Predictions) -> Floats:
        """Losses of answers to other rows."""


def nested_selection(design: StudyDesign, procedure: Procedure, step: Step) -> Nested:
    """The procedure without each fold in turn.

    Folds that leave too few rows to repeat it, such as the first in time, are passed over; where
    all do, there is no score, and the summary says why.
    """
    folds, predictions, rows, fold_of, refusal = design.folds, [], [], [], ""
    for fold in range(folds.k):
        inner = folds.within(design.parts, fold)
        outside = folds.split(fold)[1]
        inner_design = replace(design, table=inner.table, folds=inner)
        here = _outer(step, fold + 1, folds.k)
        if len(inner.training) < MIN_TRAINING_ROWS or inner.k < 2:
            refusal = f"{len(inner.training)} training rows are too few."
            continue
        try:
            with mute_warnings():
                selected = procedure.select(inner_design, here)
                answers = selected.predict(folds.table.take(outside))
        except InputError as problem:
            refusal = problem.what
            continue
        predictions.append((selected.chosen, answers))
        rows.append(outside)
        fold_of.append(np.full(len(outside), fold))
    if not predictions:
        text = f"The selection cannot be repeated without any of {folds.k} outer folds: {refusal}"
        none = math.nan
        return Nested(procedure.metric, none, none, none, none, (), {}, text)
    together = _join_predictions([answers for _, answers in predictions])
    block = np.concatenate(rows)
    w = unit_weights(together.w, len(block))
    order = np.argsort(block)
    losses = CandidateLosses(
        block[order],
        np.concatenate(fold_of)[order],
        w[order],
        {procedure.metric: procedure.judge(together)[order]},
    )
    return _record(design, procedure.metric, [chosen for chosen, _ in predictions], losses, refusal)


def _outer(step: Step, fold: int, folds: int) -> Step:
    return lambda stage: step(f"{stage}, outer fold {fold} of {folds}")


def _record(
    design: StudyDesign,
    metric: str,
    chosen: list[ComparisonOutcome],
    losses: CandidateLosses,
    refusal: str,
) -> Nested:
    score = losses.score(metric, design.folds.units)
    numbers = np.unique(losses.fold)
    outer = []
    for number, selection in zip(numbers, chosen, strict=True):
        name, inside = selection.choice.winner, losses.fold == number
        entry = next(e for e in selection.entries if e.name == name)
        value = _value(metric, losses.by_metric[metric][inside], losses.w[inside])
        tuned = _middle(entry.hyperparameters)
        outer.append(OuterFold(name, entry.mean, value, int(inside.sum()), tuned))
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
        name: sorted(values, key=repr if _is_mixed(values) else None)[len(values) // 2]  # type: ignore[arg-type]
        for name, values in hyperparameters.items()
        if values
    }


def _is_mixed(values: tuple[Any, ...]) -> bool:
    return not all(isinstance(v, int | float) for v in values)


def _join_predictions(found: list[Predictions]) -> Predictions:
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
