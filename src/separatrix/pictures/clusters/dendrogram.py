"""The tree of clusters: who merged with whom, at what distance, and where the tree is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, number
from separatrix.pictures.style import MUTED, SERIES, ink, plain, style_axes
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.cluster.dendrogram import Dendrogram

#: Leaves that are drawn one by one; a larger tree is drawn down to so many branches.
MOST_LEAVES, BRANCHES = 200, 30
#: Leaves that have room for a name.
_NAMED = 40


@dataclass(eq=False)
class DendrogramDisplay(Display):
    """A ``dendrogram`` cut into ``n_clusters``, or at a ``level``, or not at all.

    ``names`` are those of the leaves. Of more than 200 leaves only the last merges are drawn: a
    triangle then stands for a branch, with the number of its leaves below.
    """

    dendrogram: Dendrogram
    n_clusters: int | None = None
    level: float | None = None
    names: Sequence[object] | None = None

    title: ClassVar[str] = "Tree of clusters"

    def __post_init__(self) -> None:
        n = len(self.dendrogram)
        if n < 2:
            raise InputError("One leaf is no tree.")
        if self.names is not None and len(self.names) != n:
            raise InputError(f"{len(self.names)} names for {n} leaves.")
        self.labels = self._cut()

    @classmethod
    def from_estimator(cls, model: Any, *, names: Sequence[object] | None = None) -> Self:
        """Of a fitted :class:`~separatrix.AgglomerativeClustering`, cut as it is."""
        return cls(model.dendrogram_, model.n_clusters, model.distance_threshold, names)

    @classmethod
    def from_linkage(cls, linkage: Any, **cut: Any) -> Self:
        """Of a table of merges in SciPy's form."""
        from separatrix.cluster.dendrogram import Dendrogram

        return cls(Dendrogram(linkage), **cut)

    def _cut(self) -> NDArray[np.int64]:
        if self.n_clusters is None and self.level is None:
            return np.zeros(len(self.dendrogram), dtype=np.int64)
        return self.dendrogram.cut(self.n_clusters, level=self.level)

    @property
    def clusters(self) -> int:
        """How many clusters the cut leaves."""
        return int(self.labels.max()) + 1

    @property
    def line(self) -> float | None:
        """The height of a level line that makes the cut; with inversions there may be none."""
        if self.level is not None or self.n_clusters is None:
            return self.level
        made = len(self.dendrogram) - self.n_clusters
        heights = self.dendrogram.heights
        below = float(heights[:made].max(initial=0.0))
        above = float(heights[made:].min(initial=np.inf))
        if above < below:
            return None
        return (below + above) / 2 if np.isfinite(above) else 1.05 * below

    @property
    def description(self) -> str:
        """Leaves, heights, the cut with the sizes it gives, inversions."""
        tree = self.dendrogram
        n = len(tree)
        text = (
            f"{counted(n, 'leaf', 'leaves')} merge at distances from "
            f"{number(float(tree.heights.min()), 3)} to {number(float(tree.heights.max()), 3)}."
        )
        if self.n_clusters is not None or self.level is not None:
            sizes = np.sort(np.bincount(self.labels))[::-1]
            shown = ", ".join(f"{size:,}" for size in sizes[:8])
            more = f" and {len(sizes) - 8:,} smaller ones" if len(sizes) > 8 else ""
            where = f" at {number(self.line, 3)}" if self.line is not None else ""
            text += (
                f" Cut{where} there are {counted(self.clusters, 'cluster')}, with {shown}{more} "
                "leaves."
            )
        if len(tree.inversions):
            text += (
                f" {counted(len(tree.inversions), 'merge')} (marked) lower than one inside: means "
                "that moved nearer to others."
            )
        if self.shown < n:
            text += f" The last {self.shown - 1} merges are drawn; triangles are whole branches."
        return text

    @property
    def shown(self) -> int:
        """Leaves or branches at the foot of the picture."""
        n = len(self.dendrogram)
        return n if n <= MOST_LEAVES else BRANCHES

    @property
    def size(self) -> tuple[float, float]:
        """As wide as others, a little taller."""
        return 4.9, 3.7

    def _draw(self, ax: Any) -> None:
        place, foot = self._places()
        self._branches(ax, place, foot)
        tree, n = self.dendrogram, len(self.dendrogram)
        turned = [s for s in tree.inversions if n + s in place and s >= n - self.shown]
        if turned:
            across, up = [place[n + s] for s in turned], tree.heights[turned]
            look = {"mfc": "none", "mec": ink(ax), "mew": 1.0, "linestyle": "none"}
            ax.plot(across, up, "v", ms=5, label="lower than a merge inside", **look)
            ax.legend(frameon=False, fontsize=8.5, loc="upper right")
        style_axes(ax, grid="y")
        ax.set_xlim(-0.9, self.shown - 0.1)
        ax.set_ylim(0, 1.06 * float(tree.heights.max()) or 1.0)
        self._level(ax)
        self._foot(ax, foot)
        ax.set_ylabel("distance at which clusters merge")

    def _places(self) -> tuple[dict[int, float], list[int]]:
        """Where every node stands, and the nodes at the foot from left to right."""
        tree, n = self.dendrogram, len(self.dendrogram)
        first, start = n - self.shown, tree.first_leaf
        pairs = list(zip(tree.left[first:].tolist(), tree.right[first:].tolist(), strict=True))
        foot = [node for pair in pairs for node in pair if node < n + first]
        foot.sort(key=lambda node: start[node])
        place = {node: float(i) for i, node in enumerate(foot)}
        for s, (a, b) in enumerate(pairs, first):
            place[n + s] = (place[a] + place[b]) / 2
        return place, foot

    def _branches(self, ax: Any, place: dict[int, float], foot: list[int]) -> None:
        """One line for each colour: a cluster's own, or grey above the cut."""
        tree, n = self.dendrogram, len(self.dendrogram)
        leaf, height = tree.leaves[tree.first_leaf], np.append(np.zeros(n), tree.heights)
        together = self._together()
        lines: dict[str, list[Floats]] = {}
        for s in range(n - self.shown, n - 1):
            a, b = int(tree.left[s]), int(tree.right[s])
            low, high = (a, b) if place[a] < place[b] else (b, a)
            x = [place[low], place[low], place[high], place[high], np.nan]
            y = [height[low], height[n + s], height[n + s], height[high], np.nan]
            colour = self._colour(leaf[n + s], bool(together[s]))
            lines.setdefault(colour, []).append(np.array([x, y]))
        for node in foot:
            if node >= n:
                x = [place[node] + step for step in (0, -0.32, 0.32, 0, np.nan)]
                y = [height[node], 0.0, 0.0, height[node], np.nan]
                colour = self._colour(leaf[node], bool(together[node - n]))
                lines.setdefault(colour, []).append(np.array([x, y]))
        for colour, parts in lines.items():
            ax.plot(*np.concatenate(parts, axis=1), color=colour, linewidth=1.2)

    def _together(self) -> NDArray[np.bool_]:
        """Which merges are made below the cut."""
        if self.level is not None:
            return self.dendrogram.max_heights <= self.level
        made = len(self.dendrogram) - (self.n_clusters or 1)
        return np.arange(len(self.dendrogram) - 1) < made

    def _colour(self, leaf: int, together: bool) -> str:
        return SERIES[int(self.labels[leaf]) % len(SERIES)] if together else MUTED

    def _level(self, ax: Any) -> None:
        if self.line is None:
            return
        ax.axhline(self.line, color=ink(ax), linewidth=1.0, linestyle=(0, (4, 3)))
        ax.annotate(
            counted(self.clusters, "cluster"),
            (1, self.line),
            xytext=(-2, 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            fontsize=8.5,
        )

    def _foot(self, ax: Any, foot: list[int]) -> None:
        """Names or numbers of the leaves where there is room; of branches, their leaves."""
        tree, n = self.dendrogram, len(self.dendrogram)
        if self.shown == n and n > _NAMED:
            ax.set_xticks([])
            ax.set_xlabel(f"{n:,} leaves")
            return
        if self.shown == n:
            names: list[str] = [
                plain(node if self.names is None else self.names[node], 14) for node in foot
            ]
            ax.set_xlabel("" if self.names is not None else "rows, by number")
        else:
            names = [f"{tree.sizes[node - n]:,}" if node >= n else "1" for node in foot]
            ax.set_xlabel(f"leaves of each branch, {n:,} in all")
        long = max(map(len, names)) > 2 or len(names) > 20
        ax.set_xticks(range(len(foot)), names, rotation=90 if long else 0, fontsize=8)
