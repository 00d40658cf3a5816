"""Margins y f(x) of a classifier of two classes: how many rows are wrong, inside, or well beyond.

A row is wrong where y f < 0 and lies inside the margin where 0 ≤ y f < 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, number
from separatrix.pictures.style import BLUE, MUTED, ORANGE, SKY, ink, style_axes
from separatrix.rows.block import Floats

BARS = 40

#: Margins beyond this many times the widest half of the rows are drawn at the edge.
_FAR = 3.0


@dataclass(eq=False)
class MarginDisplay(Display):
    """A histogram of ``margin``, the score of each row in the direction of its own class."""

    margin: Floats

    title: ClassVar[str] = "Margins"

    def __post_init__(self) -> None:
        self.margin = np.asarray(self.margin, dtype=float).ravel()
        if not self.margin.size or not np.isfinite(self.margin).all():
            raise InputError("Margins are finite numbers, one for each row.")

    @classmethod
    def from_predictions(cls, y: Any, score: Any, *, positive: Any = None) -> Self:
        """From labels of two classes and scores that are high for ``positive`` (the second)."""
        labels = np.asarray(y)
        classes = np.unique(labels)
        if classes.size > 2:
            raise InputError(f"A margin has two sides; y has {classes.size} classes.")
        high = classes[-1] if positive is None else positive
        return cls(np.where(labels == high, 1.0, -1.0) * np.asarray(score, dtype=float))

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """Of a fitted classifier of two classes, by its ``decision_function``."""
        return cls.from_predictions(y, model.decision_function(X), positive=model.classes_[1])

    @property
    def counts(self) -> tuple[int, int, int]:
        """Rows that are wrong, right but inside the margin, and on it or beyond."""
        m = self.margin
        # Rows on the margin carry the rounding of the solver: they count as on it.
        return (
            int((m < 0).sum()),
            int(((m >= 0) & (m < 1 - 1e-3)).sum()),
            int((m >= 1 - 1e-3).sum()),
        )

    @property
    def description(self) -> str:
        """The three counts, and the median."""
        wrong, inside, beyond = self.counts
        return (
            f"Of {counted(self.margin.size, 'row')}, {wrong:,} are on the wrong side, {inside:,} "
            f"right but inside the margin, {beyond:,} on it or beyond. The median margin is "
            f"{number(float(np.median(self.margin)), 3)}, the least "
            f"{number(float(self.margin.min()), 3)}."
        )

    def _draw(self, ax: Any) -> None:
        low, high = self._window()
        edges = np.linspace(low, high, BARS + 1)
        heights = np.histogram(np.clip(self.margin, low, high), edges)[0]
        for start, stop, colour, name in (
            (-np.inf, 0.0, ORANGE, "wrong"),
            (0.0, 1.0, SKY, "inside"),
            (1.0, np.inf, BLUE, "beyond"),
        ):
            middle = (edges[1:] + edges[:-1]) / 2
            own = np.where((middle >= start) & (middle < stop), heights, 0)
            count = self.counts[("wrong", "inside", "beyond").index(name)]
            ax.stairs(own, edges, fill=True, color=colour, alpha=0.55, label=f"{name}: {count:,}")
        for at in (-1.0, 0.0, 1.0):
            if low <= at <= high:
                look = {"color": ink(ax) if at == 0 else MUTED, "linewidth": 1.0}
                ax.axvline(at, linestyle="-" if at == 0 else (0, (4, 3)), **look)
        style_axes(ax, grid="y")
        ax.set_xlim(low, high)
        ax.set_xlabel("margin y f(x): 0 is the boundary, ±1 the margins")
        ax.set_ylabel("rows")
        ax.legend(frameon=False, fontsize=9, loc="best")

    def _window(self) -> tuple[float, float]:
        """All margins, but for those far outside the bulk; zero and one are always edges of bars.

        The bars are as wide as a whole part of 1, so that no bar holds both sides of a line.
        """
        inner = np.quantile(self.margin, [0.25, 0.75])
        reach = _FAR * max(float(np.ptp(inner)), 0.5)
        low = min(max(float(self.margin.min()), inner[0] - reach), -1.0)
        high = max(min(float(self.margin.max()), inner[1] + reach), 1.0)
        width = 1.0 / max(1, int((BARS - 1) / (high - low)))
        if high - low > BARS - 1:
            width = float(np.ceil((high - low) / (BARS - 1)))
        first = np.floor(low / width)
        return float(first * width), float((first + BARS) * width)
