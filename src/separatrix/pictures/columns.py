"""Columns of a table: distributions, correlations, importance, partial dependence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.formatting import join_words, number, plural, score_info, score_text
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names, like
from separatrix.pictures.points import BESIDE, annotate, fill_band, fill_boxes, reference_line
from separatrix.pictures.style import (
    BLUE,
    MUTED,
    ORANGE,
    PAPER,
    SERIES,
    WIDTH,
    label_text,
    percent_axis,
    style_axes,
)

# -------------------------------------------------------------------------------------------------
# Values of a column as text and on an axis: numbers, years, dates and times of day.


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Days from the year 1 to the year 9999: what a date can be.
_FIRST, _LAST = -719_162, 2_932_896


def value_text(value: float, display: str = "", digits: int = 3) -> str:
    """A value as its column is displayed: ``2014``, ``2014-03-01``, ``08:30``, ``1,250``."""
    if not np.isfinite(value):
        return number(value)
    if display == "year":
        return f"{value:.0f}".replace("-", "−")
    if display in ("date", "datetime") and _FIRST <= value <= _LAST:
        moment = _EPOCH + timedelta(days=float(value))
        midnight = display == "date" or float(value).is_integer()
        return moment.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M")
    if display == "time" and 0 <= value <= 86_400:
        return _clock(value)
    return number(value, digits)


def short_name(column: object, limit: int = 40) -> str:
    """The name of a column in a sentence or a heading."""
    return label_text(column, limit).replace(r"\$", "$")


def column_size(levels: int) -> tuple[float, float]:
    """Width and height of a plot over a column: a line for each level, or an axis of numbers."""
    return (WIDTH, 0.95 + 0.26 * max(3, levels)) if levels else (WIDTH, 2.7)


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def value_axis(axis: Any, display: str = "") -> None:
    """Ticks of an axis with the values of a column; call it after the limits are set."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

    low, high = sorted(axis.get_view_interval())
    if display == "year":
        axis.set_major_locator(MaxNLocator(6, integer=True))
        axis.set_major_formatter(FuncFormatter(lambda v, _: value_text(v, "year")))
    elif display in ("date", "datetime") and low >= _FIRST and high <= _LAST:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=6, tz=UTC)
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC, show_offset=False))
    elif display == "time" and high - low > 3_600:
        hours = next(h for h in (1, 2, 3, 4, 6, 12, 24) if (high - low) / (3_600 * h) <= 7)
        axis.set_major_locator(MultipleLocator(3_600 * hours))
        axis.set_major_formatter(FuncFormatter(lambda v, _: _clock(v) if v >= 0 else ""))


# -------------------------------------------------------------------------------------------------
# Histogram of one column: by class, or with the mean of a numeric target in every bin.


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
        from separatrix.statistics.columns import histogram_edges

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
        classes, codes = np.unique(np.asarray(y).astype(str), return_inverse=True)
        counts = np.zeros((bins, len(classes)))
        np.add.at(counts, (at, codes[inside]), 1.0)
        return cls(column, counts, edges, levels, tuple(classes.tolist()), **drawn)

    @property
    def heading(self) -> str:
        """The title with the name of the column."""
        return f"{self.title} of {short_name(self.column)}"

    @property
    def shown(self) -> list[int]:
        """Classes drawn: of more than six, the most frequent."""
        if len(self.classes) <= len(SERIES):
            return list(range(self.counts.shape[1]))
        order = np.argsort(-self.counts.sum(axis=0), kind="stable")[: len(SERIES)]
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
        if len(self.classes) > len(SERIES):
            text += f" The {len(SERIES)} most frequent of {len(self.classes)} classes are drawn."
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
            count = self.counts[:, k]
            if not count.sum():
                continue
            height = count / count.sum()
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
        # Height of the bars behind the curve of a target, as a part of the axes.
        height = 0.3 * self.counts[:, 0] / self.counts.max()
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
            self._draw_proportions(ax, position, total)
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

    def _draw_proportions(self, ax: Any, position: Floats, total: Floats) -> None:
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


# -------------------------------------------------------------------------------------------------
# Correlations of numeric columns.


