"""K-means against worked examples, a plain implementation of Lloyd, and scikit-learn."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix.cluster import initialization
from separatrix.cluster import lloyd as solver
from separatrix.cluster.lloyd import lloyd
from separatrix.cluster.loops import pair_distances


def plain_lloyd(x, w, centers):
    """Every distance and every mean, until the labels repeat."""
    labels, inertias = None, []
    while True:
        squares = ((x[:, None] - centers) ** 2).sum(axis=2)
        new = squares.argmin(axis=1)
        inertias.append(float(w @ squares.min(axis=1)))
        if labels is not None and (new == labels).all():
            return centers, labels, inertias
        labels = new
        centers = np.array(
            [
                np.average(x[labels == j], axis=0, weights=w[labels == j])
                if (labels == j).any()
                else centers[j]
                for j in range(len(centers))
            ]
        )


@pytest.mark.parametrize(
    ("start", "inertia", "labels"),
    [
        ([8, 50], 932, [0, 1, 1, 1, 1]),
        ([8, 84], 1280, [0, 0, 1, 1, 1]),
        ([50, 58], 1370, [0, 0, 0, 1, 1]),
        ([44, 84], 1464, [0, 0, 0, 0, 1]),
    ],
)
def test_four_fixed_points_of_five_numbers(start, inertia, labels) -> None:
    x = np.array([[8.0], [44], [50], [58], [84]])
    model = sx.KMeans(2, init=np.array(start, dtype=float)[:, None]).fit(x)
    assert_allclose(model.inertia_, inertia)
    assert_array_equal(model.labels_, labels)
    assert model.certificate_.holds


def test_no_other_partition_of_the_five_numbers_is_a_fixed_point() -> None:
    x = np.array([[8.0], [44], [50], [58], [84]])
    ends = {round(sx.KMeans(2, init=x[[i, j]]).fit(x).inertia_) for i in range(5) for j in range(i)}
    assert ends == {932, 1280, 1370, 1464}


@pytest.mark.parametrize("small", [0, 10**9])
@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 17), (10, 50), (40, 5), (3, 300)])
def test_neither_bounds_nor_plain_loops_change_the_iterations(
    d: int, k: int, small: int, monkeypatch
) -> None:
    monkeypatch.setattr(solver, "SMALL", small)
    rng = np.random.default_rng(d)
    x = rng.standard_normal((1500, d)) + rng.integers(0, 3, (1500, 1))
    w = rng.uniform(0.5, 2.0, 1500)
    start = x[rng.choice(1500, k, replace=False)]
    found = lloyd(x, w, start, max_iter=1000)
    centers, labels, inertias = plain_lloyd(x, w, start)
    assert_array_equal(found.labels, labels)
    assert_allclose(found.centers, centers, atol=1e-12)
    assert found.iterations == len(inertias)
    assert_allclose(found.inertia, inertias[-1], rtol=1e-12)


def test_equals_scikit_learn_from_the_same_initialization() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4000, 6))
    own = sx.KMeans(12, init=x[:12]).fit(x)
    reference = SklearnKMeans(12, init=x[:12], n_init=1, tol=0, max_iter=1000).fit(x)
    assert_allclose(own.cluster_centers_, reference.cluster_centers_, atol=1e-10)
    assert_array_equal(own.labels_, reference.labels_)
    assert_allclose(own.transform(x[:9]), reference.transform(x[:9]), atol=1e-9)
    assert_allclose(own.score(x), reference.score(x))


@settings(max_examples=60, deadline=None)
@given(
    arrays(float, (14, 2), elements=st.integers(-6, 6).map(float)),
    st.integers(1, 6),
    st.integers(0, 5),
)
def test_inertia_never_increases(x, k: int, seed: int) -> None:
    start = x[np.random.default_rng(seed).choice(14, k, replace=False)] + 0.25
    values = [
        lloyd(x, np.ones(14), start, max_iter=iterations).inertia for iterations in range(1, 8)
    ]
    assert all(b <= a * (1 + 1e-9) + 1e-9 for a, b in pairwise(values))


def test_empty_clusters_get_the_farthest_rows() -> None:
    x = np.array([[0.0], [1], [2], [50]])
    model = sx.KMeans(3, init=np.array([[1.0], [900], [1000]])).fit(x)
    assert set(model.labels_) == {0, 1, 2}
    assert model.labels_[3] not in model.labels_[:3]
    assert model.inertia_ <= 2.0
    split = sx.KMeans(3, init=np.array([[1.0], [900], [1000]])).fit(sparse.csr_array(x))
    assert set(split.labels_) == {0, 1, 2}


@pytest.mark.parametrize("k", [1, 2, 9, 40])
def test_centers_are_drawn_alike_in_small_and_large_tables(k: int, monkeypatch) -> None:
    rng = np.random.default_rng(k)
    x, w = np.repeat(rng.standard_normal((60, 3)), 3, axis=0), rng.integers(0, 3, 180) + 0.5
    drawn = []
    for small in (0, 10**9):
        monkeypatch.setattr(initialization, "SMALL", small)
        drawn.append(initialization.kmeans_plusplus(x, w, k, np.random.default_rng(7)))
    assert_allclose(*drawn, atol=1e-14)


def test_distances_of_all_pairs_are_exact_between_equal_rows() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat(rng.standard_normal((700, 5)), 2, axis=0) + 1e6
    found = np.empty((1400, 1400))
    pair_distances(x, np.ascontiguousarray(x.T), found)
    assert_allclose(found, cdist(x, x), rtol=1e-13, atol=1e-9)
    assert_array_equal(found, found.T)
    assert (found[np.arange(0, 1400, 2), np.arange(1, 1400, 2)] == 0).all()


def test_precision_far_from_the_origin() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((600, 3)) + 4 * rng.integers(0, 2, (600, 3))
    near, far = sx.KMeans(8, init=x[:8]).fit(x), sx.KMeans(8, init=x[:8] + 1e7).fit(x + 1e7)
    assert_array_equal(near.labels_, far.labels_)
    assert_allclose(near.inertia_, far.inertia_, rtol=1e-7)


def test_near_ties_are_resolved_in_double_precision() -> None:
    offset = 1e-9  # below single precision
    x = np.array([[0.0], [1.0 - offset], [1.0 + offset], [2.0]])
    found = lloyd(x, np.array([1e6, 1, 1, 1e6]), np.array([[0.0], [2.0]]), max_iter=50)
    assert found.labels.tolist() == [0, 0, 1, 1]


def test_certificate_distinguishes_single_moves_from_reassignments() -> None:
    x = np.array([[0.0], [2.9], [6.0], [6.0], [6.0], [6.0]])
    model = sx.KMeans(2, init=np.array([[1.45], [6.0]])).fit(x)
    assert "Moving any single row" in str(model.certificate_)
    x = np.array([[8.0], [44], [50], [58], [84]])
    worst = sx.KMeans(2, init=np.array([[44.0], [84.0]])).fit(x)
    assert "would still lower it" in str(worst.certificate_)


def best_single_move(x, labels):
    """The largest reduction of the inertia by moving one row, by trying all moves."""
    base = sx.scatter_decomposition(x, labels).within.sum()
    best = 0.0
    for i in range(len(x)):
        for j in set(labels) - {labels[i]}:
            moved = labels.copy()
            moved[i] = j
            best = max(best, base - sx.scatter_decomposition(x, moved).within.sum())
    return best


@pytest.mark.parametrize("seed", range(6))
def test_certificate_states_the_best_single_move(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((25, 2))
    model = sx.KMeans(5, init=x[:5]).fit(x)
    gain = best_single_move(x, model.labels_)
    text = str(model.certificate_)
    assert ("would still lower it" in text) == (gain > 1e-9)
    if gain > 1e-9:
        assert f"by {gain:.3g} at most" in text


def test_max_iter_warns_and_the_certificate_does_not_hold() -> None:
    x = np.random.default_rng(6).standard_normal((500, 2))
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        model = sx.KMeans(20, init=x[:20], max_iter=2).fit(x)
    assert not model.certificate_.holds
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sx.KMeans(20, init=x[:20], max_iter=9, tol=0.1).fit(x)


@pytest.mark.parametrize("small", [0, 10**9], ids=["bounds", "plain"])
@pytest.mark.parametrize("columns", [2, 40], ids=["few columns", "many columns"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_one_iteration_shows_that_centers_stay(make, columns: int, small: int, monkeypatch) -> None:
    monkeypatch.setattr(solver, "SMALL", small)
    x = np.random.default_rng(0).normal(size=(300, columns)).round(2)
    ended = sx.KMeans(4, random_state=0).fit(make(x))
    again = sx.KMeans(4, init=ended.cluster_centers_).fit(make(x))
    assert again.n_iter_ == 1
    assert again.certificate_.holds
    assert_array_equal(again.labels_, ended.labels_)


def test_verbose_says_how_each_run_ended(capsys) -> None:
    x = np.random.default_rng(0).normal(size=(100, 2))
    model = sx.KMeans(3, n_init=2, random_state=0, verbose=1).fit(x)
    printed = capsys.readouterr().out
    assert printed.count("Initialization complete") == printed.count("strict convergence") == 2
    assert f"inertia {model.inertia_:.6g}" in printed


def test_fewer_distinct_rows_than_clusters() -> None:
    x = np.repeat([[0.0, 1.0], [2.0, 3.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"SEP004 Number of distinct clusters \(2\)"):
        model = sx.KMeans(3, random_state=0).fit(x)
    assert model.inertia_ == 0
    assert "empty" in str(model.certificate_)


def test_invalid_parameters() -> None:
    x = np.ones((5, 2))
    with pytest.raises(sx.InputError, match="init='nearest' is unknown"):
        sx.KMeans(2, init="nearest").fit(x)
    with pytest.raises(sx.InputError, match=r"does not match .* features of the data 2"):
        sx.KMeans(2, init=np.zeros((2, 3))).fit(x)


def test_an_outlier_adds_no_spurious_gains() -> None:
    rng = np.random.default_rng(0)
    middle = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 60, axis=0)
    x = np.vstack([middle + 0.1 * rng.standard_normal((180, 2)), [[1e10, 1e10]]])
    model = sx.KMeans(4, n_init=10, random_state=0).fit(x)
    assert model.inertia_ < 10
    assert "Moving any single row" in str(model.certificate_)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_standardize_equals_standardized_columns(kind) -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((200, 3)) * [1.0, 1e6, 1e-6] + [5.0, 0.0, 1e-5]
    x = np.column_stack([x, np.full(200, 7.0)])  # a constant column has no effect
    z = (x[:, :3] - x[:, :3].mean(axis=0)) / x[:, :3].std(axis=0)
    own = sx.KMeans(4, init=x[:4], standardize=True).fit(kind(x))
    plain = sx.KMeans(4, init=z[:4]).fit(z)
    assert_array_equal(own.labels_, plain.labels_)
    assert_allclose(own.inertia_, plain.inertia_)
    assert_allclose(own.cluster_centers_[:, 3], 7.0)
    means = [x[own.labels_ == j].mean(axis=0) for j in range(4)]
    assert_allclose(own.cluster_centers_, means)
    assert own.certificate_.holds


def test_initial_centers_by_a_function() -> None:
    x = np.random.default_rng(2).standard_normal((60, 3))

    def first(points: np.ndarray, k: int, random_state: np.random.RandomState) -> np.ndarray:
        return points[random_state.permutation(len(points))[:k]]

    a, b = (sx.KMeans(3, init=first, random_state=0).fit(x) for _ in range(2))
    assert_allclose(a.cluster_centers_, b.cluster_centers_)
    assert a.certificate_.holds
    with pytest.raises(sx.InputError, match="init"):
        sx.KMeans(3, init=lambda points, k, random_state: points[:2]).fit(x)


def test_weights_by_position_in_every_way_to_fit() -> None:
    x = np.random.default_rng(0).standard_normal((30, 2))
    w = np.arange(1.0, 31.0)
    model = sx.KMeans(3, random_state=0).fit(x, None, w)
    assert (sx.KMeans(3, random_state=0).fit_predict(x, None, w) == model.labels_).all()
    found = sx.KMeans(3, random_state=0).fit_transform(x, None, w)
    assert np.array_equal(found, model.transform(x))


def test_parameters_without_effect_are_warned_of() -> None:
    x = np.arange(12.0).reshape(6, 2)
    with pytest.warns(RuntimeWarning, match="performing only one init"):
        sx.KMeans(2, init=x[:2], n_init=3).fit(x)
    with pytest.warns(RuntimeWarning, match="make sense for a single cluster"):
        sx.KMeans(1, algorithm="elkan").fit(x)


@pytest.mark.parametrize(("shape", "what"), [((3, 2), "clusters 2"), ((2, 3), "data 2")])
def test_shape_of_initial_centers(shape: tuple[int, int], what: str) -> None:
    with pytest.raises(sx.InputError, match=f"does not match the number of .*{what}"):
        sx.KMeans(2, init=np.ones(shape)).fit(np.ones((5, 2)))


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_annealing_leaves_poor_local_minima(layout: str) -> None:
    """Pairs of near clusters far from one another: Lloyd steps move no center between pairs."""
    rng = np.random.default_rng(3)
    places = np.array([[20.0 * i, 2.0 * j] for i in range(8) for j in range(2)])
    x = np.repeat(places, 12, axis=0) + rng.normal(scale=0.1, size=(192, 2))
    best = sx.KMeans(16, init=places).fit(x).inertia_
    given = sparse.csr_array(x) if layout == "sparse" else x
    poor = [sx.KMeans(16, init="random", n_init=1, random_state=s).fit(x) for s in range(5)]
    annealed = [sx.KMeans(16, init="annealing", random_state=s).fit(given) for s in range(5)]
    assert np.mean([m.inertia_ > 2.0 * best for m in poor]) >= 0.8
    np.testing.assert_allclose([m.inertia_ for m in annealed], best, rtol=1e-9)
    assert {m.n_evaluations_ for m in annealed} == {161}
    assert all(m.certificate_.holds for m in annealed)
    assert not hasattr(annealed[0].set_params(init="random").fit(x), "n_evaluations_")
