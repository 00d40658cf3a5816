"""An average of candidates: chosen where it is better, and of those scored on all rows alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import separatrix as sx
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
    found = sx.run_study(sx.scan(table | {"y": y}, target="y"), models=models, average=True)
    line = next(entry for entry in found.leaderboard if entry.name == "average")
    assert seen == [found.leaderboard[-2].name]
    assert seen[0] not in line.note.split("(")[0]


@pytest.mark.parametrize("classes", [True, False])
def test_the_average_is_chosen_only_where_it_is_better(table, classes) -> None:
    y = np.where(table["y"] > 1.0, "high", "low") if classes else table["y"]
    models = ["naive_bayes", "neighbors"] if classes else ["linear", "neighbors"]
    found = sx.run_study(sx.scan(table | {"y": y}, target="y"), models=models, average=True)
    line = next(entry for entry in found.leaderboard if entry.name == "average")
    best = min(entry.mean for entry in found.leaderboard if entry.name != "average")
    if found.winner == "average":
        assert line.mean < best
        weights = found.model.weights_
        assert weights.sum() == pytest.approx(1.0)
        assert (weights >= 0).all()
    else:
        assert found.choice.winner == found.winner
