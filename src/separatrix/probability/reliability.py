"""How far probabilities can be trusted: by groups of rows that were given nearly the same one.

    Brier = mean (p − hit)² = reliability − resolution + uncertainty + within

With nₖ, p̄ₖ and ōₖ the share, mean probability and observed frequency of group k, and ō of all:
reliability Σ nₖ (p̄ₖ − ōₖ)², resolution Σ nₖ (ōₖ − ō)², uncertainty ō (1 − ō). ``within`` is what
the grouping hides: zero where every group holds one probability only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.probability.scored import checked_weights, scored
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Reliability:
    """One entry per group, by rising probability; ``weight`` sums to one."""

    predicted: Floats
    observed: Floats
    weight: Floats
    brier: float

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
        """Squared distance between what was said and what was seen: zero is best."""
        return float(self.weight @ (self.predicted - self.observed) ** 2)

    @property
    def resolution(self) -> float:
        """How far the groups differ in what was seen: more is better."""
        return float(self.weight @ (self.observed - self._base) ** 2)

    @property
    def uncertainty(self) -> float:
        """What saying the overall frequency of every row would cost."""
        return float(self._base * (1.0 - self._base))

    @property
    def within(self) -> float:
        """What of the Brier score lies between rows of one group."""
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
    """Group rows by the probability of the positive class (default: the second of two classes).

    ``bins`` cuts [0, 1] into so many equal pieces; None makes a group of every distinct
    probability. A ``y`` of truth values may be all true or all false: with the probability of the
    predicted class and ``y == predicted`` this judges classifiers of any number of classes.
    """
    p = np.asarray(probability, dtype=float)
    hit = _hits(y, p, positive)
    if not ((p >= 0) & (p <= 1)).all():
        row = int(np.flatnonzero(~((p >= 0) & (p <= 1)))[0])
        raise InputError(f"{p[row]} is no probability.", row=row)
    w = checked_weights(sample_weight, p.size)
    w = np.full(p.size, 1.0 / p.size) if w is None else w / w.sum()
    if bins is None:
        group = np.unique(p, return_inverse=True)[1]
    elif bins < 1:
        raise InputError(f"bins={bins} makes no group.", remedy="Use a number from 1, or None.")
    else:
        group = np.minimum((p * bins).astype(np.int64), bins - 1)
    share: Floats = np.bincount(group, w).astype(float)
    met = share > 0
    share = share[met]
    return Reliability(
        np.bincount(group, w * p)[met] / share,
        np.bincount(group, w * hit)[met] / share,
        share,
        float(w @ (p - hit) ** 2),
    )


def expected_calibration_error(y: Any, probability: Any, **options: Any) -> float:
    """Σ nₖ |p̄ₖ − ōₖ| over ten groups; the options are those of :func:`reliability`."""
    return reliability(y, probability, **options).expected_calibration_error


def brier_score(y: Any, probabilities: Any, classes: Any, *, sample_weight: Any = None) -> float:
    """Mean of Σₖ (pₖ − [y = class k])²; ``probabilities`` has a column for each class.

    With two classes this is twice the mean of (p − hit)².
    """
    p, labels = np.asarray(probabilities, dtype=float), np.asarray(classes)
    truth = np.asarray(y)
    if p.shape != (truth.size, labels.size):
        raise InputError(
            f"probabilities has shape {p.shape}; {truth.size} rows and {labels.size} classes make "
            f"{(truth.size, labels.size)}."
        )
    square = ((p - (truth[:, None] == labels)) ** 2).sum(axis=1)
    return float(np.average(square, weights=checked_weights(sample_weight, truth.size)))


def _hits(y: Any, p: Floats, positive: Any) -> NDArray[np.bool_]:
    truth = np.asarray(y)
    if truth.shape != p.shape or p.ndim != 1 or not p.size:
        raise InputError(f"y has shape {truth.shape} and probability {p.shape}: one per row.")
    if positive is not None:
        return np.asarray(truth == positive)
    if truth.dtype == bool:
        return truth
    return scored("A table of reliability", truth, p).hit
