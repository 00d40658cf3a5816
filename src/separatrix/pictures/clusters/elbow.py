"""Elbow plot: within-cluster scatter and mean silhouette over the number of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number
from separatrix.pictures.points import mark_value
from separatrix.pictures.style import BLUE, ORANGE, PAPER, style_axes
from separatrix.rows.block import Floats

#: Rows of which silhouettes are computed, at most.
SILHOUETTE_ROWS = 10_000


@dataclass(eq=False)
class ElbowDisplay(Display):
    """Within-cluster scatter and mean silhouette over the number of clusters.

    Parameters
    ----------
    n_clusters : array-like of int, shape (m,)
        Numbers of clusters.
    within : array-like of shape (m,)
        Within-cluster sum of squares as a fraction of the total.
    silhouettes : array-like of shape (m,)
        Mean silhouette; NaN for one cluster.
    chosen : int or None, default=None
        The selected number; by default that of the largest silhouette.
    silhouette_rows : int or None, default=None
        Number of rows of which silhouettes were computed, if not of all.

    Attributes
    ----------
    best : int or None
        The number of clusters with the largest mean silhouette.

    See Also
    --------
    SilhouetteDisplay : Silhouettes of the rows, by cluster.
    DendrogramDisplay : The tree of hierarchical clustering.

    Examples
    --------
    >>> from separatrix.pictures import ElbowDisplay
    >>> display = ElbowDisplay([1, 2, 3], [1.0, 0.2, 0.15], [float("nan"), 0.8, 0.5])
    >>> display.best
    2
    """

    n_clusters: Any
    within: Floats
    silhouettes: Floats
    chosen: int | None = None
    silhouette_rows: int | None = None

    title: ClassVar[str] = "Within-cluster scatter and silhouette"

    def __post_init__(self) -> None:
        self.n_clusters = np.asarray(self.n_clusters, dtype=np.int64)
        self.within = np.asarray(self.within, dtype=float)
        self.silhouettes = np.asarray(self.silhouettes, dtype=float)
        if not self.n_clusters.size or not (
            self.n_clusters.shape == self.within.shape == self.silhouettes.shape
        ):
            raise InputError(
                "Give one scatter and one silhouette for each number of clusters.",
                remedy="NaN is the silhouette of one cluster.",
            )
        if self.chosen is None:
            self.chosen = self.best

    @classmethod
    def from_rows(
        cls, X: Any, n_clusters: Iterable[int] = range(1, 11), *, model: Any = None
    ) -> Self:
        """Cluster numeric rows; ``model`` is any clusterer with ``n_clusters``, KMeans if None.

        Silhouettes are Euclidean, of at most 10 000 evenly spaced rows. Numbers of clusters above
        the number of rows are left out.
        """
        from sklearn.base import clone

        from separatrix.cluster.kmeans import KMeans
        from separatrix.cluster.scatter import scatter_decomposition
        from separatrix.cluster.silhouette import silhouette

        x = np.asarray(X, dtype=float)
        model = KMeans(n_init=5, max_iter=1000, random_state=0) if model is None else model
        some = np.unique(
            np.linspace(0, len(x) - 1, min(len(x), SILHOUETTE_ROWS)).round().astype(int)
        )
        numbers, within, scores = sorted(k for k in set(n_clusters) if k <= len(x)), [], []
        for k in numbers:
            labels = clone(model).set_params(n_clusters=k).fit(x).labels_
            split = scatter_decomposition(x, labels)
            within.append(1 - split.explained if split.total > 0 else 0.0)
            defined = 2 <= len(np.unique(labels[some])) < len(some)
            scores.append(silhouette(x[some], labels[some]).score if defined else np.nan)
        rows = None if len(some) == len(x) else len(some)
        return cls(numbers, np.array(within), np.array(scores), silhouette_rows=rows)

    @property
    def best(self) -> int | None:
        """The number of clusters with the largest mean silhouette; of ties the smallest."""
        if not np.isfinite(self.silhouettes).any():
            return None
        return int(self.n_clusters[int(np.nanargmax(self.silhouettes))])

    @property
    def description(self) -> str:
        """Scatter at both ends, the largest silhouette, and the chosen number."""
        text = (
            f"From {self.n_clusters[0]} to {self.n_clusters[-1]} clusters the within-cluster sum "
            f"of squares falls from {100 * self.within[0]:.0f} to {100 * self.within[-1]:.0f} % "
            "of the total."
        )
        if self.best is not None:
            largest = float(np.nanmax(self.silhouettes))
            text += f" The mean silhouette is largest, {number(largest, 3)}, for {self.best}"
            text += f" (of {self.silhouette_rows:,} rows)." if self.silhouette_rows else "."
        if self.chosen is not None and self.chosen in self.n_clusters:
            at = int(np.flatnonzero(self.n_clusters == self.chosen)[0])
            text += f" Chosen: {self.chosen}, with {100 * self.within[at]:.0f} % within clusters"
            if self.chosen != self.best:
                text += f" and silhouette {number(float(self.silhouettes[at]), 3)}"
            text += "."
        return text

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        look = {"marker": "o", "ms": 4.5}
        ax.plot(
            self.n_clusters, self.within, color=BLUE, label="within-cluster sum of squares", **look
        )
        ax.plot(
            self.n_clusters,
            self.silhouettes,
            color=ORANGE,
            linestyle=(0, (5, 2)),
            label="mean silhouette",
            mfc=PAPER,
            **look,
        )
        style_axes(ax)
        if self.chosen is not None:
            mark_value(ax, self.chosen, "chosen")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        low = float(np.nanmin([0.0, *self.silhouettes]))
        ax.set_ylim(1.1 * low - 0.03, 1.05)
        ax.set_xlabel("number of clusters")
        ax.set_ylabel("fraction of the total; silhouette")
        ax.legend(frameon=False, fontsize=9, loc="best")
