"""Columns of a table: distributions, correlations, every pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.formatting import join_words, number, plural
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names

# -------------------------------------------------------------------------------------------------
# Histogram of one column: by class, or with the mean of a numeric target in every bin.


#: Rows below which the mean of a bin is not drawn.
_FEW = 3


@describe_parameters
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
        return f"{self.title} of {style.short_name(self.column)}"

    @property
    def shown(self) -> list[int]:
        """Classes drawn: of more than six, the most frequent."""
        if len(self.classes) <= len(style.SERIES):
            return list(range(self.counts.shape[1]))
        order = np.argsort(-self.counts.sum(axis=0), kind="stable")[: len(style.SERIES)]
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
        if len(self.classes) > len(style.SERIES):
            text += (
                f" The {len(style.SERIES)} most frequent of {len(self.classes)} classes are drawn."
            )
        return text

    def _numbers_in_words(self) -> str:
        assert self.edges is not None
        if self.classes:
            medians = [
                f"{self.classes[k]}: {style.value_text(self._median(k), self.display)}"
                for k in self.shown
                if self.counts[:, k].sum()
            ]
            return f"Median by class, {'; '.join(medians)}."
        if self.mean is None:
            return f"The median is about {style.value_text(self._median(0), self.display)}."
        many = self.counts[:, 0] >= max(_FEW, 0.01 * self.counts.sum())
        means = np.where(many, self.mean, np.nan)
        if not np.isfinite(means).any():
            return f"The median is about {style.value_text(self._median(0), self.display)}."
        low, high = int(np.nanargmin(means)), int(np.nanargmax(means))
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        return (
            f"From {number(means[low], 3)} near {style.value_text(middle[low], self.display)} to "
            f"{number(means[high], 3)} near {style.value_text(middle[high], self.display)}."
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
        return style.column_size(len(self.levels))

    def _draw(self, ax: Any) -> None:
        if self.edges is None:
            self._draw_levels(ax)
            return
        if self.classes:
            self._by_class(ax, self.edges)
        elif self.mean is None:
            ax.stairs(self.counts[:, 0], self.edges, fill=True, color=style.BLUE, alpha=0.35)
            ax.stairs(self.counts[:, 0], self.edges, color=style.BLUE, linewidth=1.2)
            ax.set_ylabel("rows")
            style.style_axes(ax, grid="y")
        else:
            self._with_target(ax, self.edges, self.mean)
        ax.set_xlim(self.edges[0], self.edges[-1])
        style.value_axis(ax.xaxis, self.display)
        ax.set_xlabel(style.label_text(self.column, 40))

    def _by_class(self, ax: Any, edges: Floats) -> None:
        for color, k in zip(style.SERIES, self.shown, strict=False):
            count = self.counts[:, k]
            if not count.sum():
                continue
            height = count / count.sum()
            ax.stairs(height, edges, fill=True, color=color, alpha=0.16)
            ax.stairs(height, edges, color=color, linewidth=1.3)
            ax.plot([], [], color=color, label=style.label_text(self.classes[k], 16))
        ax.set_ylim(bottom=0)
        ax.set_ylabel("proportion of the class")
        ax.legend(frameon=False, fontsize=8.5, loc="best", handlelength=1.2)
        style.style_axes(ax, grid="y")
        style.percent_axis(ax.yaxis)

    def _with_target(self, ax: Any, edges: Floats, mean: Floats) -> None:
        """The mean of the target, over bars that show where the rows are."""
        middle = (edges[1:] + edges[:-1]) / 2
        some = self.counts[:, 0] >= _FEW
        some = some if some.any() else self.counts[:, 0] > 0
        x, line = middle[some], mean[some]
        if self.deviation is not None:
            band = self.deviation[some]
            marks.fill_band(ax, x, line - band, line + band, color=style.ORANGE)
        ax.plot(x, line, color=style.ORANGE, marker="o", ms=3)
        low, high = ax.get_ylim()
        # Height of the bars behind the curve of a target, as a part of the axes.
        height = 0.3 * self.counts[:, 0] / self.counts.max()
        bottom = low - 0.3 * (high - low)
        look = {"fill": True, "color": style.MUTED, "alpha": 0.3}
        ax.stairs(bottom + height * (high - bottom), edges, baseline=bottom, **look)
        ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])
        ax.set_ylim(bottom, high)
        ax.set_ylabel(f"mean of {style.label_text(self.target, 20)}")
        style.style_axes(ax)

    def _draw_levels(self, ax: Any) -> None:
        position = -np.arange(len(self.levels), dtype=float)
        total = self.counts.sum(axis=1)
        if self.classes:
            self._draw_proportions(ax, position, total)
        elif self.mean is None:
            ax.barh(position, total, height=0.62, color=style.BLUE, alpha=0.6)
            ax.set_xlabel("rows")
        else:
            self._means(ax, position, self.mean)
        ax.set_yticks(position, [style.label_text(level, 18) for level in self.levels])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style.style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        if self.classes:
            style.percent_axis(ax.xaxis)
        elif self.mean is None:
            return
        for at, count in zip(position, total, strict=True):
            marks.annotate(
                ax, f"{count:,.0f}", (1, at), (4, 0), marks.BESIDE, color=style.MUTED, va="center"
            )
        marks.annotate(ax, "rows", (1, 1), (4, 3), "axes fraction", color=style.MUTED)

    def _draw_proportions(self, ax: Any, position: Floats, total: Floats) -> None:
        """A bar for each level, divided by class; classes that have no color are left white."""
        left = np.zeros(len(position))
        for color, k in zip(style.SERIES, self.shown, strict=False):
            width = self.counts[:, k] / np.where(total > 0, total, 1.0)
            name = style.label_text(self.classes[k], 12)
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
            ax.plot([value - spread, value + spread], [at, at], color=style.ORANGE, linewidth=1.4)
        ax.plot(mean, position, "o", ms=5.5, color=style.ORANGE)
        ax.set_xlabel(f"mean of {style.label_text(self.target, 24)}")


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
        names, r = [style.short_name(name) for name in self.names], self.matrix[i, j]
        order = np.argsort(-np.abs(np.nan_to_num(r)), kind="stable")[:3]
        pairs = [
            f"{names[i[p]]} and {names[j[p]]} {_two_digits(r[p])}"
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
        return style.WIDTH, float(np.clip(1.2 + 0.27 * len(self._shown), 2.2, 5.2))

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
            marks.fill_boxes(ax, at, style.ORANGE if level > 0 else style.BLUE, alpha)
        roomy = 9  # those whose cells have room for two digits and a sign
        font = 8.5 if k <= roomy else 6.5
        for row, column in np.argwhere(below):
            text = _two_digits(r[row, column])
            text = text if k <= roomy else text.replace("0.", ".")
            ax.text(column, row, text, ha="center", va="center", fontsize=font)
        ax.set_xlim(-0.5, k - 1.5)
        ax.set_ylim(k - 0.5, 0.5)
        names = [style.label_text(self.names[j], 18) for j in order]
        ax.set_yticks(range(1, k), names[1:])
        ax.set_xticks(range(k - 1), names[:-1], rotation=40, ha="right", rotation_mode="anchor")
        ax.tick_params(length=0, pad=2)
        ax.spines[:].set_visible(False)


def _two_digits(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


# -------------------------------------------------------------------------------------------------
# Every pair of columns: scatter plots with class ellipses, and marginal densities.


#: Columns of a plot at most: its cells would be too small for a phone.
MAX_COLUMNS = 6


@describe_parameters
@dataclass(eq=False)
class PairwiseDisplay(Display):
    """Scatter plots of every pair of columns, with class ellipses and marginal densities.

    Below the diagonal are the rows by class, with the ellipse of two standard deviations about the
    class mean; on it the density of each column by class. Of many rows a sample is drawn, ellipses
    and densities being of all. Where classes are normal their clouds fill their ellipses and
    densities have one rounded peak.

    Parameters
    ----------
    names : sequence of str
    rows : ndarray of shape (n, k)
        Numbers; rows with NaN are not drawn.
    codes : ndarray of shape (n,)
        Classes of the rows, as positions in ``classes``.
    classes : sequence of str, default=()
        Names of the classes; none for rows without.

    Attributes
    ----------
    shown : list of int

    See Also
    --------
    ColumnDistributionDisplay : One column.
    CorrelationDisplay : Correlations of many columns.
    DecisionBoundaryDisplay : The plane of two discriminant directions.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import PairwiseDisplay
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 7.0], [6.0, 1.0], [7.0, 2.0], [9.0, 1.5]])
    >>> display = PairwiseDisplay.from_rows(X, list("aaabbb"), names=["width", "height"])
    >>> display.description
    'Every pair of width and height for 6 rows by class. Within classes, width and height are \
most correlated (0.59).'
    """

    names: Sequence[str]
    rows: Floats
    codes: Ints
    classes: Sequence[str] = ()

    title: ClassVar[str] = "Pairs of columns"

    def __post_init__(self) -> None:
        self.rows = np.asarray(self.rows, dtype=float)
        k = len(self.names)
        if not 2 <= k <= MAX_COLUMNS or self.rows.ndim != 2 or self.rows.shape[1] != k:
            raise InputError(
                f"Pairs of columns are drawn of 2 to {MAX_COLUMNS} columns, not of {k}.",
                remedy="Choose columns, or draw a CorrelationDisplay.",
            )
        there = np.isfinite(self.rows).all(axis=1)
        self.rows, self.codes = self.rows[there], np.asarray(self.codes, dtype=np.int64)[there]
        if not len(self.rows):
            raise InputError("No row has a number in every column.")

    @classmethod
    def from_rows(cls, X: Any, y: Any = None, *, names: Sequence[str] | None = None) -> Self:
        """From numeric rows and their classes; a data frame provides its names."""
        rows, found = np.asarray(X, dtype=float), column_names(X, names)
        if y is None:
            return cls(found, rows, np.zeros(len(rows), dtype=np.int64))
        classes, codes = np.unique(np.asarray(y).astype(str), return_inverse=True)
        return cls(found, rows, codes, tuple(classes.tolist()))

    @property
    def shown(self) -> list[int]:
        """Classes drawn: of more than six, the most frequent."""
        counts = np.bincount(self.codes, minlength=max(1, len(self.classes)))
        order = np.argsort(-counts, kind="stable")[: len(style.SERIES)]
        return sorted(order[counts[order] > 0].tolist())

    @property
    def size(self) -> tuple[float, float]:
        """Square."""
        return style.WIDTH, style.WIDTH

    def _within(self) -> Floats:
        """Correlations within classes."""
        centered = self.rows.copy()
        for code in np.unique(self.codes):
            centered[self.codes == code] -= self.rows[self.codes == code].mean(axis=0)
        spread = np.sqrt((centered**2).sum(axis=0))
        known = spread > 1e-12 * (np.abs(self.rows).max(axis=0) + 1e-300)
        scaled = centered / np.where(known, spread, 1.0) * known
        return np.asarray(scaled.T @ scaled)

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        by = " by class" if self.classes else ""
        names = join_words([style.label_text(n, 30).replace(r"\$", "$") for n in self.names])
        return f"Every pair of {names} for {plural(len(self.rows), 'row')}{by}. {self.caption}"

    @property
    def caption(self) -> str:
        """The most correlated pair, and classes that are not drawn."""
        r = np.tril(self._within(), -1)
        i, j = np.unravel_index(int(np.abs(r).argmax()), r.shape)
        where = "Within classes" if self.classes else "Of these"
        text = "No two columns vary together."
        if r[i, j]:
            first, second = (
                style.label_text(self.names[int(c)], 30).replace(r"\$", "$") for c in (j, i)
            )
            text = f"{where}, {first} and {second} are most correlated ({number(r[i, j], 2)})."
        if self._step > 1:
            text += f" One of {self._step} rows is a dot; ellipses and densities are of all."
        if len(self.classes) > len(style.SERIES):
            text += (
                f" The {len(style.SERIES)} most frequent of {len(self.classes)} classes are drawn."
            )
        return text

    # -- drawing -----------------------------------------------------------------------------------

    @property
    def _limits(self) -> tuple[Floats, Floats]:
        """The least value of every column, and its range; one where it is constant."""
        low, high = self.rows.min(axis=0), self.rows.max(axis=0)
        return low, np.where(high > low, high - low, 1.0)

    @property
    def _step(self) -> int:
        """One of so many rows of a class is drawn as a dot: 800 dots in all keep a page small."""
        k = len(self.names)
        return max(1, -(-len(self.rows) * k * (k - 1) // (2 * 800)))

    def _unit(self) -> Floats:
        """Rows within their cells: every column from 0 to 1, with a margin."""
        low, span = self._limits
        middle = np.where(self.rows.max(axis=0) > low, 0.0, 0.5)
        margin = 0.07  # of a cell, around its values
        return np.asarray(margin + (1.0 - 2.0 * margin) * ((self.rows - low) / span + middle))

    def _cells(self) -> Iterator[tuple[int, int, float, float]]:
        """Pairs of columns across and up, and the lower left corners of their cells."""
        k = len(self.names)
        for up in range(k):
            for across in range(up):
                yield across, up, float(across), float(k - 1 - up)

    def _draw(self, ax: Any) -> None:
        k, unit = len(self.names), self._unit()
        cells = list(self._cells())
        for place, code in enumerate(self.shown):
            color, x = style.SERIES[place], unit[self.codes == code]
            self._draw_class(ax, x, color, cells)
            if self.classes:
                ax.plot(
                    [], [], "o", ms=4, color=color, label=style.label_text(self.classes[code], 16)
                )
        for edge in range(k + 1):
            low, high = max(0, edge - 1), k - max(0, edge - 1)
            ax.plot([edge, edge], [0, high], color=style.GRID, linewidth=0.7, zorder=0.5)
            ax.plot([0, k - low], [edge, edge], color=style.GRID, linewidth=0.7, zorder=0.5)
        self._label(ax)
        if self.classes:
            ax.legend(loc="upper right", frameon=False, fontsize=8)

    def _draw_class(
        self, ax: Any, x: Floats, color: str, cells: list[tuple[int, int, float, float]]
    ) -> None:
        """The rows of a class in all cells, its ellipses and its densities."""
        few = x[:: self._step]
        places = [(few[:, i] + left, few[:, j] + low) for i, j, left, low in cells]
        across, up = (np.concatenate(values) for values in zip(*places, strict=True))
        marks.scatter(ax, across, up, color=color)
        if len(x) > 2:
            ellipses = [ellipse(x[:, [i, j]]) + np.array([a, b]) for i, j, a, b in cells]
            gap = np.full((1, 2), np.nan)  # one line with breaks: one node for all ellipses
            line = np.concatenate([part for one in ellipses for part in (one, gap)])
            ax.plot(line[:, 0], line[:, 1], color=color, linewidth=1.1)
        grid, k = np.linspace(0.0, 1.0, 40), len(self.names)
        for j in range(k):
            density = marginal(x[:, j], grid)
            height = 0.85 * density / max(density.max(), 1e-300)
            along = np.concatenate([[j], grid + j, [j + 1.0]])
            up = np.concatenate([[0.0], height, [0.0]]) + (k - 1.0 - j)
            ax.fill(along, up, facecolor=(color, 0.18), edgecolor=color, linewidth=1.1)

    def _label(self, ax: Any) -> None:
        """Names and ranges of the columns along both axes."""
        k, (low, _) = len(self.names), self._limits
        high = self.rows.max(axis=0)
        ranges = [f"{number(a, 3)} … {number(b, 3)}" for a, b in zip(low, high, strict=True)]
        short, size = 18 if k <= 3 else 15, 8.0 if k <= 4 else 6.5
        names = [style.wrapped_label(name, short) for name in self.names]
        ax.set_xticks(
            np.arange(k) + 0.5,
            [f"{name}\n{text}" for name, text in zip(names, ranges, strict=True)],
            fontsize=size,
        )
        ax.set_yticks(
            k - 0.5 - np.arange(k),
            names,
            fontsize=size,
            rotation=90,
            va="center",
            multialignment="center",
        )
        ax.set_xlim(0, k)
        ax.set_ylim(0, k)
        ax.tick_params(length=0)
        ax.spines[["top", "right", "left", "bottom"]].set_visible(False)


def ellipse(x: Floats) -> Floats:
    """Points of the ellipse of two standard deviations about the mean of rows (n x 2).

    NaN outside of the cell, so that it does not run into the next one.
    """
    center, covariance = x.mean(axis=0), np.cov(x.T)
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0.0, 2.0 * np.pi, 29)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    points = center + 2.0 * circle * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    within = ((points >= 0.0) & (points <= 1.0)).all(axis=1, keepdims=True)
    return np.asarray(np.where(within, points, np.nan))


def marginal(values: Floats, grid: Floats) -> Floats:
    """A Gaussian kernel density on a grid, by Silverman's rule for one column."""
    n = len(values)
    quarter = np.diff(np.percentile(values, [25, 75]))[0] / 1.349
    spread = min(values.std(), quarter) if quarter > 0.0 else values.std()
    h = max(0.9 * float(spread) * n**-0.2, float(grid[1] - grid[0]))
    counts, edges = np.histogram(values, bins=4 * len(grid), range=(grid[0], grid[-1]))
    middle = (edges[1:] + edges[:-1]) / 2.0
    return np.asarray(np.exp(-0.5 * ((grid[:, None] - middle) / h) ** 2) @ counts / (n * h))
