"""A preconditioner for many classes: the diagonal blocks of the Hessian, one for each score.

    Hₖ = Σ w pₖ (1 − pₖ) z zᵀ + Q

from a sample of rows. Where that would cost more than some passes, all blocks are the Gram matrix
of the sample times the mean of pₖ (1 − pₖ).
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from separatrix.logistic.wide.softmax import ClassRows
from separatrix.optimize.newton import LinearSolver
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map

#: Columns up to which there are blocks, and multiplications that they may cost.
MAX_BLOCK, MAX_WORK = 600, 1e9
#: Part of the mean curvature that is added: what a sample of rows lacks.
DAMPING = 0.02


def class_blocks(rows: ClassRows, theta: Floats, ridge: Floats, weight: float) -> LinearSolver:
    """g ↦ H⁻¹g by blocks at θ; its last row belongs to the constant if it is longer than z."""
    (width, k), n = theta.shape, len(rows.x)
    exact = k * width**2 * max(4 * width, 500) <= MAX_WORK
    size = min(n, max(int(MAX_WORK / (k * width**2)), 500) if exact else max(4 * width, 2000))
    at = (np.arange(size) * (n / size)).astype(np.intp)
    sample = ClassRows(rows.x[at], rows.center, rows.scale, rows.codes[at], rows.w[at])
    z = sample.rows(slice(None))
    z = np.column_stack([z, np.ones(size)])[:, :width]
    scores = z @ theta
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    total = max(float(sample.w.sum()), np.finfo(float).tiny)
    curvature = (sample.w * (weight / total))[:, None] * p * (1.0 - p)
    means = curvature.sum(axis=0) / weight
    means += DAMPING * means.mean() + 1e-6
    if exact:
        inverses = np.array(
            parallel_map(lambda j: _inverse((z.T * curvature[:, j]) @ z, ridge), range(k))
        )
        return lambda g: np.asarray(np.matmul(inverses, g.T[:, :, None])[:, :, 0].T)
    gram = (z.T * (sample.w * (weight / total))) @ z
    inverse = _inverse(means.mean() * gram, ridge)
    return lambda g: np.asarray((inverse @ g) * (means.mean() / means))


def _inverse(block: Floats, ridge: Floats) -> Floats:
    diagonal = np.einsum("ii->i", block)
    diagonal += ridge + DAMPING * diagonal + 1e-6 * diagonal.mean() + np.finfo(float).tiny
    return np.asarray(linalg.inv(block, check_finite=False))
