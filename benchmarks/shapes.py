"""Every estimator on tables of every shape, beside its twin at the same objective.

    python benchmarks/shapes.py [--only Ridge,Lasso] [--shapes tiny,csr-tall] [--seconds 5]

Each family of :mod:`twins` names its estimators, the twin of each, the arguments of both, the
shapes it takes and its objective, the smaller the better. Where the twin stops at an objective that
is more than a millionth worse, its ``tol`` is divided by ten until it does not or a fit takes more
than three seconds, and that fit is timed. Runs are interleaved, and the best of several counts.
Printed is a table in Markdown: processor seconds of the twin over our own, with our seconds; limit
both to one thread.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import separatrix as sx
from twins import ENTRIES
from twins.entry import SHAPES, Entry


def seconds_of(fit: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    model = fit()
    return time.process_time() - start, model


def same_objective(entry: Entry, arguments: dict[str, Any], own: Any, x: Any, y: Any) -> Any:
    """The twin with the largest ``tol`` at which its objective is not above ours."""
    twin = entry.twin(**arguments, **dict(entry.twin_only))
    if entry.objective is None or "tol" not in twin.get_params():
        return twin
    goal = entry.objective(own, x, y) * (1.0 + 1e-6)
    for _ in range(8):
        seconds, model = seconds_of(lambda: twin.fit(x, y))
        if entry.objective(model, x, y) <= goal or seconds > 3.0:
            break
        twin.set_params(tol=0.1 * twin.tol)
        if isinstance(getattr(twin, "max_iter", None), int):
            twin.set_params(max_iter=10 * twin.max_iter)
    return twin


def race(entry: Entry, shape: str, seconds: float) -> str:
    """One cell of the table: twin over own, and our seconds."""
    x, y = entry.data(shape)
    given = entry.arguments
    arguments = given(x, y) if callable(given) else given
    kind = getattr(sx, entry.name.split()[0])
    own = kind(**arguments)
    seconds_of(lambda: entry.work(own, x, y))  # loops are compiled once
    twin = same_objective(entry, arguments, own, x, y)
    ours, theirs, spent, turn = np.inf, np.inf, 0.0, 0
    while turn < 3 or (spent < seconds and turn < 50):
        a, b = seconds_of(lambda: entry.work(own, x, y))[0], 0.0
        if turn < 2 or theirs < seconds / 2:
            b = seconds_of(lambda: entry.work(twin, x, y))[0]
            theirs = min(theirs, b)
        ours, spent, turn = min(ours, a), spent + a + b, turn + 1
        if spent > 4 * seconds:
            break
    return f"{theirs / ours:.2g}× ({1e3 * ours:.3g} ms)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of estimators, with commas between")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="names of shapes")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each cell")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names, shapes = [name for name in given.only.split(",") if name], given.shapes.split(",")
    print("| | " + " | ".join(shapes) + " |\n|---|" + "---|" * len(shapes))
    for entry in ENTRIES:
        if names and entry.name not in names:
            continue
        print(f"| {entry.name}", end=" ", flush=True)
        for shape in shapes:
            cell = race(entry, shape, given.seconds) if shape in entry.shapes else ""
            print(f"| {cell}", end=" ", flush=True)
        print("|", flush=True)


if __name__ == "__main__":
    main()
