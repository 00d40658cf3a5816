"""Streams that a fit would have to read whole are refused by their size, with what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest

import separatrix as sx
from separatrix.catalogue import DECLARATIONS, REGRESSION, Declaration
from separatrix.messages import InputError

N = 1_200
RNG = np.random.default_rng(11)
TABLE = pa.table({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": RNG.choice(["p", "q"], N)})
NUMBERS = TABLE.set_column(2, "y", pa.array(RNG.normal(size=N)))
LIMITED = [d for d in DECLARATIONS.values() if d.most_rows < np.inf]


@pytest.fixture(params=["parquet", "csv", "dataset", "dask"])
def stream(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[object, object]:
    """Classes and numbers, as one kind of stream."""
    return tuple(_as_stream(table, request.param, tmp_path / str(i)) for i, table in _tables())


def _tables() -> list[tuple[int, pa.Table]]:
    return list(enumerate((TABLE, NUMBERS)))


def _as_stream(table: pa.Table, kind: str, place: Path) -> object:
    if kind == "csv":
        pa.csv.write_csv(table, f"{place}.csv")
        return f"{place}.csv"
    if kind == "dask":
        dask = pytest.importorskip("dask.dataframe")
        return dask.from_pandas(table.to_pandas(), npartitions=3)
    pa.parquet.write_table(table, f"{place}.parquet")
    if kind == "parquet":
        return f"{place}.parquet"
    return pa.dataset.dataset(f"{place}.parquet")


@pytest.mark.parametrize("declared", LIMITED, ids=lambda d: d.name)
def test_pairs_of_rows_are_bounded(
    declared: Declaration, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(declared, "most_rows", 1_000.0)
    numbers = declared.task == REGRESSION
    place = _as_stream(NUMBERS if numbers else TABLE, "parquet", tmp_path / "rows")
    rows = sx.scan(
        place, target="y" if declared.load()().__sklearn_tags__().target_tags.required else None
    )
    with pytest.raises(InputError, match=r"takes 1,000 rows of a stream, and this one has 1,200"):
        declared.make().fit(rows)
    monkeypatch.setattr(declared, "most_rows", float(N))
    declared.make().fit(rows.sample(200))


@pytest.mark.parametrize("name", ["LinearSVC", "KNeighborsClassifier", "LogisticRegressionCV"])
def test_memory_bounds_what_reads_all_rows(
    name: str, stream: tuple[object, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = sx.scan(stream[0], target="y")
    model = DECLARATIONS[name].make()
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.02")
    with pytest.raises(InputError, match=r"all rows in memory.*1,200.*rows\.sample.*MEMORY"):
        model.fit(rows)
    monkeypatch.setenv("SEPARATRIX_MEMORY", "1")
    model.fit(rows)


def test_what_reads_block_by_block_has_no_bound(
    stream: tuple[object, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    sx.LinearDiscriminantAnalysis().fit(sx.scan(stream[0], target="y"))
    numbers = sx.scan(stream[1], target="y")
    sx.Ridge().fit(numbers)
    sx.GaussianProcessRegressor(n_inducing=5).fit(numbers)
    with pytest.raises(InputError, match="n_inducing=256"):
        sx.GaussianProcessRegressor().fit(numbers)


def test_tables_in_memory_are_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    monkeypatch.setattr(DECLARATIONS["SVC"], "most_rows", 10.0)
    rows = sx.scan(TABLE, target="y")
    sx.SVC().fit(rows)
    sx.SVC().fit(rows.read())


def test_a_sample_depends_on_content_and_seed_alone(tmp_path: Path) -> None:
    first = sx.scan(_as_stream(TABLE, "parquet", tmp_path / "a"), target="y").sample(100)
    shuffled = TABLE.take(np.random.default_rng(1).permutation(N))
    blocks = sx.scan(_as_stream(shuffled, "csv", tmp_path / "b"), target="y", block_rows=256)
    other = blocks.sample(100)
    assert len(first) == len(other) == 100
    np.testing.assert_allclose(np.sort(first.block.x, axis=0), np.sort(other.block.x, axis=0))
    assert not np.isin(blocks.sample(100, seed=1).block.x, first.block.x).all()
    assert len(blocks.sample(10 * N)) == N
    with pytest.raises(InputError, match="at least one"):
        blocks.sample(0)


def test_samples_are_fair() -> None:
    rows = sx.scan({"x": np.arange(20_000.0)})
    means = [rows.sample(400, seed).block.x.mean() for seed in range(40)]
    # 40 means of 400 of the numbers 0 … 19 999: within five standard errors of their mean
    assert abs(np.mean(means) - 9_999.5) < 5 * 5_773.5 / np.sqrt(40 * 400)


def test_groups_are_not_sampled_in_silence() -> None:
    with pytest.raises(InputError, match="groups and times"):
        sx.scan(TABLE, target="y", group="a").sample(10)
