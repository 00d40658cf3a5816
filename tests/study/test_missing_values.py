"""Missing values are marked where that predicts better out of fold, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx


def table(says: bool, classes: bool, seed: int = 0) -> dict[str, np.ndarray]:
    """A level and a number, a third of each missing: by chance, or where the target is larger."""
    rng = np.random.default_rng(seed)
    n = 300
    x = rng.normal(size=n)
    gone = rng.uniform(size=n) < 1 / 3
    y = x + 2.0 * (gone & says) + 0.5 * rng.normal(size=n)
    level = rng.choice(["u", "v", "w"], n).astype(object)
    level[gone] = None
    target = np.where(y > np.median(y), "high", "low") if classes else y
    return {"x": x, "level": level, "y": target}


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("says", [False, True])
def test_missing_values_are_marked_where_they_say_something(says: bool, classes: bool) -> None:
    models = ["logistic_ridge" if classes else "ridge"]
    options = {"models": models, "reference": False}
    found = sx.run_study(sx.scan(table(says, classes), target="y", missing="compare"), **options)
    policy = found.model.encoding_.schema.missing
    assert policy == ("indicator" if says else "mean")
    assert any("error" in text and "marked" in text for text in found.messages)
    same = sx.run_study(sx.scan(table(says, classes), target="y", missing=policy), **options)
    assert found.leaderboard[-1].mean == same.leaderboard[-1].mean
    plain = sx.run_study(sx.scan(table(says, classes), target="y", missing="mean"), **options)
    assert not says or found.leaderboard[-1].mean < 0.9 * plain.leaderboard[-1].mean


def test_chance_marks_values_rarely() -> None:
    """Of forty tables whose values are missing by chance about one in six gains a standard error
    by luck; sixteen of them would be four standard deviations more."""
    marked = 0
    for seed in range(40):
        rows = sx.scan(table(False, False, seed), target="y", missing="compare")
        study = sx.run_study(rows, models=["ridge"], reference=False, verbose=False)
        marked += study.model.encoding_.schema.missing == "indicator"
    assert marked < 16
