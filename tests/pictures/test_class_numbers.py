"""What the pictures of classifiers show is right: numbers against independent references."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_wine, make_moons
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.svm import SVC
from statsmodels.stats.proportion import proportion_confint

from separatrix import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    NuSVC,
    RejectOption,
)
from separatrix.messages import InputError
from separatrix.pictures import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    CoverageRiskDisplay,
    DecisionBoundaryDisplay,
    DualCoefficientDisplay,
    GeneralizationGapDisplay,
    LogOddsDisplay,
    MarginDisplay,
    OneVsRestRocDisplay,
    SignedDistanceDisplay,
    SupportVectorDisplay,
    SVMPathDisplay,
)

WINE = load_wine(as_frame=True)
WINES = WINE.target_names[WINE.target]
CANCER, MALIGNANT = load_breast_cancer(return_X_y=True)
FEW = CANCER[:, :3]


@pytest.fixture(scope="module")
def bayes():
    return GaussianNB().fit(FEW[::2], MALIGNANT[::2])


@pytest.fixture(scope="module")
def svm():
    x, y = make_moons(200, noise=0.25, random_state=0)
    return SVC(C=2.0, gamma=1.0).fit(x, y), x, y


def test_calibration_agrees_with_scikit_learn(bayes):
    display = CalibrationDisplay.from_estimator(bayes, FEW[1::2], MALIGNANT[1::2])
    p = bayes.predict_proba(FEW[1::2])[:, 1]
    observed, predicted = calibration_curve(MALIGNANT[1::2], p, n_bins=10)
    np.testing.assert_allclose(display.curves[0].observed, observed)
    np.testing.assert_allclose(display.curves[0].predicted, predicted)
    brier = brier_score_loss(MALIGNANT[1::2], p)
    assert display.brier_scores[0] == pytest.approx(brier)
    assert f"Brier score {brier:.3f}" in display.description
    np.testing.assert_allclose(display.histograms[0], np.histogram(p, 20, (0, 1))[0] / p.size)


def test_intervals_are_wilsons(bayes):
    display = CalibrationDisplay.from_estimator(bayes, FEW, MALIGNANT)
    curve = display.curves[0]
    n = curve.weight * MALIGNANT.size
    ends = proportion_confint(np.round(n * curve.observed), n, method="wilson")
    np.testing.assert_allclose(display.confidence_intervals(0), np.transpose(ends), atol=1e-9)


def test_several_calibrations_lie_over_one_another(bayes):
    p = bayes.predict_proba(FEW)[:, 1]
    both = CalibrationDisplay.from_predictions(MALIGNANT, {"before": p, "after": np.sqrt(p)})
    alone = CalibrationDisplay.from_predictions(MALIGNANT, np.sqrt(p))
    assert both.calibration_errors[1] == alone.calibration_errors[0] != both.calibration_errors[0]
    assert both.description.startswith("Before: expected calibration error")
    assert "after: expected" in both.description
    with pytest.raises(InputError, match="no probabilities"):
        CalibrationDisplay.from_predictions(MALIGNANT, {})


def test_calibration_of_several_classes_judges_the_prediction():
    model = LinearDiscriminantAnalysis().fit(WINE.data.iloc[:, :2], WINES)
    display = CalibrationDisplay.from_estimator(model, WINE.data.iloc[:, :2], WINES)
    p = model.predict_proba(WINE.data.iloc[:, :2])
    right = model.predict(WINE.data.iloc[:, :2]) == WINES
    assert display.curves[0].weight @ display.curves[0].observed == pytest.approx(right.mean())
    assert display.brier_scores[0] == pytest.approx(np.mean((p.max(axis=1) - right) ** 2))
    assert display.axis_label == "probability of the predicted class"


def test_a_group_off_the_diagonal_is_named():
    p = np.repeat([0.15, 0.85], 200)
    y = np.r_[np.arange(200) < 120, np.arange(200) < 170]
    text = CalibrationDisplay.from_predictions(y, p).description
    assert "predicted 15 %, observed 60 %" in text
    fair = CalibrationDisplay.from_predictions(np.r_[np.arange(200) < 30, np.arange(200) < 170], p)
    assert "include the diagonal" in fair.description


def test_roc_areas_agree_with_scikit_learn():
    model = GaussianNB().fit(WINE.data.iloc[:, :2], WINES)
    display = OneVsRestRocDisplay.from_estimator(model, WINE.data.iloc[:, :2], WINES)
    p = model.predict_proba(WINE.data.iloc[:, :2])
    for k, label in enumerate(model.classes_):
        assert display.areas[k] == pytest.approx(roc_auc_score(label == WINES, p[:, k]))
    mean = roc_auc_score(WINES, p, multi_class="ovr", average="macro")
    assert f"macro average {mean:.3f}" in display.description


def test_a_class_without_rows_has_no_curve():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    y = np.array(["a", "b"])[np.arange(20) % 2]
    assert OneVsRestRocDisplay.from_predictions(y, p, "abc").labels == ["a", "b"]
    with pytest.raises(InputError, match="all of one"):
        OneVsRestRocDisplay.from_predictions(["a"] * 20, p, "abc")
    with pytest.raises(InputError, match="up to 10"):
        OneVsRestRocDisplay.from_predictions(y, np.ones((20, 11)), range(11))
    with pytest.raises(InputError, match="shape"):
        OneVsRestRocDisplay.from_predictions(y, p[:, 0], "abc")


def test_coverage_and_risk_are_those_of_the_rule(bayes):
    model = RejectOption(bayes, costs=0.1).fit(FEW[::2], MALIGNANT[::2])
    display = CoverageRiskDisplay.from_estimator(model, FEW, MALIGNANT)
    answers = model.predict(FEW)
    answered = answers != -1
    coverage, risk = display.operating_point
    assert coverage == pytest.approx(answered.mean())
    assert risk == pytest.approx(np.mean(answers[answered].astype(int) != MALIGNANT[answered]))
    assert display.curve.risk[-1] == pytest.approx(np.mean(bayes.predict(FEW) != MALIGNANT))
    assert display.rejection_cost == 0.1
    assert f"coverage {100 * coverage:.0f} %" in display.description
    # Where one price holds for all classes, the rule takes a point of the curve.
    assert coverage in display.curve.coverage


def test_costs_that_differ_are_described_as_costs():
    p = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]])
    display = CoverageRiskDisplay.from_predictions(
        ["a", "b", "a", "z"], p, ["a", "b"], costs=[[0, 4, 1.5], [1, 0, 0.5]]
    )
    assert display.metric == "mean_cost"
    assert display.description.startswith("Mean cost")
    assert display.rejection_cost is None
    # expected costs: row 1 (0.1, 3.6), row 2 (0.6, 1.6), row 3 (0.8, 0.8); rejection 1.4, 0.9, 0.7
    assert display.operating_point == pytest.approx((2 / 3, 0.5))
    assert display.curve.coverage.tolist() == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert "Under the decision rule in use, coverage 67 %" in display.description


def test_log_odds_of_own_class():
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.0, 1.0, 0.0]])
    display = LogOddsDisplay.from_probabilities(["a", "a", "b"], p, ["a", "b", "c"])
    np.testing.assert_allclose(display.values[:2], np.log([0.5 / 0.3, 0.1 / 0.8]))
    assert np.isfinite(display.values).all()
    assert [display.wrong(i) for i in range(3)] == [1, 0, 0]
    model = LogisticRegression(C=1.0).fit(FEW, MALIGNANT)
    two = LogOddsDisplay.from_estimator(model, FEW, MALIGNANT)
    reference = np.clip(model.decision_function(FEW), -20, 20)
    np.testing.assert_allclose(two.values, reference, atol=1e-6)
    assert display.values[2] == 20.0
    assert "1 row at ±20 or beyond" in display.description


def test_distances_in_standard_deviations_do_not_depend_on_units():
    scale = np.array([1.0, 1e6, 1e-4])
    model = LogisticRegression(C=np.inf).fit(FEW, MALIGNANT)
    other = LogisticRegression(C=np.inf).fit(FEW * scale, MALIGNANT)
    one = SignedDistanceDisplay.from_estimator(model, FEW, MALIGNANT, scale=FEW.std(axis=0))
    two = SignedDistanceDisplay.from_estimator(
        other, FEW * scale, MALIGNANT, scale=(FEW * scale).std(axis=0)
    )
    np.testing.assert_allclose(two.values, one.values, rtol=1e-5, atol=1e-7)
    assert one.description.startswith(
        "Signed distance to the decision boundary, in standard deviations."
    )
    z = (FEW - FEW.mean(axis=0)) / FEW.std(axis=0)
    w = model.coef_[0] * FEW.std(axis=0)
    t = -(model.intercept_[0] + model.coef_[0] @ FEW.mean(axis=0))
    np.testing.assert_allclose(one.values, (z @ w - t) / np.linalg.norm(w), atol=1e-8)


def test_rows_of_a_class_unknown_to_the_model_are_left_out():
    scores, normals = np.arange(12.0).reshape(4, 3), np.eye(3)
    display = SignedDistanceDisplay.from_scores(
        ["a", "z", "b", "c"], scores, normals, ["a", "b", "c"]
    )
    assert display.values.size == 3
    p = np.full((4, 3), 1 / 3)
    assert LogOddsDisplay.from_probabilities(["a", "z", "b", "c"], p, "abc").values.size == 3


def test_a_rejection_is_no_error():
    truth, called = ["a", "a", "b", "b", "b"], ["a", "reject", "b", "a", "reject"]
    display = ConfusionMatrixDisplay.from_predictions(truth, called, reject_label="reject")
    np.testing.assert_array_equal(display.counts, [[1, 0, 1], [1, 1, 1]])
    assert "2 of 5 rows are correct, 2 rejected" in display.description
    assert "b predicted as a, 1 times" in display.description
    labels = [t.get_text() for t in display.plot().ax_.get_xticklabels()]
    assert labels == ["a", "b", "reject"]


def test_a_model_that_abstains_has_a_column_for_it(bayes):
    careful = RejectOption(bayes, costs=0.05).from_fitted(bayes)
    display = ConfusionMatrixDisplay.from_estimator(careful, FEW[1::2], MALIGNANT[1::2])
    assert (display.labels, display.reject_label) == (["0", "1"], "-1")
    assert display.counts[:, 2].sum() == (careful.predict(FEW[1::2]) == -1).sum()
    plain = ConfusionMatrixDisplay.from_estimator(bayes, FEW[1::2], MALIGNANT[1::2])
    assert plain.reject_label is None


def test_boundary_is_described_as_a_projection_with_its_errors():
    model = LinearDiscriminantAnalysis().fit(WINE.data, WINES)
    display = DecisionBoundaryDisplay.from_estimator(model, WINE.data, WINES)
    assert display.description.startswith("A projection: the first two discriminant directions")
    assert "all other directions are at their means" in display.description
    assert "for 100 % of 178 points" in display.description
    assert int(display.wrong.sum()) == int(np.sum(model.predict(WINE.data) != WINES))
    lines = [a for a in display.plot().ax_.lines if len(a.get_xdata()) == 72]
    assert len(lines) == 6  # two ellipses for each class
    inner = np.column_stack(lines[0].get_data())
    normal = display.decision_surface.normals[0]
    np.testing.assert_allclose(normal.mahalanobis(inner), 1.0, atol=1e-6)
    outer = np.column_stack(lines[1].get_data())
    np.testing.assert_allclose(normal.mahalanobis(outer), 2.0, atol=1e-6)


def test_boundary_of_a_matrix_counts_points_outside_and_rejects():
    x = FEW.copy()
    x[0] *= 50
    model = RejectOption(GaussianNB(), costs=0.05).fit(x, MALIGNANT)
    display = DecisionBoundaryDisplay.from_estimator(model, x, MALIGNANT)
    assert display.outside >= 1
    assert "outside the window" in display.description
    rejected = np.mean(model.predict(x) == -1)
    assert f"Rejected (grey): {100 * rejected:.0f} %." in display.description
    assert "the largest remaining variance" in display.description


def test_many_dots_are_a_density_and_a_small_svg():
    rng = np.random.default_rng(0)
    y = np.arange(6000) % 2
    x = rng.normal(size=(6000, 2)) + 3 * y[:, None]
    model = LinearDiscriminantAnalysis().fit(x, y)
    text = DecisionBoundaryDisplay.from_estimator(model, x, y, max_points=2000).to_svg()
    assert text.count("h0") == 0
    assert len(text) < 70_000


def test_margins_are_counted_by_side(svm):
    model, x, y = svm
    display = MarginDisplay.from_estimator(model, x, y)
    m = np.where(y == 1, 1, -1) * model.decision_function(x)
    wrong, inside, beyond = display.counts
    assert wrong == np.sum(model.predict(x) != y)
    assert wrong + inside + beyond == 200
    assert beyond == np.sum(m > 0.999)
    edges = display.plot().ax_.patches[0].get_data().edges
    assert {0.0, 1.0} <= set(np.round(edges, 9))
    with pytest.raises(InputError, match="two classes; y has 3 classes"):
        MarginDisplay.from_predictions([0, 1, 2], [1.0, 2.0, 3.0])
    far = MarginDisplay(np.r_[m, 1e6, -1e6])
    assert far.plot().ax_.get_xlim()[1] < 100


def test_support_vectors_are_the_models_own(svm):
    _, x, y = svm
    model = SVC(C=2.0, gamma=1.0).fit(pd.DataFrame(x, columns=["u", "v"]), y)
    display = SupportVectorDisplay.from_estimator(model, pd.DataFrame(x, columns=["u", "v"]), y)
    assert display.support.sum() == model.n_support_.sum()
    assert display.surface.names == ("u", "v")
    assert not display.surface.projected
    at = display.surface.values[10, 20]
    place = pd.DataFrame([[display.surface.x[20], display.surface.y[10]]], columns=["u", "v"])
    assert at == pytest.approx(model.decision_function(place)[0])
    assert f"{model.n_support_[0]} of 100 of 0" in display.description
    wide = SVC(kernel="linear").fit(WINE.data[WINE.target < 2], WINES[WINE.target < 2])
    seen = SupportVectorDisplay.from_estimator(
        wide, WINE.data[WINE.target < 2], WINES[WINE.target < 2]
    )
    assert seen.surface.projected
    assert "A projection" in seen.description
    with pytest.raises(InputError, match="3 classes"):
        SupportVectorDisplay.from_estimator(SVC().fit(WINE.data, WINES), WINE.data, WINES)


def test_dual_coefficients_of_a_fraction_are_those_of_the_costs_found(svm):
    _, X, y = svm
    model = NuSVC(nu=0.3).fit(X, y)
    display = DualCoefficientDisplay.from_estimator(model, y)
    assert display.alpha.sum() == pytest.approx(0.3 * display.C.sum())
    assert display.relative.max() <= 1.0 + 1e-9


def test_dual_coefficients_fall_into_three_groups(svm):
    model, _, y = svm
    display = DualCoefficientDisplay.from_estimator(model, y)
    dual = np.abs(model.dual_coef_[0])
    groups = np.array([display.groups(label) for label in display.labels]).sum(axis=0)
    assert groups.tolist() == [
        200 - dual.size,
        int(np.sum(dual < 2.0 * (1 - 1e-6))),
        int(np.sum(dual >= 2.0 * (1 - 1e-6))),
    ]
    assert display.relative.max() == pytest.approx(1.0)
    assert (
        f"{dual.size} of 200 rows ({dual.size / 2:.0f} %) are support vectors"
        in display.description
    )
    with pytest.raises(InputError, match="two classes"):
        DualCoefficientDisplay.from_estimator(SVC().fit(WINE.data, WINES), WINES)
    with pytest.raises(InputError, match="labels"):
        DualCoefficientDisplay([1.0, 0.0], 1.0, ["a"], ["a", "b"])


def test_path_over_c_finds_the_best_score():
    Cs, support = np.array([10.0, 0.1, 1.0]), [5, 50, 20]
    display = SVMPathDisplay(Cs, support, [[0.2, 0.3], [0.4, 0.5], [0.1, 0.2]], 1.0)
    assert display.Cs.tolist() == [0.1, 1.0, 10.0]
    assert display.n_support.tolist() == [50, 20, 5]
    assert display.best == 1
    assert "best validation error rate, 15.0 %, is at C = 1" in display.description
    higher = SVMPathDisplay(Cs, support, [0.2, 0.4, 0.1], metric="accuracy")
    assert higher.Cs[higher.best] == 0.1
    for wrong in ([1.0, 2.0], [1, 2, 3, 4]):
        with pytest.raises(InputError, match="values of C"):
            SVMPathDisplay(Cs, wrong)
    with pytest.raises(InputError, match="above zero"):
        SVMPathDisplay([0.0, 1.0], [1, 2])
    with pytest.raises(InputError, match="stores no path"):
        SVMPathDisplay.from_estimator(SVC().fit(FEW, MALIGNANT))


def test_a_large_ratio_is_described_as_a_multiple():
    display = GeneralizationGapDisplay(
        ["training", "test"], [0.001, 0.02], [np.nan] * 2, [np.nan] * 2, "log_loss"
    )
    assert "Test is 20 times that of training." in display.description


def test_of_many_classes_the_worst_are_described():
    rng = np.random.default_rng(0)
    labels = [f"k{i}" for i in range(10)]
    y = np.repeat(labels, 20)
    p = rng.dirichlet(np.ones(10), 200)
    display = LogOddsDisplay.from_probabilities(y, p, labels)
    assert "Highest error rates:" in display.description
    assert display.description.count("median") == 6
    worst = max(range(10), key=display.wrong)
    assert f"{display.wrong(worst)} of 20 rows" in display.description
