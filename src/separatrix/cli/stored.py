"""``separatrix export``, ``report``, ``verify``; ``summarize`` and ``merge``: what is stored."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli import options, output, places
from separatrix.cli.failure import GateFailed
from separatrix.messages import InputError

if TYPE_CHECKING:
    from separatrix.storage import StoredMoments


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
@options.level_option
@options.json_option
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
        places.ready_file(out)
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
            rows=None if rows is None else options.table_at(rows),
        )
    except CheckFailed as failed:
        raise GateFailed(str(failed)) from failed
    if out is not None:
        program.write(out)
    if as_json:
        output.print_json(
            {"model": str(file), "out": None if out is None else str(out)} | program.document()
        )
        return
    if out is None:
        click.echo(program.content, nl=False)
    else:
        click.echo(str(out))
    for note in program.notes:
        output.say(f"! {note}")
    output.say(f"· {str(program.check)[:1].upper()}{str(program.check)[1:]}.")


def _model_file(model: Path) -> Path:
    """The model file itself, of a directory the one in it."""
    if not model.is_dir():
        return model
    if not (model / places.MODEL).exists():
        raise InputError(
            f"contains no {places.MODEL}.",
            file=str(model),
            remedy="Name the directory that separatrix fit or cluster wrote, or the file.",
        )
    return model / places.MODEL


@click.command(short_help="Rebuild the report of a stored model.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="HTML file to write.")
@options.json_option
def report(model: Path, out: Path | None, as_json: bool) -> None:
    """Write the report of MODEL, a model.sx file or the directory that contains it.

    \b
    Try:
      separatrix report diabetes-separatrix
      separatrix report diabetes-separatrix/model.sx --out page.html
    """
    file = model / places.MODEL if model.is_dir() else model
    page = places.ready_file(file.with_name(places.REPORT) if out is None else out)
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
        output.print_json({"report": str(page)})
    else:
        click.echo(str(page))
        output.say("Open it in any browser; it needs no network.")


@click.command(short_help="Recompute the certificate of a stored model.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table")
@click.option("--target", metavar="COLUMN", help="Target, where the model was fitted to arrays.")
@click.option("--weight", metavar="COLUMN", help="Weights, where the model was fitted to arrays.")
@options.text_options
@options.json_option
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

    text = checked(**options.as_written(written))
    with progress(quiet=as_json) as listener:
        verification = verify_with(
            model, options.table_at(table), target, weight=weight, text=text, progress=listener
        )
    if as_json:
        output.print_json(verification.document())
    else:
        click.echo(str(verification))
    return 0 if verification.holds else 1


# -------------------------------------------------------------------------------------------------
# ``separatrix summarize`` and ``merge``: tables as moments, which add up.


min_rows_option = click.option(
    "--min-rows",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="K",
    help="Refuse sums over fewer rows: of a part, a class, a level, a pair of levels.",
)


@click.command(short_help="Reduce a table to moments that can be merged and fitted.")
@click.argument("table")
@click.option("--target", metavar="COLUMN", required=True, help="The column to predict.")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@options.split_options
@options.reading_options
@options.cluster_option
@min_rows_option
@options.json_option
def summarize(
    table: str,
    target: str,
    out: Path,
    min_rows: int,
    as_json: bool,
    seed: int,
    test: float,
    folds: int,
    **reading: Any,
) -> None:
    """Read TABLE once and store its moments by fold, and by class where the target has classes.

    Sums over few rows can disclose them: --min-rows refuses to store any.

    \b
    Try:
      separatrix summarize sample:diabetes --target progression -o a.moments
      separatrix summarize sample:wine --target cultivar --min-rows 5 -o b.moments
      separatrix fit a.moments
    """
    out = places.ready_file(out)
    rows = options.scan_table(table, target, **reading)
    from separatrix.rows.parts import Parts
    from separatrix.storage import save_moments
    from separatrix.storage import summarize as summarized
    from separatrix.study.tasks import CLASSIFICATION, refuse_many_classes

    stored = summarized(rows, Parts(seed, test, folds), min_rows=min_rows)
    n_classes, n = len(classes_of(stored)), sum(stored.counts.values())
    many = refuse_many_classes(n_classes, n, stored.schema.targets[0], CLASSIFICATION)
    save_moments(stored, out)
    counts = {str(part): count for part, count in sorted(stored.counts.items())}
    if as_json:
        about: dict[str, Any] = {"rows": sum(counts.values()), "parts": counts}
        about |= {"classes": classes_of(stored), "min_rows": min_rows}
        output.print_json({"moments": str(out), **about, **options.travel_document(rows)})
        return
    for note in (*rows.notes, *many, *options.describe_travel(rows)):
        output.say(f"· {options.with_flags(note)}")
    click.echo(str(out))
    file = shlex.quote(str(out))
    output.say(
        f"Next: separatrix fit {file}, or separatrix merge {file} OTHER.moments -o ALL.moments"
    )


def classes_of(stored: StoredMoments) -> dict[str, int]:
    """Rows by class; none of a numeric target."""
    values: dict[str, int] = {}
    for _, level, moments in stored.cells():
        if level is not None:
            values[level] = values.get(level, 0) + moments.count
    return dict(sorted(values.items()))


@click.command(short_help="Merge the moments of several tables.")
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@min_rows_option
@options.json_option
def merge(files: tuple[str, ...], out: Path, min_rows: int, as_json: bool) -> None:
    """Merge the moments in FILES: their sum is the moments of all rows.

    \b
    Try:
      separatrix merge a.moments b.moments -o ab.moments
      separatrix fit ab.moments
    """
    out = places.ready_file(out)
    from separatrix.storage import load_moments, save_moments

    total = _check_stored(files[0], load_moments(files[0]), min_rows)
    for file in files[1:]:
        other = _check_stored(file, load_moments(file), min_rows)
        try:
            total = total + other
        except InputError as problem:
            what = f"{files[0]} (first) and {file} (second): {problem.what}"
            raise InputError(what, remedy=problem.remedy) from problem
    total.require_rows(min_rows)
    save_moments(total, out)
    rows = sum(total.counts.values())
    if as_json:
        output.print_json({"moments": str(out), "rows": rows, "files": list(files)})
        return
    click.echo(str(out))
    tables = f"{len(files)} table{'s' * (len(files) > 1)}"
    output.say(f"{rows} rows of {tables}. Next: separatrix fit {shlex.quote(str(out))}")


def _check_stored(file: str, stored: StoredMoments, least: int) -> StoredMoments:
    """The moments of a file, none of which is a sum over fewer rows."""
    try:
        stored.require_rows(least)
    except InputError as problem:
        raise InputError(problem.what, file=file, remedy=problem.remedy) from problem
    return stored
