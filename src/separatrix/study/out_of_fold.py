"""A study of rows in folds: every candidate predicts each row by a model not fitted to it.

predictions out of fold ─ comparison ─ choice ─ fit to all training rows ─ test set, once

What differs between regression and classification is a :class:`ModelSelection`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators.base import codes_of, with_every_class
from separatrix.estimators.wrapped import decision_scores, log_odds
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Encoding, unit_weights
from separatrix.selection.averaging import Average
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.study import inferred, validation
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.class_scores import DecisionCosts
from separatrix.study.comparison import (
    AVERAGE,
    AveragedCandidates,
    CandidateLosses,
    ComparisonOutcome,
    RowComparison,
    Scored,
    average_candidates,
    choose_winner,
    cross_validate,
    learning_curve,
    mute_warnings,
    reference_predictions,
    score_candidates,
    tuning_data,
    warn_of_exact_fit,
)
from separatrix.study.describe import describe
from separatrix.study.design import (
    MomentFolds,
    RowFolds,
    StudyDesign,
    probabilities_for,
    thin,
    training_rows,
    truth_of,
    with_warnings,
)
from separatrix.study.options import StudyOptions
from separatrix.study.progress import Step, stages, tell_inferred, work_of
from separatrix.study.result import CalibrationCheck, Entry, LearningCurve, Predictions, Study


class ModelSelection:
    """How candidates for one task are compared, fitted and judged on rows in folds.

    ``classes`` are those of the training rows, none for regression. The first of ``metrics``
    decides, the second is shown beside it; a learning curve has the metric ``curve``.
    """

    task: str
    curve: str
    classes: NDArray[Any] = np.empty(0, dtype=object)
    #: What is inferred beside what the design says.
    messages: Sequence[str] = ()

    def __init__(self, options: StudyOptions) -> None:
        self.options = options

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.options.metric_for(self.task)

    @property
    def metrics(self) -> tuple[str, str]:
        """The metric that decides, and the other."""
        raise NotImplementedError

    def of_training(self, design: StudyDesign) -> ModelSelection:  # noqa: ARG002
        """The same among the classes of the training rows."""
        return self

    def moments(self, design: StudyDesign) -> MomentFolds | None:  # noqa: ARG002
        """Moments by fold that serve candidates in place of rows, if any."""
        return None

    def score(self, candidate: Candidate, out_of_fold: OutOfFold) -> OutOfFold:  # noqa: ARG002
        """The predictions by which a candidate is compared."""
        return out_of_fold

    def losses(self, out_of_fold: OutOfFold) -> CandidateLosses:
        """Losses of predictions by both metrics."""
        raise NotImplementedError

    def weigh(self, out_of_fold: OutOfFold) -> Sequence[Callable[[Floats, Ints], Average]]:
        """Ways to find weights of least loss, from predictions (candidates x rows …) and rows."""
        raise NotImplementedError

    def fitted(self, compared: ComparedRows, name: str) -> tuple[Any, Any]:
        """A candidate fitted to all folds: the estimator, and the model that predicts."""
        raise NotImplementedError

    def average(self, models: Sequence[Any], folds: int, pool: str) -> Any:
        """An unfitted average of models."""
        raise NotImplementedError

    def complete(self, winner: Winner, name: str) -> Winner:  # noqa: ARG002
        """The winner with what its decisions need besides."""
        return winner

    def predict(self, winner: Winner, rows: InMemory) -> Predictions:
        """Answers of the whole model to other rows."""
        raise NotImplementedError

    def judge(self, predictions: Predictions) -> Floats:
        """Losses of answers to other rows."""
        raise NotImplementedError

    def record(self, design: StudyDesign, winner: Winner, test: Predictions) -> dict[str, Any]:
        """What a study of this task stores besides: scores of the winner and of the baseline …"""
        raise NotImplementedError

    # -- the steps, in order -----------------------------------------------------------------------

    def compare(self, design: StudyDesign, step: Step) -> ComparedRows:
        """Cross-validate every candidate, simplest first; one that refuses the data says why."""
        data = tuning_data(design.folds, self.classes, self.metric, self.options.effort.work)
        moments, predictions = self.moments(design), {}

        def score(candidate: Candidate) -> Scored:
            out_of_fold = predict_out_of_fold(candidate, design.folds, self.classes, data, moments)
            out_of_fold = self.score(candidate, out_of_fold)
            predictions[candidate.name] = out_of_fold.thin()
            note = out_of_fold.why or (
                "" if out_of_fold.tuning is None else out_of_fold.tuning.note
            )
            losses = self.losses(out_of_fold)
            return Scored(candidate, losses, out_of_fold.hyperparameters, note, out_of_fold.method)

        scored = score_candidates(design.candidates, score, step)
        comparison = RowComparison(scored, *self.metrics, design.folds.units)
        return ComparedRows(self, design, comparison, predictions, data, moments)

    def fit(self, compared: ComparedRows, chosen: ComparisonOutcome) -> Winner:
        """The winner on all folds: one candidate, or several with their weights."""
        name, averaged, design = chosen.choice.winner, chosen.averaged, compared.design
        if averaged is None:
            prediction = compared.predictions[name]
            (core, model), warned = with_warnings(lambda: self.fitted(compared, name))
            winner = Winner(core, model, prediction, None, design.named(name), warned)
        else:
            models, warned = with_warnings(
                lambda: [self.fitted(compared, other)[1] for other in averaged.weights]
            )
            blank = self.average(
                [clone(model) for model in models], design.folds.k, averaged.average.pool
            )
            model = blank.from_fitted(models, averaged.average)
            first = compared.predictions[chosen.choice.best].at(averaged.losses.rows)
            prediction = replace(
                first.with_values(averaged.predictions),
                scores=None, judged=None, tuning=None, hyperparameters={}, method=None, check=None,
            )  # fmt: skip
            winner = Winner(model, model, prediction, warnings=warned)
        return self.complete(winner, name)

    def select(self, design: StudyDesign, step: Step) -> validation.Selected:
        """The whole of it on other rows: compare, choose, fit."""
        training = self.of_training(design)
        compared = training.compare(design, step)
        chosen = choose_winner(compared, self.options)
        winner = training.fit(compared, chosen)
        return validation.Selected(chosen, lambda rows: self.predict(winner, rows))


def study_rows(design: StudyDesign, selection: ModelSelection) -> Study:
    """Compare on the folds, choose, fit, and score on the test set once."""
    folds, options = design.folds, selection.options
    tell_inferred(design.progress, [*design.announced, *selection.messages], design.candidates)
    work = work_of(design.candidates, len(folds.training), reference=options.reference)
    work = options.validation.stages(work, len(design.candidates), folds.k)
    with stages(design.progress, work) as step:
        compared = selection.compare(design, step)
        compared, chosen, validated = validation.choose_validated(
            compared, design, options, selection, step
        )
        choice = chosen.choice
        step(f"fitting {choice.winner} to all training rows")
        winner = selection.fit(compared, chosen)
        step("reference")
        reference = compared.reference(chosen) if options.reference else None
        step("scoring on the test set")
        test = selection.predict(winner, folds.table.take(folds.test))
        record = selection.record(design, winner, test)
        step("learning curve")
        curve = winner.curve(folds, selection.curve, design.parts.seed)
    plain = next((s.value for s in record["baseline_test"] if s.metric == selection.curve), 0.0)
    _, exact = with_warnings(lambda: warn_of_exact_fit(curve, winner.name, plain))
    encoding, description = winner.encoding, describe(winner.model)
    about = inferred.about_model(encoding, description.stored_rows)
    classes = len(selection.classes) or 1
    return Study(
        source=design.metadata.source,
        command=design.metadata.command,
        target=design.target,
        task=selection.task,
        seed=design.parts.seed,
        test_fraction=design.parts.test,
        n_train=len(folds.training),
        n_test=len(folds.test),
        columns=design.columns,
        leaderboard=chosen.entries,
        winner=choice.winner,
        reason=choice.reason,
        choice=choice,
        reference=reference,
        model=winner.model,
        description=description,
        messages=(*design.messages, *selection.messages, *winner.messages, *about),
        warnings=(*design.warnings, *winner.warnings, *exact, *record.pop("warnings", ())),
        test_predictions=test,
        learning_curve=curve,
        training=training_rows(winner.core, winner.model, folds, encoding, classes),
        **validated,
        **record,
    )


@dataclass(frozen=True)
class ComparedRows:
    """The comparison, and the out-of-fold predictions of each candidate."""

    selection: ModelSelection
    design: StudyDesign
    comparison: RowComparison
    predictions: dict[str, OutOfFold]
    data: TuningData
    moments: MomentFolds | None = None

    def reference(self, chosen: ComparisonOutcome) -> Entry | None:
        """Gradient-boosted trees against the winner; None where they would take too long."""
        reference_found = reference_predictions(self.data)
        if reference_found is None:
            return None
        classes = self.selection.classes
        kind = "probabilities" if len(classes) else "values"
        answers = _from_values(
            self.design.folds,
            classes,
            self.data,
            reference_found.rows,
            reference_found.predictions,
            kind,
        )
        losses, choice = self.selection.losses(answers), chosen.choice
        name = choice.best if choice.winner == BASELINE else choice.winner
        own = self.comparison.losses[name] if chosen.averaged is None else chosen.averaged.losses
        return self.comparison.reference(losses, name, own, reference_found.n_folds)

    def average(self, best: str) -> AveragedCandidates | None:
        """The average of all candidates with probabilities, or numbers; None of fewer than two.

        Weights are learned on one set of folds: there is none of repeated ones.
        """
        comparison = self.comparison
        if self.selection.options.validation.repeats > 1:
            return None
        complete = {name: self.predictions[name] for name in comparison.complete}
        complete = {name: f for name, f in complete.items() if f.values is not None}
        if len(complete) < 2 or best not in complete:
            return None
        rows = reduce(np.intersect1d, [f.rows for f in complete.values()], comparison.rows)
        known = {name: f.at(rows) for name, f in complete.items()}
        first = known[best]
        values = {name: f.values for name, f in known.items() if f.values is not None}
        return average_candidates(
            values,
            first.fold,
            self.selection.weigh(first),
            lambda mixed: self.selection.losses(first.with_values(mixed)),
        )


# -------------------------------------------------------------------------------------------------
# Out-of-fold predictions: each training row by a model not fitted to it.


#: Numbers stored of one candidate until the choice is made.
MAX_NUMBERS = 2_000_000


@dataclass(frozen=True)
class Judged:
    """Targets under their predictive distributions: residuals (y − m)/s and F(y)."""

    residuals: Floats
    pit: Floats

    @classmethod
    def of(cls, y: Floats, predictive: PredictiveDistribution) -> Judged:
        """Targets of the same rows."""
        return cls(predictive.residuals(y), predictive.pit(y))

    def take(self, indices: Ints) -> Judged:
        """Some of the rows."""
        return Judged(self.residuals[indices], self.pit[indices])


@dataclass(frozen=True)
class OutOfFold:
    """One entry per row of the table, in order.

    Of ``classes`` truth and predicted are positions; ``probabilities`` is None where the model has
    none, and ``scores`` where a training set lacked a class: scores of different sets of classes
    cannot be calibrated together. ``odds`` says that they are log odds of the model's own
    probabilities. Of regression truth and predicted are numbers, and ``judged`` the targets under
    predictive distributions where the model has them.
    ``hyperparameters`` are the tuned ones by fold, and ``tuning`` the search that found them.
    ``method`` is the calibration of the probabilities, ``check`` whether it helps; ``why`` says why
    there are no probabilities at all.
    """

    classes: NDArray[Any]
    rows: NDArray[np.intp]
    fold: Ints
    truth: NDArray[Any]
    predicted: NDArray[Any]
    w: Floats
    scores: Floats | None = None
    probabilities: Floats | None = None
    judged: Judged | None = None
    hyperparameters: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    odds: bool = False
    tuning: Tuning | None = None
    method: str | None = None
    check: CalibrationCheck | None = None
    why: str = ""

    @property
    def folds(self) -> list[int]:
        """The folds there are."""
        return [int(f) for f in np.unique(self.fold)]

    @property
    def values(self) -> Floats | None:
        """What is averaged: probabilities, or numbers."""
        return self.probabilities if len(self.classes) else self.predicted

    def take(self, at: NDArray[Any]) -> OutOfFold:
        """Some of the rows."""
        return replace(
            self,
            rows=self.rows[at],
            fold=self.fold[at],
            truth=self.truth[at],
            predicted=self.predicted[at],
            w=self.w[at],
            scores=None if self.scores is None else self.scores[at],
            probabilities=None if self.probabilities is None else self.probabilities[at],
            judged=None if self.judged is None else self.judged.take(at),
        )

    def at(self, rows: NDArray[Any]) -> OutOfFold:
        """Those rows of the table."""
        return self.take(np.flatnonzero(np.isin(self.rows, rows)))

    def thin(self) -> OutOfFold:
        """An even selection, small enough to be stored while others are compared."""
        most = max(1, MAX_NUMBERS // max(1, len(self.classes)))
        return self.take(thin(np.arange(len(self.truth)), most))

    def with_values(self, values: Floats) -> OutOfFold:
        """The same with other numbers, or other probabilities and the most probable class."""
        if not len(self.classes):
            return replace(self, predicted=values)
        return replace(self, probabilities=values, predicted=values.argmax(axis=1))


def predict_out_of_fold(
    candidate: Candidate,
    folds: RowFolds,
    classes: NDArray[Any],
    data: TuningData,
    moments: MomentFolds | None = None,
) -> OutOfFold:
    """Every fold, predicted by the candidate fitted to the others.

    A candidate that tunes does so on these folds: its fits give the predictions as well. One that
    needs no more is fitted to ``moments``.
    """
    if candidate.name == BASELINE and len(classes):
        return _constant(candidate, folds, classes, data)
    if folds.leave_one_out:
        return _left_out(candidate, folds, classes, data)
    if candidate.tunable:
        with mute_warnings():
            tuning = candidate.make(folds.k).tune(data.with_share(candidate.share))
        out_of_fold = _from_values(
            folds, classes, data, tuning.rows, tuning.predictions, tuning.kind
        )
        if tuning.deviations is not None:
            order = np.argsort(tuning.rows)
            predictive = PredictiveDistribution(
                np.asarray(out_of_fold.predicted), tuning.deviations[order]
            )
            out_of_fold = replace(out_of_fold, judged=Judged.of(out_of_fold.truth, predictive))
        return replace(out_of_fold, hyperparameters=tuning.parameters_by_fold, tuning=tuning)
    source, fitted = folds.source(candidate), folds
    if moments is not None and candidate.from_moments:
        source, fitted = folds.table, moments  # type: ignore[assignment]
    parts, tuned = cross_validate(
        candidate,
        fitted,
        lambda model, fold: _predict(model, source, folds.split(fold)[1], fold, classes),
    )
    return _join_folds(parts, hyperparameters=tuned)


def _join_folds(parts: Sequence[OutOfFold], **found_besides: Any) -> OutOfFold:
    """The predictions of several models, in order of the rows."""
    judged = [part.judged for part in parts if part.judged is not None]
    found = replace(
        parts[0],
        rows=np.concatenate([part.rows for part in parts]),
        fold=np.concatenate([part.fold for part in parts]),
        truth=np.concatenate([part.truth for part in parts]),
        predicted=np.concatenate([part.predicted for part in parts]),
        w=np.concatenate([part.w for part in parts]),
        scores=_together(part.scores for part in parts),
        probabilities=_together(part.probabilities for part in parts),
        judged=Judged(
            np.concatenate([part.residuals for part in judged]),
            np.concatenate([part.pit for part in judged]),
        )
        if len(judged) == len(parts)
        else None,
        **found_besides,
    )
    return found.take(np.argsort(found.rows))


def _constant(
    candidate: Candidate, folds: RowFolds, classes: NDArray[Any], data: TuningData
) -> OutOfFold:
    """The baseline, fitted to all training rows: the best that equal answers to all rows can do.

    The proportions of the other rows run against the class of a row that is left out: where the
    classes are equally frequent its own is the rarer one without it, every time. A baseline that is
    wrong about all rows would be beaten by any model, on pure noise too; and so would the
    proportions of the few rows that are the earliest in time.
    """
    with mute_warnings():
        model = folds.fitted(candidate, folds.training)
    scored = np.flatnonzero(data.fold >= 0)
    at = folds.training[scored]
    constant = _predict(model, folds.source(candidate), at, 0, classes)
    return replace(constant, fold=data.fold[scored])


def _left_out(
    candidate: Candidate, folds: RowFolds, classes: NDArray[Any], data: TuningData
) -> OutOfFold:
    """Every row predicted by a model of all others; folds are those that tuned it."""
    models = validation.fold_models(candidate, folds, data)
    found_besides: dict[str, Any] = {
        "hyperparameters": models.hyperparameters, "tuning": models.tuning
    }  # fmt: skip
    values = validation.closed_form(models, folds, data)
    if values is not None:
        kind = "probabilities" if len(classes) else "values"
        out_of_fold = _from_values(folds, classes, data, np.arange(data.n), values, kind)
        return replace(out_of_fold, **found_besides)
    source = folds.source(candidate)
    parts = validation.leave_out(
        models, folds, data, lambda model, at, fold: _predict(model, source, at, fold, classes)
    )
    return _join_folds(parts, **found_besides)


def _from_values(
    folds: RowFolds,
    classes: NDArray[Any],
    data: TuningData,
    indices: Ints,
    values: Floats,
    kind: str,
) -> OutOfFold:
    """From scores, probabilities or numbers, as ``kind`` says, of rows ``at`` among training's."""
    order = np.argsort(indices)
    indices, values = indices[order], values[order]
    p = values if kind == "probabilities" else None
    scores = None if not len(classes) else values if p is None else log_odds(p)
    if p is not None or (scores is not None and scores.ndim > 1):
        predicted = values.argmax(axis=1)
    else:
        predicted = np.ravel(values) if scores is None else (scores > 0).astype(int)
    return OutOfFold(
        classes,
        folds.training[indices],
        data.fold[indices],
        np.asarray(data.y)[indices],
        predicted,
        data.w[indices],
        scores,
        p,
        odds=p is not None,
    )


