"""Whatever state an address holds, in whatever table: an answer, or a refusal in one sentence.

Parameters are not listed here: a state grows by those that the questions have read so far.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.exploration.serve import answer_question, describe_table
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.exploration.views import VIEWS, questions_of

#: Rounds over all tables and questions.
ATTEMPTS = 3

#: What no parameter should be.
HOSTILE = (
    *(10**400, -(10**400), 2**63, -1, 0, 1, 0.5, 1e308, -1e308, 5e-324, True, False, None),
    *(math.nan, math.inf, -math.inf, "", "x", "\ud800", "\0", [], {}, [[]], [None], {"a": 1}),
    *([1, 2, 3], ["x"] * 3, [[math.nan, math.nan]] * 3, [10**400] * 2, [True, False]),
)
RNG = np.random.default_rng(0)
TABLES: dict[str, Any] = {
    "plain": {
        "a": RNG.normal(size=40).tolist(),
        "b": RNG.exponential(size=40).tolist(),
        "n": RNG.integers(0, 4, 40).tolist(),
        "class": RNG.choice(["u", "v", "w"], 40).tolist(),
        "flag": (RNG.random(40) < 0.5).tolist(),
    },
    "no numbers": {"t": ["a", "b", "c", "a"] * 3, "u": ["x", "y", "x", "x"] * 3},
    "one number": {"a": RNG.normal(size=15).tolist()},
    "one row": {"a": [1.5], "b": [2.5], "class": ["u"]},
    "two rows": {"a": [1.0, 2.0], "b": [2.0, 1.0], "class": ["u", "v"]},
    "constant": {"a": [3.0] * 12, "b": [1.0, 2.0] * 6, "class": ["u"] * 12},
    "missing": {
        "a": [None, 1.0, None, 2.0, None, 3.0, None, 4.5],
        "b": [1.0, None, 2.0, None, 3.0, None, 4.0, None],
        "class": ["u", None, "v", None, "u", None, "v", "u"],
    },
    "huge": {
        "a": [1e300, -1e300, 1e299, 3e299, -2e299, 7e299, 1e298, 0.0],
        "b": [1e-300, 2e-300, 5e-300, -1e-300, 0.0, 3e-300, 4e-300, 8e-300],
        "class": ["u", "v"] * 4,
    },
    "close": {
        "a": [1e9 + i * 1e-6 for i in range(12)],
        "b": [float(i % 2) for i in range(12)],
        "class": ["u", "v", "v"] * 4,
    },
    "copies": {"a": [1.0, 2.0, 3.0] * 5, "b": [2.0, 4.0, 6.0] * 5, "class": ["u", "v", "u"] * 5},
    "separated": {
        "a": [*range(10), *range(100, 110)],
        "b": [0.5 * i for i in range(20)],
        "class": ["u"] * 10 + ["v"] * 10,
    },
    "many classes": {
        "a": [1.0 * i * i for i in range(50)],
        "class": [f"c{i % 25}" for i in range(50)],
    },
    "rare": {"a": RNG.normal(size=15).tolist(), "b": list(range(15)), "class": ["u"] * 14 + ["v"]},
    "names": {
        "x0": RNG.normal(size=12).tolist(),
        "": RNG.normal(size=12).tolist(),
        "'; import os": RNG.choice(["</script>", "{}", "\n"], 12).tolist(),
    },
}
MODELS: dict[str, tuple[str, str, Any]] = {
    "linear": ("plain", "a", sx.LinearRegression()),
    "logistic": ("plain", "class", sx.LogisticRegression()),
    "neighbors": ("plain", "class", sx.KNeighborsClassifier(3)),
    "svm": ("plain", "class", sx.SVC(standardize=True)),
    "process": ("plain", "a", sx.GaussianProcessRegressor(optimizer=None)),
    "boxes": ("plain", "flag", sx.BoxClassifier()),
}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory) -> dict[str, Session]:
    """Tables with and without a target, and models with and without a table."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for name, table in TABLES.items():
        for target in (None, list(table)[-1]):
            found[f"{name}, {target}"] = Session(describe_table(table, target, 2_000, {}))
    for name, (table, target, model) in MODELS.items():
        path = str(folder / f"{name}.sx")
        sx.save(model.fit(sx.scan(TABLES[table], target=target)), path)
        shown = describe_table(TABLES[table], target, 2_000, {})
        found[f"model {name}"] = Session(None, path)
        found[f"model {name} and table"] = Session(shown, path)
        found[f"model {name} and another table"] = Session(found["missing, class"].shown, path)
    return found


