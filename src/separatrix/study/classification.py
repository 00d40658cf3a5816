"""A study of classes: compared, calibrated, decided, and judged on the test set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit
from sklearn.base import clone

from separatrix.arrays import Floats, Ints
from separatrix.estimators.averages import AveragedClassifier
from separatrix.estimators.base import codes_of, with_every_class
from separatrix.estimators.wrapped import decision_scores, log_odds
from separatrix.messages import InputError
from separatrix.probability.calibrated import (
    JOINT,
    CalibratedClassifier,
    calibrated_probabilities,
    calibrations,
)
from separatrix.probability.calibrations import TemperatureCalibration
from separatrix.probability.costs import Costs
from separatrix.probability.reliability import expected_calibration_error
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Encoding, unit_weights
from separatrix.selection.averaging import Average, log_loss_average
from separatrix.selection.folds import stratified_labels
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.study import inferred
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.checks import missed_classes
from separatrix.study.class_scores import (
    REJECT,
    DecisionCosts,
    about_costs,
    decision_costs,
    evaluate,
    log_losses,
    row_losses,
    scores_by_class,
    scores_on_test,
)
from separatrix.study.class_views import covariance_tests, margins_of, surface_of
from separatrix.study.comparison import (
    AveragedCandidates,
    CandidateLosses,
    Comparison,
    ComparisonOutcome,
    Scored,
    average_candidates,
    choose_winner,
    cross_validate,
    learning_curve,
    muted,
    reference_predictions,
    scored_or_refused,
    tuning_data,
)
from separatrix.study.describe import describe
from separatrix.study.design import (
    SHOWN_ROWS,
    RowFolds,
    StudyDesign,
    probabilities_for,
    scores_for,
    thinned,
    training_rows,
    truth_of,
    with_warnings,
)
from separatrix.study.options import StudyOptions, difference
from separatrix.study.progress import Step, stages, tell_inferred, work_of
from separatrix.study.result import (
    CalibrationCheck,
    CrossValidatedScore,
    Entry,
    LearningCurve,
    Predictions,
    Score,
    Study,
)
from separatrix.study.tasks import CLASSIFICATION
from separatrix.study.validation import (
    Procedure,
    Selected,
    choose_validated,
    closed_form,
    fold_models,
    leave_out,
)

# -------------------------------------------------------------------------------------------------
# A study of classes: compared by log loss or error rate, calibrated, decided by expected cost.
#
# out-of-fold probabilities ─ choice ─ calibration ─ costs ─ a class or a rejection


def study_classes(design: StudyDesign, options: StudyOptions) -> Study:
    """Compare on the folds, choose, calibrate, and score on the test set once."""
    folds = design.folds
    labels = np.array(sorted(str(t.level) for t in design.table.block.targets), dtype=object)
    classes, messages = _known_classes(design, labels)
    costs = decision_costs(options.costs, options.reject, labels)
    names = tuple(str(c) for c in classes)
    messages += [*inferred.about_classes(names), *about_costs(costs, classes)]
    tell_inferred(design.progress, [*design.announced, *messages], design.candidates)
    work = work_of(design.candidates, len(folds.training), reference=options.reference)
    work = options.validation.stages(work, len(design.candidates), folds.k)
    procedure = selection_of_classes(classes, options, costs)
    with stages(design.progress, work) as step:
        compared = compare_classes(design, classes, options, costs, step)
        compared, chosen, judged = choose_validated(compared, design, options, procedure, step)
        choice, name = chosen.choice, chosen.choice.winner
        step(f"fitting {name} to all training rows")
        winner = fit_winner(design, compared, chosen, costs)
        step("reference")
        reference = compared.reference(choice.best) if options.reference else None
        step("scoring on the test set")
        test = winner.predict(folds.table.take(folds.test), classes)
        decision = None if winner.costs is None else evaluate(winner.costs, classes, test)
        step("learning curve")
        curve = winner.curve(folds, design.parts.seed)
    encoding, description = winner.encoding, describe(winner.model)
    messages += winner.messages
    messages += inferred.about_model(encoding, description.stored_rows)
    return Study(
        source=design.metadata.source,
        command=design.metadata.command,
        target=design.target,
        task=CLASSIFICATION,
        seed=design.parts.seed,
        test_fraction=design.parts.test,
        n_train=len(folds.training),
        n_test=len(folds.test),
        columns=design.columns,
        leaderboard=chosen.entries,
        winner=name,
        reason=choice.reason,
        choice=choice,
        reference=reference,
        test=scores_on_test(test, classes, decision),
        baseline_test=_baseline(design, classes, winner.costs),
        model=winner.model,
        description=description,
        messages=(*design.messages, *messages),
        warnings=(*design.warnings, *winner.warnings, *missed_classes(test, names)),
        classes=names,
        test_predictions=test,
        learning_curve=curve,
        training=training_rows(winner.core, winner.model, folds, encoding, len(classes)),
        out_of_fold=() if name == BASELINE else by_fold(winner.out_of_fold, folds),
        calibration=winner.check,
        decision=decision,
        covariance_tests=covariance_tests(folds, classes),
        decision_surface=surface_of(winner.model, folds, test),
        margins=margins_of(winner.core, folds),
        class_scores=scores_by_class(test, classes),
        **judged,
    )


def _known_classes(design: StudyDesign, labels: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """The classes of the training rows, in order; a message on any that is in the test set alone.

    A class whose rows have no weight is as good as absent.
    """
    rows = design.table.take(design.folds.training)
    truth = truth_of(rows)
    present = set(truth if rows.block.w is None else truth[rows.block.w > 0])
    classes = np.array([label for label in labels if label in present], dtype=object)
    others = [str(label) for label in labels if label not in present]
    if len(classes) < 2:
        raise InputError(
            f"all {len(rows)} training rows are of class {classes[0]!r}; there are too few of any "
            "other.",
            column=design.target,
            remedy="Give more rows of the other classes, or split otherwise (`seed`, `test`).",
        )
    if not others:
        return classes, []
    shown = ", ".join(repr(o) for o in others[:4]) + (" …" if len(others) > 4 else "")
    which = f"Class {shown} is" if len(others) == 1 else f"Classes {shown} are"
    return classes, [
        f"{which} in the test set alone: no model can predict it, and its rows count as errors "
        "(give more rows of it)."
    ]


def _baseline(
    design: StudyDesign, classes: NDArray[Any], costs: DecisionCosts | None
) -> tuple[Score, ...]:
    """The scores of the baseline on the test set, under the same costs."""
    folds = design.folds
    model = with_warnings(lambda: folds.fit(design.baseline))[0]
    test = predictions(model, model, folds.table.take(folds.test), classes)
    return scores_on_test(test, classes, None if costs is None else evaluate(costs, classes, test))


# -------------------------------------------------------------------------------------------------
# Comparison of classifiers: out-of-fold probabilities, calibrated, and their losses row by row.


#: Shown beside the metric that decides; of all others it is the error rate.
SECONDARY = {"error": "log_loss"}


@dataclass(frozen=True)
class ComparedClasses:
    """The comparison, and the out-of-fold predictions of each candidate."""

    comparison: Comparison
    predictions: dict[str, CalibratedPredictions]
    data: TuningData
    rows: Ints
    costs: Costs | None

    def reference(self, winner: str) -> Entry | None:
        """Gradient-boosted trees against the winner; None where they would take too long."""
        found = reference_predictions(self.data)
        if found is None:
            return None
        order = np.argsort(found.rows)
        at, p = found.rows[order], found.predictions[order]
        own = self.comparison
        metrics = (own.metric, own.secondary or own.metric)
        answers = OutOfFold(
            self.predictions[winner].out_of_fold.classes,
            self.rows[at],
            self.data.fold[at],
            np.asarray(self.data.y)[at],
            p.argmax(axis=1),
            self.data.w[at],
            None,
            p,
        )
        return own.reference(_losses(answers, metrics, self.costs), winner, found.n_folds)

    def average(self, best: str) -> AveragedCandidates | None:
        """The average of all candidates with probabilities; None if there are fewer than two."""
        own = self.comparison
        found = {name: self.predictions[name].out_of_fold for name in own.complete}
        found = {name: f for name, f in found.items() if f.probabilities is not None}
        if len(found) < 2 or best not in found:
            return None
        rows = reduce(np.intersect1d, [f.rows for f in found.values()], own.rows)
        known = {name: f.at(rows) for name, f in found.items()}
        first = known[best]
        metrics = (own.metric, own.secondary or own.metric)

        def weigh(stacked: Floats, rows: Ints) -> Average:
            true_class = stacked[:, rows, first.truth[rows]].T
            return log_loss_average(true_class, first.w[rows])

        def losses_of(p: Floats) -> CandidateLosses:
            return _losses(first.with_probabilities(p), metrics, self.costs)

        probabilities = {
            n: f.probabilities for n, f in known.items() if f.probabilities is not None
        }
        losses = _losses(first, metrics, self.costs).by_metric[own.metric]
        return average_candidates(probabilities, first.fold, weigh, losses_of, losses)


def compare_classes(
    design: StudyDesign,
    classes: NDArray[Any],
    options: StudyOptions,
    costs: DecisionCosts | None,
    step: Step,
) -> ComparedClasses:
    """Cross-validate every candidate, simplest first; one that refuses the data says why."""
    metric = options.metric_for(CLASSIFICATION)
    secondary = SECONDARY.get(metric, "error")
    data = tuning_data(design.folds, classes, metric, options.effort.work)
    scored: list[Scored] = []
    predictions: dict[str, CalibratedPredictions] = {}
    own_costs = None if costs is None else costs.among(classes)

    def score(candidate: Candidate) -> Scored:
        found = predict_out_of_fold(candidate, design.folds, classes, data)
        calibrated = calibrate(candidate, found)
        predictions[candidate.name] = calibrated.thinned()
        losses = _losses(calibrated.out_of_fold, (metric, secondary), own_costs)
        note = calibrated.why or ("" if found.tuning is None else found.tuning.note)
        return Scored(candidate, losses, found.hyperparameters, note, calibrated.method)

    for candidate in design.candidates:
        step(f"comparing {candidate.name}")
        scored.append(scored_or_refused(candidate, score))
    comparison = Comparison(scored, metric, secondary, design.folds.units)
    return ComparedClasses(comparison, predictions, data, design.folds.training, own_costs)


def _losses(found: OutOfFold, metrics: tuple[str, ...], costs: Costs | None) -> CandidateLosses:
    """Losses of the decisions that suit each metric: of least cost, or most probable."""
    p, values = found.probabilities, {}
    for metric in metrics:
        answers = found.predicted
        decide = costs if metric == "cost" else metric_costs(metric, found)
        if decide is not None and p is not None:
            answers = decide.decide(p)
        values[metric] = row_losses(metric, found.truth, p, answers, found.w, costs)
    return CandidateLosses(found.rows, found.fold, found.w, values)


# -------------------------------------------------------------------------------------------------
# Out-of-fold predictions of a classifier: each training row by a model not fitted to it.


#: Numbers stored of one candidate until the choice is made.
MAX_NUMBERS = 2_000_000


@dataclass(frozen=True)
class OutOfFold:
    """One entry per row, in order of the rows; truth and predicted are positions in ``classes``.

    ``scores`` is None where a training set lacked a class: scores of different sets of classes
    cannot be calibrated together; ``odds`` says that they are log odds of the model's own
    probabilities. ``probabilities`` is None where the model has none.
    ``hyperparameters`` are the tuned ones by fold, and ``tuning`` the search that found them.
    """

    classes: NDArray[Any]
    rows: NDArray[np.intp]
    fold: Ints
    truth: Ints
    predicted: Ints
    w: Floats
    scores: Floats | None
    probabilities: Floats | None
    hyperparameters: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    odds: bool = False
    tuning: Tuning | None = None

    @property
    def folds(self) -> list[int]:
        """The folds there are."""
        return [int(f) for f in np.unique(self.fold)]

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
        )

    def at(self, rows: NDArray[Any]) -> OutOfFold:
        """Those rows of the table."""
        return self.take(np.flatnonzero(np.isin(self.rows, rows)))

    def thinned(self) -> OutOfFold:
        """An even selection, small enough to be stored while others are compared."""
        most = max(1, MAX_NUMBERS // len(self.classes))
        return self.take(thinned(np.arange(len(self.truth)), most))

    def with_probabilities(self, p: Floats) -> OutOfFold:
        """The same with other probabilities, and the most probable class."""
        return replace(self, probabilities=p, predicted=p.argmax(axis=1))


def predict_out_of_fold(
    candidate: Candidate, folds: RowFolds, classes: NDArray[Any], data: TuningData
) -> OutOfFold:
    """Every fold, predicted by the candidate fitted to the others.

    A candidate that tunes does so on these folds: its fits give the predictions as well.
    """
    if candidate.name == BASELINE:
        return _constant(candidate, folds, classes, data)
    if folds.leave_one_out:
        return _left_out(candidate, folds, classes, data)
    if candidate.tunable:
        with muted():
            return _from_tuning(
                candidate.make(folds.k).tune(data.with_share(candidate.share)), folds, classes, data
            )
    source = folds.source(candidate)
    parts, tuned = cross_validate(
        candidate,
        folds,
        lambda model, fold: _predict(model, source, folds.split(fold)[1], fold, classes),
    )
    return _joined(parts, hyperparameters=tuned)


def _joined(parts: Sequence[OutOfFold], **found_besides: Any) -> OutOfFold:
    """The predictions of several models, in order of the rows."""
    found = replace(
        parts[0],
        rows=np.concatenate([part.rows for part in parts]),
        fold=np.concatenate([part.fold for part in parts]),
        truth=np.concatenate([part.truth for part in parts]),
        predicted=np.concatenate([part.predicted for part in parts]),
        w=np.concatenate([part.w for part in parts]),
        scores=_together(part.scores for part in parts),
        probabilities=_together(part.probabilities for part in parts),
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
    with muted():
        model = folds.fitted(candidate, folds.training)
    scored = np.flatnonzero(data.fold >= 0)
    at = folds.training[scored]
    found = _predict(model, folds.source(candidate), at, 0, classes)
    return replace(found, fold=data.fold[scored])


def _left_out(
    candidate: Candidate, folds: RowFolds, classes: NDArray[Any], data: TuningData
) -> OutOfFold:
    """Every row predicted by a model of all others; folds are those that tuned it."""
    models = fold_models(candidate, folds, data)
    p = closed_form(models, folds, data)
    if p is not None:
        return OutOfFold(
            classes,
            folds.training,
            data.fold,
            np.asarray(data.y),
            p.argmax(axis=1),
            data.w,
            log_odds(p),
            p,
            models.hyperparameters,
            True,
            models.tuning,
        )
    source = folds.source(candidate)
    parts = leave_out(
        models,
        folds,
        data,
        lambda model, at, fold: _predict(model, source, at, fold, classes),
    )
    return _joined(parts, hyperparameters=models.hyperparameters, tuning=models.tuning)


def _from_tuning(
    tuning: Tuning, folds: RowFolds, classes: NDArray[Any], data: TuningData
) -> OutOfFold:
    """The predictions that a search made on its way."""
    order = np.argsort(tuning.rows)
    at, predictions = tuning.rows[order], tuning.predictions[order]
    if tuning.kind == "probabilities":
        p, scores = predictions, log_odds(predictions)
        predicted = p.argmax(axis=1)
    else:
        p, scores = None, predictions
        predicted = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return OutOfFold(
        classes,
        folds.training[at],
        data.fold[at],
        np.asarray(data.y)[at],
        predicted,
        data.w[at],
        scores,
        p,
        tuning.parameters_by_fold,
        p is not None,
        tuning,
    )


def _predict(model: Any, source: InMemory, at: Ints, fold: int, classes: NDArray[Any]) -> OutOfFold:
    """Predictions of some rows of a fold."""
    rows = source.take(at)
    truth = codes_of(truth_of(rows), classes)
    p = aligned_probabilities(model, rows, classes)
    complete = len(model.classes_) == len(classes)
    return OutOfFold(
        classes,
        at,
        np.full(len(at), fold),
        truth,
        p.argmax(axis=1) if p is not None else codes_of(model.predict(rows), classes),
        unit_weights(rows.block.w, len(truth)),
        decision_scores(model, rows) if complete else None,
        p,
        odds=p is not None,
    )


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


def by_fold(found: OutOfFold, folds: RowFolds) -> tuple[Predictions, ...]:
    """The folds of two classes, which are drawn as curves; of a large table an even selection."""
    if len(found.classes) != 2:
        return ()
    shown = []
    for fold in found.folds:
        at = thinned(np.flatnonzero(found.fold == fold), SHOWN_ROWS // len(found.folds))
        part = found.take(at)
        rows = folds.table.take(part.rows)
        answers = (truth_of(rows), found.classes[part.predicted], part.scores, rows.block.w)
        shown.append(Predictions(rows.row_ids, *answers, part.probabilities))
    return tuple(shown)


# -------------------------------------------------------------------------------------------------
# Calibration of the candidates, so that all are compared by probabilities.
#
# Calibrations are fitted to out-of-fold scores and evaluated on folds that they were not fitted to.
# The scores are those of the comparison: no candidate is fitted again.


#: Calibrations of two classes and of more; the first is that of models without probabilities.
OF_TWO, OF_MANY = ("platt", "isotonic"), (JOINT, "platt", "isotonic")
#: One calibration a class: for more classes than this none is tried.
MAX_CLASSES = 100
#: Rows that a calibration is fitted to, at most: so many, or so many for each class.
MAX_ROWS, ROWS_PER_CLASS = 5_000, 200
#: Parts of a single fold that calibrate one another.
PARTS = 3
#: An isotonic curve for each of more classes than this takes long and overfits.
MAX_ISOTONIC = 10
#: With fewer rows an isotonic curve is sure of what a few of them say.
MIN_ISOTONIC_ROWS = 1_000


@dataclass(frozen=True)
class CalibratedPredictions:
    """Out-of-fold predictions, calibrated by ``method`` if it is not None.

    ``check`` is None where no calibration could be tried; ``why`` says why there are no
    probabilities at all.
    """

    out_of_fold: OutOfFold
    method: str | None = None
    check: CalibrationCheck | None = None
    why: str = ""

    def thinned(self) -> CalibratedPredictions:
        """The same with fewer rows, to be stored while others are compared."""
        return replace(self, out_of_fold=self.out_of_fold.thinned())


def calibrate(candidate: Candidate, found: OutOfFold) -> CalibratedPredictions:
    """Every fold calibrated by maps fitted to the others; by Platt's where the model has none.

    A calibration is applied if it lowers the cross-validated log loss by more than one standard
    error of the differences between rows: a model that ranks rows well and is overconfident is
    compared by what it can do.
    """
    default, known = None, methods_for(len(found.classes), len(found.truth))
    if found.probabilities is None:
        try:
            found = found.with_probabilities(_cross_calibrated(found, known[0]))
            default = known[0]
        except InputError as refusal:
            return CalibratedPredictions(found, why=f"no probabilities: {refusal.what}")
    if candidate.name == BASELINE:
        return CalibratedPredictions(found)
    methods = {}
    for method in known:
        with suppress(InputError):
            if method != default:
                methods[method] = _cross_calibrated(found, method)
    if not methods:
        return CalibratedPredictions(found, default)
    check, p = _checked(found, default, methods)
    return CalibratedPredictions(
        found if p is None else found.with_probabilities(p), check.method, check
    )


def methods_for(k: int, n: int) -> tuple[str, ...]:
    """Methods for k classes and n rows; the isotonic curve comes last."""
    known = OF_TWO if k == 2 else OF_MANY
    return known if k <= MAX_ISOTONIC and n >= MIN_ISOTONIC_ROWS else known[:-1]


def _checked(
    found: OutOfFold, default: str | None, methods: dict[str, Floats]
) -> tuple[CalibrationCheck, Floats | None]:
    """Whether the best of the calibrations helps, and its probabilities if it does."""
    assert found.probabilities is not None
    before = _log_losses(found, found.probabilities)
    losses = {method: _log_losses(found, p) for method, p in methods.items()}
    scores = {method: loss.score("log_loss") for method, loss in losses.items()}
    best = min(scores, key=lambda method: scores[method].mean)
    gain = difference(before.by_metric["log_loss"], losses[best].by_metric["log_loss"], found.w)
    helps = gain.mean > gain.standard_error and gain.mean > 0
    own, after = before.score("log_loss"), scores[best]
    ece = _calibration_error(found, found.probabilities)
    check = CalibrationCheck(
        best if helps else default,
        own,
        after if helps else own,
        ece,
        _calibration_error(found, methods[best]) if helps else ece,
        gain.mean,
        gain.standard_error,
        scores,
        calibration_summary(best, own, after, gain.mean, gain.standard_error, default, helps),
    )
    return check, methods[best] if helps else None


def _log_losses(found: OutOfFold, p: Floats) -> CandidateLosses:
    losses = {"log_loss": log_losses(p, found.truth)}
    return CandidateLosses(found.rows, found.fold, found.w, losses)


def with_calibration(candidate: Candidate, model: Any, calibrated: CalibratedPredictions) -> Any:
    """The fitted model with its calibration, fitted to all out-of-fold scores."""
    found = calibrated.out_of_fold
    if calibrated.method is None:
        return model
    assert found.scores is not None
    folds = len(found.folds)
    wrapped = CalibratedClassifier(candidate.make(folds), method=calibrated.method, cv=folds)
    return wrapped.from_fitted(model, found.scores, found.truth, found.w)


@dataclass(frozen=True)
class CalibrationMap:
    """Scores to probabilities: one map for two classes or a temperature, else one for each class.

    ``odds`` says that scores are log odds of the model's own probabilities.
    """

    method: str
    maps: list[Any]
    odds: bool

    def probabilities(self, scores: Floats) -> Floats:
        """A column for each class."""
        if self.method == JOINT:
            return np.asarray(self.maps[0].predict(_joint_scores(scores, self.odds)))
        return calibrated_probabilities(self.maps, scores)


def fitted_map(found: OutOfFold, method: str, rows: Ints) -> CalibrationMap:
    """A calibration of some of the out-of-fold scores; of many rows an even selection."""
    k = len(found.classes)
    _refuse_many(found)
    assert found.scores is not None
    some = thinned(rows, max(MAX_ROWS, ROWS_PER_CLASS * k))
    scores, truth, w = found.scores[some], found.truth[some], found.w[some]
    _refuse_absent(truth[w > 0], found.classes)
    if method == JOINT:
        joint = TemperatureCalibration().fit(_joint_scores(scores, found.odds), truth, w)
        return CalibrationMap(method, [joint], found.odds)
    return CalibrationMap(method, list(calibrations(method, scores, truth, k, w)), found.odds)


def _refuse_many(found: OutOfFold) -> None:
    if len(found.classes) > MAX_CLASSES:
        raise InputError(f"{len(found.classes)} classes are too many to calibrate one by one.")
    if found.scores is None:
        raise InputError("some class is so rare that a fold lacks it.")


def _cross_calibrated(found: OutOfFold, method: str) -> Floats:
    """Probabilities of every fold, by calibrations fitted to the scores of the other folds."""
    _refuse_many(found)
    assert found.scores is not None
    p = np.empty((len(found.truth), len(found.classes)))
    fold = _calibration_folds(found)
    for number in np.unique(fold):
        others, own = np.flatnonzero(fold != number), fold == number
        p[own] = fitted_map(found, method, others).probabilities(found.scores[own])
    return p


def _calibration_folds(found: OutOfFold) -> Ints:
    """The folds of the comparison; parts of the only one where a single fold was predicted."""
    if len(found.folds) > 1:
        return found.fold
    return stratified_labels(found.truth, PARTS)


def _joint_scores(scores: Floats, odds: bool) -> Floats:
    """Scores whose softmax are probabilities; those of probabilities are log odds."""
    return np.asarray(log_expit(scores)) if odds else scores


def _refuse_absent(codes: Ints, classes: Any) -> None:
    absent = np.setdiff1d(np.arange(len(classes)), codes)
    if absent.size:
        raise InputError(f"class {classes[absent[0]]!r} is in one fold alone.")


def _calibration_error(found: OutOfFold, p: Floats) -> float:
    """Expected calibration error of the probability of the predicted class."""
    correct, confidence = p.argmax(axis=1) == found.truth, np.clip(p.max(axis=1), 0.0, 1.0)
    return expected_calibration_error(correct, confidence, sample_weight=found.w)


def calibration_summary(
    best: str,
    before: CrossValidatedScore,
    after: CrossValidatedScore,
    gain: float,
    error: float,
    default: str | None,
    helps: bool,
) -> str:
    """Which calibration is used, and why, in a sentence."""
    if helps:
        return (
            f"Calibrated ({best}): this lowers the cross-validated log loss from "
            f"{before.mean:.4g} to {after.mean:.4g}, by more than one standard error "
            f"({gain:.2g} ± {error:.2g})."
        )
    use = f"Calibrated ({default})" if default else "Not calibrated"
    if gain <= 0:
        return (
            f"{use}: no other calibration lowers the cross-validated log loss of {before.mean:.4g} "
            f"(best: {best}, {after.mean:.4g})."
        )
    return (
        f"{use}: {best} calibration would lower the cross-validated log loss from "
        f"{before.mean:.4g} to {after.mean:.4g}, by no more than chance ({gain:.2g} ± {error:.2g})."
    )


# -------------------------------------------------------------------------------------------------
# The selection of a classifier as a whole, to be repeated on other rows and judged there.


def selection_of_classes(
    classes: NDArray[Any], options: StudyOptions, costs: DecisionCosts | None
) -> Procedure:
    """Compare, choose, calibrate and fit; answers are those of the whole model."""
    metric = options.metric_for(CLASSIFICATION)

    def compare(design: StudyDesign, step: Step) -> ComparedClasses:
        return compare_classes(design, classes, options, costs, step)

    def select(design: StudyDesign, step: Step) -> Selected:
        rows = design.table.take(design.folds.training)
        truth = truth_of(rows)
        present = set(truth if rows.block.w is None else truth[rows.block.w > 0])
        own = np.array([label for label in classes if label in present], dtype=object)
        if len(own) < 2:
            raise InputError("all training rows of an outer fold are of one class.")
        compared = compare_classes(design, own, options, costs, step)
        chosen = choose_winner(compared, options)
        winner = fit_winner(design, compared, chosen, costs)
        return Selected(chosen, lambda other: winner.predict(other, classes))

    def losses(found: Predictions) -> Floats:
        truth = codes_of(found.truth, classes)
        answers = codes_of(found.predicted, classes)
        if costs is not None:
            answers = np.where(
                np.asarray(found.predicted) == costs.reject_label, len(classes), answers
            )
        w = unit_weights(found.w, len(truth))
        own = None if costs is None else costs.among(classes)
        return row_losses(metric, truth, found.probabilities, answers, w, own)

    return Procedure(metric, compare, select, losses)


# -------------------------------------------------------------------------------------------------
# The chosen classifier: fitted to all training rows, calibrated, deciding by costs.
#
# One candidate is chosen, or an average of several where that is asked for and better.


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
    check: CalibrationCheck | None = None
    messages: tuple[str, ...] = ()

    @property
    def encoding(self) -> Encoding | None:
        """How the columns are encoded; None for a model that reads the table itself."""
        raw = self.candidate is not None and self.candidate.raw
        return None if raw else getattr(self.core, "encoding_", None)

    def predict(self, rows: InMemory, classes: NDArray[Any]) -> Predictions:
        """Answers and probabilities of the whole model, scores of the estimator within."""
        found = predictions(self.core, self.model, rows, classes)
        if self.check is None or self.check.method is None:
            return found
        return replace(found, uncalibrated=aligned_probabilities(self.core, rows, classes))

    def curve(self, folds: RowFolds, seed: int) -> LearningCurve | None:
        """The learning curve of a candidate; none of an average."""
        if self.candidate is None:
            return None
        return learning_curve(self.candidate, folds, "error", seed, self.out_of_fold.tuning)


def predictions(core: Any, model: Any, rows: InMemory, classes: NDArray[Any]) -> Predictions:
    """Answers and probabilities of ``model``, scores of the estimator ``core`` within."""
    return Predictions(
        rows.row_ids,
        truth_of(rows),
        model.predict(rows),
        scores_for(core, rows),
        rows.block.w,
        aligned_probabilities(model, rows, classes),
    )


def fit_winner(
    design: StudyDesign,
    compared: ComparedClasses,
    chosen: ComparisonOutcome,
    costs: DecisionCosts | None,
) -> Winner:
    """The winner on all folds, with its calibration and the costs of its decisions."""
    name = chosen.choice.winner
    if chosen.averaged is None:
        candidate, found = design.named(name), compared.predictions[name]
        core, warned = with_warnings(lambda: design.folds.fit(candidate, found.out_of_fold.tuning))
        model = with_calibration(candidate, core, found)
        summary = () if found.check is None else (found.check.summary,)
        winner = Winner(
            core, model, found.out_of_fold, None, candidate, warned, found.check, summary
        )
    else:
        winner = _fit_average(design, compared, chosen.choice.best, chosen.averaged)
    return _with_costs(winner, name, compared, costs)


def _fit_average(
    design: StudyDesign, compared: ComparedClasses, best: str, averaged: AveragedCandidates
) -> Winner:
    def fit(name: str) -> Any:
        candidate, found = design.named(name), compared.predictions[name]
        return with_calibration(
            candidate, design.folds.fit(candidate, found.out_of_fold.tuning), found
        )

    models, warned = with_warnings(lambda: [fit(name) for name in averaged.weights])
    blank = AveragedClassifier([clone(model) for model in models], cv=design.folds.k)
    model = blank.from_fitted(models, averaged.average)
    first = compared.predictions[best].out_of_fold.at(averaged.losses.rows)
    found = replace(
        first.with_probabilities(averaged.predictions), scores=None, tuning=None, hyperparameters={}
    )
    return Winner(model, model, found, warnings=warned)


def _with_costs(
    winner: Winner, name: str, compared: ComparedClasses, costs: DecisionCosts | None
) -> Winner:
    """The model with costs: those given, or those that suit the metric."""
    found = winner.out_of_fold
    if costs is None:
        metric = compared.comparison.metric
        implied = metric_costs(metric, found)
        if implied is None or name == BASELINE:
            return winner
        costs = as_decision(implied, found.classes)
        text = f"Decisions are those that suit {metric!r}, not the most probable class."
        winner = replace(winner, messages=(*winner.messages, text))
    if found.probabilities is None:
        raise InputError(
            f"{name} was chosen, and decisions at costs need probabilities.",
            remedy="Compare by `metric='log_loss'`, or choose others with `models`.",
        )
    return replace(winner, model=costs.from_fitted(winner.model), costs=costs)


# -------------------------------------------------------------------------------------------------
# Decisions that suit a metric: balanced error and F1 are not minimized by the most probable class.
#
# balanced error:  answer = argmax pₖ / πₖ,  which are decisions at costs 1/πₖ for missing class k
# F1:              answer the second class where p ≥ t, with the t of largest F1 out of fold


def metric_costs(metric: str, found: OutOfFold) -> Costs | None:
    """Costs at which decisions suit the metric; None where the most probable class does."""
    k = len(found.classes)
    if metric == "balanced_error":
        known = found.truth >= 0
        share = np.bincount(found.truth[known], found.w[known], k)
        missed = np.where(share > 0, share.sum() / np.maximum(share, 1e-300) / k, 0.0)
        return Costs((1.0 - np.eye(k)) * missed[:, None], None)
    if metric == "f1" and k == 2 and found.probabilities is not None:
        t = f1_threshold(found.probabilities[:, 1], found.truth == 1, found.w)
        return Costs(np.array([[0.0, t], [1.0 - t, 0.0]]), None)
    return None


def f1_threshold(p: Floats, positive: NDArray[np.bool_], w: Floats) -> float:
    """The threshold of largest F1 = 2 TP / (predicted + actual), halfway to the next value.

    ½ where no row is positive.
    """
    order = np.argsort(-p, kind="stable")
    hits, answers = np.cumsum((w * positive)[order]), np.cumsum(w[order])
    if hits[-1] <= 0:
        return 0.5
    ranked = p[order]
    last = np.append(ranked[1:] < ranked[:-1], True)  # rows of equal p are answered alike
    f1 = np.where(last, 2.0 * hits / (answers + hits[-1]), -1.0)
    best = int(f1.argmax())
    below = ranked[best + 1] if best + 1 < len(p) else 0.0
    return float(np.clip((ranked[best] + below) / 2.0, 1e-12, 1.0 - 1e-12))


def as_decision(costs: Costs, classes: NDArray[Any]) -> DecisionCosts:
    """Costs that a metric implies, as costs that were given."""
    return DecisionCosts(classes, costs, REJECT, None)
