"""Coverage of conformal intervals and sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats
from separatrix.formatting import plural
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.points import reference_line
from separatrix.pictures.predictive import level_text
from separatrix.pictures.style import BLUE, ORANGE, WIDTH, label_text, percent_axis, style_axes

if TYPE_CHECKING:
    from separatrix.conformal.base import Coverage


# -------------------------------------------------------------------------------------------------
# Coverage of intervals or sets in each category, against their level.


@dataclass(eq=False)
class CategoryCoverageDisplay(Display):
    """Proportion of covered rows in each category, with exact intervals.

    The line is the level that was asked for. Coverage that is guaranteed on average may differ
    between categories, unless each is calibrated by itself. Orange intervals are wholly below the
    level.

    Parameters
    ----------
    names : sequence of str
        The categories: classes, or values of a column.
    coverage : ndarray of shape (k,)
        Proportion of covered rows of each.
    intervals : ndarray of shape (k, 2)
        95 % intervals of the proportions.
    level : float, default=0.9
        The level of the intervals or sets.
    max_shown : int, default=20
        Number of categories drawn at most, the least covered first.

    Attributes
    ----------
    shown : list of int
        Positions of the categories drawn.

    See Also
    --------
    SetSizeDisplay : How many labels the sets hold.
    CoverageDisplay : Coverage against the level.

    Examples
    --------
    >>> from separatrix.pictures import CategoryCoverageDisplay
    >>> display = CategoryCoverageDisplay(("a", "b"), [0.95, 0.7], [[0.9, 0.98], [0.6, 0.79]])
    >>> display.description
    'Coverage by category at the level 90 %: b 70.0 % (60.0 to 79.0 %); a 95.0 % (90.0 to 98.0 %). 1 of 2 categories is below the level.'
    """  # noqa: E501

    names: Sequence[str]
    coverage: Floats
    intervals: Floats
    level: float = 0.9
    max_shown: int = 20

    title: ClassVar[str] = "Coverage by category"

    def __post_init__(self) -> None:
        self.coverage = np.asarray(self.coverage, dtype=float).ravel()
        self.intervals = np.asarray(self.intervals, dtype=float).reshape(-1, 2)
        if not len(self.names):
            raise InputError("There is no category whose coverage could be drawn.")
        if not len(self.names) == len(self.coverage) == len(self.intervals):
            raise InputError(
                f"{len(self.names)} names, {len(self.coverage)} proportions and "
                f"{len(self.intervals)} intervals."
            )

    @classmethod
    def from_coverage(cls, coverage: Coverage) -> Self:
        """From what ``coverage`` of a conformal model returns."""
        parts = coverage.by_category
        return cls(
            tuple(str(name) for name in parts),
            np.array([part.proportion for part in parts.values()]),
            np.array([part.interval for part in parts.values()]),
            coverage.level,
        )

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, level: float = 0.9) -> Self:
        """From a conformal model and rows that it has not seen."""
        return cls.from_coverage(model.coverage(X, y, level=level))

    @property
    def shown(self) -> list[int]:
        """Positions of the categories drawn, the least covered first."""
        return [int(j) for j in np.argsort(self.coverage, kind="stable")[: self.max_shown]]

    @property
    def _below(self) -> Any:
        return self.intervals[:, 1] < self.level

    @property
    def description(self) -> str:
        """The caption, after what is drawn and the least covered categories."""
        parts = [
            f"{self.names[j]} {100 * self.coverage[j]:.1f} % "
            f"({100 * self.intervals[j, 0]:.1f} to {100 * self.intervals[j, 1]:.1f} %)"
            for j in self.shown[:3]
        ]
        text = f"Coverage by category at the level {level_text(self.level)}: {'; '.join(parts)}."
        return f"{text} {self.caption}"

    @property
    def caption(self) -> str:
        """How many categories are below the level."""
        count, total = int(self._below.sum()), len(self.names)
        verb = "is" if count == 1 else "are"
        noun = plural(total, "category", "categories")
        text = f"{count} of {noun} {verb} below the level."
        return (
            text if total <= len(self.shown) else f"{text} The first {len(self.shown)} are shown."
        )

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return WIDTH, 0.95 + 0.2 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        shown = self.shown
        reference_line(ax, self.level, horizontal=False)
        for row, j in enumerate(shown):
            color = ORANGE if self._below[j] else BLUE
            ax.plot(self.intervals[j], [row, row], color=color, linewidth=1.4)
            ax.plot([self.coverage[j]], [row], "s" if self._below[j] else "o", ms=5, color=color)
        ax.set_yticks(range(len(shown)), [label_text(self.names[j]) for j in shown])
        ax.set_ylim(len(shown) - 0.5, -0.5)
        style_axes(ax, grid="x")
        percent_axis(ax.xaxis)
        ax.set_xlabel(f"rows covered at the level {level_text(self.level)}")


# -------------------------------------------------------------------------------------------------
# How many labels conformal sets hold.


@dataclass(eq=False)
class SetSizeDisplay(Display):
    """Histogram of the numbers of labels in sets of a guaranteed coverage.

    Sets of one label are decisions; larger ones say which labels cannot be told apart. An empty set
    is a row that resembles none of the classes enough.

    Parameters
    ----------
    counts : ndarray of shape (K + 1,)
        The number of sets with 0, 1, …, K labels.
    level : float, default=0.9
        The level of the sets.

    Attributes
    ----------
    mean : float
        Mean number of labels.

    See Also
    --------
    CategoryCoverageDisplay : How often the sets hold the label, by class.

    Examples
    --------
    >>> from separatrix.pictures import SetSizeDisplay
    >>> SetSizeDisplay([1, 90, 9, 0]).description
    'Labels in a set at the level 90 %: 1 empty, 90 of one label, 9 of more. 1.08 labels on average over 100 rows.'
    """  # noqa: E501

    counts: Floats
    level: float = 0.9

    title: ClassVar[str] = "Labels in a set"

    def __post_init__(self) -> None:
        self.counts = np.asarray(self.counts, dtype=float).ravel()
        if len(self.counts) < 2 or not self.counts.sum() > 0:
            raise InputError("There is no set whose labels could be counted.")

    @classmethod
    def from_sets(cls, sets: Any, *, level: float = 0.9) -> Self:
        """From which labels are in the set of every row (n x K)."""
        inside = np.asarray(sets, dtype=bool)
        counts = np.bincount(inside.sum(axis=1), minlength=inside.shape[1] + 1)
        return cls(counts.astype(float), level)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, level: float = 0.9) -> Self:
        """From a conformal classifier and rows that it has not seen."""
        return cls.from_sets(model.predict_set(X, level=level), level=level)

    @property
    def mean(self) -> float:
        """Mean number of labels."""
        return float(np.average(np.arange(len(self.counts)), weights=self.counts))

    @property
    def description(self) -> str:
        """The caption, after how many sets are empty, of one label, and larger."""
        more = self.counts[2:].sum()
        return (
            f"Labels in a set at the level {level_text(self.level)}: {self.counts[0]:g} empty, "
            f"{self.counts[1]:g} of one label, {more:g} of more. {self.caption}"
        )

    @property
    def caption(self) -> str:
        """The mean."""
        rows = plural(round(float(self.counts.sum())), "row")
        return f"{self.mean:.3g} labels on average over {rows}."

    def _draw(self, ax: Any) -> None:
        used = int(np.flatnonzero(self.counts)[-1]) + 1
        sizes = np.arange(max(used, 2))
        ax.bar(sizes, self.counts[: len(sizes)] / self.counts.sum(), width=0.7, color=BLUE)
        style_axes(ax, grid="y")
        if len(sizes) <= 12:  # sizes of sets that get a tick each
            ax.set_xticks(sizes)
        percent_axis(ax.yaxis)
        ax.set_xlabel(f"labels in the set at the level {level_text(self.level)}")
        ax.set_ylabel("rows")
