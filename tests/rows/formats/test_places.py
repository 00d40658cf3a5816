"""Where tables are: addresses, storage, folders that name columns, what is inside of a file."""

from __future__ import annotations

import gzip
import sys

import fsspec
import pandas as pd
import pytest

from separatrix import InputError, LinearRegression, scan

FRAME = pd.DataFrame({"x": range(20), "y": [i * i % 7 for i in range(20)]})


@pytest.mark.parametrize("scheme", ["http", "https", "ftp", "HTTPS"])
def test_the_web_is_refused_with_what_to_type(scheme):
    with pytest.raises(InputError, match=r"not fetched from the web.*curl -L -o t\.csv '"):
        scan(f"{scheme}://example.org/data/t.csv?raw=1")


def test_storage_is_read_through_fsspec(tmp_path):
    system = fsspec.filesystem("memory")
    system.pipe("/in/t.csv", FRAME.to_csv(index=False).encode())
    system.pipe("/in/more/t.csv.gz", gzip.compress(FRAME.to_csv(index=False).encode()))
    FRAME.to_parquet(tmp_path / "t.parquet")
    FRAME.to_excel(tmp_path / "t.xlsx", index=False)
    FRAME.to_feather(tmp_path / "t.feather")
    for name in ("t.parquet", "t.xlsx", "t.feather"):
        system.pipe(f"/in/k=1/{name}", (tmp_path / name).read_bytes())
        system.pipe(f"/in/k=2/{name}", (tmp_path / name).read_bytes())
    for place in ("t.csv", "more/t.csv.gz", "k=1/t.parquet", "k=1/t.xlsx", "k=1/t.feather"):
        rows = scan(f"memory://in/{place}", target="y")
        assert (len(rows.read()), rows.schema.names) == (20, ("x",))
    rows = scan("memory://in/k=*/t.parquet", target="y")
    assert (len(rows.read()), rows.schema.names) == (40, ("x", "k"))
    assert len(scan(f"file://{tmp_path / 't.parquet'}", target="y").read()) == 20
    for absent in ("memory://in/none.csv", "memory://none/*.csv"):
        with pytest.raises(InputError, match="There is no such file"):
            scan(absent)
    system.pipe("/in/t.db", b"SQLite format 3\0")
    with pytest.raises(InputError, match="databases are read from local files only"):
        scan("memory://in/t.db::t")


def test_storage_without_its_library(monkeypatch):
    with pytest.raises(InputError, match=r"Did you mean 's3'"):
        scan("s33://bucket/t.csv")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(InputError, match=r"pip install 's3fs'"):
        scan("s3://bucket/t.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match=r"pip install 'separatrix\[remote\]'"):
        scan("gs://bucket/t.csv")


def test_chains_of_addresses_are_not_followed():
    with pytest.raises(InputError, match="There is no such file"):
        scan("simplecache::http://example.org/t.csv")


def test_folders_of_text_name_columns_and_one_of_them_can_be_predicted(tmp_path):
    for year, region in ((2023, "north"), (2024, "north"), (2024, "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / "sales" / f"year={year}" / f"region={region}"
        folder.mkdir(parents=True)
        frame = FRAME.assign(y=FRAME["y"] + year - 2000)
        frame.to_csv(folder / "part.csv", index=False)
    rows = scan(tmp_path / "sales", target="y", na="")
    assert rows.schema.names == ("x", "year", "region")
    assert len(rows.read()) == 60
    model = LinearRegression().fit(rows)
    one = tmp_path / "sales" / "year=2024" / "region=north" / "part.csv"
    predicted = model.predict(str(one))
    assert abs(predicted.mean() - (FRAME["y"].mean() + 24)) < 1e-8
    assert scan(one, target="y").schema.names == ("x",)  # one file says nothing about years
    (tmp_path / "sales" / "part.csv").write_text(FRAME.to_csv(index=False))
    with pytest.raises(InputError, match="is in no folder year=…"):
        scan(tmp_path / "sales", target="y")


def test_columns_of_a_file_go_before_those_of_its_folders(tmp_path):
    for year in (1, 2):
        (tmp_path / f"year={year}").mkdir()
        FRAME.assign(year=-1).to_parquet(tmp_path / f"year={year}" / "t.parquet")
    rows = scan(tmp_path, target="y", kinds={"year": "discrete"}).read()
    assert rows.schema.by_name["year"].levels == ("-1",)


def test_a_file_may_have_colons_in_its_name(tmp_path):
    FRAME.to_csv(tmp_path / "a::b.csv", index=False)
    assert len(scan(tmp_path / "a::b.csv", target="y").read()) == 20


def test_values_of_folders(tmp_path):
    for value in ("2024-02-28", "2024-02-31"):
        (tmp_path / f"day={value}").mkdir()
        FRAME.to_csv(tmp_path / f"day={value}" / "t.csv", index=False)
    assert scan(tmp_path, target="y").schema.by_name["day"].levels == ()
    assert str(scan(tmp_path, target="y").source.arrow.field("day").type) == "string"
    (tmp_path / "day=2024-02-31" / "t.csv").unlink()
    assert scan(tmp_path, target="y").schema.by_name["day"].display == "date"
