"""Cluster profiles: standardized column means of each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, plural
from separatrix.pictures.inputs import column_names, labeled_rows
from separatrix.pictures.points import fill_boxes
from separatrix.pictures.style import BLUE, GRID, ORANGE, WIDTH, label_text
from separatrix.rows.block import Floats, Ints

#: Columns and clusters drawn at most, and cells that have room for a number.
MAX_COLUMNS, MAX_CLUSTERS, _NUMBERED, _NUMBERED_CLUSTERS = 20, 24, 100, 9
#: Shades of either color; the darkest is for two standard deviations and more.
_SHADES, _DARKEST = 10, 2.0
_DESCRIBED = 5


@dataclass(eq=False)
class ClusterProfileDisplay(Display):
    """Column means of each cluster, in standard deviations from the overall mean.

    Of more than 20 columns those that differ most between clusters are drawn; of more than 24
    clusters the largest.

    Parameters
    ----------
    means : array-like of shape (k, d)
        Standardized column means of each cluster.
    names : sequence of str
        Names of the columns.
    clusters : sequence of str
        Names of the clusters.
    sizes : sequence of int
        Number of rows of each cluster.

    See Also
    --------
    ClusterProjectionDisplay : The clusters on a plane.
    SilhouetteDisplay : Silhouettes of the rows, by cluster.

    Examples
    --------
    >>> from separatrix.pictures import ClusterProfileDisplay
    >>> X = [[0.0, 5.0], [2.0, 5.0], [10.0, 5.0], [12.0, 5.0]]
    >>> display = ClusterProfileDisplay.from_rows(X, [0, 0, 1, 1], names=["a", "b"])
    >>> display.means.round(2).tolist()
    [[-0.98, 0.0], [0.98, 0.0]]
    """

    means: Floats
    names: Sequence[str]
    clusters: Sequence[str]
    sizes: Sequence[int]

    title: ClassVar[str] = "Cluster profiles"

    def __post_init__(self) -> None:
        self.means = np.asarray(self.means, dtype=float)
        if self.means.shape != (len(self.clusters), len(self.names)) or not self.means.size:
            raise InputError(
                f"Means of shape {self.means.shape} for {len(self.clusters)} clusters and "
                f"{len(self.names)} columns."
            )

    @classmethod
    def from_rows(cls, X: Any, labels: Any, *, names: Sequence[str] | None = None) -> Self:
        """From numeric rows and their cluster labels; a data frame provides its names."""
        from separatrix.statistics.standardizer import Standardizer

        x, given = labeled_rows(X, labels)
        z = Standardizer.from_rows(x, np.ones(len(x))).transform(x)
        clusters, code, sizes = np.unique(given, return_inverse=True, return_counts=True)
        means = np.stack([np.bincount(code, column) for column in z.T], axis=1) / sizes[:, None]
        return cls(means, column_names(X, names), [str(c) for c in clusters], sizes.tolist())

    @property
    def shown_columns(self) -> Ints:
        """Columns drawn: all, or those that differ most, in decreasing order."""
        if len(self.names) <= MAX_COLUMNS:
            return np.arange(len(self.names))
        ranges = np.ptp(self.means, axis=0)
        return np.asarray(np.argsort(-ranges, kind="stable")[:MAX_COLUMNS])

    @property
    def description(self) -> str:
        """For each cluster (of many, the largest) the columns farthest from the mean."""
        largest = np.argsort(-np.asarray(self.sizes), kind="stable")[:_DESCRIBED]
        parts = []
        for i in sorted(largest.tolist()):
            extreme = np.argsort(-np.abs(self.means[i]), kind="stable")[:2]
            columns = join_words(
                [f"{label_text(self.names[j], 20)} {_signed(self.means[i, j])}" for j in extreme]
            )
            parts.append(f"{self.clusters[i]} ({plural(self.sizes[i], 'row')}): {columns}")
        more = ""
        if len(self.clusters) > _DESCRIBED:
            more = f" Only the {_DESCRIBED} largest clusters are described."
        if len(self.names) > MAX_COLUMNS:
            more += (
                f" {MAX_COLUMNS} of {len(self.names)} columns are drawn, those that differ most."
            )
        if len(self.clusters) > MAX_CLUSTERS:
            more += f" The largest {MAX_CLUSTERS} clusters are drawn."
        return (
            f"Column means of {plural(len(self.clusters), 'cluster')} in standard deviations "
            f"from the overall mean. Farthest from it, {'; '.join(parts)}.{more}"
        )

    @property
    def size(self) -> tuple[float, float]:
        """One line for each column."""
        return WIDTH, float(np.clip(1.1 + 0.24 * len(self.shown_columns), 2.2, 6.0))

    @property
    def shown_clusters(self) -> Ints:
        """Clusters drawn: all, or the largest, in their order."""
        order = np.argsort(-np.asarray(self.sizes), kind="stable")[:MAX_CLUSTERS]
        return np.sort(order)

    def _draw(self, ax: Any) -> None:
        columns, clusters = self.shown_columns, self.shown_clusters
        cells = self.means[np.ix_(clusters, columns)].T
        shade = np.ceil(_SHADES * np.clip(np.abs(cells) / _DARKEST, 0, 1)) * np.sign(cells)
        for level in np.unique(shade[shade != 0]):
            # Light enough for text on light and dark pages.
            alpha = 0.55 * abs(level) / _SHADES
            at = np.argwhere(shade == level)[:, [1, 1, 0, 0]] + [-0.5, 0.5, -0.5, 0.5]
            fill_boxes(ax, at, ORANGE if level > 0 else BLUE, alpha)
        if cells.size <= _NUMBERED and len(clusters) <= _NUMBERED_CLUSTERS:
            for (row, i), value in np.ndenumerate(cells):
                ax.text(i, row, _signed(value), ha="center", va="center", fontsize=8.5)
        k = len(clusters)
        for edge in np.arange(k - 1) + 0.5:
            ax.axvline(edge, color=GRID, linewidth=0.7)
        ax.set_xlim(-0.5, k - 0.5)
        ax.set_ylim(len(columns) - 0.5, -0.5)
        ax.set_yticks(range(len(columns)), [label_text(self.names[j], 20) for j in columns])
        heads = [
            label_text(self.clusters[i], 10)
            + (f"\n{plural(self.sizes[i], 'row')}" if k <= 5 else "")
            for i in clusters.tolist()
        ]
        step = max(1, -(-k // 12))
        ax.set_xticks(range(0, k, step), heads[::step])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("mean, in standard deviations from the overall mean")


def _signed(value: float) -> str:
    """+1.2, −0.3, 0.0."""
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")
