"""Sites that share sums and not rows: sums of classes add up, and small cells are refused."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.cli.outcome import run
from separatrix.messages import InputError
from separatrix.rows.schema import NO_TERMS, Term
from separatrix.storage import load_moments, merge_moments, save_moments, summarize

PARTS = sx.Parts(3, 0.2, 2)


def visits(seed: int, n: int = 240, classes: int = 2, shift: float = 0.0) -> dict:
    rng = np.random.default_rng(seed)
    k = rng.integers(0, classes, n)
    dose = rng.normal(50.0, 2.0, n) + k + shift
    return {
        "dose": [None if rng.random() < 0.3 else float(v) for v in dose],
        "age": (rng.normal(size=n) - k).tolist(),
        "ward": rng.choice(["a", "b", "c"][: 2 + seed % 2], n).tolist(),
        "smokes": (rng.random(n) < 0.4).tolist(),
        "y": [f"class {v}" for v in k],
    }


def stored(table: dict, **options):
    return summarize(sx.scan(table, target="y"), PARTS, **options)


def test_sums_of_sites_are_those_of_all_rows() -> None:
    # another number of classes, other levels and other placeholders at every site
    tables = [visits(1), visits(2, classes=3, shift=30.0), visits(3, 90)]
    whole = stored({name: [v for t in tables for v in t[name]] for name in tables[0]})
    total = merge_moments([stored(table) for table in tables])
    assert total.counts == whole.counts
    for (part, level, found), (other, name, expected) in zip(
        total.cells(), whole.cells(), strict=True
    ):
        assert (part, level, found.count) == (other, name, expected.count)
        terms = found.terms.union(expected.terms)  # one that a cell lacks is zero in it
        a, b = (m.aligned(terms, NO_TERMS) for m in (found, expected))
        at = [j for j, t in enumerate(terms) if t.column != "dose"]  # placeholders differ
        np.testing.assert_allclose(a.mean[at], b.mean[at], rtol=1e-10, atol=1e-12)
        own = np.ix_(at, at)
        np.testing.assert_allclose(a.scatter[own], b.scatter[own], rtol=1e-10, atol=1e-9)
    ours, theirs = (sx.run_study(s, models=["lda", "qda", "rda"]) for s in (total, whole))
    rows = sx.scan(tables[0], target="y")
    for name in ("lda", "qda"):
        assert name in {entry.name for entry in ours.leaderboard}
    np.testing.assert_allclose(
        ours.model.predict_proba(rows), theirs.model.predict_proba(rows), atol=1e-9
    )


def test_rows_in_memory_are_in_the_parts_of_a_stream() -> None:
    rows = sx.scan(visits(1), target="y")
    halves = [rows.read().take(slice(start, None, 2)) for start in (0, 1)]
    total = merge_moments([summarize(half, PARTS) for half in halves])
    assert total.counts == summarize(rows, PARTS).counts
    x = np.random.default_rng(0).normal(size=(60, 2))  # arrays are in memory from the start
    parts = [sx.scan(x[at], target=x[at, 0]) for at in (slice(0, 20), slice(20, 60), slice(None))]
    first, second, whole = (summarize(rows, PARTS).counts for rows in parts)
    assert {part: first[part] + second[part] for part in whole} == whole


def test_files_of_classes_return_as_they_were_and_fit(tmp_path) -> None:
    saved = stored(visits(1))
    save_moments(saved, tmp_path / "a.moments")
    back = load_moments(tmp_path / "a.moments")
    assert (back.schema, back.parts, back.counts) == (saved.schema, saved.parts, saved.counts)
    for (part, level, found), (_, _, expected) in zip(back.cells(), saved.cells(), strict=True):
        assert level == f"class {level[-1]}"
        assert (found.scatter == expected.scatter).all(), part
    save_moments(back, tmp_path / "b.moments")
    assert (tmp_path / "a.moments").read_bytes() == (tmp_path / "b.moments").read_bytes()
    study = sx.run_study(back)
    assert study.stream.simulated
    assert study.n_train + study.n_test == 240
    assert any("simulated" in s for s in study.messages)
    assert study.test_predictions is None
    with pytest.raises(InputError, match="logistic needs the rows"):
        sx.run_study(back, models=["logistic"])


def test_models_of_moments_are_those_of_the_rows() -> None:
    data = visits(4, 400)
    moments, rows = stored(data), sx.scan(data, target="y").read()
    labels = PARTS.assign(rows.hashes)
    training = rows.take(np.flatnonzero(labels != -1))
    for name, model in (
        ("lda", sx.LinearDiscriminantAnalysis(tol=0.0)),
        ("least_squares", sx.LeastSquaresClassifier()),
    ):
        study = sx.run_study(moments, models=[name])
        core = getattr(study.model, "estimator_", study.model)
        assert study.winner == name
        np.testing.assert_allclose(core.coef_, model.fit(training).coef_, rtol=1e-9)


def plain(n: int = 240) -> dict:
    """Two classes, a number, and nothing else that is counted."""
    rng = np.random.default_rng(0)
    return {"age": rng.normal(size=n), "y": np.array(["no", "yes"])[np.arange(n) % 2]}


FEW = np.arange(240) < 12  # six of each class, two in each part or so


@pytest.mark.parametrize(
    ("more", "least", "words"),
    [
        ({}, 80, r"rows of class 'no', fewer than 80"),
        ({"ward": np.where(FEW, "rare", "a")}, 7, r"of class '\w+' with 'ward' = 'rare', fewer"),
        ({"dose": np.where(FEW, np.nan, 1.0)}, 7, r"with no value of 'dose', fewer than 7"),
        ({"smokes": FEW}, 7, r"with 'smokes' = true, fewer than 7"),
        ({"smokes": ~FEW}, 7, r"with 'smokes' = false, fewer than 7"),
    ],
)
def test_cells_of_few_rows_are_refused_by_name(more, least, words) -> None:
    with pytest.raises(InputError, match=words) as refused:
        stored(plain() | more, min_rows=least)
    assert "smaller --min-rows" in str(refused.value)
    assert sum(stored(plain() | more, min_rows=1).counts.values()) == 240


def test_pairs_of_levels_count_too() -> None:
    one = np.where(np.arange(240) % 4 < 2, "a", "b")
    two = np.where(FEW | (one == "b"), "c", "d")
    moments = stored(plain() | {"one": one, "two": two})
    with pytest.raises(InputError, match="with 'one' = 'a' and 'two' = 'c', fewer than 5"):
        moments.require_rows(5)
    cell = next(m for _, _, m in moments.cells())
    assert Term("one", "a") in cell.terms.position


def test_under_weights_levels_cannot_be_counted() -> None:
    data = visits(1) | {"w": np.full(240, 2.0)}
    with pytest.raises(InputError, match="under weights"):
        summarize(sx.scan(data, target="y", weight="w"), PARTS, min_rows=2)


def test_the_commands_refuse_and_merge(tmp_path, monkeypatch, capsys) -> None:
    import polars as pl

    monkeypatch.chdir(tmp_path)
    for site in (1, 2):
        pl.DataFrame(visits(site)).write_csv(f"{site}.csv")
        words = ["summarize", f"{site}.csv", "--target", "y", "--folds", "2"]
        assert run([*words, "-o", f"{site}.moments"]) == 0
    assert run(["merge", "1.moments", "2.moments", "-o", "all.moments", "--json"]) == 0
    assert '"rows": 480' in capsys.readouterr().out
    assert run(["merge", "1.moments", "2.moments", "--min-rows", "90", "-o", "b.moments"]) != 0
    assert "1.moments" in capsys.readouterr().err
    assert not (tmp_path / "b.moments").exists()
    assert run(["fit", "all.moments", "--models", "lda", "--out", "out"]) == 0
    assert run(["fit", "all.moments", "--task", "regression", "--out", "out"]) != 0
