"""Every pair of columns: scatter plots with class ellipses, and marginal densities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.formatting import join_words, number, plural
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names
from separatrix.pictures.points import scatter
from separatrix.pictures.style import GRID, SERIES, WIDTH, label_text, wrapped_label

#: Columns of a plot at most: its cells would be too small for a phone.
MAX_COLUMNS = 6
#: Dots of all cells together at most: of more rows evenly spaced ones are drawn, and a page of
#: pictures stays small.
MAX_DOTS = 800
#: Part of a cell that its values take.
FILLED = 0.86


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
        Classes drawn: of more than six, the most frequent.

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
        order = np.argsort(-counts, kind="stable")[: len(SERIES)]
        return sorted(order[counts[order] > 0].tolist())

    @property
    def size(self) -> tuple[float, float]:
        """Square."""
        return WIDTH, WIDTH

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
        names = join_words([label_text(n, 30).replace(r"\$", "$") for n in self.names])
        return f"Every pair of {names} for {plural(len(self.rows), 'row')}{by}. {self.caption}"

    @property
    def caption(self) -> str:
        """The most correlated pair, and classes that are not drawn."""
        r = np.tril(self._within(), -1)
        i, j = np.unravel_index(int(np.abs(r).argmax()), r.shape)
        where = "Within classes" if self.classes else "Of these"
        text = "No two columns vary together."
        if r[i, j]:
            first, second = (label_text(self.names[int(c)], 30).replace(r"\$", "$") for c in (j, i))
            text = f"{where}, {first} and {second} are most correlated ({number(r[i, j], 2)})."
        if self._step > 1:
            text += f" One of {self._step} rows is a dot; ellipses and densities are of all."
        if len(self.classes) > len(SERIES):
            text += f" The {len(SERIES)} most frequent of {len(self.classes)} classes are drawn."
        return text

    # -- drawing -----------------------------------------------------------------------------------

    @property
    def _limits(self) -> tuple[Floats, Floats]:
        """The least value of every column, and its range; one where it is constant."""
        low, high = self.rows.min(axis=0), self.rows.max(axis=0)
        return low, np.where(high > low, high - low, 1.0)

    @property
    def _step(self) -> int:
        """One of so many rows of a class is drawn as a dot."""
        k = len(self.names)
        return max(1, -(-len(self.rows) * k * (k - 1) // (2 * MAX_DOTS)))

    def _unit(self) -> Floats:
        """Rows within their cells: every column from 0 to 1, with a margin."""
        low, span = self._limits
        middle = np.where(self.rows.max(axis=0) > low, 0.0, 0.5)
        return np.asarray((1.0 - FILLED) / 2.0 + FILLED * ((self.rows - low) / span + middle))

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
            color, x = SERIES[place], unit[self.codes == code]
            self._draw_class(ax, x, color, cells)
            if self.classes:
                ax.plot([], [], "o", ms=4, color=color, label=label_text(self.classes[code], 16))
        for edge in range(k + 1):
            low, high = max(0, edge - 1), k - max(0, edge - 1)
            ax.plot([edge, edge], [0, high], color=GRID, linewidth=0.7, zorder=0.5)
            ax.plot([0, k - low], [edge, edge], color=GRID, linewidth=0.7, zorder=0.5)
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
        scatter(ax, across, up, color=color)
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
        names = [wrapped_label(name, short) for name in self.names]
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
