"""Time with 1, 2, 4 … threads, and what a one-thread fit leaves serial.

A one-thread fit is profiled: what runs outside of work that :mod:`separatrix.threads` cuts is its
serial share, and a call of m pieces takes ⌈m/16⌉/m of its time on 16 threads. Both together give
the speed-up that 16 processors could reach. Each number of threads has a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from separatrix import threads

MANY = 16


class Profile:
    """Seconds within the outermost calls that cut work, and what 16 threads would take."""

    def __init__(self) -> None:
        self.inside, self.on_many, self.depth = 0.0, 0.0, 0
        self.original = threads.parallel_map

    def parallel_map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        with self.cut_into(len(items)):
            return self.original(work, items)

    def on_threads(self, work: Callable[[], None], most: int) -> None:
        with self.cut_into(most):
            self.original(lambda _: work(), range(min(threads.thread_count(), most)))

    @contextmanager
    def cut_into(self, count: int) -> Iterator[None]:
        if self.depth or count < 2:  # one piece may be cut further within
            yield
            return
        self.depth += 1
        start = time.perf_counter()
        try:
            yield
        finally:
            self.depth -= 1
            seconds = time.perf_counter() - start
            self.inside += seconds
            self.on_many += seconds * -(-count // MANY) / count


profile = Profile()
# before the models are imported, which take these from there
threads.parallel_map, threads.on_threads = profile.parallel_map, profile.on_threads

import separatrix as sx  # noqa: E402

rng = np.random.default_rng(0)


def table(n: int, d: int, classes: int = 2) -> tuple[Any, Any]:
    x = rng.standard_normal((n, d))
    w = rng.standard_normal((d, classes)) / np.sqrt(d)
    return x, (x @ w + 0.5 * rng.standard_normal((n, classes))).argmax(axis=1)


def tall(size: int) -> tuple[Any, Any]:
    return table(500_000 // size, 50, 5)


def moments(size: int) -> Callable[[], object]:
    x, _ = tall(size)
    y = x.sum(axis=1) + rng.standard_normal(len(x))
    return lambda: sx.LinearRegression().fit(x, y)


def logistic(size: int) -> Callable[[], object]:
    x, y = tall(size)
    return lambda: sx.LogisticRegression(C=1.0).fit(x, y > 1)


def wide_logistic(size: int) -> Callable[[], object]:
    x, y = table(20_000 // size, 2_000)
    return lambda: sx.LogisticRegression(C=1.0).fit(x, y)


def linear_discriminant(size: int) -> Callable[[], object]:
    x, y = tall(size)
    return lambda: sx.LinearDiscriminantAnalysis().fit(x, y)


def quadratic_discriminant(size: int) -> Callable[[], object]:
    x, y = tall(size)
    return lambda: sx.QuadraticDiscriminantAnalysis().fit(x, y)


def kmeans(size: int) -> Callable[[], object]:
    x, _ = table(300_000 // size, 10)
    return lambda: sx.KMeans(50, n_init=1, random_state=0).fit(x)


def neighbors(size: int, d: int) -> Callable[[], object]:
    x = rng.standard_normal((40_000 // size, d))
    return lambda: sx.NearestNeighbors(n_neighbors=10).fit(x).kneighbors(x)


def silhouettes(size: int) -> Callable[[], object]:
    x = rng.standard_normal((20_000 // size, 10))
    return lambda: sx.silhouette(x, np.arange(len(x)) % 5)


def kernel_rows(size: int) -> Callable[[], object]:
    x = rng.standard_normal((8_000 // size, 64))
    return lambda: sx.kernels.Gaussian(1.0)(x, x)


def gaussian_svc(size: int) -> Callable[[], object]:
    x, y = table(20_000 // size, 20)
    return lambda: sx.SVC().fit(x, y)


def linkage(size: int) -> Callable[[], object]:
    x = rng.standard_normal((8_000 // size, 10))
    return lambda: sx.AgglomerativeClustering(5, linkage="average").fit(x)


def linear_svm(size: int) -> Callable[[], object]:
    x, y = table(100_000 // size, 50, 5)
    return lambda: sx.LinearSVC(loss="hinge", C=1.0).fit(x, y > 1)


def lasso_path(size: int) -> Callable[[], object]:
    x, t = rng.standard_normal((300, 10_000 // size)), rng.standard_normal(300)
    t += x[:, :20].sum(axis=1)
    return lambda: sx.LassoPath().fit(x, t)


#: Work, the speed-up from one to two threads that is wanted, and the serial share allowed.
WORK: dict[str, tuple[Callable[[int], Callable[[], object]], float, float]] = {
    "moments": (moments, 1.8, 0.06),
    "logistic": (logistic, 1.8, 0.06),
    "logistic, wide": (wide_logistic, 1.8, 0.06),
    "linear discriminant": (linear_discriminant, 1.8, 0.06),
    "quadratic discriminant": (quadratic_discriminant, 1.8, 0.06),
    "K-means": (kmeans, 1.8, 0.06),
    "neighbors, 3 columns": (lambda size: neighbors(size, 3), 1.8, 0.06),
    "neighbors, 64 columns": (lambda size: neighbors(size, 64), 1.8, 0.06),
    "silhouettes": (silhouettes, 1.8, 0.06),
    "kernel rows": (kernel_rows, 1.8, 0.06),
    "Gaussian SVC": (gaussian_svc, 1.6, 0.12),
    "linkage": (linkage, 1.6, 0.12),
    "linear SVM": (linear_svm, 1.5, 0.18),
    "wide lasso path": (lasso_path, 1.5, 0.18),
}


def measure(quick: bool) -> None:
    """Print the best seconds of each piece of work, its serial share, and its limit on 16."""
    warnings.simplefilter("ignore")
    for name, (prepared, _, _) in WORK.items():
        work = prepared(10 if quick else 1)
        work()  # compiled and loaded
        best = (float("inf"), 0.0, 0.0)
        for _ in range(3):
            profile.inside = profile.on_many = 0.0
            start = time.perf_counter()
            work()
            seconds = time.perf_counter() - start
            serial = max(0.0, 1.0 - profile.inside / seconds)
            best = min(best, (seconds, serial, 1.0 / (serial + profile.on_many / seconds)))
        print(json.dumps([name, *best]), flush=True)


def measured(count: int, quick: bool) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Work by name: seconds, serial share and limit in a process with so many threads."""
    limits = {"SEPARATRIX_THREADS": str(count), "OPENBLAS_NUM_THREADS": str(count)}
    command = [sys.executable, __file__, "--measure", *(["--quick"] if quick else [])]
    environment = {**os.environ, **limits}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        for line in child.stdout:
            name, *values = json.loads(line)
            print(f"\r{count} threads: {name:30}", end="", file=sys.stderr, flush=True)
            yield name, tuple(values)
    print(file=sys.stderr)


def main(quick: bool = False) -> None:
    most = threads.available_threads()
    counts = sorted({*(2**i for i in range(most.bit_length()) if 2**i <= most), most})
    times = {count: dict(measured(count, quick)) for count in counts}
    print("\n## Seconds by number of threads; serial share of one thread; limit on 16 processors")
    heads = "".join(f"{count:>8}" for count in counts)
    print(f"{'':24}{heads}   speed-up (wanted)  serial (wanted)   limit on {MANY}")
    for name, (_, ratio, share) in WORK.items():
        alone, serial, limit = times[1][name]
        line = f"{name:24}" + "".join(f"{times[count][name][0]:8.3f}" for count in counts)
        speed_up = f"{alone / times[2][name][0]:.2f}×" if 2 in times else "–"
        line += f"{speed_up:>11} ({ratio:.1f}×){serial:11.1%} ({share:.0%}){limit:12.1f}×"
        print(line)


if __name__ == "__main__":
    (measure if "--measure" in sys.argv else main)("--quick" in sys.argv)
