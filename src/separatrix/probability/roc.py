"""ROC curve with its convex hull, precision and recall.

    tpr(t) = P(score ≥ t | positive),     fpr(t) = P(score ≥ t | negative)

Rows of equal score are one step, so that ties give a slanted edge and count one half in the area.
The hull is the best that any threshold, or a mixture of two, can reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.rows.schema import check_sample_weight, unit_weights


@dataclass(frozen=True, repr=False)
class RocCurve(Shown):
    """Weights of positives and negatives at or above each threshold, from (0, 0) onwards.

    ``thresholds`` decrease from infinity (no row is predicted positive); ``positive`` is the class
    of high scores.
    """

    thresholds: Floats
    true_positives: Floats
    false_positives: Floats
    positive: Any

    def __str__(self) -> str:
        return (
            f"ROC curve of class {self.positive}: area {self.area:.4f}, {self.hull_area:.4f} under "
            f"its convex hull, {self.thresholds.size - 1:,} thresholds."
        )

    @property
    def tpr(self) -> Floats:
        """True positive rate (recall) at each threshold."""
        return np.asarray(self.true_positives / self.true_positives[-1])

    @property
    def fpr(self) -> Floats:
        """False positive rate at each threshold."""
        return np.asarray(self.false_positives / self.false_positives[-1])

    def tpr_at(self, fpr: Floats) -> Floats:
        """The largest true positive rate at each false positive rate, linearly interpolated.

        A mixture of two thresholds reaches every point of the line that joins them.
        """
        x, y = self.fpr, self.tpr
        left = np.searchsorted(x, fpr, side="right") - 1
        right = np.minimum(left + 1, x.size - 1)
        width = x[right] - x[left]
        fraction = np.where(width > 0, (fpr - x[left]) / np.where(width > 0, width, 1.0), 0.0)
        return np.asarray(y[left] + fraction * (y[right] - y[left]))

    @property
    def area(self) -> float:
        """P(score of a positive > score of a negative) + ½ P(equal), the area by trapezoids."""
        return float(np.trapezoid(self.tpr, self.fpr))

    @cached_property
    def hull(self) -> NDArray[np.int64]:
        """Positions of the vertices of the convex hull, from (0, 0) to (1, 1).

        Found on the counts, not on the rates: products of counts are exact in float64.
        """
        from separatrix.probability.loops import hull_edges

        # By increasing score, as calibrations see the curve; an edge ends at its lowest score.
        score = np.arange(self.thresholds.size - 1, dtype=float)
        up, right = (np.diff(n)[::-1] for n in (self.true_positives, self.false_positives))
        lowest = hull_edges(score, up.copy(), score, right.copy())[0]
        return np.append(0, score.size - lowest[::-1].astype(np.int64))

    @property
    def hull_area(self) -> float:
        """The area under the hull: never below :attr:`area`."""
        return float(np.trapezoid(self.tpr[self.hull], self.fpr[self.hull]))

    @property
    def precision(self) -> Floats:
        """Fraction of rows predicted positive that are; 1 where none is predicted so."""
        predicted = self.true_positives + self.false_positives
        return np.divide(
            self.true_positives, predicted, out=np.ones_like(predicted), where=predicted > 0
        )

    @property
    def average_precision(self) -> float:
        """Σ (recall − recall before) · precision over the thresholds."""
        return float(np.sum(np.diff(self.tpr) * self.precision[1:]))


def roc_curve(y: Any, score: Any, *, positive: Any = None, sample_weight: Any = None) -> RocCurve:
    """ROC curve of a score: true and false positive rates at every threshold.

        tpr(t) = P(score ≥ t | positive),     fpr(t) = P(score ≥ t | negative)

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two classes.
    score : array-like of shape (n,)
        Scores, higher for the positive class.
    positive : object, default=None
        The positive class; None takes the second of the two.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; a weight of w counts as w equal rows.

    Returns
    -------
    RocCurve
        ``thresholds``, ``tpr``, ``fpr``, ``area``, ``hull``, ``hull_area``, ``precision`` and
        ``average_precision``.

    See Also
    --------
    IsotonicCalibration : Probabilities from the ROC convex hull.
    coverage_risk : Risk against the fraction of rows predicted.

    References
    ----------
    F. Provost and T. Fawcett, Robust classification for imprecise environments, 2001.

    Examples
    --------
    >>> import separatrix as sx
    >>> curve = sx.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.area, curve.hull_area
    (0.75, 0.875)
    >>> curve.tpr
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    rows = binary_scores("A ROC curve", y, score, sample_weight, positive=positive)
    order = np.argsort(-rows.score, kind="stable")
    s, w, is_positive = rows.score[order], rows.weights[order], rows.is_positive[order]
    last = np.append(np.flatnonzero(np.diff(s)), s.size - 1)
    return RocCurve(
        thresholds=np.concatenate([[np.inf], s[last]]),
        true_positives=np.concatenate([[0.0], np.cumsum(w * is_positive)[last]]),
        false_positives=np.concatenate([[0.0], np.cumsum(w * ~is_positive)[last]]),
        positive=rows.positive,
    )


