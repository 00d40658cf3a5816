"""Neighbors, kernel smoothers and exemplars against scikit-learn and closed forms."""

from __future__ import annotations

import dataclasses
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestCentroid,
    kneighbors_graph,
    radius_neighbors_graph,
)

import separatrix as sx
from separatrix.distances.search import NearestNeighborSearch
from separatrix.threads import thread_count

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
LABELS = np.where(X[:, 0] + 0.7 * RNG.normal(size=240) > 0, "yes", "no")
Y = np.sin(2 * X[:, 0]) + X[:, 1]
NEW = RNG.normal(size=(80, 3))


def _near_only(distances: np.ndarray) -> np.ndarray:
    return np.maximum(0.2 - distances, 1e-9)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_equals_scikit_learn(weights: str, metric: str) -> None:
    own = sx.KNeighborsClassifier(7, weights=weights, metric=metric).fit(X, LABELS)
    reference = KNeighborsClassifier(7, weights=weights, metric=metric).fit(X, LABELS)
    np.testing.assert_allclose(own.predict_proba(NEW), reference.predict_proba(NEW), atol=1e-12)
    both = np.column_stack([Y, X[:, 2]])
    number = sx.KNeighborsRegressor(7, weights=weights, metric=metric).fit(X, both)
    again = KNeighborsRegressor(7, weights=weights, metric=metric).fit(X, both)
    np.testing.assert_allclose(number.predict(NEW), again.predict(NEW), atol=1e-12)
    for a, b in zip(own.kneighbors(NEW), reference.kneighbors(NEW), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_array_equal(own.kneighbors()[1], reference.kneighbors()[1])


def test_neighbors_of_a_row_among_equal_ones() -> None:
    x = np.repeat([[1.0], [2.0]], [5, 2], axis=0)
    indices = sx.NearestNeighbors(n_neighbors=2).fit(x).kneighbors(return_distance=False)
    # the row itself is left out, the first of three equal ones where it is not among them
    assert indices[:5].tolist() == [[1, 2], [0, 2], [0, 1], [1, 2], [1, 2]]


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian", sx.Gaussian(0.5)])
@pytest.mark.parametrize("model", [sx.KNeighborsClassifier, sx.KNeighborsRegressor])
def test_leave_one_out_error_equals_refitting_without_the_row(weights: Any, model: Any) -> None:
    x, y = X[:40], (LABELS if model is sx.KNeighborsClassifier else Y)[:40]
    counts = model("auto", weights=weights).fit(x, y).leave_one_out_
    for k in (1, 4, 11):
        wrong = []
        for i in range(40):
            rest = np.arange(40) != i
            predicted = model(k, weights=weights).fit(x[rest], y[rest]).predict(x[i : i + 1])[0]
            wrong.append(
                predicted != y[i] if isinstance(predicted, str) else (predicted - y[i]) ** 2
            )
        assert counts.error[k - 1] == pytest.approx(np.mean(wrong), abs=1e-12)
    assert counts.error[counts.best - 1] == counts.error.min()


def test_leave_one_out_of_weighted_rows_equals_repeated_rows(rng: np.random.Generator) -> None:
    w = rng.integers(0, 4, len(X))
    a = sx.KNeighborsClassifier().fit(X, LABELS, sample_weight=w).leave_one_out(12)
    b = sx.KNeighborsClassifier().fit(np.repeat(X, w, axis=0), np.repeat(LABELS, w))
    np.testing.assert_allclose(a.error, b.leave_one_out(12).error, atol=1e-12)


def test_weights_bound_the_counts_tried_as_repeated_rows_do() -> None:
    x, labels, w = X[:6], LABELS[:6], np.array([1, 5, 2, 4, 3, 7])
    for n_neighbors in (None, 21, 500):
        a = sx.KNeighborsClassifier(1).fit(x, labels, sample_weight=w).leave_one_out(n_neighbors)
        repeated = sx.KNeighborsClassifier(1).fit(np.repeat(x, w, axis=0), np.repeat(labels, w))
        b = repeated.leave_one_out(n_neighbors)
        assert a.n_neighbors.tolist() == b.n_neighbors.tolist()
        np.testing.assert_allclose(a.error, b.error, atol=1e-12)


def test_weights_below_one_take_further_neighbors() -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = sx.KNeighborsRegressor(1).fit(x, [0.0, 10.0, 20.0, 30.0], sample_weight=[0.5] * 4)
    assert model.predict([[0.1]])[0] == pytest.approx(5.0)  # half of each of the two nearest


def test_inverse_distance_weights_at_distance_zero() -> None:
    x = np.array([[0.0], [1e-100], [1.0]])
    model = sx.KNeighborsRegressor(3, weights="distance").fit(x, [1.0, 5.0, 9.0])
    assert model.predict([[0.0]])[0] == 1.0
    assert np.isfinite(model.predict([[1e300]])).all()


def test_kernel_smoothers_follow_their_formula() -> None:
    h = 0.6
    votes = np.exp(-((NEW[:, None] - X) ** 2).sum(axis=-1) / (2 * h * h))
    model = sx.NadarayaWatson(h).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), votes @ Y / votes.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(
        model.smoother_matrix(NEW), votes / votes.sum(axis=1, keepdims=True), rtol=1e-7, atol=1e-14
    )
    classifier = sx.KernelVoteClassifier(h).fit(X, LABELS)
    proportion = (votes * (LABELS == "yes")).sum(axis=1) / votes.sum(axis=1)
    np.testing.assert_allclose(classifier.predict_proba(NEW)[:, 1], proportion, rtol=1e-9)
    far = sx.NadarayaWatson(1e-3).fit(X, Y).predict([[1e3, 0.0, 0.0]])
    assert far[0] == Y[np.argmin(np.linalg.norm(X - [1e3, 0, 0], axis=1))]


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_leave_one_out_bandwidth_is_a_local_minimum(unit: float) -> None:
    model = sx.NadarayaWatson().fit(X * unit, Y)

    def leave_one_out_loss(h: float) -> float:
        votes = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / (2 * h * h))
        np.fill_diagonal(votes, 0.0)
        return float(np.mean((votes @ Y / votes.sum(axis=1) - Y) ** 2))

    h = model.bandwidth_ / unit
    assert model.bandwidth_search_.loss == pytest.approx(leave_one_out_loss(h), rel=1e-6)
    assert all(
        leave_one_out_loss(h) <= leave_one_out_loss(h * factor) for factor in (0.5, 0.9, 1.1, 2.0)
    )


