"""Median and medoid against brute force and a general minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

import separatrix as sx


def total_distance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.linalg.norm(x - y, axis=1).sum())


@settings(max_examples=60, deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.integers(-5, 5)))
def test_median_of_degenerate_points(x: np.ndarray) -> None:
    """Ties, repeats, lines, single points: nothing that a minimiser finds is shorter."""
    found = sx.geometric_median(x)
    assert found.residual <= 1e-7
    assert found.total == pytest.approx(total_distance(x, found.point), rel=1e-9, abs=1e-12)
    other = minimize(lambda y: total_distance(x, y), x.mean(axis=0), method="Nelder-Mead").fun
    assert found.total <= min([other, *(total_distance(x, row) for row in x)]) + 1e-6


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_median_of_many_points(unit: float) -> None:
    x = np.random.default_rng(0).standard_t(2, size=(2000, 4))
    found = sx.geometric_median(x * unit + 3 * unit)
    assert found.residual < 1e-10
    np.testing.assert_allclose(
        found.point / unit - 3, sx.geometric_median(x).point, rtol=1e-6, atol=1e-8
    )


def test_outlier_moves_the_mean_but_not_the_median() -> None:
    x = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [1000, 1000]])
    assert np.linalg.norm(sx.geometric_median(x).point) < 2 < np.linalg.norm(x.mean(axis=0))


def test_weights_equal_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(30, 2)), rng.integers(0, 4, 30)
    repeated = np.repeat(x, w, axis=0)
    np.testing.assert_allclose(
        sx.geometric_median(x, w).point, sx.geometric_median(repeated).point, atol=1e-7
    )
    weighted, unweighted = sx.medoid(x, sample_weight=w), sx.medoid(repeated)
    assert weighted.total == pytest.approx(unweighted.total)
    np.testing.assert_array_equal(weighted.point, unweighted.point)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "sqeuclidean"])
def test_medoid_against_all_distances(metric: str) -> None:
    x = np.random.default_rng(0).normal(size=(600, 3))
    totals = cdist(x, x, metric).sum(axis=1)
    found = sx.medoid(x, metric)
    assert found.index == totals.argmin()
    assert found.total == pytest.approx(totals.min())


def test_medoid_of_a_metric_measures_few_rows() -> None:
    x = np.random.default_rng(0).normal(size=(4000, 2))
    assert sx.medoid(x).measured < 1500


def test_medoid_of_words_and_ties() -> None:
    assert sx.medoid(["abc", "abd", "xyz"], "edit").point == "abc"
    assert sx.medoid([[0.0], [1.0], [0.0], [1.0]]).index == 0
    with pytest.raises(sx.InputError, match="No points"):
        sx.medoid(np.zeros((0, 2)))
    with pytest.raises(sx.InputError, match="not negative"):
        sx.medoid([[0.0]], sample_weight=[-1])


def test_the_medoid_of_distances_that_violate_the_triangle_inequality() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = rng.random((80, 80)) ** 6
        d += d.T
        np.fill_diagonal(d, 0.0)
        assert sx.medoid(d, "precomputed").index == d.sum(axis=1).argmin()


def test_median_in_many_columns() -> None:
    rng = np.random.default_rng(1)
    for n in (40, 400):
        assert sx.geometric_median(rng.normal(size=(n, 120))).residual < 1e-8
    line = np.outer(rng.normal(size=31), rng.normal(size=120))
    assert sx.geometric_median(line).residual < 1e-8
