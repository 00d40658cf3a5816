"""``separatrix curve``: learning curves of a table, and what would help."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.output import print_json
from separatrix.cli.progress import progress
from separatrix.messages import InputError


@click.command(short_help="Say whether more rows, columns or flexibility would help.")
@click.argument("table")
@click.option("--target", metavar="COLUMN", required=True, help="The column to predict.")
@click.option(
    "--task",
    type=click.Choice(["regression", "classification"]),
    help="Numbers or classes; else inferred from the target.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Directory for the results.")
@click.option("--weight", metavar="COLUMN", help="Column with the weight of each row.")
@click.option(
    "--group",
    metavar="COLUMN",
    help="Keep rows of one group (a patient, say) in one part; the column is not a feature.",
)
@click.option(
    "--id", "ids", multiple=True, metavar="COLUMN", help="A column that names rows. Repeatable."
)
@click.option(
    "--folds",
    type=click.IntRange(2, 50),
    default=5,
    show_default=True,
    help="Folds of the cross-validation.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the split."
)
@options.column_options
@options.json_option
@click.pass_context
def curve(
    context: click.Context,
    /,
    table: str,
    target: str,
    task: str | None,
    out: Path | None,
    weight: str | None,
    group: str | None,
    ids: tuple[str, ...],
    folds: int,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Fit models of growing flexibility to growing parts of TABLE, and say what would help:
    more rows, more columns, or a more flexible model.

    TABLE is a file, a glob, a folder, FILE::NAME (as for fit), sample:NAME, or - for standard
    input.

    \b
    Try:
      separatrix curve sample:diabetes --target progression
      separatrix curve sample:wine --target cultivar --folds 10
      separatrix curve sample:houses --target price --json
    """
    from separatrix.cli.places import ready
    from separatrix.cli.results import print_curves, write_curves

    place = ready(out if out is not None else Path(f"{options.stem_of(table)}-curve"))
    rows = options.scan_table(table, target, weight=weight, group=group, ids=ids, **reading)
    from separatrix.study.curves import run_curve

    with progress(quiet=as_json) as report:
        try:
            study = run_curve(
                rows,
                task=task,
                folds=folds,
                seed=seed,
                progress=report,
                source=table if table.startswith("sample:") else options.name_of(table),
                command=options.command_line(context),
            )
        except InputError as problem:
            raise options.with_file(problem, table) from problem
        study = replace(study, messages=tuple(map(options.with_flags, study.messages)))
        document = write_curves(study, place)
    if as_json:
        print_json({**document, "directory": str(place)})
        return
    given = [n for n in ("task", "folds", "seed") if options.was_given(context, n)]
    arguments = [f"{name}={context.params[name]!r}" for name in given]
    python = options.python_code(context, "run_curve", arguments, target=target)
    print_curves(study, place, python, report.announced)
