"""Radial basis networks against their definition and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans

import separatrix as sx

RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, (80, 2))
Y = np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.1 * RNG.normal(size=80)


def functions(x: np.ndarray, centers: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-((x[:, None] - centers) ** 2).sum(axis=2) / (2.0 * width**2))


def test_numbers_are_ridge_regression_on_gaussian_functions() -> None:
    model = sx.RadialBasisRegressor(9, standardize=False).fit(X, Y)
    z = functions(X, model.centers_, model.width_)
    mean = z.mean(axis=0)
    gram = (z - mean).T @ (z - mean) + model.alpha_ * np.eye(9)
    coef = np.linalg.solve(gram, (z - mean).T @ (Y - Y.mean()))
    assert_allclose(model.predict(X), Y.mean() + (z - mean) @ coef, rtol=1e-6)
    assert model.certificate_.holds


def test_the_error_of_rows_left_out_is_that_of_refits() -> None:
    x, y = X[:25], Y[:25]
    model = sx.RadialBasisRegressor(6, standardize=False).fit(x, y)
    best = int(model.width_scores_.argmax())
    assert model.width_ == model.widths_[best]
    z, errors = functions(x, model.centers_, model.width_), []
    for i in range(25):
        others = np.arange(25) != i
        mean, level = z[others].mean(axis=0), y[others].mean()
        centered = z[others] - mean
        gram = centered.T @ centered + model.alpha_ * np.eye(6)
        coef = np.linalg.solve(gram, centered.T @ (y[others] - level))
        errors.append((y[i] - level - (z[i] - mean) @ coef) ** 2)
    assert_allclose(-model.width_scores_[best], np.mean(errors), rtol=1e-6)


def test_centers_are_a_local_optimum_of_k_means() -> None:
    model = sx.RadialBasisRegressor(5, standardize=False).fit(X, Y)
    again = KMeans(5, init=model.centers_, n_init=1).fit(X)
    assert_allclose(again.cluster_centers_, model.centers_, atol=1e-8)


def test_rings_of_two_classes() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 60)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    x, y = np.vstack([ring, 2.5 * ring]), np.repeat(["in", "out"], 60)
    model = sx.RadialBasisClassifier(14).fit(x, y)
    assert model.score(x, y) == 1.0
    assert model.width_scores_.max() == model.readout_.log_evidence_
    p = model.predict_proba(x)
    assert_allclose(p.sum(axis=1), 1.0)


def test_fewer_distinct_rows_than_centers_are_centers_themselves() -> None:
    x = np.repeat([[0.0], [1.0], [4.0]], 4, axis=0)
    model = sx.RadialBasisRegressor(30, standardize=False).fit(x, np.repeat([1.0, 2.0, 0.0], 4))
    assert_allclose(np.sort(model.centers_[:, 0]), [0.0, 1.0, 4.0])
    one = sx.RadialBasisRegressor(5).fit(np.ones((6, 1)), np.arange(6.0))
    assert_allclose(one.predict([[1.0]]), 2.5)


@pytest.mark.parametrize(
    ("options", "words"), [({"n_centers": 0}, "whole number"), ({"width": -1.0}, "positive")]
)
def test_parameters_are_checked(options: dict, words: str) -> None:
    with pytest.raises(sx.InputError, match=words):
        sx.RadialBasisRegressor(**options).fit(X, Y)
