"""From a real study to its page, and back: the Python shown on the page runs as it stands."""

import csv
import re
from dataclasses import replace
from html import unescape

import pytest

import separatrix
from separatrix.report import render
from separatrix.rows.parts import Parts
from separatrix.samples import sample
from separatrix.statistics.moments import Grouped, Moments
from separatrix.storage import StoredMoments, load, load_study, save
from separatrix.study import run_study
from tests.sketches import sketched_page


@pytest.fixture(scope="module")
def study():
    rows = separatrix.scan(sample("wine").path, target="cultivar")
    return separatrix.run_study(rows, seed=3, models=["nearest_centroid"], source="sample:wine")


def test_code_on_the_page_runs(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    separatrix.save(study.model, "model.sx")
    with sample("wine").path.open() as file:
        table = list(csv.reader(file))
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows(row[:-1] for row in table[:6])
    code = unescape(re.findall(r"<pre><code>(.*?)</code>", render(study), re.S)[-1])
    found = {}
    exec(code, found)
    assert len(found["predicted"]) == 5
    assert set(found["predicted"]) <= {row[-1] for row in table[1:]}
    assert found["study"].seed == 3
    assert found["study"].n_test == study.n_test


def test_real_study_is_described_in_full(study):
    page = render(study)
    for words in ("cultivar A", "used once", "Confusion", "Learning curve", "Certificate"):
        assert words in page
    assert "nan" not in re.sub(r"<[^>]+>", " ", page.split("</style>")[1]).split()


def of_moments(name, target):
    rows = separatrix.scan(sample(name).path, target=target)
    groups = rows.with_parts(Parts()).reduce(Grouped(Moments()))
    return StoredMoments(rows.schema, Parts(), groups)


def of_rows(name, target):
    return separatrix.scan(sample(name).path, target=target)


@pytest.mark.parametrize(
    ("source", "name", "target", "model", "text"),
    [
        (
            of_rows,
            "houses",
            "price",
            "linear",
            "(least squares, no penalty) is the weak end of the path",
        ),
        (of_rows, "houses", "price", "huber", "(huber) is not on it"),
        (of_moments, "houses", "price", "linear", "standardized coefficient"),
        (of_moments, "houses", "price", "ridge", "Validation curve over the penalty"),
        (of_rows, "diabetes", "sex", "nearest_centroid", "Over the cross-validation folds"),
    ],
)
def test_a_stored_study_gives_the_same_page(tmp_path, source, name, target, model, text):
    study = run_study(source(name, target), models=[model], source=f"{name}.csv")
    assert study.winner == model
    page = sketched_page(study)
    assert text in page or text in render(study)  # words, or those of the axes
    file = tmp_path / "model.sx"
    save(study.model, file, study=replace(study, model=None))
    assert file.stat().st_size < 250_000
    assert sketched_page(replace(load_study(file), model=load(file))) == page
