"""Whether a Gram matrix can come from inner products: symmetric, with no negative eigenvalue.

A kernel has a feature map φ, κ(x, z) = φ(x)·φ(z), if and only if every Gram matrix K is positive
semi-definite: a·K a = ‖Σ aᵢ φ(xᵢ)‖² ≥ 0. One matrix with a negative eigenvalue disproves it.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from separatrix.kernels.base import Array, Items, Kernel
from separatrix.messages import InputError, warn
from separatrix.threads import one_blas_thread

#: Gram matrices up to this size are decomposed outright.
_DIRECT = 400
#: A sample of the Gram matrix has at least this many rows (fewer than twice as many).
_SAMPLE = 400


def is_mercer(gram: Any, tolerance: float | None = None) -> bool:
    """Whether the matrix is symmetric and positive semi-definite up to rounding.

    ``tolerance`` is relative to the largest entry; by default n times the rounding unit of the
    matrix's own type of number. Large matrices are judged by a Cholesky factor.
    """
    k = _square(gram)
    if k.size == 0:
        return True
    slack = _rounding(k, tolerance)
    if float(np.abs(k - k.T).max()) > 2.0 * slack:
        return False
    if len(k) > _DIRECT:
        return _has_factor(k, slack)
    return lowest_eigenvalue(k) >= -slack


def lowest_eigenvalue(gram: Any) -> float:
    """The most negative eigenvalue of the symmetric part.

    The smallest eigenvalue if none is negative; of large matrices, 0 if none is beyond rounding.
    """
    k = _square(gram).astype(float)
    k = 0.5 * (k + k.T)
    if len(k) > _DIRECT:
        if _has_factor(k, _rounding(k, None)):
            return 0.0
        try:
            start = np.random.default_rng(0).standard_normal(len(k))
            settings = {"which": "SA", "v0": start, "tol": 1e-6, "ncv": 60, "maxiter": 40}
            return float(eigsh(k, k=1, return_eigenvectors=False, **settings)[0])
        except ArpackNoConvergence:
            pass  # the lowest eigenvalues lie too close together
    with one_blas_thread() if len(k) <= _DIRECT else nullcontext():
        return float(linalg.eigh(k, eigvals_only=True, subset_by_index=[0, 0])[0])


def check_mercer(kernel: Kernel, x: Items) -> bool:
    """Whether ``kernel`` may be treated as Mercer on the rows ``x``; warns SEP007 if it may not.

    Kernels that are Mercer by construction are not checked. Of the others, the Gram matrix of
    evenly spaced rows decides: a negative eigenvalue there disproves the kernel. ``x`` is what
    the kernel is fitted on: rows, a list of objects, or the square matrix of a precomputed kernel.
    """
    if kernel.mercer:
        return True
    prepared = kernel.prepare(x)
    rows = np.arange(len(prepared))[:: max(1, len(prepared) // _SAMPLE)]
    k = _square(prepared.subset(rows).gram())
    if k.size == 0:
        return True
    lowest = lowest_eigenvalue(k)
    if lowest >= -_rounding(k, None):
        return True
    warn(
        "SEP007",
        f"{kernel} is not a Mercer kernel on these rows: their Gram matrix has an eigenvalue "
        f"of {lowest:.3g} (largest entry {np.abs(k).max():.3g}), so the kernel is not an inner "
        "product and the solution need not be a global optimum.",
    )
    return False


def _has_factor(k: Array, slack: float) -> bool:
    """Whether K + slack·I has a Cholesky factor, so that no eigenvalue lies below −slack."""
    raised = k.astype(float)
    raised[np.diag_indices(len(k))] += slack
    try:
        linalg.cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def _rounding(k: Array, tolerance: float | None) -> float:
    """How far below zero an eigenvalue may lie by rounding alone."""
    eps = np.finfo(k.dtype).eps if k.dtype.kind == "f" else np.finfo(float).eps
    relative = 10.0 * len(k) * float(eps) if tolerance is None else tolerance
    return relative * float(np.abs(k).max())


def _square(gram: Any) -> Array:
    k: Array = np.asarray(gram)
    if k.ndim != 2 or k.shape[0] != k.shape[1]:
        raise InputError(f"A Gram matrix is square; this has the shape {k.shape}.")
    if not np.isfinite(k).all():
        raise InputError("The Gram matrix holds values that are not finite.")
    return k
