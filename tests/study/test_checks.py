"""Copies, leakage, groups, series and rare classes are named before anyone trusts a score."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.samples import SAMPLES, sample
from separatrix.study import run_study
from separatrix.study.checks import check_table
from separatrix.study.design import with_warnings
from separatrix.study.tasks import with_classes


def checked(frame: pd.DataFrame, *, classes: bool = False, **options):
    """Messages and warnings of a table with target y."""
    rows = sx.scan(frame, target="y", **options).read()
    return with_warnings(lambda: check_table(with_classes(rows) if classes else rows))


def codes(warned: tuple[str, ...]) -> list[str]:
    return [text[:6] for text in warned]


def score(study, metric: str) -> float:
    return next(s.value for s in study.test if s.metric == metric)


def noisy(n: int = 300) -> pd.DataFrame:
    """Two classes of which a quarter cannot be predicted."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    y = np.where(rng.random(n) < 0.25, rng.random(n) < 0.5, x[:, 0] > 0)
    return pd.DataFrame(x, columns=list("abcd")).assign(y=np.where(y, "yes", "no"))


@pytest.mark.parametrize("name", list(SAMPLES))
def test_ordinary_tables_raise_no_warning(name) -> None:
    frame = pd.read_csv(sample(name).path).rename(columns={sample(name).target: "y"})
    assert checked(frame) == ([], ())


# -- copies ----------------------------------------------------------------------------------------


def test_a_table_three_times_over_scores_as_it_does_once() -> None:
    once, thrice = noisy(), pd.concat([noisy()] * 3, ignore_index=True)
    found = run_study(sx.scan(thrice, target="y"), models=["neighbors"])
    single = run_study(sx.scan(once, target="y"), models=["neighbors"])
    # Neighbors weighted by distance pass through their own rows, and SEP021 says so.
    assert codes(found.warnings) == ["SEP009", "SEP021"]
    assert "600 of 900 rows" in found.warnings[0]
    assert "the whole table 3 times" in found.warnings[0]
    assert (found.n_train, found.n_test) == (720, 180)
    assert score(found, "error") > 0.1
    assert score(found, "error") == pytest.approx(score(single, "error"), abs=0.1)
    assert codes(single.warnings) == ["SEP021"]


def test_some_copies_are_counted() -> None:
    _, warned = checked(pd.concat([noisy(), noisy()[:17]]))
    assert codes(warned) == ["SEP009"]
    assert "17 of 317 rows" in warned[0]


def test_rows_of_few_values_repeat_by_chance() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({k: rng.choice(["u", "v", "w"], 900) for k in "pqy"})
    messages, warned = checked(frame)
    assert not warned
    assert "873 of 900 rows repeat one of the 27 distinct rows" in messages[0]
    assert codes(checked(pd.concat([frame] * 2))[1]) == ["SEP009"]


# -- leakage ---------------------------------------------------------------------------------------


def amounts(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.gamma(2.0, 50.0, n), rng.normal(size=n)


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        (lambda s: 0.92 * s, "'y' = 0.92 · 'spend'."),
        (lambda s: (0.92 * s).round(2), "'y' ≈ 0.92 · 'spend'."),
        (lambda s: 32 - 1.8 * s, "'y' = -1.8 · 'spend' + 32."),
        (np.log, "'y' rises with 'spend' without exception"),
        (lambda s: -np.floor(s / 20), "'y' falls with 'spend' without exception"),
    ],
)
def test_a_number_that_is_a_function_of_one_column(other, shown) -> None:
    spend, noise = amounts()
    _, warned = checked(pd.DataFrame({"spend": spend, "noise": noise, "y": other(spend)}))
    assert codes(warned) == ["SEP010"]
    assert shown in warned[0]
    assert "kinds={'spend': 'ignore'}" in warned[0]


