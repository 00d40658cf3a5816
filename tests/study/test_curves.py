"""Studies of learning curves: what they say of tables of which the truth is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import separatrix as sx
from separatrix.report import render_curves
from separatrix.study import curves as runs


def table(n: int, d: int, truth, noise: float, seed: int = 0, **columns):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = truth(x) + noise * rng.standard_normal(n)
    return sx.scan({**{f"x{j}": x[:, j] for j in range(d)}, **columns, "y": y}, "y")


def answers(study) -> dict[str, str]:
    return {advice.what: advice.answer for advice in study.advice}


@pytest.fixture(scope="module")
def curved():
    return sx.run_curve(table(300, 4, lambda x: x[:, 0] ** 2 + x[:, 1] * x[:, 2], 0.3))


def test_a_curved_truth_wants_a_more_flexible_model(curved) -> None:
    assert answers(curved)["a more flexible model"] == "yes"
    assert "degree 2" in curved.advice[2].sentence
    assert curved.curves.names[curved.curves.best[-1]] == "degree 2"


def test_a_line_with_little_noise_wants_nothing() -> None:
    study = sx.run_curve(table(600, 4, lambda x: x @ [1.0, 1.0, 1.0, 1.0], 1.0))
    found = answers(study)
    assert found["more rows"] == "no"
    assert found["a more flexible model"] == "no"
    assert found["more columns"] == "unclear"  # each adds as much as the others


def test_many_columns_and_few_rows_want_rows() -> None:
    weights = np.full(30, 0.5)
    study = sx.run_curve(table(100, 30, lambda x: x @ weights, 1.0))
    assert answers(study)["more rows"] == "yes"
    assert "too short a curve" in study.advice[0].sentence
    longer = sx.run_curve(table(160, 30, lambda x: x @ weights, 1.0))
    assert answers(longer)["more rows"] == "yes"
    gain = longer.advice[0]
    assert 0.0 < gain.low <= gain.gain <= gain.high


def test_an_exact_truth_leaves_nothing_to_gain() -> None:
    study = sx.run_curve(table(100, 4, lambda x: x[:, 0] - x[:, 1], 0.0), folds=2)
    assert set(answers(study).values()) == {"no"}
    assert study.summary == "Nothing is left to gain: linear is exact on rows left out."


def test_few_groups_leave_the_smallest_sets_empty() -> None:
    """Rows of one group are in one part, and copies of a row as well."""
    rng = np.random.default_rng(1)
    x = np.repeat(rng.standard_normal((15, 4)), 10, axis=0)
    frame = {**{f"x{j}": x[:, j] for j in range(4)}, "y": x[:, 0] + x[:, 1]}
    study = sx.run_curve(sx.scan(frame, "y"), folds=3)
    assert np.isfinite(study.curves.mean[-1]).all()


def test_noise_alone_wants_no_flexibility() -> None:
    study = sx.run_curve(table(200, 4, lambda x: np.zeros(len(x)), 1.0))
    best = study.curves.names[study.curves.best[-1]]
    assert answers(study)["a more flexible model"] == "no"
    assert best in ("mean", "linear")


def test_classes_and_their_page() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((200, 4))
    kind = np.where(np.hypot(x[:, 0], x[:, 1]) < 1.1, "in", "out")
    rows = sx.scan({**{f"x{j}": x[:, j] for j in range(4)}, "kind": kind}, "kind")
    study = sx.run_curve(rows, folds=4)
    assert study.task == "classification"
    assert answers(study)["a more flexible model"] == "yes"
    page = render_curves(study)
    assert page == render_curves(study)
    assert page.count("<svg") == 2
    assert ">nan" not in page.lower()
    assert "Error rate" in page


def test_the_page_and_document_have_every_answer(curved) -> None:
    from separatrix.study.curves import document_of

    page = render_curves(curved)
    for advice in curved.advice:
        assert advice.sentence[:40] in page
    document = document_of(curved)
    assert [a["answer"] for a in document["advice"]] == [a.answer for a in curved.advice]
    assert document["with_twice_the_rows"]["degree 2"]["error"] < 0.5
    assert len(document["error"]) == len(document["training_rows"])


def test_a_table_too_large_for_memory_has_linear_models_alone(monkeypatch) -> None:
    monkeypatch.setattr(runs, "reason_to_stream", lambda _: "too large for memory")
    study = sx.run_curve(table(400, 3, lambda x: x[:, 0], 1.0))
    assert study.curves.names == ("mean", "linear")
    assert study.n_rows == 400
    assert "one pass" in study.messages[0]


def test_refusals() -> None:
    with pytest.raises(sx.InputError, match="too few for a learning curve"):
        sx.run_curve(table(20, 2, lambda x: x[:, 0], 1.0))
    rows = table(80, 2, lambda x: x[:, 0], 1.0, day=np.arange(80.0))
    with pytest.raises(sx.InputError, match="at random"):
        sx.run_curve(sx.scan(_frame(rows), "y", time="day"))


def _frame(rows):
    block = rows.read().block
    names = [term.column for term in block.terms]
    return {**dict(zip(names, block.x.T, strict=True)), "y": block.y[:, 0]}


def test_rare_levels_are_one_level_where_all_are_too_many_columns(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    shop = np.where(rng.random(200) < 0.5, "s1", "s2").astype(object)
    shop[:80] = [f"single {i}" for i in range(80)]
    x = rng.normal(size=200)
    table = pl.DataFrame({"x": x, "shop": shop.tolist(), "y": x + rng.normal(size=200)})
    monkeypatch.setattr(runs, "MOST_COLUMNS", 30)
    study = runs.run_curve(sx.scan(table, target="y", kinds={"shop": "discrete"}))
    reason = "are one level 'other levels', as models of every size"
    assert any(reason in message for message in study.messages)
