"""Invariances of hierarchical clustering: units, order, blocks, files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from tests.laws.data import points, same_partition, stored_and_loaded, streamed
from tests.registry import HIERARCHIES, Row

every = pytest.mark.parametrize("row", HIERARCHIES, ids=lambda row: row.name)


@every
def test_the_certificate_holds(row: Row) -> None:
    certificate = row.make().fit(points()).certificate_
    assert certificate.holds
    assert certificate.kkt < 1e-12
    assert "closest" in str(certificate)
    assert "nan" not in str(certificate).lower().split()


@every
def test_copies_pickles_and_files_are_the_same(row: Row, tmp_path) -> None:
    x = points()
    model = row.make().fit(x)
    loaded = stored_and_loaded(model, tmp_path)
    for other in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(x)):
        assert_array_equal(other.linkage_, model.linkage_)
        assert_array_equal(other.labels_, model.labels_)
        assert_array_equal(other.dendrogram_.cut(7), model.dendrogram_.cut(7))
        assert str(other.certificate_) == str(model.certificate_)


@every
def test_order_of_rows_does_not_matter(row: Row) -> None:
    x = points()
    order = np.random.default_rng(1).permutation(len(x))
    a, b = row.make().fit(x), row.make().fit(x[order])
    assert_allclose(np.sort(a.linkage_[:, 2]), np.sort(b.linkage_[:, 2]), rtol=1e-9)
    for k in (2, 3, 10, 40):
        assert same_partition(a.dendrogram_.cut(k)[order], b.dendrogram_.cut(k))


@pytest.mark.parametrize("row", [r for r in HIERARCHIES if r.unit_free], ids=lambda row: row.name)
def test_units_and_origin_of_columns_do_not_matter(row: Row) -> None:
    x, units = points(), np.array([1e8, 1.0, 1e-8, 1.0])
    a, b = row.make().fit(x), row.make().fit(x * units + 5 * units)
    assert_allclose(b.linkage_, a.linkage_, rtol=1e-6)
    constant = np.column_stack([x, np.full(len(x), 0.3)])
    assert_allclose(row.make().fit(constant).linkage_, a.linkage_, rtol=1e-9)


@every
@pytest.mark.parametrize("size", [1, 7, 60])
def test_tables_read_in_blocks_give_the_same_tree(row: Row, size: int) -> None:
    x = points()
    model = row.make().fit(streamed(x, size))
    assert_allclose(model.linkage_, row.make().fit(x).linkage_, rtol=1e-9)
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]


@every
def test_one_point_and_as_many_clusters_as_points(row: Row) -> None:
    x = points(5)
    assert row.make().set_params(n_clusters=5).fit(x).labels_.tolist() == [0, 1, 2, 3, 4]
    assert set(row.make().set_params(n_clusters=1).fit(x).labels_) == {0}
    alone = row.make().set_params(n_clusters=1).fit(x[:1])
    assert alone.labels_.tolist() == [0]
    assert alone.linkage_.shape == (0, 4)
    assert alone.certificate_.holds


@every
def test_all_points_equal(row: Row) -> None:
    model = row.make().fit(np.full((9, 2), 3.5))
    assert_allclose(model.linkage_[:, 2], 0.0)
    assert model.n_clusters_ == 3
    assert model.certificate_.holds
