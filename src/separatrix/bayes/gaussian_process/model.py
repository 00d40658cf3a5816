"""What a Gaussian process is made of beside its kernel: noise, trend, and checked options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.kernels import Constant, Fixed, Gaussian, Kernel, White
from separatrix.kernels.algebra import Sum
from separatrix.kernels.base import Items, derivative_products
from separatrix.kernels.names import from_sklearn, is_foreign
from separatrix.messages import InputError, check_option
from separatrix.rows.schema import n_items, unit_weights
from separatrix.statistics.moments import Standardizer
from separatrix.threads import physical_memory

# -------------------------------------------------------------------------------------------------
# Options of a Gaussian process, checked: kernel, noise of the rows, memory.


def default_kernel(d: int) -> Kernel:
    """A variance times a Gaussian kernel with a bandwidth for each column, plus noise."""
    return Constant(1.0) * Gaussian((1.0,) * max(d, 1)) + White(1.0)


def prior_kernel() -> Kernel:
    """The kernel of a prior that nothing was given for: scikit-learn's, of unit scale."""
    return Gaussian(1.0)


def kernel_of(kernel: Any) -> Kernel:
    """A kernel of ours, from one of ours or of scikit-learn."""
    if isinstance(kernel, Kernel):
        return kernel
    if is_foreign(kernel):
        return from_sklearn(kernel)
    raise InputError(
        f"kernel={kernel!r} is not a kernel.",
        remedy="Give sx.Gaussian(), a sum of kernels, one of sklearn.gaussian_process.kernels, or "
        "None.",
    )


def given_kernel(kernel: Any, noise: Any, d: int) -> Kernel:
    """The kernel with which learning starts, with noise to learn where that was asked for."""
    if kernel is None:
        whole = default_kernel(d)
        return whole if not is_number(noise) else Constant(1.0) * Gaussian((1.0,) * max(d, 1))
    kernel_given = kernel_of(kernel)
    return kernel_given + White(1.0) if isinstance(noise, str) else kernel_given


def refuse_without_points(kernel: Any, optimizer: Any) -> None:
    """Refuse what inducing points do not have: kernels of Python objects, other optimizers."""
    if (isinstance(kernel, Kernel) and not kernel.of_vectors) or callable(optimizer):
        raise InputError(
            "Inducing points need rows of numbers, and the library's own optimizer.",
            remedy="Leave n_inducing at None for the process of all rows.",
        )


def is_number(noise: Any) -> bool:
    """Whether the noise is a given variance."""
    return noise is not None and not isinstance(noise, str)


def check_noise(noise: Any) -> float:
    """A given noise variance, else 0."""
    if noise is None or (isinstance(noise, str) and noise == "learned"):
        return 0.0
    if isinstance(noise, str) or not 0.0 <= float(noise) < np.inf:
        raise InputError(f"noise={noise!r} must be 'learned', a variance of at least 0, or None.")
    return float(noise)


def check_alpha(alpha: Any, n: int) -> Floats:
    """A noise variance for each of n rows; none yet where that of the kernel decides."""
    if alpha is None:
        return np.zeros(n)
    values = np.asarray(alpha, dtype=float)
    if values.ndim > 1 or (values.ndim == 1 and len(values) not in (1, n)):
        raise InputError(
            "alpha must be a scalar or an array with same number of entries as y. "
            f"({len(np.atleast_1d(values))} != {n})"
        )
    if not (np.isfinite(values) & (values >= 0.0)).all():
        raise InputError(f"alpha={alpha!r} must be at least 0 and finite.")
    return np.broadcast_to(values, (n,)).copy()


def width(x: Items) -> int:
    """The number of columns; one of Python objects."""
    return int(x.shape[1]) if hasattr(x, "shape") else 1


def merged_copies(
    x: Items, y: Floats, w: Floats, noise: Floats
) -> tuple[Items, Floats, Floats, Floats]:
    """Rows that are equal in everything as one of their joint weight, in order of appearance."""
    if not hasattr(x, "shape"):
        return x, y, w, noise
    whole = np.column_stack([x, y, noise])
    order = np.lexsort(whole.T)
    new = np.r_[True, (whole[order[1:]] != whole[order[:-1]]).any(axis=1)]
    if new.all():
        return x, y, w, noise
    first = np.minimum.reduceat(order, np.flatnonzero(new))
    weights = np.add.reduceat(w[order], np.flatnonzero(new))
    by_row = np.argsort(first)
    at = first[by_row]
    return x[at], y[at], weights[by_row], noise[at]


