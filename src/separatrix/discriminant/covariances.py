"""Gaussian class densities from class moments: covariances shrunk, whitened and checked.

    Σₖ = α σ² diag(s²) + β S + (1 − α − β) Sₖ + ρ I

Sₖ is the maximum-likelihood covariance of class k, S the pooled one, s the standard deviations of
the columns over all rows and σ² the mean within-class variance of the standardized columns. In
standardized columns the first target is σ²I, so shrinkage towards it does not depend on units; ρ I
does, by definition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.geometry import class_scores
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.gram import row_gram
from separatrix.messages import InputError
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Block, to_array
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.moments import EPS, Standardizer, zero_if_constant
from separatrix.threads import parallel_map, pieces

REMEDY = (
    "Use RegularizedDiscriminantAnalysis, which shrinks it towards what the classes have in common "
    "(as do alpha, beta, shrinkage or reg_param above 0), share one covariance, or give fewer "
    "columns."
)


def fit_matrices(problem: GaussianProblem) -> GaussianFit:
    """Scores and covariances of classes with full covariance matrices."""
    m, shared, standardizer = problem.moments, problem.shared, problem.standardizer
    center, unit = standardizer.mean, scale_or_one(standardizer)
    covariance = problem.given
    if covariance is None:
        covariance = shrink_covariances(m, problem.shrinkage, standardizer, shared)
    gaussian_fit = fit_shared(problem, covariance[0]) if shared else None
    if gaussian_fit is not None:
        return gaussian_fit
    coordinates = ClassCoordinates(_basis(problem, covariance))
    basis, rank = coordinates.basis, coordinates.basis.shape[1]
    if problem.rank is not None:
        pooled = shrink_covariances(m, problem.shrinkage, standardizer, shared=True)[0]
        covariance = reduce_rank(covariance, pooled, center, basis, problem.rank)
    present = covariance
    if not shared and (m.weight == 0).any():  # a class without rows has the pooled covariance
        present = np.where((m.weight > 0)[:, None, None], covariance, m.within)
    elif problem.shrinkage.own_weight == 0.0:  # all are equal: one is decomposed
        present = covariance[:1]
    inner = coordinates.covariances(present)
    rounding = 4 * EPS * np.abs(basis).T @ (np.abs(center) + unit)
    white = whiten(inner, rounding)
    degenerate = bool(white.singular.any())
    if degenerate and not shared:
        raise _singular(int(np.argmax(white.singular)), problem, rank)
    maps = coordinates.maps(white.maps)
    maps = maps if shared else triangular_maps(maps)
    if not shared and len(maps) < len(m.weight):
        maps = np.repeat(maps, len(m.weight), axis=0)
    scores: class_scores.ClassScores
    if shared:
        scores = linear_scores(problem, maps[0])
    else:
        white_means = ((problem.means - center)[:, None, :] @ maps)[:, 0, :]
        offset = problem.log_priors - white.log_volume + coordinates.log_volume
        scores = class_scores.QuadraticScores(center, maps, white_means, offset)
    covariance = covariance[0] if shared else covariance
    unused = () if problem.tol is None or degenerate else unused_columns(problem, covariance, rank)
    return GaussianFit(scores, covariance, rank, white.condition, white.error, degenerate, unused)


def reduce_rank(
    covariances: Floats, pooled: Floats, center: Floats, basis: Floats, rank: int
) -> Floats:
    """Each Σₖ with its own variances in ``rank`` directions, and those of the pooled S elsewhere.

        Σₖ = B⁻ᵀ (I + Σⱼ (λⱼ − 1) uⱼ uⱼᵀ) B⁻¹,     Bᵀ S B = I,   Bᵀ Σₖ B = Σⱼ λⱼ uⱼ uⱼᵀ

    Of all directions uⱼ those with the largest λ − 1 − ln λ add most to the likelihood of class k.
    One without variance in the class says nothing of its covariance, and is not among them.
    """
    rounding = 4 * EPS * np.abs(basis).T @ (np.abs(center) + np.sqrt(np.diag(pooled)))
    white = whiten((basis.T @ pooled @ basis)[None], rounding)
    if white.singular.any():
        return covariances  # no class varies in some direction, and the fit refuses them
    maps = basis @ white.maps[0]
    values, vectors = np.linalg.eigh(maps.T @ covariances @ maps)
    known = values > 10 * values.shape[1] * EPS * values.max(axis=1, initial=1.0)[:, None]
    safe = np.where(known, values, 1.0)
    order = np.argsort(-(safe - 1.0 - np.log(safe)), axis=1, kind="stable")
    own = np.argsort(order, axis=1, kind="stable") < rank
    changes = np.where(own, safe, 1.0) - 1.0
    back = pooled @ maps @ vectors  # B⁻ᵀ U, as B⁻¹ = BᵀS
    return np.asarray(pooled + (back * changes[:, None, :]) @ back.swapaxes(-1, -2))


def unused_columns(
    problem: GaussianProblem, covariance: Floats | None, rank: int
) -> tuple[str, ...]:
    """Columns of a direction left out for its want of spread, though class means differ there.

    They differ by more than ten standard deviations within classes (or roundings of one), so
    that the direction tells classes apart without error. Classes of a single row cannot vary and do
    not count, nor do combinations of columns where rows are too few for all of them to vary.
    Without ``covariance`` only single columns are looked at.
    """
    m, within, center = problem.moments, problem.deviations, problem.standardizer.mean
    if rank == len(within):
        return ()
    varies = within > 0.0
    means = m.mean[m.count > 1] - center
    gap = zero_if_constant(np.ptp(means, axis=0), np.abs(center)) if len(means) else within
    indices = np.flatnonzero(~varies & (gap > 0.0))
    if not len(indices) and covariance is not None and rank < min(varies.sum(), _freedom(m)):
        unit = within[varies]
        inner = covariance[np.ix_(varies, varies)] / unit / unit[:, None]
        values, vectors = np.linalg.eigh(inner)
        values, vectors = values[: len(unit) - rank], vectors[:, : len(unit) - rank]
        means = (means[:, varies] / unit) @ vectors
        direction = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][0]
        spread = np.sqrt(max(float(values @ direction**2), 10 * len(unit) * EPS))
        # normal classes do not overlap: 3 rows in ten million are on the wrong side of the middle
        if np.ptp(means @ direction) > 10.0 * spread:
            weights = np.abs(vectors @ direction)
            # Part of the largest weight in a direction up to which a column is not named.
            indices = np.flatnonzero(varies)[weights > 0.1 * weights.max()]
    return tuple(problem.column_names[j] for j in indices)


def _freedom(m: ClassMoments) -> int:
    """The most directions in which rows can differ from their class means."""
    return int(m.count.sum() - np.count_nonzero(m.count))


def linear_scores(problem: GaussianProblem, whitening: Floats) -> class_scores.LinearScores:
    """Scores of classes with one covariance Σ: A Aᵀ = Σ⁻¹ for the map A (d x r)."""
    center = problem.center
    white = (problem.means - center) @ whitening
    offset = problem.log_priors - 0.5 * np.einsum("kr,kr->k", white, white)
    return class_scores.LinearScores(
        center, white @ whitening.T, offset, center @ whitening @ whitening.T
    )


def _basis(problem: GaussianProblem, covariance: Floats) -> Floats:
    """d x r: the map to the coordinates in which classes are compared."""
    m, within, standardizer = problem.moments, problem.deviations, problem.standardizer
    if problem.tol is not None:
        basis = _varying_basis(covariance[0], within, problem.tol)
        if basis.shape[1]:  # else no class varies at all, and the means decide
            return basis
    elif problem.given is not None:  # what was estimated may vary where the rows do not
        scale = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2).mean(axis=0))
        scale = np.where(scale > 0.0, scale, standardizer.scale)
        return span_basis(m, Standardizer(standardizer.mean, scale), whole=True)
    return span_basis(
        m,
        Standardizer(standardizer.mean, np.where(within > 0.0, within, standardizer.scale)),
        whole=bool(problem.shrinkage.alpha or problem.shrinkage.ridge),
    )


def _varying_basis(covariance: Floats, within: Floats, tol: float) -> Floats:
    """Directions in which columns scaled to unit variance have a deviation above ``tol``."""
    varies = within > 0.0
    axes = np.diag(1.0 / np.where(varies, within, 1.0))[:, varies]
    values, vectors = np.linalg.eigh(axes.T @ covariance @ axes)
    significant = values > max(tol**2, 10 * len(within) * EPS)
    return axes if significant.all() else axes @ vectors[:, significant]


@dataclass(frozen=True)
class ClassCoordinates:
    """z = xB in which classes are compared; mostly B (d x r) only scales and selects columns."""

    basis: Floats

    @cached_property
    def selection(self) -> tuple[Ints | None, Floats]:
        """The column that each coordinate is a multiple of, and the factor; else None."""
        basis = self.basis
        if not basis.size or (np.count_nonzero(basis, axis=0) != 1).any():
            return None, np.empty(0)
        index = np.abs(basis).argmax(axis=0)
        return index, basis[index, np.arange(len(index))]

    def covariances(self, matrices: Floats) -> Floats:
        """BᵀMB of every M."""
        at, factor = self.selection
        if at is None:
            return np.asarray(self.basis.T @ matrices @ self.basis)
        return np.asarray(matrices[:, at[:, None], at] * factor[:, None] * factor)

    def maps(self, maps: Floats) -> Floats:
        """B A of every A."""
        at, factor = self.selection
        if at is None:
            return np.asarray(self.basis @ maps)
        out = np.zeros((len(maps), len(self.basis), maps.shape[2]))
        out[:, at] = maps * factor[:, None]
        return out

    @property
    def log_volume(self) -> float:
        """ln of the volume that the columns of B span."""
        at, factor = self.selection
        if at is None:
            factor = np.diag(np.linalg.qr(self.basis).R) if self.basis.size else np.ones(1)
        return float(np.log(np.abs(factor)).sum())


def shrink_covariances(
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
    least = 10 * len(varies) * EPS
    if all_above(both, least * float(np.trace(both))):  # the trace bounds the largest
        return axes
    values, vectors = np.linalg.eigh(both)
    nonzero = values > least * values.max()
    return axes if nonzero.all() else axes @ vectors[:, nonzero]


def _singular(k: int, problem: GaussianProblem, rank: int) -> SingularCovarianceError:
    rows, name = int(problem.moments.count[k]), problem.class_names[k]
    if rows <= rank:
        what = f"Class {name!r} has {rows} row{'s' * (rows != 1)} for {rank} independent columns"
    else:
        what = f"The rows of class {name!r} do not vary in some direction in which others do"
    return SingularCovarianceError(f"{what}: its own covariance is singular.", remedy=REMEDY)


# -------------------------------------------------------------------------------------------------
# What a Gaussian class model is estimated from, how it is shrunk, and what is found.


#: Variance, relative to that of all rows, of directions in which no class varies.
FLOOR = 1e-12


class SingularCovarianceError(InputError, np.linalg.LinAlgError):
    """A class has a singular covariance; also NumPy's error, which scikit-learn raises here."""


