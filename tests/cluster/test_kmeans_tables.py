"""K-means of large, sparse and streamed tables, and of any number of threads."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import separatrix as sx
from separatrix.cluster import kmeans
from separatrix.cluster import lloyd as bounded
from separatrix.cluster import lloyd as solver
from separatrix.cluster import lloyd as table
from separatrix.cluster import lloyd as wide
from separatrix.cluster import streaming as sparse_rows
from separatrix.cluster.initialization import kmeans_plusplus


def test_threads_and_pieces_do_not_change_the_result(monkeypatch) -> None:
    monkeypatch.setattr(solver, "SMALL", 0)
    monkeypatch.setattr("separatrix.cluster.initialization.SMALL", 0)
    rng = np.random.default_rng(4)
    x = rng.standard_normal((5000, 3))
    many = sx.KMeans(9, init=x[:9]).fit(x)
    drawn = []
    for threads in (1, 2, 16):
        monkeypatch.setattr("separatrix.threads.available_threads", lambda n=threads: n)
        assert_array_equal(sx.KMeans(9, init=x[:9]).fit(x).cluster_centers_, many.cluster_centers_)
        seeded = np.random.default_rng(0)
        drawn.append(kmeans_plusplus(np.tile(x, 12), np.ones(5000), 5, seeded))
    assert_array_equal(drawn[0], drawn[1])
    assert_array_equal(drawn[0], drawn[2])
    monkeypatch.setattr(bounded, "MIN_ROWS", 10_000)
    one = sx.KMeans(9, init=x[:9]).fit(x)
    assert_array_equal(one.labels_, many.labels_)
    assert_allclose(one.cluster_centers_, many.cluster_centers_, atol=1e-13)


def test_streamed_files_with_categories_and_dask(tmp_path) -> None:
    import dask.dataframe as dd
    import pandas as pd

    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.standard_normal((900, 3)) + 3 * rng.integers(0, 2, (900, 1)))
    frame.columns = ["a", "b", "c"]
    frame["kind"] = rng.choice(["x", "y"], 900)
    frame.to_csv(tmp_path / "t.csv", index=False)
    file = sx.KMeans(3, standardize=True, random_state=0).fit(sx.scan(tmp_path / "t.csv"))
    distributed = sx.KMeans(3, standardize=True, random_state=0).fit(
        sx.scan(dd.from_pandas(frame, npartitions=3))
    )
    assert_allclose(file.cluster_centers_, distributed.cluster_centers_, atol=1e-9)
    assert_array_equal(file.predict(frame), distributed.predict(frame))
    assert not hasattr(file, "labels_")
    assert file.certificate_.holds


def test_large_tables_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans, "LARGE", 1000)
    monkeypatch.setattr(kmeans, "SAMPLE_ROWS", 1000)
    monkeypatch.setattr(bounded, "LARGE", 1000)
    x = np.random.default_rng(0).standard_normal((200_000, 50))
    model = sx.KMeans(4, max_iter=2, tol=10.0, random_state=0)
    tracemalloc.start()
    model.fit(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * x.nbytes
    assert_array_equal(model.labels_, model.predict(x))


@pytest.mark.parametrize("standardize", [False, True])
def test_neither_batches_nor_layout_change_the_result(
    standardize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((3000, 4)), rng.uniform(0.5, 2.0, 3000)
    monkeypatch.setattr(solver, "SMALL", 0)
    plain = sx.KMeans(20, init=x[:20], standardize=standardize).fit(x, sample_weight=w)
    monkeypatch.setattr(kmeans, "LARGE", 0)
    monkeypatch.setattr(bounded, "LARGE", 0)
    monkeypatch.setattr(table, "BATCH_NUMBERS", 1000)
    other = sx.KMeans(20, init=x[:20], standardize=standardize)
    other.fit(np.asfortranarray(x), sample_weight=w)
    assert_array_equal(other.labels_, plain.labels_)
    assert_allclose(other.cluster_centers_, plain.cluster_centers_, rtol=1e-12, atol=1e-13)
    assert other.n_iter_ == plain.n_iter_
    assert other.certificate_.holds


@pytest.mark.parametrize("standardize", [False, True])
def test_sparse_rows_give_the_clusters_of_dense_ones(monkeypatch, standardize) -> None:
    rng = np.random.default_rng(11)
    dense = rng.poisson(0.15, (400, 40)) * rng.exponential(1.0, 40)
    dense[:200, :5] += rng.poisson(1.0, (200, 5))
    dense[7] = 0.0  # an empty row, and below an empty column
    dense[:, 9], w = 0.0, rng.integers(0, 3, 400).astype(float)
    x = sparse.csr_array(dense)
    x.data[::50] = 0.0  # explicit zeros
    dense = x.toarray()
    settings = {"standardize": standardize, "random_state": 3}
    expected = sx.KMeans(4, **settings).fit(dense, sample_weight=w)
    monkeypatch.setattr(sparse_rows, "MIN_SPARSE", 0)
    monkeypatch.setattr(sparse_rows, "MIN_WORK", 100)
    monkeypatch.setattr(kmeans, "MIN_SPARSE", 0)
    model = sx.KMeans(4, **settings).fit(x, sample_weight=w)
    assert_array_equal(model.labels_, expected.labels_)
    assert_allclose(model.cluster_centers_, expected.cluster_centers_, atol=1e-12)
    assert_allclose(model.inertia_, expected.inertia_, rtol=1e-12)
    assert_allclose(model.transform(x), expected.transform(dense), atol=1e-7)
    assert model.certificate_.holds
    monkeypatch.setattr("separatrix.threads.available_threads", lambda: 1)
    alone = sx.KMeans(4, **settings).fit(x, sample_weight=w)
    assert alone.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()


def test_empty_clusters_of_sparse_rows_are_filled(monkeypatch) -> None:
    monkeypatch.setattr(sparse_rows, "MIN_SPARSE", 0)
    x = sparse.random(60, 30, 0.1, format="csr", random_state=0)
    start = np.repeat(x[[0]].toarray(), 5, axis=0)
    model = sx.KMeans(5, init=start).fit(x)
    assert (model.sizes_ > 0).all()
    assert model.certificate_.holds


@pytest.mark.parametrize("linkage", ["average", "ward"])
def test_merges_are_the_same_bits_on_any_number_of_threads(linkage: str, monkeypatch) -> None:
    x = np.random.default_rng(8).standard_normal((700, 6))
    found = []
    for threads in (1, 2, 16):
        monkeypatch.setattr("separatrix.threads.available_threads", lambda n=threads: n)
        found.append(sx.AgglomerativeClustering(3, linkage=linkage).fit(x).linkage_)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


@pytest.mark.parametrize(("d", "offset", "standardize"), [(150, 0.0, True), (2000, 1e6, False)])
def test_wide_rows_are_assigned_as_by_plain_distances(
    d: int, offset: float, standardize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    x, w = rng.standard_normal((600, d)) + offset, rng.uniform(0.5, 2.0, 600)
    x[10:40] = x[10]
    monkeypatch.setattr(wide, "PIECE_NUMBERS", 20_000)
    runs = []
    for threads, copied in ((1, wide.MAX_COPIED), (2, wide.MAX_COPIED), (2, 0)):
        monkeypatch.setattr("separatrix.threads.available_threads", lambda threads=threads: threads)
        monkeypatch.setattr(wide, "MAX_COPIED", copied)
        monkeypatch.setattr(solver, "SMALL", 0)
        model = sx.KMeans(8, init=x[:8], standardize=standardize).fit(x, sample_weight=w)
        assert model.certificate_.holds
        runs.append(model)
    monkeypatch.setattr(solver, "SMALL", np.inf)
    plain = sx.KMeans(8, init=x[:8], standardize=standardize).fit(x, sample_weight=w)
    for run in runs:
        assert_array_equal(run.cluster_centers_, runs[0].cluster_centers_)
        assert_array_equal(run.labels_, plain.labels_)
        assert_allclose(run.inertia_, plain.inertia_, rtol=1e-10)
        assert run.n_iter_ == plain.n_iter_
