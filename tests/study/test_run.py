"""The main job end to end: honest, repeatable, and the same from rows and from moments."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.samples import SAMPLES, houses, sample
from separatrix.statistics.moments import Grouped, MomentRows, Moments
from separatrix.storage import StoredMoments
from separatrix.study import run_study
from separatrix.study.document import document_of

QUICK = ["linear", "ridge", "lasso"]


def made(n: int = 200, seed: int = 0, noise: float = 0.5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), rng.normal(100.0, 20.0, n)
    town = rng.choice(["north", "south", "west"], n)
    y = 2 * a - 0.1 * b + 3 * (town == "south") + noise * rng.normal(size=n)
    missing = rng.random(n) < 0.1
    return pl.DataFrame(
        {"a": a, "b": [None if g else float(v) for v, g in zip(b, missing, strict=True)]}
        | {"town": town, "y": y}
    )


@pytest.fixture(scope="module")
def study():
    return run_study(sx.scan(made(), target="y"), models=QUICK, seed=4)


def test_the_study_is_complete(study) -> None:
    assert study.task == "regression"
    assert [e.name for e in study.leaderboard] == ["baseline", *QUICK]
    assert study.n_train + study.n_test == 200
    assert len(study.test_predictions.rows) == study.n_test
    assert {s.metric for s in study.test} == {"rmse", "r2", "mae"}
    assert {s.metric for s in study.baseline_test} == {"rmse", "r2", "mae"}
    assert study.learning_curve.validation.shape == (len(study.learning_curve.sizes), 3)
    assert any("`task=" in s for s in study.messages)
    assert any("'b'" in s and "`missing`" in s for s in study.messages)
    assert any("'town' (3 levels)" in s for s in study.messages)
    assert any("`test`" in s and "`seed`" in s for s in study.messages)


def test_fold_scores_equal_those_of_separate_fits(study) -> None:
    rows = sx.scan(made(), target="y").read().with_parts(Parts(4, 0.2, 5))
    labels = rows.block.parts
    for fold, error in enumerate(study.leaderboard[1].folds):
        inside, outside = np.flatnonzero((labels >= 0) & (labels != fold)), labels == fold
        model = sx.LinearRegression().fit(rows.take(inside))
        test_rows = rows.take(np.flatnonzero(outside))
        expected = np.sqrt(np.mean((test_rows.block.y[:, 0] - model.predict(test_rows)) ** 2))
        assert error == pytest.approx(expected, rel=1e-9)


def test_the_winner_was_fitted_to_the_training_part_only(study) -> None:
    table = made()
    rows = sx.scan(table, target="y").read().with_parts(Parts(4, 0.2, 5))
    train = table[np.flatnonzero(rows.block.parts >= 0).tolist()]
    assert study.model.encoding_.fill_values["b"] == pytest.approx(train["b"].mean(), rel=1e-12)
    assert study.model.encoding_.fill_values["b"] != pytest.approx(table["b"].mean(), rel=1e-6)
    alone = sx.LinearRegression().fit(sx.scan(train, target="y"))
    np.testing.assert_allclose(study.model.coef_, alone.coef_, rtol=1e-9)


def test_test_rows_are_numbered_as_in_the_table(study) -> None:
    table = made()
    truth = table["y"].to_numpy()[np.asarray(study.test_predictions.rows) - 1]
    assert (study.test_predictions.truth == truth).all()
    rows = table[(np.asarray(study.test_predictions.rows) - 1).tolist()]
    np.testing.assert_allclose(study.model.predict(rows), study.test_predictions.predicted)


def test_the_same_seed_gives_the_same_study_and_another_seed_another(study) -> None:
    again = run_study(sx.scan(made(), target="y"), models=QUICK, seed=4)
    assert document_of(again) == document_of(study)
    other = run_study(sx.scan(made(), target="y"), models=QUICK, seed=5)
    assert document_of(other) != document_of(study)


def test_the_order_of_the_rows_does_not_matter(study) -> None:
    shuffled = made().sample(fraction=1.0, shuffle=True, seed=9)
    other = run_study(sx.scan(shuffled, target="y"), models=QUICK, seed=4)
    assert (other.n_train, other.n_test) == (study.n_train, study.n_test)
    np.testing.assert_allclose(other.model.coef_, study.model.coef_, rtol=1e-9)
    for ours, theirs in zip(study.leaderboard, other.leaderboard, strict=True):
        assert theirs.folds == pytest.approx(ours.folds, rel=1e-9)


def stored(table: pl.DataFrame, parts: Parts) -> StoredMoments:
    """Moments by the split of a stream, which depends on one row at a time."""
    rows = sx.scan(table, target="y")
    return StoredMoments(rows.schema, parts, rows.with_parts(parts).reduce(Grouped(Moments())))


def exactly_split(table: pl.DataFrame, parts: Parts) -> tuple[StoredMoments, StoredMoments]:
    """Moments of both halves of a table by its exact split, which depends on all rows."""
    rows = sx.scan(table, target="y").read().with_parts(parts)
    halves = [rows.take(slice(0, 70)), rows.take(slice(70, None))]
    return tuple(StoredMoments(rows.schema, parts, h.reduce(Grouped(Moments()))) for h in halves)


@pytest.mark.parametrize("model", QUICK)
def test_merged_moments_of_two_tables_are_those_of_all_rows(model) -> None:
    table, parts = made(), Parts(4, 0.2, 5)
    merged = run_study(stored(table[:70], parts) + stored(table[70:], parts), models=[model])
    whole = run_study(stored(table, parts), models=[model])
    np.testing.assert_allclose(merged.model.coef_, whole.model.coef_, rtol=1e-8)
    for a, b in zip(merged.leaderboard, whole.leaderboard, strict=True):
        assert a.folds == pytest.approx(b.folds, rel=1e-8)
    assert (merged.n_train, merged.n_test) == (whole.n_train, whole.n_test)


@pytest.mark.parametrize("model", QUICK)
def test_moments_of_the_same_split_give_the_model_of_the_rows(model) -> None:
    table, parts = made(), Parts(4, 0.2, 5)
    first, second = exactly_split(table, parts)
    from_moments = run_study(first + second, models=[model])
    from_rows = run_study(sx.scan(table, target="y"), models=[model], seed=4)
    np.testing.assert_allclose(from_moments.model.coef_, from_rows.model.coef_, rtol=1e-8)
    assert from_moments.model.intercept_ == pytest.approx(from_rows.model.intercept_, rel=1e-8)
    for a, b in zip(from_moments.leaderboard, from_rows.leaderboard, strict=True):
        assert a.folds == pytest.approx(b.folds, rel=1e-8)
    rmse = {s.metric: s.value for s in from_rows.test}["rmse"]
    assert from_moments.test[0].value == pytest.approx(rmse, rel=1e-8)
    b = next(c for c in from_moments.columns if c.name == "b")
    present = table["b"].drop_nulls()
    assert b.missing == table["b"].null_count()
    assert b.mean == pytest.approx(present.mean())
    assert b.std == pytest.approx(present.std(ddof=0))


def test_a_winner_without_penalty_comes_with_the_ridge_path_of_its_rows(study) -> None:
    from sklearn.linear_model import Ridge

    rows = sx.scan(made(), target="y").read().with_parts(Parts(4, 0.2, 5))
    block = study.model.encoding_.apply(rows.take(np.flatnonzero(rows.block.parts >= 0)).block)
    x, y = block.dense(), block.y[:, 0]
    alphas, coefs = study.ridge_path.alphas, study.ridge_path.coefs
    for at in (0, 20, 40):
        other = Ridge(alphas[at]).fit(x / x.std(axis=0), y)
        np.testing.assert_allclose(coefs[at], other.coef_ / x.std(axis=0), rtol=1e-8)
    np.testing.assert_allclose(coefs[-1], study.model.coef_, rtol=1e-3)
    first, second = exactly_split(made(), Parts(4, 0.2, 5))
    stored_study = run_study(first + second, models=["linear"])
    np.testing.assert_allclose(stored_study.ridge_path.coefs, coefs, rtol=1e-8)
    robust = run_study(sx.scan(made(), target="y"), models=["huber"], seed=4)
    np.testing.assert_allclose(robust.ridge_path.coefs, coefs, rtol=1e-8)
    tuned = run_study(sx.scan(made(), target="y"), models=["ridge"], seed=4)
    assert (tuned.winner, tuned.ridge_path) == ("ridge", None)


def test_a_table_too_large_for_memory_is_read_once(monkeypatch, tmp_path) -> None:
    table = made()
    table.write_parquet(tmp_path / "t.parquet")
    rows = sx.scan(str(tmp_path / "t.parquet"), target="y")
    whole = run_study(stored(table, Parts(4, 0.2, 5)), models=QUICK)
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    once = run_study(rows, seed=4)
    assert [e.name for e in once.leaderboard] == ["baseline", *QUICK, "bayes"]
    assert any("too large" in s for s in once.messages)
    np.testing.assert_allclose(once.model.coef_, whole.model.coef_, rtol=1e-8)


def test_rows_of_a_cluster_are_studied_where_they_are() -> None:
    dask = pytest.importorskip("dask.dataframe")
    table = made().to_pandas()
    spread = run_study(sx.scan(dask.from_pandas(table, npartitions=3), target="y"), seed=4)
    whole = run_study(stored(made(), Parts(4, 0.2, 5)), models=QUICK)
    assert any("spread over a cluster" in s for s in spread.messages)
    assert spread.winner == whole.winner
    np.testing.assert_allclose(spread.model.coef_, whole.model.coef_, rtol=1e-8)


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 60))
    table = pl.DataFrame({f"x{j}": x[:, j] for j in range(60)})
    table = table.with_columns(y=3 * x[:, 0] + rng.normal(size=40))
    wide = run_study(sx.scan(table, target="y"), models=QUICK)
    rows = sx.scan(table, target="y").read().with_parts(Parts(0, 0.2, 5))
    moments = StoredMoments(rows.schema, Parts(0, 0.2, 5), rows.reduce(Grouped(Moments())))
    stored_study = run_study(moments, models=QUICK)
    for a, b in zip(wide.leaderboard, stored_study.leaderboard, strict=True):
        assert a.folds == pytest.approx(b.folds, rel=1e-4)
    assert wide.model.get_params() == stored_study.model.get_params()
    np.testing.assert_allclose(
        wide.model.predict(table), stored_study.model.predict(table), rtol=1e-3
    )


def test_models_that_need_rows_are_refused_where_there_are_none() -> None:
    stored_study = stored(made(), Parts())
    with pytest.raises(InputError, match="huber needs the rows"):
        run_study(stored_study, models=["huber"])
    rows = MomentRows(stored_study.schema, stored_study.groups.parts)
    with pytest.raises(InputError, match="needs the rows"):
        sx.HuberRegressor().fit(rows)
    with pytest.raises(InputError, match="not 3"):
        rows.with_parts(Parts(folds=3))


def test_noise_is_called_noise() -> None:
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    table = table.with_columns(y=rng.normal(size=120))
    found = run_study(sx.scan(table, target="y"), models=["linear"])
    assert found.winner == "baseline"
    assert "No model beats the baseline" in found.reason


@pytest.mark.parametrize("name", list(SAMPLES))
def test_every_candidate_competes_on_the_samples(name) -> None:
    found = run_study(sx.scan(str(sample(name).path), target=sample(name).target))
    assert all(np.isfinite(e.mean) for e in found.leaderboard)
    assert found.winner != "baseline"
    names = {e.name for e in found.leaderboard}
    if found.task == "regression":
        assert names == {
            *("baseline", "linear", "ridge", "lasso", "bayes", "gp"),
            *("huber", "polynomial", "neighbors", "svr", "learned_metric", "additive"),
            *(
                "additive_pairs",
                "additive_poisson",
                "poisson",
            ),  # whole numbers that are not negative
        }
    else:
        assert names == {
            *("baseline", "nearest_centroid", "naive_bayes", "lda"),
            *("logistic", "logistic_ridge", "bayes", "rda", "neighbors", "svm", "gp"),
            *("learned_metric", "learned_metric_logistic"),
            *(("additive", "additive_pairs") if len(found.classes) == 2 else ()),
        }
        assert found.test_predictions.scores.shape == (found.n_test, len(found.classes))
        assert found.test_predictions.probabilities.shape == (found.n_test, len(found.classes))


def test_two_classes_name_the_positive_one_and_have_an_area() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 2))
    table = pl.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "y": (x[:, 0] + rng.normal(size=150) > 0) * 1}
    )
    found = run_study(sx.scan(table, target="y"))
    assert found.task == "classification"
    assert found.classes == ("0", "1")
    assert any("Positive class: '1'" in s for s in found.messages)
    assert {s.metric for s in found.test} >= {"log_loss", "accuracy", "error", "auc", "f1"}


def two_classes(n: int = 150) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return pl.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "y": (x[:, 0] + rng.normal(size=n) > 0) * 1}
        | {"w": rng.integers(1, 4, n) * 1.0}
    )


def test_every_fold_of_two_classes_is_judged_by_a_model_that_did_not_see_it() -> None:
    table = two_classes()
    found = run_study(sx.scan(table, target="y", weight="w"), models=["least_squares"], seed=2)
    rows = [row for part in found.out_of_fold for row in part.rows]
    assert len(found.out_of_fold) == 5
    assert sorted([*rows, *found.test_predictions.rows]) == list(range(1, 151))
    line = next(e for e in found.leaderboard if e.name == "least_squares")
    for part, error in zip(found.out_of_fold, line.secondary.folds, strict=True):
        assert error == pytest.approx(np.average(part.truth != part.predicted, weights=part.w))
        away = table[[i for i in np.array(rows) - 1 if i + 1 not in part.rows]]
        other = sx.LeastSquaresClassifier().fit(
            away.select("a", "b").to_numpy(), away["y"].to_numpy(), away["w"].to_numpy()
        )
        inside = table[(part.rows - 1).tolist()].select("a", "b").to_numpy()
        np.testing.assert_allclose(part.scores, other.decision_function(inside), atol=1e-9)


def test_folds_are_stored_only_where_they_are_drawn_and_thinned(monkeypatch) -> None:
    from separatrix.study import classification

    monkeypatch.setattr(classification, "SHOWN_ROWS", 50)
    few = run_study(sx.scan(two_classes().drop("w"), target="y"))
    assert [len(part.rows) for part in few.out_of_fold] == [10] * 5
    wine = run_study(
        sx.scan(str(sample("wine").path), target="cultivar"), models=["nearest_centroid"]
    )
    assert wine.out_of_fold == ()
    noise = two_classes().select(a=pl.lit(1.0) + pl.int_range(150) % 7, y=pl.col("y"))
    found = run_study(sx.scan(noise, target="y"), models=["lda"], seed=1)
    assert (found.winner, found.out_of_fold) == ("baseline", ())


def test_weights_count() -> None:
    table = made().with_columns(w=pl.Series(np.random.default_rng(1).integers(1, 4, 200) * 1.0))
    weighted = run_study(sx.scan(table, target="y", weight="w"), models=["linear"], seed=4)
    plain = run_study(sx.scan(table.drop("w"), target="y"), models=["linear"], seed=4)
    assert weighted.n_test == plain.n_test  # the weight does not move a row
    assert weighted.leaderboard[1].mean != plain.leaderboard[1].mean


def test_arrays_can_be_studied() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    found = run_study(sx.scan(x, target=x @ [1.0, 2.0, 3.0]), models=["linear"])
    np.testing.assert_allclose(found.model.coef_, [1, 2, 3], rtol=1e-9)
    labels = run_study(sx.scan(x, target=(x[:, 0] > 0) * 1.0))
    assert labels.task == "classification"


@pytest.mark.parametrize("n", [1, 2, 4])
def test_too_few_rows_are_refused(n) -> None:
    with pytest.raises(InputError, match="too few"):
        run_study(sx.scan(made()[:n], target="y"), task="regression")


def test_targets_that_cannot_be_studied() -> None:
    table = made()
    with pytest.raises(InputError, match="one target"):
        run_study(sx.scan(table, target=["y", "a"]))
    with pytest.raises(InputError, match="No target"):
        run_study(sx.scan(table))
    with pytest.raises(InputError, match=r"column 'y'.*nothing to learn"):
        run_study(sx.scan(table.with_columns(y=pl.lit(5.0)), target="y"))
    with pytest.raises(InputError, match="nothing to learn"):
        run_study(stored(table.with_columns(y=pl.lit(5.0)), Parts()))


def test_columns_that_cannot_matter_are_named() -> None:
    table = made().with_columns(one=pl.lit(7.0), none=pl.lit(None, dtype=pl.Float64))
    found = run_study(sx.scan(table, target="y"), models=["linear"])
    assert any("Constant, without effect: 'one'" in s for s in found.messages)
    assert any("'none' has no value in any row" in s for s in found.messages)


def test_missing_values_can_be_imputed_by_regression() -> None:
    found = run_study(sx.scan(made(), target="y", missing="regress"), models=["linear", "ridge"])
    assert all(np.isfinite(e.mean) for e in found.leaderboard)
    assert found.winner in ("linear", "ridge")
    assert any(
        "imputed by regression in" in s and "standard deviations" in s for s in found.messages
    )


def test_progress_reports_every_stage() -> None:
    seen = []
    run_study(
        sx.scan(made(), target="y"),
        models=["linear"],
        progress=lambda stage, done, total: seen.append((stage, done, total)),
    )
    assert [done for _, done, _ in seen] == list(range(7))
    assert {total for *_, total in seen} == {6}
    assert seen[0][0] == "comparing baseline"


def test_progress_goes_through_the_callbacks_of_scikit_learn() -> None:
    from sklearn.callback import FitCallback

    class Recorder:
        def __init__(self) -> None:
            self.events: list[str] = []

        def setup(self, estimator, context) -> None:
            self.events.append("setup")

        def on_fit_task_begin(self, estimator, context) -> None:
            self.events.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context) -> None:
            self.events.append(f"end {context.task_name}")

        def teardown(self, estimator, context) -> None:
            self.events.append("teardown")

    recorder = Recorder()
    assert isinstance(recorder, FitCallback)
    run_study(sx.scan(made(), target="y"), models=["linear"], progress=recorder)
    assert recorder.events[:3] == ["setup", "begin study", "begin comparing baseline"]
    assert recorder.events[-2:] == ["end study", "teardown"]
    assert recorder.events.count("end comparing linear") == 1

    stopped = Recorder()
    with pytest.raises(InputError):
        run_study(sx.scan(made()[:3], target="y"), task="regression", progress=stopped)
    assert stopped.events in ([], ["setup", "begin study", "teardown"])


def test_the_synthetic_sample_is_what_its_generator_writes() -> None:
    assert sample("houses").path.read_text(encoding="utf-8") == houses.table()
    for each in SAMPLES.values():
        lines = each.path.read_text(encoding="utf-8").splitlines()
        assert len(lines) == each.rows + 1
        assert each.target in lines[0].split(",")
