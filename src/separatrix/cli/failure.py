"""Failures of a command: a sentence on standard error, or JSON on standard output."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

from separatrix.cli.flags import with_flags

#: Version of every JSON document that the command prints or writes.
SCHEMA_VERSION = 3


class GateFailed(Exception):
    """A test score is worse than its limit (``--min-score``)."""


def describe(kind: str, message: str, as_json: bool, **place: Any) -> None:
    """Print the failure; ``place`` holds file, row, column and remedy where they are known."""
    message = with_flags(message)
    if as_json:
        known = {
            key: with_flags(value) if isinstance(value, str) else value
            for key, value in place.items()
            if value is not None
        }
        error = {"kind": kind, "message": message, **known}
        text = json.dumps({"schema_version": SCHEMA_VERSION, "error": error}, ensure_ascii=False)
        with contextlib.suppress(OSError):
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        return
    label = {"gate": "failed", "interrupted": "interrupted"}.get(kind, "error")
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{label}: {message}\n")
        sys.stderr.flush()
