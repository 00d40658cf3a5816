"""Tables and sentences of the page: scores by class, confusions, coefficients, dates, choice."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.formatting import spread_text, value_text
from separatrix.report.tables import (
    class_table,
    coefficients_of,
    confusion_table,
    data_table,
    leaderboard_table,
    odds_table,
    quality_text,
    score_table,
)
from separatrix.report.verdict import other_choice, sentences
from separatrix.study.result import Choice, Entry, Predictions
from separatrix.study.summary import verdict as printed
from tests.sketches import sketched_page

pytestmark = pytest.mark.filterwarnings("ignore::separatrix.SeparatrixWarning")


def homes(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sold = pd.Timestamp("2015-03-01") + pd.to_timedelta(rng.integers(0, 2500, n), "D")
    table = pd.DataFrame(
        {
            "sold": sold.strftime("%Y-%m-%d"),
            "year_built": rng.integers(1930, 2020, n),
            "area": rng.normal(120, 30, n).round(1),
            "district": rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2]),
            "country": "DE",
        }
    )
    value = 1000 * table["area"] + 20_000 * (table["district"] == "north")
    return table.assign(value=(value + rng.normal(0, 9000, n)).round())


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    path = tmp_path_factory.mktemp("homes") / "homes.csv"
    homes().to_csv(path, index=False)
    return sx.run_study(sx.scan(path, target="value"), models=["linear"])


@pytest.fixture(scope="module")
def rare():
    """Two classes; the level ``rare`` occurs in one of them alone."""
    rng = np.random.default_rng(1)
    n = 400
    table = pd.DataFrame({"x": rng.normal(size=n), "kind": rng.choice(["a", "b", "c"], n)})
    y = np.where(table["x"] + rng.logistic(size=n) > 0, "yes", "no")
    table.loc[np.flatnonzero(y == "no")[:12], "kind"] = "rare"
    return sx.run_study(sx.scan(table.assign(y=y), target="y"), models=["logistic"])


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 8, 800)
    x = rng.normal(size=(800, 4)) + 1.2 * rng.normal(size=(8, 4))[y]
    table = pd.DataFrame(x, columns=list("abcd")).assign(y=[f"k{v}" for v in y])
    return sx.run_study(sx.scan(table, target="y"), models=["lda"])


def line(table, name):
    return next(one for one in table.lines if one.name == name)


def texts(one) -> list[str]:
    return [cell.text for cell in one.cells]


def test_every_class_has_its_precision_recall_f1_and_area(many) -> None:
    table = class_table(many)
    assert table is not None
    assert [one.name for one in table.lines] == list(many.classes)
    test = many.test_predictions
    called = test.predicted == "k3"
    precision = np.mean(test.truth[called] == "k3")
    assert texts(line(table, "k3"))[1].startswith(f"{100 * precision:.1f} % (")
    assert "AUC, mean over classes" in [one.name for one in score_table(many).lines]
    assert "By class: precision" in sketched_page(many)


def test_many_classes_have_their_most_frequent_confusions(many) -> None:
    table = confusion_table(many)
    assert table is not None
    test = many.test_predictions
    counts = pd.Series(list(zip(test.truth, test.predicted, strict=True))).value_counts()
    wrong = counts[[truth != called for truth, called in counts.index]]
    first = table.lines[0]
    assert first.cells[1].value == wrong.iloc[0]
    assert len(table.lines) == 10
    share = 100 * sum(one.cells[1].value for one in table.lines) / wrong.sum()
    assert table.note.startswith(f"These are {share:.0f} % of all errors")


def test_few_classes_have_none(rare) -> None:
    assert confusion_table(rare) is None


def test_reference_levels_stand_in_the_table(numbers) -> None:
    table = coefficients_of(numbers)
    assert table is not None
    names = [one.name for one in table.lines]
    assert names.index("district=north") + 1 == names.index("district=south")
    assert line(table, "district=north").badge == "reference"
    assert "only level" in " ".join(numbers.description.left_out)
    assert "left out" in sketched_page(numbers)


def test_regression_has_variance_inflation_and_tests_of_the_whole(numbers) -> None:
    table = coefficients_of(numbers)
    assert table is not None
    assert table.headings[-1] == ("VIF", True)
    text = quality_text(numbers.description.inference)
    summary = numbers.model.summary()
    assert f"adjusted {summary.adjusted_r_squared:.3f}" in text
    assert "p < 0.001" in text
    assert "AIC" in text
    assert text.replace("<", "&lt;") in sketched_page(numbers)


def test_one_rare_level_takes_no_other_standard_error_away(rare) -> None:
    table = odds_table(rare)
    assert table is not None
    assert line(table, "kind=rare").badge == "no finite estimate"
    assert texts(line(table, "kind=rare"))[1] == "–"
    others = [one for one in table.lines if one.badge == ""]
    assert len(others) == 4
    assert all(re.fullmatch(r"0\.\d+", texts(one)[1]) for one in others)
    page = sketched_page(rare)
    assert "p = 0.000" not in page
    assert "no finite estimate" in page


def test_dates_are_dates_and_years_are_years(numbers) -> None:
    table = data_table(numbers.columns, numbers.target)
    assert texts(line(table, "sold"))[0] == "date"
    assert re.fullmatch(r"2015-03-\d\d to 202[01]-\d\d-\d\d", texts(line(table, "sold"))[2])
    assert texts(line(table, "sold"))[4].endswith("years")
    years = texts(line(table, "year_built"))
    assert re.fullmatch(r"19\d\d to 20\d\d", years[2])
    assert re.fullmatch(r"19\d\d\.\d", years[3])


@pytest.mark.parametrize(
    ("value", "display", "text"),
    [
        (18_262.0, "date", "2020-01-01"),
        (18_262.5, "datetime", "2020-01-01 12:00"),
        (2014.0, "year", "2014"),
        (3_661.0, "time", "01:01:01"),
        (7_200.0, "duration", "2 hours"),
        (1e15, "date", "1e+15"),
        (1234.5, "", "1,234.5"),
        (float("nan"), "date", "–"),
    ],
)
def test_values_as_they_are_displayed(value, display, text) -> None:
    assert value_text(value, display) == text


def test_the_spread_of_dates_is_a_length_of_time() -> None:
    assert spread_text(40.0, "date") == "40 days"
    assert spread_text(40.0) == "40"


def test_level_counts_beyond_those_listed(tmp_path) -> None:
    n = 300
    table = pd.DataFrame({"code": [f"c{i % 70}" for i in range(n)], "y": np.arange(n) * 1.5})
    study = sx.run_study(sx.scan(table, target="y"), models=["baseline"])
    assert any("'code' (70 levels)" in text for text in study.messages)
    assert texts(line(data_table(study.columns), "code"))[2].endswith("and 65 more")


def test_the_other_goal_is_named(many) -> None:
    first = many.leaderboard[-1]
    study = replace(many, leaderboard=(*many.leaderboard, replace(first, name="svm")))
    other = Choice("lda", "one_se", "log_loss", "", "svm", "svm")
    text = other_choice(replace(study, choice=other))
    assert text == "`--goal accuracy`, which takes the smallest loss, would have chosen SVM."
    assert 'With `goal="accuracy"`: SVM.' in " ".join(printed(replace(study, choice=other)))
    own = next(e for e in study.leaderboard if e.name == study.winner)
    better = replace(other, winner=own.name, other=replace(own, name="svm", mean=0.8 * own.mean))
    assert "(20 % less)." in " ".join(printed(replace(study, choice=better)))
    same = replace(other, other_rule_winner="lda")
    assert other_choice(replace(study, choice=same)).endswith("the same model.")
    assert "goal=" not in " ".join(printed(replace(study, choice=same)))


def test_the_reference_is_fenced_off(many) -> None:
    note = "Reference, not a candidate: on the rows of 3 folds it is better than lda."
    entry = Entry("boosting", "gradient-boosted trees", "log_loss", (0.5,), 0.5, 0.01, note=note)
    study = replace(many, reference=entry)
    last = leaderboard_table(study).lines[-1]
    assert (last.name, last.fenced, last.strong) == ("boosting", True, False)
    page = sketched_page(study)
    assert 'class="fenced"' in page
    assert "it is better than LDA." in page
    assert any(text.startswith("Gradient-boosted trees (boosting)") for text in printed(study))


def test_certificate_and_tests_are_folded(many, rare) -> None:
    page = sketched_page(many)
    assert 'class="fenced"' not in page  # there is no reference
    assert "<details>\n<summary>What was checked</summary>" in page
    assert "<summary>Normality and covariances of the classes</summary>" in page
    assert "<details open>\n<summary>What was checked" in sketched_page(rare)  # it does not hold


def test_a_difference_from_the_baseline_is_judged_row_by_row(many) -> None:
    """Intervals that overlap are not a sign of chance where the same rows are compared."""
    n = 200
    truth = np.array(["a"] * 120 + ["b"] * 80)
    called = truth.copy()
    called[150:] = "a"
    p = np.where((called == "b")[:, None], [0.2, 0.8], [0.8, 0.2])
    test = Predictions(np.arange(n), truth, called, None, None, p)
    score, base = many.test[1], many.baseline_test[1]
    own = replace(score, metric="error", value=0.25, low=0.20, high=0.36)
    other = replace(base, metric="error", value=0.40, low=0.33, high=0.47)
    study = replace(
        many, classes=("a", "b"), test=(own,), baseline_test=(other,), test_predictions=test
    )
    assert "due to chance" not in " ".join(sentences(study))
    called[:] = "a"
    called[118:122] = "b"
    p = np.where((called == "b")[:, None], [0.2, 0.8], [0.8, 0.2])
    close = replace(study, test_predictions=replace(test, predicted=called, probabilities=p))
    assert "may be due to chance" in " ".join(sentences(close))


def test_the_threshold_in_use_is_that_of_the_answers(rare) -> None:
    """Calibration moves it from zero."""
    rng = np.random.default_rng(3)
    truth = np.where(rng.random(200) < 0.4, "yes", "no")
    score = rng.normal(size=200) + (truth == "yes")
    called = np.where(score > 0.7, "yes", "no")
    p = np.where((called == "yes")[:, None], [0.3, 0.7], [0.7, 0.3])
    study = replace(
        rare, test_predictions=Predictions(np.arange(200), truth, called, score, None, p)
    )
    found, missed = (np.mean(called[truth == c] == "yes") for c in ("yes", "no"))
    text = f"true positive rate is {100 * found:.0f} % and the false positive rate "
    text += f"{100 * missed:.0f} %"
    assert text in sketched_page(study).replace("\u202f", " ")


def test_precision_and_recall_are_printed_for_a_few_classes(rare) -> None:
    text = next(one for one in printed(rare) if one.startswith("By class"))
    assert text.count("precision") == text.count("recall") == 2
