"""Neighbours by every way of search against sorting all distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist

import separatrix as sx
from separatrix.distances import search as sparse_rows
from separatrix.distances.names import metric_from
from separatrix.distances.search import (
    ExhaustiveSearch,
    KDTree,
    NearestNeighborSearch,
    ProductSearch,
)


def nearest_by_sorting(distances: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def squared_distances(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Coordinate after coordinate, as the search adds them up: equal distances are equal."""
    total = np.zeros((len(x), len(z)))
    for j in range(x.shape[1]):
        total += (x[:, j, None] - z[:, j]) ** 2
    return total


@pytest.mark.parametrize("search", [KDTree, ProductSearch])
@pytest.mark.parametrize(
    ("n", "d", "k"), [(1, 1, 1), (7, 2, 7), (900, 2, 5), (900, 9, 40), (700, 33, 12)]
)
def test_exact(search: type, n: int, d: int, k: int) -> None:
    rng = np.random.default_rng(n + d)
    z, x = rng.normal(size=(n, d)), rng.normal(size=(301, d))
    every = squared_distances(x, z)
    found = search(z).nearest(x, k)
    expected = nearest_by_sorting(every, k)
    np.testing.assert_array_equal(found.indices, expected)
    np.testing.assert_allclose(
        found.distances, np.sqrt(np.take_along_axis(every, expected, 1)), rtol=1e-12
    )


@pytest.mark.parametrize("search", [KDTree, ProductSearch])
def test_ties_and_repeats_come_in_the_order_of_the_points(search: type) -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, size=(500, 3)).astype(float)  # at most 27 different points
    found = search(z).nearest(z, 30)
    np.testing.assert_array_equal(found.indices, nearest_by_sorting(squared_distances(z, z), 30))


@pytest.mark.parametrize("unit", [1e-160, 1e-8, 1e8, 1e150])
@pytest.mark.parametrize("search", [KDTree, ProductSearch])
def test_units_do_not_matter(search: type, unit: float) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 5)) + 100.0
    np.testing.assert_array_equal(
        search(z * unit).nearest(z[:50] * unit, 6).indices, search(z).nearest(z[:50], 6).indices
    )


def test_few_rows_are_searched_in_parts_of_the_points_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    z, x = rng.normal(size=(9001, 7)), rng.normal(size=(130, 7))
    z[4500:4700] = z[:200]  # ties across the parts
    expected = nearest_by_sorting(squared_distances(x, z), 9)
    found = {}
    for threads in (1, 16):
        monkeypatch.setattr("separatrix.threads.available_threads", lambda n=threads: n)
        for search in (KDTree, ProductSearch):
            found[search, threads] = search(z).nearest(x, 9)
            np.testing.assert_array_equal(found[search, threads].indices, expected)
        few = ProductSearch(z).nearest(x[:3], 9)
        np.testing.assert_array_equal(few.indices, expected[:3])
    for search in (KDTree, ProductSearch):
        one, many = found[search, 1].distances, found[search, 16].distances
        np.testing.assert_array_equal(one, many)


def test_single_precision_never_decides_alone() -> None:
    """Points that differ in the tenth digit, and rows far outside the cloud."""
    rng = np.random.default_rng(0)
    z = 1.0 + 1e-10 * rng.normal(size=(600, 30))
    z[:300] += rng.normal(size=(300, 30))
    x = np.vstack([z[300:340] + 1e-11, z[:5] * 1e9])
    found = ProductSearch(z).nearest(x, 4)
    np.testing.assert_array_equal(found.indices, nearest_by_sorting(squared_distances(x, z), 4))


@settings(max_examples=60, deadline=None)
@given(
    arrays(float, st.tuples(st.integers(1, 40), st.just(2)), elements=st.integers(-3, 3)),
    st.integers(1, 40),
)
def test_small_degenerate_point_sets(z: np.ndarray, k: int) -> None:
    k = min(k, len(z))
    expected = nearest_by_sorting(squared_distances(z, z), k)
    for search in (KDTree, ProductSearch):
        np.testing.assert_array_equal(search(z).nearest(z, k).indices, expected)


@pytest.mark.parametrize(
    "metric",
    [
        "euclidean",
        "sqeuclidean",
        "manhattan",
        "chebyshev",
        "cosine",
        "mahalanobis",
        sx.Minkowski(1),
        sx.Minkowski(3),
        sx.Elliptical(np.diag([1.0, 4.0, 0.5])),
        lambda a, b: float(np.abs(a - b).sum()),
    ],
)
def test_every_metric(metric: object) -> None:
    rng = np.random.default_rng(3)
    z, x = rng.normal(size=(300, 3)) + 5, rng.normal(size=(20, 3)) + 5
    every = metric_from(metric).fitted(z).distances(x, z)
    found = NearestNeighborSearch(z, metric).nearest(x, 6)
    np.testing.assert_array_equal(found.indices, nearest_by_sorting(every, 6))
    np.testing.assert_allclose(found.distances, np.sort(every, axis=1)[:, :6], rtol=1e-8)


