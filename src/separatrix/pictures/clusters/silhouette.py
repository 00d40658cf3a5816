"""Silhouette plot: s = (b − a)/max(a, b) of every row, by cluster.

a is the mean distance to the own cluster and b the least mean distance to another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.points import mark_value, reference_line
from separatrix.pictures.style import WIDTH, group_style, label_text, style_axes
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.cluster.silhouette import Silhouette

#: Steps of all outlines together; clusters that are labeled, and described.
_STEPS = 400
_LABELLED, _DESCRIBED = 24, 6


@dataclass(eq=False)
class SilhouetteDisplay(Display):
    """Silhouette plot: the silhouettes of all rows, sorted within each cluster.

    Parameters
    ----------
    silhouette : Silhouette
        Result of :func:`separatrix.silhouette`.

    Attributes
    ----------
    n_negative : int
        Rows of negative silhouette: nearer to another cluster than to their own.

    See Also
    --------
    ElbowDisplay : Scatter and silhouette over the number of clusters.
    ClusterProjectionDisplay : The clusters on a plane.

    References
    ----------
    P. J. Rousseeuw, Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis, 1987.

    Examples
    --------
    >>> from separatrix.pictures import SilhouetteDisplay
    >>> display = SilhouetteDisplay.from_rows([[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1])
    >>> round(display.silhouette.score, 3), display.n_negative
    (0.889, 0)
    """

    silhouette: Silhouette

    title: ClassVar[str] = "Silhouette plot"

    @classmethod
    def from_rows(cls, X: Any, labels: Any, *, metric: Any = "euclidean") -> Self:
        """From rows (or objects, or distances with "precomputed") and their cluster labels."""
        from separatrix.cluster.silhouette import silhouette

        return cls(silhouette(X, labels, metric))

    @classmethod
    def from_estimator(cls, model: Any, X: Any) -> Self:
        """From a fitted clusterer and its training rows.

        In the metric of the clusterer, with standardized columns if it standardizes them.
        """
        from separatrix.cluster.agglomerative import AgglomerativeClustering
        from separatrix.cluster.kmedoids import KMedoids
        from separatrix.statistics.standardizer import Standardizer

        settings = model.get_params(deep=False)
        if isinstance(model, AgglomerativeClustering | KMedoids):
            metric = model.metric_
        else:
            metric = settings.get("metric", "euclidean")
        if settings.get("standardize", False):
            X = np.asarray(X, dtype=float)
            X = Standardizer.from_rows(X, np.ones(len(X))).transform(X)
        return cls.from_rows(X, model.labels_, metric=metric)

    def of_cluster(self, i: int) -> Floats:
        """Silhouettes of the rows of the i-th cluster, in decreasing order."""
        found = self.silhouette
        own = found.samples[found.labels == found.clusters[i]]
        return np.asarray(np.sort(own)[::-1])

    @property
    def n_negative(self) -> int:
        """Rows of negative silhouette: nearer to another cluster than to their own."""
        return int((self.silhouette.samples < 0).sum())

    @property
    def description(self) -> str:
        """The mean, that of each cluster (of many, the lowest), and the negative rows."""
        found = self.silhouette
        order = np.arange(len(found.clusters))
        lead = "By cluster"
        if len(order) > _DESCRIBED:
            order = np.argsort(found.by_cluster, kind="stable")[:_DESCRIBED]
            lead = f"Lowest of {len(found.clusters)} clusters"
        parts = "; ".join(
            f"{found.clusters[i]}: {number(float(found.by_cluster[i]), 2)} over "
            f"{plural(len(self.of_cluster(i)), 'row')}"
            for i in order.tolist()
        )
        return (
            f"Mean silhouette {number(found.score, 3)} (1: well inside its cluster, 0: between "
            f"clusters). {lead}, {parts}. {self.n_negative:,} of "
            f"{plural(len(found.samples), 'row')} have a negative silhouette."
        )

    @property
    def size(self) -> tuple[float, float]:
        """Taller for more clusters."""
        return WIDTH, float(np.clip(1.6 + 0.4 * len(self.silhouette.clusters), 2.8, 6.4))

    def _draw(self, ax: Any) -> None:
        found = self.silhouette
        space = 0.04 * len(found.samples)
        top, middles = 0.0, []
        for i in range(len(found.clusters)):
            own = self.of_cluster(i)
            steps = min(len(own), max(_STEPS // len(found.clusters), 4))
            at = ((np.arange(steps) + 0.5) * len(own) / steps).astype(int)
            edges = top + np.linspace(0, len(own), steps + 1)
            look = {"color": group_style(i)[0], "alpha": 0.6}
            ax.stairs(own[at], edges, orientation="horizontal", fill=True, **look)
            middles.append(top + len(own) / 2)
            top += len(own) + space
        reference_line(ax, 0, horizontal=False)
        mark_value(ax, found.score, f"mean {number(found.score, 3)}", zorder=2)
        self._label(ax, middles)
        ax.set_ylim(max(top - space, 1), 0)
        low, high = float(found.samples.min()), float(found.samples.max())
        ax.set_xlim(min(-0.05, 1.05 * low), min(max(0.5, 1.08 * high), 1.0))
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("silhouette")

    def _label(self, ax: Any, middles: list[float]) -> None:
        found, step = self.silhouette, max(1, -(-len(middles) // _LABELLED))
        names = [
            f"{label_text(found.clusters[i], 10)} ({len(self.of_cluster(i)):,}): "
            f"{number(float(found.by_cluster[i]), 2)}"
            for i in range(len(middles))
        ]
        ax.set_yticks(middles[::step], names[::step])
