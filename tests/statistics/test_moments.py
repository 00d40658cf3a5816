"""Moments and their richer relatives: facts, merging, digits."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.linear.least_squares import ExtendedMoments
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Block, Term, Terms
from separatrix.statistics.moments import Grouped, Moments
from separatrix.statistics.triangular import TriangularFactor

FACT = np.array([[5.0, 0.0], [3.0, 5.0], [1.0, 7.0]])


def test_scatter_covariance_gram_of_three_points() -> None:
    m = ArrayRows(FACT).reduce(Moments())
    assert m.mean.tolist() == [3, 4]
    assert m.scatter.tolist() == [[8, -14], [-14, 26]]
    assert_allclose(m.covariance, np.array([[8, -14], [-14, 26]]) / 3, rtol=1e-15)
    assert ArrayRows(FACT).block.gram().tolist() == [[25, 15, 5], [15, 34, 38], [5, 38, 50]]
    assert_allclose(m.correlation, np.corrcoef(FACT.T), rtol=1e-14)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 9999), cuts=st.lists(st.integers(0, 40), max_size=4))
def test_any_cut_of_the_rows_adds_up(seed: int, cuts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    x, y, w = rng.standard_normal((40, 3)) + 100, rng.standard_normal(40), rng.uniform(0, 2, 40)
    whole = ArrayRows(x, y, w).reduce(Moments())
    edges = [0, *sorted(cuts), 40]
    parts = [ArrayRows(x[a:b], y[a:b], w[a:b]).reduce(Moments()) for a, b in pairwise(edges)]
    total = sum(parts, Moments())
    assert total.count == whole.count
    assert_allclose(total.mean, whole.mean, rtol=1e-13)
    assert_allclose(total.scatter, whole.scatter, rtol=1e-10, atol=1e-10)


def test_far_from_the_origin_no_digits_are_lost() -> None:
    base = np.arange(1000.0)[:, None] % 7
    near = ArrayRows(base).reduce(Moments()).scatter
    far = ArrayRows(base + 1e9).reduce(Moments()).scatter
    assert_allclose(far, near, rtol=1e-12)


def test_sums_of_many_threads_do_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100_000, 4))
    first = ArrayRows(x).reduce(Moments())
    second = ArrayRows(x).reduce(Moments())
    assert np.array_equal(first.scatter, second.scatter)


def test_weight_zero_is_a_row_removed() -> None:
    w = np.array([1.0, 0.0, 2.0])
    m = ArrayRows(FACT, None, w).reduce(Moments())
    assert m.count == 2
    assert_allclose(m.mean, [(5 + 2) / 3, 14 / 3])


def test_a_level_met_later_was_zero_before() -> None:
    red, blue = Term("colour", "red"), Term("colour", "blue")
    none = Terms(())
    a = Block(np.ones((3, 1)), np.zeros((3, 0)), None, Terms((red,)), none)
    b = Block(np.eye(2), np.zeros((2, 0)), None, Terms((blue, red)), none)
    m = Moments()
    m.update(a)
    m.update(b)
    assert m.terms.items == (red, blue)
    full = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [1, 0]], dtype=float)
    assert_allclose(m.mean, full.mean(axis=0))
    assert_allclose(m.scatter, 5 * np.cov(full.T, bias=True), atol=1e-15)


def test_parts_in_one_pass() -> None:
    rng = np.random.default_rng(1)
    x, parts = rng.standard_normal((50, 2)), rng.integers(0, 3, 50)
    grouped = ArrayRows(x, parts=parts).reduce(Grouped(Moments()))
    for part in range(3):
        alone = ArrayRows(x[parts == part]).reduce(Moments())
        assert_allclose(grouped.parts[part].scatter, alone.scatter, rtol=1e-12)
    rest = ArrayRows(x[parts != 1]).reduce(Moments())
    assert_allclose(grouped.total(without=1).scatter, rest.scatter, rtol=1e-12)


def test_moments_of_a_linear_map_need_no_rows() -> None:
    rng = np.random.default_rng(2)
    x, y, a = rng.standard_normal((30, 3)), rng.standard_normal(30), rng.standard_normal((3, 2))
    raw, terms = ArrayRows(x, y).reduce(Moments()), Terms((Term("u"), Term("v")))
    mapped = raw.mapped(a, np.eye(1), terms, raw.targets)
    direct = ArrayRows(x @ a, y).reduce(Moments())
    assert_allclose(mapped.scatter, direct.scatter, atol=1e-12)
    assert_allclose(mapped.mean, direct.mean, atol=1e-13)


def test_values_that_are_no_numbers_name_their_column() -> None:
    x = FACT.copy()
    x[1, 1] = np.nan
    with pytest.raises(sx.InputError, match="x1"):
        ArrayRows(x).reduce(Moments())


def test_triangular_factor_is_the_factor_of_all_rows() -> None:
    rng = np.random.default_rng(3)
    x, y, w = rng.standard_normal((5000, 4)), rng.standard_normal(5000), rng.uniform(0, 2, 5000)
    r = ArrayRows(x, y, w).reduce(TriangularFactor()).r
    design = np.column_stack([np.ones(5000), x, y]) * np.sqrt(w)[:, None]
    assert_allclose(r.T @ r, design.T @ design, rtol=1e-11, atol=1e-9)
    assert (np.diag(r) >= 0).all()
    halves = [
        ArrayRows(x[s], y[s], w[s]).reduce(TriangularFactor())
        for s in (slice(0, 3), slice(3, None))
    ]
    assert_allclose((halves[0] + halves[1]).r, r, rtol=1e-10, atol=1e-11)


def test_extended_moments_are_exact_to_thirty_digits() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((40, 2)) + 1000
    x[:, 1] = x[:, 0] + 1e-9 * rng.standard_normal(40)
    mean = ArrayRows(x).reduce(Moments()).mean
    found = ArrayRows(x).reduce(ExtendedMoments(mean))
    columns = [[Fraction(v) for v in x[:, j]] for j in range(2)]
    centre = [sum(c) / 40 for c in columns]
    for i in range(2):
        for j in range(i, 2):
            exact = sum(
                (a - centre[i]) * (b - centre[j])
                for a, b in zip(columns[i], columns[j], strict=True)
            )
            hi, lo = found.scatter()[:, i, j]
            assert abs(Fraction(hi) + Fraction(lo) - exact) < Fraction(1, 10**28) * abs(exact)
    assert abs(Fraction(found.mean()[0, 0]) + Fraction(found.mean()[1, 0]) - centre[0]) < Fraction(
        1, 10**26
    )


def test_the_correlation_of_a_constant_column_is_not_a_number():
    x = np.random.default_rng(0).normal(size=(20, 3)) * [1.0, 1e-8, 1e8]
    x[:, 1] = 1e9 + 0.1  # constant up to rounding
    found = ArrayRows(x).reduce(Moments()).correlation
    assert np.isnan(found[1]).all()
    assert np.isnan(found[:, 1]).all()
    assert_allclose(found[0, 2], np.corrcoef(x[:, 0], x[:, 2])[0, 1], rtol=1e-9)
    assert np.abs(found[np.isfinite(found)]).max() <= 1.0
