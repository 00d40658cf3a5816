"""Bad tables: one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from separatrix import InputError, Moments, scan
from separatrix.statistics.moments import prepare

from .tables import mixed


def refused(words, make):
    with pytest.raises(InputError) as fault:
        make()
    text = str(fault.value)
    for word in words:
        assert word in text, text
    assert "\n" not in text
    assert len(text) < 400
    assert text.endswith((".", "?")), text


def read(source, **options):
    options.setdefault("target", "y")
    return scan(source, **options).reduce(Moments())


def csv(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_empty_tables(tmp_path):
    refused(["t.csv", "empty"], lambda: read(csv(tmp_path, "")))
    refused(["t.csv", "no rows"], lambda: read(csv(tmp_path, "x,y\n")))
    refused(["no rows"], lambda: read(pd.DataFrame({"x": [], "y": []})))
    refused(["no rows"], lambda: read(np.empty((0, 2)), target=np.empty(0)))
    mixed().head(0).to_parquet(tmp_path / "t.parquet")
    refused(["no rows"], lambda: read(tmp_path / "t.parquet", target="price"))


def test_one_row_is_a_table(tmp_path):
    assert read(csv(tmp_path, "x,y\n1,2")).count == 1


def test_absent_and_double_columns(tmp_path):
    refused(["'prize'", "Did you mean 'price'?"], lambda: read(mixed(), target="prize"))
    refused(["'w'", "weight"], lambda: read(mixed(), target="price", weight="w"))
    refused(["'tone'", "'town'"], lambda: read(mixed(), target="price", kinds={"tone": "numeric"}))
    refused(["'a'", "two columns"], lambda: read(csv(tmp_path, "a,a,y\n1,2,3\n")))
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"])
    refused(["'a'", "two columns"], lambda: read(twice))
    table = pa.Table.from_arrays([pa.array([1.0])] * 3, names=["a", "a", "y"])
    refused(["'a'", "two columns"], lambda: read(table))
    refused(["two roles"], lambda: read(mixed(), target="price", weight="price"))
    refused(["no feature column"], lambda: read(mixed()[["price"]], target="price"))


def test_words_among_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.rows.sources.csv.BLOCK_BYTES", 256)
    lines = [f"{i},{i}" for i in range(200)]
    lines[150] = "many,150"
    path = csv(tmp_path, "x,y\n" + "\n".join(lines))
    words = ["t.csv", "row 151", "'x'", "'many'", "kinds={'x': 'discrete'}"]
    refused(words, lambda: read(path, strict=True))
    frame = pd.DataFrame({"x": ["1", " 2.5", "", "three"], "y": range(4)})
    refused(["row 4", "'x'", "'three'"], lambda: read(frame, kinds={"x": "numeric"}))
    good = prepare(scan(frame[:3], target="y", kinds={"x": "numeric"})).moments
    assert good.x_mean[0] == 1.75


def test_infinite_values(tmp_path):
    frame = pd.DataFrame({"x": [1.0, np.inf, 2.0], "y": range(3)})
    refused(["row 2", "'x'", "infinite"], lambda: read(frame))
    refused(["t.csv", "row 1", "'y'"], lambda: read(csv(tmp_path, "x,y\n1,-inf\n")))
    refused(["row 2", "'x0'"], lambda: read(np.array([[1.0], [np.inf]]), target=np.arange(2)))


def test_broken_text(tmp_path):
    bad = b"x,t,y\n1,a,2\n2,b\xff,3\n"
    words = ["t.csv", "row 2", "'t'", "byte 16", "UTF-8"]
    refused(words, lambda: read(csv(tmp_path, bad), encoding="utf-8"))
    damaged = "x,t,y\n1,é,2\n1,é,2\n".encode() + bad[12:]  # UTF-8 but for one byte
    refused(["row 3", "'t'", "UTF-8"], lambda: read(csv(tmp_path, damaged)))
    header = csv(tmp_path, b"x\xff,y\n1,2\n")
    refused(["byte 2", "UTF-8"], lambda: read(header, encoding="utf-8"))


def test_ragged_lines(tmp_path):
    path = csv(tmp_path, "x,y\n1,2\n1,2,3\n")
    refused(["t.csv", "row 2", "3 values", "2 columns"], lambda: read(path))
    refused(["row 1", "1 values"], lambda: read(csv(tmp_path, "x,y\n1\n")))


def test_damaged_parquet(tmp_path):
    mixed().to_parquet(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    refused(["cut.parquet", "cut short"], lambda: read(tmp_path / "cut.parquet", target="price"))
    damaged = bytearray(whole)
    damaged[20:2000] = b"\xff" * 1980
    (tmp_path / "hole.parquet").write_bytes(bytes(damaged))
    refused(["hole.parquet", "damaged"], lambda: read(tmp_path / "hole.parquet", target="price"))


def test_files_that_differ(tmp_path):
    csv(tmp_path, "a,y\n1,2\n", "1.csv")
    csv(tmp_path, "b,y\n1,2\n", "2.csv")
    words = ["2.csv", "lacks 'a'", "has 'b' besides", "1.csv"]
    refused(words, lambda: read(str(tmp_path / "*.csv")))
    for name in "ab":
        pq.write_table(pa.table({name: [1.0], "y": [2.0]}), tmp_path / f"{name}.parquet")
    pair = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    refused(["b.parquet", "lacks 'a'"], lambda: read(pair))
    refused(["formats"], lambda: read([tmp_path / "1.csv", tmp_path / "a.parquet"]))


def test_files_that_are_not_there(tmp_path):
    csv(tmp_path, "x,y\n1,2\n", "houses.csv")
    refused(["hauses.csv", "Did you mean 'houses.csv'?"], lambda: read(tmp_path / "hauses.csv"))
    refused(["No file matches"], lambda: read(str(tmp_path / "*.parquet")))
    csv(tmp_path, "x,y\n1,2\n", "houses.sav")
    refused(["houses.sav", ".csv", ".parquet"], lambda: read(tmp_path / "houses.sav"))


def test_columns_that_are_no_numbers(tmp_path):
    lists = pa.table({"x": [[1, 2], [3]], "y": [1.0, 2.0]})
    refused(["'x'", "list<", "kinds={'x': 'ignore'}"], lambda: read(lists))
    refused(["'x'", "list<"], lambda: read(lists, kinds={"x": "discrete"}))
    structs = pa.table({"z": [1.0, 2.0], "x": [{"a": 1}, {"a": 2}], "y": [1.0, 2.0]})
    refused(["'x'", "struct<"], lambda: read(structs))
    assert read(structs, kinds={"x": "ignore"}).count == 2
    odd = pd.DataFrame({"x": [{"a": 1}, 3], "y": [1, 2]})
    refused(["'x'", "mixed types"], lambda: read(odd))


def test_words_of_the_request():
    refused(["missing", "'mean'"], lambda: read(mixed(), target="price", missing="means"))
    refused(["unseen", "'error'"], lambda: read(mixed(), target="price", unseen="errors"))
    kinds = {"town": "discreet"}
    refused(["'town'", "'discrete'"], lambda: read(mixed(), target="price", kinds=kinds))
    refused(["array"], lambda: read(np.ones((3, 2)), target="y"))


def test_truth_values_that_are_neither():
    words = ["row 3", "'x'", "holds 2", "kinds={'x': 'numeric'}"]
    frame = pd.DataFrame({"x": [0, 1, 2], "y": range(3)})
    refused(words, lambda: read(frame, kinds={"x": "boolean"}))


def test_weights():
    frame = mixed().assign(w=1.0)
    frame.loc[4, "w"] = -2
    refused(["row 5", "'w'", "negative"], lambda: read(frame, target="price", weight="w"))
    frame.loc[4, "w"] = np.nan
    rows = scan(frame, target="price", weight="w")
    assert rows.reduce(Moments()).count == 398
    assert rows.dropped == 2


def test_a_list_of_names_is_no_column_of_levels():
    frame = pd.DataFrame({"id": [f"n{i}" for i in range(6000)], "x": 1.0, "y": 1.0})
    kinds = {"id": "discrete"}
    words = ["'id'", "5000", "kinds={'id': 'ignore'}"]
    refused(words, lambda: read(frame, kinds=kinds, block_rows=6000))
    refused(words, lambda: prepare(scan(frame, target="y", kinds=kinds).read()))


def test_an_error_in_a_late_file_names_that_file(tmp_path):
    csv(tmp_path, "x,y\n1,2\n2,3\n", "1.csv")
    csv(tmp_path, "x,y\n3,2\nno,3\n4,5\n", "2.csv")
    refused(["2.csv", "row 2", "'no'"], lambda: read(str(tmp_path / "?.csv")))
    pq.write_table(pa.table({"x": [1.0], "y": [2.0]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": ["no"], "y": [2.0]}), tmp_path / "2.parquet")
    refused(["2.parquet", "row 1", "'no'"], lambda: read(str(tmp_path / "?.parquet")))


def test_files_that_are_no_text_tables(tmp_path):
    import gzip

    table = b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(5000))
    packed = gzip.compress(table)
    damaged = packed[:300] + bytes(20) + packed[320:]
    for name, content in (
        ("mark.csv", b"\xef\xbb\xbf"),
        ("plain.csv.gz", table),
        ("cut.csv.gz", packed[: len(packed) // 2]),
        ("damaged.csv.gz", damaged),
    ):
        path = csv(tmp_path, content, name)
        refused([name], lambda path=path: read(path))
    read(csv(tmp_path, b'"x\nx",y\n1,2\n', "header.csv"))  # a name may break a line


def test_the_target_cannot_be_ignored(tmp_path):
    path = csv(tmp_path, "x,y\n1,2\n3,4\n")
    refused(["'y'", "ignored"], lambda: scan(path, target="y", kinds={"y": "ignore"}))


def test_numbers_whose_squares_overflow_name_their_column():
    x = np.array([[1.0, 1e300], [2.0, -1e300], [3.0, 5e299]])
    refused(["'x1'", "overflow"], lambda: scan(x, target=np.arange(3.0)).reduce(Moments()))


def test_interrupted_standard_input_leaves_nothing_behind(tmp_path, monkeypatch):
    import sys
    import tempfile
    from types import SimpleNamespace

    class Stopped:
        def read(self, *_):
            raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Stopped()))
    with pytest.raises(KeyboardInterrupt):
        scan("-", target="y")
    assert list(tmp_path.iterdir()) == []