def _predict(
    model: Any, source: InMemory, indices: Ints, fold: int, classes: NDArray[Any]
) -> OutOfFold:
    """Predictions of some rows of a fold."""
    rows = source.take(indices)
    truth, label = truth_of(rows), np.full(len(indices), fold)
    w = unit_weights(rows.block.w, len(truth))
    if not len(classes):
        predictive = predictive_for(model, rows)
        if predictive is None:
            return OutOfFold(classes, indices, label, truth, model.predict(rows), w)
        judged = Judged.of(truth, predictive)
        return OutOfFold(classes, indices, label, truth, predictive.mean, w, judged=judged)
    p = aligned_probabilities(model, rows, classes)
    complete = len(model.classes_) == len(classes)
    return OutOfFold(
        classes,
        indices,
        label,
        codes_of(truth, classes),
        p.argmax(axis=1) if p is not None else codes_of(model.predict(rows), classes),
        w,
        decision_scores(model, rows) if complete else None,
        p,
        odds=p is not None,
    )


def predictive_for(model: Any, rows: InMemory) -> PredictiveDistribution | None:
    """The predictive distribution of each row; None where the estimator has none."""
    return model.predictive(rows) if hasattr(model, "predictive") else None


def aligned_probabilities(model: Any, rows: InMemory, classes: NDArray[Any]) -> Floats | None:
    """A column for each of ``classes``: zero for one that the model was not fitted to."""
    p = probabilities_for(model, rows)
    return None if p is None else with_every_class(p, model.classes_, classes)


