"""An estimator of another package: one file, one declaration, and everything takes it.

It is compared in a study, stored and loaded, exported, described, verified and explored, and no
line of the library knows its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import RegressorMixin

import separatrix as sx
from separatrix.cli import first_fits
from separatrix.estimators.base import RowsEstimator, one_number, reads_tables
from separatrix.exploration.plots import plain_models
from separatrix.exploration.serve import describe_table
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.exploration.views import questions_of
from separatrix.formula import nodes
from separatrix.optimize.convex import Certificate
from separatrix.statistics.moments import prepare
from separatrix.storage import load_study
from separatrix.study.describe import describe
from separatrix.verification.design import gather
from separatrix.verification.verdict import equal
from tests.export.evaluator import evaluate


class Wedge(RegressorMixin, RowsEstimator):
    """Least squares by two lines that meet at the middle of the range of the first column."""

    def __init__(self, standardize: bool = False) -> None:
        self.standardize = standardize

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Wedge:
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        block, self.encoding_ = prepared.rows.collect(), prepared.encoding
        x, w = block.dense()[:, 0], np.sqrt(block.weights)
        self.knots_ = np.linspace(x.min(), x.max(), 3)
        hats = np.stack([np.interp(x, self.knots_, hat) for hat in np.eye(3)], axis=1)
        rows, target = w[:, None] * hats, w * block.y[:, 0]
        self.values_ = np.linalg.lstsq(rows, target)[0]
        slope = np.abs(rows.T @ (rows @ self.values_ - target)).max() / np.linalg.norm(target)
        self.certificate_ = Certificate(
            "No other wedge fits better", kkt=float(slope), tolerance=1e-9, promised=("kkt",)
        )
        return self

    def predict(self, X: Any) -> Any:
        return np.interp(self._design(X)[:, 0], self.knots_, self.values_)

    def formula(self) -> nodes.NumberFormula:
        first = nodes.Columns(nodes.design_of(self), (0,))
        line = nodes.Piecewise(first, self.knots_, self.knots_, self.values_)
        return nodes.regression(line, self, flat=True)


def knots(model: Any, blocks: Any) -> list[Any]:
    """What ``separatrix verify`` recomputes: the knots are those of the rows."""
    x = gather(blocks).columns[0]
    found = [min(x), (min(x) + max(x)) / 2, max(x)]
    return [equal("knots", "Ends and middle of the column", model["knots_"].values, found)]


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    with sx.register(Wedge, "regression", verifier=knots, variants=({"standardize": True},)):
        yield


#: The remedy where a class was not registered.
GIVEN = r"given to separatrix\.register"
RNG = np.random.default_rng(0)
U, V = np.round(RNG.uniform(-2, 2, (2, 120)), 3)
TABLE = {"u": U, "v": V, "y": np.round(np.abs(U) + 0.1 * RNG.standard_normal(120), 4)}


@pytest.fixture
def model() -> Wedge:
    return Wedge().fit(np.column_stack([U, V]), TABLE["y"])


def test_a_study_compares_it_where_it_is_named_and_stores_it(tmp_path) -> None:
    study = sx.run_study(sx.scan(TABLE, target="y"), models=["linear", "Wedge"])
    assert [entry.name for entry in study.leaderboard] == ["baseline", "linear", "Wedge"]
    assert study.winner == "Wedge"
    assert study.description.name == "Wedge"
    sx.save(study.model, tmp_path / "model.sx", study=study)
    assert load_study(tmp_path / "model.sx").winner == "Wedge"
    assert (sx.load(tmp_path / "model.sx").predict(TABLE) == study.model.predict(TABLE)).all()
    labels = sx.scan(TABLE | {"y": np.where(U > 0, "a", "b")}, target="y")
    with pytest.raises(sx.InputError, match="not a model for classification"):
        sx.run_study(labels, models=["Wedge"])


def test_a_rank_makes_it_one_of_those_that_are_compared_unasked(declared: None) -> None:
    candidate = {"name": "hat", "label": "a hat", "rank": 1.5}

    class Hat(Wedge):
        """The same under another name."""

    with sx.register(Hat, "regression", candidate=candidate):
        study = sx.run_study(sx.scan(TABLE, target="y"))
    assert [entry.name for entry in study.leaderboard][:3] == ["baseline", "linear", "hat"]


def test_a_file_names_it_and_never_imports_it(model: Wedge, tmp_path) -> None:
    from separatrix.catalogue import DECLARATIONS

    path = tmp_path / "wedge.sx"
    sx.save(model, path)
    assert isinstance(sx.load(path), Wedge)
    known = DECLARATIONS.pop("Wedge")
    with pytest.raises(sx.InputError, match="not one of the classes that a file may hold"):
        sx.load(path)
    with pytest.raises(sx.InputError, match=GIVEN):
        sx.save(model, path)
    DECLARATIONS["Wedge"] = known

    class Other(Wedge):
        """A class that was not registered, even under the name of one that was."""

    Other.__name__ = "Wedge"
    with pytest.raises(sx.InputError, match=GIVEN):
        sx.save(Other().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]), path)


@pytest.mark.parametrize("to", ["sql", "python", "json", "onnx"])
def test_it_is_exported(model: Wedge, to: str) -> None:
    exported = sx.export_model(model, to=to)
    assert exported.check.largest_difference < 1e-9
    if to == "json":
        answer = evaluate(json.loads(exported.content), {"x0": 0.7, "x1": 0.0})
        assert answer["predicted"] == pytest.approx(model.predict([[0.7, 0.0]])[0], rel=1e-12)


def test_it_is_described(model: Wedge) -> None:
    found = describe(model)
    assert (found.name, found.parameters) == ("Wedge", {"standardize": False})
    assert found.certificate is model.certificate_
    assert found.stored_rows is None


def test_it_is_verified(model: Wedge) -> None:
    table = np.column_stack([U, V])
    assert sx.verify(model, table, TABLE["y"]).verdict == "proved"
    model.knots_[1] += 1e-9
    assert sx.verify(model, table, TABLE["y"]).verdict == "refuted"


def test_it_is_explored(model: Wedge, tmp_path) -> None:
    assert "Wedge" in plain_models("regression")
    session = Session(describe_table(TABLE, "y", 2_000, {}))
    answer = questions_of("line")["fit"](session, ViewState({"model": "Wedge", "x": "u"}))
    assert answer["errors"]["rmse"] < 0.2
    assert answer["certificate"]["holds"]
    sx.save(Wedge().fit(sx.scan(TABLE, target="y")), tmp_path / "model.sx")
    stored = Session(None, str(tmp_path / "model.sx"))
    about = questions_of("model")["about"](stored, ViewState({}))
    assert about["model"] == "Wedge"
    answer = questions_of("model")["explain"](stored, ViewState({"row": [1.5, 0.0]}))
    assert answer["number"] == pytest.approx(1.5, abs=0.2)
    assert json.dumps(answer, allow_nan=False)


def test_its_loops_are_compiled_with_those_of_its_package() -> None:
    from separatrix.catalogue import DECLARATIONS

    cases = list(first_fits.cases(DECLARATIONS["Wedge"]))
    assert {table.name for _, table in cases} >= {"plain", "single", "wide", "sparse"}
    assert [options for options, _ in cases][-1] == {"standardize": True}
    for options, table in cases:
        first_fits.fit(DECLARATIONS["Wedge"], options, table)


def test_names_are_taken_once() -> None:
    with pytest.raises(sx.InputError, match="declared already"):
        sx.register(Wedge, "regression")
    with pytest.raises(sx.InputError, match="Did you mean 'regression'"):
        sx.register(Wedge, "regresion")
