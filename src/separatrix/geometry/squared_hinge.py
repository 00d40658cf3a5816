"""Separability by least squares on violated rows: a hyperplane, or weights of a common point.

    min over w, t of ½ Σ max(0, 1 − s (w·x + t))²,      s = 1 for rows of a, −1 for rows of b

If the minimum is zero, its hyperplane separates the classes. If it is not, the slacks α of its rows
are the weights of a common point, because the gradient vanishes:

    Σ_a α x = Σ_b α x      and      Σ_a α = Σ_b α

Each Newton step is a least-squares problem over the rows that violate the margin, solved by
conjugate gradients: products with the rows, which may be sparse, are all that is needed. Work is
counted in multiplications, so that the answer does not depend on the speed of a machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.rows.block import Floats, Matrix

#: Newton steps at most.
MAX_STEPS = 200


@dataclass(frozen=True)
class HingeMinimum:
    """Where the descent ended: a hyperplane, the slacks of all rows, and the gradient's size.

    ``mismatch`` is the largest entry of the gradient as a fraction of the sum of slacks: how far
    the two convex combinations are from each other.
    """

    coef: Floats
    intercept: float
    slack: Floats
    mismatch: float
    work: float

    @property
    def separates(self) -> bool:
        """Whether every row has a positive score on its side."""
        return bool((self.slack < 1.0).all())


def minimize_squared_hinge(
    a: Matrix, b: Matrix, *, tolerance: float, budget: float
) -> HingeMinimum:
    """The minimum over rows of ``a`` and ``b``, for at most ``budget`` multiplications.

    Ends at the first hyperplane that separates, or when the combinations agree to ``tolerance``.
    """
    rows = signed_rows(a, b)
    transposed = rows.T.tocsr() if sparse.issparse(rows) else rows.T
    cost = float(rows.nnz if sparse.issparse(rows) else rows.size) + rows.shape[0]
    w = np.zeros(rows.shape[1])
    score, work = np.zeros(rows.shape[0]), 0.0
    for _ in range(MAX_STEPS):
        slack = np.maximum(1.0 - score, 0.0)
        gradient = -np.asarray(transposed @ slack)
        work += cost
        mismatch = float(np.abs(gradient).max()) / max(float(slack.sum()), np.finfo(float).tiny)
        found = HingeMinimum(w[1:], float(w[0]), slack, mismatch, work)
        if found.separates or mismatch <= tolerance or work > budget:
            return found
        violated = slack > 0.0
        accuracy = min(0.1, mismatch) * float(np.linalg.norm(gradient))
        step, used = _conjugate_gradients(
            rows, transposed, violated, gradient, accuracy, (budget - work) / (2.0 * cost)
        )
        work += 2.0 * cost * used
        move = np.asarray(rows @ step)
        work += cost
        t = _line_search(score, move)
        if not t > 0.0:
            return found
        w, score = w + t * step, score + t * move
    return found


def signed_rows(a: Matrix, b: Matrix) -> Matrix:
    """The rows s·(1, x)."""
    signs = np.concatenate([np.ones(a.shape[0]), -np.ones(b.shape[0])])[:, None]
    if sparse.issparse(a):
        return sparse.csr_array(sparse.hstack([sparse.csr_array(signs), sparse.vstack([a, -b])]))
    return np.hstack([signs, np.vstack([a, -b])])


def _conjugate_gradients(
    rows: Matrix,
    transposed: Matrix,
    violated: NDArray[np.bool_],
    gradient: Floats,
    accuracy: float,
    most: float,
) -> tuple[Floats, int]:
    """−H⁻¹ gradient with H = Σ over violated rows of x xᵀ, and the number of products used."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, size, used = residual.copy(), float(residual @ residual), 0
    while np.sqrt(size) > accuracy and used < most:
        product = np.asarray(rows @ direction) * violated
        curvature = float(product @ product)
        used += 1
        if not curvature > 1e-14 * float(direction @ direction):
            break
        length = size / curvature
        step = step + length * direction
        residual = residual - length * np.asarray(transposed @ product)
        size, before = float(residual @ residual), size
        direction = residual + (size / before) * direction
    return step, used


def _line_search(score: Floats, move: Floats) -> float:
    """The minimum over t ≥ 0 of ½ Σ max(0, 1 − score − t·move)², a piecewise quadratic."""
    slack = 1.0 - score
    with np.errstate(divide="ignore", invalid="ignore"):
        knots = slack / move
    inside = (move != 0.0) & (knots > 0.0) & np.isfinite(knots)
    order = np.argsort(np.where(inside, knots, np.inf), kind="stable")[: int(inside.sum())]
    active = (slack > 0.0) | ((slack == 0.0) & (move < 0.0))
    slope = -float((slack * move)[active].sum())  # derivative is slope + t·curvature
    curvature = float((move**2)[active].sum())
    sign = np.where(move[order] > 0.0, -1.0, 1.0)  # a row leaves where its score grows
    slopes = slope + np.concatenate([[0.0], np.cumsum(sign * -(slack * move)[order])])
    curvatures = curvature + np.concatenate([[0.0], np.cumsum(sign * (move**2)[order])])
    ends = np.append(knots[order], np.inf)
    with np.errstate(invalid="ignore"):
        zero = slopes + ends * np.maximum(curvatures, 0.0) >= 0.0
    piece = int(np.argmax(zero)) if zero.any() else len(ends) - 1
    if not curvatures[piece] > 0.0:
        return float(ends[piece - 1]) if piece else 1.0
    return float(max(-slopes[piece] / curvatures[piece], 0.0))
