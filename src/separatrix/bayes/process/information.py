"""The average information: curvature of an evidence from products with vectors alone.

A_jk = ½ Σ over outputs of αᵀ ∂ⱼC P ∂ₖC α

It is the mean of observed and expected information where C is linear in the hyperparameters, is
never negative, and needs of the derivatives of C only their products with α.

A. Gilmour, R. Thompson and B. Cullis, Average information REML, Biometrics, 1995.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from separatrix.bayes.process.noise import SplitKernel
from separatrix.kernels.base import Items
from separatrix.rows.block import Floats


def average_information(
    split: SplitKernel, x: Items, w: Floats, alpha: Floats, noise: Floats, q: Floats
) -> Floats:
    """The average information at a point of which q = Σ ααᵀ − k P is known, its lower half."""
    n, k = alpha.shape
    p = len(split.whole.theta)
    slopes, noise_slopes = split.derivative_products(x, alpha), split.noise_derivatives(x)
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
