"""Fewer rows than columns: class densities through the n x n side, in memory of n x d.

One covariance for all classes, from rows z about their class means in standard deviations D:

    G = Z Zᵀ = U Λ Uᵀ,     Σ⁺ = D⁻¹ Zᵀ U Λ⁻² Uᵀ Z D⁻¹

Other structures are fitted to coordinates of the rows in their span, (x − c) D⁻¹ V with orthonormal
V: shrinkage towards σ²I is the same outside the span for all classes, so that their comparison is
unchanged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.discriminant.centered_rows import DenseRows, centered_rows
from separatrix.discriminant.class_covariances import fit_matrices, unused_columns
from separatrix.discriminant.gaussian_problem import (
    GaussianFit,
    GaussianProblem,
    mean_variance,
    total_standardizer,
)
from separatrix.geometry.class_scores import (
    LinearScores,
    ProjectedScores,
    QuadraticScores,
)
from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, Ints, to_array
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.standardizer import EPS, zero_if_constant

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


def filled_in(block: Block) -> Block:
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
        found = _shared(problem, block)
        if found is not None:
            return found
    return _in_span(problem, block)


def _shared(problem: GaussianProblem, block: Block) -> GaussianFit | None:
    """One covariance: directions of a deviation above ``tol`` are compared, as in scikit-learn."""
    m = problem.moments
    codes = block.parts
    assert codes is not None
    total = total_standardizer(m.within + m.between, m.grand_mean)
    known = np.abs(m.grand_mean) + np.where(total.scale > 0.0, total.scale, 1.0)
    within = zero_if_constant(np.sqrt(np.maximum(m.within, 0.0)), known)
    inverse = np.divide(1.0, within, out=np.zeros_like(within), where=within > 0)
    z = centered_rows(block.x, codes, m.mean, inverse, block.weights / m.weight.sum())
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
    scores = LinearScores(center, coef[:k], offset, coef[k])
    condition = float(values.max() / values.min())
    unused = unused_columns(problem, None, len(values))
    return GaussianFit(scores, m.within, len(values), condition, error, unused=unused)


def _in_span(problem: GaussianProblem, block: Block) -> GaussianFit:
    """Any structure, fitted to coordinates in the span of the rows."""
    m, x, shrinkage = problem.moments, np.asarray(filled_in(block).x), problem.shrinkage
    standardizer = total_standardizer(m.within + m.between, m.grand_mean)
    inverse = standardizer.inverse_scale
    if shrinkage.ridge:  # ρ I is meant in the units of the columns
        inverse = (inverse > 0.0).astype(np.float64)
    whole = np.zeros(len(x), dtype=np.int64)
    rows = DenseRows(x, whole, m.grand_mean[None], inverse, np.ones(len(x)))
    values, vectors = np.linalg.eigh(rows.gram())
    nonzero = values > 10 * max(x.shape) * EPS * max(float(values[-1]), np.finfo(float).tiny)
    values, vectors = values[nonzero], vectors[:, nonzero]
    projection = (rows.z.T @ (vectors / np.sqrt(values))) * inverse[:, None]
    moments = _span_moments(vectors * np.sqrt(values), block, problem)
    pooled = moments.within
    own = pooled[None] if problem.shared else moments.covariances
    variance = mean_variance(m.within, standardizer)
    given = shrinkage.own_weight * own + shrinkage.beta * pooled
    given = given + shrinkage.alpha * variance * np.eye(len(pooled))
    given = (1.0 - shrinkage.ridge) * given + shrinkage.ridge * np.eye(len(pooled))
    inside = replace(problem, moments=moments, given=given, tol=None)
    found = fit_matrices(inside)
    return replace(found, scores=_outside(found.scores, m.grand_mean, projection))


def _span_moments(t: Floats, block: Block, problem: GaussianProblem) -> ClassMoments:
    """Class moments of the coordinates."""
    structure = "pooled" if problem.shared else "full"
    moments = ClassMoments.empty(structure, len(problem.moments.weight), t.shape[1])
    codes: Ints | None = block.parts
    assert codes is not None
    moments.update(ArrayRows(t, None, block.w).with_parts(codes).block)
    return moments


def _outside(scores: object, center: Floats, projection: Floats) -> LinearScores | ProjectedScores:
    """Scores of coordinates as scores of rows."""
    if isinstance(scores, LinearScores):
        offset = scores.offset - scores.coef @ scores.center
        return LinearScores(center, scores.coef @ projection.T, offset)
    assert isinstance(scores, QuadraticScores)
    return ProjectedScores(center, projection, scores)