def _together(parts: Iterable[Floats | None]) -> Floats | None:
    """One after the other, if all are there."""
    known = list(parts)
    if any(part is None for part in known):
        return None
    return np.concatenate([part for part in known if part is not None])


# -------------------------------------------------------------------------------------------------
# The chosen model, fitted to all training rows.


@dataclass(frozen=True)
class Winner:
    """The fitted estimator ``core``, and the same with calibration and costs, the ``model``.

    ``candidate`` is None for an average, whose core is the whole of it.
    """

    core: Any
    model: Any
    out_of_fold: OutOfFold
    costs: DecisionCosts | None = None
    candidate: Candidate | None = None
    warnings: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The candidate that was chosen."""
        return AVERAGE if self.candidate is None else self.candidate.name

    @property
    def check(self) -> CalibrationCheck | None:
        """Whether a calibration helps; None where none could be tried."""
        return self.out_of_fold.check

    @property
    def encoding(self) -> Encoding | None:
        """How the columns are encoded; None for a model that reads the table itself."""
        raw = self.candidate is not None and self.candidate.raw
        return None if raw else getattr(self.core, "encoding_", None)

    def curve(self, folds: RowFolds, metric: str, seed: int) -> LearningCurve | None:
        """The learning curve of a candidate; none of an average."""
        if self.candidate is None:
            return None
        return learning_curve(self.candidate, folds, metric, seed, self.out_of_fold.tuning)
