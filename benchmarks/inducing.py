"""Gaussian processes on many rows: inducing points against GPyTorch's, and a Parquet file.

The peer is a stochastic variational process (minibatches of 1024, Adam, points that move) with as
many points; it is given five times the seconds of the own fit, and its density on held-out rows is
shown at that time. Its collapsed bound (SGPR) takes 11 s a step on two cores and is far behind.
"""

from __future__ import annotations

import importlib.util
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


def _gpytorch(x: Any, y: Any, new: Any, y_new: Any, points: int, seconds: float) -> Result:
    """Minibatch Adam for so many seconds; negative log predictive density of the new rows."""
    import gpytorch
    import torch

    torch.manual_seed(0)
    center, scale, n = y.mean(), y.std(), len(y)
    rows, target, others = (
        torch.tensor(v, dtype=torch.float32) for v in (x, (y - center) / scale, new)
    )

    class Process(gpytorch.models.ApproximateGP):  # type: ignore[misc]
        def __init__(self) -> None:
            start = rows[torch.randperm(n)[:points]].clone()
            q = gpytorch.variational.CholeskyVariationalDistribution(points)
            strategy = gpytorch.variational.VariationalStrategy(
                self, start, q, learn_inducing_locations=True
            )
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(ard_num_dims=x.shape[1])
            )

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    model, noise = Process(), gpytorch.likelihoods.GaussianLikelihood()
    adam = torch.optim.Adam([*model.parameters(), *noise.parameters()], lr=0.03)
    bound = gpytorch.mlls.VariationalELBO(noise, model, num_data=n)
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        order = torch.randperm(n)
        for i in range(0, n, 1024):
            batch = order[i : i + 1024]
            adam.zero_grad()
            loss = -bound(model(rows[batch]), target[batch])
            loss.backward()
            adam.step()
            steps += 1
            if time.perf_counter() - start >= seconds:
                break
    taken = time.perf_counter() - start
    model.eval(), noise.eval()
    with torch.no_grad():
        found = noise(model(others))
        mean, variance = found.mean.numpy() * scale + center, found.variance.numpy() * scale**2
    density = sx.PredictiveDistribution(mean, np.sqrt(variance)).log_density(y_new).mean()
    return Result("GPyTorch, SVGP", taken, f"-log density {-density:.4f}, {steps} steps")


def held_out(quick: bool) -> None:
    """100 000 x 8 with 500 points: density of held-out rows, and seconds."""
    n, points = (20_000, 200) if quick else (100_000, 500)
    x, y = table(n + 10_000)
    sx.GaussianProcessRegressor(n_inducing=5).fit(x[:60], y[:60])  # compiles
    start = time.perf_counter()
    model = sx.GaussianProcessRegressor(n_inducing=points, normalize_y=True).fit(x[:n], y[:n])
    seconds = time.perf_counter() - start
    density = model.predictive(x[n:]).log_density(y[n:]).mean()
    results = [Result("separatrix", seconds, f"-log density {-density:.4f}")]
    if importlib.util.find_spec("gpytorch") is not None:
        results.append(_gpytorch(x[:n], y[:n], x[n:], y[n:], points, 5.0 * seconds))
    show(f"Gaussian process, {n} x 8, {points} inducing points", "separatrix", results, 5.0)


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
