"""``separatrix samples`` and ``explain``: the built-in tables, and the warning codes."""

from __future__ import annotations

from dataclasses import asdict

import click

from separatrix.cli.options import json_option
from separatrix.cli.output import OutputColumn, print_json, print_lines, print_table, say
from separatrix.messages import WARNINGS, InputError, did_you_mean


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
    columns = (
        OutputColumn("name"),
        OutputColumn("rows", right=True),
        OutputColumn("target"),
        OutputColumn("content"),
    )
    rows = [[s.name, f"{s.rows:,}", s.target, s.about] for s in SAMPLES.values()]
    print_table(columns, rows)
    first = next(iter(SAMPLES.values()))
    say(f"Next: separatrix fit {PREFIX}{first.name} --target {first.target}")


@click.command(short_help="What a warning code such as SEP001 means.")
@click.argument("code", required=False)
@json_option
def explain(code: str | None, as_json: bool) -> None:
    """Explain warning CODE, or list all codes.

    \b
    Try:
      separatrix explain SEP001
    """
    wanted = sorted(WARNINGS) if code is None else [code.upper()]
    if wanted[0] not in WARNINGS:
        raise InputError(
            f"There is no warning {code!r}.", remedy=did_you_mean(wanted[0], sorted(WARNINGS))
        )
    if as_json:
        print_json({"warnings": [asdict(WARNINGS[each]) for each in wanted]})
        return
    for each in wanted:
        entry = WARNINGS[each]
        print_lines([f"{entry.code}  {entry.title}"])
        print_lines([entry.reason, f"What to do: {entry.remedy}"])
        if code is not None:
            print_lines([f'Mute it: warnings.filterwarnings("ignore", "{entry.code}")'])
    if code is None:
        say(f"Next: separatrix explain {wanted[0]}")
