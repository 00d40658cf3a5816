"""Novikoff's bound on the mistakes of a perceptron, from a separating hyperplane."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from separatrix.geometry.min_norm_point import nearest_points
from separatrix.geometry.squared_hinge import signed_rows
from separatrix.kernels.tiles import squared_norms
from separatrix.rows.block import Floats, Matrix

#: Most iterations for the smallest mistake bound; one that holds is known before.
BOUND_ITERATIONS = 2_000
#: Columns up to which the smallest bound is sought.
MAX_BOUND_COLUMNS = 1_000


def mistake_bound(a: Matrix, b: Matrix, coef: Floats, intercept: float) -> float:
    """Novikoff's bound (R/γ)² on the mistakes of a perceptron that starts from zero.

    R is the largest norm of the rows (1, x), γ the margin of a hyperplane through the origin. Any
    separating hyperplane gives a valid bound; the minimum-norm point of the hull of ±(1, x) gives
    the smallest one. Infinite where the bound is no floating-point number.
    """
    signed = signed_rows(a, b)
    largest = float(abs(signed).max())  # the bound has no unit: squares must not overflow
    signed = signed / largest
    radius = float(np.sqrt(squared_norms(signed).max()))
    weights = np.concatenate([[intercept], coef])
    weights = weights / np.abs(weights).max()
    gamma = float((signed @ weights).min()) / float(np.linalg.norm(weights))
    if a.shape[1] <= MAX_BOUND_COLUMNS:
        origin = np.zeros((1, signed.shape[1]))
        origin = sparse.csr_array(origin) if sparse.issparse(a) else origin
        found = nearest_points(signed, origin, tolerance=1e-9, max_iter=BOUND_ITERATIONS)
        best = float((signed @ found.normal).min())
        gamma = max(gamma, best if best > 1e-12 * radius else 0.0)
    ratio = radius / gamma if gamma > 0.0 else np.inf
    return ratio**2 if ratio < 1e150 else np.inf
