"""What a candidate says of the training rows, each asked by a model that did not see it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.targets import codes_of
from separatrix.estimators.wrapped import decision_scores
from separatrix.messages import SeparatrixWarning
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.study import test_predictions as held
from separatrix.study.candidates import Candidate
from separatrix.study.data import RowFolds, truth_of
from separatrix.study.result import CrossValidatedScore, Predictions
from separatrix.study.test_predictions import thinned

#: Numbers kept of one candidate until the choice is made.
MOST_KEPT = 2_000_000
#: A probability below this counts as this, so that one row cannot outweigh all others.
SMALLEST = float(np.finfo(float).eps)


@dataclass(frozen=True)
class OutOfFold:
    """One entry per row, fold after fold; codes are positions in ``classes``.

    ``scores`` is None where some fold lacked a class: scores of different sets of classes cannot be
    read by one calibration. ``probabilities`` is None where the model has none.
    """

    classes: NDArray[Any]
    rows: NDArray[np.intp]
    fold: Ints
    truth: Ints
    predicted: Ints
    w: Floats
    scores: Floats | None
    probabilities: Floats | None
    chosen: dict[str, tuple[float, ...]] = field(default_factory=dict)
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
        """An even selection, small enough to be kept while others are compared."""
        most = max(1, MOST_KEPT // len(self.classes))
        return self.take(thinned(np.arange(len(self.truth)), most))

    def spread(self, metric: str, loss: Floats) -> CrossValidatedScore:
        """The mean loss of every fold, and over them."""
        each = [
            float(np.average(loss[self.fold == f], weights=self.w[self.fold == f]))
            for f in self.folds
        ]
        error = float(np.std(each, ddof=1) / np.sqrt(len(each)))
        return CrossValidatedScore(metric, tuple(each), float(np.mean(each)), error)

    def error(self) -> CrossValidatedScore:
        """The share of wrong answers."""
        return self.spread("error", (self.truth != self.predicted).astype(float))

    def log_loss(self, probabilities: Floats) -> CrossValidatedScore:
        """−log of the probability given to the truth."""
        return self.spread("log_loss", log_losses(probabilities, self.truth))


def log_losses(probabilities: Floats, truth: Ints) -> Floats:
    """−log p of the truth, row by row; a class that is not known (code −1) has p = 0."""
    known = truth >= 0
    p = np.zeros(len(truth))
    p[known] = probabilities[np.flatnonzero(known), truth[known]]
    return np.asarray(-np.log(np.clip(p, SMALLEST, 1.0)))


def ask(candidate: Candidate, bench: RowFolds, classes: NDArray[Any]) -> OutOfFold:
    """Every fold, judged by the candidate fitted to the others."""
    found, models = [], []
    with warnings.catch_warnings():
        # shown once, for the model that is kept
        warnings.simplefilter("ignore", SeparatrixWarning)
        for at in range(bench.k):
            inside, outside = bench.sides(at)
            model = bench.fitted(candidate, inside)
            found.append(_answers(model, bench, candidate, at, outside, classes))
            models.append(model)
    chosen = {
        name.rstrip("_"): tuple(float(getattr(m, name)) for m in models) for name in candidate.tuned
    }
    rows, fold, truth, predicted, w = (
        np.concatenate([part[j] for part in found]) for j in range(5)
    )
    return OutOfFold(
        classes,
        rows,
        fold,
        truth,
        predicted,
        w,
        _together(part[5] for part in found),
        _together(part[6] for part in found),
        chosen,
        any(getattr(m, "separation_", None) is not None for m in models),
    )


def _answers(
    model: Any,
    bench: RowFolds,
    candidate: Candidate,
    fold: int,
    outside: NDArray[np.intp],
    classes: NDArray[Any],
) -> tuple[Any, ...]:
    rows = bench.source(candidate).take(outside)
    truth = codes_of(truth_of(rows), classes)
    p = probabilities_for(model, rows, classes)
    complete = len(model.classes_) == len(classes)
    scores = decision_scores(model, rows) if complete and has_scores(model) else None
    predicted = p.argmax(axis=1) if p is not None else codes_of(model.predict(rows), classes)
    w = unit_weights(rows.block.w, len(truth))
    return outside, np.full(len(truth), fold), truth, predicted, w, scores, p


def has_scores(model: Any) -> bool:
    """Whether there is anything that a calibration could read."""
    return hasattr(model, "decision_function") or hasattr(model, "predict_proba")


def probabilities_for(model: Any, rows: Any, classes: NDArray[Any]) -> Floats | None:
    """A column for each of ``classes``: zero for one that the model never met."""
    if not hasattr(model, "predict_proba"):
        return None
    p = np.asarray(model.predict_proba(rows), dtype=float)
    at = codes_of(model.classes_, classes)
    if (at == np.arange(len(classes))[: len(at)]).all() and len(at) == len(classes):
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


def left_out(asked: OutOfFold, bench: RowFolds) -> tuple[Predictions, ...]:
    """The folds of two classes, which are drawn as curves; of a large table an even selection."""
    if len(asked.classes) != 2:
        return ()
    found = []
    for fold in asked.folds:
        at = thinned(np.flatnonzero(asked.fold == fold), held.SHOWN_ROWS // len(asked.folds))
        part = asked.take(at)
        rows = bench.table.take(part.rows)
        answers = (truth_of(rows), asked.classes[part.predicted], part.scores, rows.block.w)
        found.append(Predictions(rows.row_ids, *answers, part.probabilities))
    return tuple(found)
