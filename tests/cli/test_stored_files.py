"""Commands on files written earlier: an answer; one sentence on those of another format."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from tests.storage.files import header_of, rewrite

STORED = Path(__file__).parents[1] / "storage" / "stored"


def test_predict_and_report_answer_with_a_stored_study(command, here, plain_page) -> None:
    stored = json.loads((STORED / "expected.json").read_text())["study"]
    lines = zip(stored["a"], stored["color"], strict=True)
    texts = ["a,color", *(",".join("" if v is None else str(v) for v in line) for line in lines)]
    (here / "new.csv").write_text("\n".join(texts) + "\n")
    ran = command("predict", str(STORED / "study.sx"), "new.csv")
    found = [float(row["predicted"]) for row in csv.DictReader(io.StringIO(ran.out))]
    assert found == pytest.approx(stored["predicted"], rel=1e-12)
    assert command("report", str(STORED / "study.sx"), "--out", "page.html").code == 0
    assert (here / "page.html").exists()


def test_report_says_which_version_wrote_a_file_of_another_format(command, here) -> None:
    shutil.copy(STORED / "study.sx", here / "study.sx")
    header, body = header_of(here / "study.sx")
    header["__metadata__"]["format_version"] = "2"
    rewrite(here / "study.sx", header, body)
    refused = command("report", "study.sx", "--out", "page.html")
    assert refused.code == 2
    assert "written by separatrix 0.1.0, format version 2" in refused.err
    assert len(refused.err.strip().splitlines()) == 1
    assert not (here / "page.html").exists()
