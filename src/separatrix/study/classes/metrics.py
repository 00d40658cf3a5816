"""Metrics of classifiers as means over rows, so that two models are compared row by row.

    loss = Σ wᵢ vᵢ / Σ wᵢ,     se(loss_a − loss_b) = standard error of the mean of v_a − v_b

Error rate, log loss and cost are means of the losses vᵢ themselves. Balanced error, F1 and the area
under the ROC curve are ratios or means over pairs of rows: their vᵢ are the metric plus the
influence of row i on it, which has mean zero (delta method; for the area DeLong's placements).
Smaller is better throughout: F1 and AUC count as 1 − F1 and 1 − AUC.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.probability.costs import Costs
from separatrix.rows.block import Floats, Ints
from separatrix.study.measure import average, placements

#: A probability below this counts as this, so that one row cannot outweigh all others.
SMALLEST = float(np.finfo(float).eps)
#: What classifiers may be compared by.
CLASS_METRICS = ("log_loss", "error", "auc", "f1", "balanced_error", "cost")


def row_losses(
    metric: str,
    truth: Ints,
    probabilities: Floats | None,
    predicted: Ints,
    w: Floats,
    costs: Costs | None = None,
) -> Floats:
    """Values by row whose weighted mean is the loss, and whose differences compare two models.

    Parameters
    ----------
    metric : one of :data:`CLASS_METRICS`.
    truth : codes of the true classes; −1 is a class that the model does not know.
    probabilities : a column for each class; without them log loss and AUC are NaN.
    predicted : codes of the answers; for "cost" the number of classes stands for a rejection.
    w : weights of the rows.
    costs : for "cost" alone.

    Returns
    -------
    Floats
        One value a row; all NaN where the metric is not defined.

    Notes
    -----
    F1 is that of the second of two classes, the mean over classes if there are more; AUC likewise,
    each class against the rest. Balanced error is the mean over classes of their error rates.
    """
    if metric == "cost":
        assert costs is not None
        paid = costs.with_reject[truth, predicted]
        return np.where(truth >= 0, paid, math.nan)
    if metric == "error":
        return np.asarray(truth != predicted, dtype=float)
    if metric == "balanced_error":
        return _balanced_errors(truth, predicted, w)
    if metric == "f1":
        return 1.0 - _f1(truth, predicted, w, _count(truth, probabilities, predicted))
    if probabilities is None:
        return np.full(len(truth), math.nan)
    if metric == "auc":
        return 1.0 - _areas(truth, probabilities, w)
    return log_losses(probabilities, truth)


def log_losses(probabilities: Floats, truth: Ints) -> Floats:
    """−log p of the true class, row by row; an unknown class (code −1) has p = 0."""
    known = truth >= 0
    p = np.zeros(len(truth))
    p[known] = probabilities[np.flatnonzero(known), truth[known]]
    return np.asarray(-np.log(np.clip(p, SMALLEST, 1.0)))


def _count(truth: Ints, probabilities: Floats | None, predicted: Ints) -> int:
    """Number of classes."""
    if probabilities is not None:
        return int(probabilities.shape[1])
    return int(max(truth.max(), predicted.max())) + 1


def _balanced_errors(truth: Ints, predicted: Ints, w: Floats) -> Floats:
    """B + W (1[wrong] − eₖ) / (K Wₖ), where B = Σ eₖ / K over the K classes that have rows."""
    wrong = (truth != predicted).astype(float)
    present = np.unique(truth[w > 0])
    centered, rates = np.zeros(len(truth)), []
    for code in present:
        mine = truth == code
        weight = w[mine].sum()
        rates.append(float(w[mine] @ wrong[mine] / weight))
        centered[mine] = (wrong[mine] - rates[-1]) * w.sum() / (len(present) * weight)
    return np.asarray(np.mean(rates) + centered)


def _f1(truth: Ints, predicted: Ints, w: Floats, k: int) -> Floats:
    """F1 and the influence of each row: of the second of two classes, or the mean over classes."""

    def one(code: int) -> Floats:
        mine, answered = truth == code, predicted == code
        both = mine.astype(float) + answered
        total = w @ both
        if total <= 0:
            return np.zeros(len(truth))
        value = 2.0 * (w @ (mine & answered)) / total
        return np.asarray(value + (2.0 * (mine & answered) - value * both) * w.sum() / total)

    if k <= 2 and truth.min() >= 0:
        return one(1)
    return _mean_over(np.union1d(truth[w > 0], predicted[w > 0]), one)


def _areas(truth: Ints, probabilities: Floats, w: Floats) -> Floats:
    """AUC and the influence of each row: of two classes, or the mean of each against the rest."""
    if probabilities.shape[1] == 2:
        return _area(truth == 1, probabilities[:, 1], w)
    present = np.unique(truth[(w > 0) & (truth >= 0)])
    if not len(present):  # no row of a class that training had
        return np.full(len(truth), math.nan)
    return _mean_over(present, lambda code: _area(truth == code, probabilities[:, code], w))


def _mean_over(codes: NDArray[Any], one: Callable[[int], Floats]) -> Floats:
    """The mean of a metric over classes, row by row."""
    total = one(int(codes[0]))
    for code in codes[1:]:
        total = total + one(int(code))
    return np.asarray(total / len(codes))


def _area(mine: NDArray[np.bool_], score: Floats, w: Floats) -> Floats:
    """A + W (placement − A) / W_side; NaN where one side has no rows."""
    up, down = w[mine].sum(), w[~mine].sum()
    if up <= 0 or down <= 0:
        return np.full(len(mine), math.nan)
    place = np.empty(len(mine))
    place[mine] = placements(score[mine], score[~mine], w[~mine])
    place[~mine] = 1.0 - placements(score[~mine], score[mine], w[mine])
    area = average(place[mine], w[mine])
    return np.asarray(area + (place - area) * w.sum() / np.where(mine, up, down))
