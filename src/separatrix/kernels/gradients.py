"""Gradients of kernel expansions, and their average outer product.

    f(x) = Σⱼ aⱼ κ(zⱼ, x),     ∇f(x) = −S Σⱼ aⱼ gⱼ (x − zⱼ),   gⱼ = −2 f′(sⱼ),   S = diag(σ⁻²)
    M = Σᵢ wᵢ ∇f(xᵢ) ∇f(xᵢ)ᵀ / Σ wᵢ

for a radial kernel κ = f(s), s = (x − z)ᵀ S (x − z). M is the average gradient outer product: its
leading eigenvectors are the directions in which f varies most, its diagonal says how much each
column counts.

G. Wahba, Spline models for observational data, 1990; S. Trivedi, J. Wang, S. Kpotufe and G.
Shakhnarovich, A consistent estimator of the expected gradient outerproduct, UAI, 2014; A.
Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in neural
networks and backpropagation-free machine learning models, Science 383, 2024.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.kernels.algebra import Scaled, Sum
from separatrix.kernels.base import SIDE, Items, Kernel, as_matrix
from separatrix.kernels.learning import Bounded, Fixed
from separatrix.kernels.stationary import Constant, ManhattanPairs, RadialKernel
from separatrix.kernels.vectors import Linear
from separatrix.messages import InputError
from separatrix.threads import parallel_map


def expansion_gradients(kernel: Kernel, centers: Items, weights: Floats, x: Items) -> Floats:
    """∇f(xᵢ) of every function f = Σⱼ aⱼ κ(zⱼ, ·): (n, d, k) for ``weights`` (m, k).

    Where κ has no gradient, at its own center, that center adds nothing.
    """
    x, centers = (_dense(side) for side in (x, centers))
    weights = np.asarray(weights, dtype=float).reshape(len(centers), -1)
    return _gradients(kernel, centers, weights, x)


def _dense(side: Items) -> Floats:
    matrix = as_matrix(side)
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=float)


def _gradients(kernel: Kernel, centers: Floats, weights: Floats, x: Floats) -> Floats:
    if isinstance(kernel, Fixed | Bounded):
        return _gradients(kernel.kernel, centers, weights, x)
    if isinstance(kernel, Scaled):
        return kernel.factor * _gradients(kernel.kernel, centers, weights, x)
    if isinstance(kernel, Sum):
        parts = [_gradients(part, centers, weights, x) for part in kernel.operands]
        return np.asarray(sum(parts[1:], start=parts[0]))
    if isinstance(kernel, Constant):
        return np.zeros((*x.shape, weights.shape[1]))
    if isinstance(kernel, Linear):
        return np.broadcast_to(centers.T @ weights, (*x.shape, weights.shape[1])).copy()
    if not isinstance(kernel, RadialKernel) or isinstance(
        kernel.pairs(x[:0], centers[:0]), ManhattanPairs
    ):
        raise InputError(
            f"Gradients of {kernel} are not known.",
            remedy="Take a kernel of the Euclidean distance (Gaussian, Laplace, Matern, …), "
            "Linear, or sums and multiples of these.",
        )
    return _radial_gradients(kernel, centers, weights, x)


def _radial_gradients(kernel: RadialKernel, centers: Floats, weights: Floats, x: Floats) -> Floats:
    """−S (x Σⱼ gⱼaⱼ − Σⱼ gⱼaⱼ zⱼ), about the mean of the centers, tile by tile."""
    n, d, k = *x.shape, weights.shape[1]
    middle = centers.mean(axis=0) if len(centers) else np.zeros(d)
    u, v = x - middle, centers - middle
    pairs = kernel.pairs(u, v[:])
    right = np.column_stack([weights, (weights[:, :, None] * v[:, None, :]).reshape(len(v), -1)])
    sums = np.zeros((n, right.shape[1]))

    def strip(top: int) -> None:
        rows = slice(top, min(top + SIDE, n))
        for left in range(0, len(v), SIDE):
            columns = slice(left, min(left + SIDE, len(v)))
            tile = pairs._distances(rows, columns)
            same = tile == 0.0
            slopes = np.empty_like(tile)
            kernel.apply(tile, slopes, 1.0, 0.0)
            slopes[same] = 0.0
            sums[rows] += slopes @ right[columns]

    parallel_map(strip, range(0, n, SIDE))
    total, moved = sums[:, :k], sums[:, k:].reshape(n, k, d)
    gradients = moved - total[:, :, None] * u[:, None, :]
    gradients *= pairs.inverse**2
    return np.ascontiguousarray(gradients.transpose(0, 2, 1))


def average_gradient_outer_product(
    kernel: Kernel,
    centers: Items,
    weights: Floats,
    x: Items,
    sample_weight: Floats | None = None,
) -> Floats:
    """M = Σ w ∇f(x) ∇f(x)ᵀ / Σ w over the rows x, summed over the functions: (d, d).

    Parameters
    ----------
    kernel : Kernel
        κ: a function of the Euclidean distance, linear, or sums and multiples of these.
    centers : array-like of shape (m, d)
        The centers z of the expansion f.
    weights : array-like of shape (m,) or (m, k)
        The coefficients a, a column for each function.
    x : array-like of shape (n, d)
        The rows at which gradients are taken.
    sample_weight : array-like of shape (n,), optional
        The weights w of the rows.

    Returns
    -------
    array of shape (d, d)
        The average gradient outer product.

    See Also
    --------
    KernelRidge : fits such an expansion.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models, Science 383, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 3))
    >>> y = np.sin(3.0 * x[:, 0])
    >>> kernel = sx.Gaussian(1.0)
    >>> a = np.linalg.solve(kernel.gram(x) + 1e-6 * np.eye(200), y)
    >>> m = sx.average_gradient_outer_product(kernel, x, a, x)
    >>> bool(m[0, 0] > 100.0 * m[1, 1])
    True
    """
    gradients = expansion_gradients(kernel, centers, weights, x)
    n, d, k = gradients.shape
    w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    root = np.sqrt(w / w.sum())
    flat = (root[:, None, None] * gradients).transpose(0, 2, 1).reshape(n * k, d)
    return np.asarray(flat.T @ flat)
