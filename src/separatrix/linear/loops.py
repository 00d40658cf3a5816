"""Loops of linear models, compiled: double-double arithmetic, descent of the elastic net."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64
from numba.extending import intrinsic

from separatrix.compilation import compiled
from separatrix.optimize.loops import sweep

# -------------------------------------------------------------------------------------------------
# Double-double arithmetic: a number is an unevaluated sum hi + lo of two floats.
#
# Products use the fused multiply–add, whose rounding error is exact: a·b = p + fma(a, b, −p). The
# inner loops have no branches, so that the compiler turns them into vector instructions.


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


# -------------------------------------------------------------------------------------------------
# The duality gap of an elastic net; descent; Newton steps on the support of a solution.
#
#     ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²        with g = Xᵀr,  r = y − Xb,  ‖y‖ = 1
#
#     RᵀR = G + diag(q) + δI,      RᵀR Δ = g − ℓ sign(b) − q b
#
# As long as no sign changes the objective is quadratic and b + Δ is its minimum. The first
# coefficient to reach zero on the way is dropped: one row and column are removed from the factor by
# Givens rotations, at the cost of a triangular solve and not of a new factor.


#: A step shorter than this, for columns and target of length one, is a rounding error.
ROUNDING = 1e-15


@compiled
def duality_gap(square, grad, beta, l1, l2, positive):
    """Primal value and gap at ``beta``, given ‖r‖² and g.

    The dual point is θ = t r, and no two large numbers are subtracted:

        gap(t) = ½ (1 − t)² ‖r‖² + Σ [pⱼ(bⱼ) + pⱼ*(t gⱼ) − t gⱼ bⱼ]

    where every bracket is a Fenchel–Young difference, at least zero. The ℓ₂ part is treated either
    as further rows of X (then t is scaled until |gⱼ − qⱼbⱼ| t ≤ ℓⱼ) or by its conjugate (then
    t = 1); the smaller gap is returned.
    """
    norm, inner, rows, ratio, conjugate = 0.0, 0.0, square, math.inf, 0.0
    for j in range(beta.shape[0]):
        b, shrunk = beta[j], l2[j] * beta[j]
        residual = grad[j] - shrunk
        norm += l1[j] * abs(b)
        inner += residual * b
        rows += shrunk * b
        size = residual if positive else abs(residual)
        if size > 0.0:
            ratio = min(ratio, l1[j] / size)
        over = (grad[j] if positive else abs(grad[j])) - l1[j]
        conjugate += l1[j] * abs(b) - (residual + 0.5 * shrunk) * b
        if over > 0.0:
            conjugate += 0.5 * over * over / l2[j] if l2[j] > 0.0 else math.inf
    best = max(1.0 + inner / rows, 0.0) if rows > 0.0 else 1.0
    t = min(ratio, best, 1.1)  # the dual point is no longer than the residual by more than this
    gap = 0.5 * (1.0 - t) ** 2 * rows
    for j in range(beta.shape[0]):
        gap += l1[j] * abs(beta[j]) - t * (grad[j] - l2[j] * beta[j]) * beta[j]
    return 0.5 * rows + norm, max(min(gap, conjugate), 0.0)


@compiled
def gap_on_gram(target, grad, beta, l1, l2, positive):
    """The gap where ‖r‖² follows from Xᵀy and Xᵀr."""
    explained = 0.0
    for j in range(beta.shape[0]):
        explained += (target[j] + grad[j]) * beta[j]
    return duality_gap(max(1.0 - explained, 0.0), grad, beta, l1, l2, positive)[1]


@compiled
def descend(gram, target, grad, beta, l1, l2, positive, most, gap, kkt):
    """Sweep until solved, stationary, or out of sweeps.

    Returns the number of sweeps and whether to stop: the gap is at most ``gap`` and the last sweep
    met no violation above ``kkt``, or steps are of the size of rounding.
    """
    for n_sweeps in range(1, most + 1):
        worst = sweep(gram, grad, beta, l1, l2, positive)
        if worst <= ROUNDING:
            return n_sweeps, True
        measured = worst <= kkt and (n_sweeps % 4 == 0 or worst * worst <= gap)
        if measured and gap_on_gram(target, grad, beta, l1, l2, positive) <= gap:
            return n_sweeps, True
    return most, False


@compiled
def solve_upper(r, k, x):
    """x ← (RᵀR)⁻¹ x with the leading k x k part of R."""
    for j in range(k):
        x[j] /= r[j, j]
        value = x[j]
        for i in range(j + 1, k):
            x[i] -= value * r[j, i]
    for j in range(k - 1, -1, -1):
        total = x[j]
        for i in range(j + 1, k):
            total -= r[j, i] * x[i]
        x[j] = total / r[j, j]


@compiled
def drop(r, k, out):
    """Remove column ``out`` from the k x k factor: shift, then rotate to a triangle."""
    for i in range(k):
        for j in range(out if i <= out else i - 1, k - 1):
            r[i, j] = r[i, j + 1]
    for j in range(out, k - 1):
        a, b = r[j, j], r[j + 1, j]
        h = math.sqrt(a * a + b * b)
        c, s = a / h, b / h
        r[j, j], r[j + 1, j] = h, 0.0
        for i in range(j + 1, k - 1):
            upper, lower = r[j, i], r[j + 1, i]
            r[j, i] = c * upper + s * lower
            r[j + 1, i] = c * lower - s * upper


@compiled
def gather(gram, support, l2, damping, out):
    """The upper triangle of G + diag(q) + δI on the support, q being that of the support."""
    for i in range(support.shape[0]):
        row = gram[support[i]]
        for j in range(i, support.shape[0]):
            out[i, j] = row[support[j]]
        out[i, i] += l2[i] + damping


@compiled
def sparse_sweep(at, starts, rows, values, mean, scale, l1, l2, positive, beta, r, shift):
    """Minimize over each coordinate of ``at`` in turn; the largest violation, and the new shift.

    The columns are uⱼ = (aⱼ − μⱼ v)/sⱼ with sparse aⱼ, the residual is r + shift·v. Centered
    columns and residuals are orthogonal to v, so that uⱼ·ρ = (aⱼ·r + shift μⱼ)/sⱼ: a step costs the
    stored entries of one column.
    """
    worst = 0.0
    for j in at:
        total = shift * mean[j]
        for k in range(starts[j], starts[j + 1]):
            total += values[k] * r[rows[k]]
        old = beta[j]
        z = total / scale[j] + old
        new = 0.0
        if z > l1[j]:
            new = (z - l1[j]) / (1.0 + l2[j])
        elif z < -l1[j] and not positive:
            new = (z + l1[j]) / (1.0 + l2[j])
        if new != old:
            beta[j] = new
            step = (new - old) / scale[j]
            shift += step * mean[j]
            for k in range(starts[j], starts[j + 1]):
                r[rows[k]] -= step * values[k]
            if abs(new - old) * (1.0 + l2[j]) > worst:
                worst = abs(new - old) * (1.0 + l2[j])
    return worst, shift


# -------------------------------------------------------------------------------------------------
# Coordinate descent for ½ βᵀCβ − c·β + Σ λ|β|ᵖ, columns of length one.


@compiled
def descend_with_powers(correlation, target, lam, p, beta, sweeps):
    """Sweeps over all coordinates of ``beta``."""
    d = len(beta)
    gradient = target - correlation @ beta
    for _ in range(sweeps):
        moved = 0.0
        for j in range(d):
            z = gradient[j] + beta[j]
            value = math.copysign(shrink(abs(z), lam[j], p), z)
            step = value - beta[j]
            if step != 0.0:
                beta[j] = value
                for i in range(d):
                    gradient[i] -= step * correlation[i, j]
                moved = max(moved, abs(step))
        if moved == 0.0:
            break


@compiled
def shrink(z, lam, p):
    """argmin over b ≥ 0 of ½ (b − z)² + λ bᵖ for z ≥ 0."""
    if p == 1.0:
        return max(z - lam, 0.0)
    if p == 2.0:
        return z / (1.0 + 2.0 * lam)
    if lam == 0.0 or z == 0.0:
        return z
    # b + λ p b^(p−1) = z has a concave left side: Newton's steps from below never overshoot.
    b = min(0.5 * z, (0.5 * z / (lam * p)) ** (1.0 / (p - 1.0)))
    if b == 0.0:
        return 0.0
    for _ in range(200):
        slope = lam * p * b ** (p - 1.0)
        step = (z - b - slope) / (1.0 + (p - 1.0) * slope / b)
        b += step
        if abs(step) <= 1e-16 * b:
            break
    return b
