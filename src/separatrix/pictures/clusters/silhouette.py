"""Silhouettes: every row's, widest first, cluster by cluster.

s = (b − a)/max(a, b), with a the mean distance to the own cluster and b to the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, number
from separatrix.pictures.style import GRID, MUTED, SERIES, WIDTH, ink, plain, style_axes
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.cluster.silhouette import Silhouette

#: Steps of the outlines of all clusters together, and clusters that are named.
STEPS = 400
_NAMED, _TOLD = 14, 6


@dataclass(eq=False)
class SilhouetteDisplay(Display):
    """``silhouette`` is what :func:`separatrix.silhouette` found."""

    silhouette: Silhouette

    title: ClassVar[str] = "Silhouettes by cluster"

    @classmethod
    def from_rows(cls, X: Any, labels: Any, *, metric: Any = "euclidean") -> Self:
        """Of rows (or objects, or distances with "precomputed") and the cluster of each."""
        from separatrix.cluster.silhouette import silhouette

        return cls(silhouette(X, labels, metric))

    @classmethod
    def from_estimator(cls, model: Any, X: Any) -> Self:
        """Of the ``labels_`` of a fitted clusterer and the rows it was fitted to.

        In its own metric, of standardised columns if it standardised them.
        """
        metric = getattr(model, "metric_", getattr(model, "metric", "euclidean"))
        if getattr(model, "standardize", False):
            X = np.asarray(X, dtype=float)
            spread = X.std(axis=0)
            X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
        return cls.from_rows(X, model.labels_, metric=metric)

    def of_cluster(self, i: int) -> Floats:
        """Silhouettes of the rows of the i-th cluster, largest first."""
        found = self.silhouette
        own = found.samples[found.labels == found.clusters[i]]
        return np.asarray(np.sort(own)[::-1])

    @property
    def below_zero(self) -> int:
        """Rows that are nearer to another cluster than to their own."""
        return int((self.silhouette.samples < 0).sum())

    @property
    def description(self) -> str:
        """The mean, the clusters (of many, the worst), and the rows that seem misplaced."""
        found = self.silhouette
        order = np.arange(len(found.clusters))
        lead = "By cluster"
        if len(order) > _TOLD:
            order = np.argsort(found.by_cluster, kind="stable")[:_TOLD]
            lead = f"The least of {len(found.clusters)} clusters"
        told = "; ".join(
            f"{found.clusters[i]}: {number(float(found.by_cluster[i]), 2)} over "
            f"{counted(len(self.of_cluster(i)), 'row')}"
            for i in order.tolist()
        )
        return (
            f"The mean silhouette is {number(found.score, 3)} (1: well inside, 0: on the border). "
            f"{lead}, {told}. {self.below_zero:,} of {counted(len(found.samples), 'row')} are "
            "nearer to another cluster."
        )

    @property
    def size(self) -> tuple[float, float]:
        """Taller for more clusters."""
        return WIDTH, float(np.clip(1.6 + 0.4 * len(self.silhouette.clusters), 2.8, 5.4))

    def _draw(self, ax: Any) -> None:
        found = self.silhouette
        gap = 0.04 * len(found.samples)
        top, middles = 0.0, []
        for i in range(len(found.clusters)):
            own = self.of_cluster(i)
            steps = min(len(own), max(STEPS // len(found.clusters), 4))
            at = ((np.arange(steps) + 0.5) * len(own) / steps).astype(int)
            edges = top + np.linspace(0, len(own), steps + 1)
            colour = SERIES[i % len(SERIES)]
            ax.stairs(own[at], edges, orientation="horizontal", fill=True, color=colour, alpha=0.6)
            middles.append(top + len(own) / 2)
            top += len(own) + gap
        ax.axvline(0, color=MUTED, linewidth=0.9)
        ax.axvline(found.score, color=ink(ax), linewidth=1.0, linestyle=(0, (4, 3)))
        ax.annotate(
            f"mean {number(found.score, 3)}",
            (found.score, 1),
            xytext=(0, 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
        )
        self._name(ax, middles)
        ax.set_ylim(max(top - gap, 1), 0)
        low, high = float(found.samples.min()), float(found.samples.max())
        ax.set_xlim(min(-0.05, 1.05 * low), min(max(0.5, 1.08 * high), 1.0))
        style_axes(ax, grid=None)
        ax.grid(True, axis="x", color=GRID, linewidth=0.7)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("silhouette (1: well inside, 0: on the border)")

    def _name(self, ax: Any, middles: list[float]) -> None:
        found, step = self.silhouette, max(1, -(-len(middles) // _NAMED))
        names = [
            f"{plain(found.clusters[i], 10)} ({len(self.of_cluster(i)):,}): "
            f"{number(float(found.by_cluster[i]), 2)}"
            for i in range(len(middles))
        ]
        ax.set_yticks(middles[::step], names[::step])
