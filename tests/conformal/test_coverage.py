"""Coverage: held over many small tables, and on real ones, up to chances below one in a million."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import betabinom, binom
from sklearn import datasets
from sklearn.model_selection import train_test_split

import separatrix as sx

#: The chance that a test fails although the guarantee holds.
CHANCE = 1e-7
TABLES = 160


def _numbers(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + np.exp(0.7 * x[:, 1]) * rng.standard_t(3, n)


def _classes(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) + 0.8 * y[:, None], y


@pytest.mark.parametrize(
    ("method", "conformity"),
    [("split", "absolute"), ("split", "normalized"), ("jackknife-minmax", "absolute")],
)
def test_intervals_cover_at_the_level(method: str, conformity: str) -> None:
    rng, level = np.random.default_rng(3), 0.8
    base = sx.BayesianRidge() if conformity == "normalized" else sx.Ridge(1.0)
    covered = 0
    for table in range(TABLES):
        x, y = _numbers(rng, 24)
        model = sx.ConformalRegressor(
            base, method=method, conformity=conformity, calibration=0.5, random_state=table
        ).fit(x[:-1], y[:-1])
        low, high = model.predict_interval(x[-1:], level=level)[0]
        covered += low <= y[-1] <= high
    assert model.guarantee(level).at_least == level
    assert covered >= binom.ppf(CHANCE, TABLES, level)
    if method == "split":  # and not far above: 12 calibration rows, no ties
        assert covered <= binom.ppf(1 - CHANCE, TABLES, 11 / 13)


def test_rows_and_folds_left_out_cover_more_than_they_promise() -> None:
    rng, level = np.random.default_rng(5), 0.8
    covered = dict.fromkeys(("jackknife+", "cv+", "cross-conformal"), 0)
    for table in range(TABLES):
        x, y = _numbers(rng, 24)
        for first in ("jackknife+", "cv+"):
            model = sx.ConformalRegressor(sx.Ridge(1.0), method=first, cv=3, random_state=table)
            model.fit(x[:-1], y[:-1])
            for method in ("cv+", "cross-conformal") if first == "cv+" else (first,):
                model.method = method  # the scores of folds serve both
                low, high = model.predict_interval(x[-1:], level=level)[0]
                covered[method] += low <= y[-1] <= high
                assert model.guarantee(level).at_least < level
    assert covered["cross-conformal"] <= covered["cv+"]
    for count in covered.values():
        assert count >= binom.ppf(CHANCE, TABLES, level - 0.05)


@pytest.mark.parametrize(
    ("method", "conformity", "by"),
    [("split", "lac", None), ("split", "aps", "class"), ("jackknife+", "raps", None)],
)
def test_sets_cover_as_promised(method: str, conformity: str, by: str | None) -> None:
    rng = np.random.default_rng(4)
    covered, level = 0, 0.8
    for table in range(TABLES):
        x, y = _classes(rng, 41)
        y[:15] = np.arange(15) % 3
        order = np.r_[rng.permutation(40), 40]
        x, y = x[order], y[order]
        model = sx.ConformalClassifier(
            sx.LinearDiscriminantAnalysis(), method=method, conformity=conformity, by=by,
            calibration=0.5, randomized=True, random_state=table,
        ).fit(x[:-1], y[:-1])  # fmt: skip
        covered += model.predict_set(x[-1:], level=level)[0, y[-1]]
    assert covered >= binom.ppf(CHANCE, TABLES, model.guarantee(level).at_least - 1e-12)
    assert covered >= binom.ppf(CHANCE, TABLES, level - 0.05)


def _linnerud(return_X_y: bool) -> tuple[Any, Any]:
    x, y = datasets.load_linnerud(return_X_y=return_X_y)
    return x, y[:, 0]


def _digits(return_X_y: bool) -> tuple[Any, Any]:
    x, y = datasets.load_digits(return_X_y=return_X_y)
    return x[:400], y[:400]


REAL = {
    "diabetes": (datasets.load_diabetes, sx.LinearRegression()),
    "linnerud": (_linnerud, sx.Ridge(1.0)),
    "iris": (datasets.load_iris, sx.LinearDiscriminantAnalysis()),
    "wine": (datasets.load_wine, sx.GaussianNB()),
    "breast cancer": (datasets.load_breast_cancer, sx.LinearDiscriminantAnalysis()),
    "digits": (_digits, sx.KNeighborsClassifier(5, smoothing=1.0)),
}


@pytest.mark.parametrize("name", REAL)
def test_coverage_on_real_tables(name: str) -> None:
    """Split conformal: the number covered is at least beta-binomial, whatever the data."""
    load, base = REAL[name]
    x, y = load(return_X_y=True)
    level = 0.8 if name == "linnerud" else 0.9
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.5, random_state=5)
    made = sx.ConformalClassifier if name not in ("diabetes", "linnerud") else sx.ConformalRegressor
    model = made(base, calibration=0.5).fit(x, y)
    found = model.coverage(x_test, y_test, level=level)
    n = len(model.scores_)
    rank = int(np.ceil(level * (n + 1) - 1e-9))
    if rank <= n:
        assert found.covered >= betabinom.ppf(CHANCE, len(y_test), rank, n + 1 - rank)
    else:
        assert found.covered == len(y_test)
    assert found.interval[0] <= found.proportion <= found.interval[1]
    jackknife = made(base, method="jackknife+").fit(x, y).coverage(x_test, y_test, level=level)
    assert jackknife.proportion > level - 0.15
