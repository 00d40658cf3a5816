"""Options of a Gaussian process, checked: kernel, noise of the rows, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.kernels import Constant, Gaussian, Kernel, White
from separatrix.kernels.base import Items
from separatrix.kernels.translation import from_sklearn, is_foreign
from separatrix.matrices.memory import physical_memory
from separatrix.messages import InputError
from separatrix.rows.block import Floats


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
    own = kernel_of(kernel)
    return own + White(1.0) if isinstance(noise, str) else own


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
