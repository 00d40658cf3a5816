"""Averages by evidence: weights by the formula, mixtures by their moments and quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import separatrix as sx
from separatrix.bayes.averaging import evidence_weights

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = X[:, 0] + 0.3 * X[:, 1] + RNG.standard_normal(40)
MODELS = [
    sx.BayesianLinearRegression(1.0, 1.0),
    sx.BayesianLinearRegression(4.0, 1.0),
    sx.BayesianLinearRegression(1.0, 2.0),
]


def test_weights_are_posterior_probabilities_of_the_models() -> None:
    prior = np.array([1.0, 2.0, 3.0])
    model = sx.EvidenceAveraging(MODELS, prior).fit(X, Y)
    evidence = np.exp([m.log_evidence_ for m in model.estimators_])
    assert_allclose(model.weights_, prior * evidence / (prior @ evidence), rtol=1e-9)
    assert_allclose(model.weights_.sum(), 1.0, rtol=1e-15)
    assert_allclose(model.log_evidence_, np.log(prior @ evidence / 6.0))
    assert_allclose(model.score(X, Y), 1 - np.mean((Y - model.predict(X)) ** 2) / Y.var())


def test_evidences_far_apart_do_not_overflow() -> None:
    assert_allclose(evidence_weights([-1e6, -1e6 + np.log(3.0), -2e6]), [0.25, 0.75, 0.0])
    assert_allclose(evidence_weights([5.0, 1.0], [0.0, 1.0]), [0.0, 1.0])
    for bad in ([1.0], [-1.0, 2.0], [0.0, 0.0]):
        with pytest.raises(sx.InputError, match="prior_weights"):
            evidence_weights([1.0, 2.0], bad)
    with pytest.raises(sx.InputError, match="finite"):
        evidence_weights([1.0, np.nan])


def test_the_mixture_has_the_moments_and_quantiles_of_its_parts(rng: np.random.Generator) -> None:
    model = sx.EvidenceAveraging(MODELS).fit(X, Y)
    new = rng.standard_normal((4, 3)) * 3.0
    parts = [m.predictive(new) for m in model.estimators_]
    w = model.weights_
    mean = sum(a * p.mean for a, p in zip(w, parts, strict=True))
    square = sum(a * (p.mean**2 + p.scale**2) for a, p in zip(w, parts, strict=True))
    found, std = model.predict(new, return_std=True)
    assert_allclose(found, mean)
    assert_allclose(std, np.sqrt(square - mean**2))
    assert_allclose(model.predict(new), mean)
    low, high = model.predict_interval(new, level=0.8).T
    for end, probability in ((low, 0.1), (high, 0.9)):
        below = sum(a * stats.norm(p.mean, p.scale).cdf(end) for a, p in zip(w, parts, strict=True))
        assert_allclose(below, probability, atol=1e-12)


def test_models_that_are_fitted_already_and_moments() -> None:
    whole = sx.EvidenceAveraging(MODELS).fit(X, Y)
    again = sx.EvidenceAveraging(MODELS).from_fitted(whole.estimators_)
    moments = sx.EvidenceAveraging(MODELS).fit(sx.scan(X, Y).reduce(sx.Moments()))
    for other in (again, moments):
        assert_allclose(other.weights_, whole.weights_, rtol=1e-9)
        assert_allclose(other.predict(X), whole.predict(X))


def test_probabilities_of_classifiers_are_averaged() -> None:
    y = np.where(Y > 0, "yes", "no")
    models = [sx.BayesianLogisticRegression(prior_scale=s) for s in (0.3, 1.0, 3.0)]
    model = sx.EvidenceAveraging(models).fit(X, y)
    parts = [m.predict_proba(X) for m in model.estimators_]
    average = np.tensordot(model.weights_, parts, axes=1)
    assert_allclose(model.predict_proba(X), average)
    assert_allclose(average.sum(axis=1), 1.0)
    assert (model.predict(X) == model.classes_[average.argmax(axis=1)]).all()
    assert not hasattr(model, "predictive")


def test_models_without_evidence_are_refused() -> None:
    with pytest.raises(sx.InputError, match="no evidence"):
        sx.EvidenceAveraging([sx.LinearRegression()]).fit(X, Y)
    with pytest.raises(sx.InputError, match="not a list"):
        sx.EvidenceAveraging([]).fit(X, Y)


def test_evidences_that_are_not_comparable_are_refused() -> None:
    ridge = sx.BayesianRidge().fit(X, Y)
    process = sx.GaussianProcessRegressor(sx.Linear() + sx.White(1.0), optimizer=None)
    average = sx.EvidenceAveraging([ridge, process])
    for normalize_y in (False, True):  # units of its own within the process do not matter
        process.set_params(normalize_y=normalize_y).fit(X, Y)
        weights = average.from_fitted([ridge, process]).weights_
        assert_allclose(weights.sum(), 1.0, rtol=1e-15)
    for rows, target in ((slice(30), Y[:30]), (slice(40), Y + 1.0)):
        with pytest.raises(sx.InputError, match="other rows or another target"):
            average.from_fitted([ridge, process.fit(X[rows], target)])
    labels = sx.BayesianLogisticRegression(prior_scale=1.0).fit(X, Y > 0)
    with pytest.raises(sx.InputError, match="different targets"):
        average.from_fitted([ridge, labels])
    with pytest.raises(sx.InputError, match="numbers of columns"):
        average.from_fitted([ridge, sx.BayesianRidge().fit(X[:, :2], Y)])
    few = sx.GaussianProcessRegressor(
        sx.Gaussian(0.5) + sx.White(1.0), optimizer=None, n_inducing=3
    )
    with pytest.raises(sx.InputError, match=r"between .* only"):
        average.from_fitted([ridge, few.fit(X, Y)])


def test_a_process_of_classes_and_a_logistic_regression_have_weights() -> None:
    process = sx.GaussianProcessClassifier(sx.Linear() + sx.Constant(1.0), optimizer=None)
    model = sx.EvidenceAveraging([sx.BayesianLogisticRegression(prior_scale=1.0), process])
    found = model.fit(X, Y > 0)
    assert_allclose(found.weights_.sum(), 1.0, rtol=1e-15)
    assert_allclose(found.predict_proba(X).sum(axis=1), 1.0)
