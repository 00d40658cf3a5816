"""Costs and the reject option: decisions of least expected cost, and their cost on the test set."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.study import run_study
from separatrix.study.class_scores import decision_costs
from separatrix.study.describe import core_of
from tests.study.test_classes import clouds

NAMES = np.array(["class a", "class b", "class c"], dtype=object)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return clouds(gap=1.0)


def test_a_cost_of_rejection_rejects_uncertain_rows(table) -> None:
    found = run_study(sx.scan(table, target="y"), models=["lda"], reject=0.25)
    p, predictions = found.test_predictions.probabilities, found.test_predictions
    rejected = p.max(axis=1) < 0.75
    assert 0 < rejected.sum() < len(p)
    assert ((predictions.predicted == "reject") == rejected).all()
    wrong = predictions.predicted[~rejected] != predictions.truth[~rejected]
    made = found.decision
    assert made.coverage.value == pytest.approx(np.mean(~rejected))
    assert made.risk.value == pytest.approx(np.mean(wrong))
    assert made.cost.value == pytest.approx((0.25 * rejected.sum() + wrong.sum()) / len(p))
    most = NAMES[p.argmax(axis=1)]
    assert made.cost_without.value == pytest.approx(np.mean(most != predictions.truth))
    test = {s.metric: s for s in found.test}
    assert test["error"].value == pytest.approx(np.mean(most != predictions.truth))
    assert (test["coverage"], test["risk"], test["cost"]) == (
        *(made.coverage, made.risk, made.cost),
    )
    assert any("probability of at least 0.75" in s for s in found.messages)
    assert {s.metric for s in found.baseline_test} == set(test)


def test_the_comparison_does_not_depend_on_costs(table) -> None:
    plain = run_study(sx.scan(table, target="y"), models=["lda", "logistic"])
    with_costs = run_study(sx.scan(table, target="y"), models=["lda", "logistic"], reject=0.1)
    assert plain.leaderboard == with_costs.leaderboard
    np.testing.assert_array_equal(
        plain.test_predictions.probabilities, with_costs.test_predictions.probabilities
    )
    assert plain.decision is None


def test_predictions_have_the_least_expected_cost(table, tmp_path) -> None:
    costs = {"class a": {"class b": 20, "class c": 20}}
    found = run_study(sx.scan(table, target="y"), models=["lda"], costs=costs)
    matrix = np.array([[0, 20, 20], [1, 0, 1], [1, 1, 0]], dtype=float)
    np.testing.assert_array_equal(found.decision.costs.matrix, matrix)
    expected = NAMES[(found.test_predictions.probabilities @ matrix).argmin(axis=1)]
    assert (found.test_predictions.predicted == expected).all()
    truth = [NAMES.tolist().index(label) for label in found.test_predictions.truth]
    codes = [NAMES.tolist().index(label) for label in found.test_predictions.predicted]
    assert found.decision.cost.value == pytest.approx(matrix[truth, codes].mean())
    assert found.decision.cost.value < found.decision.cost_without.value
    assert found.decision.costs.reject_cost is None
    assert "coverage" not in {s.metric for s in found.test}
    sx.save(found.model, tmp_path / "m.sx")
    again = sx.load(tmp_path / "m.sx")
    assert (again.predict(table) == found.model.predict(table)).all()
    assert core_of(found.model).predict(table).tolist() != again.predict(table).tolist()


def test_costs_as_a_matrix_and_with_rejection_inside(table) -> None:
    matrix = [[0, 20, 20, 0.3], [1, 0, 1, 0.3], [1, 1, 0, 0.3]]
    words = {
        "class a": {"class b": 20, "class c": 20, "reject": 0.3},
        "class b": {"reject": 0.3},
        "class c": {"reject": 0.3},
    }
    rows = sx.scan(table, target="y")
    by_matrix, by_words, by_cost = (
        run_study(rows, models=["lda"], **given)
        for given in (
            {"costs": matrix},
            {"costs": words},
            {"costs": {"class a": {"class b": 20, "class c": 20}}, "reject": 0.3},
        )
    )
    assert (by_matrix.test_predictions.predicted == by_words.test_predictions.predicted).all()
    assert (by_matrix.test_predictions.predicted == by_cost.test_predictions.predicted).all()
    assert by_matrix.decision.cost == by_words.decision.cost == by_cost.decision.cost


def test_weights_count_in_costs(table) -> None:
    w = np.random.default_rng(0).integers(1, 4, len(table)) * 1.0
    found = run_study(
        sx.scan(table.with_columns(w=pl.Series(w)), target="y", weight="w"),
        models=["lda"],
        reject=0.25,
    )
    answered = found.test_predictions.predicted != "reject"
    assert found.decision.coverage.value == pytest.approx(
        np.average(answered, weights=found.test_predictions.w)
    )


def test_a_class_called_reject_keeps_its_name(table) -> None:
    renamed = table.with_columns(y=pl.col("y").str.replace("class c", "reject"))
    found = run_study(sx.scan(renamed, target="y"), models=["lda"], reject=0.25)
    assert found.decision.reject_label == "(reject)"
    assert {"reject", "(reject)"} <= set(found.test_predictions.predicted)


def test_a_rejection_that_never_pays_has_a_message(table) -> None:
    found = run_study(sx.scan(table, target="y"), models=["lda"], reject=0.9)
    assert any("never cheaper than a guess among 3 classes" in s for s in found.messages)
    assert found.decision.coverage.value == 1.0
    free = run_study(sx.scan(table, target="y"), models=["lda"], reject=0.0)
    assert free.decision.coverage.value == 0.0
    assert np.isnan(free.decision.risk.value)


@pytest.mark.parametrize(
    ("costs", "reject", "text"),
    [
        ({"class aa": {"class b": 5}}, None, "Did you mean 'class a'"),
        ({"class a": {"clas b": 5}}, None, "Did you mean 'class b'"),
        ({"class a": {"reject": 1}}, None, "no rejection cost for class 'class b'"),
        ({c: {"reject": 0.1} for c in NAMES}, 0.2, "given twice"),
        (None, -1.0, "cost of a rejection is -1"),
        (None, float("nan"), "cost of a rejection is nan"),
        ({"class a": {"class b": -1}}, None, "less than the correct answer"),
        (np.ones((2, 2)), None, "3 classes"),
    ],
)
def test_costs_that_make_no_sense(costs, reject, text) -> None:
    with pytest.raises(InputError, match=text):
        decision_costs(costs, reject, NAMES)


def test_numbers_have_no_costs(table) -> None:
    for given in ({"costs": {"a": {"b": 1}}}, {"reject": 0.1}):
        with pytest.raises(InputError, match="is an option of classification"):
            run_study(sx.scan(table, target="p"), **given)
