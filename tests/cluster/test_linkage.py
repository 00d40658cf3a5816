"""Linkage against SciPy, and its certificate against wrong tables."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform

from separatrix.cluster.linkage import (
    ALL_MERGES,
    LINKAGES,
    MAX_DIMENSIONS,
    Dendrogram,
    certify_linkage,
    linkage,
)
from separatrix.distances.names import metric_from
from separatrix.messages import InputError

methods = pytest.mark.parametrize("method", LINKAGES)


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


@methods
@pytest.mark.parametrize(
    ("n", "d"), [(2, 1), (3, 2), (40, 3), (201, 2), (400, 5), (300, 20), (700, 1)]
)
def test_equals_scipy(method: str, n: int, d: int) -> None:
    x = points(n, d)
    assert_allclose(linkage(x, method), hierarchy.linkage(x, method), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["single", "complete", "average"])
@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine", "sqeuclidean"])
@pytest.mark.parametrize(("n", "d"), [(50, 4), (260, MAX_DIMENSIONS + 1)])
def test_other_metrics_and_precomputed_distances(method: str, metric: str, n: int, d: int) -> None:
    x = points(n, d)
    name = "cityblock" if metric == "manhattan" else metric
    expected = hierarchy.linkage(pdist(x, name), method)
    assert_allclose(linkage(x, method, metric), expected, rtol=1e-9, atol=1e-12)
    given_ = linkage(squareform(pdist(x, name)), method, "precomputed")
    assert_allclose(given_, expected, rtol=1e-9, atol=1e-12)


@methods
@pytest.mark.parametrize("unit", [1e-8, 1e8])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_units_and_origin_do_not_matter(method: str, unit: float, offset: float) -> None:
    x = points(250, 3)
    table = linkage((x + offset) * unit, method)
    table[:, 2] /= unit
    assert_allclose(table, linkage(x, method), rtol=1e-6)


lattices = st.integers(0, 10_000).flatmap(
    lambda seed: st.tuples(st.just(seed), st.integers(1, 60), st.integers(1, 3), st.integers(1, 5))
)


@given(lattices)
@settings(max_examples=40, deadline=None)
def test_single_linkage_of_a_lattice_has_the_heights_of_scipy(case) -> None:
    """With ties there are several trees, and the heights of all of them are the same."""
    seed, n, d, side = case
    x = np.random.default_rng(seed).integers(0, side, (n, d)).astype(float)
    table = linkage(x, "single")
    if n > 1:
        assert_allclose(table[:, 2], hierarchy.linkage(pdist(x), "single")[:, 2], atol=1e-12)
    assert certify_linkage(x, metric_from("euclidean"), "single", table).holds


@given(lattices, st.sampled_from(LINKAGES))
@settings(max_examples=60, deadline=None)
def test_with_ties_every_merge_joins_the_closest_clusters(case, method: str) -> None:
    seed, n, d, side = case
    x = np.random.default_rng(seed).integers(0, side, (n, d)).astype(float)
    table = linkage(x, method)
    assert table.shape == (n - 1, 4)
    shape = Dendrogram(table)  # refuses anything that is not a tree
    if method not in ("centroid", "median"):  # which have inversions
        assert (np.diff(shape.heights) >= 0).all()
    assert certify_linkage(x, metric_from("euclidean"), method, table).holds


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted", "ward"])
def test_routes_of_many_points(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees and searches in place of all distances, and chains after the first rounds."""
    monkeypatch.setattr("separatrix.cluster.linkage.FEW_POINTS", 200)
    monkeypatch.setattr("separatrix.cluster.linkage.MANY_POINTS", 200)
    monkeypatch.setattr("separatrix.cluster.linkage.MIN_MERGED", 0.3)
    monkeypatch.setattr("separatrix.cluster.linkage.FEW_CLUSTERS", 0)
    monkeypatch.setattr("separatrix.cluster.linkage.MAX_SEARCHES", 2)
    x = points(400, 5)
    assert_allclose(linkage(x, method), hierarchy.linkage(x, method), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(400, 40), (60, 2000), (300, 300)])
def test_ward_linkage_from_distances(shape: tuple[int, int]) -> None:
    """Few points for their columns: products, of which close pairs lose no digits."""
    x = points(*shape)
    x[1::3] = x[::3][: len(x[1::3])] * (1.0 + 1e-9)
    expected = hierarchy.linkage(x, "ward")
    ours = linkage(x, "ward")
    assert_allclose(ours[:, 2], expected[:, 2], rtol=1e-6, atol=1e-12)
    assert np.array_equal(ours[:, :2], expected[:, :2])
    assert certify_linkage(x, metric_from("euclidean"), "ward", ours).holds


