"""Files are streamed: memory does not grow with them, and numbers do not depend on timing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from separatrix import Moments, scan
from separatrix.rows.parts import Parts
from separatrix.rows.schema import MAX_SIZE, scratch
from separatrix.statistics.moments import Grouped

MEASURE = """
import sys
from separatrix import scan, Moments
from separatrix.rows.parts import Parts
from separatrix.statistics.moments import Grouped
rows = scan(sys.argv[1], target="y").with_parts(Parts())
total = rows.reduce(Grouped(Moments())).total()
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0]
print(total.count, int(peak.split()[1]) // 1024)
"""


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """1.2 million rows in row groups of 400 thousand: 250 MB of numbers."""
    path = tmp_path_factory.mktemp("big") / "big.parquet"
    names = [*(f"x{j}" for j in range(25)), "y"]
    rng = np.random.default_rng(0)
    schema = pa.schema([(n, pa.float64()) for n in names])
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as file:
        for _ in range(3):
            columns = [pa.array(rng.standard_normal(400_000)) for _ in names]
            file.write_table(pa.table(columns, names=names), row_group_size=400_000)
    yield path
    path.unlink()


def test_memory_stays_below_the_size_of_the_file(big):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(big)], check=True, capture_output=True, text=True
    )
    count, megabytes = map(int, done.stdout.split())
    assert count == 1_200_000
    assert megabytes < 450


def test_same_bytes_at_every_pass(big):
    rows = scan(big, target="y").with_parts(Parts(seed=1))
    first, second = (rows.reduce(Grouped(Moments())).total().scatter for _ in range(2))
    assert (first == second).all()


def test_scratch_memory_is_never_shared_while_in_use():
    a = scratch((100, 3))
    a[:] = 1.0
    view = a[:, 1]
    del a
    b = scratch((100, 3))
    b[:] = 2.0
    assert (view == 1.0).all()
    address = b.ctypes.data
    del b
    again = scratch((60, 5))
    assert again.ctypes.data == address  # free again, and large enough
    assert (view == 1.0).all()
    assert scratch((MAX_SIZE, 2)).shape == (MAX_SIZE, 2)


def test_a_collected_table_has_the_same_values():
    x = np.random.default_rng(0).normal(size=(5000, 3))
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": x[:, 2]})
    blocks = list(scan(table, target="y", block_rows=500).blocks())
    np.testing.assert_array_equal(np.vstack([block.x for block in blocks]), x[:, :2])
