"""Prices one after the other: each point is the machine of that price."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm

from separatrix.kernels import Gaussian
from separatrix.svm.dual.problem import classes_problem, tube_problem
from separatrix.svm.dual.warm_starts import WarmStartedPath


def rows(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 3))
    return x, np.where(x[:, 0] * x[:, 1] + 0.4 * rng.standard_normal(n) > 0, 1.0, -1.0)


def test_every_price_is_the_machine_of_that_price() -> None:
    x, y = rows()
    gram = np.asarray(Gaussian(1.2).gram(x), dtype=float)
    walk = WarmStartedPath(gram, classes_problem(y, np.ones(len(y))), tol=1e-6)
    for C in (0.01, 0.3, 1.0, 20.0):
        b = walk.to(C)
        peer = svm.SVC(C=C, gamma=1 / (2 * 1.2**2), tol=1e-8).fit(x, y)
        # where no row is on its margin b is an interval, of which any point is right
        free = (np.abs(walk.beta) > 1e-6 * C) & (np.abs(walk.beta) < C * (1 - 1e-6))
        apart = gram @ walk.beta + b - peer.decision_function(x)
        assert np.ptp(apart) < 1e-4
        assert not free.any() or np.abs(apart).max() < 1e-4
        assert abs(walk.beta.sum()) < 1e-9 * C
        assert (np.abs(walk.beta) <= C * (1 + 1e-12)).all()


def test_numbers_in_a_tube() -> None:
    x, _ = rows()
    y = 30.0 * np.sin(x[:, 0])
    gram = np.asarray(Gaussian(1.0).gram(x), dtype=float)
    walk = WarmStartedPath(gram, tube_problem(y, np.ones(len(y)), 2.0), tol=1e-6)
    for C in (1.0, 10.0, 50.0):
        b = walk.to(C)
        peer = svm.SVR(C=C, epsilon=2.0, gamma=0.5, tol=1e-7).fit(x, y)
        assert gram @ walk.beta + b == pytest.approx(peer.predict(x), abs=1e-3)


def test_weights_are_prices_and_one_side_alone_needs_no_machine() -> None:
    x, y = rows(40)
    gram = np.asarray(Gaussian(1.0).gram(x), dtype=float)
    twice = np.r_[np.arange(40), np.arange(10)]
    w = np.r_[np.full(10, 2.0), np.ones(30)]
    heavy = WarmStartedPath(gram, classes_problem(y, w), tol=1e-8)
    copied = np.ascontiguousarray(gram[np.ix_(twice, twice)])
    repeated = WarmStartedPath(copied, classes_problem(y[twice], np.ones(50)), tol=1e-8)
    b, c = heavy.to(1.5), repeated.to(1.5)
    assert gram @ heavy.beta + b == pytest.approx(gram[:, twice] @ repeated.beta + c, abs=1e-6)
    alone = WarmStartedPath(gram, classes_problem(np.ones(40), np.ones(40)))
    assert alone.to(1.0) > 0
    assert not alone.beta.any()
