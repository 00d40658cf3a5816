"""Failures of a command, as a sentence on standard error or JSON on standard output; and signals.

Ctrl-C, a closed terminal and SIGTERM all arrive as ``KeyboardInterrupt``. A signal that was ignored
from the start, as under ``nohup``, stays ignored. One that arrives while a loop is being compiled
waits until it is: raised there, it could leave the compiler locked, or be lost in a callback.
"""

from __future__ import annotations

import _thread
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from separatrix.cli import ENDING, end_at_once, options

#: Version of every JSON document that the command prints or writes.
SCHEMA_VERSION = 4


class GateFailed(Exception):
    """A test score is worse than its limit (``--min-score``)."""


class Interrupted(KeyboardInterrupt):
    """An interruption with something to say; ``found`` is what JSON gives beside the message."""

    def __init__(self, message: str, found: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.found = found or {}


def describe(kind: str, message: str, as_json: bool, **place: Any) -> None:
    """Print the failure; ``place`` holds file, row, column and remedy where they are known."""
    message = options.with_flags(message)
    if as_json:
        known = {
            key: options.with_flags(value) if isinstance(value, str) else value
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
        sys.stderr.write(fill_terminal(f"{label}: {message}", sys.stderr) + "\n")
        sys.stderr.flush()


def fill_terminal(text: str, stream: Any) -> str:
    """A text, broken between words where ``stream`` is a terminal."""
    if not stream.isatty():
        return text
    from shutil import get_terminal_size
    from textwrap import fill

    width = get_terminal_size().columns - 1
    lines = text.splitlines()
    return "\n".join(
        fill(line, width, subsequent_indent="  ", break_on_hyphens=False) for line in lines
    )


class Interruptions:
    """While entered, signals that end a command interrupt it.

    ``happened`` says whether one has, and ``code`` is the exit code then. A second one does not
    wait for the compiler.
    """

    def __init__(self) -> None:
        self.code = 128 + signal.SIGINT
        self.happened = False
        self._before: dict[int, Any] = {}
        self._hook: Callable[[Any], Any] = sys.unraisablehook
        self._again: threading.Timer | None = None
        self._waited = False

    def __enter__(self) -> Interruptions:
        usual = (signal.SIG_DFL, signal.default_int_handler, end_at_once)
        mortal = (number for number in ENDING if signal.getsignal(number) in usual)
        self._before = _install(self._interrupt, mortal)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._ignore
        return self

    def __exit__(self, *_: object) -> None:
        if self._again is not None:
            self._again.cancel()
        sys.unraisablehook = self._hook
        # what is done is done: later signals end the process without words
        early = {n: signal.SIG_DFL for n, old in self._before.items() if old is end_at_once}
        _restore(self._before | early)

    def _interrupt(self, number: int, _: object) -> None:
        self.code = 128 + number
        first, impatient = not self.happened, self.happened and not self._waited
        self.happened, self._waited = True, False
        if _compiling() and not impatient:
            if first and number == signal.SIGINT and os.isatty(2):
                os.write(2, b"\nStopping when a loop is compiled (Ctrl-C again: at once).\n")
            self._send_again()
            return
        raise KeyboardInterrupt

    def _ignore(self, lost: Any) -> None:
        """Python drops an exception that a callback of foreign code or a destructor raises."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            self._send_again()
        else:
            self._hook(lost)

    def _send_again(self) -> None:
        def send() -> None:
            self._waited = True
            number = self.code - 128
            if hasattr(signal, "pthread_kill"):  # which wakes a thread that waits
                signal.pthread_kill(threading.main_thread().ident or 0, number)
            else:
                _thread.interrupt_main(signal.Signals(number))

        # Seconds until an interruption that could not be raised is sent again.
        self._again = threading.Timer(0.02, send)
        self._again.daemon = True
        self._again.start()


def _compiling() -> bool:
    """Whether this thread holds the lock of Numba's compiler, if Numba is there at all."""
    module = sys.modules.get("numba.core.compiler_lock")
    return module is not None and bool(module.global_compiler_lock.is_locked())


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """A few steps that belong together: a signal that arrives during them acts afterwards."""
    waiting: list[int] = []
    heeded = (number for number in ENDING if callable(signal.getsignal(number)))
    before = _install(lambda number, _: waiting.append(number), heeded)
    try:
        yield
    finally:
        _restore(before)
        if waiting:
            signal.raise_signal(waiting[0])


def _install(handler: Callable[[int, Any], Any], numbers: Iterator[int]) -> dict[int, Any]:
    """Install the handler, as the main thread alone may; the handlers there were."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.signal(number, handler) for number in numbers}


def _restore(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
