"""Preconditioners from a sample of rows: the Hessian, or its diagonal blocks for many scores.

    H = Σ w (diag p − p pᵀ) ⊗ z zᵀ + Q

Where also the blocks would cost more than some passes, all are the Gram matrix of the sample times
the mean of pₖ (1 − pₖ).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import linalg

from separatrix.optimize.newton import LinearSolver, cholesky_solver
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: Columns up to which there are blocks, and multiplications that they may cost.
MAX_BLOCK, MAX_WORK = 600, 1e9
#: Parameters up to which the Hessian is a full matrix, and multiplications that it may cost.
MAX_FULL, FULL_WORK = 700, 4e8
#: Rows of a sample for each column of a full Hessian: with fewer it would not resemble that of all.
MIN_ROWS = 6
#: Part of the curvature that is added to blocks, and to the Hessian: what a sample lacks.
DAMPING, LITTLE = 0.02, 1e-8
#: Rows that are worth a thread, and the part of the mean curvature that rows are drawn by at least.
MIN_PIECE, EVEN = 1000, 0.1
#: Least part of the mean curvature in a column: a sample may lack the rows where it varies.
LEAST_PART = 0.2
#: Mean curvature of a row that is assumed at least.
LEAST_CURVATURE = 1e-4


class SampledRows(Protocol):
    """Standardized rows of which some may be taken."""

    x: Any
    w: Floats

    def rows(self, here: Any, number: Any = np.float64) -> Floats:
        """Some rows of z."""
        ...


def sampled_hessian(
    rows: SampledRows,
    theta: Floats,
    scores: Floats,
    ridge: Floats,
    weight: float,
    more: float,
) -> LinearSolver:
    """g ↦ H⁻¹g at θ; its last row belongs to the constant if it is longer than z.

    ``scores`` (n x scores) are empty where they are not known; ``more`` times the usual rows of a
    full matrix are sampled.
    """
    width, k = theta.shape
    parameters = width * k
    if parameters <= MAX_FULL:
        size = int(more * max(FULL_WORK / parameters**2, MIN_ROWS * width))
        z, p, w = _sample(rows, size, theta, scores, weight)
        return _full(z, p, w, ridge, weight)
    exact = k * width**2 * max(4 * width, 500) <= MAX_WORK
    size = max(int(MAX_WORK / (k * width**2)), 500) if exact else max(4 * width, 2000)
    z, p, w = _sample(rows, size, theta, scores, weight)
    curvature = w[:, None] * p * (1.0 - p)
    if exact:
        inverses = np.array(
            parallel_map(lambda j: _inverse((z.T * curvature[:, j]) @ z, ridge), range(k))
        )
        return lambda g: np.asarray(np.matmul(inverses, g.T[:, :, None])[:, :, 0].T)
    means = curvature.sum(axis=0) / weight
    means += DAMPING * means.mean() + 1e-6
    inverse = _inverse(means.mean() * ((z.T * w) @ z), ridge)
    return lambda g: np.asarray((inverse @ g) * (means.mean() / means))


def _sample(
    rows: SampledRows, size: int, theta: Floats, scores: Floats, weight: float
) -> tuple[Floats, Floats, Floats]:
    """z with its constant, probabilities at θ, and weights with the sum of all rows'.

    Rows are drawn evenly along the sum of their curvatures and weighted inversely: near separable
    classes few rows have any.
    """
    n, w, at = len(rows.w), rows.w, np.arange(len(rows.w))
    if size < n:
        curvature = w * _curvatures(rows, theta, scores)
        curvature += EVEN * curvature.mean() * (w > 0.0)
        total = np.cumsum(curvature)
        at = np.searchsorted(total, (np.arange(size) + 0.5) * (total[-1] / size))
        at = np.minimum(at, n - 1)
        w = w[at] / np.maximum(curvature[at], np.finfo(float).tiny)
    z = rows.rows(at)
    z = np.column_stack([z, np.ones(len(z))])[:, : len(theta)]
    p = _probabilities(z @ theta)
    return z, p, w * (weight / max(float(w.sum()), np.finfo(float).tiny))


def _curvatures(rows: SampledRows, theta: Floats, scores: Floats) -> Floats:
    """Σ pₖ(1 − pₖ) of every row; few digits suffice."""
    n, d = len(rows.w), rows.x.shape[1]
    if not theta[:d].any():
        return np.ones(n)
    point, constant = theta[:d].astype(np.float32), theta[d:].sum(axis=0)

    def part(here: slice) -> Floats:
        known = scores[here] if len(scores) else rows.rows(here, np.float32) @ point + constant
        p = _probabilities(known)
        return np.asarray((p * (1.0 - p)).sum(axis=1))

    return np.concatenate(parallel_map(part, pieces(n, MIN_PIECE)))


def _probabilities(scores: Floats) -> Floats:
    """Those of the classes, or of the second of two."""
    if scores.shape[1] == 1:
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * scores)))
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _full(z: Floats, p: Floats, w: Floats, ridge: Floats, weight: float) -> LinearSolver:
    """By the Cholesky factor of the whole Hessian; a common shift of all scores has a curvature."""
    width, k = z.shape[1], p.shape[1]

    def part(here: slice) -> Floats:
        own, q, v = z[here], p[here], w[here]
        if k == 1:
            root = own * np.sqrt(v[:, None] * q * (1.0 - q))
            return np.asarray(root.T @ root)
        flat = ((np.sqrt(v)[:, None] * q)[:, :, None] * own[:, None, :]).reshape(len(own), -1)
        sums = -(flat.T @ flat)
        for j in range(k):
            at = slice(j * width, (j + 1) * width)
            root = own * np.sqrt(v * q[:, j])[:, None]
            sums[at, at] += root.T @ root
        return np.asarray(sums)

    parts = parallel_map(part, pieces(len(z), 500, most=8))
    hessian = parts[0]
    for one in parts[1:]:
        hessian += one
    if k > 1:
        shift = np.arange(width)
        hessian.reshape(k, width, k, width)[:, shift, :, shift] += weight / k**2
    mean = np.maximum(w @ (p * (1.0 - p)), LEAST_CURVATURE * weight)
    diagonal = np.einsum("ii->i", hessian)
    np.maximum(diagonal, LEAST_PART * np.repeat(mean, width), out=diagonal)
    diagonal += np.tile(ridge, k) + LITTLE * diagonal
    solve = cholesky_solver(hessian)
    return lambda g: np.asarray(solve(g.T.ravel()).reshape(k, width).T)


def _inverse(block: Floats, ridge: Floats) -> Floats:
    diagonal = np.einsum("ii->i", block)
    diagonal += ridge + DAMPING * diagonal + 1e-6 * diagonal.mean() + np.finfo(float).tiny
    return np.asarray(linalg.inv(block, check_finite=False))
