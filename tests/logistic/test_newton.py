"""Derivatives of the logistic loss, its certificate, and the proof of separation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, linprog
from scipy.special import log_softmax

from separatrix.logistic.fit import fit_logistic
from separatrix.logistic.problem import LogisticOptions, build_problem, certify_logistic
from separatrix.probability.likelihood import (
    LogisticDesign,
    LogisticGradient,
    LogisticHessian,
    LogisticHessianBlocks,
    LogisticRows,
)
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Term, Terms
from separatrix.statistics.moments import Moments

pytestmark = pytest.mark.filterwarnings("ignore:SEP0")


def rows_of(x, y, classes, w=None):
    hot = (np.asarray(y)[:, None] == np.arange(classes)).astype(float)
    return ArrayRows(np.asarray(x, float), hot, w, targets=terms(classes).items)


def terms(classes):
    return Terms(tuple(Term("y", str(k)) for k in range(classes)))


def loss(point, x, y, w, classes):
    scores = np.column_stack([x, np.ones(len(x))]) @ point
    if classes == 2:
        scores = np.column_stack([np.zeros(len(x)), scores])
    return -np.sum(w * log_softmax(scores, axis=1)[np.arange(len(y)), y])


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_derivatives_are_those_of_the_loss(classes):
    rng = np.random.default_rng(classes)
    x, y, w = rng.normal(size=(40, 3)), rng.integers(0, classes, 40), rng.uniform(0, 2, 40)
    design = LogisticDesign(terms(classes), np.zeros(3), None, True)
    point = rng.normal(size=(4, design.n_scores))
    found = rows_of(x, y, classes, w).reduce(LogisticHessian(design, point))
    assert_allclose(found.value, loss(point, x, y, w, classes), rtol=1e-12)

    def value(flat):
        return loss(flat.reshape(design.n_scores, 4).T, x, y, w, classes)

    def gradient(flat):
        there = LogisticGradient(design, flat.reshape(design.n_scores, 4).T)
        return rows_of(x, y, classes, w).reduce(there).gradient.T.ravel()

    flat = point.T.ravel()
    assert_allclose(found.gradient.T.ravel(), approx_fprime(flat, value, 1e-7), atol=1e-4)
    assert_allclose(found.hessian, approx_fprime(flat, gradient, 1e-7), atol=1e-5)
    blocks = rows_of(x, y, classes, w).reduce(LogisticHessianBlocks(design, point)).blocks
    for k in range(design.n_scores):
        at = slice(4 * k, 4 * k + 4)
        assert_allclose(blocks[k], found.hessian[at, at], rtol=1e-10)


@given(st.integers(0, 1000), st.sampled_from([1.0, 30.0, 1e4]))
@settings(max_examples=40, deadline=None)
def test_value_and_gradient_are_accurate_for_scores_of_any_size(seed, size):
    rng = np.random.default_rng(seed)
    s, own = size * rng.normal(size=(20, 3)), rng.integers(0, 3, 20)
    log_p = log_softmax(s, axis=1)
    design = LogisticDesign(terms(3), np.zeros(3), None, False)
    found = rows_of(s, own, 3).reduce(LogisticGradient(design, np.eye(3)))
    assert_allclose(found.value, -log_p[np.arange(20), own].sum(), rtol=1e-12)
    assert_allclose(found.gradient, s.T @ (np.exp(log_p) - np.eye(3)[own]), atol=1e-9 * size)


def test_derivatives_of_two_halves_add_up():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    design = LogisticDesign(terms(3), x.mean(axis=0), None, True)
    make = LogisticHessian(design, rng.normal(size=(4, 3)))
    whole = rows_of(x, y, 3).reduce(make)
    both = rows_of(x[:20], y[:20], 3).reduce(make) + rows_of(x[20:], y[20:], 3).reduce(make)
    assert_allclose(both.hessian, whole.hessian, rtol=1e-10, atol=1e-12)
    assert_allclose(both.gradient, whole.gradient, rtol=1e-10, atol=1e-12)
    assert both.margin == whole.margin


@pytest.mark.parametrize("score", [1e4, -1e4, 750.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_huge_scores_stay_finite(score, classes):
    design = LogisticDesign(terms(classes), np.zeros(1), None, False)
    point = np.full((1, design.n_scores), score)
    point[:, 1:] = 0.0
    found = rows_of([[1.0], [-1.0]], [0, 1], classes).reduce(LogisticHessian(design, point))
    assert np.isfinite(found.value)
    assert np.isfinite(found.hessian).all()


def separable(x, y, classes) -> bool:
    """By linear programming: is there a direction with no negative margin and some positive?"""
    z = np.column_stack([x, np.ones(len(x))])
    margins = []
    for row, own in zip(z, y, strict=True):
        for other in set(range(classes)) - {own}:
            margin = np.zeros((classes, z.shape[1]))
            margin[own], margin[other] = row, -row
            margins.append(margin.ravel())
    a = np.array(margins)
    best = linprog(-a.sum(axis=0), A_ub=-a, b_ub=np.zeros(len(a)), bounds=(-1, 1))
    return -best.fun > 1e-6


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3), st.integers(6, 24), st.booleans())
def test_separation_is_found_if_and_only_if_linear_programming_finds_it(seed, classes, n, lattice):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, (n, 2)).astype(float) if lattice else rng.normal(size=(n, 2))
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    if seed % 2:
        y = np.where(x[:, 0] > 0, 0, np.maximum(y, 1))
        y[:classes] = np.arange(classes)
    rows = rows_of(x, y, classes)
    found = fit_logistic(LogisticRows.of(rows), terms(classes), LogisticOptions())
    assert (found.separation is not None) == separable(x, y, classes)
    if found.separation is not None:
        scores = x @ found.separation.coef + found.separation.intercept
        scores = np.column_stack([np.zeros(n), scores]) if classes == 2 else scores
        margins = scores[np.arange(n), y][:, None] - scores
        assert margins.min() > -1e-8 * margins.max()
        assert margins.max() > 1e-6
        assert not found.certificate.holds
    else:
        assert found.certificate.holds


def test_dual_value_is_a_bound_even_far_from_the_optimum():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    rows = rows_of(x, y, 3)
    options = LogisticOptions(penalty=0.5)
    moments = rows.reduce(Moments())
    best = fit_logistic(LogisticRows.of(rows), terms(3), options).certificate.primal
    problem = build_problem(rows, moments, terms(3), options)
    start = np.zeros((4, 3))
    start[3] = np.log(np.bincount(y) / 80)
    certificate, _, _ = certify_logistic(problem, start, np.zeros((4, 3)), 2.0)
    assert certificate.dual <= best <= certificate.primal
    assert certificate.gap > 1e-3


def test_a_certificate_that_is_not_a_number_does_not_hold():
    rng = np.random.default_rng(0)
    rows = rows_of(rng.normal(size=(30, 2)), rng.integers(0, 2, 30), 2)
    problem = build_problem(rows, rows.reduce(Moments()), terms(2), LogisticOptions(penalty=1.0))
    none = np.zeros((3, 1))
    lost = certify_logistic(problem, np.full((3, 1), np.nan), none, 1.0, tolerance=1e3)
    assert np.isnan(lost.certificate.primal)
    assert not lost.certificate.holds
    far = certify_logistic(problem, none, none, 1.0, tolerance=1e-8)
    assert np.isfinite(far.certificate.primal)
    assert not far.certificate.holds
