"""``separatrix predict``: new levels, formats, copied columns, directories."""

from __future__ import annotations

import csv
import io
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import separatrix as sx
from separatrix.cli.outcome import run

HOUSE = "area,rooms,age,lot,district,garden,heating\n"
NEW = HOUSE + "70,3,10,100,moon,true,gas\n50,2,90,,mars,false,\n60,2,20,80,moon,true,gas\n"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Fitted once; every test works on a copy."""
    place = tmp_path_factory.mktemp("houses") / "m"
    words = ["--models", "linear", "--out", str(place)]
    assert run(["fit", "sample:houses", "--target", "price", *words]) == 0
    return place


@pytest.fixture
def model(fitted, here):
    return shutil.copytree(fitted, here / "m")


def lines(text: str) -> list[dict]:
    return list(csv.DictReader(io.StringIO(text)))


# -- levels that training did not have -------------------------------------------------------------


def test_a_new_level_counts_as_missing_and_is_named_with_its_rows(command, here, model) -> None:
    (here / "new.csv").write_text(NEW)
    (here / "empty.csv").write_text(NEW.replace("moon", "").replace("mars", ""))
    ran = command("predict", model, "new.csv")
    assert ran.code == 0
    assert ran.out == command("predict", model, "empty.csv").out
    warning = "SEP005 column 'district': 'moon' (2 rows), 'mars' (1 row) not seen in training"
    assert f"! {warning}; treated as missing." in ran.err
    ran = command("predict", model, "new.csv", "--json")
    assert ran.err == ""
    assert ran.document["warnings"] == [f"{warning}; treated as missing."]


def test_a_new_level_can_be_refused_when_predicting(command, here, model) -> None:
    (here / "new.csv").write_text(NEW)
    ran = command("predict", model, "new.csv", "--unseen", "error", "--out", "p.csv")
    assert ran.code == 2
    assert all(word in ran.err for word in ("new.csv", "row 1", "'district'", "'moon'", "'hill'"))
    assert "--unseen missing" in ran.err
    assert not (here / "p.csv").exists()
    ran = command("predict", model, "new.csv", "--unseen", "zeros")
    assert ran.code == 0
    assert "encoded as all zeros" in ran.err


@pytest.mark.usefixtures("plain_page")
@pytest.mark.parametrize("policy", ["error", "zeros"])
def test_a_policy_chosen_in_training_stays(command, here, policy) -> None:
    words = ("fit", "sample:houses", "--target", "price", "--models", "linear", "--out", "z")
    assert command(*words, "--unseen", policy).code == 0
    assert sx.load(here / "z/model.sx").encoding_.schema.unseen == policy
    (here / "new.csv").write_text(NEW)
    assert command("predict", "z", "new.csv").code == (2 if policy == "error" else 0)
    assert command("predict", "z", "new.csv", "--unseen", "missing").code == 0


def test_levels_are_counted_over_all_blocks_in_one_warning(command, here, model) -> None:
    (here / "new.csv").write_text(HOUSE + "70,3,10,100,moon,true,gas\n" * 80_000)
    ran = command("predict", model, "new.csv", "--out", "p.csv")
    assert ran.err.count("SEP005") == 1
    assert "'moon' (80,000 rows)" in ran.err


# -- formats ---------------------------------------------------------------------------------------


def test_parquet_by_the_name_of_the_file(command, here, model) -> None:
    ran = command("predict", model, "sample:houses", "--out", "p.parquet")
    assert (ran.code, ran.out) == (0, "")
    assert "Wrote 600 predictions to p.parquet" in ran.err
    table = pq.read_table(here / "p.parquet")
    assert table.column_names == ["row", "predicted"]
    assert [str(t) for t in table.schema.types] == ["int64", "double"]
    expected = lines(command("predict", model, "sample:houses").out)
    assert table["predicted"].to_pylist() == [float(line["predicted"]) for line in expected]
    ran = command("predict", model, "sample:houses", "--out", "q.pq", "--json")
    assert ran.document["out"] == "q.pq"
    assert ran.document["rows"] == 600
    assert (here / "q.pq").read_bytes() == (here / "p.parquet").read_bytes()


@pytest.mark.usefixtures("plain_page")
def test_classes_and_probabilities_in_parquet(command, here) -> None:
    words = ("--target", "cultivar", "--models", "lda", "--out", "w")
    assert command("fit", "sample:wine", *words).code == 0
    assert command("predict", "w", "sample:wine", "--out", "p.parquet").code == 0
    frame = pd.read_parquet(here / "p.parquet")
    assert set(frame["predicted"]) == {"cultivar A", "cultivar B", "cultivar C"}
    p = frame.filter(like="probability")
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_parquet_is_whole_or_absent(command, here, model) -> None:
    good = "70,3,10,100,hill,true,gas\n"
    (here / "bad.csv").write_text(HOUSE + good * 80_000 + "70,1e200,10,100,hill,true,gas\n")
    (here / "p.parquet").write_bytes(b"old")
    ran = command("predict", model, "bad.csv", "--out", "p.parquet", "--keep")
    assert ran.code == 2
    assert (here / "p.parquet").read_bytes() == b"old"
    assert {p.name for p in here.iterdir()} == {"bad.csv", "m", "p.parquet"}


@pytest.mark.parametrize("name", ["p.xlsx", "p.csv.gz", "p.json"])
def test_a_name_that_promises_another_format_is_refused(command, model, name) -> None:
    ran = command("predict", model, "absent.csv", "--out", name)
    assert ran.code == 2
    assert "written as CSV or Parquet" in ran.err


# -- copied columns --------------------------------------------------------------------------------


def test_all_columns_can_be_copied(command, here, model) -> None:
    rows = "x,70,3,010,100,hill,true,gas,5\ny,50,2,090,,hill,false,,\n"
    (here / "new.csv").write_text("note,area,rooms,age,lot,district,garden,heating,row\n" + rows)
    ran = command("predict", model, "new.csv", "--keep")
    assert ran.code == 0
    found = lines(ran.out)
    names = ["note", "area", "rooms", "age", "lot", "district", "garden", "heating"]
    assert list(found[0]) == ["row", *names, "predicted"]
    assert found[0]["age"] == "010"  # as it is written
    assert found[1]["heating"] == ""
    assert "Not copied, as the result has a column so named: 'row'" in ran.err
    assert "does not use" not in ran.err


def test_copied_columns_have_types_in_parquet(command, here, model) -> None:
    head = "code,note,area,rooms,age,lot,district,garden,heating\n"
    row = "{:05d},{},70.5,3,10,100,hill,true,gas\n"
    body = "".join(row.format(i, "" if i % 2 else f"n{i}") for i in range(70_000))
    (here / "new.csv").write_text(head + body)
    assert command("predict", model, "new.csv", "--out", "p.parquet", "--keep").code == 0
    table = pq.read_table(here / "p.parquet")
    assert table.column_names[1:3] == ["code", "note"]
    types = dict(zip(table.column_names, map(str, table.schema.types), strict=True))
    assert types["code"] == types["note"] == "string"
    assert (types["area"], types["rooms"], types["garden"]) == ("double", "int64", "bool")
    assert table["code"].to_pylist() == [f"{i:05d}" for i in range(70_000)]
    assert table["row"].to_pylist() == list(range(1, 70_001))
    assert table["note"].null_count == 35_000
    pq.write_table(table.drop_columns(["row", "predicted"]), here / "again.parquet")
    assert command("predict", model, "again.parquet", "--out", "q.parquet", "--keep").code == 0
    assert pq.read_table(here / "q.parquet").equals(table)


def test_types_of_a_parquet_table_are_copied(command, here, model) -> None:
    frame = pd.read_csv(io.StringIO(HOUSE + "70,3,10,100,hill,true,gas\n" * 5))
    frame["day"] = pd.date_range("2024-01-01", periods=5)
    frame["kind"] = pd.Categorical(list("ababa"))
    pq.write_table(pa.Table.from_pandas(frame), here / "new.parquet")
    assert command("predict", model, "new.parquet", "--out", "p.parquet", "--keep").code == 0
    found = pd.read_parquet(here / "p.parquet")
    assert list(found["day"]) == list(frame["day"])
    assert list(found["kind"]) == list("ababa")


# -- directories -----------------------------------------------------------------------------------


def test_directories_for_the_model_and_for_the_predictions(command, here, model) -> None:
    (here / "out").mkdir()
    ran = command("predict", "m", "sample:houses", "--out", "out")
    assert ran.code == 0
    assert "Wrote 600 predictions to out/predictions.csv" in ran.err
    direct = command("predict", model / "model.sx", "sample:houses").out
    assert (here / "out/predictions.csv").read_text() == direct
    assert command("predict", "m/", "sample:houses", "--out", "out/").code == 0
    ran = command("predict", "out", "sample:houses")
    assert ran.code == 2
    assert "contains no model.sx" in ran.err
    ran = command("predict", "m", "sample:houses", "--out", "none/")
    assert ran.code == 2
    assert "file none: does not exist" in ran.err


def test_predictions_of_the_test_set_are_not_overwritten(command, model) -> None:
    before = (model / "predictions.csv").read_bytes()
    ran = command("predict", "m", "sample:houses", "--out", "m")
    assert ran.code == 2
    assert "--out m/new.csv" in ran.err
    assert (model / "predictions.csv").read_bytes() == before
    assert command("predict", "m", "sample:houses", "--out", "m/new.csv").code == 0


# -- intervals -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain_page")
def test_a_bayesian_model_adds_the_ends_of_an_interval(command, here) -> None:
    words = ("fit", "sample:houses", "--target", "price", "--models", "bayes", "--out", "b")
    widths = {}
    for level in ("80%", "95%"):  # the latter by default
        ran = command(*words, *(("--level", "0.8") if level == "80%" else ()))
        assert ran.code == 0
        found = lines((here / "b" / "predictions.csv").read_text())
        for row in found:
            low, high = float(row[f"lower {level}"]), float(row[f"upper {level}"])
            assert low < float(row["predicted"]) < high
        widths[level] = high - low
        result = json.loads((here / "b" / "result.json").read_text())
        assert result["uncertainty"]["level"] == float(level[:-1]) / 100
    assert widths["80%"] < widths["95%"]
    assert command(*words, "--level", "1").code == 2
    (here / "new.csv").write_text(NEW)
    wide = lines(command("predict", "b", "new.csv").out)
    tight = lines(command("predict", "b", "new.csv", "--level", "0.5").out)
    for a, b in zip(wide, tight, strict=True):
        assert a["predicted"] == b["predicted"]
        assert float(a["lower 95%"]) < float(b["lower 50%"]) < float(b["upper 50%"])
    assert command("predict", "b", "new.csv", "--level", "2").code == 2


# -- conformal intervals and sets -----------------------------------------------------------------


def test_a_level_adds_guaranteed_intervals_and_says_what_they_are(command, here, model) -> None:
    (here / "new.csv").write_text(NEW)
    ran = command("predict", model, "new.csv", "--level", "0.8")
    rows = lines(ran.out)
    ends = [(float(r["conformal lower 80%"]), float(r["conformal upper 80%"])) for r in rows]
    middle = [float(r["predicted"]) for r in rows]
    np.testing.assert_allclose(np.mean(ends, axis=1), middle)
    assert "with a probability of at least 80 %" in ran.err
    assert "conformal" not in command("predict", model, "new.csv").out
    ran = command("predict", model, "new.csv", "--level", "0.8", "--out", "p.parquet")
    assert pq.read_table(here / "p.parquet").column_names[-1] == "conformal upper 80%"


def test_too_few_test_rows_give_infinite_intervals(command, here, model) -> None:
    (here / "new.csv").write_text(NEW)
    ran = command("predict", model, "new.csv", "--level", "0.9999")
    assert "Intervals are infinite: 9999 test rows are needed" in ran.err
    assert [r["conformal lower 99.99%"] for r in lines(ran.out)] == ["-inf"] * 3


def test_a_level_adds_sets_of_labels(command, here) -> None:
    flags = ("--models", "lda", "--out", "w")
    assert command("fit", "sample:wine", "--target", "cultivar", *flags).code == 0
    rows = lines(command("predict", "w", "sample:wine", "--level", "0.9").out)
    found = {r["conformal set 90%"] for r in rows}
    assert {"cultivar A", "cultivar B"} <= found
    assert any("|" in text for text in found) or "" in found


def test_a_model_without_a_study_has_no_guarantee(command, here, model) -> None:
    sx.save(sx.load(model / "model.sx"), here / "alone.sx")
    (here / "new.csv").write_text(NEW)
    ran = command("predict", "alone.sx", "new.csv", "--level", "0.9")
    assert ran.code == 0
    assert "No conformal intervals: the file holds no scores of test rows." in ran.err


# -- rows unlike those of training -----------------------------------------------------------------


def test_rows_beyond_the_training_rows_are_counted_and_can_be_marked(command, here, model) -> None:
    within = "70,3,10,100,hill,true,gas\n"
    (here / "new.csv").write_text(
        HOUSE + within + "9000,3,10,100,hill,true,gas\n" + "70,3,10,100,moon,true,gas\n"
    )
    ran = command("predict", model, "new.csv", "--extrapolation")
    assert [row["extrapolates"] for row in lines(ran.out)] == ["False", "True", "True"]
    columns = "area (1) and district (1)."
    counted = f"! 2 rows beyond the ranges or levels of the training rows: {columns}"
    assert f"{counted} Marked in the column extrapolates." in ran.err
    assert "--extrapolation" not in ran.err
    assert f"{counted} To mark them: --extrapolation." in command("predict", model, "new.csv").err
    ran = command("predict", model, "new.csv", "--json")
    assert ran.document["extrapolation"] == {"rows": 2, "columns": {"area": 1, "district": 1}}
    (here / "new.csv").write_text(HOUSE + within)
    assert "beyond the ranges" not in command("predict", model, "new.csv").err


def test_the_columns_that_moved_a_prediction_most_are_given(command, here, model) -> None:
    ran = command("predict", model, "sample:houses", "--explain", "2", "--level", "0.9",
                  "--extrapolation")  # fmt: skip
    assert ran.code == 0
    assert "Effects of columns on the prediction, against a typical row: base + effects" in ran.err
    rows = lines(ran.out)
    assert list(rows[0])[1:5] == [
        "predicted", "conformal lower 90%", "conformal upper 90%", "extrapolates",
    ]  # fmt: skip
    for row in rows[:20]:
        parts = ("base", "effect 1", "effect 2", "other effects")
        assert np.isclose(sum(float(row[name]) for name in parts), float(row["predicted"]))
    assert {row["column 1"] for row in rows} <= set(HOUSE.strip().split(","))
