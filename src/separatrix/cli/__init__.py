"""The command ``separatrix``: one file a command, nothing heavy before it is needed."""

# the part in C: ``signal`` imports for milliseconds what is not needed here
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

#: The signals that end a command; not every system has them all.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
NO_RESULTS = "Interrupted; no partial results were written."


def main(arguments: "Sequence[str] | None" = None) -> None:
    """Run the command and leave with its exit code; an interruption never shows a traceback.

    Until the rest of the command is imported and heeds signals, one of them just ends it.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler)
    for number in ENDING:
        if signal.getsignal(number) in usual:  # one that the parent ignores stays ignored
            signal.signal(number, end_at_once)
    from separatrix.cli.outcome import run

    code = run(list(sys.argv[1:] if arguments is None else arguments))
    watch = sys.modules.get("separatrix.rows.sources.watch")
    # A query that nothing stops would be waited for; a program that calls this goes on.
    if arguments is None and watch is not None and watch.LOST:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    sys.exit(code)


def end_at_once(number: int, _: object) -> None:
    """Leave in words: nothing has been done yet that could be left half done."""
    if "--json" in sys.argv:
        error = f'{{"kind": "interrupted", "message": "{NO_RESULTS}"}}'
        os.write(1, f'{{"schema_version": 4, "error": {error}}}\n'.encode())
    else:
        os.write(2, f"interrupted: {NO_RESULTS}\n".encode())
    os._exit(128 + number)
