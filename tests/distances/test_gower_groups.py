"""Gower's distance on a design with dummies is that of the table with its categories."""

from __future__ import annotations

import numpy as np
import pandas as pd

import separatrix as sx
from separatrix.statistics.preparation import prepare


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
