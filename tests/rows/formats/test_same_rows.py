"""The same table in every format: the same kinds, missing values, identifiers and moments."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import sqlite3
import string
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix import InputError, Moments, Parts, scan
from separatrix.rows.schema import Kind
from separatrix.statistics.moments import Grouped, prepare

from .conftest import write_sqlite

FORMATS = [
    *("t.parquet", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zst", "one.zip"),
    *("two.zip::in/t.csv", "t.jsonl", "t.ndjson.gz", "t.xlsx", "t.feather", "t.arrows", "t.db"),
    *("t.db::SELECT * FROM rents;", "t.duckdb", "t.duckdb::RENTS", "t.duckdb::FROM rents"),
]


@pytest.mark.parametrize("form", FORMATS)
def test_moments_kinds_and_parts_are_those_of_the_csv(forms, form):
    plain, other = (scan(forms[f], target="price", block_rows=64) for f in ("t.csv", form))
    found = {c.name: (c.kind, c.display) for c in other.schema.columns}
    expected = {c.name: (c.kind, c.display) for c in plain.schema.columns}
    if form.startswith("t.db"):  # SQLite has no truth values
        expected["garden"] = (Kind.NUMERIC, "")
    assert found == expected
    assert "id" not in found
    a, b = prepare(plain), prepare(other)
    assert b.encoding.names == a.encoding.names
    np.testing.assert_allclose(b.moments.mean, a.moments.mean, rtol=1e-12)
    np.testing.assert_allclose(b.moments.scatter, a.moments.scatter, rtol=1e-9, atol=1e-9)
    assert (b.moments.count, other.dropped) == (a.moments.count, plain.dropped)
    if not form.startswith("t.db"):
        counts = [
            {k: m.count for k, m in parts.reduce(Grouped(Moments())).parts.items()}
            for parts in (rows.with_parts(Parts(seed=1)) for rows in (plain, other))
        ]
        assert counts[0] == counts[1]


def test_folders_name_columns(forms, table):
    rows = scan(forms["hive"], target="price")
    assert rows.source.arrow.field("month").type == pa.int64()
    read = rows.read()
    month = read.block.terms.position
    values = read.collect().x[:, next(i for t, i in month.items() if t.column == "month")]
    expected = [d.month for d, p in zip(table["day"], table["price"], strict=True) if p == p]
    assert sorted(values) == sorted(expected)
    levels = scan(forms["hive"], target="price", kinds={"month": "discrete"}).read().schema
    assert levels.by_name["month"].levels == ("01", "02", "03", "04", "12")


_NUMBERS = st.none() | st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda v: round(v, 6))
_TEXTS = st.none() | st.text(string.ascii_letters + "åßж ,;\"'", min_size=2, max_size=6).map(
    lambda text: f"x{text}"
)
_ROWS = st.lists(
    st.tuples(_NUMBERS, st.none() | st.integers(-(10**6), 10**6), _TEXTS, st.booleans()),
    min_size=3,
    max_size=25,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("round")


@settings(max_examples=10, deadline=None)
@given(rows=_ROWS)
@pytest.mark.parametrize("form", ["jsonl", "xlsx", "feather", "db"])
def test_round_trips(folder, form, rows):
    """What was written comes back: to the last bit, and missing where it was."""
    columns = {name: [row[j] for row in rows] for j, name in enumerate("abcd")}
    columns["y"] = [float(i) for i in range(len(rows))]
    path = folder / f"t.{form}"
    path.unlink(missing_ok=True)
    _write(path, columns)
    source = scan(str(path), target="y", na="").source
    table = pa.Table.from_batches([b.batch for b in source.batches(list(columns), 7)])
    found = {name: table.column(name).to_pylist() for name in columns}
    for name, values in columns.items():
        wanted = [v.strip() or None if isinstance(v, str) else v for v in values]
        given_ = [v.strip() or None if isinstance(v, str) else v for v in found[name]]
        assert given_ == wanted, name


def _write(path, columns):
    frame = pa.table(
        {
            "a": pa.array(columns["a"], pa.float64()),
            "b": pa.array(columns["b"], pa.int64()),
            "c": pa.array(columns["c"], pa.string()),
            "d": pa.array(columns["d"], pa.bool_()),
            "y": columns["y"],
        }
    )
    records = frame.to_pylist()
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records))
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(list(columns))
        for row in records:
            book.active.append(list(row.values()))
        book.save(path)
    elif path.suffix == ".feather":
        feather.write_feather(frame, path)
    else:
        integers = {pa.int64(): pd.Int64Dtype()}
        write_sqlite(path, t=frame.to_pandas(types_mapper=integers.get))


def test_mixed_cells_are_read_as_in_a_text_file(tmp_path):
    """Numbers, numbers in text and marks of missing values make one numeric column."""
    values = [1, "2.5", "?", 4.0, None, "n.a.", 7]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"x": v, "y": i}) + "\n" for i, v in enumerate(values)))
    rows = scan(str(path), target="y").read()
    assert rows.schema.by_name["x"].kind is Kind.NUMERIC
    assert (rows.schema.by_name["x"].notation.na or ()) != ()


def test_texts_of_an_import_are_numbers_but_codes_beside_numbers_are_not(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"x": f"{i}.5", "y": str(i % 7)}) + "\n" for i in range(9)))
    assert scan(str(path), target="y").schema.by_name["x"].kind is Kind.NUMERIC
    path.write_text("".join(json.dumps({"x": f"0{i % 3}", "y": i}) + "\n" for i in range(9)))
    assert scan(str(path), target="y").schema.by_name["x"].kind is Kind.DISCRETE


def test_a_key_that_comes_late_is_a_column(tmp_path):
    lines = [json.dumps({"x": i, "y": i}) for i in range(5)] + ['{"x": 1, "y": 2, "late": 3.5}', ""]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    rows = scan(tmp_path / "t.jsonl", target="y")
    assert rows.schema.names == ("x", "late")
    assert rows.read().collect().x.shape[0] == 6


def test_a_sheet_as_people_make_it(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Results 2024"
    sheet["B2"] = "A title"
    sheet["B4"], sheet["D4"], sheet["E4"], sheet["H4"] = "Size", " when ", "at", "y"
    sheet.merge_cells("B4:C4")
    for i in range(6):
        row = [i, i / 2, dt.date(2024, 1, 1 + i), dt.time(10, i), i * 10, None, float(i)]
        for j, value in enumerate(row):
            sheet.cell(6 + i, 2 + j, value)
    sheet["C7"], sheet["F8"] = "#N/A", "=1/0"
    sheet["C7"].data_type = "e"
    book.create_sheet("empty")
    book.save(tmp_path / "b.xlsx")
    rows = scan(tmp_path / "b.xlsx", target="y")
    assert rows.schema.names == ("Size", "Size (2)", "when", "at", "column_5")
    assert "The only sheet with values is read: 'Results 2024'." in rows.notes
    assert [rows.schema.by_name[n].display for n in ("when", "at")] == ["date", "time"]
    read = rows.read()
    assert len(read) == 6
    missing = {t.column for t in read.block.terms if t.missing}
    assert missing == {"Size (2)", "column_5"}


ODS = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
<office:body><office:spreadsheet><table:table table:name="Sheet">{rows}
<table:table-row table:number-rows-repeated="1048000"><table:table-cell
 table:number-columns-repeated="16384"/></table:table-row>
</table:table></office:spreadsheet></office:body></office:document-content>"""

MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
)


def test_open_document(tmp_path):
    def cell(value):
        if isinstance(value, str):
            return (
                f'<table:table-cell office:value-type="string"><text:p>{value}</text:p>'
                "</table:table-cell>"
            )
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'

    table = [["town", "y"], *([f"t{i % 3}", i / 4] for i in range(12))]
    rows = "".join(f"<table:table-row>{''.join(map(cell, r))}</table:table-row>" for r in table)
    path = tmp_path / "t.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", MANIFEST)
        archive.writestr("content.xml", ODS.format(rows=rows))
    found = scan(path, target="y").read()
    assert len(found) == 12
    assert found.schema.by_name["town"].levels == ("t0", "t1", "t2")


@pytest.mark.parametrize("form", ["t.csv", "one.zip", "t.jsonl", "t.xlsx", "t.arrows", "t.db"])
def test_files_are_pieces_that_travel(forms, form):
    """Every file by itself, on another machine, is read as all of them together."""
    source = scan([forms[form], forms[form]], target="price").source
    pieces = [pickle.loads(pickle.dumps(source.piece(i))) for i in range(2)]
    assert all(piece.arrow == source.arrow for piece in pieces)
    counts = [[b.batch.num_rows for b in piece.batches(["town"], 50)] for piece in pieces]
    assert [sum(c) for c in counts] == [120, 120]


def test_columns_of_bytes_are_left_out_by_name(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (photo BLOB, x, y)")
    rows = [(b"\x00\xff", i, i / 3) for i in range(9)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="column 'photo': holds values of type binary"):
        scan(tmp_path / "t.db", target="y")
    assert scan(tmp_path / "t.db", target="y", kinds={"photo": "ignore"}).schema.names == ("x",)
    query = "SELECT x, y FROM t WHERE " + " OR ".join(f"x = {i}" for i in range(90))
    assert len(scan(f"{tmp_path / 't.db'}::{query}", target="y").read()) == 9
