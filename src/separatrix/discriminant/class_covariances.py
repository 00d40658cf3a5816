"""Gaussian class densities from class moments: covariances shrunk, whitened and checked.

    Σₖ = α σ² diag(s²) + β S + (1 − α − β) Sₖ + ρ I

Sₖ is the maximum-likelihood covariance of class k, S the pooled one, s the standard deviations of
the columns over all rows and σ² the mean within-class variance of the standardized columns. In
standardized columns the first target is σ²I, so shrinkage towards it does not depend on units; ρ I
does, by definition.
"""

from __future__ import annotations

import numpy as np

from separatrix.discriminant.gaussian_problem import (
    CovarianceShrinkage,
    GaussianFit,
    GaussianProblem,
    SingularCovarianceError,
    mean_variance,
    scale_or_one,
    total_standardizer,
)
from separatrix.discriminant.shared_cholesky import all_above, fit_shared
from separatrix.discriminant.whitening import triangular_maps, whiten
from separatrix.geometry.class_scores import ClassScores, LinearScores, QuadraticScores
from separatrix.rows.block import Floats, Ints
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.standardizer import EPS, Standardizer, zero_if_constant

#: Distance of class means, in standard deviations within classes, at which normal classes do not
#: overlap: 3 rows in ten million are on the wrong side of the middle.
SEPARATED = 10.0
#: Part of the largest weight in a direction up to which a column is not named.
SMALL_PART = 0.1
REMEDY = (
    "Use RegularizedDiscriminantAnalysis, which shrinks it towards what the classes have in common "
    "(as do alpha, beta, shrinkage or reg_param above 0), share one covariance, or give fewer "
    "columns."
)


def fit_matrices(problem: GaussianProblem) -> GaussianFit:
    """Scores and covariances of classes with full covariance matrices."""
    m, shared = problem.moments, problem.shared
    standardizer = total_standardizer(np.diag(m.within + m.between), m.grand_mean)
    unit = scale_or_one(standardizer)
    covariance = problem.given
    if covariance is None:
        covariance = shrunk_covariances(m, problem.shrinkage, standardizer, shared)
    found = fit_shared(problem, covariance[0]) if shared else None
    if found is not None:
        return found
    basis = _basis(problem, standardizer, covariance)
    present = covariance
    if not shared and (m.weight == 0).any():  # a class without rows has the pooled covariance
        present = np.where((m.weight > 0)[:, None, None], covariance, m.within)
    elif problem.shrinkage.own_weight == 0.0:  # all are equal: one is decomposed
        present = covariance[:1]
    inner = _in_basis(present, basis)
    rounding = 4 * EPS * np.abs(basis).T @ (np.abs(m.grand_mean) + unit)
    white = whiten(inner, rounding)
    degenerate = bool(white.singular.any())
    if degenerate and not shared:
        raise _singular(int(np.argmax(white.singular)), problem, basis.shape[1])
    maps = _from_basis(white.maps, basis)
    maps = maps if shared else triangular_maps(maps)
    if not shared and len(maps) < len(m.weight):
        maps = np.repeat(maps, len(m.weight), axis=0)
    scores: ClassScores
    if shared:
        scores = linear_scores(problem, maps[0])
    else:
        white_means = ((problem.means - m.grand_mean)[:, None, :] @ maps)[:, 0, :]
        offset = problem.log_priors - white.log_volume + _log_volume_of(basis)
        scores = QuadraticScores(m.grand_mean, maps, white_means, offset)
    covariance = covariance[0] if shared else covariance
    rank = basis.shape[1]
    unused = () if problem.tol is None or degenerate else unused_columns(problem, covariance, rank)
    return GaussianFit(scores, covariance, rank, white.condition, white.error, degenerate, unused)


