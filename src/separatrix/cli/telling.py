"""What ``fit`` says when it is done: the leaderboard, the verdict, and what to type next."""

from __future__ import annotations

import math
import re
import shlex
from pathlib import Path

import click
from rich import box
from rich.table import Table

from separatrix.cli.failure import for_the_command
from separatrix.cli.output import console, say
from separatrix.cli.results import MODEL, PREDICTIONS, REPORT, RESULT
from separatrix.pictures.wording import measure, scored
from separatrix.study.result import Score, Study


def tell(study: Study, place: Path, python: str) -> None:
    """Results to standard output; remarks, files and next steps to standard error."""
    for sentence in study.said:
        say(f"· {for_the_command(sentence)}")
    for warning in study.warnings:
        say(f"! {warning} (separatrix explain {warning.split()[0]})")
    out = console(stderr=False)
    out.print(leaderboard(study))
    for line in verdict(study):
        out.print(line, soft_wrap=not out.is_terminal)
    files = [MODEL, REPORT, *([PREDICTIONS] if study.held is not None else []), RESULT]
    say(f"Wrote {', '.join(files)} to {place}/")
    say(f"Next: separatrix predict {shlex.quote(str(place / MODEL))} NEW.csv")
    say("In Python:")
    for line in python.splitlines():  # to be pasted: never broken
        click.echo(f"  {line}", err=True)


def leaderboard(study: Study) -> Table:
    """Cross-validated errors, the chosen one marked."""
    metric = study.leaderboard[0].metric
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", no_wrap=True)
    table.add_column(
        f"{measure(metric).short}, {len(study.leaderboard[0].folds)} folds", justify="right"
    )
    table.add_column("± s.e.", justify="right")
    table.add_column("what it is", overflow="ellipsis")
    for entry in study.leaderboard:
        won = entry.name == study.winner
        name = f"{'→' if won else ' '} {entry.name}"
        if math.isnan(entry.mean):
            table.add_row(name, "–", "–", entry.note)
            continue
        numbers = scored(entry.mean, metric), scored(entry.standard_error, metric)
        table.add_row(name, *numbers, entry.label, style="bold" if won else "")
    return table


def verdict(study: Study) -> list[str]:
    """The choice, its score on the test part, and the certificate."""
    first = study.test[0]
    dummy = next((s for s in study.baseline_test if s.metric == first.metric), None)
    beside = "" if dummy is None else f" (baseline {scored(dummy.value, dummy.metric)})"
    scores = ", ".join(f"{_score(s)}{beside if s is first else ''}" for s in study.test)
    return [
        f"Chosen: {study.winner}. {re.sub(f'^{study.winner} ', 'It ', study.reason)}",
        f"Test part ({study.n_test} rows, opened once): {scores}.",
        f"Certificate: {study.model.certificate_}",
    ]


def _score(score: Score) -> str:
    value, low, high = (scored(v, score.metric) for v in (score.value, score.low, score.high))
    return f"{measure(score.metric).short} {value} [{low}, {high}]"
