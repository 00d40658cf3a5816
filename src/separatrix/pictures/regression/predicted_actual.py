"""Actual against predicted values of a numeric target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.columns.values import value_axis, value_text
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number, plural
from separatrix.pictures.largest import mark_largest, row_names
from separatrix.pictures.points import (
    MAX_POINTS,
    annotate,
    largest,
    running_mean,
    scatter,
)
from separatrix.pictures.style import MUTED, ORANGE, TALL, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class PredictedActualDisplay(Display):
    """Actual against predicted values, on equal axes with the line of perfect predictions.

    Points above the line were predicted too low. The orange line is a running mean: where it leaves
    the line, predictions are biased. The three largest errors are labeled.

    Parameters
    ----------
    actual : ndarray of shape (n,)
        Observed values of the target.
    predicted : ndarray of shape (n,)
        Predictions.
    row_labels : sequence or None, default=None
        Names of the rows; their positions if None.
    max_points : int, default=5000
        Above so many points their density is drawn.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How the values are written; dates are days since 1970-01-01.

    Attributes
    ----------
    r_squared : float
        1 − Σ(y − ŷ)² / Σ(y − ȳ)².

    See Also
    --------
    ResidualDisplay : Residuals against fitted values.
    CalibrationDisplay : The same for probabilities of classes.

    Examples
    --------
    >>> from separatrix.pictures import PredictedActualDisplay
    >>> display = PredictedActualDisplay.from_predictions([1.0, 2.0, 6.0], [1.0, 2.5, 4.0])
    >>> display.description
    'Actual against predicted values of 3 rows: R² 0.696. Half of the errors are below 0.500. The
    largest: row 2 (predicted 4, actually 6), row 1 (predicted 2.50, actually 2) and row 0
    (predicted 1, actually 1).'
    """

    actual: Floats
    predicted: Floats
    row_labels: Sequence[object] | None = None
    max_points: int = MAX_POINTS
    display: str = ""

    title: ClassVar[str] = "Predicted against actual values"
    figure_size: ClassVar[tuple[float, float]] = TALL

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predicted: Any,
        *,
        row_labels: Any = None,
        max_points: int = MAX_POINTS,
        display: str = "",
    ) -> Self:
        """From observed and predicted targets."""
        truth, answers = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if truth.shape != answers.shape or truth.ndim != 1 or not truth.size:
            raise InputError(f"y has shape {truth.shape}, the predictions {answers.shape}.")
        return cls(truth, answers, row_labels, max_points, display)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, max_points: int = MAX_POINTS) -> Self:
        """From a fitted regressor and rows with their targets."""
        return cls.from_predictions(y, model.predict(X), max_points=max_points)

    @property
    def r_squared(self) -> float:
        """1 − Σ(y − ŷ)² / Σ(y − ȳ)²; NaN where y does not vary."""
        total = float(((self.actual - self.actual.mean()) ** 2).sum())
        error = float(((self.actual - self.predicted) ** 2).sum())
        return 1.0 - error / total if total > 0 else float("nan")

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Actual against predicted values of {self.caption}"

    @property
    def caption(self) -> str:
        """Rows, R², the median error, and the three largest errors."""
        error = np.abs(self.actual - self.predicted)
        names = row_names(self.row_labels, error.size)
        far = [
            f"row {names[i]} (predicted {value_text(self.predicted[i], self.display)}, actually "
            f"{value_text(self.actual[i], self.display)})"
            for i in largest(error)
        ]
        fit = "" if np.isnan(self.r_squared) else f": R² {number(self.r_squared, 3)}"
        return (
            f"{plural(error.size, 'row')}{fit}. Half of the errors are below "
            f"{number(float(np.median(error)), 3)}. The largest: {join_words(far)}."
        )

    def _draw(self, ax: Any) -> None:
        values = np.concatenate([self.actual, self.predicted])
        low, high = float(values.min()), float(values.max())
        pad = 0.04 * (high - low) or 1.0
        ends = np.array([low - pad, high + pad])
        ax.plot(ends, ends, color=MUTED, linewidth=0.9)
        look = {"ha": "right", "va": "top", "color": MUTED, "fontsize": 8}
        annotate(ax, "actual = predicted", (0.93, 0.99), (0, 0), "axes fraction", **look)
        scatter(ax, self.predicted, self.actual, max_points=self.max_points)
        trend = running_mean(self.predicted, self.actual)
        if trend is not None:
            ax.plot(*trend, color=ORANGE)
        ax.set_xlim(*ends)
        ax.set_ylim(*ends)
        error = self.actual - self.predicted
        mark_largest(ax, self.predicted, self.actual, error, self.row_labels)
        style_axes(ax)
        for axis in (ax.xaxis, ax.yaxis):
            value_axis(axis, self.display)
        ax.set_xlabel("predicted")
        ax.set_ylabel("actual")
