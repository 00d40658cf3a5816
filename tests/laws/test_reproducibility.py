"""The same seed gives the same bytes: no clock in solvers, no race for compiled code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import separatrix

SOURCE = Path(separatrix.__file__).parent
#: Where time is shown, or limited because the caller asked for it (``time_budget``).
CLOCKS = {
    *("cli/progress.py", "pictures/drawing.py", "svm/problem.py", "svm/tuning/search.py"),
    *("compilation.py", "cli/compiling/command.py"),  # what is shown, not what is computed
    "verification/design.py",  # progress
    "rows/sources/databases/sqlite_guard.py",  # a query without an answer ends in a refusal
}

COLD = """
import numpy as np
from separatrix.cluster.loops.small_tables import pair_distances
rows, out = np.random.default_rng(0).standard_normal((40, 3)), np.empty((40, 40))
pair_distances(rows, np.ascontiguousarray(rows.T), out)
print(out.tobytes().hex())
"""


def test_work_is_never_bounded_by_the_clock() -> None:
    """Operations are counted instead: the load of a machine changes no result."""
    clock = re.compile(r"^\s*(import time|from time import)|perf_counter|monotonic\(", re.MULTILINE)
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if clock.search(path.read_text("utf-8"))
    }
    assert found <= CLOCKS, found - CLOCKS


def test_processes_that_compile_at_the_same_time_agree(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", COLD]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = {process.communicate()[0] for process in started}
    assert all(process.returncode == 0 for process in started)
    assert len(answers) == 1
