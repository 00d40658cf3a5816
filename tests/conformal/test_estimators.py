"""Conformal estimators: levels, categories, empty and full sets, fitted models, files, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import separatrix as sx
from separatrix.messages import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X @ [1.0, -2.0, 0.5] + (1.0 + (X[:, 0] > 0)) * RNG.normal(size=80)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [-1.5, 1.5])]
NEW = RNG.normal(size=(9, 3))
METHODS = ("split", "cv+", "cross-conformal", "jackknife+", "jackknife-minmax")


@pytest.mark.parametrize("method", METHODS)
def test_a_higher_level_contains_a_lower_one_and_few_rows_give_infinite_ends(method: str) -> None:
    model = sx.ConformalRegressor(sx.LinearRegression(), method=method).fit(X[:30], Y[:30])
    narrow, wide, all_ = (model.predict_interval(NEW, level=v) for v in (0.5, 0.8, 0.99))
    assert narrow.shape == (9, 2)
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()
    assert np.isinf(all_).all()
    np.testing.assert_array_equal(np.sign(all_), np.tile([-1.0, 1.0], (9, 1)))


def test_split_is_its_formula() -> None:
    model = sx.ConformalRegressor(sx.LinearRegression(), calibration=0.5, random_state=1).fit(X, Y)
    assert len(model.scores_) == 40
    q = np.sort(model.scores_)[int(np.ceil(0.9 * 41)) - 1]
    expected = model.predict(NEW)[:, None] + [-q, q]
    np.testing.assert_allclose(model.predict_interval(NEW, level=0.9), expected, rtol=1e-14)


def test_cv_plus_is_its_formula() -> None:
    model = sx.ConformalRegressor(sx.Ridge(1.0), method="cv+", cv=4).fit(X, Y)
    rank = int(np.ceil(0.9 * 81))
    by_fold = np.stack([models[0].predict(NEW) for models in model.models_], axis=1)
    values = by_fold[:, model.folds_]
    high = np.sort(values + model.scores_, axis=1)[:, rank - 1]
    low = np.sort(values - model.scores_, axis=1)[:, 81 - rank - 1]
    np.testing.assert_allclose(model.predict_interval(NEW), np.stack([low, high], 1), rtol=1e-14)


def test_a_fitted_model_is_calibrated_by_other_rows() -> None:
    base = sx.LinearRegression().fit(X[:40], Y[:40])
    model = sx.ConformalRegressor(base).calibrate(X[40:], Y[40:])
    assert model.estimator_ is base
    np.testing.assert_array_equal(model.scores_, np.abs(Y[40:] - base.predict(X[40:])))
    sets = sx.ConformalClassifier(sx.GaussianNB().fit(X[:40], LABELS[:40]))
    assert sets.calibrate(X[40:], LABELS[40:]).predict_set(NEW).shape == (9, 3)


def test_a_column_has_a_quantile_for_each_of_its_values() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(site=np.where(X[:, 0] > 0, "n", "s"))
    base = make_pipeline(_Numeric(), sx.LinearRegression())
    for method in ("split", "jackknife+", "cv+"):
        model = sx.ConformalRegressor(base, method=method, by="site", calibration=0.5).fit(frame, Y)
        new = frame.iloc[:4].assign(site=["n", "s", "elsewhere", "n"])
        ends = model.predict_interval(new, level=0.8)
        assert np.isinf(ends[2]).all()
        assert np.isfinite(ends[[0, 1, 3]]).all()
        assert list(model.coverage(frame, Y).by_category) == ["n", "s"]
    assert model.categories_.levels.tolist() == ["n", "s"]
    matrix = np.column_stack([X, X[:, 0] > 0])
    split = sx.ConformalRegressor(sx.LinearRegression(), by=3, calibration=0.5).fit(matrix, Y)
    width = np.diff(split.predict_interval(matrix, level=0.8))[:, 0]
    assert len(np.unique(width.round(9))) == 2
    for method in ("jackknife+", "jackknife-minmax"):  # in closed form, and by refits
        closed, refitted = (
            sx.ConformalRegressor(model, method=method, by=3).fit(matrix, Y)
            for model in (sx.Ridge(1.0), make_pipeline(sx.Ridge(1.0)))
        )
        new = np.column_stack([NEW, np.arange(9) % 3])
        found, expected = (m.predict_interval(new, level=0.8) for m in (closed, refitted))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert np.isinf(found[2::3]).all()
    with pytest.raises(InputError, match="no column 'where'"):
        sx.ConformalRegressor(base, by="where").fit(frame, Y)


class _Numeric:
    """The numeric columns of a frame."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X.select_dtypes("number").to_numpy()


