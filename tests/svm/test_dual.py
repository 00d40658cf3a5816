"""Dual solvers against an independent solver of quadratic programs, and at any size."""

from __future__ import annotations

import numpy as np
import pytest
import quadprog
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from separatrix.kernels import Gaussian, Linear, Polynomial, Precomputed
from separatrix.svm import solver
from separatrix.svm import solver as smo
from separatrix.svm.problem import (
    Budget,
    KernelNorm,
    SolverOptions,
    SVMProblem,
    certify_kernel_svm,
    classification_problem,
    regression_problem,
)
from separatrix.svm.solver import Buffers, DualSolution, GramMatrix, RowCache, solve_dual

KERNELS = [Gaussian(1.5), Linear(), Polynomial(2, 1.0)]


def solved(kernel, x, problem, tol=1e-3, **more) -> DualSolution:
    return solve_dual(GramMatrix(kernel, x), problem, SolverOptions(tol, **more), Budget())


def dual_by_quadprog(gram: np.ndarray, problem: SVMProblem) -> float:
    """The dual value from a solver that knows nothing of ours: β = a − b with a, b ≥ 0.

    It needs a definite Hessian. Proximal steps, each with a ridge about the last solution, end at
    the solution without a ridge; the value is that of the singular problem itself.
    """
    top = np.concatenate([problem.high, -problem.low])
    there = top > 0
    sides = np.hstack([np.eye(problem.n), -np.eye(problem.n)])[:, there]
    m = sides.shape[1]
    unit = min(1.0, top.max())  # its tolerances are absolute
    hessian = unit**2 * (sides.T @ gram @ sides)
    linear = unit * (np.concatenate([problem.t, -problem.t])[there] - problem.epsilon)
    bounds = np.hstack([sides.sum(axis=0)[:, None], np.eye(m), -np.eye(m)])
    right = np.concatenate([np.zeros(m + 1), -top[there] / unit])
    ridge = 1e-6 * np.trace(hessian) / m
    definite, a = hessian + ridge * np.eye(m), np.zeros(m)
    for _ in range(5):
        a = quadprog.solve_qp(definite, linear + ridge * a, bounds, right, meq=1)[0]
    return float(linear @ a - 0.5 * a @ hessian @ a)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(4, 30),
    st.sampled_from([0.01, 1.0, 30.0]),
    st.sampled_from(KERNELS),
    st.booleans(),
    st.integers(0, 10_000),
)
def test_primal_and_dual_meet_where_another_solver_ends(n, C, kernel, regression, seed) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    weight = C * rng.uniform(0.5, 2.0, n)
    if regression:
        problem = regression_problem(np.sin(x[:, 0]) + 0.3 * rng.standard_normal(n), weight, 0.1)
    else:
        y = np.where(x[:, 0] + rng.standard_normal(n) * (seed % 2) > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        problem = classification_problem(y, weight)
    found = solved(kernel, x, problem)
    b = problem.best_intercept(found.beta, found.f)
    proof = certify_kernel_svm(problem, found.beta, found.f, b, tolerance=1e-3)
    other = dual_by_quadprog(kernel.gram(x), problem)
    assert abs(found.beta.sum()) <= 1e-9 * weight.sum()
    assert (found.beta >= problem.low).all()
    assert (found.beta <= problem.high).all()
    size = 1e-3 + proof.primal
    assert proof.gap <= 1e-6 * size
    assert_allclose(proof.dual, other, rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(2, 1.0, 0.2)], ids=str)
def test_working_sets_and_shrinking_end_where_the_whole_matrix_does(kernel, monkeypatch) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((900, 4))
    y = np.where(x[:, 0] * x[:, 1] + 0.5 * rng.standard_normal(900) > 0, 1.0, -1.0)
    problem = classification_problem(y, np.ones(900))
    whole = solved(kernel, x, problem)
    monkeypatch.setattr(solver, "DIRECT", 100)
    monkeypatch.setattr(smo, "FIRST_ROWS", 100)
    blocks = solved(kernel, x, problem, tol=1e-4, cache_size=1.0)
    assert blocks.violation <= 1e-4
    assert_allclose(blocks.f, whole.f, atol=2e-3)
    assert_allclose(blocks.f, GramMatrix(kernel, x).times(blocks.beta), rtol=1e-12)
    fine = solved(kernel, x, problem, tol=1e-9)
    assert fine.violation <= 1e-9
    assert_allclose(fine.f, whole.f, atol=1e-6)


def test_cached_rows_are_the_rows_of_the_gram_matrix() -> None:
    x = np.random.default_rng(5).standard_normal((300, 3))
    points = GramMatrix(Gaussian(1.0), x)
    columns = np.arange(0, 300, 2)
    buffers = Buffers(points, 0.04)  # 70 rows
    rows = RowCache(points, columns, buffers, single=True)
    gram = points.square(columns)
    f, beta = np.zeros(150), np.zeros(150)
    rng = np.random.default_rng(6)
    for _ in range(20):
        moved = np.sort(rng.choice(150, 60, replace=False))
        change = rng.standard_normal(60)
        rows.add_to(f, moved, change)
        beta[moved] += change
    assert len(rows.store) < 150
    assert rows.computed > 150
    assert_allclose(f, gram @ beta, atol=1e-4)
    assert_allclose(rows.square(np.arange(9)), gram[:9, :9], atol=1e-6)


def test_limits_end_the_search_with_its_violation_returned() -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((3000, 5))
    y = np.where(x[:, 0] + rng.standard_normal(3000) > 0, 1.0, -1.0)
    problem = classification_problem(y, np.full(3000, 10.0))
    points = GramMatrix(Gaussian(1.0), x)
    found = solve_dual(points, problem, SolverOptions(), Budget(max_iter=500))
    assert found.violation > 1e-3
    assert_allclose(found.f, points.times(found.beta), rtol=1e-9, atol=1e-9)
    assert_allclose(found.violation, problem.violation(found.beta, found.f))


def test_a_precomputed_gram_matrix_gives_the_same_solution() -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((80, 2))
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    problem = classification_problem(y, np.ones(80))
    by_kernel = solved(Gaussian(1.0), x, problem)
    by_matrix = solved(Precomputed(), Gaussian(1.0).gram(x), problem)
    assert_allclose(by_matrix.beta, by_kernel.beta, atol=1e-9)


def test_the_intercept_has_the_least_primal_value() -> None:
    rng = np.random.default_rng(9)
    for problem in (
        classification_problem(np.where(rng.random(25) > 0.4, 1.0, -1.0), rng.uniform(0.1, 3, 25)),
        regression_problem(rng.standard_normal(25), rng.uniform(0.1, 3, 25), 0.2),
    ):
        beta, f = np.zeros(25), rng.standard_normal(25)

        def loss(b, problem=problem, f=f):
            r = problem.t - f - b
            under, over = np.maximum(r - problem.epsilon, 0), np.maximum(-r - problem.epsilon, 0)
            return problem.high @ under - problem.low @ over

        best = problem.best_intercept(beta, f)
        assert all(loss(best) <= loss(b) + 1e-12 for b in np.linspace(-5, 5, 1001))


def test_the_norm_of_a_function_has_no_excess_at_its_own_gradient() -> None:
    norm, b = KernelNorm(4.0), np.array([1.0, -2.0])
    assert norm.value(b) == 2.0
    assert norm.excess(b, b).sum() == 0.0
    assert norm.excess(b, 2 * b).sum() == np.inf
