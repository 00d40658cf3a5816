"""Tuning of covariance shrinkage: losses and out-of-fold predictions against separate fits."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as Peer
from sklearn.model_selection import cross_val_score

import separatrix as sx
from separatrix.messages import InputError
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData


def table(n: int = 240, d: int = 4, k: int = 3, loss: str = "log_loss") -> TuningData:
    rng = np.random.default_rng(n + d)
    y = np.arange(n) % k
    spread = rng.uniform(0.5, 2.0, (k, d))
    x = rng.standard_normal((n, d)) * spread[y] + 0.8 * rng.standard_normal((k, d))[y]
    return TuningData(x, y, np.ones(n), Folds.from_labels(np.arange(n) // k % 4), k, loss)


def model(**options):
    return sx.RegularizedDiscriminantAnalysis(**options)


def tempered(logs, temperature, smoothing):
    p = softmax(logs / temperature, axis=1)
    return (p + smoothing / p.shape[1]) / (1 + smoothing)


@pytest.mark.parametrize("loss", ["error", "log_loss"])
def test_predictions_are_those_of_separate_fits(loss):
    data = table(loss=loss)
    found = model().tune(data)
    at = 0
    for fold, (train, test) in enumerate(data.folds.pairs):
        chosen = found.grid[found.by_fold[fold]]
        separate = sx.GaussianDiscriminant(alpha=chosen["alpha"], beta=chosen["beta"])
        logs = separate.fit(data.x[train], data.y[train]).predict_log_proba(data.x[test])
        expected = tempered(logs, chosen["temperature"], chosen["smoothing"])
        assert np.array_equal(found.rows[at : at + len(test)], test)
        np.testing.assert_allclose(found.predictions[at : at + len(test)], expected, atol=1e-9)
        own = expected[np.arange(len(test)), data.y[test]]
        wrong = (expected.argmax(axis=1) != data.y[test]).mean()
        value = wrong if loss == "error" else -np.log(own).mean()
        assert found.losses[found.by_fold[fold], fold] == pytest.approx(value, rel=1e-7)
        at += len(test)
    assert found.kind == "probabilities"


def test_corners_are_linear_and_quadratic_analysis():
    data = table(loss="error")
    found = model().tune(data)
    errors = {(p["alpha"], p["beta"]): row for p, row in zip(found.grid, found.losses, strict=True)}
    pairs = list(data.folds.pairs)
    theirs = 1.0 - cross_val_score(Peer(), data.x, data.y, cv=pairs)
    np.testing.assert_allclose(errors[0.0, 0.0], theirs, atol=0.02)  # n − 1 instead of n there
    linear = 1.0 - cross_val_score(sx.LinearDiscriminantAnalysis(), data.x, data.y, cv=pairs)
    np.testing.assert_allclose(errors[0.0, 1.0], linear, atol=1e-12)


def test_more_columns_than_rows_are_compared_in_their_span():
    rng = np.random.default_rng(3)
    n, d = 60, 90
    y = np.arange(n) % 2
    x = rng.standard_normal((n, d)) + 0.4 * y[:, None]
    data = TuningData(x, y, np.ones(n), Folds.from_labels(np.arange(n) // 2 % 3), 2)
    found = model().tune(data)
    assert found.parameters["alpha"] > 0.0
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    at = next(i for i, p in enumerate(found.grid) if p["alpha"] == 0.5 and 0 < p["beta"] < 0.5)
    assert (found.grid[at]["temperature"], found.grid[at]["smoothing"]) == (1.0, 0.0)
    alpha, beta = found.grid[at]["alpha"], found.grid[at]["beta"]
    for fold, (train, test) in enumerate(data.folds.pairs):
        parts = [z[train][y[train] == k] for k in range(2)]
        own = [np.cov(part.T, bias=True) for part in parts]
        pooled = sum(len(p) * c for p, c in zip(parts, own, strict=True)) / len(train)
        target = np.trace(pooled) / d * np.eye(d)
        scores = []
        for part, each in zip(parts, own, strict=True):
            sigma = alpha * target + beta * pooled + (1 - alpha - beta) * each
            r = z[test] - part.mean(axis=0)
            form = np.einsum("ij,ij->i", r @ np.linalg.inv(sigma), r)
            scores.append(-0.5 * (form + np.linalg.slogdet(sigma)[1]) + np.log(len(part)))
        scores = np.array(scores).T
        loss = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(test)), y[test]]
        assert found.losses[at, fold] == pytest.approx(loss.mean(), rel=1e-6)


def test_weights_are_repeated_rows():
    data = table(n=120)
    w = np.where(np.arange(data.n) % 5 == 0, 3.0, 1.0)
    again = np.repeat(np.arange(data.n), w.astype(int))
    folds = Folds.from_labels(data.folds.labels[again])
    repeated = TuningData(data.x[again], data.y[again], np.ones(len(again)), folds, 3)
    a, b = model().tune(replace(data, w=w)), model().tune(repeated)
    np.testing.assert_allclose(a.losses, b.losses, rtol=1e-8)
    assert a.parameters == b.parameters


def test_threads_and_units_change_nothing(monkeypatch):
    data = table()
    found = model().tune(data)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    alone = model().tune(data)
    assert np.array_equal(found.losses, alone.losses)
    assert np.array_equal(found.predictions, alone.predictions)
    scaled = model().tune(replace(data, x=data.x * np.array([1e6, 1e-3, 1.0, 7.0]) + 3.0))
    assert scaled.parameters == found.parameters
    np.testing.assert_allclose(scaled.losses, found.losses, rtol=1e-6)


def test_little_work_leaves_out_ratios():
    found = model().tune(replace(table(n=200, d=20), work=1e4))
    assert "only 1 were tried" in found.note
    assert all(p["alpha"] + p["beta"] == pytest.approx(1.0) for p in found.grid)


def test_folds_that_cannot_be_compared_are_refused():
    data = table(n=60)
    labels = np.where(data.y == 2, 0, 1 + np.arange(60) % 3)
    with pytest.raises(InputError, match="no row of class 2"):
        model().tune(replace(data, folds=Folds.from_labels(labels)))
    narrow = replace(data, x=np.where(data.y[:, None] == 0, 1.0, data.x))
    with pytest.raises(InputError, match="singular"):
        model(alphas=[0.0], betas=[0.0]).tune(narrow)


def test_the_fit_to_all_rows_has_the_chosen_shrinkage():
    data = table()
    frame = pd.DataFrame(data.x, columns=list("abcd")).assign(y=np.array(list("pqr"))[data.y])
    tuned = model()
    found = tuned.tune(data)
    tuned.fit_tuned(sx.scan(frame, target="y"), found)
    same = sx.GaussianDiscriminant(alpha=tuned.alpha_, beta=tuned.beta_).fit(data.x, data.y)
    logs = same.predict_log_proba(data.x)
    expected = tempered(logs, tuned.temperature_, tuned.smoothing_)
    np.testing.assert_allclose(tuned.predict_proba(frame[list("abcd")]), expected, atol=1e-9)
    assert tuned.certificate_.holds


def test_densities_that_are_too_sure_are_tempered():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    x = rng.standard_normal((300, 1)) + 0.7 * y[:, None]
    noisy = np.hstack([x + 0.3 * rng.standard_normal((300, 1)) for _ in range(12)])
    skewed = TuningData(
        np.sinh(2 * noisy), y, np.ones(300), Folds.from_labels(np.arange(300) // 2 % 5), 2
    )
    found = model(alphas=[0.001], betas=[0.0]).tune(skewed)
    assert found.parameters["temperature"] > 1.0
    frame = pd.DataFrame(skewed.x, columns=[f"c{j}" for j in range(12)])
    rows = sx.scan(frame.assign(y=np.array(list("pq"))[y]), target="y")
    tuned = model(alphas=[0.001], betas=[0.0])
    tuned.fit_tuned(rows, found)
    plain = sx.GaussianDiscriminant(alpha=0.001).fit(skewed.x, y)
    halved = plain.decision_function(skewed.x) / found.parameters["temperature"]
    np.testing.assert_allclose(tuned.decision_function(frame), halved, rtol=1e-9, atol=1e-9)
    p = tempered(plain.predict_log_proba(skewed.x), tuned.temperature_, tuned.smoothing_)
    np.testing.assert_allclose(tuned.predict_log_proba(frame), np.log(p), rtol=1e-6, atol=1e-9)
    again = tuned.fit(skewed.x, y)
    assert (again.temperature_, again.smoothing_) == (1.0, 0.0)
