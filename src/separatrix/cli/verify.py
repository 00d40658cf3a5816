"""``separatrix verify``: the certificate of a stored model, recomputed from its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from separatrix.cli.options import as_written, json_option, table_at, text_options
from separatrix.cli.output import print_json


@click.command(short_help="Recompute the certificate of a stored model.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table")
@click.option("--target", metavar="COLUMN", help="Target, where the model was fitted to arrays.")
@click.option("--weight", metavar="COLUMN", help="Weights, where the model was fitted to arrays.")
@text_options
@json_option
def verify(
    model: Path,
    table: str,
    target: str | None,
    weight: str | None,
    as_json: bool,
    **written: Any,
) -> int:
    """Prove or refute what MODEL (model.sx or its directory) claims, from TABLE.

    Every claim is recomputed in exact fractions or enclosing intervals, without NumPy and without
    the solver: "proved", "consistent to n digits" or "refuted". TABLE is that of training with its
    test rows. The exit code is 0 unless a claim is refuted (1) or nothing can be checked (2).

    \b
    Try:
      separatrix fit sample:diabetes --target progression
      separatrix verify diabetes-separatrix sample:diabetes
    """
    from separatrix.cli.progress import progress
    from separatrix.rows.notations import text_options as checked
    from separatrix.verification.verify import verify_with

    text = checked(**as_written(written))
    with progress(quiet=as_json) as listener:
        verification = verify_with(
            model, table_at(table), target, weight=weight, text=text, progress=listener
        )
    if as_json:
        print_json(verification.document())
    else:
        click.echo(str(verification))
    return 0 if verification.holds else 1
