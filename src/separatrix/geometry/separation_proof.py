"""Are two classes linearly separable? A hyperplane, or a point of both hulls, as the proof.

    separable:      w·a + t > 0 > w·b + t            for all rows a and b
    not separable:  Σ λ a = Σ μ b,  λ, μ ≥ 0,  Σλ = Σμ = 1

Exactly one of them exists, whatever the units, so columns are brought to one size first. A
hyperplane is accepted only if every row is on its side beyond all rounding: where products in
floats leave a doubt, the rows in question are computed in fractions. So hulls that merely touch
are never called separable. A common point is made of at most d + 2 rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import linalg, sparse

from separatrix.geometry.min_norm_point import EPS, NearestPoints, nearest_points
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints, Matrix

#: How closely the two means of a common point must agree, as a share of each column's range.
AGREE = 1e-9
#: Distinct rows that are computed in fractions at most.
EXACT = 4_000
#: Rounds spent on the best mistake bound; one that holds is known before.
SEARCH = 2_000


@dataclass(frozen=True)
class SeparatingHyperplane:
    """w·x + t is at least 1 for the rows of a, at most −1 for those of b; ``margin`` is 1/‖w‖."""

    coef: Floats
    intercept: float
    margin: float
    iterations: int


@dataclass(frozen=True)
class CommonPoint:
    """A point of both hulls: rows and weights of a and of b, and how far their means disagree.

    ``disagreement`` is the largest difference in a column, as a share of the column's range.
    """

    point: Floats
    rows_a: Ints
    weights_a: Floats
    rows_b: Ints
    weights_b: Floats
    disagreement: float
    iterations: int = 0


def separation_proof(a: Matrix, b: Matrix) -> SeparatingHyperplane | CommonPoint:
    """The proof for the rows of ``a`` against those of ``b`` (dense or CSR, the same columns)."""
    centre, scale = _even(a, b)
    even_a, even_b = _evened(a, centre, scale), _evened(b, centre, scale)
    found = nearest_points(even_a, even_b)
    separated = _separated(a, b, found.normal / scale, found.iterations)
    if separated is not None:
        return separated
    met = _intersection(even_a, even_b, found)
    if met.disagreement > AGREE:
        raise InputError(
            "Whether the classes are separable is beyond floating-point numbers here: their hulls "
            f"are apart by {found.distance / found.scale:.1e} of their size, but no hyperplane "
            "written in floats in these units passes between them.",
            remedy="Subtract a constant from columns that are large but vary little.",
        )
    return replace(met, point=centre + scale * met.point, iterations=found.iterations)


# -- columns of one size -----------------------------------------------------------------------


def _even(a: Matrix, b: Matrix) -> tuple[Floats, Floats]:
    """Middle and half range of every column; sparse columns are measured from zero."""
    if sparse.issparse(a):
        centre = np.zeros(a.shape[1])
        scale = np.maximum(_largest(a), _largest(b))
    else:
        low = np.minimum(a.min(axis=0), b.min(axis=0))
        high = np.maximum(a.max(axis=0), b.max(axis=0))
        centre, scale = low / 2 + high / 2, high / 2 - low / 2
    return centre, np.where(scale > 0.0, scale, 1.0)


def _largest(x: Matrix) -> Floats:
    size = abs(x).max(axis=0)
    return np.asarray(size.toarray() if sparse.issparse(size) else size).ravel()


def _evened(x: Matrix, centre: Floats, scale: Floats) -> Matrix:
    if sparse.issparse(x):
        return sparse.csr_array(x @ sparse.diags_array(1.0 / scale))
    return (x - centre) / scale


# -- proof by a hyperplane ---------------------------------------------------------------------


def _separated(a: Matrix, b: Matrix, coef: Floats, iterations: int) -> SeparatingHyperplane | None:
    """The hyperplane halfway between the classes along ``coef``, if it has all rows on its side."""
    low, high = float((a @ coef).min()), float((b @ coef).max())
    if not (np.isfinite(coef).all() and coef.any()):
        return None
    if low > high:
        coef = coef * (2.0 / (low - high))  # the nearest rows then have scores ±1
    score_a, score_b = a @ coef, b @ coef
    low, high = float(score_a.min()), float(score_b.max())
    reach = float(np.maximum(_largest(a), _largest(b)) @ np.abs(coef))
    rounding = 2.0 * (len(coef) + 2) * EPS * reach
    if high - low > 4.0 * rounding:
        return None
    threshold = low / 2 + high / 2
    if not low - high > 4.0 * rounding:
        near_a = _distinct(a, np.flatnonzero(score_a <= low + 2.0 * rounding))
        near_b = _distinct(b, np.flatnonzero(score_b >= high - 2.0 * rounding))
        if near_a is None or near_b is None:
            return None
        least, most = min(_exact(near_a, coef)), max(_exact(near_b, coef))
        threshold = float((least + most) / 2)
        if not least > Fraction(threshold) > most:
            return None
        low, high = float(least), float(most)
    margin = (low - high) / 2 / float(np.linalg.norm(coef))
    return SeparatingHyperplane(coef, -threshold, margin, iterations)


def _distinct(x: Matrix, rows: Ints) -> Floats | None:
    """The different ones among these rows; None if they are too many to be computed exactly."""
    if len(rows) > 50 * EXACT:
        return None
    part = x[rows]
    found = np.unique(part.toarray() if sparse.issparse(part) else part, axis=0)
    return found if len(found) <= EXACT else None


def _exact(x: Floats, coef: Floats) -> list[Fraction]:
    """x·coef for every row without rounding: floats are fractions."""
    c = [Fraction(v) for v in coef.tolist()]
    return [
        sum((Fraction(v) * w for v, w in zip(row, c, strict=True) if v), Fraction(0))
        for row in x.tolist()
    ]


# -- proof by a common point -------------------------------------------------------------------


def _intersection(a: Matrix, b: Matrix, found: NearestPoints) -> CommonPoint:
    """Weights on few rows whose means agree, refined to rounding."""
    points_a, points_b = _rows(a, found.rows_a), _rows(b, found.rows_b)
    columns = np.block(
        [
            [points_a.T, -points_b.T],
            [np.ones((1, len(points_a))), np.zeros((1, len(points_b)))],
            [np.zeros((1, len(points_a))), np.ones((1, len(points_b)))],
        ]
    )
    weights = np.concatenate([found.weights_a, found.weights_b])
    kept, weights = _few(columns, weights)
    first = kept < len(points_a)
    rows_a, rows_b = found.rows_a[kept[first]], found.rows_b[kept[~first] - len(points_a)]
    weights_a, weights_b = weights[first], weights[~first]
    weights_a, weights_b = weights_a / weights_a.sum(), weights_b / weights_b.sum()
    mean_a, mean_b = weights_a @ _rows(a, rows_a), weights_b @ _rows(b, rows_b)
    apart = float(np.abs(mean_a - mean_b).max(initial=0.0)) / 2
    return CommonPoint((mean_a + mean_b) / 2, rows_a, weights_a, rows_b, weights_b, apart)


def _few(columns: Floats, weights: Floats) -> tuple[Ints, Floats]:
    """Carathéodory: as long as the columns are dependent, one of them can be spared.

    Along a vector n with columns·n = 0 the sum stays put; the first weight to vanish on the way
    leaves. What is left is solved once more, which brings the sum to rounding.
    """
    kept = np.flatnonzero(weights > 0.0)
    weights = weights[kept]
    total = np.zeros(len(columns))
    total[-2:] = 1.0
    _, values, turned = linalg.svd(columns[:, kept], check_finite=False)
    free = turned[int((values > 1e-13 * values[0]).sum()) :].T  # orthonormal: columns·free = 0
    while free.shape[1]:
        null = free[:, 0] if free[:, 0].max() > 0 else -free[:, 0]
        ratio = np.where(null > 0, weights / np.where(null > 0, null, 1.0), np.inf)
        out = int(np.argmin(ratio))
        weights = np.maximum(weights - ratio[out] * null, 0.0)
        free = np.delete(_without(free, out), out, axis=0)
        kept, weights = np.delete(kept, out), np.delete(weights, out)
    refined = linalg.lstsq(columns[:, kept], total, check_finite=False)[0]
    better = np.abs(columns[:, kept] @ refined - total).max()
    if (refined >= 0.0).all() and better <= np.abs(columns[:, kept] @ weights - total).max():
        weights = refined
    return kept, weights


def _without(free: Floats, out: int) -> Floats:
    """The directions of an orthonormal basis that leave weight ``out`` alone: one fewer.

    A reflection turns the others' part in it into the first direction, which goes.
    """
    mirror = free[out].copy()
    mirror[0] += np.copysign(np.linalg.norm(mirror), mirror[0])
    mirror /= np.linalg.norm(mirror)
    return np.asarray(free - 2.0 * np.outer(free @ mirror, mirror))[:, 1:]


def _rows(x: Matrix, rows: Ints) -> Floats:
    part = x[rows]
    return np.asarray(part.toarray() if sparse.issparse(part) else part)


# -- the perceptron's bound --------------------------------------------------------------------


def mistake_bound(a: Matrix, b: Matrix, coef: Floats, intercept: float) -> float:
    """(R/γ)² over rows (1, x): no perceptron that starts from zero makes more mistakes.

    R is the greatest length of a row, γ the greatest least distance from a hyperplane through the
    origin. A γ that some hyperplane is seen to reach gives a bound that holds; the nearest point
    of the hull of ±(1, x) to the origin gives the best one.
    """
    signed = _signed(a, b)
    length = float(np.sqrt(_squares(signed).max()))
    given = np.concatenate([[intercept], coef])
    reached = float((signed @ given).min()) / float(np.linalg.norm(given))
    origin = np.zeros((1, signed.shape[1]))
    origin = sparse.csr_array(origin) if sparse.issparse(a) else origin
    found = nearest_points(signed, origin, enough=1e-9, max_iter=SEARCH)
    seen = float((signed @ found.normal).min())
    gamma = max(reached, seen if seen > 1e-12 * length else 0.0)
    return (length / gamma) ** 2 if gamma > 0.0 else np.inf


def _signed(a: Matrix, b: Matrix) -> Matrix:
    """(1, a) and −(1, b), one below the other."""
    if sparse.issparse(a):
        ones = np.concatenate([np.ones(a.shape[0]), -np.ones(b.shape[0])])
        rows = sparse.hstack([sparse.csr_array(ones[:, None]), sparse.vstack([a, -b])])
        return sparse.csr_array(rows)
    signed = np.empty((len(a) + len(b), a.shape[1] + 1))
    signed[: len(a), 0], signed[len(a) :, 0] = 1.0, -1.0
    signed[: len(a), 1:] = a
    np.negative(b, out=signed[len(a) :, 1:])
    return signed


def _squares(x: Matrix) -> Floats:
    if sparse.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", x, x))
