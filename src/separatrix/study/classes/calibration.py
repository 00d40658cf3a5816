"""Calibration of the candidates, so that all are compared by probabilities.

Calibrations are fitted to out-of-fold scores and evaluated on folds that they were not fitted to.
The scores are those of the comparison: no candidate is fitted again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_expit

from separatrix.messages import InputError
from separatrix.probability.calibrated import (
    JOINT,
    CalibratedClassifier,
    calibrated_probabilities,
    calibrations,
)
from separatrix.probability.calibrations import TemperatureCalibration
from separatrix.probability.reliability import expected_calibration_error
from separatrix.rows.block import Floats, Ints
from separatrix.selection.folds import stratified_labels
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.classes.metrics import log_losses
from separatrix.study.classes.out_of_fold import OutOfFold
from separatrix.study.comparison.choice import difference
from separatrix.study.comparison.losses import Losses
from separatrix.study.folds import thinned
from separatrix.study.result import CalibrationCheck, CrossValidatedScore

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
class Calibrated:
    """Out-of-fold predictions, calibrated by ``method`` if it is not None.

    ``check`` is None where no calibration could be tried; ``why`` says why there are no
    probabilities at all.
    """

    out_of_fold: OutOfFold
    method: str | None = None
    check: CalibrationCheck | None = None
    why: str = ""

    def thinned(self) -> Calibrated:
        """The same with fewer rows, to be stored while others are compared."""
        return replace(self, out_of_fold=self.out_of_fold.thinned())


def calibrate(candidate: Candidate, found: OutOfFold) -> Calibrated:
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
            return Calibrated(found, why=f"no probabilities: {refusal.what}")
    if candidate.name == BASELINE:
        return Calibrated(found)
    methods = {}
    for method in known:
        with suppress(InputError):
            if method != default:
                methods[method] = _cross_calibrated(found, method)
    if not methods:
        return Calibrated(found, default)
    check, p = _checked(found, default, methods)
    return Calibrated(found if p is None else found.with_probabilities(p), check.method, check)


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


def _log_losses(found: OutOfFold, p: Floats) -> Losses:
    losses = {"log_loss": log_losses(p, found.truth)}
    return Losses(found.rows, found.fold, found.w, losses)


def with_calibration(candidate: Candidate, model: Any, calibrated: Calibrated) -> Any:
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
