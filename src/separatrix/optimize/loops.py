"""Coordinate descent for the elastic net on a Gram matrix.

    ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²        with G = XᵀX and g = Xᵀ(y − Xb),  ‖y‖ = 1

A step on one coordinate adds a multiple of one row of G, so that its cost is the number of
coordinates, however many rows the table has.
"""

from __future__ import annotations

from separatrix.compilation import compiled


@compiled
def sweep(gram, grad, beta, l1, l2, positive):
    """Minimize over each coordinate in turn; returns the largest violation that was met."""
    m = beta.shape[0]
    worst = 0.0
    for j in range(m):
        old = beta[j]
        # A coordinate becomes nonzero only beyond its threshold by more than a rounding error.
        if old == 0.0 and abs(grad[j]) <= l1[j] * (1.0 + 1e-14):
            continue
        curvature = gram[j, j] + l2[j]
        z = grad[j] + old * gram[j, j]
        new = 0.0
        if z > l1[j]:
            new = (z - l1[j]) / curvature
        elif z < -l1[j] and not positive:
            new = (z + l1[j]) / curvature
        if new != old:
            step = new - old
            beta[j] = new
            for k in range(m):
                grad[k] -= step * gram[j, k]
            if abs(step) * curvature > worst:
                worst = abs(step) * curvature
    return worst
