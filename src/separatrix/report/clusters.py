"""The page of a cluster analysis: the verdict first, then the clusters."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Any

from separatrix.pictures.formatting import plural
from separatrix.report import cluster_tables, model_tables, tables
from separatrix.report.figures import clusters as figures
from separatrix.report.page import drawn, rendered
from separatrix.report.verdict import Tile
from separatrix.storage.files import write_text
from separatrix.study.clustering.result import ClusterStudy
from separatrix.study.clustering.verdict import CLEAR, CLEAR_SILHOUETTE, NEGLIGIBLE, STABLE, two

METHODS = {
    "kmeans": "K-means: every row with the nearest mean",
    "kmedoids": "K-medoids: every row with the nearest of some rows",
    "kernel": "kernel K-means: means in the space of a Gaussian kernel",
    "single": "single linkage: clusters as close as their closest rows",
    "complete": "complete linkage: clusters as close as their farthest rows",
    "average": "average linkage: clusters as close as their rows on average",
    "centroid": "centroid linkage: clusters as close as their means",
    "ward": "Ward’s linkage: the merge that adds least scatter",
}


def render_clusters(study: ClusterStudy) -> str:
    """The page as text. The same study gives the same bytes."""
    return rendered("clusters.html.j2", _context(study))


def write_clusters(study: ClusterStudy, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    write_text(path, render_clusters(study))


def _context(study: ClusterStudy) -> dict[str, Any]:
    return {
        "study": study,
        "source": PurePath(study.source).name or study.source,
        "verdict": _verdict(study),
        "tiles": _tiles(study),
        "method": METHODS[study.method],
        "groups": cluster_tables.cluster_table(study),
        "profiles": cluster_tables.profile_table(study),
        "steps": cluster_tables.trial_table(study),
        "references": cluster_tables.reference_table(study),
        "data": tables.data_table(study.columns),
        "data_sentence": tables.data_sentence(study.n_rows, study.columns),
        "certificate": study.certificate,
        "certificate_numbers": model_tables.certificate_numbers(study.certificate),
        "warned": tables.warned(study.warnings),
        "galleries": drawn(
            {
                "number": figures.number_of_clusters(study),
                "profiles": figures.profiles(study),
                "rows": figures.silhouettes(study),
            }
        ),
        "limits": {
            "negligible": NEGLIGIBLE,
            "clear_effect": CLEAR,
            "silhouette": CLEAR_SILHOUETTE,
            "stable": STABLE,
        },
        "shown_rows": shown_rows(study),
        "commands": _commands(study),
        "python": _python(study),
    }


def _verdict(study: ClusterStudy) -> list[str]:
    return [study.verdict.summary, study.reason]


def _tiles(study: ClusterStudy) -> list[Tile]:
    test, halves = study.structure, study.stability.mean
    answer = {"distinct": "Yes", "overlapping": "Overlapping", "none": "No"}
    groups = answer.get(study.verdict.groups, study.verdict.headline)
    chosen = "the most that were tried" if study.limit_reached else "by the silhouette"
    return [
        Tile(groups, "Distinct groups", "separated and stable"),
        Tile(str(study.k), "Clusters", "requested" if study.requested else chosen),
        Tile(
            two(test.silhouette) if test.silhouette > -1 else "–",
            "Separation",
            f"silhouette; {two(test.expected)} without groups",
        ),
        Tile("–" if halves != halves else two(halves), "Stability", "adjusted Rand index"),
    ]


def _commands(study: ClusterStudy) -> list[tuple[str, str]]:
    typed = []
    if not study.hierarchical:
        typed.append(
            ("Find the cluster of new rows", "separatrix predict model.sx new.csv --out found.csv")
        )
    return [*typed, ("Make this page again", study.command)] if study.command else typed


def _python(study: ClusterStudy) -> str:
    lines = ["import separatrix", "", 'model = separatrix.load("model.sx")']
    if not study.hierarchical:
        lines.append('clusters = model.predict(separatrix.scan("new.csv"))')
    else:
        lines.append("print(model.dendrogram_.cut(n_clusters=4))")
    return "\n".join(lines)


def shown_rows(study: ClusterStudy) -> str:
    """Which rows the pictures show, where they do not show all."""
    if len(study.plotted.clusters) == study.n_rows:
        return ""
    return (
        f"Pictures of rows show {plural(len(study.plotted.clusters), 'row')} of {study.n_rows:,}."
    )
