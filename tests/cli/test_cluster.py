"""``separatrix cluster``: what it prints, writes and promises."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
import signal
import sys

import numpy as np
import pytest

import separatrix as sx
from separatrix.rows.schema import ColumnNote
from tests.cli.conftest import interrupted

FILES = {"model.sx", "report.html", "assignments.csv", "result.json"}


@pytest.fixture
def groups(here):
    """A table with an id, two columns in three groups, a level and a column that never changes."""
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    a = 8.0 * (kind == 1) + rng.normal(size=60)
    b = 8.0 * (kind == 2) + rng.normal(size=60)
    lines = [f"K{i:02d},{a[i]:.6f},{b[i]:.6f},{'xyz'[kind[i]]},7" for i in range(60)]
    path = here / "groups.csv"
    path.write_text("\n".join(["customer_id,a,b,town,flat", *lines]) + "\n")
    return path


@pytest.fixture
def plain_cluster_page(monkeypatch) -> None:
    import separatrix.report
    from separatrix.storage.files import write_text

    monkeypatch.setattr(
        separatrix.report, "write_clusters", lambda _, page: write_text(page, "a page")
    )


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_one_command_gives_everything(command, here, groups) -> None:
    ran = command("cluster", groups, "-k", 3)
    assert ran.code == 0, ran.err
    place = here / "groups-clusters"
    assert {p.name for p in place.iterdir()} == FILES
    assert {p.name for p in here.iterdir()} == {place.name, "groups.csv"}
    assert ran.out.startswith("Distinct groups: the 3 clusters are well separated")
    assert "and stable" in ran.out
    assert "Certificate:" in ran.out
    for word in (
        "customer_id",
        "Constant, without effect: 'flat'",
        "--no-standardize",
        "--metric gower",
    ):
        assert word in ran.err
    assert "names" not in ran.err  # nothing on using the id as a column
    assert "separatrix predict groups-clusters/model.sx" in ran.err
    found = rows_of(place / "assignments.csv")
    assert list(found[0]) == ["row", "customer_id", "cluster", "silhouette", "distance"]
    assert [line["customer_id"] for line in found] == [f"K{i:02d}" for i in range(60)]
    by_kind = {tuple({line["cluster"] for line in found[i::3]}) for i in range(3)}
    assert len(by_kind) == 3
    assert all(len(one) == 1 for one in by_kind)
    page = (place / "report.html").read_text()
    assert len(page) < 500_000
    assert "Are they groups?" in page


@pytest.mark.usefixtures("plain_cluster_page")
def test_new_rows_get_the_same_clusters(command, here, groups) -> None:
    command("cluster", groups, "-k", 3)
    written = rows_of(here / "groups-clusters" / "assignments.csv")
    ran = command("predict", "groups-clusters/model.sx", groups)
    assert ran.code == 0, ran.err
    lines = list(csv.DictReader(ran.out.splitlines()))
    assert list(lines[0]) == ["row", "customer_id", "cluster", "distance"]
    for one, two in zip(lines, written, strict=True):
        assert one["cluster"] == two["cluster"]
        assert float(one["distance"]) == pytest.approx(float(two["distance"]))


@pytest.mark.usefixtures("plain_cluster_page")
def test_a_tree_has_no_place_for_new_rows(command, here, groups) -> None:
    assert command("cluster", groups, "-k", 3, "--method", "average").code == 0
    assert "dendrogram_" in vars(sx.load(here / "groups-clusters/model.sx"))
    written = rows_of(here / "groups-clusters" / "assignments.csv")
    assert list(written[0]) == ["row", "customer_id", "cluster", "silhouette"]
    ran = command("predict", "groups-clusters/model.sx", groups)
    assert ran.code == 2
    assert "--method kmeans" in ran.err


@pytest.mark.usefixtures("sketched")
def test_the_report_again_is_the_same_page(command, here, groups) -> None:
    command("cluster", groups, "-k", 3, "--method", "ward")
    ran = command("report", "groups-clusters", "--out", "again.html")
    assert ran.code == 0, ran.err
    first = (here / "groups-clusters" / "report.html").read_bytes()
    assert (here / "again.html").read_bytes() == first


@pytest.mark.usefixtures("sketched")
def test_the_same_seed_writes_the_same_bytes(command, here, groups) -> None:
    words = ["cluster", groups, "-k", 3, "--method", "kmedoids", "--metric", "gower"]
    for out in ("one", "two"):
        assert command(*words, "--out", out).code == 0
    for name in FILES:
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes()
    command(*words, "--out", "three", "--seed", "1")
    one, three = (json.loads((here / d / "result.json").read_text()) for d in ("one", "three"))
    assert one["structure"] != three["structure"]


@pytest.mark.usefixtures("plain_cluster_page")
def test_json_contains_the_verdict(command, groups) -> None:
    ran = command("cluster", groups, "--json", "-k", 3)
    document = ran.document
    assert document["schema_version"] == 4
    assert document["task"] == "clustering"
    assert document["verdict"]["groups"] == "distinct"
    assert document["verdict"]["separated"] is document["verdict"]["stable"] is True
    assert document["verdict"]["summary"].startswith("Distinct groups")
    assert document["limit_reached"] is False
    assert document["structure"]["effect"] > 0.05
    assert document["structure"]["significant"] is True
    assert document["structure"]["p_value"] <= 0.05
    assert document["k"] == 3
    assert [c["size"] for c in document["clusters"]] == [20, 20, 20]
    assert set(document["clusters"][0]["center"]) >= {"a", "b"}
    assert document["certificate"]["holds"]
    assert ran.err == ""


@pytest.mark.usefixtures("plain_cluster_page")
def test_the_limit_of_the_search_comes_with_the_option_that_raises_it(
    command, here, groups
) -> None:
    ran = command("cluster", groups, "--max-clusters", 2)
    assert ran.code == 0, ran.err
    assert "2 clusters have the greatest silhouette" in ran.out
    assert "That is the limit of the search" in ran.out
    assert "--max-clusters 4 tries them" in ran.out
    assert "`max_clusters" not in ran.out
    document = json.loads((here / "groups-clusters" / "result.json").read_text())
    assert document["limit_reached"] is True
    assert "--max-clusters 4" in document["reason"]
    assert "max_clusters=2" in ran.err  # in Python
    assert command("cluster", groups, "--max-clusters", 1).code == 2
    more = command("cluster", groups, "--max-clusters", 4)
    assert "limit of the search" not in more.out


@pytest.mark.usefixtures("plain_cluster_page")
def test_levels_are_printed_with_their_lift(command, groups) -> None:
    ran = command("cluster", groups, "-k", 3)
    assert re.search(r"town [xyz] \(100 %, 3\.0×\)", ran.out)


@pytest.mark.usefixtures("plain_cluster_page")
def test_what_was_inferred_comes_before_the_search_and_once(command, groups) -> None:
    ran = command("cluster", groups, "-k", 3)
    assert ran.err.index("Columns are standardized") < ran.err.index("[1/5]")
    assert ran.err.count("Columns are standardized") == 1


@pytest.mark.usefixtures("plain_cluster_page")
def test_uniform_rows_are_reported_to_have_no_groups(command, here) -> None:
    rng = np.random.default_rng(2)
    lines = [f"{a:.6f},{b:.6f}" for a, b in rng.uniform(size=(150, 2))]
    (here / "even.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    ran = command("cluster", "even.csv")
    assert ran.code == 0
    assert ran.out.startswith("No distinct groups")
    assert "Distinct groups" not in ran.out


@pytest.mark.usefixtures("plain_cluster_page")
def test_the_python_shown_gives_the_same_clusters(command, here, groups) -> None:
    ran = command("cluster", groups, "-k", 3, "--kind", "town=ignore", "--seed", 4)
    shown = ran.err.split("In Python:\n")[1]
    names: dict = {}
    exec("\n".join(line.strip() for line in shown.splitlines()), names)
    written = rows_of(here / "groups-clusters" / "assignments.csv")
    assert [int(line["cluster"]) for line in written] == names[
        "study"
    ].assignments.clusters.tolist()
    assert names["study"].seed == 4


@pytest.mark.usefixtures("plain_cluster_page")
def test_any_column_can_name_rows(command, here, groups) -> None:
    ran = command("cluster", groups, "-k", 2, "--id", "town", "--no-standardize")
    assert ran.code == 0, ran.err
    written = rows_of(here / "groups-clusters" / "assignments.csv")
    assert list(written[0])[:4] == ["row", "town", "customer_id", "cluster"]
    assert "not standardized, as requested" in ran.err
    schema = sx.load(here / "groups-clusters/model.sx").encoding_.schema
    assert schema.names == ("a", "b", "flat")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-k", "1"], "one cluster is the whole table"),
        (["-k", "60"], "too many for 60 rows"),
        (["-k", "many"], "Write it as -k 3"),
        (["--method", "kmean"], "Did you mean 'kmeans'"),
        (["--metric", "cosine"], "--method kmedoids"),
        (["--id", "custmer_id"], "Did you mean 'customer_id'"),
        (["--kind", "a=ignore", "--kind", "b=ignore", "--kind", "town=ignore"], "no column varies"),
    ],
)
def test_mistakes_are_explained(command, here, groups, words, message) -> None:
    ran = command("cluster", groups, *words)
    assert ran.code == 2
    assert message in ran.err
    assert {p.name for p in here.iterdir()} == {"groups.csv"}
    assert command("cluster", groups, *words, "--json").document["error"]["message"]


def test_equal_rows(command, here) -> None:
    (here / "equal.csv").write_text("a,b\n" + "1,2\n" * 9)
    ran = command("cluster", "equal.csv")
    assert ran.code == 2
    assert "equal.csv" in ran.err
    assert "every row is the same" in ran.err


def test_a_defect_while_writing_leaves_nothing(command, here, groups, monkeypatch) -> None:
    import separatrix.report

    (here / "old").mkdir()
    (here / "old" / "result.json").write_text("old")
    monkeypatch.setattr(
        separatrix.report, "write_clusters", lambda *_: signal.raise_signal(signal.SIGINT)
    )
    for out in ("old", "new"):
        assert command("cluster", groups, "-k", 3, "--out", out).code == 130
    assert [p.name for p in (here / "old").iterdir()] == ["result.json"]
    assert (here / "old" / "result.json").read_text() == "old"
    assert {p.name for p in here.iterdir()} == {"groups.csv", "old"}


def test_an_interruption_while_searching(here) -> None:
    rng = np.random.default_rng(0)
    lines = [",".join(f"{v:.5f}" for v in row) for row in rng.uniform(size=(3000, 8))]
    (here / "t.csv").write_text("\n".join(["a,b,c,d,e,f,g,h", *lines]) + "\n")
    # compiled first: the interruption shall meet the search, not the compiler
    sx.AgglomerativeClustering(2, linkage="average").fit(rng.uniform(size=(3000, 8)))
    sx.silhouette(rng.uniform(size=(3000, 8)), rng.integers(0, 2, 3000))
    interrupted(["cluster", "t.csv", "--method", "average"], at="[1/", within=60)
    assert {p.name for p in here.iterdir()} == {"t.csv"}


@pytest.mark.usefixtures("plain_cluster_page")
def test_results_of_fit_do_not_stay_beside_those_of_cluster(command, here, groups) -> None:
    (here / "out").mkdir()
    (here / "out" / "predictions.csv").write_text("of an earlier study")
    (here / "out" / "mine.txt").write_text("kept")
    assert command("cluster", groups, "-k", 3, "--out", "out").code == 0
    assert {p.name for p in (here / "out").iterdir()} == FILES | {"mine.txt"}


@pytest.mark.usefixtures("plain_cluster_page")
def test_standard_input(command, groups, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(groups.read_bytes())))
    ran = command("cluster", "-", "-k", 3, "--json")
    assert ran.code == 0, ran.err
    assert ran.document["directory"] == "standard-input-clusters"


def test_help_opens_with_commands_and_every_option_is_in_the_guide(command) -> None:
    from pathlib import Path

    shown = command("cluster", "--help").out
    assert "separatrix cluster sample:wine" in shown
    assert "cluster" in command("--help").out
    text = (Path(__file__).parents[2] / "docs" / "guide" / "command.md").read_text("utf-8")
    options = set(re.findall(r"^  (?:-k, )?(--?[a-z-]+)", shown, re.MULTILINE)) - {"--help", "-h"}
    assert {"-k", "--method", "--id", "--no-standardize"} <= options
    assert not [option for option in options if f"`{option}" not in text]


@pytest.mark.usefixtures("plain_cluster_page")
def test_notes_on_how_a_copied_column_is_read_are_left_out(command, here) -> None:
    lines = [f"{i + 10},{i % 2 * 9 + i / 97},{i % 2 * 9 - i / 89}" for i in range(40)]
    lines[5] = "15?" + lines[5][2:]  # a number of a row that is not one
    (here / "t.csv").write_text("\n".join(["order_id,a,b", *lines]) + "\n")
    read = sx.scan(here / "t.csv", kinds={"order_id": "numeric"})
    about = [note.column for note in read.notes if isinstance(note, ColumnNote)]
    assert about == ["order_id"]
    assert pickle.loads(pickle.dumps(read.notes))[-1] == read.notes[-1]
    ran = command("cluster", here / "t.csv", "-k", 2, "--kind", "order_id=numeric")
    assert ran.code == 0
    assert "not a number" not in ran.err
