"""The finite-sample quantile: exact ranks, weights as repeats, selection among few changes."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from scipy.stats import binomtest

from separatrix.conformal.base import (
    check_level,
    clopper_pearson,
    guarantee_of,
    needed_rank,
    rows_needed,
    shifted_quantiles,
    upper_quantile,
    upper_quantiles,
)
from separatrix.conformal.regressor import cross_conformal
from separatrix.messages import InputError


@pytest.mark.parametrize("level", [0.05, 0.1, 0.7, 0.8, 0.9, 0.95, 0.99])
def test_the_rank_is_that_of_the_level_as_it_is_written(level: float) -> None:
    exact = Fraction(str(level))
    for n in range(1, 300):
        assert needed_rank(check_level(level), n) == ceil(exact * (n + 1))


def test_intervals_are_finite_from_level_over_one_minus_level_rows() -> None:
    assert [rows_needed(level) for level in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    scores = np.arange(9.0)
    assert upper_quantile(scores, None, check_level(0.9)) == 8.0
    assert upper_quantile(scores[:8], None, check_level(0.9)) == np.inf
    assert upper_quantile(scores[:0], None, check_level(0.9)) == np.inf


def test_weights_are_repeats_and_ties_are_exact() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, w = rng.integers(0, 6, 12).astype(float), rng.integers(1, 4, 12)
        level = check_level(float(rng.choice([0.3, 0.8, 0.9, 0.95])))
        repeated = upper_quantile(np.repeat(scores, w), None, level)
        assert upper_quantile(scores, w.astype(float), level) == repeated
        both = upper_quantiles(np.stack([scores, scores[::-1]]), w.astype(float), level)
        assert both[0] == repeated


@pytest.mark.parametrize("level", [0.0, 1.0, 90, -0.1, np.nan])
def test_levels_outside_zero_and_one_are_refused(level: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        check_level(level)


def test_selection_among_few_changes_is_that_among_all() -> None:
    rng = np.random.default_rng(1)
    n, k, m = 30, 4, 12
    scores = rng.integers(0, 12, n) + 0.0
    order = np.argsort(scores, kind="stable")
    place = np.empty(n, dtype=int)
    place[order] = np.arange(n)
    base = rng.normal(size=m)
    indices = np.stack([rng.permutation(n)[:k] for _ in range(m)])
    changed = base[:, None] + rng.normal(size=(m, k)) * 8
    full = np.repeat(base[:, None], n, axis=1)
    full[np.arange(m)[:, None], indices] = changed
    full = np.sort(full + scores, axis=1)
    for rank in range(1, n + 1):
        found = shifted_quantiles(base, indices, changed, scores[order], place, rank)
        np.testing.assert_array_equal(found, full[:, rank - 1])


def test_the_cross_conformal_hull_is_that_of_its_definition() -> None:
    rng = np.random.default_rng(2)
    middle, reach = rng.normal(size=(3, 15)), rng.exponential(size=15)
    low, high = middle - reach, middle + reach
    for level in (0.6, 0.8, 0.9):
        found = cross_conformal(low.copy(), high.copy(), None, check_level(level))
        for i in range(3):
            ends = np.sort(np.concatenate([low[i], high[i]]))
            inside = [((low[i] <= y) & (y <= high[i])).sum() for y in ends]
            allowed = ends[(1 + np.array(inside)) / 16 > 1 - level + 1e-12]
            assert (found[0][i], found[1][i]) == (allowed.min(), allowed.max())
    whole = cross_conformal(low[:, :5].copy(), high[:, :5].copy(), None, check_level(0.95))
    assert np.isinf(whole).all()


@pytest.mark.parametrize(("k", "n"), [(0, 7), (7, 7), (3, 20), (190, 200)])
def test_clopper_pearson_is_that_of_scipy(k: int, n: int) -> None:
    expected = binomtest(k, n).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(clopper_pearson(k, n), expected, atol=1e-12)


def test_guarantees_are_those_of_the_theorems() -> None:
    assert guarantee_of("split", 0.9, 50, 1).at_least == 0.9
    assert guarantee_of("jackknife+", 0.9, 50, 50).at_least == pytest.approx(0.8)
    few = guarantee_of("cv+", 0.9, 100, 10).at_least
    assert few == pytest.approx(0.8 - min(2 * 0.9 * 9 / 110, 0.9 / 11))
    uneven = guarantee_of("cv+", 0.9, 101, 10).at_least
    assert uneven == pytest.approx(0.8 - 2 * 0.9 * 9 / 111)
    assert guarantee_of("cv+", 0.9, 100, 100).at_least == pytest.approx(0.8)
