"""Histogram of one column: by class, or with the mean of a numeric target in every bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.columns.values import column_size, short_name, value_axis, value_text
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.points import BESIDE, annotate, fill_band
from separatrix.pictures.style import (
    BLUE,
    MUTED,
    ORANGE,
    SERIES,
    label_text,
    percent_axis,
    style_axes,
)
from separatrix.rows.block import Floats

#: Classes with a histogram of their own: the most frequent.
MAX_CLASSES = 6
#: Height of the bars behind the curve of a target, as a part of the axes.
_BARS = 0.3
#: Rows below which the mean of a bin is not drawn.
_FEW = 3


@dataclass(eq=False)
class ColumnDistributionDisplay(Display):
    """Histogram of a column by class, or with the mean of a numeric target.

    Numbers are binned, levels have a bar each. With classes, the histograms of numbers have the
    same area, and the bar of a level is divided by class. With a numeric target, a line is its mean
    in each bin, and the band or whisker one standard deviation to either side.

    Parameters
    ----------
    column : str
        Name of the column.
    counts : ndarray of shape (b, k)
        Rows in each bin or of each level, by class; one column without classes.
    edges : ndarray of shape (b + 1,) or None, default=None
        Edges of the bins; None for levels.
    levels : sequence of str, default=()
        Names of the levels.
    classes : sequence of str, default=()
        Names of the classes.
    mean, deviation : ndarray of shape (b,) or None, default=None
        Mean and standard deviation of the target in each bin.
    target : str, default=""
        Name of the target.
    missing, outside : int, default=0
        Rows without a value, and rows beyond the edges or of other levels.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How the values are written; dates are days since 1970-01-01.

    Attributes
    ----------
    shown : list of int
        Classes drawn: of more than six, the most frequent.

    See Also
    --------
    CorrelationDisplay : Correlations of numeric columns.
    PartialDependenceDisplay : What a model makes of the column.

    Examples
    --------
    >>> from separatrix.pictures import ColumnDistributionDisplay
    >>> display = ColumnDistributionDisplay.from_values(
    ...     "dose", [1.0, 2.0, 2.0, 9.0], ["ill", "ill", "well", "well"])
    >>> display.description
    'Histograms of dose by class. Median by class, ill: 1; well: 2.'
    """

    column: str
    counts: Floats
    edges: Floats | None = None
    levels: Sequence[str] = ()
    classes: Sequence[str] = ()
    mean: Floats | None = None
    deviation: Floats | None = None
    target: str = ""
    missing: int = 0
    outside: int = 0
    display: str = ""

    title: ClassVar[str] = "Distribution"

    def __post_init__(self) -> None:
        self.counts = np.asarray(self.counts, dtype=float).reshape(len(self.counts), -1)
        bins = len(self.levels) if self.edges is None else len(self.edges) - 1
        if self.counts.shape != (bins, max(1, len(self.classes))) or not self.counts.sum():
            raise InputError(
                f"Counts of shape {self.counts.shape} for {bins} bins and "
                f"{len(self.classes)} classes of {self.column}."
            )

    @classmethod
    def from_values(cls, column: str, values: Any, y: Any = None, *, display: str = "") -> Self:
        """From the values of a column, numbers or text, and a target: numbers or classes."""
        from separatrix.statistics.grids import histogram_edges

        given = np.asarray(values)
        edges, levels = None, ()
        if given.dtype.kind in "fiu":
            x = given.astype(float)
            present = np.isfinite(x)
            edges = histogram_edges(x[present])
            code = np.searchsorted(edges, x, side="right") - 1
            code = np.where(x == edges[-1], len(edges) - 2, code)
            inside = present & (code >= 0) & (code < len(edges) - 1)
        else:
            names, code = np.unique(given.astype(str), return_inverse=True)
            levels = tuple(names.tolist())
            present = inside = np.ones(len(given), dtype=bool)
        bins = len(levels) if edges is None else len(edges) - 1
        drawn: dict[str, Any] = {
            "missing": int((~present).sum()),
            "outside": int((present & ~inside).sum()),
            "display": display,
        }
        at = code[inside]
        if y is None or np.asarray(y).dtype.kind in "fiu":
            counts = np.bincount(at, minlength=bins).astype(float)
            if y is not None:
                number_of = np.where(counts > 0, counts, np.nan)
                target = np.asarray(y, dtype=float)[inside]
                mean = np.bincount(at, target, bins) / number_of
                spread = np.bincount(at, (target - mean[at]) ** 2, bins) / number_of
                drawn |= {"mean": mean, "deviation": np.sqrt(spread), "target": "target"}
            return cls(column, counts, edges, levels, **drawn)
        classes, own = np.unique(np.asarray(y).astype(str), return_inverse=True)
        counts = np.zeros((bins, len(classes)))
        np.add.at(counts, (at, own[inside]), 1.0)
        return cls(column, counts, edges, levels, tuple(classes.tolist()), **drawn)

    @property
    def heading(self) -> str:
        """The title with the name of the column."""
        return f"{self.title} of {short_name(self.column)}"

    @property
    def shown(self) -> list[int]:
        """Classes drawn: of more than six, the most frequent."""
        if len(self.classes) <= MAX_CLASSES:
            return list(range(self.counts.shape[1]))
        order = np.argsort(-self.counts.sum(axis=0), kind="stable")[:MAX_CLASSES]
        return sorted(order.tolist())

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        if self.classes:
            what = f"Histograms of {self.column} by class"
        elif self.mean is not None:
            what = f"Mean of {self.target} by {self.column}, over a histogram"
        else:
            what = f"Histogram of {self.column}, {plural(int(self.counts.sum()), 'row')}"
        return f"{what}. {self.caption}"

    @property
    def caption(self) -> str:
        """Medians or levels, and rows that are not drawn."""
        text = self._numbers_in_words() if self.edges is not None else self._levels_in_words()
        if self.missing:
            text += f" {plural(self.missing, 'row')} without a value."
        if self.outside and self.edges is not None:
            text += f" {plural(self.outside, 'row')} beyond the axis."
        elif self.outside:
            text += f" {plural(self.outside, 'row')} of other levels."
        if len(self.classes) > MAX_CLASSES:
            text += f" The {MAX_CLASSES} most frequent of {len(self.classes)} classes are drawn."
        return text

    def _numbers_in_words(self) -> str:
        assert self.edges is not None
        if self.classes:
            medians = [
                f"{self.classes[k]}: {value_text(self._median(k), self.display)}"
                for k in self.shown
                if self.counts[:, k].sum()
            ]
            return f"Median by class, {'; '.join(medians)}."
        if self.mean is None:
            return f"The median is about {value_text(self._median(0), self.display)}."
        many = self.counts[:, 0] >= max(_FEW, 0.01 * self.counts.sum())
        means = np.where(many, self.mean, np.nan)
        if not np.isfinite(means).any():
            return f"The median is about {value_text(self._median(0), self.display)}."
        low, high = int(np.nanargmin(means)), int(np.nanargmax(means))
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        return (
            f"From {number(means[low], 3)} near {value_text(middle[low], self.display)} to "
            f"{number(means[high], 3)} near {value_text(middle[high], self.display)}."
        )

    def _levels_in_words(self) -> str:
        total = self.counts.sum(axis=1)
        if self.mean is not None:
            low, high = int(self.mean.argmin()), int(self.mean.argmax())
            return (
                f"From {number(self.mean[low], 3)} of {self.levels[low]} to "
                f"{number(self.mean[high], 3)} of {self.levels[high]}."
            )
        if not self.classes:
            most, least = (
                f"{self.levels[i]} ({100 * total[i] / total.sum():.0f} %)"
                for i in (int(total.argmax()), int(total.argmin()))
            )
            return f"The most frequent is {most}, the least {least}."
        last = self.counts[:, -1] / np.where(total > 0, total, 1.0)
        low, high = int(last.argmin()), int(last.argmax())
        return (
            f"{self.classes[-1]}: from {100 * last[low]:.0f} % of {self.levels[low]} to "
            f"{100 * last[high]:.0f} % of {self.levels[high]}."
        )

    def _median(self, k: int) -> float:
        """The median within the bins, by interpolation; an integer for bins of one integer."""
        assert self.edges is not None
        total = np.append(0.0, np.cumsum(self.counts[:, k]))
        if np.allclose(np.diff(self.edges), 1.0) and np.allclose(self.edges % 1.0, 0.5):
            i = int(np.searchsorted(total, total[-1] / 2, side="left"))
            return float(self.edges[max(i - 1, 0)] + 0.5)
        return float(np.interp(total[-1] / 2, total, self.edges))

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list of levels is long; less than other plots for bins."""
        return column_size(len(self.levels))

    def _draw(self, ax: Any) -> None:
        if self.edges is None:
            self._draw_levels(ax)
            return
        if self.classes:
            self._by_class(ax, self.edges)
        elif self.mean is None:
            ax.stairs(self.counts[:, 0], self.edges, fill=True, color=BLUE, alpha=0.35)
            ax.stairs(self.counts[:, 0], self.edges, color=BLUE, linewidth=1.2)
            ax.set_ylabel("rows")
            style_axes(ax, grid="y")
        else:
            self._with_target(ax, self.edges, self.mean)
        ax.set_xlim(self.edges[0], self.edges[-1])
        value_axis(ax.xaxis, self.display)
        ax.set_xlabel(label_text(self.column, 40))

    def _by_class(self, ax: Any, edges: Floats) -> None:
        for color, k in zip(SERIES, self.shown, strict=False):
            own = self.counts[:, k]
            if not own.sum():
                continue
            height = own / own.sum()
            ax.stairs(height, edges, fill=True, color=color, alpha=0.16)
            ax.stairs(height, edges, color=color, linewidth=1.3)
            ax.plot([], [], color=color, label=label_text(self.classes[k], 16))
        ax.set_ylim(bottom=0)
        ax.set_ylabel("proportion of the class")
        ax.legend(frameon=False, fontsize=8.5, loc="best", handlelength=1.2)
        style_axes(ax, grid="y")
        percent_axis(ax.yaxis)

    def _with_target(self, ax: Any, edges: Floats, mean: Floats) -> None:
        """The mean of the target, over bars that show where the rows are."""
        middle = (edges[1:] + edges[:-1]) / 2
        some = self.counts[:, 0] >= _FEW
        some = some if some.any() else self.counts[:, 0] > 0
        x, line = middle[some], mean[some]
        if self.deviation is not None:
            band = self.deviation[some]
            fill_band(ax, x, line - band, line + band, color=ORANGE)
        ax.plot(x, line, color=ORANGE, marker="o", ms=3)
        low, high = ax.get_ylim()
        height = _BARS * self.counts[:, 0] / self.counts.max()
        bottom = low - 0.3 * (high - low)
        ax.stairs(bottom + height * (high - bottom), edges, baseline=bottom, fill=True, color=MUTED,
                  alpha=0.3)  # fmt: skip
        ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])
        ax.set_ylim(bottom, high)
        ax.set_ylabel(f"mean of {label_text(self.target, 20)}")
        style_axes(ax)

    def _draw_levels(self, ax: Any) -> None:
        position = -np.arange(len(self.levels), dtype=float)
        total = self.counts.sum(axis=1)
        if self.classes:
            self._divided(ax, position, total)
        elif self.mean is None:
            ax.barh(position, total, height=0.62, color=BLUE, alpha=0.6)
            ax.set_xlabel("rows")
        else:
            self._means(ax, position, self.mean)
        ax.set_yticks(position, [label_text(level, 18) for level in self.levels])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        if self.classes:
            percent_axis(ax.xaxis)
        elif self.mean is None:
            return
        for at, count in zip(position, total, strict=True):
            annotate(ax, f"{count:,.0f}", (1, at), (4, 0), BESIDE, color=MUTED, va="center")
        annotate(ax, "rows", (1, 1), (4, 3), "axes fraction", color=MUTED)

    def _divided(self, ax: Any, position: Floats, total: Floats) -> None:
        """A bar for each level, divided by class; classes that have no color are left white."""
        left = np.zeros(len(position))
        for color, k in zip(SERIES, self.shown, strict=False):
            width = self.counts[:, k] / np.where(total > 0, total, 1.0)
            name = label_text(self.classes[k], 12)
            ax.barh(position, width, left=left, height=0.62, color=color, alpha=0.6, label=name)
            left = left + width
        ax.set_xlim(0, 1)
        ax.set_xlabel("proportion of the classes")
        columns = min(3, len(self.shown))
        ax.legend(frameon=False, fontsize=8.5, ncols=columns, loc="lower left", handlelength=1,
                  bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip

    def _means(self, ax: Any, position: Floats, mean: Floats) -> None:
        for at, value, spread in zip(
            position,
            mean,
            np.zeros(len(mean)) if self.deviation is None else self.deviation,
            strict=True,
        ):
            ax.plot([value - spread, value + spread], [at, at], color=ORANGE, linewidth=1.4)
        ax.plot(mean, position, "o", ms=5.5, color=ORANGE)
        ax.set_xlabel(f"mean of {label_text(self.target, 24)}")
