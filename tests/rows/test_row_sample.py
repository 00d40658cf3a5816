"""Copies in a stream are counted in one pass, in any order, from any number of blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import Moments, scan
from separatrix.rows.sampling import SIZE, RowSample, Together


def sampled(values, **options) -> RowSample:
    return scan(pd.DataFrame({"x": values, "y": 1.0}), target="y", **options).reduce(RowSample())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=80))
def test_few_distinct_rows_are_counted(values) -> None:
    found = sampled(np.array(values, dtype=float), block_rows=7)
    assert found.exact
    assert found.rows == len(values)
    assert found.copies == len(values) - len(set(values))


def test_many_are_estimated_and_the_order_does_not_matter() -> None:
    values = np.repeat(np.arange(30_000.0), np.random.default_rng(0).integers(1, 4, 30_000))
    found = sampled(values)
    assert not found.exact
    assert len(found.hashes) == SIZE
    assert found.copies == pytest.approx(len(values) - 30_000, rel=0.05)
    other = sampled(np.random.default_rng(1).permutation(values), block_rows=1000)
    np.testing.assert_array_equal(other.hashes, found.hashes)
    np.testing.assert_array_equal(other.counts, found.counts)


def test_two_statistics_in_one_pass() -> None:
    rows = scan({"x": [1.0, 2.0, 2.0], "y": [1.0, 3.0, 3.0]}, target="y")
    moments, sample = rows.reduce(Together(Moments(), RowSample())).statistics
    assert sample.copies == 1
    np.testing.assert_array_equal(moments.mean, rows.reduce(Moments()).mean)
