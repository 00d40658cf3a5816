"""The page of a cluster analysis: the verdict first, then the clusters."""

from __future__ import annotations

import math
import os
from pathlib import PurePath
from statistics import median
from typing import Any

from separatrix.formatting import number, plural
from separatrix.report import tables
from separatrix.report.figures import number_of_clusters, profiles, silhouettes
from separatrix.report.page import draw_galleries, render_template
from separatrix.report.tables import MAX_LINES, Cell, Line, ReportTable, certificate_numbers, figure
from separatrix.report.verdict import Tile
from separatrix.rows.schema import Kind
from separatrix.storage.files import write_text
from separatrix.study.cluster import result

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


def render_clusters(study: result.ClusterStudy) -> str:
    """The page as text. The same study gives the same bytes."""
    return render_template("clusters.html.j2", _context(study))


def write_clusters(study: result.ClusterStudy, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    write_text(path, render_clusters(study))


def _context(study: result.ClusterStudy) -> dict[str, Any]:
    return {
        "study": study,
        "source": PurePath(study.source).name or study.source,
        "verdict": _verdict(study),
        "tiles": _tiles(study),
        "method": METHODS[study.method],
        "groups": cluster_table(study),
        "profiles": profile_table(study),
        "steps": trial_table(study),
        "references": reference_table(study),
        "data": tables.data_table(study.columns),
        "data_sentence": tables.data_sentence(study.n_rows, study.columns),
        "certificate": study.certificate,
        "certificate_numbers": certificate_numbers(study.certificate),
        "warned": tables.list_warnings(study.warnings),
        "galleries": draw_galleries(
            {
                "number": number_of_clusters(study),
                "profiles": profiles(study),
                "rows": silhouettes(study),
            }
        ),
        "limits": {
            "negligible": result.NEGLIGIBLE,
            "clear_effect": result.CLEAR,
            "silhouette": result.CLEAR_SILHOUETTE,
            "stable": result.STABLE,
        },
        "shown_rows": shown_rows(study),
        "commands": _commands(study),
        "python": _python(study),
    }


def _verdict(study: result.ClusterStudy) -> list[str]:
    return [study.verdict.summary, study.reason]


def _tiles(study: result.ClusterStudy) -> list[Tile]:
    test, halves = study.structure, study.stability.mean
    answer = {"distinct": "Yes", "overlapping": "Overlapping", "none": "No"}
    groups = answer.get(study.verdict.groups, study.verdict.headline)
    chosen = "the most that were tried" if study.limit_reached else "by the silhouette"
    return [
        Tile(groups, "Distinct groups", "separated and stable"),
        Tile(str(study.k), "Clusters", "requested" if study.requested else chosen),
        Tile(
            result.two(test.silhouette) if test.silhouette > -1 else "–",
            "Separation",
            f"silhouette; {result.two(test.expected)} without groups",
        ),
        Tile("–" if halves != halves else result.two(halves), "Stability", "adjusted Rand index"),
    ]


def _commands(study: result.ClusterStudy) -> list[tuple[str, str]]:
    typed = []
    if not study.hierarchical:
        typed.append(
            ("Find the cluster of new rows", "separatrix predict model.sx new.csv --out found.csv")
        )
    return [*typed, ("Create this report again", study.command)] if study.command else typed


def _python(study: result.ClusterStudy) -> str:
    lines = ["import separatrix", "", 'model = separatrix.load("model.sx")']
    if not study.hierarchical:
        lines.append('clusters = model.predict(separatrix.scan("new.csv"))')
    else:
        lines.append("print(model.dendrogram_.cut(n_clusters=4))")
    return "\n".join(lines)


def shown_rows(study: result.ClusterStudy) -> str:
    """Which rows the pictures show, where they do not show all."""
    if len(study.plotted.clusters) == study.n_rows:
        return ""
    return (
        f"Pictures of rows show {plural(len(study.plotted.clusters), 'row')} of {study.n_rows:,}."
    )


# -------------------------------------------------------------------------------------------------
# The tables of a page on clusters.


def cluster_table(study: result.ClusterStudy) -> ReportTable:
    """Every cluster: size, proportion, silhouette."""
    lines = tuple(
        Line(
            f"cluster {cluster.number}",
            (
                figure(cluster.size, f"{cluster.size:,}"),
                figure(cluster.proportion, f"{100 * cluster.proportion:.1f} %"),
                figure(cluster.silhouette, _two(cluster.silhouette)),
            ),
            badge="outliers" if cluster.outliers else "",
        )
        for cluster in study.clusters[:MAX_LINES]
    )
    heads = (("Cluster", False), ("Rows", True), ("Proportion", True), ("Mean silhouette", True))
    return ReportTable(heads, lines)


def profile_table(study: result.ClusterStudy) -> ReportTable:
    """A line for each column: its mean, or over-represented levels, in every cluster."""
    shown = study.clusters[:12]
    lines = []
    for column in study.columns[:MAX_LINES]:
        name = column.name
        if column.kind is Kind.BOOLEAN and name in study.clusters[0].means:
            cells = tuple(figure(c.means[name], f"true {_percent(c.means[name])}") for c in shown)
        elif name in study.clusters[0].means:
            cells = tuple(figure(cluster.means[name]) for cluster in shown)
        elif name in study.clusters[0].levels:
            cells = tuple(Cell(_levels(cluster, name)) for cluster in shown)
        else:
            continue
        lines.append(Line(name, cells))
    note = ""
    if len(study.clusters) > len(shown):
        note = f"The {len(shown)} largest of {len(study.clusters)} clusters are shown."
    heads = [("Column", False), *((f"cluster {cluster.number}", True) for cluster in shown)]
    return ReportTable(tuple(heads), tuple(lines), note)


def _levels(cluster: result.Cluster, name: str) -> str:
    """Over-represented levels with their lift; the most frequent one where there are none."""
    proportions, lifts = cluster.levels[name], cluster.lifts.get(name, {})
    if lifts:
        # Over-represented levels of a column that are listed for a cluster.
        shown = list(lifts.items())[:3]
        return ", ".join(
            f"{level} {_percent(proportions[level])} ({lift:.1f}×)" for level, lift in shown
        )
    level = max(proportions, key=lambda one: proportions[one], default="")
    return f"mostly {level} {_percent(proportions[level])}" if level else "–"


def _percent(value: float) -> str:
    return f"{100 * value:.0f}\u202f%"


def trial_table(study: result.ClusterStudy) -> ReportTable:
    """Every number of clusters that was tried."""
    lines = tuple(
        Line(
            plural(trial.k, "cluster"),
            (
                figure(trial.silhouette, _two(trial.silhouette)),
                figure(trial.within_ss, f"{100 * trial.within_ss / (study.total_ss or 1.0):.1f} %"),
                figure(trial.smallest, f"{trial.smallest:,}"),
            ),
            badge="chosen" if trial.k == study.k else "",
            strong=trial.k == study.k,
        )
        for trial in study.trials
    )
    heads = (
        ("Tried", False),
        ("Silhouette", True),
        ("Within-cluster SS", True),
        ("Smallest cluster", True),
    )
    return ReportTable(heads, lines)


def reference_table(study: result.ClusterStudy) -> ReportTable:
    """What the same search found in tables without clusters."""
    lines = tuple(
        Line(
            result.FAMILIES[reference.name],
            (
                figure(len(reference.silhouettes), f"{len(reference.silhouettes)}"),
                figure(median(reference.silhouettes), _two(median(reference.silhouettes))),
                figure(max(reference.silhouettes), _two(max(reference.silhouettes))),
                figure(reference.p_value, f"{reference.p_value:.3f}"),
            ),
        )
        for reference in study.structure.references
    )
    heads = (
        ("Tables without groups", False),
        ("Drawn", True),
        ("Median silhouette", True),
        ("Largest", True),
        ("p", True),
    )
    return ReportTable(heads, lines)


def _two(value: float) -> str:
    """A silhouette: two decimals."""
    return result.two(value) if math.isfinite(value) else number(value)
