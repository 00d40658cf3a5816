"""Time with 1, 2, 4 … threads, the speed-up, and the serial share of a one-thread fit.

The serial share is what Amdahl's law leaves: from T(1) and T(p), f = (p T(p)/T(1) − 1) / (p − 1).
Each number of threads has a process of its own, which is limited by SEPARATRIX_THREADS.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from separatrix.threads import available_threads

FITS = """
import json, sys, time, warnings
import numpy as np
import separatrix as sx
warnings.simplefilter("ignore")
small = sys.argv[1] == "quick"
rng = np.random.default_rng(0)

def table(n, d, classes=2):
    n = n // 10 if small else n
    x = rng.standard_normal((n, d))
    w = rng.standard_normal((d, classes)) / np.sqrt(d)
    return x, (x @ w + 0.5 * rng.standard_normal((n, classes))).argmax(axis=1)

tall, narrow, wide = table(500_000, 50, 5), table(300_000, 10), table(20_000, 2_000)
rows, queries = rng.standard_normal((2, 20_000, 64))
svm, merge = table(8_000, 20), rng.standard_normal((1_000 if small else 8_000, 10))
genes, t = rng.standard_normal((300, 2_000 if small else 10_000)), rng.standard_normal(300)
t += genes[:, :20].sum(axis=1)
x3 = rng.standard_normal((2_000 if small else 20_000, 3))
WORK = {
    "moments": lambda: sx.LinearRegression().fit(tall[0], tall[0][:, 0]),
    "logistic": lambda: sx.LogisticRegression(C=1.0).fit(tall[0], tall[1] > 1),
    "logistic, wide": lambda: sx.LogisticRegression(C=1.0).fit(*wide),
    "linear discriminant": lambda: sx.LinearDiscriminantAnalysis().fit(*tall),
    "quadratic discriminant": lambda: sx.QuadraticDiscriminantAnalysis().fit(*tall),
    "K-means": lambda: sx.KMeans(50, n_init=1, random_state=0).fit(narrow[0]),
    "neighbors, 3 columns": lambda: sx.NearestNeighbors(n_neighbors=10).fit(x3).kneighbors(x3),
    "neighbors, 64 columns": lambda: (
        sx.NearestNeighbors(n_neighbors=10).fit(rows).kneighbors(queries)
    ),
    "silhouettes": lambda: sx.silhouette(rows[:, :10], np.arange(len(rows)) % 5),
    "kernel rows": lambda: sx.kernels.Gaussian(1.0)(rows[:6_000], rows[:6_000]),
    "Gaussian SVC": lambda: sx.SVC().fit(*svm),
    "linkage": lambda: sx.AgglomerativeClustering(5, linkage="average").fit(merge),
    "linear SVM": lambda: sx.LinearSVC(loss="hinge", C=1.0).fit(tall[0], tall[1] > 1),
    "wide lasso path": lambda: sx.LassoPath().fit(genes, t),
}
found = {}
for name, work in WORK.items():
    work()  # compiled and loaded
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    found[name] = best
print(json.dumps(found))
"""

#: From one to two threads, at least; the share that may be serial.
WANTED = {
    "Gaussian SVC": (1.6, 0.12),
    "linkage": (1.6, 0.12),
    "linear SVM": (1.5, 0.18),
    "wide lasso path": (1.5, 0.18),
}


def seconds(threads: int, quick: bool) -> dict[str, float]:
    """Seconds of every piece of work in a process limited to so many threads."""
    limits = {"SEPARATRIX_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", FITS, "quick" if quick else "full"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **limits},
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(quick: bool = False) -> None:
    most = available_threads()
    counts = sorted({*(2**i for i in range(most.bit_length()) if 2**i <= most), most})
    times = {count: seconds(count, quick) for count in counts}
    print("\n## Seconds by number of threads, speed-up, serial share")
    print(f"{'':26}" + "".join(f"{count:>8}" for count in counts) + "   speed-up  serial   wanted")
    for name, alone in times[1].items():
        line = f"{name:26}" + "".join(f"{times[count][name]:8.3f}" for count in counts)
        if most > 1:
            speed_up = alone / times[most][name]
            serial = max(0.0, (most / speed_up - 1.0) / (most - 1.0))
            ratio, share = WANTED.get(name, (1.8, 0.06))
            wanted = f"{ratio:.1f} from 1 to 2, {share:.0%}"
            line += f"   {speed_up:7.2f}× {serial:7.1%}   {wanted}"
        print(line)


if __name__ == "__main__":
    main("--quick" in sys.argv)
