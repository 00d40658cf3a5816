"""Comparison of regression models: out-of-fold predictions, and their losses row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import InMemory
from separatrix.selection.averaging import Average, squared_error_average
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.study.candidates import Candidate
from separatrix.study.comparison.averaging import AveragedCandidates, average_candidates
from separatrix.study.comparison.cross_validation import cross_validate, muted
from separatrix.study.comparison.losses import Comparison, Losses, Scored, scored_or_refused
from separatrix.study.comparison.options import Options
from separatrix.study.comparison.reference import reference_predictions
from separatrix.study.comparison.tuning import tuning_data
from separatrix.study.design import StudyDesign
from separatrix.study.folds import MomentFolds, RowFolds, truth_of
from separatrix.study.measure import row_losses
from separatrix.study.numbers.predictive import Judged, checked, predictive_for
from separatrix.study.progress import Step
from separatrix.study.result import Entry
from separatrix.study.uncertainty import PredictiveCheck
from separatrix.study.validation.leave_one_out import closed_form, fold_models, leave_out


@dataclass(frozen=True)
class OutOfFoldNumbers:
    """Predictions of training rows, by position and in order, and the search that made them.

    ``judged`` are their targets under predictive distributions, None where the model has none.
    """

    rows: Ints
    values: Floats
    tuning: Tuning | None = None
    judged: Judged | None = None

    @classmethod
    def of(cls, rows: Ints, values: Floats, tuning: Tuning | None, judged: Judged | None) -> Self:
        """From rows in any order."""
        order = np.argsort(rows)
        inside = None if judged is None else judged.take(order)
        return cls(rows[order], values[order], tuning, inside)


@dataclass(frozen=True)
class ComparedNumbers:
    """The comparison, and the out-of-fold predictions of each candidate."""

    comparison: Comparison
    predictions: dict[str, OutOfFoldNumbers]
    data: TuningData
    folds: RowFolds

    def losses(self, found: OutOfFoldNumbers) -> Losses:
        """Losses of out-of-fold predictions, by both metrics."""
        own = self.comparison
        return _losses(self.data, found, self.folds, (own.metric, own.secondary or own.metric))

    def check(self, winner: str) -> PredictiveCheck | None:
        """The training rows under the predictive distributions of a candidate, out of fold."""
        found = self.predictions.get(winner)
        if found is None or found.judged is None:
            return None
        w = self.data.w[found.rows]
        return checked(self.folds, found.rows, found.values, found.judged, w)

    def reference(self, winner: str) -> Entry | None:
        """Gradient-boosted trees against the winner; None where they would take too long."""
        found = reference_predictions(self.data)
        if found is None:
            return None
        order = np.argsort(found.rows)
        answers = OutOfFoldNumbers(found.rows[order], found.predictions[order])
        return self.comparison.reference(self.losses(answers), winner, found.n_folds)

    def average(self, best: str) -> AveragedCandidates | None:
        """The average of all candidates; None if there are fewer than two."""
        common = np.flatnonzero(np.isin(self.folds.training, self.comparison.rows))
        found = {name: self.predictions[name] for name in self.comparison.complete}
        known = {name: f.values[np.isin(f.rows, common)] for name, f in found.items()}
        if len(known) < 2:
            return None
        y, w = self.data.y[common], self.data.w[common]

        def weigh(stacked: Floats, rows: Ints) -> Average:
            return squared_error_average(stacked[:, rows].T, y[rows], w[rows])

        def losses_of(values: Floats) -> Losses:
            return self.losses(OutOfFoldNumbers(common, values))

        own = self.comparison
        least = own.losses[best].by_metric[own.metric]
        return average_candidates(known, self.data.fold[common], weigh, losses_of, least)


def compare_numbers(
    design: StudyDesign, moments: MomentFolds | None, options: Options, metric: str, step: Step
) -> ComparedNumbers:
    """Cross-validate every candidate, simplest first; one that refuses the data says why."""
    folds = design.folds
    data = tuning_data(folds, (), metric, options.effort.work)
    secondary = "mae" if metric in ("rmse", "r2") else "rmse"
    predictions: dict[str, OutOfFoldNumbers] = {}

    def score(candidate: Candidate) -> Scored:
        values: Mapping[str, tuple[Any, ...]]
        if folds.leave_one_out:
            found, values = _left_out(candidate, folds, data)
        elif candidate.tunable:
            with muted():
                tuning = candidate.make(folds.k).tune(data.with_share(candidate.share))
            values, found = tuning.parameters_by_fold, _from_tuning(data, tuning)
        else:
            source: Any = moments if moments is not None and candidate.from_moments else folds
            parts, values = cross_validate(
                candidate,
                source,
                lambda model, fold: _answers(model, _rows_of(folds, candidate, fold)),
            )
            rows = np.concatenate([test for _, test in data.folds.pairs])
            found = _together(rows, parts, None)
        predictions[candidate.name] = found
        losses = _losses(data, found, folds, (metric, secondary))
        note = "" if found.tuning is None else found.tuning.note
        return Scored(candidate, losses, values, note)

    scored = []
    for candidate in design.candidates:
        step(f"comparing {candidate.name}")
        scored.append(scored_or_refused(candidate, score))
    return ComparedNumbers(
        Comparison(scored, metric, secondary, folds.units), predictions, data, folds
    )


def _left_out(
    candidate: Candidate, folds: RowFolds, data: TuningData
) -> tuple[OutOfFoldNumbers, Mapping[str, tuple[Any, ...]]]:
    """Every row predicted by a model of all others."""
    models = fold_models(candidate, folds, data)
    closed = closed_form(models, folds, data)
    if closed is not None:
        found = OutOfFoldNumbers(np.arange(data.n), closed, models.tuning)
        return found, models.hyperparameters
    source = folds.source(candidate)
    parts = leave_out(
        models, folds, data, lambda model, rows, _: (rows, *_answers(model, source.take(rows)))
    )
    rows = np.searchsorted(folds.training, np.concatenate([rows for rows, *_ in parts]))
    found = _together(rows, [answers for _, *answers in parts], models.tuning)
    return found, models.hyperparameters


def _together(rows: Ints, parts: Sequence[Any], tuning: Tuning | None) -> OutOfFoldNumbers:
    """The answers of several models, one after the other."""
    known = [judged for _, judged in parts if judged is not None]
    judged = Judged.joined(known) if len(known) == len(parts) else None
    predicted = np.concatenate([answers for answers, _ in parts])
    return OutOfFoldNumbers.of(rows, predicted, tuning, judged)


def _answers(model: Any, rows: InMemory) -> tuple[Floats, Judged | None]:
    """Predictions, and the targets under predictive distributions where the model has them."""
    predictive = predictive_for(model, rows)
    if predictive is None:
        return model.predict(rows), None
    return predictive.mean, Judged.of(truth_of(rows), predictive)


def _from_tuning(data: TuningData, tuning: Tuning) -> OutOfFoldNumbers:
    """The predictions that a search made on its way."""
    values, judged = np.ravel(tuning.predictions), None
    if tuning.deviations is not None:
        predictive = PredictiveDistribution(values, tuning.deviations)
        judged = Judged.of(data.y[tuning.rows], predictive)
    return OutOfFoldNumbers.of(tuning.rows, values, tuning, judged)


def _rows_of(folds: RowFolds, candidate: Candidate, fold: int) -> InMemory:
    """The rows of one fold, as a candidate reads them."""
    rows = folds.table if candidate.from_moments else folds.source(candidate)
    return rows.take(folds.split(fold)[1])


def _losses(
    data: TuningData, found: OutOfFoldNumbers, folds: RowFolds, metrics: tuple[str, ...]
) -> Losses:
    at = found.rows
    truth, w, fold = data.y[at], data.w[at], data.fold[at]
    values = {metric: row_losses(metric, truth, found.values, w) for metric in metrics}
    return Losses(folds.training[at], fold, w, values)
