"""Warm starts along C: each point is the SVM of that C."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm

from separatrix.kernels import Gaussian
from separatrix.svm.problem import classification_problem, regression_problem
from separatrix.svm.tuning import WarmStartedPath


def rows(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 3))
    return x, np.where(x[:, 0] * x[:, 1] + 0.4 * rng.standard_normal(n) > 0, 1.0, -1.0)


def test_every_point_is_the_svm_of_its_C() -> None:
    x, y = rows()
    gram = np.asarray(Gaussian(1.2).gram(x), dtype=float)
    path = WarmStartedPath(gram, classification_problem(y, np.ones(len(y))), tol=1e-6)
    for C in (0.01, 0.3, 1.0, 20.0):
        b = path.solve(C)
        peer = svm.SVC(C=C, gamma=1 / (2 * 1.2**2), tol=1e-8).fit(x, y)
        # where no row is on its margin b is an interval, of which any point is right
        free = (np.abs(path.beta) > 1e-6 * C) & (np.abs(path.beta) < C * (1 - 1e-6))
        apart = gram @ path.beta + b - peer.decision_function(x)
        assert np.ptp(apart) < 1e-4
        assert not free.any() or np.abs(apart).max() < 1e-4
        assert abs(path.beta.sum()) < 1e-9 * C
        assert (np.abs(path.beta) <= C * (1 + 1e-12)).all()


def test_regression() -> None:
    x, _ = rows()
    y = 30.0 * np.sin(x[:, 0])
    gram = np.asarray(Gaussian(1.0).gram(x), dtype=float)
    path = WarmStartedPath(gram, regression_problem(y, np.ones(len(y)), 2.0), tol=1e-6)
    for C in (1.0, 10.0, 50.0):
        b = path.solve(C)
        peer = svm.SVR(C=C, epsilon=2.0, gamma=0.5, tol=1e-7).fit(x, y)
        assert gram @ path.beta + b == pytest.approx(peer.predict(x), abs=1e-3)


def test_weights_multiply_C_and_one_class_alone_has_no_support_vectors() -> None:
    x, y = rows(40)
    gram = np.asarray(Gaussian(1.0).gram(x), dtype=float)
    twice = np.r_[np.arange(40), np.arange(10)]
    w = np.r_[np.full(10, 2.0), np.ones(30)]
    heavy = WarmStartedPath(gram, classification_problem(y, w), tol=1e-8)
    copied = np.ascontiguousarray(gram[np.ix_(twice, twice)])
    repeated = WarmStartedPath(copied, classification_problem(y[twice], np.ones(50)), tol=1e-8)
    b, c = heavy.solve(1.5), repeated.solve(1.5)
    assert gram @ heavy.beta + b == pytest.approx(gram[:, twice] @ repeated.beta + c, abs=1e-6)
    alone = WarmStartedPath(gram, classification_problem(np.ones(40), np.ones(40)))
    assert alone.solve(1.0) > 0
    assert not alone.beta.any()
