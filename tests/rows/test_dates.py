"""Parts of dates as columns: what they are, when there are some, and that new rows have them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.dates import MONTHS, WEEKDAYS, add_date_parts, part_values


def table(n: int = 300, step: int = 1, missing: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    first = dt.date(2019, 1, 1)
    when = [first + dt.timedelta(step * int(d)) for d in rng.integers(0, 800, n)]
    x = rng.normal(size=n)
    weekend = np.array([day.weekday() >= 5 for day in when])
    y = 3.0 * weekend + x + 0.3 * rng.normal(size=n)
    dates = [None if i < missing else day for i, day in enumerate(when)]
    return pl.DataFrame({"when": dates, "x": x, "y": y})


def names(frame: pl.DataFrame) -> list[str]:
    return list(add_date_parts(sx.scan(frame, target="y").read()).schema.names)


def test_parts_are_those_of_the_calendar() -> None:
    rng = np.random.default_rng(0)
    times = [
        dt.datetime(1900, 1, 1) + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 7e9, 500)
    ]
    days = np.array([(t - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1) for t in times])
    assert [WEEKDAYS[i] for i in part_values(days, "weekday")] == [f"{t:%A}" for t in times]
    assert [MONTHS[i] for i in part_values(days, "month")] == [f"{t:%B}" for t in times]
    assert part_values(days, "year").tolist() == [t.year for t in times]
    whole = [t.replace(minute=0, second=0) for t in times]
    days = np.array([(t - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1) for t in whole])
    assert part_values(days, "hour").tolist() == [t.hour for t in whole]


def test_a_table_has_the_parts_that_vary_on_enough_rows() -> None:
    assert names(table()) == ["when", "x", "when weekday", "when month", "when year"]
    assert names(table(n=60)) == ["when", "x", "when year"]
    first = table().with_columns(when=pl.col("when").dt.truncate("1mo"))
    assert names(first) == ["when", "x", "when month", "when year"]
    clock = table().with_columns(when=pl.col("when").cast(pl.Datetime) + pl.duration(hours=3))
    assert "when hour" not in names(clock)  # the same in every row
    own = table().with_columns(pl.lit("a").alias("when weekday"))
    assert names(own).count("when weekday") == 1
    assert names(table().drop("when")) == ["x"]


@pytest.mark.parametrize("missing", [0, 20])
def test_new_rows_have_the_parts_of_their_dates(missing, tmp_path) -> None:
    frame = table(missing=missing)
    study = sx.run_study(
        sx.scan(frame, target="y"), models=["linear"], reference=False, verbose=False
    )
    assert any("columns of its weekday, month, year" in text for text in study.messages)
    entry = next(e for e in study.leaderboard if e.name == "linear")
    assert entry.mean < (0.4 if not missing else 0.7)
    new = frame.drop("y")
    p = study.model.predict(new)
    assert np.sqrt(np.mean((p - frame["y"].to_numpy())[missing:] ** 2)) < 0.4
    scanned = sx.scan(frame, target="y")
    file = tmp_path / "new.csv"
    new.write_csv(file)
    sx.save(study.model, tmp_path / "model.sx")
    for model in (study.model, sx.load(tmp_path / "model.sx")):
        for rows in (new[::-1], scanned.read().take(slice(None, None, -1))):
            assert model.predict(rows) == pytest.approx(p[::-1], rel=1e-12)
        assert model.predict(sx.scan(str(file))) == pytest.approx(p, rel=1e-12)
        assert model.predict(add_date_parts(scanned.read())) == pytest.approx(p, rel=1e-12)


def test_the_rows_of_a_study_with_dates_are_verified(tmp_path) -> None:
    frame = table()
    study = sx.run_study(sx.scan(frame, target="y"), models=["linear"], verbose=False)
    file = tmp_path / "table.csv"
    frame.write_csv(file)
    again = sx.run_study(sx.scan(str(file), target="y"), models=["linear"], verbose=False)
    assert again.digest == study.digest
    bare = frame.drop("when")
    other = sx.run_study(sx.scan(bare, target="y"), models=["linear"], verbose=False)
    assert other.digest != study.digest


def test_parts_of_dates_are_not_exported() -> None:
    study = sx.run_study(sx.scan(table(), target="y"), models=["linear"], verbose=False)
    with pytest.raises(InputError, match="parts of dates"):
        sx.export_model(study.model, to="sql")


def test_dates_of_no_effect_are_noise() -> None:
    """Parts see no target, so that pure noise stays noise with them."""
    total = 0.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        when = [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 600, 150)]
        noise = pl.DataFrame({"when": when, "y": rng.normal(size=150)})
        study = sx.run_study(
            sx.scan(noise, target="y"),
            models=["linear", "ridge", "additive"],
            reference=False,
            verbose=False,
        )
        baseline, *others = study.leaderboard
        total += study.n_train * max(np.log(baseline.mean / e.mean) for e in others)
        assert study.winner == "baseline"
    assert total < 28.0
