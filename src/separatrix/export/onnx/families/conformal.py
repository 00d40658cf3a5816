"""Conformal intervals and sets as graphs, where one model and one quantile give them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.conformal.base import checked_level, needed_rank, upper_quantile
from separatrix.conformal.regressor import QuantileScore
from separatrix.export.onnx.answers import Classes, PredictedNumbers
from separatrix.export.onnx.converters import convert
from separatrix.export.onnx.families.probability import classes_of
from separatrix.export.onnx.graph import Value
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows

NO_INTERVALS = (
    "The intervals are not part of the file: they need a model for each fold or row left out; "
    "those of method='split' are."
)
NO_SETS = (
    "The sets of labels are not part of the file: they need a model for each fold or row left out, "
    "or random numbers; those of method='split' are."
)


def conformal_regressor(model: Any, source: GraphRows) -> PredictedNumbers:
    """The prediction of the model inside, and its conformal interval."""
    found = _numbers(model.estimator_, source)
    plain = PredictedNumbers(found.mean, found.flat)
    if model.method != "split" or model.categories_ is not None:
        return replace(plain, notes=(NO_INTERVALS,))
    q = float(upper_quantile(model.scores_, model.weights_, checked_level(source.level)))
    lower, upper, scale = _anchors(model, source)
    reach = lower.filled(np.inf, 1) if np.isinf(q) else scale * q
    low, high = lower - reach, upper + reach
    middle, empty = (low + high) * 0.5, low > high
    ends = [empty.where(middle, low), empty.where(middle, high)]
    return replace(plain, interval=low.graph.concat(ends))


def _numbers(model: Any, source: GraphRows) -> PredictedNumbers:
    found = convert(model, source)
    assert isinstance(found, PredictedNumbers)
    return found


def _anchors(model: Any, source: GraphRows) -> tuple[Value, Value, Value]:
    """a(x), b(x) and s(x): y is within a − q s and b + q s."""
    score, models = model._score(), model.models_[0]
    first = _numbers(models[0], source)
    ones = first.mean.filled(1.0, 1)
    if isinstance(score, QuantileScore):
        second = _numbers(models[1], source).mean
        return first.mean.op("Min", second), first.mean.op("Max", second), ones
    if model.conformity == "absolute":
        return first.mean, first.mean, ones
    if len(models) > 1:
        scale = _numbers(models[1], source).mean.at_least(float(models[2]))
    elif first.deviation is None:
        raise GraphRefused(
            "Intervals in units of a standard deviation, and the model's has no export."
        )
    else:
        scale = first.deviation.at_least(float(np.finfo(float).tiny))
    return first.mean, first.mean, scale


def conformal_classifier(model: Any, source: GraphRows) -> Classes:
    """The prediction of the model inside, and which labels are in its set."""
    found = classes_of(model.estimator_, source)
    if list(model.estimator_.classes_) != list(model.classes_):
        raise GraphRefused("The conformal classes are more than those of the model inside.")
    found = replace(found, scores=None)
    if model.method != "split" or model.categories_ is not None or model.randomized:
        return replace(found, notes=(NO_SETS,))
    score = _class_scores(model, found, source)
    return replace(found, members=score <= _thresholds(model, source.level)[None, :])


def _thresholds(model: Any, level: float) -> Floats:
    """The largest score that is in the set, for each class."""
    k, exact = len(model.classes_), checked_level(level)
    found = np.full(k, np.inf)
    for c in range(k):
        at = model.labels_ == c if model._by_class else np.ones(len(model.labels_), dtype=bool)
        order = np.argsort(model.scores_[at], kind="stable")
        w = np.ones(len(order)) if model.weights_ is None else model.weights_[at][order]
        reached = np.cumsum(w)
        needed = needed_rank(exact, float(reached[-1]) if len(reached) else 0.0)
        enough = np.flatnonzero(reached >= needed)
        if len(enough):
            found[c] = model.scores_[at][order][enough[0]]
    return found


def _class_scores(model: Any, found: Classes, source: GraphRows) -> Value:
    """How unlikely each label is by its probability (n x K)."""
    p, k = found.probabilities, len(model.classes_)
    if p is None:
        scores = classes_of(model.estimator_, source).scores
        assert scores is not None
        p = scores.graph.concat([scores * -0.5, scores * 0.5]) if k == 2 else scores
    if model.conformity == "lac":
        return 1.0 - p
    if model.conformity == "margin":
        top, _ = p.graph.smallest(p, 2, largest=True)
        leads = p.argmax().equals(np.arange(k)[None, :])
        return leads.where(top.column(1), top.column(0)) - p
    return _masses(model, p, k)


def _masses(model: Any, p: Value, k: int) -> Value:
    """The probability of all labels above a label, with a penalty on more than some."""
    ordered, order = p.graph.smallest(p, k, largest=True)
    first = np.zeros((1, k), dtype=bool)
    first[0, 0] = True
    mass = p.graph.constant(first).where(0.0, 1.0 - ordered.op("CumSum", np.array(1), reverse=1))
    if model.conformity == "raps":
        beyond = np.maximum(np.arange(1, k + 1) - int(model.free_ranks), 0)
        mass = mass + (float(model.penalty) * beyond)[None, :]
    _, back = p.graph.smallest(order, k)
    return mass.op("GatherElements", back, axis=1)
