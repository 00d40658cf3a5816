"""Logistic regression of ten million rows streamed from a Parquet file, in little memory.

Each runner has a process of its own, so that the peak of its resident memory is its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from race import Result, show

OWN = """
import sys, time
import separatrix as sx
sx.scan, sx.LogisticRegression  # imports are not timed, here as with the peer
start = time.perf_counter()
rows = sx.scan(sys.argv[1], target="y", kinds={"y": "discrete"})
model = sx.LogisticRegression(C=float("inf")).fit(rows)
seconds = time.perf_counter() - start
loss = model.certificate_.primal
note = f"{model.n_iter_} passes, loss {loss:.3f}, certified to {model.certificate_.gap:.1e}"
"""

PEER = """
import sys, time
import numpy as np
import pyarrow.dataset as ds
from sklearn.linear_model import SGDClassifier
start = time.perf_counter()
model = SGDClassifier(loss="log_loss", average=True)
for batch in ds.dataset(sys.argv[1]).scanner(batch_size=65536).to_batches():
    table = np.column_stack([column.to_numpy() for column in batch.columns])
    model.partial_fit(table[:, :-1], table[:, -1], classes=[0.0, 1.0])
seconds = time.perf_counter() - start
loss = 0.0
for batch in ds.dataset(sys.argv[1]).scanner(batch_size=65536).to_batches():
    table = np.column_stack([column.to_numpy() for column in batch.columns])
    scores = model.decision_function(table[:, :-1])
    loss += np.logaddexp(0.0, np.where(table[:, -1] > 0.5, -scores, scores)).sum()
note = f"1 pass, loss {loss:.3f}"
"""

END = """
peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
print(f"{seconds} {note}, peak {peak:.0f} MB")
"""


def write_table(path: Path, n: int, d: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    slope = 0.5 * rng.standard_normal(d)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(d)] + [("y", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, 500_000):
            m = min(500_000, n - start)
            x = rng.standard_normal((d, m))
            y = (rng.random(m) < 1 / (1 + np.exp(-(slope @ x) - 0.3))).astype(np.int64)
            writer.write_table(pa.table([*x, y], schema=schema))


def main(quick: bool = False) -> None:
    n, d = (500_000, 10) if quick else (10_000_000, 10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_table(path, n, d)
        results = []
        runners = {"separatrix": OWN, "scikit-learn SGDClassifier, one pass": PEER}
        for name, code in runners.items():
            done = subprocess.run(
                [sys.executable, "-c", code + END, str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
            seconds, note = done.stdout.split(" ", 1)
            results.append(Result(name, float(seconds), note.strip()))
        show(f"Logistic from Parquet, {n:,} × {d}", "separatrix", results, None)


if __name__ == "__main__":
    main("--quick" in sys.argv)
