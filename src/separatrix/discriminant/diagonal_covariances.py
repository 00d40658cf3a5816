"""Class densities with diagonal or spherical covariances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.discriminant.gaussian_problem import (
    FLOOR,
    GaussianFit,
    GaussianProblem,
    SingularCovarianceError,
    mean_variance,
    scale_or_one,
    total_standardizer,
)
from separatrix.geometry.class_scores import ClassScores, DiagonalScores, LinearScores
from separatrix.rows.block import Floats
from separatrix.statistics.standardizer import EPS, Standardizer, zero_if_constant


def fit_diagonals(problem: GaussianProblem) -> GaussianFit:
    """Scores and variances of classes with diagonal or spherical covariances."""
    m, shrinkage, means = problem.moments, problem.shrinkage, problem.means
    shared, spherical = problem.shared, problem.covariance.endswith("spherical")
    pooled = np.maximum(m.within, 0.0)  # rounding: weights of which one is nearly all
    total = pooled + m.between
    own = np.tile(pooled, (len(means), 1)) if shared else np.maximum(m.covariances, 0.0)
    standardizer = total_standardizer(total, m.grand_mean)
    if spherical:
        any_varies = bool((standardizer.scale > 0.0).any())
        standardizer = Standardizer(m.grand_mean, np.full(len(m.grand_mean), float(any_varies)))
        total, pooled, own = (_column_mean(v) for v in (total, pooled, own))
    varies, unit = standardizer.scale > 0.0, scale_or_one(standardizer)
    target = mean_variance(pooled, standardizer) * unit**2
    variance = shrinkage.own_weight * own + shrinkage.beta * pooled + shrinkage.alpha * target
    if problem.added is not None:
        variance = _raised(variance, m.weight, total, means) + problem.added
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
    scores: ClassScores
    if shared:
        scores = _linear_scores(problem, inverse[0])
    else:
        log_volume = np.log(np.where(varies, np.sqrt(used), 1.0)).sum(axis=1)
        scores = DiagonalScores(means, inverse, problem.log_priors - log_volume)
    condition = float((ratio.max(axis=1, initial=1.0) / ratio.min(axis=1, initial=1.0)).max())
    covariance = variance[0] if shared else variance
    rank, degenerate = int(varies.sum()), bool(constant.any())
    return GaussianFit(scores, covariance, rank, condition, 0.0, degenerate)


def _linear_scores(problem: GaussianProblem, inverse: Floats) -> LinearScores:
    """Scores of classes with the same standard deviations, given by their inverse."""
    center = problem.center
    white = (problem.means - center) * inverse
    offset = problem.log_priors - 0.5 * np.einsum("kd,kd->k", white, white)
    return LinearScores(center, white * inverse, offset, center * inverse**2)


def _column_mean(variance: Floats) -> Floats:
    """The mean variance in place of each column's."""
    return np.repeat(variance.mean(axis=-1, keepdims=True), variance.shape[-1], axis=-1)


def _constant(variance: Floats, total: Floats, means: Floats) -> NDArray[np.bool_]:
    """Where a class does not vary beyond rounding errors of its mean."""
    deviation = np.sqrt(np.maximum(variance, 0.0))
    constant = (zero_if_constant(deviation, means) == 0.0) | (variance <= EPS**2 * total)
    return np.asarray(constant)


def _raised(variance: Floats, weight: Floats, total: Floats, means: Floats) -> Floats:
    """Variances, with s²/(n + 1) where the n rows of a class agree: one more row may be any row.

    A class whose n rows agree shows that fewer than about one row in n differ, and no more: its
    variance is that of n equal rows and one that is drawn from all rows, whose variance is s².
    """
    raised = total / (weight[:, None] + 1.0)
    return np.where(_constant(variance, total, means), raised, variance)
