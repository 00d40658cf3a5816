"""Gower's distance on a design with dummies is that of the table with its categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.statistics.moments import prepare


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": rng.choice(["north", "south", "west"], n),
            "age": rng.integers(1, 90, n).astype(float),
            "kind": rng.choice(["p", "q", "r", "s"], n),
        }
    )


def grouped(frame: pd.DataFrame) -> tuple[np.ndarray, tuple[tuple[int, ...], ...]]:
    prepared = prepare(sx.scan(frame))
    terms = list(prepared.encoding.terms)
    names = [n for n in frame.columns if any(t.column == n and t.level for t in terms)]
    groups = tuple(
        tuple(j for j, t in enumerate(terms) if t.column == name and t.level) for name in names
    )
    return prepared.rows.collect().dense(), groups


def test_one_hot_columns_of_a_category_count_once() -> None:
    frame = table()
    x, groups = grouped(frame)
    assert sorted(map(len, groups)) == [2, 3]
    design = sx.Gower(groups=groups).fitted(x)
    of_table = sx.Gower().fitted(frame)
    np.testing.assert_allclose(design.distances(x), of_table.distances(frame), atol=1e-12)
    joined = design.validate(x)
    assert joined.shape == (60, 4)
    np.testing.assert_array_equal(design.validate(joined), joined)
    np.testing.assert_allclose(design.distances(joined[:5], x), design.distances(x[:5], x))


def test_medoids_and_hierarchies_predict_and_are_stored(tmp_path) -> None:
    frame = table()
    x, groups = grouped(frame)
    metric = sx.Gower(groups=groups)
    model = sx.KMedoids(3, metric=metric, random_state=0).fit(sx.scan(frame).read())
    known = sx.KMedoids(3, metric="precomputed", random_state=0)
    known.fit(metric.fitted(x).distances(x))
    assert model.inertia_ <= known.inertia_ * 1.05
    sx.save(model, tmp_path / "m.sx")
    back = sx.load(tmp_path / "m.sx")
    assert (back.predict(frame) == model.labels_).all()
    tree = sx.AgglomerativeClustering(4, metric=metric, linkage="average").fit(sx.scan(frame))
    of_table = sx.AgglomerativeClustering(4, metric="precomputed", linkage="average")
    of_table.fit(sx.Gower().fitted(frame).distances(frame))
    np.testing.assert_allclose(tree.linkage_[:, 2], of_table.linkage_[:, 2], atol=1e-12)


def with_gaps(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    frame = table(n)
    frame["sex"] = rng.choice(["f", "m"], n)  # two levels: one column of the design
    for name in frame.columns:
        frame.loc[rng.random(n) < 0.15, name] = None
    return frame


def test_missing_values_are_skipped_however_the_table_is_read(tmp_path) -> None:
    frame = with_gaps()
    d = sx.Gower().fitted(frame).distances(frame)
    read = {"frame": frame, "scan": sx.scan(frame)}
    for given in read.values():
        search = sx.NearestNeighbors(n_neighbors=4, metric="gower").fit(given)
        np.testing.assert_allclose(search.kneighbors(frame)[0], np.sort(d)[:, :4], atol=1e-12)
        tree = sx.AgglomerativeClustering(4, linkage="average", metric="gower").fit(given)
        known = sx.AgglomerativeClustering(4, linkage="average", metric="precomputed").fit(d)
        np.testing.assert_allclose(tree.linkage_[:, 2], known.linkage_[:, 2], atol=1e-12)
        model = sx.KMedoids(3, metric="gower", init="build").fit(given)
        assert model.inertia_ == pytest.approx(d[:, model.medoid_indices_].min(axis=1).sum())
    sx.save(model, tmp_path / "m.sx")
    assert (sx.load(tmp_path / "m.sx").predict(frame) == model.labels_).all()
    labels = np.arange(60) % 3
    score = sx.silhouette(d, labels, "precomputed").score
    assert sx.silhouette(sx.scan(frame), labels, "gower").score == pytest.approx(score)
    near = sx.KNeighborsClassifier(5, metric="gower")
    scanned = sx.scan(frame.assign(y=labels.astype(str)), target="y")
    np.testing.assert_array_equal(
        near.fit(scanned).predict_proba(frame), near.fit(frame, labels).predict_proba(frame)
    )
    numbers = sx.KNeighborsRegressor(5, metric="gower")
    scanned = sx.scan(frame.assign(y=labels + 0.5), target="y")
    np.testing.assert_allclose(
        numbers.fit(scanned).predict(frame), numbers.fit(frame, labels + 0.5).predict(frame)
    )


def test_a_category_of_two_levels_keeps_its_place() -> None:
    x = np.array([[0.0, 10.0], [1.0, 30.0], [0.0, 20.0]])
    expected = sx.Gower().fitted(x).distances(x)
    np.testing.assert_allclose(sx.Gower(groups=((0,),)).fitted(x).distances(x), expected)


def test_the_command_skips_missing_values() -> None:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"a": np.repeat([0.0, 10.0], 40) + rng.normal(size=80)})
    frame["b"] = frame.a + rng.normal(size=80)
    frame["c"] = np.repeat(["u", "v"], 40)
    frame.loc[rng.random(80) < 0.2, "a"] = None
    frame.loc[rng.random(80) < 0.2, "c"] = None
    study = sx.run_clusters(sx.scan(frame), max_clusters=3, method="kmedoids", metric="gower")
    assert study.k == 2
    assert any("skipped wherever two rows are compared" in line for line in study.messages)
    assert len(set(study.model.labels_[:40])) == len(set(study.model.labels_[40:])) == 1
