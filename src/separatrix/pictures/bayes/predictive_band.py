"""The predictive band along one column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.bayes.inputs import level_text, observed, predictive_of
from separatrix.pictures.columns.values import short_name, value_axis, value_text
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.inputs import column_names, like
from separatrix.pictures.points import MAX_POINTS, fill_band, scatter
from separatrix.pictures.style import BLUE, ORANGE, label_text, style_axes
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.bayes.predictive import PredictiveDistribution

#: Places along the column at which the band is computed.
PLACES = 120


@dataclass(eq=False)
class PredictiveBandDisplay(Display):
    """Mean and central intervals of the predictive distribution along one column.

        m(x) ± q s(x),    q the quantile of (1 + level)/2

    Parameters
    ----------
    x : ndarray of shape (k,)
        Values of the column, in increasing order.
    mean : ndarray of shape (k,)
        Predictive means there.
    intervals : ndarray of shape (k, 2)
        Predictive intervals there.
    level : float, default=0.95
        Level of the intervals.
    points : ndarray of shape (n, 2) or None, default=None
        Observed rows: value of the column, target.
    column, target : str
        Names of both axes.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How values of the column are written; dates are days since 1970-01-01.
    max_points : int, default=5000
        Above so many points their density is drawn.

    Attributes
    ----------
    within : float
        Proportion of the points within the band; NaN without points.

    See Also
    --------
    PredictiveIntervalDisplay : Intervals of single rows, for several columns.
    PartialDependenceDisplay : Mean prediction along one of several columns.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import PredictiveBandDisplay
    >>> x = np.linspace(0, 1, 3)
    >>> display = PredictiveBandDisplay(
    ...     x, x, np.stack([x - 0.5, x + 0.5], axis=1), points=np.array([[0.0, 0.1], [1.0, 2.0]]))
    >>> display.within
    0.5
    """

    x: Floats
    mean: Floats
    intervals: Floats
    level: float = 0.95
    points: Floats | None = None
    column: str = "x"
    target: str = "y"
    display: str = ""
    max_points: int = MAX_POINTS

    title: ClassVar[str] = "Predictive band"

    def __post_init__(self) -> None:
        self.x, self.mean = (np.asarray(v, dtype=float).ravel() for v in (self.x, self.mean))
        self.intervals = np.asarray(self.intervals, dtype=float)
        if self.intervals.shape != (self.x.size, 2) or self.mean.size != self.x.size:
            raise InputError(
                f"{self.x.size} values, {self.mean.size} means and intervals of shape "
                f"{self.intervals.shape}."
            )
        if self.x.size < 2:
            raise InputError("A band needs two values of the column at least.")

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predictive: PredictiveDistribution,
        x: Any,
        *,
        level: float = 0.95,
        column: str = "x",
        target: str = "y",
    ) -> Self:
        """From rows with one column ``x``: targets and predictive distributions at the same x."""
        truth, at = observed(y, predictive), np.asarray(x, dtype=float).ravel()
        order = np.argsort(at, kind="stable")
        return cls(
            at[order],
            predictive.mean[order],
            predictive.interval(level)[order],
            level,
            np.stack([at, truth], axis=1),
            column,
            target,
        )

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        column: int = 0,
        level: float = 0.95,
        margin: float = 0.05,
        target: str = "y",
    ) -> Self:
        """From a fitted model and rows of numbers; other columns are set to their medians.

        The band reaches a part of ``margin`` beyond the range of the column. Points are drawn where
        the rows have one column alone: others are not on the slice that the band shows.
        """
        values = np.asarray(X, dtype=float)
        own = values[:, column]
        width = margin * float(np.ptp(own))
        x = np.linspace(own.min() - width, own.max() + width, PLACES)
        slice_ = np.tile(np.median(values, axis=0), (x.size, 1))
        slice_[:, column] = x
        found = predictive_of(model, like(X, slice_))
        alone = values.shape[1] == 1 and y is not None
        points = np.stack([own, np.asarray(y, dtype=float)], axis=1) if alone else None
        name = column_names(X)[column]
        return cls(x, found.mean, found.interval(level), level, points, name, target)

    @property
    def within(self) -> float:
        """Proportion of the points within the band; NaN without points."""
        if self.points is None or not len(self.points):
            return float("nan")
        at, y = np.asarray(self.points, dtype=float).T
        low, high = (np.interp(at, self.x, end) for end in self.intervals.T)
        return float(np.mean((y >= low) & (y <= high)))

    @property
    def heading(self) -> str:
        """The title with the name of the column."""
        return f"{self.title} along {short_name(self.column)}"

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return (
            f"Mean and {level_text(self.level)} predictive intervals along "
            f"{short_name(self.column)}. {self.caption}"
        )

    @property
    def caption(self) -> str:
        """The mean at both ends, the narrowest and the widest interval, the points within."""
        width = np.diff(self.intervals, axis=1).ravel()
        ends = [value_text(self.x[i], self.display) for i in (0, -1)]
        wide, tight = int(width.argmax()), int(width.argmin())
        text = (
            f"From {number(self.mean[0], 3)} at {ends[0]} to {number(self.mean[-1], 3)} at "
            f"{ends[1]}. The intervals are {number(width[tight], 3)} wide near "
            f"{value_text(self.x[tight], self.display)} and {number(width[wide], 3)} near "
            f"{value_text(self.x[wide], self.display)}."
        )
        if self.points is None or not len(self.points):
            return text
        rows = plural(len(self.points), "row")
        return f"{text} {100 * self.within:.1f} % of {rows} are within the band."

    def _draw(self, ax: Any) -> None:
        fill_band(
            ax, self.x, *self.intervals.T, color=ORANGE, label=f"{level_text(self.level)} interval"
        )
        if self.points is not None and len(self.points):
            at, y = np.asarray(self.points, dtype=float).T
            scatter(ax, at, y, max_points=self.max_points)
            ax.plot([], [], "o", ms=3.4, mew=0, color=BLUE, label="actual")
        ax.plot(self.x, self.mean, color=ORANGE, label="predicted")
        ax.margins(x=0.02)
        style_axes(ax)
        value_axis(ax.xaxis, self.display)
        ax.set_xlabel(label_text(self.column, 40))
        ax.set_ylabel(label_text(self.target, 30))
        ax.legend(frameon=False, fontsize=8.5, loc="best", handlelength=1.6)
