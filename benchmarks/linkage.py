"""Trees of clusters: complete, average and centroid linkage, and single linkage of many points."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import fastcluster
import genieclust
import numpy as np
from scipy.cluster import hierarchy

from race import race
from separatrix.cluster.linkage import linkage


def main(quick: bool = False) -> None:
    n, many = (2_000, 8_000) if quick else (10_000, 40_000)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 10))
    linkage(x[:300], "single")
    for method in ("complete", "average", "centroid"):
        linkage(x[:300], method)  # compiled and cached
        reference = np.sort(hierarchy.linkage(x, method)[:, 2])
        race(
            f"{method} linkage, {n:,} × 10",
            ("separatrix", lambda method=method: linkage(x, method)),
            peers(x, method),
            note=lambda table, reference=reference: agreement(table[:, 2], reference),
            target=2.0,
        )
    single(rng.standard_normal((many, 5)))


def peers(x: np.ndarray, method: str) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "SciPy": lambda: hierarchy.linkage(x, method),
        "fastcluster": lambda: fastcluster.linkage(x, method),
    }
    if method == "centroid":
        found["fastcluster, from vectors"] = lambda: fastcluster.linkage_vector(x, method)
    return found


def single(x: np.ndarray) -> None:
    """Against spanning trees; heights are compared with fastcluster's."""
    reference = np.sort(fastcluster.linkage_vector(x, "single")[:, 2])

    def genie() -> Any:
        return genieclust.Genie(n_clusters=2, gini_threshold=1.0).fit(x)

    def note(outcome: Any) -> str:
        table = isinstance(outcome, np.ndarray)
        return agreement(outcome[:, 2] if table else outcome.distances_, reference)

    race(
        f"single linkage, {len(x):,} × {x.shape[1]}",
        ("separatrix", lambda: linkage(x, "single")),
        {
            "genieclust": genie,
            "fastcluster, from vectors": lambda: fastcluster.linkage_vector(x, "single"),
        },
        note=note,
        target=1.0,
    )
    whole = 8e-6 * len(x) ** 2
    print(f"peak {memory(len(x)):.0f} MB, Python included; distances alone are {whole:,.0f} MB")


def memory(n: int) -> float:
    """Peak in megabytes of a process that does nothing but single linkage of n points."""
    code = f"""
import numpy as np
from separatrix.cluster.linkage import linkage
linkage(np.random.default_rng(0).standard_normal(({n}, 5)), "single")
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(child.stdout) / 1024


def agreement(heights: np.ndarray, reference: np.ndarray) -> str:
    away = np.abs(np.sort(heights) - reference).max() / reference.max()
    return f"heights agree to {away:.1e}"


if __name__ == "__main__":
    main("--quick" in sys.argv)
