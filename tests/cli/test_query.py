"""``separatrix query``: rows worth labeling, as CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

import separatrix as sx
from separatrix.samples import sample


@pytest.fixture
def pool(here):
    """Part of the wines with numbers of their own, and a model of the others."""
    table = pd.read_csv(sample("wine").path).iloc[:, [0, 6, 12, 13]]
    table.insert(0, "id", range(1000, 1000 + len(table)))
    table.iloc[::2].drop(columns="cultivar").to_csv(here / "pool.csv", index=False)
    table.iloc[1::2].drop(columns="id").to_csv(here / "labeled.csv", index=False)
    rows = sx.scan(str(here / "labeled.csv"), target="cultivar")
    sx.save(sx.LinearDiscriminantAnalysis().fit(rows), here / "lda.sx")
    sx.save(sx.BoxClassifier().fit(rows), here / "boxes.sx")
    return table.iloc[::2].reset_index(drop=True)


def test_rows_are_printed_with_their_numbers_and_ids(command, here, pool) -> None:
    ran = command("query", "lda.sx", "pool.csv", "-k", 4)
    assert ran.code == 0
    found = list(csv.DictReader(io.StringIO(ran.out)))
    assert list(found[0]) == ["row", "id", "predicted", "score"]
    assert len(found) == 4
    for row in found:
        assert int(row["id"]) == pool["id"][int(row["row"]) - 1]
    model = sx.load(here / "lda.sx")
    rows = sx.query(model, pd.read_csv(here / "pool.csv").drop(columns="id"), 4).rows
    assert [int(row["row"]) - 1 for row in found] == rows.tolist()
    assert "close" in ran.err


def test_boxes_are_queried_between_most_specific_and_most_general(command, here, pool) -> None:
    ran = command("query", "boxes.sx", "pool.csv", "-k", 3, "--json")
    assert ran.document["strategy"] == "version_space"
    assert len(ran.document["rows"]["row"]) == 3
    assert command("query", "boxes.sx", "pool.csv", "--out", "a.parquet", "--keep").code == 0
    written = pd.read_parquet(here / "a.parquet")
    assert "alcohol" in written
    assert (written["id"].to_numpy() == pool["id"][written["row"] - 1].to_numpy()).all()


def test_bad_questions_are_one_sentence(command, here, pool) -> None:
    numbers = sx.scan(str(here / "pool.csv"), target="alcohol")
    sx.save(sx.LinearRegression().fit(numbers), here / "line.sx")
    ran = command("query", "line.sx", "pool.csv")
    assert ran.code == 2
    assert "models of classes" in ran.err
    assert command("query", "lda.sx", "pool.csv", "-k", 0).code == 2
    assert "version space" in command(
        "query", "lda.sx", "pool.csv", "--strategy", "version_space"
    ).err  # fmt: skip
