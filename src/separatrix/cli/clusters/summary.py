"""What ``cluster`` prints when it is done: the clusters, the verdict, and what to type next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from separatrix.cli.output import Column, print_lines, print_messages, print_next, print_table
from separatrix.cli.places import ASSIGNMENTS, MODEL, REPORT, RESULT
from separatrix.pictures.formatting import number
from separatrix.rows.schema import Kind
from separatrix.study.clustering.result import Cluster, ClusterStudy, standardized_levels
from separatrix.study.clustering.verdict import two

#: Distinguishing columns that are listed for a cluster.
MOST_COLUMNS = 3


def print_clusters(study: ClusterStudy, place: Path, python: str, announced: Sequence[str]) -> None:
    """Results to standard output; messages, files and next steps to standard error.

    Messages that were ``announced`` before the work are not repeated.
    """
    print_messages([text for text in study.messages if text not in announced], study.warnings)
    print_lines([study.verdict.summary])
    headings = [Column(name, right=True) for name in ("cluster", "rows", "silhouette")]
    print_table(
        [*headings, Column("distinguishing columns")],
        [
            (
                str(cluster.number),
                f"{cluster.size:,}",
                two(cluster.silhouette) if math.isfinite(cluster.silhouette) else "–",
                distinguishing_columns(cluster, study),
            )
            for cluster in study.clusters
        ],
    )
    print_lines([study.reason, f"Certificate: {study.certificate}"])
    model = None if study.hierarchical else place / MODEL
    print_next([MODEL, REPORT, ASSIGNMENTS, RESULT], place, model, python)


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
    text = "; ".join(text for _, text in parts[:MOST_COLUMNS]) or "near the mean in every column"
    return f"outliers: {text}" if cluster.outliers else text
