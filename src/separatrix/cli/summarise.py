"""``separatrix summarise``: a table reduced to moments, which can travel where rows may not."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from separatrix.cli.failure import for_the_command
from separatrix.cli.options import json_option, reading_options, scanned, split_options
from separatrix.cli.output import print_json, say
from separatrix.messages import InputError


@click.command(short_help="Reduce a table to moments that can be merged and fitted.")
@click.argument("table")
@click.option("--target", metavar="COLUMN", required=True, help="The column to predict.")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@split_options
@reading_options
@json_option
def summarise(
    table: str,
    target: str,
    out: Path,
    as_json: bool,
    seed: int,
    test: float,
    folds: int,
    **reading: Any,
) -> None:
    """Read TABLE once and keep its moments by fold; no row can be read back from them one by one.

    \b
    Try:
      separatrix summarise sample:diabetes --target progression -o a.moments
      separatrix fit a.moments
    """
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
        print_json({"moments": str(out), "rows": sum(counts.values()), "parts": counts})
        return
    for note in rows.notes:
        say(f"· {for_the_command(note)}")
    click.echo(str(out))
    file = shlex.quote(str(out))
    say(f"Next: separatrix fit {file}, or separatrix merge {file} OTHER.moments -o ALL.moments")


def _refuse(missing: str, target: Any) -> None:
    if missing == "regress":
        raise InputError(
            "Filling gaps by regression needs the rows again and again.",
            remedy="Summarise with --missing mean or --missing indicator.",
        )
    if target.kind != "numeric":
        raise InputError(
            "moments serve regression, and this target holds words or true/false.",
            column=target.name,
            remedy="Name a column of numbers as target, or fit the table itself.",
        )
