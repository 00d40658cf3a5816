"""The numbers in pictures of columns, by hand."""

import numpy as np
import pandas as pd
import pytest

from separatrix import LinearRegression, LogisticRegression
from separatrix.messages import InputError
from separatrix.pictures import (
    ColumnDistributionDisplay,
    CorrelationDisplay,
    PartialDependenceDisplay,
    PermutationImportanceDisplay,
    PredictedActualDisplay,
)
from separatrix.pictures.style import value_text


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    return X, 3 * X["a"] - X["b"] + 0.1 * rng.normal(size=400)


@pytest.mark.parametrize(
    ("value", "display", "text"),
    [
        (2014.0, "year", "2014"),
        (16_130.0, "date", "2014-03-01"),
        (16_130.5, "datetime", "2014-03-01 12:00"),
        (16_130.0, "datetime", "2014-03-01"),
        (-1.0, "date", "1969-12-31"),
        (30_600.0, "time", "08:30"),
        (2014.0, "", "2,014"),
        (1e12, "date", "1.00e12"),
        (float("nan"), "date", "–"),
    ],
)
def test_values_as_text(value, display, text):
    assert value_text(value, display) == text


def test_axes_of_years_and_dates():
    years = ColumnDistributionDisplay.from_values(
        "year", np.arange(1990, 2021).repeat(9), display="year"
    ).plot()
    years.figure_.canvas.draw()
    texts = [t.get_text() for t in years.ax_.get_xticklabels() if t.get_text()]
    assert texts
    assert all(t.isdigit() and len(t) == 4 for t in texts)
    grid = np.linspace(15_000, 19_000, 20)
    days = PartialDependenceDisplay("day", grid, grid, ["y"], display="date").plot()
    days.figure_.canvas.draw()
    texts = [t.get_text() for t in days.ax_.get_xticklabels() if t.get_text()]
    assert {"2012", "2016", "2020"} <= set(texts) or {"2012", "2014", "2016"} <= set(texts)
    assert "2011-01-26" in days.description


def test_predicted_against_actual_are_on_equal_axes():
    display = PredictedActualDisplay.from_predictions([1.0, 2.0, 9.0], [1.0, 4.0, 6.0]).plot()
    assert display.ax_.get_xlim() == display.ax_.get_ylim()
    assert display.r_squared == pytest.approx(1 - 13 / 38)
    assert "row 2 (predicted 6, actually 9)" in display.caption
    days = PredictedActualDisplay.from_predictions(
        [16_130.0, 17_000.0], [16_130.0] * 2, display="date"
    )
    assert "(predicted 2014-03-01, actually 2016-07-18)" in days.caption
    days.plot().figure_.canvas.draw()
    assert "2015" in [t.get_text() for t in days.ax_.get_yticklabels()]
    constant = PredictedActualDisplay.from_predictions([2.0, 2.0], [2.0, 3.0])
    assert "R²" not in constant.caption
    with pytest.raises(InputError, match="shape"):
        PredictedActualDisplay.from_predictions([1.0], [1.0, 2.0])


def test_many_predictions_are_a_density():
    rng = np.random.default_rng(1)
    y = rng.normal(size=9000)
    text = PredictedActualDisplay.from_predictions(y, y + rng.normal(size=9000)).to_svg()
    assert "crispEdges" in text
    assert len(text) < 45_000


def test_importance_of_a_model_is_the_rise_of_its_error(rows):
    X, y = rows
    display = PermutationImportanceDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    assert display.names == ("a", "b", "c")
    # √(σ² + 2 β² var x) − σ
    assert display.increase[0] == pytest.approx(np.sqrt(18) - 0.1, rel=0.1)
    assert display.increase[1] == pytest.approx(np.sqrt(2) - 0.1, rel=0.1)
    assert abs(display.increase[2]) < 0.01
    assert display.above_zero.tolist()[:2] == [True, True]
    assert display.base == pytest.approx(0.1, rel=0.1)
    assert display.shown[:2] == [0, 1]
    by_loss = PermutationImportanceDisplay.from_estimator(
        LinearRegression().fit(X.to_numpy(), y), X.to_numpy(), y,
        loss=lambda truth, p: np.abs(truth - p), metric="mae",
    )  # fmt: skip
    assert by_loss.metric == "mae"
    assert by_loss.increase[0] > 2


def test_importance_of_a_classifier_is_in_per_cent(rows):
    X, y = rows
    label = np.where(y > 0, "yes", "no")
    display = PermutationImportanceDisplay.from_estimator(
        LogisticRegression(C=1.0).fit(X, label), X, label
    )
    assert display.metric == "error"
    assert 0.3 < display.increase[0] < 0.6
    assert "%" in display.description


