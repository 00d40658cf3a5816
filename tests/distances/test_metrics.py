"""Distances against SciPy and against their own definitions; the axioms; awkward input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import haversine_distances, nan_euclidean_distances

import separatrix as sx
from separatrix.distances.names import NAMES, metric_from

SCIPY = {
    "euclidean": {},
    "sqeuclidean": {},
    "cityblock": {},
    "chebyshev": {},
    "cosine": {},
}


def points(seed: int, n: int, d: int, offset: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) + offset


@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("offset", [1.0, 1e5])
def test_as_scipy(name: str, d: int, offset: float) -> None:
    x, z = points(0, 30, d, offset), points(1, 50, d, offset)
    expected = cdist(x, z, name)
    np.testing.assert_allclose(metric_from(name).distances(x, z), expected, rtol=1e-9, atol=2e-15)


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0, np.inf])
def test_minkowski(p: float) -> None:
    x, z = points(0, 20, 4), points(1, 30, 4)
    expected = cdist(x, z, "chebyshev") if p == np.inf else cdist(x, z, "minkowski", p=p)
    np.testing.assert_allclose(sx.Minkowski(p).distances(x, z), expected, rtol=1e-12)
    assert sx.Minkowski(p).is_metric == (p >= 1)


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_minkowski_neither_overflows_nor_underflows(scale: float) -> None:
    x = points(0, 5, 3)
    np.testing.assert_allclose(
        sx.Minkowski(3).distances(x * scale), sx.Minkowski(3).distances(x) * scale, rtol=1e-12
    )


def test_close_points_far_from_the_origin_do_not_cancel() -> None:
    """Products alone would leave nothing of a distance of 1e-6 between points of size 1e3."""
    x = points(0, 40, 64) * 1e3
    z = x + 1e-6
    d = sx.Euclidean().distances(x, z)
    np.testing.assert_allclose(np.diag(d), np.linalg.norm(x - z, axis=1), rtol=1e-6)
    assert (np.diag(sx.Euclidean().distances(x)) == 0).all()


@pytest.mark.parametrize("d", [2, 30])
def test_two_threads_and_blocks_change_nothing(d: int) -> None:
    x = points(0, 700, d)
    whole = sx.Euclidean().distances(x)
    prepared = sx.Euclidean().prepare(x)
    parts = [rows for _, rows in prepared.blocks(x, budget=8 * 700 * 13)]
    assert len(parts) > 50
    np.testing.assert_allclose(np.vstack(parts), whole, rtol=1e-9, atol=1e-12)


def test_elliptical_distance_of_a_rotated_and_squeezed_circle() -> None:
    """R by 45 degrees, S = diag(1/2, 1): M = RᵀS²R has 5/8 and −3/8 in it."""
    c = np.sqrt(0.5)
    rotation, squeeze = np.array([[c, c], [-c, c]]), np.diag([0.5, 1.0])
    m = rotation.T @ squeeze @ squeeze @ rotation
    np.testing.assert_allclose(m, [[5 / 8, -3 / 8], [-3 / 8, 5 / 8]], atol=1e-15)
    x = points(0, 10, 2)
    expected = np.linalg.norm(x @ (squeeze @ rotation).T, axis=1)
    found = sx.Elliptical(m).distances(x, [[0.0, 0.0]])[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    on = np.array([np.sqrt(0.4), 0.0])  # (5/8)x² + (5/8)y² − (3/4)xy = 1/4
    assert sx.Elliptical(m)(on, [0, 0]) == pytest.approx(0.5, rel=1e-12)


def test_mahalanobis_given_and_estimated_is_invariant_to_units() -> None:
    x = points(0, 60, 3) @ np.array([[1.0, 0.3, 0], [0, 1, 0.9], [0, 0, 0.2]]) + 50.0
    v = np.cov(x.T, ddof=0)
    expected = cdist(x, x, "mahalanobis", VI=np.linalg.inv(v))
    np.testing.assert_allclose(sx.Mahalanobis(v).distances(x), expected, rtol=1e-9, atol=1e-12)
    units = np.array([1e8, 1e-8, 1.0])
    learned = sx.Mahalanobis().fitted(x * units).distances(x * units)
    np.testing.assert_allclose(learned, expected, rtol=1e-7, atol=1e-9)
    flat = np.column_stack([x, np.ones(60), x[:, 0] + x[:, 1]])  # no spread, and no new direction
    np.testing.assert_allclose(
        sx.Mahalanobis().fitted(flat).distances(flat), expected, rtol=1e-6, atol=1e-9
    )
    with pytest.raises(sx.InputError, match="no covariance yet"):
        sx.Mahalanobis().distances(x)


def edit_distance_by_table(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(b):
            new.append(min(row[j] + (x != y), row[j + 1] + 1, new[j] + 1))
        row = new
    return row[-1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abñ", max_size=150), min_size=1, max_size=4), st.text("ab", max_size=150))
def test_edit_distance_against_the_table(words: list[str], other: str) -> None:
    found = sx.Edit().distances(words, [other])[:, 0]
    assert found.tolist() == [edit_distance_by_table(word, other) for word in words]


def test_sequences() -> None:
    assert sx.Edit()("kitten", "sitting") == 3
    assert sx.Hamming()("karolin", "kathrin") == 3
    assert sx.Hamming().distances(np.array([[0, 1, 1], [1, 1, 0]])).tolist() == [[0, 2], [2, 0]]
    with pytest.raises(sx.InputError, match="one length"):
        sx.Hamming().distances(["ab", "abc"])
    with pytest.raises(sx.InputError, match="one string"):
        sx.Edit().distances("abc")


def test_gower_mixes_numbers_and_text_and_skips_missing_values() -> None:
    table = pd.DataFrame({"a": [0.0, 5.0, 10.0, None], "b": ["x", "y", "x", "x"]})
    d = sx.Gower().fitted(table).distances(table)
    expected = [[0, 0.75, 0.5, 0], [0.75, 0, 0.75, 1], [0.5, 0.75, 0, 0], [0, 1, 0, 0]]
    np.testing.assert_allclose(d, expected, atol=1e-15)
    codes = np.array([[0.0, 1.0], [5.0, 2.0], [10.0, 1.0]])
    fitted = sx.Gower(categorical=(1,)).fitted(codes)
    np.testing.assert_allclose(fitted.distances(codes), np.array(expected)[:3, :3], atol=1e-15)
    assert sx.Gower().fitted(table)((3.0, "never seen"), (3.0, "x")) == 0.5


def test_kernel_distance_is_that_of_the_feature_map() -> None:
    """κ = (x·z)² has the map (x², y², √2 xy)."""
    x = points(0, 12, 2)
    mapped = np.column_stack([x[:, 0] ** 2, x[:, 1] ** 2, np.sqrt(2) * x[:, 0] * x[:, 1]])
    metric = sx.KernelDistance(sx.Polynomial(2, 0.0))
    np.testing.assert_allclose(metric.distances(x), cdist(mapped, mapped), atol=1e-7)


def test_axioms_hold_or_are_refuted_by_example() -> None:
    x = points(0, 40, 2)
    for name in ("euclidean", "manhattan", "chebyshev"):
        assert sx.metric_axioms(name, x).is_metric
    for broken in (sx.Minkowski(0.8), "cosine", "sqeuclidean"):
        found = sx.metric_axioms(broken, x)
        assert not found.triangle
        assert found.zero
        assert found.symmetric
        a, b, c = found.counterexamples["triangle"]
        metric = metric_from(broken)
        assert metric(x[a], x[c]) > metric(x[a], x[b]) + metric(x[b], x[c])
        assert "by way of" in str(found)
    lopsided = sx.metric_axioms(lambda a, b: max(0.0, float(a[0] - b[0])), x)
    assert not lopsided.symmetric
    assert not lopsided.positive
    assert not sx.metric_axioms(lambda a, b: 1.0, x[:3]).zero
    assert sx.metric_axioms("edit", ["cat", "cart", "dog"]).is_metric


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("pair", [(3, 5), (2, 2)])
def test_a_distance_that_is_not_finite_fails_the_axioms(value: float, pair: tuple) -> None:
    x = points(0, 8, 2)
    d = sx.Euclidean().distances(x)
    d[pair] = value
    found = sx.metric_axioms(lambda a, b: d[int(a), int(b)], np.arange(8))
    assert not found.is_metric
    assert not found.finite
    assert found.zero == (pair == (3, 5))
    assert found.positive == (pair == (2, 2))
    assert not found.symmetric
    assert not found.triangle
    assert found.counterexamples["finite"] == pair
    assert f"from row {pair[0]} to row {pair[1]} is {value}" in str(found)


def test_nowhere_finite_distances_satisfy_no_axiom() -> None:
    found = sx.metric_axioms(lambda a, b: np.nan, [0, 1, 2])
    assert [found.zero, found.positive, found.symmetric, found.triangle] == [False] * 4


BOOLEAN = (
    *("jaccard", "dice", "matching", "rogerstanimoto", "russellrao"),
    *("sokalmichener", "sokalsneath", "yule"),
)


def sample_for(name: str, n: int) -> Any:
    """Points that the metric of this name is meant for."""
    if name in ("edit", "levenshtein"):
        return ["ab", "ba", "bb"]
    if name in BOOLEAN:
        return (points(0, n, 6) > 0.3).astype(float)
    if name == "nan_euclidean":
        return np.where(points(1, n, 3) > 0.5, np.nan, points(0, n, 3))
    if name == "braycurtis":
        return np.abs(points(0, n, 2))
    return points(0, n, 3 if name == "correlation" else 2)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"precomputed", "mahalanobis", "gower"}))
def test_is_metric_of_every_named_metric_agrees_with_the_axioms(name: str) -> None:
    metric = metric_from(name)
    assert sx.metric_axioms(metric, sample_for(name, 60)).is_metric == metric.is_metric


@pytest.mark.parametrize(
    "name", ["canberra", "braycurtis", "correlation", "seuclidean", "hamming", *BOOLEAN]
)
def test_other_metrics_as_scipy(name: str) -> None:
    x, z = sample_for(name, 20), sample_for(name, 50)[20:]
    if name == "sokalmichener":
        expected = cdist(x > 0, z > 0, "rogerstanimoto")
    elif name == "matching":
        expected = cdist(x > 0, z > 0, "hamming")
    elif name in BOOLEAN:
        expected = cdist(x > 0, z > 0, name)
    elif name == "seuclidean":
        expected = cdist(x, z, name, V=np.var(z, axis=0, ddof=1))
    else:
        expected = cdist(x, z, name)
    found = metric_from(name).fitted(z).distances(x, z)
    np.testing.assert_allclose(found, np.nan_to_num(expected), rtol=1e-10, atol=1e-14)


def test_haversine_and_missing_values_as_scikit_learn() -> None:
    x, z = points(0, 20, 2), points(1, 30, 2)
    np.testing.assert_allclose(
        sx.Haversine().distances(x, z), haversine_distances(x, z), rtol=1e-12
    )
    x, z = sample_for("nan_euclidean", 40)[:20], sample_for("nan_euclidean", 40)[20:]
    expected = np.nan_to_num(nan_euclidean_distances(x, z), nan=np.inf)
    np.testing.assert_allclose(sx.NanEuclidean().distances(x, z), expected, rtol=1e-12)


def test_rows_without_direction_are_at_distance_one() -> None:
    x = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_allclose(sx.Cosine().distances(x), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    found = sx.NearestNeighbors(n_neighbors=2, metric="cosine").fit(x).kneighbors([[2.0, 4.0]])
    np.testing.assert_allclose(found[0], [[0.0, 1.0]], atol=1e-15)
    assert sx.Correlation()([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) == 1.0


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("d", [3, 40])
def test_distances_of_very_large_and_very_small_numbers(scale: float, d: int) -> None:
    x = points(0, 12, d)
    for metric in ("euclidean", "manhattan", "chebyshev", "cosine", "canberra", sx.Minkowski(3)):
        homogeneous = 1.0 if metric in ("cosine", "canberra") else scale
        given = metric_from(metric)
        np.testing.assert_allclose(
            given.distances(x * scale), given.distances(x) * homogeneous, rtol=1e-9, atol=2e-15
        )
    large = sx.Euclidean()(np.full(d, 1e200), np.zeros(d))
    assert large == pytest.approx(1e200 * np.sqrt(d))
    given = sx.Mahalanobis(np.eye(d))
    np.testing.assert_allclose(given.distances(x * scale), given.distances(x) * scale, rtol=1e-9)
    for metric in (sx.Mahalanobis(), sx.StandardizedEuclidean()):
        with pytest.raises(sx.InputError, match="er than any number"):
            metric.fitted(x * scale)
    spread = sx.distance_concentration(x * scale).spread
    assert spread == pytest.approx(sx.distance_concentration(x).spread)
    model = sx.NearestExemplar().fit(x * scale, np.arange(12) % 2)
    assert model.certificate_.holds


def test_bad_input_is_refused() -> None:
    with pytest.raises(sx.InputError, match="euclidean"):
        metric_from("euclidian")
    with pytest.raises(sx.InputError, match="Row 1, column 0 is nan"):
        sx.Euclidean().distances([[1.0], [np.nan]])
    with pytest.raises(sx.InputError, match="rows of numbers"):
        sx.Euclidean().distances([["a"], ["b"]])
    with pytest.raises(sx.InputError, match="3 columns"):
        sx.Euclidean().distances(np.ones((2, 3)), np.ones((2, 2)))
    with pytest.raises(sx.InputError, match="not symmetric: 1 from point 0 to 1, 2 back"):
        metric_from("precomputed").distances([[0.0, 1.0], [2.0, 0.0]])
    with pytest.raises(sx.InputError, match="negative eigenvalue"):
        sx.Elliptical([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(sx.InputError, match="positive"):
        sx.Minkowski(0)


def test_edits_between_words_of_other_letters() -> None:
    tokens = [["the", "cat"], ["the", "black", "cat"], ["dog"]]
    assert sx.Edit().distances(tokens).tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    assert sx.Edit().distances([(1, 2, 3)], [(1,), (1, 2)]).tolist() == [[2, 1]]


def test_a_matrix_has_no_distance_to_strings() -> None:
    with pytest.raises(sx.InputError, match="lists of objects"):
        sx.Hamming().distances(np.ones((1, 3)), ["abc"])


def test_axioms_of_precomputed_distances() -> None:
    d = sx.Euclidean().distances(points(0, 500, 3))
    assert sx.metric_axioms("precomputed", d).is_metric
    assert sx.distance_concentration(d, "precomputed").spread > 0.1
    found = sx.metric_axioms("precomputed", [[0.0, 1.0], [2.0, 0.0]])
    assert found.counterexamples == {"symmetric": (0, 1)}


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rounding_is_no_counterexample(offset: float) -> None:
    x = np.vstack([points(1, 40, 3, offset), points(1, 1, 3, offset)])
    for kernel in (sx.Linear(), sx.Polynomial(2), sx.Gaussian(2.0)):
        metric = sx.KernelDistance(kernel)
        assert metric.distances(x)[0, -1] == 0.0 == metric.distances(x)[5, 5]
        assert sx.metric_axioms(metric, x).is_metric


def test_units_do_not_flatten_an_ellipse() -> None:
    assert sx.Elliptical(np.diag([1e-16, 1e16])).is_metric
    assert not sx.Elliptical(np.ones((2, 2))).is_metric


@pytest.mark.parametrize("value", [0.1, 1234567.1])
def test_constant_columns_are_left_out_of_mahalanobis(value: float) -> None:
    x = np.column_stack([points(2, 1000, 1), np.full(1000, value)])
    metric = sx.Mahalanobis().fitted(x)
    assert metric([0.0, value], [0.0, value + 1.0]) == 0.0
    assert not metric.is_metric


def test_mahalanobis_weights_equal_repeated_rows() -> None:
    x, w = points(3, 50, 2), np.random.default_rng(3).integers(0, 4, 50)
    repeated = sx.Mahalanobis().fitted(np.repeat(x, w, axis=0))
    np.testing.assert_allclose(
        sx.Mahalanobis().fitted(x, w.astype(float)).distances(x), repeated.distances(x), rtol=1e-12
    )


def test_validated_rows_are_not_encoded_again() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.choice(["x", "y"], 40)})
    metric = sx.Gower().fitted(frame)
    d = metric.distances(frame)
    np.testing.assert_array_equal(metric.distances(metric.validate(frame)), d)
    assert sx.silhouette(frame, frame.b, "gower").score == pytest.approx(
        sx.silhouette(d, frame.b, "precomputed").score
    )
    model = sx.KMedoids(2, metric="gower", init="build").fit(frame)
    given = sx.KMedoids(2, metric="precomputed", init="build").fit(d)
    assert model.inertia_ == pytest.approx(given.inertia_)
    assert model.inertia_ == pytest.approx(d[:, model.medoid_indices_].min(axis=1).sum())


def test_a_column_of_dates_is_refused() -> None:
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-03"])})
    with pytest.raises(sx.InputError, match="neither numbers nor text"):
        sx.Gower().fitted(frame)


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        ([[0, 1, 2], [1, 0, 1], [2, 1, 0]], "metric"),
        ([[0, 0, 2], [0, 0, 2], [2, 2, 0]], "pseudo-metric"),
        ([[0, 1, 4], [1, 0, 1], [4, 1, 0]], "semi-metric"),
        ([[0, 1, 2], [3, 0, 1], [2, 1, 0]], "none"),
        ([[0, 0, 4], [0, 0, 1], [4, 1, 0]], "none"),
    ],
)
def test_what_lacks_one_axiom_has_a_name(matrix: list[list[float]], kind: str) -> None:
    points = np.arange(3.0)[:, None]

    def distance(a: np.ndarray, b: np.ndarray) -> float:
        return float(matrix[int(a[0])][int(b[0])])

    found = sx.metric_axioms(distance, points)
    assert found.kind == kind
    assert (kind in str(found)) == (kind not in ("metric", "none"))