class Readings:
    """Parameters of a question by name, with values that are allowed or at a border."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.known: dict[tuple[str, ...], dict[str, set[Any]]] = {}
        self.question: tuple[str, ...] = ()
        for method, values in (
            ("number", lambda default, low, high: (default, low, high, (low + high) / 2)),
            ("whole", lambda default, low, high: (default, low, min(low + 1, high), high)),
            ("choice", lambda options, default=None: tuple(options)),
            ("flag", lambda default=False: (True, False)),
            ("items", lambda most=1_000: ()),
        ):
            patch.setattr(ViewState, method, self._noted(getattr(ViewState, method), values))

    def _noted(self, read: Any, values: Any) -> Any:
        def reading(state: ViewState, name: str, *given: Any, **named: Any) -> Any:
            known = self.known.setdefault(self.question, {}).setdefault(name, set())
            if len(known) < 40:
                known.update(values(*given, **named))
            return read(state, name, *given, **named)

        return reading

    def state(self, rng: np.random.Generator, session: Session) -> dict[str, Any]:
        """A state of parameters that the question has read before."""
        found: dict[str, Any] = {}
        harm = rng.choice([0.0, 0.0, 0.05, 0.3])
        for name, values in self.known.get(self.question, {}).items():
            if rng.random() < 0.3:
                continue
            likely = [*sorted(values, key=repr), *structures(name, rng, session)]
            pool = HOSTILE if not likely or rng.random() < harm else likely
            found[name] = pool[rng.integers(len(pool))]
        return found


def structures(name: str, rng: np.random.Generator, session: Session) -> list[Any]:
    """Lists that are nearly right: edits by hand, starts, costs, rows of a model."""
    values = [0.0, 1.0, -2.5, 1e300, 3, "u", "v", None]

    def value() -> Any:
        return values[rng.integers(len(values))]

    def edit() -> list[Any]:
        row = int(rng.integers(-1, 20))
        kinds = [["move", row, 0.5, 1.5], ["move", row, value(), value()], ["delete", row]]
        kinds += [["add", 0.1, 0.2, value()], ["add", 0.1, 0.2, "u"], ["label", row, value()]]
        return kinds[rng.integers(len(kinds))]

    if name == "edits":
        return [[edit() for _ in range(rng.integers(1, 9))], [["delete", i] for i in range(38)]]
    if name == "costs":
        k = int(rng.integers(2, 4))
        return [[[float(abs(i - j)) for j in range(k)] for i in range(k)], [[0.0] * k] * k]
    if name == "start":
        return [[0.0, 1.0], [1e150, -1e150], [[value(), value()] for _ in range(3)]]
    if name == "row":
        n = 4 if session.model else 3
        return [[value() for _ in range(n)], [0.5, 0.5, 1, "u"], [0.1, 2, "u", "true"]]
    return []


def possible(sessions: dict[str, Session]) -> Iterator[tuple[str, Session, str, str]]:
    """Sessions with the questions that may be possible of them."""
    for name, session in sessions.items():
        for view in VIEWS:
            for question in questions_of(view):
                if (view == "model") == (session.model is not None):
                    yield name, session, view, question


def test_every_state_is_answered_or_refused_in_a_sentence(sessions, monkeypatch, capsys) -> None:
    readings, rng = Readings(monkeypatch), np.random.default_rng(1)
    wrong = []
    for attempt in range(ATTEMPTS):
        for name, session, view, question in possible(sessions):
            readings.question = name, view, question
            if attempt and rng.random() < 0.5:
                continue
            state = readings.state(rng, session) if attempt else {}
            body = json.dumps(state).encode()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                status, text = answer_question(session, view, question, body)
            text.encode()  # no half of a pair of UTF-16
            answer = json.loads(text, parse_constant=lambda word: pytest.fail(f"JSON has {word}"))
            if status == 400:
                reason = answer["error"]
                fine = (
                    10 <= len(reason) <= 600 and reason.endswith((".", "?")) and "\n" not in reason
                )
            else:
                fine = status == 200
            if not fine:
                wrong.append((name, view, question, state, status, text[:300]))
    assert not wrong, capsys.readouterr().err[-3_000:]
