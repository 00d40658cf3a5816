"""What a study found: everything that the leaderboard, ``result.json`` and the report show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from separatrix.rows.block import Floats
from separatrix.rows.profile import ColumnProfile


@dataclass(frozen=True)
class Score:
    """A measured quantity with its 95 % interval."""

    metric: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Entry:
    """One line of the leaderboard: a candidate and its cross-validated error."""

    name: str
    label: str
    metric: str
    folds: tuple[float, ...]
    mean: float
    standard_error: float
    chosen: dict[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Held:
    """Rows that a model did not see: numbers, truth, prediction, a classifier's scores, weights."""

    rows: Any
    truth: Any
    predicted: Any
    scores: Floats | None = None
    w: Floats | None = None


@dataclass(frozen=True)
class Training:
    """The training part as the chosen model saw it, thinned to what pictures need.

    ``x`` is the design (dummies in place, gaps filled) with its column ``names``; ``scores`` are
    those of a classifier; ``rows`` are the row numbers in the table, so that a point can be named.
    A stored study has no ``x``, which would be a copy of the data, but what pictures need of it:
    ``scale``, the deviation of each column, and the ``leverage`` of each row.
    """

    x: Floats | None
    y: Any
    w: Floats | None = None
    names: tuple[str, ...] = ()
    predicted: Any = None
    scores: Floats | None = None
    rows: Any = None
    scale: Floats | None = None
    leverage: Floats | None = None


@dataclass(frozen=True)
class Curve:
    """Error against amount of training data: one row of ``train`` and ``validation`` per size."""

    sizes: tuple[int, ...]
    train: Floats
    validation: Floats
    metric: str


@dataclass(frozen=True)
class Study:
    """The whole story of one ``separatrix fit``.

    ``said`` lists what was inferred, each with its reason and how to override it; ``winner`` is the
    name of the entry that was measured on the test part, ``reason`` why it was taken. ``held`` is
    the test part, opened once; ``left_out`` are the folds, each judged without having been seen.
    ``path`` holds penalties and the coefficients at each, for a winner that has no penalty itself.
    """

    source: str
    target: str
    task: str
    seed: int
    test_fraction: float
    n_train: int
    n_test: int
    columns: tuple[ColumnProfile, ...]
    leaderboard: tuple[Entry, ...]
    winner: str
    reason: str
    test: tuple[Score, ...]
    baseline_test: tuple[Score, ...]
    model: Any
    said: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    held: Held | None = None
    curve: Curve | None = None
    training: Training | None = None
    command: str = ""
    path: tuple[Floats, Floats] | None = None
    left_out: tuple[Held, ...] = ()
