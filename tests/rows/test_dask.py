"""Two worker processes give the numbers of one process, also when one of them dies half-way."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest

from separatrix import InputError, Moments, scan
from separatrix.rows.block import Block
from separatrix.rows.parts import Parts
from separatrix.statistics.preparation import prepare, prepare_parts

from .tables import mixed


class Slow(Moments):
    """Moments that take their time, and write down which process made them."""

    folder = ""

    def fresh(self):
        empty = type(self)()
        empty.folder = self.folder
        return empty

    def update(self, block: Block) -> None:
        folder = self.folder
        Path(folder, f"{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(0.3)
        super().update(block)
        self.folder = folder

    def __add__(self, other):
        total = Moments.__add__(Moments(**_plain(self)), Moments(**_plain(other)))
        slow = type(self)(**_plain(total))
        slow.folder = self.folder
        return slow


def _plain(m):
    return {k: v for k, v in m.__dict__.items() if k != "folder"}


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        Client(local) as client,
    ):
        yield client


def test_two_workers_give_the_numbers_of_one_process(cluster):
    frame = mixed(2000)
    spread = scan(dd.from_pandas(frame, npartitions=7), target="price").with_parts(Parts())
    alone = scan(frame, target="price").with_parts(Parts())
    a, b = prepare_parts(spread), prepare_parts(alone)
    for fold in (-1, *b.folds):
        got, expected = a.split(fold), b.split(fold)
        assert got.encoding.names == expected.encoding.names
        np.testing.assert_allclose(got.train.mean, expected.train.mean, rtol=1e-10)
        scale = np.sqrt(np.outer(*[np.diag(expected.train.scatter)] * 2))
        assert (np.abs(got.train.scatter - expected.train.scatter) <= 1e-10 * scale).all()
    assert spread.dropped == alone.dropped == 1


def test_a_killed_worker_costs_nothing_but_time(cluster, tmp_path):
    frame = mixed(1200)
    rows = scan(dd.from_pandas(frame, npartitions=12), target="price")
    slow = Slow()
    slow.folder = str(tmp_path)
    workers = list(cluster.run(os.getpid).values())

    def kill() -> None:
        deadline = time.monotonic() + 20
        while len(list(tmp_path.iterdir())) < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(workers[0], 9)

    killer = threading.Thread(target=kill)
    killer.start()
    total = rows.reduce(slow)
    killer.join()
    expected = scan(frame, target="price").reduce(Moments())
    expected = expected.aligned(total.terms, total.targets)
    assert total.count == expected.count
    np.testing.assert_allclose(total.mean, expected.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(total.scatter, expected.scatter, rtol=1e-8, atol=1e-8)
    assert workers[0] in {int(p.name.split("-")[0]) for p in tmp_path.iterdir()}


def test_partitions_may_be_empty_and_faults_are_named():
    frame = mixed(60).dropna(subset="price")
    lazy = dd.from_pandas(frame, npartitions=4)
    some = scan(lazy[lazy["rooms"] > 0], target="price")
    some_empty = lazy.map_partitions(lambda p: p[p.index > 40], meta=lazy._meta)
    assert prepare(scan(some_empty, target="price")).moments.count == len(frame[frame.index > 40])
    assert len(some.read()) == len(frame)
    bad = frame.copy()
    bad.loc[50, "height"] = np.inf
    rows = scan(dd.from_pandas(bad, npartitions=4), target="price")
    with pytest.raises(InputError, match=r"partition 3.*'height'"):
        rows.reduce(Moments())
    with pytest.raises(InputError, match="Did you mean 'price'"):
        scan(lazy, target="prize")


def test_regress_on_dask_equals_memory():
    frame = mixed(300)
    a = prepare(scan(dd.from_pandas(frame, npartitions=2), target="price", missing="regress"))
    b = prepare(scan(frame, target="price", missing="regress"))
    assert a.encoding.n_iter == b.encoding.n_iter
    np.testing.assert_allclose(a.moments.mean, b.moments.mean, rtol=1e-9)


def test_plain_arrays_may_accompany_a_dask_array():
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(100, 3)), rng.normal(size=100), rng.uniform(size=100)
    lazy = da.from_array(x, chunks=(30, 2))
    got = scan(lazy, target=y, weight=w.tolist()).reduce(Moments())
    expected = scan(x, target=y, weight=w).reduce(Moments())
    np.testing.assert_allclose(got.scatter, expected.scatter, rtol=1e-10, atol=1e-12)
    with pytest.raises(InputError, match="The target has 99 rows, the table 100"):
        scan(lazy, target=y[1:])
    with pytest.raises(InputError, match="the columns of an array have no names"):
        scan(lazy, target="y")
    with pytest.raises(InputError, match="must be given by name"):
        scan(dd.from_pandas(mixed(20), npartitions=2), target=y[:20])