def test_strings_mixed_rows_and_precomputed_distances() -> None:
    words, kinds = ["cat", "cart", "carts", "dog", "dig", "dug"], [0, 0, 0, 1, 1, 1]
    model = sx.KNeighborsClassifier(3, metric="edit").fit(words, kinds)
    assert model.predict(["car", "dag"]).tolist() == [0, 1]
    assert sx.NearestNeighbors(n_neighbors=1, metric="edit").fit(words).retrieve(["carp"]) == [
        ["cart"]
    ]
    assert sx.NearestExemplar("edit", "medoid").fit(words, kinds).exemplars_ == ["cart", "dog"]
    table = pd.DataFrame({"size": [1.0, 1.1, 5.0, None], "color": ["red", "red", "blue", "blue"]})
    mixed = sx.KNeighborsClassifier(1, metric="gower").fit(table, [0, 0, 1, 1])
    assert mixed.predict(pd.DataFrame({"size": [4.0], "color": ["blue"]})).tolist() == [1]
    d = np.linalg.norm(X[:, None] - X, axis=-1)
    given = sx.KNeighborsClassifier(5, metric="precomputed").fit(d, LABELS)
    direct = sx.KNeighborsClassifier(5).fit(X, LABELS)
    np.testing.assert_allclose(given.predict_proba(d), direct.predict_proba(X), atol=1e-12)


