"""Predictions of Gaussian processes as formulas: sums over stored points, means and variances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.bayes.gaussian_process.laplace import COEFFICIENTS, SLOPES
from separatrix.bayes.gaussian_process.model import SplitKernel, check_noise
from separatrix.formula import nodes
from separatrix.formula.kernels import dense, kernel_diagonal, kernel_values
from separatrix.formula.values import NoFormula, Value, concat, rows_of_a_tile

Work = Callable[[Value], list[Value]]


@dataclass(frozen=True, eq=False)
class ProcessMoments(nodes.Node):
    """Posterior means (a column for each output), then the variance of y, in units of one.

    So many rows at a time as kernel values with the stored ``points`` fit into a tile; ``prepare``
    inverts the factors that this takes.
    """

    x: nodes.Node
    prepare: Callable[[], Work]
    points: Floats

    def stored_points(self) -> int:
        """Training rows, or inducing points."""
        return len(self.points)

    def typical_points(self) -> Floats:
        """Training rows, or inducing points."""
        return self.points

    def compute(self, of: nodes.Evaluation) -> Any:
        """Tile by tile."""
        tile, work = rows_of_a_tile(2 * len(self.points)), self.prepare()
        return of(self.x).by_tiles(tile, lambda part: [concat(work(part))])[0]


def process_formula(model: Any) -> nodes.NumberFormula:
    """Posterior mean and standard deviation of y."""
    if model._structures:
        raise NoFormula("The kernel compares objects, and a formula has numbers only.")
    k = len(model.target_scale_)
    if model._is_inducing:
        points = dense(model._inducing_bound.inducing.points)
        prepare = partial(_inducing, model)
    else:
        points = dense(model.X_train_)
        prepare = partial(_exact, model, points)
    moments = ProcessMoments(nodes.design_of(model), prepare, points)
    scale, offset = np.asarray(model.target_scale_), np.asarray(model.target_mean_)
    mean = nodes.Affine(nodes.Columns(moments, tuple(range(k))), np.diag(scale), offset)
    root = nodes.Elementwise(nodes.Columns(moments, (k,)), "sqrt")
    deviation = nodes.Affine(root, scale[None, :])
    return nodes.regression(mean, model, flat=k == 1, count=k, deviation=deviation)


def _inverse(factor: Floats) -> Floats:
    """L⁻ᵀ, by which rows of kernel values are whitened."""
    eye = np.eye(len(factor))
    lower = linalg.solve_triangular(np.tril(factor), eye, lower=True, check_finite=False)
    return np.asarray(lower.T)


def _trend(basis: Any, x: Value) -> Value:
    """H: the functions of a row that make up the trend."""
    ones = x.fill(1.0, 1)
    if basis.kind == "constant" or not len(basis.columns):
        return ones
    chosen = x.columns(*basis.columns.tolist())
    standard: Value = (chosen - basis.centers[basis.columns]) / basis.scales[basis.columns]
    return concat([ones, standard])


def _noise_of(split: SplitKernel, part: Value) -> Value:
    """The variance that the kernel's white noise has at every row."""
    if not split.has_noise:
        return part.fill(0.0, 1)
    whole = kernel_diagonal(split.whole, part)
    return whole if split.function is None else whole - kernel_diagonal(split.function, part)


def _exact(model: Any, points: Floats) -> Work:
    found, basis = model._factored, model.basis_
    split = SplitKernel(model.kernel_)
    alpha = model.alpha_.reshape(len(points), -1)
    whitening, given = _inverse(found.factor), float(check_noise(model.noise))
    trend = _inverse(found.trend_factor) if len(basis) else None

    def work(part: Value) -> list[Value]:
        function = split.function
        if function is None:
            cross, left = part.fill(0.0, len(points)), part.fill(0.0, 1)
        else:
            cross = kernel_values(function, part, points)
            left = kernel_diagonal(function, part)
        mean = cross @ (alpha)
        left = left - (cross @ whitening).square().sum()
        if trend is not None:
            h = _trend(basis, part)
            mean = mean + h @ (model.trend_coef_)
            rest = (h - cross @ (found.projected)) @ trend
            left = left + rest.square().sum()
        variance = left.at_least(0.0) + _noise_of(split, part) + given
        return [mean, variance]

    return work


