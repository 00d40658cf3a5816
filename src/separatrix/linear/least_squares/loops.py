"""Double-double arithmetic: a number is an unevaluated sum hi + lo of two floats.

Products use the fused multiply–add, whose rounding error is exact: a·b = p + fma(a, b, −p). The
inner loops have no branches, so that the compiler turns them into vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64
from numba.extending import intrinsic

from separatrix.compilation import compiled


@intrinsic
def fma(_context: Any, _a: Any, _b: Any, _c: Any) -> Any:
    """a·b + c with a single rounding."""

    def generate(_target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return float64(float64, float64, float64), generate


@compiled(inline="always")
def two_sum(a, b):
    """a + b as (rounded sum, its exact error)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@compiled(inline="always")
def multiply(ah, al, bh, bl):
    """(ah + al)·(bh + bl)."""
    p = ah * bh
    return p, fma(ah, bh, -p) + fma(ah, bl, al * bh)


@compiled(inline="always")
def add(ah, al, bh, bl):
    """(ah + al) + (bh + bl), normalized."""
    s, e = two_sum(ah, bh)
    return two_sum(s, e + (al + bl))


@compiled(inline="always")
def divide(ah, al, bh, bl):
    """(ah + al) / (bh + bl): a float quotient, then one exact correction."""
    q = ah / bh
    ph, pl = multiply(q, 0.0, bh, bl)
    rh, rl = add(ah, al, -ph, -pl)
    return two_sum(q, (rh + rl) / bh)


@compiled
def accumulate(x, w, shift, total, gram):
    """Add Σ w z and Σ w z zᵀ, z = x − shift, to ``total`` (2 x p) and ``gram`` (2 x p x p).

    The leading index separates hi from lo parts. Only the upper triangle of ``gram`` is filled.
    """
    n, p = x.shape
    zh, zl = np.empty(p), np.empty(p)
    for i in range(n):
        weight = w[i]
        for j in range(p):
            zh[j], zl[j] = two_sum(x[i, j], -shift[j])
        for j in range(p):
            uh, ul = multiply(zh[j], zl[j], weight, 0.0)
            total[0, j], e = two_sum(total[0, j], uh)
            total[1, j] += e + ul
            for k in range(j, p):
                ph, pl = multiply(uh, ul, zh[k], zl[k])
                gram[0, j, k], e = two_sum(gram[0, j, k], ph)
                gram[1, j, k] += e + pl


@compiled
def cholesky(a, last, tolerance):
    """Upper factor of the symmetric ``a`` (2 x p x p, upper triangle), in place, column by column.

    Among the first ``last`` columns, one whose squared distance from the span of those before it
    is at most ``tolerance`` of its squared length is skipped: its row of the factor stays zero.
    Returns the mask of the columns that were not skipped (those after ``last`` never are; a zero
    pivot there means an exact fit).
    """
    p = a.shape[1]
    independent = np.ones(p, dtype=np.bool_)
    for j in range(p):
        length = a[0, j, j]
        for i in range(j + 1):
            if not independent[i]:
                a[0, i, j], a[1, i, j] = 0.0, 0.0
                continue
            sh, sl = a[0, i, j], a[1, i, j]
            for k in range(i):
                ph, pl = multiply(a[0, k, i], a[1, k, i], a[0, k, j], a[1, k, j])
                sh, sl = add(sh, sl, -ph, -pl)
            if i < j:
                if a[0, i, i] > 0.0:
                    a[0, i, j], a[1, i, j] = divide(sh, sl, a[0, i, i], a[1, i, i])
                else:
                    a[0, i, j], a[1, i, j] = 0.0, 0.0
            elif j < last and sh <= tolerance * length:
                independent[j] = False
                a[0, j, j], a[1, j, j] = 0.0, 0.0
            else:
                sh = max(sh, 0.0)
                root = np.sqrt(sh)
                if root > 0.0:  # one Newton step doubles the digits of the root
                    ph, pl = multiply(root, 0.0, root, 0.0)
                    rh, rl = add(sh, sl, -ph, -pl)
                    a[0, j, j], a[1, j, j] = two_sum(root, (rh + rl) / (2.0 * root))
                else:
                    a[0, j, j], a[1, j, j] = 0.0, 0.0
    return independent


@compiled
def back_substitute(r, b):
    """Solve R x = b in place: upper triangular ``r`` (2 x d x d), columns ``b`` (2 x d x k)."""
    d, k = b.shape[1], b.shape[2]
    for c in range(k):
        for i in range(d - 1, -1, -1):
            sh, sl = b[0, i, c], b[1, i, c]
            for j in range(i + 1, d):
                ph, pl = multiply(r[0, i, j], r[1, i, j], b[0, j, c], b[1, j, c])
                sh, sl = add(sh, sl, -ph, -pl)
            b[0, i, c], b[1, i, c] = divide(sh, sl, r[0, i, i], r[1, i, i])


@compiled
def dot(a, b):
    """Σ aᵢ bᵢ of vectors given as hi and lo (2 x d)."""
    sh, sl = 0.0, 0.0
    for i in range(a.shape[1]):
        ph, pl = multiply(a[0, i], a[1, i], b[0, i], b[1, i])
        sh, sl = add(sh, sl, ph, pl)
    return sh, sl
