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
from separatrix.pictures.formatting import measure, number, scored
from separatrix.study.result import CrossValidatedScore, Decision, Entry, Score, Study

#: Scores that say nothing beyond others, or are told in a sentence of their own.
UNTOLD = ("accuracy", "cost", "coverage", "risk")


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
    """Cross-validated errors, the chosen one marked; of classes both measures."""
    first = study.leaderboard[0]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", no_wrap=True)
    table.add_column(f"{measure(first.metric).short}, {len(first.folds)} folds", justify="right")
    if first.beside is not None:
        table.add_column(measure(first.beside.metric).short, justify="right")
    table.add_column("what it is", overflow="ellipsis")
    if any(entry.calibrated for entry in study.leaderboard):
        table.caption, table.caption_justify = "* as a calibration reads its scores", "left"
    for entry in study.leaderboard:
        won = entry.name == study.winner
        cells = [f"{'→' if won else ' '} {entry.name}", _with_spread(entry)]
        if first.beside is not None:
            cells.append("–" if entry.beside is None else _with_spread(entry.beside))
        made = "*" if entry.calibrated else ""
        table.add_row(*cells, entry.note or f"{entry.label}{made}", style="bold" if won else "")
    return table


def _with_spread(found: Entry | CrossValidatedScore) -> str:
    """A mean ± its standard error, both to the digits that the error leaves standing."""
    mean, error = found.mean, found.standard_error
    if math.isnan(mean):
        return "–"
    if measure(found.metric).share:
        return f"{100 * mean:.1f} ± {100 * error:.1f} %"
    if not 0 < error < math.inf or not 1e-4 <= max(abs(mean), error) < 1e7:
        return f"{number(mean)} ± {number(error, 2)}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{mean:,.{decimals}f} ± {error:,.{decimals}f}".replace("-", "−")


def verdict(study: Study) -> list[str]:
    """The choice, its score on the test part, what answers cost, and the certificate."""
    shown = [s for s in study.test if s.metric not in UNTOLD]
    first = shown[0]
    dummy = next((s for s in study.baseline_test if s.metric == first.metric), None)
    beside = "" if dummy is None else f" (baseline {scored(dummy.value, dummy.metric)})"
    scores = ", ".join(f"{_score(s)}{beside if s is first else ''}" for s in shown)
    return [
        f"Chosen: {study.winner}. {re.sub(f'^{study.winner} ', 'It ', study.reason)}",
        f"Test part ({study.n_test} rows, opened once): {scores}.",
        *([] if study.decision is None else [_answers(study.decision)]),
        f"Certificate: {study.model.certificate_}",
    ]


def _answers(found: Decision) -> str:
    """How the answers of least expected cost did on the test part."""
    plainly = scored(found.cost_without.value, "cost")
    costs = f"a cost of {_value(found.cost)} a row"
    instead = f"({plainly} with the most probable class instead)"
    if found.costs.reject_cost is None:
        return f"Answers of least expected cost: {costs} {instead}."
    if math.isnan(found.risk.value):
        return f"With the right to doubt: no row is answered; {costs} {instead}."
    return (
        f"With the right to doubt: {_value(found.coverage)} of the rows are answered, at a cost "
        f"of {_value(found.risk)} each; doubt included, {costs} {instead}."
    )


def _score(score: Score) -> str:
    return f"{measure(score.metric).short} {_value(score)}"


def _value(score: Score) -> str:
    value, low, high = (scored(v, score.metric) for v in (score.value, score.low, score.high))
    return f"{value} [{low}, {high}]"
