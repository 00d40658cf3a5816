"""``study.toml``: the options of a study beside its results, and the same study again from it.

    table = "houses.csv"        the argument as it was typed
    target = "price"            options by their names, without the hyphens before
    drop = ["id", "note"]       those that may be repeated as lists
    [reproduced]                who wrote the file; not read

``separatrix fit study.toml`` reads the options from the file; options that are typed beside it win,
and results go to its folder unless ``--out`` is.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from separatrix import __version__
from separatrix.cli import options
from separatrix.messages import InputError, did_you_mean

END = ".toml"
TABLE, ABOUT = "table", "reproduced"
#: A table that is named by itself: standard input, or a built-in one.
ANYWHERE = ("-", "sample:")


def write_invocation(context: click.Context) -> str:
    """The table and the options that were typed, as TOML."""
    lines = [
        "# Run it again: separatrix fit study.toml",
        f"{TABLE} = {_toml(context.params[TABLE])}",
    ]
    for option in context.command.params:
        name = option.name or ""
        stored = name == "gates" or name not in options.UNSAID
        if isinstance(option, click.Option) and stored and options.was_given(context, name):
            lines.append(f"{_key(option)} = {_toml(context.params[name])}")
    lines += ["", f"[{ABOUT}]", f"separatrix = {_toml(__version__)}"]
    return "\n".join(lines) + "\n"


def _key(option: click.Option) -> str:
    return max(option.opts, key=len).lstrip("-")


def _toml(value: Any) -> str:
    """A value in TOML, whose strings are those of JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


class Repeatable(click.Command):
    """A command whose argument may be the file of an earlier invocation."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options of the file come first, so that those typed beside it win."""
        files = [word for word in args if word.endswith(END) and not word.startswith("-")]
        if len(files) == 1:
            rest = list(args)
            rest.remove(files[0])
            args = [*self._words(Path(files[0])), *rest]
        return super().parse_args(ctx, args)

    def _words(self, file: Path) -> list[str]:
        """What the file says, as it would be typed."""
        given = _read(file)
        known = {_key(p): p for p in self.params if isinstance(p, click.Option)}
        words = [_table_of(given, file)]
        for name, value in given.items():
            if name in (TABLE, ABOUT):
                continue
            option = known.get(name)
            if option is None:
                raise InputError(
                    f"{name!r} is not an option of {self.name}.",
                    file=str(file),
                    remedy=did_you_mean(name, known),
                )
            words += _words_of(option, name, value)
        if "out" in known and "out" not in given:
            words += ["--out", str(file.parent)]
        return words


def _words_of(option: click.Option, name: str, value: Any) -> list[str]:
    if option.is_flag:
        return [option.opts[0]] if value else list(option.secondary_opts[:1])
    values: Sequence[Any] = value if isinstance(value, list) else [value]
    return [word for each in values for word in (f"--{name}", str(each))]


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("does not exist.", file=str(file), remedy="Check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
        raise InputError(
            f"is not TOML ({reason}).", file=str(file), remedy="Write it as study.toml is written."
        ) from reason


def read_invocation(file: Path) -> tuple[str, dict[str, Any]]:
    """The table of an earlier invocation, and its options by name."""
    given = _read(file)
    return _table_of(given, file), given


def _table_of(given: dict[str, Any], file: Path) -> str:
    """The table as it was typed; where there is none now, as seen from beside the file."""
    table = given.get(TABLE)
    if not isinstance(table, str):
        raise InputError(
            "names no table.", file=str(file), remedy='Add a line such as table = "houses.csv".'
        )
    path = table.partition("::")[0]
    if table.startswith(ANYWHERE) or "://" in table or Path(path).exists():
        return table
    for folder in (file.parent, file.parent.parent):
        if (folder / path).exists():
            return str(folder / table)
    return table
