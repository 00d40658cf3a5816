"""What a model answers for a row, as expressions, and the columns that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.export.expressions import Expression, Value
from separatrix.export.program import Output, identifier


@dataclass(frozen=True)
class NumberAnswer:
    """One prediction for each target; ``interval`` holds the ends of the one of a single target."""

    targets: tuple[str, ...]
    predictions: tuple[Expression, ...]
    interval: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class ClassAnswer:
    """The label of a class.

    ``scores`` are those of ``decision_function``: one for the second of two classes, or one for
    each of several; ``probabilities`` one for each class. Both are empty where the model has none.
    """

    labels: tuple[Any, ...]
    choice: Expression
    scores: tuple[Value, ...] = ()
    probabilities: tuple[Value, ...] = ()


@dataclass(frozen=True)
class ClusterAnswer:
    """The nearest center, and the distance to it."""

    cluster: Expression
    distance: Expression


Answer = NumberAnswer | ClassAnswer | ClusterAnswer


def outputs_of(answer: Answer, level: float) -> tuple[Output, ...]:
    """The columns of an answer; ``level`` is that of an interval."""
    if isinstance(answer, ClusterAnswer):
        return (
            Output("cluster", answer.cluster, "the nearest center"),
            Output("distance", answer.distance, "the distance to it"),
        )
    if isinstance(answer, NumberAnswer):
        return _numbers(answer, level)
    found = [Output("predicted", answer.choice, "the predicted class")]
    taken = ["predicted"]
    for name, probability in zip(answer.labels, answer.probabilities, strict=False):
        free = identifier(f"probability {name}", taken)
        taken.append(free)
        found.append(Output(free, probability, f"probability of class {name!r}", name))
    return tuple(found)


def _numbers(answer: NumberAnswer, level: float) -> tuple[Output, ...]:
    if len(answer.predictions) > 1:
        names = identifiers([f"predicted {target}" for target in answer.targets])
        columns = zip(names, answer.predictions, answer.targets, strict=True)
        return tuple(Output(name, one, f"the prediction of {t}") for name, one, t in columns)
    found = [Output("predicted", answer.predictions[0], "the prediction")]
    for end, expression in zip(("lower", "upper"), answer.interval, strict=False):
        found.append(Output(end, expression, f"{end} end of the {100 * level:.6g}% interval"))
    return tuple(found)


def identifiers(texts: Sequence[str]) -> list[str]:
    """Different names for texts."""
    found: list[str] = []
    for text in texts:
        found.append(identifier(text, found))
    return found
