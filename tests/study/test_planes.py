"""The plane of a study: columns of words held, gaps filled, stored and drawn again."""

import csv
from dataclasses import replace

import numpy as np
import pytest

import separatrix
from separatrix.pictures import DecisionBoundaryDisplay
from separatrix.storage import load, load_study, save
from separatrix.study import run_study
from tests.sketches import sketched_page


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Numbers with gaps, words, and true or false, of two classes."""
    rng = np.random.default_rng(0)
    n = 300
    size, weight = rng.normal(50, 10, n), rng.normal(0.02, 0.01, n)
    shop = np.array(["north", "south", "east"])[rng.choice(3, n, p=[0.6, 0.3, 0.1])]
    new = rng.random(n) < 0.2
    score = (size - 50) / 10 - 80 * (weight - 0.02) + (shop == "south") + 0.5 * rng.normal(size=n)
    path = tmp_path_factory.mktemp("tables") / "mixed.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["size", "shop", "weight", "new", "kind"])
        for i in range(n):
            given = "" if i % 11 == 0 else f"{size[i]:.3f}"
            kind = "good" if score[i] > 0 else "poor"
            out.writerow([given, shop[i], f"{weight[i]:.5f}", str(new[i]).lower(), kind])
    return path


@pytest.fixture(scope="module")
def study(mixed):
    return run_study(separatrix.scan(mixed, target="kind"), models=["logistic"], source="mixed.csv")


def test_numbers_vary_and_all_else_is_fixed_at_its_most_frequent_level(study):
    land = study.decision_surface
    assert land.plane.names == ("size", "weight")
    assert land.fixed == ("shop at north", "new at false")
    assert "shop at north, new at false" in DecisionBoundaryDisplay(land).description
    assert np.isfinite(land.dots).all()
    assert np.isfinite(land.utility).all()
    assert len(land.dots) == study.n_test


def test_the_plane_shows_the_predictions_of_the_model(study, tmp_path):
    """Rows of the plane written as a table and read again get the answers of the picture."""
    land = study.decision_surface
    at = np.array([[land.x[j], land.y[i]] for i in (3, 20, 40) for j in (2, 30, 60)])
    table = tmp_path / "plane.csv"
    with table.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["size", "shop", "weight", "new"])
        for size, weight in land.plane.inverse_transform(at):
            out.writerow([repr(float(size)), "north", repr(float(weight)), "false"])
    p = study.model.predict_proba(separatrix.scan(table, kinds={"new": "boolean"}))
    seen = np.array([land.utility[i, j] for i in (3, 20, 40) for j in (2, 30, 60)])
    np.testing.assert_allclose(np.log(p), seen, atol=1e-4)


def test_a_stored_plane_gives_the_same_page(study, tmp_path):
    save(study.model, tmp_path / "m.sx", study=replace(study, model=None))
    again = replace(load_study(tmp_path / "m.sx"), model=load(tmp_path / "m.sx"))
    assert sketched_page(again) == sketched_page(study)


def test_a_table_without_two_columns_of_numbers_has_no_plane(mixed, tmp_path):
    with mixed.open() as file:
        rows = [[row[1], row[3], row[2], row[4]] for row in csv.reader(file)]
    path = tmp_path / "words.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    study = run_study(separatrix.scan(path, target="kind"), models=["logistic"], source="words.csv")
    assert study.decision_surface is None
    assert "two numeric columns that vary" in sketched_page(study)
