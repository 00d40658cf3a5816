"""Pictures of a classifier on the test set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    CoverageRiskDisplay,
    DecisionBoundaryDisplay,
    Display,
    LogOddsDisplay,
    OneVsRestRocDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
    SignedDistanceDisplay,
)
from separatrix.pictures.formatting import plural
from separatrix.probability.roc import RocCurve, roc_curve
from separatrix.report.figures.gallery import LEAST_AGREEMENT, MANY, Gallery
from separatrix.rows.block import Floats
from separatrix.study.result import Predictions, Study

Texts = NDArray[np.str_]
#: Classes beyond which the cells of a confusion table are too small to read, and too many to draw.
MOST_CONFUSED = 40


def classification(study: Study) -> Gallery:
    """Confusion matrix, decision boundary, ROC and precision–recall curves, margins."""
    gallery, test = Gallery(), study.test_predictions
    if test is None:
        gallery.missing.append("The test rows are not stored, so decisions cannot be drawn.")
        return gallery
    labels = _labels(study, test)
    truth, called = _texts(test.truth), _texts(test.predicted)
    reject = None if study.decision is None else study.decision.reject_label
    if reject not in called:
        reject = None
    if len(labels) > MOST_CONFUSED:
        gallery.missing.append(f"A confusion matrix of {len(labels)} classes is too large to read.")
    else:
        gallery.add(
            lambda: ConfusionMatrixDisplay.from_predictions(
                truth, called, labels=labels, reject_label=reject
            )
        )
    gallery.add(lambda: _boundary(study))
    if test.scores is None and test.probabilities is None:
        gallery.missing.append("This model has no scores, so it has no ROC curve.")
        return gallery
    scores = test.scores if test.probabilities is None else test.probabilities
    # Two by two: the margins stand beside the confusion matrix where there is no boundary.
    early = len(gallery.pictures) == 1
    if early and np.ptp(np.asarray(scores)) > 0:
        gallery.add(lambda: _margins(study, test, labels))
    _ranked(study, test, labels, gallery)
    if not early and np.ptp(np.asarray(scores)) > 0:
        gallery.add(lambda: _margins(study, test, labels))
    return gallery


def _ranked(study: Study, test: Predictions, labels: list[str], gallery: Gallery) -> None:
    """Curves over the threshold of the score."""
    if len(labels) == 2 and np.ptp(_single(test)) > 0:
        gallery.add(lambda: _roc(study, test, labels[1]))
        gallery.add(
            lambda: PrecisionRecallDisplay.from_predictions(
                _texts(test.truth), _single(test), positive=labels[1], sample_weight=test.w
            )
        )
    scores = test.scores if test.probabilities is None else test.probabilities
    if len(labels) > 2 and np.ptp(np.asarray(scores)) > 0:
        gallery.add(
            lambda: OneVsRestRocDisplay.from_predictions(
                test.truth, scores, labels, sample_weight=test.w
            )
        )


def probabilities(study: Study) -> Gallery:
    """Calibration, and risk against coverage."""
    gallery, test = Gallery(), study.test_predictions
    if test is None or test.probabilities is None:
        if test is not None and study.task == "classification":
            gallery.missing.append(
                "This model has no probabilities, so calibration cannot be checked."
            )
        return gallery
    truth, p, labels = _texts(test.truth), test.probabilities, _labels(study, test)
    gallery.add(
        lambda: CalibrationDisplay.from_probabilities(truth, p, labels, sample_weight=test.w)
    )
    gallery.add(lambda: _coverage(study, test, labels))
    return gallery


def _coverage(study: Study, test: Predictions, labels: list[str]) -> Display:
    costs = None if study.decision is None else study.decision.costs
    picture = CoverageRiskDisplay.from_predictions(
        test.truth, test.probabilities, labels, costs=costs, sample_weight=test.w
    )
    if not picture.curve.risk.any():
        raise InputError(
            "The model makes no error on the test set, so rejection cannot lower the risk."
        )
    return picture


def _labels(study: Study, test: Predictions) -> list[str]:
    """The classes in order; those in the predictions where the study names none."""
    if study.classes:
        return list(study.classes)
    return sorted({*_texts(test.truth), *_texts(test.predicted)})


def _texts(labels: object) -> Texts:
    return np.array([str(v) for v in np.asarray(labels).tolist()])


def _boundary(study: Study) -> Display:
    if study.decision_surface is None:
        raise InputError(
            "The decision boundary is drawn for 2 to 10 classes and two numeric columns that vary."
        )
    agreement = study.decision_surface.agreement
    if agreement < LEAST_AGREEMENT:
        raise InputError(
            "The decision boundary is not drawn: on a plane, with all else at its mean, the model "
            f"predicts what it does for the whole row in only {100 * agreement:.0f} % of "
            f"{plural(len(study.decision_surface.dots), 'test row')}."
        )
    return DecisionBoundaryDisplay(study.decision_surface, MANY)


def _margins(study: Study, test: Predictions, labels: list[str]) -> Display:
    """Distances to the boundary of a linear model, log odds of any other."""
    model = study.description
    coef = None if model.wrapped else model.coefficients
    if coef is not None and test.scores is not None and np.any(coef):
        scale = None if study.training is None else study.training.scale
        if scale is not None and len(scale) != np.shape(coef)[-1]:
            scale = None
        return SignedDistanceDisplay.from_scores(test.truth, test.scores, coef, labels, scale=scale)
    if test.probabilities is None:
        raise InputError("Margins are drawn for linear models and for those with probabilities.")
    return LogOddsDisplay.from_probabilities(test.truth, test.probabilities, labels)


def _single(test: Predictions) -> Floats:
    """One score per row, high for the second of two classes."""
    if test.scores is None:
        p = np.maximum(np.asarray(test.probabilities, dtype=float), np.finfo(float).tiny)
        return np.asarray(np.log(p[:, 1]) - np.log(p[:, 0]))
    line = np.asarray(test.scores, dtype=float).reshape(len(test.truth), -1)
    return np.asarray(line[:, 0] if line.shape[1] == 1 else line[:, 1] - line[:, 0])


def _roc(study: Study, test: Predictions, positive: str) -> RocDisplay:
    """The curve of the test part over those of the folds; a fold of one class has none."""

    def curve(part: Predictions) -> RocCurve:
        truth = [str(v) for v in part.truth]
        return roc_curve(truth, _single(part), positive=positive, sample_weight=part.w)

    both = [part for part in study.out_of_fold if len(np.unique(part.truth)) == 2]
    return RocDisplay(curve(test), _threshold(test, positive), [curve(part) for part in both])


def _threshold(test: Predictions, positive: str) -> float | None:
    """The score from which the model predicts the positive class; None where there is none.

    Calibration and costs move it from zero. With rejection there are two thresholds.
    """
    scores, answers = _single(test), _texts(test.predicted)
    called = answers == positive
    if len(np.unique(answers)) > 2:
        return None
    if ((scores > 0) == called).all() or ((scores >= 0) == called).all():
        return 0.0
    least = float(scores[called].min(initial=np.inf))
    return least if (scores[~called] < least).all() else None
