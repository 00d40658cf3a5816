"""Repeats, leave-one-out and nested selection: against fits by hand, and the laws of a study."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut, cross_val_predict

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.study.design import TEST, RowFolds
from separatrix.study.document import document_of
from separatrix.study.validation import corrected_error

N = 90


@functools.cache
def columns() -> dict[str, object]:
    rng = np.random.default_rng(5)
    a, b, t = rng.standard_normal(N), rng.standard_normal(N), np.arange(N, dtype=float)
    y = 3.0 * a - 2.0 * b + rng.standard_normal(N)
    group = [f"g{i // 3}" for i in range(N)]
    label = np.where(a + b + rng.standard_normal(N) > 0, "yes", "no")
    return {"a": a, "b": b, "t": t, "y": y, "who": group, "label": label}


def table(*names: str, order: object = slice(None), **roles: object) -> sx.Rows:
    return sx.scan({n: np.asarray(columns()[n])[order] for n in names}, **roles)


def numbers(order: object = slice(None)) -> sx.Rows:
    return table("a", "b", "y", order=order, target="y")


def split(rows: sx.Rows) -> RowFolds:
    found = rows.read()
    labels = np.asarray(found.with_parts(Parts()).block.parts)
    return RowFolds(found, labels, found.keys.times is not None)


@functools.cache
def repeated() -> sx.Study:
    return sx.run_study(numbers(), models=["linear", "bayes"], repeats=3, nested=True)


def test_the_first_repeat_is_the_study_without_repeats() -> None:
    once = sx.run_study(numbers(), models=["linear", "bayes"])
    again = repeated().repeats
    assert again is not None
    for entry in once.leaderboard:
        score = next(s for s in again.scores if s.name == entry.name)
        assert score.by_repeat[0] == entry.mean
        assert len(score.by_repeat) == 3
    assert repeated().n_test == once.n_test
    assert [s.value for s in once.test] == [s.value for s in repeated().test]


def test_spread_and_corrected_error_follow_their_formulas() -> None:
    study = repeated()
    assert study.repeats is not None
    entry = next(e for e in study.leaderboard if e.name == "linear")
    score = next(s for s in study.repeats.scores if s.name == "linear")
    assert len(entry.folds) == 15
    assert score.spread == pytest.approx(np.std(score.by_repeat, ddof=1))
    sizes = [14.4 / 57.6] * 15  # 72 training rows in five folds
    expected = math.sqrt((1 / 15 + np.mean(sizes)) * np.var(entry.folds, ddof=1))
    assert score.corrected_error == pytest.approx(expected, rel=1e-3)
    assert sum(s.chosen for s in study.repeats.scores) == 3


def test_corrected_error_of_too_few_folds_is_not_a_number() -> None:
    assert math.isnan(corrected_error([1.0], 0.25))


def test_row_order_does_not_matter_and_the_seed_does() -> None:
    order = np.random.default_rng(1).permutation(N)
    document = document_of(repeated())["validation"]
    options = {"models": ["linear", "bayes"], "repeats": 3, "nested": True}
    shuffled = document_of(sx.run_study(numbers(order), **options))["validation"]
    other = document_of(sx.run_study(numbers(), seed=1, **options))["validation"]
    assert shuffled["nested"]["chosen"] == document["nested"]["chosen"]
    assert shuffled["nested"]["outer"] == pytest.approx(document["nested"]["outer"], rel=1e-9)
    first, second = (d["repeats"]["scores"][1]["by_repeat"] for d in (document, shuffled))
    assert second == pytest.approx(first, rel=1e-9)
    assert other["repeats"]["scores"][1]["by_repeat"] != first


def test_nested_scores_are_those_of_fits_without_each_fold() -> None:
    study = sx.run_study(numbers(), models=["linear"], nested=True)
    folds = split(numbers())
    x, y = (np.asarray(v) for v in (folds.table.block.x, folds.table.block.y[:, 0]))
    errors = np.full(N, np.nan)
    for fold in range(folds.k):
        train, test = folds.split(fold)
        errors[test] = y[test] - LinearRegression().fit(x[train], y[train]).predict(x[test])
    assert study.nested is not None
    assert study.nested.chosen == {"linear": 5}
    assert study.nested.outer == pytest.approx(math.sqrt(np.nanmean(errors**2)), rel=1e-9)
    by_fold = [math.sqrt(np.mean(errors[folds.labels == f] ** 2)) for f in range(5)]
    assert [f.outer for f in study.nested.folds] == pytest.approx(by_fold, rel=1e-9)
    assert study.nested.optimism == pytest.approx(study.nested.outer - study.nested.inner)


def test_repeats_deal_groups_as_a_whole_and_leave_the_test_set() -> None:
    folds = split(table("a", "b", "y", "who", target="y", group="who"))
    group = np.asarray(columns()["who"])
    for repeat in (1, 2):
        again = folds.again(Parts(), repeat, 3)
        assert ((again.labels == TEST) == (folds.labels == TEST)).all()
        assert (again.labels != folds.labels).any()
        for name in set(group):
            assert len(set(again.labels[group == name])) == 1
    inner = folds.within(Parts(), 2)
    assert len(inner.training) == len(folds.split(2)[0])


def test_repeats_in_time_cut_elsewhere_and_never_look_ahead() -> None:
    rows = table("a", "b", "y", "t", target="y", time="t")
    folds = split(rows)
    times = np.asarray(columns()["t"])
    for repeat in range(3):
        again = folds.again(Parts(), repeat, 3)
        assert ((again.labels == TEST) == (folds.labels == TEST)).all()
        for fold in range(again.k):
            train, test = again.split(fold)
            assert times[train].max() < times[test].min()
    study = sx.run_study(rows, models=["linear"], repeats=2, nested=True)
    assert study.validation == "time"
    assert study.repeats is not None
    assert math.isnan(study.repeats.ratio)
    assert study.nested is not None


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_leave_one_out_is_n_fits(grouped: bool) -> None:
    names = ("a", "b", "y", "who") if grouped else ("a", "b", "y")
    roles = {"group": "who"} if grouped else {}
    rows = table(*names, target="y", **roles)
    study = sx.run_study(rows, models=["linear", "ridge"], folds="loo")
    folds = split(rows)
    at = folds.training
    x, y = folds.table.block.x[at], folds.table.block.y[at, 0]
    groups = np.asarray(columns()["who"])[at] if grouped else None
    cv = LeaveOneGroupOut() if grouped else LeaveOneOut()
    residuals = y - cross_val_predict(LinearRegression(), x, y, cv=cv, groups=groups)
    entry = next(e for e in study.leaderboard if e.name == "linear")
    assert study.validation == "leave_one_out"
    assert entry.mean == pytest.approx(math.sqrt(np.mean(residuals**2)), rel=1e-8)
    baseline = study.leaderboard[0]
    units = groups if grouped else np.arange(len(y))
    without = np.array([y[units != u].mean() for u in units])
    assert baseline.mean == pytest.approx(math.sqrt(np.mean((y - without) ** 2)), rel=1e-12)


def test_leave_one_out_of_classes_is_n_fits() -> None:
    rows = table("a", "b", "label", target="label")
    study = sx.run_study(rows, models=["lda"], folds="loo", metric="error", nested=True)
    folds = split(rows)
    x, y = folds.table.block.x[folds.training], np.asarray(columns()["label"])[folds.training]
    answers = cross_val_predict(LinearDiscriminantAnalysis(), x, y, cv=LeaveOneOut())
    entry = next(e for e in study.leaderboard if e.name == "lda")
    if entry.calibrated is None:
        assert entry.mean == pytest.approx(np.mean(answers != y))
    assert study.nested is not None
    assert 0 < study.nested.outer < 1


def test_leave_one_out_beyond_the_work_allowed_says_so() -> None:
    study = sx.run_study(numbers(), models=["linear", "gp"], folds="loo", effort="quick")
    entry = next(e for e in study.leaderboard if e.name == "gp")
    assert not entry.folds
    assert "72 fits of gp" in entry.note
    assert "operations" in entry.note


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"repeats": 0}, "from 1 to 50"),
        ({"repeats": 2.5}, "`repeats` is 2.5"),
        ({"folds": "lots"}, "'lots'"),
        ({"folds": "loo", "repeats": 2}, "no second way"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        sx.run_study(numbers(), **options)  # type: ignore[arg-type]


def test_leave_one_out_does_not_look_ahead() -> None:
    with pytest.raises(InputError, match="later rows"):
        sx.run_study(table("a", "y", "t", target="y", time="t"), folds="loo")


def test_moments_have_no_rows_to_deal_again() -> None:
    from separatrix.statistics.moments import Grouped, Moments
    from separatrix.storage import StoredMoments

    rows = numbers().with_parts(Parts())
    stored = StoredMoments(rows.schema, Parts(), rows.reduce(Grouped(Moments())))
    for options in ({"repeats": 2}, {"nested": True}, {"folds": "loo"}):
        with pytest.raises(InputError, match="needs the rows themselves"):
            sx.run_study(stored, **options)  # type: ignore[arg-type]


def test_closed_forms_agree_with_n_fits() -> None:
    from separatrix.study.candidates import Size, candidates
    from separatrix.study.comparison import tuning_data
    from separatrix.study.validation import closed_form, fold_models, leave_out

    folds = split(numbers())
    data = tuning_data(folds, (), "rmse", 2e10)
    for candidate in candidates("regression", ["linear", "ridge", "neighbors"], Size(72, 2))[0]:
        models = fold_models(candidate, folds, data)
        closed = closed_form(models, folds, data)
        fits = leave_out(
            models, folds, data, lambda model, at, _: (at[0], model.predict(folds.table.take(at)))
        )
        found = np.concatenate([values for _, values in sorted(fits, key=lambda pair: pair[0])])
        exact = candidate.name in ("baseline", "linear")
        # columns are standardized by all rows, once: neighbors at equal distances may change
        assert np.median(np.abs(found - closed)) < (1e-10 if exact else 0.02)


def test_too_few_rows_for_an_outer_loop_are_named() -> None:
    few = sx.scan({"a": np.arange(8.0) % 3, "y": np.arange(8.0)}, target="y")
    nested = sx.run_study(few, models=["linear"], folds=2, nested=True).nested
    assert nested is not None
    assert nested.folds == ()
    assert "too few" in nested.summary
