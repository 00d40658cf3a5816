"""The page on clusters: the verdict first, every part named, the same bytes, in any browser."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.report import render_clusters, write_clusters
from separatrix.storage import load_study
from separatrix.study.cluster.run import run_clusters
from tests.report.browser import Browser
from tests.report.conftest import CHROMIUM
from tests.report.test_page import Page
from tests.sketches import sketches


def mixed(n: int = 60, apart: float = 8.0) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    kind = np.arange(n) % 2
    return pd.DataFrame(
        {
            "height <cm>": 170 + apart * kind + rng.normal(size=n),
            "weight": 60 + 3 * apart * kind + 3 * rng.normal(size=n),
            "town & land": np.where(rng.random(n) < 0.8 * kind + 0.1, "north", "south"),
            "wet": rng.random(n) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def studies():
    metadata = {"source": "people.csv", "command": "separatrix cluster people.csv"}
    rng = np.random.default_rng(0)
    even = pd.DataFrame(rng.uniform(size=(60, 2)), columns=["a", "b"])
    return {
        "kmeans": run_clusters(sx.scan(mixed()), **metadata),
        "tree": run_clusters(sx.scan(mixed()), k=2, method="average", **metadata),
        "gower": run_clusters(sx.scan(mixed()), k=3, method="kmedoids", metric="gower", **metadata),
        "even": run_clusters(sx.scan(even), k=3, **metadata),
    }


@pytest.fixture(scope="module")
def cluster_pages(studies):
    return {name: render_clusters(study) for name, study in studies.items()}


EACH = pytest.mark.parametrize("name", ["kmeans", "tree", "gower", "even"])


@EACH
def test_parses_and_every_part_is_named(cluster_pages, name):
    page = Page(cluster_pages[name])
    assert len(page.ids) == len(set(page.ids))
    assert page.headings[0] == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    linked = {attrs["href"][1:] for tag, attrs in page.tags if tag == "a"}
    assert linked <= set(page.ids)
    assert {"clusters", "structure", "number", "rows", "certificate", "again"} <= linked
    for drawing in page.svgs:
        assert {tag for tag, _ in drawing[1:]} == {"title", "desc"}
    assert len(cluster_pages[name]) < 500_000
    assert not re.search(r"https?://(?!www\.w3\.org)", cluster_pages[name])


@EACH
def test_the_verdict_comes_first(cluster_pages, studies, name):
    words = Page(cluster_pages[name]).words
    study = studies[name]
    assert words.index(study.verdict.summary[:30]) < words.index("What was inferred")
    assert study.structure.summary in words
    assert study.stability.summary in words
    assert study.reason in words
    assert ("No distinct groups" in words) == (name in ("even", "gower"))
    assert ("No distinct groups" in words) == (study.verdict.groups == "none")


def test_every_column_is_summarized_by_cluster(cluster_pages, studies):
    words = Page(cluster_pages["gower"]).words
    for name in ("height <cm>", "weight", "town & land", "wet"):
        assert name in words
    assert re.search(r"(north|south) \d+ %", words)
    assert re.search(r"true \d+ %", words)
    for cluster in studies["gower"].clusters:
        assert f"cluster {cluster.number}" in words


def test_levels_are_listed_with_their_lift_and_drawn_beside_the_means(cluster_pages, studies):
    words = Page(cluster_pages["kmeans"]).words
    study = studies["kmeans"]
    lifted = [(c, lift) for c in study.clusters for lift in c.lifts.get("town & land", {}).items()]
    assert lifted
    for cluster, (level, lift) in lifted:
        percent = f"{100 * cluster.levels['town & land'][level]:.0f}"
        assert re.search(rf"{level} {percent}\s%\s\({lift:.1f}×\)", words)
    assert "town & land: north" in words  # a line of the picture of profiles


def test_a_search_that_ended_at_its_limit(studies):
    k = studies["kmeans"].k
    study = replace(studies["kmeans"], max_clusters=k, reason="The limit (--max-clusters 4).")
    shaky = replace(study, stability=replace(study.stability, mean=0.5))
    with sketches():
        words = Page(render_clusters(shaky)).words
    assert f"Undecided: the {k} clusters are separated" in words
    assert "the most that were tried" in words
    assert "--max-clusters 4" in words
    assert "No distinct groups" not in words


def test_separated_but_not_stable_is_one_verdict(studies):
    study = studies["kmeans"]
    shaky = replace(study, stability=replace(study.stability, mean=0.5))
    with sketches():
        words = Page(render_clusters(shaky)).words
    assert words.count("No distinct groups") >= 2  # on top and where the evidence is
    assert "Distinct groups:" not in words
    assert "well separated" not in words
    assert re.search(r"Distinct groups\s+No\b", words)


def test_each_method_has_its_pictures(cluster_pages):
    count = {name: len(Page(text).svgs) for name, text in cluster_pages.items()}
    assert count["kmeans"] == 4  # elbow, profile, projection, silhouettes
    assert count["tree"] == 5  # and the tree
    assert "Dendrogram" in cluster_pages["tree"]
    assert "separatrix predict" not in cluster_pages["tree"]


def test_the_same_bytes_again_and_from_the_file(studies, cluster_pages, tmp_path):
    from separatrix.cli.results import stored_study

    assert render_clusters(studies["even"]) == cluster_pages["even"]
    for study in studies.values():
        sx.save(study.model, tmp_path / "m.sx", study=stored_study(study))
        back = load_study(tmp_path / "m.sx")
        assert back.assignments is None
        back = replace(back, model=sx.load(tmp_path / "m.sx"))
        with sketches():
            write_clusters(back, tmp_path / "page.html")
            assert (tmp_path / "page.html").read_text("utf-8") == render_clusters(study)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_opens_without_messages_and_fits(cluster_pages, tmp_path):
    browser = Browser(CHROMIUM, tmp_path / "profile")
    try:
        for name, text in cluster_pages.items():
            path = tmp_path / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            for width, dark in ((360, True), (1180, False)):
                browser.open(path, width=width, dark=dark)
                assert browser.messages == []
                assert browser.fetched == [f"file://{path}"]
                assert browser.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        browser.close()
