"""Dendrogram of hierarchical clustering, with its cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.largest import row_names
from separatrix.pictures.points import BESIDE, annotate
from separatrix.pictures.style import MUTED, group_style, label_text, style_axes, text_color
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.cluster.agglomerative import AgglomerativeClustering
    from separatrix.cluster.dendrogram import Dendrogram

#: Leaves that are drawn one by one; a larger tree is truncated to so many branches.
MAX_LEAVES, BRANCHES = 200, 30
#: Leaves that have room for a label.
_LABELLED = 40


@dataclass(eq=False)
class DendrogramDisplay(Display):
    """Dendrogram, cut into clusters.

    Of more than 200 leaves the last merges are drawn: a triangle stands for a branch, with the
    number of its leaves below.

    Parameters
    ----------
    dendrogram : Dendrogram
        The tree of merges.
    n_clusters : int or None, default=None
        Number of clusters to cut the tree into.
    distance_threshold : float or None, default=None
        Distance to cut the tree at.
    leaf_labels : sequence or None, default=None
        Names of the leaves; their row numbers if None.

    Attributes
    ----------
    labels : ndarray of int
        Cluster of each leaf.
    clusters : int
        Number of clusters after the cut.

    See Also
    --------
    ElbowDisplay : Scatter and silhouette over the number of clusters.
    SilhouetteDisplay : Silhouettes of the rows, by cluster.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import DendrogramDisplay
    >>> model = sx.AgglomerativeClustering(2, linkage="average").fit([[0.0], [1.0], [9.0], [10.5]])
    >>> display = DendrogramDisplay.from_estimator(model)
    >>> display.clusters, display.labels.tolist()
    (2, [0, 0, 1, 1])
    """

    dendrogram: Dendrogram
    n_clusters: int | None = None
    distance_threshold: float | None = None
    leaf_labels: Sequence[object] | None = None

    title: ClassVar[str] = "Dendrogram"
    figure_size: ClassVar[tuple[float, float]] = (4.9, 3.7)

    def __post_init__(self) -> None:
        n = len(self.dendrogram)
        if n < 2:
            raise InputError("A dendrogram needs two leaves at least.")
        if self.leaf_labels is not None and len(self.leaf_labels) != n:
            raise InputError(f"{len(self.leaf_labels)} labels for {n} leaves.")
        self.labels = self._cut()

    @classmethod
    def from_estimator(
        cls, model: AgglomerativeClustering, *, leaf_labels: Sequence[object] | None = None
    ) -> Self:
        """From a fitted :class:`~separatrix.AgglomerativeClustering`, with its cut."""
        return cls(model.dendrogram_, model.n_clusters, model.distance_threshold, leaf_labels)

    @classmethod
    def from_linkage(
        cls,
        linkage: Any,
        *,
        n_clusters: int | None = None,
        distance_threshold: float | None = None,
        leaf_labels: Sequence[object] | None = None,
    ) -> Self:
        """From a linkage matrix in SciPy's format."""
        from separatrix.cluster.dendrogram import Dendrogram

        return cls(Dendrogram(linkage), n_clusters, distance_threshold, leaf_labels)

    def _cut(self) -> NDArray[np.int64]:
        if self.n_clusters is None and self.distance_threshold is None:
            return np.zeros(len(self.dendrogram), dtype=np.int64)
        return self.dendrogram.cut(self.n_clusters, level=self.distance_threshold)

    @property
    def clusters(self) -> int:
        """Number of clusters after the cut."""
        return int(self.labels.max()) + 1

    @property
    def cut_height(self) -> float | None:
        """A height at which the tree is cut; with inversions there may be none."""
        if self.distance_threshold is not None or self.n_clusters is None:
            return self.distance_threshold
        made = len(self.dendrogram) - self.n_clusters
        heights = self.dendrogram.heights
        below = float(heights[:made].max(initial=0.0))
        above = float(heights[made:].min(initial=np.inf))
        if above < below:
            return None
        return (below + above) / 2 if np.isfinite(above) else 1.05 * below

    @property
    def description(self) -> str:
        """Leaves, merge distances, sizes of the clusters, inversions."""
        tree = self.dendrogram
        n = len(tree)
        text = (
            f"{plural(n, 'leaf', 'leaves')} merge at distances from "
            f"{number(float(tree.heights.min()), 3)} to {number(float(tree.heights.max()), 3)}."
        )
        if self.n_clusters is not None or self.distance_threshold is not None:
            sizes = np.sort(np.bincount(self.labels))[::-1]
            shown = ", ".join(f"{size:,}" for size in sizes[:8])
            more = f" and {len(sizes) - 8:,} smaller ones" if len(sizes) > 8 else ""
            where = f" at {number(self.cut_height, 3)}" if self.cut_height is not None else ""
            text += (
                f" Cut{where} there are {plural(self.clusters, 'cluster')}, with {shown}{more} "
                "leaves."
            )
        if len(tree.inversions):
            text += (
                f" {plural(len(tree.inversions), 'inversion')} (marked): a merge below one of its "
                "own branches."
            )
        if self.shown < n:
            text += f" The last {self.shown - 1} merges are drawn; triangles are whole branches."
        return text

    @property
    def shown(self) -> int:
        """Leaves or branches at the bottom of the plot."""
        n = len(self.dendrogram)
        return n if n <= MAX_LEAVES else BRANCHES

    def _draw(self, ax: Any) -> None:
        position, bottom = self._positions()
        self._branches(ax, position, bottom)
        tree, n = self.dendrogram, len(self.dendrogram)
        inverted = [s for s in tree.inversions if n + s in position and s >= n - self.shown]
        if inverted:
            at = [position[n + s] for s in inverted], tree.heights[inverted]
            look = {"mfc": "none", "mec": text_color(ax), "mew": 1.0, "linestyle": "none"}
            ax.plot(*at, "v", ms=5, label="inversion", **look)
            ax.legend(frameon=False, fontsize=8.5, loc="upper right")
        style_axes(ax, grid="y")
        ax.set_xlim(-0.9, self.shown - 0.1)
        ax.set_ylim(0, 1.06 * float(tree.heights.max()) or 1.0)
        self._cut_line(ax)
        self._leaf_axis(ax, bottom)
        ax.set_ylabel("merge distance")

    def _positions(self) -> tuple[dict[int, float], list[int]]:
        """Horizontal position of every node, and the bottom nodes from left to right."""
        tree, n = self.dendrogram, len(self.dendrogram)
        first, start = n - self.shown, tree.first_leaf
        pairs = list(zip(tree.left[first:].tolist(), tree.right[first:].tolist(), strict=True))
        bottom = [node for pair in pairs for node in pair if node < n + first]
        bottom.sort(key=lambda node: start[node])
        position = {node: float(i) for i, node in enumerate(bottom)}
        for s, (a, b) in enumerate(pairs, first):
            position[n + s] = (position[a] + position[b]) / 2
        return position, bottom

    def _branches(self, ax: Any, position: dict[int, float], bottom: list[int]) -> None:
        """One line for each color: that of a cluster, or grey above the cut."""
        tree, n = self.dendrogram, len(self.dendrogram)
        leaf, height = tree.leaves[tree.first_leaf], np.append(np.zeros(n), tree.heights)
        below_cut = self._below_cut()
        lines: dict[str, list[Floats]] = {}
        for s in range(n - self.shown, n - 1):
            a, b = int(tree.left[s]), int(tree.right[s])
            low, high = (a, b) if position[a] < position[b] else (b, a)
            x = [position[low], position[low], position[high], position[high], np.nan]
            y = [height[low], height[n + s], height[n + s], height[high], np.nan]
            color = self._color(leaf[n + s], bool(below_cut[s]))
            lines.setdefault(color, []).append(np.array([x, y]))
        for node in bottom:
            if node >= n:
                x = [position[node] + step for step in (0, -0.32, 0.32, 0, np.nan)]
                y = [height[node], 0.0, 0.0, height[node], np.nan]
                color = self._color(leaf[node], bool(below_cut[node - n]))
                lines.setdefault(color, []).append(np.array([x, y]))
        for color, parts in lines.items():
            ax.plot(*np.concatenate(parts, axis=1), color=color, linewidth=1.2)

    def _below_cut(self) -> NDArray[np.bool_]:
        """Merges below the cut."""
        if self.distance_threshold is not None:
            return self.dendrogram.max_heights <= self.distance_threshold
        made = len(self.dendrogram) - (self.n_clusters or 1)
        return np.arange(len(self.dendrogram) - 1) < made

    def _color(self, leaf: int, below_cut: bool) -> str:
        return group_style(int(self.labels[leaf]))[0] if below_cut else MUTED

    def _cut_line(self, ax: Any) -> None:
        if self.cut_height is None:
            return
        ax.axhline(self.cut_height, color=text_color(ax), linewidth=1.0, linestyle=(0, (4, 3)))
        text = plural(self.clusters, "cluster")
        annotate(ax, text, (1, self.cut_height), (-2, 3), BESIDE, ha="right")

    def _leaf_axis(self, ax: Any, bottom: list[int]) -> None:
        """Labels of the leaves where there is room; of branches, the number of their leaves."""
        tree, n = self.dendrogram, len(self.dendrogram)
        if self.shown == n and n > _LABELLED:
            ax.set_xticks([])
            ax.set_xlabel(f"{n:,} leaves")
            return
        if self.shown == n:
            labels = row_names(self.leaf_labels, n)
            names = [label_text(labels[node], 14) for node in bottom]
            ax.set_xlabel("" if self.leaf_labels is not None else "row number")
        else:
            names = [f"{tree.sizes[node - n]:,}" if node >= n else "1" for node in bottom]
            ax.set_xlabel(f"number of leaves of each branch ({n:,} in all)")
        long = max(map(len, names)) > 2 or len(names) > 20
        ax.set_xticks(range(len(bottom)), names, rotation=90 if long else 0, fontsize=8)
