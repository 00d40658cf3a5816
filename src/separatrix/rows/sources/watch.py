"""Work of a library that does not look up while it works: limited, and open to interruption.

It is done in a thread of its own while this one waits, so that Ctrl-C and the limits act at once.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from separatrix.messages import InputError
from separatrix.rows.notations import Limits

T = TypeVar("T")


#: Threads that were given up and work on: a process should not wait for them.
LOST: list[threading.Thread] = []


class Watch:
    """What one query or workbook takes; ``stop`` asks the library to end its work.

    ``computed`` says that nothing but the limits bounds the rows and the time of all of them, as
    of a query; else the time counts anew for each piece of work.
    """

    def __init__(
        self, limits: Limits, path: str, what: str, stop: Callable[[], Any], *, computed: bool
    ) -> None:
        self.limits, self.path, self.what, self.stop = limits, path, what, stop
        self.computed = computed
        written = "Check that it has an end, write its result to a table"
        self._instead = "Save the sheet as CSV" if what == "the workbook" else written
        self.lost = False
        self._spent, self._rows = 0.0, 0

    def __call__(self, work: Callable[[], T]) -> T:
        """The result of ``work``, or its error; or a refusal by the limits."""
        begun, before = time.monotonic(), _memory()
        finished, outcome = threading.Event(), _Outcome()

        def run() -> None:
            try:
                outcome.value = work()
            except BaseException as error:  # a panic of a library is no Exception
                outcome.error = error
            finally:
                finished.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            while not finished.wait(0.05):  # seconds between two looks at the limits
                self._check(self._spent + time.monotonic() - begun, _memory() - before)
        except BaseException:
            self.stop()
            if not finished.wait(1.0):  # seconds in which work that is stopped usually ends
                self.lost = True
                LOST.append(thread)
            raise
        if self.computed:
            self._spent += time.monotonic() - begun
            self._check(self._spent, 0.0)
        if outcome.error is not None:
            raise outcome.error
        value: T = outcome.value
        return value

    def count(self, rows: int) -> None:
        """Add rows of the result."""
        self._rows += rows
        if self.computed and self._rows > self.limits.rows:
            raise self._refusal("rows", f"has more than {self.limits.rows:,.0f} rows")

    def _check(self, seconds: float, memory: float) -> None:
        if seconds > self.limits.seconds:
            raise self._refusal("seconds", f"takes more than {self.limits.seconds:g} seconds")
        if memory > self.limits.bytes:
            gigabytes = f"{self.limits.bytes / 2**30:.3g}"
            raise self._refusal("bytes", f"takes more than {gigabytes} GB of memory")

    def _refusal(self, name: str, what: str) -> InputError:
        return InputError(
            f"{self.what} {what}.",
            file=self.path,
            remedy=f"{self._instead} and give that, or raise the limit: "
            f"{describe_limit(self.limits, name)}.",
        )


def describe_limit(limits: Limits, name: str) -> str:
    """The parameter that makes a limit ten times as large."""
    return f"limits={{'{name}': {10 * getattr(limits, name):.3g}}}"


class _Outcome:
    value: Any = None
    error: BaseException | None = None


def _memory() -> float:
    """Bytes of memory that this process takes now, or has taken at most; 0 if nothing tells."""
    try:
        return 4096.0 * int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return 0.0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(used if sys.platform == "darwin" else 1024 * used)