def test_strong_columns_are_no_leaks() -> None:
    spend, noise = amounts()
    frame = pd.DataFrame({"spend": spend, "z": noise, "y": spend + 2 * noise[::-1]})
    assert frame["y"].corr(frame["spend"]) > 0.99
    assert checked(frame)[1] == ()


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (lambda y: pd.Series(y).map({"yes": 3, "no": 1, "maybe": 2}), "1 → no, 2 → maybe, 3 → yes"),
        (lambda y: pd.Series(y).str.upper(), "'MAYBE' → maybe, 'NO' → no, 'YES' → yes"),
        (
            lambda y: pd.Series(y).map({"yes": 30.0, "no": 10.0, "maybe": 20.0}) + amounts(300)[1],
            "each class has a range of its own (no below",
        ),
    ],
)
def test_a_coded_copy_of_the_class(values, shown) -> None:
    y = np.random.default_rng(2).choice(["yes", "no", "maybe"], 300)
    frame = pd.DataFrame({"code": values(y), "x": amounts(300)[1], "y": y})
    _, warned = checked(frame)
    assert codes(warned) == ["SEP010"]
    assert shown in warned[0]


def test_a_code_with_a_few_errors_tells_nearly_everything() -> None:
    y = np.repeat(["yes", "no"], 300)
    code = np.where(y == "yes", "A", "B")
    code[[0, 1, 599]] = ["B", "B", "A"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"code": code, "x": rng.normal(size=600), "y": y})
    assert "nearly each of its values" in checked(frame)[1][0]
    frame.loc[:20, "code"] = "B"
    assert checked(frame)[1] == ()


def test_missing_values_that_tell_the_class() -> None:
    y = np.random.default_rng(2).choice(["paid", "lost"], 200)
    frame = pd.DataFrame({"when": np.where(y == "paid", amounts()[0], np.nan), "y": y})
    assert "missing where the class is lost" in checked(frame.assign(x=amounts()[1]))[1][0]


def test_a_leak_is_among_the_warnings_of_the_study() -> None:
    spend, noise = amounts()
    frame = pd.DataFrame({"spend": spend, "noise": noise, "spend_eur": 0.92 * spend})
    found = run_study(sx.scan(frame, target="spend_eur"), models=["linear"])
    assert any("SEP010 'spend'" in text for text in found.warnings)


def test_large_tables_are_checked_on_all_rows() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=30_000)
    y = 2 * x
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=30_000), "y": y})
    assert codes(checked(frame)[1]) == ["SEP010"]
    frame.loc[7, "y"] = 500.0
    assert checked(frame)[1] == ()


# -- groups and series -----------------------------------------------------------------------------


