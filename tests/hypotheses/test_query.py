"""Rows worth labeling, and the labels that they save."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import separatrix as sx

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=list("abcd"))


def test_a_version_space_is_queried_between_its_boxes():
    model = sx.BoxClassifier(concept=1).fit([[1.0], [2.0], [6.0]], [1, 1, 0])
    pool = np.linspace(-1, 9, 41)[:, None]
    found = sx.query(model, pool, 50)
    assert found.strategy == "version_space"
    assert (model.certainty(pool[found.rows]) == 0).all()
    assert (model.certainty(np.delete(pool, found.rows, axis=0)) != 0).all()
    assert pool[found.rows[0], 0] == 4.0  # halfway: either label halves what is open
    assert "Only" in found.note


def test_nothing_is_queried_where_every_label_is_known():
    model = sx.BoxClassifier(concept=1).fit([[1.0], [2.0], [6.0]], [1, 1, 0])
    found = sx.query(model, [[1.5], [7.0]], 2)
    assert len(found) == 0
    assert found.note.startswith("No row is between")


def test_close_calls_come_first():
    model = sx.LinearDiscriminantAnalysis().fit(X, Y)
    p = np.sort(model.predict_proba(X), axis=1)
    found = sx.query(model, X, 5, diverse=False)
    expected = np.argsort(p[:, -1] - p[:, -2])[:5]
    assert found.strategy == "margin"
    assert set(found.rows) == set(expected)
    scores = sx.BasicLinearClassifier().fit(X, Y == 1)
    assert sx.query(scores, X, 1).rows[0] == np.abs(scores.decision_function(X)).argmin()
    assert set(sx.query(model, pd.DataFrame(X), 5, diverse=False).rows) == set(expected)


def test_rows_chosen_together_are_not_copies():
    model = sx.LinearDiscriminantAnalysis().fit(X, Y)
    pool = np.repeat(X, 4, axis=0)
    alike, apart = sx.query(model, pool, 4, diverse=False), sx.query(model, pool, 4)
    assert len(np.unique(pool[alike.rows], axis=0)) == 1
    assert len(np.unique(pool[apart.rows], axis=0)) == 4
    order = np.random.default_rng(0).permutation(len(pool))
    again = sx.query(model, pool[order], 4)
    assert np.array_equal(pool[order][again.rows], pool[apart.rows])


def test_models_are_queried_where_they_disagree():
    models = [sx.LinearDiscriminantAnalysis().fit(X, Y), sx.GaussianNB().fit(X, Y)]
    found = sx.query(models, X, 3)
    assert found.strategy == "disagreement"
    assert (models[0].predict(X[found.rows]) != models[1].predict(X[found.rows])).any()
    votes = [sx.BoxClassifier().fit(X, Y), sx.BallClassifier().fit(X, Y)]
    rows = sx.query(votes, X, 3).rows
    assert (votes[0].predict(X[rows]) != votes[1].predict(X[rows])).all()
    named = sx.LinearDiscriminantAnalysis().fit(FRAME, Y)
    copies = sx.query(named, FRAME, 2, strategy="disagreement", training=(FRAME[::3], Y[::3]))
    assert np.isin(Y[copies.rows], [1, 2]).all()


def test_a_label_is_queried_that_lowers_the_expected_error():
    training = (X[::10], Y[::10])
    model = sx.LinearDiscriminantAnalysis().fit(*training)
    found = sx.query(model, X, 2, strategy="error_reduction", training=training)
    assert (found.scores[0] >= found.scores[1:]).all()
    p = model.predict_proba(X[found.rows])
    assert (p.max(axis=1) < 1 - 1e-6).all()


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, sparse.csr_array])
def test_every_container_of_the_same_rows_gives_the_same_choice(container):
    known, y, rest = X[::6], Y[::6], X[1::12]

    def rows(values):
        matrix = container is sparse.csr_array
        return container(values if matrix else dict(zip("abcd", values.T, strict=True)))

    for strategy in ("disagreement", "error_reduction"):
        given = {"k": 3, "strategy": strategy}
        plain = sx.query(sx.LogisticRegression().fit(known, y), rest, training=(known, y), **given)
        model = sx.LogisticRegression().fit(rows(known), y)
        found = sx.query(model, rows(rest), training=(rows(known), y), **given)
        assert found.rows.tolist() == plain.rows.tolist()


def test_asking_finds_a_threshold_by_halving():
    x = np.linspace(0, 1, 200)[:, None]
    y = (x[:, 0] > 0.618).astype(int)
    curve = sx.active_curve(
        sx.BoxClassifier(concept=1), x, y, start=4, k=1, labels=12, repeats=6, seed=1
    )
    assert curve.queried[:, -1].mean() < 0.02 < curve.random[:, -1].mean()
    mean, low, high = curve.difference
    assert (low <= mean).all()
    assert (mean <= high).all()
    assert np.allclose(curve.queried[:, 0], curve.random[:, 0])  # the same start
    saved, least, most = curve.saved
    assert least <= saved <= most
    assert saved >= 3
    assert "saved" in str(curve)
    again = sx.active_curve(
        sx.BoxClassifier(concept=1), x, y, start=4, k=1, labels=12, repeats=6, seed=1
    )
    assert np.array_equal(curve.queried, again.queried)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "above zero"),
        ({"strategy": "margins"}, "Did you mean 'margin'"),
        ({"strategy": "version_space"}, "no version space"),
        ({"strategy": "error_reduction"}, "training"),
    ],
)
def test_bad_questions_are_one_sentence(options, message):
    with pytest.raises(sx.InputError, match=message):
        sx.query(sx.LinearDiscriminantAnalysis().fit(X, Y), X, **options)


@pytest.mark.parametrize(
    "options", [{"start": 2}, {"labels": 5}, {"repeats": 1}, {"test_size": 2.0}, {"labels": 140}]
)
def test_bad_simulations_are_one_sentence(options):
    with pytest.raises(sx.InputError, match=next(iter(options))):
        sx.active_curve(sx.LinearDiscriminantAnalysis(), X, Y, **options)


def test_numbers_are_queried_where_they_are_known_least():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (40, 2))
    y = x @ [1.0, 2.0] + 0.1 * rng.standard_normal(40)
    pool = rng.uniform(-3, 3, (60, 2))
    model = sx.BayesianRidge().fit(x, y)
    found = sx.query(model, pool, diverse=False, k=4)
    assert found.strategy == "variance"
    assert found.rows.tolist() == np.argsort(-model.predictive(pool).scale)[:4].tolist()
    committee = [sx.Ridge(a).fit(x[::2], y[::2]) for a in (0.1, 1.0, 30.0)]
    spread = np.std([m.predict(pool) for m in committee], axis=0)
    found = sx.query(committee, pool)
    assert (found.strategy, found.rows[0]) == ("disagreement", spread.argmax())
    assert found.scores[0] == pytest.approx(spread.max())
    drawn = sx.query(sx.LinearRegression().fit(x, y), pool, training=(x, y))
    assert drawn.strategy == "disagreement"


def test_the_farthest_rows_are_chosen_one_after_the_other():
    rng = np.random.default_rng(1)
    x, pool = rng.standard_normal((30, 3)), rng.standard_normal((50, 3))
    model = sx.LinearRegression().fit(x, x[:, 0])
    found = sx.query(model, pool, 6, strategy="distance", training=(x, x[:, 0]))
    known = x / x.std(axis=0)
    for row, score in zip(found.rows, found.scores, strict=True):
        z = pool / x.std(axis=0)
        nearest = np.linalg.norm(z[:, None] - known, axis=2).min(axis=1)
        assert row == nearest.argmax()
        assert score == pytest.approx(nearest.max())
        known = np.concatenate([known, z[row][None]])


def test_active_curves_of_numbers_measure_squared_errors():
    rng = np.random.default_rng(2)
    x = rng.beta(0.3, 3.0, (120, 1))  # most rows are at one end
    y = np.sin(6 * x[:, 0])
    process = sx.GaussianProcessRegressor(sx.Fixed(sx.Gaussian(0.15)), alpha=1e-4)
    curve = sx.active_curve(process, x, y, start=4, k=4, labels=16, repeats=4)
    assert curve.queried[:, -1].mean() < 0.5 * curve.random[:, -1].mean()


def test_strategies_are_those_of_classes_or_of_numbers():
    numbers = sx.LinearRegression().fit(np.eye(3), [1.0, 2.0, 3.0])
    classes = sx.LogisticRegression().fit(np.eye(3), [0, 1, 1])
    for model, options, message in (
        (numbers, {"strategy": "margin"}, "predicts numbers"),
        (numbers, {}, "training"),
        (numbers, {"strategy": "variance"}, "no predictive distribution"),
        (classes, {"strategy": "variance"}, "these are classes"),
        ([numbers, classes], {}, "not both"),
        (sx.KMeans(2, n_init=1).fit(np.eye(3)), {}, "clustering"),
    ):
        with pytest.raises(sx.InputError, match=message):
            sx.query(model, np.eye(3), **options)