@dataclass(frozen=True)
class CovarianceShrinkage:
    """Weights of the shrinkage targets of a class covariance.

    ``alpha`` is for the spherical target, ``beta`` for the pooled covariance, ``ridge`` is ρ (the
    rest is multiplied by 1 − ρ).
    """

    alpha: float = 0.0
    beta: float = 0.0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta), ("reg_param", self.ridge)):
            if not 0 <= value <= 1:
                raise InputError(f"{name}={value} must lie between 0 and 1.")
        if self.alpha + self.beta > 1 + 1e-12:
            raise InputError(
                f"alpha={self.alpha} and beta={self.beta} add up to more than 1.",
                remedy="1 − alpha − beta is the weight of each class's own covariance.",
            )

    @property
    def own_weight(self) -> float:
        """1 − α − β, the weight of each class's own covariance."""
        return max(0.0, 1.0 - self.alpha - self.beta)

    @property
    def is_zero(self) -> bool:
        """Whether the covariances are those of maximum likelihood."""
        return not (self.alpha or self.beta or self.ridge)


@dataclass(frozen=True)
class GaussianProblem:
    """Class moments and the model to estimate from them; names are for error messages.

    ``given`` are covariance matrices (K x d x d, or 1 x d x d if shared) that were estimated in
    another way. With ``rank``, each differs from the pooled one in so many directions. With
    ``tol``, directions whose standard deviation within classes is no more than that of the (scaled)
    columns times it are left out. ``added`` is added to the variances of every
    class, one number for each column.
    """

    moments: ClassMoments
    covariance: str
    shrinkage: CovarianceShrinkage
    log_priors: Floats
    class_names: list[Any]
    column_names: tuple[str, ...]
    given: Floats | None = None
    tol: float | None = None
    added: Floats | None = None
    rank: int | None = None

    @property
    def shared(self) -> bool:
        """Whether all classes have one covariance."""
        return self.covariance.startswith("shared")

    @cached_property
    def standardizer(self) -> Standardizer:
        """Mean and standard deviations of all rows."""
        return total_standardizer(self.moments)

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviations within classes; 0 where rows do not vary but for rounding."""
        standardizer = self.standardizer
        known = np.abs(standardizer.mean) + scale_or_one(standardizer)
        return zero_if_constant(np.sqrt(np.maximum(_diagonal(self.moments.within), 0.0)), known)

    @cached_property
    def means(self) -> Floats:
        """Class means; that of all rows for a class without rows."""
        m = self.moments
        return np.where((m.weight > 0)[:, None], m.mean, self.standardizer.mean)

    @cached_property
    def center(self) -> Floats:
        """The mean of the class means, weighted by the priors: linear scores are about it."""
        return np.asarray(np.exp(self.log_priors) @ self.means)


@dataclass(frozen=True)
class GaussianFit:
    """Scores and covariances of the classes, and how well determined they are.

    ``unused`` names the columns of a direction that is left out though it tells classes apart.
    ``degenerate`` says that in some direction no class varies. Else ``error`` is the largest entry
    of |AᵀΣA − I| over the whitening maps A; or, where scores are solved for without them, that of
    Σw − (μ − c) in standard deviations, relative to that of μ − c.
    """

    scores: class_scores.ClassScores
    covariance: Floats
    rank: int
    condition: float
    error: float
    degenerate: bool = False
    unused: tuple[str, ...] = ()


def total_standardizer(m: ClassMoments) -> Standardizer:
    """The standardizer of all rows, from their moments by class."""
    center, deviation = m.grand_mean, np.sqrt(np.maximum(_diagonal(m.within + m.between), 0.0))
    return Standardizer(center, zero_if_constant(deviation, center))


def _diagonal(covariance: Floats) -> Floats:
    """Variances of a covariance matrix, or of what holds nothing else."""
    return covariance if covariance.ndim == 1 else np.diag(covariance)


def scale_or_one(standardizer: Standardizer) -> Floats:
    """Standard deviations, with 1 in place of zeros."""
    return np.where(standardizer.scale > 0.0, standardizer.scale, 1.0)


def mean_variance(variance: Floats, standardizer: Standardizer) -> float:
    """σ²: the mean within-class variance of the standardized columns that vary."""
    varies = standardizer.scale > 0.0
    relative = variance * standardizer.inverse_scale**2
    return float(relative[varies].mean()) if varies.any() else 1.0


# -------------------------------------------------------------------------------------------------
# Class densities with diagonal or spherical covariances.


def fit_diagonals(problem: GaussianProblem) -> GaussianFit:
    """Scores and variances of classes with diagonal or spherical covariances."""
    m, shrinkage, means = problem.moments, problem.shrinkage, problem.means
    shared, spherical = problem.shared, problem.covariance.endswith("spherical")
    pooled = np.maximum(m.within, 0.0)  # rounding: weights of which one is nearly all
    total = pooled + m.between
    by_class = np.tile(pooled, (len(means), 1)) if shared else np.maximum(m.covariances, 0.0)
    standardizer = problem.standardizer
    if spherical:
        any_varies = float((standardizer.scale > 0.0).any())
        standardizer = Standardizer(standardizer.mean, np.full_like(standardizer.mean, any_varies))
        total, pooled, by_class = (_column_mean(v) for v in (total, pooled, by_class))
    varies, unit = standardizer.scale > 0.0, scale_or_one(standardizer)
    target = mean_variance(pooled, standardizer) * unit**2
    variance = shrinkage.own_weight * by_class + shrinkage.beta * pooled + shrinkage.alpha * target
    if problem.added is not None:
        variance = _raise_variance(variance, m.weight, total, means) + problem.added
    variance = np.where((m.weight > 0)[:, None], variance, np.where(pooled > 0, pooled, total))
    constant = _constant(variance, total, means) & varies
    if constant.any() and not shared:
        k, j = (int(at) for at in np.argwhere(constant)[0])
        raise SingularCovarianceError(
            f"all rows of class {problem.class_names[k]!r} agree, so its variance is zero.",
            column=None if spherical else problem.column_names[j],
            remedy="Shrink towards the other classes: alpha or beta above 0, or GaussianNB.",
        )
    used = np.where(constant, FLOOR * total, variance)
    ratio = np.where(varies, used / unit**2, 1.0)
    inverse = np.where(varies, 1.0 / np.sqrt(np.where(varies, used, 1.0)), 0.0)
    scores: class_scores.ClassScores
    if shared:
        scores = _linear_scores(problem, inverse[0])
    else:
        log_volume = np.log(np.where(varies, np.sqrt(used), 1.0)).sum(axis=1)
        scores = class_scores.DiagonalScores(means, inverse, problem.log_priors - log_volume)
    condition = float((ratio.max(axis=1, initial=1.0) / ratio.min(axis=1, initial=1.0)).max())
    covariance = variance[0] if shared else variance
    rank, degenerate = int(varies.sum()), bool(constant.any())
    return GaussianFit(scores, covariance, rank, condition, 0.0, degenerate)


def _linear_scores(problem: GaussianProblem, inverse: Floats) -> class_scores.LinearScores:
    """Scores of classes with the same standard deviations, given by their inverse."""
    center = problem.center
    white = (problem.means - center) * inverse
    offset = problem.log_priors - 0.5 * np.einsum("kd,kd->k", white, white)
    return class_scores.LinearScores(center, white * inverse, offset, center * inverse**2)


def _column_mean(variance: Floats) -> Floats:
    """The mean variance in place of each column's."""
    return np.repeat(variance.mean(axis=-1, keepdims=True), variance.shape[-1], axis=-1)


