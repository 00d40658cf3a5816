"""Concentration of distances: in many dimensions all rows can be almost equally far apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.points import ABOVE, annotate
from separatrix.pictures.style import BLUE, ORANGE, style_axes, text_color

if TYPE_CHECKING:
    from separatrix.distances.concentration import DistanceConcentration

BINS = 48


@dataclass(eq=False)
class DistanceConcentrationDisplay(Display):
    """Histogram of pairwise distances relative to their mean.

    Parameters
    ----------
    concentration : DistanceConcentration
        Result of :func:`separatrix.distance_concentration`.

    Attributes
    ----------
    mean : float
        Mean distance.

    See Also
    --------
    NeighborCountDisplay : Leave-one-out error over the number of neighbors.
    SilhouetteDisplay : Silhouettes of the rows, by cluster.

    References
    ----------
    K. Beyer, J. Goldstein, R. Ramakrishnan and U. Shaft, When is "nearest neighbor"
    meaningful?, ICDT, 1999.

    Examples
    --------
    >>> from separatrix.pictures import DistanceConcentrationDisplay
    >>> display = DistanceConcentrationDisplay.from_rows([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> round(display.mean, 3)
    6.667
    """

    concentration: DistanceConcentration

    title: ClassVar[str] = "Distances between rows"

    @classmethod
    def from_rows(cls, X: Any, *, metric: Any = "euclidean") -> Self:
        """From rows, or from objects that the metric accepts."""
        from separatrix.distances.concentration import distance_concentration

        return cls(distance_concentration(X, metric))

    @property
    def mean(self) -> float:
        """Mean distance."""
        return float(self.concentration.distances.mean())

    @property
    def description(self) -> str:
        """Mean and range of the distances, nearest neighbors, and the conclusion."""
        pairs = self.concentration.distances
        return (
            f"{plural(pairs.size, 'distance')} between rows, mean {number(self.mean, 3)}, from "
            f"{number(float(pairs.min()), 3)} to {number(float(pairs.max()), 3)}. "
            f"{self.concentration}"
        )

    def _draw(self, ax: Any) -> None:
        relative = self.concentration.distances / (self.mean or 1.0)
        top = max(float(relative.max()), 1.25)
        counts, edges = np.histogram(relative, np.linspace(0, top, BINS + 1))
        ax.stairs(counts, edges, fill=True, color=BLUE, alpha=0.55)
        ax.axvline(1.0, color=text_color(ax), linewidth=1.0)
        ax.axvline(self.concentration.nearest, color=ORANGE, linewidth=1.6, linestyle=(0, (4, 2)))
        style_axes(ax, grid="y")
        ax.set_xlim(0, top)
        for at, text, side in (
            (1.0, "mean", "left"),
            (self.concentration.nearest, "nearest neighbor", "right"),
        ):
            if at <= 0.42 * top:  # no room at the left
                side = "left"
            offset = (4 if side == "left" else -4, -3)
            annotate(ax, text, (at, 1), offset, ABOVE, ha=side, va="top")
        ax.set_xlabel("distance / mean distance")
        ax.set_ylabel("pairs of rows")
