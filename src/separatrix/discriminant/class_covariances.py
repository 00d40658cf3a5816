"""Gaussian class densities from class moments: covariances shrunk, whitened and checked.

    Σₖ = α σ² diag(s²) + β S + (1 − α − β) Sₖ + ρ I

Sₖ is the maximum-likelihood covariance of class k, S the pooled one, s the standard deviations of
the columns over all rows and σ² the mean within-class variance of the standardized columns. In
standardized columns the first target is σ²I, so shrinkage towards it does not depend on units; ρ I
does, by definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.geometry.class_scores import (
    ClassScores,
    DiagonalScores,
    LinearScores,
    QuadraticScores,
)
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.standardizer import EPS, Standardizer, zero_if_constant

#: Variance, relative to that of all rows, of directions in which no class varies.
FLOOR = 1e-12
REMEDY = (
    "Use RegularizedDiscriminantAnalysis, which shrinks it towards what the classes have in common "
    "(as do alpha, beta or reg_param above 0), share one covariance, or give fewer columns."
)


@dataclass(frozen=True)
class CovarianceShrinkage:
    """Weights of the shrinkage targets of a class covariance.

    ``alpha`` is for the spherical target, ``beta`` for the pooled covariance, ``ridge`` is ρ (the
    rest is multiplied by 1 − ρ), and ``smoothing`` adds this fraction of each column's variance
    over all rows.
    """

    alpha: float = 0.0
    beta: float = 0.0
    ridge: float = 0.0
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta), ("reg_param", self.ridge)):
            if not 0 <= value <= 1:
                raise InputError(f"{name}={value} must lie between 0 and 1.")
        if self.alpha + self.beta > 1 + 1e-12:
            raise InputError(
                f"alpha={self.alpha} and beta={self.beta} add up to more than 1.",
                remedy="1 − alpha − beta is the weight of each class's own covariance.",
            )
        if not self.smoothing >= 0:
            raise InputError(f"var_smoothing={self.smoothing} must not be negative.")

    @property
    def own_weight(self) -> float:
        """1 − α − β, the weight of each class's own covariance."""
        return max(0.0, 1.0 - self.alpha - self.beta)

    @property
    def is_zero(self) -> bool:
        """Whether the covariances are those of maximum likelihood."""
        return not (self.alpha or self.beta or self.ridge or self.smoothing)


@dataclass(frozen=True)
class GaussianProblem:
    """Class moments and the model to estimate from them; names are for error messages."""

    moments: ClassMoments
    covariance: str
    shrinkage: CovarianceShrinkage
    log_priors: Floats
    class_names: list[Any]
    column_names: tuple[str, ...]

    @property
    def shared(self) -> bool:
        """Whether all classes have one covariance."""
        return self.covariance.startswith("shared")

    @property
    def means(self) -> Floats:
        """Class means; that of all rows for a class without rows."""
        m = self.moments
        return np.where((m.weight > 0)[:, None], m.mean, m.grand_mean)


@dataclass(frozen=True)
class GaussianFit:
    """Scores and covariances of the classes, and how well determined they are.

    ``degenerate`` says that in some direction no class varies. Else ``error`` is the largest entry
    of |AᵀΣA − I| over the whitening maps A.
    """

    scores: ClassScores
    covariance: Floats
    rank: int
    condition: float
    error: float
    degenerate: bool = False


def fit_gaussians(problem: GaussianProblem) -> GaussianFit:
    """The scores ln P(k) + ln p(x | k) of Gaussian classes, up to a number common to all."""
    if problem.covariance in ("full", "shared"):
        return _fit_matrices(problem)
    return _fit_diagonals(problem)


# -- full covariance matrices --------------------------------------------------------------------


