"""Error over complexity and number of training rows: as a surface, and as lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, score_info, score_text
from separatrix.pictures.points import BESIDE, annotate, fill_band, fill_boxes, spread_labels
from separatrix.pictures.style import (
    BLUE,
    SERIES,
    WIDTH,
    label_score_axis,
    label_text,
    style_axes,
    text_color,
)
from separatrix.rows.block import Floats, Ints
from separatrix.selection.curves.result import LearningCurves

#: Complexities that a surface and lines show at most, and shades of a surface.
MOST_CELLS, MOST_LINES, SHADES = 9, 6, 8
#: How far lines are extended, in training rows, and the largest error shown, in the median of
#: those with all rows.
BEYOND, TALLEST = 4.0, 2.5


def _some(count: int, most: int, chosen: int) -> Ints:
    """Positions at even steps, the chosen one among them."""
    evenly = np.linspace(0, count - 1, min(count, most)).round().astype(np.int64)
    if chosen not in evenly and len(evenly):
        evenly[np.abs(evenly - chosen).argmin()] = chosen
    return np.unique(evenly)


def _cell(value: float, metric: str) -> str:
    return score_text(value, metric) if score_info(metric).is_rate else number(value, 3)


def _described(curves: LearningCurves) -> str:
    best, metric = int(curves.best[-1]), curves.metric
    first = int(curves.best[0])
    mean, n = curves.mean, curves.sizes
    ends = (
        f"With {n[0]:,.0f} training rows {curves.names[first]} has the least error, "
        f"{score_text(mean[0, first], metric)}; with {n[-1]:,.0f} {curves.names[best]}, "
        f"{score_text(mean[-1, best], metric)}."
    )
    return f"{score_info(metric).short} on validation rows. {ends}"


@dataclass(eq=False)
class LearningSurfaceDisplay(Display):
    """Validation error over complexity and number of training rows, as a shaded surface.

    Lighter is better; the least error of every number of rows is ringed.

    Parameters
    ----------
    curves : LearningCurves
        What :func:`separatrix.learning_curves` returned.

    See Also
    --------
    LearningLinesDisplay : The same as lines, extended by power laws.
    LearningCurveDisplay : Training and validation score of one model.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import LearningSurfaceDisplay
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> curves = sx.learning_curves([sx.Ridge(100.0), sx.Ridge(1.0)], x, x[:, 0])
    >>> LearningSurfaceDisplay(curves).plot().ax_.get_xlabel()
    'training rows'
    """

    curves: LearningCurves

    title: ClassVar[str] = "Error over complexity and rows"

    @property
    def shown(self) -> Ints:
        """Positions of the complexities that are drawn."""
        return _some(len(self.curves.names), MOST_CELLS, int(self.curves.best[-1]))

    @property
    def size(self) -> tuple[float, float]:
        """Height by the number of complexities."""
        return WIDTH, float(np.clip(1.3 + 0.32 * len(self.shown), 2.0, 4.4))

    @property
    def description(self) -> str:
        """The least error of the smallest and of the largest training sets."""
        return _described(self.curves)

    def _draw(self, ax: Any) -> None:
        curves, shown = self.curves, self.shown
        mean = curves.mean[:, shown].T  # complexities x sizes
        low = float(np.nanmin(mean))
        top = min(float(np.nanmax(mean)), TALLEST * float(np.nanmedian(mean[:, -1])))
        level = np.clip((mean - low) / (top - low if top > low else 1.0), 0.0, 1.0)
        shade = np.where(np.isfinite(mean), np.ceil(SHADES * level), 0.0)
        for value in np.unique(shade[shade > 0]):
            at = np.argwhere(shade == value)[:, [1, 1, 0, 0]] + [-0.5, 0.5, -0.5, 0.5]
            fill_boxes(ax, at, BLUE, 0.62 * value / SHADES)
        for row, column in np.argwhere(np.isfinite(mean)):
            text = _cell(mean[row, column], curves.metric)
            ax.text(column, row, text, ha="center", va="center", fontsize=7.5)
        for column, best in enumerate(np.nanargmin(np.where(np.isfinite(mean), mean, np.inf), 0)):
            box = np.array([-0.46, 0.46, 0.46, -0.46, -0.46]) + column
            sides = np.array([-0.42, -0.42, 0.42, 0.42, -0.42]) + best
            ax.plot(box, sides, color=text_color(ax), linewidth=1.1)
        ax.set_xlim(-0.5, len(curves.sizes) - 0.5)
        ax.set_ylim(-0.5, len(shown) - 0.5)
        ax.set_xticks(range(len(curves.sizes)), [f"{n:,.0f}" for n in curves.sizes])
        ax.set_yticks(range(len(shown)), [label_text(curves.names[j], 16) for j in shown])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("training rows")
        ax.set_ylabel("simple to complex")


@dataclass(eq=False)
class LearningLinesDisplay(Display):
    """Validation error over the number of training rows, a line for each complexity.

    Bands are one standard error over the folds. The best line is extended by its power law, dotted,
    with an interval of 90 %.

    Parameters
    ----------
    curves : LearningCurves
        What :func:`separatrix.learning_curves` returned.

    See Also
    --------
    LearningSurfaceDisplay : All complexities and sizes as a surface.

    References
    ----------
    C. Cortes, L. D. Jackel, S. A. Solla, V. Vapnik and J. S. Denker, Learning curves:
    asymptotic values and rate of convergence, NIPS, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import LearningLinesDisplay
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> curves = sx.learning_curves([sx.Ridge(100.0), sx.Ridge(1.0)], x, x[:, 0])
    >>> LearningLinesDisplay(curves).plot().ax_.get_ylabel()
    'RMSE'
    """

    curves: LearningCurves

    title: ClassVar[str] = "Learning curves"

    @property
    def shown(self) -> Ints:
        """Positions of the complexities that are drawn."""
        return _some(len(self.curves.names), MOST_LINES, int(self.curves.best[-1]))

    @property
    def description(self) -> str:
        """The least error at both ends, and that of twice the rows by the power law."""
        curves = self.curves
        text, best = _described(curves), int(curves.best[-1])
        n = 2.0 * float(curves.sizes[-1])
        found = [e for e in curves.extrapolate(n) if e.name == curves.names[best]]
        if not found:
            return f"{text} The curve is too short for a power law."
        e, metric = found[0], curves.metric
        ends = f"{score_text(e.low, metric)} to {score_text(e.high, metric)}"
        return f"{text} By its power law {n:,.0f} rows give {score_text(e.error, metric)} ({ends})."

    def _draw(self, ax: Any) -> None:
        curves, shown = self.curves, self.shown
        mean, spread, n = curves.mean, curves.standard_error, curves.sizes
        ends = []
        for color, j in zip(SERIES, shown, strict=False):
            band = mean[:, j] - spread[:, j], mean[:, j] + spread[:, j]
            fill_band(ax, n, *band, color=color)
            ax.plot(n, mean[:, j], marker="o", ms=3.5, color=color)
            known = mean[:, j][np.isfinite(mean[:, j])]
            ends.append(float(known[-1]) if len(known) else np.nan)
        self._extend(ax, SERIES[int(np.flatnonzero(shown == curves.best[-1])[0])])
        ax.set_xscale("log")
        self._limit(ax, mean[:, shown])
        self._ticks(ax)
        style_axes(ax)
        ax.set_xlabel("training rows")
        label_score_axis(ax.yaxis, score_info(curves.metric), direction=False)
        self._label(ax, np.array(ends))

    def _extend(self, ax: Any, color: str) -> None:
        best, last = int(self.curves.best[-1]), float(self.curves.sizes[-1])
        law = self.curves.power_laws[best]
        if law is None:
            return
        n = np.geomspace(last, BEYOND * last, 25)
        values = [law.interval(self.curves.draws_at(best, float(m))) for m in n]
        middle, low, high = np.array(values).T
        fill_band(ax, n, low, high, color=color)
        ax.plot(n, middle, color=color, linestyle=(0, (1, 2)))

    def _limit(self, ax: Any, mean: Floats) -> None:
        """Peaks of small training sets do not decide the scale."""
        top = TALLEST * float(np.nanmedian(mean[-1]))
        low, high = ax.get_ylim()
        if 0.0 < top < high:
            ax.set_ylim(max(low, 0.0), top)

    def _ticks(self, ax: Any) -> None:
        from matplotlib.ticker import NullFormatter, NullLocator

        n = self.curves.sizes
        some = [n[0], n[len(n) // 2], n[-1], BEYOND * n[-1]]
        ax.set_xticks(some, [f"{value:,.0f}" for value in some])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())

    def _label(self, ax: Any, ends: Floats) -> None:
        """The name of each line at the right, moved apart where they would overlap."""
        low, high = ax.get_ylim()
        at = np.clip(np.nan_to_num(ends, nan=high), low, high)
        heights = spread_labels(at, 0.062 * (high - low))
        for color, j, y in zip(SERIES, self.shown, heights, strict=False):
            style = {"va": "center", "color": color, "annotation_clip": False}
            annotate(ax, label_text(self.curves.names[j], 16), (1, y), (5, 0), BESIDE, **style)
