"""Streams of Arrow: read once, kept in a temporary file, the same answers as the table."""

import gc
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import separatrix as sx
from separatrix.messages import InputError

N = 3_000


def _table() -> pa.Table:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, N))
    town = rng.choice(["u", "v", "w"], N)
    y = 2.0 * a - b + (town == "v") + 0.1 * rng.normal(size=N)
    return pa.table({"a": a, "town": town, "b": b, "y": y})


TABLE = _table()


class Capsule:
    """What any library hands over: nothing but the protocol."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


def _reader(batches: Iterator[pa.RecordBatch] | None = None) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(
        TABLE.schema, TABLE.to_batches(max_chunksize=500) if batches is None else batches
    )


def _relation() -> object:
    return pytest.importorskip("duckdb").connect().from_arrow(TABLE)


def _lazy() -> object:
    return pytest.importorskip("polars").from_arrow(TABLE).lazy()


STREAMS = {
    "reader": _reader,
    "capsule": Capsule,
    "relation of DuckDB": _relation,
    "lazy frame": _lazy,
    "dataset": lambda: ds.dataset(TABLE),
    "filtered dataset": lambda: ds.dataset(TABLE).filter(ds.field("b") > -100.0),
}


def _left() -> list[Path]:
    gc.collect()
    return list(Path(tempfile.gettempdir()).glob(".separatrix-stream*"))


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_the_table(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make = STREAMS[name]
    of_table = sx.Ridge().fit(sx.scan(TABLE, target="y"))
    rows = sx.scan(make(), target="y")
    model = sx.Ridge().fit(rows)
    np.testing.assert_allclose(model.coef_, of_table.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.predict(make()), of_table.predict(TABLE), rtol=1e-12)
    del rows, model
    assert not _left()


def test_frames_in_memory_are_not_spooled() -> None:
    polars = pytest.importorskip("polars")
    from separatrix.rows.sources.spooled import is_arrow_stream

    for table in (TABLE, TABLE.to_batches()[0], TABLE.to_pandas(), polars.from_arrow(TABLE)):
        assert not is_arrow_stream(table)
    assert not is_arrow_stream({"a": [1.0]})


def test_a_stream_that_breaks_off_is_refused_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def breaking() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches(max_chunksize=100)[:3]
        raise RuntimeError("the network is gone")

    with pytest.raises(InputError, match="the network is gone"):
        sx.scan(_reader(breaking()), target="y")
    assert not _left()


def test_a_stream_that_was_read_is_refused() -> None:
    reader = _reader()
    sx.scan(reader, target="y")
    with pytest.raises(InputError, match=r"no rows left.*make it anew"):
        sx.scan(reader, target="y")


def test_columns_of_the_same_name() -> None:
    twice = pa.RecordBatchReader.from_batches(
        pa.schema([("a", pa.float64()), ("a", pa.float64())]), iter(())
    )
    with pytest.raises(InputError, match="two columns have this name"):
        sx.scan(twice, target="a")


def test_the_target_of_a_stream_is_named() -> None:
    with pytest.raises(InputError, match="must be given by name"):
        sx.scan(_reader(), target=np.zeros(N))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
def test_the_temporary_file_is_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = sx.scan(_reader(), target="y")
    (spool,) = _left()
    assert spool.stat().st_mode & 0o077 == 0
    assert rows is not None


def test_damaged_files_of_a_dataset(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    for part in range(2):
        pq.write_table(TABLE.slice(part * 1_500, 1_500), tmp_path / f"{part}.parquet")
    rows = sx.scan(ds.dataset(tmp_path), target="y")
    data = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(data[:200])
    with pytest.raises(InputError, match=r"the dataset.*cannot be read"):
        sx.LinearRegression().fit(rows)
