"""What the pictures show is right: numbers against independent references."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV as SklearnLassoCV
from sklearn.linear_model import RidgeClassifier, lasso_path
from sklearn.metrics import confusion_matrix, roc_auc_score

from separatrix import (
    LassoCV,
    LeastSquaresClassifier,
    LinearRegression,
    LogisticPath,
    LogisticRegression,
    RidgeCV,
)
from separatrix.estimators.inference import inference
from separatrix.formatting import exact, join_words, number, score_info, score_text
from separatrix.messages import InputError
from separatrix.pictures import (
    CoefficientDisplay,
    ConfusionMatrixDisplay,
    CrossValidationDisplay,
    DendrogramDisplay,
    GeneralizationGapDisplay,
    LearningCurveDisplay,
    LeverageDisplay,
    PredictedActualDisplay,
    QuantileQuantileDisplay,
    RegularizationPathDisplay,
    ResidualDisplay,
    RocDisplay,
    ScaleLocationDisplay,
    SignedDistanceDisplay,
    ValidationCurveDisplay,
)
from separatrix.pictures.marks import spread_labels
from separatrix.probability.roc import roc_curve

X, Y = load_diabetes(return_X_y=True)


def test_leverage_and_cook_agree_with_statsmodels():
    influence = sm.OLS(Y, sm.add_constant(X)).fit().get_influence()
    display = LeverageDisplay.from_design(X, sm.OLS(Y, sm.add_constant(X)).fit().resid)
    assert display.n_parameters == 11
    np.testing.assert_allclose(display.leverage, influence.hat_matrix_diag, rtol=1e-9)
    np.testing.assert_allclose(display.residuals, influence.resid_studentized_internal, rtol=1e-9)
    np.testing.assert_allclose(display.cooks_distance, influence.cooks_distance[0], rtol=1e-9)
    worst = np.argsort(-influence.cooks_distance[0])[:3]
    for row in worst:
        assert f"row {row} (" in display.description


def test_leverage_of_a_fitted_model_and_of_its_design_are_one():
    model = LinearRegression().fit(X, Y)
    own = LeverageDisplay.from_estimator(model)
    other = LeverageDisplay.from_design(X, Y - model.predict(X))
    np.testing.assert_allclose(own.leverage, other.leverage, rtol=1e-8)
    np.testing.assert_allclose(own.cooks_distance, other.cooks_distance, rtol=1e-7)


def test_rank_loss_and_a_row_of_leverage_one():
    x = np.column_stack([X[:30, 0], X[:30, 0] * 2, np.eye(30)[0]])
    design = sm.add_constant(x)
    display = LeverageDisplay.from_design(x, Y[:30] - design @ np.linalg.pinv(design) @ Y[:30])
    assert display.n_parameters == 3
    assert display.leverage[0] == pytest.approx(1)
    assert "1 row with leverage 1 not shown" in display.description
    display.to_svg()


def test_weights_count_in_leverage():
    w = np.arange(1.0, 443.0) % 3 + 0.5
    root, design = np.sqrt(w), sm.add_constant(X)
    scaled = sm.OLS(Y * root, design * root[:, None]).fit()
    display = LeverageDisplay.from_design(X, Y - design @ scaled.params, w=w)
    reference = scaled.get_influence()
    np.testing.assert_allclose(display.leverage, reference.hat_matrix_diag, rtol=1e-8)
    np.testing.assert_allclose(display.cooks_distance, reference.cooks_distance[0], rtol=1e-8)


def test_coefficients_come_with_their_intervals():
    reference = sm.OLS(Y, sm.add_constant(X)).fit()
    model = LinearRegression().fit(X, Y)
    found = inference(model)
    np.testing.assert_allclose(found.estimates, reference.params[1:], rtol=1e-8)
    np.testing.assert_allclose(found.intervals, reference.conf_int()[1:], rtol=1e-8)
    np.testing.assert_allclose(found.intercept_row[0], reference.params[0])
    display = CoefficientDisplay.from_estimator(model, X)
    clear = (reference.pvalues[1:] < 0.05).sum()
    assert f"{clear} of 10 have a 95 % interval that excludes zero" in display.description
    sizes = np.abs(display.estimates * X.std(0))[display.shown]
    assert (np.diff(sizes) <= 0).all()


def test_a_refused_summary_leaves_coefficients_and_the_reason():
    class Refusing:
        coef_, intercept_ = np.array([1.0, 0.0]), 2.0

        def summary(self):
            raise InputError("The theory does not hold.")

    model = Refusing()
    found = inference(model)
    assert found.reason == "The theory does not hold."
    assert found.intervals is None
    display = CoefficientDisplay.from_estimator(model)
    assert "1 coefficient exactly zero" in display.description
    with pytest.raises(InputError, match="no leverage"):
        LeverageDisplay.from_estimator(model)


@pytest.mark.parametrize(
    ("model", "scored"),
    [
        (LogisticRegression(C=np.inf), "log odds"),
        (LeastSquaresClassifier(), "score"),
        (LinearRegression(), "prediction"),
    ],
)
def test_coefficients_name_what_they_change(model, scored):
    x, y = X[:, :3], np.median(Y) < Y
    display = CoefficientDisplay.from_estimator(model.fit(x, y), x)
    assert f"change of the {scored} per standard deviation" in display.description


def test_path_of_a_logistic_model_is_drawn_over_one_over_c():
    path = LogisticPath(8, l1_ratio=1.0, standardize=True).fit(X, np.median(Y) < Y)
    display = RegularizationPathDisplay.from_estimator(path)
    assert display.chosen == 1 / path.C_
    np.testing.assert_array_equal(display.coefs[display.position], np.ravel(path.coef_))


def test_penalties_over_decades_have_powers_of_ten_and_within_one_1_2_5():
    def ticks(last, first=0.1):
        display = RegularizationPathDisplay([first, last], [[1.0], [0.0]], ("age",)).plot()
        display.figure_.canvas.draw()
        return {text.get_text() for text in display.ax_.get_xticklabels()}

    assert {"10⁻¹", "10³"} <= ticks(1000.0)
    assert {"0.2", "0.5"} <= ticks(1.0)
    assert 4 <= len(ticks(3e9) & {f"10{power}" for power in "⁰¹²³⁴⁵⁶⁷⁸⁹"}) <= 6
    assert {"0.2", "0.5", "1", "2", "5"} <= ticks(8.0, first=0.2)


def test_only_the_longest_of_many_are_shown_and_it_is_stated():
    display = CoefficientDisplay([f"c{j}" for j in range(50)], np.arange(50.0))
    assert display.shown == list(range(49, 29, -1))
    assert "The 20 largest of 50 are shown." in display.description


class Path(BaseEstimator):
    """A fitted path, as other libraries may store it."""

    def __init__(self, alphas, coefs, alpha):
        self.alphas_, self.coefs_, self.alpha_ = alphas, coefs, alpha

    def fit(self):
        return self


def test_path_takes_either_orientation_and_marks_the_chosen_point():
    alphas, coefs, _ = lasso_path(X, Y - Y.mean())
    names = [f"c{j}" for j in range(10)]
    model, tall = (Path(alphas, c, alphas[50]) for c in (coefs, coefs.T))
    a, b = (
        RegularizationPathDisplay.from_estimator(model),
        RegularizationPathDisplay.from_estimator(tall),
    )
    np.testing.assert_array_equal(a.coefs, b.coefs)
    np.testing.assert_array_equal(a.coefs[a.position], coefs[:, 50])
    assert f"{np.count_nonzero(coefs[:, 50])} are nonzero" in a.description
    with pytest.raises(InputError, match="shape"):
        RegularizationPathDisplay(alphas, coefs, names)
    with pytest.raises(InputError, match="stores no regularization path"):
        RegularizationPathDisplay.from_estimator(LinearRegression().fit(X, Y))


def test_a_model_without_penalty_is_marked_at_the_end_of_the_path_or_beside_it():
    alphas, names = np.geomspace(1e-3, 1e3, 20), ("a", "b")
    coefs = np.array([4.0, -2.0]) / (1 + alphas)[:, None]
    end = RegularizationPathDisplay(alphas, coefs, names, reference=np.array([4.0, -2.0]))
    assert "(least squares, no penalty) is the weak end of the path" in end.description
    apart = RegularizationPathDisplay(
        alphas, coefs, names, reference=np.array([4.0, -1.0]), reference_name="huber"
    )
    assert "(huber) is not on it" in apart.description
    assert "in b, by 1" in apart.description
    ax = end.plot().ax_
    assert ax.get_xlim()[1] < alphas[0]
    assert min(ax.get_xticks()) >= alphas[0]
    with pytest.raises(InputError, match="2 coefficients"):
        RegularizationPathDisplay(alphas, coefs, names, reference=np.zeros(3))


def test_a_frame_with_text_is_scaled_by_the_encoding_of_the_model():
    table = pd.DataFrame({"age": X[:, 0], "town": np.array(["a", "b", "c"])[np.arange(len(X)) % 3]})
    model = RidgeCV([0.1, 1.0]).fit(table, Y)
    design = np.column_stack([X[:, 0], table["town"] == "b", table["town"] == "c"]).astype(float)
    for display in (RegularizationPathDisplay, CoefficientDisplay):
        assert display.from_estimator(model, table).names == ("age", "town=b", "town=c")
        for rows in (table, design):
            found = display.from_estimator(model, rows).scale
            np.testing.assert_allclose(found, design.std(axis=0), rtol=1e-12)
    with pytest.raises(InputError, match=r"town.*text.*was fitted to numbers"):
        RegularizationPathDisplay.from_estimator(RidgeCV([1.0]).fit(design, Y), table)
    with pytest.raises(InputError, match=r"2\).*3 coefficients"):
        RegularizationPathDisplay.from_estimator(model, design[:, :2])


def test_path_with_a_penalty_of_zero_and_a_constant_path():
    display = RegularizationPathDisplay([0.0, 1.0, 10.0], np.zeros((3, 2)), ("a", "b"), 1.0)
    assert display.alphas.tolist() == [1, 10]
    assert display.labeled == []
    display.to_svg()


def test_the_valley_of_the_error_agrees_with_scikit_learn():
    model = LassoCV(cv=5, rule="one_se").fit(X, Y)
    display = ValidationCurveDisplay.from_estimator(model)
    reference = SklearnLassoCV(cv=5, alphas=model.alphas_).fit(X, Y)
    mean = reference.mse_path_.mean(axis=1)
    spread = reference.mse_path_.std(axis=1, ddof=1) / np.sqrt(5)
    assert display.alphas[display.best] == pytest.approx(reference.alpha_)
    np.testing.assert_allclose(display.mean[::-1], mean, rtol=1e-4)
    np.testing.assert_allclose(display.standard_error[::-1], spread, rtol=1e-2)
    assert display.within_one_se[1] == model.alpha_ > reference.alpha_
    assert f"{np.sqrt(mean.min()):.2f}, at penalty" in display.description
    assert "at the chosen one" in display.description
    with pytest.raises(InputError, match="stores no errors"):
        ValidationCurveDisplay.from_estimator(LinearRegression().fit(X, Y))
    with pytest.raises(InputError, match="3 penalties"):
        ValidationCurveDisplay([1, 2, 3], np.ones((2, 5)))


def test_the_legend_says_which_rows_the_error_is_of():
    def legend(display):
        return display.plot().ax_.get_legend().get_texts()[0].get_text()

    left_out = ValidationCurveDisplay.from_estimator(RidgeCV([0.1, 1.0, 10.0]).fit(X, Y))
    assert legend(left_out) == "mean over rows left out"
    assert left_out.description.startswith("Leave-one-out RMSE")
    assert left_out.ax_.get_ylabel() == "leave-one-out RMSE"
    assert legend(ValidationCurveDisplay([1, 2], [3, 4])) == "one fold"
    assert legend(ValidationCurveDisplay([1, 2], [[3, 3], [4, 4]])) == "mean over 2 folds"


def test_a_cliff_does_not_flatten_the_valley():
    errors = np.geomspace(1e8, 1.0, 30)
    display = ValidationCurveDisplay(np.geomspace(1e3, 1e-3, 30), errors, 1e-3)
    assert "at the chosen penalty 0.001" in display.description
    assert display.plot().ax_.get_ylim()[1] < 10


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
def test_labels_are_spread_apart_in_order(places):
    moved = spread_labels(np.array(places), 1.0)
    order = np.argsort(places, kind="stable")
    assert (np.diff(moved[order]) >= 1 - 1e-9).all()
    assert moved.mean() == pytest.approx(np.mean(places), abs=1e-9)


def test_confusion_counts_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    truth, called = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    w = rng.uniform(size=200)
    display = ConfusionMatrixDisplay.from_predictions(truth, called, sample_weight=w)
    np.testing.assert_allclose(display.counts, confusion_matrix(truth, called, sample_weight=w))
    np.testing.assert_allclose(
        display.proportions, confusion_matrix(truth, called, normalize="true", sample_weight=w)
    )
    absent = ConfusionMatrixDisplay.from_predictions([1, 1], [1, 1], labels=[0, 1])
    assert absent.counts.tolist() == [[0, 0], [0, 2]]
    assert "2 of 2 rows are correct" in absent.description


def test_distances_are_geometry():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 3))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=60) > 0, "b", "a")
    model = RidgeClassifier().fit(x, y)
    display = SignedDistanceDisplay.from_estimator(model, x, y)
    w, t = np.ravel(model.coef_), -float(np.ravel(model.intercept_)[0])
    projection = x - np.outer(display.values, w / np.linalg.norm(w))
    np.testing.assert_allclose(projection @ w, t, atol=1e-12)
    wrong = model.predict(x) != y
    assert display.wrong(0) + display.wrong(1) == wrong.sum()


def test_distance_of_several_classes_is_to_the_nearest_own_boundary():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    x += np.repeat([[0, 3], [3, 0], [-2, -2]], 30, axis=0)
    model = RidgeClassifier().fit(x, y)
    display = SignedDistanceDisplay.from_estimator(model, x, y)
    np.testing.assert_array_equal(display.values > 0, model.predict(x) == y)
    row = int(np.argmax(display.values))
    own = list(model.classes_).index(y[row])
    to_other = []
    for k in set(range(3)) - {own}:
        normal = model.coef_[own] - model.coef_[k]
        offset = model.intercept_[own] - model.intercept_[k]
        to_other.append((normal @ x[row] + offset) / np.linalg.norm(normal))
    assert display.values[row] == pytest.approx(min(to_other))


def test_roc_marks_the_decision_in_use():
    y, score = np.array([0, 0, 1, 1, 1]), np.array([-2.0, 0.5, -0.1, 0.3, 2.0])
    display = RocDisplay.from_predictions(y, score)
    assert display.operating_point == (0.5, pytest.approx(2 / 3))
    assert RocDisplay.from_predictions(y, score, threshold=None).operating_point is None


def test_the_band_of_the_folds_spans_their_curves():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    score = np.round(rng.normal(size=200) + y, 1)
    folds = [roc_curve(y[i::4], score[i::4]) for i in range(4)]
    display = RocDisplay.from_predictions(y, score, folds=folds)
    areas = [roc_auc_score(y[i::4], score[i::4]) for i in range(4)]
    assert display.fold_areas == (pytest.approx(min(areas)), pytest.approx(max(areas)))
    assert f"from {min(areas):.3f} to {max(areas):.3f}" in display.description
    labels = [text.get_text() for text in display.plot().ax_.get_legend().get_texts()]
    assert labels[0].startswith("4 folds")
    assert "fold" not in RocDisplay.from_predictions(y, score).description


def test_a_roc_curve_at_any_rate():
    """The largest height at a rate where the curve climbs, the line between two thresholds."""
    curve = roc_curve([1, 0, 1, 1, 0, 0], [3.0, 2.0, 2.0, 1.0, 0.5, 0.0])
    np.testing.assert_allclose(curve.fpr, [0, 0, 1 / 3, 1 / 3, 2 / 3, 1])
    at = curve.tpr_at(np.array([0, 1 / 6, 1 / 3, 0.5, 1]))
    np.testing.assert_allclose(at, [1 / 3, 0.5, 1, 1, 1])
    grid = np.linspace(0, 1, 200_001)
    assert np.trapezoid(curve.tpr_at(grid), grid) == pytest.approx(curve.area, abs=1e-5)


def test_worst_rows_are_named_by_the_names_given():
    residuals = np.zeros(50)
    residuals[[7, 21, 40]] = 5, -9, 3
    rows = [f"id{i}" for i in range(50)]
    for display in (
        ResidualDisplay(np.arange(50.0), residuals, rows),
        QuantileQuantileDisplay(residuals, rows),
        ScaleLocationDisplay(np.arange(50.0), residuals, rows),
    ):
        named = [w.strip("(),.") for w in display.description.split() if w.startswith("id")]
        assert named == ["id21", "id7", "id40"]
        assert all(f">{name}<" in display.to_svg() for name in named)


def test_labels_of_rows_go_by_position_whatever_their_index():
    labels = pd.Series(list("abcdef"), index=range(100, 106))
    x, y = np.arange(6.0), np.array([0.0, 0, 0, 9, 0, 0])
    assert "largest: d (" in PredictedActualDisplay(y, np.zeros(6), labels).description
    assert (
        "Largest: d (" in ResidualDisplay.from_predictions(y, 0 * y, row_labels=labels).description
    )
    tree = DendrogramDisplay.from_linkage(linkage(x[:, None]), leaf_labels=labels).plot()
    assert {text.get_text() for text in tree.ax_.get_xticklabels()} == set("abcdef")


@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_and_perfect_fits_are_drawn(n):
    for display in (
        ResidualDisplay.from_predictions(np.ones(n), np.ones(n)),
        QuantileQuantileDisplay(np.zeros(n)),
        ScaleLocationDisplay(np.ones(n), np.zeros(n)),
        LeverageDisplay.from_design(np.ones((n, 2)), np.zeros(n)),
        ConfusionMatrixDisplay.from_predictions(["a"] * n, ["a"] * n),
    ):
        assert "nan" not in display.description
        display.to_svg()


def test_learning_curve_states_whether_more_rows_help():
    sizes, flat = [50, 100, 200, 400], np.full((4, 5), 2.0)
    falling = np.array([9.0, 6, 4, 3])[:, None] + np.linspace(-0.1, 0.1, 5)
    assert "more rows may help" in LearningCurveDisplay(sizes, flat, falling, "rmse").description
    assert "change little" in LearningCurveDisplay(sizes, flat, flat, "rmse").description
    rising = LearningCurveDisplay(sizes, flat, 1 - falling / 10, "accuracy")
    assert "more rows may help" in rising.description


def test_folds_and_generalization_gap_follow_the_direction_of_the_measure():
    folds = CrossValidationDisplay(
        ["low", "high"], [np.array([0.1, 0.2]), np.array([0.8, 0.9])], "accuracy"
    )
    assert folds.description.index("high") < folds.description.index("low ")
    assert "85.0 %" in folds.description
    scores = [np.array([3.0, 5.0])]
    assert "Mean, and range over the folds, best first: a 4" in (
        CrossValidationDisplay(["a"], scores, "rmse").caption
    )
    pooled = CrossValidationDisplay(["a"], scores, "rmse", pooled=[np.sqrt(17.0)]).caption
    assert pooled.startswith("All rows left out together, and range over the folds")
    assert pooled.endswith("a 4.123 (3 to 5).")
    gap = GeneralizationGapDisplay(
        ["training", "test"], [50.0, 60.0], [np.nan, 55], [np.nan, 65], "rmse"
    )
    assert "Test is 20 % higher than training." in gap.description


def test_wording():
    assert number(-1234.5678) == "−1,235"
    assert number(0.000012345) == "1.234e−5"
    assert (number(np.nan), number(np.inf), number(3.0)) == ("–", "∞", "3")
    assert exact(42.2) == "42.2"
    assert score_text(0.0123, "error") == "1.2 %"
    assert score_text(-0.01, "r2") == "−0.010"
    assert score_info("ROC AUC") == score_info("auc")
    assert not score_info("something new").higher_is_better
    assert [join_words("a"), join_words("ab"), join_words("abc")] == [
        "a",
        "a and b",
        "a, b and c",
    ]


def test_a_class_met_in_the_test_part_only_has_a_row_of_its_own():
    found = ConfusionMatrixDisplay.from_predictions(
        ["a", "b", "new"], ["a", "a", "b"], labels=["b", "a"]
    )
    assert found.labels == ["b", "a", "new"]
    assert found.counts.tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
