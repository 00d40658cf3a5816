"""The same seed gives the same bytes: no clock in solvers, no race for compiled code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from inspect import getattr_static, isfunction
from pathlib import Path

import pytest

import separatrix
from separatrix.estimators.base import RowsEstimator
from tests.registry import REGISTRY, Row

SOURCE = Path(separatrix.__file__).parent
#: Where time is shown, or limited because the caller asked for it (``time_budget``).
CLOCKS = {
    *("cli/progress.py", "pictures/svg.py", "svm/problem.py", "svm/tuning.py"),
    *("compilation.py", "cli/compile.py"),  # what is shown, not what is computed
    *("verification/design.py", "study/announcement.py"),  # progress
    "rows/sources/databases.py",  # a query without an answer ends in a refusal
    "rows/sources/watch.py",  # as does any library that reads a table
    "temporary.py",  # how old the leftovers of a killed run are
}

COLD = """
import numpy as np
from separatrix.cluster.loops import distance_sums
from separatrix.cluster.loops import pair_distances
rows, out = np.random.default_rng(0).standard_normal((442, 12)), np.empty((442, 442))
pair_distances(rows, np.ascontiguousarray(rows.T), out)
columns, sums = np.ascontiguousarray(rows.T, dtype=np.float32), np.empty((442, 4))
distance_sums(columns, np.array([0, 72, 200, 331, 442]), 0, 442, sums)
print(hash(out.tobytes()), hash(sums.tobytes()))
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


def test_processes_that_compile_and_those_that_load_agree(tmp_path: Path) -> None:
    """Two compile at the same time, one loads all, one only the loops that another one calls."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONHASHSEED": "0"}

    def answers(processes: int) -> set[str]:
        command = [sys.executable, "-W", "ignore", "-c", COLD]
        started = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        printed = {process.communicate()[0] for process in started}
        assert all(process.returncode == 0 for process in started)
        return printed

    found = answers(2) | answers(1)
    callers = list(tmp_path.rglob("*distance_sums*"))
    assert callers
    for stored in callers:
        stored.unlink()
    assert len(found | answers(1)) == 1


#: Methods with matrix work.
COMPUTING = (
    *("fit", "partial_fit", "predict", "predict_proba", "decision_function", "score_samples"),
    *("transform", "predictive", "predict_interval", "sample", "tune", "fit_tuned"),
)


@pytest.mark.parametrize(
    "row",
    [row for row in REGISTRY if isinstance(row.make(), RowsEstimator)],
    ids=lambda row: row.name,
)
def test_methods_do_not_depend_on_the_threads_of_blas(row: Row) -> None:
    """Each is decorated where it is written."""
    model = type(row.make())
    for name in COMPUTING:
        method = getattr_static(model, name, None)
        if isfunction(method) and method.__module__.startswith("separatrix."):
            assert hasattr(method, "__wrapped__"), f"{method.__qualname__} is not decorated"
