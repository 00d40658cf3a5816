"""Newton's method and conjugate gradients with every iterate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

import separatrix as sx

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3))
Y = X @ [1.0, -1.0, 0.5] + RNG.logistic(size=80) > 0.0


def symmetric(eigenvalues: list[float], rng: np.random.Generator) -> np.ndarray:
    q = np.linalg.qr(rng.standard_normal((len(eigenvalues), len(eigenvalues))))[0]
    return q @ np.diag(eigenvalues) @ q.T


def test_a_quadratic_takes_a_step_for_each_distinct_eigenvalue(rng: np.random.Generator) -> None:
    a = symmetric([1.0, 1.0, 1.0, 7.0, 7.0, 30.0], rng)
    a, b = (a + a.T) / 2.0, rng.standard_normal(6)
    bowl = sx.Quadratic(a, b)
    trace = sx.conjugate_gradient(bowl, np.zeros(6))
    assert trace.n_iter == 3
    assert_allclose(trace.x, np.linalg.solve(a, b), rtol=1e-8)
    steps = np.diff(trace.points, axis=0)
    assert abs(steps[0] @ a @ steps[1]) < 1e-9 * np.linalg.norm(steps[0]) * np.linalg.norm(steps[1])
    one = sx.newton(bowl, np.zeros(6))
    assert one.n_iter == 1
    assert_allclose(one.x, trace.x, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_logistic_loss(rng: np.random.Generator, alpha: float) -> None:
    loss = sx.LogisticLoss(X, Y, alpha)
    start = np.zeros(4)
    point = rng.standard_normal(4)
    assert check_grad(loss.value, loss.gradient, point) < 1e-6
    v = rng.standard_normal(4)
    assert_allclose(loss.hessian(point) @ v, loss.hessian_vector(point, v), rtol=1e-12)
    C = np.inf if alpha == 0.0 else 1.0 / (alpha * len(X))
    peer = sx.LogisticRegression(C=C).fit(X, Y)
    for method in (sx.newton, sx.conjugate_gradient):
        trace = method(loss, start)
        assert_allclose(trace.x, np.append(peer.coef_, peer.intercept_), rtol=1e-6)
        assert trace.status == "solved"
        assert trace.certificate.holds
        assert (np.diff(trace.values) <= 1e-15).all()
        assert trace.points.shape == (trace.n_iter + 1, 4)
        assert "max |∇f|" in str(trace)
    sizes = sx.newton(loss, start).gradient_norms
    assert sizes[-1] < 100.0 * sizes[-2] ** 1.5  # faster than linear at the end


def test_without_second_derivatives() -> None:
    class Plain:
        def __init__(self) -> None:
            self.inner = sx.LogisticLoss(X, Y, 0.1)
            self.value, self.gradient = self.inner.value, self.inner.gradient

    trace = sx.conjugate_gradient(Plain(), np.zeros(4), tol=1e-6)
    assert trace.status == "solved"
    assert_allclose(trace.x, sx.newton(sx.LogisticLoss(X, Y, 0.1), np.zeros(4)).x, atol=1e-5)


def test_limits_and_refusals() -> None:
    bowl = sx.Quadratic(np.diag([1.0, 10.0, 100.0]), np.ones(3))
    for method in (sx.conjugate_gradient, lambda *a, **k: sx.newton(*a, **k)):
        short = method(sx.LogisticLoss(X, Y), np.zeros(4), max_iter=1)
        assert short.n_iter == 1
        assert not short.certificate.holds
    assert sx.conjugate_gradient(bowl, [1.0, 0.1, 0.01]).n_iter == 0  # the minimum itself
    with pytest.raises(TypeError, match="hessian"):
        sx.newton(sx.Perceptron(), np.zeros(2))
    with pytest.raises(sx.InputError, match="symmetric"):
        sx.Quadratic([[1.0, 2.0], [0.0, 1.0]], [0.0, 0.0])
    with pytest.raises(sx.InputError, match="two classes"):
        sx.LogisticLoss(X, np.arange(80))


@pytest.mark.parametrize(
    "matrix", [[[1.0, 0.0], [0.0, -1.0]], [[-1, 0], [0, -2]], [[1, 0], [0, 0]]]
)
def test_a_function_without_a_minimum_is_called_one(matrix) -> None:
    function = sx.Quadratic(matrix, [1.0, 1.0])
    trace = sx.conjugate_gradient(function, [0.5, 0.3])
    assert "unbounded" in trace.status
    assert "unbounded" in str(trace.certificate)
    assert not trace.certificate.holds
    falling = sx.conjugate_gradient(_WithoutSecondDerivatives(function), [0.5, 0.3])
    assert "unbounded" in falling.status
    trace = sx.newton(function, [0.5, 0.3])
    assert "unbounded" in trace.status
    assert "negative or zero curvature" in str(trace.certificate)
    assert not trace.certificate.holds


def test_a_loss_that_falls_towards_a_limit_is_not_called_unbounded() -> None:
    trace = sx.newton(sx.LogisticLoss(X[:4], [0, 0, 1, 1]), np.zeros(4), tol=1e-300, max_iter=30)
    assert "unbounded" not in trace.status


class _WithoutSecondDerivatives:
    def __init__(self, function) -> None:
        self.value, self.gradient = function.value, function.gradient
