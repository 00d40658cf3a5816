"""``separatrix samples``: the built-in tables, listed or printed."""

from __future__ import annotations

import click

from separatrix.cli.options import json_option
from separatrix.cli.output import Column, print_json, print_table, say


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
    columns = (Column("name"), Column("rows", right=True), Column("target"), Column("content"))
    rows = [[s.name, f"{s.rows:,}", s.target, s.about] for s in SAMPLES.values()]
    print_table(columns, rows)
    first = next(iter(SAMPLES.values()))
    say(f"Next: separatrix fit {PREFIX}{first.name} --target {first.target}")