def test_squared_losses_are_drawn_as_roots():
    display = PermutationImportanceDisplay.from_losses(
        ["a"], [5.0], [[-9.0, 12.0]], 4.0, squared=True
    )
    assert display.increase.tolist() == [1.0]
    assert display.intervals.tolist() == [[-2.0, 2.0]]
    assert display.base == 2.0


def test_importance_refuses_what_does_not_fit():
    with pytest.raises(InputError, match="names"):
        PermutationImportanceDisplay(["a"], np.zeros(2), np.zeros((2, 2)))
    with pytest.raises(InputError, match="no column"):
        PermutationImportanceDisplay([], np.zeros(0), np.zeros((0, 2)))


def test_partial_dependence_of_a_line_is_its_slope(rows):
    X, y = rows
    model = LinearRegression().fit(X, y)
    display = PartialDependenceDisplay.from_estimator(model, X, "b")
    assert display.heading == "Partial dependence on b"
    assert np.diff(display.average[:, 0]) / np.diff(display.values) == pytest.approx(
        model.coef_[1], abs=1e-9
    )
    assert display.individual.shape == (30, len(display.values))


def test_partial_dependence_of_classes(rows):
    X, y = rows
    two = LogisticRegression(C=1.0).fit(X, np.where(y > 0, "yes", "no"))
    display = PartialDependenceDisplay.from_estimator(two, X, 0)
    assert list(display.outputs) == ["yes"]
    assert display.plot().ax_.get_ylabel() == "mean probability of yes"
    three = LogisticRegression(C=1.0).fit(X, np.digitize(y, [-2, 2]))
    display = PartialDependenceDisplay.from_estimator(three, X, 0)
    assert display.average.sum(axis=1) == pytest.approx(1.0)
    assert display.individual is None


def test_histograms_by_class_have_equal_areas():
    display = ColumnDistributionDisplay.from_values(
        "x", [0.0, 1.0, 1.0, 1.0, 2.0], ["u", "u", "v", "v", "v"]
    )
    assert display.counts.tolist() == [[1, 0], [1, 2], [0, 1]]
    heights = [patch.get_data().values for patch in display.plot().ax_.patches]
    assert {round(float(h.sum()), 9) for h in heights} == {1.0}
    assert display.caption == "Median by class, u: 0; v: 1."


def test_histograms_state_what_is_not_drawn():
    x = np.append(np.random.default_rng(0).normal(size=999), [1e6, np.nan])
    display = ColumnDistributionDisplay.from_values("x", x)
    assert (display.missing, display.counts.sum()) == (1, 1000 - display.outside)
    assert display.outside >= 1
    assert "1 row without a value." in display.caption
    assert "beyond the axis." in display.caption
    many = ColumnDistributionDisplay.from_values("x", np.arange(90.0), np.arange(90) % 9 * 1.0)
    assert many.mean is not None
    named = ColumnDistributionDisplay.from_values(
        "x", np.arange(90.0), [f"k{i % 9}" for i in range(90)]
    )
    assert len(named.shown) == 6
    assert "The 6 most frequent of 9 classes are drawn." in named.caption


def test_mean_of_the_target_by_level():
    display = ColumnDistributionDisplay.from_values("c", ["u", "u", "v"], [1.0, 3.0, 8.0])
    assert display.mean.tolist() == [2.0, 8.0]
    assert display.deviation.tolist() == [1.0, 0.0]
    assert display.caption == "From 2 of u to 8 of v."


def test_correlated_columns_stand_side_by_side():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    X = np.column_stack([a, b, -a + 0.1 * rng.normal(size=200), b + 0.1 * rng.normal(size=200)])
    display = CorrelationDisplay.from_rows(X, names=["a", "b", "minus a", "b too"])
    order = display.order.tolist()
    assert abs(order.index(0) - order.index(2)) == 1
    assert abs(order.index(1) - order.index(3)) == 1
    assert display.caption.startswith("Largest: ")
    with pytest.raises(InputError, match="two columns"):
        CorrelationDisplay(["a"], [[1.0]])


def test_correlations_that_are_not_defined_are_left_empty():
    X = np.column_stack([np.ones(9), np.arange(9.0), np.arange(9.0) ** 2])
    display = CorrelationDisplay.from_rows(X, names=["one", "x", "square"])
    texts = [t.get_text() for t in display.plot().ax_.texts]
    assert texts == ["0.96"]
    assert "one" not in display.caption
