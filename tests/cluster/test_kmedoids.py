"""K-medoids against exhaustive search on small tables, in any metric, of any objects."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

import separatrix as sx
from separatrix.cluster import kmedoids as module
from separatrix.cluster.kmedoids import best_replacement_within, best_swap
from separatrix.cluster.loops import two_nearest, update_after_swap


def loss(distance, medoids, w=None) -> float:
    near = distance[:, list(medoids)].min(axis=1)
    return float(near.sum() if w is None else w @ near)


def best_swap_by_trying(distance, medoids, w=None) -> float:
    """The reduction of the loss by the best swap, by trying all of them."""
    now, best = loss(distance, medoids, w), np.inf
    for m in range(len(medoids)):
        for c in range(len(distance)):
            tried = [c if j == m else old for j, old in enumerate(medoids)]
            best = min(best, loss(distance, tried, w))
    return now - best


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("init", ["k-medoids++", "build", "random"])
def test_no_swap_lowers_the_loss(seed: int, init: str) -> None:
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal((40, 2)), rng.uniform(0.5, 2, 40)
    model = sx.KMedoids(4, init=init, random_state=seed).fit(x, sample_weight=w)
    distance = cdist(x, x)
    assert best_swap_by_trying(distance, model.medoid_indices_, w) <= 1e-5 * model.inertia_
    assert_allclose(model.inertia_, loss(distance, model.medoid_indices_, w))
    assert_array_equal(model.labels_, distance[:, model.medoid_indices_].argmin(axis=1))
    assert_array_equal(model.cluster_centers_, x[model.medoid_indices_])


@pytest.mark.parametrize("seed", range(5))
def test_best_swap_equals_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    distance, w = cdist(*[rng.standard_normal((30, 3))] * 2), rng.uniform(0.5, 2, 30)
    medoids = rng.choice(30, 1 + seed, replace=False)
    found = best_swap(distance.astype(np.float32), w, medoids)
    assert_allclose(found, best_swap_by_trying(distance, medoids, w), rtol=1e-4, atol=1e-4)


def test_usually_finds_the_global_optimum() -> None:
    hits = 0
    for seed in range(10):
        x = np.random.default_rng(seed).standard_normal((15, 2))
        distance = cdist(x, x)
        best = min(loss(distance, some) for some in combinations(range(15), 3))
        found = sx.KMedoids(3, random_state=0).fit(x).inertia_
        assert found >= best - 1e-9
        hits += found <= best * (1 + 1e-6)
    assert hits >= 8


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(1, 6), st.sampled_from(["k-medoids++", "build", "random"])
)
def test_pam_never_ends_above_alternate(seed: int, k: int, init: str) -> None:
    x = np.random.default_rng(seed).integers(0, 9, (25, 2)).astype(float)
    settings_ = {"n_clusters": k, "init": init, "random_state": seed, "metric": "manhattan"}
    pam = sx.KMedoids(**settings_).fit(x)
    alternate = sx.KMedoids(**settings_, method="alternate").fit(x)
    assert pam.inertia_ <= alternate.inertia_ * (1 + 1e-6)


def test_strings_by_edit_distance(tmp_path) -> None:
    words = ["kitten", "sitting", "mitten", "bitten", "flower", "flowers", "glower", "tower"]
    model = sx.KMedoids(2, metric="edit", random_state=0).fit(words)
    assert len(set(model.labels_[:4])) == 1
    assert len(set(model.labels_[4:])) == 1
    assert set(model.cluster_centers_) <= set(words)
    assert_array_equal(model.predict(["smitten", "flowery"]), model.labels_[[0, 4]])
    sx.save(model, tmp_path / "words.sx")
    assert_array_equal(sx.load(tmp_path / "words.sx").predict(["smitten"]), model.labels_[:1])


def test_any_objects_with_a_function() -> None:
    sets = [{1, 2}, {1, 2, 3}, {2, 1, 4}, {7, 8}, {7, 8, 9}]
    model = sx.KMedoids(2, metric=lambda a, b: len(a ^ b), random_state=0).fit(sets)
    assert model.labels_[0] == model.labels_[1] == model.labels_[2] != model.labels_[3]
    assert model.inertia_ == 3


def test_precomputed_distances_equal_rows() -> None:
    x = np.random.default_rng(1).standard_normal((80, 3))
    distance = cdist(x, x)
    given_ = sx.KMedoids(5, metric="precomputed", init="build").fit(distance)
    rows = sx.KMedoids(5, init="build").fit(x)
    assert_allclose(given_.inertia_, rows.inertia_)
    assert_array_equal(np.sort(given_.medoid_indices_), np.sort(rows.medoid_indices_))
    assert_array_equal(given_.predict(distance[:7]), given_.labels_[:7])
    assert_allclose(given_.transform(distance[:7]), distance[:7][:, given_.medoid_indices_])


def test_asymmetric_distances_are_refused() -> None:
    distance = np.array([[0, 1, 2], [1, 0, 3], [5, 3, 0.0]])
    with pytest.raises(sx.InputError, match="not symmetric: 2 from point 0 to 2, 5 back"):
        sx.KMedoids(2, metric="precomputed").fit(distance)


def test_large_tables_by_samples_evaluated_on_all_rows(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 300)
    monkeypatch.setattr(module, "SAMPLE_ROWS", 150)
    rng = np.random.default_rng(2)
    middle = np.array([[0, 0], [9, 0], [0, 9], [9, 9.0]])
    x = middle[rng.integers(0, 4, 1000)] + rng.standard_normal((1000, 2))
    model = sx.KMedoids(4, random_state=0).fit(x)
    whole = loss(cdist(x, x), model.medoid_indices_)
    assert_allclose(model.inertia_, whole)
    best = cdist(x, middle).min(axis=1).sum()
    assert whole <= 1.05 * best
    assert "5 samples of 150 of the 1000 rows" in str(model.certificate_)
    assert "within the sample" in str(model.certificate_)


def test_initialization_from_row_numbers() -> None:
    x = np.array([[0.0], [1], [2], [10], [11], [12]])
    model = sx.KMedoids(2, init=[0, 1], method="alternate").fit(x)
    assert sorted(model.medoid_indices_) == [1, 4]
    for bad in ([0, 0], [0], [0, 6]):
        with pytest.raises(sx.InputError, match="2 different rows"):
            sx.KMedoids(2, init=bad).fit(x)


def test_alternate_states_the_best_swap() -> None:
    x = np.random.default_rng(3).standard_normal((300, 2))
    model = sx.KMedoids(12, method="alternate", init="random", n_init=1, random_state=1).fit(x)
    reduction = best_swap_by_trying(cdist(x, x), model.medoid_indices_)
    assert reduction > 0
    assert f"by {100 * reduction / model.inertia_:.2g} %" in str(model.certificate_)


def test_equal_rows_and_invalid_parameters() -> None:
    x = np.repeat([[0.0, 1.0], [5.0, 5.0]], 4, axis=0)
    model = sx.KMedoids(3, random_state=0).fit(x)
    assert model.inertia_ == 0
    assert len(set(model.medoid_indices_)) == 3
    with pytest.raises(sx.InputError, match="method='clara'"):
        sx.KMedoids(2, method="clara").fit(x)
    with pytest.raises(sx.InputError, match="init='far'"):
        sx.KMedoids(2, init="far").fit(x)
    with pytest.raises(sx.InputError, match="No metric"):
        sx.KMedoids(2, metric="euclidian").fit(x)


@pytest.mark.parametrize("far", [1e6, 1e8, 1e10])
def test_an_outlier_hides_no_clusters(far: float) -> None:
    rng = np.random.default_rng(0)
    middle = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 60, axis=0)
    x = np.vstack([middle + 0.1 * rng.standard_normal((180, 2)), [[far, far]]])
    model = sx.KMedoids(4, random_state=0).fit(x)
    assert len({tuple(model.labels_[i : i + 60]) for i in (0, 60, 120)}) == 3
    assert best_swap_by_trying(cdist(x, x), model.medoid_indices_) < 1e-5 * model.inertia_


def test_more_medoids_than_a_sample_has_rows(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 150)
    monkeypatch.setattr(module, "SAMPLE_ROWS", 40)
    x = np.random.default_rng(0).standard_normal((300, 2))
    model = sx.KMedoids(60, random_state=0).fit(x)
    assert len(np.unique(model.medoid_indices_)) == 60
    assert "samples of 120 of the 300 rows" in str(model.certificate_)
    with pytest.raises(sx.InputError, match="at most 150 medoids"):
        sx.KMedoids(200, random_state=0).fit(x)


@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_update_after_swap_equals_a_new_assignment(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, size=(25, 2)).astype(float)
    distance = cdist(x, x).astype(np.float32)
    medoids = rng.choice(25, k, replace=False)
    table = [np.zeros(25, np.int64), np.zeros(25, np.int64), np.zeros(25), np.zeros(25)]
    two_nearest(distance, medoids, *table, 0, 25)
    for _ in range(5):
        m = int(rng.integers(k))
        medoids[m] = rng.choice(np.setdiff1d(np.arange(25), medoids))
        update_after_swap(distance, medoids, m, *table)
        expected_arrays = [np.zeros_like(column) for column in table]
        two_nearest(distance, medoids, *expected_arrays, 0, 25)
        for column, expected in zip(table, expected_arrays, strict=True):
            assert_array_equal(column, expected)


@pytest.mark.parametrize("build", [sx.KMeans, sx.KMedoids, sx.KernelKMeans])
@pytest.mark.parametrize("wrong", [{"n_init": 0}, {"n_init": "x"}, {"max_iter": 0}])
def test_invalid_n_init_and_max_iter(build, wrong) -> None:
    with pytest.raises(sx.InputError, match="positive integer"):
        build(2, **wrong).fit(np.arange(6.0).reshape(-1, 1))


@pytest.mark.parametrize("method", ["pam", "alternate"])
def test_a_fit_cut_short_does_not_hold(method: str) -> None:
    x = np.random.default_rng(0).standard_normal((400, 2))
    params = {"n_clusters": 20, "method": method, "init": "random", "n_init": 1, "random_state": 0}
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        model = sx.KMedoids(**params, max_iter=1).fit(x)
    assert not model.certificate_.holds
    assert sx.KMedoids(**params).fit(x).certificate_.holds


@pytest.mark.parametrize("seed", range(4))
def test_best_replacement_within_equals_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    distance, w = cdist(*[rng.standard_normal((30, 3))] * 2), rng.uniform(0.5, 2, 30)
    medoids = rng.choice(30, 4, replace=False)
    labels = distance[:, medoids].argmin(axis=1)
    best = 0.0
    for m, medoid in enumerate(medoids):
        rows = np.flatnonzero(labels == m)
        totals = [sum(w[i] * distance[i, c] for i in rows) for c in rows]
        best = max(best, sum(w[i] * distance[i, medoid] for i in rows) - min(totals))
    found = best_replacement_within(distance.astype(np.float32), w, medoids)
    assert_allclose(found, best, rtol=1e-4, atol=1e-5)
