"""Gaussian processes on many rows: inducing points against GPyTorch's, and a Parquet file.

The peer is GPyTorch's stochastic variational process with as many points (``svgp.py``, by Adam and
by natural gradients); it is given five times the processor seconds of the own fit, and its density
on held-out rows is shown at that time. It runs where ``GPYTORCH_PYTHON`` names an interpreter that
has it, or this one has. Its collapsed bound (SGPR) takes 11 s a step on two cores and is far
behind.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import separatrix as sx
from race import Result, show


def table(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Eight columns, six of which count; noise of standard deviation 0.3."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8))
    f = 2 * np.sin(1.5 * x[:, 0]) * np.cos(x[:, 1]) + np.tanh(2 * x[:, 2]) * x[:, 3]
    f += 0.5 * x[:, 4] ** 2 * np.exp(-(x[:, 4] ** 2) / 4) + 0.7 * np.sin(x[:, 5] + x[:, 0])
    return x, f + 0.3 * rng.normal(size=n)


def _gpytorch(rows: dict[str, Any], points: int, seconds: float) -> list[Result]:
    """Both ways of training for so many processor seconds; none without GPyTorch."""
    python = os.environ.get("GPYTORCH_PYTHON", sys.executable)
    if python == sys.executable and importlib.util.find_spec("gpytorch") is None:
        return []
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, **rows)
        for method in ("adam", "natural"):
            script = str(Path(__file__).with_name("svgp.py"))
            command = [python, "-W", "ignore", script, str(path), str(points), str(seconds), method]
            lines = subprocess.check_output(command, text=True).strip().splitlines()
            taken, epochs, loss = (float(v) for v in lines[-1].split())
            note = f"-log density {loss:.4f}, {epochs:.1f} epochs"
            results.append(Result(f"GPyTorch, SVGP, {method}", taken, note))
    return results


def held_out(quick: bool) -> None:
    """100 000 x 8 with 500 points: density of held-out rows, and processor seconds."""
    n, points = (20_000, 200) if quick else (100_000, 500)
    x, y = table(n + 10_000)
    sx.GaussianProcessRegressor(n_inducing=5).fit(x[:60], y[:60])  # compiles
    start = time.process_time()
    model = sx.GaussianProcessRegressor(n_inducing=points, normalize_y=True).fit(x[:n], y[:n])
    seconds = time.process_time() - start
    density = model.predictive(x[n:]).log_density(y[n:]).mean()
    results = [Result("separatrix", seconds, f"-log density {-density:.4f}")]
    rows = {"x": x[:n], "y": y[:n], "x_new": x[n:], "y_new": y[n:]}
    results += _gpytorch(rows, points, 5.0 * seconds)
    title = f"Gaussian process, {n} x 8, {points} inducing points, processor seconds"
    show(title, "separatrix", results, 5.0)


FIT = """
import sys, time
import separatrix as sx
start = time.perf_counter()
rows = sx.scan(sys.argv[1], target="y")
model = sx.GaussianProcessRegressor(n_inducing=int(sys.argv[2]), normalize_y=True).fit(rows)
seconds = time.perf_counter() - start
peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
n = model.inducing_.count
low, high = (bound / n for bound in model.evidence_bounds_)
print(f"{seconds} {n:,} rows, log evidence {low:.3f} to {high:.3f} a row, peak {peak:.0f} MB")
"""


def parquet(quick: bool) -> None:
    """Five million rows from a file, in less than 1 GB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, points, chunk = (200_000, 50, 100_000) if quick else (5_000_000, 100, 500_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        writer = None
        for part in range(n // chunk):
            x, y = table(chunk, part)
            rows = pa.table({**{f"x{j}": x[:, j] for j in range(8)}, "y": y})
            writer = writer or pq.ParquetWriter(path, rows.schema)
            writer.write_table(rows, row_group_size=65_536)
        assert writer is not None
        writer.close()
        command = [sys.executable, "-c", FIT, str(path), str(points)]
        seconds, note = subprocess.check_output(command, text=True).strip().split(" ", 1)
    result = [Result("separatrix", float(seconds), note)]
    show(
        f"Gaussian process of a Parquet file, {points} inducing points", "separatrix", result, None
    )


def main(quick: bool = False) -> None:
    """Both, in turn."""
    held_out(quick)
    parquet(quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
