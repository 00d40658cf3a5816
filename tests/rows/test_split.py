"""The exact split of a table in memory: sizes, classes, copies, groups, time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import InputError, scan
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory

DEFAULT = Parts()


def labels_of(frame: pd.DataFrame, split: Parts = DEFAULT, **options) -> np.ndarray:
    return scan(frame, target="y", **options).read().with_parts(split).block.parts


def sizes(labels: np.ndarray, folds: int = 5) -> list[int]:
    return [int((labels == fold).sum()) for fold in range(folds)]


def numbers(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "y": rng.normal(size=n)})


@pytest.mark.parametrize("test", [0.1, 0.2, 0.25, 0.33])
def test_sizes_are_exact_for_numbers(test: float) -> None:
    for n in [*range(10, 60), 99, 150, 178, 442]:
        labels = labels_of(numbers(n), Parts(seed=n, test=test))
        assert (labels == -1).sum() == round(test * n)
        assert max(sizes(labels)) - min(sizes(labels)) <= 1


def test_sizes_are_exact_for_classes_and_every_class_has_its_share() -> None:
    rng = np.random.default_rng(1)
    for n in [*range(10, 60), 99, 150, 178, 442]:
        y = rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1])
        labels = labels_of(numbers(n).assign(y=y), Parts(seed=n))
        assert (labels == -1).sum() == round(0.2 * n)
        assert max(sizes(labels)) - min(sizes(labels)) <= 1
        for level in "abc":
            own = labels[y == level]
            assert abs((own == -1).sum() - 0.2 * len(own)) < 1
            assert max(sizes(own)) - min(sizes(own)) <= 1


def test_a_class_needs_training_rows_before_it_needs_test_rows() -> None:
    y = np.repeat(["many", "one", "two"], [97, 1, 2])
    for seed in range(20):
        labels = labels_of(numbers(100).assign(y=y), Parts(seed=seed))
        assert (labels == -1).sum() == 20
        assert (labels[y == "one"] >= 0).all()
        assert (labels[y == "two"] >= 0).any()


@settings(max_examples=25, deadline=None)
@given(st.integers(10, 120), st.integers(0, 5), st.randoms(use_true_random=False))
def test_neither_order_nor_constant_columns_move_a_row(n, seed, random) -> None:
    frame = numbers(n, seed)
    frame["y"] = np.where(frame["y"] > 0, "yes", "no")
    expected = labels_of(frame, Parts(seed=seed))
    order = random.sample(range(n), n)
    np.testing.assert_array_equal(labels_of(frame.iloc[order], Parts(seed=seed)), expected[order])
    for constant in ({"unit": "m"}, {"unit": "km", "year": 2020}, {"empty": None, "k": 1e-9}):
        np.testing.assert_array_equal(
            labels_of(frame.assign(**constant), Parts(seed=seed)), expected
        )


def test_another_seed_gives_another_split() -> None:
    first, second = (labels_of(numbers(200), Parts(seed=seed)) for seed in (0, 1))
    assert (first != second).mean() > 0.5


def test_adding_rows_moves_few_of_the_others() -> None:
    frame = numbers(600)
    before, after = labels_of(frame[:500]), labels_of(frame)[:500]
    assert (before != after).mean() < 0.15


# -- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [2, 3, 7])
def test_copies_stay_together_and_sizes_stay_near(times: int) -> None:
    frame = pd.concat([numbers(100)] * times)
    labels = labels_of(frame)
    first = labels[:100]
    for k in range(1, times):
        np.testing.assert_array_equal(labels[100 * k : 100 * (k + 1)], first)
    assert abs((labels == -1).sum() - 0.2 * len(frame)) <= times / 2
    assert max(sizes(labels)) - min(sizes(labels)) <= times
    stream = scan(frame, target="y").with_parts(Parts()).collect().parts
    np.testing.assert_array_equal(stream[:100], stream[100:200])


def test_a_few_copies_do_not_cost_exactness() -> None:
    frame = pd.concat([numbers(100), numbers(100)[:13]])
    labels = labels_of(frame)
    np.testing.assert_array_equal(labels[100:], labels[:13])
    assert (labels == -1).sum() == round(0.2 * 113)


def test_a_table_of_few_cells_is_split_row_by_row() -> None:
    """With 16 combinations of values, copies are unavoidable and say nothing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({k: rng.choice(["u", "v"], 2000, p=[0.8, 0.2]) for k in "pqry"})
    labels = labels_of(frame)
    assert (labels == -1).sum() == 400
    assert sizes(labels) == [320] * 5
    tested = frame[labels == -1].drop_duplicates()
    assert len(frame.drop_duplicates()) == 16
    assert len(tested) >= 14


