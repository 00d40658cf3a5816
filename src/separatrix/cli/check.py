"""``separatrix check`` and ``compare``: new rows against those of training, and two studies."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli import options, output
from separatrix.cli.failure import GateFailed
from separatrix.notebook import Grid, Heading, Sentence

if TYPE_CHECKING:
    from separatrix.study.drift import DriftCheck

#: A share of rows, or a distance of distributions.
SHARE = click.FloatRange(0, 1)


@click.command(short_help="Compare new rows with the training rows of a model.")
@click.argument("model")
@click.argument("table")
@click.option(
    "--max-drift",
    type=SHARE,
    metavar="DISTANCE",
    help="Fail (exit code 1) if a column is surely farther from training than this; 0 for any "
    "drift.",
)
@click.option(
    "--max-extrapolating",
    type=SHARE,
    metavar="SHARE",
    help="Fail if a larger share of the rows is beyond the training rows.",
)
@click.option(
    "--max-unseen",
    type=SHARE,
    metavar="SHARE",
    help="Fail if a column has a larger share of rows with levels that training did not have.",
)
@click.option(
    "--min-score",
    "gates",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Fail if the score of rows with known target is worse. Repeatable.",
)
@click.option("--promise", is_flag=True, help="Fail if a score is worse than the study promised.")
@options.level_option
@options.text_options
@options.json_option
def check(
    model: str,
    table: str,
    max_drift: float | None,
    max_extrapolating: float | None,
    max_unseen: float | None,
    gates: tuple[str, ...],
    promise: bool,
    level: float,
    as_json: bool,
    **written: Any,
) -> None:
    """Compare the rows of TABLE with those that MODEL (model.sx or its directory) was trained on.

    Missing and extra columns; by column the distance of the distributions with an interval, rows
    beyond the range, levels that training did not have; and, where TABLE has the target, the
    scores beside those that the study promised. A missing column always fails.

    \b
    Try:
      separatrix check diabetes-separatrix sample:diabetes
      separatrix check diabetes-separatrix new.csv --max-drift 0.1 --max-extrapolating 0.05
      separatrix check diabetes-separatrix truth.csv --promise
    """
    from separatrix.cli.fit import parse_gates
    from separatrix.rows.notations import text_options as checked
    from separatrix.study.drift import check_drift

    limits = parse_gates(gates)
    text = checked(**options.as_written(written))
    found = check_drift(model, options.table_at(table), level=level, text=text)
    failed = [
        *_columns(found, max_drift, max_extrapolating, max_unseen),
        *_scores(found, limits, promise),
    ]
    if as_json:
        from separatrix.study.drift import drift_document

        output.print_json({**drift_document(found), "failed": failed})
        click.get_current_context().exit(1 if failed else 0)
    _print(found)
    if found.drifted:
        output.say(
            f"Next: separatrix fit {shlex.quote(table)} --target {shlex.quote(found.target)}"
        )
    elif not found.absent:
        output.say(f"Next: separatrix predict {shlex.quote(model)} {shlex.quote(table)}")
    if failed:
        raise GateFailed("; ".join(failed))


def _print(found: DriftCheck) -> None:
    """Tables and sentences on standard output."""
    for item in found.items():
        if isinstance(item, Grid):
            columns = [
                output.OutputColumn(head.strip(), right=j not in item.left)
                for j, head in enumerate(item.heads)
            ]
            output.print_table(columns, item.lines)
        elif isinstance(item, Heading | Sentence):
            output.print_lines([item.text])


def _columns(
    found: DriftCheck,
    max_drift: float | None,
    max_extrapolating: float | None,
    max_unseen: float | None,
) -> list[str]:
    """The gates on columns that fail, in words."""
    failed = []
    if found.absent:
        failed.append(f"columns are missing: {', '.join(found.absent)}")
    far = [] if max_drift is None else [c for c in found.columns if c.low > max_drift]
    if far:
        shown = ", ".join(f"{c.name} at least {c.low:.3f}" for c in far[:4])
        failed.append(f"drift above {max_drift:g}: {shown}")
    share = found.extrapolating / max(found.rows, 1)
    if max_extrapolating is not None and share > max_extrapolating:
        failed.append(
            f"{100 * share:.1f} % of the rows are beyond the training rows; at most "
            f"{100 * max_extrapolating:g} % may be"
        )
    if max_unseen is not None:
        for column in found.columns:
            n_unseen = sum(column.unseen.values())
            if n_unseen > max_unseen * found.rows:
                failed.append(f"{column.name} has levels that training did not: {n_unseen} rows")
    return failed


def _scores(found: DriftCheck, limits: dict[str, float], promise: bool) -> list[str]:
    """The gates on scores that fail, in words."""
    if (limits or promise) and not found.absent:
        found.refuse_without_scores()
    failed = [found.verdict.rstrip(".").lower()] if promise and found.broken else []
    return failed + [
        gate["message"] for gate in _compare_scores(limits, found) if not gate["passed"]
    ]


def _compare_scores(limits: dict[str, float], found: DriftCheck) -> list[dict[str, Any]]:
    from separatrix.cli.fit import compare_with_limits

    return [] if found.absent else compare_with_limits(limits, found.scores, "these rows")


# -------------------------------------------------------------------------------------------------
# ``separatrix compare``: two studies, or predictions of any program, on common test rows.


@click.command(short_help="Compare two studies, or other predictions, on the same test rows.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "--row", default="row", show_default=True, metavar="COLUMN", help="Row numbers in a CSV file."
)
@click.option(
    "--predicted",
    default="predicted",
    show_default=True,
    metavar="COLUMN",
    help="Predictions in a CSV file.",
)
@click.option("--target", metavar="COLUMN", help="The target in a CSV file; else as in the study.")
@options.json_option
def compare(
    first: str, second: str, row: str, predicted: str, target: str | None, as_json: bool
) -> None:
    """Compare A with B on the test rows of both: measures, and paired differences with intervals.

    Each is a study (its directory or model.sx) or a CSV file of predictions: row numbers from 1, a
    column of predictions, and for classes columns called "probability LEVEL".

    \b
    Try:
      separatrix fit sample:diabetes --target progression --models linear --out linear
      separatrix fit sample:diabetes --target progression --models svr --out svr
      separatrix compare linear svr
      separatrix compare linear other.csv --predicted forecast
    """
    from separatrix.study.pairing import compare_predictions, comparison_document

    found = compare_predictions(first, second, row=row, predicted=predicted, target=target)
    if as_json:
        output.print_json(comparison_document(found))
        return
    for item in found.items():
        if isinstance(item, Grid):
            columns = [output.OutputColumn(head, right=j > 0) for j, head in enumerate(item.heads)]
            output.print_table(columns, item.lines)
        elif isinstance(item, Heading | Sentence):
            output.print_lines([item.text])
