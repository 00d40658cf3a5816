"""Probabilities from scores by a sigmoid.

    p(s) = 1 / (1 + exp(−γ (s − d₀) − log r))

If the scores of both classes are normal with one variance σ², the sigmoid is exact:
γ = (d̄⁺ − d̄⁻)/σ², d₀ = (d̄⁺ + d̄⁻)/2 with d̄ the class means, and r the ratio of the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from separatrix.probability.scored import Scored, unit_of
from separatrix.rows.block import Floats

EPS = float(np.finfo(float).eps)
LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class Sigmoid:
    """``slope`` γ, ``centre`` d₀ where the classes speak equally, ``log_ratio`` log r."""

    slope: float
    centre: float
    log_ratio: float

    def probability(self, score: Floats) -> Floats:
        """The probability of the positive class for every score."""
        with np.errstate(over="ignore"):
            return np.asarray(expit(self.slope * (score - self.centre) + self.log_ratio))


def class_mean_sigmoid(rows: Scored, ratio: float | None = None) -> Sigmoid:
    """The sigmoid of the class means: no search, and free of the unit of the scores.

    σ² is the variance about the class means, divided by the weight of all rows. Scores that do not
    vary within the classes give a step: σ is then taken as the size of a rounding error.
    """
    unit = unit_of(rows.score)
    mean, square, weight = np.zeros(2), np.zeros(2), np.zeros(2)
    for k, positive in enumerate((False, True)):
        s, w = rows.of_class(positive)
        s = s / unit
        weight[k] = s.size if w is None else w.sum()
        mean[k] = s.mean() if w is None else w @ s / weight[k]
        away = s - mean[k]
        square[k] = away @ away if w is None else w @ (away * away)
    apart = mean[1] - mean[0]
    rounding = EPS * np.abs(mean).max()
    variance = max(square.sum() / weight.sum(), rounding**2, float(np.finfo(float).tiny))
    odds = weight[1] / weight[0] if ratio is None else ratio
    return sigmoid_of(apart / variance, float(mean.sum() / 2), float(np.log(odds)), unit)


def sigmoid_of(slope: float, centre: float, log_ratio: float, unit: float) -> Sigmoid:
    """The sigmoid of scores that were divided by ``unit`` when it was learned."""
    with np.errstate(over="ignore"):
        steep = np.clip(np.float64(slope) / unit, -LARGEST, LARGEST)
    return Sigmoid(float(steep), centre * unit, log_ratio)