@describe_parameters
@dataclass(eq=False)
class CorrelationDisplay(Display):
    """Pearson correlations of every pair of columns, similar columns side by side.

    Parameters
    ----------
    names : sequence of str
    matrix : array-like of shape (k, k)
        Correlations; NaN where one is not defined.
    n_columns : int or None, default=None
        Number of numeric columns of the table; None: as many as there are names.

    Attributes
    ----------
    order : ndarray of int
        Columns in the order in which they are drawn.

    See Also
    --------
    ColumnDistributionDisplay : Histogram of one column.
    PermutationImportanceDisplay : Which columns matter to a model.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import CorrelationDisplay
    >>> X = np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 3.0], [3.0, 7.0, 4.0], [4.0, 8.0, 0.0]])
    >>> CorrelationDisplay.from_rows(X, names=["a", "b", "c"]).description
    'Correlations of 3 columns. Largest: a and b 0.98, a and c −0.84 and b and c −0.73.'
    """

    names: Sequence[str]
    matrix: Floats
    n_columns: int | None = None

    title: ClassVar[str] = "Correlations of columns"

    def __post_init__(self) -> None:
        self.matrix = np.asarray(self.matrix, dtype=float)
        if self.matrix.shape != (len(self.names),) * 2 or len(self.names) < 2:
            raise InputError(f"Correlations need two columns; there are {len(self.names)}.")

    @classmethod
    def from_rows(cls, X: Any, *, names: Sequence[str] | None = None) -> Self:
        """From numeric rows; a data frame provides its names. NaN is a missing value."""
        from separatrix.statistics.columns import pairwise_correlations

        x = np.asarray(X, dtype=float)
        present = np.isfinite(x).astype(float)
        matrix = pairwise_correlations(np.nan_to_num(x), present, np.ones(len(x)))
        return cls(column_names(X, names), matrix)

    @property
    def _shown(self) -> Ints:
        """Columns drawn: all, or those of the largest correlations, in their order."""
        count = len(self.names)
        max_columns = 16  # columns drawn at most
        if count <= max_columns:
            return np.arange(count)
        others = np.abs(np.nan_to_num(self.matrix)) - np.eye(count)
        return np.sort(np.argsort(-others.max(axis=1), kind="stable")[:max_columns])

    @property
    def order(self) -> Ints:
        """Columns as they are drawn: leaves of average linkage, so that similar ones meet."""
        from scipy.cluster.hierarchy import leaves_list, linkage
        from scipy.spatial.distance import squareform

        shown = self._shown
        r = np.nan_to_num(self.matrix[np.ix_(shown, shown)])
        distance = 1.0 - np.abs((r + r.T) / 2)
        np.fill_diagonal(distance, 0.0)
        tree = linkage(
            squareform(distance, checks=False), "average", optimal_ordering=len(shown) > 2
        )
        return np.asarray(shown[leaves_list(tree)])

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Correlations of {len(self._shown)} columns. {self.caption}"

    @property
    def caption(self) -> str:
        """The three largest correlations, and how many columns are not drawn."""
        i, j = np.triu_indices(len(self.names), 1)
        r = self.matrix[i, j]
        order = np.argsort(-np.abs(np.nan_to_num(r)), kind="stable")[:3]
        pairs = [
            f"{short_name(self.names[i[p]])} and {short_name(self.names[j[p]])} {_two_digits(r[p])}"
            for p in order
            if np.isfinite(r[p])
        ]
        text = f"Largest: {join_words(pairs)}." if pairs else "None of them varies."
        whole = self.n_columns or len(self.names)
        if whole > len(self._shown):
            text += f" {len(self._shown)} of {whole:,} numeric columns are drawn."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """Nearly square cells."""
        return WIDTH, float(np.clip(1.2 + 0.27 * len(self._shown), 2.2, 5.2))

    def _draw(self, ax: Any) -> None:
        order = self.order
        k = len(order)
        r = self.matrix[np.ix_(order, order)]
        below = np.tril(np.ones((k, k), dtype=bool), -1) & np.isfinite(r)
        shades = 10  # shades of either color; the darkest is for ±1
        shade = np.where(below, np.ceil(shades * np.abs(r)) * np.sign(r), 0.0)
        for level in np.unique(shade[shade != 0]):
            # Light enough for text on light and dark pages.
            alpha = 0.6 * abs(level) / shades
            at = np.argwhere(shade == level)[:, [1, 1, 0, 0]] + [-0.5, 0.5, -0.5, 0.5]
            fill_boxes(ax, at, ORANGE if level > 0 else BLUE, alpha)
        roomy = 9  # those whose cells have room for two digits and a sign
        font = 8.5 if k <= roomy else 6.5
        for row, column in np.argwhere(below):
            text = _two_digits(r[row, column])
            text = text if k <= roomy else text.replace("0.", ".")
            ax.text(column, row, text, ha="center", va="center", fontsize=font)
        ax.set_xlim(-0.5, k - 1.5)
        ax.set_ylim(k - 0.5, 0.5)
        names = [label_text(self.names[j], 18) for j in order]
        ax.set_yticks(range(1, k), names[1:])
        ax.set_xticks(range(k - 1), names[:-1], rotation=40, ha="right", rotation_mode="anchor")
        ax.tick_params(length=0, pad=2)
        ax.spines[:].set_visible(False)


