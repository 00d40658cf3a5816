"""Neighbors within a radius, graphs of neighbors, and several targets, against scikit-learn."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.neighbors as peers
from scipy import sparse
from sklearn.metrics import DistanceMetric

import separatrix as sx
from separatrix.distances.search import NearestNeighborSearch

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(150, 3)), RNG.normal(size=(40, 3))
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=150) > 0, "yes", "no")
Y = np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine", "canberra"])
def test_all_within_a_radius_and_no_others(metric: str, d: int) -> None:
    rng = np.random.default_rng(d)
    z, x = rng.normal(size=(400, d)), rng.normal(size=(30, d))
    all_pairs = NearestNeighborSearch(z, metric).metric.distances(x, z)
    radius = float(np.quantile(all_pairs, 0.1))
    found = NearestNeighborSearch(z, metric).within(x, radius)
    for i in range(len(x)):
        part = slice(found.starts[i], found.starts[i + 1])
        near = np.flatnonzero(all_pairs[i] <= radius)
        np.testing.assert_array_equal(found.indices[part], near)
        np.testing.assert_allclose(found.distances[part], all_pairs[i, near], rtol=1e-9)


@pytest.mark.parametrize("d", [2, 30])
def test_a_point_at_the_very_radius_is_within(d: int) -> None:
    """Integers have exact distances, on which matrix products may round."""
    z = np.zeros((300, d))
    z[:, 0] = np.arange(300.0) + 1e5
    search = sx.NearestNeighbors(radius=2.0).fit(z)
    assert [len(row) for row in search.radius_neighbors(z[:5], return_distance=False)] == [
        3, 4, 5, 5, 5,
    ]  # fmt: skip
    assert search.radius_neighbors(None, return_distance=False)[0].tolist() == [1, 2]


@pytest.mark.parametrize("weights", ["uniform", "distance", None, lambda d: np.exp(-d)])
def test_radius_models_equal_scikit_learn(weights: Any) -> None:
    own = sx.RadiusNeighborsClassifier(0.8, weights=weights, outlier_label="no").fit(X, LABELS)
    if callable(weights):  # there it is given one array of arrays
        peer_weights: Any = lambda d: np.array([np.exp(-row) for row in d], dtype=object)  # noqa: E731
    else:
        peer_weights = weights
    peer = peers.RadiusNeighborsClassifier(0.8, weights=peer_weights, outlier_label="no")
    peer.fit(X, LABELS)
    np.testing.assert_allclose(own.predict_proba(NEW), peer.predict_proba(NEW), atol=1e-12)
    both = np.column_stack([Y, X[:, 2]])
    numbers = sx.RadiusNeighborsRegressor(0.8, weights=weights).fit(X, both)
    again = peers.RadiusNeighborsRegressor(0.8, weights=peer_weights).fit(X, both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        np.testing.assert_allclose(numbers.predict(NEW), again.predict(NEW), atol=1e-12)


def test_rows_without_neighbors() -> None:
    model = sx.RadiusNeighborsClassifier(0.5).fit(X, LABELS)
    far = np.full((2, 3), 99.0)
    with pytest.raises(sx.InputError, match=r"No neighbors found for 2 row\(s\).*row 1"):
        model.predict(far)
    model = sx.RadiusNeighborsClassifier(0.5, outlier_label="neither").fit(X, LABELS)
    with pytest.warns(UserWarning, match="not in training classes"):
        assert model.predict(far).tolist() == ["neither"] * 2
    model = sx.RadiusNeighborsClassifier(0.5, outlier_label="most_frequent").fit(X, LABELS)
    assert model.predict(far)[0] == max("no", "yes", key=LABELS.tolist().count)
    with pytest.raises(TypeError, match="type of the classes"):
        sx.RadiusNeighborsClassifier(0.5, outlier_label=1).fit(X, LABELS)
    with pytest.warns(UserWarning, match="NaN"):
        assert np.isnan(sx.RadiusNeighborsRegressor(0.5).fit(X, Y).predict(far)).all()


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("query", [None, NEW])
def test_graphs_equal_scikit_learn(mode: str, query: Any) -> None:
    own, peer = sx.NearestNeighbors(radius=0.7).fit(X), peers.NearestNeighbors(radius=0.7).fit(X)
    for method in ("kneighbors_graph", "radius_neighbors_graph"):
        found, expected = (getattr(m, method)(query, mode=mode) for m in (own, peer))
        assert type(found) is type(expected)
        assert abs(found - expected).max() < 1e-12
    assert own.effective_metric_ == peer.effective_metric_ == "euclidean"
    assert own.n_samples_fit_ == 150


def test_sparse_graphs_as_precomputed_distances(tmp_path: Path) -> None:
    """A pipeline of a graph and a model equals the model; zeros that are stored are neighbors."""
    graph = sx.KNeighborsTransformer(n_neighbors=8).fit(X)
    train, new = graph.transform(X), graph.transform(NEW)
    direct = sx.KNeighborsClassifier(5).fit(X, LABELS)
    model = sx.KNeighborsClassifier(5, metric="precomputed").fit(train, LABELS)
    np.testing.assert_array_equal(model.predict_proba(new), direct.predict_proba(NEW))
    np.testing.assert_array_equal(model.predict_proba(None), direct.predict_proba(None))
    dense = sx.KNeighborsClassifier(5, metric="precomputed")
    dense.fit(sx.Euclidean().distances(X), LABELS)
    np.testing.assert_array_equal(dense.predict_proba(new), direct.predict_proba(NEW))
    sx.save(model, tmp_path / "m.sx")
    stored = sx.load(tmp_path / "m.sx")
    np.testing.assert_array_equal(stored.predict_proba(None), model.predict_proba(None))
    with pytest.raises(sx.InputError, match="12 neighbors per samples are required"):
        model.kneighbors(new, 12)
    near = sx.RadiusNeighborsTransformer(radius=0.9).fit(X)
    found = sx.RadiusNeighborsRegressor(0.7, metric="precomputed").fit(near.transform(X), Y)
    np.testing.assert_array_equal(
        found.predict(near.transform(X)), sx.RadiusNeighborsRegressor(0.7).fit(X, Y).predict(X)
    )


def test_precomputed_distances_need_no_symmetry_and_the_right_shape(
    rng: np.random.Generator,
) -> None:
    d = np.abs(rng.normal(size=(6, 6)))
    np.fill_diagonal(d, 0.0)
    own = sx.NearestNeighbors(n_neighbors=2, metric="precomputed").fit(d)
    peer = peers.NearestNeighbors(n_neighbors=2, metric="precomputed").fit(d)
    np.testing.assert_array_equal(own.kneighbors()[1], peer.kneighbors()[1])
    for model in (
        sx.NearestNeighbors(metric="precomputed"),
        sx.NadarayaWatson(metric="precomputed"),
    ):
        with pytest.raises(sx.InputError, match="square matrix, not 6x4"):
            model.fit(d[:, :4], np.arange(6.0))
    with pytest.raises(sx.InputError, match="none negative"):
        own.fit(-d)
    with pytest.raises(sx.InputError, match="all are needed"):
        sx.NadarayaWatson(metric="precomputed").fit(sparse.csr_array(d), np.arange(6.0))


def test_several_targets_of_classes(tmp_path: Path) -> None:
    both = np.column_stack([LABELS, np.where(Y > 0, "up", "down")])
    for own, peer in (
        (sx.KNeighborsClassifier(4), peers.KNeighborsClassifier(4)),
        (sx.RadiusNeighborsClassifier(3.0), peers.RadiusNeighborsClassifier(3.0)),
    ):
        own.fit(X, both)
        peer.fit(X, both)
        np.testing.assert_array_equal(own.predict(NEW), peer.predict(NEW))
        for a, b in zip(own.predict_proba(NEW), peer.predict_proba(NEW), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
        assert [c.tolist() for c in own.classes_] == [c.tolist() for c in peer.classes_]
        assert own.outputs_2d_
        sx.save(own, tmp_path / "m.sx")
        np.testing.assert_array_equal(sx.load(tmp_path / "m.sx").predict(NEW), own.predict(NEW))
    errors = [sx.KNeighborsClassifier("auto").fit(X, y).leave_one_out_.error for y in both.T]
    found = sx.KNeighborsClassifier("auto").fit(X, both).leave_one_out_.error
    np.testing.assert_allclose(found, np.mean(errors, axis=0), atol=1e-14)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("minkowski", {"p": 1}),
        ("minkowski", {"p": 3, "metric_params": {"w": np.array([1.0, 0.5, 3.0])}}),
        ("minkowski", {"p": 2, "metric_params": {"w": np.array([1.0, 0.5, 3.0])}}),
        ("seuclidean", {"metric_params": {"V": np.array([1.0, 2.0, 3.0])}}),
        ("mahalanobis", {"metric_params": {"VI": np.diag([1.0, 2.0, 3.0])}}),
        ("infinity", {}),
        ("hamming", {}),
        (DistanceMetric.get_metric("canberra"), {}),
        (lambda a, b, power: float(np.abs(a - b).max() ** power), {"metric_params": {"power": 2}}),
    ],
)
def test_metrics_and_their_parameters_as_scikit_learn(metric: Any, options: dict) -> None:
    algorithm = "brute" if callable(metric) else "ball_tree"
    own = sx.KNeighborsRegressor(4, metric=metric, algorithm=algorithm, **options).fit(X, Y)
    peer = peers.KNeighborsRegressor(4, metric=metric, algorithm=algorithm, **options).fit(X, Y)
    distances, indices = own.kneighbors(NEW)
    expected, places = peer.kneighbors(NEW)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    if not isinstance(metric, str) or metric != "hamming":  # all are equally far
        np.testing.assert_array_equal(indices, places)
    assert own.effective_metric_ == peer.effective_metric_


def test_parameters_that_scikit_learn_refuses() -> None:
    for options in (
        {"algorithm": "blah"}, {"leaf_size": 0}, {"p": -1}, {"metric": "blah"},
        {"algorithm": "kd_tree", "metric": "cosine"}, {"metric_params": {"V": 1}},
        {"algorithm": "ball_tree", "p": 0.5}, {"weights": "blah"},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            sx.KNeighborsClassifier(**options).fit(X, LABELS)
    with pytest.raises(TypeError, match="integer"):
        sx.NearestNeighbors().fit(X).kneighbors(NEW, 3.0)
    with pytest.warns(UserWarning, match="triangle inequality"):
        sx.KNeighborsClassifier(p=0.5).fit(X, LABELS)


def test_rows_far_beyond_the_data() -> None:
    far = np.full((1, 3), 1e200)
    for model, y in (
        (sx.NadarayaWatson(sx.Gaussian(0.5)), Y), (sx.KNeighborsRegressor(), Y),
        (sx.KNeighborsClassifier(weights=sx.Gaussian(0.5)), LABELS),
        (sx.KernelVoteClassifier(), LABELS),
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            both = model.fit(X, y).predict(np.vstack([NEW[:1], far]))
        alone = model.predict(NEW[:1])
        assert both[:1] == (alone if y is LABELS else pytest.approx(alone))
        assert both[1] == both[1]
    big = sx.NearestNeighbors(n_neighbors=2).fit(X * 1e200)
    np.testing.assert_array_equal(
        big.kneighbors(NEW * 1e200)[1], sx.NearestNeighbors(n_neighbors=2).fit(X).kneighbors(NEW)[1]
    )
    with pytest.raises(sx.InputError, match="not a positive number"):
        sx.NadarayaWatson(sx.Linear()).fit(X, Y)


def test_missing_values_by_name_of_the_metric() -> None:
    x = np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, X)
    own = sx.KNeighborsClassifier(3, metric="nan_euclidean").fit(x, LABELS)
    peer = peers.KNeighborsClassifier(3, metric="nan_euclidean").fit(x, LABELS)
    np.testing.assert_allclose(
        own.kneighbors(x[:20])[0], peer.kneighbors(x[:20])[0], rtol=1e-6, atol=1e-7
    )
    with pytest.raises(ValueError, match="NaN"):
        sx.KNeighborsClassifier(3).fit(x, LABELS)
