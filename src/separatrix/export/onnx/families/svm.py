"""Support vector machines and kernel perceptrons as graphs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from separatrix.export.onnx.answers import Classes, PredictedNumbers, by_score, log_one_plus
from separatrix.export.onnx.distances import rows_of_a_tile
from separatrix.export.onnx.families.linear import affine
from separatrix.export.onnx.families.probability import calibrated, coupled, sigmoid_log_odds
from separatrix.export.onnx.graph import Value, by_tiles
from separatrix.export.onnx.kernels import expansion_scores
from separatrix.export.onnx.sources import GraphRows
from separatrix.svm.base import MOST, SLOPE


def _by_tiles(expansions: list[Any], x: Value, work: Any) -> Value:
    """``work`` of rows, so many at a time as kernel values fit into a tile."""
    centers = sum(len(one) for one in expansions)
    return by_tiles(x, rows_of_a_tile(centers), lambda part: [(work(part), np.float64)])[0]


def standardized(model: Any, x: Value) -> Value:
    """Rows as the kernel takes them."""
    found = model.standardizer_
    return x if found is None else (x - found.mean) * found.inverse_scale


def binary_scores(model: Any, source: GraphRows) -> Value:
    """A column for each binary SVM."""
    x = source.design(model)
    plane = vars(model).get("hyperplane_")
    if plane is not None:
        return x.affine(plane.coef.T, plane.intercept)
    z, expansions = standardized(model, x), model.expansions_
    k = len(expansions)
    if k == 1:
        return _by_tiles(expansions, z, lambda part: expansion_scores(expansions[0], part))

    def of_pairs(part: Value) -> Value:
        found = [expansion_scores(one, part) for one in expansions]
        return _pairs(part.graph.concat(found), k)

    return _by_tiles(expansions, z, of_pairs).op("Add", model.intercept_[None, :])


def _pairs(parts: Value, k: int) -> Value:
    """Scores of the pairs i < j from those of every class against each other class."""
    chosen = np.zeros((k * (k - 1), k * (k - 1) // 2))
    for pair, (i, j) in enumerate(combinations(range(k), 2)):
        chosen[i * (k - 1) + j - 1, pair] = 1.0
        chosen[j * (k - 1) + i, pair] = 1.0
    return parts @ chosen


def _votes(scores: Value, k: int, first: Value) -> tuple[Value, Value]:
    """Votes of the pairs for each class, and sums of their scores."""
    i, j = (np.eye(k)[list(one)] for one in zip(*combinations(range(k), 2), strict=True))
    won = first.double()
    return won @ i + (1.0 - won) @ j, scores @ (i - j)


def _with_ties_broken(scores: Value, k: int) -> Value:
    count, total = _votes(scores, k, scores >= 0.0)
    return count + total / ((total.abs() + 1.0) * 3.0)


def support_vector_classifier(model: Any, source: GraphRows) -> Classes:
    """Signs, votes of pairs, or the largest score; probabilities where the model has them."""
    scores, labels = binary_scores(model, source), model.classes_
    k, pairs = len(labels), model._has_pairs
    by_class = _with_ties_broken(scores, k) if pairs else scores
    plain = scores if k > 2 and model.decision_function_shape == "ovo" else by_class
    p = _probabilities(model, scores) if "calibrations_" in vars(model) else None
    if k == 2:
        chosen = (scores >= 0.0).integers()
        return Classes(chosen, labels, scores, p, decided_by=scores, by_sign=True)
    if not pairs or model.break_ties:
        return Classes(by_class.argmax(), labels, plain, p, decided_by=by_class)
    votes = _votes(scores, k, scores > 0.0)[0]
    return Classes(votes.argmax(), labels, plain, p, decided_by=scores, by_sign=True)


def _probabilities(model: Any, scores: Value) -> Value:
    if not model._has_pairs:
        return calibrated(model.calibrations_, scores, len(model.classes_))
    maps = [one.map_ for one in model.calibrations_]
    odds = [sigmoid_log_odds(m, scores.column(i)) for i, m in enumerate(maps)]
    return coupled(-scores.graph.concat(odds), len(model.classes_))


def searched_classifier(model: Any, source: GraphRows) -> Classes:
    """The sign of one score, or the class of the largest coupled score of pairs."""
    scores, k = binary_scores(model, source), len(model.classes_)
    if k == 2:
        return by_score(scores, model.classes_)
    return by_score(_coupled_scores(-scores, k), model.classes_)


def _coupled_scores(scores: Value, k: int) -> Value:
    """log pₖ of every class from pair scores, positive for the second class."""
    i, j = (np.eye(k)[list(one)] for one in zip(*combinations(range(k), 2), strict=True))
    odds = (scores.op("Max", -MOST).op("Min", MOST) * SLOPE).exp()
    return -log_one_plus(odds @ i + (1.0 / odds) @ j)


def support_vector_regressor(model: Any, source: GraphRows) -> PredictedNumbers:
    """w·φ(x) + b."""
    return PredictedNumbers(binary_scores(model, source))


def one_class(model: Any, source: GraphRows) -> Classes:
    """1 inside or on the boundary, −1 outside."""
    from separatrix.svm.nu import _ROUNDING

    scores = binary_scores(model, source)
    rounding = _ROUNDING * float(np.abs(model.offset_).max())
    chosen = (scores >= -rounding).integers()
    labels = np.array([-1, 1])
    return Classes(chosen, labels, scores, decided_by=scores, by_sign=True)


def linear_svm(model: Any, source: GraphRows) -> Classes:
    """Linear scores, calibrated where probabilities were asked for."""
    scores, k = affine(model, source.design(model)), len(model.classes_)
    found = by_score(scores, model.classes_)
    if not model.probability:
        return found
    p = calibrated(model.calibrations_, scores, k)
    return Classes(p.argmax(), model.classes_, scores, p, decided_by=p)


def path_classifier(model: Any, source: GraphRows) -> Classes:
    """The SVM at the C that was chosen."""
    if "coef_" in vars(model):
        return by_score(affine(model, source.design(model)), model.classes_)
    return by_score(_of_expansion(model, standardized(model, source.design(model))), model.classes_)


def kernel_perceptron(model: Any, source: GraphRows) -> Classes:
    """Sums of kernel values of the rows that were mistaken."""
    return by_score(_of_expansion(model, source.design(model)), model.classes_)


def _of_expansion(model: Any, x: Value) -> Value:
    one = model.expansion_
    return _by_tiles([one], x, lambda part: expansion_scores(one, part))
