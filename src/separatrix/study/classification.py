"""A study of classes: compared, calibrated, decided, and judged on the test set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_expit

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.averages import AveragedClassifier
from separatrix.estimators.base import codes_of
from separatrix.messages import InputError
from separatrix.probability import calibrations
from separatrix.probability.costs import Costs
from separatrix.probability.reliability import expected_calibration_error
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import unit_weights
from separatrix.selection.averaging import Average, log_loss_average, logarithmic_pool
from separatrix.selection.folds import stratified_labels
from separatrix.study import class_scores, inferred, result
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.checks import missed_classes
from separatrix.study.class_views import covariance_tests, margins_of, surface_of
from separatrix.study.comparison import CandidateLosses
from separatrix.study.design import (
    SHOWN_ROWS,
    RowFolds,
    StudyDesign,
    scores_for,
    thin,
    truth_of,
    with_warnings,
)
from separatrix.study.options import StudyOptions, difference
from separatrix.study.out_of_fold import (
    ComparedRows,
    ModelSelection,
    OutOfFold,
    Winner,
    aligned_probabilities,
)
from separatrix.study.tasks import CLASSIFICATION

#: Shown beside the metric that decides; of all others it is the error rate.
SECONDARY = {"error": "log_loss"}


class ClassificationSelection(ModelSelection):
    """Classifiers, compared by probabilities, calibrated, deciding by expected cost.

    out-of-fold probabilities ─ choice ─ calibration ─ costs ─ a class or a rejection
    """

    task, curve = CLASSIFICATION, "error"

    def __init__(
        self,
        options: StudyOptions,
        classes: NDArray[Any],
        costs: class_scores.DecisionCosts | None,
        messages: Sequence[str] = (),
    ) -> None:
        super().__init__(options)
        self.classes, self.costs, self.messages = classes, costs, messages
        self.own_costs = None if costs is None else costs.among(classes)

    @classmethod
    def of(cls, design: StudyDesign, options: StudyOptions) -> ClassificationSelection:
        """Among the classes of the training rows, at the costs that are asked for."""
        labels = np.array(sorted(str(t.level) for t in design.table.block.targets), dtype=object)
        classes, messages = _known_classes(design, labels)
        costs = class_scores.decision_costs(options.costs, options.reject, labels)
        names = tuple(str(c) for c in classes)
        messages += [*inferred.about_classes(names), *class_scores.about_costs(costs, classes)]
        return cls(options, classes, costs, messages)

    @property
    def metrics(self) -> tuple[str, str]:
        """The metric that decides, and the other."""
        return self.metric, SECONDARY.get(self.metric, "error")

    def of_training(self, design: StudyDesign) -> ClassificationSelection:
        """The same among the classes of the training rows."""
        present = _present(design, self.classes)
        if len(present) < 2:
            raise InputError("all training rows of an outer fold are of one class.")
        return ClassificationSelection(self.options, present, self.costs)

    def score(self, candidate: Candidate, out_of_fold: OutOfFold) -> OutOfFold:
        """Calibrated where that helps."""
        return calibrate(candidate, out_of_fold)

    def losses(self, out_of_fold: OutOfFold) -> CandidateLosses:
        """Losses of the decisions that suit each metric: of least cost, or most probable."""
        p, values, costs = out_of_fold.probabilities, {}, self.own_costs
        for metric in self.metrics:
            answers = out_of_fold.predicted
            decide = costs if metric == "cost" else metric_costs(metric, out_of_fold)
            if decide is not None and p is not None:
                answers = decide.decide(p)
            values[metric] = class_scores.row_losses(
                metric, out_of_fold.truth, p, answers, out_of_fold.w, costs
            )
        return CandidateLosses(out_of_fold.rows, out_of_fold.fold, out_of_fold.w, values)

    def weigh(self, out_of_fold: OutOfFold) -> Sequence[Callable[[Floats, Ints], Average]]:
        """The weights of least log loss, of a linear and of a logarithmic pool."""
        truth, w = out_of_fold.truth, out_of_fold.w
        return [
            lambda known, rows: log_loss_average(known[:, rows, truth[rows]].T, w[rows]),
            lambda known, rows: logarithmic_pool(known[:, rows], truth[rows], w[rows]),
        ]

    def fitted(self, compared: ComparedRows, name: str) -> tuple[Any, Any]:
        """A candidate fitted to all folds, and the same with its calibration."""
        candidate, predictions = compared.design.named(name), compared.predictions[name]
        core = compared.design.folds.fit(candidate, predictions.tuning)
        return core, with_calibration(candidate, core, predictions)

    def average(self, models: Sequence[Any], folds: int, pool: str) -> AveragedClassifier:
        """An unfitted average of models."""
        return AveragedClassifier(models, cv=folds, pool=pool)

    def complete(self, winner: Winner, name: str) -> Winner:
        """The model with costs: those given, or those that suit the metric."""
        out_of_fold, costs = winner.out_of_fold, self.costs
        if out_of_fold.check is not None:
            winner = replace(winner, messages=(*winner.messages, out_of_fold.check.summary))
        if costs is None:
            implied = metric_costs(self.metric, out_of_fold)
            if implied is None or name == BASELINE:
                return winner
            costs = class_scores.DecisionCosts(
                out_of_fold.classes, implied, class_scores.REJECT, None
            )
            text = f"Decisions are those that suit {self.metric!r}, not the most probable class."
            winner = replace(winner, messages=(*winner.messages, text))
        if out_of_fold.probabilities is None and out_of_fold.method is None:
            raise InputError(
                f"{name} was chosen, and decisions at costs need probabilities.",
                remedy="Compare by `metric='log_loss'`, or choose others with `models`.",
            )
        return replace(winner, model=costs.from_fitted(winner.model), costs=costs)

    def predict(self, winner: Winner, rows: InMemory) -> result.Predictions:
        """Answers and probabilities of the whole model, scores of the estimator within."""
        return predictions(winner, rows, self.classes)

    def judge(self, predictions: result.Predictions) -> Floats:
        """Losses of answers to other rows."""
        truth = codes_of(predictions.truth, self.classes)
        answers = codes_of(predictions.predicted, self.classes)
        if self.costs is not None:
            rejected = np.asarray(predictions.predicted) == self.costs.reject_label
            answers = np.where(rejected, len(self.classes), answers)
        w = unit_weights(predictions.w, len(truth))
        return class_scores.row_losses(
            self.metric, truth, predictions.probabilities, answers, w, self.own_costs
        )

    def record(
        self, design: StudyDesign, winner: Winner, test: result.Predictions
    ) -> dict[str, Any]:
        """Scores, calibration, decisions, and what pictures of classes need."""
        folds, classes, costs = design.folds, self.classes, winner.costs
        model = with_warnings(lambda: folds.fit(design.baseline))[0]
        plain = Winner(model, model, winner.out_of_fold)
        baseline = predictions(plain, folds.table.take(folds.test), classes)
        decision, other = (
            None if costs is None else class_scores.evaluate(costs, classes, answers)
            for answers in (test, baseline)
        )
        names = tuple(str(c) for c in classes)
        return {
            "test": class_scores.scores_on_test(test, classes, decision),
            "baseline_test": class_scores.scores_on_test(baseline, classes, other),
            "warnings": missed_classes(test, names),
            "classes": names,
            "out_of_fold": () if winner.name == BASELINE else by_fold(winner.out_of_fold, folds),
            "calibration": winner.check,
            "decision": decision,
            "covariance_tests": covariance_tests(folds, classes),
            "decision_surface": surface_of(winner.model, folds, test),
            "margins": margins_of(winner.core, folds),
            "class_scores": class_scores.scores_by_class(test, classes),
        }


def predictions(winner: Winner, rows: InMemory, classes: NDArray[Any]) -> result.Predictions:
    """Answers and probabilities of the whole model, scores of the estimator within."""
    model, core = winner.model, winner.core
    return result.Predictions(
        rows.row_ids,
        truth_of(rows),
        model.predict(rows),
        scores_for(core, rows),
        rows.block.w,
        aligned_probabilities(model, rows, classes),
        aligned_probabilities(core, rows, classes) if winner.out_of_fold.method else None,
    )


def _present(design: StudyDesign, labels: NDArray[Any]) -> NDArray[Any]:
    """Those of the classes that training rows of positive weight have."""
    rows = design.table.take(design.folds.training)
    truth = truth_of(rows)
    present = set(truth if rows.block.w is None else truth[rows.block.w > 0])
    return np.array([label for label in labels if label in present], dtype=object)


def _known_classes(design: StudyDesign, labels: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """The classes of the training rows, in order; a message on any that is in the test set alone.

    A class whose rows have no weight is as good as absent.
    """
    classes = _present(design, labels)
    others = [str(label) for label in labels if label not in classes]
    if len(classes) < 2:
        raise InputError(
            f"all {len(design.folds.training)} training rows are of class {classes[0]!r}; there "
            "are too few of any other.",
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


def by_fold(out_of_fold: OutOfFold, folds: RowFolds) -> tuple[result.Predictions, ...]:
    """The folds of two classes, which are drawn as curves; of a large table an even selection."""
    if len(out_of_fold.classes) != 2:
        return ()
    shown = []
    for fold in out_of_fold.folds:
        at = thin(np.flatnonzero(out_of_fold.fold == fold), SHOWN_ROWS // len(out_of_fold.folds))
        part = out_of_fold.take(at)
        rows = folds.table.take(part.rows)
        answers = (truth_of(rows), out_of_fold.classes[part.predicted], part.scores, rows.block.w)
        shown.append(result.Predictions(rows.row_ids, *answers, part.probabilities))
    return tuple(shown)


# -------------------------------------------------------------------------------------------------
# Calibration of the candidates, so that all are compared by probabilities.
#
# Calibrations are fitted to out-of-fold scores and evaluated on folds that they were not fitted to.
# The scores are those of the comparison: no candidate is fitted again.


#: Calibrations of two classes and of more; the first is that of models without probabilities.
OF_TWO, OF_MANY = ("platt", "isotonic"), (calibrations.JOINT, "platt", "isotonic")


def calibrate(candidate: Candidate, out_of_fold: OutOfFold) -> OutOfFold:
    """Every fold calibrated by maps fitted to the others; by Platt's where the model has none.

    A calibration is applied if it lowers the cross-validated log loss by more than one standard
    error of the differences between rows: a model that ranks rows well and is overconfident is
    compared by what it can do.
    """
    default, known = None, methods_for(len(out_of_fold.classes), len(out_of_fold.truth))
    if out_of_fold.probabilities is None:
        try:
            out_of_fold = out_of_fold.with_values(_cross_calibrate(out_of_fold, known[0]))
            default = known[0]
        except InputError as refusal:
            return replace(out_of_fold, why=f"no probabilities: {refusal.what}")
    if candidate.name == BASELINE:
        return out_of_fold
    assert out_of_fold.probabilities is not None
    methods: dict[str | None, Floats] = {default: out_of_fold.probabilities}
    for method in known:
        with suppress(InputError):
            if method != default:
                methods[method] = _cross_calibrate(out_of_fold, method)
    if len(methods) == 1:
        return replace(out_of_fold, method=default)
    losses = {m: class_scores.log_losses(p, out_of_fold.truth) for m, p in methods.items()}
    check = check_calibration(
        default,
        methods,
        lambda m: CandidateLosses(
            out_of_fold.rows, out_of_fold.fold, out_of_fold.w, {"log_loss": losses[m]}
        ).score("log_loss"),
        lambda m, other: difference(losses[m], losses[other], out_of_fold.w),
        lambda m: _calibration_error(out_of_fold, methods[m]),
    )
    return replace(out_of_fold.with_values(methods[check.method]), method=check.method, check=check)


def check_calibration(
    default: str | None,
    methods: Iterable[str | None],
    score: Callable[[str | None], result.CrossValidatedScore],
    difference: Callable[[str | None, str | None], result.Difference],
    error: Callable[[str | None], float],
) -> result.CalibrationCheck:
    """Whether the best calibration is better than ``default`` by more than one standard error.

    ``score`` and ``difference`` are of log losses, ``error`` is the expected calibration error; a
    method None stands for the model's own probabilities.
    """
    scores = {m: score(m) for m in methods if m is not None and m != default}
    best = min(scores, key=lambda method: scores[method].mean)
    gain = difference(default, best)
    helps = gain.mean > max(gain.standard_error, 0.0)
    before, after = score(default), scores[best]
    return result.CalibrationCheck(
        best if helps else default,
        before,
        after if helps else before,
        error(default),
        error(best if helps else default),
        gain.mean,
        gain.standard_error,
        scores,
        _calibration_summary(best, before, after, gain, default, helps),
    )


def methods_for(k: int, n: int) -> tuple[str, ...]:
    """Methods for k classes and n rows; the isotonic curve comes last."""
    known = OF_TWO if k == 2 else OF_MANY
    # An isotonic curve for each of more classes than this takes long and overfits.
    # With fewer rows an isotonic curve is sure of what a few of them say.
    return known if k <= 10 and n >= 1_000 else known[:-1]


def with_calibration(candidate: Candidate, model: Any, out_of_fold: OutOfFold) -> Any:
    """The fitted model with its calibration, fitted to all out-of-fold scores."""
    if out_of_fold.method is None:
        return model
    assert out_of_fold.scores is not None
    folds = len(out_of_fold.folds)
    wrapped = calibrations.CalibratedClassifier(
        candidate.make(folds), method=out_of_fold.method, cv=folds
    )
    return wrapped.from_fitted(model, out_of_fold.scores, out_of_fold.truth, out_of_fold.w)


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
        if self.method == calibrations.JOINT:
            return np.asarray(self.maps[0].predict(_joint_scores(scores, self.odds)))
        return calibrations.calibrate(self.maps, scores)


def fitted_map(out_of_fold: OutOfFold, method: str, rows: Ints) -> CalibrationMap:
    """A calibration of some of the out-of-fold scores; of many rows an even selection."""
    k = len(out_of_fold.classes)
    _refuse_many(out_of_fold)
    assert out_of_fold.scores is not None
    # Rows that a calibration is fitted to, at most: so many, or so many for each class.
    some = thin(rows, max(5_000, 200 * k))
    scores, truth, w = out_of_fold.scores[some], out_of_fold.truth[some], out_of_fold.w[some]
    _refuse_absent(truth[w > 0], out_of_fold.classes)
    if method == calibrations.JOINT:
        joint = calibrations.TemperatureCalibration().fit(
            _joint_scores(scores, out_of_fold.odds), truth, w
        )
        return CalibrationMap(method, [joint], out_of_fold.odds)
    return CalibrationMap(
        method, list(calibrations.learn_maps(method, scores, truth, k, w)), out_of_fold.odds
    )


def _refuse_many(out_of_fold: OutOfFold) -> None:
    # One calibration a class: for more classes than this none is tried.
    if len(out_of_fold.classes) > 100:
        raise InputError(
            f"{len(out_of_fold.classes)} classes are too many to calibrate one by one."
        )
    if out_of_fold.scores is None:
        raise InputError("some class is so rare that a fold lacks it.")


def _cross_calibrate(found: OutOfFold, method: str) -> Floats:
    """Probabilities of every fold, by calibrations fitted to the scores of the other folds."""
    _refuse_many(found)
    assert found.scores is not None
    p = np.empty((len(found.truth), len(found.classes)))
    fold = _calibration_folds(found)
    for number in np.unique(fold):
        others, own = np.flatnonzero(fold != number), fold == number
        p[own] = fitted_map(found, method, others).probabilities(found.scores[own])
    return p


def _calibration_folds(out_of_fold: OutOfFold) -> Ints:
    """The folds of the comparison; parts of the only one where a single fold was predicted."""
    if len(out_of_fold.folds) > 1:
        return out_of_fold.fold
    # Parts of a single fold that calibrate one another.
    return stratified_labels(out_of_fold.truth, 3)


def _joint_scores(scores: Floats, odds: bool) -> Floats:
    """Scores whose softmax are probabilities; those of probabilities are log odds."""
    return np.asarray(log_expit(scores)) if odds else scores


def _refuse_absent(codes: Ints, classes: Any) -> None:
    absent = np.setdiff1d(np.arange(len(classes)), codes)
    if absent.size:
        raise InputError(f"class {classes[absent[0]]!r} is in one fold alone.")


def _calibration_error(out_of_fold: OutOfFold, p: Floats) -> float:
    """Expected calibration error of the probability of the predicted class."""
    correct, confidence = p.argmax(axis=1) == out_of_fold.truth, np.clip(p.max(axis=1), 0.0, 1.0)
    return expected_calibration_error(correct, confidence, sample_weight=out_of_fold.w)


def _calibration_summary(
    best: str | None,
    before: result.CrossValidatedScore,
    after: result.CrossValidatedScore,
    gain: result.Difference,
    default: str | None,
    helps: bool,
) -> str:
    """Which calibration is used, and why, in a sentence."""
    if helps:
        return (
            f"Calibrated ({best}): this lowers the cross-validated log loss from "
            f"{before.mean:.4g} to {after.mean:.4g}, by more than one standard error "
            f"({gain.mean:.2g} ± {gain.standard_error:.2g})."
        )
    use = f"Calibrated ({default})" if default else "Not calibrated"
    if gain.mean <= 0:
        return (
            f"{use}: no other calibration lowers the cross-validated log loss of {before.mean:.4g} "
            f"(best: {best}, {after.mean:.4g})."
        )
    return (
        f"{use}: {best} calibration would lower the cross-validated log loss from "
        f"{before.mean:.4g} to {after.mean:.4g}, by no more than chance "
        f"({gain.mean:.2g} ± {gain.standard_error:.2g})."
    )


# -------------------------------------------------------------------------------------------------
# Decisions that suit a metric: balanced error and F1 are not minimized by the most probable class.
#
# balanced error:  answer = argmax pₖ / πₖ,  which are decisions at costs 1/πₖ for missing class k
# F1:              answer the second class where p ≥ t, with the t of largest F1 out of fold


def metric_costs(metric: str, out_of_fold: OutOfFold) -> Costs | None:
    """Costs at which decisions suit the metric; None where the most probable class does."""
    k = len(out_of_fold.classes)
    if metric == "balanced_error":
        known = out_of_fold.truth >= 0
        share = np.bincount(out_of_fold.truth[known], out_of_fold.w[known], k)
        missed = np.where(share > 0, share.sum() / np.maximum(share, 1e-300) / k, 0.0)
        return Costs((1.0 - np.eye(k)) * missed[:, None], None)
    if metric == "f1" and k == 2 and out_of_fold.probabilities is not None:
        t = f1_threshold(out_of_fold.probabilities[:, 1], out_of_fold.truth == 1, out_of_fold.w)
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
