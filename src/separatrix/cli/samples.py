"""``separatrix samples``: the built-in tables, listed or printed."""

from __future__ import annotations

import click

from separatrix.cli.options import json_option
from separatrix.cli.output import print_json


@click.command(short_help="List the built-in tables, or print one as CSV.")
@click.argument("name", required=False)
@json_option
def samples(name: str | None, as_json: bool) -> None:
    """List the built-in tables, or print the table NAME as CSV.

    \b
    Try:
      separatrix samples
      separatrix samples houses > houses.csv
    """
    from separatrix.samples import PREFIX, SAMPLES, sample

    if name is not None:
        click.echo(sample(name.removeprefix(PREFIX)).path.read_text(encoding="utf-8"), nl=False)
        return
    if as_json:
        listed = [
            {"name": s.name, "about": s.about, "target": s.target, "rows": s.rows}
            for s in SAMPLES.values()
        ]
        print_json({"samples": listed})
        return
    for each in SAMPLES.values():
        click.echo(f"{each.name:<10} {each.about}")
        click.echo(f"{'':<10} separatrix fit {PREFIX}{each.name} --target {each.target}")
