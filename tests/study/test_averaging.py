"""An average of candidates: chosen where it is better, and of those scored on all rows alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import separatrix as sx
from separatrix.selection.averaging import (
    equal_average,
    log_loss_average,
    logarithmic_pool,
    squared_error_average,
)
from separatrix.study.comparison import CandidateLosses, average_candidates
from separatrix.study.out_of_fold import ModelSelection


@pytest.fixture(scope="module")
def table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(160, 3))
    y = x[:, 0] + 2.0 * (x[:, 1] > 0) + 0.3 * rng.normal(size=160)
    return {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y}


def halved(found):
    """Out-of-fold predictions of the last candidate, on the rows of the first two folds alone."""
    scored, worse = list(found.comparison.scored), found.comparison.scored[-1]
    losses = worse.losses
    half = losses.at(losses.rows[losses.fold < 2])
    poor = {metric: values + 100.0 for metric, values in half.by_metric.items()}
    scored[-1] = replace(worse, losses=replace(half, by_metric=poor))
    name = worse.candidate.name
    predictions = dict(found.predictions)
    return name, scored, predictions, half.rows


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_candidate_scored_on_fewer_rows_has_no_weight(table, task, monkeypatch) -> None:
    classes = task == "classification"
    original, seen = ModelSelection.compare, []

    def shortened(*args, **kwargs):
        found = original(*args, **kwargs)
        name, scored, predictions, rows = halved(found)
        seen.append(name)
        predictions[name] = predictions[name].at(rows)
        comparison = replace(found.comparison, scored=scored)
        return replace(found, comparison=comparison, predictions=predictions)

    monkeypatch.setattr(ModelSelection, "compare", shortened)
    y = np.where(table["y"] > 1.0, "high", "low") if classes else table["y"]
    models = ["lda", "naive_bayes", "logistic"] if classes else ["linear", "ridge", "neighbors"]
    found = sx.run_study(sx.scan(table | {"y": y}, target="y"), models=models, goal="accuracy")
    line = next(entry for entry in found.leaderboard if entry.name == "average")
    assert seen == [found.leaderboard[-2].name]
    assert seen[0] not in line.note.split("(")[0]


@pytest.mark.parametrize("classes", [True, False])
def test_the_average_is_chosen_only_where_it_is_better(table, classes) -> None:
    y = np.where(table["y"] > 1.0, "high", "low") if classes else table["y"]
    models = ["naive_bayes", "neighbors"] if classes else ["linear", "neighbors"]
    found = sx.run_study(sx.scan(table | {"y": y}, target="y"), models=models, goal="accuracy")
    if found.winner == "average":
        assert found.choice.goal == "accuracy"
        weights = found.model.weights_
        pooled = classes and found.model.pool == "logarithmic"  # which may sharpen
        assert pooled or weights.sum() == pytest.approx(1.0)
        assert (weights >= 0).all()
    else:
        assert found.choice.winner == found.winner


@pytest.mark.parametrize("classes", [True, False])
def test_simplicity_says_what_accuracy_would_give(table, classes) -> None:
    y = np.where(table["y"] > 1.0, "high", "low") if classes else table["y"]
    rows = sx.scan(table | {"y": y}, target="y")
    models = ["lda", "svm", "neighbors"] if classes else ["linear", "svr", "neighbors"]
    simple = sx.run_study(rows, models=models)
    accurate = sx.run_study(rows, models=models, goal="accuracy")
    assert "average" not in [entry.name for entry in simple.leaderboard]
    other = simple.choice.other
    assert simple.choice.other_rule_winner == accurate.winner
    assert other.name == accurate.winner
    line = next(entry for entry in accurate.leaderboard if entry.name == accurate.winner)
    assert other.mean == line.mean
    assert accurate.choice.other.name == simple.winner


def test_equal_weights_are_for_models_as_good_as_the_best(rng) -> None:
    """With losses worse by 0, 1, 3, 4 … standard errors, and copies in place of weights."""
    noise = rng.normal(size=(200, 8))
    noise -= noise.mean(axis=0)
    noise[:, 0] = 0.0
    noise[:, 1:] *= np.sqrt(200) / np.linalg.norm(noise[:, 1:], axis=0)
    apart = np.array([0.0, 0.1, 0.5, 1.0, 1.9, 2.1, 3.0, 4.0]) / np.sqrt(200)
    losses = 5.0 + noise + apart
    found = equal_average(losses, np.ones(200))
    assert found.weights == pytest.approx([0.2] * 5 + [0.0] * 3)
    assert equal_average(losses[:, [0, 5, 4]], np.ones(200)).weights == pytest.approx([0.5, 0, 0.5])
    assert found.gap is None


def test_the_choice_that_an_average_is_compared_with_knows_nothing_of_the_fold(rng) -> None:
    """The best of many equal candidates has a smaller loss than choosing it gives elsewhere."""
    y, fold = rng.normal(size=100), np.arange(100) % 5
    guesses = {f"m{i}": 0.5 * rng.normal(size=100) for i in range(40)}

    def losses_of(p):
        return CandidateLosses(np.arange(100), fold, np.ones(100), {"rmse": (y - p) ** 2})

    least = min(float(losses_of(p).by_metric["rmse"].mean()) for p in guesses.values())
    found = average_candidates(
        guesses,
        fold,
        [lambda p, rows: squared_error_average(p[:, rows].T, y[rows], np.ones(len(rows)))],
        losses_of,
    )
    expected = []
    for k in range(5):
        inside = fold == k
        name = min(guesses, key=lambda m: ((y - guesses[m])[~inside] ** 2).mean())
        expected.append(((y - guesses[name])[inside] ** 2).mean())
    assert found.gain.mean + found.loss == pytest.approx(np.mean(expected))
    assert np.mean(expected) > least


def test_repeats_have_no_average(table) -> None:
    rows = sx.scan(table, target="y")
    study = sx.run_study(rows, models=["linear", "neighbors"], goal="accuracy", repeats=2)
    assert study.winner in ("linear", "neighbors")


def test_the_mixture_of_least_log_loss_meets_its_optimality_conditions(rng) -> None:
    p = rng.uniform(0.01, 1.0, (500, 6))
    p[:, 5] = p[:, 0]  # two models that always agree
    w = rng.integers(1, 4, 500).astype(float)
    found = log_loss_average(p, w)
    gains = (w / w.sum()) @ (p / (p @ found.weights)[:, None])
    assert found.weights.sum() == pytest.approx(1.0)
    assert (found.weights >= 0.0).all()
    assert gains.max() <= 1.0 + 1e-7
    assert gains[found.weights > 1e-9] == pytest.approx(1.0, abs=1e-5)
    sure = np.column_stack([np.full(9, 1e-300), np.ones(9)])
    assert log_loss_average(sure, np.ones(9)).weights == pytest.approx([0.0, 1.0])


def test_a_logarithmic_pool_may_sharpen_what_models_agree_on(rng) -> None:
    """Two halves of the evidence, each known to one model: the product has both."""
    n = 1500
    y = rng.integers(0, 2, n)
    signs = np.where(y[:, None] == 1, 1.0, -1.0) + 1.5 * rng.normal(size=(n, 2))
    guesses = {}
    for m, odds in enumerate(signs.T * (2.0 / 1.5**2)):
        p = 1.0 / (1.0 + np.exp(-odds))
        guesses[f"m{m}"] = np.column_stack([1.0 - p, p])

    def losses_of(p):
        losses = -np.log(p[np.arange(n), y])
        return CandidateLosses(np.arange(n), np.arange(n) % 5, np.ones(n), {"log_loss": losses})

    found = average_candidates(
        guesses,
        np.arange(n) % 5,
        [
            lambda p, rows: log_loss_average(p[:, rows, y[rows]].T, np.ones(len(rows))),
            lambda p, rows: logarithmic_pool(p[:, rows], y[rows], np.ones(len(rows))),
        ],
        losses_of,
    )
    assert found.average.pool == "logarithmic"
    assert sum(found.weights.values()) == pytest.approx(2.0, abs=0.25)
    assert str(found).startswith("logarithmic pool of m0")
