"""What a model answers in a graph: numbers with their spread, or classes with their probabilities.

Converters take a graph, a fitted model and its design (n x d), and return one of these. Wrappers
(calibration, several classes from two, averages) read the answers of the models inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.export.onnx.graph import Value
from separatrix.export.onnx.refusal import GraphRefused


@dataclass(frozen=True)
class PredictedNumbers:
    """Predicted numbers (n x k), one axis if ``flat``, and standard deviations where they exist."""

    mean: Value
    flat: bool = True
    deviation: Value | None = None
    #: Lower and upper ends (n x 2), where they are no multiple of the deviation.
    interval: Value | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Classes:
    """Positions of predicted ``labels`` (n x 1), and what they were decided by.

    ``scores`` are those of ``decision_function``: one column for the second of two classes, or
    one for each. ``decided_by`` are the numbers whose largest is predicted; where it has one
    column or ``by_sign``, signs decide.
    """

    chosen: Value
    labels: NDArray[Any]
    scores: Value | None = None
    probabilities: Value | None = None
    decided_by: Value | None = None
    by_sign: bool = False
    #: The distance to the nearest center of a clustering (n x 1).
    distance: Value | None = None
    #: Which labels are in the set of a row (n x K).
    members: Value | None = None
    notes: tuple[str, ...] = ()


Answer = PredictedNumbers | Classes


def by_score(scores: Value, labels: NDArray[Any], **more: Any) -> Classes:
    """The second of two classes where its score is above zero, or the class of the largest."""
    chosen = (scores > 0.0).integers() if len(labels) == 2 else scores.argmax()
    two = len(labels) == 2
    return Classes(chosen, labels, scores, decided_by=scores, by_sign=two, **more)


def by_probability(
    probabilities: Value, labels: NDArray[Any], scores: Value | None = None
) -> Classes:
    """The most probable class, the first of equals."""
    chosen = probabilities.argmax()
    return Classes(chosen, labels, scores, probabilities, decided_by=probabilities)


def two_columns(second: Value) -> Value:
    """1 − p and p."""
    return second.graph.concat([1.0 - second, second])


def log_odds(probabilities: Value, k: int) -> Value:
    """log p/(1 − p) of each class, or of the second of two; finite where p is 0 or 1."""
    p = probabilities.column(1) if k == 2 else probabilities
    p = p.op("Max", np.finfo(float).tiny).op("Min", 1.0 - np.finfo(float).epsneg)
    return (p / (1.0 - p)).log()


def log_sigmoid(t: Value) -> Value:
    """log 1/(1 + e^−t) without overflow."""
    return t.op("Min", 0.0) - log_one_plus((-t.abs()).exp())


def log_one_plus(t: Value) -> Value:
    """log(1 + t) for t ≥ 0 to full precision: log(u) t/(u − 1) with u = 1 + t."""
    u = t + 1.0
    exact = u.equals(1.0)
    safe = exact.where(2.0, u)
    return exact.where(t, safe.log() * t / (safe - 1.0))


def label_kind(labels: NDArray[Any]) -> Any:
    """The element type of predicted labels: whole numbers, numbers, or text."""
    kind = labels.dtype.kind
    if kind in "iub":
        return np.int64
    if kind == "f":
        return np.float64
    if all(isinstance(label, str) for label in labels.tolist()):
        return str
    raise GraphRefused("Classes of several types, or of none that ONNX knows, have no tensor.")