def test_single_linkage_of_many_ties_in_the_tree_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("separatrix.cluster.linkage.FEW_POINTS", 200)
    x = np.random.default_rng(3).integers(0, 6, (900, 3)).astype(float)
    expected = hierarchy.linkage(x, "single")[:, 2]
    assert_allclose(linkage(x, "single")[:, 2], expected, atol=1e-12)


@methods
def test_all_points_equal(method: str) -> None:
    table = linkage(np.full((260, 3), 7.5), method)
    assert_allclose(table[:, 2], 0.0)
    assert len(Dendrogram(table)) == 260


@methods
def test_no_columns(method: str) -> None:
    assert_allclose(linkage(np.zeros((4, 0)), method)[:, 2], 0.0)


def test_centroid_linkage_of_a_triangle_has_an_inversion() -> None:
    """A triangle of sides 1, and √(¼ + 0.81) twice: the merges are at 1 and at 0.9."""
    table = linkage(np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]]), "centroid")
    assert_allclose(table, [[0, 1, 1.0, 2], [2, 3, 0.9, 3]])


def test_four_points_by_hand() -> None:
    """0, 1, 3, 7 on a line."""
    x = np.array([[0.0], [1.0], [3.0], [7.0]])
    heights = {
        "single": [1, 2, 4],
        "complete": [1, 3, 7],
        "average": [1, 2.5, 17 / 3],
        "centroid": [1, 2.5, 7 - 4 / 3],
        "ward": [1, 2.5 * np.sqrt(4 / 3), (7 - 4 / 3) * np.sqrt(3 / 2)],
    }
    for method, expected in heights.items():
        assert_allclose(linkage(x, method)[:, 2], expected)


def test_strings() -> None:
    words = ["cat", "cut", "cats", "horse", "house"]
    table = linkage(words, "complete", "edit")
    assert table[:, 2].tolist()[:2] == [1, 1]
    assert len(set(Dendrogram(table).cut(2)[:3])) == 1


@methods
def test_no_points_and_unknown_linkage(method: str) -> None:
    with pytest.raises(InputError, match="No points"):
        linkage(np.zeros((0, 2)), method)
    with pytest.raises(InputError, match="linkage"):
        linkage(np.zeros((3, 2)), "mode")


def test_centroid_and_ward_need_euclidean_distance() -> None:
    for method in ("centroid", "median", "ward"):
        with pytest.raises(InputError, match="Euclidean"):
            linkage(points(9, 2), method, "manhattan")


@pytest.mark.parametrize("method", ["single", "complete", "average"])
def test_asymmetric_distances_are_refused(method: str) -> None:
    d = squareform(pdist(points(6, 2)))
    d[1, 4] += 0.5
    with pytest.raises(InputError, match="not symmetric"):
        linkage(d, method, "precomputed")
    with pytest.raises(InputError, match="square"):
        linkage(d[:, :4], method, "precomputed")


def test_single_linkage_does_not_store_all_distances() -> None:
    x = points(6_000, 3)
    linkage(x[:300], "single")  # compiled and cached
    tracemalloc.start()
    linkage(x, "single")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6 < 8 * 6_000**2 / 20


# -- the certificate detects errors ----------------------------------------------------------------


@methods
@pytest.mark.parametrize("n", [60, ALL_MERGES + 1])
def test_a_wrong_height_is_detected(method: str, n: int) -> None:
    x = points(n, 3)
    table = linkage(x, method)
    metric = metric_from("euclidean")
    right = certify_linkage(x, metric, method, table)
    assert right.holds
    assert right.kkt < 1e-12
    table[:, 2] *= 1.001
    assert not certify_linkage(x, metric, method, table).holds


@methods
def test_a_merge_out_of_order_is_detected(method: str) -> None:
    """Ten pairs far from one another, ever wider: they merge in this order."""
    x = np.array([[100.0 * i, j * (1 + 0.1 * i)] for i in range(10) for j in (0, 1)])
    table = linkage(x, method)
    assert (table[:10, :2] < 20).all()
    table[[2, 7]] = table[[7, 2]]
    assert not certify_linkage(x, metric_from("euclidean"), method, table).holds


def test_the_wrong_linkage_is_detected_among_many_points() -> None:
    x = points(ALL_MERGES + 200, 2)
    table = linkage(x, "average")
    for other in ("single", "complete", "centroid", "ward"):
        assert not certify_linkage(x, metric_from("euclidean"), other, table).holds
