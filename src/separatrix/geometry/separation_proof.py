"""Proof that two classes are linearly separable, or that they are not.

    separable:      w·a + t > 0 > w·b + t            for all rows a and b
    not separable:  Σ λ a = Σ μ b,  λ, μ ≥ 0,  Σλ = Σμ = 1

By the separation theorem exactly one of the two exists, whatever the units, so columns are scaled
to one range first. A hyperplane is accepted only if every row is strictly on its side: where
rounding leaves it open, scores are computed in exact rational arithmetic. So hulls that merely
touch are never called separable. A common point is a convex combination of at most d + 2 rows
(Carathéodory).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import linalg, sparse

from separatrix.geometry.min_norm_point import (
    EPS,
    NearestPoints,
    max_abs,
    midrange_and_half_range,
    nearest_points,
)
from separatrix.kernels.tiles import squared_norms
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints, Matrix, to_array

#: Largest difference of the two convex combinations of a common point, over the column's range.
AGREEMENT = 1e-9
#: Most distinct rows whose scores are computed exactly.
MAX_EXACT_ROWS = 4_000
#: Most iterations for the smallest mistake bound; one that holds is known before.
BOUND_ITERATIONS = 2_000


@dataclass(frozen=True)
class SeparatingHyperplane:
    """w·x + t ≥ 1 for the rows of a and ≤ −1 for those of b; ``margin`` is 1/‖w‖."""

    coef: Floats
    intercept: float
    margin: float


@dataclass(frozen=True)
class CommonPoint:
    """A point of both convex hulls, as convex combinations of rows of a and of rows of b.

    ``disagreement`` is the largest difference of the two combinations in a column, as a fraction
    of the column's range.
    """

    point: Floats
    rows_a: Ints
    weights_a: Floats
    rows_b: Ints
    weights_b: Floats
    disagreement: float


def separation_proof(a: Matrix, b: Matrix) -> SeparatingHyperplane | CommonPoint:
    """A separating hyperplane or a common point of two sets of rows (dense or CSR)."""
    center, half_range = midrange_and_half_range(a, b)
    scale = np.where(half_range > 0.0, half_range, 1.0)
    scaled_a, scaled_b = _transform(a, center, scale), _transform(b, center, scale)
    found = nearest_points(scaled_a, scaled_b)
    separated = _separating_hyperplane(a, b, found.normal / scale)
    if separated is not None:
        return separated
    common = _common_point(scaled_a, scaled_b, found)
    if common.disagreement > AGREEMENT:
        raise InputError(
            "Whether the classes are separable is beyond floating-point numbers here: their hulls "
            f"are {found.distance / found.scale:.1e} of their size apart, but no hyperplane "
            "written in floats in these units passes between them.",
            remedy="Subtract a constant from columns that are large but vary little.",
        )
    return replace(common, point=center + scale * common.point)


def _transform(x: Matrix, center: Floats | float, scale: Floats) -> Matrix:
    if sparse.issparse(x):
        return sparse.csr_array(x @ sparse.diags_array(1.0 / scale))
    return (x - center) / scale


# -- proof by a hyperplane ---------------------------------------------------------------------


def _separating_hyperplane(a: Matrix, b: Matrix, coef: Floats) -> SeparatingHyperplane | None:
    """The hyperplane normal to ``coef`` halfway between the classes, if it separates them."""
    low, high = float((a @ coef).min()), float((b @ coef).max())
    if not (np.isfinite(coef).all() and coef.any()):
        return None
    if low > high:
        coef = coef * (2.0 / (low - high))  # nearest rows: scores ±1
    score_a, score_b = a @ coef, b @ coef
    low, high = float(score_a.min()), float(score_b.max())
    reach = float(np.maximum(max_abs(a), max_abs(b)) @ np.abs(coef))
    rounding = 2.0 * (len(coef) + 2) * EPS * reach
    if high - low > 4.0 * rounding:
        return None
    threshold = low / 2 + high / 2
    if not low - high > 4.0 * rounding:
        near_a = _distinct_rows(a, np.flatnonzero(score_a <= low + 2.0 * rounding))
        near_b = _distinct_rows(b, np.flatnonzero(score_b >= high - 2.0 * rounding))
        if near_a is None or near_b is None:
            return None
        least, most = min(_exact_scores(near_a, coef)), max(_exact_scores(near_b, coef))
        threshold = float((least + most) / 2)
        if not least > Fraction(threshold) > most:
            return None
        low, high = float(least), float(most)
    margin = (low - high) / 2 / float(np.linalg.norm(coef))
    return SeparatingHyperplane(coef, -threshold, margin)


def _distinct_rows(x: Matrix, rows: Ints) -> Floats | None:
    """Distinct rows among these; None if they are too many to be computed exactly."""
    if len(rows) > 50 * MAX_EXACT_ROWS:
        return None
    found = np.unique(to_array(x[rows]), axis=0)
    return found if len(found) <= MAX_EXACT_ROWS else None


def _exact_scores(x: Floats, coef: Floats) -> list[Fraction]:
    """x·coef for every row in rational arithmetic, without rounding."""
    c = [Fraction(v) for v in coef.tolist()]
    return [
        sum((Fraction(v) * w for v, w in zip(row, c, strict=True) if v), Fraction(0))
        for row in x.tolist()
    ]


# -- proof by a common point -------------------------------------------------------------------


def _common_point(a: Matrix, b: Matrix, found: NearestPoints) -> CommonPoint:
    """Convex combinations of few rows that agree up to rounding."""
    points_a, points_b = to_array(a[found.rows_a]), to_array(b[found.rows_b])
    columns = np.block(
        [
            [points_a.T, -points_b.T],
            [np.ones((1, len(points_a))), np.zeros((1, len(points_b)))],
            [np.zeros((1, len(points_a))), np.ones((1, len(points_b)))],
        ]
    )
    weights = np.concatenate([found.weights_a, found.weights_b])
    support, weights = _caratheodory(columns, weights)
    first = support < len(points_a)
    rows_a, rows_b = found.rows_a[support[first]], found.rows_b[support[~first] - len(points_a)]
    weights_a, weights_b = weights[first], weights[~first]
    weights_a, weights_b = weights_a / weights_a.sum(), weights_b / weights_b.sum()
    mean_a, mean_b = weights_a @ to_array(a[rows_a]), weights_b @ to_array(b[rows_b])
    difference = float(np.abs(mean_a - mean_b).max(initial=0.0)) / 2
    return CommonPoint((mean_a + mean_b) / 2, rows_a, weights_a, rows_b, weights_b, difference)


def _caratheodory(columns: Floats, weights: Floats) -> tuple[Ints, Floats]:
    """Carathéodory's reduction to linearly independent columns.

    Along n with columns·n = 0 the combination is unchanged; the first weight that vanishes is
    dropped. The remaining system is solved once more, which removes accumulated rounding.
    """
    support = np.flatnonzero(weights > 0.0)
    weights = weights[support]
    target = np.zeros(len(columns))
    target[-2:] = 1.0
    _, values, right = linalg.svd(columns[:, support], check_finite=False)
    null_space = right[int((values > 1e-13 * values[0]).sum()) :].T  # orthonormal
    while null_space.shape[1]:
        null = null_space[:, 0] if null_space[:, 0].max() > 0 else -null_space[:, 0]
        ratio = np.where(null > 0, weights / np.where(null > 0, null, 1.0), np.inf)
        out = int(np.argmin(ratio))
        weights = np.maximum(weights - ratio[out] * null, 0.0)
        null_space = np.delete(_null_space_without(null_space, out), out, axis=0)
        support, weights = np.delete(support, out), np.delete(weights, out)
    refined = linalg.lstsq(columns[:, support], target, check_finite=False)[0]
    better = np.abs(columns[:, support] @ refined - target).max()
    if (refined >= 0.0).all() and better <= np.abs(columns[:, support] @ weights - target).max():
        weights = refined
    return support, weights


def _null_space_without(null_space: Floats, out: int) -> Floats:
    """An orthonormal basis of the null vectors that vanish at index ``out``.

    A Householder reflection moves row ``out`` into the first basis vector, which is dropped.
    """
    reflector = null_space[out].copy()
    reflector[0] += np.copysign(np.linalg.norm(reflector), reflector[0])
    reflector /= np.linalg.norm(reflector)
    return np.asarray(null_space - 2.0 * np.outer(null_space @ reflector, reflector))[:, 1:]


# -- mistake bound of the perceptron -----------------------------------------------------------


def mistake_bound(a: Matrix, b: Matrix, coef: Floats, intercept: float) -> float:
    """Novikoff's bound (R/γ)² on the mistakes of a perceptron that starts from zero.

    R is the largest norm of the rows (1, x), γ the margin of a hyperplane through the origin. Any
    separating hyperplane gives a valid bound; the minimum-norm point of the hull of ±(1, x) gives
    the smallest one.
    """
    signed = _signed_rows(a, b)
    radius = float(np.sqrt(squared_norms(signed).max()))
    weights = np.concatenate([[intercept], coef])
    margin = float((signed @ weights).min()) / float(np.linalg.norm(weights))
    origin = np.zeros((1, signed.shape[1]))
    origin = sparse.csr_array(origin) if sparse.issparse(a) else origin
    found = nearest_points(signed, origin, tolerance=1e-9, max_iter=BOUND_ITERATIONS)
    largest = float((signed @ found.normal).min())
    gamma = max(margin, largest if largest > 1e-12 * radius else 0.0)
    return (radius / gamma) ** 2 if gamma > 0.0 else np.inf


def _signed_rows(a: Matrix, b: Matrix) -> Matrix:
    """The rows (1, a) and −(1, b)."""
    signs = np.concatenate([np.ones(a.shape[0]), -np.ones(b.shape[0])])[:, None]
    if sparse.issparse(a):
        return sparse.csr_array(sparse.hstack([sparse.csr_array(signs), sparse.vstack([a, -b])]))
    return np.hstack([signs, np.vstack([a, -b])])
