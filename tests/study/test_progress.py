"""What a listener hears of a study, and when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import separatrix as sx
from separatrix.study.progress import Listener, stages, work_of
from separatrix.study.result import Entry


class Recorder(Listener):
    def __init__(self) -> None:
        self.events: list[str] = []
        self.proportions: list[float] = []
        self.messages: tuple[str, ...] = ()
        self.candidates: tuple[str, ...] = ()
        self.entries: tuple[Entry, ...] = ()
        self.choice = ("", "")

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.events.append(stage)

    def planned(self, proportions: Sequence[float]) -> None:
        self.events.append("planned")
        self.proportions = list(proportions)

    def inferred(self, messages: Sequence[str], candidates: Sequence[str]) -> None:
        self.events.append("inferred")
        self.messages, self.candidates = tuple(messages), tuple(candidates)

    def compared(self, entries: Sequence[Entry], winner: str, reason: str) -> None:
        self.events.append("compared")
        self.entries, self.choice = tuple(entries), (winner, reason)


def table(seed: int = 0) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=200)
    label = np.where(x + rng.normal(size=200) > 0, "yes", "no")
    return {"x": x, "z": rng.normal(size=200), "y": x + rng.normal(size=200), "label": label}


@pytest.mark.parametrize(("target", "model"), [("y", "linear"), ("label", "logistic")])
def test_a_listener_hears_what_was_inferred_before_and_the_leaderboard_after(
    target: str, model: str
) -> None:
    recorder = Recorder()
    other = "label" if target == "y" else "y"
    rows = sx.scan(table(), target=target, kinds={other: "ignore"})
    study = sx.run_study(rows, models=[model], progress=recorder)
    first = recorder.events.index("comparing baseline")
    assert recorder.events.index("inferred") < first < recorder.events.index("compared")
    assert recorder.events.index("compared") < recorder.events.index(
        f"fitting {model} to all training rows"
    )
    assert set(recorder.messages) <= set(study.messages)
    assert any("test" in text for text in recorder.messages)
    assert recorder.candidates == ("baseline", model)
    assert [entry.name for entry in recorder.entries] == ["baseline", model]
    assert recorder.choice == (study.winner, study.reason)
    assert sum(recorder.proportions) == pytest.approx(1)


def test_a_listener_hears_of_a_study_from_moments_too() -> None:
    from separatrix.statistics.moments import Grouped
    from separatrix.storage import StoredMoments

    recorder = Recorder()
    rows = sx.scan(table(), target="y", kinds={"label": "ignore"})
    parts = sx.Parts(0, 0.2, 5)
    groups = rows.with_parts(parts).reduce(Grouped(sx.Moments()))
    study = sx.run_study(StoredMoments(rows.schema, parts, groups), progress=recorder)
    assert recorder.events.index("inferred") < recorder.events.index("comparing baseline")
    assert recorder.messages == study.messages
    assert recorder.choice == (study.winner, study.reason)


def test_the_work_of_stages_becomes_proportions() -> None:
    recorder = Recorder()
    with stages(recorder, [1.0, 3.0, 0.0]) as step:
        for name in "abc":
            step(name)
    assert recorder.proportions == [0.25, 0.75, 0.0]
    assert recorder.events == ["planned", "a", "b", "c", "done"]
    with stages(recorder, 4):
        pass
    assert recorder.proportions == [0.25] * 4
    with stages(recorder, [0.0, 0.0]):
        pass
    assert recorder.proportions == [0.5, 0.5]


def test_a_plain_callable_gets_counts_whatever_the_weights() -> None:
    seen: list[tuple[str, int, int]] = []
    with stages(lambda *stage: seen.append(stage), [5.0, 1.0]) as step:
        step("a")
        step("b")
    assert seen == [("a", 0, 2), ("b", 1, 2), ("done", 2, 2)]


def test_typical_work_grows_with_the_rows_of_dear_models_alone() -> None:
    from separatrix.study.candidates import compared_models

    named = compared_models("classification")
    some = [named["logistic"], named["svm"]]
    few, many = (work_of(some, rows, reference=True) for rows in (100, 5000))
    assert few[0] == many[0]
    assert many[1] > 10 * few[1]
    assert len(few) == 2 + 4
    assert work_of(some, 100, reference=False)[3] == 0
    assert work_of(some, 10**9, reference=True)[1] < 1e3
