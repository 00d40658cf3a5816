"""Numbers, dates and missing values as people write them: one test for each way of writing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from separatrix import InputError, Moments, Ridge, scan
from separatrix.rows.notations import text_options
from separatrix.rows.scan import rows_like
from separatrix.rows.schema import Kind

BLOCKS = [64, 1 << 22]  # bytes: many small blocks, or one


@pytest.fixture(params=BLOCKS, ids=["small blocks", "one block"])
def block(request, monkeypatch):
    monkeypatch.setattr("separatrix.rows.sources.csv.BLOCK_BYTES", request.param)
    return request.param


def written(tmp_path, lines, header="x,y", encoding="utf-8"):
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join([header, *lines, ""]).encode(encoding))
    return path


def column(source, **options):
    """The first column as numbers, NaN where missing, and the notes."""
    rows = scan(source, target="y", **options)
    read = rows.read()
    found = rows.schema.columns[0]
    assert found.kind is Kind.NUMERIC, rows.notes
    values = read.block.x[:, 0].copy()
    for j, term in enumerate(read.block.terms):
        if term.column == found.name and term.missing:
            values[read.block.x[:, j] != 0] = np.nan
    return values, " ".join(rows.notes)


WRITTEN = {
    "decimal comma": (["1,5", "-2,25", "10", ",5"], [1.5, -2.25, 10, 0.5], "decimal comma"),
    "points at thousands": (["1.234,5", "2", "1.000.000"], [1234.5, 2, 1e6], "points"),
    "spaces at thousands": (["1 234,5", "2", "1 000 000"], [1234.5, 2, 1e6], "spaces"),
    "thin spaces": (["1\u202f234", "2\u00a0500", "7"], [1234, 2500, 7], "spaces"),
    "apostrophes": (["1'234.5", "2", "1’000"], [1234.5, 2, 1000], "apostrophes"),
    "commas at thousands": (["1,234.5", "2", "1,000,000"], [1234.5, 2, 1e6], "commas"),
    "lakh": (["1,23,456.5", "12,34,567"], [123456.5, 1234567], "commas"),
    "leading zero": (["0,123", "1,234"], [0.123, 1.234], "decimal comma"),
    "percent": (["12%", "-3.5 %", "0%"], [12, -3.5, 0], "sign %"),
    "dollars": (["$1,234.50", "-$5", "$-7", "12"], [1234.5, -5, -7, 12], "sign $"),
    "euros": (["1.234,50 €", "5 €", "12,5€"], [1234.5, 5, 12.5], "sign €"),
    "codes": (["CHF 1'200.50", "CHF 3"], [1200.5, 3], "sign CHF"),
    "accounts": (["(12.50)", "3", "(1,200)"], [-12.5, 3, -1200], "commas"),
    "minus sign": (["−3,5", "+2,5"], [-3.5, 2.5], "decimal comma"),
    "exponents": (["1,5e3", "2,5E-1"], [1500, 0.25], "decimal comma"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_numbers(tmp_path, name, block):
    texts, values, note = WRITTEN[name]
    lines = [f"{text};{i}" for i, text in enumerate(texts)] * 5
    found, notes = column(written(tmp_path, lines, "x;y"))
    np.testing.assert_allclose(found, values * 5)
    assert note in notes
    assert "'x'" in notes
    assert "override" in notes


@pytest.mark.parametrize(
    ("first", "day", "note"),
    [
        ("22/07/2022", 19195, "day first"),
        ("07/22/2022", 19195, "month first"),
        ("22.7.2022", 19195, "day first"),
        ("22.07.22", 19195, "day first"),
        ("22-07-2022", 19195, "day first"),
        ("2022/07/22", 19195, "year first"),
        ("22 Jul 2022", 19195, "day first"),
        ("July 22, 2022", 19195, "month first"),
        ("22-Jul-22", 19195, "day first"),
        ("22/07/1969", -163, "day first"),
        ("22/07/2022 06:00", 19195.25, "day first"),
        ("07/22/2022 6:00:00 PM", 19195.75, "month first"),
        ("22.07.2022 18:00", 19195.75, "day first"),
    ],
)
def test_dates(tmp_path, first, day, note, block):
    lines = [f'"{first}",{i}' for i in range(8)] + ["NA,9"]
    path = written(tmp_path, lines)
    found, notes = column(path)
    np.testing.assert_allclose(found, [day] * 8 + [np.nan])
    assert note in notes
    assert "days since 1970-01-01" in notes
    whole = scan(path, target="y").schema.columns[0]
    assert whole.display == ("date" if day == int(day) else "datetime")


def test_the_whole_column_decides_the_order_of_dates(tmp_path, block):
    early = [f'"{i % 12 + 1:02d}/{i % 11 + 1:02d}/2021",{i}' for i in range(30)]
    for last, order in (("25/12/2021", "day-first"), ("12/25/2021", "month-first")):
        rows = scan(written(tmp_path, [*early, f"{last},1"]), target="y")
        assert rows.schema.columns[0].notation.dates == order
        days = rows.read().block.x[:, 0]
        assert days[-1] == 18986
        assert days[12] == (18659 if order == "day-first" else 18629)  # 01/02/2021
        assert "fits every value" not in " ".join(rows.notes)


def test_dates_with_two_orders_are_announced_and_can_be_overridden(tmp_path):
    path = written(tmp_path, [f"{i % 12 + 1}/3/2021,{i}" for i in range(30)])
    _, notes = column(path)
    assert "the other order fits every value, too" in notes
    assert "`dates='day-first'`" in notes
    found, _ = column(path, dates="day-first")
    assert found[1] == 18688  # 2 March
    found, _ = column(path, dates="month-first")
    assert found[1] == 18661  # 3 February


def test_dates_follow_the_other_columns(tmp_path):
    lines = [f"{i % 12 + 1}/3/2021,{i % 28 + 1}/3/2021,{i}" for i in range(40)]
    rows = scan(written(tmp_path, lines, "a,b,y"), target="y")
    assert [c.notation.dates for c in rows.schema.columns] == ["day-first", "day-first"]


def test_times_of_day(tmp_path, block):
    lines = [f"{i % 12 + 1}:30,{i}" for i in range(30)]
    plain, _ = column(written(tmp_path, lines))
    assert plain[0] == 5400
    marked, notes = column(written(tmp_path, [*lines, "?,1"]))
    np.testing.assert_array_equal(marked, [*plain, np.nan])
    assert "times of day, in seconds" in notes
    assert scan(tmp_path / "t.csv", target="y").schema.columns[0].display == "time"
    half, _ = column(written(tmp_path, [f"{line.replace(',', ' PM,')}" for line in lines]))
    np.testing.assert_array_equal(half[:12], np.where(np.arange(12) == 11, 0, 43200) + plain[:12])
    with pytest.raises(InputError, match="row 31, column 'x': 'noon'"):
        column(written(tmp_path, [*lines, "noon,1"]), strict=True)


def test_impossible_dates_are_refused_by_row_or_missing(tmp_path):
    lines = [f"{i % 28 + 1}/02/2022,{i}" for i in range(40)]
    for bad in ("31/02/2022", "soon", "22/13/2022"):
        path = written(tmp_path, [*lines, f"{bad},1"])
        with pytest.raises(InputError, match=rf"row 41, column 'x': '{bad}' is not a date"):
            column(path, strict=True)
        found, notes = column(path)
        np.testing.assert_array_equal(np.isnan(found), [False] * 40 + [True])
        assert f"Column 'x': 1 of 41 values is not a date and is read as missing, '{bad}'" in notes
        assert "row 41" in notes


# -- missing values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "token", ["?", "-", ".", "--", "n.a.", "None", "NA", "N/A", "null", "NaN", ""]
)
def test_texts_that_stand_for_missing_numbers(tmp_path, token, block):
    lines = [f"{i if i % 4 else token},{i}" for i in range(40)]
    found, notes = column(written(tmp_path, lines))
    np.testing.assert_array_equal(np.isnan(found), np.arange(40) % 4 == 0)
    np.testing.assert_array_equal(found[1:4], [1, 2, 3])
    usual = token in ("NA", "N/A", "null", "NaN", "")
    assert usual or f"Read as missing: '{token}' in 'x' (10)" in notes


def test_question_marks_among_levels_are_missing_and_signs_are_levels(tmp_path):
    lines = [f"{'ab?'[i % 3]},{'+-'[i % 2]}" for i in range(30)]
    rows = scan(written(tmp_path, lines), target="y")
    read = rows.read().block
    assert [str(t) for t in read.terms] == ["x=a", "x=b", "x missing"]
    assert [t.level for t in read.targets] == ["+", "-"]
    assert "'?' in 'x' (10)" in " ".join(rows.notes)


def test_given_missing_values_replace_the_recognized_ones(tmp_path, block):
    lines = [f"{'NA' if i % 3 else 'DE'},{i}" for i in range(12)]
    path = written(tmp_path, lines)
    read = scan(path, target="y", na="").read().block
    assert [t.level for t in read.terms] == ["DE", "NA"]
    lines = [f"{i if i % 4 else 'nothing'},{i + 100}" for i in range(20)]
    found, _ = column(written(tmp_path, lines), na=["nothing", 7])
    np.testing.assert_array_equal(np.isnan(found), [i % 4 == 0 or i == 7 for i in range(20)])
    with pytest.raises(InputError, match="'\\?' is not a number"):
        column(written(tmp_path, ["1,1", "2,2", "?,3", "4,4"]), na="nothing")


def test_numbers_far_from_all_others_are_missing(tmp_path, block):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 60, 300).astype(float)
    coded = {-999: -999, -9999: -9999, 999: 999, -99: -99}
    for code in coded:
        marked = values.copy()
        marked[::30] = code
        path = written(tmp_path, [f"{v:g},{i}" for i, v in enumerate(marked)])
        found, notes = column(path)
        assert np.isnan(found[::30]).all()
        assert np.isnan(found).sum() == 10
        assert f"Read as missing: {code}, far from all other values, in 'x' (10)" in notes
        found, _ = column(path, na="")
        assert not np.isnan(found).any()


@pytest.mark.parametrize(
    "values",
    [
        [-999, -1000, -998, 5, 3000],  # others are as far out
        [999, 1, 2, 3, 4],  # once only
        [900, 950, 999, 999, 980],  # near the others
        [-99, -80, -99, 40, 3],
        [0, 999, 0, 999, 999],  # two codes
        [999, 999, 999, 999, 1, 2, 3],  # most of the rows
    ],
)
def test_numbers_that_are_near_others_or_codes_are_numbers(tmp_path, values):
    found, notes = column(written(tmp_path, [f"{v},{i}" for i, v in enumerate(values * 1)]))
    np.testing.assert_array_equal(found, values)
    assert "missing" not in notes


def test_late_sentinels_start_the_pass_again(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.rows.sources.source.SAMPLE_ROWS", 300)
    monkeypatch.setattr("separatrix.rows.sources.csv.BLOCK_BYTES", 1024)
    values = np.arange(2000.0) % 97
    values[1500::100] = -999
    path = written(tmp_path, [f"{v:g},{i % 7}" for i, v in enumerate(values)])
    rows = scan(path, target="y", block_rows=256)
    assert not rows.notes
    m = rows.reduce(Moments())
    assert m.mean[0] == pytest.approx(np.where(values == -999, 48, values).mean(), abs=1)
    assert "-999" in " ".join(rows.notes)
    assert rows.schema.columns[0].notation.sentinels == (-999.0,)
    one = scan(path, target="y", block_rows=65536).read()
    many = np.vstack([b.x[:, :1] for b in scan(path, target="y", block_rows=256).blocks()])
    np.testing.assert_array_equal(many, one.block.x[:, :1])


# -- readings that later rows change ---------------------------------------------------------------


@pytest.fixture
def long_way(monkeypatch):
    """First rows and blocks so small that the rest of a file is seen late."""
    monkeypatch.setattr("separatrix.rows.sources.source.SAMPLE_ROWS", 300)
    monkeypatch.setattr("separatrix.rows.sources.csv.BLOCK_BYTES", 512)


@pytest.mark.parametrize(
    ("late", "value"),
    [("1 234", 1234), ("$5", 5), ('"1,234.5"', 1234.5), ("-", np.nan), ("?", np.nan)],
)
def test_a_late_row_decides_the_column_anew(tmp_path, long_way, late, value):
    path = written(tmp_path, [*(f"{i % 90},{i}" for i in range(1500)), f"{late},1", "3,1"])
    whole = scan(path, target="y").read()
    found, _ = column(path)
    np.testing.assert_array_equal(found[-2:], [value, 3])
    np.testing.assert_array_equal(found[:3], [0, 1, 2])
    streamed = scan(path, target="y", block_rows=256)
    many = np.vstack([block.x[:, :1] for block in streamed.blocks()])
    np.testing.assert_array_equal(many, whole.block.x[:, :1])
    assert streamed.notes
    total = scan(path, target="y", block_rows=256).reduce(Moments())
    assert total.count == 1502


def test_a_late_decimal_comma_changes_the_rows_before_it(tmp_path, long_way):
    path = written(tmp_path, [*(f"{i % 90 + 1}.000|{i}" for i in range(1500)), "1.234,5|1"], "x|y")
    with pytest.raises(InputError, match=r"1.234,5|decimal"):
        for _ in scan(path, target="y", block_rows=256).blocks():
            pass
    found, _ = column(path)
    assert found[0] == 1000
    assert found[-1] == 1234.5


def test_a_late_word_is_refused_by_row(tmp_path, long_way):
    path = written(tmp_path, [*(f"{i},{i}" for i in range(1500)), "many,1"])
    with pytest.raises(InputError, match="row 1501, column 'x': 'many' is not a number"):
        scan(path, target="y", strict=True).reduce(Moments())
    rows = scan(path, target="y")
    assert rows.reduce(Moments()).count == 1501
    assert "1 of 1,501 values is not a number and is read as missing, 'many'" in rows.notes[-1]


def test_a_few_texts_among_numbers_are_missing(tmp_path, block):
    lines = [f"{i},{i}" for i in range(60)]
    lines[20], lines[50] = "oops,20", "n/k,50"
    path = written(tmp_path, lines)
    found, notes = column(path)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found)), [20, 50])
    assert "2 of 60 values are not numbers and are read as missing, the first 'oops'" in notes
    assert "in row 21" in notes
    assert "strict=True" in notes
    with pytest.raises(InputError, match="row 21, column 'x': 'oops'"):
        column(path, strict=True)
    with pytest.raises(InputError, match="row 21, column 'x': 'oops'"):
        column(path, na="")  # the caller has said what is missing
    assert len(scan(path, target="x").read()) == 58
    with pytest.raises(InputError, match="row 21, column 'x': 'oops'"):  # more than a few
        column(written(tmp_path, [*lines, "a,1", "b,1"]))


def test_a_number_among_times_is_missing(tmp_path):
    lines = [f"{8 + i % 9}:{i % 60:02d},{i}" for i in range(200)]
    lines[170] = "9.12,170"
    found, notes = column(written(tmp_path, lines))
    assert np.flatnonzero(np.isnan(found)).tolist() == [170]
    assert found[0] == 8 * 3600
    assert "1 of 200 values is not a time and is read as missing, '9.12' in row 171" in notes


# -- two readings ----------------------------------------------------------------------------------


def test_thousands_or_decimals_are_decided_by_the_other_columns(tmp_path):
    lines = [f'"{i + 1},234","{i},5",{i}' for i in range(20)]
    rows = scan(written(tmp_path, lines, "a,b,y"), target="y")
    assert rows.read().block.x[0].tolist() == [1.234, 0.5]
    lines = [f'"{i + 1},234",{i}.5,{i}' for i in range(20)]
    rows = scan(written(tmp_path, lines, "a,b,y"), target="y")
    assert rows.read().block.x[0].tolist() == [1234, 0.5]
    lines = [f"{i + 1},234;{i}" for i in range(20)]  # nothing but the semicolon tells
    found, notes = column(written(tmp_path, lines, "x;y"))
    assert found[0] == 1.234
    assert "another reading fits" in notes
    found, _ = column(written(tmp_path, lines, "x;y"), thousands=",")
    assert found[0] == 1234
    found, _ = column(written(tmp_path, lines, "x;y"), decimal=".")
    assert found[0] == 1234


def test_points_beside_decimal_commas_separate_thousands(tmp_path, block):
    lines = [f"{i + 1}.234;{i},5;{i}" for i in range(20)]
    rows = scan(written(tmp_path, lines, "a;b;y"), target="y")
    assert rows.read().block.x[0].tolist() == [1234, 0.5]
    lines = [f"{i + 1}.2;{i},5;{i}" for i in range(20)]
    rows = scan(written(tmp_path, lines, "a;b;y"), target="y")
    assert rows.read().block.x[0].tolist() == [1.2, 0.5]


def test_separators_can_be_given(tmp_path, block):
    path = written(tmp_path, ["1.500,1", "2.250,2"])
    assert column(path)[0].tolist() == [1.5, 2.25]
    assert column(path, decimal=",")[0].tolist() == [1500, 2250]
    assert column(path, thousands=".")[0].tolist() == [1500, 2250]
    with pytest.raises(InputError, match=r"'1.50' is not a number"):
        column(written(tmp_path, ["1.50,1", "2.25,2"]), decimal=",")


def test_options_are_checked():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    for words, options in (
        ("decimal", {"decimal": ";"}),
        ("thousands", {"thousands": "x"}),
        ("both", {"decimal": ",", "thousands": ","}),
        ("both", {"thousands": ".", "decimal": "."}),
        ("dates", {"dates": "day"}),
        ("no encoding", {"encoding": "latin-99"}),
        ("delimiter", {"delimiter": "::"}),
    ):
        with pytest.raises(InputError, match=words):
            scan(frame, target="y", **options)


# -- mixtures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["12%"] * 20 + ["0.5"], ["row 21", "'x'", "'0.5'", "no % sign"]),
        (["$5"] * 20 + ["€5"], ["row 21", "'x'", "'€5'", "'$'"]),
        (["1,5", "2,25", "3,75", "0,1"] * 9 + ["1,2,3"], ["row 37", "'x'", "'1,2,3'"]),
        (["12x", *map(str, range(40))], ["row 1", "'x'", "'12x'", "kinds={'x': 'discrete'}"]),
        (["1.2.3", *map(str, range(40))], ["row 1", "'1.2.3'"]),
        (["1,5"] * 20 + ["1.5"] * 2 + [f"{i},7" for i in range(20)], ["row 21", "'1.5'"]),
        (["(5", *map(str, range(40))], ["row 1", "'(5'"]),
        (["--5", *map(str, range(40))], ["row 1", "'--5'"]),
    ],
)
def test_mixtures_are_refused_by_row_and_column(tmp_path, texts, words, block):
    path = written(tmp_path, [f"{text};{i}" for i, text in enumerate(texts)], "x;y")
    with pytest.raises(InputError) as fault:
        column(path, strict=True)
    for word in words:
        assert word in str(fault.value), fault.value
    if {"no % sign", "'$'", "'1.5'"} & {*words}:  # two ways of writing, and no slip
        with pytest.raises(InputError):
            column(path)
    else:
        assert np.isnan(column(path)[0]).sum() == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["0", "1", "2", "3+"] * 10,  # codes
        ["1-2", "3-4", "5-9"] * 10,
        ["1.2.3", "1.10.2", "2.0.1"] * 10,  # versions
        ["A1", "B2", "C3"] * 10,
        ["10.0.0.1", "10.0.0.2"] * 10,
        ["5 kg", "7 lb", "heavy"] * 10,
        ["%", "$", "€"] * 10,
        ["q1 2020", "q2 2020"] * 10,
    ],
)
def test_levels_stay_levels(tmp_path, texts):
    rows = scan(written(tmp_path, [f"{t},{i}" for i, t in enumerate(texts)]), target="y")
    assert rows.schema.columns[0].kind is Kind.DISCRETE


def test_a_declared_kind_stands(tmp_path):
    path = written(tmp_path, ["12%,1", "15%,2", "12%,3"])
    kinds = {"x": "discrete"}
    assert scan(path, target="y", kinds=kinds).schema.columns[0].kind is Kind.DISCRETE
    with pytest.raises(InputError, match="row 2, column 'x': 'a' is not a number"):
        column(written(tmp_path, ["1,1", "a,2", "b,3", "c,4"]), kinds={"x": "numeric"})


def test_weights_and_targets_are_read_alike(tmp_path, block):
    lines = [f"{i};{i + 1},5;{i % 3},5" for i in range(20)]
    rows = scan(written(tmp_path, lines, "x;y;w"), target="y", weight="w")
    read = rows.read().block
    assert read.y[:2, 0].tolist() == [1.5, 2.5]
    assert read.w[:3].tolist() == [0.5, 1.5, 2.5]


def test_years_are_marked(tmp_path):
    lines = [f"{1990 + i},{1990 + i},{1990 + i},{i},{i}" for i in range(12)]
    rows = scan(written(tmp_path, lines, "year_built,Baujahr,size,years,y"), target="y")
    assert [c.display for c in rows.schema.columns] == ["year", "year", "", ""]


# -- data frames and new rows ----------------------------------------------------------------------


def test_text_in_data_frames_is_recognized_and_plain_codes_stay_levels(tmp_path):
    frame = pd.DataFrame(
        {
            "price": [f"{i},5 €" for i in range(20)],
            "zip": ["01234", "99999"] * 10,
            "age": ["?", "31"] * 10,
            "code": [-999.0, 1.0, 2.0, 3.0] * 5,
            "y": np.arange(20.0),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        schema = scan(source, target="y").schema
        assert [str(c.kind) for c in schema.columns] == [
            "numeric",
            "discrete",
            "numeric",
            "numeric",
        ]
    assert scan(frame, target="y").schema.columns[3].notation.sentinels == ()
    assert schema.columns[3].notation.sentinels == (-999.0,)
    given = scan(frame, target="y", na=-999).read().block
    assert given.x[:, -1].sum() == 5


def test_dask_text_is_read_alike():
    import dask.dataframe as dd

    frame = pd.DataFrame({"x": [f"{i},5" for i in range(30)], "y": np.arange(30.0)})
    lazy = scan(dd.from_pandas(frame, npartitions=3), target="y")
    assert lazy.reduce(Moments()).mean[0] == scan(frame, target="y").reduce(Moments()).mean[0]


def test_new_tables_are_read_as_in_training(tmp_path, block):
    lines = [f"{i + 1}.234,5;{i % 28 + 1}/03/2021;{i % 9};{i}" for i in range(40)]
    lines[7] = "?;?;-999;7"
    lines[17] = "2.000,5;1/03/2021;-999;7"
    schema = scan(written(tmp_path, lines, "a;b;c;y"), target="y").schema
    new = written(tmp_path, ["1.500;3/4/2021;5", "?;-;-999", "2;1/1/2021;?"], "a;b;c")
    read = rows_like(new, schema).collect()
    at = {str(term): j for j, term in enumerate(read.terms)}
    assert read.x[0, at["a"]] == 1500
    assert read.x[0, at["b"]] == 18720  # 3 April
    assert read.x[:, at["a missing"]].tolist() == [0, 1, 0]
    assert read.x[:, at["b missing"]].tolist() == [0, 1, 0]
    assert read.x[:, at["c missing"]].tolist() == [0, 1, 1]
    with pytest.raises(InputError, match="row 1, column 'b': '3/14/2021' is not a date"):
        rows_like(written(tmp_path, ["1;3/14/2021;5"], "a;b;c"), schema).collect()
    with pytest.raises(InputError, match=r"row 1, column 'a': '1.5' is not a number"):
        rows_like(written(tmp_path, ["1.5;3/4/2021;5"], "a;b;c"), schema).collect()
    frame = pd.DataFrame({"a": [1500.0], "b": ["3/4/2021"], "c": [5]})
    assert rows_like(frame, schema).collect().x[0].tolist() == [1500, 18720, 5]


def test_new_tables_may_be_written_otherwise(tmp_path):
    from separatrix.rows.notations import text_options

    lines = [f"{i + 1}.5,{i}" for i in range(40)]
    schema = scan(written(tmp_path, lines), target="y").schema
    new = written(tmp_path, ["1,5", "nil"], "x")
    text = text_options(decimal=",", na="nil", delimiter=";")
    assert np.isclose(rows_like(new, schema, text=text).collect().x[0, 0], 1.5)


def test_a_plain_table_costs_no_further_pass(tmp_path, monkeypatch):
    from separatrix.rows.sources.csv import CsvSource

    opened: list[list[str]] = []
    original = CsvSource._opened

    def counted(self, i, types, columns):
        opened.append(list(columns))
        return original(self, i, types, columns)

    monkeypatch.setattr(CsvSource, "_opened", counted)
    lines = [f"{i}.5,{'ab'[i % 2]},{i}" for i in range(2000)]
    scan(written(tmp_path, lines, "x,t,y"), target="y").reduce(Moments())
    assert opened == [["x", "t", "y"]] * 3  # types, first rows, and the pass itself
    opened.clear()
    lines[7] = "?,a,1"
    scan(written(tmp_path, lines, "x,t,y"), target="y").reduce(Moments())
    assert opened == [["x", "t", "y"]] * 2 + [["x"], ["x", "t", "y"]]


def test_single_texts_among_the_numbers_and_dates_of_new_rows_are_missing(tmp_path) -> None:
    days = [f"2020-01-{1 + i:02d}" for i in range(20)]
    lines = ["when,a,y", *(f"{day},{i % 7},{i}" for i, day in enumerate(days))]
    train, new, blank = (tmp_path / f"{name}.csv" for name in ("train", "new", "blank"))
    train.write_text("\n".join(lines))
    new.write_text("\n".join(lines).replace("2020-01-05", "9.12").replace(",3,", ",oops,"))
    blank.write_text("\n".join(lines).replace("2020-01-05", "").replace(",3,", ",,"))
    model = Ridge().fit(scan(train, target="y"))
    schema = model.encoding_.schema
    with pytest.warns(match="column") as found:
        predicted = model.predict(rows_like(new, schema))
    texts = [str(warning.message) for warning in found]
    assert any("'9.12' in row 5 is not a date; it is treated as missing" in text for text in texts)
    assert any("3 values are not numbers, the first 'oops' in row 4" in text for text in texts)
    np.testing.assert_array_equal(predicted, model.predict(rows_like(blank, schema)))
    for options in ({"unseen": "error"}, {"text": text_options(strict=True)}):
        with pytest.raises(InputError, match=r"row 5, column 'when': '9.12' is not a date"):
            model.predict(rows_like(new, schema, **options))
