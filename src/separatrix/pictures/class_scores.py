"""Scores of classifiers: ROC and precision–recall curves, calibration, histograms, margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.formatting import join_words, number, plural
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.probability.reliability import Reliability, reliability
from separatrix.probability.roc import RocCurve, roc_curve

# -------------------------------------------------------------------------------------------------
# ROC and precision–recall curves.


def _roc_axes(ax: Any, *, fontsize: float = 9) -> None:
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.02)
    style.style_axes(ax)
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
        ax.plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.9)
        if self.fold_areas is not None:
            self._band(ax, *self.fold_areas)
        ax.plot(
            curve.fpr[curve.hull],
            curve.tpr[curve.hull],
            color=style.ORANGE,
            linewidth=1.2,
            linestyle=(0, (4, 3)),
            label=f"convex hull (AUC {curve.hull_area:.3f})",
        )
        ax.plot(curve.fpr, curve.tpr, color=style.BLUE, label=f"ROC curve (AUC {curve.area:.3f})")
        if self.operating_point is not None:
            label = f"threshold {number(self.threshold or 0.0, 3)}"
            marks.mark_point(ax, *self.operating_point, label, color=style.BLUE)
        _roc_axes(ax)

    def _band(self, ax: Any, low: float, high: float) -> None:
        """From the lowest to the highest curve of the folds."""
        grid = np.linspace(0, 1, 121)  # false positive rates at which the folds are compared
        heights = np.array([fold.tpr_at(grid) for fold in self.folds])
        x, *ends = (np.append(0.0, v) for v in (grid, heights.min(axis=0), heights.max(axis=0)))
        label = f"{len(self.folds)} folds (AUC {low:.3f} to {high:.3f})"
        marks.fill_band(ax, x, *ends, label=label)


@describe_parameters
@dataclass(eq=False)
class OneVsRestRocDisplay(Display):
    """ROC curves of several classes, each against all others.

    Parameters
    ----------
    curves : sequence of RocCurve
        One curve for each class.
    labels : sequence of str

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
        max_classes = 10  # more curves cannot be distinguished
        if len(labels) > max_classes:
            raise InputError(
                f"ROC curves are drawn for up to {max_classes} classes; there are {len(labels)}."
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
        ax.plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.9)
        for i, (curve, label) in enumerate(zip(self.curves, self.labels, strict=True)):
            ax.plot(
                curve.fpr,
                curve.tpr,
                color=style.SERIES[i % len(style.SERIES)],
                linestyle="-" if i // len(style.SERIES) % 2 == 0 else (0, (5, 2)),
                label=f"{style.label_text(label, 18)} (AUC {curve.area:.3f})",
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
        marks.reference_line(ax, self.prevalence)
        marks.annotate(ax, "prevalence", (0, self.prevalence), (3, 3), color=style.MUTED)
        # A lower threshold without further true positives only loses precision: left out.
        rises = np.append(True, np.diff(self.curve.tpr) > 0)
        ax.step(self.curve.tpr[rises], self.curve.precision[rises], where="pre", color=style.BLUE)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(0, 1.03)
        style.style_axes(ax)
        ax.set_xlabel("recall")
        ax.set_ylabel("precision")


# -------------------------------------------------------------------------------------------------
# Calibration: observed frequencies against predicted probabilities, with a histogram.


#: Bars of the histogram below the curve.
BARS = 20

#: Vertical range of the histogram, below the unit square.
_FLOOR, _CEILING = -0.34, -0.12

_MARKS = "osD^v"


@dataclass(eq=False)
class CalibrationDisplay(Display):
    """Calibration curves: observed frequency against predicted probability.

    Probabilities are binned; whiskers are Wilson intervals (95 %) of the observed frequency. A
    histogram of the predicted probabilities lies below.

    Parameters
    ----------
    curves : sequence of Reliability
        Predicted and observed frequency in each bin, for each model.
    histograms : sequence of ndarray
        For each model, the proportion of the rows in each of 20 equal bins of [0, 1].
    n_rows : float
        Number (or total weight) of the rows.
    labels : sequence of str, default=("",)
        Name of each model.
    axis_label : str, default="predicted probability"
        Label of the horizontal axis.

    Attributes
    ----------
    calibration_errors : list of float
        Expected calibration error of each curve.
    brier_scores : list of float
        Brier score of each curve.

    See Also
    --------
    CoverageRiskDisplay : Error against the proportion of rows answered.
    LogOddsDisplay : Log odds by class.

    Examples
    --------
    >>> from separatrix.pictures import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.2, 0.2, 0.2, 0.8])
    >>> [round(score, 3) for score in display.brier_scores]
    [0.19]
    >>> display.curves[0].observed.round(3).tolist()
    [0.333, 1.0]
    """

    curves: Sequence[Reliability]
    histograms: Sequence[Floats]
    n_rows: float
    labels: Sequence[str] = ("",)
    axis_label: str = "predicted probability"

    title: ClassVar[str] = "Calibration curve"
    figure_size: ClassVar[tuple[float, float]] = style.TALL

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        probability: Any,
        *,
        positive: Any = None,
        bins: int = 10,
        sample_weight: Any = None,
        axis_label: str | None = None,
    ) -> Self:
        """From labels and the probability of the positive class (of two, the second).

        A mapping ``{label: probability}`` draws several curves, such as those before and after
        calibration.
        """
        given = probability if isinstance(probability, Mapping) else {"": probability}
        if not given:
            raise InputError("There are no probabilities to draw.")
        options = {"positive": positive, "bins": bins, "sample_weight": sample_weight}
        curves = [reliability(y, p, **options) for p in given.values()]
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        histograms = [
            np.histogram(np.asarray(p, dtype=float), BARS, (0, 1), weights=w)[0]
            for p in given.values()
        ]
        name = _positive(y, positive)
        return cls(
            curves,
            [counts / counts.sum() for counts in histograms],
            float(histograms[0].sum()),
            [str(label) for label in given],
            axis_label or _axis_label(name),
        )

    @classmethod
    def from_probabilities(
        cls, y: Any, probabilities: Any, classes: Any, *, bins: int = 10, sample_weight: Any = None
    ) -> Self:
        """From labels and a column for each class: of two, the second; of more, the largest.

        With more than two classes the probability of the predicted class is compared with the
        frequency of correct predictions.
        """
        p, truth = np.asarray(probabilities, dtype=float), np.asarray(y)
        labels = np.asarray(classes)
        options = {"bins": bins, "sample_weight": sample_weight}
        if labels.size == 2:
            name = _axis_label(labels[1])
            return cls.from_predictions(truth == labels[1], p[:, 1], axis_label=name, **options)
        correct = truth == labels[p.argmax(axis=1)]
        name = "probability of the predicted class"
        return cls.from_predictions(correct, p.max(axis=1), axis_label=name, **options)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, bins: int = 10) -> Self:
        """From a fitted classifier with ``predict_proba``."""
        return cls.from_probabilities(y, model.predict_proba(X), model.classes_, bins=bins)

    @property
    def calibration_errors(self) -> list[float]:
        """Expected calibration error of each curve."""
        return [curve.expected_calibration_error for curve in self.curves]

    @property
    def brier_scores(self) -> list[float]:
        """Brier score of each curve."""
        return [curve.brier for curve in self.curves]

    def confidence_intervals(self, i: int) -> Floats:
        """Wilson intervals (95 %) of the observed frequencies of curve i."""
        from separatrix.probability.reliability import wilson

        curve = self.curves[i]
        return wilson(curve.observed, curve.weight * self.n_rows)

    @property
    def description(self) -> str:
        """Calibration error and Brier score of each curve, and the worst bin."""
        parts = []
        for label, curve in zip(self.labels, self.curves, strict=True):
            lead = f"{label}: " if label else ""
            parts.append(
                f"{lead}expected calibration error {curve.expected_calibration_error:.3f}, Brier "
                f"score {curve.brier:.3f}"
            )
        text = f"{join_words(parts) if len(parts) < 3 else '; '.join(parts)}."
        text = f"{text[:1].upper()}{text[1:]} {self._worst_bin()}"
        low, high = self.histograms[-1][0], self.histograms[-1][-1]
        return (
            f"{text} Of {plural(round(self.n_rows), 'row')}, {100 * low:.0f} % have a predicted "
            f"probability below {1 / BARS:.2f} and {100 * high:.0f} % above {1 - 1 / BARS:.2f}."
        )

    def _worst_bin(self) -> str:
        """The bin whose interval is farthest from the diagonal, if any excludes it."""
        curve, ends = self.curves[-1], self.confidence_intervals(len(self.curves) - 1)
        distance = np.maximum(ends[:, 0] - curve.predicted, curve.predicted - ends[:, 1])
        index = int(distance.argmax())
        which = f" of {self.labels[-1]}" if len(self.curves) > 1 else ""
        if distance[index] <= 0:
            return f"All confidence intervals{which} include the diagonal."
        return (
            f"Worst calibrated bin{which}: predicted {100 * curve.predicted[index]:.0f} %, "
            f"observed {100 * curve.observed[index]:.0f} %."
        )

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.9)
        for i, curve in enumerate(self.curves):
            self._curve(ax, i, curve)
        self._histogram(ax)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(_FLOOR, 1.03)
        style.style_axes(ax)
        ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        ax.set_xlabel(self.axis_label)
        ax.set_ylabel("observed frequency")
        ax.legend(frameon=False, fontsize=8.5, loc="upper left", handlelength=1.6)

    def _curve(self, ax: Any, i: int, curve: Reliability) -> None:
        color = style.SERIES[i % len(style.SERIES)]
        for at, (low, high) in zip(curve.predicted, self.confidence_intervals(i), strict=True):
            ax.plot([at, at], [low, high], color=color, linewidth=1.0, alpha=0.6)
        name = f"{style.label_text(self.labels[i], 18)}: " if self.labels[i] else ""
        ax.plot(
            curve.predicted,
            curve.observed,
            marker=_MARKS[i % len(_MARKS)],
            ms=4.5,
            color=color,
            label=f"{name}ECE {curve.expected_calibration_error:.3f}, Brier {curve.brier:.3f}",
        )

    def _histogram(self, ax: Any) -> None:
        """Bars below the curve, the highest of fixed height."""
        edges = np.linspace(0, 1, BARS + 1)
        top = max(float(h.max()) for h in self.histograms) or 1.0
        for i, counts in enumerate(self.histograms):
            color = style.SERIES[i % len(style.SERIES)]
            height = _FLOOR + (_CEILING - _FLOOR) * counts / top
            if len(self.histograms) == 1:
                ax.stairs(height, edges, baseline=_FLOOR, fill=True, color=color, alpha=0.35)
            ax.stairs(height, edges, baseline=_FLOOR, color=color, linewidth=1.0)
        text = f"histogram (highest bar {100 * top:.0f} % of the rows)"
        marks.annotate(ax, text, (0.5, _CEILING / 2), ha="center", va="center", color=style.MUTED)