def test_saved_models_predict_the_same(tmp_path: Path) -> None:
    words = ["cat", "cart", "dog", "dig"]
    for model, new in [
        (sx.KNeighborsClassifier("auto", standardize=True).fit(X, LABELS), NEW),
        (sx.KernelVoteClassifier(metric="mahalanobis").fit(X, LABELS), NEW),
        (sx.NearestExemplar("manhattan", "median").fit(X, LABELS), NEW),
        (sx.KNeighborsClassifier(1, metric="edit").fit(words, [0, 0, 1, 1]), ["car", "dug"]),
    ]:
        sx.save(model, tmp_path / "m.sx")
        np.testing.assert_array_equal(sx.load(tmp_path / "m.sx").predict(new), model.predict(new))


def test_nearest_mean_equals_nearest_centroid_and_basic_linear_classifier() -> None:
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    own = sx.NearestExemplar().fit(X, three).predict(NEW)
    np.testing.assert_array_equal(own, NearestCentroid().fit(X, three).predict(NEW))
    np.testing.assert_array_equal(own, sx.BasicLinearClassifier().fit(X, three).predict(NEW))


def test_manhattan_boundary_runs_at_45_degrees_between_the_exemplars(
    rng: np.random.Generator,
) -> None:
    """Between exemplars (0, 0) and (2, 4) |x|+|y| = |x−2|+|y−4| is x + y = 3 inside the box."""
    model = sx.NearestExemplar("manhattan").fit([[0.0, 0], [2.0, 4.0]], [0, 1])
    inside = rng.uniform([0, 0], [2, 4], size=(200, 2))
    np.testing.assert_array_equal(model.predict(inside), (inside.sum(axis=1) > 3).astype(int))


def test_concentrated_distances_warn_and_only_those(rng: np.random.Generator) -> None:
    noise = rng.normal(size=(300, 120))
    with pytest.warns(sx.SeparatrixWarning, match="SEP008"):
        sx.KNeighborsClassifier().fit(noise, LABELS[:240].repeat(2)[:300])
    groups = np.vstack([noise[:100], noise[100:200] + 3.0])
    flat = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 120))
    with warnings.catch_warnings():
        warnings.simplefilter("error", sx.SeparatrixWarning)
        sx.KNeighborsClassifier().fit(groups, np.repeat([0, 1], 100))
        sx.KNeighborsClassifier().fit(flat, np.arange(300) % 2)
    assert sx.distance_concentration(noise).concentrated
    assert not sx.distance_concentration(X).concentrated


def test_degenerate_and_invalid_input() -> None:
    same = np.ones((6, 2))
    assert sx.KNeighborsClassifier(3).fit(same, [0, 0, 0, 0, 1, 1]).predict(same[:1])[0] == 0
    assert sx.NadarayaWatson().fit(same, np.arange(6.0)).predict(same[:1])[0] == 2.5
    with pytest.raises(
        sx.InputError, match="n_neighbors=7 exceeds the total weight 6 of n_samples_fit = 6"
    ):
        sx.KNeighborsClassifier(7).fit(same, [0, 0, 0, 1, 1, 1]).predict(same)
    with pytest.raises(sx.InputError, match="not a count"):
        sx.KNeighborsClassifier(0).fit(same, [0, 0, 0, 1, 1, 1])
    with pytest.raises(sx.InputError, match="not a positive number"):
        sx.NadarayaWatson(-1.0).fit(same, np.arange(6.0))
    with pytest.raises(sx.InputError, match="Objects have no mean"):
        sx.NearestExemplar("edit").fit(["a", "b"], [0, 1])
    with pytest.raises(sx.InputError, match="medoid"):
        sx.NearestExemplar(exemplar="medoids").fit(same, [0, 0, 0, 1, 1, 1])


