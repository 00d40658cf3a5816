"""The average information: curvature of an evidence from products with vectors alone.

A_jk = ½ Σ over outputs of αᵀ ∂ⱼC P ∂ₖC α

It is the mean of observed and expected information where C is linear in the hyperparameters, is
never negative, and needs of the derivatives of C only their products with α, by differences where
there are many rows.

A. Gilmour, R. Thompson and B. Cullis, Average information REML, Biometrics, 1995.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from separatrix.bayes.process.noise import SplitKernel
from separatrix.kernels.base import Items
from separatrix.rows.block import Floats

#: Step of differences in logarithms of hyperparameters.
STEP = 1e-4
#: Entries of all matrices of derivatives up to which they are formed.
SMALL = 1 << 22


def average_information(
    split: SplitKernel, x: Items, w: Floats, alpha: Floats, noise: Floats, q: Floats
) -> Floats:
    """The average information at a point of which q = Σ ααᵀ − k P is known, its lower half."""
    n, k = alpha.shape
    p = len(split.whole.theta)
    derive = _by_derivatives if n * n * p <= SMALL else _by_differences
    slopes, noise_slopes = derive(split, x, alpha)
    slopes += (noise_slopes / w[:, None])[:, :, None] * alpha[:, None, :]
    flat = np.asfortranarray(slopes.reshape(n, p * k))
    # in Fortran order q is transposed: its lower half is the upper one
    product = linalg.blas.dsymm(1.0, q.T, flat, side=0, lower=0)
    projected = ((alpha @ (alpha.T @ flat) - product) / k).reshape(n, p, k)
    found = 0.5 * np.tensordot(slopes, projected, axes=([0, 2], [0, 2]))
    copies = np.maximum(w - 1.0, 0.0)
    if copies.any():
        relative = noise_slopes / np.where(noise > 0.0, noise, 1.0)[:, None]
        found += 0.5 * k * relative.T @ (copies[:, None] * relative)
    return np.asarray(0.5 * (found + found.T))


def _by_derivatives(split: SplitKernel, x: Items, alpha: Floats) -> tuple[Floats, Floats]:
    """∂K/∂θ α (n x p x k) from the matrices of derivatives, and ∂ν/∂θ (n x p)."""
    n, k = alpha.shape
    entries, function = split.entries, split.function
    slopes, noise_slopes = np.zeros((n, len(entries), k)), np.zeros((n, len(entries)))
    if function is not None:
        found = zip(function._theta_factors(), function._derivatives(x), strict=True)
        for j, (factor, derivative) in zip(np.flatnonzero(entries), found, strict=True):
            slopes[:, j] = factor * (derivative @ alpha)
    if split.has_noise:
        noise_slopes += split.whole.diagonal_derivatives(x)
        if function is not None:
            noise_slopes[:, entries] -= function.diagonal_derivatives(x)
    return slopes, noise_slopes


def _by_differences(split: SplitKernel, x: Items, alpha: Floats) -> tuple[Floats, Floats]:
    """The same from kernel matrices at θ and a little beyond, which are never stored."""
    theta = split.whole.theta
    n, p = len(alpha), len(theta)
    slopes, noise_slopes = np.empty((n, p, alpha.shape[1])), np.empty((n, p))
    base, known = _function_times(split, x, alpha), split.noise_variance(x)
    for j in range(p):
        moved = SplitKernel(split.whole.with_theta(theta + STEP * (np.arange(p) == j)))
        noise_slopes[:, j] = (moved.noise_variance(x) - known) / STEP
        slopes[:, j] = (_function_times(moved, x, alpha) - base) / STEP
    return slopes, noise_slopes


def _function_times(split: SplitKernel, x: Items, alpha: Floats) -> Floats:
    """K α of the covariance of f."""
    if split.function is None:
        return np.zeros_like(alpha)
    return np.asarray(split.function.prepare_exact(x).dot(x, alpha), dtype=float)