def _axis_label(name: Any) -> str:
    return (
        "predicted probability" if name is None else f"probability of {style.label_text(name, 20)}"
    )


def _positive(y: Any, positive: Any) -> Any:
    """The class whose probability is drawn; None where y is boolean."""
    if positive is not None:
        return positive
    truth = np.asarray(y)
    return None if truth.dtype == bool or not truth.size else np.unique(truth)[-1]


# -------------------------------------------------------------------------------------------------
# Histograms by class of a score that is zero on the decision boundary.
#
# signed distance   two classes: (w·x + b)/‖w‖;  more: least (sₖ − sⱼ)/‖wₖ − wⱼ‖, k the row's class
# log odds          two classes: ln p₁/p₀;  more: ln pₖ − max ln pⱼ, k the row's class


#: Classes that have a strip at most.
MAX_CLASSES = 12

#: Log odds are clipped here: probabilities 0 and 1 have no finite odds.
MAX_LOG_ODDS = 20.0


@dataclass(eq=False)
class ClassHistogramDisplay(Display):
    """Base class: one histogram for each class, one above the other."""

    values: Floats
    y: Any
    labels: Sequence[str]
    own_class: bool = False
    unit: str = ""

    axis: ClassVar[str]
    definitions: ClassVar[tuple[str, str]]

    def __post_init__(self) -> None:
        if not self.values.size:  # refused here, where a page can still do without the picture
            raise InputError("There are no rows to draw.")

    def wrong(self, i: int) -> int:
        """Misclassified rows of class i: those on the other side of zero."""
        members = self._of_class(i)
        positive = self.own_class or i == 1
        return int(np.sum(members < 0 if positive else members > 0))

    def _of_class(self, i: int) -> Floats:
        return np.asarray(self.values[np.asarray(self.y) == self.labels[i]])

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        what = f"{self.definitions[self.own_class]}{', ' if self.unit else ''}{self.unit}"
        return f"{what[0].upper()}{what[1:]}. {self.caption}"

    @property
    def caption(self) -> str:
        """Median and number of misclassified rows of each class."""
        parts = []
        for i, label in enumerate(self.labels[:MAX_CLASSES]):
            members = self._of_class(i)
            if members.size:
                text = (
                    f"{label}: median {number(float(np.median(members)), 2)}, "
                    f"{self.wrong(i):,} of {plural(members.size, 'row')} misclassified"
                )
                parts.append((self.wrong(i) / members.size, text))
        lead = ""
        if len(parts) > 6:  # a longer sentence is not read
            parts = sorted(parts, key=lambda pair: -pair[0])[:6]
            lead = "Highest error rates: "
        return f"{lead}{'; '.join(text for _, text in parts)}."

    @property
    def size(self) -> tuple[float, float]:
        """One strip for each class."""
        strips = min(max(len(self.labels), 2), MAX_CLASSES)
        return style.WIDTH, 0.7 + strips * (1.15 if strips < 4 else 0.6)

    def _draw(self, ax: Any) -> None:
        labels = list(self.labels)[:MAX_CLASSES]
        bins = int(np.clip(2 * np.sqrt(self.values.size), 8, 32))
        edges = marks.bin_edges(self.values, bins)
        ax.axvline(0.0, color=style.text_color(ax), linewidth=1.0)
        on_right = -edges[0] < edges[-1]  # the side with more room
        for i, label in enumerate(labels):
            count, color = (
                np.histogram(self._of_class(i), edges)[0],
                style.SERIES[i % len(style.SERIES)],
            )
            height = 0.76 * count / max(count.max(initial=1), 1)
            ax.stairs(height - i, edges, baseline=-i, fill=True, color=color, alpha=0.35)
            ax.stairs(height - i, edges, baseline=-i, color=color, linewidth=1.2)
            ax.axhline(-i, color=style.MUTED, linewidth=0.6)
            text = f"{style.label_text(label)}  ({self.wrong(i):,} misclassified)"
            at = (0.99 if on_right else 0.01, 0.97 - i)
            side = "right" if on_right else "left"
            marks.annotate(ax, text, at, (0, 0), marks.BESIDE, ha=side, va="top", color=color)
        ax.set_ylim(-len(labels) + 0.98, 1.02)
        ax.set_yticks([])
        style.style_axes(ax, grid=None)
        ax.spines["left"].set_visible(False)
        side = "true class" if self.own_class else style.label_text(self.labels[-1], 14)
        ax.set_xlabel(f"{self.axis}{', ' if self.unit else ''}{self.unit} (positive: {side})")


