"""The tables of a page on clusters."""

from __future__ import annotations

import math
from statistics import median

from separatrix.pictures.formatting import number, plural
from separatrix.report.tables import MAX_LINES, Cell, Line, Table, figure
from separatrix.rows.schema import Kind
from separatrix.study.clustering.result import FAMILIES, Cluster, ClusterStudy
from separatrix.study.clustering.verdict import two

#: Over-represented levels of a column that are listed for a cluster.
LEVELS = 3


def cluster_table(study: ClusterStudy) -> Table:
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
    return Table(heads, lines)


def profile_table(study: ClusterStudy) -> Table:
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
    return Table(tuple(heads), tuple(lines), note)


def _levels(cluster: Cluster, name: str) -> str:
    """Over-represented levels with their lift; the most frequent one where there are none."""
    proportions, lifts = cluster.levels[name], cluster.lifts.get(name, {})
    if lifts:
        shown = list(lifts.items())[:LEVELS]
        return ", ".join(
            f"{level} {_percent(proportions[level])} ({lift:.1f}×)" for level, lift in shown
        )
    level = max(proportions, key=lambda one: proportions[one], default="")
    return f"mostly {level} {_percent(proportions[level])}" if level else "–"


def _percent(value: float) -> str:
    return f"{100 * value:.0f}\u202f%"


def trial_table(study: ClusterStudy) -> Table:
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
    return Table(heads, lines)


def reference_table(study: ClusterStudy) -> Table:
    """What the same search found in tables without clusters."""
    lines = tuple(
        Line(
            FAMILIES[reference.name],
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
    return Table(heads, lines)


def _two(value: float) -> str:
    """A silhouette: two decimals."""
    return two(value) if math.isfinite(value) else number(value)