def _constant(variance: Floats, total: Floats, means: Floats) -> NDArray[np.bool_]:
    """Where a class does not vary beyond rounding errors of its mean."""
    deviation = np.sqrt(np.maximum(variance, 0.0))
    constant = (zero_if_constant(deviation, means) == 0.0) | (variance <= EPS**2 * total)
    return np.asarray(constant)


def _raise_variance(variance: Floats, weight: Floats, total: Floats, means: Floats) -> Floats:
    """Variances, with s²/(n + 1) where the n rows of a class agree: one more row may be any row.

    A class whose n rows agree shows that fewer than about one row in n differ, and no more: its
    variance is that of n equal rows and one that is drawn from all rows, whose variance is s².
    """
    raised = total / (weight[:, None] + 1.0)
    return np.where(_constant(variance, total, means), raised, variance)


# -------------------------------------------------------------------------------------------------
# Maps that whiten covariances: AᵀΣA = I, for all classes, on threads.


@dataclass(frozen=True)
class Whitening:
    """``maps`` A with AᵀΣA = I, ``log_volume`` ½ ln|Σ| and whether Σ is ``singular``, by class.

    ``condition`` is the worst condition number of the classes, and ``error`` the largest entry of
    |AᵀΣA − I|: NaN where some Σ is singular.
    """

    maps: Floats
    log_volume: Floats
    singular: NDArray[np.bool_]
    condition: float
    error: float


