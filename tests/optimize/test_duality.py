"""The duality gap of loss x penalty x rows against minima that a general optimizer finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from separatrix.optimize.convex import (
    ElasticNetPenalty,
    EpsilonInsensitive,
    Hinge,
    Loss,
    Squared,
    certify_primal_dual,
    joint_certificate,
)
from separatrix.svm.problem import KernelNorm


def problem(seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 3))
    y = x @ np.array([1.0, -2.0, 0.0]) + rng.normal(size=30)
    return x, y, rng.uniform(0.5, 2.0, 30)


def certificate(loss: Loss, penalty: ElasticNetPenalty, x, y, c, b, u, **more):
    """Residuals without an intercept: σ = −1, so that v = Xᵀ(c u)."""
    z = y - x @ b
    return certify_primal_dual(
        loss, penalty, c, z, u, b, x.T @ (c * u), claim="test", tolerance=1e-9, **more
    )


def test_ridge_at_its_minimum_and_away_from_it():
    x, y, c = problem()
    penalty = ElasticNetPenalty(np.zeros(3), np.full(3, 0.7))
    best = np.linalg.solve(x.T @ (c[:, None] * x) + 0.7 * np.eye(3), x.T @ (c * y))

    def objective(b):
        return 0.5 * float(c @ (y - x @ b) ** 2) + 0.35 * float(b @ b)

    at = certificate(Squared(), penalty, x, y, c, best, y - x @ best)
    assert at.holds
    assert at.primal == pytest.approx(objective(best))
    off = best + 0.1
    away = certificate(Squared(), penalty, x, y, c, off, y - x @ off)
    assert not away.holds
    assert away.gap >= objective(off) - objective(best) > 0
    assert away.dual <= objective(best)


def test_lasso_scales_the_residual_until_it_is_feasible():
    x, y, c = problem(1)
    penalty = ElasticNetPenalty(np.full(3, 5.0), np.zeros(3))
    b = np.array([0.8, -1.7, 0.0])
    found = certificate(Squared(), penalty, x, y, c, b, y - x @ b)
    assert 0.0 < found.gap < found.primal  # at the residual itself the conjugate is infinite


def absolute_minimum(x, y, c):
    """min Σ c|y − xb| as a linear program: y = xb + s − t."""
    n, d = x.shape
    cost = np.concatenate([np.zeros(d), c, c])
    rows = np.column_stack([x, np.eye(n), -np.eye(n)])
    bounds = [(None, None)] * d + [(0, None)] * (2 * n)
    return linprog(cost, A_eq=rows, b_eq=y, bounds=bounds, method="highs")


def test_absolute_error_without_penalty():
    x, y, c = problem(2)
    solved = absolute_minimum(x, y, c)
    b, u = solved.x[:3], solved.eqlin.marginals / c
    none = ElasticNetPenalty(np.zeros(3), np.zeros(3))
    loss = EpsilonInsensitive(0.0)
    found = certificate(loss, none, x, y, c, b, np.clip(u, -1, 1))
    assert found.holds
    assert found.primal == pytest.approx(solved.fun)
    assert not certificate(loss, none, x, y, c, b + 0.01, np.clip(u, -1, 1)).holds
    assert not certificate(loss, none, x, y, c, b, 0.5 * np.sign(y - x @ b)).holds


def test_hinge_with_a_kernel_norm_and_an_intercept():
    """Two points at ±1: w = 1, b = 0, α = ½ each for any C ≥ ½."""
    y, c = np.array([1.0, -1.0]), np.array([2.0, 2.0])
    beta, f = np.array([0.5, -0.5]), np.array([1.0, -1.0])

    def at(f, beta, intercept=0.0):
        u = -beta * y / c
        return certify_primal_dual(
            Hinge(),
            KernelNorm(float(beta @ f)),
            c,
            y * (f + intercept),
            u,
            beta,
            beta,
            claim="test",
            tolerance=1e-9,
            intercept=intercept,
            imbalance=float(c @ (u * y)),
        )

    assert at(f, beta).holds
    assert at(f, beta).primal == pytest.approx(0.5)
    assert at(0.9 * f, 0.9 * beta).gap == pytest.approx(0.5 * 0.81 + 0.4 - (0.9 - 0.5 * 0.81))
    uneven = at(f, np.array([0.6, -0.5]), intercept=0.1)
    assert not uneven.holds
    assert uneven.gap >= 0.1 * 0.1


def test_a_dual_point_outside_its_domain_proves_nothing():
    x, y, c = problem(3)
    none = ElasticNetPenalty(np.zeros(3), np.ones(3))
    found = certificate(EpsilonInsensitive(0.1), none, x, y, c, np.zeros(3), np.full(30, 1.5))
    assert found.gap == np.inf
    assert not found.holds


def test_numbers_that_are_not_finite_do_not_hold():
    x, y, c = problem(4)
    penalty = ElasticNetPenalty(np.zeros(3), np.ones(3))
    b = np.array([np.nan, 0.0, 0.0])
    assert not certificate(Squared(), penalty, x, y, c, b, y - x @ b).holds


def test_joint_certificates_add_up():
    x, y, c = problem(5)
    penalty = ElasticNetPenalty(np.zeros(3), np.ones(3))
    parts = [certificate(Squared(), penalty, x, y, c, b, y - x @ b) for b in np.eye(3)]
    both = joint_certificate(parts)
    assert both.primal == pytest.approx(sum(p.primal for p in parts))
    assert both.gap == pytest.approx(sum(p.gap for p in parts))
    assert both.kkt == max(p.kkt for p in parts)
