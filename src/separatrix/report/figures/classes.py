"""What a classifier decides: all on the test part."""

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
from separatrix.probability.roc import RocCurve, roc_curve
from separatrix.report.figures.gallery import MANY, Gallery
from separatrix.rows.block import Floats
from separatrix.study.result import Predictions, Study

Texts = NDArray[np.str_]
#: Classes beyond which the cells of a confusion table are too small to read, and too many to draw.
MOST_CONFUSED = 40


def classification(study: Study) -> Gallery:
    """Confusion, boundary, and the order that scores give to the rows."""
    gallery, held = Gallery(), study.held
    if held is None:
        gallery.missing.append("The rows were not kept, so decisions cannot be drawn.")
        return gallery
    labels = _labels(study, held)
    truth, called = _texts(held.truth), _texts(held.predicted)
    reject = None if study.decision is None else study.decision.label
    if reject not in called:
        reject = None
    if len(labels) > MOST_CONFUSED:
        gallery.missing.append(f"A confusion table of {len(labels)} classes cannot be read.")
    else:
        gallery.add(
            lambda: ConfusionMatrixDisplay.from_predictions(
                truth, called, labels=labels, reject=reject
            )
        )
    gallery.add(lambda: _boundary(study))
    if held.scores is None and held.probabilities is None:
        gallery.missing.append("This model gives no score, so it has no ROC curve.")
        return gallery
    _ranked(study, held, labels, gallery)
    return gallery


def _ranked(study: Study, held: Predictions, labels: list[str], gallery: Gallery) -> None:
    """Pictures of the order that scores give to rows."""
    if len(labels) == 2 and np.ptp(_single(held)) > 0:
        gallery.add(lambda: _roc(study, held, labels[1]))
        gallery.add(
            lambda: PrecisionRecallDisplay.from_predictions(
                _texts(held.truth), _single(held), positive=labels[1], sample_weight=held.w
            )
        )
    scores = held.scores if held.probabilities is None else held.probabilities
    if len(labels) > 2 and np.ptp(np.asarray(scores)) > 0:
        gallery.add(
            lambda: OneVsRestRocDisplay.from_predictions(
                held.truth, scores, labels, sample_weight=held.w
            )
        )
    if np.ptp(np.asarray(scores)) > 0:
        gallery.add(lambda: _margins(study, held, labels))


def probabilities(study: Study) -> Gallery:
    """How far probabilities can be trusted, and what doubt would buy."""
    gallery, held = Gallery(), study.held
    if held is None or held.probabilities is None:
        if held is not None and study.task == "classification":
            gallery.missing.append("This model gives no probabilities, so they cannot be checked.")
        return gallery
    truth, p, labels = _texts(held.truth), held.probabilities, _labels(study, held)
    gallery.add(
        lambda: CalibrationDisplay.from_probabilities(truth, p, labels, sample_weight=held.w)
    )
    gallery.add(lambda: _coverage(study, held, labels))
    return gallery


def _coverage(study: Study, held: Predictions, labels: list[str]) -> Display:
    costs = None if study.decision is None else study.decision.costs
    picture = CoverageRiskDisplay.from_predictions(
        held.truth, held.probabilities, labels, costs=costs, sample_weight=held.w
    )
    if not picture.curve.risk.any():
        raise InputError("No answer on the test part was wrong: doubt could not have paid.")
    return picture


def _labels(study: Study, held: Predictions) -> list[str]:
    """The classes in order; those met where the study names none."""
    if study.classes:
        return list(study.classes)
    return sorted({*_texts(held.truth), *_texts(held.predicted)})


def _texts(labels: object) -> Texts:
    return np.array([str(v) for v in np.asarray(labels).tolist()])


def _boundary(study: Study) -> Display:
    if study.plane is None:
        raise InputError(
            "The boundary is drawn for 2 to 10 classes and two columns of numbers that vary."
        )
    return DecisionBoundaryDisplay(study.plane, MANY)


def _margins(study: Study, held: Predictions, labels: list[str]) -> Display:
    """Distances to the boundary of a linear model, log odds of any other."""
    coef = getattr(study.model, "coef_", None)
    if coef is not None and held.scores is not None and np.any(coef):
        scale = None if study.training is None else study.training.scale
        if scale is not None and len(scale) != np.shape(coef)[-1]:
            scale = None
        return SignedDistanceDisplay.from_scores(held.truth, held.scores, coef, labels, scale=scale)
    if held.probabilities is None:
        raise InputError("Margins are drawn for linear models and for those with probabilities.")
    return LogOddsDisplay.from_probabilities(held.truth, held.probabilities, labels)


def _single(held: Predictions) -> Floats:
    """One score per row, high for the second of two classes."""
    if held.scores is None:
        p = np.maximum(np.asarray(held.probabilities, dtype=float), np.finfo(float).tiny)
        return np.asarray(np.log(p[:, 1]) - np.log(p[:, 0]))
    line = np.asarray(held.scores, dtype=float).reshape(len(held.truth), -1)
    return np.asarray(line[:, 0] if line.shape[1] == 1 else line[:, 1] - line[:, 0])


def _roc(study: Study, held: Predictions, positive: str) -> RocDisplay:
    """The curve of the test part over those of the folds; a fold of one class has none."""

    def curve(part: Predictions) -> RocCurve:
        truth = [str(v) for v in part.truth]
        return roc_curve(truth, _single(part), positive=positive, sample_weight=part.w)

    both = [part for part in study.left_out if len(np.unique(part.truth)) == 2]
    # With costs the threshold is not that of even odds, and with doubt there are two of them.
    threshold = 0.0 if study.decision is None else None
    return RocDisplay(curve(held), threshold, [curve(part) for part in both])
