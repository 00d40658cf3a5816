"""What ``cluster`` prints when it is done: the clusters, the verdict, and what to type next."""

from __future__ import annotations

from pathlib import Path

from separatrix.cli.options import with_flags
from separatrix.cli.output import Column, print_lines, print_messages, print_next, print_table
from separatrix.cli.places import ASSIGNMENTS, MODEL, REPORT, RESULT
from separatrix.pictures.formatting import number
from separatrix.study.clustering.result import Cluster, ClusterStudy

#: Distinguishing columns that are listed for a cluster.
MOST_COLUMNS = 3


def print_clusters(study: ClusterStudy, place: Path, python: str) -> None:
    """Results to standard output; messages, files and next steps to standard error."""
    print_messages([with_flags(text) for text in study.messages], study.warnings)
    headings = [Column(name, right=True) for name in ("cluster", "rows", "silhouette")]
    print_table(
        [*headings, Column("distinguishing columns")],
        [
            (
                str(cluster.number),
                f"{cluster.size:,}",
                number(round(cluster.silhouette, 2), 2),
                distinguishing_columns(cluster, study.clusters),
            )
            for cluster in study.clusters
        ],
    )
    print_lines(
        [
            study.structure.summary,
            study.reason,
            study.stability.summary,
            f"Certificate: {study.certificate}",
        ]
    )
    model = None if study.hierarchical else place / MODEL
    print_next([MODEL, REPORT, ASSIGNMENTS, RESULT], place, model, python)


def distinguishing_columns(cluster: Cluster, clusters: tuple[Cluster, ...]) -> str:
    """The columns in which a cluster is farthest from the whole table, in their own units."""
    parts: list[tuple[float, str]] = []
    for name, z in cluster.standardized_means.items():
        if abs(z) >= 0.3:
            side = "high" if z > 0 else "low"
            parts.append((abs(z), f"{name} {side} ({number(cluster.means[name], 3)})"))
    total = sum(c.size for c in clusters)
    for name, levels in cluster.levels.items():
        for level, p in levels.items():
            overall = sum(c.levels[name].get(level, 0.0) * c.size for c in clusters) / total
            if p - overall >= 0.15:
                parts.append((3 * (p - overall), f"{name} {level} ({100 * p:.0f} %)"))
    parts.sort(key=lambda part: -part[0])
    text = "; ".join(text for _, text in parts[:MOST_COLUMNS]) or "near the mean in every column"
    return f"outliers: {text}" if cluster.outliers else text