def _two_digits(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


# -------------------------------------------------------------------------------------------------
# Permutation importance of columns, with intervals.


@describe_parameters
@dataclass(eq=False)
class PermutationImportanceDisplay(Display):
    """How much a score gets worse when one column is permuted among the rows.

    A dot is the mean increase, a line its 95 % interval; hollow dots have an interval that holds
    zero. Columns that carry the same information stand in for one another, and each then looks
    less important than both together are.

    Parameters
    ----------
    names : sequence of str
    increase : ndarray of shape (k,)
        Increase of the score of each.
    intervals : ndarray of shape (k, 2)
        95 % intervals of the increases.
    metric : str, default="rmse"
        Name of the score, of which lower is better.
    base : float or None, default=None
        The score with every column in place.
    n_columns : int or None, default=None
        Number of columns of the table; None: as many as there are names.
    max_shown : int, default=15
        Number of columns drawn at most.

    Attributes
    ----------
    shown : list of int
        Positions of the columns drawn, the most important first.
    above_zero : ndarray of bool
        Where the whole interval is above zero.

    See Also
    --------
    PartialDependenceDisplay : How predictions change along one column.
    CoefficientDisplay : Coefficients of a linear model.

    References
    ----------
    L. Breiman, Random forests, Machine Learning 45, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import PermutationImportanceDisplay
    >>> display = PermutationImportanceDisplay(
    ...     ("age", "dose"), np.array([0.1, 2.0]), np.array([[-0.1, 0.3], [1.5, 2.5]]), base=3.0)
    >>> display.description
    'Increase of the RMSE when a column is permuted: dose 2 and age 0.1000. From 3 with all columns
    in place. 1 of 2 columns has an interval above zero.'
    """

    names: Sequence[str]
    increase: Floats
    intervals: Floats
    metric: str = "rmse"
    base: float | None = None
    n_columns: int | None = None
    max_shown: int = 15

    title: ClassVar[str] = "Permutation importance of columns"

    def __post_init__(self) -> None:
        self.increase = np.asarray(self.increase, dtype=float)
        self.intervals = np.asarray(self.intervals, dtype=float)
        if self.intervals.shape != (len(self.names), 2) or len(self.increase) != len(self.names):
            raise InputError(
                f"{len(self.names)} names, {len(self.increase)} increases and intervals of shape "
                f"{self.intervals.shape}."
            )
        if not len(self.names):
            raise InputError("There is no column whose importance could be drawn.")

    @classmethod
    def from_losses(
        cls,
        names: Sequence[str],
        increase: Any,
        intervals: Any,
        base: float,
        *,
        squared: bool = False,
        metric: str = "rmse",
        n_columns: int | None = None,
    ) -> Self:
        """From increases of a mean loss; of a ``squared`` loss, the root is drawn.

        The root of the mean squared error rises from √base to √(base + increase).
        """
        rise, ends = np.asarray(increase, dtype=float), np.asarray(intervals, dtype=float)
        if squared:
            root = np.sqrt(base)
            rise, ends = (np.sqrt(np.maximum(base + v, 0.0)) - root for v in (rise, ends))
            base = float(root)
        return cls(names, rise, ends, metric, base, n_columns)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        loss: Callable[[Any, Any], Any] | None = None,
        metric: str | None = None,
        n_repeats: int = 10,
        seed: int = 0,
    ) -> Self:
        """From a fitted model and rows with their targets, best ones it was not fitted to.

        ``loss(y, predicted)`` is the loss of each row, ``metric`` its name; by default squared
        errors of numbers, drawn as RMSE, and errors of classes.
        """
        from separatrix.statistics.columns import donor_rows, mean_rise

        classes = hasattr(model, "classes_")
        value = loss or (_errors if classes else _squares)
        n, d = np.shape(X)
        donors = donor_rows(n, min(n_repeats, n - 1), seed)
        before = np.asarray(value(y, model.predict(X)), dtype=float)
        importances = []
        for j in range(d):
            after = [value(y, model.predict(_with_column(X, j, rows))) for rows in donors]
            rise = np.asarray(after, dtype=float) - before
            importances.append(mean_rise(rise, donors, np.ones(n)))
        mean, half = np.array(importances).T
        return cls.from_losses(
            column_names(X),
            mean,
            np.stack([mean - half, mean + half], axis=1),
            float(before.mean()),
            squared=loss is None and not classes,
            metric=metric or ("loss" if loss else "error" if classes else "rmse"),
        )

    @property
    def shown(self) -> list[int]:
        """Positions of the columns drawn, the most important first."""
        order = np.argsort(-self.increase, kind="stable")
        return [int(j) for j in order[: self.max_shown]]

    @property
    def above_zero(self) -> NDArray[np.bool_]:
        """Where the whole interval is above zero."""
        return np.asarray(self.intervals[:, 0] > 0)

    @property
    def description(self) -> str:
        """The caption, after what is drawn and the three most important columns."""
        top = [
            f"{self.names[j]} {score_text(self.increase[j], self.metric)}" for j in self.shown[:3]
        ]
        return f"{self._axis[0].upper()}{self._axis[1:]}: {join_words(top)}. {self.caption}"

    @property
    def caption(self) -> str:
        """The score before, how many columns matter, and how many are drawn."""
        count, total = int(self.above_zero.sum()), len(self.names)
        text = ""
        if self.base is not None:
            text = f"From {score_text(self.base, self.metric)} with all columns in place. "
        verb = "has" if count == 1 else "have"
        text += f"{count} of {plural(total, 'column')} {verb} an interval above zero."
        whole = self.n_columns or total
        if whole > total:
            text += f" Measured: {total} of {whole:,} columns, those that change the loss most."
        if total > len(self.shown):
            text += f" The first {len(self.shown)} are shown."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return WIDTH, 0.95 + 0.2 * max(4, len(self.shown))

    @property
    def _axis(self) -> str:
        short = score_info(self.metric).short
        name = short if short.isupper() else short.lower()
        return f"increase of the {name} when a column is permuted"

    def _draw(self, ax: Any) -> None:
        position = -np.arange(len(self.shown), dtype=float)
        reference_line(ax, 0.0, horizontal=False)
        for at, j in zip(position, self.shown, strict=True):
            color = BLUE if self.above_zero[j] else MUTED
            ax.plot(self.intervals[j], [at, at], color=color, linewidth=1.4)
            fill = color if self.above_zero[j] else PAPER
            ax.plot([self.increase[j]], [at], "o", ms=5, mfc=fill, mec=color, mew=1.2)
        ax.set_yticks(position, [label_text(self.names[j], 20) for j in self.shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        if score_info(self.metric).is_rate:
            percent_axis(ax.xaxis)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(self._axis)


def _squares(y: Any, predicted: Any) -> Any:
    return (np.asarray(y, dtype=float) - np.asarray(predicted, dtype=float)) ** 2


def _errors(y: Any, predicted: Any) -> Any:
    return (np.asarray(y) != np.asarray(predicted)).astype(float)


def _with_column(X: Any, j: int, rows: Any) -> Any:
    """``X`` with column j in the order of ``rows``; a data frame stays one."""
    import narwhals as nw

    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        name = frame.columns[j]
        return frame.with_columns(frame[name][rows.tolist()].alias(name)).to_native()
    changed = np.array(X)
    changed[:, j] = changed[rows, j]
    return changed


# -------------------------------------------------------------------------------------------------
# Partial dependence of predictions on one column, with the curves of single rows.


#: Averages are of probabilities or proportions on these scales.
_RATES = ("probability", "proportion")


@dataclass(eq=False)
class PartialDependenceDisplay(Display):
    """Mean prediction over the rows with one column set to each of several values.

    Thin lines are single rows (individual conditional expectation): where they are not parallel,
    the column interacts with others. Marks at the axis are the deciles of the column.

    Parameters
    ----------
    column : str
        Name of the column.
    values : ndarray of shape (p,) or sequence of str
        Its values: numbers, or levels.
    average : ndarray of shape (p, k)
        Mean prediction at each value; one column for each output.
    outputs : sequence of str
        Names of the outputs: the target, or classes.
    individual : ndarray of shape (m, p) or None, default=None
        Predictions of single rows.
    deciles : ndarray or None, default=None
        Deciles of the column.
    scale : {"prediction", "probability", "proportion"}, default="prediction"
        What is averaged: predictions, probabilities of classes, or the proportion of rows that are
        predicted to be of a class.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How the values are written; dates are days since 1970-01-01.

    Attributes
    ----------
    shown : list of int
        Outputs drawn: of more than six, those that change most.
    levels : list of str
        The values as text; empty for numbers.

    See Also
    --------
    PermutationImportanceDisplay : Which columns matter.
    ColumnDistributionDisplay : The column and the target in the data.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import PartialDependenceDisplay
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    >>> model = sx.LinearRegression().fit(X, 2 * X[:, 0] + X[:, 1])
    >>> display = PartialDependenceDisplay.from_estimator(model, X, 0)
    >>> display.description
    'Mean prediction over x0. From 0.750 at 0 to 6.75 at 3.'
    """

    column: str
    values: Any
    average: Floats
    outputs: Sequence[str]
    individual: Floats | None = None
    deciles: Floats | None = None
    scale: str = "prediction"
    display: str = ""
    levels: list[str] = field(init=False, repr=False)

    title: ClassVar[str] = "Partial dependence"

    def __post_init__(self) -> None:
        self.average = np.asarray(self.average, dtype=float).reshape(len(self.values), -1)
        if self.average.shape != (len(self.values), len(self.outputs)) or not self.average.size:
            raise InputError(
                f"Averages of shape {self.average.shape} for {len(self.values)} values and "
                f"{len(self.outputs)} outputs."
            )
        text = np.asarray(self.values).dtype.kind not in "fiub"
        self.levels = [str(v) for v in self.values] if text else []

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, column: int | str, *, n_curves: int = 30, display: str = ""
    ) -> Self:
        """From a fitted model, numeric rows to average over, and a column by name or position."""
        from separatrix.statistics.columns import value_grid

        x, names = np.asarray(X, dtype=float), column_names(X)
        j = names.index(column) if isinstance(column, str) else int(column)
        values = value_grid(x[:, j])
        answers = np.stack([_answers(model, like(X, _with_value(x, j, v))) for v in values])
        classes = [str(c) for c in getattr(model, "classes_", ())]
        scale = "prediction"
        if classes:
            scale = "probability" if hasattr(model, "predict_proba") else "proportion"
        if len(classes) == 2:
            answers, classes = answers[:, :, 1:], classes[1:]
        some = np.linspace(0, len(x) - 1, min(n_curves, len(x))).astype(int)
        return cls(
            names[j],
            values,
            answers.mean(axis=1),
            classes or ["prediction"],
            answers[:, some, 0].T if answers.shape[2] == 1 else None,
            np.quantile(x[:, j], np.arange(1, 10) / 10),
            scale,
            display,
        )

    @property
    def heading(self) -> str:
        """The title with the name of the column."""
        return f"{self.title} on {short_name(self.column)}"

    @property
    def shown(self) -> list[int]:
        """Outputs drawn: of more than six, those that change most."""
        if len(self.outputs) <= len(SERIES):
            return list(range(len(self.outputs)))
        ranges = np.ptp(self.average, axis=0)
        return sorted(np.argsort(-ranges, kind="stable")[: len(SERIES)].tolist())

    @property
    def description(self) -> str:
        """The caption, after what is drawn and over which column."""
        axis, caption = self._axis, self.caption
        return f"{axis[0].upper()}{axis[1:]} over {self.column}. {caption}"

    @property
    def caption(self) -> str:
        """Lowest and highest mean and where; of several outputs, that of the largest change."""
        k = int(np.ptp(self.average, axis=0).argmax())
        curve = self.average[:, k]
        low, high = int(curve.argmin()), int(curve.argmax())
        if not self.levels:
            low, high = sorted((low, high))
        text = (
            f"From {self._text(curve[low])} at {self._value(low)} to {self._text(curve[high])} at "
            f"{self._value(high)}."
        )
        if len(self.outputs) > 1:
            text = f"Largest change, {self.outputs[k]}: {text[0].lower()}{text[1:]}"
        if len(self.outputs) > len(SERIES):
            text += f" The {len(SERIES)} of {len(self.outputs)} classes that change most are drawn."
        return text

    def _value(self, i: int) -> str:
        return self.levels[i] if self.levels else value_text(float(self.values[i]), self.display)

    def _text(self, value: float) -> str:
        return f"{100 * value:.0f} %" if self.scale in _RATES else number(value, 3)

    @property
    def _axis(self) -> str:
        if self.scale == "prediction":
            return "mean prediction"
        what = "probability" if self.scale == "probability" else "proportion predicted"
        if len(self.outputs) > 1:
            return f"mean {what}" if self.scale == "probability" else what
        of = label_text(self.outputs[0], 18)
        return f"mean {what} of {of}" if self.scale == "probability" else f"{what} {of}"

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list of levels is long; a little less than other plots for curves."""
        return column_size(len(self.levels))

    def _draw(self, ax: Any) -> None:
        (self._bars if self.levels else self._curves)(ax)
        axis = ax.xaxis if self.levels else ax.yaxis
        if self.scale in _RATES:
            percent_axis(axis)
        axis.set_label_text(self._axis)

    def _curves(self, ax: Any) -> None:
        x = np.asarray(self.values, dtype=float)
        if self.individual is not None and len(self.individual):
            _thin_lines(ax, x, np.asarray(self.individual, dtype=float))
        for color, k in zip(SERIES, self.shown, strict=False):
            label = label_text(self.outputs[k], 16)
            ax.plot(x, self.average[:, k], color=color, linewidth=2, label=label)
        if len(self.shown) > 1:
            ax.legend(frameon=False, fontsize=8.5, loc="best", ncols=2, handlelength=1.4)
        if self.deciles is not None and len(self.deciles):
            inside = self.deciles[(self.deciles >= x[0]) & (self.deciles <= x[-1])]
            ax.vlines(inside, 0, 0.035, color=MUTED, linewidth=0.9,
                      transform=ax.get_xaxis_transform())  # fmt: skip
        ax.margins(x=0.02)
        style_axes(ax)
        value_axis(ax.xaxis, self.display)
        ax.set_xlabel(label_text(self.column, 40))

    def _bars(self, ax: Any) -> None:
        """Levels from top to bottom: a dot for each output, thin marks for single rows."""
        position = -np.arange(len(self.levels), dtype=float)
        if self.individual is not None and len(self.individual):
            single = np.asarray(self.individual, dtype=float)
            ax.plot(single.ravel(), np.tile(position, len(single)), "|", ms=7, mew=0.6,
                    color=BLUE, alpha=0.35)  # fmt: skip
        for color, k in zip(SERIES, self.shown, strict=False):
            name = label_text(self.outputs[k], 16)
            look = {"ms": 6.5, "color": color, "mec": color}
            ax.plot(self.average[:, k], position, "o", label=name, **look)
        if len(self.shown) > 1:
            ax.legend(frameon=False, fontsize=8.5, ncols=3, loc="lower left", handlelength=1,
                      bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip
        ax.set_yticks(position, [label_text(level, 18) for level in self.levels])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)


def _thin_lines(ax: Any, x: Floats, lines: Floats) -> None:
    """Many curves as one line with gaps: one node in the SVG."""
    gap = np.full((len(lines), 1), np.nan)
    across = np.append(x, np.nan)
    y = np.hstack([lines, gap]).ravel()
    ax.plot(np.tile(across, len(lines)), y, color=BLUE, linewidth=0.6, alpha=0.3)


def _with_value(x: Floats, j: int, value: float) -> Floats:
    changed = x.copy()
    changed[:, j] = value
    return changed


def _answers(model: Any, X: Any) -> Floats:
    """Predictions (n x 1), or a column for each class."""
    if not hasattr(model, "classes_"):
        return np.asarray(model.predict(X), dtype=float).reshape(-1, 1)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=float)
    return np.asarray(np.asarray(model.predict(X))[:, None] == model.classes_, dtype=float)