def test_sets_may_be_empty_or_full() -> None:
    model = sx.ConformalClassifier(sx.LinearDiscriminantAnalysis(), method="jackknife+")
    model.fit(X, LABELS)
    assert (model.predict_set(NEW, level=0.999)).all()
    assert (model.predict_set(NEW, level=0.05).sum(axis=1) == 0).any()
    p = model.p_values(NEW)
    np.testing.assert_array_equal(model.predict_set(NEW, level=0.8), p > 0.2 + 1e-12)


def test_a_rare_class_is_in_every_set() -> None:
    labels = LABELS.copy()
    labels[:4] = "rare"
    for method in ("split", "cv+"):
        model = sx.ConformalClassifier(sx.GaussianNB(), method=method, by="class", calibration=0.5)
        sets = model.fit(X, labels).predict_set(NEW, level=0.9)
        assert sets[:, model.classes_.tolist().index("rare")].all()


def test_a_class_that_no_fold_was_trained_on_has_probability_zero() -> None:
    labels = LABELS.copy()
    labels[7] = "once"
    model = sx.ConformalClassifier(LogisticRegression(), method="cv+").fit(X, labels)
    assert model.predict_proba(NEW).shape == (9, 4)
    assert model.scores_[7] == 1.0


@pytest.mark.parametrize("conformity", ["lac", "aps", "raps", "margin"])
def test_models_of_scikit_learn_and_weights(rng: np.random.Generator, conformity: str) -> None:
    w = rng.integers(1, 3, 80).astype(float)
    model = sx.ConformalClassifier(LogisticRegression(), conformity=conformity, randomized=True)
    model.fit(X, LABELS, sample_weight=w)
    assert model.coverage(X, LABELS, sample_weight=w, level=0.8).rows == w.sum()
    assert model.predict(NEW).tolist() == model.estimator_.predict(NEW).tolist()


def test_margins_need_no_probabilities() -> None:
    model = sx.ConformalClassifier(LinearSVC(), conformity="margin").fit(X, LABELS)
    assert not hasattr(model, "predict_proba")
    assert model.predict_set(NEW).any()
    with pytest.raises(InputError, match="has no probabilities"):
        sx.ConformalClassifier(LinearSVC()).fit(X, LABELS)


def test_quantiles_and_scales_adapt_to_the_rows() -> None:
    quantiles = sx.ConformalRegressor(QuantileRegressor(alpha=0.0), conformity="quantile")
    width = np.diff(quantiles.fit(X, Y).predict_interval(NEW))[:, 0]
    assert np.ptp(width) > 0.0
    scaled = sx.ConformalRegressor(
        sx.LinearRegression(), conformity="normalized", scale_estimator=sx.KNeighborsRegressor(9)
    )
    assert np.ptp(np.diff(scaled.fit(X, Y).predict_interval(NEW))) > 0.0
    with pytest.raises(InputError, match="no standard deviation"):
        sx.ConformalRegressor(sx.LinearRegression(), conformity="normalized").fit(X, Y)
    with pytest.raises(InputError, match="no parameter for a quantile"):
        sx.ConformalRegressor(sx.LinearRegression(), conformity="quantile").fit(X, Y)


@pytest.mark.parametrize(
    ("base", "method"),
    [
        (sx.LinearRegression(), "jackknife+"),
        (sx.KNeighborsRegressor(3), "jackknife+"),
        (sx.Ridge(1.0), "cv+"),
        (sx.BayesianRidge(), "split"),
    ],
)
def test_intervals_are_those_of_a_stored_model(base, method: str, tmp_path) -> None:
    model = sx.ConformalRegressor(base, method=method, by=2 if method == "split" else None)
    matrix = np.column_stack([X[:, :2], X[:, 2] > 0])
    new = np.column_stack([NEW[:, :2], NEW[:, 2] > 0])
    model.fit(matrix, Y)
    sx.save(model, tmp_path / "model.sx")
    loaded = sx.load(tmp_path / "model.sx")
    np.testing.assert_array_equal(loaded.predict_interval(new), model.predict_interval(new))


@pytest.mark.parametrize(
    "base",
    [sx.LinearDiscriminantAnalysis(), sx.QuadraticDiscriminantAnalysis(), sx.GaussianNB()],
    ids=lambda model: type(model).__name__,
)
def test_sets_are_those_of_a_stored_model(base, tmp_path) -> None:
    model = sx.ConformalClassifier(base, method="jackknife+", conformity="aps").fit(X, LABELS)
    assert model.fits_ is not None
    sx.save(model, tmp_path / "model.sx")
    loaded = sx.load(tmp_path / "model.sx")
    np.testing.assert_array_equal(loaded.p_values(NEW), model.p_values(NEW))


