"""Out-of-fold predictions of a classifier: each training row by a model not fitted to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.targets import codes_of
from separatrix.estimators.wrapped import decision_scores
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.rows.rows import InMemory
from separatrix.study.candidates import Candidate
from separatrix.study.classes.metrics import log_losses
from separatrix.study.cross_validation import cross_validate, score
from separatrix.study.design import probabilities_for
from separatrix.study.folds import SHOWN_ROWS, RowFolds, thinned, truth_of
from separatrix.study.result import CrossValidatedScore, Predictions

#: Numbers stored of one candidate until the choice is made.
MAX_NUMBERS = 2_000_000


@dataclass(frozen=True)
class OutOfFold:
    """One entry per row, fold after fold; ``truth`` and ``predicted`` are positions in ``classes``.

    ``scores`` is None where a training set lacked a class: scores of different sets of classes
    cannot be calibrated together. ``probabilities`` is None where the model has none.
    ``hyperparameters`` are the tuned ones by fold.
    """

    classes: NDArray[Any]
    rows: NDArray[np.intp]
    fold: Ints
    truth: Ints
    predicted: Ints
    w: Floats
    scores: Floats | None
    probabilities: Floats | None
    hyperparameters: dict[str, tuple[float, ...]] = field(default_factory=dict)
    separable: bool = False

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

    def thinned(self) -> OutOfFold:
        """An even selection, small enough to be stored while others are compared."""
        most = max(1, MAX_NUMBERS // len(self.classes))
        return self.take(thinned(np.arange(len(self.truth)), most))

    def mean_by_fold(self, metric: str, loss: Floats) -> CrossValidatedScore:
        """The mean loss of every fold, and over them."""
        each = [
            float(np.average(loss[self.fold == f], weights=self.w[self.fold == f]))
            for f in self.folds
        ]
        return score(metric, each)

    def error(self) -> CrossValidatedScore:
        """The error rate."""
        return self.mean_by_fold("error", (self.truth != self.predicted).astype(float))

    def log_loss(self, probabilities: Floats) -> CrossValidatedScore:
        """The mean of −log p of the true class."""
        return self.mean_by_fold("log_loss", log_losses(probabilities, self.truth))


def predict_out_of_fold(candidate: Candidate, folds: RowFolds, classes: NDArray[Any]) -> OutOfFold:
    """Every fold, predicted by the candidate fitted to the others."""
    parts, tuned = cross_validate(
        candidate, folds, lambda model, fold: _predict(model, folds, candidate, fold, classes)
    )
    return replace(
        parts[0],
        rows=np.concatenate([part.rows for part in parts]),
        fold=np.concatenate([part.fold for part in parts]),
        truth=np.concatenate([part.truth for part in parts]),
        predicted=np.concatenate([part.predicted for part in parts]),
        w=np.concatenate([part.w for part in parts]),
        scores=_together(part.scores for part in parts),
        probabilities=_together(part.probabilities for part in parts),
        hyperparameters=tuned,
        separable=any(part.separable for part in parts),
    )


def _predict(
    model: Any, folds: RowFolds, candidate: Candidate, fold: int, classes: NDArray[Any]
) -> OutOfFold:
    """Predictions of one fold, and whether its training rows were linearly separable."""
    at = folds.split(fold)[1]
    rows = folds.source(candidate).take(at)
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
        separable=isinstance(model, LogisticRegression) and model.separation_ is not None,
    )


def aligned_probabilities(model: Any, rows: InMemory, classes: NDArray[Any]) -> Floats | None:
    """A column for each of ``classes``: zero for one that the model was not fitted to."""
    p = probabilities_for(model, rows)
    if p is None:
        return None
    p = np.asarray(p, dtype=float)
    at = codes_of(model.classes_, classes)
    if np.array_equal(at, np.arange(len(classes))):
        return p
    whole = np.zeros((len(p), len(classes)))
    whole[:, at[at >= 0]] = p[:, at >= 0]
    return whole


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
