"""Columns, class weights and hyperparameters by option; the invocation stored and repeated."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pytest

import separatrix as sx

pytestmark = pytest.mark.usefixtures("plain_page")
WIDE = "id_a,price_1,price_2,note,y"


@pytest.fixture
def wide(here, rng):
    """A target of two prices, beside columns that have nothing to do with it."""
    p, q = rng.normal(size=(2, 80))
    lines = [
        f"{k % 7}.5,{p[k]:.6f},{q[k]:.6f},{'uvw'[k % 3]},{2 * p[k] - q[k] + rng.normal():.6f}"
        for k in range(80)
    ]
    (here / "wide.csv").write_text("\n".join([WIDE, *lines]) + "\n")
    return here / "wide.csv"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"columns": "price_*"}, {"price_1", "price_2"}),
        ({"columns": ["note", "price_?"], "drop": ["*_2"]}, {"note", "price_1"}),
        ({"drop": ["id_a", "[mn]ote"]}, {"price_1", "price_2"}),
        # the target alone matches, and a pattern passes over it
        ({"drop": "?"}, {"id_a", "price_1", "price_2", "note"}),
    ],
)
def test_columns_by_name_and_pattern(wide, given, used) -> None:
    rows = sx.scan(str(wide), target="y", **given)
    assert {column.name for column in rows.schema.columns} == used


def test_a_column_is_not_a_pattern_first(here) -> None:
    table = {"a[1]": [1.0, 2.0], "a1": [3.0, 5.0], "y": [1.0, 2.0]}
    rows = sx.scan(table, target="y", columns=["a[1]"])
    assert [column.name for column in rows.schema.columns] == ["a[1]"]


def test_unknown_columns_and_the_target_are_refused(command, wide) -> None:
    ran = command("fit", wide, "--target", "y", "--drop", "nota")
    assert ran.code == 2
    assert "Did you mean 'note'" in ran.err
    ran = command("fit", wide, "--target", "y", "--drop", "note,y")
    assert ran.code == 2
    assert "cannot be dropped" in ran.err


def test_an_array_has_columns_to_drop_too(rng) -> None:
    rows = sx.scan(rng.normal(size=(9, 3)), target=rng.normal(size=9), drop=["x1"])
    assert [column.name for column in rows.schema.columns] == ["x0", "x2"]


def test_a_study_is_repeated_from_its_toml(command, here, wide) -> None:
    words = ("--target", "y", "--drop", "id_a,note", "--models", "ridge", "--seed", "3")
    more = ("--set", "ridge.alpha=2.5", "--no-reference", "--out", "first")
    assert command("fit", "wide.csv", *words, *more).code == 0
    stored = tomllib.loads((here / "first" / "study.toml").read_text())
    assert stored["drop"] == ["id_a,note"]
    assert (stored["table"], stored["seed"], stored["set"]) == ("wide.csv", 3, ["ridge.alpha=2.5"])
    before = {p.name: p.read_bytes() for p in (here / "first").iterdir()}
    assert command("fit", "first/study.toml").code == 0
    assert {p.name: p.read_bytes() for p in (here / "first").iterdir()} == before
    ran = command("fit", "first/study.toml", "--seed", "4", "--out", "second", "--json")
    assert ran.document["seed"] == 4
    assert ran.document["model"]["parameters"]["alphas"] == [2.5]
    assert tomllib.loads((here / "second" / "study.toml").read_text())["seed"] == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("table = 3", "names no table"),
        ('table = "wide.csv"\ntargte = "y"', "Did you mean 'target'"),
        ("table = ", "is not TOML"),
    ],
)
def test_a_toml_that_is_not_understood(command, here, wide, text, message) -> None:
    (here / "study.toml").write_text(text)
    ran = command("fit", "study.toml")
    assert ran.code == 2
    assert message in ran.err


def test_hyperparameters_are_fixed_or_narrowed(wide) -> None:
    rows = sx.scan(str(wide), target="y", columns="price_*")
    given = {
        "Ridge": {"alpha": 3.0},
        "lasso": {"alphas": [0.25, 0.5]},
        "neighbors": {"n_neighbors": 4},
    }
    study = sx.run_study(
        rows,
        models=["ridge", "lasso", "neighbors"],
        parameters=given,
        reference=False,
        verbose=False,
    )
    entry = {e.name: e for e in study.leaderboard}
    assert set(entry["ridge"].hyperparameters["alpha"]) == {3.0}
    assert set(entry["lasso"].hyperparameters["alpha"]) <= {0.25, 0.5}
    assert any("n_neighbors = 4, as given; nothing is searched" in m for m in study.messages)
    alone = sx.run_study(
        rows, models=["neighbors"], parameters={"neighbors": {"n_neighbors": 4}}, goal="accuracy",
        reference=False, verbose=False,
    )  # fmt: skip
    assert alone.winner == "neighbors"
    assert alone.model.n_neighbors_ == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ridge.alpa=1", "Did you mean 'alphas'"),
        ("rigde.alpha=1", "Did you mean 'ridge'"),
        ("ridge=1", "MODEL.PARAMETER=VALUE"),
        ("ridge.alphas=", "MODEL.PARAMETER=VALUE"),
        ("ridge.standardize=true,false", "takes one value"),
    ],
)
def test_hyperparameters_that_do_not_exist(command, wide, text, message) -> None:
    ran = command("fit", wide, "--target", "y", "--models", "ridge", "--set", text)
    assert ran.code == 2
    assert message in ran.err


@pytest.fixture
def rare(here, rng):
    """Two classes, one of them in a tenth of the rows."""
    x = rng.normal(size=300)
    classes = np.where(x + rng.normal(size=300) > 1.9, "yes", "no")
    lines = [
        f"{a:.6f},{b:.6f},{c}" for a, b, c in zip(x, rng.normal(size=300), classes, strict=True)
    ]
    (here / "rare.csv").write_text("\n".join(["x,z,y", *lines]) + "\n")
    return here / "rare.csv"


def test_class_weights_are_those_of_scikit_learn_and_verified(command, here, rare) -> None:
    from sklearn.linear_model import LogisticRegression

    words = ("--target", "y", "--models", "logistic", "--no-reference", "--out", "b")
    ran = command("fit", "rare.csv", *words, "--class-weight", "balanced", "--json")
    assert ran.code == 0
    study = sx.run_study(
        sx.scan("rare.csv", target="y"), models=["logistic"], class_weight="balanced",
        reference=False, verbose=False,
    )  # fmt: skip
    # the weights are those of training rows alone
    table = np.genfromtxt("rare.csv", delimiter=",", skip_header=1, dtype=None, encoding=None)
    train = np.setdiff1d(np.arange(300), np.asarray(study.test_predictions.rows) - 1)
    x = np.array([[a, b] for a, b, _ in table])
    y = np.array([c for *_, c in table])
    share = np.array([(y[train] == level).sum() for level in ("no", "yes")])
    assert study.class_weights == pytest.approx(tuple(len(train) / (2 * share)))
    assert ran.document["class_weights"]["yes"] == pytest.approx(study.class_weights[1])
    theirs = LogisticRegression(C=np.inf, class_weight="balanced", tol=1e-10).fit(
        x[train], y[train]
    )
    known = sx.run_study(
        sx.scan("rare.csv", target="y"), models=["logistic"], class_weight={"yes": 2.0},
        reference=False, verbose=False,
    )  # fmt: skip
    assert known.class_weights[1] / known.class_weights[0] == pytest.approx(2.0)
    core = study.model
    while hasattr(core, "estimator_"):
        core = core.estimator_
    assert np.ravel(core.coef_) == pytest.approx(np.ravel(theirs.coef_), rel=1e-4)
    ran = command("verify", "b", "rare.csv")
    assert ran.code == 0, ran.out


def test_class_weights_that_make_no_sense(command, rare, table) -> None:
    ran = command("fit", rare, "--target", "y", "--class-weight", "maybe=2")
    assert ran.code == 2
    assert re.search("maybe.*no.*yes", ran.err)
    ran = command("fit", rare, "--target", "y", "--class-weight", "yes")
    assert ran.code == 2
    assert "LEVEL=WEIGHT" in ran.err
    ran = command("fit", table, "--target", "y", "--class-weight", "balanced")
    assert ran.code == 2
    assert "option of classification" in ran.err


@pytest.mark.usefixtures("plain_page")
def test_options_that_a_model_refuses_together_leave_it_out(command, here) -> None:
    words = ["--models", "lda,nearest_centroid", "--set", "lda.shrinkage=0.1", "--out", "m"]
    ran = command("fit", "sample:wine", "--target", "cultivar", *words)
    assert ran.code == 0
    entries = json.loads((here / "m" / "result.json").read_text())["leaderboard"]
    notes = {entry["name"]: entry["note"] for entry in entries}
    assert "shrinkage is not supported with solver='svd'" in notes["lda"]


def test_messages_are_broken_between_words_on_a_terminal(monkeypatch) -> None:
    from separatrix.cli.failure import fill_terminal

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "40")
    text = fill_terminal(
        "error: a sentence of several words that is longer than a line.", Terminal()
    )
    assert max(map(len, text.splitlines())) < 40
    assert text.replace("\n  ", " ").endswith("words that is longer than a line.")
