"""A common point of two convex hulls, as convex combinations of few rows (Carathéodory)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from separatrix.geometry.min_norm_point import EPS, NearestPoints
from separatrix.rows.block import Floats, Ints, Matrix, to_array


@dataclass(frozen=True)
class CommonPoint:
    """A point of both convex hulls, as convex combinations of rows of a and of rows of b.

    ``disagreement`` is the largest difference of the two combinations in a column, as a fraction
    of the column's range. If ``proved``, some weights of the same rows agree without rounding.
    """

    point: Floats
    rows_a: Ints
    weights_a: Floats
    rows_b: Ints
    weights_b: Floats
    disagreement: float
    proved: bool = False


def common_point(a: Matrix, b: Matrix, found: NearestPoints) -> CommonPoint:
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
    common = combinations(a, b, rows_a, weights_a, rows_b, weights_b)
    return replace(common, proved=_weights_are_positive(columns[:, support], weights))


def combinations(
    a: Matrix, b: Matrix, rows_a: Ints, weights_a: Floats, rows_b: Ints, weights_b: Floats
) -> CommonPoint:
    """The point of two convex combinations, and their difference."""
    mean_a = np.asarray(a[rows_a].T @ weights_a)
    mean_b = np.asarray(b[rows_b].T @ weights_b)
    difference = float(np.abs(mean_a - mean_b).max(initial=0.0)) / 2
    return CommonPoint((mean_a + mean_b) / 2, rows_a, weights_a, rows_b, weights_b, difference)


def _weights_are_positive(columns: Floats, weights: Floats) -> bool:
    """Whether the weights that solve the system exactly are positive, whatever rounding did.

    For a square system: they differ from ``weights`` by at most ‖M⁻¹‖ times the residual and the
    rounding of the rows, which are at most 1 in size.
    """
    m = len(columns)
    if columns.shape[1] != m:
        return False
    try:
        inverse = np.abs(linalg.inv(columns, check_finite=False)).sum(axis=1)
    except linalg.LinAlgError:
        return False
    target = np.zeros(m)
    target[-2:] = 1.0
    residual = float(np.abs(columns @ weights - target).max()) + 16.0 * EPS * m
    return bool((weights > 2.0 * inverse * residual).all() and inverse.max() * EPS * m < 0.01)


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
