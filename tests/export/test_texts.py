"""Exported texts run elsewhere and give the answers of the model; others are refused."""

from __future__ import annotations

import sqlite3
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from separatrix.export import export as texts
from separatrix.export.check import CheckFailed
from separatrix.export.program import program_of
from separatrix.messages import InputError
from tests.export.models import MODELS, fitted, matrix, rows, table

DIALECTS = ("duckdb", "sqlite", "postgres", "bigquery", "spark")


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


#: Enough of them to meet every function in SQLite too.
IN_SQLITE = ("polynomial", "bayesian ridge", "temperature", "isotonic", "costs", "boxes, rejecting")
IN_SQLITE += (
    "neighbors",
    "kernel svm of pairs",
    "process",
    "naive bayes, not smoothed",
    "kmeans",
    "table, zeros",
    "bernoulli nb, not smoothed",
)


@pytest.mark.parametrize(
    ("name", "dialect"),
    [*((name, "duckdb") for name in MODELS), *((name, "sqlite") for name in IN_SQLITE)],
)
def test_sql_gives_the_answers_of_the_model(name: str, dialect: str) -> None:
    check = sx.export_model(fitted(name), dialect=dialect).check
    assert check.rows == 512
    assert check.largest_difference < 1e-9
    assert check.ties <= 0.05 * check.rows


@pytest.mark.parametrize(
    "name", ["qda", "isotonic", "naive bayes", "table", "boxes, rejecting", "weighted neighbors"]
)
def test_python_gives_the_answers_of_the_model(name: str) -> None:
    exported = sx.export_model(fitted(name), "python")
    assert exported.check.engine == "Python"
    assert exported.check.largest_difference < 1e-9
    assert isinstance(exported.content, str)
    imported = [line for line in exported.content.splitlines() if line.startswith("import")]
    assert imported == ["import math"]


@pytest.mark.parametrize("dialect", DIALECTS[2:])
@pytest.mark.parametrize("name", ["costs", "table, refusing levels"])
def test_other_dialects_are_parsed_back_and_marked_as_not_run(name: str, dialect: str) -> None:
    check = sx.export_model(fitted(name), dialect=dialect).check
    assert "not in" in str(check)


def test_a_text_that_differs_from_the_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One coefficient that is off by a millionth."""
    model = fitted("least squares")
    other = sx.LinearRegression().fit(*matrix()[:2])
    other.coef_ = other.coef_ * (1 + 1e-6)
    monkeypatch.setattr(texts, "program_of", lambda *_, **__: program_of(other))
    for to in ("sql", "python", "json"):
        with pytest.raises(CheckFailed, match="the export is not written"):
            sx.export_model(model, to)


def test_rows_that_the_model_refuses_are_null_in_sql_and_raise_in_python() -> None:
    model = fitted("table, refusing levels")
    given = pa.table({"town": ["a", "nowhere"], "area": [80.0, 90.0], "garden": [True, False]})
    exported = sx.export_model(model, dialect="sqlite", ids=["town"])
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (town, area, garden)")
    values = [list(row.values()) for row in given.to_pylist()]
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", values)
    first, second = connection.execute(str(exported.content)).fetchall()
    connection.close()
    assert first[1] == model.predict(given.slice(0, 1))[0]
    np.testing.assert_allclose(first[2:], model.predict_proba(given.slice(0, 1))[0], atol=1e-12)
    assert second == ("nowhere", None, None, None)
    space: dict[str, Any] = {}
    exec(str(sx.export_model(model, "python").content), space)
    with pytest.raises(ValueError, match="level that training did not have"):
        space["predict"](given.to_pylist()[1])


def test_text_of_files_is_read_by_the_module_as_by_the_model() -> None:
    """Rows of a CSV reader: texts of numbers, of truth values, and of missing values."""
    model = fitted("table")
    space: dict[str, Any] = {}
    exec(str(sx.export_model(model, "python").content), space)
    found = [
        space["predict"]({"town": " b ", "area": " 80.5 ", "garden": "TRUE"})["predicted"],
        space["predict"]({"town": "?", "area": "NA", "garden": ""})["predicted"],
    ]
    same = pa.table({"town": ["b", None], "area": [80.5, None], "garden": [True, None]})
    np.testing.assert_allclose(found, model.predict(same), rtol=1e-12)


def test_dates_are_days_in_every_language() -> None:
    import datetime

    start = datetime.date(2020, 1, 1)
    days = [start + datetime.timedelta(days=37 * i) for i in range(40)]
    times = [datetime.datetime(2020, 1, 1, i % 24, 5, 7, 250_000 * (i % 4)) for i in range(40)]
    y = [float(i % 7) + 0.01 * i for i in range(40)]
    data = pa.table({"day": days, "time": times, "y": y})
    model = sx.LinearRegression().fit(sx.scan(data, target="y"))
    for dialect in ("duckdb", "sqlite"):
        assert sx.export_model(model, dialect=dialect).check.largest_difference < 1e-9
    assert sx.export_model(model, "python").check.largest_difference < 1e-9


def test_a_frame_without_missing_values_fills_them_by_its_means() -> None:
    pandas = pytest.importorskip("pandas")
    x, y, _, _ = matrix()
    frame = pandas.DataFrame(x, columns=["a", "b", "c", "d"])
    model = sx.Ridge().fit(frame, y)
    exported = sx.export_model(model, "python")
    space: dict[str, Any] = {}
    exec(str(exported.content), space)
    found = space["predict"]({"a": None, "b": 500.0, "c": 3.0, "d": float("nan")})["predicted"]
    gone = pandas.DataFrame({"a": [np.nan], "b": [500.0], "c": [3.0], "d": [np.nan]})
    np.testing.assert_allclose(found, model.predict(gone)[0], rtol=1e-12)


def test_imputation_by_regression_refuses_rows_that_need_it() -> None:
    model = sx.LinearRegression().fit(rows("rent", missing="regress"))
    exported = sx.export_model(model)
    assert "imputed by regression" in exported.notes[0]


def test_models_without_a_formula_say_what_they_can_be_exported_to() -> None:
    x, y, two, _ = matrix()
    with pytest.raises(InputError, match=r"no export to SQL, Python or JSON\. It has one to ONNX"):
        sx.export_model(sx.KNeighborsRegressor().fit(np.repeat(x, 40, axis=0), np.repeat(y, 40)))
    with pytest.raises(InputError, match="unknown"):
        sx.export_model(sx.LogisticRegression().fit(x, two), "perl")
    with pytest.raises(InputError, match="There is no dialect 'oracle'"):
        sx.export_model(sx.LogisticRegression().fit(x, two), dialect="oracle")
    with pytest.raises(InputError, match="name of a column of the answer"):
        sx.export_model(sx.LogisticRegression().fit(x, two), ids=["Predicted"])


def test_rows_given_are_checked_on() -> None:
    check = sx.export_model(fitted("table"), rows=table()).check
    assert check.rows == len(table())
    assert check.source == "the rows given"


def test_many_columns_do_not_nest_too_deep() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 150))
    model = sx.Ridge().fit(x, x @ rng.normal(size=150))
    for to, dialect in (("sql", "sqlite"), ("python", "duckdb")):
        assert sx.export_model(model, to, dialect=dialect).check.largest_difference < 1e-9


def test_a_check_says_where_it_was_run() -> None:
    check = sx.export_model(fitted("lda"), "python").check
    assert str(check).startswith(f"checked on {check.rows} rows in Python: largest difference")
    assert "2 ties decided otherwise" in str(replace(check, ties=2))
