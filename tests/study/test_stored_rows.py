"""SVMs and nearest neighbors in a study: where they win, and how they are described."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import separatrix as sx
from separatrix.report import render
from separatrix.report.figures import stored_rows
from separatrix.report.tables import svm_table
from separatrix.study import run_study
from separatrix.study.candidates import Size, candidates
from separatrix.study.describe import core_of
from separatrix.study.document import document_of
from tests.sketches import sketched_page


def rings(n: int = 240) -> pl.DataFrame:
    """A ring of one class around the core, and within the rim, of the other."""
    rng = np.random.default_rng(0)
    turn, ring = rng.uniform(0, 2 * np.pi, n), rng.integers(0, 3, n)
    r = ring + rng.uniform(0.15, 0.85, n)
    x = np.column_stack([r * np.cos(turn), r * np.sin(turn)])
    y = np.where(ring == 1, "ring", "else")
    return pl.DataFrame({"east": 1e5 * x[:, 0], "north": x[:, 1], "y": y})


def waves(n: int = 240) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (n, 2))
    y = np.sin(2 * x[:, 0]) * np.cos(x[:, 1]) + 0.1 * rng.standard_normal(n)
    return pl.DataFrame({"a": x[:, 0], "b": 1e-4 * x[:, 1], "y": y})


@pytest.fixture(scope="module")
def ringed():
    models = ["lda", "logistic", "linear_svm", "qda", "neighbors", "svm"]
    return run_study(sx.scan(rings(), target="y"), models=models)


def mean_of(study, name: str) -> float:
    return next(e.mean for e in study.leaderboard if e.name == name)


def test_on_rings_the_kernel_wins_by_far(ringed) -> None:
    assert ringed.winner == "svm"
    for other in ("lda", "logistic", "linear_svm", "qda"):
        assert mean_of(ringed, "svm") < 0.4 * mean_of(ringed, other)
    line = next(e for e in ringed.leaderboard if e.name == "svm")
    assert line.calibrated is not None
    assert len(line.hyperparameters["C"]) == len(line.hyperparameters["bandwidth"]) == 5


def test_stored_rows_have_a_message(ringed) -> None:
    n_support_vectors = len(core_of(ringed.model).support_)
    found = [s for s in ringed.messages if "training rows" in s]
    assert found == [
        f"The model contains {n_support_vectors} support vectors, of {ringed.n_train} "
        "training rows, and so does model.sx: share it only with those who may see these rows."
    ]


def test_margins_are_those_of_the_training_rows(ringed) -> None:
    found = ringed.margins
    core = core_of(ringed.model)
    assert found.alpha == pytest.approx(core.alpha_)
    assert found.bound == pytest.approx(np.full(ringed.n_train, core.C_))
    assert found.y.tolist() == [str(v) for v in ringed.training.y]
    assert found.scores == pytest.approx(ringed.training.scores)
    seen = found.plane
    assert seen.names == ("east", "north")
    assert not seen.projected
    assert seen.values.shape == (len(seen.y), len(seen.x))
    middle = seen.values[len(seen.y) // 2, len(seen.x) // 2]
    assert middle < -0.9  # the first class is in the middle, the second all around
    assert seen.values[len(seen.y) // 2].max() > 0.9
    assert seen.values[0, 0] < 0.5


def test_every_svm_has_its_certificate_in_the_document(ringed) -> None:
    document = json.loads(json.dumps(document_of(ringed)))
    (svm,) = document["svms"]
    proof = svm["certificate"]
    assert svm["n_support"] == len(core_of(ringed.model).support_)
    assert proof["holds"]
    assert 0 <= proof["gap"] <= 1e-3 * proof["primal"]
    assert proof["primal"] == pytest.approx(proof["dual"], rel=1e-3)


def test_a_page_with_the_pictures_of_an_svm(ringed) -> None:
    page = render(ringed)
    for title in ("Support vectors and score over C", "Margins", "Support vectors and margins"):
        assert f"<h3>{title}</h3>" in page
    assert "Dual coefficients by class" in page
    assert "Certificates of the SVMs within the model" in page
    assert "has no coefficients" not in page
    assert (
        f"contains {len(core_of(ringed.model).support_)} support vectors, of {ringed.n_train}"
        in page
    )


def test_neighbors_win_and_show_how_many() -> None:
    found = run_study(sx.scan(waves(), target="y"), models=["linear", "neighbors"])
    assert found.winner == "neighbors"
    page = sketched_page(found)
    assert "Leave-one-out error over the number of neighbors" in page
    assert "Distances between rows" in page
    assert f"contains all {found.n_train} training rows" in page
    assert f"Chosen: {core_of(found.model).n_neighbors_}." in page
    assert document_of(found)["svms"] == []


def test_numbers_in_waves_and_on_a_line() -> None:
    found = run_study(sx.scan(waves(), target="y"), models=["linear", "polynomial", "svr"])
    assert found.winner == "svr"
    assert mean_of(found, "svr") < 0.4 * mean_of(found, "linear")
    assert [p.title for p in stored_rows(found).pictures] == ["Support vectors and score over C"]
    rng = np.random.default_rng(1)
    x = rng.standard_normal((150, 2))
    line = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x @ [1, 2] + rng.standard_normal(150)})
    straight = run_study(sx.scan(line, target="y"), models=["linear", "neighbors", "svr"])
    assert straight.winner == "linear"
    assert straight.margins is None


def test_clouds_are_left_to_simple_models() -> None:
    rng = np.random.default_rng(2)
    code = rng.integers(0, 2, 200)
    x = rng.normal(size=(200, 2)) + 2.0 * code[:, None]
    table = pl.DataFrame({"p": x[:, 0], "q": x[:, 1], "y": np.where(code, "b", "a")})
    found = run_study(sx.scan(table, target="y"))
    assert found.winner in ("nearest_centroid", "naive_bayes", "least_squares", "lda", "logistic")


def test_three_classes_have_three_certificates() -> None:
    rng = np.random.default_rng(3)
    code = rng.integers(0, 3, 150)
    x = rng.normal(size=(150, 2)) + 4.0 * np.column_stack([np.cos(code * 2.1), np.sin(code * 2.1)])
    table = pl.DataFrame({"p": x[:, 0], "q": x[:, 1], "y": np.array(["a", "b", "c"])[code]})
    for name in ("svm", "linear_svm"):
        found = run_study(sx.scan(table, target="y"), models=[name])
        assert found.winner == name
        assert len(document_of(found)["svms"]) == 3
        assert found.margins is None
        assert len(svm_table(found).lines) == 3
        (why,) = stored_rows(found).missing
        assert "Margins and dual coefficients are drawn for two classes" in why


def test_large_tables_are_tuned_on_fewer_rows_and_not_left_out() -> None:
    for size in (Size(16_000, 16, 26), Size(100_000, 10, 2)):
        compared, messages = candidates("classification", None, size)
        assert {"svm", "neighbors", "rda"} <= {c.name for c in compared}
        assert not any("svm" in message for message in messages)
    compared, _ = candidates("regression", None, Size(20_000, 10))
    assert {"svr", "neighbors"} <= {c.name for c in compared}


def test_the_same_table_gives_the_same_bytes(ringed) -> None:
    models = [e.name for e in ringed.leaderboard if e.name != "baseline"]
    again = run_study(sx.scan(rings(), target="y"), models=models)
    assert json.dumps(document_of(again)) == json.dumps(document_of(ringed))
