"""Leave-one-out fits in closed form are those of n refits, at their own rows and at new ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import separatrix as sx
from separatrix.conformal.regressor import closed_form

RNG = np.random.default_rng(0)
N = 26
X = RNG.normal(size=(N, 3)) @ [[1, 0.3, 0], [0, 1, 0], [0.5, 0, 2]] + [5.0, 0.0, -3.0]
Y = X @ [1.0, 2.0, -1.0] + RNG.normal(size=N)
NEW = RNG.normal(size=(6, 3)) * 1.5 + [5.0, 0.0, -3.0]
CLASSES = np.array(["a", "b", "c"])[np.digitize(Y, np.quantile(Y, [0.33, 0.66]))]
DEPENDENT, NEW_DEPENDENT = (np.column_stack([x, 2 * x[:, 0], np.ones(len(x))]) for x in (X, NEW))
ALONE = np.column_stack([X, np.arange(N) == 3])
NEW_ALONE = np.column_stack([NEW, np.ones(len(NEW))])
WIDE, NEW_WIDE = RNG.normal(size=(N, 40)), RNG.normal(size=(6, 40))
KERNEL = sx.Gaussian(2.0)
UNITS, ORIGIN = np.array([1e8, 1.0, 1e-8]), np.array([1e10, 0.0, 0.0])

NUMBERS: list[tuple[Any, Any, Any]] = [
    (sx.LinearRegression(), X, NEW),
    (sx.LinearRegression(fit_intercept=False), X, NEW),
    (sx.LinearRegression(), DEPENDENT, NEW_DEPENDENT),
    (sx.LinearRegression(), ALONE, NEW_ALONE),
    (sx.LinearRegression(), X * UNITS + ORIGIN, NEW * UNITS + ORIGIN),
    (sx.Ridge(2.0), X, NEW),
    (sx.Ridge(2.0), WIDE, NEW_WIDE),
    (sx.KNeighborsRegressor(3), X, NEW),
    (sx.KNeighborsRegressor(3, weights="distance"), X, NEW),
    (sx.GaussianProcessRegressor(KERNEL, alpha=0.3, optimizer=None), X, NEW),
    (sx.GaussianProcessRegressor(KERNEL, alpha=0.3, optimizer=None, trend="linear"), X, NEW),
]  # fmt: skip
LABELS: list[Any] = [
    sx.LinearDiscriminantAnalysis(),
    sx.LinearDiscriminantAnalysis(priors=[0.5, 0.3, 0.2]),
    sx.QuadraticDiscriminantAnalysis(),
    sx.GaussianNB(var_smoothing=0.05),
    sx.KNeighborsClassifier(4, smoothing=0.5, weights="gaussian"),
]


@pytest.mark.parametrize(("model", "x", "new"), NUMBERS, ids=lambda v: type(v).__name__)
def test_numbers_without_each_row(model: Any, x: Any, new: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = clone(model).fit(x, Y)
        fits = whole.leave_one_out_fits(x, Y)
        refits = [clone(model).fit(np.delete(x, i, 0), np.delete(Y, i)) for i in range(N)]
    scale = np.abs(Y).max()
    own = [refit.predict(x[[i]])[0] for i, refit in enumerate(refits)]
    np.testing.assert_allclose(fits.own, own, atol=1e-8 * scale)
    expected = np.stack([refit.predict(new) for refit in refits], axis=1)
    np.testing.assert_allclose(fits.at(whole, new), expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("model", LABELS, ids=lambda v: type(v).__name__)
def test_probabilities_without_each_row(model: Any) -> None:
    whole = clone(model).fit(X, CLASSES)
    fits = whole.leave_one_out_fits(X, CLASSES)
    refits = [clone(model).fit(np.delete(X, i, 0), np.delete(CLASSES, i)) for i in range(N)]
    own = [refit.predict_proba(X[[i]])[0] for i, refit in enumerate(refits)]
    np.testing.assert_allclose(fits.own, own, atol=1e-9)
    expected = np.stack([refit.predict_proba(NEW) for refit in refits], axis=1)
    np.testing.assert_allclose(fits.at(whole, NEW), expected, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        sx.Ridge(1.0, standardize=True),
        sx.KNeighborsRegressor("auto"),
        sx.KNeighborsRegressor(3, standardize=True),
        sx.GaussianProcessRegressor(KERNEL, alpha=0.3, optimizer=None, normalize_y=True),
    ],
)
def test_what_is_learned_from_all_rows_has_no_closed_form(model: Any) -> None:
    assert clone(model).fit(X, Y).leave_one_out_fits(X, Y) is None


@pytest.mark.parametrize("size", [1.0, 0.3])
@pytest.mark.parametrize(
    "model",
    [sx.LinearRegression(), sx.Ridge(2.0), linear_model.LinearRegression(), linear_model.Ridge(2)],
    ids=lambda v: type(v).__module__.split(".")[0] + " " + type(v).__name__,
)
def test_a_row_is_left_out_with_its_whole_weight(
    rng: np.random.Generator, model: Any, size: float
) -> None:
    w = size * rng.integers(1, 4, N)
    for x, new in ((X, NEW), (ALONE, NEW_ALONE), (WIDE, NEW_WIDE)):
        whole = clone(model).fit(x, Y, sample_weight=w)
        fits = closed_form(whole, x, Y, w, np.arange(N))
        assert fits is not None
        for i in range(0, N, 3):
            others = np.arange(N) != i
            refit = clone(model).fit(x[others], Y[others], sample_weight=w[others])
            np.testing.assert_allclose(fits.own[i], refit.predict(x[[i]])[0], atol=1e-7)
            np.testing.assert_allclose(fits.at(whole, new)[:, i], refit.predict(new), atol=1e-7)


@pytest.mark.filterwarnings("ignore:SEP009")
@pytest.mark.parametrize("method", ["jackknife+", "jackknife-minmax"])
@pytest.mark.parametrize(
    "model",
    [sx.LinearRegression(), sx.Ridge(0.5), sx.KNeighborsRegressor(5), linear_model.Ridge(0.5)],
    ids=["least squares", "ridge", "neighbors", "other ridge"],
)
def test_a_weight_is_that_many_rows_which_are_left_out_together(
    rng: np.random.Generator, model: Any, method: str
) -> None:
    w = rng.integers(1, 4, N)
    made = sx.ConformalRegressor(model, method=method)
    one = clone(made).fit(X, Y, sample_weight=w)
    order = rng.permutation(w.sum())
    repeated = clone(made).fit(np.repeat(X, w, axis=0)[order], np.repeat(Y, w)[order])
    assert (one.fits_ is None) == isinstance(model, sx.KNeighborsRegressor)
    assert (repeated.fits_ is None) == (one.fits_ is None)
    for level in (0.5, 0.9, 0.95):
        found, expected = (m.predict_interval(NEW, level=level) for m in (one, repeated))
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["jackknife+", "jackknife-minmax"])
@pytest.mark.parametrize(
    ("ours", "other"),
    [
        (sx.LinearRegression(), linear_model.LinearRegression()),
        (sx.Ridge(3.0), linear_model.Ridge(3.0)),
        (linear_model.LinearRegression(), linear_model.LinearRegression()),
        (linear_model.Ridge(3.0), linear_model.Ridge(3.0)),
        (sx.KNeighborsRegressor(4), KNeighborsRegressor(4)),
    ],
    ids=["least squares", "ridge", "other least squares", "other ridge", "neighbors"],
)
def test_intervals_are_those_of_refits_of_scikit_learn(ours: Any, other: Any, method: str) -> None:
    a = sx.ConformalRegressor(ours, method=method).fit(X, Y)
    b = sx.ConformalRegressor(make_pipeline(other), method=method).fit(X, Y)
    assert a.fits_ is not None
    assert b.fits_ is None
    assert len(b.models_) == N
    for level in (0.6, 0.9, 0.96):
        expected = b.predict_interval(NEW, level=level)
        np.testing.assert_allclose(a.predict_interval(NEW, level=level), expected, atol=1e-8)


@pytest.mark.parametrize("conformity", ["lac", "margin", "aps", "raps"])
@pytest.mark.parametrize("model", [LABELS[0], LABELS[4]], ids=["shared", "neighbors"])
def test_sets_are_those_of_refits(model: Any, conformity: str) -> None:
    for by in (None, "class"):
        made = sx.ConformalClassifier(model, method="jackknife+", conformity=conformity, by=by)
        closed = clone(made).fit(X, CLASSES)
        refitted = clone(made).fit(X, CLASSES, sample_weight=np.ones(N))
        refitted.fits_ = None
        refitted.models_ = [
            [clone(model).fit(np.delete(X, i, 0), np.delete(CLASSES, i))] for i in range(N)
        ]
        np.testing.assert_allclose(closed.p_values(NEW), refitted.p_values(NEW), atol=1e-12)
