"""All pairs of many classes together: the same as pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC as Reference

import separatrix as sx
from separatrix import threads
from separatrix.svm import class_pairs
from separatrix.svm.problem import certify_kernel_svm, classification_problem

K = 12


def rows_of_classes():
    rng = np.random.default_rng(3)
    codes = np.append(np.arange(K), rng.integers(0, K, 348))
    return 1.5 * rng.standard_normal((K, 4))[codes] + rng.standard_normal((360, 4)), codes


X, Y = rows_of_classes()
WEIGHT = np.random.default_rng(4).integers(1, 4, len(Y)).astype(float)


def test_scores_and_votes_are_those_of_the_reference():
    own = sx.SVC(C=2.0, gamma=0.2, tol=1e-5).fit(X, Y, WEIGHT)
    other = Reference(C=2.0, gamma=0.2, tol=1e-5).fit(X, Y, WEIGHT)
    for shape in ("ovo", "ovr"):
        own.set_params(decision_function_shape=shape)
        other.set_params(decision_function_shape=shape)
        gap = own.decision_function(X) - other.decision_function(X)
        assert np.abs(gap).max() < (1e-3 if shape == "ovo" else 1e-2)
    assert (own.predict(X) == other.predict(X)).all()
    assert own.dual_coef_.shape[0] == K - 1
    assert own.certificate_.holds


def test_every_certificate_is_that_of_its_rows():
    model = sx.SVC(C=2.0, gamma=0.2).fit(X, Y, WEIGHT)
    gram = sx.Gaussian(np.sqrt(0.5 / 0.2)).gram(X)
    for svm, (i, _) in zip(model.svms_, combinations(range(K), 2), strict=True):
        problem = classification_problem(np.where(Y[svm.rows] == i, 1.0, -1.0), svm.C)
        f = gram[np.ix_(svm.rows, svm.rows)] @ svm.beta
        b = svm.intercept
        assert abs(b - problem.best_intercept(svm.beta, f)) < 1e-3
        proof = certify_kernel_svm(problem, svm.beta, f, b, tolerance=1e-3)
        names = ("primal", "gap", "kkt", "scale")
        found = [getattr(svm.certificate, name) for name in names]
        sought = [getattr(proof, name) for name in names]
        np.testing.assert_allclose(found, sought, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(svm.slack, problem.slack(f + b), atol=1e-9)
        np.testing.assert_array_equal(svm.C, 2.0 * WEIGHT[svm.rows])


@pytest.mark.parametrize("kind", ["sparse", "precomputed", "threads"])
def test_the_same_for_dense_and_sparse_rows(kind, monkeypatch):
    model = sx.SVC(gamma=0.2).fit(X, Y)
    if kind == "precomputed":
        gram = sx.Gaussian(np.sqrt(0.5 / 0.2)).gram(X)
        scores = sx.SVC(kernel="precomputed").fit(gram, Y).decision_function(gram)
    elif kind == "sparse":
        scores = sx.SVC(gamma=0.2).fit(sparse.csr_array(X), Y).decision_function(X)
    else:
        monkeypatch.setattr(threads, "available_threads", lambda: 16)
        other = sx.SVC(gamma=0.2).fit(X, Y)
        np.testing.assert_array_equal(other.dual_coef_, model.dual_coef_)
        scores = other.decision_function(X)
    np.testing.assert_allclose(scores, model.decision_function(X), atol=2e-3)


def test_pairs_that_single_precision_does_not_solve_are_solved_one_by_one(monkeypatch):
    monkeypatch.setattr(class_pairs, "_ITERATIONS", 0)
    few = Y < 11
    model = sx.SVC(gamma=0.2).fit(X[few], Y[few])
    assert model.certificate_.holds
    assert model.certificate_.kkt < 1e-9


def test_rows_in_pieces_have_the_scores_of_all_rows(monkeypatch):
    model = sx.SVC(gamma=0.2).fit(X, Y)
    whole = model.decision_function(X)
    monkeypatch.setattr("separatrix.svm.class_pairs.ENTRIES", 1)
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-12)
