"""Scatter within and between clusters."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx


def test_scatter_decomposition_of_five_points() -> None:
    x = np.array([[0, 3], [3, 3], [3, 0], [-2, -4], [-4, -2]], dtype=float)
    first = sx.scatter_decomposition(x, [0, 0, 1, 1, 1])
    assert_allclose([first.total, *first.within, first.between], [76, 4.5, 34, 37.5])
    second = sx.scatter_decomposition(x, ["a", "a", "a", "b", "b"])
    assert_allclose([second.total, *second.within, second.between], [76, 12, 4, 60])
    assert second.explained == pytest.approx(60 / 76)
    assert str(second).startswith("76 = 12 + 4 + 60")


def test_scatter_decomposition_with_weights_far_from_the_origin() -> None:
    rng = np.random.default_rng(0)
    x, labels, w = rng.standard_normal((50, 3)), rng.integers(0, 4, 50), rng.integers(0, 3, 50)
    a = sx.scatter_decomposition(x + 1e8, labels, sample_weight=w)
    b = sx.scatter_decomposition(np.repeat(x, w, axis=0), np.repeat(labels, w))
    assert_allclose(a.within, b.within, rtol=1e-6)
    assert_allclose(a.total, a.within.sum() + a.between, rtol=1e-9)


def test_scatter_decomposition_refuses_invalid_input() -> None:
    with pytest.raises(sx.InputError, match="do not match"):
        sx.scatter_decomposition(np.ones((3, 2)), [0, 1])
    with pytest.raises(sx.InputError, match="NaN"):
        sx.scatter_decomposition([[np.nan], [1.0]], [0, 1])


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_scatter_matrices_add_up(offset: float) -> None:
    rng = np.random.default_rng(5)
    x, labels, w = rng.standard_normal((40, 3)), rng.integers(0, 3, 40), rng.integers(0, 3, 40)
    parts = sx.scatter_decomposition(x + offset, labels, w)
    inside, between = parts.within_matrices, parts.between_matrix
    repeated = np.repeat(x, w, axis=0)
    expected = (len(repeated) - 1) * np.cov(repeated.T)
    assert_allclose(parts.total_matrix, expected, rtol=1e-6, atol=1e-6)
    assert_allclose(inside.sum(axis=0) + between, expected, rtol=1e-6, atol=1e-6)
    assert_allclose(np.trace(inside, axis1=1, axis2=2), parts.within, rtol=1e-6)
    assert_allclose(np.trace(between), parts.between, rtol=1e-6)
