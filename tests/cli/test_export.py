"""``separatrix export``: files, standard output, exit codes, and nothing half written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import separatrix as sx
from separatrix.export import export as texts
from separatrix.export.program import program_of
from separatrix.samples import SAMPLES

#: Target, models that are compared, and more options of the study.
FITS = {
    "diabetes": ("progression", ["bayes"], {}),
    "wine": ("cultivar", ["lda", "nearest_centroid"], {"reject": 0.2}),
    "houses": ("price", ["ridge"], {}),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("models")
    for name, (target, names, options) in FITS.items():
        rows = sx.scan(SAMPLES[name].path, target=target, missing="indicator")
        study = sx.run_study(rows, models=names, folds=3, reference=False, **options)
        (place / name).mkdir()
        sx.save(study.model, place / name / "model.sx", study=replace(study, model=None))
    return place


@pytest.mark.parametrize("name", FITS)
def test_the_winner_of_a_sample_is_exported_everywhere(command, models, here, name) -> None:
    for to, file in (("sql", "m.sql"), ("python", "m.py"), ("json", "m.json"), ("onnx", "m.onnx")):
        ran = command("export", str(models / name), "--to", to, "--out", file)
        assert ran.code == 0, ran.err
        assert ran.out.strip() == file
        assert "Checked on" in ran.err
        assert (here / file).stat().st_size > 500
    ran = command("export", str(models / name / "model.sx"), "--to", "sql", "--dialect", "sqlite")
    assert ran.code == 0
    assert ran.out.lstrip("- ").startswith(("BayesianRidge", "Ridge", "RejectOption of"))


def test_rows_of_a_table_are_checked_on_and_predicted(command, models, here) -> None:
    words = ["--to", "python", "--out", "wines.py", "--check", "sample:wine"]
    ran = command("export", str(models / "wine"), *words)
    assert "178 rows in Python" in ran.err
    assert "the rows given" in ran.err
    driver = (
        "import csv, sys; from wines import predict\n"
        "print([predict(row)['predicted'] for row in csv.DictReader(open(sys.argv[1]))])"
    )
    table = Path(sx.__file__).parent / "samples" / "wine.csv"
    found = subprocess.run(
        [sys.executable, "-c", driver, str(table)],
        cwd=here,
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    expected = sx.load(models / "wine" / "model.sx").predict(sx.scan(table, target="cultivar"))
    assert found.stdout.strip() == str(expected.tolist())


def test_json_says_what_was_written_and_checked(command, models) -> None:
    ran = command("export", str(models / "diabetes"), "--to", "sql", "--json")
    found = json.loads(ran.out)
    assert found["check"]["engine"] == "DuckDB"
    assert found["check"]["largest_difference"] < 1e-9
    assert found["content"].endswith(";\n")


def test_a_failed_check_writes_nothing(command, models, here, monkeypatch) -> None:
    model = sx.load(models / "diabetes" / "model.sx")
    model.coef_ = model.coef_ * (1 + 1e-5)
    monkeypatch.setattr(texts, "program_of", lambda *_, **__: program_of(model))
    ran = command("export", str(models / "diabetes"), "--to", "sql", "--out", "m.sql")
    assert ran.code == 1
    assert "the export is not written" in ran.err
    assert not list(here.iterdir())


def test_an_interrupted_export_leaves_no_half_file(command, models, here, monkeypatch) -> None:
    (here / "m.sql").write_text("before")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    ran = command("export", str(models / "wine"), "--to", "sql", "--out", "m.sql")
    assert ran.code == 130
    assert [path.name for path in here.iterdir()] == ["m.sql"]
    assert (here / "m.sql").read_text() == "before"


def test_models_of_arrays_are_exported_by_the_names_of_their_columns(command, here) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    sx.save(sx.LogisticRegression().fit(x, x[:, 0] > x[:, 1]), here / "plane.sx")
    ran = command("export", "plane.sx", "--to", "sql", "--table", "points", "--id", "nr")
    assert ran.code == 0
    assert '"nr" AS "id_nr"' in ran.out
    assert 'FROM "points"' in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.sx", "--to", "sql"], "nowhere.sx"),
        ([".", "--to", "sql"], "contains no model.sx"),
        (["kernel.sx", "--to", "sql"], "It has one to ONNX (--to onnx)."),
        (["kernel.sx", "--to", "onnx"], "--out model.onnx"),
        (["kernel.sx", "--to", "sql", "--out", "no/where.sql"], "does not exist"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(command, here, words, message) -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    model = sx.SVC(kernel=sx.Periodic(2.0, period=3.0))  # sines are not a part of plain SQL
    sx.save(model.fit(x, x[:, 0] > 0), here / "kernel.sx")
    ran = command("export", *words)
    assert ran.code == 2
    assert message in ran.err
