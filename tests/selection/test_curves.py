"""Learning curves: nested sets, one pass equal to refits, power laws, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.rows import ArrayRows
from separatrix.selection.curves import Nesting, fit_power_law

RNG = np.random.default_rng(11)
X = RNG.standard_normal((120, 3)) + 5.0
Y = X @ [1.0, -1.0, 0.0] + RNG.standard_normal(120)
W = RNG.integers(0, 3, 120).astype(float)


def test_training_sets_are_nested_and_folds_disjoint() -> None:
    nesting = Nesting.of(120, 4)
    labels = nesting.labels(ArrayRows(X, Y[:, None], None), 0)
    for fold in range(4):
        test = set(nesting.test(labels, fold).tolist())
        before: set[int] = set()
        for level in nesting.levels:
            train = set(nesting.train(labels, fold, level).tolist())
            assert before <= train
            assert not train & test
            before = train
        assert len(before) + len(test) == 120
    counts = np.bincount(labels % 4)
    assert counts.max() - counts.min() <= 1


def test_one_pass_gives_what_refits_give() -> None:
    """Least squares and ridge on every nested set, by NumPy on the rows themselves."""
    rows = sx.scan(X, Y, W)
    models = [sx.LinearRegression(), sx.RidgePath([10.0, 0.5])]
    curves = sx.learning_curves(models, rows, folds=3, seed=4)
    assert curves.passes == 1
    assert curves.names == ("LinearRegression", "10", "0.5")
    nesting = Nesting.of(120, 3)
    labels = nesting.labels(rows.read(), 4)
    for i, level in enumerate(nesting.levels):
        for fold in range(3):
            train, test = nesting.train(labels, fold, level), nesting.test(labels, fold)
            for j, alpha in enumerate([0.0, 10.0, 0.5]):
                w = W[train]
                center, mean = np.average(X[train], 0, w), np.average(Y[train], weights=w)
                z = (X[train] - center) * np.sqrt(w)[:, None]
                right = z.T @ ((Y[train] - mean) * np.sqrt(w))
                b = np.linalg.lstsq(z.T @ z + alpha * np.eye(3), right, rcond=None)[0]
                residual = Y[test] - mean - (X[test] - center) @ b
                expected = np.average(residual**2, weights=W[test])
                assert curves.validation[i, j, fold] == pytest.approx(expected, rel=1e-8)
    assert_allclose(curves.sizes[-1] * 3 / 2, W.sum())


def test_a_table_is_encoded_by_its_training_rows() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": X[:, 0], "town": np.where(X[:, 1] > 5, "a", "b"), "y": Y})
    frame.loc[::7, "x"] = np.nan
    rows = sx.scan(frame, "y").read()
    curves = sx.learning_curves(sx.LinearRegression(), rows, folds=2)
    nesting = Nesting.of(120, 2)
    labels = nesting.labels(rows, 0)
    train, test = nesting.train(labels, 1, nesting.levels[3]), nesting.test(labels, 1)
    model = sx.LinearRegression().fit(rows.take(train))
    expected = np.mean((Y[test] - model.predict(rows.take(test))) ** 2)
    assert curves.validation[3, 0, 1] == pytest.approx(expected, rel=1e-8)


def test_classifiers_are_refitted() -> None:
    labels = np.where(np.median(Y) < Y, "high", "low")
    models = [sx.GaussianNB(), sx.LinearDiscriminantAnalysis()]
    curves = sx.learning_curves(models, X, labels, folds=3, seed=2)
    assert curves.loss == "log loss"
    nesting = Nesting.of(120, 3)
    parts = nesting.dealt(120, (labels == "low").astype(int), 2)
    train, test = nesting.train(parts, 0, nesting.ranks), nesting.test(parts, 0)
    p = sx.GaussianNB().fit(X[train], labels[train]).predict_proba(X[test])
    own = p[np.arange(len(test)), (labels[test] == "low").astype(int)]
    assert curves.validation[-1, 0, 0] == pytest.approx(-np.log(own).mean())
    assert "log loss" in str(curves)


def test_rows_in_another_order_give_the_same_curves(rng: np.random.Generator) -> None:
    order = rng.permutation(120)
    one = sx.learning_curves(sx.Ridge(1.0), X, Y)
    other = sx.learning_curves(sx.Ridge(1.0), X[order], Y[order])
    assert_allclose(one.validation, other.validation, rtol=1e-9)


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 20.0, 1.0), (0.5, 3.0, 0.5), (2.0, 0.0, 1.0)])
def test_a_power_law_is_found_again(a: float, b: float, c: float) -> None:
    n = np.geomspace(30, 500, 8)
    errors = (a + b * n**-c)[:, None] * np.ones(5)
    law = fit_power_law(n, errors)
    assert law is not None
    assert_allclose(law.at(5000.0)[0], a + b * 5000.0**-c, rtol=5e-3)
    assert law.determined


def test_the_law_of_least_squares_reaches_ten_times_the_rows() -> None:
    """E[error] = σ²(1 + 1/n)(n − 2)/(n − d − 2) of normal columns with intercept."""
    d, n = 10, np.array([60.0, 90, 120, 180, 240, 330, 480])

    def expected(m):
        return (1 + 1 / m) * (m - 2) / (m - d - 2)

    law = fit_power_law(n, np.outer(expected(n), np.linspace(0.98, 1.02, 5)))
    assert law is not None
    assert law.at(4800.0)[0] == pytest.approx(expected(4800.0), rel=0.01)
    value, low, high = law.interval(law.at(np.inf))
    assert low <= value <= high
    assert low < 1.0 < high


def test_what_comes_before_a_peak_does_not_count() -> None:
    n = np.array([10.0, 20, 40, 80, 160, 320, 640])
    errors = np.array([2.0, 2.5, 9.0, 1.5, 1.25, 1.125, 1.0625])[:, None] * np.ones(4)
    law = fit_power_law(n, errors)
    assert law is not None
    assert law.at(np.inf)[0] == pytest.approx(1.0, rel=0.02)
    assert fit_power_law(n[:5], errors[:5]) is None


def test_noise_leaves_the_limit_open() -> None:
    n = np.geomspace(20, 60, 5)
    errors = 1.0 + 0.4 * np.random.default_rng(0).standard_normal((5, 3))
    law = fit_power_law(n, np.abs(errors))
    assert law is None or not law.determined


def test_few_rows_have_no_error_where_a_model_cannot_be_fitted() -> None:
    curves = sx.learning_curves(sx.KNeighborsRegressor(20), X[:50], Y[:50], folds=2)
    assert np.isnan(curves.validation[0]).all()
    assert np.isfinite(curves.validation[-1]).all()
    assert curves.best[0] == -1
    assert "–" in str(curves)


def test_refusals() -> None:
    with pytest.raises(sx.InputError, match="too few for a learning curve"):
        sx.learning_curves(sx.Ridge(), X[:20], Y[:20])
    with pytest.raises(sx.InputError, match="one model or more"):
        sx.learning_curves([], X, Y)
    with pytest.raises(sx.InputError, match="not all classifiers"):
        sx.learning_curves([sx.Ridge(), sx.GaussianNB()], X, Y)
    with pytest.raises(sx.InputError, match="y is needed"):
        sx.learning_curves(sx.GaussianNB(), X)
    with pytest.raises(sx.InputError, match="take X and y"):
        sx.learning_curves(sx.KNeighborsRegressor(), sx.scan(X, Y))
    with pytest.raises(sx.InputError, match="number of rows"):
        sx.learning_curves(sx.Ridge(), X, Y).extrapolate(0)


def test_one_class_has_no_curve_and_says_so() -> None:
    x = np.random.default_rng(0).normal(size=(80, 2))
    models = [sx.LogisticRegression(C=1.0), sx.LogisticRegression(C=10.0)]
    with pytest.raises(InputError, match="only one class"):
        sx.learning_curves(models, x, np.zeros(80, dtype=int))
    with pytest.raises(InputError, match="the target holds classes"):  # from moments
        sx.learning_curves(sx.Ridge(), sx.scan(x, np.repeat("a", 80)))
