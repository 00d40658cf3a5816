"""Warm starts along C: each point is the SVM of that C."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm

from separatrix.kernels import Gaussian
from separatrix.svm.tuning import (
    Problems,
    SVMFoldPath,
    pair_problems,
    regression_problems,
    rest_problems,
)


def rows(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 3))
    codes = (x[:, 0] * x[:, 1] + 0.4 * rng.standard_normal(n) > 0).astype(np.int64)
    order = np.argsort(codes, kind="stable")
    return x[order], codes[order]


def path(gram: np.ndarray, problems: Problems, tol: float) -> SVMFoldPath:
    """All rows for training, and all of them scored."""
    every = np.arange(len(gram))
    gram = np.asarray(gram, dtype=np.float32)
    return SVMFoldPath(gram, problems.grams(gram), problems, every, every, tol)


@pytest.mark.parametrize("make", [pair_problems, rest_problems])
def test_every_point_is_the_svm_of_its_C(make) -> None:
    x, codes = rows()
    gram = np.asarray(Gaussian(1.2).gram(x), dtype=np.float32)
    along = path(gram, make(codes, 2, np.ones(len(codes))), 1e-6)
    for C in (0.01, 0.3, 1.0, 20.0):
        along.solve(C)
        beta, scores = along.beta, along.scores()[:, 0]
        peer = svm.SVC(C=C, gamma=1 / (2 * 1.2**2), tol=1e-8).fit(x, codes)
        # where no row is on its margin b is an interval, of which any point is right
        free = (np.abs(beta) > 1e-6 * C) & (np.abs(beta) < C * (1 - 1e-6))
        apart = scores - peer.decision_function(x)
        assert np.ptp(apart) < 1e-4
        assert not free.any() or np.abs(apart).max() < 1e-4
        assert abs(beta.sum()) < 1e-9 * C
        assert (np.abs(beta) <= C * (1 + 1e-12)).all()
        assert along.n_support == pytest.approx(len(peer.support_), abs=2)


def test_rows_that_are_not_for_training_have_no_say() -> None:
    x, codes = rows()
    gram = np.asarray(Gaussian(1.2).gram(x), dtype=np.float32)
    train, test = np.flatnonzero(np.arange(90) % 3), np.flatnonzero(np.arange(90) % 3 == 0)
    problems = pair_problems(codes, 2, np.ones(90))
    fold = SVMFoldPath(gram, problems.grams(gram), problems, train, test, 1e-6)
    fold.solve(0.1)
    fold.solve(3.0)
    peer = svm.SVC(C=3.0, gamma=1 / (2 * 1.2**2), tol=1e-8).fit(x[train], codes[train])
    assert fold.scores()[:, 0] == pytest.approx(peer.decision_function(x[test]), abs=1e-4)


def test_every_pair_of_three_classes() -> None:
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(3), [30, 20, 40])
    x = rng.standard_normal((90, 2)) + 1.5 * np.array([[0, 0], [1, 0], [0, 1]])[codes]
    gram = np.asarray(Gaussian(1.0).gram(x), dtype=np.float32)
    train, test = np.flatnonzero(np.arange(90) % 4), np.flatnonzero(np.arange(90) % 4 == 0)
    problems = pair_problems(codes, 3, np.ones(90))
    fold = SVMFoldPath(gram, problems.grams(gram), problems, train, test, 1e-6)
    fold.solve(2.0)
    peer = svm.SVC(C=2.0, gamma=0.5, tol=1e-8, decision_function_shape="ovo")
    theirs = peer.fit(x[train], codes[train]).decision_function(x[test])
    assert fold.scores() == pytest.approx(-theirs, abs=1e-4)
    rest = path(gram, rest_problems(codes, 3, np.ones(90)), 1e-6)
    rest.solve(2.0)
    for k in range(3):
        one = svm.SVC(C=2.0, gamma=0.5, tol=1e-8).fit(x, codes == k)
        assert rest.scores()[:, k] == pytest.approx(one.decision_function(x), abs=1e-4)


def test_regression() -> None:
    x, _ = rows()
    y = 30.0 * np.sin(x[:, 0])
    gram = np.asarray(Gaussian(1.0).gram(x), dtype=np.float32)
    along = path(gram, regression_problems(y, np.ones(len(y)), 2.0), 1e-6)
    for C in (1.0, 10.0, 50.0):
        along.solve(C)
        peer = svm.SVR(C=C, epsilon=2.0, gamma=0.5, tol=1e-7).fit(x, y)
        assert along.scores()[:, 0] == pytest.approx(peer.predict(x), abs=1e-3)


def test_weights_multiply_C_and_one_class_alone_has_no_support_vectors() -> None:
    x, codes = rows(40)
    gram = np.asarray(Gaussian(1.0).gram(x), dtype=np.float32)
    twice = np.sort(np.r_[np.arange(40), np.arange(10)])
    w = np.r_[np.full(10, 2.0), np.ones(30)]
    heavy = path(gram, pair_problems(codes, 2, w), 1e-8)
    copied = np.ascontiguousarray(gram[np.ix_(twice, twice)])
    repeated = path(copied, pair_problems(codes[twice], 2, np.ones(50)), 1e-8)
    heavy.solve(1.5)
    repeated.solve(1.5)
    assert heavy.scores()[twice] == pytest.approx(repeated.scores(), abs=1e-6)
    alone = path(gram, pair_problems(np.ones(40, dtype=np.int64), 2, np.ones(40)), 1e-3)
    alone.solve(1.0)
    assert (alone.scores() > 0).all()
    assert not alone.beta.any()
