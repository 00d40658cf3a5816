"""Calibration, coupling of pairs, costs, and several classes from two, as graphs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from separatrix.export.onnx.answers import (
    Classes,
    by_probability,
    log_odds,
    log_sigmoid,
    two_columns,
)
from separatrix.export.onnx.graph import Value
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows, Matrix
from separatrix.probability.multiclass import LEAST
from separatrix.probability.reject import labels_with_reject


def sigmoid_log_odds(map_: Any, score: Value) -> Value:
    """γ (s − d₀) + log r."""
    return (score - float(map_.center)) * float(map_.slope) + float(map_.log_ratio)


def probability_of(map_: Any, score: Value) -> Value:
    """The probability of the positive class, by a sigmoid or by constant pieces."""
    if type(map_).__name__ == "SigmoidMap":
        return sigmoid_log_odds(map_, score).sigmoid()
    return _interpolated(map_, score)


def _interpolated(map_: Any, score: Value) -> Value:
    """Linear between the ends of constant pieces, and constant beyond the first and last."""
    ends = np.stack([map_.low, map_.high], axis=1).ravel()
    values = np.repeat(map_.value, 2)
    gaps = np.diff(ends)
    slope = np.append(np.where(gaps > 0.0, np.diff(values) / np.where(gaps > 0.0, gaps, 1.0), 0), 0)
    reached = (score >= ends[None, :]).double().sum().at_least(1.0).integers()
    at = reached - np.ones((1, 1), dtype=np.int64)

    def gathered(array: Any) -> Value:
        return score.graph.constant(array).op("Gather", at, axis=0)

    inner = (score - gathered(ends)) * gathered(slope) + gathered(values)
    return (score < float(ends[0])).where(float(values[0]), inner)


def calibrated(maps: list[Any], scores: Value, k: int) -> Value:
    """Probabilities of two classes from one score, or of several, divided by their sum."""
    if k == 2:
        return two_columns(probability_of(maps[0].map_, scores))
    each = [probability_of(one.map_, scores.column(j)) for j, one in enumerate(maps)]
    return normalized(scores.graph.concat(each), k)


def normalized(p: Value, k: int) -> Value:
    """Rows divided by their sums; 1/K where all entries are zero."""
    total = p.sum()
    positive = total > 0.0
    return positive.where(p / positive.where(total, 1.0), 1.0 / k)


def coupled(odds: Value, k: int) -> Value:
    """Class probabilities from the log odds of pairs i < j, positive for j.

    p is the minimum of a quadratic form Q with Σ p = 1, so that (Q + 11ᵀ) p is proportional to 1.
    The matrix is positive definite; sweeping its columns one by one gives minus its inverse.
    """
    second = odds.sigmoid().op("Max", LEAST).op("Min", 1.0 - LEAST)
    first = 1.0 - second
    pairs = list(combinations(range(k), 2))
    to_upper, to_lower = np.zeros((len(pairs), k * k)), np.zeros((len(pairs), k * k))
    for at, (i, j) in enumerate(pairs):
        to_upper[at, i * k + j] = 1.0
        to_lower[at, j * k + i] = 1.0
    r = (first @ to_upper + second @ to_lower).reshape(-1, k, k)
    turned = r.op("Transpose", perm=[0, 2, 1])
    eye = np.eye(k)
    a = r.square().sum(1) * eye - r * turned + 1.0
    for j in range(k):
        unit = eye[:, j : j + 1]
        column = a.op("Gather", np.array([j]), axis=2)
        pivot = column.op("Gather", np.array([j]), axis=1)
        shifted = column - unit
        product = shifted @ shifted.op("Transpose", perm=[0, 2, 1])
        a = a - product / pivot - 2.0 * unit * unit.T
    p = (-a.sum(2, keepdims=False)).at_least(0.0)
    return p / p.sum()


def decision_scores(found: Classes) -> Value:
    """One score of the second of two classes, or one of each, as calibrations take them."""
    k = len(found.labels)
    if found.probabilities is not None and (k > 2 or found.scores is None):
        return log_odds(found.probabilities, k)
    assert found.scores is not None
    return found.scores


def calibrated_classifier(model: Any, source: GraphRows) -> Classes:
    """A classifier's scores through its calibration."""
    inner = classes_of(model.estimator_, source)
    scores, k = decision_scores(inner), len(model.classes_)
    first = model.calibrations_[0]
    if type(first).__name__ != "TemperatureCalibration":
        return by_probability(calibrated(model.calibrations_, scores, k), model.classes_)
    if k == 2:
        joint = scores.graph.concat([scores.filled(0.0, 1), scores])
    else:
        joint = scores if inner.probabilities is None else log_sigmoid(scores)
    tempered = (joint - joint.max()) * float(first.map_.inverse_temperature)
    return by_probability(tempered.softmax(), model.classes_)


