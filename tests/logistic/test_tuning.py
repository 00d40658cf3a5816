"""Tuning of logistic regression: losses and out-of-fold predictions against separate fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.model_selection import GridSearchCV

import separatrix as sx
from separatrix.messages import InputError
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData

CS = [0.001, 0.01, 0.1, 1.0, 10.0]


def table(n: int = 300, d: int = 4, k: int = 3, loss: str = "log_loss") -> TuningData:
    rng = np.random.default_rng(n + d + k)
    x = rng.standard_normal((n, d))
    scores = x @ rng.standard_normal((d, k)) + rng.gumbel(size=(n, k))
    y = scores.argmax(axis=1)
    y[: 4 * k] = np.arange(4 * k) % k
    return TuningData(x, y, np.ones(n), Folds.from_labels(np.arange(n) % 4), k, loss)


def model(**options):
    return sx.LogisticCV(CS, standardize=True, **options)


@pytest.mark.parametrize("k", [2, 3])
def test_predictions_are_those_of_separate_fits(k):
    data = table(k=k)
    found = model().tune(data)
    at = 0
    for fold, (train, test) in enumerate(data.folds.pairs):
        C = found.grid[found.by_fold[fold]]["C"]
        separate = sx.LogisticRegression(C=C).fit(data.z[train], data.y[train])
        expected = separate.predict_proba(data.z[test])
        got = found.predictions[at : at + len(test)]
        assert np.array_equal(found.rows[at : at + len(test)], test)
        np.testing.assert_allclose(got, expected, atol=5e-3)
        own = -np.log(expected[np.arange(len(test)), data.y[test]]).mean()
        assert found.losses[found.by_fold[fold], fold] == pytest.approx(own, rel=2e-3)
        at += len(test)
    assert found.kind == "probabilities"


@pytest.mark.parametrize(("n", "d", "k"), [(300, 5, 2), (300, 5, 4), (60, 90, 2), (90, 110, 3)])
def test_losses_equal_those_of_a_grid_search(n, d, k):
    data = table(n, d, k)
    found = model().tune(data)
    peer = GridSearchCV(
        Peer(max_iter=2000, tol=1e-8), {"C": CS}, cv=list(data.folds.pairs), scoring="neg_log_loss"
    ).fit(data.z, data.y)
    splits = [-peer.cv_results_[f"split{f}_test_score"] for f in range(4)]
    theirs = np.array(splits).T[: len(found.losses)]
    np.testing.assert_allclose(found.losses, theirs, rtol=3e-3)
    assert found.parameters["C"] == peer.best_params_["C"]


@pytest.mark.parametrize(("n", "copies"), [(500, 12), (1200, 26)])
def test_copies_of_columns_are_a_weaker_penalty(n, copies):
    data = table(n, 40, 3)
    # three scores of 480 columns have Hessians of their own, of 1040 components none
    wide = model().tune(replace(data, x=np.hstack([data.x] * copies)))
    plain = sx.LogisticCV([copies * p["C"] for p in wide.grid], standardize=True).tune(data)
    np.testing.assert_allclose(wide.losses[: len(plain.losses)], plain.losses, rtol=1e-3)


def test_a_path_ends_where_the_loss_has_risen():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 30))
    y = (x[:, 0] + 2 * rng.standard_normal(100) > 0).astype(int)
    data = TuningData(x, y, np.ones(100), Folds.from_labels(np.arange(100) % 5), 2)
    Cs = 10.0 ** np.arange(-3, 5)
    found = sx.LogisticCV(Cs, standardize=True).tune(data)
    assert len(found.grid) < len(Cs)
    assert "was not tried" in found.note
    assert np.isfinite(found.losses).all()
    mean = found.losses.mean(axis=1)
    assert mean[-1] > 1.1 * mean.min()


def test_maximum_likelihood_out_of_fold():
    data = table(k=3)
    found = sx.LogisticRegression(C=np.inf).tune(data)
    assert found.parameters == {"C": np.inf}
    assert found.losses.shape == (1, 4)
    train, test = data.folds.pairs[0]
    separate = sx.LogisticRegression(C=np.inf).fit(data.x[train], data.y[train])
    got = found.predictions[: len(test)]
    np.testing.assert_allclose(got, separate.predict_proba(data.x[test]), atol=5e-3)


def test_separable_classes_are_noted():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, 3))
    y = (x[:, 0] > 0).astype(int)
    x[:, 0] += np.where(y == 1, 0.5, -0.5)
    data = TuningData(x, y, np.ones(120), Folds.from_labels(np.arange(120) % 3), 2)
    found = sx.LogisticRegression(C=np.inf).tune(data)
    assert "separable" in found.note
    assert (found.predictions.argmax(axis=1) == y[found.rows]).mean() > 0.95


def test_weights_are_repeated_rows():
    data = table(n=150)
    w = np.where(np.arange(data.n) % 5 == 0, 3.0, 1.0)
    again = np.repeat(np.arange(data.n), w.astype(int))
    folds = Folds.from_labels(data.folds.labels[again])
    repeated = TuningData(data.x[again], data.y[again], np.ones(len(again)), folds, 3)
    a, b = model().tune(replace(data, w=w)), model().tune(repeated)
    np.testing.assert_allclose(a.losses, b.losses, rtol=1e-9)
    assert a.parameters == b.parameters


def test_class_weights_count_in_fits_and_not_in_losses():
    data = table(k=2)
    found = sx.LogisticCV([0.1], standardize=True, class_weight="balanced").tune(data)
    train, test = data.folds.pairs[0]
    total = np.bincount(data.y)
    w = (data.n / (2.0 * total))[data.y]
    separate = sx.LogisticRegression(C=0.1).fit(data.z[train], data.y[train], w[train])
    got = found.predictions[: len(test)]
    np.testing.assert_allclose(got, separate.predict_proba(data.z[test]), atol=5e-3)
    own = -np.log(got[np.arange(len(test)), data.y[test]]).mean()
    assert found.losses[0, 0] == pytest.approx(own)


def test_threads_and_units_change_nothing(monkeypatch):
    data = table()
    found = model().tune(data)
    monkeypatch.setattr("separatrix.threads.available_threads", lambda: 1)
    alone = model().tune(data)
    assert np.array_equal(found.losses, alone.losses)
    assert np.array_equal(found.predictions, alone.predictions)
    scaled = model().tune(replace(data, x=data.x * np.array([1e6, 1e-3, 1.0, 7.0]) + 3.0))
    assert scaled.parameters == found.parameters
    np.testing.assert_allclose(scaled.losses, found.losses, rtol=1e-12)


def test_a_sample_of_rows_stays_within_the_work():
    data = replace(table(n=3000), work=1e6)
    found = model().tune(data)
    assert len(found.rows) < 1000
    assert f"{len(found.rows)} of 3000 rows" in found.note


def test_what_cannot_be_compared_is_refused():
    data = table(n=60)
    labels = np.where(data.y == 2, 0, 1 + np.arange(60) % 3)
    with pytest.raises(InputError, match="no row of class 2"):
        model().tune(replace(data, folds=Folds.from_labels(labels)))
    with pytest.raises(InputError, match="ridge"):
        model(l1_ratio=0.5).tune(data)


@pytest.mark.parametrize("k", [2, 3])
def test_the_fit_to_all_rows_has_the_chosen_penalty(k):
    data = table(k=k)
    frame = pd.DataFrame(data.x, columns=list("abcd")).assign(y=np.array(list("pqr"))[data.y])
    tuned = model()
    tuned.fit_tuned(sx.scan(frame, target="y"), tuned.tune(data))
    plain = sx.LogisticRegression(C=tuned.C_, standardize=True).fit(data.x, data.y)
    np.testing.assert_allclose(tuned.coef_, plain.coef_, rtol=1e-6, atol=1e-8)
    assert tuned.certificate_.holds
    assert tuned.log_loss_path_.shape == (len(tuned.Cs_), 4)
    if k == 2:
        at = list(tuned.Cs_).index(tuned.C_)
        np.testing.assert_allclose(tuned.coefs_[at], plain.coef_, atol=2e-3)
        np.testing.assert_allclose(tuned.intercepts_[at], plain.intercept_, atol=2e-3)
    likelihood = sx.LogisticRegression(C=np.inf)
    likelihood.fit_tuned(sx.scan(frame, target="y"), likelihood.tune(data))
    assert likelihood.certificate_.holds


def test_without_intercept():
    data = replace(table(k=2), x=table(k=2).x + 1.0)
    found = sx.LogisticCV([0.1], standardize=True, fit_intercept=False).tune(data)
    train, test = data.folds.pairs[0]
    x = data.x / data.x.std(axis=0)
    separate = sx.LogisticRegression(C=0.1, fit_intercept=False).fit(x[train], data.y[train])
    expected = separate.predict_proba(x[test])
    np.testing.assert_allclose(found.predictions[: len(test)], expected, atol=2e-3)


def test_the_path_of_more_columns_than_rows():
    data = table(60, 90, 2)
    names = [f"c{j}" for j in range(90)]
    frame = pd.DataFrame(data.x, columns=names).assign(y=np.array(list("pq"))[data.y])
    tuned = model()
    tuned.fit_tuned(sx.scan(frame, target="y"), tuned.tune(data))
    assert tuned.coefs_.shape == (len(tuned.Cs_), 1, 90)
    at = list(tuned.Cs_).index(tuned.C_)
    np.testing.assert_allclose(tuned.coefs_[at], tuned.coef_, atol=2e-3)
