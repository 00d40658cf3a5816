"""``separatrix merge``: summaries of several tables become the summary of all their rows."""

from __future__ import annotations

import shlex
from functools import reduce
from pathlib import Path

import click

from separatrix.cli.options import json_option
from separatrix.cli.output import print_json, say
from separatrix.messages import InputError


@click.command(short_help="Add up moments of several tables.")
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@json_option
def merge(files: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Add up two or more .moments FILES: the model fitted to the sum is that of all rows.

    \b
    Try:
      separatrix merge a.moments b.moments -o ab.moments
      separatrix fit ab.moments
    """
    from separatrix.storage import StoredMoments, load_moments, save_moments

    def add(
        a: tuple[StoredMoments, str], b: tuple[StoredMoments, str]
    ) -> tuple[StoredMoments, str]:
        try:
            return a[0] + b[0], a[1]
        except InputError as problem:
            what = f"{a[1]} (first) and {b[1]} (second): {problem.what}"
            raise InputError(what, remedy=problem.remedy) from problem

    total, _ = reduce(add, [(load_moments(file), file) for file in files])
    save_moments(total, out)
    rows = sum(m.count for m in total.groups.parts.values())
    if as_json:
        print_json({"moments": str(out), "rows": rows, "files": list(files)})
        return
    click.echo(str(out))
    tables = f"{len(files)} table{'s' * (len(files) > 1)}"
    say(f"{rows} rows of {tables}. Next: separatrix fit {shlex.quote(str(out))}")