def _fit_matrices(problem: GaussianProblem) -> GaussianFit:
    m, shared = problem.moments, problem.shared
    standardizer = total_standardizer(np.diag(m.within + m.between), m.grand_mean)
    unit = _scale_or_one(standardizer)
    covariance = shrunk_covariances(m, problem.shrinkage, standardizer, shared)
    within = np.sqrt(np.maximum(np.diag(m.within), 0.0))
    within = zero_if_constant(within, np.abs(m.grand_mean) + unit)
    basis = span_basis(
        m,
        Standardizer(m.grand_mean, np.where(within > 0.0, within, standardizer.scale)),
        whole=bool(problem.shrinkage.alpha or problem.shrinkage.ridge),
    )
    present = covariance
    if not shared and (m.weight == 0).any():  # a class without rows has the pooled covariance
        present = np.where((m.weight > 0)[:, None, None], covariance, m.within)
    elif problem.shrinkage.own_weight == 0.0:  # all are equal: one is decomposed
        present = covariance[:1]
    inner = _in_basis(present, basis)
    rounding = 4 * EPS * np.abs(basis).T @ (np.abs(m.grand_mean) + unit)
    maps, log_volume, condition, singular = _whitening(inner, rounding)
    if singular.any() and not shared:
        raise _singular(int(np.argmax(singular)), problem, basis.shape[1])
    error = np.nan
    if not singular.any():
        white = maps.swapaxes(-1, -2) @ inner @ maps
        error = float(np.abs(white - np.eye(basis.shape[1])).max(initial=0.0))
    maps = _from_basis(maps, basis)
    maps = maps if shared else triangular_maps(maps)
    if not shared and len(maps) < len(m.weight):
        maps = np.repeat(maps, len(m.weight), axis=0)
    white_means = ((problem.means - m.grand_mean)[:, None, :] @ maps)[:, 0, :]
    scores: ClassScores
    if shared:
        offset = problem.log_priors - 0.5 * np.einsum("kr,kr->k", white_means, white_means)
        scores = LinearScores(m.grand_mean, white_means @ maps[0].T, offset)
    else:
        scores = QuadraticScores(m.grand_mean, maps, white_means, problem.log_priors - log_volume)
    covariance = covariance[0] if shared else covariance
    degenerate = bool(singular.any())
    return GaussianFit(scores, covariance, basis.shape[1], condition, error, degenerate)


def _in_basis(matrices: Floats, basis: Floats) -> Floats:
    """BᵀMB; where B only scales and selects columns, without products of matrices."""
    at, factor = _selection(basis)
    if at is None:
        return np.asarray(basis.T @ matrices @ basis)
    return np.asarray(matrices[:, at[:, None], at] * factor[:, None] * factor)


def _from_basis(maps: Floats, basis: Floats) -> Floats:
    """B A for every A."""
    at, factor = _selection(basis)
    if at is None:
        return np.asarray(basis @ maps)
    out = np.zeros((len(maps), len(basis), maps.shape[2]))
    out[:, at] = maps * factor[:, None]
    return out


def _selection(basis: Floats) -> tuple[Ints | None, Floats]:
    """The column that each column of the basis is a multiple of, and the factor; else None."""
    if not basis.size or (np.count_nonzero(basis, axis=0) != 1).any():
        return None, np.empty(0)
    at = np.abs(basis).argmax(axis=0)
    return at, basis[at, np.arange(len(at))]


def total_standardizer(variance: Floats, center: Floats) -> Standardizer:
    """The standardizer of all rows from their variances and mean."""
    return Standardizer(center, zero_if_constant(np.sqrt(np.maximum(variance, 0.0)), center))


def _scale_or_one(standardizer: Standardizer) -> Floats:
    return np.where(standardizer.scale > 0.0, standardizer.scale, 1.0)


def shrunk_covariances(
    m: ClassMoments, shrinkage: CovarianceShrinkage, standardizer: Standardizer, shared: bool
) -> Floats:
    """Σₖ for each class, in the units of the data (one matrix if shared)."""
    pooled = m.within
    covariance = pooled[None] if shared else m.covariances
    if not shrinkage.is_zero:
        spherical = standardizer.scale**2 * mean_variance(np.diag(pooled), standardizer)
        covariance = (
            shrinkage.own_weight * covariance
            + shrinkage.beta * pooled
            + shrinkage.alpha * np.diag(spherical)
        )
        identity = np.eye(len(spherical))
        covariance = (1.0 - shrinkage.ridge) * covariance + shrinkage.ridge * identity
    return np.asarray(covariance)


def mean_variance(variance: Floats, standardizer: Standardizer) -> float:
    """σ²: the mean within-class variance of the standardized columns that vary."""
    varies = standardizer.scale > 0.0
    relative = variance * standardizer.inverse_scale**2
    return float(relative[varies].mean()) if varies.any() else 1.0


def span_basis(m: ClassMoments, standardizer: Standardizer, *, whole: bool) -> Floats:
    """d x r: the map to coordinates of the span of the rows, columns divided by their scale.

    Directions in which no two rows differ carry no information and are left out: those in which
    neither rows within classes nor the class means vary, each judged by its own size. If shrinkage
    makes every direction count (``whole``), only constant columns are.
    """
    varies = standardizer.scale > 0.0
    axes = np.diag(standardizer.inverse_scale)[:, varies]
    if whole or not varies.any():
        return axes
    scatters = [axes.T @ scatter @ axes for scatter in (m.within, m.between)]
    traces = [np.trace(scatter) for scatter in scatters]
    both = sum(scatter / size for scatter, size in zip(scatters, traces, strict=True) if size > 0)
    values, vectors = np.linalg.eigh(both)
    nonzero = values > 10 * len(varies) * EPS * values.max()
    return axes if nonzero.all() else axes @ vectors[:, nonzero]


