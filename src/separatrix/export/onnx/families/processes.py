"""Gaussian processes and Bayesian logistic regression as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.bayes.gaussian_process.laplace import COEFFICIENTS, SLOPES
from separatrix.bayes.gaussian_process.model import SplitKernel, check_noise
from separatrix.export.onnx.answers import (
    Classes,
    PredictedNumbers,
    by_probability,
    by_score,
    two_columns,
)
from separatrix.export.onnx.distances import TILE, rows_of_a_tile
from separatrix.export.onnx.families.linear import affine
from separatrix.export.onnx.families.probability import coupled, normalized
from separatrix.export.onnx.graph import Value, by_tiles, error_function, mean_sigmoid, probit_mean
from separatrix.export.onnx.kernels import dense, kernel_diagonal, kernel_values
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows


def _rows_of(model: Any) -> Floats:
    if getattr(model, "_structures", False):
        raise GraphRefused("A kernel of objects compares what ONNX has no tensors for.")
    return dense(model.X_train_)


def _inverse(factor: Floats) -> Floats:
    """L⁻ᵀ, by which rows of kernel values are whitened."""
    eye = np.eye(len(factor))
    lower = linalg.solve_triangular(np.tril(factor), eye, lower=True, check_finite=False)
    return np.ascontiguousarray(lower.T)


def _trend(basis: Any, x: Value) -> Value:
    """H: the functions of a row that make up the trend."""
    ones = x.filled(1.0, 1)
    if basis.kind == "constant" or not len(basis.columns):
        return ones
    chosen = x.columns(*basis.columns.tolist())
    standard = (chosen - basis.centers[basis.columns]) / basis.scales[basis.columns]
    return x.graph.concat([ones, standard])


def process_regressor(model: Any, source: GraphRows) -> PredictedNumbers:
    """Posterior mean and standard deviation of y."""
    points, x = _rows_of(model), source.design(model)
    work = _inducing(model) if model._is_inducing else _exact(model, points)
    centers = len(model._inducing_bound.inducing) if model._is_inducing else len(points)
    k = len(model.target_scale_)
    mean, variance = by_tiles(x, rows_of_a_tile(2 * centers), work)
    mean = mean * model.target_scale_[None, :] + model.target_mean_[None, :]
    deviation = variance.sqrt() * model.target_scale_[None, :]
    return PredictedNumbers(mean, flat=k == 1, deviation=deviation)


def _noise_of(split: SplitKernel, part: Value) -> Value:
    """The variance that the kernel's white noise has at every row."""
    if not split.has_noise:
        return part.filled(0.0, 1)
    whole = kernel_diagonal(split.whole, part)
    return whole if split.function is None else whole - kernel_diagonal(split.function, part)


def _exact(model: Any, points: Floats) -> Any:
    found, basis = model._factored, model.basis_
    split = SplitKernel(model.kernel_)
    alpha = model.alpha_.reshape(len(points), -1)
    whitening, given = _inverse(found.factor), float(check_noise(model.noise))
    trend = _inverse(found.trend_factor) if len(basis) else None

    def work(part: Value) -> list[tuple[Value, Any]]:
        function = split.function
        if function is None:
            cross, left = part.filled(0.0, len(points)), part.filled(0.0, 1)
        else:
            cross = kernel_values(function, part, points)
            left = kernel_diagonal(function, part)
        mean = cross @ np.ascontiguousarray(alpha)
        left = left - (cross @ whitening).square().sum()
        if trend is not None:
            h = _trend(basis, part)
            mean = mean + h @ np.ascontiguousarray(model.trend_coef_)
            rest = (h - cross @ np.ascontiguousarray(found.projected)) @ trend
            left = left + rest.square().sum()
        variance = left.at_least(0.0) + _noise_of(split, part) + given
        return [(mean, np.float64), (variance, np.float64)]

    return work


def _inducing(model: Any) -> Any:
    posterior = model._posterior()
    bound = posterior.bound
    inducing, basis = bound.inducing, bound.sums.targets.basis
    points, whitening = dense(inducing.points), np.ascontiguousarray(inducing.whitening)
    combined = (bound.solved @ bound.combination)[:, : bound.outputs]
    shrink, given = _inverse(bound.factor), float(check_noise(model.noise))
    noise = float(posterior.noise) + given

    def work(part: Value) -> list[tuple[Value, Any]]:
        cross = kernel_values(inducing.kernel, part, points)
        mean, a = cross @ np.ascontiguousarray(whitening @ combined), cross @ whitening
        left = kernel_diagonal(inducing.kernel, part) - a.square().sum()
        left = left.at_least(0.0) + (a @ shrink).square().sum()
        if len(basis):
            h = _trend(basis, part)
            mean = mean + h @ np.ascontiguousarray(bound.trend[0])
            nu = np.ascontiguousarray(bound.solved[:, bound.outputs :])
            left = left + ((h - a @ nu) @ _inverse(bound.trend[1])).square().sum()
        return [(mean, np.float64), (left + noise, np.float64)]

    return work


def _latent(binary: Any, part: Value) -> tuple[Value, Value]:
    """Mean and variance of the latent function of one process of two classes."""
    if type(binary).__name__ == "BinaryProcess":
        points, mode = dense(binary.x), binary.mode
        values = kernel_values(binary.kernel, part, points)
        half = (values * mode.root[None, :]) @ _inverse(mode.factor)
        mean = values @ np.ascontiguousarray(binary.slope[:, None])
        left = kernel_diagonal(binary.kernel, part) - half.square().sum()
        return mean, left.at_least(0.0)
    return _latent_of_points(binary, part)


