"""How a command says that it failed: a sentence on standard error, or JSON on standard output."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from typing import Any

#: Version of every JSON document that the command prints or writes.
SCHEMA_VERSION = 2


class GateFailed(Exception):
    """A score that was asked for was not reached."""


_PYTHON = (
    (re.compile(r"kinds=\{'([^']*)': '(\w+)'\}"), r"--kind \1=\2"),
    (re.compile(r"\b(missing|unseen|task|weight)='([^']*)'"), r"--\1 \2"),
    (re.compile(r"scan\(…, (--\w+ \w+)\)"), r"\1"),
)


def for_the_command(text: str) -> str:
    """A remedy written for Python, in the words of the command line."""
    for pattern, words in _PYTHON:
        text = pattern.sub(words, text)
    return text


def describe(kind: str, message: str, as_json: bool, **place: Any) -> None:
    """Tell the user; ``place`` holds file, row, column and remedy where they are known."""
    message = for_the_command(message)
    if as_json:
        known = {
            key: for_the_command(value) if isinstance(value, str) else value
            for key, value in place.items()
            if value is not None
        }
        error = {"kind": kind, "message": message, **known}
        text = json.dumps({"schema_version": SCHEMA_VERSION, "error": error}, ensure_ascii=False)
        with contextlib.suppress(OSError):
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        return
    label = {"gate": "not reached", "interrupted": "stopped"}.get(kind, "error")
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{label}: {message}\n")
        sys.stderr.flush()
