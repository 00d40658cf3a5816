"""Peak memory, passes and processor time of the commands on a table larger than they may store.

    python benchmarks/streams.py [--rows 20000000] [--folder FOLDER]

Every command is a process of its own; the peak is that of the whole process, report included.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLUMNS, FILES, GROUPS, CHUNK = 8, 4, 6, 500_000


def written(folder: Path, rows: int) -> list[Path]:
    """Rows about six centers, a number that depends on them and a class, in four Parquet files."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    centers, slope = 3.0 * rng.normal(size=(GROUPS, COLUMNS)), rng.normal(size=COLUMNS)
    names = [f"x{j}" for j in range(COLUMNS)]
    schema = pa.schema([*((n, pa.float32()) for n in (*names, "y")), ("sold", pa.string())])
    paths = []
    for i in range(FILES):
        paths.append(folder / f"rows-{i}.parquet")
        with pq.ParquetWriter(paths[-1], schema, compression="none") as file:
            for start in range(0, rows // FILES, CHUNK):
                n = min(CHUNK, rows // FILES - start)
                x = centers[rng.integers(0, GROUPS, n)] + rng.normal(size=(n, COLUMNS))
                y = x @ slope + rng.normal(size=n)
                sold = np.where(y + rng.logistic(size=n) > 0, "yes", "no")
                columns = [*x.astype(np.float32).T, y.astype(np.float32), sold]
                file.write_table(pa.table(columns, schema=schema))
    return paths


def measured(arguments: list[str], folder: Path) -> dict[str, object]:
    """Run a command; what it printed as JSON, its peak memory and its processor time."""
    own = "import sys; from separatrix.cli import main; main(sys.argv[1:])"
    begin = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", own, *arguments, "--json"],
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
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        if not list(folder.glob("rows-*.parquet")):
            written(folder, given.rows)
        table = "rows-*.parquet"
        commands = {
            "fit, a number": ["fit", table, "--target", "y", "--kind", "sold=ignore"],
            "fit, classes": ["fit", table, "--target", "sold", "--kind", "y=ignore"],
            "cluster": ["cluster", table, "--kind", "y=ignore", "--kind", "sold=ignore"],
        }
        print("| command | passes | processor time | peak memory |\n|---|---|---|---|")
        for name, arguments in commands.items():
            found = measured([*arguments, "--out", name.replace(", ", "-")], folder)
            document = found["document"]
            if found["code"]:
                print(f"| {name} | refused: {document['error']['message']} | | |")  # type: ignore[index]
                continue
            count = passes(document)  # type: ignore[arg-type]
            print(f"| {name} | {count} | {found['cpu']:.0f} s | {found['peak']:.0f} MB |")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\nin all {children.ru_utime + children.ru_stime:.0f} s of processor time")


if __name__ == "__main__":
    main()