def _latent_of_points(binary: Any, part: Value) -> tuple[Value, Value]:
    inducing, q = binary.inducing, binary.q
    values = kernel_values(inducing.kernel, part, dense(inducing.points))
    a = values @ np.ascontiguousarray(inducing.whitening)
    left = (kernel_diagonal(inducing.kernel, part) - a.square().sum()).at_least(0.0)
    mean = a @ np.ascontiguousarray(q.mean[:, None])
    return mean, left + (a @ np.ascontiguousarray(q.inverse_factor)).square().sum()


def _averaged_sigmoid(mean: Value, variance: Value) -> Value:
    """Steps whose integrals are error functions: one column for each, then their sum."""
    spread = (variance * (2.0 * SLOPES**2)[None, :] + 1.0).sqrt()
    steps = error_function(mean * SLOPES[None, :] / spread) @ COEFFICIENTS[:, None]
    p = steps * 0.5 + 0.5 * float(COEFFICIENTS.sum())
    return p.op("Max", 0.0).op("Min", 1.0)


def process_classifier(model: Any, source: GraphRows) -> Classes:
    """Class probabilities of Laplace's approximation, or of inducing points."""
    if model._structures:
        raise GraphRefused("A kernel of objects compares what ONNX has no tensors for.")
    binaries, k = model.binaries_, len(model.classes_)

    def work(part: Value) -> list[tuple[Value, Any]]:
        latent = [_latent(one, part) for one in binaries]
        means = part.graph.concat([mean for mean, _ in latent])
        p = part.graph.concat([_averaged_sigmoid(*one) for one in latent])
        return [(means, np.float64), (p, np.float64)]

    x = source.design(model)
    rows = rows_of_a_tile(2 * max(one.stored_rows for one in binaries))
    means, p = by_tiles(x, rows, work)
    if k == 2:
        decided = by_score(means, model.classes_)
        return Classes(decided.chosen, model.classes_, None, two_columns(p), means, by_sign=True)
    if model._has_pairs:
        return by_probability(coupled((p / (1.0 - p)).log(), k), model.classes_)
    return by_probability(normalized(p, k), model.classes_)


def bayesian_logistic(model: Any, source: GraphRows) -> Classes:
    """Probabilities averaged over the normal posterior of the coefficients."""
    labels, probit = model.classes_, model.approximation == "probit"
    if len(labels) > 2 and not probit:
        raise GraphRefused(
            "Averages of several classes over a posterior need the eigenvectors of a matrix for "
            "every row, which ONNX has no operator for; approximation='probit' does without."
        )
    x, posterior = source.design(model), model.posterior_

    def work(part: Value) -> list[tuple[Value, Any]]:
        if len(labels) > 2:
            return [(_softmax_probit(posterior, part), np.float64)]
        mean, variance = _logit(posterior, part)
        integral = probit_mean if probit else mean_sigmoid
        columns = [integral(-mean, variance), integral(mean, variance)]
        return [(part.graph.concat(columns), np.float64)]

    p = by_tiles(x, TILE // 128, work)[0]
    return by_probability(p, labels, affine(model, x))


def _logit(posterior: Any, x: Value) -> tuple[Value, Value]:
    """Mean and variance of the score of two classes."""
    z, outside = _coordinates(posterior, x)
    variance = (z @ np.ascontiguousarray(posterior.factor)).square().sum()
    return z @ np.ascontiguousarray(posterior.mean.T), variance + outside


def _coordinates(posterior: Any, x: Value) -> tuple[Value, Value]:
    """The design of the posterior, and the prior variance of what is outside of its span."""
    at = posterior.coordinates
    whole = (x - at.center) / at.scale
    z, outside = whole, x.filled(0.0, 1)
    if at.span is not None:
        z = whole @ np.ascontiguousarray(at.span)
        left = whole - z @ np.ascontiguousarray(at.span.T)
        outside = left.square().sum() * float(posterior.prior_scale**2)
    return (x.graph.concat([z, x.filled(1.0, 1)]) if at.intercept else z), outside


def _softmax_probit(posterior: Any, x: Value) -> Value:
    """1 / Σⱼ exp((mⱼ − mₖ) / √(1 + πsⱼₖ²/8)) divided by their sum, s² of differences of scores."""
    z, outside = _coordinates(posterior, x)
    basis, (c, m) = posterior.coordinates.basis, posterior.mean.shape
    k = len(basis)
    scores = z @ np.ascontiguousarray(posterior.mean.T @ basis.T)
    blocks = posterior.factor.reshape(c, m, -1)
    spread = [z @ np.ascontiguousarray(np.tensordot(row, blocks, axes=1)) for row in basis]

    def scaled(i: int, j: int) -> Value:
        """(mⱼ − mᵢ) / √(1 + πsᵢⱼ²/8)."""
        square = (spread[i] - spread[j]).square().sum()
        square = square + outside * float(((basis[i] - basis[j]) ** 2).sum())
        return (scores.column(j) - scores.column(i)) / (square * (np.pi / 8.0) + 1.0).sqrt()

    logs = []
    for i in range(k):
        terms = x.graph.concat([x.filled(0.0, 1), *(scaled(i, j) for j in range(k) if j != i)])
        largest = terms.max()
        logs.append(-(largest + (terms - largest).exp().sum().log()))
    return x.graph.concat(logs).softmax()
