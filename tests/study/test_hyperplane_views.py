"""Least-squares, Gaussian and logistic views of a hyperplane, against closed forms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import separatrix as sx

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], [60, 140])
X = RNG.standard_normal((200, 3)) @ RNG.standard_normal((3, 3)) + 1.5 * Y[:, None] * [
    1.0,
    0.0,
    -1.0,
]


def closed_forms() -> tuple[np.ndarray, float, float]:
    """Σ⁻¹(μ₁ − μ₀), Δ and the least-squares score halfway between the means, over its spread."""
    means = np.array([X[k == Y].mean(axis=0) for k in (0, 1)])
    within = X - means[Y]
    covariance = within.T @ within / len(X)
    difference = means[1] - means[0]
    w = np.linalg.solve(covariance, difference)
    delta = np.sqrt(difference @ w)
    p = Y.mean()
    factor = 2.0 * p * (1.0 - p) / (1.0 + p * (1.0 - p) * delta**2)  # least squares on ±1
    halfway = (2.0 * p - 1.0) + (0.5 - p) * factor * delta**2
    return w, delta, halfway / (factor * delta)


def test_closed_forms() -> None:
    views = sx.hyperplane_views(X, Y)
    w, delta, least_squares = closed_forms()
    for plane in views.hyperplanes[:2]:
        assert_allclose(plane.coef[0] / plane.coef[0, 0], w / w[0], rtol=1e-9)
    assert views.angles[0, 1] < 1e-6
    assert_allclose(views.offsets[0], least_squares, rtol=1e-9)
    prior = np.log(Y.mean() / (1.0 - Y.mean()))
    assert_allclose(views.offsets[1], prior / delta, rtol=1e-9)
    assert 0.0 < views.angles[0, 2] < 10.0
    assert_allclose(views.angles, views.angles.T, atol=1e-9)
    assert_allclose(np.diag(views.angles), 0.0, atol=1e-9)


def test_units_change_nothing() -> None:
    plain = sx.hyperplane_views(X, Y)
    moved = sx.hyperplane_views(X @ np.diag([1e8, 1.0, 1e-8]) + np.array([1e8, 0.0, 3.0]), Y)
    assert_allclose(moved.angles, plain.angles, atol=1e-4)
    assert_allclose(moved.offsets, plain.offsets, atol=1e-6)
    assert_allclose(moved.errors, plain.errors)


def test_weights_and_tables(rng: np.random.Generator) -> None:
    w = rng.integers(0, 3, 200)
    weighted = sx.hyperplane_views(X, Y, w)
    repeated = sx.hyperplane_views(np.repeat(X, w, axis=0), np.repeat(Y, w))
    assert_allclose(weighted.offsets, repeated.offsets, rtol=1e-6)
    assert_allclose(weighted.errors, repeated.errors)
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(Y == 1, "y", "n"))
    table = sx.hyperplane_views(sx.scan(frame, target="kind"))
    assert table.hyperplanes[0].names == ("a", "b", "c")
    assert_allclose(table.offsets, sx.hyperplane_views(X, Y).offsets, rtol=1e-9)
    assert "logistic" in str(table)
    assert "positive for y" in str(table)


def test_separable_and_several_classes() -> None:
    with pytest.warns(sx.SeparatrixWarning, match="SEP006"):
        views = sx.hyperplane_views([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert views.separable
    assert "no finite estimate" in str(views)
    with pytest.raises(sx.InputError, match="two classes"):
        sx.hyperplane_views(X, np.arange(200) % 3)
