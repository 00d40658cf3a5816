"""What sets each cluster apart: its means, in standard deviations from the mean of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, listed
from separatrix.pictures.style import BLUE, GRID, ORANGE, WIDTH, plain
from separatrix.rows.block import Floats

#: Columns and clusters that are drawn, and cells that have room for a number.
MOST_COLUMNS, MOST_CLUSTERS, _WRITTEN = 20, 24, 100
#: Shades of either colour; the deepest is for two standard deviations and more.
_SHADES, _DEEPEST = 10, 2.0
_TOLD = 5


@dataclass(eq=False)
class ClusterProfileDisplay(Display):
    """``means`` (clusters x columns) of standardised columns, their ``names``, cluster ``sizes``.

    Of more than 20 columns those are drawn that differ most between clusters; of more than 24
    clusters the largest.
    """

    means: Floats
    names: Sequence[str]
    clusters: Sequence[str]
    sizes: Sequence[int]

    title: ClassVar[str] = "Profiles of the clusters"

    def __post_init__(self) -> None:
        self.means = np.asarray(self.means, dtype=float)
        if self.means.shape != (len(self.clusters), len(self.names)) or not self.means.size:
            raise InputError(
                f"Means of shape {self.means.shape} for {len(self.clusters)} clusters and "
                f"{len(self.names)} columns."
            )

    @classmethod
    def from_rows(cls, X: Any, labels: Any, *, names: Sequence[str] | None = None) -> Self:
        """Of rows of numbers and the cluster of each; a data frame brings its names."""
        x, given = np.asarray(X, dtype=float), np.asarray(labels)
        if x.ndim != 2 or given.shape != (len(x),) or not len(x):
            raise InputError(f"Rows of shape {x.shape} and labels of shape {given.shape}.")
        if names is None:
            columns = getattr(X, "columns", None)
            names = [f"x{j}" for j in range(x.shape[1])] if columns is None else list(columns)
        spread = x.std(axis=0)
        # A column that never varies may have a deviation of rounding: it is at its mean everywhere.
        spread[spread <= 1e-12 * np.abs(x).max(axis=0)] = np.inf
        z = (x - x.mean(axis=0)) / spread
        clusters, code, sizes = np.unique(given, return_inverse=True, return_counts=True)
        means = np.stack([np.bincount(code, column) for column in z.T], axis=1) / sizes[:, None]
        return cls(means, [str(name) for name in names], [str(c) for c in clusters], sizes.tolist())

    @property
    def drawn(self) -> NDArray[np.int64]:
        """Columns in the picture: as in the table, or those that differ most, most first."""
        if len(self.names) <= MOST_COLUMNS:
            return np.arange(len(self.names))
        reach = np.ptp(self.means, axis=0)
        return np.asarray(np.argsort(-reach, kind="stable")[:MOST_COLUMNS])

    @property
    def description(self) -> str:
        """For each cluster (of many, the largest) the columns that mark it most."""
        largest = np.argsort(-np.asarray(self.sizes), kind="stable")[:_TOLD]
        told = []
        for i in sorted(largest.tolist()):
            heavy = np.argsort(-np.abs(self.means[i]), kind="stable")[:2]
            marks = listed(
                [f"{plain(self.names[j], 20)} {_signed(self.means[i, j])}" for j in heavy]
            )
            told.append(f"{self.clusters[i]} ({counted(self.sizes[i], 'row')}): {marks}")
        more = f" The largest {_TOLD} are told." if len(self.clusters) > _TOLD else ""
        less = ""
        if len(self.names) > MOST_COLUMNS:
            less = (
                f" {MOST_COLUMNS} of {len(self.names)} columns are drawn, those that differ most."
            )
        if len(self.clusters) > MOST_CLUSTERS:
            less += f" The largest {MOST_CLUSTERS} clusters are drawn."
        return (
            f"Means of {counted(len(self.clusters), 'cluster')} in standard deviations from the "
            f"mean of all rows. Furthest from it, {'; '.join(told)}.{more}{less}"
        )

    @property
    def size(self) -> tuple[float, float]:
        """A line for each column."""
        return WIDTH, float(np.clip(1.1 + 0.24 * len(self.drawn), 2.2, 6.0))

    @property
    def drawn_clusters(self) -> NDArray[np.int64]:
        """Clusters in the picture: all, or the largest in their order."""
        order = np.argsort(-np.asarray(self.sizes), kind="stable")[:MOST_CLUSTERS]
        return np.sort(order)

    def _draw(self, ax: Any) -> None:
        columns, clusters = self.drawn, self.drawn_clusters
        cells = self.means[np.ix_(clusters, columns)].T
        shade = np.ceil(_SHADES * np.clip(np.abs(cells) / _DEEPEST, 0, 1)) * np.sign(cells)
        for level in np.unique(shade[shade != 0]):
            # Pale enough for letters on light and dark paper.
            alpha = 0.55 * abs(level) / _SHADES
            _fill(ax, np.argwhere(shade == level), ORANGE if level > 0 else BLUE, alpha)
        if cells.size <= _WRITTEN:
            for (row, i), value in np.ndenumerate(cells):
                ax.text(i, row, _signed(value), ha="center", va="center", fontsize=8.5)
        k = len(clusters)
        for edge in np.arange(k - 1) + 0.5:
            ax.axvline(edge, color=GRID, linewidth=0.7)
        ax.set_xlim(-0.5, k - 0.5)
        ax.set_ylim(len(columns) - 0.5, -0.5)
        ax.set_yticks(range(len(columns)), [plain(self.names[j], 20) for j in columns])
        heads = [
            plain(self.clusters[i], 10) + (f"\n{counted(self.sizes[i], 'row')}" if k <= 5 else "")
            for i in clusters.tolist()
        ]
        step = max(1, -(-k // 12))
        ax.set_xticks(range(0, k, step), heads[::step])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("means in standard deviations from all rows")


def _fill(ax: Any, cells: NDArray[np.int64], colour: str, alpha: float) -> None:
    """All cells of one shade as one path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]])
    at = (cells[:, None, ::-1] + corners).reshape(-1, 2)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    path = Path(at, np.tile(codes, len(cells)).tolist())
    patch = PathPatch(path, facecolor=colour, alpha=alpha, linewidth=0)
    patch.set_gid("cells")
    ax.add_patch(patch)


def _signed(value: float) -> str:
    """+1.2, −0.3, 0.0."""
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")