@describe_parameters
@dataclass(eq=False)
class SignedDistanceDisplay(ClassHistogramDisplay):
    """Signed distances to the decision boundary of a linear classifier, by class.

    Two classes: (w·x + b)/‖w‖, positive on the side of the second class. More classes: the
    distance to the nearest boundary of the row's own class, positive if classified correctly.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Signed distance of each row.
    y : array-like of shape (n,)
        True class of each row, as text.
    labels : sequence of str
    own_class : bool, default=False
        Whether distances are positive on the side of the row's own class, as with more than two
        classes; otherwise on the side of the second class.
    unit : str, default=""
        Unit of the distances, for the label of the axis.

    See Also
    --------
    LogOddsDisplay : The same for classifiers with probabilities.
    MarginDisplay : Functional margins of a binary classifier.

    Examples
    --------
    >>> from separatrix.pictures import SignedDistanceDisplay
    >>> display = SignedDistanceDisplay.from_scores(
    ...     ["no", "no", "yes"], [-5.0, 1.0, 10.0], [3.0, 4.0], ["no", "yes"])
    >>> display.values.tolist(), display.wrong(0)
    ([-1.0, 0.2, 2.0], 1)
    """

    title: ClassVar[str] = "Signed distance to the decision boundary"
    axis: ClassVar[str] = "signed distance"
    definitions: ClassVar[tuple[str, str]] = (
        "signed distance to the decision boundary",
        "signed distance to the nearest decision boundary of the true class",
    )

    @classmethod
    def from_scores(
        cls, y: Any, scores: Any, coef: Any, classes: Sequence[Any], *, scale: Any = None
    ) -> Self:
        """From the scores of a linear classifier and its coefficients (k x d).

        ``scale`` holds the standard deviation of each column: with it, distances are those between
        standardized rows; without it, in the units of the design matrix.
        """
        s, normals = np.asarray(scores, dtype=float), np.atleast_2d(np.asarray(coef, dtype=float))
        if scale is not None:
            normals = normals * np.asarray(scale, dtype=float)
        unit = "" if scale is None else "in standard deviations"
        labels, truth = [str(c) for c in classes], np.array([str(label) for label in y])
        if s.ndim == 1 or s.shape[1] == 1:
            return cls(np.ravel(s) / _norm(normals[0]), truth, labels, unit=unit)
        if s.shape[1] == 2:
            difference = normals[1] - normals[0] if normals.shape[0] == 2 else normals[0]
            return cls((s[:, 1] - s[:, 0]) / _norm(difference), truth, labels, unit=unit)
        from scipy.spatial.distance import cdist

        truth, s, codes = _known_rows(truth, s, labels)
        between = np.asarray(cdist(normals, normals))
        between[between == 0] = np.inf
        distance = (s[np.arange(codes.size), codes][:, None] - s) / between[codes]
        distance[np.arange(codes.size), codes] = np.inf
        return cls(distance.min(axis=1), truth, labels, own_class=True, unit=unit)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, scale: Any = None) -> Self:
        """From a fitted linear classifier."""
        scores = model.decision_function(X)
        return cls.from_scores(y, scores, model.coef_, model.classes_, scale=scale)


