"""The selection of a classifier as a whole, to be repeated on other rows and judged there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.targets import codes_of
from separatrix.messages import InputError
from separatrix.rows.block import Floats, unit_weights
from separatrix.study.classes.compare import ComparedClasses, compare_classes
from separatrix.study.classes.costs import DecisionCosts
from separatrix.study.classes.metrics import row_losses
from separatrix.study.classes.winner import fit_winner
from separatrix.study.comparison.averaging import choose_winner
from separatrix.study.comparison.options import Options
from separatrix.study.design import StudyDesign
from separatrix.study.folds import truth_of
from separatrix.study.progress import Step
from separatrix.study.result import Predictions
from separatrix.study.tasks import CLASSIFICATION
from separatrix.study.validation.nested import Procedure, Selected


def selection_of_classes(
    classes: NDArray[Any], options: Options, costs: DecisionCosts | None
) -> Procedure:
    """Compare, choose, calibrate and fit; answers are those of the whole model."""
    metric = options.metric_for(CLASSIFICATION)

    def compare(design: StudyDesign, step: Step) -> ComparedClasses:
        return compare_classes(design, classes, options, costs, step)

    def select(design: StudyDesign, step: Step) -> Selected:
        rows = design.table.take(design.folds.training)
        truth = truth_of(rows)
        present = set(truth if rows.block.w is None else truth[rows.block.w > 0])
        own = np.array([label for label in classes if label in present], dtype=object)
        if len(own) < 2:
            raise InputError("all training rows of an outer fold are of one class.")
        compared = compare_classes(design, own, options, costs, step)
        chosen = choose_winner(compared, options)
        winner = fit_winner(design, compared, chosen, costs)
        return Selected(chosen, lambda other: winner.predict(other, classes))

    def losses(found: Predictions) -> Floats:
        truth = codes_of(found.truth, classes)
        answers = codes_of(found.predicted, classes)
        if costs is not None:
            answers = np.where(
                np.asarray(found.predicted) == costs.reject_label, len(classes), answers
            )
        w = unit_weights(found.w, len(truth))
        own = None if costs is None else costs.among(classes)
        return row_losses(metric, truth, found.probabilities, answers, w, own)

    return Procedure(metric, compare, select, losses)
