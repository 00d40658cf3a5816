"""Doubt as the cheapest answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import separatrix as sx
from tests.probability.test_calibrated import clouds


def test_one_rejection_cost_is_a_threshold_on_the_posterior():
    x, y = clouds(3)
    model = sx.RejectOption(GaussianNB(), costs=0.3).fit(x, y)
    p = GaussianNB().fit(x, y).predict_proba(x)
    expected = np.where(p.max(axis=1) < 0.7, "reject", model.classes_[p.argmax(axis=1)])
    assert_array_equal(model.predict(x), expected)
    assert model.predict(x).dtype.kind == "U"
    assert 0 < np.mean(model.predict(x) == "reject") < 0.9
    assert list(model.labels_) == [*model.classes_, "reject"]


def test_no_rule_costs_less_on_true_probabilities():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 20_000)

    class Truth(GaussianNB):
        def predict_proba(self, X):
            return X

    costs = np.array([[0, 1, 4, 0.6], [2, 0, 1, 0.6], [1, 1, 0, 0.3]])
    y = (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1)
    model = sx.RejectOption(Truth(), costs=costs).fit(p, y)
    paid = model.mean_cost(p, y)
    assert_allclose(paid, (p @ costs).min(axis=1).mean(), atol=0.01)
    for rule in range(4):
        assert paid < costs[y, rule].mean()
    assert paid < costs[y, p.argmax(axis=1)].mean()
    assert paid < costs[y, (p @ costs[:, :3]).argmin(axis=1)].mean()


def test_errors_of_different_cost_move_the_boundary():
    x, y = clouds(2, 2000)
    costs = {"class 0": {"class 1": 9.0}}
    model = sx.RejectOption(LogisticRegression(), costs=costs).fit(x, y)
    p = model.predict_proba(x)[:, 1]
    assert_array_equal(model.predict(x) == "class 1", p > 0.9)
    assert "reject" not in model.predict(x)


def test_coverage_and_risk():
    x, y = clouds(3, 2000)
    model = sx.RejectOption(GaussianNB(), costs=0.2).fit(x, y)
    curve = model.coverage_risk(x, y)
    answered = model.predict(x) != "reject"
    assert_allclose(curve.risk[-1], np.mean(GaussianNB().fit(x, y).predict(x) != y))
    at = np.searchsorted(curve.thresholds, 0.2, side="right") - 1
    assert_allclose(curve.coverage[at], answered.mean())
    assert_allclose(curve.risk[at], np.mean(model.predict(x)[answered] != y[answered]))
    assert curve.risk_at(0.3) < 0.5 * curve.risk[-1]
    assert model.score(x, y) == np.mean(model.predict(x) == y)


@pytest.mark.parametrize(
    ("labels", "given", "reject"),
    [
        ([0, 1], None, -1),
        ([0, 1], 7, 7),
        ([-1, 1], None, -2),
        ([2.0, 5.0], None, -1.0),
        ([False, True], None, -1),
        (["a", "b"], None, "reject"),
        (["a", "b"], "unsure", "unsure"),
    ],
)
def test_predictions_are_of_the_kind_of_the_labels(labels, given, reject):
    x, y = clouds(2)
    y = np.array(labels)[(y == "class 1").astype(int)]
    vote = sx.OneVsRest(sx.LeastSquaresClassifier(), reject=True, reject_label=given).fit(x, y)
    for model in (sx.RejectOption(GaussianNB(), costs=0.05, reject_label=given).fit(x, y), vote):
        predicted = model.predict(x)
        assert predicted.dtype.kind == np.array([*labels, reject]).dtype.kind
        if model is not vote:  # which rejects none of two classes
            assert set(predicted.tolist()) == {*labels, reject}
            assert model.score(x, y) == np.mean(predicted == y)


def test_labels_of_two_kinds_are_refused():
    x, y = clouds(2)
    codes = (y == "class 1").astype(int)
    for labels, reject in ((codes, "reject"), (y, -1)):
        with pytest.raises(sx.InputError, match="another kind"):
            sx.RejectOption(GaussianNB(), reject_label=reject).fit(x, labels)
        with pytest.raises(sx.InputError, match="another kind"):
            sx.OneVsOne(GaussianNB(), reject=True, reject_label=reject).fit(x, labels)


def test_refusals_teach():
    x, y = clouds(2)
    with pytest.raises(sx.InputError, match="CalibratedClassifier"):
        sx.RejectOption(sx.LeastSquaresClassifier()).fit(x, y)
    with pytest.raises(sx.InputError, match="is a class"):
        sx.RejectOption(GaussianNB(), reject_label="class 1").fit(x, y)
    with pytest.raises(sx.InputError, match="below 0"):
        sx.RejectOption(GaussianNB(), costs=-0.2).fit(x, y)
    with pytest.raises(sx.InputError, match="2 x 3"):
        sx.RejectOption(GaussianNB(), costs=np.eye(3)).fit(x, y)
    with pytest.raises(sx.InputError, match="not among the training rows"):
        sx.RejectOption(GaussianNB()).fit(x, y).mean_cost(x[:1], ["other"])
    with pytest.raises(sx.InputError, match="reads matrices"):
        sx.RejectOption(GaussianNB()).fit(sx.scan({"a": [1, 2], "y": ["p", "q"]}, target="y"))
