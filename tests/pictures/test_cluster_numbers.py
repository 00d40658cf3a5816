"""What the pictures of clusters show is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import silhouette_samples

import separatrix as sx
from separatrix.pictures import (
    ClusterProfileDisplay,
    ClusterProjectionDisplay,
    DendrogramDisplay,
    DistanceConcentrationDisplay,
    ElbowDisplay,
    SilhouetteDisplay,
)
from separatrix.pictures.cluster import BRANCHES, MAX_LEAVES

X, KIND = load_iris(return_X_y=True)
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])


# -- silhouettes -----------------------------------------------------------------------------------


def test_silhouettes_are_those_of_scikit_learn() -> None:
    display = SilhouetteDisplay.from_rows(X, KIND)
    expected = silhouette_samples(X, KIND)
    for i in range(3):
        own = np.sort(expected[i == KIND])[::-1]
        assert_allclose(display.of_cluster(i), own, atol=1e-5)
    assert display.n_negative == (expected < 0).sum()
    assert f"Mean silhouette {expected.mean():.3f}" in display.description
    assert f"{(expected < 0).sum()} of 150 rows" in display.description


def test_outlines_cover_every_cluster_in_order() -> None:
    display = SilhouetteDisplay.from_rows(X, KIND).plot()
    stairs = [patch for patch in display.ax_.patches if hasattr(patch, "get_data")]
    assert len(stairs) == 3
    for i, patch in enumerate(stairs):
        values, edges, _ = patch.get_data()
        assert edges[-1] - edges[0] == pytest.approx(50)
        assert (np.diff(values) <= 0).all()
        assert_allclose(values, display.of_cluster(i), atol=1e-12)


def test_silhouettes_of_a_model_are_in_its_metric() -> None:
    words = ["cat", "cut", "cats", "horse", "house", "houses"]
    model = sx.AgglomerativeClustering(2, metric="edit", linkage="average").fit(words)
    display = SilhouetteDisplay.from_estimator(model, words)
    # cat: 1 to cut and to cats; 4, 4 and 5 to the others
    d = model.metric_.distances(words)
    a, b = d[0, 1:3].mean(), d[0, 3:].mean()
    assert_allclose(display.silhouette.samples[0], (b - a) / b)


def test_silhouettes_of_a_model_that_standardized() -> None:
    x = X * [1e8, 1, 1e-8, 1]
    model = sx.KMeans(3, standardize=True, random_state=0).fit(x)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = silhouette_samples(z, model.labels_)
    display = SilhouetteDisplay.from_estimator(model, x)
    assert_allclose(display.silhouette.samples, expected, atol=1e-5)


# -- trees -----------------------------------------------------------------------------------------


def drawn_heights(display: DendrogramDisplay) -> list[float]:
    """Heights of the level bars of all branches, sorted."""
    found = []
    for line in display.plot().ax_.lines:
        x, y = (np.asarray(v, dtype=float) for v in line.get_data())
        if len(x) >= 5 and np.isnan(x).any():
            level = (y[1:] == y[:-1]) & (x[1:] != x[:-1]) & (y[1:] > 0)
            found += y[1:][level].tolist()
    return sorted(found)


@pytest.mark.parametrize("method", ["single", "average", "centroid", "ward"])
def test_every_merge_is_drawn_at_its_height(method: str) -> None:
    table = hierarchy.linkage(X[::3] + 1e-3 * np.arange(50)[:, None] ** 0.7, method)
    display = DendrogramDisplay.from_linkage(table, n_clusters=3)
    assert_allclose(drawn_heights(display), np.sort(table[:, 2]))


def test_leaves_are_where_scipy_puts_them() -> None:
    table = hierarchy.linkage(X[:20], "average")
    peer = hierarchy.dendrogram(table, no_plot=True)
    ticks = DendrogramDisplay.from_linkage(table).plot().ax_.get_xticklabels()
    assert [tick.get_text() for tick in ticks] == peer["ivl"]


def test_a_large_tree_is_drawn_down_to_branches_with_their_sizes() -> None:
    rng = np.random.default_rng(0)
    table = hierarchy.linkage(rng.standard_normal((MAX_LEAVES + 300, 2)), "complete")
    display = DendrogramDisplay.from_linkage(table, n_clusters=4)
    assert display.shown == BRANCHES
    heights = drawn_heights(display)
    assert_allclose(heights, table[-(BRANCHES - 1) :, 2])
    sizes = [int(t.get_text().replace(",", "")) for t in display.ax_.get_xticklabels()]
    assert sum(sizes) == MAX_LEAVES + 300
    peer = hierarchy.dendrogram(table, truncate_mode="lastp", p=BRANCHES, no_plot=True)
    assert sizes == [int(t.strip("()")) if "(" in t else 1 for t in peer["ivl"]]


@pytest.mark.parametrize("k", [1, 2, 5, 150])
def test_the_line_makes_the_cut(k: int) -> None:
    table = hierarchy.linkage(X + 1e-4 * np.random.default_rng(0).random(X.shape), "complete")
    display = DendrogramDisplay.from_linkage(table, n_clusters=k)
    assert display.clusters == k
    assert len(set(hierarchy.fcluster(table, display.cut_height, "distance"))) == k


def test_inversions_are_marked_and_have_no_line_through_them() -> None:
    display = DendrogramDisplay.from_linkage(
        hierarchy.linkage(TRIANGLE, "centroid"), n_clusters=2
    ).plot()
    assert display.cut_height is None  # 2 clusters after the merge at 1, the next one is at 0.9
    marks = [line for line in display.ax_.lines if line.get_marker() == "v"]
    assert_allclose(np.concatenate([m.get_ydata() for m in marks]), [0.9])
    assert "1 inversion (marked)" in display.description


def test_a_model_brings_its_cut() -> None:
    model = sx.AgglomerativeClustering(None, distance_threshold=2.0, linkage="average").fit(X)
    display = DendrogramDisplay.from_estimator(model)
    assert_array_equal(display.labels, model.labels_)
    assert display.cut_height == 2.0


def test_one_leaf_and_names_of_others() -> None:
    with pytest.raises(sx.InputError, match="two leaves"):
        DendrogramDisplay.from_linkage(np.zeros((0, 4)))
    with pytest.raises(sx.InputError, match="2 labels for 3"):
        DendrogramDisplay.from_linkage(hierarchy.linkage(TRIANGLE), leaf_labels=["a", "b"])


# -- how many --------------------------------------------------------------------------------------


def test_the_elbow_finds_four_blobs() -> None:
    x, _ = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    display = ElbowDisplay.from_rows(x, range(1, 8))
    assert display.best == display.chosen == 4
    assert display.within[0] == pytest.approx(1.0)
    assert np.isnan(display.silhouettes[0])
    within = sx.KMeans(4, n_init=5, random_state=0).fit(x).inertia_
    assert display.within[3] == pytest.approx(within / ((x - x.mean(axis=0)) ** 2).sum())
    score = silhouette_samples(x, sx.KMeans(4, n_init=5, random_state=0).fit(x).labels_).mean()
    assert display.silhouettes[3] == pytest.approx(score, abs=1e-5)


def test_the_elbow_of_another_clusterer_and_of_equal_rows() -> None:
    x, _ = make_blobs(60, centers=[[0, 0], [9, 0]], random_state=0)
    model = sx.AgglomerativeClustering(linkage="ward")
    assert ElbowDisplay.from_rows(x, [2, 3], model=model).best == 2
    equal = ElbowDisplay.from_rows(np.ones((5, 2)), [1], model=model)
    assert equal.best is None
    assert equal.chosen is None
    equal.plot()
    with pytest.raises(sx.InputError, match="one scatter"):
        ElbowDisplay([1, 2], [0.5], [0.1])


def test_the_elbow_of_few_rows_and_of_many(monkeypatch) -> None:
    assert ElbowDisplay.from_rows(X[::50], range(1, 9)).n_clusters.tolist() == [1, 2, 3]
    monkeypatch.setattr("separatrix.pictures.cluster.SILHOUETTE_ROWS", 50)
    display = ElbowDisplay.from_rows(X, [2, 3])
    some = np.linspace(0, 149, 50).round().astype(int)
    labels = sx.KMeans(2, n_init=5, random_state=0).fit(X).labels_
    assert display.silhouette_rows == 50
    assert display.silhouettes[0] == pytest.approx(sx.silhouette(X[some], labels[some]).score)
    assert "(of 50 rows)" in display.description


# -- profiles --------------------------------------------------------------------------------------


def test_profiles_are_means_of_standardized_columns() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    display = ClusterProfileDisplay.from_rows(frame, KIND)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(display.means, [z[i == KIND].mean(axis=0) for i in range(3)])
    assert display.names == ("a", "b", "c", "d")
    assert display.sizes == [50, 50, 50]
    texts = [t.get_text() for t in display.plot().ax_.texts]
    assert texts[0] == f"{display.means[0, 0]:+.1f}".replace("-", "−")


def test_profiles_do_not_depend_on_units_and_constants_are_at_the_mean() -> None:
    x = np.column_stack([X * [1e8, 1, 1e-8, 1] + 3, np.full(150, 0.1)])
    means = ClusterProfileDisplay.from_rows(x, KIND).means
    assert_allclose(means[:, :4], ClusterProfileDisplay.from_rows(X, KIND).means, atol=1e-6)
    assert_array_equal(means[:, 4], 0.0)


def test_of_many_columns_those_that_differ_are_drawn() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((90, 40))
    labels = np.arange(90) % 3
    x[:, 33] += 5 * labels
    display = ClusterProfileDisplay.from_rows(x, labels)
    assert len(display.shown_columns) == 20
    assert display.shown_columns[0] == 33
    assert "20 of 40 columns" in display.description


def test_of_many_clusters_the_largest_are_drawn() -> None:
    sizes = np.arange(1, 31)
    display = ClusterProfileDisplay(np.zeros((30, 2)), ["a", "b"], list(map(str, sizes)), sizes)
    assert display.shown_clusters.tolist() == list(range(6, 30))
    assert "24 clusters are drawn" in display.description


# -- projection ------------------------------------------------------------------------------------


def test_the_plane_is_that_of_the_means() -> None:
    display = ClusterProjectionDisplay.from_rows(X, KIND)
    means = np.array([X[i == KIND].mean(axis=0) for i in range(3)]) - X.mean(axis=0)
    _, vectors = np.linalg.eigh(50 * means.T @ means)
    assert_allclose(
        np.abs(display.projection.directions.T @ vectors[:, [-1, -2]]), np.eye(2), atol=1e-9
    )
    assert display.projection.between == pytest.approx(1.0)  # three means lie in a plane
    shown = ((X - X.mean(axis=0)) @ vectors[:, -2:]) ** 2
    assert display.projection.total == pytest.approx(
        shown.sum() / ((X - X.mean(axis=0)) ** 2).sum()
    )
    assert "projection" in display.description


def test_two_clusters_have_the_widest_rest_across() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 3)) * [1.0, 5.0, 0.1]
    x[:200, 2] += 50
    display = ClusterProjectionDisplay.from_rows(x, np.arange(400) < 200)
    assert display.main_columns(0) == ["x2"]
    assert display.main_columns(1) == ["x1"]
    assert display.projection.directions[:, 0] @ display.projection.directions[
        :, 1
    ] == pytest.approx(0.0, abs=1e-9)


def test_a_cluster_without_a_dot_is_left_out() -> None:
    whole = ClusterProjectionDisplay.from_rows(X, KIND)
    rows = KIND != 1
    projection = replace(whole.projection, coordinates=whole.projection.coordinates[rows])
    some = ClusterProjectionDisplay(
        projection, whole.codes[rows], whole.clusters, whole.names
    ).plot()
    assert [text.get_text() for text in some.ax_.texts] == ["0", "2"]
    assert "1 with 0 rows" in some.description


def test_standardized_projections_do_not_depend_on_units() -> None:
    a = ClusterProjectionDisplay.from_rows(X, KIND, standardize=True)
    b = ClusterProjectionDisplay.from_rows(X * [1e8, 1, 1e-8, 1], KIND, standardize=True)
    assert_allclose(b.projection.coordinates, a.projection.coordinates, atol=1e-8)


@pytest.mark.parametrize("x", [np.ones((4, 3)), np.zeros((3, 1)), X[:1]])
def test_projections_of_hardly_anything(x: np.ndarray) -> None:
    display = ClusterProjectionDisplay.from_rows(x, np.zeros(len(x)))
    assert np.isfinite(display.plot().projection.coordinates).all()


# -- distances -------------------------------------------------------------------------------------


def test_distances_are_those_of_scipy() -> None:
    display = DistanceConcentrationDisplay.from_rows(X)
    assert_allclose(np.sort(display.concentration.distances), np.sort(pdist(X)), atol=1e-9)
    assert display.mean == pytest.approx(pdist(X).mean())
    counts = display.plot().ax_.patches[0].get_data().values
    assert counts.sum() == 150 * 149 / 2


def test_noise_in_many_columns_is_described() -> None:
    noise = np.random.default_rng(0).standard_normal((80, 300))
    assert "equally far" in DistanceConcentrationDisplay.from_rows(noise).description
    assert "discriminate between points" in DistanceConcentrationDisplay.from_rows(X).description
