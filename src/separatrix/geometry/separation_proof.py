"""Proof that two classes are linearly separable, or that they are not.

    separable:      w·a + t > 0 > w·b + t            for all rows a and b
    not separable:  Σ λ a = Σ μ b,  λ, μ ≥ 0,  Σλ = Σμ = 1

By the separation theorem exactly one of the two exists, whatever the units, so columns are scaled
to one range first. A hyperplane is accepted only if every row is strictly on its side: where
rounding leaves it open, scores are computed in exact rational arithmetic. So hulls that merely
touch are never called separable. A common point is a convex combination of at most d + 2 rows
(Carathéodory). It is accepted if its weights are so far above zero that no rounding could make one
negative, or after an exact linear program over the rows that decide; in many columns, up to
rounding errors, and said to be so.

Up to ``MAX_WOLFE_COLUMNS`` columns the nearest points of the hulls are found first, with the
hyperplane of maximum margin; in more columns, often sparse ones, least squares on violated rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import sparse

from separatrix.geometry.common_point import CommonPoint, combinations, common_point
from separatrix.geometry.exact_separation import exact_weights_or_direction
from separatrix.geometry.min_norm_point import (
    EPS,
    NearestPoints,
    max_abs,
    midrange_and_half_range,
    nearest_points,
)
from separatrix.geometry.squared_hinge import HingeMinimum, minimize_squared_hinge
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints, Matrix, to_array

#: Largest difference of the two convex combinations of a common point, over the column's range.
AGREEMENT = 1e-9
#: Most distinct rows whose scores are computed exactly.
MAX_EXACT_ROWS = 4_000
#: Columns up to which the nearest points of the hulls are sought first.
MAX_WOLFE_COLUMNS = 1_000
#: Multiplications that a proof may cost; beyond, the answer is that there is none.
MAX_WORK = 1e10
#: Columns up to which close calls are decided by an exact linear program, and its rounds.
MAX_EXACT_COLUMNS, EXACT_ROUNDS = 20, 30


@dataclass(frozen=True)
class SeparatingHyperplane:
    """w·x + t ≥ 1 for the rows of a and ≤ −1 for those of b; ``margin`` is 1/‖w‖."""

    coef: Floats
    intercept: float
    margin: float


@dataclass(frozen=True)
class Undecided:
    """Neither was found within the work allowed; the hulls are at most ``distance`` apart.

    The distance is a fraction of the size of the rows, every column scaled to the same range.
    """

    distance: float
    work: float

    def refusal(self) -> InputError:
        """For callers that need an answer."""
        return InputError(
            f"Whether the classes are separable was not decided in {self.work:.1g} multiplications "
            f"(their hulls are at most {self.distance:.1e} of their size apart).",
            remedy="Use a finite C, or fewer columns.",
        )


def separation_proof(
    a: Matrix, b: Matrix, *, max_work: float = MAX_WORK
) -> SeparatingHyperplane | CommonPoint | Undecided:
    """A separating hyperplane or a common point of two sets of rows (dense or CSR)."""
    center, half_range = midrange_and_half_range(a, b)
    scale = np.where(half_range > 0.0, half_range, 1.0)
    scaled_a, scaled_b = _transform(a, center, scale), _transform(b, center, scale)
    if a.shape[1] > MAX_WOLFE_COLUMNS:
        tolerance, budget = AGREEMENT / 10.0, max_work / 2.0
        least = minimize_squared_hinge(scaled_a, scaled_b, tolerance=tolerance, budget=budget)
        proof = _by_least_squares(a, b, scaled_a, scaled_b, scale, least)
        if proof is not None:
            return _in_units(proof, center, scale)
        max_work -= least.work
    found = nearest_points(scaled_a, scaled_b, max_work=max_work)
    with np.errstate(over="ignore", under="ignore"):
        separated = _separating_hyperplane(a, b, found.normal / scale)
    if separated is not None:
        return separated
    if found.work >= max_work:
        return Undecided(found.distance / found.scale, max_work)
    common = common_point(scaled_a, scaled_b, found)
    if not common.proved and a.shape[1] <= MAX_EXACT_COLUMNS:
        return _exact_proof(a, b, common)
    return _in_units(_agreeing(common, found), center, scale)


def _in_units(
    proof: SeparatingHyperplane | CommonPoint, center: Floats | float, scale: Floats
) -> SeparatingHyperplane | CommonPoint:
    if isinstance(proof, SeparatingHyperplane):
        return proof
    return replace(proof, point=center + scale * proof.point)


def _agreeing(common: CommonPoint, found: NearestPoints) -> CommonPoint:
    """The common point, or a refusal where its combinations do not agree."""
    if common.disagreement > AGREEMENT:
        raise InputError(
            "Whether the classes are separable is beyond floating-point numbers here: their hulls "
            f"are {found.distance / found.scale:.1e} of their size apart, but no hyperplane "
            "written in floats in these units passes between them.",
            remedy="Subtract a constant from columns that are large but vary little.",
        )
    return common


def _by_least_squares(
    a: Matrix, b: Matrix, scaled_a: Matrix, scaled_b: Matrix, scale: Floats, found: HingeMinimum
) -> SeparatingHyperplane | CommonPoint | None:
    """What a minimum of the squared hinge loss proves, if anything."""
    if found.separates:
        return _separating_hyperplane(a, b, found.coef / scale)
    if found.mismatch > AGREEMENT:
        return None
    slack_a, slack_b = found.slack[: a.shape[0]], found.slack[a.shape[0] :]
    rows_a, rows_b = np.flatnonzero(slack_a), np.flatnonzero(slack_b)
    weights_a, weights_b = slack_a[rows_a], slack_b[rows_b]
    weights_a, weights_b = weights_a / weights_a.sum(), weights_b / weights_b.sum()
    common = combinations(scaled_a, scaled_b, rows_a, weights_a, rows_b, weights_b)
    return common if common.disagreement <= AGREEMENT else None


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
    margin = (low - high) / 2 / _norm(coef)
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


# -- close calls --------------------------------------------------------------------------------


def _exact_proof(a: Matrix, b: Matrix, near: CommonPoint) -> SeparatingHyperplane | CommonPoint:
    """An exact linear program over the rows of ``near``, and those that its answer violates."""
    rows_a, rows_b = near.rows_a, near.rows_b
    for _ in range(EXACT_ROUNDS):
        some_a, some_b = to_array(a[rows_a]), to_array(b[rows_b])
        weights, direction = exact_weights_or_direction(some_a, some_b)
        if weights is not None:
            weights_a, weights_b = weights[: len(rows_a)], weights[len(rows_a) :]
            keep_a, keep_b = weights_a > 0.0, weights_b > 0.0
            rows_a, weights_a = rows_a[keep_a], weights_a[keep_a]
            rows_b, weights_b = rows_b[keep_b], weights_b[keep_b]
            point = (weights_a @ to_array(a[rows_a]) + weights_b @ to_array(b[rows_b])) / 2.0
            return CommonPoint(point, rows_a, weights_a, rows_b, weights_b, 0.0, proved=True)
        assert direction is not None
        separated = _separating_hyperplane(a, b, direction)
        if separated is not None:
            return separated
        new_a = np.setdiff1d(np.argsort(a @ direction, kind="stable")[:4], rows_a)
        new_b = np.setdiff1d(np.argsort(-(b @ direction), kind="stable")[:4], rows_b)
        if not len(new_a) + len(new_b):
            break
        rows_a, rows_b = np.concatenate([rows_a, new_a]), np.concatenate([rows_b, new_b])
    raise InputError(
        "Whether the classes are separable is beyond floating-point numbers here: no hyperplane "
        "written in floats in these units passes between rows that are this close.",
        remedy="Subtract a constant from columns that are large but vary little.",
    )


def _norm(v: Floats) -> float:
    """The Euclidean norm, also where squares would overflow or underflow."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else 0.0
