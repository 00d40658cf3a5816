"""Bias and variance of classifiers, against their definitions by counting."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

import separatrix as sx


def truth(x: np.ndarray) -> np.ndarray:
    p = 1 / (1 + np.exp(-5 * np.sin(6 * x[:, 0])))
    return np.column_stack([1 - p, 0.7 * p, 0.3 * p])


@pytest.mark.parametrize("model", [sx.NearestMean(), sx.KNeighborsClassifier(3)])
def test_zero_one_loss_by_counting(model) -> None:
    found = sx.class_bias_variance(model, truth, 40, 60, random_state=3)
    rng, at = np.random.default_rng(3), (np.arange(100) + 0.5)[:, None] / 100
    answers = []
    for _ in range(60):
        x = rng.uniform(0, 1, (40, 1))
        u = rng.random((40, 1))
        y = (u > np.cumsum(truth(x), axis=1)[:, :-1]).sum(axis=1)
        answers.append(model.fit(x, y).predict(at))
    bias = variance = error = 0.0
    for j, p in enumerate(truth(at)):
        votes = np.bincount([a[j] for a in answers], minlength=3) / 60
        main, best = votes.argmax(), p.argmax()
        bias += (main != best) / 100
        variance += (1 - votes[best] if main == best else -votes[best]) / 100
        error += sum(votes[c] * (1 - p[c]) for c in range(3)) / 100
    assert np.allclose([found.bias, found.variance, found.error], [bias, variance, error])
    assert found.bias_interval[0] <= found.bias <= found.bias_interval[1]
    assert "0/1 loss: bias" in str(found)


def test_log_loss_adds_up_and_the_noise_is_the_entropy() -> None:
    found = sx.class_bias_variance(sx.NaiveBayes(), truth, 50, 40, loss="log_loss")
    at = (np.arange(100) + 0.5)[:, None] / 100
    p, rng, losses = truth(at), np.random.default_rng(0), []
    for _ in range(40):
        x = rng.uniform(0, 1, (50, 1))
        y = (rng.random((50, 1)) > np.cumsum(truth(x), axis=1)[:, :-1]).sum(axis=1)
        q = sx.NaiveBayes().fit(x, y).predict_proba(at)
        losses.append(-(p * np.log(np.maximum(q, 1e-15))).sum(axis=1).mean())
    assert np.isclose(found.error, np.mean(losses))
    assert np.isclose(found.noise, -(p * np.log(p)).sum(axis=1).mean())
    assert found.bias > 0
    assert found.variance > 0
    low, high = found.error_interval
    half = 2.02 * np.std(losses, ddof=1) / np.sqrt(40)
    assert np.allclose([low, high], [found.error - half, found.error + half], rtol=1e-2)


class Fixed(ClassifierMixin, BaseEstimator):
    """Always the same class."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_a_constant_has_no_variance_and_a_sure_truth_no_noise() -> None:
    def sure(x: np.ndarray) -> np.ndarray:
        return np.eye(2)[(x[:, 0] > 0.25).astype(int)]

    found = sx.class_bias_variance(Fixed(), sure, 30, 20)
    assert (found.bias, found.variance, found.noise) == (0.75, 0.0, 0.0)
    near = sx.class_bias_variance(sx.KNeighborsClassifier(1), sure, 200, 20)
    assert near.error < 0.02


@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
def test_the_bootstrap_on_a_table(loss: str) -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    noisy = X + np.random.default_rng(0).normal(size=X.shape)
    model = sx.GaussianNB()
    found = sx.bootstrap_class_bias_variance(model, noisy, names, 40, loss=loss)
    rng, total, count = np.random.default_rng(0), np.zeros(150), np.zeros(150)
    for _ in range(40):
        rows = rng.integers(0, 150, 150)
        out = np.setdiff1d(np.arange(150), rows)
        q = model.fit(noisy[rows], names[rows]).predict_proba(noisy[out])
        wrong = model.predict(noisy[out]) != names[out]
        own = q[np.arange(len(out)), y[out]]
        total[out] += wrong if loss == "zero_one" else -np.log(own)
        count[out] += 1
    assert np.isclose(found.error, np.mean(total / count))
    assert np.isnan(found.noise)
    assert found.n_points == 150
    steady = sx.bootstrap_class_bias_variance(
        sx.KNeighborsClassifier(1, smoothing=1.0), noisy, names, 40, loss=loss
    )
    assert steady.variance > found.variance


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(sx.InputError, match="add up to 1"):
        sx.class_bias_variance(sx.NearestMean(), lambda x: x)
    with pytest.raises(sx.InputError, match="loss='hinge'"):
        sx.class_bias_variance(sx.NearestMean(), truth, loss="hinge")
    with pytest.raises(sx.InputError, match="three rows"):
        sx.bootstrap_class_bias_variance(sx.NearestMean(), [[0.0]], [1])
