"""Mercer's condition: a kernel is an inner product if its Gram matrices are positive semi-definite.

    aᵀK a = ‖Σ aᵢ φ(xᵢ)‖² ≥ 0    for all a

One Gram matrix with a negative eigenvalue disproves it.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from separatrix.kernels.base import Array, Items, Kernel
from separatrix.kernels.names import kernel_from
from separatrix.messages import InputError, warn
from separatrix.threads import one_blas_thread

#: Gram matrices up to this size get a full eigendecomposition.
_DIRECT_ROWS = 400


def is_mercer(gram: Any, tolerance: float | None = None) -> bool:
    """Whether a matrix is symmetric and positive semi-definite, up to rounding.

        K = Kᵀ,    λ_min(K) ≥ −tolerance · max |Kᵢⱼ|

    Parameters
    ----------
    gram : array-like of shape (n, n)
        A Gram matrix.
    tolerance : float, optional
        Relative to the largest entry; by default 10 n times the machine epsilon of its dtype.

    Returns
    -------
    bool
        Whether the matrix can be one of inner products.

    See Also
    --------
    Precomputed : uses a Gram matrix as a kernel.
    Sigmoid : a kernel that is not Mercer.

    References
    ----------
    J. Mercer, Functions of positive and negative type, and their connection with the theory of
    integral equations, Philosophical Transactions of the Royal Society A 209, 1909.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.is_mercer([[2.0, 1.0], [1.0, 2.0]]), sx.is_mercer([[1.0, 2.0], [2.0, 1.0]])
    (True, False)
    """
    k = _square(gram)
    if k.size == 0:
        return True
    slack = _absolute_tolerance(k, tolerance)
    if float(np.abs(k - k.T).max()) > 2.0 * slack:
        return False
    if len(k) > _DIRECT_ROWS:
        return _has_cholesky(k, slack)
    return lowest_eigenvalue(k) >= -slack


def lowest_eigenvalue(gram: Any) -> float:
    """Smallest eigenvalue of the symmetric part; 0 if a large matrix has none below rounding."""
    k = _square(gram).astype(float)
    k = 0.5 * (k + k.T)
    if len(k) > _DIRECT_ROWS:
        if _has_cholesky(k, _absolute_tolerance(k, None)):
            return 0.0
        try:
            start = np.random.default_rng(0).standard_normal(len(k))
            settings = {"which": "SA", "v0": start, "tol": 1e-6, "ncv": 60, "maxiter": 40}
            return float(eigsh(k, k=1, return_eigenvectors=False, **settings)[0])
        except ArpackNoConvergence:
            pass  # clustered eigenvalues
    with one_blas_thread() if len(k) <= _DIRECT_ROWS else nullcontext():
        return float(linalg.eigh(k, eigvals_only=True, subset_by_index=[0, 0])[0])


def check_mercer(kernel: Kernel, x: Items) -> bool:
    """Whether ``kernel`` may be treated as Mercer on the rows ``x``; warns SEP007 if it may not.

    Kernels that are Mercer by construction are not checked. For others, the Gram matrix of evenly
    spaced rows is tested for a negative eigenvalue. ``x`` are the training rows, a list of objects,
    or the square matrix of a precomputed kernel.
    """
    if kernel.mercer:
        return True
    prepared = kernel.prepare(x)
    # so many rows at least, and fewer than twice as many
    rows = np.arange(len(prepared))[:: max(1, len(prepared) // _DIRECT_ROWS)]
    k = _square(prepared.subset(rows).gram())
    if k.size == 0:
        return True
    lowest = lowest_eigenvalue(k)
    if lowest >= -_absolute_tolerance(k, None):
        return True
    warn(
        "SEP007",
        f"{kernel} is not a Mercer kernel on these rows: their Gram matrix has an eigenvalue "
        f"of {lowest:.3g} (largest entry {np.abs(k).max():.3g}), so the kernel is not an inner "
        "product and the solution need not be a global optimum.",
    )
    return False


def _has_cholesky(k: Array, slack: float) -> bool:
    """Whether K + slack·I has a Cholesky factor, so that no eigenvalue lies below −slack."""
    shifted = k.astype(float)
    shifted[np.diag_indices(len(k))] += slack
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def _absolute_tolerance(k: Array, tolerance: float | None) -> float:
    """How far below zero an eigenvalue may lie by rounding."""
    eps = np.finfo(k.dtype).eps if k.dtype.kind == "f" else np.finfo(float).eps
    relative = 10.0 * len(k) * float(eps) if tolerance is None else tolerance
    return relative * float(np.abs(k).max())


def _square(gram: Any) -> Array:
    k: Array = np.asarray(gram)
    if k.ndim != 2 or k.shape[0] != k.shape[1]:
        raise InputError(f"A Gram matrix is square; this has the shape {k.shape}.")
    if not np.isfinite(k).all():
        raise InputError("The Gram matrix has values that are not finite.")
    return k


# -------------------------------------------------------------------------------------------------
# Distances and angles in the feature space of a kernel, from kernel values alone.


def kernel_distance(
    kernel: Any,
    x: Items,
    z: Items | None = None,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
) -> Array:
    """Euclidean distances in the feature space of a kernel.

        ‖φ(x) − φ(z)‖ = √(κ(x, x) − 2 κ(x, z) + κ(z, z))

    Parameters
    ----------
    kernel : Kernel, str or callable
        κ: a kernel, scikit-learn's name of one, or a function of two matrices.
    x : array-like or list
        Items.
    z : array-like or list, optional
        Other items; x again if left out.
    gamma : "scale", "auto" or float, default="scale"
        As in scikit-learn, for a kernel given by name.
    degree : int, default=3
        As in scikit-learn, for ``kernel="poly"``.
    coef0 : float, default=0.0
        As in scikit-learn, for "poly" and "sigmoid".

    Returns
    -------
    array of shape (len x, len z)
        Distances of all pairs.

    See Also
    --------
    kernel_cosine : cosines instead of distances.
    KernelDistance : the same as a metric.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.kernel_distance("linear", [[0.0, 0.0], [3.0, 4.0]])
    array([[0., 5.],
           [5., 0.]])
    """
    resolved = kernel_from(kernel, gamma=gamma, degree=degree, coef0=coef0, x=x)
    return np.asarray(np.sqrt(resolved.squared_distance(x, z)))


def kernel_cosine(
    kernel: Any,
    x: Items,
    z: Items | None = None,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
) -> Array:
    """Cosines of the angles between items in the feature space of a kernel.

        cos(φ(x), φ(z)) = κ(x, z) / √(κ(x, x) κ(z, z)),    0 for items without features

    Parameters
    ----------
    kernel : Kernel, str or callable
        κ: a kernel, scikit-learn's name of one, or a function of two matrices.
    x : array-like or list
        Items.
    z : array-like or list, optional
        Other items; x again if left out.
    gamma : "scale", "auto" or float, default="scale"
        As in scikit-learn, for a kernel given by name.
    degree : int, default=3
        As in scikit-learn, for ``kernel="poly"``.
    coef0 : float, default=0.0
        As in scikit-learn, for "poly" and "sigmoid".

    Returns
    -------
    array of shape (len x, len z)
        Cosines of all pairs.

    See Also
    --------
    kernel_distance : distances instead of cosines.
    Cosine : the cosine distance of rows of numbers.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.kernel_cosine("linear", [[1.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.7071]])
    """
    resolved = kernel_from(kernel, gamma=gamma, degree=degree, coef0=coef0, x=x)
    return resolved.normalized().gram(x, z)
