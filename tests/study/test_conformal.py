"""Conformal intervals and sets in a study: its test rows calibrate the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import betabinom

import separatrix as sx
from separatrix.messages import InputError
from separatrix.report import render
from separatrix.storage import load_study, save


def numbers(n=240, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = x[:, 0] - 2 * x[:, 1] + (0.5 + np.abs(x[:, 0])) * rng.standard_t(4, n)
    return pd.DataFrame(x, columns=["a", "b"]).assign(y=y)


def classes(n=300, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.choice(["x", "y", "z"], n, p=[0.5, 0.4, 0.1])
    shift = np.array([0.0, 1.5, 3.0])[np.searchsorted(["x", "y", "z"], y)]
    x = rng.normal(size=(n, 2)) + shift[:, None]
    return pd.DataFrame(x, columns=["a", "b"]).assign(y=y)


@pytest.fixture(scope="module")
def of_numbers():
    return sx.run_study(sx.scan(numbers(), target="y"), models=["linear"])


@pytest.fixture(scope="module")
def of_classes():
    return sx.run_study(sx.scan(classes(), target="y"), models=["lda"])


def test_scores_are_those_of_the_test_rows(of_numbers) -> None:
    found, test = of_numbers.conformal, of_numbers.test_predictions
    np.testing.assert_allclose(found.scores, np.abs(test.truth - test.predicted), rtol=1e-12)
    q = np.sort(found.scores)[int(np.ceil(0.9 * (found.n + 1) - 1e-9)) - 1]
    ends = found.intervals(of_numbers.model, numbers(5, 9)[["a", "b"]], 0.9)
    np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * q)


def test_new_rows_are_covered(of_numbers, of_classes) -> None:
    level, n = 0.9, of_numbers.conformal.n
    new = numbers(500, 5)
    low, high = of_numbers.conformal.intervals(of_numbers.model, new[["a", "b"]], level).T
    rank = int(np.ceil(level * (n + 1) - 1e-9))
    least = betabinom.ppf(1e-7, 500, rank, n + 1 - rank)
    assert ((low <= new.y) & (new.y <= high)).sum() >= least
    found, new = of_classes.conformal, classes(500, 6)
    sets = found.sets(of_classes.model, new[["a", "b"]], 0.8)
    for k, name in enumerate(of_classes.classes):  # every class by its own rows
        mine = (new.y == name).to_numpy()
        n = int((found.codes == k).sum())
        rank = int(np.ceil(0.8 * (n + 1) - 1e-9))
        if rank <= n:
            assert sets[mine, k].sum() >= betabinom.ppf(1e-7, mine.sum(), rank, n + 1 - rank)
        else:
            assert sets[:, k].all()


def test_a_class_with_few_test_rows_is_in_every_set(of_classes) -> None:
    found = of_classes.conformal
    few = found.classes.index("z")
    assert (found.codes == few).sum() < 9
    assert found.sets(of_classes.model, classes(20, 7)[["a", "b"]], 0.9)[:, few].all()
    assert "is in every set: 'z'" in found.remarks(0.9)[1]
    assert all("z" not in check.by_class for check in found.checks if check.level >= 0.9)


def test_a_bayesian_winner_scores_in_its_own_deviations() -> None:
    study = sx.run_study(sx.scan(numbers(), target="y"), models=["bayes"])
    found = study.conformal
    assert found.kind == "normalized"
    residuals = study.model.predictive(numbers()[["a", "b"]])
    rows = np.asarray(study.test_predictions.rows) - 1
    y = numbers().y.to_numpy()[rows]
    np.testing.assert_allclose(
        found.scores, np.abs(y - residuals.mean[rows]) / residuals.scale[rows], rtol=1e-9
    )
    assert "these hold it whatever the model" in render(study)


@pytest.mark.parametrize(("key", "words"), [("group", "in groups"), ("time", "order of time")])
def test_rows_that_are_not_exchangeable_give_no_guarantee(key: str, words: str) -> None:
    frame = numbers().assign(t=np.arange(240) // (4 if key == "group" else 1))
    study = sx.run_study(sx.scan(frame, target="y", **{key: "t"}), models=["linear"])
    assert words in study.conformal.refusal
    with pytest.raises(InputError, match=words):
        study.conformal.quantiles(0.9)
    assert f"There are no conformal intervals: {study.conformal.refusal}" in render(study)


def test_the_page_and_the_file_hold_them(of_classes, tmp_path) -> None:
    page = render(of_classes)
    for words in ("Conformal sets of labels", "Coverage of each class", "Labels in a set"):
        assert words in page
    save(of_classes.model, tmp_path / "m.sx", study=of_classes)
    again = load_study(tmp_path / "m.sx").conformal
    np.testing.assert_array_equal(again.scores, of_classes.conformal.scores)
    assert again.checks == of_classes.conformal.checks


def test_copies_of_a_row_count_once() -> None:
    frame = numbers(120)
    twice = pd.concat([frame, frame], ignore_index=True)
    study = sx.run_study(sx.scan(twice, target="y"), models=["linear"])
    assert study.conformal.n == study.n_test // 2
