"""Predictive probabilities against integrals computed otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

import separatrix as sx
from separatrix.bayes.laplace import (
    PROBIT_ERROR,
    QUADRATURE_ERROR,
    class_basis,
    probit_mean,
    sigmoid_mean,
    softmax_mean,
    softmax_probit,
)
from tests.bayes.logistic.data import classes


def test_the_quadrature_of_two_classes_has_its_stated_error() -> None:
    t = np.linspace(-12.0, 12.0, 60_001)
    density = np.exp(-0.5 * t**2)
    density /= density.sum()
    m, s = np.meshgrid([-30.0, -4.0, 0.0, 0.3, 2.0, 9.0], [0.0, 0.2, 0.99, 1.01, 2.0, 8.0, 60.0])
    exact = np.array([expit(a + b * t) @ density for a, b in zip(m.flat, s.flat, strict=True)])
    assert_allclose(sigmoid_mean(m.ravel(), s.ravel() ** 2), exact, atol=QUADRATURE_ERROR)


def test_the_probit_approximation_is_within_its_stated_bound() -> None:
    m, s = np.meshgrid(np.linspace(-300.0, 300.0, 1201), np.geomspace(0.01, 300.0, 60))
    m, v = m.ravel(), s.ravel() ** 2
    error = np.abs(probit_mean(m, v) - sigmoid_mean(m, v)).max()
    assert 0.015 < error < PROBIT_ERROR


@pytest.mark.parametrize(("k", "error"), [(3, 1e-6), (4, 1e-4), (6, 1e-3)])
def test_several_classes_against_their_integral(k: int, error: float) -> None:
    rng, basis = np.random.default_rng(k), class_basis(k)
    a = rng.standard_normal((k - 1, k - 1)) / np.sqrt(k - 1)
    mean, cov = rng.standard_normal((1, k - 1)), (a @ a.T)[None]
    points = rng.standard_normal((200_000, k - 1)) @ a.T
    drawn = softmax((mean + points) @ basis.T, axis=1)
    found = softmax_mean(mean, cov, basis)
    spread = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(found[0] - drawn.mean(axis=0)) < 5.0 * spread + error).all()
    coarse = softmax_mean(mean, cov, basis, coarse=True)
    assert np.abs(found - coarse).max() < error
    assert np.abs(found - softmax_probit(mean, cov, basis)).max() < 0.1


def test_with_two_classes_the_probit_of_several_is_mackays() -> None:
    basis = class_basis(2)
    m, v = np.array([[1.3], [-0.4]]), np.array([[[2.0]], [[0.3]]])
    both = softmax_probit(m, v, basis)
    assert_allclose(both[:, 0], probit_mean(m[:, 0], v[:, 0, 0]), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_means_over_draws_of_the_approximation(n_classes: int) -> None:
    x, y = classes(60, 2, n_classes)
    model = sx.BayesianLogisticRegression().fit(x, y)
    coef, intercept = model.sample_posterior(20_000, random_state=0)
    new = x[:5] * 3.0
    scores = np.einsum("skd,nd->nsk", coef, new) + intercept
    drawn = expit(scores) if n_classes == 2 else softmax(scores, axis=2)
    found = model.predict_proba(new)[:, -drawn.shape[2] :]
    assert_allclose(found, drawn.mean(axis=1), atol=5.0 * 0.5 / np.sqrt(20_000))
    mean, spread = model.decision_function(new, return_std=True)
    assert_allclose(mean.reshape(5, -1), scores.mean(axis=1), atol=0.1 * spread.max())
    assert_allclose(spread.reshape(5, -1), scores.std(axis=1), rtol=0.03)
    assert_allclose(coef.std(axis=0), model.coef_std_, rtol=0.03)
    assert_allclose(intercept.std(axis=0), model.intercept_std_, rtol=0.03)
    assert (model.quadrature_error(new) < 1e-3).all()


def test_far_rows_are_less_certain_than_at_the_maximum() -> None:
    x, y = classes(40, 1, 2)
    model = sx.BayesianLogisticRegression().fit(x, y)
    far = np.array([[100.0]])
    averaged, at_maximum = model.predict_proba(far).max(), expit(abs(model.decision_function(far)))
    assert averaged < at_maximum
    probit = sx.BayesianLogisticRegression(approximation="probit").fit(x, y).predict_proba(far)
    assert abs(probit.max() - averaged) < PROBIT_ERROR
