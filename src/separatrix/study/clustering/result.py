"""Result of a cluster analysis: everything that the screen, ``result.json`` and the page show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from separatrix.cluster.scatter import ClusterProjection
from separatrix.rows.block import Floats
from separatrix.rows.profile import ColumnProfile

#: Methods of hierarchical clustering.
LINKAGES = ("single", "complete", "average", "centroid", "ward")

#: Reference distributions without clusters.
FAMILIES = {
    "smooth": "unimodal columns",
    "box": "uniform distribution over a box",
}


@dataclass(frozen=True)
class Step:
    """A number of clusters that was tried: silhouette, and scatter left within the clusters.

    Clusters of a few rows are outliers, and count 0 in the silhouette; it is NaN where fewer than
    two others remain. ``smallest`` is the size of the smallest cluster.
    """

    k: int
    silhouette: float
    scatter: float
    smallest: int


@dataclass(frozen=True)
class Reference:
    """Silhouettes that the same search found in tables without groups; ``p_value``: as good ones.

    It is sequential (Besag and Clifford): draws end once too many of them have done as well.
    """

    name: str
    silhouettes: tuple[float, ...]
    p_value: float


@dataclass(frozen=True)
class Structure:
    """Whether the groups are more than what any search finds: the largest p over the references."""

    real: bool
    p_value: float
    silhouette: float
    rows: int
    references: tuple[Reference, ...]
    words: str


@dataclass(frozen=True)
class Stability:
    """Agreement (adjusted Rand index) of other searches with this one: 1 the same, 0 chance.

    ``halves``: half of the rows alone, each time others. ``restarts``: other starts on the same
    rows; empty for trees, which have none.
    """

    halves: tuple[float, ...]
    restarts: tuple[float, ...]
    mean: float
    words: str


@dataclass(frozen=True)
class Group:
    """A cluster: its size, silhouette, mean of numeric columns and shares of levels of others.

    ``standard`` are the means in deviations of the whole table from its mean; ``few`` says that
    these are outliers rather than a group.
    """

    number: int
    size: int
    share: float
    silhouette: float
    few: bool = False
    means: dict[str, float] = field(default_factory=dict)
    standard: dict[str, float] = field(default_factory=dict)
    levels: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Assigned:
    """Every row that was used: its number in the table, cluster, and how well it sits there.

    ``distance`` is that to the centre or medoid, ``silhouette`` of the row; None if not known.
    """

    rows: Any
    clusters: Any
    silhouettes: Floats | None
    distances: Floats | None


@dataclass(frozen=True)
class Drawn:
    """What pictures need of some of the rows: clusters, silhouettes, places in a plane.

    ``names`` are the columns as distances see them, dummies included.
    """

    clusters: Any
    silhouettes: Floats
    neighbours: Any
    plane: ClusterProjection
    names: tuple[str, ...]


@dataclass(frozen=True)
class ClusterStudy:
    """Result of :func:`separatrix.run_clusters`.

    ``asked`` is the number of clusters asked for (None: chosen by the silhouette), ``k`` the one
    taken; cluster 0 is the largest. ``scatter`` is the total sum of squares of the rows searched.
    ``messages`` list what was inferred, with reason and remedy.
    """

    source: str
    seed: int
    n_rows: int
    columns: tuple[ColumnProfile, ...]
    method: str
    metric: str
    standardized: bool
    asked: int | None
    k: int
    reason: str
    steps: tuple[Step, ...]
    scatter: float
    structure: Structure
    stability: Stability
    groups: tuple[Group, ...]
    silhouette: float
    measure: str
    model: Any
    messages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    assigned: Assigned | None = None
    drawn: Drawn | None = None
    command: str = ""

    @property
    def hierarchical(self) -> bool:
        """Whether the method is a linkage: a dendrogram, and no prediction of new rows."""
        return self.method in LINKAGES
