"""ROC curves against scikit-learn's, their hull against SciPy's, and the awkward cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.spatial import ConvexHull
from scipy.stats import mannwhitneyu
from sklearn import metrics

import separatrix as sx
from separatrix.messages import InputError
from separatrix.probability.roc import roc_curve


def draw(seed, n, levels):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return y, np.round(rng.normal(size=n) + y, levels), rng.uniform(0.1, 3, n)


@pytest.mark.parametrize("levels", [0, 1, 12], ids=["many ties", "some ties", "no ties"])
def test_agrees_with_scikit_learn(levels):
    y, score, w = draw(0, 400, levels)
    curve = roc_curve(y, score, sample_weight=w)
    fpr, tpr, thresholds = metrics.roc_curve(y, score, sample_weight=w, drop_intermediate=False)
    np.testing.assert_allclose(curve.fpr, fpr, atol=1e-14)
    np.testing.assert_allclose(curve.tpr, tpr, atol=1e-14)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    assert curve.area == pytest.approx(metrics.roc_auc_score(y, score, sample_weight=w), abs=1e-14)
    assert curve.average_precision == pytest.approx(
        metrics.average_precision_score(y, score, sample_weight=w), abs=1e-14
    )


def test_area_is_the_chance_of_a_right_order():
    y, score, _ = draw(1, 300, 1)
    u = mannwhitneyu(score[y == 1], score[y == 0]).statistic
    assert roc_curve(y, score).area == pytest.approx(u / ((y == 1).sum() * (y == 0).sum()))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 120), st.sampled_from([0, 1, 9]))
def test_hull_is_scipys_convex_hull(seed, n, levels):
    y, score, _ = draw(seed, n, levels)
    curve = roc_curve(y, score)
    corners = curve.hull
    assert corners[0] == 0
    assert corners[-1] == curve.fpr.size - 1
    points = np.column_stack([curve.fpr, curve.tpr])
    closed = np.vstack([points, [1.0, 0.0]])
    assert curve.hull_area == pytest.approx(ConvexHull(closed).volume, abs=1e-12)
    rise, run = np.diff(curve.true_positives[corners]), np.diff(curve.false_positives[corners])
    assert (rise[1:] * run[:-1] < rise[:-1] * run[1:]).all(), "every vertex is a strict corner"
    start = 1 if run[0] == 0 else 0
    above = np.interp(curve.fpr, curve.fpr[corners][start:], curve.tpr[corners][start:])
    assert (curve.tpr <= above + 1e-12).all(), "no point is above the hull"


def test_slopes_of_the_hull_are_the_isotonic_fit():
    y, score, _ = draw(5, 200, 9)
    curve = roc_curve(y, score)
    fitted = isotonic_regression(y[np.argsort(-score, kind="stable")], increasing=False).x
    rise = np.diff(curve.true_positives[curve.hull])
    run = np.diff(curve.false_positives[curve.hull])
    np.testing.assert_allclose(np.repeat(rise / (rise + run), np.diff(curve.hull)), fitted)


def test_perfect_reversed_and_useless_scores():
    y = np.array(["no", "no", "yes", "yes"])
    assert roc_curve(y, [0, 1, 2, 3]).area == 1
    worst = roc_curve(y, [3, 2, 1, 0])
    assert (worst.area, worst.hull_area) == (0, 0.5)
    flat = roc_curve(y, [1, 1, 1, 1])
    assert (flat.area, flat.hull_area, flat.positive) == (0.5, 0.5, "yes")
    assert roc_curve(y, [0, 1, 2, 3], positive="no").area == 0


def test_weight_is_repetition_and_zero_weight_is_absence():
    y, score, _ = draw(3, 60, 1)
    w = np.random.default_rng(0).integers(0, 4, 60)
    weighted = roc_curve(y, score, sample_weight=w)
    repeated = roc_curve(np.repeat(y, w), np.repeat(score, w))
    np.testing.assert_array_equal(weighted.true_positives, repeated.true_positives)
    assert weighted.hull_area == pytest.approx(repeated.hull_area)


@pytest.mark.parametrize(
    ("y", "score", "text"),
    [
        ([1, 1], [0, 1], "two classes"),
        ([0, 1, 2], [0, 1, 2], "rest"),
        ([0, 1], [0, np.nan], "row 2"),
        ([0, 1], [[0, 1]], "one score per row"),
    ],
)
def test_refusals_teach(y, score, text):
    with pytest.raises(InputError, match=text):
        roc_curve(y, score)


def test_rows_are_counted_from_one() -> None:
    scores = [0.1, np.nan, 0.3]
    for refused in (
        lambda: sx.roc_curve([0, 1, 1], scores),
        lambda: sx.reliability([0, 1, 1], scores),
        lambda: sx.LogisticCalibration().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]).predict(scores),
    ):
        with pytest.raises(sx.InputError, match="row 2"):
            refused()
