"""The duality gap of an elastic net whose target has length one.

½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²        with g = Xᵀr,  r = y − Xb,  ‖y‖ = 1
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats

#: The dual point is no longer than the residual by more than this.
LONGEST = 1.1


def duality_gap(
    square: float, grad: Floats, beta: Floats, l1: Floats, l2: Floats, positive: bool
) -> tuple[float, float]:
    """Primal value and gap at ``beta``, given ‖r‖² and g.

    The dual point is θ = t r, and no two large numbers are subtracted:

        gap(t) = ½ (1 − t)² ‖r‖² + Σ [pⱼ(bⱼ) + pⱼ*(t gⱼ) − t gⱼ bⱼ]

    where every bracket is a Fenchel–Young difference, at least zero. The ℓ₂ part is treated either
    as further rows of X (then t is scaled until |gⱼ − qⱼbⱼ| t ≤ ℓⱼ) or by its conjugate (then
    t = 1); the smaller gap is returned.
    """
    shrunk = l2 * beta
    residual = grad - shrunk
    norm, square_l2 = float(l1 @ np.abs(beta)), float(shrunk @ beta)
    inner, rows = float(residual @ beta), square + square_l2
    size = np.maximum(residual, 0.0) if positive else np.abs(residual)
    unbounded = np.full_like(size, np.inf)
    ratio = float(np.divide(l1, size, out=unbounded, where=size > 0.0).min(initial=np.inf))
    best = max(1.0 + inner / rows, 0.0) if rows > 0.0 else 1.0
    t = min(ratio, best, LONGEST)
    gap = 0.5 * (1.0 - t) ** 2 * rows + norm - t * inner
    over = np.maximum((grad if positive else np.abs(grad)) - l1, 0.0)
    beyond = over > 0.0
    conjugate = np.inf
    if (l2[beyond] > 0.0).all():
        conjugate = 0.5 * float((over[beyond] ** 2 / l2[beyond]).sum())
    through_conjugate = conjugate + norm - inner - 0.5 * square_l2
    return 0.5 * rows + norm, max(min(gap, through_conjugate), 0.0)
