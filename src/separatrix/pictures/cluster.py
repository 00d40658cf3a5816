"""Clusters: silhouettes, dendrograms, their number, profiles and projection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.formatting import join_words, number, plural
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names, labeled_rows

if TYPE_CHECKING:
    from separatrix.cluster.agglomerative import AgglomerativeClustering
    from separatrix.cluster.linkage import Dendrogram
    from separatrix.cluster.scatter import ClusterProjection
    from separatrix.cluster.silhouette import Silhouette
    from separatrix.distances.axioms import DistanceConcentration


# -------------------------------------------------------------------------------------------------
# Silhouette plot: s = (b − a)/max(a, b) of every row, by cluster.
#
# a is the mean distance to the own cluster and b the least mean distance to another one.


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
        from separatrix.statistics.moments import Standardizer

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
        silhouette = self.silhouette
        sample = silhouette.samples[silhouette.labels == silhouette.clusters[i]]
        return np.asarray(np.sort(sample)[::-1])

    @property
    def n_negative(self) -> int:
        """Rows of negative silhouette: nearer to another cluster than to their own."""
        return int((self.silhouette.samples < 0).sum())

    @property
    def description(self) -> str:
        """The mean, that of each cluster (of many, the lowest), and the negative rows."""
        silhouette = self.silhouette
        order = np.arange(len(silhouette.clusters))
        lead = "By cluster"
        described = 6  # clusters that the description names
        if len(order) > described:
            order = np.argsort(silhouette.by_cluster, kind="stable")[:described]
            lead = f"Lowest of {len(silhouette.clusters)} clusters"
        parts = "; ".join(
            f"{silhouette.clusters[i]}: {number(float(silhouette.by_cluster[i]), 2)} over "
            f"{plural(len(self.of_cluster(i)), 'row')}"
            for i in order.tolist()
        )
        return (
            f"Mean silhouette {number(silhouette.score, 3)} (1: well inside its cluster, 0: "
            f"between clusters). {lead}, {parts}. {self.n_negative:,} of "
            f"{plural(len(silhouette.samples), 'row')} have a negative silhouette."
        )

    @property
    def size(self) -> tuple[float, float]:
        """Taller for more clusters."""
        return style.WIDTH, float(np.clip(1.6 + 0.4 * len(self.silhouette.clusters), 2.8, 6.4))

    def _draw(self, ax: Any) -> None:
        silhouette = self.silhouette
        space = 0.04 * len(silhouette.samples)
        top, middles = 0.0, []
        for i in range(len(silhouette.clusters)):
            coefficients = self.of_cluster(i)
            # Steps of all outlines together.
            steps = min(len(coefficients), max(400 // len(silhouette.clusters), 4))
            at = ((np.arange(steps) + 0.5) * len(coefficients) / steps).astype(int)
            edges = top + np.linspace(0, len(coefficients), steps + 1)
            look = {"color": style.group_style(i)[0], "alpha": 0.6}
            ax.stairs(coefficients[at], edges, orientation="horizontal", fill=True, **look)
            middles.append(top + len(coefficients) / 2)
            top += len(coefficients) + space
        marks.reference_line(ax, 0, horizontal=False)
        marks.mark_value(ax, silhouette.score, f"mean {number(silhouette.score, 3)}", zorder=2)
        self._label(ax, middles)
        ax.set_ylim(max(top - space, 1), 0)
        low, high = float(silhouette.samples.min()), float(silhouette.samples.max())
        ax.set_xlim(min(-0.05, 1.05 * low), min(max(0.5, 1.08 * high), 1.0))
        style.style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("silhouette")

    def _label(self, ax: Any, middles: list[float]) -> None:
        # Clusters that are labeled.
        silhouette, step = self.silhouette, max(1, -(-len(middles) // 24))
        names = [
            f"{style.label_text(silhouette.clusters[i], 10)} ({len(self.of_cluster(i)):,}): "
            f"{number(float(silhouette.by_cluster[i]), 2)}"
            for i in range(len(middles))
        ]
        ax.set_yticks(middles[::step], names[::step])


# -------------------------------------------------------------------------------------------------
# Dendrogram of hierarchical clustering, with its cut.


#: Leaves that are drawn one by one; a larger tree is truncated to so many branches.
MAX_LEAVES, BRANCHES = 200, 30


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
        from separatrix.cluster.linkage import Dendrogram

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
            look = {"mfc": "none", "mec": style.text_color(ax), "mew": 1.0, "linestyle": "none"}
            ax.plot(*at, "v", ms=5, label="inversion", **look)
            ax.legend(frameon=False, fontsize=8.5, loc="upper right")
        style.style_axes(ax, grid="y")
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
        return style.group_style(int(self.labels[leaf]))[0] if below_cut else style.MUTED

    def _cut_line(self, ax: Any) -> None:
        if self.cut_height is None:
            return
        ax.axhline(
            self.cut_height, color=style.text_color(ax), linewidth=1.0, linestyle=(0, (4, 3))
        )
        text = plural(self.clusters, "cluster")
        marks.annotate(ax, text, (1, self.cut_height), (-2, 3), marks.BESIDE, ha="right")

    def _leaf_axis(self, ax: Any, bottom: list[int]) -> None:
        """Labels of the leaves where there is room; of branches, the number of their leaves."""
        tree, n = self.dendrogram, len(self.dendrogram)
        if self.shown == n and n > 40:  # leaves that have room for a label
            ax.set_xticks([])
            ax.set_xlabel(f"{n:,} leaves")
            return
        if self.shown == n:
            labels = marks.row_names(self.leaf_labels, n)
            names = [style.label_text(labels[node], 14) for node in bottom]
            ax.set_xlabel("" if self.leaf_labels is not None else "row number")
        else:
            names = [f"{tree.sizes[node - n]:,}" if node >= n else "1" for node in bottom]
            ax.set_xlabel(f"number of leaves of each branch ({n:,} in all)")
        long = max(map(len, names)) > 2 or len(names) > 20
        ax.set_xticks(range(len(bottom)), names, rotation=90 if long else 0, fontsize=8)


# -------------------------------------------------------------------------------------------------
# Elbow plot: within-cluster scatter and mean silhouette over the number of clusters.


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
            self.n_clusters,
            self.within,
            color=style.BLUE,
            label="within-cluster sum of squares",
            **look,
        )
        ax.plot(
            self.n_clusters,
            self.silhouettes,
            color=style.ORANGE,
            linestyle=(0, (5, 2)),
            label="mean silhouette",
            mfc=style.PAPER,
            **look,
        )
        style.style_axes(ax)
        if self.chosen is not None:
            marks.mark_value(ax, self.chosen, "chosen")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        low = float(np.nanmin([0.0, *self.silhouettes]))
        ax.set_ylim(1.1 * low - 0.03, 1.05)
        ax.set_xlabel("number of clusters")
        ax.set_ylabel("fraction of the total; silhouette")
        ax.legend(frameon=False, fontsize=9, loc="best")


# -------------------------------------------------------------------------------------------------
# Cluster profiles: standardized column means of each cluster.


#: Columns and clusters drawn at most.
MAX_COLUMNS, MAX_CLUSTERS = 20, 24


@describe_parameters
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
        from separatrix.statistics.moments import Standardizer

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
        described_columns = 5  # columns that the description names
        largest = np.argsort(-np.asarray(self.sizes), kind="stable")[:described_columns]
        parts = []
        for i in sorted(largest.tolist()):
            extreme = np.argsort(-np.abs(self.means[i]), kind="stable")[:2]
            columns = join_words(
                [
                    f"{style.label_text(self.names[j], 20)} {_format_signed(self.means[i, j])}"
                    for j in extreme
                ]
            )
            parts.append(f"{self.clusters[i]} ({plural(self.sizes[i], 'row')}): {columns}")
        more = ""
        if len(self.clusters) > described_columns:
            more = f" Only the {described_columns} largest clusters are described."
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
        return style.WIDTH, float(np.clip(1.1 + 0.24 * len(self.shown_columns), 2.2, 6.0))

    @property
    def shown_clusters(self) -> Ints:
        """Clusters drawn: all, or the largest, in their order."""
        order = np.argsort(-np.asarray(self.sizes), kind="stable")[:MAX_CLUSTERS]
        return np.sort(order)

    def _draw(self, ax: Any) -> None:
        columns, clusters = self.shown_columns, self.shown_clusters
        cells = self.means[np.ix_(clusters, columns)].T
        # The darkest is for two standard deviations and more.
        shades = 10  # shades of either color
        shade = np.ceil(shades * np.clip(np.abs(cells) / 2.0, 0, 1)) * np.sign(cells)
        for level in np.unique(shade[shade != 0]):
            # Light enough for text on light and dark pages.
            alpha = 0.55 * abs(level) / shades
            at = np.argwhere(shade == level)[:, [1, 1, 0, 0]] + [-0.5, 0.5, -0.5, 0.5]
            marks.fill_boxes(ax, at, style.ORANGE if level > 0 else style.BLUE, alpha)
        if cells.size <= 100 and len(clusters) <= 9:  # cells have room for a number
            for (row, i), value in np.ndenumerate(cells):
                ax.text(i, row, _format_signed(value), ha="center", va="center", fontsize=8.5)
        k = len(clusters)
        for edge in np.arange(k - 1) + 0.5:
            ax.axvline(edge, color=style.GRID, linewidth=0.7)
        ax.set_xlim(-0.5, k - 0.5)
        ax.set_ylim(len(columns) - 0.5, -0.5)
        ax.set_yticks(range(len(columns)), [style.label_text(self.names[j], 20) for j in columns])
        heads = [
            style.label_text(self.clusters[i], 10)
            + (f"\n{plural(self.sizes[i], 'row')}" if k <= 5 else "")
            for i in clusters.tolist()
        ]
        step = max(1, -(-k // 12))
        ax.set_xticks(range(0, k, step), heads[::step])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("mean, in standard deviations from the overall mean")


def _format_signed(value: float) -> str:
    """+1.2, −0.3, 0.0."""
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


# -------------------------------------------------------------------------------------------------
# Clusters projected on the plane of largest between-cluster scatter.


@describe_parameters
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
    max_points : int, default=5000

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
    max_points: int = marks.MAX_POINTS

    title: ClassVar[str] = "Clusters, projected"
    figure_size: ClassVar[tuple[float, float]] = style.TALL

    @classmethod
    def from_rows(
        cls,
        X: Any,
        labels: Any,
        *,
        standardize: bool = False,
        names: Sequence[str] | None = None,
        max_points: int = marks.MAX_POINTS,
    ) -> Self:
        """From numeric rows and their cluster labels.

        Two clusters have one direction; the other is that of the largest remaining variance. With
        ``standardize`` columns are standardized first.
        """
        from separatrix.cluster.scatter import cluster_projection
        from separatrix.statistics.moments import Standardizer

        x, given = labeled_rows(X, labels)
        if standardize:
            x = Standardizer.from_rows(x, np.ones(len(x))).transform(x)
        clusters, code = np.unique(given, return_inverse=True)
        columns = column_names(X, names)
        projection = cluster_projection(x, code)
        return cls(projection, code, [str(c) for c in clusters], columns, max_points)

    def main_columns(self, axis: int) -> list[str]:
        """The columns of largest weight in a direction."""
        weight = np.abs(self.projection.directions[:, axis])
        order = np.argsort(-weight, kind="stable")[:2]  # columns that are named
        return [str(self.names[j]) for j in order if weight[j] > 0.2 * weight.max() > 0]

    @property
    def description(self) -> str:
        """The axes, the fraction of scatter that they explain, and the sizes of the clusters."""
        first, second = (
            join_words([style.label_text(name, 20) for name in self.main_columns(i)]) or "nothing"
            for i in (0, 1)
        )
        total, between = self.projection.total, self.projection.between
        explained = f"{100 * total:.0f} % of the total scatter" if np.isfinite(total) else "nothing"
        if len(self.clusters) > 1 and np.isfinite(between):
            explained = f"{100 * between:.0f} % of the between-cluster scatter and {explained}"
        sizes = np.bincount(self.codes, minlength=len(self.clusters))
        described_rows = 6  # rows that the description names
        order = np.argsort(-sizes, kind="stable")[:described_rows]
        parts = ", ".join(f"{self.clusters[i]} with {plural(int(sizes[i]), 'row')}" for i in order)
        lead = "the largest are " if len(sizes) > described_rows else ""
        return (
            f"A projection that explains {explained}: horizontal mostly {first}, vertical mostly "
            f"{second}. {plural(len(sizes), 'cluster')}: {lead}{parts}."
        )

    def _draw(self, ax: Any) -> None:
        k, points = len(self.clusters), self.projection.coordinates
        for i in range(k):
            point = points[self.codes == i]
            if not len(point):
                continue
            limit = 0 if len(points) > self.max_points else len(point)
            color, marker = style.group_style(i)
            marks.scatter(ax, *point.T, max_points=limit, color=color, marker=marker, groups=k)
        if k <= 24:  # rows that are labeled
            for i in np.unique(self.codes).tolist():
                ax.text(
                    *points[self.codes == i].mean(axis=0),
                    style.label_text(self.clusters[i], 12),
                    ha="center",
                    va="center",
                    fontsize=9,
                    fontweight="bold",
                    color=style.text_color(ax),
                    bbox={"facecolor": style.PAPER, "alpha": 0.75, "linewidth": 0, "pad": 1.5},
                )
        style.style_axes(ax)
        for i, (axis, limit) in enumerate(((ax.xaxis, 16), (ax.yaxis, 12))):
            columns = (
                ", ".join(style.label_text(name, limit) for name in self.main_columns(i))
                or "nothing"
            )
            axis.set_label_text(f"direction {i + 1}: mostly {columns}")


# -------------------------------------------------------------------------------------------------
# Concentration of distances: in many dimensions all rows can be almost equally far apart.


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
        from separatrix.distances.axioms import distance_concentration

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
        counts, edges = np.histogram(relative, np.linspace(0, top, 48 + 1))  # bins of the histogram
        ax.stairs(counts, edges, fill=True, color=style.BLUE, alpha=0.55)
        ax.axvline(1.0, color=style.text_color(ax), linewidth=1.0)
        ax.axvline(
            self.concentration.nearest, color=style.ORANGE, linewidth=1.6, linestyle=(0, (4, 2))
        )
        style.style_axes(ax, grid="y")
        ax.set_xlim(0, top)
        for at, text, side in (
            (1.0, "mean", "left"),
            (self.concentration.nearest, "nearest neighbor", "right"),
        ):
            if at <= 0.42 * top:  # no room at the left
                side = "left"
            offset = (4 if side == "left" else -4, -3)
            marks.annotate(ax, text, (at, 1), offset, marks.ABOVE, ha=side, va="top")
        ax.set_xlabel("distance / mean distance")
        ax.set_ylabel("pairs of rows")
