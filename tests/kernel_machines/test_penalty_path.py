"""The penalty of a fold comes from the losses of the others, on noise as anywhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.kernel_machines import recursive_feature_machine as subject
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData


def _follow(losses: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The path of folds that have these losses (penalties x folds)."""

    class Fold:
        def __init__(self, number: int) -> None:
            self.w, self.losses, self.step = np.ones(3), losses[:, number], -1

        @classmethod
        def of(cls, search: Any, found: Any, fold: int) -> Fold:
            return cls(fold)

        def next(self, alpha: float) -> np.ndarray:
            self.step += 1
            return np.full(1, self.step)

        def loss(self, p: np.ndarray) -> float:
            return float(self.losses[int(p[0])])

    monkeypatch.setattr(subject, "FoldPath", Fold)
    search = SimpleNamespace(folds=[None] * losses.shape[1])
    return subject.follow_penalties(search, None, tuple(range(len(losses))))  # type: ignore[arg-type]


def test_losses_of_a_fold_do_not_reach_its_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        losses = rng.normal(size=(6, 3)).cumsum(axis=0)
        before = _follow(losses, monkeypatch)
        changed = losses.copy()
        changed[:, 1] = 5.0 * rng.normal(size=6).cumsum()
        after = _follow(changed, monkeypatch)
        assert before.by_fold[1] == after.by_fold[1]
        assert before.probabilities[1] == after.probabilities[1] == before.by_fold[1]


def test_noise_is_not_predicted() -> None:
    """Mean log loss of labels that nothing explains: not below their entropy by more than luck."""
    rng, excess = np.random.default_rng(1), []
    for _ in range(20):
        x, y = rng.normal(size=(60, 3)), rng.permutation(np.arange(60) % 2)
        data = TuningData(x, y, np.ones(60), Folds.from_labels(np.arange(60) % 3), 2)
        tuning = sx.LogisticRecursiveFeatureMachine().tune(data)
        p = tuning.predictions[np.arange(60), y[tuning.rows]]
        excess.append(float(-np.log(p).mean() - np.log(2.0)))
    assert np.mean(excess) > -2.0 * np.std(excess) / np.sqrt(len(excess))


def test_more_rows_than_memory_holds_pairs_of_are_refused_at_once() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200_000, 2))
    with pytest.raises(sx.InputError, match="200,000 rows") as refusal:
        sx.LogisticRecursiveFeatureMachine().fit(x, x[:, 0] > 0.0)
    assert "RecursiveFeatureMachineClassifier" in str(refusal.value)