def _inducing(model: Any) -> Work:
    posterior = model._posterior()
    bound = posterior.bound
    inducing, basis = bound.inducing, bound.sums.targets.basis
    points, whitening = dense(inducing.points), (inducing.whitening)
    combined = (bound.solved @ bound.combination)[:, : bound.outputs]
    shrink, given = _inverse(bound.factor), float(check_noise(model.noise))
    noise = float(posterior.noise) + given

    def work(part: Value) -> list[Value]:
        cross = kernel_values(inducing.kernel, part, points)
        mean, a = cross @ (whitening @ combined), cross @ whitening
        left = kernel_diagonal(inducing.kernel, part) - a.square().sum()
        left = left.at_least(0.0) + (a @ shrink).square().sum()
        if len(basis):
            h = _trend(basis, part)
            mean = mean + h @ (bound.trend[0])
            nu = bound.solved[:, bound.outputs :]
            left = left + ((h - a @ nu) @ _inverse(bound.trend[1])).square().sum()
        return [mean, left + noise]

    return work


@dataclass(frozen=True, eq=False)
class LatentProcesses(nodes.Node):
    """Means of the latent functions of binary processes, then probabilities of their class 1."""

    x: nodes.Node
    binaries: tuple[Any, ...]
    stage: ClassVar[str] = "latent"

    def stored_points(self) -> int:
        """Training rows, or inducing points, of all processes."""
        return sum(one.stored_rows for one in self.binaries)

    def typical_points(self) -> Floats:
        """Those of the first process."""
        first = self.binaries[0]
        return dense(first.x if hasattr(first, "x") else first.inducing.points)

    def compute(self, of: nodes.Evaluation) -> Any:
        """Tile by tile."""

        def work(part: Value) -> list[Value]:
            latent = [_latent(one, part) for one in self.binaries]
            averaged = [_averaged_sigmoid(*one) for one in latent]
            return [concat([*(mean for mean, _ in latent), *averaged])]

        tile = rows_of_a_tile(2 * max(one.stored_rows for one in self.binaries))
        return of(self.x).by_tiles(tile, work)[0]


def _latent(binary: Any, part: Value) -> tuple[Value, Value]:
    """Mean and variance of the latent function of one process of two classes."""
    if type(binary).__name__ == "BinaryProcess":
        points, mode = dense(binary.x), binary.mode
        values = kernel_values(binary.kernel, part, points)
        half = (values * mode.root[None, :]) @ _inverse(mode.factor)
        mean = values @ (binary.slope[:, None])
        left = kernel_diagonal(binary.kernel, part) - half.square().sum()
        return mean, left.at_least(0.0)
    return _latent_of_points(binary, part)


def _latent_of_points(binary: Any, part: Value) -> tuple[Value, Value]:
    inducing, q = binary.inducing, binary.q
    values = kernel_values(inducing.kernel, part, dense(inducing.points))
    a = values @ (inducing.whitening)
    left = (kernel_diagonal(inducing.kernel, part) - a.square().sum()).at_least(0.0)
    mean = a @ (q.mean[:, None])
    return mean, left + (a @ (q.inverse_factor)).square().sum()


def _averaged_sigmoid(mean: Value, variance: Value) -> Value:
    """Steps whose integrals are error functions: one column for each, then their sum."""
    spread = (variance * (2.0 * SLOPES**2)[None, :] + 1.0).sqrt()
    steps = (mean * SLOPES[None, :] / spread).error_function() @ COEFFICIENTS[:, None]
    p = steps * 0.5 + 0.5 * float(COEFFICIENTS.sum())
    return p.at_least(0.0).at_most(1.0)


def classes_formula(model: Any) -> nodes.ClassFormula:
    """Class probabilities of Laplace's approximation, or of inducing points."""
    if model._structures:
        raise NoFormula("The kernel compares objects, and a formula has numbers only.")
    labels, count = model.classes_, len(model.binaries_)
    k, names = len(labels), nodes.probability_names(labels)
    both = LatentProcesses(nodes.design_of(model), tuple(model.binaries_))
    means = nodes.Columns(both, tuple(range(count)))
    p = nodes.Columns(both, tuple(range(count, 2 * count)))
    if k == 2:
        chosen = nodes.ChosenLabel(means, one=True)
        two = nodes.TwoColumns(p, names=names)
        return nodes.ClassFormula(chosen, labels, None, two, decided_by=means, by_sign=True)
    if model._has_pairs:
        odds = nodes.Elementwise(p, "log_odds")
        return nodes.by_probability(nodes.Coupled(odds, k, names=names), labels)
    return nodes.by_probability(nodes.Proportions(p, k, names=names), labels)
