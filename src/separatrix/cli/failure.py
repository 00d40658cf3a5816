"""How a command says that it failed: a sentence on standard error, or JSON on standard output."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

#: Version of every JSON document that the command prints or writes.
SCHEMA_VERSION = 1


class GateFailed(Exception):
    """A score that was asked for was not reached."""


def describe(kind: str, message: str, as_json: bool, **place: Any) -> None:
    """Tell the user; ``place`` holds file, row, column and remedy where they are known."""
    if as_json:
        known = {key: value for key, value in place.items() if value is not None}
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
