"""Comparison of classifiers: out-of-fold probabilities, calibrated, and their losses row by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.probability.costs import Costs
from separatrix.rows.block import Floats, Ints
from separatrix.selection.averaging import Average, log_loss_average
from separatrix.selection.tuning import TuningData
from separatrix.study.candidates import Candidate
from separatrix.study.classes.calibration import Calibrated, calibrate
from separatrix.study.classes.costs import DecisionCosts
from separatrix.study.classes.metrics import row_losses
from separatrix.study.classes.out_of_fold import OutOfFold, predict_out_of_fold
from separatrix.study.classes.thresholds import metric_costs
from separatrix.study.comparison.averaging import AveragedCandidates, average_candidates
from separatrix.study.comparison.losses import Comparison, Losses, Scored, scored_or_refused
from separatrix.study.comparison.options import Options
from separatrix.study.comparison.reference import reference_predictions
from separatrix.study.comparison.tuning import tuning_data
from separatrix.study.design import StudyDesign
from separatrix.study.progress import Step
from separatrix.study.result import Entry
from separatrix.study.tasks import CLASSIFICATION

#: Shown beside the metric that decides; of all others it is the error rate.
SECONDARY = {"error": "log_loss"}


@dataclass(frozen=True)
class ComparedClasses:
    """The comparison, and the out-of-fold predictions of each candidate."""

    comparison: Comparison
    predictions: dict[str, Calibrated]
    data: TuningData
    rows: Ints
    costs: Costs | None

    def reference(self, winner: str) -> Entry | None:
        """Gradient-boosted trees against the winner; None where they would take too long."""
        found = reference_predictions(self.data)
        if found is None:
            return None
        order = np.argsort(found.rows)
        at, p = found.rows[order], found.predictions[order]
        own = self.comparison
        metrics = (own.metric, own.secondary or own.metric)
        answers = OutOfFold(
            self.predictions[winner].out_of_fold.classes,
            self.rows[at],
            self.data.fold[at],
            np.asarray(self.data.y)[at],
            p.argmax(axis=1),
            self.data.w[at],
            None,
            p,
        )
        return own.reference(_losses(answers, metrics, self.costs), winner, found.n_folds)

    def average(self, best: str) -> AveragedCandidates | None:
        """The average of all candidates with probabilities; None if there are fewer than two."""
        own = self.comparison
        found = {name: self.predictions[name].out_of_fold for name in own.complete}
        found = {name: f for name, f in found.items() if f.probabilities is not None}
        if len(found) < 2 or best not in found:
            return None
        rows = reduce(np.intersect1d, [f.rows for f in found.values()], own.rows)
        known = {name: f.at(rows) for name, f in found.items()}
        first = known[best]
        metrics = (own.metric, own.secondary or own.metric)

        def weigh(stacked: Floats, rows: Ints) -> Average:
            true_class = stacked[:, rows, first.truth[rows]].T
            return log_loss_average(true_class, first.w[rows])

        def losses_of(p: Floats) -> Losses:
            return _losses(first.with_probabilities(p), metrics, self.costs)

        probabilities = {
            n: f.probabilities for n, f in known.items() if f.probabilities is not None
        }
        losses = _losses(first, metrics, self.costs).by_metric[own.metric]
        return average_candidates(probabilities, first.fold, weigh, losses_of, losses)


def compare_classes(
    design: StudyDesign,
    classes: NDArray[Any],
    options: Options,
    costs: DecisionCosts | None,
    step: Step,
) -> ComparedClasses:
    """Cross-validate every candidate, simplest first; one that refuses the data says why."""
    metric = options.metric_for(CLASSIFICATION)
    secondary = SECONDARY.get(metric, "error")
    data = tuning_data(design.folds, classes, metric, options.effort.work)
    scored: list[Scored] = []
    predictions: dict[str, Calibrated] = {}
    own_costs = None if costs is None else costs.among(classes)

    def score(candidate: Candidate) -> Scored:
        found = predict_out_of_fold(candidate, design.folds, classes, data)
        calibrated = calibrate(candidate, found)
        predictions[candidate.name] = calibrated.thinned()
        losses = _losses(calibrated.out_of_fold, (metric, secondary), own_costs)
        note = calibrated.why or ("" if found.tuning is None else found.tuning.note)
        return Scored(candidate, losses, found.hyperparameters, note, calibrated.method)

    for candidate in design.candidates:
        step(f"comparing {candidate.name}")
        scored.append(scored_or_refused(candidate, score))
    comparison = Comparison(scored, metric, secondary, design.folds.units)
    return ComparedClasses(comparison, predictions, data, design.folds.training, own_costs)


def _losses(found: OutOfFold, metrics: tuple[str, ...], costs: Costs | None) -> Losses:
    """Losses of the decisions that suit each metric: of least cost, or most probable."""
    p, values = found.probabilities, {}
    for metric in metrics:
        answers = found.predicted
        decide = costs if metric == "cost" else metric_costs(metric, found)
        if decide is not None and p is not None:
            answers = decide.decide(p)
        values[metric] = row_losses(metric, found.truth, p, answers, found.w, costs)
    return Losses(found.rows, found.fold, found.w, values)