# -------------------------------------------------------------------------------------------------
# Labels of two classes paired with scores: input of ROC curves and calibrations.


Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class BinaryScores:
    """A score for each row, whether it is of the positive class, and its weight (None: all one)."""

    score: Floats
    is_positive: Flags
    w: Floats | None
    classes: NDArray[Any]
    positive: Any

    @property
    def weights(self) -> Floats:
        """The weight of each row."""
        return unit_weights(self.w, self.score.size)

    def of_class(self, is_positive: bool) -> tuple[Floats, Floats | None]:
        """Scores and weights of the positive rows, or of the others."""
        rows = self.is_positive if is_positive else ~self.is_positive
        return self.score[rows], None if self.w is None else self.w[rows]


def binary_scores(
    purpose: str, y: Any, score: Any, sample_weight: Any = None, *, positive: Any = None
) -> BinaryScores:
    """Pair labels with scores, checked; rows of weight zero are dropped.

    The positive class is by default the second of the two.
    """
    truth, s, w = _check_scores(y, score, sample_weight)
    classes, is_positive = _two_classes(truth)
    if is_positive is None:
        raise InputError(
            f"{purpose} compares two classes; the rows hold {classes.size}.",
            remedy="Compare one class with the rest: give y == label.",
        )
    if positive is None:
        positive = classes[1]
    elif positive not in classes:
        raise InputError(f"No row is of the positive class {positive!r}; found {list(classes)}.")
    elif positive == classes[0]:
        is_positive = ~is_positive
    return BinaryScores(s, is_positive, w, classes, positive)


def _check_scores(
    y: Any, score: Any, sample_weight: Any
) -> tuple[NDArray[Any], Floats, Floats | None]:
    """Labels, scores and weights of equal length; rows of weight zero are dropped."""
    # pictures of ROC curves are described without what estimators need
    from separatrix.estimators.base import in_words, label_array

    with in_words(score=score):
        truth, s = label_array(y), np.asarray(score, dtype=float)
    if truth.ndim != 1 or truth.shape != s.shape:
        raise InputError(f"y has shape {truth.shape} and score {s.shape}: one score per row.")
    if not np.isfinite(s).all():
        row = int(np.flatnonzero(~np.isfinite(s))[0])
        raise InputError(f"The score is {s[row]}, which cannot be ranked.", row=row + 1)
    w = check_sample_weight(sample_weight, s.size, any_size=True)
    if w is None or w.all():
        return truth, s, w
    positive = w > 0
    return truth[positive], s[positive], w[positive]


