"""Tuning of neighbors: losses and out-of-fold predictions against separate fits."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier as PeerClassifier
from sklearn.neighbors import KNeighborsRegressor as PeerRegressor

import separatrix as sx
from separatrix.messages import InputError
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData


def classes(n: int = 240, d: int = 3, loss: str = "log_loss", seed: int = 0) -> TuningData:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    x = rng.standard_normal((n, d)) + y[:, None] * np.array([1.2, 0.4, 0.0])[:d]
    folds = Folds.from_labels(np.arange(n) // 3 % 4)
    return TuningData(x, y, np.ones(n), folds, 3, loss)


def numbers(n: int = 200, loss: str = "squared") -> TuningData:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, 2))
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.standard_normal(n)
    return TuningData(x, y, np.ones(n), Folds.from_labels(np.arange(n) % 5), 0, loss)


def index_of(grid, **wanted):
    return next(i for i, p in enumerate(grid) if wanted.items() <= p.items())


@pytest.mark.parametrize("loss", ["error", "log_loss"])
def test_predictions_are_those_of_separate_fits(loss):
    data = classes(loss=loss)
    found = sx.KNeighborsClassifier(standardize=True).tune(data)
    assert np.array_equal(np.sort(found.rows), np.arange(data.n))
    assert found.kind == "probabilities"
    at = 0
    for fold, (train, test) in enumerate(data.folds.pairs):
        assert np.array_equal(found.rows[at : at + len(test)], test)
        chosen = found.grid[found.by_fold[fold]]
        model = sx.KNeighborsClassifier(**chosen).fit(data.z[train], data.y[train])
        expected = model.predict_proba(data.z[test])
        np.testing.assert_allclose(found.predictions[at : at + len(test)], expected, atol=1e-12)
        own = expected[np.arange(len(test)), data.y[test]]
        wrong = expected.argmax(axis=1) != data.y[test]
        value = wrong.mean() if loss == "error" else -np.log(own).mean()
        assert found.losses[found.by_fold[fold], fold] == pytest.approx(value, abs=1e-12)
        at += len(test)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_errors_equal_those_of_a_grid_search(metric):
    data = classes(loss="error")
    found = sx.KNeighborsClassifier(standardize=True).tune(data)
    peer = GridSearchCV(
        PeerClassifier(metric=metric),
        {"n_neighbors": [1, 5, 9, 31], "weights": ["uniform", "distance"]},
        cv=list(data.folds.pairs),
    ).fit(data.z, data.y)
    for i, point in enumerate(peer.cv_results_["params"]):
        ours = found.losses[index_of(found.grid, metric=metric, **point)]
        theirs = [1.0 - peer.cv_results_[f"split{f}_test_score"][i] for f in range(4)]
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_numbers_equal_those_of_a_grid_search(loss):
    data = numbers(loss=loss)
    found = sx.KNeighborsRegressor(standardize=True).tune(data)
    name = "neg_mean_squared_error" if loss == "squared" else "neg_mean_absolute_error"
    peer = GridSearchCV(
        PeerRegressor(),
        {"n_neighbors": [1, 4, 20], "weights": ["uniform", "distance"]},
        cv=list(data.folds.pairs),
        scoring=name,
    ).fit(data.z, data.y)
    for i, point in enumerate(peer.cv_results_["params"]):
        ours = found.losses[index_of(found.grid, metric="euclidean", **point)]
        theirs = [-peer.cv_results_[f"split{f}_test_score"][i] for f in range(5)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    fold = int(found.by_fold[0])
    train, test = data.folds.pairs[0]
    model = sx.KNeighborsRegressor(**found.grid[fold]).fit(data.z[train], data.y[train])
    np.testing.assert_allclose(found.predictions[: len(test)], model.predict(data.z[test]))
    assert found.kind == "values"
    assert found.predictions.ndim == 1


def test_the_chosen_parameters_are_those_of_the_fit():
    data = classes()
    model = sx.KNeighborsClassifier(standardize=True)
    found = model.tune(data)
    frame = pd.DataFrame(data.x, columns=list("abc")).assign(y=np.array(list("pqr"))[data.y])
    model.fit_tuned(sx.scan(frame, target="y"), found)
    assert found.parameters.items() <= model.get_params().items()
    assert model.n_neighbors_ == found.parameters["n_neighbors"]
    same = sx.KNeighborsClassifier(**found.parameters).fit(data.z, data.y)
    near = same.predict_proba(data.z)
    np.testing.assert_allclose(model.predict_proba(frame[list("abc")]), near, atol=1e-4)


def test_weights_are_repeated_rows():
    data = classes(n=120)
    w = np.where(np.arange(data.n) % 5 == 0, 3.0, 1.0)
    weighted = sx.KNeighborsClassifier(standardize=True).tune(replace(data, w=w))
    again = np.repeat(np.arange(data.n), w.astype(int))
    labels = data.folds.labels[again]
    repeated = TuningData(
        data.x[again], data.y[again], np.ones(len(again)), Folds.from_labels(labels), 3, data.loss
    )
    found = sx.KNeighborsClassifier(standardize=True).tune(repeated)
    np.testing.assert_allclose(weighted.losses, found.losses, atol=1e-9)
    assert weighted.parameters == found.parameters


def test_threads_and_units_change_nothing(monkeypatch):
    data = classes(n=600)
    model = sx.KNeighborsClassifier(standardize=True)
    found = model.tune(data)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    alone = model.tune(replace(data, x=data.x * np.array([1e6, 1e-3, 1.0]) + 7.0))
    assert np.array_equal(found.losses, alone.losses)
    assert np.array_equal(found.predictions, alone.predictions)
    assert found.parameters == alone.parameters


def test_a_sample_of_queries_stays_within_the_work():
    data = replace(classes(n=3000), work=1e6)
    found = sx.KNeighborsClassifier(standardize=True).tune(data)
    assert 400 <= len(found.rows) < 1500
    assert len(found.predictions) == len(found.rows)
    assert f"{len(found.rows)} of 3000 rows" in found.note
    assert set(data.y[found.rows]) == {0, 1, 2}


def test_a_fold_that_takes_all_rows_of_a_class_is_refused():
    data = classes(n=60)
    labels = np.where(data.y == 2, 0, 1 + np.arange(60) % 3)
    with pytest.raises(InputError, match="fold 0 have no row of class 2"):
        sx.KNeighborsClassifier().tune(replace(data, folds=Folds.from_labels(labels)))


def test_smoothing_spreads_votes_and_keeps_the_class():
    x, y = [[0.0], [1.0], [2.0], [8.0], [9.0]], list("aaabb")
    plain = sx.KNeighborsClassifier(3).fit(x, y)
    smooth = sx.KNeighborsClassifier(3, smoothing=1.0).fit(x, y)
    assert smooth.predict_proba([[7.0]])[0] == pytest.approx([1.5 / 4, 2.5 / 4])
    assert np.array_equal(plain.predict([[7.0], [1.0]]), smooth.predict([[7.0], [1.0]]))
    with pytest.raises(InputError, match="smoothing"):
        sx.KNeighborsClassifier(smoothing=-1.0).fit(x, y)


def test_more_neighbors_are_found_where_many_prove_useful():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 6.0, (900, 2))
    folds = Folds.from_labels(np.arange(900) % 3)
    board = np.floor(x).sum(axis=1).astype(int) % 2
    noise = (x[:, 0] + 6.0 * rng.standard_normal(900) > 3.0).astype(int)
    for y, most in ((board, 31), (noise, 128)):
        found = sx.KNeighborsClassifier().tune(TuningData(x, y, np.ones(900), folds, 2))
        assert max(point["n_neighbors"] for point in found.grid) == most
