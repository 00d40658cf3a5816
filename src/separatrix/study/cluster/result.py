"""Result of a cluster analysis: everything that the screen, ``result.json`` and the page show."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from separatrix.arrays import Floats, Ints
from separatrix.cluster.scatter import ClusterProjection
from separatrix.formatting import number, plural
from separatrix.notebook import BAD, Details, Grid, Heading, Item, Sentence, Shown
from separatrix.optimize.convex import Certificate
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.schema import Kind
from separatrix.study.document import certificate_document, plain, record

#: Methods of hierarchical clustering.
LINKAGES = ("single", "complete", "average", "centroid", "ward")

#: Reference distributions without clusters.
FAMILIES = {
    "unimodal": "unimodal columns",
    "uniform": "uniform distribution over a box",
}


@dataclass(frozen=True)
class Trial:
    """A number of clusters that was tried: mean silhouette, and within-cluster sum of squares.

    Clusters of a few rows are outliers, and count 0 in the silhouette; it is NaN where fewer than
    two others remain. ``smallest`` is the size of the smallest cluster.
    """

    k: int
    silhouette: float
    within_ss: float
    smallest: int


@dataclass(frozen=True)
class Reference:
    """Silhouettes of the same search in reference tables without clusters, and their p-value.

    The test is sequential (Besag and Clifford): draws end once too many reach the statistic.
    """

    name: str
    silhouettes: tuple[float, ...]
    p_value: float


@dataclass(frozen=True)
class Structure:
    """Monte Carlo test for cluster structure: the largest p-value over the reference families."""

    significant: bool
    p_value: float
    silhouette: float
    rows: int
    references: tuple[Reference, ...]
    summary: str

    @property
    def expected(self) -> float:
        """The median silhouette in tables without clusters, the larger of the two families."""
        return max(median(reference.silhouettes) for reference in self.references)

    @property
    def effect(self) -> float:
        """By how much the silhouette exceeds that of tables without clusters."""
        return self.silhouette - self.expected


@dataclass(frozen=True)
class Stability:
    """Adjusted Rand indices of repeated searches with this one: 1 is equal, 0 is chance.

    ``halves``: random halves of the rows. ``restarts``: other initializations on the same rows;
    empty for hierarchical clustering, which has none.
    """

    halves: tuple[float, ...]
    restarts: tuple[float, ...]
    mean: float
    summary: str


@dataclass(frozen=True)
class Cluster:
    """A cluster: size, silhouette, means of numeric columns, proportions of levels of others.

    ``standardized_means`` are in standard deviations from the mean of the table; ``lifts`` are the
    levels that are over-represented, the strongest first, with their proportion in the cluster over
    that in the table. ``outliers`` says that the cluster has only a few rows. ``center`` is the
    mean of the design matrix by column (K-means), ``medoid`` the row number of the medoid
    (K-medoids).
    """

    number: int
    size: int
    proportion: float
    silhouette: float
    outliers: bool = False
    means: dict[str, float] = field(default_factory=dict)
    standardized_means: dict[str, float] = field(default_factory=dict)
    levels: dict[str, dict[str, float]] = field(default_factory=dict)
    center: dict[str, float] = field(default_factory=dict)
    medoid: int | None = None
    lifts: dict[str, dict[str, float]] = field(default_factory=dict)


def standardized_levels(clusters: tuple[Cluster, ...]) -> dict[tuple[str, str], list[float]]:
    """Proportions of each (column, level) by cluster, in standard deviations of its 0/1 column."""
    n = sum(cluster.size for cluster in clusters)
    found = {}
    for name, levels in clusters[0].levels.items():
        for level in levels:
            proportions = [cluster.levels[name][level] for cluster in clusters]
            whole = sum(c.size * p for c, p in zip(clusters, proportions, strict=True)) / n
            spread = (whole * (1 - whole)) ** 0.5
            if spread > 0:
                found[name, level] = [(share - whole) / spread for share in proportions]
    return found


@dataclass(frozen=True)
class Assignments:
    """Every row that was used: its number in the table, cluster, silhouette and distance.

    ``distances`` are those to the center or medoid; None where there is none, or not measured.
    """

    row_ids: Ints
    clusters: Ints
    silhouettes: Floats | None
    distances: Floats | None


@dataclass(frozen=True)
class PlottedRows:
    """Rows that pictures show: clusters, silhouettes, nearest other clusters, a projection.

    ``names`` are the columns of the design matrix, dummies included.
    """

    clusters: Ints
    silhouettes: Floats
    neighbors: Ints
    projection: ClusterProjection
    names: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class ClusterStudy(Shown):
    """Result of :func:`separatrix.run_clusters`.

    ``verdict`` is the one answer to whether there are groups. ``requested`` is the number of
    clusters requested (None: chosen by the silhouette among 2 to ``max_clusters``), ``k`` the one
    used; cluster 0 is the largest. ``total_ss`` is the total sum of squares of the rows
    searched. ``messages`` list what was inferred, with reason and remedy. ``model`` is the fitted
    clusterer; None in a stored study, whose model is beside it.
    """

    seed: int
    n_rows: int
    columns: tuple[ColumnProfile, ...]
    method: str
    metric: str
    standardized: bool
    requested: int | None
    k: int
    reason: str
    trials: tuple[Trial, ...]
    total_ss: float
    structure: Structure
    stability: Stability
    clusters: tuple[Cluster, ...]
    silhouette: float
    silhouette_metric: str
    model: object
    certificate: Certificate
    messages: tuple[str, ...]
    warnings: tuple[str, ...]
    assignments: Assignments | None
    plotted: PlottedRows
    source: str = ""
    command: str = ""
    max_clusters: int = 10

    def _display(self) -> list[Item]:
        return display(self)

    @property
    def verdict(self) -> Verdict:
        """Whether the clusters are groups, by separation and stability together."""
        return verdict_on(self.structure, self.stability, self.k, limit_reached=self.limit_reached)

    @property
    def limit_reached(self) -> bool:
        """Whether the number chosen is the largest that was tried."""
        return self.requested is None and self.k >= self.max_clusters

    @property
    def hierarchical(self) -> bool:
        """Whether the method is a linkage: a dendrogram, and no prediction of new rows."""
        return self.method in LINKAGES


def document_of(study: ClusterStudy) -> dict[str, Any]:
    """Everything in ``result.json`` but its version: the same seed gives the same bytes."""
    return {
        "source": study.source,
        "task": "clustering",
        "seed": study.seed,
        "rows": study.n_rows,
        "columns": [record(column) for column in study.columns],
        "method": study.method,
        "metric": study.metric,
        "standardized": study.standardized,
        "requested": study.requested,
        "k": study.k,
        "reason": study.reason,
        "max_clusters": study.max_clusters,
        "limit_reached": study.limit_reached,
        "verdict": record(study.verdict),
        "structure": {
            **record(study.structure),
            "expected": plain(study.structure.expected),
            "effect": plain(study.structure.effect),
        },
        "stability": record(study.stability),
        "silhouette": {"score": plain(study.silhouette), "metric": study.silhouette_metric},
        "trials": [record(trial) for trial in study.trials],
        "clusters": [record(cluster) for cluster in study.clusters],
        "model": {"class": type(study.model).__name__},
        "certificate": certificate_document(study.certificate),
        "messages": list(study.messages),
        "warnings": list(study.warnings),
    }


# -------------------------------------------------------------------------------------------------
# One verdict on the clusters of a table, which needs both separation and stability.
#
# distinct      separated clearly, and found again in half of the rows
# overlapping   found again, and separated more than in tables without groups, but not by much
# none          anything else


#: Excess over the silhouette of tables without groups: below, negligible; above, clear.
NEGLIGIBLE, CLEAR = 0.02, 0.05
#: A clear separation has at least this silhouette as well.
CLEAR_SILHOUETTE = 0.25
#: Adjusted Rand index with clusters of half of the rows that counts as stable.
STABLE = 0.8

HEADLINES = {
    "distinct": "Distinct groups",
    "overlapping": "Overlapping groups",
    "undecided": "Undecided",
    "none": "No distinct groups",
}


@dataclass(frozen=True)
class Verdict:
    """Whether the clusters are groups: "distinct", "overlapping", "undecided" or "none".

    ``separated`` and ``stable`` are the two conditions; ``summary`` says all of it in words.
    """

    groups: str
    separated: bool
    stable: bool
    summary: str

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return HEADLINES[self.groups]


def verdict_on(
    structure: Structure, stability: Stability, k: int, *, limit_reached: bool = False
) -> Verdict:
    """Weigh the test for structure and the stability of k clusters; not finite is never good."""
    separated = structure.significant and structure.effect >= NEGLIGIBLE
    stable = stability.mean >= STABLE
    clear = structure.effect >= CLEAR and structure.silhouette >= CLEAR_SILHOUETTE
    if separated and stable:
        groups = "distinct" if clear else "overlapping"
    else:
        groups = "undecided" if separated and limit_reached else "none"
    text = _explanation(groups, separated, structure, stability, k)
    return Verdict(groups, separated, stable, f"{HEADLINES[groups]}: {text}")


def _explanation(
    groups: str, separated: bool, structure: Structure, stability: Stability, k: int
) -> str:
    compared = (
        f"silhouette {two(structure.silhouette)}, {two(structure.expected)} in tables without "
        f"groups, p = {structure.p_value:.3f}"
    )
    again = f"adjusted Rand index {two(stability.mean)} with clusters of half of the rows"
    if groups == "distinct":
        return f"the {k} clusters are well separated ({compared}) and stable ({again})."
    if groups == "overlapping":
        return (
            f"the {k} clusters are stable ({again}) and separated more than in tables without "
            f"groups, but not by much ({compared}), so that many rows lie between them."
        )
    if groups == "undecided":
        return (
            f"the {k} clusters are separated ({compared}), but not stable ({again}); {k} is the "
            "largest number that was tried, and there may be more groups than that."
        )
    if structure.silhouette <= -1:
        return "all clusters but one have a few rows each, which are outliers rather than groups."
    if separated:
        why = (
            f"are not stable ({again})"
            if math.isfinite(stability.mean)
            else "have too few different rows to assess whether they are stable"
        )
        return (
            f"the {k} clusters are separated ({compared}), but {why}: other rows of the same kind "
            "may well be divided otherwise."
        )
    how = "hardly better" if structure.significant else "no better"
    text = (
        f"the {k} clusters divide one cloud of rows. They are {how} separated than the clusters "
        f"of tables without groups ({compared})"
    )
    if stability.mean >= STABLE:
        return f"{text}; that half of the rows is divided alike ({again}) comes from its shape."
    return f"{text}, and not stable ({again})." if math.isfinite(stability.mean) else f"{text}."


def two(value: float) -> str:
    """Two decimals with a minus sign."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


