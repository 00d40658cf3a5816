"""Brier score and its parts, calibration error, coverage and risk, costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from separatrix.messages import InputError
from separatrix.probability.costs import costs_of
from separatrix.probability.reliability import brier_score, expected_calibration_error, reliability
from separatrix.probability.roc import coverage_risk


def draw(seed=0, n=500):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 2)
    return (rng.random(n) < p**2).astype(int), p, rng.uniform(0.1, 2, n)


@pytest.mark.parametrize("bins", [None, 1, 10])
def test_the_parts_add_up_to_the_brier_score(bins):
    y, p, w = draw()
    found = reliability(y, p, bins=bins, sample_weight=w)
    assert found.brier == pytest.approx(brier_score_loss(y, p, sample_weight=w))
    total = found.reliability - found.resolution + found.uncertainty + found.within
    assert total == pytest.approx(found.brier)
    base = np.average(y, weights=w)
    assert found.uncertainty == pytest.approx(base * (1 - base))
    if bins is None:
        assert abs(found.within) < 1e-12


def test_calibration_error_by_hand():
    y = np.array([0, 1, 1, 1])
    p = np.array([0.1, 0.1, 0.9, 1.0])
    assert expected_calibration_error(y, p) == pytest.approx(0.5 * 0.4 + 0.5 * 0.05)
    assert reliability(y, p).maximum_calibration_error == pytest.approx(0.4)
    assert expected_calibration_error(np.ones(3, bool), np.ones(3)) == 0
    assert expected_calibration_error(["a", "b"], [1.0, 0.0], positive="a") == 0


def test_brier_of_several_classes():
    p = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 1.0]])
    labels = np.array(["a", "b", "c"])
    assert brier_score(["a", "b"], p, labels) == pytest.approx((0.09 + 0.04 + 0.01 + 2) / 2)
    y, q, w = draw()
    both = brier_score(y, np.column_stack([1 - q, q]), [0, 1], sample_weight=w)
    assert both == pytest.approx(2 * reliability(y, q, sample_weight=w).brier)


def test_refusals_teach():
    with pytest.raises(InputError, match="not a probability"):
        reliability([0, 1], [0.5, 1.5])
    with pytest.raises(InputError, match="no bin"):
        reliability([0, 1], [0.5, 0.5], bins=0)
    with pytest.raises(InputError, match="shape"):
        brier_score([0, 1], [[1.0, 0.0]], [0, 1])
    with pytest.raises(InputError, match="per row"):
        coverage_risk([1.0], [1.0, 2.0])


def test_coverage_and_risk_by_hand():
    curve = coverage_risk([0.1, 0.3, 0.3, 0.5], [0, 1, 0, 1])
    np.testing.assert_allclose(curve.coverage, [0.25, 0.75, 1.0])
    np.testing.assert_allclose(curve.risk, [0, 1 / 3, 0.5])
    assert curve.risk_at(0.5) == pytest.approx(1 / 3)
    assert curve.coverage_at(0.4) == 0.75
    assert curve.area == pytest.approx(0.5 / 3 + 0.25 * 0.5)
    weighted = coverage_risk([0.1, 0.3, 0.2], [0, 1, 5], sample_weight=[1, 3, 0])
    np.testing.assert_allclose(weighted.coverage[[0, -1]], [0.25, 1])
    assert weighted.risk[-1] == 0.75


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_no_decision_has_less_expected_cost_than_the_chosen_one(seed, k):
    rng = np.random.default_rng(seed)
    matrix, p = rng.random((k, k + 1)), rng.dirichlet(np.ones(k), 20)
    chosen = costs_of(matrix, np.arange(k)).decide(p)
    paid = (p[:, :, None] * matrix).sum(axis=1)
    np.testing.assert_allclose(paid[np.arange(20), chosen], paid.min(axis=1))


def test_one_rejection_cost_is_a_threshold_on_the_posterior():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    chosen = costs_of(0.3, np.arange(3)).decide(p)
    np.testing.assert_array_equal(chosen == 3, p.max(axis=1) < 0.7)
    np.testing.assert_array_equal(chosen[chosen < 3], p.argmax(axis=1)[chosen < 3])


def test_costs_by_name():
    labels = np.array(["ill", "well"])
    found = costs_of({"ill": {"well": 10.0, "reject": 1.0}, "well": {"reject": 1.0}}, labels)
    np.testing.assert_array_equal(found.matrix, [[0, 10], [1, 0]])
    np.testing.assert_array_equal(found.reject_cost, [1, 1])
    assert costs_of({"ill": {"well": 10.0}}, labels).reject_cost is None
    with pytest.raises(InputError, match="Did you mean 'well'"):
        costs_of({"ill": {"wel": 1.0}}, labels)
    with pytest.raises(InputError, match="no rejection cost for class"):
        costs_of({"ill": {"reject": 1.0}}, labels)
    with pytest.raises(InputError, match="2 x 3"):
        costs_of([1, 2, 3], labels)
    with pytest.raises(InputError, match="finite"):
        costs_of(np.nan, labels)
