"""Any classifier with probabilities that can be trusted: calibrated on scores of held-out rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.targets import codes_of, two_or_more
from separatrix.estimators.wrapped import (
    Labelled,
    WrappedClassifier,
    each_notice_once,
    fitted,
    joint_certificate,
    joint_scores,
    labelled,
    scores_of,
)
from separatrix.messages import InputError
from separatrix.probability.calibrations import (
    Calibration,
    IsotonicCalibration,
    LogisticCalibration,
    PlattCalibration,
    TemperatureCalibration,
)
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.selection.folds import DEFAULT_FOLDS, folds_of

_METHODS: dict[str, type[Calibration]] = {
    "logistic": LogisticCalibration,
    "isotonic": IsotonicCalibration,
    "platt": PlattCalibration,
}
#: The method that takes all classes together.
JOINT = "temperature"


class CalibratedClassifier(WrappedClassifier):
    """p = calibration(score): fitted on all rows, calibrated on scores of rows that were held out.

    Every fold is scored by a copy of the estimator that never saw it; one calibration is learned
    from all those scores together, and applied to the estimator fitted on all rows. Two classes
    need one calibration. Of K classes each is calibrated against the rest and the probabilities
    are divided by their sum; a row that every calibration denies gets 1/K. A temperature is one
    number for all classes, and leaves every answer as it was.

    Parameters
    ----------
    estimator : classifier with ``decision_function`` or ``predict_proba``.
    method : {"logistic", "isotonic", "platt", "temperature"}, default="logistic"
    cv : int, splitter or (train, test) pairs, default=5
        A number of folds deals the rows of each class to the folds in turn.

    Attributes
    ----------
    estimator_ : the estimator, fitted on all rows.
    calibrations_ : one for two classes or a temperature, else one for each class.
    """

    calibrations_: list[Any]

    def __init__(self, estimator: Any, *, method: str = "logistic", cv: Any = 5) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        _check(self.method)
        rows = labelled(self, X, y, sample_weight)
        two_or_more(np.unique(rows.y[rows.counted]).tolist())
        with each_notice_once():
            self._adopt(fitted(self.estimator, rows))
            scores, codes, w = self._held_out(rows)
        return self.around(self.estimator_, scores, codes, w)

    def around(self, model: Any, scores: Floats, codes: Ints, w: Floats | None = None) -> Self:
        """Take a fitted classifier as it is; calibrate it on scores of rows that were held out.

        ``codes`` are the positions of their classes in ``model.classes_``.
        """
        _check(self.method)
        self._adopt(model)
        if self.method == JOINT:
            joint = TemperatureCalibration().fit(joint_scores(model, scores), codes, w)
            self.calibrations_ = [joint]
        else:
            self.calibrations_ = calibrations(self.method, scores, codes, len(self.classes_), w)
        self.certificate_ = joint_certificate(
            f"Calibrated ({self.method}) on the scores of {len(codes)} held-out rows",
            [*self.calibrations_, self.estimator_],
        )
        return self

    def _held_out(self, rows: Labelled) -> tuple[Floats, Ints, Floats | None]:
        """Scores of rows by models that did not see them, with the positions of their classes."""
        codes = codes_of(rows.y, self.classes_)
        scores, truth, weights = [], [], []
        for train, test in self._folds(rows, codes):
            seen, held = rows.take(train), rows.take(test)
            if get_tags(self.estimator).input_tags.pairwise:  # a column for each row trained on
                seen, held = (Labelled(part.x[:, train], part.y, part.w) for part in (seen, held))
            model = fitted(self.estimator, seen)
            if len(model.classes_) != len(self.classes_):
                known = set(model.classes_.tolist())
                unseen = next(c for c in self.classes_.tolist() if c not in known)
                raise InputError(
                    f"Class {unseen!r} is absent from the training rows of a fold.",
                    remedy="Choose folds that hold every class, or give cv as a number.",
                )
            scores.append(scores_of(model, held.x))
            truth.append(codes[test])
            weights.append(unit_weights(held.w, len(test)))
        w = None if rows.w is None else np.concatenate(weights)
        return np.concatenate(scores), np.concatenate(truth), w

    def _folds(self, rows: Labelled, codes: Ints) -> Iterator[tuple[Ints, Ints]]:
        """(train, test) positions among the rows that have weight."""
        counted = rows.counted
        cv = DEFAULT_FOLDS if self.cv is None else self.cv
        if isinstance(cv, int | np.integer):
            yield from _dealt(counted, codes[counted], int(cv), self.classes_)
            return
        there = np.zeros(len(codes), dtype=bool)
        there[counted] = True
        for train, test in folds_of(cv, len(codes), rows.y).pairs:
            if there[test].any():
                yield train[there[train]], test[there[test]]

    def predict_proba(self, X: Any) -> Floats:
        """One probability for each class in ``classes_``; rows sum to one."""
        check_is_fitted(self)
        scores = scores_of(self.estimator_, X)
        first = self.calibrations_[0]
        if isinstance(first, TemperatureCalibration):
            return first.predict(joint_scores(self.estimator_, scores))
        return probabilities_of(self.calibrations_, scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])


def calibrations(
    method: str, scores: Floats, codes: Ints, classes: int, w: Floats | None = None
) -> list[Calibration]:
    """One calibration for two classes, else one of each class against the rest."""
    targets = [1] if classes == 2 else range(classes)
    columns = scores[:, None] if scores.ndim == 1 else scores
    return [_METHODS[method]().fit(columns[:, j], codes == k, w) for j, k in enumerate(targets)]


def probabilities_of(maps: list[Calibration], scores: Floats) -> Floats:
    """What calibrations make of scores (n, or n x K): a probability for each class."""
    if scores.ndim == 1:
        p = maps[0].predict(scores)
        return np.stack([1.0 - p, p], axis=1)
    p = np.stack([c.predict(s) for c, s in zip(maps, scores.T, strict=True)], 1)
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])


def _check(method: str) -> None:
    if method not in (*_METHODS, JOINT):
        raise InputError(
            f"method={method!r} is no known calibration.",
            remedy=f"Choose one of {', '.join(map(repr, (*_METHODS, JOINT)))}.",
        )


def _dealt(rows: Ints, codes: Ints, k: int, classes: NDArray[Any]) -> Iterator[Any]:
    """Deal rows to k folds like cards, class after class: each class is spread over the folds."""
    if not 2 <= k <= len(rows):
        raise InputError(
            f"cv={k} folds cannot be made of n_samples={len(rows)} rows.",
            remedy=f"Choose cv between 2 and {len(rows)}.",
        )
    sizes = np.bincount(codes, minlength=len(classes))
    if sizes.min() < 2:
        raise InputError(
            f"Class {classes.tolist()[sizes.argmin()]!r} has one row: held out, no row of it is "
            "left to train on.",
            remedy="Give at least two rows of each class.",
        )
    fold = np.empty(len(rows), dtype=np.int64)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(rows)) % k
    for f in range(k):
        yield rows[fold != f], rows[fold == f]
