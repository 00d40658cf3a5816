"""An average of candidates: chosen where it is better, and of those scored on all rows alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import separatrix as sx
from separatrix.selection.averaging import log_loss_average
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
    line = next(entry for entry in found.leaderboard if entry.name == "average")
    best = min(entry.mean for entry in found.leaderboard if entry.name != "average")
    if found.winner == "average":
        assert line.mean < best
        assert found.choice.goal == "accuracy"
        weights = found.model.weights_
        assert weights.sum() == pytest.approx(1.0)
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
    assert other.mean <= min(entry.mean for entry in simple.leaderboard)
    assert accurate.choice.other.name == simple.winner


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
