"""Peak memory, passes and time of the commands on tables larger than they may store.

    python benchmarks/streams.py [--rows 100000 20000000] [--columns 16 100] [--folder FOLDER]

Every command is a process of its own; the peak is that of the whole process, report included.
Peers read the same files: scikit-learn's SGD, one epoch of batches that PyArrow decodes, without
folds, comparison, test or report; DuckDB and polars, where they are installed, the sums of products
of all pairs of columns, which a numeric study needs of each of six parts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

FILES, GROUPS, CHUNK = 4, 6, 500_000


def write_table(folder: Path, rows: int, columns: int) -> None:
    """Rows about six centers, a number that depends on them and a class, in four Parquet files."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    centers = 3.0 * rng.normal(size=(GROUPS, columns))
    slope = rng.normal(size=columns) / np.sqrt(columns)
    names = [f"x{j}" for j in range(columns)]
    schema = pa.schema([*((n, pa.float32()) for n in (*names, "y")), ("sold", pa.string())])
    for i in range(FILES):
        place = folder / f"rows-{i}.parquet"
        with pq.ParquetWriter(place, schema, compression="none") as file:
            for start in range(0, rows // FILES, CHUNK):
                n = min(CHUNK, rows // FILES - start)
                x = centers[rng.integers(0, GROUPS, n)] + rng.normal(size=(n, columns))
                y = x @ slope + rng.normal(size=n)
                sold = np.where(y + rng.logistic(size=n) > 0, "yes", "no")
                arrays = [*x.astype(np.float32).T, y.astype(np.float32), sold]
                file.write_table(pa.table(arrays, schema=schema))


#: One epoch of scikit-learn's SGD over the files.
PEER = """
import glob, json, sys
import numpy as np
import pyarrow.parquet as pq
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler
classes = sys.argv[1] == "sold"
model = SGDClassifier(loss="log_loss") if classes else SGDRegressor()
scaler = StandardScaler()
for place in sorted(glob.glob("rows-*.parquet")):
    for batch in pq.ParquetFile(place).iter_batches(65_536):
        names = [name for name in batch.schema.names if name not in ("y", "sold")]
        x = np.column_stack([batch[name].to_numpy() for name in names]).astype(float)
        y = batch[sys.argv[1]].to_numpy(zero_copy_only=False)
        x = scaler.partial_fit(x).transform(x)
        model.partial_fit(x, y, **({"classes": ["no", "yes"]} if classes else {}))
print(json.dumps({"messages": []}))
"""


#: The names of the numeric columns, and all pairs of them.
PAIRS = """
import itertools, json
import pyarrow.parquet as pq
names = [name for name in pq.ParquetFile("rows-0.parquet").schema_arrow.names if name != "sold"]
pairs = list(itertools.combinations_with_replacement(names, 2))
"""

#: Sums of products in SQL.
DUCKDB = (
    PAIRS
    + """
import duckdb
duckdb.sql("SET enable_progress_bar = false")  # it is drawn on standard output
sums = ", ".join(f"sum({a}::DOUBLE * {b}::DOUBLE)" for a, b in pairs)
duckdb.sql(f"SELECT count(*), {sums} FROM 'rows-*.parquet'").fetchall()
print(json.dumps({"messages": []}))
"""
)

#: Sums of products of a lazy frame.
POLARS = (
    PAIRS
    + """
import polars as pl
wide = pl.scan_parquet("rows-*.parquet").select(pl.col(names).cast(pl.Float64))
sums = [(pl.col(a) * pl.col(b)).sum().alias(f"{a} {b}") for a, b in pairs]
wide.select(sums).collect(engine="streaming")
print(json.dumps({"messages": []}))
"""
)

OWN = "import sys; from separatrix.cli import main; main([*sys.argv[1:], '--json'])"


def measure(program: str, arguments: list[str], folder: Path) -> dict[str, object]:
    """Run a program; what it printed as JSON, its peak memory and its time."""
    begin = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, "SEPARATRIX_MEMORY": "1"},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "seconds": time.monotonic() - begin,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / 1e3,
        "code": process.returncode,
        "document": json.loads(text),
    }


def passes(document: dict[str, object]) -> str:
    """How often the table was read, as the messages say."""
    messages = " ".join(map(str, document.get("messages", [])))  # type: ignore[call-overload]
    found = re.search(r"read (\d+) times|in (\d+) passes|(\d+) passes", messages)
    return "1" if found is None else next(group for group in found.groups() if group)


def main() -> None:
    """Write the table once, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[16])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    table = "rows-*.parquet"
    commands = {
        "fit, a number": (OWN, ["fit", table, "--target", "y", "--kind", "sold=ignore"]),
        "fit, classes": (OWN, ["fit", table, "--target", "sold", "--kind", "y=ignore"]),
        "cluster": (OWN, ["cluster", table, "--kind", "y=ignore", "--kind", "sold=ignore"]),
        "SGD, a number": (PEER, ["y"]),
        "SGD, classes": (PEER, ["sold"]),
        **{
            f"{name}, sums of products": (program, [])
            for name, program in (("DuckDB", DUCKDB), ("polars", POLARS))
            if find_spec(name.lower()) is not None
        },
    }
    print("| rows × columns | command | passes | seconds | processor time | peak memory |")
    print("|---|---|---|---|---|---|")
    for rows, columns in itertools.product(given.rows, given.columns):
        with tempfile.TemporaryDirectory(dir=given.folder) as place:
            # by a process of its own: the peak of a child begins at that of its parent
            writer = get_context("spawn").Process(
                target=write_table, args=(Path(place), rows, columns)
            )
            writer.start()
            writer.join()
            for name, (program, arguments) in commands.items():
                out = ["--out", name.replace(", ", "-")] if program is OWN else []
                found = measure(program, [*arguments, *out], Path(place))
                size, document = f"{rows:,} × {columns}", found["document"]
                if found["code"]:
                    message = document["error"]["message"]  # type: ignore[index]
                    print(f"| {size} | {name} | refused: {message} | | | |", flush=True)
                    continue
                count = passes(document)  # type: ignore[arg-type]
                print(
                    f"| {size} | {name} | {count} | {found['seconds']:.0f} | {found['cpu']:.0f} s "
                    f"| {found['peak']:.0f} MB |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
