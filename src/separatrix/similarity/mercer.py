"""Whether a Gram matrix can come from inner products: symmetric, with no negative eigenvalue.

A kernel has a feature map φ, κ(x, z) = φ(x)·φ(z), if and only if every Gram matrix K is positive
semi-definite: a·K a = ‖Σ aᵢ φ(xᵢ)‖² ≥ 0. One matrix with a negative eigenvalue disproves it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from separatrix.messages import InputError, doubt
from separatrix.similarity.kernels.base import Array, Kernel

#: Gram matrices up to this size are decomposed outright.
_DIRECT = 400


def is_mercer(gram: Any, tolerance: float | None = None) -> bool:
    """Whether the matrix is symmetric and positive semi-definite up to rounding.

    ``tolerance`` is relative to the largest entry; by default n times the rounding unit of the
    matrix's own type of number.
    """
    k = _square(gram)
    if k.size == 0:
        return True
    slack = _slack(k, tolerance)
    scale = float(np.abs(k).max())
    if float(np.abs(k - k.T).max()) > 2.0 * slack * scale:
        return False
    return lowest_eigenvalue(k) >= -slack * scale


def lowest_eigenvalue(gram: Any) -> float:
    """The most negative eigenvalue of the symmetric part (the smallest, if none is negative)."""
    k = _square(gram).astype(float)
    k = 0.5 * (k + k.T)
    if len(k) > _DIRECT:
        try:
            start = np.random.default_rng(0).standard_normal(len(k))
            found = eigsh(k, k=1, which="SA", v0=start, tol=1e-6, return_eigenvectors=False)
            return float(found[0])
        except ArpackNoConvergence:
            pass
    return float(linalg.eigh(k, eigvals_only=True, subset_by_index=[0, 0])[0])


def warn_if_indefinite(kernel: Kernel, gram: Any) -> float:
    """Doubt SEP007 if ``gram`` disproves that ``kernel`` is Mercer; the lowest eigenvalue found.

    Kernels that are Mercer by construction are not checked: zero is returned.
    """
    if kernel.mercer:
        return 0.0
    k = _square(gram)
    if k.size == 0:
        return 0.0
    lowest, scale = lowest_eigenvalue(k), float(np.abs(k).max())
    if lowest < -_slack(k, None) * scale:
        doubt(
            "SEP007",
            f"{kernel} is not a Mercer kernel on these rows: their Gram matrix has an eigenvalue "
            f"of {lowest:.3g} (largest entry {scale:.3g}), so no feature map stands behind it and "
            "what is found need not be the best there is.",
        )
    return lowest


def _slack(k: Array, tolerance: float | None) -> float:
    eps = np.finfo(k.dtype).eps if k.dtype.kind == "f" else np.finfo(float).eps
    return 10.0 * len(k) * float(eps) if tolerance is None else tolerance


def _square(gram: Any) -> Array:
    k: Array = np.asarray(gram)
    if k.ndim != 2 or k.shape[0] != k.shape[1]:
        raise InputError(f"A Gram matrix is square; this has the shape {k.shape}.")
    if not np.isfinite(k).all():
        raise InputError("The Gram matrix holds values that are not finite.")
    return k
