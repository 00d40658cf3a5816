"""ROC and precision–recall curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number
from separatrix.pictures.points import annotate, fill_band, mark_point, reference_line
from separatrix.pictures.style import (
    BLUE,
    MUTED,
    ORANGE,
    SERIES,
    label_text,
    style_axes,
)
from separatrix.probability.roc import RocCurve, roc_curve

#: False positive rates at which the folds are compared.
_BAND = 121
#: More curves cannot be distinguished.
MAX_CLASSES = 10
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)))


def _roc_axes(ax: Any, *, fontsize: float = 9) -> None:
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.02)
    style_axes(ax)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.legend(frameon=False, fontsize=fontsize, loc="lower right", labelspacing=0.3)


@dataclass(eq=False)
class RocDisplay(Display):
    """ROC curve of a binary classifier with its convex hull.

    Parameters
    ----------
    curve : RocCurve
        True against false positive rates.
    threshold : float or None, default=0.0
        Decision threshold to mark on the curve; None marks nothing.
    folds : sequence of RocCurve, default=()
        Curves of cross-validation, drawn as a band.

    Attributes
    ----------
    operating_point : tuple of float or None
        False and true positive rate at the threshold.
    fold_areas : tuple of float or None
        Smallest and largest area under the curve of a fold.

    See Also
    --------
    OneVsRestRocDisplay : A ROC curve for each of several classes.
    PrecisionRecallDisplay : Precision against recall.

    References
    ----------
    T. Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27, 2006.

    Examples
    --------
    >>> from separatrix.pictures import RocDisplay
    >>> display = RocDisplay.from_predictions([0, 0, 1, 1], [-2.0, 0.5, 0.2, 1.0])
    >>> display.curve.area, display.operating_point
    (0.75, (0.5, 1.0))
    """

    curve: RocCurve
    threshold: float | None = 0.0
    folds: Sequence[RocCurve] = ()

    title: ClassVar[str] = "ROC curve with convex hull"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        score: Any,
        *,
        positive: Any = None,
        sample_weight: Any = None,
        threshold: float | None = 0.0,
        folds: Sequence[RocCurve] = (),
    ) -> Self:
        """From labels of two classes and scores."""
        curve = roc_curve(y, score, positive=positive, sample_weight=sample_weight)
        return cls(curve, threshold, folds)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From the ``decision_function`` of a fitted binary classifier."""
        return cls.from_predictions(y, model.decision_function(X), positive=model.classes_[1])

    @property
    def operating_point(self) -> tuple[float, float] | None:
        """False and true positive rate at the threshold."""
        if self.threshold is None:
            return None
        above = self.curve.thresholds >= self.threshold
        at = int(np.flatnonzero(above)[-1])
        return float(self.curve.fpr[at]), float(self.curve.tpr[at])

    @property
    def fold_areas(self) -> tuple[float, float] | None:
        """Smallest and largest area under the curve of a fold."""
        areas = [fold.area for fold in self.folds]
        return (min(areas), max(areas)) if areas else None

    @property
    def description(self) -> str:
        """Areas under curve and hull, the range over folds, rates at the threshold."""
        text = (
            f"Area under the ROC curve {self.curve.area:.3f}: the probability that a row of class "
            f"{self.curve.positive} scores above one of the other class. Area under the convex "
            f"hull {self.curve.hull_area:.3f}, with {self.curve.hull.size} vertices."
        )
        if self.fold_areas is not None:
            low, high = self.fold_areas
            text += (
                f" Over the cross-validation folds the area ranges from {low:.3f} to {high:.3f}."
            )
        if self.operating_point is not None:
            fpr, tpr = self.operating_point
            text += (
                f" At the threshold {number(self.threshold or 0.0, 3)} the true positive rate is "
                f"{100 * tpr:.0f} % and the false positive rate {100 * fpr:.0f} %."
            )
        return text

    def _draw(self, ax: Any) -> None:
        curve = self.curve
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9)
        if self.fold_areas is not None:
            self._band(ax, *self.fold_areas)
        ax.plot(
            curve.fpr[curve.hull],
            curve.tpr[curve.hull],
            color=ORANGE,
            linewidth=1.2,
            linestyle=(0, (4, 3)),
            label=f"convex hull (AUC {curve.hull_area:.3f})",
        )
        ax.plot(curve.fpr, curve.tpr, color=BLUE, label=f"ROC curve (AUC {curve.area:.3f})")
        if self.operating_point is not None:
            label = f"threshold {number(self.threshold or 0.0, 3)}"
            mark_point(ax, *self.operating_point, label, color=BLUE)
        _roc_axes(ax)

    def _band(self, ax: Any, low: float, high: float) -> None:
        """From the lowest to the highest curve of the folds."""
        grid = np.linspace(0, 1, _BAND)
        heights = np.array([fold.tpr_at(grid) for fold in self.folds])
        x, *ends = (np.append(0.0, v) for v in (grid, heights.min(axis=0), heights.max(axis=0)))
        label = f"{len(self.folds)} folds (AUC {low:.3f} to {high:.3f})"
        fill_band(ax, x, *ends, label=label)