# -------------------------------------------------------------------------------------------------
# What an analysis shows of itself.


def display(study: ClusterStudy) -> list[Item]:
    """The verdict, the clusters, why there are so many, and what was inferred."""
    what = f"{plural(study.k, 'cluster')} of {plural(study.n_rows, 'row')}"
    return [
        Heading(f"{what} by {study.method}" + f", {study.source}" * bool(study.source)),
        Sentence(study.verdict.summary),
        cluster_grid(study),
        Sentence(study.reason),
        Sentence(f"Certificate: {study.certificate}"),
        *(Sentence(text, BAD, "warning") for text in study.warnings),
        Details("What was inferred", study.messages),
    ]


def cluster_grid(study: ClusterStudy) -> Grid:
    """A line for each cluster: its size, its silhouette, and what distinguishes it."""
    lines = [
        (
            str(cluster.number),
            f"{cluster.size:,}",
            two(cluster.silhouette) if math.isfinite(cluster.silhouette) else "–",
            distinguishing_columns(cluster, study),
        )
        for cluster in study.clusters
    ]
    return Grid(("cluster", "rows", "silhouette", "distinguishing columns"), lines, frozenset({3}))


def distinguishing_columns(cluster: Cluster, study: ClusterStudy) -> str:
    """The columns in which a cluster is farthest from the whole table, in their own units.

    Means count by their distance in standard deviations, levels by that of their 0/1 column.
    """
    parts: list[tuple[float, str]] = []
    booleans = {column.name for column in study.columns if column.kind is Kind.BOOLEAN}
    for name, z in cluster.standardized_means.items():
        if abs(z) >= 0.3:
            mean, high = cluster.means[name], z > 0
            text = f"{'high' if high else 'low'} ({number(mean, 3)})"
            if name in booleans:
                text = f"{'true' if high else 'false'} ({100 * (mean if high else 1 - mean):.0f} %)"
            parts.append((abs(z), f"{name} {text}"))
    distance = standardized_levels(study.clusters)
    for name, lifts in cluster.lifts.items():
        for level, lift in lifts.items():
            share = cluster.levels[name][level]
            text = f"{name} {level} ({100 * share:.0f} %, {lift:.1f}×)"
            parts.append((distance[name, level][cluster.number], text))
    parts.sort(key=lambda part: -part[0])
    # Distinguishing columns that are listed for a cluster.
    text = "; ".join(text for _, text in parts[:3]) or "near the mean in every column"
    return f"outliers: {text}" if cluster.outliers else text
