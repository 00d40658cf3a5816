"""Predictive intervals of single rows, in the order of their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.bayes.inputs import level_text, observed, predictive_of
from separatrix.pictures.columns.values import value_axis
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number, plural
from separatrix.pictures.largest import row_names
from separatrix.pictures.points import fill_boxes, largest
from separatrix.pictures.style import BLUE, ORANGE, TALL, style_axes, text_color
from separatrix.rows.block import Floats, Ints

if TYPE_CHECKING:
    from separatrix.bayes.predictive import PredictiveDistribution

#: Rows drawn at most: an even selection in the order of their predictions.
MOST_ROWS = 150


@dataclass(eq=False)
class PredictiveIntervalDisplay(Display):
    """The predictive band of rows of several columns: an interval for each, and its target.

    Rows are in the order of their predicted values, which the line shows. Dark squares are
    targets outside their interval.

    Parameters
    ----------
    actual : ndarray of shape (n,)
        Observed targets.
    predicted : ndarray of shape (n,)
        Predictive means.
    intervals : ndarray of shape (n, 2)
        Predictive intervals.
    level : float, default=0.95
        Level of the intervals.
    row_labels : sequence or None, default=None
        Names of the rows; their positions if None.
    max_shown : int, default=150
        Rows drawn at most; of more, an even selection.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How the target is written; dates are days since 1970-01-01.

    Attributes
    ----------
    outside : ndarray of bool
        Rows whose target is outside its interval.

    See Also
    --------
    PredictiveBandDisplay : The band along one column.
    CoverageDisplay : Coverage of intervals at every level.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import PredictiveIntervalDisplay
    >>> predictive = sx.PredictiveDistribution(np.array([2.0, 1.0]), np.array([1.0, 0.5]))
    >>> display = PredictiveIntervalDisplay.from_predictions([2.5, 3.0], predictive)
    >>> display.outside.tolist()
    [False, True]
    """

    actual: Floats
    predicted: Floats
    intervals: Floats
    level: float = 0.95
    row_labels: Sequence[object] | None = None
    max_shown: int = MOST_ROWS
    display: str = ""

    title: ClassVar[str] = "Predictive intervals, row by row"
    figure_size: ClassVar[tuple[float, float]] = TALL

    def __post_init__(self) -> None:
        self.actual, self.predicted, self.intervals = (
            np.asarray(v, dtype=float) for v in (self.actual, self.predicted, self.intervals)
        )
        n = self.actual.size
        if not n or self.predicted.shape != (n,) or self.intervals.shape != (n, 2):
            raise InputError(
                f"{n} targets, predictions of shape {self.predicted.shape} and intervals of shape "
                f"{self.intervals.shape}."
            )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predictive: PredictiveDistribution,
        *,
        level: float = 0.95,
        row_labels: Any = None,
    ) -> Self:
        """From observed targets and their predictive distributions."""
        truth = observed(y, predictive)
        return cls(truth, predictive.mean, predictive.interval(level), level, row_labels)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, level: float = 0.95) -> Self:
        """From a fitted model with ``predictive`` (or ``return_std``) and rows it has not seen."""
        return cls.from_predictions(y, predictive_of(model, X), level=level)

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Rows whose target is outside its interval."""
        low, high = self.intervals.T
        return np.asarray((self.actual < low) | (self.actual > high))

    @property
    def shown(self) -> Ints:
        """Positions of the rows drawn, by increasing prediction."""
        order = np.argsort(self.predicted, kind="stable")
        if order.size <= self.max_shown:
            return order
        return np.asarray(order[np.linspace(0, order.size - 1, self.max_shown).astype(int)])

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"{level_text(self.level)} predictive intervals and targets. {self.caption}"

    @property
    def caption(self) -> str:
        """Targets within, widths, the rows farthest outside, and how many are drawn."""
        n, width = self.actual.size, np.diff(self.intervals, axis=1).ravel()
        inside = n - int(self.outside.sum())
        text = (
            f"{inside} of {plural(n, 'target')} ({100 * inside / n:.1f} %) are within their "
            f"{level_text(self.level)} interval. Half of the intervals are narrower than "
            f"{number(float(np.median(width)), 3)}; the widest is {number(float(width.max()), 3)}."
        )
        names = row_names(self.row_labels, n)
        half = np.maximum(width / 2, np.finfo(float).tiny)
        away = np.where(self.outside, np.abs(self.actual - self.intervals.mean(axis=1)) / half, 0.0)
        far = [f"row {names[i]}" for i in largest(away) if away[i] > 0]
        if far:
            text += f" Farthest outside: {join_words(far)}."
        if n > self.max_shown:
            text += f" An even selection of {self.max_shown} rows is drawn."
        return text

    def _draw(self, ax: Any) -> None:
        shown = self.shown
        place = np.arange(1.0, shown.size + 1)
        low, high = self.intervals[shown].T
        half = 0.36
        boxes = np.stack([place - half, place + half, low, high], axis=1)
        fill_boxes(ax, boxes, ORANGE, 0.22)
        ax.plot(place, self.predicted[shown], color=ORANGE, linewidth=1.2, label="predicted")
        out, y = self.outside[shown], self.actual[shown]
        size = 3.4 if shown.size > 60 else 4.2
        if not out.all():
            ax.plot(
                place[~out], y[~out], "o", ms=size, mew=0, color=BLUE, alpha=0.8, label="actual"
            )
        if out.any():
            name = f"actual, outside the {level_text(self.level)} interval"
            ax.plot(place[out], y[out], "s", ms=size, mew=0, color=text_color(ax), label=name)
        ax.autoscale_view()
        ax.set_xlim(0, shown.size + 1)
        style_axes(ax, grid="y")
        value_axis(ax.yaxis, self.display)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("rows by increasing prediction")
        ax.set_ylabel("target")
        ax.legend(frameon=False, fontsize=8.5, loc="upper left", handlelength=1.6)
