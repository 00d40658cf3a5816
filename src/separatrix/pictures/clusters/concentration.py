"""Distances between rows: do they tell near from far? In many columns of noise they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, number
from separatrix.pictures.style import BLUE, ORANGE, ink, style_axes

if TYPE_CHECKING:
    from separatrix.distances.concentration import DistanceConcentration

BINS = 48


@dataclass(eq=False)
class DistanceConcentrationDisplay(Display):
    """A histogram of what :func:`separatrix.distance_concentration` found, the mean being 1."""

    found: DistanceConcentration

    title: ClassVar[str] = "Distances between rows"

    @classmethod
    def from_rows(cls, X: Any, *, metric: Any = "euclidean") -> Self:
        """Of a sample of rows, or of objects that the metric knows."""
        from separatrix.distances.concentration import distance_concentration

        return cls(distance_concentration(X, metric))

    @property
    def mean(self) -> float:
        """The mean distance."""
        return float(self.found.distances.mean())

    @property
    def description(self) -> str:
        """Spread, nearest neighbours, and what that means."""
        pairs = self.found.distances
        return (
            f"{counted(pairs.size, 'distance')} between rows, mean {number(self.mean, 3)}, from "
            f"{number(float(pairs.min()), 3)} to {number(float(pairs.max()), 3)}. {self.found}"
        )

    def _draw(self, ax: Any) -> None:
        shares = self.found.distances / (self.mean or 1.0)
        top = max(float(shares.max()), 1.25)
        counts, edges = np.histogram(shares, np.linspace(0, top, BINS + 1))
        ax.stairs(counts, edges, fill=True, color=BLUE, alpha=0.55)
        ax.axvline(1.0, color=ink(ax), linewidth=1.0)
        ax.axvline(self.found.nearest, color=ORANGE, linewidth=1.6, linestyle=(0, (4, 2)))
        style_axes(ax, grid="y")
        ax.set_xlim(0, top)
        for at, text, side in (
            (1.0, "mean", "left"),
            (self.found.nearest, "nearest neighbour", "right"),
        ):
            room = at > 0.42 * top or side == "left"
            ax.annotate(
                text,
                (at, 1),
                xytext=(4 if side == "left" or not room else -4, -3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="left" if side == "left" or not room else "right",
                va="top",
                fontsize=8.5,
            )
        ax.set_xlabel("distance, in parts of the mean distance")
        ax.set_ylabel("pairs of rows")
