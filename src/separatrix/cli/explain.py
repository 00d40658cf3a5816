"""``separatrix explain SEP001``: the documentation entry of a warning code."""

from __future__ import annotations

import click

from separatrix.cli.output import print_json
from separatrix.messages import WARNINGS, InputError


@click.command(short_help="What a warning code such as SEP001 means.")
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain(code: str | None, as_json: bool) -> None:
    """Explain warning CODE, or list all codes.

    \b
    Try:
      separatrix explain SEP001
    """
    wanted = sorted(WARNINGS) if code is None else [code.upper()]
    if wanted[0] not in WARNINGS:
        from difflib import get_close_matches

        near = get_close_matches(wanted[0], WARNINGS, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}?" if near else ""
        raise InputError(f"There is no warning {code!r}.", remedy=hint or "See separatrix explain.")
    if as_json:
        entries = [
            {"code": c, "title": WARNINGS[c].title, "reason": WARNINGS[c].reason} for c in wanted
        ]
        print_json({"warnings": entries})
        return
    for each in wanted:
        entry = WARNINGS[each]
        click.echo(f"{entry.code}  {entry.title}\n  {entry.reason}")
        if code is not None:
            click.echo(f'  Mute it: warnings.filterwarnings("ignore", "{entry.code}")')