def test_precomputed_distances_with_rows_of_weight_zero() -> None:
    w = np.ones(len(X))
    w[::3] = 0.0
    positive = w > 0
    d, new = sx.Euclidean().distances(X), sx.Euclidean().distances(NEW, X)
    for build, target in ((sx.KNeighborsClassifier, LABELS), (sx.NadarayaWatson, Y)):
        model = build(metric="precomputed").fit(d, target, sample_weight=w)
        plain = build().fit(X[positive], target[positive])
        expected = plain.predict(NEW)
        if target is Y:
            np.testing.assert_allclose(model.predict(new), expected, rtol=1e-9)
        else:
            np.testing.assert_array_equal(model.predict(new), expected)


def test_precomputed_distances_cannot_be_standardized() -> None:
    with pytest.raises(sx.InputError, match="numeric columns"):
        sx.KNeighborsClassifier(metric="precomputed", standardize=True).fit(
            sx.Euclidean().distances(X), LABELS
        )


def test_weights_that_sum_to_one_choose_the_same_bandwidth() -> None:
    w = np.full(len(X), 1.0 / len(X))
    for model, target in ((sx.NadarayaWatson(), Y), (sx.KernelVoteClassifier(), LABELS)):
        plain = model.fit(X, target).bandwidth_
        assert model.fit(X, target, sample_weight=w).bandwidth_ == pytest.approx(plain, rel=1e-4)


def test_learned_metrics_use_sample_weights() -> None:
    w = np.random.default_rng(1).integers(0, 4, len(X))
    model = sx.KNeighborsClassifier(metric="mahalanobis")
    weighted = model.fit(X, LABELS, sample_weight=w).predict_proba(NEW)
    repeated = model.fit(np.repeat(X, w, axis=0), np.repeat(LABELS, w)).predict_proba(NEW)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


@pytest.mark.parametrize("count", [0, 2.5, None, "many"])
def test_invalid_n_neighbors(count: Any) -> None:
    models = [sx.KNeighborsRegressor(count)]
    if count is not None:  # a search by radius alone
        models.append(sx.NearestNeighbors(n_neighbors=count))
    for model in models:
        with pytest.raises(sx.InputError, match="not a count"):
            model.fit(X, Y)


def test_sparse_rows() -> None:
    x, new = sparse.csr_array(X), sparse.csr_array(NEW)
    model = sx.KNeighborsClassifier().fit(x, LABELS)
    np.testing.assert_array_equal(
        model.predict(new), sx.KNeighborsClassifier().fit(X, LABELS).predict(NEW)
    )
    assert sx.NearestNeighbors(n_neighbors=1, metric="hamming").fit(x).kneighbors(x)[1][
        :, 0
    ].tolist() == list(range(len(X)))


def test_a_function_of_points_is_given_sparse_rows_as_they_are() -> None:
    def distance(a: Any, b: Any) -> float:
        return float(abs(a - b).sum()) if sparse.issparse(a) and sparse.issparse(b) else np.nan

    x, new = X[:20], NEW[:5]
    model = sx.KNeighborsClassifier(3, metric=distance).fit(sparse.csr_array(x), LABELS[:20])
    expected = sx.KNeighborsClassifier(3, metric="manhattan").fit(x, LABELS[:20]).predict(new)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(new)), expected)
    np.testing.assert_array_equal(model.predict(new), expected)


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian", _near_only])
@pytest.mark.parametrize("decimals", [3, 0], ids=["copies", "few cells"])
def test_leave_one_out_with_repeated_rows(weights: Any, decimals: int) -> None:
    rng = np.random.default_rng(5)
    x, labels, w = rng.normal(size=(40, 3)).round(decimals), rng.integers(0, 3, 40), np.ones(40)
    w[:20] = rng.integers(1, 4, 20)
    x[30:], labels[30:] = x[:10], labels[:10]
    counts = sx.KNeighborsClassifier(3, weights=weights).fit(x, labels, w).leave_one_out(8)
    for k in (1, 3, 8):
        wrong = 0.0
        for i in range(40):
            left = w.copy()
            if decimals:  # a row with its weight and its copies
                left[(x == x[i]).all(axis=1) & (labels == labels[i])] = 0.0
            else:  # chance explains copies: one of them
                left[i] -= 1.0
            model = sx.KNeighborsClassifier(k, weights=weights).fit(x, labels, left)
            wrong += w[i] * float(model.predict(x[i : i + 1])[0] != labels[i])
        assert counts.error[k - 1] == pytest.approx(wrong / w.sum())