def whiten(covariances: Floats, rounding: Floats) -> Whitening:
    """Whiten covariances (K x d x d), of which a standard deviation up to ``rounding`` is zero."""
    k, d = covariances.shape[:2]
    # Numbers in the matrices of a piece of the work, at least.
    parts = pieces(k, max(1, 2_000 // max(d * d, 1)))
    whitened = parallel_map(lambda part: _whiten(covariances[part], rounding), parts)
    if len(whitened) == 1:
        return whitened[0]
    return Whitening(
        np.concatenate([one.maps for one in whitened]),
        np.concatenate([one.log_volume for one in whitened]),
        np.concatenate([one.singular for one in whitened]),
        max(one.condition for one in whitened),
        float(np.max([one.error for one in whitened])),
    )


def _whiten(inner: Floats, rounding: Floats) -> Whitening:
    """Every Σ is scaled to a unit diagonal, so that a class narrow in one column keeps its digits.

    A = D⁻¹ L⁻ᵀ from the Cholesky factor L; from eigenvectors where eigenvalues must be replaced.
    """
    d = inner.shape[1]
    deviation = np.sqrt(np.maximum(np.diagonal(inner, axis1=1, axis2=2), 0.0))
    constant = deviation <= rounding
    deviation = np.where(constant, np.sqrt(FLOOR), deviation)
    correlation = inner / (deviation[:, :, None] * deviation[:, None, :])
    correlation = 0.5 * (correlation + correlation.swapaxes(-1, -2))
    values = np.linalg.eigvalsh(correlation)
    zero = values <= 10 * max(d, 1) * EPS
    singular = (zero | constant).any(axis=1)
    error = np.nan
    if singular.any():
        values, vectors = np.linalg.eigh(correlation)
        values = np.where(zero, FLOOR, values)
        roots, maps = np.sqrt(values), vectors / np.sqrt(values)[:, None, :]
    else:
        factor = np.linalg.cholesky(correlation)
        roots = np.diagonal(factor, axis1=1, axis2=2)
        maps = np.linalg.inv(factor).swapaxes(-1, -2)
    maps = maps / deviation[:, :, None]
    if not singular.any():
        white = maps.swapaxes(-1, -2) @ inner @ maps
        error = float(np.abs(white - np.eye(d)).max(initial=0.0))
    condition = float((values.max(axis=1, initial=1.0) / values.min(axis=1, initial=1.0)).max())
    log_volume = np.log(roots).sum(axis=1) + np.log(deviation).sum(axis=1)
    return Whitening(maps, log_volume, singular, condition, error)


def triangular_maps(maps: Floats) -> Floats:
    """A R with R orthogonal, zero below the diagonal: distances ‖zA‖ are unchanged."""
    if not maps.size or not np.tril(maps, -1).any():
        return maps
    rotated = np.linalg.qr(maps[:, ::-1].transpose(0, 2, 1)).R
    return np.asarray(rotated.transpose(0, 2, 1)[:, ::-1, ::-1])


# -------------------------------------------------------------------------------------------------
# One covariance for all classes, of many columns, by a Cholesky factorization.
#
#     R = D⁻¹ Σ D⁻¹ = L Lᵀ,      w = D⁻¹ R⁻¹ D⁻¹ (μ − c)
#
# D are the standard deviations within classes. R − t I has a factor if and only if all eigenvalues
# of R are above t: then no direction is left out, and K systems are all that scores need. An
# eigendecomposition would take ten times as long.


#: Columns from which a factorization is worth its while.
MIN_COLUMNS = 96


def fit_shared(problem: GaussianProblem, covariance: Floats) -> GaussianFit | None:
    """Scores of classes with one covariance (d x d); None where some direction does not vary."""
    d, standardizer = len(covariance), problem.standardizer
    if d < MIN_COLUMNS:
        return None
    varies = standardizer.scale > 0.0
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    known = np.abs(standardizer.mean) + scale_or_one(standardizer)
    if not varies.any() or (zero_if_constant(deviation, known)[varies] == 0.0).any():
        return None
    unit = deviation[varies]
    whole = bool(varies.all())
    inner = covariance if whole else covariance[np.ix_(varies, varies)]
    correlation = inner / unit
    correlation /= unit[:, None]
    if not all_above(correlation, max((problem.tol or 0.0) ** 2, 10 * d * EPS)):
        return None
    factor = cholesky_factor(correlation.copy())
    if factor is None:
        return None
    return _solve_shrunken(problem, covariance, correlation, factor, varies, unit)


def all_above(matrix: Floats, least: float) -> bool:
    """Whether all eigenvalues are above ``least``: the matrix less that has a factor."""
    shifted = matrix.copy()
    shifted.flat[:: len(shifted) + 1] -= least
    return cholesky_factor(shifted) is not None


def _solve_shrunken(
    problem: GaussianProblem,
    covariance: Floats,
    correlation: Floats,
    factor: Floats,
    varies: NDArray[np.bool_],
    unit: Floats,
) -> GaussianFit:
    center = problem.center
    right = np.concatenate([problem.means - center, center[None]])[:, varies] / unit
    solved = cholesky_solve(factor, right.T).T
    k = len(problem.means)
    error = np.abs(solved[:k] @ correlation - right[:k]).max(initial=0.0)
    error /= max(float(np.abs(right[:k]).max(initial=0.0)), np.finfo(float).tiny)
    coef = np.zeros((k + 1, len(varies)))
    coef[:, varies] = solved / unit
    square = np.einsum("kd,kd->k", right[:k], solved[:k])
    offset = problem.log_priors - 0.5 * square
    scores = class_scores.LinearScores(center, coef[:k], offset, coef[k])
    condition = _largest(lambda v: correlation @ v, len(unit)) * _largest(
        lambda v: cholesky_solve(factor, v), len(unit)
    )
    return GaussianFit(scores, covariance, int(varies.sum()), condition, float(error))


def _largest(times: Callable[[Floats], Floats], d: int) -> float:
    """The largest eigenvalue of a positive definite matrix, by Lanczos' method."""
    v = np.sin(1.0 + np.arange(d))
    basis = [v / np.linalg.norm(v)]
    diagonal: list[float] = []
    beside: list[float] = []
    largest = 0.0
    # Steps of the Lanczos iterations for the largest and smallest eigenvalue.
    for _ in range(min(24, d)):
        u = times(basis[-1])
        diagonal.append(float(u @ basis[-1]))
        before, largest = largest, float(linalg.eigvalsh_tridiagonal(diagonal, beside)[-1])
        q = np.array(basis)
        for _again in range(2):  # orthogonal to rounding errors
            u = u - q.T @ (q @ u)
        size = float(np.linalg.norm(u))
        # The relative change of a step that ends them.
        if largest - before <= 1e-3 * largest or size <= 1e-14 * max(diagonal):
            break
        beside.append(size)
        basis.append(u / size)
    return largest


# -------------------------------------------------------------------------------------------------
# Fewer rows than columns: class densities through the n x n side, in memory of n x d.
#
# One covariance for all classes, from rows z about their class means in standard deviations D:
#
#     G = Z Zᵀ = U Λ Uᵀ,     Σ⁺ = D⁻¹ Zᵀ U Λ⁻² Uᵀ Z D⁻¹
#
# Other structures are fitted to coordinates of the rows in their span, (x − c) D⁻¹ V with
# orthonormal V: shrinkage towards σ²I is the same outside the span for all classes, so that their
# comparison is unchanged.


#: Columns up to which square matrices of them are small.
FEW_COLUMNS = 160
#: Numbers of a sparse matrix that may be filled in.
MAX_FILLED = 125_000_000


def is_wide(block: Block) -> bool:
    """Whether there are no more rows than columns, and many columns."""
    n, d = block.x.shape
    return bool(d >= n and d > FEW_COLUMNS)


def weighted_rows(block: Block) -> Block:
    """Rows of positive weight."""
    if block.w is not None and not block.w.all():
        return block.take(np.flatnonzero(block.w))
    return block


def fill_in(block: Block) -> Block:
    """Dense rows; a sparse matrix that would not fit is refused."""
    n, d = block.x.shape
    if not isinstance(block.x, np.ndarray) and n * d > MAX_FILLED:
        raise InputError(
            f"A sparse matrix of {n} x {d} would have to be filled in ({8e-9 * n * d:.0f} GB): "
            "coordinates in the span of its rows are dense.",
            remedy="Use LinearDiscriminantAnalysis, MultinomialNB or LogisticRegression, or "
            "project the columns first.",
        )
    return replace(block, x=to_array(block.x))


def diagonal_moments(block: Block, k: int) -> ClassMoments:
    """Means and variances of the classes, without products of columns."""
    moments = ClassMoments.empty("diagonal", k, block.x.shape[1])
    moments.update(block)
    return moments


def fit_rows(problem: GaussianProblem, block: Block) -> GaussianFit:
    """Scores of classes from the rows themselves; covariances are not formed."""
    if problem.shared and problem.tol:
        gaussian_fit = _fit_shared(problem, block)
        if gaussian_fit is not None:
            return gaussian_fit
    return _in_span(problem, block)


def _fit_shared(problem: GaussianProblem, block: Block) -> GaussianFit | None:
    """One covariance: directions of a deviation above ``tol`` are compared, as in scikit-learn."""
    m = problem.moments
    codes = block.parts
    assert codes is not None
    within = problem.deviations
    inverse = np.divide(1.0, within, out=np.zeros_like(within), where=within > 0)
    z = center_rows(block.x, codes, m.mean, inverse, block.weights / m.weight.sum())
    g = z.gram()
    values, vectors = np.linalg.eigh(g)
    assert problem.tol is not None
    significant = values > max(problem.tol**2, 10 * len(within) * EPS)
    if not significant.any():
        return None
    values, vectors = values[significant], vectors[:, significant]
    center, k = problem.center, len(problem.means)
    right = np.concatenate([problem.means - center, center[None]]) * inverse
    inner = z.products(right) @ vectors
    coef = z.combinations((inner / values**2) @ vectors.T) * inverse
    offset = problem.log_priors - 0.5 * (inner[:k] ** 2 / values**2).sum(axis=1)
    white = (g @ vectors) / values
    error = float(np.abs(white.T @ white - np.eye(len(values))).max(initial=0.0))
    scores = class_scores.LinearScores(center, coef[:k], offset, coef[k])
    condition = float(values.max() / values.min())
    unused = unused_columns(problem, None, len(values))
    return GaussianFit(scores, m.within, len(values), condition, error, unused=unused)


def _in_span(problem: GaussianProblem, block: Block) -> GaussianFit:
    """Any structure, fitted to coordinates in the span of the rows."""
    m, x, shrinkage = problem.moments, np.asarray(fill_in(block).x), problem.shrinkage
    standardizer = problem.standardizer
    inverse = standardizer.inverse_scale
    if shrinkage.ridge:  # ρ I is meant in the units of the columns
        inverse = (inverse > 0.0).astype(np.float64)
    whole = np.zeros(len(x), dtype=np.int64)
    rows = DenseDeviations(x, whole, m.grand_mean[None], inverse, np.ones(len(x)))
    values, vectors = np.linalg.eigh(rows.gram())
    nonzero = values > 10 * max(x.shape) * EPS * max(float(values[-1]), np.finfo(float).tiny)
    values, vectors = values[nonzero], vectors[:, nonzero]
    projection = (rows.z.T @ (vectors / np.sqrt(values))) * inverse[:, None]
    moments = _span_moments(vectors * np.sqrt(values), block, problem)
    pooled = moments.within
    covariances = pooled[None] if problem.shared else moments.covariances
    variance = mean_variance(m.within, standardizer)
    given = shrinkage.own_weight * covariances + shrinkage.beta * pooled
    given = given + shrinkage.alpha * variance * np.eye(len(pooled))
    given = (1.0 - shrinkage.ridge) * given + shrinkage.ridge * np.eye(len(pooled))
    inside = replace(problem, moments=moments, given=given, tol=None)
    gaussian_fit = fit_matrices(inside)
    return replace(gaussian_fit, scores=_outside(gaussian_fit.scores, m.grand_mean, projection))


def _span_moments(t: Floats, block: Block, problem: GaussianProblem) -> ClassMoments:
    """Class moments of the coordinates."""
    structure = "pooled" if problem.shared else "full"
    moments = ClassMoments.empty(structure, len(problem.moments.weight), t.shape[1])
    codes: Ints | None = block.parts
    assert codes is not None
    moments.update(ArrayRows(t, None, block.w).with_parts(codes).block)
    return moments


def _outside(
    scores: object, center: Floats, projection: Floats
) -> class_scores.LinearScores | class_scores.ProjectedScores:
    """Scores of coordinates as scores of rows."""
    if isinstance(scores, class_scores.LinearScores):
        offset = scores.offset - scores.coef @ scores.center
        return class_scores.LinearScores(center, scores.coef @ projection.T, offset)
    assert isinstance(scores, class_scores.QuadraticScores)
    return class_scores.ProjectedScores(center, projection, scores)


# -------------------------------------------------------------------------------------------------
# Rows about the means of their classes, in units of the columns: Z = √w (x − mₖ)/s.
#
# Sparse rows are not filled in: the means are subtracted from products instead.
#
#     Z Zᵀ = √w (X Xᵀ − X Mᵀ − M Xᵀ + M Mᵀ) √w       with the mean of its class in each row of M


def gram(z: Floats) -> Floats:
    """Z Zᵀ in tiles of the symmetric half on threads, each by one thread."""
    n = len(z)
    out = np.empty((n, n))
    blocks = pieces(n, 16, 12)

    def one(tile: tuple[slice, slice]) -> None:
        a, b = tile
        out[a, b] = z[a] @ z[b].T
        if a is not b:
            out[b, a] = out[a, b].T

    parallel_map(one, [(a, b) for i, a in enumerate(blocks) for b in blocks[: i + 1]])
    return out


class DenseDeviations:
    """Z itself."""

    def __init__(
        self, x: Floats, codes: Ints, means: Floats, inverse: Floats, root: Floats
    ) -> None:
        self.z = (x - means[codes]) * inverse
        self.z *= root[:, None]

    def gram(self) -> Floats:
        """Z Zᵀ."""
        return gram(self.z)

    def products(self, vectors: Floats) -> Floats:
        """V Zᵀ for vectors as long as a row."""
        return np.asarray(vectors @ self.z.T)

    def combinations(self, weights: Floats) -> Floats:
        """A Z: sums of the rows with weights."""
        return np.asarray(weights @ self.z)


class SparseDeviations:
    """Z by the scaled rows X and the scaled means, which stay apart."""

    def __init__(self, x: Any, codes: Ints, means: Floats, inverse: Floats, root: Floats) -> None:
        self.x = sparse.csr_array(x.multiply(inverse[None, :]))
        self.codes, self.means, self.root = codes, means * inverse, root

    def gram(self) -> Floats:
        """Z Zᵀ."""
        n, d = self.x.shape
        out = row_gram(self.x, np.zeros(d), np.ones(d), np.ones(n))
        cross = np.asarray(self.x @ self.means.T)[:, self.codes]
        out -= cross
        out -= cross.T
        out += (self.means @ self.means.T)[self.codes][:, self.codes]
        out *= self.root
        out *= self.root[:, None]
        return out

    def products(self, vectors: Floats) -> Floats:
        """V Zᵀ for vectors as long as a row."""
        found = np.asarray(self.x @ vectors.T).T - (vectors @ self.means.T)[:, self.codes]
        return np.asarray(found * self.root)

    def combinations(self, weights: Floats) -> Floats:
        """A Z: sums of the rows with weights."""
        scaled = weights * self.root
        by_class = np.stack(
            [np.bincount(self.codes, row, minlength=len(self.means)) for row in scaled]
        )
        return np.asarray((self.x.T @ scaled.T).T - by_class @ self.means)


def center_rows(
    x: Matrix, codes: Ints, means: Floats, inverse: Floats, weights: Floats
) -> DenseDeviations | SparseDeviations:
    """Z for rows of classes ``codes`` with ``means``, ``inverse`` being 1/s."""
    root = np.sqrt(weights)
    if isinstance(x, np.ndarray):
        return DenseDeviations(x, codes, means, inverse, root)
    return SparseDeviations(x, codes, means, inverse, root)
