"""Permutation importance: donors, the mean rise of a loss, and the coverage of its interval."""

import numpy as np
import pytest

from separatrix.statistics.columns import donor_rows, mean_rise


@pytest.mark.parametrize(("n", "repeats"), [(2, 1), (7, 6), (300, 10)])
def test_donors_are_other_rows_and_each_gives_as_often(n, repeats):
    donors = donor_rows(n, repeats, seed=3)
    assert donors.shape == (repeats, n)
    for one in donors:
        assert sorted(one) == list(range(n))
    assert (donors != np.arange(n)).all()
    assert all(len(set(column)) == repeats for column in donors.T)
    assert (donors == donor_rows(n, repeats, seed=3)).all()


def one_table(rng, n, repeats, skewed):
    """A known model, ŷ = x, on rows of its own: the rise of squared errors when x is permuted."""
    x = rng.exponential(size=n) - 1 if skewed else rng.standard_normal(n)
    y = x + rng.standard_normal(n)
    donors = donor_rows(n, repeats, int(rng.integers(1 << 30)))
    rise = (y - x[donors]) ** 2 - (y - x) ** 2
    return mean_rise(rise, donors, np.ones(n))


@pytest.mark.parametrize(
    ("skewed", "least"), [(False, 0.93), (True, 0.88)], ids=["normal", "exponential"]
)
def test_intervals_cover_the_truth(skewed, least):
    """E (x − x')² = 2 var x = 2. Counting rows alone, without donors, covers 87 and 75 %."""
    rng = np.random.default_rng(5)
    found = np.array([one_table(rng, 300, 8, skewed) for _ in range(500)])
    covered = np.mean(np.abs(found[:, 0] - 2.0) <= found[:, 1])
    assert least <= covered <= 0.99
    assert abs(found[:, 0].mean() - 2.0) < 0.05


def test_weights_count_and_a_column_without_effect_is_exactly_zero():
    donors = donor_rows(5, 2, 0)
    rise = np.arange(10.0).reshape(2, 5)
    w = np.array([1.0, 0.0, 0.0, 0.0, 3.0])
    assert mean_rise(rise, donors, w)[0] == pytest.approx((2.5 + 3 * 6.5) / 4)
    assert mean_rise(np.zeros((2, 5)), donors, np.ones(5)) == (0.0, 0.0)
