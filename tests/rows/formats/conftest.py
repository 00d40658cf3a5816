from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
import zipfile
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest

from ..tables import mixed


def write_sqlite(path: Path, **tables: pd.DataFrame) -> Path:
    connection = sqlite3.connect(path)
    for name, frame in tables.items():
        frame.to_sql(name, connection, index=False)
    connection.close()
    return path


def write_duckdb(path: Path, **tables: pd.DataFrame) -> Path:
    connection = duckdb.connect(str(path))
    for name, frame in tables.items():
        connection.register("frame", pa.Table.from_pandas(frame, preserve_index=False))
        connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM frame')
        connection.unregister("frame")
    connection.close()
    return path


def write_zip(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.fixture(scope="package")
def table() -> pd.DataFrame:
    """Numbers, truth values, texts and dates, some missing, and an identifier."""
    frame = mixed(120).round(6)  # workbooks hold 16 digits
    frame.insert(0, "id", range(1001, 1121))
    frame["day"] = pd.date_range("2023-12-20", periods=120).date
    return frame


@pytest.fixture(scope="package")
def forms(table, tmp_path_factory) -> dict[str, str]:
    """The same table in every format."""
    folder = tmp_path_factory.mktemp("formats")
    table.to_csv(folder / "t.csv", index=False)
    table.to_parquet(folder / "t.parquet")
    text = (folder / "t.csv").read_bytes()
    for end, pack in (("gz", gzip), ("bz2", bz2), ("xz", lzma)):
        (folder / f"t.csv.{end}").write_bytes(pack.compress(text))
    with pa.CompressedOutputStream(str(folder / "t.csv.zst"), "zstd") as file:
        file.write(text)
    write_zip(folder / "one.zip", **{"t.csv": text})
    write_zip(folder / "two.zip", **{"a.txt": b"no table", "in/t.csv": text, ".hidden": b""})
    records = pa.Table.from_pandas(table, preserve_index=False).to_pylist()
    lines = "".join(json.dumps(row, default=str) + "\n" for row in records)
    (folder / "t.jsonl").write_text(lines)
    (folder / "t.ndjson.gz").write_bytes(gzip.compress(lines.encode()))
    table.to_excel(folder / "t.xlsx", index=False)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    feather.write_feather(arrow, folder / "t.feather", compression="lz4", chunksize=50)
    with pa.ipc.new_stream(str(folder / "t.arrows"), arrow.schema) as stream:
        stream.write_table(arrow, max_chunksize=50)
    write_sqlite(folder / "t.db", rents=table)
    write_duckdb(folder / "t.duckdb", rents=table)
    for month, rows in table.groupby(pd.to_datetime(table["day"]).dt.month):
        part = folder / "hive" / f"month={month:02d}"
        part.mkdir(parents=True)
        rows.to_parquet(part / "part.parquet")
    names = {
        *("t.parquet", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zst", "one.zip"),
        *("two.zip::in/t.csv", "t.jsonl", "t.ndjson.gz", "t.xlsx", "t.feather", "t.arrows"),
        *("t.db", "t.db::rents", "t.db::SELECT * FROM rents;", "t.duckdb", "t.duckdb::RENTS"),
        "t.duckdb::FROM rents",
    }
    return {name: str(folder / name) for name in sorted(names)} | {
        "t.csv": str(folder / "t.csv"),
        "hive": str(folder / "hive"),
    }
