"""kill -9 of the client, or of the scheduler, in the middle of a command: nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.storage import save

#: A scheduler with one worker, which lives until it is killed; it prints its address.
SCHEDULER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""
FILES, ROWS = 24, 20_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table in files, and a model of it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=list("abc"))
    frame["y"] = frame.sum(axis=1)
    for i in range(FILES):
        frame.to_parquet(tmp_path / f"rows-{i:02d}.parquet")
    save(sx.LinearRegression().fit(sx.scan(frame, target="y")), tmp_path / "m.sx")
    return tmp_path


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of the scheduler, and its address."""
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:  # the worker, too
            os.killpg(process.pid, signal.SIGKILL)


def predict(folder: Path, address: str) -> subprocess.Popen[str]:
    """A client whose workers write a folder of predictions."""
    words = ["predict", "m.sx", "rows-*.parquet", "--out", "parts/", "--cluster", address]
    return subprocess.Popen(
        [sys.executable, "-m", "separatrix", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_parts(folder: Path, client: subprocess.Popen[str]) -> None:
    """Return as soon as a worker has written something."""
    while client.poll() is None and not list(folder.glob(".parts*/*.parquet")):
        time.sleep(0.005)
    assert client.poll() is None, "the command ended before it could be killed"


def test_a_killed_client_leaves_nothing_and_can_begin_again(folder, scheduler) -> None:
    _, address = scheduler
    client = predict(folder, address)
    wait_for_parts(folder, client)
    client.kill()
    client.communicate()
    assert not (folder / "parts").exists()
    again = predict(folder, address)
    again.communicate()
    assert again.returncode == 0
    assert len(pd.read_parquet(folder / "parts")) == FILES * ROWS
    assert (folder / "parts" / "_manifest.json").exists()


def test_a_killed_scheduler_is_one_sentence(folder, scheduler) -> None:
    process, address = scheduler
    client = predict(folder, address)
    wait_for_parts(folder, client)
    process.kill()
    _, errors = client.communicate(timeout=120)
    assert client.returncode == 2
    assert "Traceback" not in errors
    assert "The connection to the Dask scheduler was lost. Start the scheduler again" in errors
    assert not (folder / "parts").exists()
    assert not list(folder.glob(".parts*"))
