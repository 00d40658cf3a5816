"""The search for the parameters of support vector regression.

ε is a tenth of a standard deviation of the target while bandwidths are compared; then a smaller and
a larger one are compared with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.rows.block import Floats
from separatrix.selection.tuning import DECIMALS
from separatrix.svm.tuning.losses import NumberLoss
from separatrix.svm.tuning.problems import regression_problems
from separatrix.svm.tuning.result import SVMTuning, tuning_of
from separatrix.svm.tuning.sample import Sample
from separatrix.svm.tuning.search import BELOW, least, staged_search
from separatrix.svm.tuning.validation import C_GRID, Point, Validation
from separatrix.svm.tuning.work import first_rows

#: Values of ε that are compared, in standard deviations of the target; the first in the search.
EPSILONS = (0.1, 0.02, 0.3)


def gaussian_numbers(sample: Sample, deadline: float = np.inf) -> SVMTuning:
    """C, bandwidth and ε of one SVM, in the units of the target."""
    y, mean, unit = _standardized(sample)

    def validation(rows: Sample, epsilon: float = EPSILONS[0]) -> Validation:
        own, tested = y[rows.rows], rows.tested
        loss = NumberLoss(own[tested], rows.w[tested], rows.fold[tested], rows.data.loss)
        problems = regression_problems(own, rows.w, epsilon)
        return Validation(rows, problems, loss, np.arange(rows.n))

    search = staged_search(validation, sample, first_rows(0), deadline)
    points = [replace(point, epsilon=EPSILONS[0]) for point in search.points]
    best = least(points)
    gram, places = search.gram(best.bandwidth), range(max(0, best.at - BELOW), len(C_GRID))
    for epsilon in EPSILONS[1:]:
        points += validation(sample, epsilon).points(
            gram, places, best.bandwidth, epsilon, best.at + 1
        )
    power = 2.0 if sample.data.loss == "squared" else 1.0
    return tuning_of(sample, [_in_units(point, mean, unit, unit**power) for point in points])


def _standardized(sample: Sample) -> tuple[Floats, float, float]:
    """Standardized targets of all rows, with their mean and unit."""
    y, w = np.asarray(sample.data.y, dtype=float), np.asarray(sample.data.w, dtype=float)
    mean = float(w @ y / w.sum())
    unit = float(np.sqrt(w @ (y - mean) ** 2 / w.sum())) or 1.0
    return ((y - mean) / unit).round(DECIMALS), mean, unit


def _in_units(point: Point, mean: float, unit: float, loss_unit: float) -> Point:
    return replace(
        point,
        C=point.C * unit,
        epsilon=point.epsilon * unit,
        losses=point.losses * loss_unit,
        scores=point.scores * unit + mean,
    )
