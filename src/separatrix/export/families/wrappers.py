"""Models around models: calibration, costs and rejection, averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.export.expressions import (
    Branch,
    Case,
    Compare,
    Defined,
    Expression,
    Largest,
    Log,
    Number,
    Quotient,
    Smallest,
    SumOf,
)
from separatrix.export.families.linear import by_score, class_names, labels_of
from separatrix.export.program import (
    Answer,
    Builder,
    ClassAnswer,
    NumberAnswer,
    first_largest,
    label,
    log_sigmoid,
    minus,
    sigmoid,
    softmax,
    times,
    total,
)
from separatrix.messages import InputError
from separatrix.probability.calibrations import IsotonicMap, SigmoidMap, TemperatureCalibration

#: Translates a model within another.
Translate = Callable[[Any, Builder], Answer]

TINY, BELOW_ONE = float(np.finfo(float).tiny), 1 - float(np.finfo(float).epsneg)
ZERO, ONE = Number(0.0), Number(1.0)


def calibrated(model: Any, b: Builder, translate: Translate) -> ClassAnswer:
    """p = calibration(score), normalized over several classes."""
    inner = _classes(translate(model.estimator_, b), model)
    names = class_names(model.classes_)
    scores = _decision_scores(b, inner, names)
    first = model.calibrations_[0]
    if isinstance(first, TemperatureCalibration):
        p = _temperature(
            b, first.map_.inverse_temperature, scores, names, bool(inner.probabilities)
        )
    else:
        p = calibrated_probabilities(b, [one.map_ for one in model.calibrations_], scores, names)
    labels = labels_of(model)
    return ClassAnswer(labels, first_largest(b, p, [label(one) for one in labels]), (), p)


def with_probabilities(model: Any, b: Builder, inner: ClassAnswer) -> ClassAnswer:
    """A classifier with ``probability=True``: its scores by Platt scaling."""
    labels, names = labels_of(model), class_names(model.classes_)
    if not model.probability:
        return ClassAnswer(labels, by_score(b, inner.scores, labels), inner.scores)
    maps = [one.map_ for one in model.calibrations_]
    p = calibrated_probabilities(b, maps, inner.scores, names)
    choice = first_largest(b, p, [label(one) for one in labels])
    return ClassAnswer(labels, choice, inner.scores, p)


def _classes(answer: Answer, model: Any) -> ClassAnswer:
    if not isinstance(answer, ClassAnswer):
        raise InputError(f"{type(model).__name__} wraps no classifier.")
    return answer


def _decision_scores(b: Builder, answer: ClassAnswer, names: Sequence[str]) -> tuple[Defined, ...]:
    """Scores as calibrations take them: log odds of several classes that have probabilities."""
    k = len(answer.labels)
    if not answer.probabilities or (k == 2 and answer.scores):
        return answer.scores
    columns = answer.probabilities if k > 2 else answer.probabilities[1:]
    return tuple(
        _log_odds(b, p, name)
        for p, name in zip(columns, names if k > 2 else names[1:], strict=True)
    )


def _log_odds(b: Builder, p: Defined, name: str) -> Defined:
    """log p/(1 − p), finite where p is 0 or 1."""
    bounded = Smallest((Largest((p, Number(TINY))), Number(BELOW_ONE)))
    inside = b.let(f"bounded {name}", bounded, stage="bounded")
    odds = Quotient(inside, minus(ONE, inside))
    return b.let(f"log odds {name}", Log(odds), stage="log odds")


def calibrated_probabilities(
    b: Builder, maps: Sequence[Any], scores: Sequence[Defined], names: Sequence[str]
) -> tuple[Defined, ...]:
    """Each score by its map; of two classes the second, of several divided by their sum."""
    if len(scores) == 1:
        p = _mapped(b, maps[0], scores[0], names[-1])
        return b.let(f"probability {names[0]}", minus(ONE, p), stage="probabilities"), p
    found = [
        _mapped(b, one, score, name) for one, score, name in zip(maps, scores, names, strict=True)
    ]
    whole = b.let("total", SumOf(tuple(found)), stage="totals")
    equal = Number(1.0 / len(found))
    return tuple(
        b.let(
            f"probability {name}",
            Case((Branch(Compare(whole, ">", ZERO), Quotient(p, whole)),), equal),
            stage="probabilities",
        )
        for p, name in zip(found, names, strict=True)
    )


def _mapped(b: Builder, found: Any, score: Defined, name: str) -> Defined:
    if isinstance(found, SigmoidMap):
        odds = total(
            (
                times(found.slope, SumOf((score, Number(-found.center)))),
                Number(float(found.log_ratio)),
            )
        )
        return sigmoid(b, f"calibrated {name}", odds)
    if isinstance(found, IsotonicMap):
        return b.let(f"calibrated {name}", _isotonic(found, score), stage="calibrated")
    raise InputError(f"A calibration by {type(found).__name__} cannot be exported.")


def _isotonic(found: IsotonicMap, score: Defined) -> Expression:
    """Constant pieces, linear in between, constant beyond the first and the last."""
    ends = np.stack([found.low, found.high], axis=1).ravel()
    values = np.repeat(found.value, 2)
    branches = [Branch(Compare(score, "<=", Number(float(ends[0]))), Number(float(values[0])))]
    for x0, x1, y0, y1 in zip(ends, ends[1:], values, values[1:], strict=False):
        if x1 == x0:
            continue
        at: Expression = Number(float(y0))
        if y1 != y0:
            slope = float(y1 - y0) / float(x1 - x0)
            at = total((at, times(slope, SumOf((score, Number(-float(x0)))))))
        branches.append(Branch(Compare(score, "<", Number(float(x1))), at))
    return Case(tuple(branches), Number(float(values[-1])))


def _temperature(
    b: Builder, beta: float, scores: Sequence[Defined], names: Sequence[str], proper: bool
) -> tuple[Defined, ...]:
    """Softmax of β times the scores; those of classes with probabilities are log p."""
    if len(scores) == 1:
        zero = b.let("score zero", ZERO, stage="scores")
        joint: Sequence[Defined] = (zero, scores[0])
    elif proper:
        joint = [log_sigmoid(b, name, one) for one, name in zip(scores, names, strict=True)]
    else:
        joint = scores
    largest = b.let("largest calibrated", Largest(tuple(joint)), stage="largest")
    scaled = [
        b.let(f"tempered {name}", times(beta, minus(one, largest)), stage="tempered")
        for one, name in zip(joint, names, strict=True)
    ]
    return softmax(b, names, scaled)


def reject_option(model: Any, b: Builder, translate: Translate) -> ClassAnswer:
    """The decision of least expected cost, rejection being one of them."""
    inner = _classes(translate(model.estimator_, b), model)
    p, costs = inner.probabilities, model.costs_
    names = class_names(model.classes_)
    expected = [
        b.let(f"cost {name}", _expected(column, p), stage="costs")
        for name, column in zip(names, costs.matrix.T, strict=True)
    ]
    cheapest = b.let("cheapest", Smallest(tuple(expected)), stage="cheapest")
    answers = [label(one) for one in model.labels_.tolist()]
    branches = [
        Branch(Compare(cost, "=", cheapest), answer)
        for cost, answer in zip(expected[:-1], answers, strict=False)
    ]
    if costs.reject_cost is not None:
        rejection = b.let("cost rejection", _expected(costs.reject_cost, p), stage="costs")
        branches.insert(0, Branch(Compare(rejection, "<", cheapest), answers[-1]))
    choice = Case(tuple(branches), answers[len(expected) - 1])
    return ClassAnswer(inner.labels, choice, (), p)


def _expected(costs: Any, p: Sequence[Defined]) -> Expression:
    return total([times(float(cost), one) for cost, one in zip(costs, p, strict=True)])


def averaged_classes(model: Any, b: Builder, translate: Translate) -> ClassAnswer:
    """Σ aₘ pₘ of the models, and the most probable class."""
    labels, names = labels_of(model), class_names(model.classes_)
    sums: list[list[Expression]] = [[] for _ in labels]
    for weight, one in zip(model.weights_.tolist(), model.estimators_, strict=True):
        if weight == 0.0:
            continue
        found = _classes(translate(one, b), model)
        for name, p in zip(found.labels, found.probabilities, strict=True):
            sums[labels.index(name)].append(times(weight, p))
    mixed = tuple(
        b.let(f"probability {name}", total(parts), stage="average")
        for name, parts in zip(names, sums, strict=True)
    )
    choice = first_largest(b, mixed, [label(one) for one in labels])
    return ClassAnswer(labels, choice, (), mixed)


def averaged_numbers(model: Any, b: Builder, translate: Translate) -> NumberAnswer:
    """Σ aₘ ŷₘ of the models."""
    parts = []
    for weight, one in zip(model.weights_.tolist(), model.estimators_, strict=True):
        found = translate(one, b)
        if not isinstance(found, NumberAnswer) or len(found.predictions) != 1:
            raise InputError(f"{type(one).__name__} predicts no single number to average.")
        parts.append(times(weight, found.predictions[0]))
    return NumberAnswer(("y",), (b.let("predicted average", total(parts), stage="average"),))