def reject_option(model: Any, source: GraphRows) -> Classes:
    """The class of least expected cost, or a rejection where that costs less."""
    inner = classes_of(model.estimator_, source)
    assert inner.probabilities is not None
    p, costs = inner.probabilities, model.costs_
    expected = p @ np.ascontiguousarray(costs.matrix)
    if costs.reject_cost is not None:
        rejection = p @ np.ascontiguousarray(costs.reject_cost[:, None])
        expected = p.graph.concat([expected, rejection])
    gains = -expected
    # argmin takes the first of equals: a rejection comes last, and must be cheaper
    return Classes(expected.argmin(), model.labels_, None, p, decided_by=gains)


def _members(model: Any, source: GraphRows) -> list[Classes]:
    if getattr(model, "pairwise_indices_", None):
        raise GraphRefused("Pairs of classes with precomputed kernels have no export.")
    rows = Matrix(source.design(model))
    return [classes_of(one, rows) for one in model.estimators_]


def _pair_scores(members: list[Classes]) -> Value:
    """One column for each binary classifier, positive for its class 1."""
    if all(one.probabilities is not None for one in members):
        columns = [log_odds(_given(one.probabilities), 2) for one in members]
    else:
        columns = [decision_scores(one) for one in members]
    return columns[0].graph.concat(columns)


def _given(value: Value | None) -> Value:
    assert value is not None
    return value


def one_vs_rest(model: Any, source: GraphRows) -> Classes:
    """The class whose classifier has the largest score, or the only one that accepts a row."""
    if model.multilabel_:
        raise GraphRefused("Several labels for a row have no export.")
    members = _members(model, source)
    scores, k = _pair_scores(members), len(model.classes_)
    p = None
    if all(one.probabilities is not None for one in members):
        own = scores.graph.concat([_given(one.probabilities).column(1) for one in members])
        p = two_columns(own) if k == 2 else normalized(own, k)
    return _ensemble(model, scores, scores, (scores > 0.0), p)


def one_vs_one(model: Any, source: GraphRows) -> Classes:
    """Coupled probabilities, or votes with sums of scores to break ties."""
    members = _members(model, source)
    scores, k = _pair_scores(members), len(model.classes_)
    i, j = (np.eye(k)[list(one)] for one in zip(*combinations(range(k), 2), strict=True))
    votes = (scores <= 0.0).double() @ i + (scores > 0.0).double() @ j
    if all(one.probabilities is not None for one in members):
        p = coupled(scores, k)
        return _ensemble(model, scores, p, votes.equals(k - 1.0), p)
    total = scores @ (j - i)
    by_class = votes + total / ((total.abs() + 1.0) * 3.0)
    return _ensemble(model, scores, by_class, votes.equals(k - 1.0), None)


def _ensemble(
    model: Any, scores: Value, by_class: Value, accepted: Value, p: Value | None
) -> Classes:
    """Decisions of binary classifiers, with rejections if asked for."""
    k, labels = len(model.classes_), model.classes_
    if model.reject:
        labels = labels_with_reject(model.classes_, model.reject_label)
    if k == 2:
        chosen = (scores > 0.0).integers()
        return Classes(chosen, labels, scores, p, decided_by=scores, by_sign=True)
    chosen = by_class.argmax()
    if model.reject:
        marks = accepted.double()
        only = marks.sum().equals(1.0)
        chosen = only.where(marks.argmax(), np.full((1, 1), k, dtype=np.int64))
    return Classes(chosen, labels, by_class, p, decided_by=by_class)


def classes_of(model: Any, source: GraphRows) -> Classes:
    """The answer of a classifier."""
    from separatrix.export.onnx.converters import convert

    found = convert(model, source)
    assert isinstance(found, Classes)
    return found


def constant_label(model: Any, source: GraphRows) -> Classes:
    """The same label for every row."""
    score = source.design(model).filled(float(model.label), 1)
    return Classes(
        score.integers(), model.classes_, score, two_columns(score), decided_by=score, by_sign=True
    )
