"""Cluster analysis of a table that is not read into memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix import InputError
from separatrix.study.cluster import search as samples


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Three groups in two files, with missing values and a discrete column."""
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    monkeypatch.setattr(samples, "SEARCH_ROWS", 200)
    monkeypatch.setattr(samples, "TEST_ROWS", 60)
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 900)
    frame = pd.DataFrame(6.0 * group[:, None] + rng.normal(size=(900, 3)), columns=list("abc"))
    frame["kind"] = np.array(["p", "q", "r"])[group]
    frame.loc[::50, "a"] = np.nan
    for i in range(2):
        frame[450 * i : 450 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    return tmp_path, frame


def test_a_stream_is_clustered_as_in_memory_from_the_same_start(table):
    folder, frame = table
    study = sx.run_clusters(sx.scan(str(folder)))
    assert study.k == 3
    assert study.verdict.groups == "distinct"
    assert study.n_rows == 900
    assert "sample of 200 rows" in study.reason
    assert any("judged on 200 rows" in text for text in study.messages)
    assert any("the table was read" in text for text in study.messages)
    assert study.certificate.holds
    again = sx.KMeans(3, init=study.model.init, standardize=True).fit(sx.scan(frame))
    order = np.argsort(-again.sizes_, kind="stable")
    np.testing.assert_allclose(
        study.model.cluster_centers_, again.cluster_centers_[order], rtol=1e-10, atol=1e-10
    )
    assert study.model.inertia_ == pytest.approx(again.inertia_, rel=1e-10)
    labels = study.model.predict(sx.scan(frame))
    for cluster in study.clusters:
        own = frame[labels == cluster.number]
        assert cluster.size == len(own)
        assert cluster.means["a"] == pytest.approx(own["a"].mean(), rel=1e-10)
        assert max(cluster.levels["kind"].values()) == 1.0


def test_what_compares_rows_with_one_another_is_refused(table):
    folder, _ = table
    with pytest.raises(InputError, match="too large for memory, and ward compares rows"):
        sx.run_clusters(sx.scan(str(folder)), method="ward")


def test_few_distinct_rows_are_sampled_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    rng = np.random.default_rng(0)
    points = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0]])
    pd.DataFrame(points[rng.integers(0, 3, 30_000)], columns=["a", "b"]).to_parquet(
        tmp_path / "t.parquet"
    )
    study = sx.run_clusters(sx.scan(tmp_path / "t.parquet"), k=3)
    assert sorted(c.size for c in study.clusters)[0] > 9_000
    assert study.model.inertia_ == pytest.approx(0.0, abs=1e-15)
