"""Hyperplanes as graphs: regression, classification by scores or probabilities, baselines."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.export.onnx.answers import (
    Classes,
    PredictedNumbers,
    by_probability,
    by_score,
    log_sigmoid,
)
from separatrix.export.onnx.graph import Value
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows
from separatrix.rows.schema import to_array


def affine(model: Any, x: Value) -> Value:
    """coef·x + intercept (n x k)."""
    coef = np.atleast_2d(np.asarray(to_array(model.coef_), dtype=np.float64))
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    return x @ np.ascontiguousarray(coef.T) + np.broadcast_to(intercept, (1, len(coef)))


def linear_regression(model: Any, source: GraphRows) -> PredictedNumbers:
    """coef·x + intercept."""
    return PredictedNumbers(affine(model, source.design(model)), flat=np.ndim(model.coef_) == 1)


def linear_classifier(model: Any, source: GraphRows) -> Classes:
    """The side of the hyperplane, or the largest score."""
    return by_score(affine(model, source.design(model)), model.classes_)


def logistic_classifier(model: Any, source: GraphRows) -> Classes:
    """Sigmoid or softmax of linear scores."""
    scores = affine(model, source.design(model))
    two = len(model.classes_) == 2
    return by_probability(two_sigmoids(scores) if two else scores.softmax(), model.classes_, scores)


def two_sigmoids(score: Value) -> Value:
    """1/(1 + e^s) and 1/(1 + e^−s): a small one has all of its digits."""
    return score.graph.concat([(-score).sigmoid(), score.sigmoid()])


def gradient_descent(model: Any, source: GraphRows) -> Classes:
    """Probabilities of the logistic loss, scores of squared error."""
    convert = logistic_classifier if model.loss == "logistic" else linear_classifier
    return convert(model, source)


def sigmoid_regression(model: Any, source: GraphRows) -> Classes:
    """Sigmoids of linear scores divided by their sum, in logarithms."""
    if model.multilabel_:
        raise GraphRefused("Several labels for a row have no export.")
    scores = affine(model, source.design(model))
    if len(model.classes_) == 2:
        return by_probability(two_sigmoids(scores), model.classes_, scores)
    return by_probability(log_sigmoid(scores).softmax(), model.classes_, scores)


def polynomial_regression(model: Any, source: GraphRows) -> PredictedNumbers:
    """Chebyshev polynomials of scaled columns, each product from an earlier one."""
    x, expansion = source.design(model), model._fitted_expansion()
    t = (x - expansion.center) / expansion.scale
    powers = []
    for j, degree in enumerate(expansion._degrees().tolist()):
        column = t.column(j)
        found = [column.filled(1.0, 1), column]
        for _ in range(2, degree + 1):
            following = column * 2.0 * found[-1] - found[-2]
            found.append(following if expansion.chebyshev else column * found[-1])
        powers.append(found)
    terms: dict[tuple[int, ...], Value] = {}
    for exponent in expansion.exponents:
        last = int(np.flatnonzero(exponent)[-1])
        rest = exponent.copy()
        rest[last] = 0
        factor = powers[last][int(exponent[last])]
        before = terms.get(tuple(rest.tolist()))
        terms[tuple(exponent.tolist())] = factor if before is None else before * factor
    design = x.graph.concat(list(terms.values())) if terms else x.filled(0.0, 1)
    coef = model.basis_coef_ if terms else np.zeros((1, model.basis_coef_.shape[1]))
    mean = design @ np.ascontiguousarray(coef) + np.atleast_1d(model.basis_intercept_)[None, :]
    return PredictedNumbers(mean, flat=np.ndim(model.coef_) == 1)


def most_frequent(model: Any, source: GraphRows) -> Classes:
    """The same proportions for every row."""
    prior = np.asarray(model.class_prior_, dtype=np.float64)
    p = source.design(model).filled(0.0, 1) + prior[None, :]
    scores = p.column(1) - p.column(0) if len(prior) == 2 else p
    return by_probability(p, model.classes_, scores)


def posterior_regression(model: Any, source: GraphRows) -> PredictedNumbers:
    """coef·x + intercept with the deviation of the target: noise and posterior of coefficients."""
    x = source.design(model)
    posterior = model.posterior_
    if posterior is None:
        return linear_regression(model, source)
    u = (x - posterior.center) * posterior.scale
    inner = u @ np.ascontiguousarray(posterior.directions)
    variance = inner.square() @ posterior.variances[:, None]
    if posterior.rest:
        left = u - inner @ np.ascontiguousarray(posterior.directions.T)
        variance = variance + left.square().sum() * float(posterior.rest)
    added = float(posterior.intercept_variance) + 1.0 / float(model.alpha_)
    deviation = (variance + added).sqrt()
    return PredictedNumbers(affine(model, x), flat=np.ndim(model.coef_) == 1, deviation=deviation)