@describe_parameters
@dataclass(eq=False)
class LogOddsDisplay(ClassHistogramDisplay):
    """Log odds of a probabilistic classifier, by class.

    Two classes: ln p₁/p₀. More classes: ln p of the row's own class minus that of the most
    probable other class. Values beyond ±20 are drawn at ±20.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Log odds of each row.
    y : array-like of shape (n,)
        True class of each row, as text.
    labels : sequence of str
    own_class : bool, default=False
        Whether log odds are those of the row's own class, as with more than two classes;
        otherwise of the second class.
    unit : str, default=""
        Unit, for the label of the axis.

    See Also
    --------
    SignedDistanceDisplay : Signed distances to the boundary of a linear classifier.
    CalibrationDisplay : Predicted probabilities against observed frequencies.

    Examples
    --------
    >>> from separatrix.pictures import LogOddsDisplay
    >>> p = [[0.5, 0.5], [0.2, 0.8]]
    >>> display = LogOddsDisplay.from_probabilities(["a", "b"], p, ["a", "b"])
    >>> display.values.round(3).tolist()
    [0.0, 1.386]
    """

    title: ClassVar[str] = "Log odds by class"
    axis: ClassVar[str] = "log odds"
    definitions: ClassVar[tuple[str, str]] = (
        "log odds of the second class",
        "log odds of the true class against the most probable other class",
    )

    @classmethod
    def from_probabilities(cls, y: Any, probabilities: Any, classes: Sequence[Any]) -> Self:
        """From labels and a column of probabilities for each class."""
        # Stands for a probability of zero, whose logarithm is infinite.
        log_p = np.log(np.maximum(np.asarray(probabilities, dtype=float), 1e-12))
        labels, truth = [str(c) for c in classes], np.array([str(label) for label in y])
        if log_p.shape[1] == 2:
            odds = log_p[:, 1] - log_p[:, 0]
            return cls(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS), truth, labels)
        truth, log_p, codes = _known_rows(truth, log_p, labels)
        others = log_p.copy()
        others[np.arange(codes.size), codes] = -np.inf
        odds = log_p[np.arange(codes.size), codes] - others.max(axis=1)
        return cls(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS), truth, labels, own_class=True)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From a fitted classifier with ``predict_proba``."""
        return cls.from_probabilities(y, model.predict_proba(X), model.classes_)

    @property
    def caption(self) -> str:
        """Medians, misclassified rows, and the number of clipped values."""
        text = super().caption
        clipped = int(np.sum(np.abs(self.values) >= MAX_LOG_ODDS))
        if not clipped:
            return text
        return f"{text} {plural(clipped, 'row')} at ±{MAX_LOG_ODDS:g} or beyond."


def _norm(normal: Floats) -> float:
    """‖w‖, or 1 where it is 0."""
    return float(np.linalg.norm(normal)) or 1.0


def _known_rows(
    truth: NDArray[np.str_], s: Floats, labels: Sequence[str]
) -> tuple[NDArray[np.str_], Floats, NDArray[np.intp]]:
    """Rows of the classes that the model knows, and the code of each row's class."""
    code = {label: i for i, label in enumerate(labels)}
    known = np.array([label in code for label in truth], dtype=bool)
    codes = np.array([code[label] for label in truth[known]], dtype=np.intp)
    return truth[known], s[known], codes


