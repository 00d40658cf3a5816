"""What ``cluster`` says when it is done: the verdict, the clusters, and what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from rich import box
from rich.table import Table

from separatrix.cli.flags import with_flags
from separatrix.cli.output import console, say
from separatrix.cli.results import ASSIGNMENTS, MODEL, REPORT, RESULT
from separatrix.pictures.formatting import number
from separatrix.study.clustering.result import ClusterStudy, Group

#: What a cluster differs in is parts by this many columns.
TOLD = 3


def tell_clusters(study: ClusterStudy, place: Path, python: str) -> None:
    """Results to standard output; remarks, files and next steps to standard error."""
    for sentence in study.messages:
        say(f"· {with_flags(sentence)}")
    for warning in study.warnings:
        say(f"! {warning} (separatrix explain {warning.split()[0]})")
    out = console(stderr=False)
    out.print(_table(study))
    for line in (study.structure.words, study.reason, study.stability.words):
        out.print(line, soft_wrap=not out.is_terminal)
    out.print(f"Certificate: {study.model.certificate_}", soft_wrap=not out.is_terminal)
    say(f"Wrote {', '.join((MODEL, REPORT, ASSIGNMENTS, RESULT))} to {place}/")
    if not study.hierarchical:
        say(f"Next: separatrix predict {shlex.quote(str(place / MODEL))} NEW.csv")
    say("In Python:")
    for line in python.splitlines():  # to be pasted: never broken
        click.echo(f"  {line}", err=True)


def _table(study: ClusterStudy) -> Table:
    """Clusters with size, silhouette, and the columns in which they differ most from the rest."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("cluster", justify="right")
    table.add_column("rows", justify="right")
    table.add_column("silhouette", justify="right")
    table.add_column("distinguishing columns")
    for group in study.groups:
        shown = number(round(group.silhouette, 2), 2)
        table.add_row(str(group.number), f"{group.size:,}", shown, special(group, study.groups))
    return table


def special(group: Group, groups: tuple[Group, ...], most: int = TOLD) -> str:
    """The columns in which a cluster is farthest from the whole table, in its own units."""
    parts: list[tuple[float, str]] = []
    for name, z in group.standard.items():
        if abs(z) >= 0.3:
            way = "high" if z > 0 else "low"
            parts.append((abs(z), f"{name} {way} ({number(group.means[name], 3)})"))
    total = sum(g.size for g in groups)
    for name, levels in group.levels.items():
        for level, share in levels.items():
            usual = sum(g.levels[name].get(level, 0.0) * g.size for g in groups) / total
            if share - usual >= 0.15:
                parts.append((3 * (share - usual), f"{name} {level} ({100 * share:.0f} %)"))
    parts.sort(key=lambda item: -item[0])
    text = "; ".join(text for _, text in parts[:most]) or "near the mean in every column"
    return f"outliers: {text}" if group.few else text
