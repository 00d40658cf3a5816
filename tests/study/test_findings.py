"""Warnings on the results of a study: each where it is true, and none on ordinary tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

import separatrix as sx
from separatrix.samples import sample

RESULTS = {f"SEP{number:03d}" for number in range(22, 29)}


def found(table: Any, models: list[str] | None = None, **options: Any) -> dict[str, str]:
    rows = sx.scan(table, target="y")
    study = sx.run_study(rows, models=models or ["linear"], verbose=False, **options)
    return {text[:6]: text for text in study.warnings if text[:6] in RESULTS}


def linear_table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    y = x @ [1.0, -0.5, 0.2] + rng.standard_normal(n)
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=y)


@pytest.mark.parametrize("seed", range(12))
def test_ordinary_tables_raise_none(seed: int) -> None:
    assert not found(linear_table(seed=seed))
    classes = linear_table(seed=seed)
    classes["y"] = np.where(classes["y"] > 0.0, "yes", "no")
    assert not found(classes, ["logistic"])


def test_few_test_rows() -> None:
    assert "11 rows" in found(linear_table(55))["SEP022"]
    assert "SEP022" not in found(linear_table(150))


def test_noise_is_not_better_than_the_baseline() -> None:
    rng = np.random.default_rng(1)
    table = linear_table().assign(y=rng.standard_normal(400))
    study = sx.run_study(sx.scan(table, target="y"), models=["linear"], verbose=False)
    if study.winner == "baseline":
        study = replace(study, winner="linear")
    from separatrix.study.findings import warnings_about

    assert any(text.startswith("SEP023 linear is") for text in warnings_about(study))


def test_better_decisions_with_worse_probabilities_are_warned_of() -> None:
    from separatrix.study.findings import warnings_about

    table = linear_table()
    table["y"] = np.where(table["y"] > 0.0, "yes", "no")
    study = sx.run_study(sx.scan(table, target="y"), models=["logistic"], verbose=False)
    assert not any(text.startswith("SEP023") for text in warnings_about(study))
    overconfident = tuple(
        replace(score, value=2.0) if score.metric == "log_loss" else score for score in study.test
    )
    messages = warnings_about(replace(study, test=overconfident))
    text = next(text for text in messages if text.startswith("SEP023"))
    assert "logistic decides better than the baseline" in text
    assert "its probabilities are worse: log loss 2" in text


def test_more_columns_than_rows_can_bear_overfit() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((160, 90))
    table = (
        pd.DataFrame(x)
        .rename(columns=str)
        .assign(y=5.0 * x[:, :6].sum(axis=1) + rng.normal(size=160))
    )
    assert "on rows left out" in found(table)["SEP024"]
    assert "SEP024" not in found(table[[*map(str, range(10)), "y"]])


def test_collinear_columns_are_named_and_powers_are_not() -> None:
    rng = np.random.default_rng(3)
    table = linear_table()
    table["d"] = table["a"] + 0.1 * rng.standard_normal(400)
    text = found(table)["SEP025"]
    factors = sx.LinearRegression().fit(table[["a", "b", "c", "d"]], table["y"]).summary()
    assert np.nanmax(factors.variance_inflation) > 10
    assert "a (" in text
    assert "d (" in text
    assert "b (" not in text
    assert "SEP025" not in found(linear_table(), ["polynomial"])


def test_residuals_that_grow_and_those_that_do_not() -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(1.0, 10.0, 500)
    grows = pd.DataFrame({"x": x, "y": 2.0 * x + x * rng.standard_normal(500)})
    text = found(grows)["SEP026"]
    assert "grows" in text
    assert "HC3" in text
    even = grows.assign(y=2.0 * x + 3.0 * rng.standard_normal(500))
    assert "SEP026" not in found(even)


def test_a_rare_class_of_which_few_are_found() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal(3000)
    ill = x + 1.3 * rng.standard_normal(3000) > 2.6
    table = pd.DataFrame({"x": x, "y": np.where(ill, "ill", "well")})
    assert "class 'ill'" in found(table, ["logistic"])["SEP027"]
    assert "SEP027" not in found(table.assign(y=np.where(x > 1.5, "ill", "well")), ["logistic"])


def test_a_sign_that_collinearity_reverses() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    rng = np.random.default_rng(6)
    a = rng.standard_normal(400)
    b = a + 0.4 * rng.standard_normal(400)
    table = pd.DataFrame({"a": a, "b": b, "y": 2.0 * a - b + 0.5 * rng.standard_normal(400)})
    assert np.corrcoef(table["b"], table["y"])[0, 1] > 0.3
    text = found(table)["SEP028"]
    assert "b (its own correlation with y is 0." in text
    assert "collinear with a, r = 0.9" in text
    assert "SEP028" not in found(X[["bmi", "bp"]].assign(y=y))


def test_the_page_lists_them_with_a_remedy() -> None:
    study = sx.run_study(
        sx.scan(sample("diabetes").path, target="progression"), models=["linear"], verbose=False
    )
    assert {text[:6] for text in study.warnings} >= {"SEP025"}