@dataclass(eq=False)
class OneVsRestRocDisplay(Display):
    """ROC curves of several classes, each against all others.

    Parameters
    ----------
    curves : sequence of RocCurve
        One curve for each class.
    labels : sequence of str
        Names of the classes.

    Attributes
    ----------
    areas : list of float
        Area under each curve.

    See Also
    --------
    RocDisplay : The ROC curve of a binary classifier.
    ConfusionMatrixDisplay : Counts of true against predicted classes.

    References
    ----------
    T. Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27, 2006.

    Examples
    --------
    >>> from separatrix.pictures import OneVsRestRocDisplay
    >>> p = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.5, 0.2], [0.1, 0.2, 0.7]]
    >>> display = OneVsRestRocDisplay.from_predictions(["a", "b", "a", "c"], p, ["a", "b", "c"])
    >>> [round(area, 3) for area in display.areas]
    [1.0, 1.0, 1.0]
    """

    curves: Sequence[RocCurve]
    labels: Sequence[str]

    title: ClassVar[str] = "ROC curves, one class against the rest"

    @classmethod
    def from_predictions(
        cls, y: Any, scores: Any, classes: Any, *, sample_weight: Any = None
    ) -> Self:
        """From labels and scores or probabilities (n x K, a column for each class).

        A class without rows, or with all of them, has no curve.
        """
        s, truth = np.asarray(scores, dtype=float), np.array([str(v) for v in y])
        labels = [str(c) for c in classes]
        if len(labels) > MAX_CLASSES:
            raise InputError(
                f"ROC curves are drawn for up to {MAX_CLASSES} classes; there are {len(labels)}."
            )
        if s.shape != (truth.size, len(labels)):
            raise InputError(f"scores has shape {s.shape}: one for each row and class is needed.")
        present = [k for k, label in enumerate(labels) if 0 < np.sum(truth == label) < truth.size]
        if not present:
            raise InputError("A ROC curve compares two classes; the rows are all of one.")
        curves = [
            roc_curve(truth == labels[k], s[:, k], positive=True, sample_weight=sample_weight)
            for k in present
        ]
        return cls(curves, [labels[k] for k in present])

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From the probabilities of a fitted classifier, or its decision function."""
        from sklearn.utils.validation import _check_response_method

        scores = _check_response_method(model, ["predict_proba", "decision_function"])
        return cls.from_predictions(y, scores(X), model.classes_)

    @property
    def areas(self) -> list[float]:
        """Area under each curve."""
        return [curve.area for curve in self.curves]

    @property
    def description(self) -> str:
        """The area of each class, and their mean."""
        parts = [f"{label} {area:.3f}" for label, area in zip(self.labels, self.areas, strict=True)]
        return (
            f"Area under the ROC curve of each class against the rest: {join_words(parts)}; macro "
            f"average {np.mean(self.areas):.3f}."
        )

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9)
        for i, (curve, label) in enumerate(zip(self.curves, self.labels, strict=True)):
            ax.plot(
                curve.fpr,
                curve.tpr,
                color=SERIES[i % len(SERIES)],
                linestyle=_DASHES[i // len(SERIES) % 2],
                label=f"{label_text(label, 18)} (AUC {curve.area:.3f})",
            )
        _roc_axes(ax, fontsize=9 if len(self.labels) <= 5 else 7.5)


@dataclass(eq=False)
class PrecisionRecallDisplay(Display):
    """Precision against recall of a binary classifier over all thresholds.

    Drawn in steps: precision between two thresholds is not on the line that joins them.

    Parameters
    ----------
    curve : RocCurve
        Counts of true and false positives over the thresholds.

    Attributes
    ----------
    prevalence : float
        Proportion of the positive class: the precision of random guessing.

    See Also
    --------
    RocDisplay : True against false positive rate.
    CalibrationDisplay : Predicted probabilities against observed frequencies.

    References
    ----------
    J. Davis and M. Goadrich, The relationship between precision-recall and ROC curves, ICML,
    2006.

    Examples
    --------
    >>> from separatrix.pictures import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3])
    >>> display.prevalence, display.curve.average_precision
    (0.5, 1.0)
    """

    curve: RocCurve

    title: ClassVar[str] = "Precision–recall curve"

    @classmethod
    def from_predictions(
        cls, y: Any, score: Any, *, positive: Any = None, sample_weight: Any = None
    ) -> Self:
        """From labels of two classes and scores."""
        return cls(roc_curve(y, score, positive=positive, sample_weight=sample_weight))

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From the ``decision_function`` of a fitted binary classifier."""
        return cls.from_predictions(y, model.decision_function(X), positive=model.classes_[1])

    @property
    def prevalence(self) -> float:
        """Proportion of the positive class: the precision of random guessing."""
        positive, negative = self.curve.true_positives[-1], self.curve.false_positives[-1]
        return float(positive / (positive + negative))

    @property
    def description(self) -> str:
        """Average precision against the prevalence, and the precision at 90 % recall."""
        at = np.flatnonzero(self.curve.tpr >= 0.9)[0]
        return (
            f"Average precision {self.curve.average_precision:.3f} for class "
            f"{self.curve.positive} (prevalence {self.prevalence:.3f}). At a recall of 90 % the "
            f"precision is {100 * self.curve.precision[at]:.0f} %."
        )

    def _draw(self, ax: Any) -> None:
        reference_line(ax, self.prevalence)
        annotate(ax, "prevalence", (0, self.prevalence), (3, 3), color=MUTED)
        # A lower threshold without further true positives only loses precision: left out.
        rises = np.append(True, np.diff(self.curve.tpr) > 0)
        ax.step(self.curve.tpr[rises], self.curve.precision[rises], where="pre", color=BLUE)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(0, 1.03)
        style_axes(ax)
        ax.set_xlabel("recall")
        ax.set_ylabel("precision")
