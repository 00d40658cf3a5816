"""Scores of normal classes, compiled."""

from __future__ import annotations

import numpy as np

from separatrix.arrays import NDArray
from separatrix.compilation import compiled

# -------------------------------------------------------------------------------------------------
# Scores of classes with diagonal covariances.


Floats = NDArray[np.float64]


@compiled(fastmath={"reassoc", "contract"})
def diagonal_scores(x: Floats, means: Floats, scale: Floats, offset: Floats, out: Floats) -> None:
    """out[i, k] = oₖ − ½ Σⱼ ((xᵢⱼ − μₖⱼ) aₖⱼ)²."""
    for i in range(x.shape[0]):
        for k in range(means.shape[0]):
            square = 0.0
            for j in range(x.shape[1]):
                z = (x[i, j] - means[k, j]) * scale[k, j]
                square += z * z
            out[i, k] = offset[k] - 0.5 * square


# -------------------------------------------------------------------------------------------------
# Quadratic discriminant scores by blocks of rows.
#
# A block is transposed, so that the innermost loop runs over contiguous rows with sixteen
# coefficients in registers.


#: Rows of a block: a constant, so that the compiler knows that its columns do not overlap.
BLOCK_ROWS = 128


@compiled(fastmath={"contract"})
def quadratic_scores(
    x: Floats,
    center: Floats,
    maps: Floats,
    means: Floats,
    offset: Floats,
    stop: NDArray[np.int64],
    scores: Floats,
) -> None:
    """scores[·, k] = oₖ − ½ ‖(x − c) Aₖ − mₖ‖².

    The maps A (K x D x R) and means m (K x R) are padded with zeros to multiples of four; columns
    4b to 4b + 3 of the maps are zero from row ``stop[b]`` on.
    """
    n, d = x.shape
    z = np.zeros((maps.shape[1], BLOCK_ROWS))
    t = np.empty((4, BLOCK_ROWS))
    square = np.empty(BLOCK_ROWS)
    for start in range(0, n, BLOCK_ROWS):
        m = min(BLOCK_ROWS, n - start)
        for r in range(m):
            for j in range(d):
                z[j, r] = x[start + r, j] - center[j]
        for k in range(maps.shape[0]):
            a, mean = maps[k], means[k]
            for r in range(BLOCK_ROWS):
                square[r] = 0.0
            for c in range(0, a.shape[1], 4):
                for r in range(BLOCK_ROWS):
                    t[0, r], t[1, r] = -mean[c], -mean[c + 1]
                    t[2, r], t[3, r] = -mean[c + 2], -mean[c + 3]
                for i in range(0, stop[c // 4], 4):
                    a00, a01, a02, a03 = a[i, c], a[i, c + 1], a[i, c + 2], a[i, c + 3]
                    a10, a11 = a[i + 1, c], a[i + 1, c + 1]
                    a12, a13 = a[i + 1, c + 2], a[i + 1, c + 3]
                    a20, a21 = a[i + 2, c], a[i + 2, c + 1]
                    a22, a23 = a[i + 2, c + 2], a[i + 2, c + 3]
                    a30, a31 = a[i + 3, c], a[i + 3, c + 1]
                    a32, a33 = a[i + 3, c + 2], a[i + 3, c + 3]
                    for r in range(BLOCK_ROWS):
                        z0, z1, z2, z3 = z[i, r], z[i + 1, r], z[i + 2, r], z[i + 3, r]
                        t[0, r] += a00 * z0 + a10 * z1 + a20 * z2 + a30 * z3
                        t[1, r] += a01 * z0 + a11 * z1 + a21 * z2 + a31 * z3
                        t[2, r] += a02 * z0 + a12 * z1 + a22 * z2 + a32 * z3
                        t[3, r] += a03 * z0 + a13 * z1 + a23 * z2 + a33 * z3
                for r in range(BLOCK_ROWS):
                    square[r] += t[0, r] ** 2 + t[1, r] ** 2 + t[2, r] ** 2 + t[3, r] ** 2
            for r in range(m):
                scores[start + r, k] = offset[k] - 0.5 * square[r]
