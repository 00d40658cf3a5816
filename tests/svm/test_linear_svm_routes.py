"""Linear SVMs of every shape: the ways to solve agree, with each other and with liblinear."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import separatrix as sx
from separatrix import threads
from separatrix.optimize.convex import Status
from separatrix.svm import primal as active_set
from separatrix.svm import solver
from separatrix.svm.linear_dual import SparseDualRows
from separatrix.svm.problem import (
    Budget,
    LinearProblem,
    classification_problem,
    linear_problem,
    regression_problem,
)
from separatrix.threads import thread_limit
from tests.svm.test_linear_svm import hinge_svc, overlapping


def hinge_problem(x, positive, C) -> LinearProblem:
    y = np.where(positive, 1.0, -1.0)
    return linear_problem(classification_problem(y, np.full(len(y), C)), x)


def by_interior_point(problem: LinearProblem) -> float:
    found = active_set.solve_primal(problem, Budget(max_iter=4000))
    return problem.objective(found.w, found.b)


def words(n: int, d: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Counts by Zipf's law, and which of two topics a text has."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, d + 1)
    row, topic = np.repeat(np.arange(n), 30), rng.integers(0, 2, n)
    word = rng.choice(d, size=len(row), p=share / share.sum())
    word = np.where(rng.random(len(row)) < 0.2, (3 * word + topic[row]) % d, word)
    x = sparse.csr_array((np.ones(len(row)), (row, word)), (n, d))
    return x, topic == 1


def test_subsamples_do_not_change_the_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = overlapping(9_000, 5)
    whole = hinge_svc().fit(x, y)
    monkeypatch.setattr(active_set, "WHOLE", 400)
    monkeypatch.setattr(active_set, "BAND", 0.3)  # misclassified rows must be found
    by_parts = hinge_svc().fit(x, y)
    assert_allclose(by_parts.coef_, whole.coef_, rtol=1e-9)
    assert_allclose(by_parts.certificate_.primal, whole.certificate_.primal, rtol=1e-12)
    assert by_parts.certificate_.gap <= 1e-9 * by_parts.certificate_.primal


def test_the_dual_agrees() -> None:
    x, y = overlapping(300, 12)
    problem = hinge_problem(x, y == "yes", 0.1)
    found = solver._solve_by_rows(problem, 1e-10, Budget(max_iter=4000))
    expected = hinge_svc(0.1).fit(x, y)
    assert found.status is Status.SOLVED
    assert_allclose(found.w, expected.coef_[0], atol=1e-7)
    assert_allclose(found.b, expected.intercept_[0], atol=1e-7)


def test_words_that_all_rows_share_are_taken_together_and_columns_keep_their_order() -> None:
    x, topic = words(900, 300)
    rows = SparseDualRows(x, np.ones(300))
    assert 0 < rows.heavy < 300
    v = np.random.default_rng(1).standard_normal(300)
    assert_allclose(rows.times(np.arange(900), v[rows.order]), x @ v)
    problem = hinge_problem(x, topic, 1.0)
    found = solver._solve_by_rows(problem, 1e-7, Budget(max_iter=4000))
    assert found.status is Status.SOLVED
    assert_allclose(problem.objective(found.w, found.b), by_interior_point(problem), rtol=1e-6)


def test_the_dual_of_many_sparse_rows_is_the_same_on_any_number_of_threads() -> None:
    x, topic = words(4_000, 2_000)
    problem = hinge_problem(x, topic, 0.1)
    with thread_limit(1):
        found = solver._solve_by_rows(problem, 1e-5, Budget(max_iter=4000))
    assert found.status is Status.SOLVED
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "available_threads", lambda: 16)
        again = solver._solve_by_rows(problem, 1e-5, Budget(max_iter=4000))
    assert_array_equal(again.w, found.w)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_regression_with_as_many_columns_as_rows(epsilon: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((150, 150))
    y = x[:, 0] + 0.1 * rng.standard_normal(150)
    problem = linear_problem(regression_problem(y, np.ones(150), epsilon), x)
    found = solver._solve_by_rows(problem, 1e-8, Budget(max_iter=4000))
    assert found.status is Status.SOLVED
    assert_allclose(problem.objective(found.w, found.b), by_interior_point(problem), rtol=1e-7)


def test_many_sparse_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x = sparse.random(250, 900, density=0.02, random_state=3, format="csr")
    y = np.asarray(x @ rng.standard_normal(900)) > 0.0
    in_span = hinge_svc(2.0).fit(x, y)
    monkeypatch.setattr(solver, "DIRECT", 10)
    by_epochs = hinge_svc(2.0, tol=1e-9).fit(x, y)
    assert in_span.certificate_.holds
    assert by_epochs.certificate_.holds
    assert_allclose(by_epochs.coef_, in_span.coef_, atol=1e-5)
    dense = hinge_svc(2.0).fit(x.toarray(), y)
    assert_allclose(dense.coef_, in_span.coef_, atol=1e-7)


def test_squared_hinges_of_sparse_rows_are_those_of_dense_ones() -> None:
    x, topic = words(700, 600)
    sparse_fit, dense_fit = (sx.LinearSVC().fit(table, topic) for table in (x, x.toarray()))
    assert sparse_fit.certificate_.holds
    assert_allclose(sparse_fit.certificate_.primal, dense_fit.certificate_.primal, rtol=1e-6)