def check_memory(n: int) -> None:
    """Refuse tables whose covariance does not fit into memory, before it is allocated."""
    each, usable = 16.0, 0.8 * physical_memory()  # the factor, and a covariance to check it by
    if each * n * n > usable:
        raise InputError(
            f"An exact Gaussian process of {n:,} rows needs two matrices of "
            f"{8e-9 * n * n:,.1f} GB; the memory here holds up to {int(np.sqrt(usable / each)):,} "
            "rows.",
            remedy="Give n_inducing=…: inducing points, with a bound on what they leave out.",
        )


# -------------------------------------------------------------------------------------------------
# The white noise in a kernel: the variance of y about f.
#
# κ = κ_f + ν,    ν(x, x) on the diagonal of a Gram matrix, and zero between different sets of rows


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
        if isinstance(self.whole, Sum):  # by its terms: those of f have none
            terms = [SplitKernel(term).noise_derivatives(x) for term in self.whole.operands]
            return np.concatenate(terms, axis=1)
        derivatives = np.array(self.whole.diagonal_derivatives(x), dtype=float)
        if self.function is not None:
            derivatives[:, self.entries] -= self.function.diagonal_derivatives(x)
        return derivatives

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
        products = np.zeros((len(right), len(self.entries), right.shape[1]))
        if self.function is not None and self.entries.any():
            products[:, self.entries] = derivative_products(self.function.pairs(x), right)
        return products


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


# -------------------------------------------------------------------------------------------------
# A trend with unknown coefficients under a flat prior: generalized least squares.
#
# y = H β + f + noise,   β̂ = A⁻¹ Hᵀ K⁻¹ y,   A = Hᵀ K⁻¹ H,   cov β̂ = A⁻¹
#
# With all coefficients integrated out, K⁻¹ becomes P = K⁻¹ − K⁻¹ H A⁻¹ Hᵀ K⁻¹ (universal kriging).


TRENDS = ("none", "constant", "linear")


@dataclass(frozen=True)
class TrendBasis:
    """Functions of a row that make up the trend: none, 1, or 1 and the standardized columns.

    Columns that are constant, or linear combinations of those before them, are left out.
    """

    kind: str
    centers: Floats
    scales: Floats
    columns: np.ndarray

    @classmethod
    def of(cls, kind: str, x: Any, w: Floats | None) -> TrendBasis:
        """The basis with the centers and scales of these rows."""
        check_option("trend", kind, TRENDS)
        if kind != "linear":
            return cls(kind, np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
        if not hasattr(x, "shape"):
            raise InputError(
                "Python objects have no linear trend.", remedy="Use trend='constant' or 'none'."
            )
        x = np.asarray(x.toarray() if sparse.issparse(x) else x, dtype=float)
        standardizer = Standardizer.from_rows(x, unit_weights(w, len(x)))
        scales = np.where(standardizer.scale > 0.0, standardizer.scale, 1.0)
        columns = _independent((x - standardizer.mean) / scales, standardizer.scale > 0.0)
        return cls(kind, standardizer.mean, scales, columns)

    def __len__(self) -> int:
        return 0 if self.kind == "none" else 1 + len(self.columns)

    def of_rows(self, x: Any) -> Floats:
        """H: one row for every row of x."""
        n = x.shape[0] if hasattr(x, "shape") else len(x)
        if self.kind == "none":
            return np.zeros((n, 0))
        if self.kind == "constant" or not len(self.columns):
            return np.ones((n, 1))
        x = np.asarray(x.toarray() if sparse.issparse(x) else x, dtype=float)
        standard = (x[:, self.columns] - self.centers[self.columns]) / self.scales[self.columns]
        return np.column_stack([np.ones(n), standard])


def _independent(columns: Floats, usable: np.ndarray) -> np.ndarray:
    """Columns that those before them leave something of, fewer than there are rows."""
    independent: list[int] = []
    basis = np.zeros((len(columns), 0))
    for j in np.flatnonzero(usable):
        if len(independent) + 2 >= len(columns):
            break
        rest = columns[:, j] - basis @ (basis.T @ columns[:, j])
        rest -= basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > 1e-8 * float(np.linalg.norm(columns[:, j])):
            basis = np.column_stack([basis, rest / size])
            independent.append(int(j))
    return np.array(independent, dtype=np.int64)
