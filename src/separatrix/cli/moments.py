"""``separatrix summarize`` and ``merge``: moments of tables, for rows that may not be shared."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from separatrix.cli.distributed.option import cluster_option, travel_document, traveled
from separatrix.cli.options import (
    json_option,
    reading_options,
    scanned,
    with_flags,
)
from separatrix.cli.output import print_json, say
from separatrix.cli.places import ready_file
from separatrix.cli.validating.options import split_options
from separatrix.messages import InputError


@click.command(short_help="Reduce a table to moments that can be merged and fitted.")
@click.argument("table")
@click.option("--target", metavar="COLUMN", required=True, help="The column to predict.")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@split_options
@reading_options
@cluster_option
@json_option
def summarize(
    table: str,
    target: str,
    out: Path,
    as_json: bool,
    seed: int,
    test: float,
    folds: int,
    **reading: Any,
) -> None:
    """Read TABLE once and store its moments by fold; individual rows cannot be recovered from them.

    \b
    Try:
      separatrix summarize sample:diabetes --target progression -o a.moments
      separatrix fit a.moments
    """
    out = ready_file(out)
    rows = scanned(table, target, **reading)
    _refuse(reading["missing"], rows.schema.targets[0])
    from separatrix.rows.parts import Parts
    from separatrix.statistics.grouped import Grouped
    from separatrix.statistics.moments import Moments
    from separatrix.storage import StoredMoments, save_moments

    parts = Parts(seed, test, folds)
    groups = rows.with_parts(parts).reduce(Grouped(Moments()))
    save_moments(StoredMoments(rows.schema, parts, groups), out)
    counts = {str(part): m.count for part, m in sorted(groups.parts.items())}
    if as_json:
        about = {"rows": sum(counts.values()), "parts": counts}
        print_json({"moments": str(out), **about, **travel_document(rows)})
        return
    for note in (*rows.notes, *traveled(rows)):
        say(f"· {with_flags(note)}")
    click.echo(str(out))
    file = shlex.quote(str(out))
    say(f"Next: separatrix fit {file}, or separatrix merge {file} OTHER.moments -o ALL.moments")


def _refuse(missing: str, target: Any) -> None:
    if missing == "regress":
        raise InputError(
            "Imputation by regression needs several passes over the rows.",
            remedy="Summarize with --missing mean or --missing indicator.",
        )
    if target.kind != "numeric":
        raise InputError(
            "moments are enough for regression, and this target contains text or true/false.",
            column=target.name,
            remedy="Name a numeric column as target, or fit the table itself.",
        )


@click.command(short_help="Merge the moments of several tables.")
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@json_option
def merge(files: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Merge the moments in FILES: their sum is the moments of all rows.

    \b
    Try:
      separatrix merge a.moments b.moments -o ab.moments
      separatrix fit ab.moments
    """
    out = ready_file(out)
    from separatrix.storage import load_moments, save_moments

    total = load_moments(files[0])
    for file in files[1:]:
        other = load_moments(file)
        try:
            total = total + other
        except InputError as problem:
            what = f"{files[0]} (first) and {file} (second): {problem.what}"
            raise InputError(what, remedy=problem.remedy) from problem
    save_moments(total, out)
    rows = sum(m.count for m in total.groups.parts.values())
    if as_json:
        print_json({"moments": str(out), "rows": rows, "files": list(files)})
        return
    click.echo(str(out))
    tables = f"{len(files)} table{'s' * (len(files) > 1)}"
    say(f"{rows} rows of {tables}. Next: separatrix fit {shlex.quote(str(out))}")
