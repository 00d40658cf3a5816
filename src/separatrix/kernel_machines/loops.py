"""Compiled loops of kernel machines."""

from __future__ import annotations

from separatrix.compilation import compiled
from separatrix.kernels.loops import SUMS


@compiled(fastmath=SUMS)
def sign_sums(weights, x, zt, sums):
    """Σⱼ wᵢⱼ sign(xᵢ − zⱼ) by column (n x d), with the centers as columns of ``zt``."""
    for i in range(weights.shape[0]):
        row = weights[i]
        for c in range(zt.shape[0]):
            at, column = x[i, c], zt[c]
            above = below = row[0] * 0
            for j in range(row.size):
                above += row[j] if at > column[j] else row[0] * 0
                below += row[j] if at < column[j] else row[0] * 0
            sums[i, c] = above - below