def test_memory_does_not_grow_with_the_number_of_classes() -> None:
    rng = np.random.default_rng(6)
    x, labels = rng.normal(size=(3000, 2)), rng.integers(0, 1000, 3000)
    tracemalloc.start()
    model = sx.KNeighborsClassifier(20).fit(x, labels)
    model.leave_one_out(30)
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()
    peer = KNeighborsClassifier(20).fit(x, labels)
    np.testing.assert_allclose(model.predict_proba(x[:50]), peer.predict_proba(x[:50]), atol=1e-12)


def test_leave_one_out_needs_integer_weights_and_two_rows() -> None:
    with pytest.raises(sx.InputError, match="counts of rows"):
        sx.KNeighborsClassifier("auto").fit(X, LABELS, np.full(len(X), 1.0 / len(X)))
    with pytest.raises(sx.InputError, match="at least two rows"):
        sx.KNeighborsRegressor("auto").fit(X[:1], Y[:1])


@pytest.mark.parametrize("exemplar", ["mean", "median"])
def test_exemplars_promise_their_gradient(exemplar: str) -> None:
    certificate = sx.NearestExemplar(exemplar=exemplar).fit(X + 100.0, LABELS).certificate_
    assert certificate.promised == ("kkt",)
    assert certificate.holds
    assert not dataclasses.replace(certificate, kkt=float("nan")).holds


def test_objects_cannot_be_standardized() -> None:
    with pytest.raises(sx.InputError, match="numeric columns"):
        sx.KNeighborsClassifier(1, metric="edit", standardize=True).fit(["a", "b"], [0, 1])


def test_votes_for_many_classes_are_those_of_the_probabilities() -> None:
    rng = np.random.default_rng(4)
    x, labels = rng.normal(size=(900, 3)), rng.integers(0, 400, size=900)
    rows = rng.normal(size=(60, 3))
    for weights in ("uniform", "distance"):
        model = sx.KNeighborsClassifier(15, weights=weights).fit(x, labels)
        expected = model.classes_[model.predict_proba(rows).argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(rows), expected)


def test_n_jobs_limits_the_threads_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("separatrix.threads.available_threads", lambda: 8)
    counts = []
    search = NearestNeighborSearch.nearest

    def counted(self: NearestNeighborSearch, x: object, k: int) -> object:
        counts.append(thread_count())
        return search(self, x, k)

    monkeypatch.setattr(NearestNeighborSearch, "nearest", counted)
    x = np.arange(20.0).reshape(10, 2)
    model = sx.KNeighborsRegressor(2, n_jobs=3).fit(x, x[:, 0])
    model.predict(x)
    model.kneighbors(x)
    model.set_params(n_jobs=None).kneighbors(x)
    assert counts == [3, 3, 8]


@pytest.mark.parametrize("standardize", [False, True])
def test_graph_functions_of_scikit_learn_take_a_fitted_search(standardize: bool) -> None:
    search = sx.NearestNeighbors(n_neighbors=3, standardize=standardize).fit(X)
    for include_self, query in ((False, None), (True, X)):
        near = kneighbors_graph(search, 3, include_self=include_self, mode="distance")
        np.testing.assert_allclose(
            near.toarray(), search.kneighbors_graph(query, 3, "distance").toarray(), atol=1e-12
        )
        within = radius_neighbors_graph(search, 0.4, include_self=include_self)
        assert (within != search.radius_neighbors_graph(query, 0.4)).nnz == 0


