"""Models fitted to tables: one input for each column, missing values, unseen levels, dates."""

from __future__ import annotations

import datetime
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from separatrix.cli.outcome import run as command
from separatrix.export.onnx import export as exports
from separatrix.export.onnx.export import columns_of, onnx_file
from separatrix.messages import InputError
from tests.export.models import MODELS, fitted, rows, table

pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("name", [n for n in MODELS if n.startswith(("table", "naive"))])
def test_columns_of_a_table_are_inputs(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = onnx_file(fitted(name))
    assert found.agreement.holds, str(found.agreement)
    assert {"town", "area", "garden"} <= set(found.inputs)


@pytest.mark.parametrize(
    "model",
    [
        sx.SVC(standardize=True, probability=True),
        sx.KNeighborsClassifier(5, standardize=True, weights="distance"),
        sx.CalibratedClassifier(sx.NaiveBayes(), method="platt", cv=3),
        sx.RejectOption(sx.CalibratedClassifier(sx.SVC(), method="isotonic", cv=3), costs=0.2),
        sx.OneVsRest(sx.LogisticRegression(), reject=True),
        sx.ConformalClassifier(sx.GaussianNB()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_stored_rows_and_wrappers(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = onnx_file(model.fit(rows("kind")))
        given = onnx_file(model, rows=table())
    assert found.agreement.holds, str(found.agreement)
    assert given.agreement.holds, str(given.agreement)
    assert given.agreement.rows == len(table())


def test_rows_with_regression_imputation_are_refused_where_a_value_is_missing() -> None:
    import onnxruntime

    model = sx.Ridge().fit(rows("rent", missing="regress"))
    found = onnx_file(model)
    assert found.agreement.holds
    session = onnxruntime.InferenceSession(found.content)
    feeds = {
        "town": np.array([["a"], ["a"]], dtype=object),
        "area": np.array([[90.0], [np.nan]]),
        "garden": np.array([[1.0], [1.0]]),
    }
    answer = session.run(["prediction"], feeds)[0]
    assert np.isnan(answer).tolist() == [False, True]


def test_names_and_dates_of_any_kind() -> None:
    rng = np.random.default_rng(3)
    days = [
        datetime.date(2020, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 900, 80)
    ]
    column = pa.table(
        {
            "prediction": rng.normal(size=80),
            "sx:add:1": rng.choice(["NA ", "it's \"", "3"], 80),
            "größe, m²": days,
            "y": rng.normal(size=80),
        }
    )
    model = sx.Ridge().fit(sx.scan(column, target="y"))
    found = onnx_file(model)
    assert found.agreement.holds, str(found.agreement)
    assert len(set(found.inputs) | set(found.outputs)) == len(found.inputs) + len(found.outputs)


def test_a_graph_that_differs_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "model.sx", tmp_path / "model.onnx"
    sx.save(fitted("table"), model)
    arguments = ["export", str(model), "--to", "onnx", "--out", str(out)]
    assert command(arguments) == 0
    assert out.stat().st_size > 1000
    out.unlink()
    honest = exports.answers_of
    monkeypatch.setattr(
        exports,
        "answers_of",
        lambda *given: {k: v * (1.0 + 1e-8) for k, v in honest(*given).items()},
    )
    assert command(arguments) == 1
    assert list(tmp_path.iterdir()) == [model]
    assert "differ" in capsys.readouterr().err


def test_without_the_libraries_one_sentence_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"pip install 'separatrix\[onnx\]'"):
        onnx_file(fitted("table"))


def test_a_matrix_has_no_columns() -> None:
    assert columns_of(fitted("lda")) == ()
    with pytest.raises(InputError, match="fitted to a matrix"):
        onnx_file(fitted("lda"), rows=table())
