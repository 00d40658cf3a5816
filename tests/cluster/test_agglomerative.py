"""Agglomerative clustering against SciPy and scikit-learn, of rows and of objects."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering as SklearnClustering
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import kneighbors_graph

import separatrix as sx
from tests.laws.data import same_partition

X = np.random.default_rng(0).standard_normal((120, 4)) * [1, 2, 3, 4]


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
@pytest.mark.parametrize("k", [2, 5, 30])
def test_equals_scikit_learn(linkage: str, k: int) -> None:
    own = sx.AgglomerativeClustering(k, linkage=linkage).fit(X)
    reference = SklearnClustering(k, linkage=linkage, compute_distances=True).fit(X)
    assert same_partition(own.labels_, reference.labels_)
    assert own.n_clusters_ == k
    assert own.n_leaves_ == reference.n_leaves_
    assert_allclose(own.distances_, reference.distances_, rtol=1e-9)
    assert own.children_.shape == reference.children_.shape


def test_the_default_is_ward_linkage_with_two_clusters() -> None:
    model = sx.AgglomerativeClustering().fit(X)
    assert_allclose(model.linkage_, hierarchy.linkage(X, "ward"), rtol=1e-9)
    assert model.n_clusters_ == 2
    assert_array_equal(sx.AgglomerativeClustering().fit_predict(X), model.labels_)


def test_merges_at_the_threshold_are_not_made() -> None:
    for level, clusters in ((1.0, 2), (1.5, 1)):
        model = sx.AgglomerativeClustering(None, distance_threshold=level).fit([[0.0], [1.0]])
        assert model.n_clusters_ == clusters


# -- graphs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single"])
@pytest.mark.parametrize("neighbors", [5, 1])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_points_of_a_graph_merge_as_in_scikit_learn(linkage: str, neighbors: int) -> None:
    graph = kneighbors_graph(X, neighbors, include_self=False)
    options = {"connectivity": graph, "linkage": linkage, "compute_distances": True}
    own = sx.AgglomerativeClustering(4, **options).fit(X)
    reference = SklearnClustering(4, **options).fit(X)
    assert_allclose(own.distances_, reference.distances_, rtol=1e-9)
    assert_array_equal(own.children_, np.sort(reference.children_, axis=1))
    assert same_partition(own.labels_, reference.labels_)
    assert own.n_connected_components_ == reference.n_connected_components_
    assert own.certificate_.holds


@pytest.mark.parametrize("linkage", ["weighted", "centroid", "median"])
def test_a_complete_graph_is_no_graph(linkage: str) -> None:
    own = sx.AgglomerativeClustering(
        3, connectivity=lambda x: np.ones((len(x),) * 2), linkage=linkage
    )
    assert_allclose(own.fit(X).linkage_, hierarchy.linkage(X, linkage), rtol=1e-9)
    assert own.certificate_.holds


def test_the_tree_of_a_graph_may_end_at_the_clusters() -> None:
    graph = np.ones((len(X), len(X)))
    model = sx.AgglomerativeClustering(5, connectivity=graph, compute_full_tree=False).fit(X)
    assert len(model.children_) == len(X) - 5
    with pytest.raises(sx.InputError, match="connectivity"):
        sx.AgglomerativeClustering(connectivity=graph[:3]).fit(X)


# -- distances -------------------------------------------------------------------------------------


def test_distances_in_condensed_form_and_functions_of_the_matrix() -> None:
    expected = sx.AgglomerativeClustering(4, linkage="average").fit(X)
    given = sx.AgglomerativeClustering(4, linkage="average", metric="precomputed").fit(pdist(X))
    computed = sx.AgglomerativeClustering(4, linkage="average", metric=euclidean_distances).fit(X)
    for model in (given, computed):
        assert_allclose(model.linkage_, expected.linkage_, rtol=1e-9)
    found = sx.silhouette(pdist(X), expected.labels_, "precomputed")
    assert_allclose(found.score, sx.silhouette(X, expected.labels_).score, rtol=1e-5)
    medoids = sx.KMedoids(3, metric="precomputed", init="build").fit(pdist(X))
    assert_array_equal(medoids.labels_, sx.KMedoids(3, init="build").fit(X).labels_)


@pytest.mark.parametrize("level", [0.0, 2.0, 4.0, 1e9])
def test_cut_at_a_distance(level: float) -> None:
    model = sx.AgglomerativeClustering(None, distance_threshold=level, linkage="complete").fit(X)
    expected = hierarchy.fcluster(hierarchy.linkage(X, "complete"), level, "distance")
    assert same_partition(model.labels_, expected)
    assert model.n_clusters_ == expected.max()


@pytest.mark.parametrize("params", [{"distance_threshold": 1.0}, {"n_clusters": None}])
def test_n_clusters_and_distance_threshold_exclude_each_other(params: dict) -> None:
    with pytest.raises(sx.InputError, match="Exactly one of"):
        sx.AgglomerativeClustering(**params).fit(X)


@pytest.mark.parametrize("level", [-1.0, np.nan])
def test_invalid_distance_threshold(level: float) -> None:
    with pytest.raises(sx.InputError, match="distance_threshold"):
        sx.AgglomerativeClustering(None, distance_threshold=level, linkage="average").fit(X)


def test_unknown_linkage() -> None:
    with pytest.raises(sx.InputError, match="complete"):
        sx.AgglomerativeClustering(linkage="complet").fit(X)


def test_inversions_are_reported() -> None:
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    model = sx.AgglomerativeClustering(linkage="centroid").fit(triangle)
    assert_allclose(model.linkage_[:, 2], [1.0, 0.9])
    assert model.inversions_.tolist() == [1]
    assert model.labels_.tolist() == [0, 0, 1]
    assert "1 merge is lower than one below" in str(model.certificate_)
    many = sx.AgglomerativeClustering(linkage="centroid").fit(X)
    assert not hierarchy.is_monotonic(hierarchy.linkage(X, "centroid"))
    assert f"{len(many.inversions_)} merges are lower" in str(many.certificate_)
    assert not len(sx.AgglomerativeClustering(linkage="average").fit(X).inversions_)


def test_precomputed_distances() -> None:
    d = squareform(pdist(X))
    given = sx.AgglomerativeClustering(4, metric="precomputed", linkage="average").fit(d)
    assert_allclose(
        given.linkage_, sx.AgglomerativeClustering(4, linkage="average").fit(X).linkage_, rtol=1e-9
    )
    assert given.certificate_.holds
    d[3, 5] *= 2
    with pytest.raises(sx.InputError, match="not symmetric"):
        sx.AgglomerativeClustering(4, metric="precomputed", linkage="average").fit(d)
    with pytest.raises(sx.InputError, match="square"):
        sx.AgglomerativeClustering(4, metric="precomputed", linkage="average").fit(d[:, :9])


@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
def test_strings(linkage: str) -> None:
    words = ["cat", "cut", "cats", "horse", "house", "houses"]
    model = sx.AgglomerativeClustering(linkage=linkage, metric="edit").fit(words)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.certificate_.holds
    assert model.n_features_in_ == 1  # one object for each row
    assert not hasattr(model, "feature_names_in_")

    def length(a: str, b: str) -> float:
        return float(abs(len(a) - len(b)))

    dashes = ["-" * k for k in (1, 4, 1, 9, 4)]
    own = sx.AgglomerativeClustering(3, linkage=linkage, metric=length).fit(dashes)
    assert own.labels_.tolist() == [0, 1, 0, 2, 1]
    assert own.distances_.tolist()[:2] == [0, 0]


def test_strings_with_a_kernel_distance() -> None:
    words, metric = ["cat", "cats", "catch", "horse", "house"], sx.KernelDistance(sx.Spectrum(2))
    model = sx.AgglomerativeClustering(metric=metric, linkage="average").fit(words)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    # cat has ca, at; cats has ca, at, ts: κ = 2, so d² = 2 − 4 + 3
    assert model.distances_[0] == pytest.approx(1.0)
    medoids = sx.KMedoids(2, metric=metric, random_state=0).fit(words)
    assert same_partition(medoids.labels_, model.labels_)
    assert sx.NearestNeighbors(n_neighbors=1, metric=metric).fit(words).retrieve(["mouse"]) == [
        ["house"]
    ]


def test_mixed_rows_with_missing_values() -> None:
    frame = pd.DataFrame({"size": [1.0, 1.1, None, 9.0], "kind": ["a", "a", "a", "b"]})
    model = sx.AgglomerativeClustering(metric="gower", linkage="average").fit(frame)
    assert model.labels_.tolist() == [0, 0, 0, 1]
    listed = list(frame.itertuples(index=False, name=None))
    again = sx.AgglomerativeClustering(metric=sx.Gower(), linkage="average").fit(listed)
    assert_allclose(again.linkage_, model.linkage_)


def test_medoids_of_mixed_rows() -> None:
    rows = [(1.0, "a"), (1.1, "a"), (8.0, "b"), (8.3, "b")]
    model = sx.KMedoids(2, metric="gower", random_state=0).fit(rows)
    assert same_partition(model.labels_, np.array([0, 0, 1, 1]))


def test_tables_with_text_columns(tmp_path) -> None:
    file = tmp_path / "table.csv"
    rows = [(i % 5 + (10 if i % 2 else 0), "yx"[i % 2]) for i in range(40)]
    pd.DataFrame(rows, columns=["size", "kind"]).to_csv(file, index=False)
    model = sx.AgglomerativeClustering(standardize=True, linkage="average").fit(sx.scan(file))
    assert same_partition(model.labels_, np.arange(40) % 2)
    assert list(model.feature_names_in_) == ["size", "kind"]
    model.fit(X)
    assert not hasattr(model, "feature_names_in_")


def test_weights_are_refused() -> None:
    rows = sx.scan(X, weight=np.arange(1.0, 121.0))
    with pytest.raises(sx.InputError, match="no weights"):
        sx.AgglomerativeClustering(linkage="average").fit(rows)


def test_standardize_needs_numeric_columns() -> None:
    for metric, given in (("edit", ["a", "b"]), ("precomputed", np.zeros((2, 2)))):
        with pytest.raises(sx.InputError, match="numeric columns"):
            sx.AgglomerativeClustering(metric=metric, standardize=True, linkage="average").fit(
                given
            )


def test_ward_linkage_needs_euclidean_distance() -> None:
    with pytest.raises(sx.InputError, match="Euclidean"):
        sx.AgglomerativeClustering(linkage="ward", metric="manhattan").fit(X)


def test_a_learned_metric_is_stored() -> None:
    model = sx.AgglomerativeClustering(metric="mahalanobis", linkage="average").fit(X)
    vi = np.linalg.inv(np.cov(X.T))
    expected = hierarchy.linkage(pdist(X, "mahalanobis", VI=vi), "average")
    ratio = model.linkage_[:, 2] / expected[:, 2]
    assert_allclose(ratio, ratio[0], rtol=1e-9)  # whether the covariance has n or n − 1
    assert model.metric_.distances(X[:1], X[1:2]).item() > 0


def test_of_many_points_some_merges_are_checked() -> None:
    x = np.random.default_rng(1).standard_normal((900, 3))
    for linkage in ("single", "average", "centroid"):
        model = sx.AgglomerativeClustering(5, linkage=linkage).fit(x)
        assert model.certificate_.holds
        assert "of the 899 merges were checked" in str(model.certificate_)


def test_distances_beyond_memory_are_refused(monkeypatch) -> None:
    monkeypatch.setattr("separatrix.cluster.agglomerative.physical_memory", lambda: 8.0 * 119**2)
    for linkage in ("complete", "average"):
        with pytest.raises(sx.InputError, match="of 120 rows needs all their distances"):
            sx.AgglomerativeClustering(linkage=linkage).fit(X)
    for linkage in ("single", "centroid", "ward"):
        assert sx.AgglomerativeClustering(linkage=linkage).fit(X).n_leaves_ == 120


def test_ward_linkage_of_iris() -> None:
    x, y = load_iris(return_X_y=True)
    labels = sx.AgglomerativeClustering(3, linkage="ward").fit(x).labels_
    assert len(set(labels[y == 0])) == 1
    assert np.mean(labels[y == 1] == np.bincount(labels[y == 1]).argmax()) > 0.95


def test_the_certificate_is_computed_on_first_use_and_stored_with_the_model() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3)) * 1e200  # fitted in another unit
    model = sx.AgglomerativeClustering(3).fit(x)
    assert "certificate_" not in vars(model)
    back = pickle.loads(pickle.dumps(model))
    assert back.certificate_.holds
    assert str(back.certificate_) == str(model.certificate_)
    assert model.fit(x[:30]).certificate_.notes[0].startswith("All 29 merges")
