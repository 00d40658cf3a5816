from __future__ import annotations

import warnings

import numpy as np
import pytest

import separatrix as sx
from separatrix.kernels import Custom
from separatrix.kernels.mercer import check_mercer, lowest_eigenvalue


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((50, 3))


def test_a_gram_matrix_of_inner_products_is_mercer(x) -> None:
    assert sx.is_mercer(x @ x.T)  # of rank 3: 47 eigenvalues are zero up to rounding
    assert sx.is_mercer((x @ x.T).astype(np.float32))
    assert sx.is_mercer(1e-12 * x @ x.T)
    assert sx.is_mercer(np.empty((0, 0)))
    assert sx.is_mercer([[0.0]])


def test_matrices_that_are_not_mercer(x) -> None:
    assert not sx.is_mercer(x @ x.T - 0.01 * np.eye(50))
    assert not sx.is_mercer([[0.0, 1.0], [1.0, 0.0]])
    assert not sx.is_mercer([[1.0, 0.5], [0.4, 1.0]])  # not symmetric
    assert sx.is_mercer(x @ x.T - 0.01 * np.eye(50), tolerance=0.1)
    with pytest.raises(sx.InputError, match="square"):
        sx.is_mercer(np.ones((2, 3)))
    with pytest.raises(sx.InputError, match="finite"):
        sx.is_mercer([[np.nan]])


@pytest.mark.parametrize("n", [30, 700])
def test_the_lowest_eigenvalue(n) -> None:
    rng = np.random.default_rng(1)
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.linspace(-2.5, 10.0, n)
    assert lowest_eigenvalue(q * values @ q.T) == pytest.approx(-2.5, rel=1e-5)


def test_large_matrices() -> None:
    x = np.random.default_rng(3).standard_normal((1200, 2))
    flat = sx.Gaussian(2.0).gram(x)  # nearly all eigenvalues are zero up to rounding
    assert sx.is_mercer(flat)
    assert lowest_eigenvalue(flat) == 0.0
    assert not sx.is_mercer(flat - 1e-3 * np.eye(1200))
    assert lowest_eigenvalue(flat - 1e-3 * np.eye(1200)) == pytest.approx(-1e-3, rel=1e-6)


def test_indefinite_kernels_are_warned_of_with_their_lowest_eigenvalue(x) -> None:
    kernel = sx.Sigmoid(1.0, -1.0)
    lowest = np.linalg.eigvalsh(kernel.gram(x))[0]
    with pytest.warns(sx.SeparatrixWarning, match=f"SEP007.*{lowest:.3g}"):
        assert not check_mercer(kernel, x)
    with pytest.warns(sx.SeparatrixWarning, match=f"SEP007.*{lowest:.3g}"):
        assert not check_mercer(sx.Precomputed(), kernel.gram(x))


def test_no_warning_without_evidence(x) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_mercer(sx.Precomputed(), x @ x.T)
        assert check_mercer(sx.Precomputed() + sx.Precomputed(), x @ x.T)
        assert check_mercer(Custom(lambda a, b: a @ b.T), x)
        assert check_mercer(sx.Gaussian(1.0), np.full((2, 1), np.nan))  # Mercer: not evaluated
        assert check_mercer(sx.Precomputed(), np.empty((0, 0)))


def test_many_rows_are_sampled_evenly() -> None:
    seen = []

    def product(a, b):
        seen.append(a[:, 0])
        return a @ b.T - 10.0

    x = np.arange(5000.0).reshape(-1, 1)
    with pytest.warns(sx.SeparatrixWarning, match="SEP007"):
        assert not check_mercer(Custom(product), x)
    rows = max(seen, key=len)
    assert 400 <= len(rows) < 800
    assert np.ptp(np.diff(rows)) == 0.0
    assert rows[0] == 0.0
    assert rows[-1] >= 4988.0


def test_a_gram_matrix_that_is_not_finite_is_refused() -> None:
    with pytest.raises(sx.InputError, match="NaN"):
        check_mercer(sx.Precomputed(), np.full((3, 3), np.nan))
