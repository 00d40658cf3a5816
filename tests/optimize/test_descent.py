"""Gradient descent, conjugate gradients and Newton on problems with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.optimize.descent import gradient_descent
from separatrix.optimize.newton import newton


class Bowl:
    """½ xᵀ A x − c·x, minimum at A⁻¹c."""

    def __init__(self, curvatures, c):
        self.a, self.c = np.diag(np.asarray(curvatures, float)), np.asarray(c, float)

    def value(self, x):
        return 0.5 * x @ self.a @ x - self.c @ x

    def gradient(self, x):
        return self.a @ x - self.c

    def hessian(self, x):
        return self.a

    def hessian_vector(self, x, v):
        return self.a @ v


class Valley:
    """Rosenbrock's banana: minimum 0 at (1, 1), curvature indefinite on the way."""

    def value(self, x):
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    def gradient(self, x):
        e = x[1] - x[0] ** 2
        return np.array([-400 * x[0] * e - 2 * (1 - x[0]), 200 * e])

    def hessian(self, x):
        return np.array([[1200 * x[0] ** 2 - 400 * x[1] + 2, -400 * x[0]], [-400 * x[0], 200.0]])


BOWL = Bowl([1.0, 4.0, 10.0], [1.0, -2.0, 3.0])
ANSWER = np.array([1.0, -0.5, 0.3])


class TestGradientDescent:
    def test_default_step_finds_the_minimum_and_always_decreases(self):
        found = gradient_descent(BOWL, np.zeros(3), tol=1e-10)
        assert found.status == "solved"
        assert found.certificate.holds
        np.testing.assert_allclose(found.coef[:, 0], ANSWER, atol=1e-9)
        assert (np.diff(found.history) <= 1e-15).all()
        assert len(found.history) == found.iterations + 1

    def test_default_step_is_one_over_the_largest_eigenvalue(self):
        found = gradient_descent(BOWL, np.zeros(3))
        assert found.step == pytest.approx(0.1, rel=0.02)

    def test_a_given_lipschitz_constant_is_used(self):
        BOWL_L = Bowl([1.0, 4.0, 10.0], [1.0, -2.0, 3.0])
        BOWL_L.lipschitz = lambda: 20.0
        assert gradient_descent(BOWL_L, np.zeros(3)).step == 0.05

    def test_step_above_two_over_the_eigenvalue_diverges_and_is_reported(self):
        found = gradient_descent(BOWL, np.zeros(3), step=0.21, max_iter=5000)
        assert found.status == "diverged"
        assert not found.certificate.holds
        assert "smaller" in str(found.certificate)

    def test_step_of_two_over_the_eigenvalue_oscillates(self):
        found = gradient_descent(BOWL, np.zeros(3), step=0.2, max_iter=5000)
        assert found.status == "oscillating"
        assert found.iterations < 5000

    def test_overshooting_but_converging_is_solved_with_a_note(self):
        found = gradient_descent(Bowl([10.0], [3.0]), np.zeros(1), step=0.19)
        assert found.status == "solved"
        assert found.reversals == found.iterations
        assert "reversed the one before" in str(found.certificate)

    def test_limit(self):
        found = gradient_descent(BOWL, np.zeros(3), step=1e-4, max_iter=7)
        assert (found.status, found.iterations) == ("limit reached", 7)
        assert not found.certificate.holds

    def test_start_at_the_minimum(self):
        assert gradient_descent(Bowl([1.0], [0.0]), np.zeros(1)).iterations == 0

    def test_what_is_missing_is_named(self):
        class Flat:
            def value(self, x):
                return 0.0

        with pytest.raises(TypeError, match=r"gradient\(x\)"):
            gradient_descent(Flat(), np.zeros(1))

        class Sloped(Flat):
            def gradient(self, x):
                return x

        with pytest.raises(TypeError, match="hessian_vector"):
            gradient_descent(Sloped(), np.ones(1))


class TestNewton:
    def test_quadratic_in_one_step(self):
        found = newton(BOWL, np.full(3, 100.0))
        assert found.iterations == 1
        np.testing.assert_allclose(found.coef[:, 0], ANSWER, rtol=1e-12)

    def test_rosenbrock_by_damped_steps_that_always_decrease(self):
        found = newton(Valley(), np.array([-1.2, 1.0]))
        assert found.status == "solved"
        np.testing.assert_allclose(found.coef[:, 0], 1.0, rtol=1e-9)
        assert (np.diff(found.history) <= 0).all()
        assert found.iterations < 40

    def test_singular_hessian(self):
        found = newton(Bowl([2.0, 0.0], [1.0, 0.0]), np.zeros(2))
        np.testing.assert_allclose(found.coef[:, 0], [0.5, 0.0], atol=1e-9)

    def test_an_active_lower_bound(self):
        bowl = Bowl([1.0, 1.0], [-3.0, 2.0])
        bowl.lower = lambda x: np.array([0.5, -np.inf])
        found = newton(bowl, np.array([4.0, 4.0]))
        assert found.status == "solved"
        np.testing.assert_allclose(found.coef[:, 0], [0.5, 2.0], rtol=1e-12)

    def test_missing_hessian_is_named(self):
        bowl = Bowl([1.0], [0.0])
        with pytest.raises(TypeError, match=r"hessian\(x\)"):
            newton(
                type("NoHessian", (), {"value": bowl.value, "gradient": bowl.gradient})(),
                np.ones(1),
            )
