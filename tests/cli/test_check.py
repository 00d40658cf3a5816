"""New rows against training rows: columns, levels, ranges, drift, scores, and gates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import separatrix as sx

pytestmark = pytest.mark.usefixtures("plain_page")


def rows_of(n: int, seed: int, shift: float = 0.0, levels: str = "abc") -> dict[str, list]:
    """Two numbers and a level, of which one number and the level tell the target."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n) + shift, rng.normal(size=n)
    level = rng.choice(list(levels), size=n)
    y = 2.0 * x + (level == "a") + 0.5 * rng.normal(size=n)
    return {"x": x.tolist(), "z": z.tolist(), "level": level.tolist(), "y": y.tolist()}


def write(path, table: dict[str, list]) -> None:
    lines = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def study():
    rows = sx.scan(rows_of(500, 0), target="y")
    return sx.run_study(rows, models=["linear"], reference=False, verbose=False)


def test_the_distance_is_that_of_kolmogorov_and_smirnov(study) -> None:
    table, new = rows_of(500, 0), rows_of(300, 1, shift=0.3)
    check = sx.check_drift(study, new)
    column = next(c for c in check.columns if c.name == "x")
    training = np.delete(table["x"], np.asarray(study.test_predictions.rows) - 1)
    exact = stats.ks_2samp(training, new["x"]).statistic
    assert exact - 0.011 <= column.distance <= exact + 1e-12  # it is taken at one point per cent
    level = next(c for c in check.columns if c.name == "level")
    trained = np.delete(table["level"], np.asarray(study.test_predictions.rows) - 1)
    apart = [abs(np.mean(trained == v) - np.mean(np.array(new["level"]) == v)) for v in "abc"]
    assert level.distance == pytest.approx(max(apart))


def test_no_alarm_on_rows_of_the_same_distribution(study) -> None:
    alarms = [bool(sx.check_drift(study, rows_of(200, seed)).drifted) for seed in range(1, 41)]
    assert sum(alarms) <= 5  # 5 % of 40, and chance


def test_intervals_hold_the_distance_of_the_distributions(study) -> None:
    true = 2.0 * stats.norm.cdf(0.25) - 1.0  # of normal distributions half a deviation apart
    for seed in range(10, 30):
        check = sx.check_drift(study, rows_of(400, seed, shift=0.5))
        column = next(c for c in check.columns if c.name == "x")
        assert column.low <= true <= column.high
        assert column.drifted


def test_levels_ranges_and_missing_values(study) -> None:
    new = rows_of(200, 3, levels="abcd")
    new["z"] = [None] * 80 + new["z"][80:]
    new["x"] = [50.0, -50.0, *new["x"][2:]]
    check = sx.check_drift(study, new)
    by = {column.name: column for column in check.columns}
    assert by["level"].unseen == {"d": new["level"].count("d")}
    assert by["level"].drifted
    assert by["x"].outside >= 2
    assert check.extrapolating >= 2
    assert by["z"].missing == 80
    assert by["z"].drifted
    assert "(missing)" in by["z"].where


def test_scores_are_beside_their_promise(study) -> None:
    same = sx.check_drift(study, rows_of(300, 5))
    assert {s.metric for s in same.scores} == {s.metric for s in study.test}
    assert same.broken == ()
    new = rows_of(300, 5)
    truth = np.array(new["y"])
    predicted = study.model.predict(new)
    rmse = next(s.value for s in same.scores if s.metric == "rmse")
    assert rmse == pytest.approx(float(np.sqrt(np.mean((truth - predicted) ** 2))))
    new["y"] = (truth + np.where(np.arange(300) % 2, 3.0, -3.0)).tolist()
    assert "rmse" in sx.check_drift(study, new).broken


def test_the_command_and_its_gates(command, here) -> None:
    write(here / "train.csv", rows_of(300, 0))
    write(here / "same.csv", rows_of(200, 1))
    write(here / "moved.csv", rows_of(200, 1, shift=1.0))
    less = rows_of(50, 1)
    less["zeta"] = less.pop("z")
    write(here / "less.csv", less)
    words = ("--target", "y", "--models", "linear", "--no-reference", "--out", "m")
    assert command("fit", "train.csv", *words).code == 0
    gates = ("--max-drift", "0", "--promise", "--max-extrapolating", "0.5", "--max-unseen", "0")
    ran = command("check", "m", "same.csv", *gates, "--min-score", "r2=0.5")
    assert ran.code == 0, ran.err
    assert "No drift is found" in ran.out
    assert "Next: separatrix predict m same.csv" in ran.err
    ran = command("check", "m", "moved.csv", "--max-drift", "0.1")
    assert ran.code == 1
    assert "x at least" in ran.err
    assert "1 of 3 columns have drifted" in ran.out
    ran = command("check", "m", "moved.csv", "--max-extrapolating", "0", "--json")
    assert ran.code == 1
    assert ran.document["failed"]
    assert ran.document["columns"][0]["name"] == "x"
    ran = command("check", "m", "same.csv", "--min-score", "r2=0.999")
    assert ran.code == 1
    assert "r2 is" in ran.err
    ran = command("check", "m", "less.csv")
    assert ran.code == 1
    assert "columns are missing: z" in ran.err
    assert "zeta" in ran.out


def test_classes_and_a_table_without_target(command, here) -> None:
    ran = command("fit", "sample:wine", "--target", "cultivar", "--models", "lda", "--no-reference")
    assert ran.code == 0
    ran = command("check", "wine-separatrix", "sample:wine", "--json")
    assert ran.code == 0
    scores = {score["metric"]: score["value"] for score in ran.document["scores"]}
    assert scores["error"] < 0.05
    assert ran.document["worse_than_promised"] == []
    text = command("samples", "wine").out.splitlines()
    cut = text[0].split(",").index("cultivar")
    rows = [[v for j, v in enumerate(line.split(",")) if j != cut] for line in text]
    (here / "new.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    assert command("check", "wine-separatrix", "new.csv").code == 0
    ran = command("check", "wine-separatrix", "new.csv", "--promise")
    assert ran.code == 2
    assert "no values of 'cultivar'" in ran.err
