"""Invariances of flat clusterings: units, order, weights as repeats, blocks, copies."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from separatrix.rows.rows import ArrayRows
from tests.laws.data import points, same_partition, stored_and_loaded, streamed
from tests.registry import CLUSTERERS, Row

every = pytest.mark.parametrize("row", CLUSTERERS, ids=lambda row: row.name)
order_free = pytest.mark.parametrize(
    "row", [row for row in CLUSTERERS if row.order_free], ids=lambda row: row.name
)


@every
def test_labels_are_those_of_predict(row: Row) -> None:
    x = points()
    model = row.make().fit(x)
    assert_array_equal(model.predict(x), model.labels_)
    assert_array_equal(row.make().fit_predict(x), model.labels_)
    assert set(model.labels_) == set(range(model.get_params()["n_clusters"]))


@every
def test_every_fit_has_a_certificate(row: Row) -> None:
    certificate = row.make().fit(points()).certificate_
    assert certificate.holds
    assert len(str(certificate).split()) > 4
    assert "nan" not in str(certificate).lower().split()


@every
def test_copies_pickles_and_files_predict_the_same(row: Row, tmp_path) -> None:
    x = points()
    model = row.make().fit(x)
    loaded = stored_and_loaded(model, tmp_path)
    new = points(40, seed=5)
    for other in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(x)):
        assert_array_equal(other.predict(new), model.predict(new))


@order_free
def test_order_of_rows_does_not_matter(row: Row) -> None:
    x = points()
    order = np.random.default_rng(1).permutation(len(x))
    a, b = row.make().fit(x), row.make().fit(x[order])
    assert same_partition(a.labels_[order], b.labels_)
    assert_allclose(a.inertia_, b.inertia_, rtol=1e-9)


@order_free
def test_weights_are_repeated_rows(row: Row) -> None:
    x = points()
    w = np.random.default_rng(2).integers(0, 4, len(x))
    a = row.make().fit(x, sample_weight=w.astype(float))
    b = row.make().fit(np.repeat(x, w, axis=0))
    assert same_partition(np.repeat(a.labels_, w), b.labels_)
    assert_allclose(a.inertia_, b.inertia_, rtol=1e-9)


@pytest.mark.parametrize("row", [r for r in CLUSTERERS if r.unit_free], ids=lambda row: row.name)
def test_units_of_columns_do_not_matter(row: Row) -> None:
    x, units = points(), np.array([1e8, 1.0, 1e-8, 1.0])
    assert_array_equal(row.make().fit(x * units).labels_, row.make().fit(x).labels_)


@every
def test_one_point_and_as_many_clusters_as_points(row: Row) -> None:
    x = points(5)
    every_row = row.make().set_params(n_clusters=5).fit(x)
    assert_allclose(every_row.inertia_, 0.0, atol=1e-6)
    assert sorted(every_row.labels_) == [0, 1, 2, 3, 4]
    assert row.make().set_params(n_clusters=1).fit(x[:1]).labels_.tolist() == [0]
    assert set(row.make().set_params(n_clusters=1).fit(x).labels_) == {0}


@every
def test_all_points_equal(row: Row) -> None:
    model = row.make().fit(np.full((9, 2), 3.5))
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9)
    assert len(model.predict(np.full((2, 2), 3.5))) == 2


@every
def test_invalid_weights(row: Row) -> None:
    x = points()
    for weights in (np.zeros(len(x)), -np.ones(len(x)), np.full(len(x), np.nan), np.ones(3)):
        with pytest.raises(ValueError, match=r"(?i)sample_weight|weights"):
            row.make().fit(x, sample_weight=weights)


@every
def test_feature_names(row: Row) -> None:
    import pandas as pd

    frame = pd.DataFrame(points(), columns=["height", "weight", "age", "dose"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = row.make().fit(frame)
        model.predict(frame)
    assert list(model.feature_names_in_) == ["height", "weight", "age", "dose"]


@pytest.mark.parametrize("row", [r for r in CLUSTERERS if r.additive], ids=lambda row: row.name)
@pytest.mark.parametrize("size", [1, 7, 60])
def test_block_size_does_not_matter(row: Row, size: int) -> None:
    x = points()
    whole = row.make().fit(ArrayRows(x))
    split = row.make().fit(streamed(x, size))
    assert_array_equal(split.predict(x), whole.labels_)
    assert_allclose(split.inertia_, whole.inertia_, rtol=1e-9)
