"""Gaussian classes and naive Bayes as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.export.onnx.answers import Classes, by_probability, by_score
from separatrix.export.onnx.families.linear import affine
from separatrix.export.onnx.graph import Value, accumulate
from separatrix.export.onnx.sources import GraphRows


def class_scores(scores: Any, x: Value) -> Value:
    """ln P(k) + ln p(x | k) up to what classes share (n x K)."""
    name = type(scores).__name__
    if name == "LinearScores":
        return x.op("Sub", scores.center).affine(scores.coef.T, scores.offset)
    if name == "DiagonalScores":
        return _diagonal(scores, x)
    if name == "ProjectedScores":
        return class_scores(scores.inner, (x - scores.center) @ scores.projection)
    k, _, r = scores.maps.shape
    maps, means = np.concatenate(list(scores.maps), axis=1), scores.means.reshape(1, k * r)
    z = x.op("Sub", scores.center).affine(maps, -means)
    square = z.reshape(-1, k, r).square().sum(2, keepdims=False)
    return (square * -0.5).op("Add", scores.offset[None, :])


def _diagonal(scores: Any, x: Value) -> Value:
    """oₖ − ½ Σⱼ ((xⱼ − μₖⱼ) aₖⱼ)², column by column."""
    start = x.filled(0.0, len(scores.means))
    columns = x.transpose().unsqueeze(2)
    stored = [np.ascontiguousarray(a.T[:, None, :]) for a in (scores.means, scores.scale)]
    square = accumulate(
        start,
        [columns, *(x.graph.constant(a) for a in stored)],
        lambda total, at: total + ((at[0] - at[1]) * at[2]).square(),
    )
    found: Value = square * -0.5 + scores.offset[None, :]
    return found


def gaussian_classes(model: Any, source: GraphRows) -> Classes:
    """The most probable class of normal densities."""
    scores = class_scores(model.scores_, source.design(model))
    p = scores.softmax()
    return _decided(scores, p, model)


def _decided(scores: Value, probabilities: Value, model: Any) -> Classes:
    two = len(model.classes_) == 2
    odds = scores.column(1) - scores.column(0) if two else scores
    chosen = scores.argmax()
    return Classes(chosen, model.classes_, odds, probabilities, decided_by=odds, by_sign=two)


def regularized_classes(model: Any, source: GraphRows) -> Classes:
    """Probabilities smoothed as the model does."""
    scores = class_scores(model.scores_, source.design(model))
    p, s = scores.softmax(), float(model.smoothing_)
    if s:
        p = (p + s / len(model.classes_)) / (1.0 + s)
    return _decided(scores, p, model)


def discriminant_analysis(model: Any, source: GraphRows) -> Classes:
    """LDA: scores of decision_function about zero, where scikit-learn has them so."""
    found = gaussian_classes(model, source)
    if model.solver == "svd" or len(model.classes_) == 2:
        return found
    plane, x = model.hyperplane_, source.design(model)
    scores = x @ np.ascontiguousarray(plane.coef.T) + plane.intercept[None, :]
    return Classes(found.chosen, found.labels, scores, found.probabilities, found.decided_by)


def basic_linear_classifier(model: Any, source: GraphRows) -> Classes:
    """The nearer mean."""
    return by_score(affine(model, source.design(model)), model.classes_)


def count_classes(model: Any, source: GraphRows) -> Classes:
    """Multinomial, complement and Bernoulli naive Bayes: linear in counts."""
    x = source.design(model)
    scores = _bernoulli(model, x) if hasattr(model, "binarize") else _counts(model, x)
    return by_scores_and_softmax(scores, model)


def by_scores_and_softmax(scores: Value, model: Any) -> Classes:
    """The class of the largest score; these models have no decision_function."""
    p = scores.softmax()
    return Classes(scores.argmax(), model.classes_, None, p, decided_by=scores)


def _counts(model: Any, x: Value) -> Value:
    coef = model.feature_log_prob_
    multinomial = type(model).__name__ == "MultinomialNB"
    constant = model.class_log_prior_ if multinomial else np.zeros(len(model.classes_))
    return _linear_scores(x, coef, constant)


def _linear_scores(x: Value, coef: Floats, constant: Floats) -> Value:
    """x·cₖ + constantₖ; infinite terms decide first, and 0 · ∞ is 0."""
    infinite, always = np.isinf(coef), np.isinf(constant)
    scores = x @ np.ascontiguousarray(np.where(infinite, 0.0, coef).T) + constant[None, :]
    if not infinite.any():
        return scores
    terms = x @ np.ascontiguousarray(np.where(infinite, np.sign(coef), 0.0).T)
    possible = x.graph.constant(always[None, :]).where(-np.inf, terms)
    return (terms < possible.max()).where(-np.inf, scores)


def _bernoulli(model: Any, x: Value) -> Value:
    true = model.feature_log_prob_
    with np.errstate(divide="ignore"):
        false = np.log(-np.expm1(np.minimum(true, 0.0)))
    never, always = np.isneginf(true), np.isneginf(false)
    rows = x if model.binarize is None else (x > float(model.binarize)).double()
    constant = model.class_log_prior_ + np.where(always, 0.0, false).sum(axis=1)
    coef = np.where(never, 0.0, true) - np.where(always, 0.0, false)
    scores = rows.affine(coef.T, constant)
    if not (never.any() or always.any()):
        return scores
    against = rows.affine((never.astype(float) - always).T, always.sum(axis=1).astype(float))
    impossible = x.graph.constant(np.isneginf(constant)[None, :])
    possible = impossible.where(np.inf, against)
    return (against > possible.min()).where(-np.inf, scores)


def naive_bayes(model: Any, source: GraphRows) -> Classes:
    """A product over columns; a missing value has no factor."""
    density = model.density_
    x, d = source.raw_terms(model), density.mean.shape[1]
    out = _normal_columns(density, x, d)
    if d < len(density.terms):
        out = _levels(density, x, d, out)
    with np.errstate(divide="ignore"):
        log_prior = np.log(model.class_prior_)
    scores = out + log_prior[None, :]
    impossible = (scores.max() > -np.inf).where(scores, log_prior[None, :])
    p = impossible.softmax()
    return by_probability(p, model.classes_, _log_odds(impossible, model))


def _log_odds(joint: Value, model: Any) -> Value:
    if len(model.classes_) == 2:
        return joint.column(1) - joint.column(0)
    shifted = joint - joint.max()
    return shifted - shifted.exp().sum().log()


def _normal_columns(density: Any, x: Value, d: int) -> Value:
    if not d:
        return x.filled(0.0, len(density.mean))
    constant = np.isinf(density.variance)
    variance = np.where(constant, 1.0, density.variance)
    precision = np.where(constant, 0.0, 1.0 / variance)
    log_norm = np.where(constant, 0.0, -0.5 * np.log(2 * np.pi * variance))
    stored = [np.ascontiguousarray(a.T[:, None, :]) for a in (density.mean, precision, log_norm)]
    columns = x.columns(*range(d)).transpose().unsqueeze(2)

    def add(total: Value, at: list[Value]) -> Value:
        v = at[0] - at[1]
        return total + v.op("IsNaN").where(0.0, at[3] - at[2] * 0.5 * v.square())

    start = x.filled(0.0, len(density.mean))
    return accumulate(start, [columns, *(x.graph.constant(a) for a in stored)], add)


def _levels(density: Any, x: Value, d: int, out: Value) -> Value:
    p, n = density.probabilities, density.n_boolean
    x = x.columns(*range(d, len(density.terms)))
    missing = x.op("IsNaN")
    there, x = (~missing).double(), missing.where(0.0, x)
    never, always = p <= 0.0, p[:, :n] >= 1.0
    out = out + x @ np.ascontiguousarray(np.log(np.where(never, 1.0, p)).T)
    excluding = x @ np.ascontiguousarray(never.T.astype(float))
    if n:
        first = range(n)
        false = there.columns(*first) - x.columns(*first)
        out = out + false @ np.ascontiguousarray(np.log(np.where(always, 1.0, 1.0 - p[:, :n])).T)
        excluding = excluding + false @ np.ascontiguousarray(always.T.astype(float))
    if not (never.any() or always.any()):
        return out
    return (excluding > excluding.min()).where(-np.inf, out)
