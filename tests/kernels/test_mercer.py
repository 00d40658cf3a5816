from __future__ import annotations

import warnings

import numpy as np
import pytest

import separatrix as sx
from separatrix.kernels.mercer import lowest_eigenvalue, warn_if_indefinite


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((50, 3))


def test_a_gram_matrix_of_inner_products_is_mercer(x) -> None:
    assert sx.is_mercer(x @ x.T)  # of rank 3: 47 eigenvalues are zero up to rounding
    assert sx.is_mercer((x @ x.T).astype(np.float32))
    assert sx.is_mercer(1e-12 * x @ x.T)
    assert sx.is_mercer(np.empty((0, 0)))
    assert sx.is_mercer([[0.0]])


def test_what_is_not_mercer(x) -> None:
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


def test_large_matrices_are_judged_in_time() -> None:
    x = np.random.default_rng(3).standard_normal((1200, 2))
    flat = sx.Gaussian(2.0).gram(x)  # nearly all eigenvalues are zero up to rounding
    assert sx.is_mercer(flat)
    assert lowest_eigenvalue(flat) == 0.0
    assert not sx.is_mercer(flat - 1e-3 * np.eye(1200))
    assert lowest_eigenvalue(flat - 1e-3 * np.eye(1200)) == pytest.approx(-1e-3, rel=1e-6)


def test_indefinite_kernels_are_doubted_with_their_worst_eigenvalue(x) -> None:
    gram = sx.Sigmoid(1.0, -1.0).gram(x)
    worst = np.linalg.eigvalsh(gram)[0]
    with pytest.warns(sx.SeparatrixWarning, match=f"SEP007.*{worst:.3g}"):
        assert warn_if_indefinite(sx.Sigmoid(1.0, -1.0), gram) == pytest.approx(worst)


def test_no_doubt_without_evidence(x) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warn_if_indefinite(sx.Precomputed(), x @ x.T) == pytest.approx(0.0, abs=1e-10)
        assert warn_if_indefinite(sx.Gaussian(1.0), -np.eye(2)) == 0.0  # Mercer: not looked at
