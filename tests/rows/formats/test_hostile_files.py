"""Files built to do harm, or cut short: refused in words, quickly and with little memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import lzma
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from separatrix import InputError, scan
from separatrix.rows.sources import places as compression

from .conftest import write_zip

TEXT = b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i % 17) for i in range(2000))


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def packed(data: bytes, end: str) -> bytes:
    if end != ".zst":
        return PACKERS[end](data)
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


@pytest.mark.parametrize("end", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_that_are_cut_short_or_damaged(tmp_path, end):
    path = tmp_path / f"t.csv{end}"
    data = packed(TEXT, end)
    path.write_bytes(data)
    assert len(scan(path, target="y").read()) == 2000
    for broken in (data[: len(data) // 2], b"no such thing" + data):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"t\.csv\.\w+: cannot be unpacked"):
            scan(path, target="y").read()


@pytest.mark.parametrize(("kind", "end"), [("csv", ".gz"), ("csv", ".zst"), ("jsonl", ".xz")])
def test_bombs(tmp_path, monkeypatch, kind, end):
    monkeypatch.setattr(compression, "SUSPICIOUS_BYTES", 1 << 20)
    line = b"1,1\n" if kind == "csv" else b'{"x": 1, "y": 1}\n'
    path = tmp_path / f"t.{kind}{end}"
    path.write_bytes(packed((b"x,y\n" if kind == "csv" else b"") + line * 1_000_000, end))
    with pytest.raises(InputError, match="more than 500 times its size"):
        scan(path, target="y").read()


def test_a_line_without_end(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"x": "' + b"a" * (21 << 20), 1))
    with pytest.raises(InputError, match="a line of more than 16 MB"):
        scan(path)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n1," + b"7" * (21 << 20), 1))
    with pytest.raises(InputError, match=r"t\.csv\.gz"):
        scan(path)


def test_archives(tmp_path):
    write_zip(tmp_path / "a.zip", **{"x.csv": TEXT, "in/y.csv": TEXT, "../../up.csv": TEXT})
    with pytest.raises(InputError, match=r"holds 3 files.*Name one: .*a\.zip::x\.csv"):
        scan(tmp_path / "a.zip")
    with pytest.raises(InputError, match=r"Did you mean 'in/y\.csv'"):
        scan(f"{tmp_path / 'a.zip'}::in/y.cvs")
    with pytest.raises(InputError, match="leads out of the archive"):
        scan(f"{tmp_path / 'a.zip'}::../../up.csv")
    assert len(scan(f"{tmp_path / 'a.zip'}::in/y.csv", target="y").read()) == 2000
    rows = scan(write_zip(tmp_path / "one.zip", **{"in/y.csv": TEXT}), target="y")
    assert rows.notes[0] == "The only file of the archive is read: 'in/y.csv'."
    assert len(scan(write_zip(tmp_path / "g.zip", **{"y.csv.gz": gzip.compress(TEXT)})).read())
    write_zip(tmp_path / "p.zip", **{"t.parquet": b"PAR1"})
    with pytest.raises(InputError, match="not read from a compressed file"):
        scan(tmp_path / "p.zip")
    (tmp_path / "b.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:-40])
    with pytest.raises(InputError, match="cut short or damaged"):
        scan(tmp_path / "b.zip")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"x": ' + "[" * 100_000, r"row 4.*nested too deeply"),
        ('{"x": ' + '{"x": ' * 50_000, r"row 4.*nested too deeply"),
        ('{"x": 1, "y": 2, "x": 3}', r"row 4, column 'x': the object has this key twice"),
        ('{"x": 1, "y"', r"row 4: is not JSON"),
        ('{"x": "\\ud800", "y": 3}', r"row 4: is not JSON"),
        ("[1, 2]", r"row 4: holds a list, not an object"),
        ('{"x": [1, 2], "y": 3}', r"column 'x': holds values of type"),
        ('{"x": 1e999, "y": 3}', r"row 4, column 'x': holds an infinite value"),
        (f'{{"x": 1{"0" * 400}, "y": 3}}', r"row 4, column 'x': holds an infinite value"),
        (f'{{"x": 1{"0" * 5000}, "y": 3}}', r"row 4"),
        ('{"x": "seven", "y": 3}', r"row 4, column 'x': 'seven' is not a number"),
    ],
)
def test_json_lines(tmp_path, line, words):
    path = tmp_path / "t.jsonl"
    good = "".join(json.dumps({"x": i + 0.5, "y": i}) + "\n" for i in range(3))
    path.write_text(f"{good}\n{line}\n{good}")  # the empty line is not a row
    with pytest.raises(InputError, match=words):
        scan(path, target="y", kinds={"x": "numeric"} if "seven" in line else None).read()


def test_other_json(tmp_path):
    (tmp_path / "t.jsonl").write_text('[{"x": 1},\n{"x": 2}]\n')
    with pytest.raises(InputError, match="one JSON array, not an object on every line"):
        scan(tmp_path / "t.jsonl")
    (tmp_path / "t.json").write_text("{}")
    with pytest.raises(InputError, match="Write it as JSON lines"):
        scan(tmp_path / "t.json")
    (tmp_path / "t.ndjson").write_text("\n\n")
    with pytest.raises(InputError, match="The file is empty"):
        scan(tmp_path / "t.ndjson")


def test_arrow_files(tmp_path):
    good = pa.table({"x": ["one", "two", "three"] * 9, "y": list(range(27))})
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(path), good.schema) as file:
        file.write_table(good)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="cannot be read as an Arrow file"):
        scan(path)
    path.write_bytes(b"FEA1" + data)
    with pytest.raises(InputError, match="first version of Feather"):
        scan(path)
    offsets = pa.py_buffer(bytes.fromhex("00000000ffffff7f05000000"))  # beyond the text
    buffers = [None, offsets, pa.py_buffer(b"abcde")]
    evil = pa.RecordBatch.from_arrays(
        [pa.Array.from_buffers(pa.string(), 2, buffers), pa.array([1, 2])], names=["x", "y"]
    )
    with pa.ipc.new_file(str(path), evil.schema) as file:
        file.write_batch(evil)
    with pytest.raises(InputError, match="cut short or damaged"):
        scan(path, target="y").read()


def workbook(path, *, sheet=None, parts=()):
    """A workbook with a table, whose sheet is written anew, and more parts."""
    book = openpyxl.Workbook()
    for row in (["x", "y"], *([i, i * i % 7] for i in range(9))):
        book.active.append(row)
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist()}
    if sheet is not None:
        files["xl/worksheets/sheet1.xml"] = sheet(files["xl/worksheets/sheet1.xml"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, **dict(parts)}.items():
            archive.writestr(name, data)
    return path


LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        (lambda s: s.replace(b'r="B10"', b'r="XFD1048576"'), "cells up to the last one"),
        (lambda s: s.replace(b'r="B10"', b"p=\">\" r = 'XFD1048576'"), "cells up to the last one"),
        (lambda s: s.replace(b'r="B10"', b'r="B99999999"'), "cells up to the last one"),
        (lambda s: s.replace(b'r="B10"', b'r="b9999999999"'), "cells up to the last one"),
        (
            lambda s: s.replace(b'<row r="10"><c r="A10"', b'<row r="9999999"><c/><c/><c'),
            "cells up to the last one",
        ),
        (lambda s: s.replace(b"<worksheet", LAUGHS + b"<worksheet", 1), "declares entities"),
        (lambda s: s[: len(s) // 2], "cannot be read as a workbook"),
        (lambda s: s.decode().encode("utf-16"), "is not written in UTF-8"),
        (lambda s: b"<x" + b" " * (5 << 20), "has a tag without end"),
    ],
)
def test_sheets_built_to_fill_memory(tmp_path, sheet, words):
    with pytest.raises(InputError, match=words):
        scan(workbook(tmp_path / "b.xlsx", sheet=sheet), target="y")


def test_workbooks_follow_no_link_and_read_no_part_they_need_not(tmp_path):
    link = (
        b'<?xml version="1.0"?><externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml'
        b'/2006/main"><externalBook r:id="rId1" xmlns:r="x"/></externalLink>'
    )
    target = b'<Relationships><Relationship Id="rId1" Target="file:///etc/passwd"/></Relationships>'
    parts = {
        "xl/externalLinks/externalLink1.xml": link,
        "xl/externalLinks/_rels/externalLink1.xml.rels": target,
        "xl/vbaProject.bin": b"\x00" * 100,
        "../../evil.xml": b"<x/>",
    }
    path = workbook(tmp_path / "b.xlsm", parts=parts)
    assert len(scan(path, target="y").read()) == 9
    assert [p.name for p in tmp_path.iterdir()] == ["b.xlsm"]


def test_other_workbooks(tmp_path, monkeypatch):
    book = openpyxl.Workbook()
    book.active.append(["x", "y"])
    book.active.append([1, 2])
    book.create_sheet("Prices").append(["x", "y"])
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(InputError, match=r"has 2 sheets.*Name one: .*b\.xlsx::Sheet"):
        scan(tmp_path / "b.xlsx")
    with pytest.raises(InputError, match="Did you mean 'Prices'"):
        scan(f"{tmp_path / 'b.xlsx'}::Price")
    (tmp_path / "c.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))
    with pytest.raises(InputError, match="cannot be read as a workbook"):
        scan(tmp_path / "c.xls")
    repeated = (
        '<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x"><office:body>'
        '<office:spreadsheet><table:table table:name="s"><table:table-row '
        'table:number-rows-repeated="1000000"><table:table-cell office:value-type="float" '
        'office:value="1" table:number-columns-repeated="16000"/></table:table-row></table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    write_zip(tmp_path / "d.ods", **{"content.xml": repeated.encode()})
    with pytest.raises(InputError, match="16,000,000,000 cells"):
        scan(tmp_path / "d.ods")
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"pip install 'separatrix\[excel\]'"):
        scan(tmp_path / "b.xlsx")


FUZZED = ["t.feather", "t.arrows", "t.jsonl", "t.db", "t.xlsx", "one.zip", "t.csv.zst"]


@pytest.mark.parametrize("form", FUZZED)
def test_damaged_bytes_are_read_or_refused(forms, tmp_path, form):
    """Nothing but a refusal in words comes of any damage."""
    data = Path(forms[form]).read_bytes()
    path = tmp_path / form
    random = np.random.default_rng(len(form))
    for _ in range(12):
        damaged = np.frombuffer(data, np.uint8).copy()
        some = random.integers(0, random.choice([min(4096, len(data)), len(data)]), 5)
        damaged[some] = random.integers(0, 256, 5)
        path.write_bytes(damaged.tobytes()[: random.choice([len(data), len(data) // 2])])
        with contextlib.suppress(InputError):
            scan(path, target="price").read()


def test_old_workbooks(tmp_path):
    """A workbook of 2009 is read; the same with a cell in the last corner ends no process."""
    folder = Path(pytest.importorskip("statsmodels").__file__).parent / "datasets" / "macrodata"
    path = next(p for p in sorted(folder.rglob("macrodata.xls")) if p.is_file())
    rows = scan(f"{path}::Quarterly")
    assert rows.schema.by_name["DATE"].display == "date"
    assert len(rows.read()) == 251
    data = bytearray(path.read_bytes())
    at = data.index(b"\x03\x02\x0e\x00") + 4  # the place of a number
    data[at : at + 4] = b"\xff\xff\xff\xff"
    (tmp_path / "evil.xls").write_bytes(data)
    with pytest.raises(InputError, match="takes more memory or time"):
        scan(f"{tmp_path / 'evil.xls'}::Monthly")


def test_limits_of_a_workbook_are_stated_and_can_be_raised(tmp_path):
    book = openpyxl.Workbook()
    for row in [("x", "y"), *((i, i * i) for i in range(200))]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    for limits, words in (
        ({"bytes": 1_000}, r"GB of text, more than .*limits=\{'bytes': 1e\+04\}"),
        ({"bytes": 35_000}, r"cells up to the last one, more than .* \(350 cells\)"),
        ({"seconds": 1e-9}, r"the workbook takes more than 1e-09 seconds\. Save the sheet as CSV"),
    ):
        with pytest.raises(InputError, match=words):
            scan(tmp_path / "t.xlsx", target="y", limits=limits)
    assert len(scan(tmp_path / "t.xlsx", target="y", limits={"bytes": 1e5}).read()) == 200