def _whitening(inner: Floats, rounding: Floats) -> tuple[Floats, Floats, float, NDArray[np.bool_]]:
    """A with AᵀΣA = I, ½ ln|Σ|, the worst condition number, and which Σ are singular (K of each).

    Every Σ is scaled to a unit diagonal first, so that a class that is narrow in one column keeps
    its digits. A standard deviation of no more than ``rounding`` is zero.
    """
    deviation = np.sqrt(np.maximum(np.diagonal(inner, axis1=1, axis2=2), 0.0))
    constant = deviation <= rounding
    deviation = np.where(constant, np.sqrt(FLOOR), deviation)
    correlation = inner / (deviation[:, :, None] * deviation[:, None, :])
    values, vectors = np.linalg.eigh(0.5 * (correlation + correlation.swapaxes(-1, -2)))
    zero = values <= 10 * max(inner.shape[1], 1) * EPS
    values = np.where(zero, FLOOR, values)
    condition = float((values.max(axis=1, initial=1.0) / values.min(axis=1, initial=1.0)).max())
    maps = vectors / np.sqrt(values)[:, None, :] / deviation[:, :, None]
    log_volume = 0.5 * np.log(values).sum(axis=1) + np.log(deviation).sum(axis=1)
    return maps, log_volume, condition, (zero | constant).any(axis=1)


def triangular_maps(maps: Floats) -> Floats:
    """A R with R orthogonal, zero below the diagonal: distances ‖zA‖ are unchanged."""
    if not maps.size:
        return maps
    rotated = np.linalg.qr(maps[:, ::-1].transpose(0, 2, 1)).R
    return np.asarray(rotated.transpose(0, 2, 1)[:, ::-1, ::-1])


def _singular(k: int, problem: GaussianProblem, rank: int) -> InputError:
    rows, name = int(problem.moments.count[k]), problem.class_names[k]
    if rows <= rank:
        what = f"Class {name!r} has {rows} row{'s' * (rows != 1)} for {rank} independent columns"
    else:
        what = f"The rows of class {name!r} do not vary in some direction in which others do"
    return InputError(f"{what}: its own covariance is singular.", remedy=REMEDY)


# -- diagonal and spherical covariances ----------------------------------------------------------


def _fit_diagonals(problem: GaussianProblem) -> GaussianFit:
    m, shrinkage, means = problem.moments, problem.shrinkage, problem.means
    shared, spherical = problem.shared, problem.covariance.endswith("spherical")
    total, pooled = m.within + m.between, m.within
    own = np.tile(pooled, (len(means), 1)) if shared else m.covariances
    standardizer = total_standardizer(total, m.grand_mean)
    if spherical:
        any_varies = bool((standardizer.scale > 0.0).any())
        standardizer = Standardizer(m.grand_mean, np.full(len(m.grand_mean), float(any_varies)))
        total, pooled, own = (_column_mean(v) for v in (total, pooled, own))
    varies, unit = standardizer.scale > 0.0, _scale_or_one(standardizer)
    target = mean_variance(pooled, standardizer) * unit**2
    variance = shrinkage.own_weight * own + shrinkage.beta * pooled + shrinkage.alpha * target
    variance = variance + shrinkage.smoothing * total
    variance = np.where((m.weight > 0)[:, None], variance, np.where(pooled > 0, pooled, total))
    deviation = np.sqrt(np.maximum(variance, 0.0))
    constant = (zero_if_constant(deviation, means) == 0.0) | (variance <= EPS**2 * total)
    constant &= varies
    if constant.any() and not shared:
        k, j = (int(at) for at in np.argwhere(constant)[0])
        raise InputError(
            f"all rows of class {problem.class_names[k]!r} agree, so its variance is zero.",
            column=None if spherical else problem.column_names[j],
            remedy="Shrink towards the other classes: alpha or beta above 0, or GaussianNB.",
        )
    used = np.where(constant, FLOOR * total, variance)
    ratio = np.where(varies, used / unit**2, 1.0)
    inverse = np.where(varies, 1.0 / np.sqrt(np.where(varies, used, 1.0)), 0.0)
    scores: ClassScores
    if shared:
        white_means = (means - m.grand_mean) * inverse
        offset = problem.log_priors - 0.5 * np.einsum("kd,kd->k", white_means, white_means)
        scores = LinearScores(m.grand_mean, white_means * inverse, offset)
    else:
        scores = DiagonalScores(
            means, inverse, problem.log_priors - 0.5 * np.log(ratio).sum(axis=1)
        )
    condition = float((ratio.max(axis=1, initial=1.0) / ratio.min(axis=1, initial=1.0)).max())
    covariance = variance[0] if shared else variance
    rank, degenerate = int(varies.sum()), bool(constant.any())
    return GaussianFit(scores, covariance, rank, condition, 0.0, degenerate)


def _column_mean(variance: Floats) -> Floats:
    """The mean variance in place of each column's."""
    return np.repeat(variance.mean(axis=-1, keepdims=True), variance.shape[-1], axis=-1)
