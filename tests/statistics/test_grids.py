"""Grids along a column, edges of histograms, and correlations with missing values."""

import numpy as np
import pandas as pd
import pytest

from separatrix.statistics.columns import (
    MOST_BINS,
    MOST_POINTS,
    histogram_edges,
    pairwise_correlations,
    value_grid,
)


def test_few_values_are_all_on_the_grid():
    assert value_grid(np.array([3.0, 1.0, 1.0, 2.0])).tolist() == [1.0, 2.0, 3.0]


def test_many_values_without_the_outermost():
    x = np.random.default_rng(0).exponential(size=5000)
    grid = value_grid(x)
    assert 10 < len(grid) <= MOST_POINTS
    assert (np.diff(grid) > 0).all()
    low, high = np.quantile(x, [0.01, 0.99])
    assert grid[0] == pytest.approx(low, rel=0.01)
    assert grid[-1] == pytest.approx(high, rel=0.01)
    whole = value_grid(np.round(100 * x))
    assert (whole == np.round(whole)).all()


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).normal(size=1000),
        np.arange(100.0),
        np.array([2.0, 2.0]),
        np.array([0.0, 1.0]),
        np.arange(1990.0, 2021.0),
    ],
    ids=["numbers", "integers", "constant", "two", "years"],
)
def test_edges_hold_every_value(values):
    edges = histogram_edges(values)
    assert edges[0] <= values.min()
    assert values.max() <= edges[-1]
    assert (np.diff(edges) > 0).all()
    assert len(edges) - 1 <= MOST_BINS + 1
    assert np.histogram(values, edges)[0].sum() == len(values)


def test_integers_are_in_the_middle_of_their_bins_and_tails_are_cut():
    assert histogram_edges(np.array([1.0, 2.0, 4.0])).tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    x = np.append(np.random.default_rng(2).normal(size=999), 1e6)
    assert histogram_edges(x)[-1] < 10


def test_correlations_are_those_of_the_rows_that_have_both():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) * [1, 1e6, 1e-6, 1] + [0, 1e9, 0, 5]
    x[rng.random(x.shape) < 0.2] = np.nan
    present = np.isfinite(x).astype(float)
    found = pairwise_correlations(np.nan_to_num(x), present, np.ones(200))
    assert found == pytest.approx(pd.DataFrame(x).corr().to_numpy(), abs=1e-9)
    w = rng.integers(0, 4, 200)
    repeated = np.repeat(x, w, axis=0)
    weighted = pairwise_correlations(np.nan_to_num(x), present, w.astype(float))
    assert weighted == pytest.approx(pd.DataFrame(repeated).corr().to_numpy(), abs=1e-9)


def test_a_constant_column_has_no_correlation():
    x = np.column_stack([np.full(9, 0.1), np.arange(9.0)])
    found = pairwise_correlations(x, np.ones_like(x), np.ones(9))
    assert np.isnan(found[0]).all()
    assert found[1, 1] == pytest.approx(1.0)
