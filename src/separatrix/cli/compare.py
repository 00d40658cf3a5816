"""``separatrix compare``: two studies, or predictions of any program, on common test rows."""

from __future__ import annotations

import click

from separatrix.cli.options import json_option
from separatrix.cli.output import OutputColumn, print_json, print_lines, print_table
from separatrix.notebook import Grid, Heading, Sentence


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
@json_option
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
        print_json(comparison_document(found))
        return
    for item in found.items():
        if isinstance(item, Grid):
            columns = [OutputColumn(head, right=j > 0) for j, head in enumerate(item.heads)]
            print_table(columns, item.lines)
        elif isinstance(item, Heading | Sentence):
            print_lines([item.text])
