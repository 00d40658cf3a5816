"""Scatter matrices by class in one pass: rows are copied to buffers, full buffers are multiplied.

A buffer holds some hundred rows of one class in Fortran order, so that an inner product of two
columns is a sum over contiguous memory; twelve such sums at a time stay in registers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@compiled(fastmath={"reassoc", "contract"})
def add_products(z: Floats, m: int, gram: Floats) -> None:
    """Add z zᵀ over the first ``m`` columns of z to the lower triangle of ``gram``.

    Computed in blocks of four by three, so the number of rows of z is a multiple of four; the last
    block of a row of blocks may overlap the one before, whose columns are not added again.
    """
    for i in range(0, z.shape[0], 4):
        for done in range(0, i + 4, 3):
            j = done if done < i + 1 else i + 1
            s00 = s01 = s02 = s10 = s11 = s12 = s20 = s21 = s22 = s30 = s31 = s32 = 0.0
            for r in range(m):
                a0, a1, a2, a3 = z[i, r], z[i + 1, r], z[i + 2, r], z[i + 3, r]
                b0, b1, b2 = z[j, r], z[j + 1, r], z[j + 2, r]
                s00, s01, s02 = s00 + a0 * b0, s01 + a0 * b1, s02 + a0 * b2
                s10, s11, s12 = s10 + a1 * b0, s11 + a1 * b1, s12 + a1 * b2
                s20, s21, s22 = s20 + a2 * b0, s21 + a2 * b1, s22 + a2 * b2
                s30, s31, s32 = s30 + a3 * b0, s31 + a3 * b1, s32 + a3 * b2
            if j == done:
                gram[i, j] += s00
                gram[i + 1, j] += s10
                gram[i + 2, j] += s20
                gram[i + 3, j] += s30
            if j + 1 >= done:
                gram[i, j + 1] += s01
                gram[i + 1, j + 1] += s11
                gram[i + 2, j + 1] += s21
                gram[i + 3, j + 1] += s31
            gram[i, j + 2] += s02
            gram[i + 1, j + 2] += s12
            gram[i + 2, j + 2] += s22
            gram[i + 3, j + 2] += s32


@compiled
def add_rows(
    x: Floats,
    codes: Codes,
    w: Floats,
    shift: Floats,
    first: Floats,
    buffers: Floats,
    filled: Codes,
    gram: Floats,
) -> None:
    """Add Σ w (x − sₖ) to ``first[k]``, and copy √w (x − sₖ) to the buffer of class k.

    A full buffer z adds z zᵀ to ``gram``. A single buffer serves all classes. Empty weights stand
    for a weight of one each.
    """
    pooled, unweighted, size = len(buffers) == 1, len(w) == 0, buffers.shape[2]
    for i in range(x.shape[0]):
        k = codes[i]
        at = 0 if pooled else k
        r = filled[at]
        weight = 1.0 if unweighted else w[i]
        root = 1.0 if unweighted else math.sqrt(weight)
        for j in range(x.shape[1]):
            v = x[i, j] - shift[k, j]
            first[k, j] += weight * v
            buffers[at, j, r] = root * v
        filled[at] = r + 1
        if r + 1 == size:
            add_products(buffers[at], size, gram[at])
            filled[at] = 0


@compiled
def flush_buffers(buffers: Floats, filled: Codes, gram: Floats) -> None:
    """Add z zᵀ of the rows left in each buffer z to ``gram``."""
    for k in range(len(buffers)):
        if filled[k]:
            add_products(buffers[k], filled[k], gram[k])
            filled[k] = 0
