"""``separatrix export``, ``report`` and ``verify``: what is done with a stored model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from separatrix.cli.failure import GateFailed
from separatrix.cli.options import as_written, json_option, level_option, table_at, text_options
from separatrix.cli.output import print_json, say
from separatrix.cli.places import MODEL, REPORT, ready_file
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


@click.command(short_help="Rebuild the report of a stored model.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="HTML file to write.")
@json_option
def report(model: Path, out: Path | None, as_json: bool) -> None:
    """Write the report of MODEL, a model.sx file or the directory that contains it.

    \b
    Try:
      separatrix report diabetes-separatrix
      separatrix report diabetes-separatrix/model.sx --out page.html
    """
    file = model / MODEL if model.is_dir() else model
    page = ready_file(file.with_name(REPORT) if out is None else out)
    from separatrix.report import write, write_clusters
    from separatrix.storage import load, load_study
    from separatrix.study.cluster.result import ClusterStudy

    fitted = load(file)
    study: Any = load_study(file)
    make: Callable[[Any, Path], None] = write_clusters if isinstance(study, ClusterStudy) else write
    if study is None:
        raise InputError(
            "contains a model without the study that selected it, so there is nothing to report.",
            file=str(file),
            remedy="Name a model.sx file that separatrix fit or cluster wrote.",
        )
    try:
        make(replace(study, model=fitted), page)
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        # fit or cluster built this page before it wrote the file: the file was changed
        raise InputError(
            f"contains a study that cannot be rendered ({type(problem).__name__}: {problem}).",
            file=str(file),
            remedy="Write it again with separatrix fit or cluster.",
        ) from problem
    if as_json:
        print_json({"report": str(page)})
    else:
        click.echo(str(page))
        say("Open it in any browser; it needs no network.")


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
