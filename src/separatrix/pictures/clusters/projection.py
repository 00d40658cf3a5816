"""Clusters projected on the plane of largest between-cluster scatter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, plural
from separatrix.pictures.inputs import column_names, labeled_rows
from separatrix.pictures.points import MAX_POINTS, scatter
from separatrix.pictures.style import PAPER, TALL, group_style, label_text, style_axes, text_color
from separatrix.rows.block import Ints

if TYPE_CHECKING:
    from separatrix.cluster.scatter import ClusterProjection

_LABELLED, _COLUMNS, _DESCRIBED = 24, 2, 6


@dataclass(eq=False)
class ClusterProjectionDisplay(Display):
    """Rows and clusters on the plane of largest between-cluster scatter.

    Parameters
    ----------
    projection : ClusterProjection
        Coordinates of the rows, the directions, and the fractions of scatter that they explain.
    codes : ndarray of int, shape (n,)
        Position of the cluster of each row.
    clusters : sequence of str
        Names of the clusters.
    names : sequence of str
        Names of the columns.
    max_points : int, default=5000
        Above so many points their density is drawn.

    See Also
    --------
    ClusterProfileDisplay : Column means of each cluster.
    SilhouetteDisplay : Silhouettes of the rows, by cluster.

    Examples
    --------
    >>> from separatrix.pictures import ClusterProjectionDisplay
    >>> X = [[0.0, 5.0], [2.0, 4.0], [10.0, 5.0], [12.0, 6.0]]
    >>> display = ClusterProjectionDisplay.from_rows(X, [0, 0, 1, 1])
    >>> display.main_columns(0), round(display.projection.between, 3)
    (['x0'], 1.0)
    """

    projection: ClusterProjection
    codes: Ints
    clusters: Sequence[str]
    names: Sequence[str]
    max_points: int = MAX_POINTS

    title: ClassVar[str] = "Clusters, projected"
    figure_size: ClassVar[tuple[float, float]] = TALL

    @classmethod
    def from_rows(
        cls,
        X: Any,
        labels: Any,
        *,
        standardize: bool = False,
        names: Sequence[str] | None = None,
        max_points: int = MAX_POINTS,
    ) -> Self:
        """From numeric rows and their cluster labels.

        Two clusters have one direction; the other is that of the largest remaining variance. With
        ``standardize`` columns are standardized first.
        """
        from separatrix.cluster.scatter import cluster_projection
        from separatrix.statistics.standardizer import Standardizer

        x, given = labeled_rows(X, labels)
        if standardize:
            x = Standardizer.from_rows(x, np.ones(len(x))).transform(x)
        clusters, code = np.unique(given, return_inverse=True)
        columns = column_names(X, names)
        found = cluster_projection(x, code)
        return cls(found, code, [str(c) for c in clusters], columns, max_points)

    def main_columns(self, axis: int) -> list[str]:
        """The columns of largest weight in a direction."""
        weight = np.abs(self.projection.directions[:, axis])
        order = np.argsort(-weight, kind="stable")[:_COLUMNS]
        return [str(self.names[j]) for j in order if weight[j] > 0.2 * weight.max() > 0]

    @property
    def description(self) -> str:
        """The axes, the fraction of scatter that they explain, and the sizes of the clusters."""
        first, second = (
            join_words([label_text(name, 20) for name in self.main_columns(i)]) or "nothing"
            for i in (0, 1)
        )
        total, between = self.projection.total, self.projection.between
        explained = f"{100 * total:.0f} % of the total scatter" if np.isfinite(total) else "nothing"
        if len(self.clusters) > 1 and np.isfinite(between):
            explained = f"{100 * between:.0f} % of the between-cluster scatter and {explained}"
        sizes = np.bincount(self.codes, minlength=len(self.clusters))
        order = np.argsort(-sizes, kind="stable")[:_DESCRIBED]
        parts = ", ".join(f"{self.clusters[i]} with {plural(int(sizes[i]), 'row')}" for i in order)
        lead = "the largest are " if len(sizes) > _DESCRIBED else ""
        return (
            f"A projection that explains {explained}: horizontal mostly {first}, vertical mostly "
            f"{second}. {plural(len(sizes), 'cluster')}: {lead}{parts}."
        )

    def _draw(self, ax: Any) -> None:
        k, points = len(self.clusters), self.projection.coordinates
        for i in range(k):
            own = points[self.codes == i]
            if not len(own):
                continue
            limit = 0 if len(points) > self.max_points else len(own)
            color, marker = group_style(i)
            scatter(ax, *own.T, max_points=limit, color=color, marker=marker, groups=k)
        if k <= _LABELLED:
            for i in np.unique(self.codes).tolist():
                ax.text(
                    *points[self.codes == i].mean(axis=0),
                    label_text(self.clusters[i], 12),
                    ha="center",
                    va="center",
                    fontsize=9,
                    fontweight="bold",
                    color=text_color(ax),
                    bbox={"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 1.5},
                )
        style_axes(ax)
        for i, (axis, limit) in enumerate(((ax.xaxis, 16), (ax.yaxis, 12))):
            columns = (
                ", ".join(label_text(name, limit) for name in self.main_columns(i)) or "nothing"
            )
            axis.set_label_text(f"direction {i + 1}: mostly {columns}")