def unused_columns(
    problem: GaussianProblem, covariance: Floats | None, rank: int
) -> tuple[str, ...]:
    """Columns of a direction left out for its want of spread, though class means differ there.

    They differ by more than SEPARATED standard deviations within classes (or roundings of one), so
    that the direction tells classes apart without error. Classes of a single row cannot vary and do
    not count, nor do combinations of columns where rows are too few for all of them to vary.
    Without ``covariance`` only single columns are looked at.
    """
    m = problem.moments
    several = m.count > 1
    variances = m.within if m.within.ndim == 1 else np.diag(m.within)
    between = m.between if m.between.ndim == 1 else np.diag(m.between)
    total = total_standardizer(variances + between, m.grand_mean)
    within = np.sqrt(np.maximum(variances, 0.0))
    within = zero_if_constant(within, np.abs(m.grand_mean) + scale_or_one(total))
    varies = within > 0.0
    means = m.mean[several] - m.grand_mean
    gap = zero_if_constant(np.ptp(means, axis=0), np.abs(m.grand_mean)) if len(means) else within
    found = np.flatnonzero(~varies & (gap > 0.0))
    if not len(found) and covariance is not None and rank < min(varies.sum(), _freedom(m)):
        unit = within[varies]
        inner = covariance[np.ix_(varies, varies)] / unit / unit[:, None]
        values, vectors = np.linalg.eigh(inner)
        values, vectors = values[: len(unit) - rank], vectors[:, : len(unit) - rank]
        means = (means[:, varies] / unit) @ vectors
        direction = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][0]
        spread = np.sqrt(max(float(values @ direction**2), 10 * len(unit) * EPS))
        if np.ptp(means @ direction) > SEPARATED * spread:
            weights = np.abs(vectors @ direction)
            found = np.flatnonzero(varies)[weights > SMALL_PART * weights.max()]
    return tuple(problem.column_names[j] for j in found)


def _freedom(m: ClassMoments) -> int:
    """The most directions in which rows can differ from their class means."""
    return int(m.count.sum() - np.count_nonzero(m.count))


def linear_scores(problem: GaussianProblem, whitening: Floats) -> LinearScores:
    """Scores of classes with one covariance Σ: A Aᵀ = Σ⁻¹ for the map A (d x r)."""
    center = problem.center
    white = (problem.means - center) @ whitening
    offset = problem.log_priors - 0.5 * np.einsum("kr,kr->k", white, white)
    return LinearScores(center, white @ whitening.T, offset, center @ whitening @ whitening.T)


def _log_volume_of(basis: Floats) -> float:
    """ln of the volume that the columns of the basis span."""
    at, factor = _selection(basis)
    if at is None:
        factor = np.diag(np.linalg.qr(basis).R) if basis.size else np.ones(1)
    return float(np.log(np.abs(factor)).sum())


def _basis(problem: GaussianProblem, standardizer: Standardizer, covariance: Floats) -> Floats:
    """d x r: the map to the coordinates in which classes are compared."""
    m = problem.moments
    within = np.sqrt(np.maximum(np.diag(m.within), 0.0))
    within = zero_if_constant(within, np.abs(m.grand_mean) + scale_or_one(standardizer))
    if problem.tol is not None:
        basis = _varying_basis(covariance[0], within, problem.tol)
        if basis.shape[1]:  # else no class varies at all, and the means decide
            return basis
    elif problem.given is not None:  # what was estimated may vary where the rows do not
        scale = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2).mean(axis=0))
        scale = np.where(scale > 0.0, scale, standardizer.scale)
        return span_basis(m, Standardizer(m.grand_mean, scale), whole=True)
    return span_basis(
        m,
        Standardizer(m.grand_mean, np.where(within > 0.0, within, standardizer.scale)),
        whole=bool(problem.shrinkage.alpha or problem.shrinkage.ridge),
    )


def _varying_basis(covariance: Floats, within: Floats, tol: float) -> Floats:
    """Directions in which columns scaled to unit variance have a deviation above ``tol``."""
    varies = within > 0.0
    axes = np.diag(1.0 / np.where(varies, within, 1.0))[:, varies]
    values, vectors = np.linalg.eigh(axes.T @ covariance @ axes)
    significant = values > max(tol**2, 10 * len(within) * EPS)
    return axes if significant.all() else axes @ vectors[:, significant]


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
