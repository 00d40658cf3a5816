"""Functional margins y f(x) of a binary classifier.

A row is misclassified where y f < 0 and lies inside the margin where 0 ≤ y f < 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.style import BLUE, MUTED, ORANGE, SKY, style_axes, text_color
from separatrix.rows.block import Floats

BARS = 40

#: Margins farther than so many interquartile ranges from the quartiles are drawn at the edge.
_FAR = 3.0


@dataclass(eq=False)
class MarginDisplay(Display):
    """Histogram of the functional margins y f(x) of a binary classifier.

    Parameters
    ----------
    margins : array-like of shape (n,)
        Margin of each row: its decision function, with the sign of its class.

    Attributes
    ----------
    counts : tuple of int
        Rows that are misclassified, inside the margin, and on or outside it.

    See Also
    --------
    SignedDistanceDisplay : Geometric distances to the boundary, by class.
    SupportVectorDisplay : The margins on a plane, with the support vectors.

    Examples
    --------
    >>> from separatrix.pictures import MarginDisplay
    >>> MarginDisplay([-0.5, 0.5, 1.0, 2.0]).counts
    (1, 1, 2)
    """

    margins: Floats

    title: ClassVar[str] = "Margins"

    def __post_init__(self) -> None:
        self.margins = np.asarray(self.margins, dtype=float).ravel()
        if not self.margins.size or not np.isfinite(self.margins).all():
            raise InputError("Margins are finite numbers, one for each row.")

    @classmethod
    def from_predictions(cls, y: Any, score: Any, *, positive: Any = None) -> Self:
        """From labels of two classes and scores that are high for ``positive`` (the second)."""
        labels = np.asarray(y)
        classes = np.unique(labels)
        if classes.size > 2:
            raise InputError(f"Margins are for two classes; y has {classes.size} classes.")
        high = classes[-1] if positive is None else positive
        return cls(np.where(labels == high, 1.0, -1.0) * np.asarray(score, dtype=float))

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From the ``decision_function`` of a fitted binary classifier."""
        return cls.from_predictions(y, model.decision_function(X), positive=model.classes_[1])

    @property
    def counts(self) -> tuple[int, int, int]:
        """Rows that are misclassified, inside the margin, and on or outside it."""
        m = self.margins
        # Free support vectors have margin 1 up to the tolerance of the solver.
        on = 1 - 1e-3
        return int((m < 0).sum()), int(((m >= 0) & (m < on)).sum()), int((m >= on).sum())

    @property
    def description(self) -> str:
        """The three counts, the median and the minimum."""
        wrong, inside, outside = self.counts
        return (
            f"Of {plural(self.margins.size, 'row')}, {wrong:,} are misclassified, {inside:,} are "
            f"correct but inside the margin, {outside:,} are on the margin or outside it. Median "
            f"margin {number(float(np.median(self.margins)), 3)}, minimum "
            f"{number(float(self.margins.min()), 3)}."
        )

    def _draw(self, ax: Any) -> None:
        low, high = self._window()
        edges = np.linspace(low, high, BARS + 1)
        heights = np.histogram(np.clip(self.margins, low, high), edges)[0]
        middle = (edges[1:] + edges[:-1]) / 2
        groups = (
            (-np.inf, 0.0, ORANGE, "misclassified"),
            (0.0, 1.0, SKY, "inside the margin"),
            (1.0, np.inf, BLUE, "outside the margin"),
        )
        for (start, stop, color, name), count in zip(groups, self.counts, strict=True):
            own = np.where((middle >= start) & (middle < stop), heights, 0)
            ax.stairs(own, edges, fill=True, color=color, alpha=0.55, label=f"{name}: {count:,}")
        for at in (-1.0, 0.0, 1.0):
            if low <= at <= high:
                look = {"color": text_color(ax) if at == 0 else MUTED, "linewidth": 1.0}
                ax.axvline(at, linestyle="-" if at == 0 else (0, (4, 3)), **look)
        style_axes(ax, grid="y")
        ax.set_xlim(low, high)
        ax.set_xlabel("margin y f(x)")
        ax.set_ylabel("rows")
        ax.legend(frameon=False, fontsize=9, loc="best")

    def _window(self) -> tuple[float, float]:
        """The range without far outliers; 0 and 1 are always edges of bars.

        The width of a bar divides 1, so that no bar spans the boundary or the margin.
        """
        inner = np.quantile(self.margins, [0.25, 0.75])
        reach = _FAR * max(float(np.ptp(inner)), 0.5)
        low = min(max(float(self.margins.min()), inner[0] - reach), -1.0)
        high = max(min(float(self.margins.max()), inner[1] + reach), 1.0)
        width = 1.0 / max(1, int((BARS - 1) / (high - low)))
        if high - low > BARS - 1:
            width = float(np.ceil((high - low) / (BARS - 1)))
        first = np.floor(low / width)
        return float(first * width), float((first + BARS) * width)
