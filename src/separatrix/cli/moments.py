"""``separatrix summarize`` and ``merge``: moments of tables, for rows that may not be shared."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli import options
from separatrix.cli.output import print_json, say
from separatrix.cli.places import ready_file
from separatrix.messages import InputError

if TYPE_CHECKING:
    from separatrix.storage import StoredMoments

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
    out = ready_file(out)
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
        print_json({"moments": str(out), **about, **options.travel_document(rows)})
        return
    for note in (*rows.notes, *many, *options.describe_travel(rows)):
        say(f"· {options.with_flags(note)}")
    click.echo(str(out))
    file = shlex.quote(str(out))
    say(f"Next: separatrix fit {file}, or separatrix merge {file} OTHER.moments -o ALL.moments")


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
    out = ready_file(out)
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
        print_json({"moments": str(out), "rows": rows, "files": list(files)})
        return
    click.echo(str(out))
    tables = f"{len(files)} table{'s' * (len(files) > 1)}"
    say(f"{rows} rows of {tables}. Next: separatrix fit {shlex.quote(str(out))}")


def _check_stored(file: str, stored: StoredMoments, least: int) -> StoredMoments:
    """The moments of a file, none of which is a sum over fewer rows."""
    try:
        stored.require_rows(least)
    except InputError as problem:
        raise InputError(problem.what, file=file, remedy=problem.remedy) from problem
    return stored
