"""Preconditioned columns: unit size, independence, and coefficients in the original units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.linear.polynomial import Extremes
from separatrix.rows.rows import ArrayRows, MappedRows
from separatrix.rows.schema import Term, Terms
from separatrix.statistics.class_preparation import MomentsByClass, TargetMap
from separatrix.statistics.moments import Moments, precondition


def preconditioned(x, y, w=None, *, fit_intercept=True):
    rows = ArrayRows(x, y, w)
    p = precondition(rows, rows.reduce(Moments()), fit_intercept=fit_intercept)
    z, y, w = (np.concatenate(part) for part in zip(*p.chunks(rows.block), strict=True))
    return p, z, y, w


@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 30),
    d=st.integers(1, 6),
    power=st.integers(-8, 8),
    fit_intercept=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_columns_have_unit_size_and_predictions_return(seed, n, d, power, fit_intercept):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) * 10.0 ** (power * np.arange(d) / d)
    if d > 2:
        x[:, 2] = 3 * x[:, 0]
    y, w = rng.standard_normal(n), rng.integers(1, 4, n).astype(float)
    p, z, centred, w = preconditioned(x, y, w, fit_intercept=fit_intercept)
    np.testing.assert_allclose(w @ z**2 / w.sum(), 1.0, rtol=1e-8)
    beta = rng.standard_normal((p.rank, 1))
    b, a = p.unscale(beta, np.array([0.5]))
    size = 1 + np.abs(x) @ np.abs(b) + np.abs(a)
    left, right = x @ b + a, z @ beta + 0.5 + p.y_center
    assert (np.abs(left - right) <= 1e-11 * size).all()
    np.testing.assert_allclose(centred[:, 0], y - p.y_center[0])


def test_later_combinations_are_named_and_coefficients_are_the_shortest():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 3))
    x = np.column_stack([x[:, 0], x[:, 1], x[:, 0] - 1e6 * x[:, 1], np.full(50, 7.0), x[:, 2]])
    p, z, _, _ = preconditioned(x, rng.standard_normal(50))
    assert p.dependent == ("x2", "x3")
    assert p.rank == 3
    b = p.unscale(rng.standard_normal((3, 1)), np.zeros(1))[0][:, 0]
    # the shortest coefficients lie in the span of the rows
    centred = x - x.mean(axis=0)
    np.testing.assert_allclose(b @ [1, -1e6, -1, 0, 0], 0.0, atol=1e-6 * np.abs(b).max() * 1e6)
    assert b[3] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose((centred @ b).std(), (z @ np.linalg.lstsq(z, centred @ b)[0]).std())


def test_nearly_dependent_columns_are_turned_apart():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 2))
    x = np.column_stack([x, x[:, 0] + 1e-9 * rng.standard_normal(100)])
    p, z, _, _ = preconditioned(x, rng.standard_normal(100))
    assert p.rank == 3
    assert p.dependent == ()
    assert np.linalg.cond(z) < 1 + 1e-5


def test_moments_by_class_merge_and_match_each_class():
    rng = np.random.default_rng(1)
    x, kind, w = rng.standard_normal((40, 2)), rng.integers(0, 3, 40), rng.uniform(0.5, 2, 40)
    terms = [Term("kind", str(k)) for k in range(3)]
    rows = ArrayRows(x, np.eye(3)[kind], w, targets=terms)
    total = rows.take(slice(0, 11)).reduce(MomentsByClass()) + rows.take(slice(11, 40)).reduce(
        MomentsByClass()
    )
    for k, term in enumerate(terms):
        alone = ArrayRows(x[kind == k], None, w[kind == k]).reduce(Moments())
        np.testing.assert_allclose(total.parts[term].mean, alone.mean)
        np.testing.assert_allclose(total.parts[term].scatter, alone.scatter)


def test_mapped_targets_of_moments_are_the_moments_of_mapped_rows():
    rng = np.random.default_rng(2)
    rows = ArrayRows(rng.standard_normal((30, 2)), rng.standard_normal((30, 3)))
    through = TargetMap(rng.standard_normal((3, 2)), Terms((Term("u"), Term("v"))))
    direct = MappedRows(rows, through, chunk_rows=7).reduce(Moments())
    mapped = through.moments(rows.reduce(Moments()))
    np.testing.assert_allclose(mapped.mean, direct.mean, atol=1e-14)
    np.testing.assert_allclose(mapped.scatter, direct.scatter, atol=1e-12)
    assert [b.n for b in MappedRows(rows, through, chunk_rows=7).blocks()] == [7, 7, 7, 7, 2]


def test_extremes_leave_out_rows_without_weight():
    x = np.array([[1.0, 5.0], [9.0, -4.0], [3.0, 2.0]])
    extremes = ArrayRows(x, None, np.array([1.0, 0.0, 2.0])).reduce(Extremes())
    np.testing.assert_array_equal(extremes.low, [1.0, 2.0])
    np.testing.assert_array_equal(extremes.high, [3.0, 5.0])