# -------------------------------------------------------------------------------------------------
# Functional margins y f(x) of a binary classifier.
#
# A row is misclassified where y f < 0 and lies inside the margin where 0 ≤ y f < 1.


MARGIN_BARS = 40


@dataclass(eq=False)
class MarginDisplay(Display):
    """Histogram of the functional margins y f(x) of a binary classifier.

    Parameters
    ----------
    margins : array-like of shape (n,)
        Margin of each row: its decision function, with the sign of its class.

    Attributes
    ----------
    counts : tuple of int
        Rows that are misclassified, inside the margin, and on or outside it.

    See Also
    --------
    SignedDistanceDisplay : Geometric distances to the boundary, by class.
    SupportVectorDisplay : The margins on a plane, with the support vectors.

    Examples
    --------
    >>> from separatrix.pictures import MarginDisplay
    >>> MarginDisplay([-0.5, 0.5, 1.0, 2.0]).counts
    (1, 1, 2)
    """

    margins: Floats

    title: ClassVar[str] = "Margins"

    def __post_init__(self) -> None:
        self.margins = np.asarray(self.margins, dtype=float).ravel()
        if not self.margins.size or not np.isfinite(self.margins).all():
            raise InputError("Margins are finite numbers, one for each row.")

    @classmethod
    def from_predictions(cls, y: Any, score: Any, *, positive: Any = None) -> Self:
        """From labels of two classes and scores that are high for ``positive`` (the second)."""
        labels = np.asarray(y)
        classes = np.unique(labels)
        if classes.size > 2:
            raise InputError(f"Margins are for two classes; y has {classes.size} classes.")
        high = classes[-1] if positive is None else positive
        return cls(np.where(labels == high, 1.0, -1.0) * np.asarray(score, dtype=float))

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From the ``decision_function`` of a fitted binary classifier."""
        return cls.from_predictions(y, model.decision_function(X), positive=model.classes_[1])

    @property
    def counts(self) -> tuple[int, int, int]:
        """Rows that are misclassified, inside the margin, and on or outside it."""
        m = self.margins
        # Free support vectors have margin 1 up to the tolerance of the solver.
        on = 1 - 1e-3
        return int((m < 0).sum()), int(((m >= 0) & (m < on)).sum()), int((m >= on).sum())

    @property
    def description(self) -> str:
        """The three counts, the median and the minimum."""
        wrong, inside, outside = self.counts
        return (
            f"Of {plural(self.margins.size, 'row')}, {wrong:,} are misclassified, {inside:,} are "
            f"correct but inside the margin, {outside:,} are on the margin or outside it. Median "
            f"margin {number(float(np.median(self.margins)), 3)}, minimum "
            f"{number(float(self.margins.min()), 3)}."
        )

    def _draw(self, ax: Any) -> None:
        low, high = self._window()
        edges = np.linspace(low, high, MARGIN_BARS + 1)
        heights = np.histogram(np.clip(self.margins, low, high), edges)[0]
        middle = (edges[1:] + edges[:-1]) / 2
        groups = (
            (-np.inf, 0.0, style.ORANGE, "misclassified"),
            (0.0, 1.0, style.SKY, "inside the margin"),
            (1.0, np.inf, style.BLUE, "outside the margin"),
        )
        for (start, stop, color, name), count in zip(groups, self.counts, strict=True):
            in_bin = np.where((middle >= start) & (middle < stop), heights, 0)
            ax.stairs(in_bin, edges, fill=True, color=color, alpha=0.55, label=f"{name}: {count:,}")
        for at in (-1.0, 0.0, 1.0):
            if low <= at <= high:
                look = {"color": style.text_color(ax) if at == 0 else style.MUTED, "linewidth": 1.0}
                ax.axvline(at, linestyle="-" if at == 0 else (0, (4, 3)), **look)
        style.style_axes(ax, grid="y")
        ax.set_xlim(low, high)
        ax.set_xlabel("margin y f(x)")
        ax.set_ylabel("rows")
        # above the axes: within them it would stand on the lines of the boundary and the margin
        ax.legend(frameon=False, fontsize=8.5, ncols=2, loc="lower left", handlelength=1,
                  bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip

    def _window(self) -> tuple[float, float]:
        """The range without far outliers; 0 and 1 are always edges of bars.

        The width of a bar divides 1, so that no bar spans the boundary or the margin.
        """
        inner = np.quantile(self.margins, [0.25, 0.75])
        # Margins farther than so many interquartile ranges from the quartiles are drawn at the
        # edge.
        reach = 3.0 * max(float(np.ptp(inner)), 0.5)
        low = min(max(float(self.margins.min()), inner[0] - reach), -1.0)
        high = max(min(float(self.margins.max()), inner[1] + reach), 1.0)
        width = 1.0 / max(1, int((MARGIN_BARS - 1) / (high - low)))
        if high - low > MARGIN_BARS - 1:
            width = float(np.ceil((high - low) / (MARGIN_BARS - 1)))
        first = np.floor(low / width)
        return float(first * width), float((first + MARGIN_BARS) * width)
