"""Calibrations by independent references: pooling adjacent violators, general optimisers, facts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from separatrix.messages import InputError
from separatrix.probability.calibrations import fit_class_means, fit_isotonic, fit_platt
from separatrix.probability.roc import binary_scores, roc_curve


def draw(seed, n, decimals=9):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return y, np.round(rng.normal(size=n) + y, decimals), rng.uniform(0.1, 3, n)


def rows(y, s, w=None):
    return binary_scores("A test", y, s, w)


@pytest.mark.parametrize("decimals", [0, 1, 9], ids=["many ties", "some ties", "no ties"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_hull_is_pooling_adjacent_violators(decimals, weighted):
    y, s, w = draw(1, 500, decimals)
    w = w if weighted else None
    plateaus, certificate = fit_isotonic(rows(y, s, w))
    reference = IsotonicRegression(out_of_bounds="clip").fit(s, y, sample_weight=w)
    grid = np.concatenate([s, np.linspace(s.min() - 1, s.max() + 1, 333)])
    np.testing.assert_allclose(plateaus.probability(grid), reference.predict(grid), atol=1e-12)
    assert certificate.holds
    assert certificate.kkt < 1e-12


def test_plateaus_are_the_edges_of_the_roc_hull():
    y, s, w = draw(2, 300, 1)
    curve = roc_curve(y, s, sample_weight=w)
    plateaus, _ = fit_isotonic(rows(y, s, w))
    np.testing.assert_array_equal(plateaus.low[::-1], curve.thresholds[curve.hull][1:])
    rise = np.diff(curve.true_positives[curve.hull])
    run = np.diff(curve.false_positives[curve.hull])
    np.testing.assert_allclose(plateaus.value[::-1], rise / (rise + run))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(-4, 4), st.integers(0, 5)), min_size=2))
def test_any_small_table_agrees_with_pooling(items):
    y, s, w = (np.array(column) for column in zip(*items, strict=True))
    if len(set(y[w > 0])) < 2:
        with pytest.raises(InputError):
            rows(y, s, w)
        return
    plateaus, certificate = fit_isotonic(rows(y, s, w))
    keep = w > 0
    reference = IsotonicRegression().fit(s[keep], y[keep].astype(float), sample_weight=w[keep])
    np.testing.assert_allclose(plateaus.probability(s[keep]), reference.predict(s[keep]))
    assert certificate.holds
    assert (np.diff(plateaus.value) > 0).all()


def test_the_certificate_of_plateaus_notices_a_wrong_value():
    from separatrix.probability.loops import isotonic_violation

    pos, neg, none = np.array([1.0, 3.0]), np.array([2.0, 4.0]), np.empty(0)
    args = pos, none, neg, none
    assert isotonic_violation(*args, np.array([4.0]), np.array([0.5])) == 0
    assert isotonic_violation(*args, np.array([4.0]), np.array([0.6])) > 0.05
    assert isotonic_violation(*args, np.array([2.0, 4.0]), np.array([0.5, 0.5])) == 0
    assert isotonic_violation(*args, np.array([1.0, 4.0]), np.array([1.0, 1 / 3])) > 0.1


def test_light_rows_keep_their_digits():
    y = np.array([0, 1, 0, 1, 0, 1])
    w = np.array([1e12, 1e12, 3e-6, 1e-6, 1.0, 1e12])
    plateaus, _ = fit_isotonic(rows(y, [0.0, 1.0, 5.0, 4.0, 6.0, 7.0], w))
    pooled = (1e12 + 1e-6) / (1e12 + 1e-6 + 3e-6 + 1.0)
    np.testing.assert_allclose(plateaus.value, [0.0, pooled, 1.0], rtol=1e-15)


def test_class_means_give_the_posterior_of_two_normals():
    rng = np.random.default_rng(0)
    n = 200_000
    y = rng.random(n) < 0.25
    s = 1.5 * rng.standard_normal(n) + np.where(y, 3.0, 1.0)
    found = fit_class_means(rows(y, s))
    assert found.slope == pytest.approx(2.0 / 1.5**2, rel=0.02)
    assert found.center == pytest.approx(2.0, abs=0.02)
    assert found.log_ratio == pytest.approx(np.log(1 / 3), abs=0.02)
    even = fit_class_means(rows(y, s), ratio=1.0)
    assert even.probability(np.array([even.center]))[0] == 0.5


def test_units_and_origin_of_scores_do_not_matter():
    y, s, w = draw(3, 200)
    for fit in (fit_class_means, lambda r: fit_platt(r)[0]):
        plain = fit(rows(y, s, w)).probability(s)
        moved = fit(rows(y, 1e8 * s + 1e9, w)).probability(1e8 * s + 1e9)
        np.testing.assert_allclose(moved, plain, atol=1e-6)


def test_scores_without_spread_give_a_step_or_the_ratio():
    y = np.array([0, 0, 1])
    step = fit_class_means(rows(y, [-1.0, -1.0, 2.0]))
    np.testing.assert_array_equal(step.probability(np.array([-1.0, 2.0])), [0.0, 1.0])
    for flat in (
        fit_class_means(rows(y, [7.0] * 3)),
        fit_platt(rows(y, [7.0] * 3), smooth=False)[0],
    ):
        np.testing.assert_allclose(flat.probability(np.array([7.0])), 1 / 3)


@pytest.mark.parametrize("smooth", [False, True])
def test_platt_is_the_greatest_likelihood(smooth):
    y, s, w = draw(4, 300)
    found, certificate = fit_platt(rows(y, s, w), smooth=smooth)
    n1, n0 = w[y == 1].sum(), w[y == 0].sum()
    t = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2)) if smooth else y

    def loss(x):
        m = x[0] * s + x[1]
        return np.sum(w * (np.logaddexp(0, m) - t * m))

    best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-8})
    assert found.slope == pytest.approx(best.x[0], rel=1e-5)
    assert found.log_ratio - found.slope * found.center == pytest.approx(best.x[1], rel=1e-4)
    assert certificate.primal == pytest.approx(best.fun, rel=1e-9)
    assert certificate.holds


def test_separated_classes_are_refused_or_smoothed():
    separated = rows(np.array([0, 0, 1, 1]), [0.0, 1.0, 1.0, 2.0])
    with pytest.raises(InputError, match="smooth=True"):
        fit_platt(separated, smooth=False)
    smooth, certificate = fit_platt(separated)
    assert np.isfinite(smooth.slope)
    assert certificate.holds


def test_weights_are_repeated_rows():
    y, s, _ = draw(5, 80, 1)
    w = np.random.default_rng(1).integers(0, 4, 80)
    for fit in (
        fit_class_means,
        lambda r: fit_platt(r)[0],
        lambda r: fit_isotonic(r)[0],
    ):
        a = fit(rows(y, s, w)).probability(s)
        b = fit(rows(np.repeat(y, w), np.repeat(s, w))).probability(s)
        np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("scale", [1e4, 1e300])
def test_extreme_scores_give_finite_probabilities(scale):
    y, s, _ = draw(6, 50)
    for fit in (
        fit_class_means,
        lambda r: fit_platt(r)[0],
        lambda r: fit_isotonic(r)[0],
    ):
        p = fit(rows(y, s)).probability(np.array([-scale, 0.0, scale]))
        assert np.isfinite(p).all()
        assert (p >= 0).all()
        assert (p <= 1).all()


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_of_scores_and_weights_may_be_extreme(unit):
    y, s, w = draw(7, 60)
    with np.errstate(all="raise", under="ignore"):
        for fit in (
            fit_class_means,
            lambda r: fit_platt(r)[0],
            lambda r: fit_isotonic(r)[0],
        ):
            plain = fit(rows(y, s, w)).probability(s)
            np.testing.assert_allclose(fit(rows(y, s * unit, w)).probability(s * unit), plain)
        plain = fit_isotonic(rows(y, s, w))[0].value
        np.testing.assert_allclose(fit_isotonic(rows(y, s, w * unit))[0].value, plain)