def visits(seed: int = 0) -> pd.DataFrame:
    """60 patients, 15 visits each, and labels of patients that nothing predicts."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(60), 15)
    x = rng.normal(size=(60, 4))[patient] + 0.1 * rng.normal(size=(900, 4))
    label = rng.permutation(np.repeat(["a", "b"], 30))[patient]
    frame = pd.DataFrame(x, columns=list("pqrs")).assign(patient=patient, y=label)
    return frame.sample(frac=1.0, random_state=seed)


def test_groups_are_suggested_and_honest() -> None:
    naive = run_study(sx.scan(visits(), target="y"), models=["neighbors"])
    assert score(naive, "error") < 0.02
    assert any(t.startswith("SEP011") and "`group='patient'`" in t for t in naive.warnings)
    grouped = run_study(sx.scan(visits(), target="y", group="patient"), models=["neighbors"])
    assert not grouped.warnings
    assert score(grouped, "error") > 0.25
    assert grouped.n_test == 180
    assert "patient" not in [c.name for c in grouped.columns]
    assert any("`group`" in text for text in grouped.messages)


def test_groups_named_by_text_and_groups_of_columns_alone() -> None:
    frame = visits()
    _, warned = checked(frame.assign(patient="p" + frame["patient"].astype(str)))
    assert codes(warned) == ["SEP011"]
    frame["y"] = np.random.default_rng(0).normal(size=900)
    messages, warned = checked(frame)
    assert not warned
    assert "alike in most columns" in messages[0]


def test_a_measurement_in_whole_numbers_is_no_group() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60, 900)
    y = np.sin(x / 9) + 0.05 * rng.normal(size=900)
    assert checked(pd.DataFrame({"x": x, "z": rng.normal(size=900), "y": y})) == ([], ())


def series(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame({"t": np.arange(n), "y": np.cumsum(rng.normal(size=n))})


def test_cumulated_noise_is_a_series() -> None:
    naive = run_study(sx.scan(series(), target="y"), models=["neighbors"])
    assert score(naive, "r2") > 0.9
    assert any(t.startswith("SEP011") and "`time='t'`" in t for t in naive.warnings)
    honest = run_study(sx.scan(series(), target="y", time="t"), models=["linear", "neighbors"])
    assert not any(t.startswith("SEP011") for t in honest.warnings)
    assert score(honest, "r2") < 0.5
    assert min(honest.test_predictions.rows) == 321
    assert any("`time`" in text and "earlier" in text for text in honest.messages)


def test_a_series_in_any_order_and_without_a_column() -> None:
    frame = series().assign(z=np.random.default_rng(0).normal(size=400))
    assert codes(checked(frame.sample(frac=1.0, random_state=0))[1]) == ["SEP011"]
    assert "name it as `time`" in checked(frame.drop(columns="t"))[1][0]
    assert checked(frame.drop(columns="t").sort_values("y")) == ([], ())


def test_dates_are_suggested_without_a_warning() -> None:
    rng = np.random.default_rng(0)
    day = pd.date_range("2024-01-01", periods=200)
    messages, warned = checked(
        pd.DataFrame({"date": day, "z": rng.normal(size=200), "y": rng.normal(size=200)})
    )
    assert not warned
    assert "`time='date'`" in messages[-1]


# -- rare classes ----------------------------------------------------------------------------------


def test_a_rare_class_that_is_not_found() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.permutation(5005) < 5, "fraud", "fine")
    y[rng.permutation(np.flatnonzero(y == "fine"))[:10]] = "fraud"
    frame = pd.DataFrame({"a": rng.normal(size=5005), "b": rng.normal(size=5005), "y": y})
    found = run_study(sx.scan(frame, target="y"), models=["lda"])
    assert any("'fraud' is rare: 15 of 5005 rows, 1 in 334" in text for text in found.messages)
    assert any(text.startswith("SEP012 none of the 3 test rows") for text in found.warnings)
    assert all("`costs`" in text for text in found.warnings if text.startswith("SEP012"))


def test_rows_of_one_group_are_one_piece_of_evidence() -> None:
    """Fifteen visits of a patient do not make a gain of the patient fifteen times as sure."""
    found = run_study(sx.scan(visits(), target="y", group="patient"), models=["neighbors"])
    rows = run_study(sx.scan(visits().drop(columns="patient"), target="y"), models=["neighbors"])
    baseline = next(e for e in found.leaderboard if e.name == "baseline")
    alone = next(e for e in rows.leaderboard if e.name == "baseline")
    ratio = baseline.secondary.standard_error / alone.secondary.standard_error
    assert 3.0 < ratio < 5.0
    assert found.winner == "baseline"


def test_copies_are_one_piece_of_evidence() -> None:
    once, thrice = (
        run_study(sx.scan(pd.concat([noisy()] * k), target="y"), models=["lda"]) for k in (1, 3)
    )
    for a, b in zip(once.leaderboard, thrice.leaderboard, strict=True):
        assert b.secondary.standard_error == pytest.approx(a.secondary.standard_error, rel=0.1)


def test_copies_in_a_table_that_is_read_once(monkeypatch, tmp_path) -> None:
    frame = pd.concat([series().assign(z=np.arange(400) % 7)] * 3)
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    found = run_study(sx.scan(str(tmp_path / "t.parquet"), target="y"), models=["linear"])
    assert codes(found.warnings) == ["SEP009"]
    assert "800 of 1200 rows" in found.warnings[0]
    assert any("about 20%" in text for text in found.messages)


def test_columns_that_add_up_to_the_target() -> None:
    spend, noise = amounts()
    frame = pd.DataFrame({"food": spend, "rent": noise, "z": noise[::-1]})
    frame["y"] = frame["food"] - 2 * frame["rent"]
    _, warned = checked(frame)
    assert codes(warned) == ["SEP010"]
    assert "'y' = 1 · 'food' − 2 · 'rent'." in warned[0]
    assert "'y' = 1 · 'food' − 2 · 'rent' − 7." in checked(frame.assign(y=frame["y"] - 7))[1][0]
    frame["y"] += 1e-3 * np.sin(np.arange(200))
    assert checked(frame)[1] == ()


def test_the_split_of_classes_does_not_depend_on_storage() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(90, 2)), rng.integers(0, 2, 90)
    frame = pd.DataFrame(x, columns=["x0", "x1"]).assign(y=y)
    found = [
        run_study(rows, models=["lda"]).test_predictions.rows.tolist()
        for rows in (sx.scan(x, target=y), sx.scan(frame, target="y"))
    ]
    assert found[0] == found[1]
