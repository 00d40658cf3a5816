"""Loops over pairs of rows, compiled: the stochastic neighbors of neighborhood components."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.distances.loops import larger, smaller
from separatrix.kernels.loops import LEAST, exponential

FLAGS = {"contract", "nnan", "nsz"}
#: Sums in any order, so that they are vectorized; never beside an exponential, which rounds by
#: adding and subtracting a large number.
SUMS = {"contract", "nnan", "nsz", "reassoc"}

# -------------------------------------------------------------------------------------------------
# Stochastic neighbors of a row: p_j = e_j / Σ e, with e_j = m_j exp(−d_j) relative to the largest.
#
# Points further than FAR beyond the nearest have less than 1e-20 of its probability: n of them
# change no digit, and are left out.


FAR = 46.0


@compiled(fastmath=FLAGS)
def squared_distances(z, points, costs, itself, i, out):
    """‖z − zⱼ‖² − log mⱼ of all points, ``itself`` for the point i; returns the least."""
    for j in range(out.size):
        out[j] = costs[j]
    for c in range(points.shape[0]):
        at, column = z[c], points[c]
        for j in range(out.size):
            difference = at - column[j]
            out[j] += difference * difference
    out[i] = itself
    return _least(out)


@compiled(fastmath=FLAGS)
def _least(values):
    least = np.inf
    for j in range(values.size):
        least = smaller(least, values[j])
    return least


@compiled
def near(d, limit, index, exponents, least):
    """Points up to the limit, and least − d of each; returns how many."""
    count = 0
    for j in range(d.size):
        index[count] = j
        exponents[count] = least - d[j]
        count += d[j] <= limit
    return count


@compiled(fastmath=FLAGS)
def exponentials(values):
    """exp(t), in place."""
    for j in range(values.size):
        t = values[j]
        e = exponential(larger(t, LEAST))
        values[j] = e if t >= LEAST else 0.0


@compiled
def probabilities(e, index, codes, code, w):
    """wᵢ pⱼ (1{same class} − pᵢ) in place of e; returns pᵢ."""
    total, same = 0.0, 0.0
    for k in range(e.size):
        total += e[k]
        same += e[k] if codes[index[k]] == code else 0.0
    p, scale = same / total, w / total
    for k in range(e.size):
        mine = 1.0 if codes[index[k]] == code else 0.0
        e[k] *= scale * (mine - p)
    return p


@compiled(fastmath=SUMS)
def _pull_all(q, z, points, forces, counter):
    """Σ qⱼ (z − zⱼ) into ``forces``, and its summands into ``counter``, of all points."""
    for c in range(points.shape[0]):
        at, column, other, total = z[c], points[c], counter[c], 0.0
        for j in range(q.size):
            pull = q[j] * (at - column[j])
            other[j] += pull
            total += pull
        forces[c] = total


@compiled
def _pull_some(q, index, z, points, forces, counter):
    """The same of some points."""
    for c in range(points.shape[0]):
        at, column, other, total = z[c], points[c], counter[c], 0.0
        for k in range(q.size):
            j = index[k]
            pull = q[k] * (at - column[j])
            other[j] += pull
            total += pull
        forces[c] = total


@compiled
def neighborhood_rows(start, stop, z, points, costs, itself, codes, w, forces, counter):
    """Σ wᵢ pᵢ of rows start … stop, and the sums of their pairs for the gradient.

    ``forces`` (rows x p) receives Σⱼ qᵢⱼ (zᵢ − zⱼ), ``counter`` (p x n) Σᵢ qᵢⱼ (zᵢ − zⱼ).
    """
    n = codes.size
    d, q, e = np.empty(n), np.empty(n), np.empty(n + 1)
    index = np.empty(n + 1, dtype=np.int64)
    objective = 0.0
    for i in range(start, stop):
        least = squared_distances(z[i], points, costs, itself[i], i, d)
        forces[i - start] = 0.0
        if least == np.inf:
            continue
        count = near(d, least + FAR, index, e, least)
        exponentials(e[:count])
        p = probabilities(e[:count], index[:count], codes, codes[i], w[i])
        objective += w[i] * p
        # Sums over all points are vectorized, over some they are not: three times the work.
        if 3 * count < n:
            _pull_some(e[:count], index[:count], z[i], points, forces[i - start], counter)
            continue
        q[:] = 0.0
        for k in range(count):
            q[index[k]] = e[k]
        _pull_all(q, z[i], points, forces[i - start], counter)
    return objective


@compiled
def neighborhood_tile(start, tile, norms, costs, itself, codes, w):
    """The same weights q in place of the products zᵢ·zⱼ of a tile; returns Σ wᵢ pᵢ."""
    n = codes.size
    index = np.arange(n)
    objective = 0.0
    for row in range(tile.shape[0]):
        i, q = start + row, tile[row]
        least = _from_products(q, norms, costs, i, itself[i])
        if least == np.inf:
            q[:] = 0.0
            continue
        _exponentials_below(q, least)
        p = probabilities(q, index, codes, codes[i], w[i])
        objective += w[i] * p
    return objective


@compiled(fastmath=FLAGS)
def _from_products(q, norms, costs, i, itself):
    at = norms[i]
    for j in range(q.size):
        q[j] = larger(at + norms[j] - 2.0 * q[j], 0.0) + costs[j]
    q[i] = itself
    return _least(q)


@compiled(fastmath=FLAGS)
def _exponentials_below(q, least):
    for j in range(q.size):
        t = least - q[j]
        e = exponential(larger(t, LEAST))
        q[j] = e if t >= LEAST else 0.0


# -------------------------------------------------------------------------------------------------
# Margins: a tile of squared distances of rows start, start + 1, … from all rows becomes the sums of
# α over the triples of each pair, with sign: pulled together above zero, pushed apart below.


@compiled
def margin_tile(start, tile, targets, counts, codes, costs, width, totals):
    """``totals`` receives Σ c max(0, s), the same with its corner rounded within ``width``, Σ α.

    s = 1 + dᵢⱼ − dᵢₗ, α = c min(1, s/width), c = tᵢⱼ costs[l].
    """
    n, k = tile.shape[1], targets.shape[1]
    near, pulled = np.empty(k), np.empty(k)
    for row in range(tile.shape[0]):
        i, q = start + row, tile[row]
        code, limit = codes[i], -1.0
        for t in range(k):
            near[t], pulled[t] = 0.0, 0.0
            if counts[i, t] > 0.0:
                if targets[i, t] != i:
                    near[t] = q[targets[i, t]]
                limit = larger(limit, 1.0 + near[t])
        for j in range(n):
            d = q[j]
            q[j] = 0.0
            if codes[j] == code or d >= limit:
                continue
            for t in range(k):
                s = 1.0 + near[t] - d
                if s <= 0.0 or counts[i, t] == 0.0:
                    continue
                c = counts[i, t] * costs[j]
                totals[0] += c * s
                if s >= width:
                    a = c
                    totals[1] += c * (s - 0.5 * width)
                else:
                    a = c * s / width
                    totals[1] += 0.5 * a * s
                totals[2] += a
                q[j] -= a
                pulled[t] += a
        for t in range(k):
            if counts[i, t] > 0.0:
                q[targets[i, t]] += pulled[t]
