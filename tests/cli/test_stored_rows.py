"""Winners that keep training rows, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import separatrix as sx


@pytest.fixture
def rings(here):
    rng = np.random.default_rng(0)
    turn, ring = rng.uniform(0, 2 * np.pi, 240), rng.integers(0, 3, 240)
    r = ring + rng.uniform(0.15, 0.85, 240)
    places = zip(r * np.cos(turn), r * np.sin(turn), ring, strict=True)
    lines = [f"{a:.4f},{b:.4f},{'ring' if c == 1 else 'else'}" for a, b, c in places]
    (here / "rings.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    return here / "rings.csv"


@pytest.mark.usefixtures("sketched")
def test_rings_from_table_to_page(command, here, rings) -> None:
    models = "logistic,naive_bayes,rda,svm"
    ran = command("fit", rings, "--target", "y", "--models", models, "--out", "r")
    assert ran.code == 0, ran.err
    assert "→ SVM" in ran.out
    assert " support vectors, of " in ran.err
    board = [s for s in ran.out.splitlines() if "±" in s and not s.startswith("Gradient")]
    assert len(board) == 5
    assert max(map(len, board)) <= 80
    found = json.loads((here / "r/result.json").read_text())
    assert found["winner"] == "svm"
    assert found["svms"][0]["certificate"]["holds"]
    before = (here / "r/report.html").read_bytes()
    (here / "r/report.html").unlink()
    assert command("report", "r").code == 0
    assert (here / "r/report.html").read_bytes() == before
    model = sx.load(here / "r/model.sx")
    assert model.predict([[0.0, 0.0], [1.5, 0.0], [0.0, 2.5]]).tolist() == ["else", "ring", "else"]
    assert command("predict", "r/model.sx", rings, "--out", "p.csv").code == 0


def test_neighbors_report_that_they_store_all_rows(command, here, rings, plain_page) -> None:
    ran = command("fit", rings, "--target", "y", "--models", "neighbors", "--out", "n")
    assert ran.code == 0, ran.err
    training = json.loads((here / "n/result.json").read_text())["rows"]["training"]
    assert f"The model contains all {training} training rows" in ran.err


def test_coefficients_store_no_row(command, here, table, plain_page) -> None:
    ran = command("fit", table, "--target", "y", "--models", "linear", "--out", "l")
    assert "The model contains" not in ran.err
