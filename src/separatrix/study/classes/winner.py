"""The chosen classifier: fitted to all training rows, calibrated, deciding by costs.

One candidate is chosen, or an average of several where that is asked for and better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from separatrix.estimators.averages.averaged import AveragedClassifier
from separatrix.messages import InputError
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import InMemory
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.classes.calibration import with_calibration
from separatrix.study.classes.compare import ComparedClasses
from separatrix.study.classes.costs import DecisionCosts
from separatrix.study.classes.out_of_fold import OutOfFold, aligned_probabilities
from separatrix.study.classes.thresholds import as_decision, metric_costs
from separatrix.study.comparison.averaging import AveragedCandidates, Chosen
from separatrix.study.comparison.learning_curve import learning_curve
from separatrix.study.design import StudyDesign, scores_for, with_warnings
from separatrix.study.folds import RowFolds, truth_of
from separatrix.study.result import CalibrationCheck, LearningCurve, Predictions


@dataclass(frozen=True)
class Winner:
    """The fitted estimator ``core``, and the same with calibration and costs, the ``model``.

    ``candidate`` is None for an average, whose core is the whole of it.
    """

    core: Any
    model: Any
    out_of_fold: OutOfFold
    costs: DecisionCosts | None = None
    candidate: Candidate | None = None
    warnings: tuple[str, ...] = ()
    check: CalibrationCheck | None = None
    messages: tuple[str, ...] = ()

    @property
    def encoding(self) -> Encoding | None:
        """How the columns are encoded; None for a model that reads the table itself."""
        raw = self.candidate is not None and self.candidate.raw
        return None if raw else getattr(self.core, "encoding_", None)

    def predict(self, rows: InMemory, classes: NDArray[Any]) -> Predictions:
        """Answers and probabilities of the whole model, scores of the estimator within."""
        found = predictions(self.core, self.model, rows, classes)
        if self.check is None or self.check.method is None:
            return found
        return replace(found, uncalibrated=aligned_probabilities(self.core, rows, classes))

    def curve(self, folds: RowFolds, seed: int) -> LearningCurve | None:
        """The learning curve of a candidate; none of an average."""
        if self.candidate is None:
            return None
        return learning_curve(self.candidate, folds, "error", seed, self.out_of_fold.tuning)


def predictions(core: Any, model: Any, rows: InMemory, classes: NDArray[Any]) -> Predictions:
    """Answers and probabilities of ``model``, scores of the estimator ``core`` within."""
    return Predictions(
        rows.row_ids,
        truth_of(rows),
        model.predict(rows),
        scores_for(core, rows),
        rows.block.w,
        aligned_probabilities(model, rows, classes),
    )


def fit_winner(
    design: StudyDesign,
    compared: ComparedClasses,
    chosen: Chosen,
    costs: DecisionCosts | None,
) -> Winner:
    """The winner on all folds, with its calibration and the costs of its decisions."""
    name = chosen.choice.winner
    if chosen.averaged is None:
        candidate, found = design.named(name), compared.predictions[name]
        core, warned = with_warnings(lambda: design.folds.fit(candidate, found.out_of_fold.tuning))
        model = with_calibration(candidate, core, found)
        summary = () if found.check is None else (found.check.summary,)
        winner = Winner(
            core, model, found.out_of_fold, None, candidate, warned, found.check, summary
        )
    else:
        winner = _fit_average(design, compared, chosen.choice.best, chosen.averaged)
    return _with_costs(winner, name, compared, costs)


def _fit_average(
    design: StudyDesign, compared: ComparedClasses, best: str, averaged: AveragedCandidates
) -> Winner:
    def fit(name: str) -> Any:
        candidate, found = design.named(name), compared.predictions[name]
        return with_calibration(
            candidate, design.folds.fit(candidate, found.out_of_fold.tuning), found
        )

    models, warned = with_warnings(lambda: [fit(name) for name in averaged.weights])
    blank = AveragedClassifier([clone(model) for model in models], cv=design.folds.k)
    model = blank.from_fitted(models, averaged.average)
    first = compared.predictions[best].out_of_fold.at(averaged.losses.rows)
    found = replace(
        first.with_probabilities(averaged.predictions), scores=None, tuning=None, hyperparameters={}
    )
    return Winner(model, model, found, warnings=warned)


def _with_costs(
    winner: Winner, name: str, compared: ComparedClasses, costs: DecisionCosts | None
) -> Winner:
    """The model with costs: those given, or those that suit the metric."""
    found = winner.out_of_fold
    if costs is None:
        metric = compared.comparison.metric
        implied = metric_costs(metric, found)
        if implied is None or name == BASELINE:
            return winner
        costs = as_decision(implied, found.classes)
        text = f"Decisions are those that suit {metric!r}, not the most probable class."
        winner = replace(winner, messages=(*winner.messages, text))
    if found.probabilities is None:
        raise InputError(
            f"{name} was chosen, and decisions at costs need probabilities.",
            remedy="Compare by `metric='log_loss'`, or choose others with `models`.",
        )
    return replace(winner, model=costs.from_fitted(winner.model), costs=costs)
