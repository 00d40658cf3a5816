"""Out-of-fold predictions of a classifier: each training row by a model not fitted to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.targets import codes_of, with_every_class
from separatrix.estimators.wrapped import decision_scores, log_odds
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.rows.rows import InMemory
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.comparison.cross_validation import cross_validate, muted
from separatrix.study.design import probabilities_for
from separatrix.study.folds import SHOWN_ROWS, RowFolds, thinned, truth_of
from separatrix.study.result import Predictions
from separatrix.study.validation.leave_one_out import closed_form, fold_models, leave_out

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
