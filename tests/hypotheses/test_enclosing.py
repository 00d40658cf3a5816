"""Smallest balls and ellipsoids against a general convex solver, and their support as proof."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.hypotheses.enclosing import enclosing_ball, enclosing_ellipsoid, spanned_ellipsoid

X, Y = load_iris(return_X_y=True)


def points(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d))


def ball_by_solver(x):
    """Center and squared radius by sequential quadratic programming on the dual."""
    squares = (x * x).sum(axis=1)
    found = minimize(
        lambda v: ((v @ x) ** 2).sum() - v @ squares,
        np.full(len(x), 1 / len(x)),
        jac=lambda v: 2 * x @ (v @ x) - squares,
        bounds=[(0, 1)] * len(x),
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 500},
    )
    return found.x @ x, -found.fun


def ellipsoid_by_solver(x):
    """Center and shape: the logarithm of the volume over triangles A and b with ‖A x + b‖ ≤ 1."""
    d = x.shape[1]
    at = np.tril_indices(d)

    def parts(v):
        a = np.zeros((d, d))
        a[at] = v[:-d]
        return a, v[-d:]

    def value(v):
        return -np.log(np.abs(np.diag(parts(v)[0]))).sum()

    def room(v):
        a, b = parts(v)
        return 1 - ((x @ a.T + b) ** 2).sum(axis=1)

    def slopes(v):  # of a quadratic function: exact but for rounding
        steps = 1e-3 * np.eye(len(v))
        return np.stack([(room(v + step) - room(v - step)) / 2e-3 for step in steps], axis=1)

    start = np.eye(d)[at] / (2 * np.abs(x).max() * d)
    found = minimize(
        value,
        np.concatenate([start, np.zeros(d)]),
        jac="3-point",  # derivatives to ten digits: one-sided ones end 1e-7 away
        constraints={"type": "ineq", "fun": room, "jac": slopes},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    a, b = parts(found.x)
    return -np.linalg.solve(a, b), np.linalg.inv(a.T @ a), found.fun


@pytest.mark.parametrize("seed", range(8))
def test_the_ball_is_that_of_a_convex_solver(seed):
    x = points(seed)
    ball = enclosing_ball(x)
    center, squared = ball_by_solver(x)
    assert_allclose(ball.squared_radius, squared, rtol=1e-7)
    assert_allclose(ball.center, center, atol=1e-7 * np.sqrt(squared))


@pytest.mark.parametrize("seed", range(6))
def test_the_ellipsoid_is_that_of_a_convex_solver(seed):
    x = points(seed)
    found = enclosing_ellipsoid(x)
    center, shape, log_volume = ellipsoid_by_solver(x)
    assert_allclose(found.primal, log_volume, atol=1e-7)
    assert_allclose(found.center, center, atol=1e-7 * np.abs(x).max())
    assert_allclose(found.shape, shape, atol=1e-7 * np.abs(shape).max())


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 2), (50, 1), (500, 12), (30, 60), (2000, 4)])
def test_support_points_prove_the_ball(n, d):
    x = np.random.default_rng(n).standard_normal((n, d)) + 1e3
    ball = enclosing_ball(x)
    distances = ((x - ball.center) ** 2).sum(axis=1)
    assert distances.max() == pytest.approx(ball.squared_radius)
    assert_allclose(distances[ball.support], ball.squared_radius, rtol=1e-9)
    assert_allclose(ball.weights @ x[ball.support], ball.center, rtol=1e-13)
    assert (ball.weights > 0).all()
    assert len(ball.support) <= d + 1
    assert ball.gap <= 1e-12 * ball.squared_radius


@pytest.mark.parametrize(("n", "d"), [(2, 1), (4, 3), (500, 8), (2000, 3), (40, 30)])
def test_support_points_prove_the_ellipsoid(n, d):
    x = np.random.default_rng(n).standard_normal((n, d))
    found = enclosing_ellipsoid(x)
    difference = x - found.center
    lengths = np.einsum("ij,ij->i", difference, np.linalg.solve(found.shape, difference.T).T)
    assert lengths.max() == pytest.approx(1, abs=1e-9)
    assert_allclose(lengths[found.support], 1.0, atol=1e-9)
    assert_allclose(found.weights @ x[found.support], found.center, atol=1e-12)
    spread = difference[found.support]
    assert_allclose(d * (spread.T * found.weights) @ spread, found.shape, atol=1e-9)
    assert found.gap <= 1e-9


def test_points_on_a_circle_and_copies_are_normal():
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = np.repeat(np.column_stack([np.cos(angle), np.sin(angle)]), 2, axis=0)
    ball, ellipsoid = enclosing_ball(circle), enclosing_ellipsoid(circle)
    assert_allclose([ball.squared_radius, *ball.center], [1, 0, 0], atol=1e-12)
    assert_allclose(ellipsoid.shape, np.eye(2), atol=1e-9)


def test_flat_points_have_the_ellipsoid_of_their_span():
    rng = np.random.default_rng(0)
    plane, map_ = rng.standard_normal((30, 2)), rng.standard_normal((2, 5))
    flat, within = spanned_ellipsoid(plane @ map_ + 7.0), enclosing_ellipsoid(plane)
    assert flat.rank == 2
    assert_allclose(flat.center, within.center @ map_ + 7.0, atol=1e-9)
    assert_allclose(flat.shape, map_.T @ within.shape @ map_, atol=1e-8)
    model = sx.EllipsoidClassifier(reject=True).fit(
        np.concatenate([plane @ map_, rng.standard_normal((30, 5)) + 20]), [0] * 30 + [1] * 30
    )
    assert "spans 2 of 5" in str(model.certificate_)
    assert model.predict((plane @ map_)[:3]).tolist() == [0, 0, 0]
    assert model.predict((plane @ map_)[:3] + rng.standard_normal(5)).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("make", [sx.BallClassifier, sx.EllipsoidClassifier])
def test_classes_reject_outside_all_and_inside_several(make):
    model = make(reject=True, reject_label=9).fit(X, Y)
    inside = model.counts_
    assert (inside[:, 0] == inside[:, 1]).all()  # each contains its class
    predicted = model.predict(X)
    assert set(predicted) == {0, 1, 2, 9}
    assert (predicted[Y == 0] == 0).sum() > 40
    assert model.predict(X[:1] + 50.0).tolist() == [9]
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert "a =" in make().fit(frame, Y).describe()
    assert model.certificate_.holds


def test_an_affine_map_moves_the_ellipsoid_along():
    rng = np.random.default_rng(3)
    a = rng.standard_normal((4, 4))
    one, other = sx.EllipsoidClassifier().fit(X, Y), sx.EllipsoidClassifier().fit(X @ a + 5, Y)
    assert_allclose(other.decision_function(X @ a + 5), one.decision_function(X), atol=1e-7)
    assert_allclose(other.centers_, one.centers_ @ a + 5, atol=1e-7)
