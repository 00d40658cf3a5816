"""Two worker processes give the numbers of one process, also when one of them dies half-way."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix import InputError, Moments, scan
from separatrix.cli.outcome import run
from separatrix.rows import distributed as passes
from separatrix.rows import distributed as pieces
from separatrix.rows import distributed as scheduler
from separatrix.rows.parts import Parts
from separatrix.statistics.moments import Grouped, prepare, prepare_parts
from separatrix.study.cluster import search as samples
from tests.sketches import sketches

from .slow import Slow
from .tables import mixed


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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table in files of both formats, of which every row group is a piece."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 1)
    monkeypatch.chdir(tmp_path)
    frame = mixed(900)
    frame["sold"] = np.where(frame["price"].fillna(0) > frame["price"].median(), "yes", "no")
    for i in range(2):
        part = frame[450 * i : 450 * (i + 1)]
        part.to_parquet(tmp_path / f"part-{i}.parquet", row_group_size=200)
        part.to_csv(tmp_path / f"part-{i}.csv", index=False)
    return tmp_path


# -- files that the workers read -------------------------------------------------------------------


def test_workers_read_files_and_statistics_travel(cluster, folder):
    address = cluster.scheduler.address
    for name, count in (("part-*.parquet", 6), ("part-*.csv", 2)):
        here = scan(name, target="price").with_parts(Parts())
        there = scan(name, target="price", cluster=address).with_parts(Parts())
        a, b = there.reduce(Grouped(Moments())), here.reduce(Grouped(Moments()))
        assert sorted(a.parts) == sorted(b.parts)
        for part, expected in b.parts.items():
            got = a.parts[part].aligned(expected.terms, expected.targets)
            np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-12, atol=1e-12)
            scale = np.sqrt(np.outer(*[np.diag(expected.scatter)] * 2))
            assert (np.abs(got.scatter - expected.scatter) <= 1e-10 * scale).all()
        assert there.dropped == here.dropped == 1
        travel = there.travel.document()
        assert (travel["passes"], travel["pieces"], travel["workers"]) == (1, count, 2)
        assert 0 < travel["bytes_received"] < 20_000 * 2 * count  # nothing that grows with rows
        assert travel["bytes_cached"] == 0
        assert address in there.travel.sentence()


@pytest.mark.parametrize("memory", [None, 0.0])
def test_models_of_many_passes_cache_the_table_where_it_fits(cluster, folder, monkeypatch, memory):
    if memory is not None:
        monkeypatch.setattr(passes, "free_memory", lambda _: memory)
    options = {"target": "sold", "kinds": {"price": "ignore"}}
    there = scan("part-*.parquet", cluster=cluster, **options)
    a = sx.LogisticRegression().fit(there)
    b = sx.LogisticRegression().fit(scan("part-*.parquet", **options))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-10)
    assert (there.travel.cached > 0) is (memory is None)
    assert ("cached its rows" if memory is None else "do not fit") in there.travel.sentence()
    if memory is None:
        there = scan("part-*.parquet", kinds={"price": "ignore", "sold": "ignore"}, cluster=cluster)
        here = scan("part-*.parquet", kinds={"price": "ignore", "sold": "ignore"})
        a, b = sx.KMeans(3, random_state=0).fit(there), sx.KMeans(3, random_state=0).fit(here)
        np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-10)
        assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-10)


def test_a_later_row_is_understood_as_in_files_read_here(cluster, tmp_path):
    lines = [f"{i % 17},{i % 7 + 0.5}" for i in range(30_000)]
    lines[25_000], lines[25_100] = "-999,1.0", '"1 200",2.0'
    for i in range(2):
        text = "\n".join(["a,y", *lines[15_000 * i : 15_000 * (i + 1)]])
        (tmp_path / f"{i}.csv").write_text(text + "\n")
    there = scan(str(tmp_path / "*.csv"), target="y", cluster=cluster)
    here = scan(str(tmp_path / "*.csv"), target="y")
    a, b = there.reduce(Moments()), here.reduce(Moments())
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12)
    assert there.notes == here.notes
    (tmp_path / "1.csv").write_text("a,y\n1,2\nx,3\n")
    with pytest.raises(InputError, match=r"1\.csv.*row 2.*'a'"):
        scan(str(tmp_path / "*.csv"), target="y", cluster=cluster, strict=True).reduce(Moments())


# -- commands --------------------------------------------------------------------------------------


def command(capsys, *words: object) -> dict:
    capsys.readouterr()
    with sketches():
        code = run([*map(str, words), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert not code, document
    return document


def test_commands_answer_as_without_workers(cluster, folder, capsys, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    monkeypatch.setattr(samples, "SEARCH_ROWS", 200)
    monkeypatch.setattr(samples, "TEST_ROWS", 60)
    at = ("--cluster", cluster.scheduler.address)
    fit = ("fit", "part-*.parquet", "--target", "price", "--models", "linear,ridge")
    there, here = command(capsys, *fit, "--out", "a", *at), command(capsys, *fit, "--out", "b")
    assert there["winner"] == here["winner"]
    for one, other in zip(there["leaderboard"], here["leaderboard"], strict=True):
        assert one["folds"] == pytest.approx(other["folds"], rel=1e-10)
    assert there["cluster"]["bytes_received"] > 0
    assert there["cluster"]["passes"] == 1  # the first rows say that the target is a number
    assert any("came back" in text for text in there["messages"])
    predict = ("predict", "a", "part-*.parquet", "--out")
    assert command(capsys, *predict, "a.csv", *at)["cluster"]["passes"] == 1
    command(capsys, *predict, "b.csv")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    summarize = ("summarize", "part-*.parquet", "--target", "price", "-o")
    assert command(capsys, *summarize, "a.moments", *at)["rows"] == 899
    cluster_ = ("cluster", "part-*.parquet", "-k", "2", "--kind", "sold=ignore", "--out")
    there, here = command(capsys, *cluster_, "c", *at), command(capsys, *cluster_, "d")
    assert there["cluster"]["bytes_received"] > 0
    assert there["structure"] == here["structure"]
    for one, other in zip(there["clusters"], here["clusters"], strict=True):
        assert one["size"] == other["size"]
        assert one["means"] == pytest.approx(other["means"], rel=1e-10)
    a, b = pd.read_csv("c/assignments.csv"), pd.read_csv("d/assignments.csv")
    assert (a["cluster"] == b["cluster"]).all()
    np.testing.assert_allclose(a["distance"], b["distance"], rtol=1e-8)


def test_workers_write_what_they_predict(cluster, folder, capsys, monkeypatch):
    """A folder of parts holds the columns of one file, in its order; only sizes come back."""
    for i in range(2):  # identifiers are copied where they are read
        frame = pd.read_parquet(f"part-{i}.parquet")
        frame.insert(0, "house_id", [f"{450 * i + j:04d}" for j in range(len(frame))])
        frame.to_parquet(f"part-{i}.parquet", row_group_size=200)
        frame.to_csv(f"part-{i}.csv", index=False)
    at = ("--cluster", cluster.scheduler.address)
    command(capsys, "fit", "part-*.csv", "--target", "sold", "--models", "lda", "--out", "m")
    for table, count in (("part-*.parquet", 6), ("part-*.csv", 2)):
        predict = ("predict", "m", table, "--extrapolation", "--out")
        there = command(capsys, *predict, "parts/", *at)
        here = command(capsys, *predict, "whole.parquet")
        assert (there["parts"], there["rows"]) == (count, here["rows"])
        assert there["extrapolation"] == here["extrapolation"]
        assert there["cluster"]["bytes_received"] < 1_000 * count
        a, b = pd.read_parquet("parts"), pd.read_parquet("whole.parquet").drop(columns="row")
        pd.testing.assert_frame_equal(a, b.astype({"house_id": a["house_id"].dtype}), rtol=1e-12)
        manifest = json.loads(Path("parts/_manifest.json").read_text())
        assert [p["first_row"] for p in manifest["parts"]][:2] == [
            1,
            manifest["parts"][0]["rows"] + 1,
        ]
        assert sorted(p.name for p in Path("parts").iterdir())[0] == "_manifest.json"
    cluster_ = ("cluster", "part-*.parquet", "-k", "2", "--kind", "sold=ignore", "--out")
    command(capsys, *cluster_, "c", "--assignments", "groups", *at)
    command(capsys, *cluster_, "d", *at)
    a, b = pd.read_parquet("groups"), pd.read_csv("d/assignments.csv")
    np.testing.assert_array_equal(a["cluster"], b["cluster"])
    np.testing.assert_allclose(a["distance"], b["distance"], rtol=1e-12)
    assert not Path("c/assignments.csv").exists()
    (folder / "other").mkdir()
    (folder / "other" / "mine.txt").write_text("kept")
    assert run([*map(str, ("predict", "m", "part-*.csv", "--out", "other/", *at))]) == 2
    assert "holds other files" in capsys.readouterr().err
    Path("part-1.csv").write_text(Path("part-1.csv").read_text() + "0,x,1\n")
    before = Path("parts/_manifest.json").read_bytes()
    assert run([*map(str, ("predict", "m", "part-*.csv", "--out", "parts/", *at))]) == 2
    assert Path("parts/_manifest.json").read_bytes() == before
    assert not list(folder.glob(".parts*"))


def test_no_cluster_is_one_sentence(cluster, folder, monkeypatch):
    def refused(
        match: str, source: object = "part-0.csv", at: object = "tcp://127.0.0.1:9"
    ) -> None:
        with pytest.raises(InputError, match=match):
            scan(source, target="price", cluster=at)

    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 0.2)
    refused("No Dask scheduler answers at tcp://127.0.0.1:9.*dask scheduler")
    refused("not the address of a Dask scheduler", at="localhost")
    refused("table in memory", mixed(20), cluster)
    monkeypatch.setattr(scheduler, "version", lambda: "0.0")
    refused("run separatrix 0.0, this process", at=cluster)
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused(r"pip install 'separatrix\[dask\]'")


# -- Dask collections ------------------------------------------------------------------------------


def test_two_workers_give_the_numbers_of_one_process(cluster):
    frame = mixed(600)
    spread = scan(dd.from_pandas(frame, npartitions=4), target="price").with_parts(Parts())
    alone = scan(frame, target="price").with_parts(Parts())
    a, b = prepare_parts(spread), prepare_parts(alone)
    for fold in (-1, *b.folds):
        got, expected = a.split(fold), b.split(fold)
        assert got.encoding.names == expected.encoding.names
        np.testing.assert_allclose(got.train.mean, expected.train.mean, rtol=1e-10)
        scale = np.sqrt(np.outer(*[np.diag(expected.train.scatter)] * 2))
        assert (np.abs(got.train.scatter - expected.train.scatter) <= 1e-10 * scale).all()
    assert spread.dropped == alone.dropped == 1
    assert spread.travel.received > 0


def test_partitions_may_be_empty_and_faults_are_named():
    frame = mixed(60).dropna(subset="price")
    lazy = dd.from_pandas(frame, npartitions=4)
    some = scan(lazy[lazy["rooms"] > 0], target="price")
    some_empty = lazy.map_partitions(lambda p: p[p.index > 40], meta=lazy._meta)
    some.reduce(Moments())  # by the client in force, if there is one
    assert re.search(
        r"read once by (Dask, on this machine|2 workers at tcp)", some.travel.sentence()
    )
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


# -- the last test: it leaves a worker less --------------------------------------------------------


def test_a_killed_worker_changes_no_bit(cluster, folder, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    slow = Slow()
    slow.folder = str(marks)
    before = set(cluster.run(os.getpid).values())

    def kill() -> None:
        while not (begun := list(marks.iterdir())):
            time.sleep(0.02)
        os.kill(int(begun[0].name.split("-")[0]), 9)

    killer = threading.Thread(target=kill)
    killer.start()
    total = scan("part-*.parquet", target="price", cluster=cluster).reduce(slow)
    killer.join()
    expected = scan("part-*.parquet", target="price", cluster=cluster).reduce(Moments())
    assert total.count == expected.count
    assert (total.mean == expected.mean).all()
    assert (total.scatter == expected.scatter).all()
    assert len(list(marks.iterdir())) > 6  # some piece was read twice
    assert set(cluster.run(os.getpid).values()) != before
