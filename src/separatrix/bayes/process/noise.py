"""What of a kernel is white noise: the variance of y about f.

κ = κ_f + ν,    ν(x, x) on the diagonal of a Gram matrix, and zero between different sets of rows
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.kernels import Fixed, Kernel
from separatrix.kernels.algebra import Sum
from separatrix.kernels.base import Items, n_items
from separatrix.kernels.derivatives import derivative_products
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class SplitKernel:
    """A kernel as the covariance of f and the variance of the noise of y."""

    whole: Kernel

    @cached_property
    def function(self) -> Kernel | None:
        """κ_f; None where all is noise."""
        return self.whole._noiseless()

    @property
    def has_noise(self) -> bool:
        """Whether white noise is part of the kernel."""
        return self.function is not self.whole

    @cached_property
    def entries(self) -> np.ndarray:
        """Marks the entries of θ that are hyperparameters of κ_f."""
        return function_entries(self.whole)

    def function_variance(self, x: Items) -> Floats:
        """κ_f(x, x) of every row."""
        if self.function is None:
            return np.zeros(n_items(x))
        return np.asarray(self.function.diagonal(x), dtype=float)

    def noise_variance(self, x: Items) -> Floats:
        """ν of every row."""
        if not self.has_noise:
            return np.zeros(n_items(x))
        if isinstance(self.whole, Sum):  # by its terms, without cancellation
            terms = [SplitKernel(term).noise_variance(x) for term in self.whole.operands]
            return np.asarray(np.sum(terms, axis=0))
        return np.asarray(self.whole.diagonal(x), dtype=float) - self.function_variance(x)

    def noise_gradient_sums(self, x: Items, q: Floats) -> Floats:
        """Σᵢ qᵢ ∂νᵢ/∂θ for every entry of θ."""
        return np.asarray(q @ self.noise_derivatives(x))

    def noise_derivatives(self, x: Items) -> Floats:
        """∂ν/∂θ of every row (n x p)."""
        if not self.has_noise:
            return np.zeros((n_items(x), len(self.entries)))
        found = np.array(self.whole.diagonal_derivatives(x), dtype=float)
        if self.function is not None:
            found[:, self.entries] -= self.function.diagonal_derivatives(x)
        return found

    def gram(self, x: Items, out: Floats) -> Floats:
        """The Gram matrix of f, written to ``out``."""
        if self.function is None:
            out[...] = 0.0
            return out
        return np.asarray(self.function.gram(x, out=out))

    def gradient_sums(self, x: Items, q: Floats) -> Floats:
        """Σᵢⱼ qᵢⱼ ∂κ_f(xᵢ, xⱼ)/∂θ for every entry of θ; the lower half of q is read."""
        sums = np.zeros(len(self.entries))
        if self.function is not None:
            sums[self.entries] = self.function.gradient_sums(x, q)
        return sums

    def derivative_products(self, x: Items, right: Floats) -> Floats:
        """∂K/∂θ times every column of ``right``, for every entry of θ: (n x p x k)."""
        found = np.zeros((len(right), len(self.entries), right.shape[1]))
        if self.function is not None and self.entries.any():
            found[:, self.entries] = derivative_products(self.function.pairs(x), right)
        return found


def function_entries(kernel: Kernel) -> np.ndarray:
    """Marks the entries of θ on which κ without noise depends."""
    return np.array(_entries(kernel), dtype=bool)


def _entries(kernel: Kernel) -> list[bool]:
    count = len(kernel._continuous())
    if kernel._noiseless() is None:
        return [False] * count
    if isinstance(kernel, Fixed):
        inner = zip(_entries(kernel.kernel), kernel._free_theta(), strict=True)
        return [entry for entry, free in inner if free]
    inside = [entry for child in kernel._children() for entry in _entries(child)]
    return [True] * (count - len(inside)) + inside
