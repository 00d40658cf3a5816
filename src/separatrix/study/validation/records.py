"""What repeats and nested selection found: plain numbers, as files and pages hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RepeatedScore:
    """The score of a candidate over repeats, and its paired difference from the winner.

    ``spread`` is the standard deviation of ``by_repeat``: how much the folds matter.
    ``corrected_error`` is the standard error of the mean over all folds of all repeats by Nadeau
    and Bengio, √((1/J + n_test/n_train) s²), which counts that training rows are shared;
    ``difference`` (of fold scores, candidate − winner) has its own. NaN where folds follow one
    another in time. ``chosen`` counts the repeats that would have chosen the candidate.
    """

    name: str
    by_repeat: tuple[float, ...]
    mean: float
    spread: float
    corrected_error: float
    difference: float
    difference_error: float
    chosen: int


@dataclass(frozen=True)
class Repeats:
    """Candidates compared on several sets of folds; ``ratio`` is n_test/n_train of a fold."""

    metric: str
    n_repeats: int
    n_folds: int
    ratio: float
    scores: tuple[RepeatedScore, ...]
    summary: str


@dataclass(frozen=True)
class OuterFold:
    """One outer fold: what was chosen without it, its score inside, and its score here."""

    winner: str
    inner: float
    outer: float
    n_rows: int
    hyperparameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Nested:
    """The score of the whole selection on rows that had no part in it.

    ``outer`` is the score over all outer rows, ``standard_error`` its own; ``inner`` the mean of
    the scores by which winners were chosen. ``optimism`` says how much better the inner score looks
    (positive: too good). ``chosen`` counts outer folds by winner.
    """

    metric: str
    outer: float
    standard_error: float
    inner: float
    optimism: float
    folds: tuple[OuterFold, ...]
    chosen: dict[str, int]
    summary: str
