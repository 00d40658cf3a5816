"""Calibration of probabilities, measured in bins of predicted probability.

    Brier = mean (p − y)² = reliability − resolution + uncertainty + within

With nₖ, p̄ₖ and ōₖ the fraction, mean probability and observed frequency of bin k, and ō of all:
reliability Σ nₖ (p̄ₖ − ōₖ)², resolution Σ nₖ (ōₖ − ō)², uncertainty ō (1 − ō). ``within`` is the
variance that the binning hides: zero where every bin holds one probability only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError
from separatrix.notebook import Grid, Item, Sentence, Shown
from separatrix.probability.roc import binary_scores
from separatrix.rows.schema import check_sample_weight


@dataclass(frozen=True, repr=False)
class Reliability(Shown):
    """One entry for each bin, by increasing probability; ``weight`` sums to one."""

    predicted: Floats
    observed: Floats
    weight: Floats
    brier: float

    def _display(self) -> list[Item]:
        columns = zip(self.predicted, self.observed, self.weight, strict=True)
        lines = [(f"{p:.3f}", f"{o:.3f}", f"{100 * w:.1f} %") for p, o, w in columns]
        text = (
            f"Expected calibration error {self.expected_calibration_error:.4f}, "
            f"Brier score {self.brier:.4f}."
        )
        return [Sentence(text), Grid(("predicted", "observed", "rows"), lines, frozenset())]

    @property
    def expected_calibration_error(self) -> float:
        """Σ nₖ |p̄ₖ − ōₖ|."""
        return float(self.weight @ np.abs(self.predicted - self.observed))

    @property
    def maximum_calibration_error(self) -> float:
        """max |p̄ₖ − ōₖ|."""
        return float(np.abs(self.predicted - self.observed).max())

    @property
    def reliability(self) -> float:
        """Mean squared difference of predicted probability and observed frequency: zero is best."""
        return float(self.weight @ (self.predicted - self.observed) ** 2)

    @property
    def resolution(self) -> float:
        """Variance of the observed frequencies over the bins: more is better."""
        return float(self.weight @ (self.observed - self._base) ** 2)

    @property
    def uncertainty(self) -> float:
        """Brier score of predicting the overall frequency for every row."""
        return float(self._base * (1.0 - self._base))

    @property
    def within(self) -> float:
        """The part of the Brier score within bins."""
        return self.brier - (self.reliability - self.resolution + self.uncertainty)

    @property
    def _base(self) -> float:
        return float(self.weight @ self.observed)


def reliability(
    y: Any,
    probability: Any,
    *,
    positive: Any = None,
    bins: int | None = 10,
    sample_weight: Any = None,
) -> Reliability:
    """Reliability diagram: observed frequency against predicted probability, bin by bin.

        Brier = reliability − resolution + uncertainty + within

    A boolean ``y`` may be all true or all false: with the probability of the predicted class and
    ``y == predicted`` this measures classifiers of any number of classes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two classes.
    probability : array-like of shape (n,)
        Predicted probability of the positive class.
    positive : object, default=None
        The positive class; None takes the second of the two.
    bins : int or None, default=10
        Number of equal bins of [0, 1]; None makes a bin of every distinct probability.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; a weight of w counts as w equal rows.

    Returns
    -------
    Reliability
        ``predicted``, ``observed`` and ``weight`` by bin, ``brier`` and its decomposition.

    See Also
    --------
    expected_calibration_error : One number from the same bins.
    brier_score : Mean squared error of probabilities of all classes.

    References
    ----------
    A. H. Murphy, A new vector partition of the probability score, 1973.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.reliability([0, 0, 1, 1], [0.15, 0.15, 0.15, 0.95])
    >>> found.predicted.round(2), found.observed.round(2)
    (array([0.15, 0.95]), array([0.33, 1.  ]))
    >>> round(found.expected_calibration_error, 3)
    0.15
    """
    p = np.asarray(probability, dtype=float)
    is_positive = _positives(y, p, positive)
    if not ((p >= 0) & (p <= 1)).all():
        row = int(np.flatnonzero(~((p >= 0) & (p <= 1)))[0])
        raise InputError(f"{p[row]} is not a probability.", row=row + 1)
    w = check_sample_weight(sample_weight, p.size)
    w = np.full(p.size, 1.0 / p.size) if w is None else w / w.sum()
    if bins is None:
        bin_of = np.unique(p, return_inverse=True)[1]
    elif bins < 1:
        raise InputError(f"bins={bins} makes no bin.", remedy="Use a number from 1, or None.")
    else:
        bin_of = np.minimum((p * bins).astype(np.int64), bins - 1)
    weight: Floats = np.bincount(bin_of, w).astype(float)
    filled = weight > 0
    weight = weight[filled]
    return Reliability(
        np.bincount(bin_of, w * p)[filled] / weight,
        np.bincount(bin_of, w * is_positive)[filled] / weight,
        weight,
        float(w @ (p - is_positive) ** 2),
    )


def expected_calibration_error(
    y: Any,
    probability: Any,
    *,
    positive: Any = None,
    bins: int | None = 10,
    sample_weight: Any = None,
) -> float:
    """Expected calibration error: mean absolute difference of probability and frequency by bin.

        ECE = Σ nₖ |p̄ₖ − ōₖ|

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two classes.
    probability : array-like of shape (n,)
        Predicted probability of the positive class.
    positive : object, default=None
        The positive class; None takes the second of the two.
    bins : int or None, default=10
        Number of equal bins of [0, 1]; None makes a bin of every distinct probability.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; a weight of w counts as w equal rows.

    Returns
    -------
    float
        The error, between 0 and 1.

    See Also
    --------
    reliability : All bins, and the decomposition of the Brier score.
    brier_score : Mean squared error of probabilities of all classes.

    References
    ----------
    M. P. Naeini, G. F. Cooper and M. Hauskrecht, Obtaining well calibrated probabilities using
    Bayesian binning, AAAI, 2015.

    Examples
    --------
    >>> import separatrix as sx
    >>> round(sx.expected_calibration_error([0, 0, 1, 1], [0.15, 0.15, 0.15, 0.95]), 3)
    0.15
    """
    diagram = reliability(y, probability, positive=positive, bins=bins, sample_weight=sample_weight)
    return diagram.expected_calibration_error


def brier_score(y: Any, probabilities: Any, classes: Any, *, sample_weight: Any = None) -> float:
    """Brier score: mean squared error of predicted probabilities over all classes.

        mean of Σₖ (pₖ − [y = class k])²

    With two classes this is twice the mean of (p − y)².

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    probabilities : array-like of shape (n, K)
        Predicted probabilities, one column for each class.
    classes : array-like of shape (K,)
        The classes, in the order of the columns.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; a weight of w counts as w equal rows.

    Returns
    -------
    float
        The score, between 0 (best) and 2.

    See Also
    --------
    reliability : Decomposition of the Brier score of two classes.

    References
    ----------
    G. W. Brier, Verification of forecasts expressed in terms of probability, 1950.

    Examples
    --------
    >>> import separatrix as sx
    >>> round(sx.brier_score(["a", "b"], [[0.9, 0.1], [0.2, 0.8]], ["a", "b"]), 3)
    0.05
    """
    p, labels = np.asarray(probabilities, dtype=float), np.asarray(classes)
    truth = np.asarray(y)
    if p.shape != (truth.size, labels.size):
        raise InputError(
            f"probabilities has shape {p.shape}; {truth.size} rows and {labels.size} classes make "
            f"{(truth.size, labels.size)}."
        )
    square = ((p - (truth[:, None] == labels)) ** 2).sum(axis=1)
    return float(np.average(square, weights=check_sample_weight(sample_weight, truth.size)))


def _positives(y: Any, p: Floats, positive: Any) -> NDArray[np.bool_]:
    truth = np.asarray(y)
    if truth.shape != p.shape or p.ndim != 1 or not p.size:
        raise InputError(f"y has shape {truth.shape} and probability {p.shape}: one per row.")
    if positive is not None:
        return np.asarray(truth == positive)
    if truth.dtype == bool:
        return truth
    return binary_scores("A reliability diagram", truth, p).is_positive


# -------------------------------------------------------------------------------------------------
# Intervals of proportions: Wilson's of an observed one, binomial ones of an expected one.


def wilson(proportion: Any, n: Any, level: float = 0.95) -> Floats:
    """Wilson's score intervals (…, 2) of proportions of ``n``: all p that a test would not reject.

    |p̂ − p| ≤ z √(p (1 − p) / n)
    """
    observed, size = np.asarray(proportion, dtype=float), np.asarray(n, dtype=float)
    z2 = float(stats.norm.isf((1.0 - level) / 2.0)) ** 2
    center = (observed + z2 / (2.0 * size)) / (1.0 + z2 / size)
    half = np.sqrt(z2 * (observed * (1.0 - observed) / size + z2 / (4.0 * size * size)))
    half = half / (1.0 + z2 / size)
    return np.stack([np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)], axis=-1)


def expected_range(probability: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Proportions of ``n`` rows between which an event of this probability stays with ``level``."""
    law, tail = stats.binom(max(1, round(n)), probability), (1.0 - level) / 2.0
    count = max(1, round(n))
    return float(law.ppf(tail)) / count, float(law.isf(tail)) / count


def effective_size(w: Floats) -> float:
    """Effective sample size (Kish): (Σw)²/Σw²."""
    return float(w.sum() ** 2 / (w**2).sum())
