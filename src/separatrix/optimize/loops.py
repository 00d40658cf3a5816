"""Coordinate descent for the elastic net on a Gram matrix; interior points of small problems.

    ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²        with G = XᵀX and g = Xᵀ(y − Xb),  ‖y‖ = 1

A step on one coordinate adds a multiple of one row of G, so that its cost is the number of
coordinates, however many rows the table has.
"""

from __future__ import annotations

import numpy as np

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


# -------------------------------------------------------------------------------------------------
# The central path of a small problem of hinges. Its products take less time than the calls of
# library functions around them, so that whole steps are one loop:
#
#     min over β of ½ Σ ridge β² − linear·β + Σ upper max(0, q − zβ)


@compiled
def factorize(matrix):
    """L of A = L Lᵀ over the lower half of a small matrix; False where A is not positive."""
    for j in range(len(matrix)):
        for i in range(j, len(matrix)):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i > j:
                matrix[i, j] = total / matrix[j, j]
            elif total > 0.0 and total < np.inf:
                matrix[j, j] = np.sqrt(total)
            else:
                return False
    return True


@compiled
def substitute(factor, right):
    """A⁻¹ b in place of b, from L of A = L Lᵀ."""
    d = len(right)
    for i in range(d):
        for k in range(i):
            right[i] -= factor[i, k] * right[k]
        right[i] /= factor[i, i]
    for i in range(d - 1, -1, -1):
        for k in range(i + 1, d):
            right[i] -= factor[k, i] * right[k]
        right[i] /= factor[i, i]


@compiled
def dual_residual_of_hinges(z, ridge, linear, v, beta):
    """h + zᵀv − Pβ."""
    residual = linear - ridge * beta
    for i in range(len(v)):
        for j in range(len(beta)):
            residual[j] += v[i] * z[i, j]
    return residual


@compiled
def newton_changes(z, factor, residual, d, values, targets, infeasible, change_of_beta, changes):
    """The changes of β and of v, p and q towards targets of v p and s q; returns their speed.

    The speed is that of the variable that reaches zero first, at most 1 where none does.
    """
    v, s, p, q = values
    n, m = z.shape
    for j in range(m):
        change_of_beta[j] = residual[j]
    for i in range(n):
        pull = targets[0, i] / v[i] - targets[1, i] / s[i] - infeasible[i]
        changes[0, i] = pull
        for j in range(m):
            change_of_beta[j] += d[i] * pull * z[i, j]
    substitute(factor, change_of_beta)
    fastest = 0.0
    for i in range(n):
        change = changes[0, i]
        for j in range(m):
            change -= z[i, j] * change_of_beta[j]
        change *= d[i]
        change_p = (targets[0, i] - p[i] * change) / v[i]
        change_q = (targets[1, i] + q[i] * change) / s[i]
        changes[0, i], changes[1, i], changes[2, i] = change, change_p, change_q
        fastest = max(fastest, -change / v[i], change / s[i], -change_p / p[i], -change_q / q[i])
    return fastest


@compiled
def follow_path_of_hinges(z, y, ridge, linear, v, s, p, q, beta, goal, most):
    """Mehrotra's steps, in place, until gap and imbalance are within the goal; how many there were.

    Ended by rounding, too: where the normal equations are singular or nothing gets better.
    """
    n, m = z.shape
    d, infeasible = np.empty(n), np.empty(n)
    targets, changes, change_of_beta = np.empty((2, n)), np.empty((3, n)), np.empty(m)
    best, stalled = np.inf, 0
    for step in range(most):
        residual = dual_residual_of_hinges(z, ridge, linear, v, beta)
        gap = 0.0
        for i in range(n):
            gap += p[i] * v[i] + q[i] * s[i]
        merit = gap + abs((residual * beta).sum())
        stalled = 0 if merit < 0.9 * best else stalled + 1
        best = min(best, merit)
        if merit <= goal or stalled > 6:
            return step
        gram = np.diag(ridge)
        for i in range(n):
            d[i] = 1.0 / (p[i] / v[i] + q[i] / s[i])
            infeasible[i] = q[i] - p[i] - y[i]
            for j in range(m):
                infeasible[i] += z[i, j] * beta[j]
                weighted = d[i] * z[i, j]
                for k in range(j + 1):
                    gram[j, k] += weighted * z[i, k]
            targets[0, i], targets[1, i] = -p[i] * v[i], -q[i] * s[i]
        for j in range(m):
            gram[j, j] *= 1.0 + 1e-14
        if not factorize(gram):
            return step
        values = (v, s, p, q)
        fastest = newton_changes(
            z, gram, residual, d, values, targets, infeasible, change_of_beta, changes
        )
        length = min(1.0, 0.9995 / max(fastest, 1e-300))
        predicted = 0.0
        for i in range(n):
            change = length * changes[0, i]
            predicted += (p[i] + length * changes[1, i]) * (v[i] + change)
            predicted += (q[i] + length * changes[2, i]) * (s[i] - change)
        centering = (predicted / gap) ** 3 * gap / (2 * n)
        for i in range(n):
            targets[0, i] += centering - changes[0, i] * changes[1, i]
            targets[1, i] += centering + changes[0, i] * changes[2, i]
        fastest = newton_changes(
            z, gram, residual, d, values, targets, infeasible, change_of_beta, changes
        )
        length = min(1.0, 0.9995 / max(fastest, 1e-300))
        least = np.inf
        for i in range(n):
            least = min(least, v[i] + length * changes[0, i], s[i] - length * changes[0, i])
        if not (least > 0.0 and np.isfinite(fastest)):
            return step
        for i in range(n):
            v[i] += length * changes[0, i]
            s[i] -= length * changes[0, i]
            p[i] += length * changes[1, i]
            q[i] += length * changes[2, i]
        beta += length * change_of_beta
    return most
