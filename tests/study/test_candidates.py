"""What a study takes a target for, whom it lets compete, and whom it chooses."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.schema import Column, Kind
from separatrix.study.candidates import Size, candidates, compared_models
from separatrix.study.tasks import infer_task, refuse_task, with_classes


def taken(values: list, name: str = "y") -> str:
    table = pl.DataFrame({"x": np.arange(len(values), dtype=float), name: values})
    rows = sx.scan(table, target=name).read()
    found = infer_task(rows.schema.targets[0], rows.blocks())
    assert f"'{name}'" in found.message
    assert "because" in found.message
    return found.task


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"] * 20, "classification"),
        ([True, False] * 20, "classification"),
        ([0, 1] * 20, "classification"),
        ([1.5, 2.5] * 20, "classification"),
        ([1, 2, 3] * 20, "classification"),
        (list(range(40)), "regression"),
        ([1, 2, 3], "regression"),  # whole and few, but each too rare to be a class
        ([0.5, 1.25, 3.0] * 20, "regression"),
        (np.linspace(0, 1, 50).tolist(), "regression"),
    ],
)
def test_the_task_is_inferred_from_the_target(values, task) -> None:
    assert taken(values) == task


NORMAL = np.random.default_rng(0).normal(50, 8, 3000).round().tolist()


@pytest.mark.parametrize(
    ("name", "values", "task"),
    [
        ("digit", list(range(12)) * 6, "classification"),
        ("crop_type", list(range(30)) * 6, "classification"),
        ("carClass", list(range(30)) * 6, "classification"),
        ("species", list(range(90)), "regression"),  # each too rare
        ("classroom_size", list(range(30)) * 6, "regression"),
        ("letter", [value % 7 + 0.5 for value in range(80)] * 3, "regression"),
        ("y", list(range(26)) * 40, "classification"),  # equally frequent codes
        ("y", list(range(26)) * 10, "regression"),
        ("y", list(range(60)) * 40, "regression"),
        ("rings", NORMAL, "regression"),
        ("class", list(range(150)) * 10, "regression"),
    ],
)
def test_more_than_ten_whole_numbers_are_classes_by_name_or_frequency(name, values, task) -> None:
    assert taken(values, name) == task


def test_too_many_classes_are_refused_at_once() -> None:
    table = pl.DataFrame({"x": np.arange(1000.0), "y": [f"a{i % 796}" for i in range(1000)]})
    with pytest.raises(InputError, match="column 'y': the target has 796 distinct texts in 1000"):
        sx.run_study(sx.scan(table, target="y"))
    table = pl.DataFrame({"x": np.arange(1000.0), "y": np.arange(1000) % 500 / 2})
    with pytest.raises(InputError, match=r"500 distinct numbers .* `task='regression'`"):
        sx.run_study(sx.scan(table, target="y"), task="classification")


def test_a_target_with_decimal_commas_is_a_number(tmp_path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f};{2 * x:.4f}".replace(".", ",") for x in rng.normal(size=796)]
    (tmp_path / "t.csv").write_text("x;y\n" + "\n".join(lines))
    rows = sx.scan(tmp_path / "t.csv", target="y")
    assert infer_task(rows.schema.targets[0], rows.blocks()).task == "regression"


def test_a_task_can_be_given_but_not_an_impossible_one() -> None:
    refuse_task("classification", Column("y"))
    with pytest.raises(InputError, match="text or true/false"):
        refuse_task("regression", Column("y", Kind.DISCRETE))
    with pytest.raises(InputError, match="Did you mean 'regression'"):
        refuse_task("regresion", Column("y"))


def test_numbers_read_as_classes_equal_a_column_read_as_discrete() -> None:
    table = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [10, 2, 10, 3]})
    ours = with_classes(sx.scan(table, target="y").read())
    theirs = sx.scan(table, target="y", kinds={"y": "discrete"}).read()
    assert ours.schema.targets == theirs.schema.targets
    assert ours.block.targets == theirs.block.targets
    assert (ours.block.y == theirs.block.y).all()


def test_every_candidate_can_be_made() -> None:
    for task in ("regression", "classification"):
        for candidate in compared_models(task).values():
            assert hasattr(candidate.make(3), "fit")


def test_candidates_are_limited_by_name_and_the_baseline_stays() -> None:
    compared, messages = candidates("regression", ["ridge"], Size(50, 5))
    assert [c.name for c in compared] == ["baseline", "ridge"]
    assert not messages
    with pytest.raises(InputError, match="Did you mean 'ridge'"):
        candidates("regression", ["rigde"], Size(50, 5))
    with pytest.raises(InputError, match="not a model for classification"):
        candidates("classification", ["ridge"], Size(50, 5))


def test_a_polynomial_of_too_many_terms_is_skipped_with_a_message() -> None:
    compared, messages = candidates("regression", None, Size(500, 100))
    assert "polynomial" not in [c.name for c in compared]
    message = next(text for text in messages if text.startswith("polynomial"))
    assert "5150" in message
    assert "models=['polynomial']" in message
    compared, messages = candidates("regression", ["polynomial"], Size(50, 100))
    assert "polynomial" in [c.name for c in compared]


def test_curves_of_many_columns_are_left_out_and_levels_are_not_curves() -> None:
    def names(**size: float) -> list[str]:
        compared, _ = candidates("regression", None, Size(500, 100, work=2e10, **size), 0.0)
        return [c.name for c in compared]

    assert not {"additive", "log_additive"} & {*names()}
    assert {"additive", "log_additive"} < {*names(levels=90)}


def test_huber_is_left_out_where_columns_outnumber_rows() -> None:
    compared, messages = candidates("regression", None, Size(50, 60))
    assert "huber" not in [c.name for c in compared]
    assert any("huber" in m and "fit every row exactly" in m for m in messages)