# -- groups and time -------------------------------------------------------------------------------


def visits(patients: int = 60, each: int = 15) -> pd.DataFrame:
    frame = numbers(patients * each)
    return frame.assign(patient=np.repeat([f"p{i}" for i in range(patients)], each))


def test_rows_of_a_group_share_a_part_in_memory_and_in_a_stream() -> None:
    frame = visits()
    rows = scan(frame, target="y", group="patient")
    assert rows.schema.names == ("a", "b")
    memory = rows.read().with_parts(Parts()).block.parts
    assert (memory == -1).sum() == 180
    assert max(sizes(memory)) - min(sizes(memory)) <= 15
    for labels in (memory, rows.with_parts(Parts()).collect().parts):
        assert (pd.Series(labels).groupby(frame["patient"]).nunique() == 1).all()
    order = np.random.default_rng(0).permutation(len(frame))
    np.testing.assert_array_equal(labels_of(frame.iloc[order], group="patient"), memory[order])


def test_groups_of_classes_are_stratified() -> None:
    frame = visits(50, 4)
    frame["y"] = np.repeat(np.where(np.arange(50) < 10, "rare", "often"), 4)
    labels = labels_of(frame, group="patient")
    assert (labels[frame["y"] == "rare"] == -1).sum() == 8
    assert (labels == -1).sum() == 40


def test_a_row_without_a_group_is_one_of_its_own() -> None:
    frame = visits(10, 10)
    frame.loc[frame["patient"] == "p0", "patient"] = None
    labels = labels_of(frame, group="patient")
    assert len(set(labels[:10])) > 1
    assert (labels == -1).sum() == 20


def test_groups_and_times_are_given_as_values_too() -> None:
    x, y, g = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0), np.arange(60) // 6
    labels = scan(x, target=y, group=g).read().with_parts(Parts()).block.parts
    assert all(len(set(labels[g == k])) == 1 for k in range(10))
    rows = scan(x, target=y, time=-y).read()
    assert rows.schema.names == ("x0", "x1")
    assert set(np.flatnonzero(rows.with_parts(Parts()).block.parts == -1)) == set(range(12))


def test_the_last_rows_in_time_are_tested_and_folds_follow_one_another() -> None:
    frame = numbers(120).assign(day=np.random.default_rng(0).permutation(120))
    labels = labels_of(frame, time="day")
    day = frame["day"].to_numpy()
    assert day[labels == -1].min() == 96
    assert sizes(labels, 6) == [16] * 6
    for fold in range(1, 6):
        assert day[labels == fold].min() > day[labels == fold - 1].max()
    assert "day" in scan(frame, target="y", time="day").schema.names


def test_rows_of_the_same_time_are_not_parted_and_rows_without_one_left_out() -> None:
    frame = numbers(103).assign(year=1990.0 + np.arange(103) // 10)
    frame.loc[100:, "year"] = np.nan
    rows = scan(frame, target="y", time="year").read()
    labels = rows.with_parts(Parts(folds=3)).block.parts
    assert (len(rows), rows.dropped) == (100, 3)
    assert (labels == -1).sum() == 20
    assert (pd.Series(labels).groupby(np.arange(100) // 10).nunique() == 1).all()


def test_a_stream_has_no_last_rows() -> None:
    rows = scan(numbers(30).assign(t=np.arange(30)), target="y", time="t")
    with pytest.raises(InputError, match="known only when all are in memory"):
        rows.with_parts(Parts()).collect()


def test_roles_are_checked() -> None:
    frame = visits()
    with pytest.raises(InputError, match=r"no column 'patiant'.*Did you mean 'patient'"):
        scan(frame, target="y", group="patiant")
    with pytest.raises(InputError, match="two roles"):
        scan(frame, target="y", group="y")
    with pytest.raises(InputError, match="not by both"):
        scan(frame, target="y", group="patient", time="a")


def test_keys_follow_the_rows_that_are_taken() -> None:
    rows = scan(visits(6, 5), target="y", group="patient").read()
    part = rows.take(np.arange(0, 30, 2))
    assert isinstance(part, InMemory)
    np.testing.assert_array_equal(part.keys.groups, rows.keys.groups[::2])
