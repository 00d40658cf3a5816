"""Pivoted Cholesky on the conditional variance, and the sample that it works on."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.bayes.gaussian_process.inducing import (
    HashedSample,
    choose_points,
    middle_first,
    sample_rows,
)
from separatrix.rows.rows import ArrayRows


def test_every_point_has_the_largest_conditional_variance():
    x = np.random.default_rng(0).normal(size=(40, 2))
    kernel = sx.Gaussian(1.0)
    k, chosen = kernel.gram(x), choose_points(kernel, x, 10)
    for j in range(1, 10):
        z = chosen.rows[:j]
        left = np.diagonal(k - k[:, z] @ np.linalg.solve(k[np.ix_(z, z)], k[z]))
        assert left[chosen.rows[j]] == pytest.approx(left.max(), rel=1e-8)
        assert chosen.left[j - 1] == pytest.approx(left.sum(), rel=1e-8)


def test_points_stop_where_they_span_the_rows():
    x = np.random.default_rng(0).normal(size=(40, 2))
    assert len(choose_points(sx.Linear(), x, 20).rows) == 2
    assert len(choose_points(sx.Gaussian(0.1), np.repeat(x[:5], 3, axis=0), 20).rows) == 5
    assert len(choose_points(sx.Linear(), np.zeros((3, 2)), 2).rows) == 0


def test_order_and_units_do_not_matter():
    x = np.random.default_rng(0).normal(size=(60, 3))
    order = np.random.default_rng(1).permutation(60)
    first = choose_points(sx.Gaussian(1.0), x, 12, middle_first(x))
    other = choose_points(sx.Gaussian(1e8), x[order] * 1e8, 12, middle_first(x[order] * 1e8))
    np.testing.assert_array_equal(order[other.rows], first.rows)


def test_sample_is_of_content_with_weights_of_copies():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    w = rng.integers(0, 3, 300).astype(float)
    copies = rng.permutation(np.repeat(np.arange(300), w.astype(int)))
    weighted = sample_rows(ArrayRows(x, y, w), 50)
    repeated, other = ArrayRows(x[copies], y[copies]), HashedSample(50)
    for piece in range(0, len(copies), 37):
        part = other.fresh()
        part.update(repeated.block.take(slice(piece, piece + 37)))
        other = other + part
    for name in ("x", "y", "w", "weight"):
        np.testing.assert_array_equal(getattr(other, name), getattr(weighted, name))
    assert len(weighted.w) == 50
    assert not weighted.whole
    assert sample_rows(ArrayRows(x, y, w), 400).whole
