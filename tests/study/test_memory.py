"""A study stays within the memory that its table allows, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import separatrix as sx
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData
from separatrix.study.candidates import Size, candidates, refuse_memory

#: What a study may take, as documented: three times the table as numbers, and a gigabyte.
TABLES, BESIDE = 3, 1e9
#: ``ru_maxrss`` would not do: a process starts with the peak of the one that started it, and a
#: worker of the tests has held whatever the tests before this one needed.
CHILD = """
import sys
from separatrix.cli import main
try:
    main(sys.argv[1:])
finally:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("PEAK", peak.split()[1], file=sys.stderr)
"""


def big_table(n, levels):
    rng = np.random.default_rng(0)
    shop = np.minimum(rng.pareto(1.0, n) * 40, levels - 1).astype(int)
    shop[:levels] = np.arange(levels)
    day = rng.choice(["mo", "tu", "we", "th", "fr"], n)
    x = rng.normal(size=(n, 4))
    y = x @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=levels)[shop] + rng.normal(size=n)
    columns = {f"x{j}": x[:, j] for j in range(4)}
    names = np.array([f"shop {i:05d}" for i in range(levels)])
    return pa.table(columns | {"shop": names[shop], "day": day, "y": y})


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
def test_the_peak_of_a_table_with_many_levels(tmp_path) -> None:
    n, levels = 300_000, 6_000
    table = big_table(n, levels)
    pq.write_table(table, tmp_path / "t.parquet")
    command = ["fit", "t.parquet", "--target", "y", "--models", "ridge", "--effort", "quick"]
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(sx.__file__).parents[1])},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    peak = 1024 * int(ran.stderr.split("PEAK ")[-1])
    assert peak < TABLES * 8 * n * table.num_columns + BESIDE
    message = " ".join(ran.stderr.split())
    assert f"Column 'shop' has {levels:,} levels" in message
    assert "override: a larger --effort keeps more; --kind shop=ignore leaves it out" in message


def test_targets_of_thousands_of_texts_are_refused_before_they_are_numbers() -> None:
    table = {"x": np.arange(4000.0), "y": [f"n{i % 1500}" for i in range(4000)]}
    with pytest.raises(sx.InputError, match=r"column 'y': the target has more than 1000 distinct"):
        sx.run_study(sx.scan(table, target="y"))


def test_rows_that_candidates_can_afford_are_nested_and_spread() -> None:
    rng = np.random.default_rng(0)
    for n in (7, 64, 1000):
        y = rng.integers(0, 3, n)
        folds = Folds.from_labels(rng.permutation(n) % 5)
        data = TuningData(rng.normal(size=(n, 2)), y, np.ones(n), folds, 3)
        assert data.spread(n).tolist() == list(range(n))
        few, more = data.spread(n // 4), data.spread(n // 2)
        assert set(few) <= set(more)
        assert len(few) == n // 4
        share = np.bincount(y[more], minlength=3) / np.bincount(y, minlength=3)
        if n == 1000:
            np.testing.assert_allclose(share, 0.5, atol=0.03)
            assert (np.abs(np.bincount(data.fold[few]) - n / 20) <= 5).all()


def test_work_and_memory_leave_candidates_out_or_refuse_them() -> None:
    def size(work: float, memory: float) -> Size:
        return Size(200_000, 200, work=work, memory=memory)

    _, none = candidates("regression", None, size(np.inf, np.inf))
    compared, messages = candidates("regression", None, size(1e9, 1e9))
    message = " ".join(messages)
    assert {"huber", "neighbors", "gp"}.isdisjoint(c.name for c in compared)
    assert not any(m.startswith(("huber", "gp")) for m in none)
    assert "huber is left out: 200,000 rows of 200 columns are" in message
    assert "gp is left out: 200,000 rows of 200 columns as it needs them take 1.3 GB" in message
    assert "override: `models=['gp']`" in message
    diamonds = Size(43_152, 26, work=2e10, memory=5.1e8)  # the peak of polynomial is 0.26 GB there
    assert not candidates("regression", None, diamonds)[1]
    requested, _ = candidates("regression", ["gp"], size(1e9, 1e9))
    assert "gp" in {c.name for c in requested}
    refuse_memory(requested, size(1e9, 1e9), available=2e9)
    with pytest.raises(sx.InputError, match=r"gp needs about 1\.3 GB"):
        refuse_memory(requested, size(1e9, 1e9), available=1e9)
