"""Failures of a command, as a sentence on standard error or JSON on standard output; and signals.

Ctrl-C, a closed terminal and SIGTERM all arrive as ``KeyboardInterrupt``. A signal that was ignored
from the start, as under ``nohup``, stays ignored.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from separatrix.cli.options import with_flags

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
        with suppress(OSError):
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        return
    label = {"gate": "failed", "interrupted": "interrupted"}.get(kind, "error")
    with suppress(OSError):
        sys.stderr.write(f"{label}: {message}\n")
        sys.stderr.flush()


#: The signals that end a command; not every system has them all.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interruptions:
    """While entered, signals that end a command interrupt it; ``code`` is its exit code then."""

    def __init__(self) -> None:
        self.code = 128 + signal.SIGINT
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruptions:
        mortal = (number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL)
        self._before = _handled_by(self._interrupt, mortal)
        return self

    def __exit__(self, *_: object) -> None:
        _restore(self._before)

    def _interrupt(self, number: int, _: object) -> None:
        self.code = 128 + number
        raise KeyboardInterrupt


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A few steps that belong together: a signal that arrives during them acts afterwards."""
    waiting: list[int] = []
    heeded = (number for number in ENDING if callable(signal.getsignal(number)))
    before = _handled_by(lambda number, _: waiting.append(number), heeded)
    try:
        yield
    finally:
        _restore(before)
        if waiting:
            signal.raise_signal(waiting[0])


def _handled_by(handler: Callable[[int, Any], Any], numbers: Iterator[int]) -> dict[int, Any]:
    """Install the handler, as the main thread alone may; the handlers there were."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.signal(number, handler) for number in numbers}


def _restore(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