def _two_classes(truth: NDArray[Any]) -> tuple[NDArray[Any], Flags | None]:
    """The classes in order, and the rows of the second if there are just two.

    Numbers need no sorting for that: the classes are the least and the largest.
    """
    if truth.dtype.kind in "biuf" and truth.size:
        ends = np.array([truth.min(), truth.max()])
        is_positive = truth == ends[1]
        if ends[0] != ends[1] and (is_positive | (truth == ends[0])).all():
            return ends, is_positive
    classes = np.unique(truth)
    return classes, truth == classes[1] if classes.size == 2 else None


# -------------------------------------------------------------------------------------------------
# Selective classification: risk against coverage.
#
# coverage(t) = fraction of rows with uncertainty ≤ t,     risk(t) = mean loss of those rows


@dataclass(frozen=True, repr=False)
class CoverageRisk(Shown):
    """The risk–coverage curve, one entry for each distinct uncertainty, least uncertain first."""

    thresholds: Floats
    coverage: Floats
    risk: Floats

    def __str__(self) -> str:
        half = self.risk_at(0.5)
        return (
            f"Risk {self.risk[-1]:.4g} at full coverage, {half:.4g} at a coverage of 50 %; "
            f"mean over all coverages {self.area:.4g}."
        )

    @property
    def area(self) -> float:
        """Mean risk over all coverages: ∫ risk d coverage, each step at its right end."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)

    def risk_at(self, coverage: float) -> float:
        """The risk of predicting at least this fraction of the rows."""
        position = int(np.searchsorted(self.coverage, coverage - 1e-12))
        return float(self.risk[min(position, self.risk.size - 1)])

    def coverage_at(self, risk: float) -> float:
        """The largest fraction of rows that can be predicted at no more than this risk."""
        return float(self.coverage[self.risk <= risk].max(initial=0.0))


def coverage_risk(uncertainty: Any, loss: Any, *, sample_weight: Any = None) -> CoverageRisk:
    """Risk–coverage curve: rows are predicted in the order of their uncertainty.

        coverage(t) = P(uncertainty ≤ t),     risk(t) = E[loss | uncertainty ≤ t]

    Rows of equal uncertainty are predicted together, so that ties have no arbitrary order.

    Parameters
    ----------
    uncertainty : array-like of shape (n,)
        How uncertain the prediction of each row is; any monotone scale.
    loss : array-like of shape (n,)
        What predicting the row costs.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; a weight of w counts as w equal rows.

    Returns
    -------
    CoverageRisk
        ``thresholds``, ``coverage`` and ``risk``, with ``area``, ``risk_at`` and ``coverage_at``.

    See Also
    --------
    RejectOption : Classifier that rejects rows where that costs less.
    brier_score : Mean squared error of probabilities.

    References
    ----------
    R. El-Yaniv and Y. Wiener, On the foundations of noise-free selective classification,
    Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> import separatrix as sx
    >>> curve = sx.coverage_risk([0.1, 0.2, 0.4, 0.5], [0, 0, 1, 0])
    >>> curve.coverage
    array([0.25, 0.5 , 0.75, 1.  ])
    >>> curve.risk_at(0.5), curve.risk_at(1.0)
    (0.0, 0.25)
    """
    u, cost = np.asarray(uncertainty, dtype=float), np.asarray(loss, dtype=float)
    if u.ndim != 1 or u.shape != cost.shape or not u.size:
        raise InputError(f"uncertainty has shape {u.shape} and loss {cost.shape}: one per row.")
    if not (np.isfinite(u).all() and np.isfinite(cost).all()):
        raise InputError("uncertainty and loss must be finite numbers.")
    w = unit_weights(check_sample_weight(sample_weight, u.size), u.size)
    order = np.argsort(u, kind="stable")
    u, cost, w = u[order], cost[order], w[order]
    last = np.append(np.flatnonzero(np.diff(u)), u.size - 1)
    predicted, total_cost = np.cumsum(w)[last], np.cumsum(w * cost)[last]
    positive = predicted > 0
    u, predicted, total_cost = u[last][positive], predicted[positive], total_cost[positive]
    return CoverageRisk(u, predicted / predicted[-1], total_cost / predicted)
