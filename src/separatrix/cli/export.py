"""``separatrix export``: a stored model as SQL, Python, JSON or ONNX, checked at once."""

from __future__ import annotations

from pathlib import Path

import click

from separatrix.cli.failure import GateFailed
from separatrix.cli.options import json_option, level_option, table_at
from separatrix.cli.output import print_json, say
from separatrix.cli.places import MODEL, ready_file
from separatrix.messages import InputError


@click.command(short_help="Write a stored model as SQL, Python, JSON or ONNX.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--to",
    type=click.Choice(["sql", "python", "json", "onnx"]),
    required=True,
    help="The language.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write; else standard output.",
)
@click.option(
    "--dialect",
    type=click.Choice(["duckdb", "postgres", "sqlite", "bigquery", "spark"]),
    default="duckdb",
    show_default=True,
    help="The dialect of SQL.",
)
@click.option(
    "--table",
    default="rows",
    show_default=True,
    metavar="NAME",
    help="The table that the SQL reads; SCHEMA.NAME names a schema too.",
)
@click.option(
    "--id",
    "ids",
    multiple=True,
    metavar="COLUMN",
    help="A column of the table that the SQL copies beside the answer. Repeatable.",
)
@click.option(
    "--check",
    "rows",
    metavar="TABLE",
    help="Check on the rows of this table, instead of rows made up from the model's columns.",
)
@level_option
@json_option
def export(
    model: Path,
    to: str,
    out: Path | None,
    dialect: str,
    table: str,
    ids: tuple[str, ...],
    rows: str | None,
    level: float,
    as_json: bool,
) -> None:
    """Write MODEL (model.sx or its directory) in another language.

    Encoding, missing values, levels, calibration and costs are part of it. What is written is run
    on some hundred rows and compared with the model: labels must be equal and numbers agree to
    1e-9, or nothing is written and the exit code is 1.

    \b
    Try:
      separatrix fit sample:wine --target cultivar
      separatrix export wine-separatrix --to sql --table wines
      separatrix export wine-separatrix --to python --out wines.py
    """
    if out is not None:
        ready_file(out)
    elif to == "onnx" and not as_json:
        raise InputError("An ONNX graph is not text.", remedy="Name a file: --out model.onnx")
    from separatrix.export.check import CheckFailed
    from separatrix.export.export import export_model

    file = _model_file(model)
    try:
        program = export_model(
            file,
            to,
            dialect=dialect,
            table=table,
            ids=ids,
            level=level,
            rows=None if rows is None else table_at(rows),
        )
    except CheckFailed as failed:
        raise GateFailed(str(failed)) from failed
    if out is not None:
        program.write(out)
    if as_json:
        print_json(
            {"model": str(file), "out": None if out is None else str(out)} | program.document()
        )
        return
    if out is None:
        click.echo(program.content, nl=False)
    else:
        click.echo(str(out))
    for note in program.notes:
        say(f"! {note}")
    say(f"· {str(program.check)[:1].upper()}{str(program.check)[1:]}.")


def _model_file(model: Path) -> Path:
    """The model file itself, of a directory the one in it."""
    if not model.is_dir():
        return model
    if not (model / MODEL).exists():
        raise InputError(
            f"contains no {MODEL}.",
            file=str(model),
            remedy="Name the directory that separatrix fit or cluster wrote, or the file.",
        )
    return model / MODEL
