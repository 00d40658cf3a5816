"""Shortest paths as a metric, and points that no path leads to."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import separatrix as sx

ROADS = {"a": {"b": 1.0, "c": 2.5}, "b": {"c": 1.0}, "x": {"y": 1.0}, "y": {"z": 2.0}}
NODES = list("abcxyz")
#: Distances of a part of three nodes and one of two.
APART = np.full((5, 5), np.inf)
APART[:3, :3] = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
APART[3:, 3:] = [[0, 1], [1, 0]]


def all_pairs(lengths: np.ndarray) -> np.ndarray:
    """Floyd and Warshall's algorithm, by its definition."""
    d = np.minimum(lengths, lengths.T)
    np.fill_diagonal(d, 0.0)
    for k in range(len(d)):
        d = np.minimum(d, d[:, [k]] + d[[k]])
    return d


def test_paths_are_the_shortest_of_all() -> None:
    rng = np.random.default_rng(0)
    lengths = np.where(rng.random((14, 14)) < 0.06, rng.integers(1, 9, (14, 14)), np.inf)
    dense = np.where(np.isfinite(lengths), lengths, 0.0)
    expected = all_pairs(lengths)
    assert np.isinf(expected).any()
    for edges in (lengths, dense, sparse.csr_array(dense)):
        metric = sx.GraphDistance(edges)
        assert_allclose(metric.distances(range(14)), expected)
        assert_allclose(metric.distances([3, 5, 3], range(14)), expected[[3, 5, 3]])


def test_a_king_moves_by_chebyshev_distance() -> None:
    squares = list(product(range(5), range(5)))
    steps = [s for s in product((-1, 0, 1), repeat=2) if s != (0, 0)]
    moves = {(i, j): [(i + a, j + b) for a, b in steps if (i + a, j + b) in squares]
             for i, j in squares}  # fmt: skip
    king = sx.GraphDistance(moves)
    assert_allclose(king.distances(squares), sx.Chebyshev().distances(squares))
    assert sx.metric_axioms(king, squares).kind == "metric"
    bishop = {(i, j): [(i + a, j + b) for a, b in steps if a and b and (i + a, j + b) in squares]
              for i, j in squares}  # fmt: skip
    assert sx.GraphDistance(bishop)((0, 0), (0, 1)) == np.inf


def test_edges_of_length_zero_make_a_pseudo_metric() -> None:
    metric = sx.GraphDistance({"a": {"b": 0.0}, "b": {"c": 2.0}})
    assert not metric.is_metric
    found = sx.metric_axioms(metric, ["a", "b", "c"])
    assert found.kind == "pseudo-metric"
    assert "quotient by distance 0" in str(found)
    assert metric("a", "c") == 2.0


def test_nodes_out_of_reach_are_no_neighbors() -> None:
    metric = sx.GraphDistance(ROADS)
    search = sx.NearestNeighbors(n_neighbors=2, metric=metric).fit(NODES)
    distances, indices = search.kneighbors()
    assert set(indices[:3].ravel()) == {0, 1, 2}
    assert_allclose(distances[0], [1.0, 2.0])
    with pytest.raises(sx.InputError, match="row 1 reaches 3"):
        search.kneighbors(NODES, 4)
    near = sx.NearestNeighbors(radius=np.inf, metric=metric).fit(NODES).radius_neighbors()[1]
    assert [len(row) for row in near] == [2] * 6
    model = sx.KNeighborsClassifier(2, metric=metric).fit(NODES, list("uuvvvu"))
    assert model.predict(["c", "x"]).tolist() == ["u", "v"]


@pytest.mark.parametrize("k", [1, 2])
def test_infinite_precomputed_distances_are_missing_edges(k: int) -> None:
    targets = np.array([0.0, 2.0, 4.0, 10.0, 20.0])
    model = sx.KNeighborsRegressor(k, metric="precomputed").fit(APART, targets)
    expected = [np.mean(targets[np.argsort(row, kind="stable")[:k]]) for row in APART]
    assert_allclose(model.predict(APART), expected)
    search = sx.NearestNeighbors(n_neighbors=3, metric="precomputed").fit(APART)
    with pytest.raises(sx.InputError, match="have only 2"):
        search.kneighbors(APART)
    radius = sx.RadiusNeighborsClassifier(1.5, metric="precomputed").fit(APART, list("aaabb"))
    assert radius.predict(APART).tolist() == list("aaabb")


@pytest.mark.parametrize(
    "make",
    [
        lambda metric: sx.KMedoids(2, metric=metric),
        *(
            lambda metric, kind=kind: sx.AgglomerativeClustering(2, metric=metric, linkage=kind)
            for kind in ("single", "complete", "average")
        ),
    ],
)
def test_clusters_need_all_distances(make) -> None:
    for metric, points in (("precomputed", APART), (sx.GraphDistance(ROADS), NODES)):
        with pytest.raises(sx.InputError, match="Rows 1 and 4 are infinitely far apart"):
            make(metric).fit(points)
    with pytest.raises(sx.InputError, match="A sparse graph holds"):
        make("precomputed").fit(sparse.csr_array(np.where(np.isinf(APART), 0.0, APART)))
    assert sorted(make(sx.GraphDistance(ROADS)).fit(NODES[:3]).labels_) in ([0, 0, 1], [0, 1, 1])


def test_medoids_and_silhouettes_of_points_out_of_reach() -> None:
    with pytest.raises(sx.InputError, match="infinitely far apart"):
        sx.medoid(APART, "precomputed")
    assert sx.medoid(APART[:3, :3], "precomputed").index == 1
    assert_allclose(sx.silhouette(APART, [0, 0, 0, 1, 1], "precomputed").samples, 1.0)
    split = sx.silhouette(APART, [0, 0, 1, 1, 2], "precomputed").samples
    assert_allclose(split, [1.0, 1.0, -1.0, -1.0, 0.0])
    with pytest.raises(sx.InputError, match="no silhouette"):
        sx.silhouette(APART, [0, 1, 0, 1, 0], "precomputed")


def test_models_of_a_graph_are_stored(tmp_path) -> None:
    model = sx.KNeighborsClassifier(2, metric=sx.GraphDistance(ROADS)).fit(NODES, list("uuvvvu"))
    sx.save(model, tmp_path / "model.sx")
    assert sx.load(tmp_path / "model.sx").predict(NODES).tolist() == model.predict(NODES).tolist()


@pytest.mark.parametrize(
    ("edges", "words"),
    [({"a": {"b": -1.0}}, "not negative"), (np.ones((2, 3)), "square matrix")],
)
def test_what_is_no_graph_is_refused(edges, words: str) -> None:
    with pytest.raises(sx.InputError, match=words):
        sx.GraphDistance(edges).distances(["a", "b"])
    with pytest.raises(sx.InputError, match="not a node"):
        sx.GraphDistance(ROADS)("a", "q")