def test_tree_and_products_are_both_used_and_agree() -> None:
    rng = np.random.default_rng(0)
    flat, thick = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 20))
    for z in (flat, thick):
        search = NearestNeighborSearch(z)._search.search  # type: ignore[attr-defined]
        found = search.nearest(z[:200], 5)
        assert ("_exhaustive" in vars(search)) == (z is thick)
        again = ExhaustiveSearch(sx.Euclidean().prepare(z)).nearest(z[:200], 5)
        np.testing.assert_array_equal(found.indices, again.indices)


def test_strings() -> None:
    words = ["cat", "cart", "dog", "dot", "act"]
    assert NearestNeighborSearch(words, "edit").nearest(["cot"], 2).indices.tolist() == [[0, 3]]


def test_nearest_others_exclude_the_point_itself() -> None:
    z = np.array([[0.0], [0.0], [0.0], [0.0], [5.0]])
    found = NearestNeighborSearch(z).nearest_others(2, z)
    for i, row in enumerate(found.indices):
        assert i not in row
    with pytest.raises(sx.InputError, match="there are 4"):
        NearestNeighborSearch(z).nearest_others(5, z)


def test_invalid_queries_are_refused() -> None:
    with pytest.raises(sx.InputError, match="3 neighbors were requested, among 2"):
        NearestNeighborSearch([[0.0], [1.0]]).nearest([[0.0]], 3)
    with pytest.raises(sx.InputError, match="columns"):
        NearestNeighborSearch(np.ones((3, 2))).nearest(np.ones((3, 1)), 1)
    with pytest.raises(sx.InputError, match="No points"):
        NearestNeighborSearch(np.ones((0, 2)))


def test_many_equal_distances_in_many_columns() -> None:
    rng = np.random.default_rng(0)
    x = np.zeros((4000, 40))
    x[:, :5] = rng.integers(0, 2, size=(4000, 5))
    found = sx.NearestNeighbors(n_neighbors=6).fit(x).kneighbors(x[:60])
    every = cdist(x[:60], x)
    order = np.argsort(every, axis=1, kind="stable")[:, :6]
    np.testing.assert_array_equal(found[1], order)
    np.testing.assert_array_equal(found[0], np.take_along_axis(every, order, axis=1))


@pytest.fixture
def sparse_points(monkeypatch: pytest.MonkeyPatch) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Points and queries, a tenth of them points, searched in blocks of a few entries."""
    monkeypatch.setattr(sparse_rows, "MANY_ENTRIES", 100)
    monkeypatch.setattr(sparse_rows, "BLOCK_ENTRIES", 2000)
    rng = np.random.default_rng(8)
    z = sparse.random_array((120, 50), density=0.04, rng=rng, format="csr")
    return z, sparse.vstack([z[:10], sparse.random_array((20, 50), density=0.05, rng=rng)]).tocsr()


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "minkowski"])
def test_sparse_rows_stay_sparse_and_have_neighbors_as_near(sparse_points, metric: str) -> None:
    z, x = sparse_points
    search, dense = NearestNeighborSearch(z, metric), NearestNeighborSearch(z.toarray(), metric)
    assert isinstance(search._search, sparse_rows.SparseSearch)
    neighbors, expected = search.nearest(x, 4), dense.nearest(x.toarray(), 4)
    np.testing.assert_allclose(neighbors.distances, expected.distances, atol=1e-14)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "minkowski"])
def test_sparse_rows_have_the_same_neighbors(sparse_points, metric: str) -> None:
    """Without cosine: orthogonal rows are all equally far, up to rounding."""
    z, x = sparse_points
    search, dense = NearestNeighborSearch(z, metric), NearestNeighborSearch(z.toarray(), metric)
    neighbors, expected = search.nearest(x, 4), dense.nearest(x.toarray(), 4)
    np.testing.assert_array_equal(neighbors.indices, expected.indices)
    radius = float(np.median(expected.distances))
    near, exact = search.within(x, radius), dense.within(x.toarray(), radius * (1 + 1e-9))
    np.testing.assert_array_equal(near.starts, exact.starts)
    np.testing.assert_array_equal(near.indices, exact.indices)
    model = sx.KNeighborsRegressor(3, metric=metric).fit(z, np.arange(120.0))
    assert sparse.issparse(model.points_)
    plain = sx.KNeighborsRegressor(3, metric=metric).fit(z.toarray(), np.arange(120.0))
    np.testing.assert_allclose(model.predict(x), plain.predict(x.toarray()))
