"""Degree and penalty of polynomial regression, tuned on folds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.linear.polynomial import PENALTIES
from separatrix.messages import InputError
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData


def data(n: int = 200, d: int = 3, **more) -> TuningData:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)) * 10.0 ** np.arange(d)
    z = x / 10.0 ** np.arange(d)
    y = z[:, 0] * z[:, 1] + z[:, 2] ** 2 + 0.3 * rng.normal(size=n)
    given = {"w": np.ones(n), "folds": Folds.from_labels(np.arange(n) % 5), "loss": "squared"}
    return TuningData(x, y, **(given | more))


def test_the_degree_of_the_truth_is_found() -> None:
    found = sx.PolynomialRegression().tune(data())
    assert found.parameters["degree"] == 2
    assert found.losses.mean(axis=1).min() < 0.13  # the noise has variance 0.09
    assert found.rows.tolist() == list(range(200))


def test_predictions_out_of_fold_are_those_of_separate_fits() -> None:
    given = data()
    found = sx.PolynomialRegression().tune(given)
    for fold, (train, test) in enumerate(given.folds.pairs):
        chosen = found.grid[found.by_fold[fold]]
        share = len(train) / given.n
        model = sx.PolynomialRegression(chosen["degree"], alpha=chosen["alpha"] * share)
        model.fit(given.x[train], given.y[train])
        # terms are standardized over all rows there, over the training rows here
        np.testing.assert_allclose(model.predict(given.x[test]), found.predictions[test], atol=0.1)


def test_the_losses_of_a_fold_have_no_say_in_what_predicts_it() -> None:
    given = data()
    found = sx.PolynomialRegression().tune(given)
    for fold in range(5):
        others = np.delete(found.losses, fold, axis=1).mean(axis=1)
        assert found.by_fold[fold] == others.argmin()


def test_a_penalized_fit_is_ridge_on_standardized_terms() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, size=(80, 1))
    x[:2, 0] = -1, 1
    y = np.sin(3 * x[:, 0])
    terms = np.column_stack([x[:, 0], 2 * x[:, 0] ** 2 - 1])  # T₁ and T₂
    peer = Ridge(alpha=3.0).fit(StandardScaler().fit_transform(terms), y)
    model = sx.PolynomialRegression(2, alpha=3.0).fit(x, y)
    np.testing.assert_allclose(
        model.predict(x), peer.predict(StandardScaler().fit_transform(terms)), rtol=1e-9
    )
    np.testing.assert_allclose(
        model.coef_[0] * x[:, 0] + model.coef_[1] * x[:, 0] ** 2 + model.intercept_,
        model.predict(x),
    )
    assert model.certificate_.holds
    with pytest.raises(InputError, match="penalty"):
        model.summary()


def test_units_do_not_matter() -> None:
    given = data()
    scaled = TuningData(given.x * 1e6, given.y, given.w, given.folds, loss="squared")
    first, second = (sx.PolynomialRegression().tune(d) for d in (given, scaled))
    np.testing.assert_allclose(first.predictions, second.predictions, rtol=1e-6, atol=1e-8)


def test_folds_in_time_and_absolute_errors() -> None:
    order = [(np.arange(0, 100), np.arange(100, 150)), (np.arange(0, 150), np.arange(150, 200))]
    given = data(folds=Folds(tuple(order), None), loss="absolute")
    found = sx.PolynomialRegression().tune(given)
    assert found.rows.tolist() == list(range(100, 200))
    at = found.by_fold[0]
    error = np.abs(found.predictions[:50] - given.y[100:150]).mean()
    assert found.losses[at, 0] == pytest.approx(error)
    assert len(found.grid) % len(PENALTIES) == 0


def test_many_columns_are_refused_in_words() -> None:
    wide = TuningData(
        np.zeros((50, 200)), np.zeros(50), np.ones(50), Folds.from_labels(np.arange(50) % 5)
    )
    with pytest.raises(InputError, match="terms"):
        sx.PolynomialRegression().tune(wide)
