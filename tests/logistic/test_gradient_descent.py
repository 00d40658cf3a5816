"""Gradient descent with a trace: every step, why it stops, and how failures are reported."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from separatrix.pictures import TrainingTraceDisplay

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 2)) * [1.0, 30.0] + [0.0, 100.0]
Y = np.where(X[:, 0] + (X[:, 1] - 100) / 30 + RNG.logistic(size=200) > 0, "up", "down")
Z = (X - X.mean(axis=0)) / X.std(axis=0)


def test_every_step_follows_the_gradient() -> None:
    model = sx.GradientDescent(learning_rate=0.5, standardize=False, random_state=3).fit(Z, Y)
    t = model.trace_
    assert np.abs(t.coef[0]).max() <= 0.01
    r = (Y == "up").astype(float)
    for i in range(min(20, len(t.objective) - 1)):
        score = Z @ t.coef[i, 0] + t.intercept[i, 0]
        assert_allclose(t.objective[i], np.mean(np.logaddexp(0, score) - r * score))
        assert_allclose(t.misclassified[i], np.mean((score > 0) != (r > 0)))
        residual = expit(score) - r
        assert_allclose(t.coef[i + 1, 0], t.coef[i, 0] - 0.5 * residual @ Z / 200, rtol=1e-10)
        assert_allclose(
            t.intercept[i + 1, 0], t.intercept[i, 0] - 0.5 * residual.mean(), rtol=1e-10
        )


def test_without_patience_it_reaches_the_minimum() -> None:
    model = sx.GradientDescent(patience=None, max_iter=20_000, tol=1e-9).fit(X, Y)
    assert model.trace_.status == "solved"
    assert model.certificate_.holds
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(Z, Y)
    assert_allclose(model.coef_ * X.std(axis=0), peer.coef_, rtol=1e-4)
    assert_allclose(model.predict_proba(X), peer.predict_proba(Z), atol=1e-4)


def test_early_stopping_by_the_error_rate() -> None:
    model = sx.GradientDescent(learning_rate=0.1, patience=30).fit(X, Y)
    t = model.trace_
    assert t.status == "stopped early"
    assert "stopped decreasing" in str(model.certificate_)
    assert "nan" not in str(model.certificate_)
    assert len(t.misclassified) - 1 == t.misclassified.argmin() + 30
    assert (np.diff(t.objective) < 0).all()


def test_squared_error_is_least_squares_in_the_end() -> None:
    model = sx.GradientDescent("squared", patience=None, max_iter=5000, tol=1e-10).fit(X, Y)
    exact = sx.LeastSquaresClassifier().fit(X, Y)
    assert_allclose(2 * model.coef_, exact.coef_, rtol=1e-6)
    assert_allclose(2 * model.intercept_, exact.intercept_, rtol=1e-6)
    assert not hasattr(model, "predict_proba")
    assert (model.predict(X) == exact.predict(X)).all()


def test_more_classes_by_softmax() -> None:
    y = np.digitize(Z[:, 0], [-0.5, 0.5])
    model = sx.GradientDescent(max_iter=3000).fit(X, y)
    assert model.coef_.shape == (3, 2)
    assert model.score(X, y) > 0.95
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_learning_rate_that_is_too_large_is_detected() -> None:
    largest = np.linalg.eigvalsh(
        np.column_stack([np.ones(200), Z]).T @ np.column_stack([np.ones(200), Z]) / 200
    )[-1]
    long = sx.GradientDescent("squared", learning_rate=2.5 / largest)
    with pytest.warns(sx.SeparatrixWarning, match=r"SEP003.*smaller"):
        long.fit(X, Y)
    assert long.trace_.status == "diverged"
    assert not long.certificate_.holds
    assert np.isfinite(long.coef_).all()
    assert np.isfinite(long.trace_.objective[-1])
    edge = sx.GradientDescent("squared", learning_rate=2.0 / largest, patience=None)
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        edge.fit(X, Y)
    assert edge.trace_.status == "oscillating"


def test_raw_units_are_ill_conditioned() -> None:
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        raw = sx.GradientDescent(standardize=False, patience=None).fit(X, Y)
    assert raw.trace_.status == "limit reached"
    assert not raw.certificate_.holds
    standardized = sx.GradientDescent(patience=None).fit(X, Y)
    assert standardized.trace_.objective[-1] < raw.trace_.objective[-1] - 0.01


def test_display_describes_the_trace() -> None:
    model = sx.GradientDescent(learning_rate=0.1).fit(X, Y)
    display = TrainingTraceDisplay.from_estimator(model)
    assert f"{len(model.trace_.objective) - 1} steps" in display.description
    assert "stopped falling" in display.description
    assert "<svg" in display.to_svg()


@pytest.mark.parametrize(
    "bad", [{"loss": "hinge"}, {"learning_rate": 0.0}, {"max_iter": 0}, {"patience": -1}]
)
def test_refusals(bad) -> None:
    with pytest.raises(sx.InputError):
        sx.GradientDescent(**bad).fit(X, Y)


@pytest.mark.parametrize("patience", [50, None])
def test_a_loss_that_rose_is_not_settled(patience):
    x, y = [[0.0], [1.0], [2.0], [3.0], [2.5]], list("aabba")
    model = sx.GradientDescent(learning_rate=1000.0, patience=patience)
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        model.fit(x, y)
    trace = model.trace_
    assert trace.objective[-1] > trace.objective[0]
    assert trace.status == "diverged"
    assert not model.certificate_.holds
    lowest = int(trace.objective.argmin())
    assert_allclose(model.coef_, trace.coef[lowest])


def test_squared_error_predicts_string_labels():
    x, y = [[0.0], [1.0], [2.0], [3.0]], list("aabb")
    model = sx.GradientDescent("squared").fit(x, y)
    assert model.predict(x).tolist() == y
    assert model.score(x, y) == 1.0
