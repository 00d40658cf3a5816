"""Classes are compared by their probabilities; scores are made into some where a model has none.

Calibrations are learned on scores of rows that were held out, and judged on folds that they were
not learned on. The scores are those of the comparison: nothing is fitted for it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.probability.calibrated import (
    CalibratedClassifier,
    calibrated_probabilities,
    calibrations,
)
from separatrix.probability.reliability import expected_calibration_error
from separatrix.rows.block import Floats, Ints
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.classes.out_of_fold import OutOfFold
from separatrix.study.result import CalibrationCheck, CrossValidatedScore, Entry

#: How scores of a model without probabilities are read: the likeliest sigmoid.
USUAL = "platt"
METHODS = (USUAL, "logistic", "isotonic")
#: One calibration a class: for more classes than this none is tried.
MOST_CLASSES = 100


@dataclass(frozen=True)
class Read:
    """What a candidate said, read as probabilities: by the calibration ``method``, or as it is.

    ``check`` is None where no calibration could be tried; ``why`` says why there are no
    probabilities at all.
    """

    asked: OutOfFold
    method: str | None = None
    check: CalibrationCheck | None = None
    why: str = ""

    def thinned(self) -> Read:
        """The same with fewer rows, to be kept while others are compared."""
        return replace(self, asked=self.asked.thinned())


def read(candidate: Candidate, asked: OutOfFold) -> Read:
    """Every fold read by maps learned on the others; the usual one where the model has none.

    A calibration is taken if it lowers the cross-validated log loss by more than one standard
    error of the differences between folds: a model that orders rows well and is too sure of itself
    is judged by what it can do.
    """
    made = None
    if asked.probabilities is None:
        try:
            asked, made = _said(asked, _reread(asked, USUAL)), USUAL
        except InputError as refusal:
            return Read(asked, why=f"no probabilities: {refusal.what}")
    if candidate.name == BASELINE:
        return Read(asked)
    tried = {}
    for method in METHODS:
        with suppress(InputError):
            if method != made:
                tried[method] = _reread(asked, method)
    if not tried:
        return Read(asked, made)
    check, p = _checked(asked, made, tried)
    return Read(asked if p is None else _said(asked, p), check.method, check)


def _said(asked: OutOfFold, p: Floats) -> OutOfFold:
    return replace(asked, probabilities=p, predicted=p.argmax(axis=1))


def line(candidate: Candidate, found: Read, metric: str) -> Entry:
    """The candidate on the leaderboard, by ``metric`` with the other measure beside it."""
    asked = found.asked
    errors, losses = asked.error(), None
    if asked.probabilities is not None:
        losses = asked.log_loss(asked.probabilities)
    first, other = (losses, errors) if metric == "log_loss" else (errors, losses)
    if first is None:
        first = CrossValidatedScore(metric, (), float("nan"), float("nan"))
    return Entry(
        candidate.name,
        candidate.label,
        metric,
        first.folds,
        first.mean,
        first.standard_error,
        dict(asked.chosen),
        note=found.why,
        beside=other,
        calibrated=found.method,
    )


def _checked(
    asked: OutOfFold, made: str | None, tried: dict[str, Floats]
) -> tuple[CalibrationCheck, Floats | None]:
    """Whether the best of the other readings helps, and its probabilities if it does."""
    assert asked.probabilities is not None
    before = asked.log_loss(asked.probabilities)
    losses = {method: asked.log_loss(p) for method, p in tried.items()}
    best = min(losses, key=lambda method: losses[method].mean)
    after = losses[best]
    differences = np.subtract(before.folds, after.folds)
    gain = float(differences.mean())
    error = float(np.std(differences, ddof=1) / np.sqrt(len(differences)))
    helps = gain > error and gain > 0
    wrong = _calibration_error(asked, asked.probabilities)
    check = CalibrationCheck(
        best if helps else made,
        before,
        after if helps else before,
        wrong,
        _calibration_error(asked, tried[best]) if helps else wrong,
        gain,
        error,
        losses,
        _words(best, before, after, gain, error, made, helps),
    )
    return check, tried[best] if helps else None


def calibrated(candidate: Candidate, model: Any, found: Read) -> Any:
    """The fitted model with its calibration, learned on all scores of the comparison."""
    asked = found.asked
    if found.method is None:
        return model
    assert asked.scores is not None
    folds = len(asked.folds)
    wrapped = CalibratedClassifier(candidate.make(folds), method=found.method, cv=folds)
    return wrapped.from_fitted(model, asked.scores, asked.truth, asked.w)


def _reread(asked: OutOfFold, method: str) -> Floats:
    """Probabilities of every fold, by calibrations learned on the scores of the other folds."""
    k = len(asked.classes)
    if k > MOST_CLASSES:
        raise InputError(f"{k} classes are too many to calibrate one by one.")
    if asked.scores is None:
        raise InputError("some class is so rare that a fold lacks it.")
    p = np.empty((len(asked.truth), k))
    for fold in asked.folds:
        inside = asked.fold != fold
        _refuse_absent(asked.truth[inside & (asked.w > 0)], asked.classes)
        maps = calibrations(method, asked.scores[inside], asked.truth[inside], k, asked.w[inside])
        p[~inside] = calibrated_probabilities(maps, asked.scores[~inside])
    return p


def _refuse_absent(codes: Ints, classes: Any) -> None:
    absent = np.setdiff1d(np.arange(len(classes)), codes)
    if absent.size:
        raise InputError(f"class {classes[absent[0]]!r} stands in one fold alone.")


def _calibration_error(asked: OutOfFold, p: Floats) -> float:
    """Of the probability given to the most probable class."""
    said = p.argmax(axis=1)
    return expected_calibration_error(
        said == asked.truth, np.clip(p.max(axis=1), 0.0, 1.0), sample_weight=asked.w
    )


def _words(
    best: str,
    before: CrossValidatedScore,
    after: CrossValidatedScore,
    gain: float,
    error: float,
    made: str | None,
    helps: bool,
) -> str:
    """What was found, in a sentence."""
    change = f"the cross-validated log loss from {before.mean:.4g} to {after.mean:.4g}"
    if helps:
        return (
            f"Calibrated ({best}): this lowers {change}, by more than one standard error "
            f"({gain:.2g} ± {error:.2g})."
        )
    kept = f"The {made} calibration" if made else "No calibration"
    verb = "is kept" if made else "is needed"
    moved = "would not lower" if gain <= 0 else "would lower"
    tail = "" if gain <= 0 else f", no more than chance ({gain:.2g} ± {error:.2g})"
    if gain <= 0:
        change = f"the cross-validated log loss of {before.mean:.4g}"
    return f"{kept} {verb}: the best other reading of the scores ({best}) {moved} {change}{tail}."
