"""From a real study to its page, and back: the Python shown on the page runs as it stands."""

import csv
import re
from html import unescape

import pytest

import separatrix
from separatrix.report import render
from separatrix.samples import sample


@pytest.fixture(scope="module")
def study():
    rows = separatrix.scan(sample("wine").path, target="cultivar")
    return separatrix.run_study(rows, seed=3, models=["basic"], source="sample:wine")


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


def test_real_study_is_told_whole(study):
    page = render(study)
    for words in ("cultivar A", "opened once", "Confusion", "Learning curve", "Certificate"):
        assert words in page
    assert "nan" not in re.sub(r"<[^>]+>", " ", page.split("</style>")[1]).split()
