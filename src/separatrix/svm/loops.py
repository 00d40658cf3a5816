"""The loops of support vector machines, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops import larger, smaller
from separatrix.optimize.loops import factorize, substitute

# -------------------------------------------------------------------------------------------------
# Sequential minimal optimization: the inner loop of kernel support vector machines.
#
#     min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β fixed, low ≤ β ≤ high
#
# An iteration increases βᵢ by δ and decreases βⱼ by δ. The gradient is fᵢ − tᵢ ± ε with f = Kβ, the
# sign of ε depending on the direction; the offsets ``up`` and ``down`` are what it adds to f, ±FAR
# where β is at its bound and cannot move. The loops have no branches, so that they run on whole
# vectors: K may be of single precision, f is not.


#: Gradient offset of a move that is not allowed.
FAR = 1e300
#: Least curvature along a pair, for equal rows and for kernels that are not Mercer.
FLAT = 1e-12
_FAST = {"nsz", "arcp", "contract", "nnan"}


@compiled
def _set_offsets(k, beta, low, high, eps, t, up, down):
    """What to add to f for the gradient of a coefficient as it increases, and as it decreases."""
    b = beta[k]
    up[k] = FAR if b >= high[k] else (eps if b >= 0.0 else -eps) - t[k]
    down[k] = -FAR if b <= low[k] else (eps if b > 0.0 else -eps) - t[k]


@compiled(fastmath=_FAST)
def _pair_steps(
    gram, diagonal, scaled, t, low, high, eps, size, up, down, decrease, beta, f, tol, limit, ends
):
    """Optimize pairs; ``ends`` receives the least up and the greatest down gradient.

    The first of a pair has the least up gradient, the second decreases the objective most: by
    (gradient difference)² / curvature. That is computed in the precision of the Gram matrix,
    gradients in units of their range and kernel values in ``size``: none over- or underflows.
    """
    m, kind = beta.shape[0], decrease.dtype.type
    zero, flat, scale = kind(0.0), kind(FLAT), kind(2.0 / size)
    for k in range(m):
        _set_offsets(k, beta, low, high, eps, t, up, down)
    count, step = 0, 0.0
    row = other = gram[0]
    while True:
        least, most = FAR, -FAR
        for k in range(m):
            value = f[k] + step * np.float64(row[k] - other[k])
            f[k] = value
            least, most = smaller(least, value + up[k]), larger(most, value + down[k])
        ends[0], ends[1] = least, most
        if most - least <= tol or count >= limit:
            return count
        i = 0
        while i < m - 1 and f[i] + up[i] != least:
            i += 1
        row, scaled_row, unit, best = gram[i], scaled[i], 1.0 / (most - least), zero
        for k in range(m):
            ahead = larger(kind((f[k] + down[k] - least) * unit), zero)
            gain = ahead * ahead / larger(scaled_row + scaled[k] - row[k] * scale, flat)
            decrease[k] = gain
            best = larger(best, gain)
        j = 0
        while j < m - 1 and decrease[j] != best:
            j += 1
        if not best > zero or i == j:
            return count
        other = gram[j]
        along = diagonal[i] + diagonal[j] - 2.0 * np.float64(row[j])
        along = along if along > FLAT * size else FLAT * size
        step = (f[j] + down[j] - least) / along
        first, second, above, below = beta[i], beta[j], high[i] - beta[i], beta[j] - low[j]
        end, start = high[i], low[j]
        if eps > 0.0:  # |β| has a kink at zero: stop there first
            if first < 0.0 and -first <= above:
                above, end = -first, 0.0
            if second > 0.0 and second <= below:
                below, start = second, 0.0
        step = above if above < step else step
        step = below if below < step else step
        beta[i] = end if step == above else first + step
        beta[j] = start if step == below else second - step
        if beta[i] == first and beta[j] == second:
            return count
        _set_offsets(i, beta, low, high, eps, t, up, down)
        _set_offsets(j, beta, low, high, eps, t, up, down)
        count += 1


def smo(
    gram: Any,
    diagonal: Any,
    t: Any,
    low: Any,
    high: Any,
    eps: float,
    beta: Any,
    f: Any,
    tol: float,
    limit: int,
) -> tuple[int, float, float]:
    """Optimize pairs until max down − min up gradient is at most ``tol``; β and f change in place.

    Returns the number of iterations, the least up and the greatest down gradient.
    """
    size = max(float(diagonal.max(initial=0.0)), 1e-300)
    scaled = (diagonal / size).astype(gram.dtype)
    up, down = np.empty((2, len(beta)))
    decrease, ends = np.empty(len(beta), dtype=gram.dtype), np.empty(2)
    bounds = (t, low, high, float(eps), size)
    count = _pair_steps(
        gram, diagonal, scaled, *bounds, up, down, decrease, beta, f, float(tol), int(limit), ends
    )
    return count, float(ends[0]), float(ends[1])


@compiled(fastmath={"contract"})
def add_rows(gram, rows, change, f, start, stop):
    """f[start:stop] += Σ change · K[i] over some rows, a block of columns at a time."""
    block = 1024  # numbers of f that stay in the nearest cache while rows are added to them
    for left in range(start, stop, block):
        right = stop if stop < left + block else left + block
        part = f[left:right]
        for k in range(rows.shape[0]):
            row, step = gram[rows[k], left:right], change[k]
            for j in range(part.shape[0]):
                part[j] += step * np.float64(row[j])


# -------------------------------------------------------------------------------------------------
# SMO with the sum of every group of coefficients fixed: the inner loop of ν-SVMs.
#
#   min over γ of  ½ βᵀKβ − tᵀγ      β the sums of γ by row, Σ γ of each group fixed, low ≤ γ ≤ high
#
# A pair of coefficients of one group moves at a time: the one of least gradient that may increase,
# and the one that then lowers the objective most. Of two groups the better pair is taken.


@compiled
def nu_smo(gram, row, group, t, low, high, gamma, f, tol, limit):
    """Optimize pairs until every group's violation is at most ``tol``; γ and f change in place.

    ``row`` is the row of K of each coefficient, ``group`` its group, 0 or 1. Returns the number of
    iterations.
    """
    m = gamma.shape[0]
    largest = 0.0
    for k in range(gram.shape[0]):
        largest = max(largest, abs(gram[k, k]))
    flat = max(FLAT * largest, 1e-290)
    first = np.empty(2, dtype=np.int64)
    least, most, best = np.empty(2), np.empty(2), np.empty(2)
    second = np.empty(2, dtype=np.int64)
    count = 0
    while count < limit:
        for g in range(2):
            first[g], second[g], least[g], most[g], best[g] = -1, -1, np.inf, -np.inf, 0.0
        for k in range(m):
            g, gradient = group[k], f[row[k]] - t[k]
            if gamma[k] < high[k] and gradient < least[g]:
                least[g], first[g] = gradient, k
            if gamma[k] > low[k] and gradient > most[g]:
                most[g] = gradient
        if max(most[0] - least[0], most[1] - least[1]) <= tol:
            break
        for k in range(m):
            g = group[k]
            i = first[g]
            if i < 0 or gamma[k] <= low[k]:
                continue
            ahead = f[row[k]] - t[k] - least[g]
            if ahead <= 0.0:
                continue
            a, b = row[i], row[k]
            curvature = max(gram[a, a] + gram[b, b] - 2.0 * gram[a, b], flat)
            decrease = ahead * ahead / curvature
            if decrease > best[g]:
                best[g], second[g] = decrease, k
        g = 0 if best[0] >= best[1] else 1
        i, j = first[g], second[g]
        if i < 0 or j < 0:
            break
        a, b = row[i], row[j]
        curvature = max(gram[a, a] + gram[b, b] - 2.0 * gram[a, b], flat)
        above, below = high[i] - gamma[i], gamma[j] - low[j]
        step = min((f[b] - t[j] - least[g]) / curvature, above, below)
        raised = high[i] if step == above else gamma[i] + step
        lowered = low[j] if step == below else gamma[j] - step
        if raised == gamma[i] and lowered == gamma[j]:
            break
        gamma[i], gamma[j] = raised, lowered
        for k in range(f.shape[0]):
            f[k] += step * (gram[a, k] - gram[b, k])
        count += 1
    return count


# -------------------------------------------------------------------------------------------------
# The Gram matrix of the rows of two classes from its parts.


@compiled
def fill_pair(between, first, second, gram):
    """Two classes within, ``first`` and ``second`` (flat), and what is ``between`` them."""
    size, n = between.shape
    for a in range(n):
        row, out_row = gram[a], first[a * n : a * n + n]
        for b in range(n):
            row[b] = out_row[b]
    for a in range(size):
        row, out_row = gram[n + a], second[a * size : a * size + size]
        for b in range(n):
            row[b] = between[a, b]
        for b in range(size):
            row[n + b] = out_row[b]
    square = 16  # rows that are transposed at a time
    for left in range(0, size, square):  # transposed in squares that stay in the cache
        right = size if size < left + square else left + square
        for b in range(n):
            for a in range(left, right):
                gram[b, n + a] = gram[n + a, b]


# -------------------------------------------------------------------------------------------------
# Loops over some of the rows of a sparse matrix, given by the begins and ends of their entries.


@compiled
def sparse_dot(begin, end, indices, data, v):
    """Σ x v over the entries ``begin`` to ``end``; four sums, so that none waits for another."""
    s0 = s1 = s2 = s3 = 0.0
    at = begin
    while at + 4 <= end:
        s0 += data[at] * v[np.uint64(indices[at])]
        s1 += data[at + 1] * v[np.uint64(indices[at + 1])]
        s2 += data[at + 2] * v[np.uint64(indices[at + 2])]
        s3 += data[at + 3] * v[np.uint64(indices[at + 3])]
        at += 4
    while at < end:
        s0 += data[at] * v[np.uint64(indices[at])]
        at += 1
    return (s0 + s1) + (s2 + s3)


@compiled
def some_rows_times(start, stop, rows, begins, ends, indices, data, v, out):
    """out[k] = x·v for the rows number ``start`` to ``stop`` of a list."""
    for k in range(start, stop):
        i = rows[k]
        out[k] = sparse_dot(begins[i], ends[i], indices, data, v)


@compiled
def some_rows_sum(start, stop, rows, begins, ends, indices, data, r, out):
    """Out += Σ r[k] x over the rows number ``start`` to ``stop`` of a list."""
    for k in range(start, stop):
        i, factor = rows[k], r[k]
        if factor != 0.0:
            for at in range(begins[i], ends[i]):
                out[np.uint64(indices[at])] += factor * data[at]


@compiled
def some_rows_gram(start, stop, rows, begins, ends, indices, data, r, out):
    """Out += Σ r[k] x xᵀ over the rows number ``start`` to ``stop`` of a list, both triangles."""
    for k in range(start, stop):
        i = rows[k]
        for at in range(begins[i], ends[i]):
            factor, line = r[k] * data[at], out[np.uint64(indices[at])]
            for other in range(begins[i], ends[i]):
                line[np.uint64(indices[other])] += factor * data[other]


@compiled
def in_single(start, stop, indptr, data, single, square):
    """Copy rows to ``single`` and sum their squares; the least and the largest size of an entry."""
    least, most = np.inf, 0.0
    for i in range(start, stop):
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            value = data[at]
            single[at] = value
            total += value * value
            if value != 0.0:
                least = min(least, abs(value))
                most = max(most, abs(value))
        square[i] = total
    return least, most


@compiled
def heavy_first(start, stop, indptr, indices, data, label, heavy, labels, values, ends, rest):
    """Number the columns of rows by ``label``, those below ``heavy`` first.

    ``ends`` are where the heavy entries of a row end, ``rest`` is Σ x² of the others.
    """
    for i in range(start, stop):
        front = indptr[i]
        for at in range(indptr[i], indptr[i + 1]):
            labels_here = label[indices[at]]
            if labels_here < heavy:
                labels[front], values[front] = labels_here, data[at]
                front += 1
        ends[i] = front
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            labels_here = label[indices[at]]
            if labels_here >= heavy:
                labels[front], values[front] = labels_here, data[at]
                front += 1
                total += data[at] * data[at]
        rest[i] = total


@compiled
def with_own_columns(rows, begins, ends, indices, data, label, count, labels, values):
    """Copy rows, numbering columns from ``count`` on as they occur; returns the next number.

    ``label`` is the number of a column, −1 where it has none yet.
    """
    to = 0
    for i in rows:
        for at in range(begins[i], ends[i]):
            j = np.uint64(indices[at])
            if label[j] < 0:
                label[j] = count
                count += 1
            labels[to], values[to] = label[j], data[at]
            to += 1
    return count


# -------------------------------------------------------------------------------------------------
# Dual coordinate descent over sparse or dense rows.


#: Neighboring rows that are taken one after the other: their entries arrive in the cache together.
CHUNK = 16


@compiled
def shuffle(order, count, seed):
    """Shuffle the first ``count`` (linear congruential generator); returns the next seed."""
    state = np.uint64(seed)
    for at in range(count - 1, 0, -1):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = int((state >> np.uint64(33)) % np.uint64(at + 1))
        order[at], order[other] = order[other], order[at]
    return int(state >> np.uint64(1))


@compiled
def change_coordinate(i, score, numbers, epsilon, step, beta):
    """β of row i takes its best value with the others fixed; returns its change.

    That is the β of least ½ k (β − old)² + slope (β − old) + ε|β| between its bounds. ``numbers``
    are t, the bounds, the added diagonal and ‖x‖² of every row (n x 5).
    """
    old, low, high = beta[i], numbers[i, 1], numbers[i, 2]
    slope = score - numbers[i, 0] + numbers[i, 3] * old
    curvature = numbers[i, 4] + step + numbers[i, 3]
    if curvature <= 0.0:
        new = high if slope < -epsilon else low if slope > epsilon else old
    else:
        new, kink = old - slope / curvature, epsilon / curvature
        new = max(new - kink, 0.0) + min(new + kink, 0.0)
        new = min(max(new, low), high)
    beta[i] = new
    return new - old  # type: ignore[no-any-return]


@compiled
def sparse_epoch(begins, ends, indices, data, numbers, rows, chunks, epsilon, beta, w, b, step):
    """Every one of ``rows``, in chunks, takes its best β with the others fixed; returns b.

    ``w`` = Xᵀβ is kept up to date, and b changes by ``step`` for every unit of Σβ.
    """
    for chunk in chunks:
        for at in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(rows))):
            i = rows[at]
            score = b + sparse_dot(begins[i], ends[i], indices, data, w)
            change = change_coordinate(i, score, numbers, epsilon, step, beta)
            if change != 0.0:
                b += step * change
                factor = data.dtype.type(change)
                for p in range(begins[i], ends[i]):
                    w[np.uint64(indices[p])] += factor * data[p]
    return b


@compiled(fastmath={"reassoc", "contract"})
def dense_epoch(x, numbers, rows, chunks, epsilon, beta, w, b, step):
    """As :func:`sparse_epoch`, over dense rows."""
    for chunk in chunks:
        for at in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(rows))):
            i = rows[at]
            row, score = x[i], 0.0
            for j in range(len(w)):
                score += row[j] * w[j]
            change = change_coordinate(i, b + score, numbers, epsilon, step, beta)
            if change != 0.0:
                b += step * change
                for j in range(len(w)):
                    w[j] += change * row[j]
    return b


# -------------------------------------------------------------------------------------------------
# Dual coordinate descent for the multi-class SVM of Crammer and Singer, over sparse rows.


@compiled
def multiclass_epoch(indptr, indices, data, square, code, cost, order, active, alpha, w, threshold):
    """One epoch over ``order[:active]``; returns the worst violation and how many stay active.

    Row i takes its optimal α with those of the others fixed: with g the scores plus one for each
    wrong class, αₖ = min(c [k = y], αₖ − (gₖ − θ)/‖x‖²) with θ such that Σ α = 0. ``w`` is d x K.
    A row with α = 0 whose own class leads by more than ``threshold`` is shrunk.
    """
    classes = w.shape[1]
    g, base, new = np.empty(classes), np.empty(classes), np.empty(classes)
    worst = 0.0
    at = 0
    while at < active:
        i = order[at]
        y = code[i]
        for k in range(classes):
            g[k] = 0.0 if k == y else 1.0
        for p in range(indptr[i], indptr[i + 1]):
            j, value = indices[p], data[p]
            for k in range(classes):
                g[k] += w[j, k] * value
        best, low, idle = -np.inf, np.inf, True
        for k in range(classes):
            best = max(best, g[k])
            if alpha[i, k] < (cost[i] if k == y else 0.0):
                low = min(low, g[k])
            if alpha[i, k] != 0.0:
                idle = False
        if idle and best == g[y]:
            second = -np.inf
            for k in range(classes):
                if k != y:
                    second = max(second, g[k])
            if g[y] - second > threshold:
                active -= 1
                order[at] = order[active]
                order[active] = i
                continue
        at += 1
        violation = best - low
        if violation <= 0.0 or square[i] <= 0.0:
            continue
        worst = max(worst, violation)
        for k in range(classes):
            base[k] = g[k] - square[i] * alpha[i, k]
            new[k] = base[k] + (square[i] * cost[i] if k == y else 0.0)
        new.sort()
        theta = new[classes - 1] - square[i] * cost[i]
        count = 1
        while count < classes and theta < count * new[classes - 1 - count]:
            theta += new[classes - 1 - count]
            count += 1
        theta /= count
        for k in range(classes):
            new[k] = min(cost[i] if k == y else 0.0, (theta - base[k]) / square[i])
            new[k] -= alpha[i, k]
            alpha[i, k] += new[k]
        for p in range(indptr[i], indptr[i + 1]):
            j, value = indices[p], data[p]
            for k in range(classes):
                w[j, k] += new[k] * value
    return worst, active


# -------------------------------------------------------------------------------------------------
# Loops of the SVM path: one segment, its end, and updates of the set of free rows.
#
# States of a row: +1 bound (α at its upper bound p + τ r), 0 free (on the margin), −1 no support
# vector (α = 0), 2 fixed. The first ``m`` of ``free`` are the free rows; ``inverse`` is that of
# [[0, yᵀ], [y, K]] over them, where K includes the signs of both labels.


@compiled
def apply_inverse(kernel, y, free, m, inverse, right, out):
    """``out`` = inverse · right, refined once; returns the relative size of the refinement."""
    left = np.empty(m + 1)
    for a in range(m + 1):
        total = 0.0
        for c in range(m + 1):
            total += inverse[a, c] * right[c]
        out[a] = total
    for a in range(m + 1):
        total = right[a]
        if a == 0:
            for c in range(m):
                total -= y[free[c]] * out[c + 1]
        else:
            i = free[a - 1]
            total -= y[i] * out[0]
            for c in range(m):
                total -= kernel[i, free[c]] * out[c + 1]
        left[a] = total
    size, change = 0.0, 0.0
    for a in range(m + 1):
        total = 0.0
        for c in range(m + 1):
            total += inverse[a, c] * left[c]
        out[a] += total
        size = abs(out[a]) if abs(out[a]) > size else size
        change = abs(total) if abs(total) > change else change
    return change / size if size > 0.0 else 0.0


@compiled
def segment(kernel, y, q, h0, h1, s0, s1, free, m, inverse, fixed, slope, e0, e1):
    """(b, α) of free rows as fixed + τ slope, all gradients as e0 + τ e1; returns the refinement.

    A gradient is y·score − q: zero on the margin. h and s are the sums over bound rows.
    """
    right = np.empty(m + 1)
    right[0] = -s0
    for c in range(m):
        right[c + 1] = q[free[c]] - h0[free[c]]
    change = apply_inverse(kernel, y, free, m, inverse, right, fixed)
    right[0] = -s1
    for c in range(m):
        right[c + 1] = -h1[free[c]]
    other = apply_inverse(kernel, y, free, m, inverse, right, slope)
    for i in range(len(y)):
        e0[i] = h0[i] + y[i] * fixed[0] - q[i]
        e1[i] = h1[i] + y[i] * slope[0]
    for c in range(m):
        a0, a1, row = fixed[c + 1], slope[c + 1], kernel[free[c]]
        for i in range(len(y)):
            e0[i] += a0 * row[i]
            e1[i] += a1 * row[i]
    return float(change if change > other else other)


@compiled
def next_event(tau, state, p, r, free, m, fixed, slope, e0, e1, min_rate):
    """(τ, row, its new state) of the first event after τ; row −1 where there is none.

    Of events at one τ the fastest comes first, which rounding can least reverse. A gradient with a
    derivative below ``min_rate`` is constant.
    """
    best, chosen, new, speed = np.inf, -1, 0, 0.0
    near = 1e-12 * abs(tau)
    for i in range(len(state)):
        if state[i] == 0 or state[i] == 2 or state[i] * e1[i] <= min_rate:
            continue
        at = -e0[i] / e1[i]
        at = at if at > tau else tau
        fast = abs(e1[i])
        if at < best - near or (at <= best + near and fast > speed):
            best, chosen, new, speed = at if at < best else best, i, 0, fast
    for c in range(m):
        i = free[c]
        for top in range(2):
            rate = slope[c + 1] - r[i] if top else -slope[c + 1]
            room = p[i] - fixed[c + 1] if top else fixed[c + 1]
            if rate <= 1e-12 * (abs(r[i]) + abs(slope[c + 1])):
                continue
            at = room / rate
            at = at if at > tau else tau
            if at < best - near or (at <= best + near and rate > speed):
                best, chosen, new, speed = at if at < best else best, i, 2 * top - 1, rate
    return best, chosen, new


@compiled
def leave(free, m, inverse, place):
    """Remove the row at ``place`` from the free ones; returns their new number."""
    if m == 1:
        return 0
    k = place + 1
    pivot = inverse[k, k]
    column = np.empty(m + 1)
    for a in range(m + 1):
        column[a] = inverse[a, k]
    for a in range(m + 1):
        fraction = column[a] / pivot
        for c in range(m + 1):
            inverse[a, c] -= fraction * column[c]
    for a in range(m + 1):  # the last one moves to its place
        inverse[a, k] = inverse[a, m]
    for c in range(m + 1):
        inverse[k, c] = inverse[m, c]
    inverse[k, k] = inverse[m, m]
    free[place] = free[m - 1]
    return m - 1


@compiled
def enter(kernel, y, free, m, inverse, i, along):
    """Make row i free, unless it depends on the free rows; returns the Schur complement, or zero.

    The Schur complement is the squared distance of the row from the span of the free ones.
    ``along`` receives inverse · (yᵢ, Kᵢ): minus the derivatives of b and α in αᵢ.
    """
    if m == 0:
        inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1] = -kernel[i, i], y[i], y[i], 0.0
        free[0] = i
        return np.inf
    right = np.empty(m + 1)
    right[0] = y[i]
    size = kernel[i, i]
    for c in range(m):
        right[c + 1] = kernel[i, free[c]]
        diagonal = kernel[free[c], free[c]]
        size = diagonal if diagonal > size else size
    apply_inverse(kernel, y, free, m, inverse, right, along)
    schur = kernel[i, i]
    for a in range(m + 1):
        schur -= right[a] * along[a]
    if schur <= 1e-11 * size:
        return 0.0
    for a in range(m + 1):
        for c in range(m + 1):
            inverse[a, c] += along[a] * along[c] / schur
        inverse[a, m + 1] = inverse[m + 1, a] = -along[a] / schur
    inverse[m + 1, m + 1] = 1.0 / schur
    free[m] = i
    return float(schur)


# -------------------------------------------------------------------------------------------------
# Squared losses of a small dense problem: Newton's method with an exact line search in one loop.
#
#     min over θ of ½ Σ ρ θ² + Σ c e²
#
# e is how far a score is from where it costs nothing: t max(0, 1 − t s) of a label t = ±1, or the
# part of t − s beyond ±ε. ``epsilon`` is negative for labels.


@compiled(inline="always")
def _excess(t, score, epsilon):
    if epsilon < 0.0:
        return t * max(0.0, 1.0 - t * score)
    residual = t - score
    return max(0.0, residual - epsilon) - max(0.0, -residual - epsilon)


@compiled
def step_of_squares(scores, along, t, c, epsilon, linear, square):
    """The step of least objective: the root of a derivative that increases piecewise linearly.

    ``linear`` and ``square`` are the derivatives of the penalty along the step.
    """
    low, high, step, begin = 0.0, np.inf, 0.0, 0.0
    for k in range(61):  # evaluations at most
        first, second = linear + step * square, square
        for i in range(len(t)):
            e = _excess(t[i], scores[i] + step * along[i], epsilon)
            if e != 0.0:
                first -= 2.0 * c[i] * e * along[i]
                second += 2.0 * c[i] * along[i] * along[i]
        if k == 0:
            begin, step = first, 1.0
            if not begin < 0.0:
                return 1.0
            continue
        # Derivative along a step that counts as zero, relative to the one at its beginning: where
        # the active rows stay as they are, that of a full step is zero but for rounding.
        if abs(first) <= 1e-3 * -begin:
            break
        if first < 0.0:
            low = step
        else:
            high = step
        step = step - first / second if second > 0.0 else np.inf
        if not low < step < high:
            step = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return step


@compiled
def _multiply(z, v, out):
    """``out`` = z v."""
    for i in range(len(z)):
        out[i] = 0.0
        for j in range(len(v)):
            out[i] += z[i, j] * v[j]


@compiled
def _second_order(z, c, ridge, theta, excess, gradient, matrix):
    """The objective at θ, its gradient, and the lower half of its Hessian."""
    value = 0.0
    for j in range(len(theta)):
        value += 0.5 * ridge[j] * theta[j] ** 2
        gradient[j] = ridge[j] * theta[j]
        for k in range(j + 1):
            matrix[j, k] = ridge[j] if k == j else 0.0
    for i in range(len(excess)):
        if excess[i] != 0.0:
            value += c[i] * excess[i] ** 2
            for j in range(len(theta)):
                gradient[j] -= 2.0 * c[i] * excess[i] * z[i, j]
                for k in range(j + 1):
                    matrix[j, k] += 2.0 * c[i] * z[i, j] * z[i, k]
    return value


@compiled
def minimize_squares(z, t, c, ridge, epsilon, theta, most):
    """Newton steps from θ, in place, until the active rows stay as they are; returns their number.

    Negative where the Hessian is singular up to rounding or the steps have run out.
    """
    n, m = z.shape
    of_rows, of_columns, matrix = np.empty((3, n)), np.empty((3, m)), np.empty((m, m))
    scores, along, excess = of_rows[0], of_rows[1], of_rows[2]
    gradient, delta, size = of_columns[0], of_columns[1], of_columns[2]
    _multiply(z, theta, scores)
    for i in range(n):
        excess[i] = _excess(t[i], scores[i], epsilon)
    before, repeated = np.inf, False
    for count in range(most):
        value = _second_order(z, c, ridge, theta, excess, gradient, matrix)
        if value == 0.0 or (not value < before and count > 0):
            return count
        before = value
        for j in range(m):
            size[j] = 1.0 / np.sqrt(matrix[j, j]) if matrix[j, j] > 0.0 else 0.0
        for j in range(m):
            for k in range(j):
                matrix[j, k] *= size[j] * size[k]
            matrix[j, j] = 1.0 + 1e-15
            delta[j] = -gradient[j] * size[j]
        if not factorize(matrix):
            return -1
        for j in range(m):
            if matrix[j, j] < 1e-5:
                return -1
        substitute(matrix, delta)
        linear = square = 0.0
        for j in range(m):
            delta[j] *= size[j]
            linear += ridge[j] * theta[j] * delta[j]
            square += ridge[j] * delta[j] ** 2
        _multiply(z, delta, along)
        step = step_of_squares(scores, along, t, c, epsilon, linear, square)
        for j in range(m):
            theta[j] += step * delta[j]
        _multiply(z, theta, scores)
        same = True
        for i in range(n):
            e = _excess(t[i], scores[i], epsilon)
            same = same and (e != 0.0) == (excess[i] != 0.0)
            excess[i] = e
        if same and repeated:
            return count + 1
        repeated = same
    return -1
