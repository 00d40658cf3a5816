"""Commands on files of older versions: an answer or one sentence."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

STORED = Path(__file__).parents[1] / "storage" / "stored"


@pytest.mark.parametrize("version", [1, 2])
def test_predict_answers_with_models_of_older_versions(command, here, version) -> None:
    stored = json.loads((STORED / f"version{version}" / "expected.json").read_text())["study"]
    lines = zip(stored["a"], stored["b"], stored["color"], strict=True)
    text = "a,b,color\n" + "".join(f"{a},{b},{color}\n" for a, b, color in lines)
    (here / "new.csv").write_text(text)
    ran = command("predict", str(STORED / f"version{version}" / "study.sx"), "new.csv")
    found = [float(row["predicted"]) for row in csv.DictReader(io.StringIO(ran.out))]
    assert found == pytest.approx(stored["predicted"], rel=1e-12)


def test_report_answers_or_says_which_version_wrote_the_file(command, here, plain_page) -> None:
    first, second = (STORED / f"version{version}" / "study.sx" for version in (1, 2))
    refused = command("report", str(first), "--out", "page.html")
    assert refused.code == 2
    assert "written by separatrix 0.1.0, format version 1" in refused.err
    assert len(refused.err.strip().splitlines()) == 1
    assert not (here / "page.html").exists()
    assert command("report", str(second), "--out", "page.html").code == 0
    assert (here / "page.html").exists()
