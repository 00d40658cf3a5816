"""The tables of a page on clusters."""

from __future__ import annotations

import math

from separatrix.pictures.formatting import counted, number
from separatrix.report.tables import MAX_LINES, Cell, Line, Table, figure
from separatrix.rows.schema import Kind
from separatrix.study.clustering.result import FAMILIES, ClusterStudy


def group_table(study: ClusterStudy) -> Table:
    """Every cluster: size, share, silhouette."""
    lines = tuple(
        Line(
            f"cluster {group.number}",
            (
                figure(group.size, f"{group.size:,}"),
                figure(group.share, f"{100 * group.share:.1f} %"),
                figure(group.silhouette, _two(group.silhouette)),
            ),
            badge="outliers" if group.few else "",
        )
        for group in study.groups[:MAX_LINES]
    )
    heads = (("Cluster", False), ("Rows", True), ("Share", True), ("Mean silhouette", True))
    return Table(heads, lines)


def profile_table(study: ClusterStudy) -> Table:
    """A line for each column: its mean, or most frequent levels, in every cluster."""
    shown = study.groups[:12]
    lines = []
    for column in study.columns[:MAX_LINES]:
        name = column.name
        if column.kind is Kind.BOOLEAN and name in study.groups[0].means:
            cells = tuple(figure(g.means[name], f"true {_share(g.means[name])}") for g in shown)
        elif name in study.groups[0].means:
            cells = tuple(figure(group.means[name]) for group in shown)
        elif name in study.groups[0].levels:
            cells = tuple(Cell(_levels(group.levels[name])) for group in shown)
        else:
            continue
        lines.append(Line(name, cells))
    note = ""
    if len(study.groups) > len(shown):
        note = f"The {len(shown)} largest of {len(study.groups)} clusters are shown."
    heads = [("Column", False), *((f"cluster {group.number}", True) for group in shown)]
    return Table(tuple(heads), tuple(lines), note)


def _levels(levels: dict[str, float]) -> str:
    return ", ".join(f"{level} {_share(share)}" for level, share in levels.items()) or "–"


def _share(value: float) -> str:
    return f"{100 * value:.0f}\u202f%"


def step_table(study: ClusterStudy) -> Table:
    """Every number of clusters that was tried."""
    lines = tuple(
        Line(
            counted(step.k, "cluster"),
            (
                figure(step.silhouette, _two(step.silhouette)),
                figure(step.scatter, f"{100 * step.scatter / (study.scatter or 1.0):.1f} %"),
                figure(step.smallest, f"{step.smallest:,}"),
            ),
            badge="taken" if step.k == study.k else "",
            strong=step.k == study.k,
        )
        for step in study.steps
    )
    heads = (
        ("Tried", False),
        ("Silhouette", True),
        ("Within-cluster SS", True),
        ("Smallest cluster", True),
    )
    return Table(heads, lines)


def reference_table(study: ClusterStudy) -> Table:
    """What the same search found in tables without groups."""
    lines = tuple(
        Line(
            FAMILIES[one.name],
            (
                figure(len(one.silhouettes), f"{len(one.silhouettes)}"),
                figure(_mean(one.silhouettes), _two(_mean(one.silhouettes))),
                figure(max(one.silhouettes), _two(max(one.silhouettes))),
                figure(one.p_value, f"{one.p_value:.3f}"),
            ),
        )
        for one in study.structure.references
    )
    heads = (
        ("Reference tables", False),
        ("Drawn", True),
        ("Mean silhouette", True),
        ("Largest", True),
        ("p", True),
    )
    return Table(heads, lines)


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values)


def _two(value: float) -> str:
    """A silhouette: two decimals."""
    return number(value) if not math.isfinite(value) else f"{value:.2f}".replace("-", "−")
