"""Calibrations and calibrated classifiers: facts, scikit-learn as reference, awkward data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import separatrix as sx
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Term

METHODS = ("logistic", "isotonic", "platt")
CALIBRATIONS = (sx.LogisticCalibration, sx.PlattCalibration, sx.IsotonicCalibration)


def clouds(k=2, n=300, seed=0, apart=1.5):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    codes[: 2 * k] = np.repeat(np.arange(k), 2)
    angle = 2 * np.pi * np.arange(k) / k
    centres = apart * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(k)])
    names = np.array([f"class {c}" for c in range(k)])
    return centres[codes] + rng.standard_normal((n, 3)), names[codes]


def test_fact_of_the_basic_linear_classifier():
    """γ = ‖μ⁺ − μ⁻‖/σ² and d₀ = 0 on signed distances: calibration does not move the boundary."""
    x, y = clouds()
    model = sx.BasicLinearClassifier().fit(x, y)
    distance = model.signed_distance(x)
    found = sx.LogisticCalibration(ratio=1.0).fit(distance, y)
    means = np.array([x[y == label].mean(axis=0) for label in model.classes_])
    away = distance - np.where(
        y == model.classes_[1], *(distance[y == c].mean() for c in model.classes_[::-1])
    )
    assert found.slope_ == pytest.approx(np.linalg.norm(means[1] - means[0]) / np.mean(away**2))
    assert found.center_ == pytest.approx(0.0, abs=1e-12)
    assert_array_equal(found.predict(distance) > 0.5, model.predict(x) == model.classes_[1])


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_calibrations_are_estimators_that_can_be_stored(kind, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 200)
    s = rng.standard_normal(200) + (y == "yes")
    model = clone(kind()).fit(s, y)
    p = model.predict(s)
    assert list(model.classes_) == ["no", "yes"]
    assert model.certificate_.holds
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(s), p)
    sx.save(model, tmp_path / "c.sx")
    assert_array_equal(sx.load(tmp_path / "c.sx").predict(s[:, None]), p)
    for scores, labels, text in (
        (np.ones((3, 2)), [0, 1, 1], "one score per row"),
        ([1.0, 2.0], [1, 1], "two classes"),
        ([1.0, np.nan], [0, 1], "cannot be ranked"),
    ):
        with pytest.raises(sx.InputError, match=text):
            kind().fit(scores, labels)
    with pytest.raises(sx.InputError, match="not a number"):
        model.predict([0.0, np.nan])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("method", "theirs"), [("isotonic", "isotonic"), ("platt", "sigmoid")])
def test_agrees_with_scikit_learn_on_the_same_folds(k, method, theirs):
    x, y = clouds(k)
    cv = StratifiedKFold(4)
    own = sx.CalibratedClassifier(RidgeClassifier(), method=method, cv=cv).fit(x, y)
    peer = CalibratedClassifierCV(RidgeClassifier(), method=theirs, cv=cv, ensemble=False).fit(x, y)
    new = clouds(k, seed=1)[0]
    assert_allclose(
        own.predict_proba(new), peer.predict_proba(new), atol=2e-4 if method == "platt" else 1e-9
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [2, 4])
def test_probabilities_are_probabilities_and_predictions_agree(method, k):
    x, y = clouds(k)
    model = sx.CalibratedClassifier(sx.BasicLinearClassifier(), method=method).fit(x, y)
    for rows in (x, 1e4 * x, np.array([[1e8, 0, 0], [-1e8, 0, 0], [0, 0, 0]])):
        p = model.predict_proba(rows)
        assert np.isfinite(p).all()
        assert_allclose(p.sum(axis=1), 1.0)
        assert_array_equal(model.predict(rows), model.classes_[p.argmax(axis=1)])
    assert model.certificate_.holds
    proportions = np.array([(y == label).mean() for label in model.classes_])
    chance = log_loss(y, np.tile(proportions, (len(y), 1)))
    assert log_loss(y, model.predict_proba(x)) < 0.9 * chance


def test_calibration_corrects_overconfident_scores():
    x, y = clouds(2, 2000, apart=0.7)
    new, truth = clouds(2, 4000, seed=5, apart=0.7)
    forest = RandomForestClassifier(20, random_state=0)
    raw = forest.fit(x, y).predict_proba(new)[:, 1]
    for method in METHODS:
        p = sx.CalibratedClassifier(forest, method=method).fit(x, y).predict_proba(new)[:, 1]
        before = sx.expected_calibration_error(truth, raw)
        assert sx.expected_calibration_error(truth, p) < 0.5 * before


@pytest.mark.parametrize("method", METHODS)
def test_tables_give_what_arrays_give(method):
    x, y = clouds(3, 120)
    labels = sorted(set(y))
    hot = (y[:, None] == np.array(labels)).astype(float)
    rows = ArrayRows(x, hot, targets=[Term("y", label) for label in labels])
    make = lambda: sx.CalibratedClassifier(sx.LeastSquaresClassifier(), method=method)  # noqa: E731
    a, b = make().fit(x, y), make().fit(rows)
    assert list(b.classes_) == labels
    assert_allclose(a.predict_proba(x), b.predict_proba(x), atol=1e-12)


def test_tables_with_text_columns(tmp_path):
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "blue"], 80)
    size = rng.standard_normal(80)
    answer = np.where(size + (colour == "red") + 0.5 * rng.standard_normal(80) > 0.5, "yes", "no")
    table = {"colour": colour, "size": size, "answer": answer}
    rows = sx.scan({k: v.tolist() for k, v in table.items()}, target="answer")
    for model in (
        sx.CalibratedClassifier(sx.LeastSquaresClassifier()),
        sx.OneVsRest(sx.CalibratedClassifier(sx.LeastSquaresClassifier())),
        sx.RejectOption(sx.CalibratedClassifier(sx.LeastSquaresClassifier()), costs=0.01),
    ):
        model.fit(rows)
        p = model.predict_proba({"size": [3.0, -3.0], "colour": ["red", "blue"]})
        assert p[0, 1] > 0.9
        assert p[1, 1] < 0.1
        sx.save(model, tmp_path / "m.sx")
        assert_array_equal(
            sx.load(tmp_path / "m.sx").predict_proba(rows), model.predict_proba(rows)
        )


def test_zero_weight_is_absence():
    x, y = clouds(3, 90)
    w = np.ones(len(y))
    w[60:] = 0
    labels = y.copy()
    labels[60:] = "class 9"
    make = lambda: sx.CalibratedClassifier(sx.LeastSquaresClassifier())  # noqa: E731
    a = make().fit(x, labels, sample_weight=w)
    assert_allclose(a.predict_proba(x), make().fit(x[:60], y[:60]).predict_proba(x), atol=1e-9)


def test_refusals_teach():
    x, y = clouds(3, 30)
    own = sx.CalibratedClassifier(sx.LeastSquaresClassifier())
    with pytest.raises(sx.InputError, match="There are: 'logistic'"):
        clone(own).set_params(method="beta").fit(x, y)
    with pytest.raises(sx.InputError, match="only one class"):
        clone(own).fit(x, np.zeros(30))
    with pytest.raises(sx.InputError, match="has one row"):
        clone(own).fit(x, np.append(y[:-1], "rare"))
    with pytest.raises(sx.InputError, match="between 2 and 30"):
        clone(own).set_params(cv=31).fit(x, y)
    first, others = np.flatnonzero(y == y[0]), np.flatnonzero(y != y[0])
    with pytest.raises(sx.InputError, match="absent from the training rows"):
        clone(own).set_params(cv=[(others, first)]).fit(x, y)
    with pytest.raises(sx.InputError, match="takes no sample_weight"):
        sx.CalibratedClassifier(KNeighborsClassifier()).fit(x, y, sample_weight=np.ones(30))
    four = np.arange(32) % 4
    with pytest.raises(sx.InputError, match="one-against-the-rest"):
        sx.CalibratedClassifier(SVC(decision_function_shape="ovo")).fit(np.eye(32), four)
    with pytest.raises(sx.InputError, match="cannot be stored"):
        sx.save(sx.CalibratedClassifier(RidgeClassifier()).fit(x, y), "never.sx")


def test_two_rows_of_each_class_and_many_classes():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(1000), 2)
    x = np.column_stack([codes % 32, codes // 32]) + 0.01 * rng.standard_normal((2000, 2))
    model = sx.CalibratedClassifier(sx.BasicLinearClassifier(), cv=2).fit(x, codes)
    p = model.predict_proba(x[:50])
    assert p.shape == (50, 1000)
    assert_allclose(p.sum(axis=1), 1.0)


def test_isotonic_of_many_rows_is_pooling():
    rng = np.random.default_rng(3)
    s = np.round(rng.standard_normal(60_000), 3)
    y = rng.random(60_000) < 1 / (1 + np.exp(-2 * s))
    own = sx.IsotonicCalibration().fit(s, y)
    assert_allclose(own.predict(s), IsotonicRegression().fit(s, y).predict(s), atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_one_temperature_for_all_classes(k):
    """Scores twice too large: the maximum likelihood β is a half, by an independent search."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((20_000, k))
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = (rng.random((20_000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    found = sx.TemperatureCalibration().fit(2.0 * scores, y)
    assert found.certificate_.holds

    def loss(beta):
        s = beta * 2.0 * scores
        return np.mean(np.logaddexp.reduce(s, axis=1) - s[np.arange(len(y)), y])

    best = minimize_scalar(loss, bounds=(0.1, 2.0), method="bounded", options={"xatol": 1e-9}).x
    assert found.map_.inverse_temperature == pytest.approx(best, rel=8e-3)  # smoothed
    assert found.map_.inverse_temperature == pytest.approx(0.5, abs=0.03)
    assert_array_equal(found.predict(scores).argmax(axis=1), scores.argmax(axis=1))
    half = sx.TemperatureCalibration().fit(2e8 * scores, y).map_.inverse_temperature
    assert half == pytest.approx(1e-8 * found.map_.inverse_temperature, rel=1e-6)


def test_temperatures_of_awkward_scores():
    y = np.arange(12) % 3
    right = np.eye(3)[y]
    assert 1.0 < sx.TemperatureCalibration().fit(right, y).map_.inverse_temperature < 100.0
    assert sx.TemperatureCalibration().fit(-right, y).map_.inverse_temperature == 0.0
    flat = sx.TemperatureCalibration().fit(np.full((12, 3), 7.0), y)
    assert_allclose(flat.predict([[1e300, 1e300, 1e300]]), 1 / 3)
    with pytest.raises(sx.InputError, match="2 columns, and y has 3"):
        sx.TemperatureCalibration().fit(right[:, :2], y)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("inner", [sx.GaussianNB, sx.BasicLinearClassifier])
def test_a_temperature_changes_no_prediction_and_can_be_stored(k, inner, tmp_path):
    x, y = clouds(k)
    x = np.column_stack([x, x, x])  # columns that repeat make naive Bayes overconfident
    model = sx.CalibratedClassifier(inner(), method="temperature").fit(x, y)
    plain = inner().fit(x, y)
    assert_array_equal(model.predict(x), plain.predict(x))
    assert_array_equal(model.predict(x), model.classes_[model.predict_proba(x).argmax(axis=1)])
    if inner is sx.GaussianNB:
        assert model.calibrations_[0].map_.inverse_temperature < 0.6
        assert log_loss(y, model.predict_proba(x)) < log_loss(y, plain.predict_proba(x))
    sx.save(model, tmp_path / "m.sx")
    assert_array_equal(sx.load(tmp_path / "m.sx").predict_proba(x), model.predict_proba(x))
