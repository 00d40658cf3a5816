"""Layouts of text files: encodings, comments, separators, headers."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from separatrix import InputError, scan
from separatrix.rows.scan import rows_like

TABLE = "größe,stadt,y\n1,Köln,2\n2,Ulm,3\n3,Köln,4\n"


def stored(tmp_path, content, encoding="utf-8", name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("latin-1", "Windows-1252"),
        ("cp1252", "Windows-1252"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16-LE"),
        ("utf-16-be", "UTF-16-BE"),
    ],
)
def test_encodings_are_recognized(tmp_path, encoding, note):
    for content, suffix in (
        (TABLE.encode(encoding), ""),
        (gzip.compress(TABLE.encode(encoding)), ".gz"),
    ):
        rows = scan(stored(tmp_path, content, name=f"t.csv{suffix}"), target="y")
        block = rows.read().block
        assert [str(term) for term in block.terms] == ["größe", "stadt=Köln", "stadt=Ulm"]
        assert block.x[:, 0].tolist() == [1, 2, 3]
        assert (note in " ".join(rows.notes)) if note else not rows.notes


def test_an_encoding_far_down_a_file_is_seen(tmp_path):
    lines = [f"{i},a,{i}" for i in range(100_000)] + ["1,Köln,2"]
    path = stored(tmp_path, "x,t,y\n" + "\n".join(lines), "latin-1")
    rows = scan(path, target="y")
    assert "Windows-1252" in " ".join(rows.notes)
    assert {term.level for term in rows.read().block.terms} == {None, "a", "Köln"}


def test_an_encoding_can_be_given(tmp_path):
    path = stored(tmp_path, TABLE, "cp1250")
    assert scan(path, target="y", encoding="cp1250").schema.names[0] == "größe"
    path = stored(tmp_path, "x,t,y\n1,Łódź,2\n2,b,3\n", "cp1250")
    levels = [t.level for t in scan(path, target="y", encoding="cp1250").read().block.terms]
    assert "Łódź" in levels
    with pytest.raises(InputError, match="row 1, column 't': byte 9 of the file is not UTF-8"):
        scan(path, target="y", encoding="utf-8").read()


@pytest.mark.parametrize("mark", ["#", "//", "%", "  #"])
def test_comments_before_the_table(tmp_path, mark):
    path = stored(tmp_path, f"{mark} made, by; hand\n\n{mark} in 2020\nx,y\n1,2\n3,4\n")
    rows = scan(path, target="y")
    assert rows.schema.names == ("x",)
    assert "2 comment lines" in rows.notes[0]
    assert rows.read().block.x.ravel().tolist() == [1, 3]
    with pytest.raises(InputError, match="row 3: has 3 values"):
        scan(stored(tmp_path, "# a\nx,y\n1,2\n3,4\n1,2,3\n"), target="y").read()


def test_names_in_the_last_comment(tmp_path):
    rows = scan(stored(tmp_path, "# made by hand\n# x,y\n1,2\n3,4\n"), target="y")
    assert rows.schema.names == ("x",)
    assert "last comment" in " ".join(rows.notes)
    assert len(rows.read()) == 2


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_separators(tmp_path, sign):
    text = "x,t,y\n1,a b,2\n3,c,4\n".replace(",", sign)
    rows = scan(stored(tmp_path, text), target="y")
    assert rows.schema.names == ("x", "t")
    assert not rows.notes


def test_the_separator_is_that_of_every_line(tmp_path):
    text = '"a, b, c, d";x;y\n1,5;2;3\n2,5;3;4\n'
    assert scan(stored(tmp_path, text), target="y").schema.names == ("a, b, c, d", "x")
    text = "sep=;\nx;y\n1,5;2\n2,5;3\n"
    assert scan(stored(tmp_path, text), target="y").read().block.x[:, 0].tolist() == [1.5, 2.5]
    text = "x:y\n1:2\n2:3\n"
    assert scan(stored(tmp_path, text), target="y", delimiter=":").schema.names == ("x",)


IRIS = "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n5.8,2.7,virginica\n"


def test_a_file_without_a_header(tmp_path):
    rows = scan(stored(tmp_path, IRIS), target="column_3")
    assert rows.schema.names == ("column_1", "column_2")
    assert len(rows.read()) == 4
    assert "`header=True`" in rows.notes[0]
    assert not rows.schema.header
    with pytest.raises(InputError, match=r"'species'.*first line of the file holds values"):
        scan(stored(tmp_path, IRIS), target="species")
    new = rows_like(stored(tmp_path, "5,3\n6,2\n"), rows.schema)
    assert new.collect().x.tolist() == [[5, 3], [6, 2]]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\nx,y\nx,y\ny,x\nx,x\ny,y\n", True),
        ("p,x,s\n" + "e,x,s\np,b,s\n" * 5, False),  # levels that recur
        ("2019,2020,y\n1,2,3\n4,5,6\n", True),
        ("0,1,2\n5,6,7\n8,9,10\n", True),  # columns that a data frame has numbered
        ("400.5,401.0,sort\n.1,.2,a\n.3,.4,b\n.5,.6,a\n.1,.1,b\n", True),  # wavelengths
        ("?,3.5,a\n4.9,3.0,b\n6.3,3.3,a\n", False),
        ("22/07/2022,1\n23/07/2022,2\n", False),
        ("x,y\n", True),
    ],
)
def test_whether_the_first_line_is_a_header(tmp_path, text, header):
    from separatrix.rows.notations import TextOptions
    from separatrix.rows.sources.csv import dialect_of

    path = str(stored(tmp_path, text))
    assert dialect_of(path, path, TextOptions(), frozenset()).has_header is header


def test_a_mentioned_name_makes_a_header_and_an_option_decides(tmp_path):
    path = stored(tmp_path, "1990,2000\n1,2\n3,4\n5,6\n")
    assert scan(path, target="2000").schema.names == ("1990",)
    assert len(scan(path, target="column_2", header=False).read()) == 4
    assert scan(path, target="2000", header=True).schema.header
    path = stored(tmp_path, "x,y\n1,2\n3,4\n5,6\n")
    with pytest.raises(InputError, match=r"'x' is not a number|'y' is not a number"):
        scan(path, target="column_2", header=False).read()


def test_old_line_ends_and_blank_lines(tmp_path):
    rows = scan(stored(tmp_path, b"x,y\r1,2\r3,4\r"), target="y").read()
    np.testing.assert_array_equal(rows.block.x.ravel(), [1, 3])
    rows = scan(stored(tmp_path, b"\n\nx,y\r\n1,2\r\n\r\n3,4\r\n"), target="y").read()
    np.testing.assert_array_equal(rows.block.x.ravel(), [1, 3])


def test_spaces_after_separators_belong_to_nothing(tmp_path):
    text = "age, job , y\n1, a, 2\n2, b , 3\n3,a, 4\n4, ?, 5\n5,  , 6\n"
    rows = scan(stored(tmp_path, text), target="y")
    assert rows.schema.names == ("age", "job")
    block = rows.read().block
    assert [str(term) for term in block.terms] == ["age", "job=a", "job=b", "job missing"]
    assert block.x[:, 3].tolist() == [0, 0, 0, 1, 1]
    assert block.y.ravel().tolist() == [2, 3, 4, 5, 6]
    with pytest.raises(InputError, match="row 2: has 4 values"):
        scan(stored(tmp_path, "x, y\n1, 2\n3, 4, 5, 6\n"), target="y").read()


def test_files_of_one_table_may_be_laid_out_differently(tmp_path):
    stored(tmp_path, "t,x,y\nKöln,1,2\nUlm,2,3\n", "utf-8", "1.csv")
    stored(tmp_path, "# two\nx;t;y\n5;Köln;2\n6;Ulm;3\n", "latin-1", "2.csv")
    read = scan(str(tmp_path / "*.csv"), target="y").read()
    assert [str(t) for t in read.block.terms] == ["t=Köln", "t=Ulm", "x"]
    assert read.block.x[:, 2].tolist() == [1, 2, 5, 6]