def test_messages_of_searches_are_those_of_scikit_learn() -> None:
    with pytest.raises(sx.InputError, match='"kd_tree" does not support 0 < p < 1'):
        sx.KNeighborsRegressor(algorithm="kd_tree", p=0.5).fit(X, Y)
    with pytest.warns(UserWarning, match="Continuing the execution with `algorithm='brute'`"):
        sx.KNeighborsRegressor(p=0.5).fit(X, Y)
    with pytest.raises(sx.InputError, match='must be one of "connectivity", or "distance"'):
        sx.NearestNeighbors().fit(X).kneighbors_graph(X, mode="near")
    model = sx.KNeighborsRegressor(weights=np.zeros_like).fit(X, Y)
    with pytest.raises(sx.InputError, match="is getting zero weights"):
        model.predict(X)


# -- other aggregates than means -------------------------------------------------------------------


def _median(values: np.ndarray, weights: np.ndarray) -> float:
    """The middle of all numbers with at most half of the weight on either side, by trying all."""
    ends = [
        m
        for m, w in zip(values, weights, strict=True)
        if w > 0
        and weights[values < m].sum() <= weights.sum() / 2 * (1 + 1e-12)
        and weights[values > m].sum() <= weights.sum() / 2 * (1 + 1e-12)
    ]
    return (min(ends) + max(ends)) / 2


@pytest.mark.parametrize("k", [1, 4, 7])
def test_medians_and_own_functions_of_neighbors(k: int) -> None:
    both = np.column_stack([Y, np.round(X[:, 2])])
    near = KNeighborsRegressor(k).fit(X, both).kneighbors(NEW, return_distance=False)
    median = sx.KNeighborsRegressor(k, aggregate="median").fit(X, both)
    np.testing.assert_allclose(median.predict(NEW), np.median(both[near], axis=1), atol=1e-14)
    highest = sx.KNeighborsRegressor(k, aggregate=lambda values, weights: values.max())
    np.testing.assert_array_equal(highest.fit(X, both).predict(NEW), both[near].max(axis=1))
    mean = sx.KNeighborsRegressor(k, weights="distance").fit(X, Y)
    same = sx.KNeighborsRegressor(k, weights="distance", aggregate=np.average).fit(X, Y)
    np.testing.assert_allclose(same.predict(NEW), mean.predict(NEW), rtol=1e-12)


def test_medians_by_distance_and_weights_as_repeated_rows(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    counts = rng.integers(0, 4, size=len(X))
    model = sx.KNeighborsRegressor(6, aggregate="median")
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts)).predict(NEW)
    weighted = model.fit(X, Y, sample_weight=counts)
    np.testing.assert_allclose(weighted.predict(NEW), repeated, atol=1e-12)
    sx.save(weighted, tmp_path / "median.sx")
    np.testing.assert_array_equal(
        sx.load(tmp_path / "median.sx").predict(NEW), weighted.predict(NEW)
    )
    near = sx.KNeighborsRegressor(6, weights="distance", aggregate="median").fit(X, Y)
    distances, indices = near.kneighbors(NEW)
    expected = [_median(Y[i], 1 / d) for i, d in zip(indices, distances, strict=True)]
    np.testing.assert_allclose(near.predict(NEW), expected, atol=1e-14)


def test_medians_do_not_follow_targets_that_are_far_off() -> None:
    spoiled = Y + np.where(np.arange(len(Y)) % 12 == 0, 1e6, 0.0)
    truth = np.sin(2 * NEW[:, 0]) + NEW[:, 1]
    median = sx.KNeighborsRegressor(9, aggregate="median").fit(X, spoiled)
    assert np.abs(median.predict(NEW) - truth).mean() < 1.0
    with pytest.raises(sx.InputError, match="errors of means"):
        median.set_params(n_neighbors="auto").fit(X, Y)
    with pytest.raises(sx.InputError, match="aggregate='mode'"):
        median.set_params(aggregate="mode").fit(X, Y)