def test_tables_are_read_as_rows() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0, "n", "s"))
    table = sx.scan(frame.assign(y=Y), target="y")
    for method in ("split", "jackknife+"):
        model = sx.ConformalRegressor(sx.LinearRegression(), method=method).fit(table)
        assert np.isfinite(model.predict_interval(frame.iloc[:5], level=0.8)).all()
    sets = sx.ConformalClassifier(sx.LogisticRegression(), method="cv+", cv=3)
    sets.fit(sx.scan(frame.assign(y=LABELS), target="y"))
    assert sets.predict_set(frame.iloc[:5]).shape == (5, 3)


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: sx.ConformalRegressor(sx.Ridge(), method="naive"), "method='naive'"),
        (lambda: sx.ConformalRegressor(sx.Ridge(), conformity="gamma"), "conformity"),
        (lambda: sx.ConformalRegressor(sx.Ridge(), calibration=1.5), "calibration=1.5"),
        (lambda: sx.ConformalRegressor(sx.Ridge(), method="cv+", cv=99), "cv=99 folds"),
        (lambda: sx.ConformalRegressor(sx.GaussianNB()), "not a regression model"),
        (lambda: sx.ConformalRegressor(StandardScaler()), "not a regression model"),
        (lambda: sx.ConformalRegressor(sx.SVR(kernel="precomputed")), "compares all rows"),
    ],
)
def test_refusals_name_the_parameter(made, match: str) -> None:
    with pytest.raises(InputError, match=match):
        made().fit(X, Y)


def test_jackknife_minmax_is_for_numbers() -> None:
    with pytest.raises(InputError, match="jackknife-minmax is for numbers"):
        sx.ConformalClassifier(sx.GaussianNB(), method="jackknife-minmax").fit(X, LABELS)


def test_constant_targets_and_two_rows() -> None:
    flat = sx.ConformalRegressor(sx.LinearRegression(), method="jackknife+").fit(X, np.ones(80))
    np.testing.assert_allclose(flat.predict_interval(NEW), np.ones((9, 2)), atol=1e-9)
    two = sx.ConformalRegressor(sx.MeanRegressor(), method="jackknife+").fit(X[:2], Y[:2])
    assert np.isfinite(two.predict_interval(NEW, level=0.5)).all()
    with pytest.raises(InputError, match="n_samples=1"):
        sx.ConformalRegressor(sx.LinearRegression()).fit(X[:1], Y[:1])


@pytest.mark.parametrize("method", ["split", "cv+", "jackknife+"])
@pytest.mark.parametrize("conformity", ["aps", "raps"])
def test_certain_classes_have_sets_of_one_label(method: str, conformity: str) -> None:
    """Where nearly all labels have a probability of 1 up to rounding, only doubt adds labels."""
    x, y = load_iris(return_X_y=True)
    covered, sizes = [], []
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(len(x))
        train, test = order[:100], order[100:]
        base = sx.LinearDiscriminantAnalysis()
        model = sx.ConformalClassifier(
            base, method=method, conformity=conformity, random_state=seed
        ).fit(x[train], y[train])
        sets = model.predict_set(x[test], level=0.9)
        at = y[test]
        covered.append(sets[np.arange(50), at].mean())
        sizes.append(sets.sum(axis=1).mean())
        assert sets[np.arange(50), model.predict_proba(x[test]).argmax(axis=1)].all()
    assert np.mean(covered) > 0.9
    assert np.mean(sizes) < 1.1


def test_sets_by_mass_are_the_fewest_likely_labels_that_have_it() -> None:
    """Romano, Sesia and Candès: the labels by probability, to the first whose total reaches τ."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((4, 2))
    labels = rng.integers(0, 4, 300)
    x = centers[labels] + rng.standard_normal((300, 2))
    base = sx.LinearDiscriminantAnalysis().fit(x[:100], labels[:100])
    model = sx.ConformalClassifier(base, conformity="aps").calibrate(x[100:200], labels[100:200])
    p, sets = base.predict_proba(x[200:]), model.predict_set(x[200:], level=0.8)
    tau = np.sort(model.scores_)[int(np.ceil(0.8 * 101)) - 1]
    for probabilities, found in zip(p, sets, strict=True):
        order = np.argsort(-probabilities)
        many = int(np.searchsorted(np.cumsum(probabilities[order]), tau, side="right")) + 1
        assert set(np.flatnonzero(found)) == set(order[:many].tolist())
    inside = sets[np.arange(100), labels[200:]].mean()
    assert 0.7 < inside < 0.95
