"""A Parquet file of ten million rows: one pass, ridge path and five folds, in little memory.

Each runner has a process of its own, so that the peak of its resident memory is its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from race import Result, show

OWN = """
import sys, time
import numpy as np
import separatrix as sx
from separatrix.rows.loops import hashing
sx.scan, sx.RidgeCV  # imports are not timed, here as with the peers
start = time.perf_counter()
rows = sx.scan(sys.argv[1], target="y")
model = sx.RidgeCV(np.logspace(-2, 6, 50), cv=5).fit(rows)
seconds = time.perf_counter() - start
peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
print(f"{seconds} alpha {model.alpha_:.3g}, first {model.coef_[0]:.6f}, peak {peak:.0f} MB")
"""

SCAN = """
import sys, time
import pyarrow.compute as pc, pyarrow.dataset as ds, pyarrow.parquet as pq
start = time.perf_counter()
sums = {}
for batch in BATCHES:
    for name, column in zip(batch.schema.names, batch.columns):
        sums[name] = sums.get(name, 0.0) + pc.sum(column).as_py()
seconds = time.perf_counter() - start
peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
print(f"{seconds} sums of {len(sums)} columns, peak {peak:.0f} MB")
"""

RUNNERS = {
    "separatrix": OWN,
    "PyArrow dataset scan, sums only": SCAN.replace(
        "BATCHES", "ds.dataset(sys.argv[1]).scanner(batch_size=65536).to_batches()"
    ),
    "PyArrow iter_batches, tuned, sums only": SCAN.replace(
        "BATCHES",
        "pq.ParquetFile(sys.argv[1], buffer_size=1 << 20, pre_buffer=False).iter_batches(65536)",
    ),
}


def write_table(path: Path, n: int, d: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    slope = rng.standard_normal(d - 1)
    names = [f"x{j}" for j in range(d - 1)] + ["y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, 1_000_000):
            m = min(1_000_000, n - start)
            x = rng.standard_normal((d - 1, m))
            y = slope @ x + rng.standard_normal(m)
            writer.write_table(pa.table([*x, y], schema=schema))


def main(quick: bool = False) -> None:
    n, d = (500_000, 20) if quick else (10_000_000, 20)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_table(path, n, d)
        best: dict[str, tuple[float, str]] = {}
        for _ in range(3):
            for name, code in RUNNERS.items():
                done = subprocess.run(
                    [sys.executable, "-c", code, str(path)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                seconds, note = done.stdout.strip().split(" ", 1)
                best[name] = min(best.get(name, (float("inf"), "")), (float(seconds), note))
                time.sleep(0.5)
    results = [Result(name, *value) for name, value in best.items()]
    title = f"Parquet, {n:,} × {d}: one pass with ridge path and 5 folds"
    show(title, "separatrix", results, 0.5)


if __name__ == "__main__":
    main("--quick" in sys.argv)
