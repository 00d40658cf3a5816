"""Kernel ridge on a Gram matrix, against the linear systems of the rows that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.kernel_machines.spectrum import decompose, factorize

ALPHAS = np.array([1e-3, 0.1, 5.0])
#: Rows 5 and 6 are copies of one another.
RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 3))
Y = RNG.normal(size=(N, 2)) + 3.0
W = RNG.integers(0, 4, N).astype(float)
X[6], Y[6], W[5:7] = X[5], Y[5], 2.0
K = sx.Laplace(1.5).gram(X)
FOLDS = np.array_split(RNG.permutation(N), 3)
UNITS = np.array([5 if i == 6 else i for i in range(N)])


def refit(alpha: float, offset: bool, without: Any = ()) -> tuple[Any, Any]:
    """The system of every row repeated as often as its weight says, by a general solver."""
    rows = np.repeat(np.arange(N), W.astype(int))
    rows = rows[~np.isin(rows, without)]
    system = np.zeros((len(rows) + 1, len(rows) + 1))
    system[:-1, :-1] = K[np.ix_(rows, rows)] + alpha * np.eye(len(rows))
    system[:-1, -1] = system[-1, :-1] = offset
    system[-1, -1] = not offset
    solution = np.linalg.solve(system, np.vstack([Y[rows], np.zeros(2)]))
    coefs = np.zeros_like(Y)
    np.add.at(coefs, rows, solution[:-1])
    return coefs, solution[-1]


def systems(offset: bool, dtype: Any = float) -> list[tuple[Any, Any]]:
    gram = K.astype(dtype)
    found = [(decompose(gram, W, offset=offset), ALPHAS)]
    for alpha in ALPHAS:
        factor = factorize(gram, float(alpha), W, offset=offset)
        assert factor is not None
        found.append((factor, factor.alphas))
    return found


@pytest.mark.parametrize("offset", [False, True])
def test_solutions_and_degrees_of_freedom(offset: bool) -> None:
    for system, alphas in systems(offset):
        coefs, offsets = system.coefs(Y, alphas)
        fitted, freedom = system.fitted(Y, alphas), system.degrees_of_freedom(alphas)
        for k, alpha in enumerate(alphas):
            a, b = refit(alpha, offset)
            np.testing.assert_allclose(coefs[k], a, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(offsets[k], b, atol=1e-9)
            np.testing.assert_allclose(fitted[k], K @ a + b, atol=1e-9)
            positive = W > 0
            m = K[np.ix_(positive, positive)] + alpha * np.diag(1.0 / W[positive])
            inverse, ones = np.linalg.inv(m), np.ones(positive.sum())
            pull = inverse - offset * np.outer(inverse @ ones, ones @ inverse) / inverse.sum()
            trace = np.trace(np.eye(positive.sum()) - alpha * np.diag(1.0 / W[positive]) @ pull)
            assert freedom[k] == pytest.approx(trace, rel=1e-9)


@pytest.mark.parametrize("offset", [False, True])
def test_rows_left_out_are_predicted_by_the_fit_to_the_others(offset: bool) -> None:
    for system, alphas in systems(offset):
        left, units = system.leave_one_out(Y, alphas), system.leave_one_out(Y, alphas, UNITS)
        folds = system.held_out(Y, alphas, FOLDS)
        for k, alpha in enumerate(alphas):
            for rows in [*([i] for i in range(0, N, 5)), *FOLDS, [5, 6]]:
                a, b = refit(alpha, offset, rows)
                values = K[rows] @ a + b
                found = folds if len(rows) > 2 else units if len(rows) == 2 else left
                np.testing.assert_allclose(found[k][rows], values, atol=1e-9)
            coefs, b = system.without(Y, float(alpha), FOLDS[0])
            expected = refit(alpha, offset, FOLDS[0])
            np.testing.assert_allclose(coefs, expected[0], rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(b, expected[1], atol=1e-9)


def test_single_precision_has_its_digits() -> None:
    double, single = (decompose(K.astype(t), W, offset=True) for t in (np.float64, np.float32))
    for name in ("fitted", "leave_one_out"):
        exact, found = (getattr(system, name)(Y, ALPHAS) for system in (double, single))
        np.testing.assert_allclose(found, exact, atol=2e-3)
        assert found.dtype == np.float64
    large = single.leave_one_out(1e30 * Y, ALPHAS) / 1e30
    np.testing.assert_allclose(large, single.leave_one_out(Y, ALPHAS), rtol=1e-4)


def test_without_penalty_it_is_least_squares() -> None:
    x, y = X[:, :2], Y[:, :1]
    design = np.column_stack([x, np.ones(N)])
    hat = design @ np.linalg.pinv(design)
    system, zero = decompose(x @ x.T, offset=True), np.zeros(1)
    np.testing.assert_allclose(system.fitted(y, zero)[0], hat @ y, atol=1e-12)
    left = y - (y - hat @ y) / (1.0 - np.diag(hat))[:, None]
    np.testing.assert_allclose(system.leave_one_out(y, zero)[0], left, atol=1e-10)
    assert system.degrees_of_freedom(zero)[0] == pytest.approx(3.0)


def test_degenerate_tables() -> None:
    one = np.ones(1)
    nothing = decompose(np.zeros((4, 4)), offset=True)
    np.testing.assert_allclose(nothing.fitted(Y[:4], one)[0], np.tile(Y[:4].mean(axis=0), (4, 1)))
    others = [np.delete(Y[:4], i, axis=0).mean(axis=0) for i in range(4)]
    np.testing.assert_allclose(nothing.leave_one_out(Y[:4], one)[0], others)
    single = decompose(np.ones((1, 1)), offset=True)
    np.testing.assert_allclose(single.fitted(Y[:1], one)[0], Y[:1])
    assert np.isnan(single.leave_one_out(Y[:1], one)).all()
    assert factorize(-np.eye(3), 0.5) is None
