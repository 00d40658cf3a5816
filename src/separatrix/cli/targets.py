"""``separatrix fit TABLE --target A --target B``: a study of each, and a page that leads to them.

    PLACE/report.html        the targets side by side, with links to their pages
    PLACE/result.json        {"targets": {"A": {"directory": "A", "winner": …, "test": …}, …}}
    PLACE/A, PLACE/B         a study each, as ``fit`` writes it

No target is a column of another one's model: it would not be known when that one is predicted.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from separatrix.cli import options, output, places
from separatrix.cli.failure import SCHEMA_VERSION, GateFailed
from separatrix.messages import InputError


def fit_targets(
    context: click.Context, table: str, targets: Sequence[str], place: Path, as_json: bool
) -> None:
    """A study of each target in a directory of its own, and the page and the document of all."""
    if len(set(targets)) < len(targets):
        raise InputError("--target names a column twice.", remedy="Name each target once.")
    if table.endswith(".moments"):
        raise InputError(
            "moments have one target.", file=table, remedy="Leave --target out, or give the table."
        )
    places.ready(place).mkdir(exist_ok=True)
    studies: dict[str, Any] = {}
    failed: list[str] = []
    for name, folder in zip(targets, folders_of(targets), strict=True):
        output.say(f"Target {name}, {len(studies) + 1} of {len(targets)}", quiet=as_json)
        others = [other for other in targets if other != name]
        try:
            _run(context, table, name, others, place / folder, as_json)
        except GateFailed as gate:
            failed.append(f"{name}: {gate}")
        studies[name] = _summarize(place / folder / places.RESULT, folder)
    document = {"targets": studies}
    _write(document, place)
    if as_json:
        output.print_json({**document, "directory": str(place), "failed": failed})
        context.exit(1 if failed else 0)
    _print(studies, place)
    if failed:
        raise GateFailed("; ".join(failed))


def folders_of(targets: Sequence[str]) -> list[str]:
    """A name of a directory for each target: its letters and digits, told apart where alike."""
    folders: list[str] = []
    for i, target in enumerate(targets, start=1):
        plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in target).strip("-")
        known = {folder.lower() for folder in folders}
        folders.append(plain if plain and plain.lower() not in known else f"{plain}-{i}".strip("-"))
    return folders


def studies_in(model: str) -> dict[str, Path]:
    """The directory of each target's study, where ``fit`` was given several; else nothing."""
    place = Path(model)
    if (
        not place.is_dir()
        or (place / places.MODEL).exists()
        or not (place / places.RESULT).is_file()
    ):
        return {}
    document = json.loads((place / places.RESULT).read_text(encoding="utf-8"))
    return {name: place / each["directory"] for name, each in document.get("targets", {}).items()}


def _run(
    context: click.Context, table: str, target: str, others: list[str], out: Path, as_json: bool
) -> None:
    """The same command for one target; what it would print as JSON is in its ``result.json``."""
    words = [table, "--target", target, "--out", str(out)]
    words += [word for other in others for word in ("--kind", f"{other}=ignore")]
    for option in context.command.params:
        name = option.name or ""
        if not isinstance(option, click.Option) or not options.was_given(context, name):
            continue
        if name in ("targets", "out"):
            continue
        value = context.params[name]
        flag = option.secondary_opts[0] if value is False else option.opts[0]
        for item in value if isinstance(value, tuple) else (value,):
            words += [flag] if option.is_flag else [flag, str(item)]
    one = context.command.make_context("fit", words)
    printed = io.StringIO() if as_json else None
    with contextlib.redirect_stdout(printed) if printed else contextlib.nullcontext():
        try:
            context.command.invoke(one)
        except click.exceptions.Exit as end:
            if end.exit_code and printed is not None:
                gates = json.loads(printed.getvalue())["gates"]
                messages = [gate["message"] for gate in gates if not gate["passed"]]
                raise GateFailed("; ".join(messages)) from end


def _summarize(result: Path, folder: str) -> dict[str, Any]:
    """What the document of all targets has of one."""
    document = json.loads(result.read_text(encoding="utf-8"))
    wanted = ("task", "winner", "reason", "test", "baseline_test")
    return {"directory": folder, **{name: document[name] for name in wanted}}


def _write(document: dict[str, Any], place: Path) -> None:
    from separatrix.report.targets import write_targets
    from separatrix.storage.files import write_text

    text = json.dumps({"schema_version": SCHEMA_VERSION, **document}, ensure_ascii=False, indent=2)
    write_text(place / places.RESULT, text + "\n")
    write_targets(document["targets"], place / places.REPORT)


def _print(studies: dict[str, Any], place: Path) -> None:
    from separatrix.report.targets import leading_score

    heads = [
        output.OutputColumn(head) for head in ("target", "model", "on the test set", "baseline")
    ]
    rows = [
        [name, study["winner"], leading_score(study["test"]), leading_score(study["baseline_test"])]
        for name, study in studies.items()
    ]
    output.print_table(heads, rows)
    files = f"{places.REPORT} and {places.RESULT}"
    output.say(f"Wrote {files} to {place}/, and a study of each target beside them.")
    output.say(f"Next: separatrix predict {place} NEW.csv")
