"""``separatrix samples`` and ``explain``: the built-in tables, and the warning codes."""

from __future__ import annotations

from dataclasses import asdict

import click

from separatrix.cli import options, output
from separatrix.messages import WARNINGS, InputError, did_you_mean


@click.command(short_help="List the built-in tables, or print one as CSV.")
@click.argument("name", required=False)
@options.json_option
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
        output.print_json({"samples": listed})
        return
    columns = (
        output.OutputColumn("name"),
        output.OutputColumn("rows", right=True),
        output.OutputColumn("target"),
        output.OutputColumn("content"),
    )
    rows = [[s.name, f"{s.rows:,}", s.target, s.about] for s in SAMPLES.values()]
    output.print_table(columns, rows)
    first = next(iter(SAMPLES.values()))
    output.say(f"Next: separatrix fit {PREFIX}{first.name} --target {first.target}")


@click.command(short_help="What a warning code such as SEP001 means.")
@click.argument("code", required=False)
@options.json_option
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
        output.print_json({"warnings": [asdict(WARNINGS[each]) for each in wanted]})
        return
    for each in wanted:
        entry = WARNINGS[each]
        output.print_lines([f"{entry.code}  {entry.title}"])
        output.print_lines([entry.reason, f"What to do: {entry.remedy}"])
        if code is not None:
            output.print_lines([f'Mute it: warnings.filterwarnings("ignore", "{entry.code}")'])
    if code is None:
        output.say(f"Next: separatrix explain {wanted[0]}")
