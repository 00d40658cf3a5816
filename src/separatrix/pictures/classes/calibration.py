"""Calibration: observed frequencies against predicted probabilities, with a histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, plural
from separatrix.pictures.points import annotate
from separatrix.pictures.style import MUTED, SERIES, TALL, label_text, style_axes
from separatrix.probability.reliability import Reliability, reliability
from separatrix.rows.block import Floats

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

    References
    ----------
    A. Niculescu-Mizil and R. Caruana, Predicting good probabilities with supervised learning,
    ICML, 2005.

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
    figure_size: ClassVar[tuple[float, float]] = TALL

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
        from separatrix.probability.proportions import wilson

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
        at = int(distance.argmax())
        which = f" of {self.labels[-1]}" if len(self.curves) > 1 else ""
        if distance[at] <= 0:
            return f"All confidence intervals{which} include the diagonal."
        return (
            f"Worst calibrated bin{which}: predicted {100 * curve.predicted[at]:.0f} %, observed "
            f"{100 * curve.observed[at]:.0f} %."
        )

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9)
        for i, curve in enumerate(self.curves):
            self._curve(ax, i, curve)
        self._histogram(ax)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(_FLOOR, 1.03)
        style_axes(ax)
        ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        ax.set_xlabel(self.axis_label)
        ax.set_ylabel("observed frequency")
        ax.legend(frameon=False, fontsize=8.5, loc="upper left", handlelength=1.6)

    def _curve(self, ax: Any, i: int, curve: Reliability) -> None:
        color = SERIES[i % len(SERIES)]
        for at, (low, high) in zip(curve.predicted, self.confidence_intervals(i), strict=True):
            ax.plot([at, at], [low, high], color=color, linewidth=1.0, alpha=0.6)
        name = f"{label_text(self.labels[i], 18)}: " if self.labels[i] else ""
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
            color = SERIES[i % len(SERIES)]
            height = _FLOOR + (_CEILING - _FLOOR) * counts / top
            if len(self.histograms) == 1:
                ax.stairs(height, edges, baseline=_FLOOR, fill=True, color=color, alpha=0.35)
            ax.stairs(height, edges, baseline=_FLOOR, color=color, linewidth=1.0)
        text = f"histogram (highest bar {100 * top:.0f} % of the rows)"
        annotate(ax, text, (0.5, _CEILING / 2), ha="center", va="center", color=MUTED)


def _axis_label(name: Any) -> str:
    return "predicted probability" if name is None else f"probability of {label_text(name, 20)}"


def _positive(y: Any, positive: Any) -> Any:
    """The class whose probability is drawn; None where y is boolean."""
    if positive is not None:
        return positive
    truth = np.asarray(y)
    return None if truth.dtype == bool or not truth.size else np.unique(truth)[-1]
