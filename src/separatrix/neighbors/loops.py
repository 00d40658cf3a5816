"""Predictions by the k nearest neighbors and their losses, for every k from one sorted list."""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops import FLAGS, LEAST, SUMS, exponential, larger, smaller

#: Minus the logarithm of the least density that is told from zero; squares beyond are taken for it,
#: as zero times infinity is not a number.
FARTHEST = 1e300


@compiled
def misclassified_by_count(copies, weights, codes, truth, n_classes, first, last, out):
    """out[i, k − first] = 1 where the class with most votes among k neighbors is not the true one.

    Neighbors come from near to far, neighbor j counted ``copies[i, j]`` times, an integer. Ties go
    to the first class; where all weights are zero, neighbors count alike.
    """
    weighted, counted = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(copies.shape[0]):
        weighted[:] = 0.0
        counted[:] = 0.0
        by_weight, by_count, k = 0, 0, 0
        for j in range(copies.shape[1]):
            c = codes[i, j]
            for _ in range(int(copies[i, j])):
                if k == last:
                    break
                k += 1
                weighted[c] += weights[i, j]
                counted[c] += 1.0
                by_weight = _largest(weighted, by_weight, c)
                by_count = _largest(counted, by_count, c)
                if k >= first:
                    predicted = by_weight if weighted[by_weight] > 0.0 else by_count
                    out[i, k - first] = 1.0 if predicted != truth[i] else 0.0
            if k == last:
                break


@compiled
def add_votes(starts, indices, weights, codes, out):
    """out[i, c] += Σ weight of the neighbors of row i, of class c."""
    for i in range(out.shape[0]):
        for j in range(starts[i], starts[i + 1]):
            out[i, codes[indices[j]]] += weights[j]


@compiled
def most_voted(starts, indices, weights, codes, n_classes, out):
    """out[i] = the class with the largest Σ weight, the first of equals; −1 without any votes."""
    totals = np.zeros(n_classes)
    for i in range(out.shape[0]):
        for j in range(starts[i], starts[i + 1]):
            totals[codes[indices[j]]] += weights[j]
        largest, most = -1, 0.0
        for j in range(starts[i], starts[i + 1]):
            c = codes[indices[j]]
            if totals[c] > most or (totals[c] == most and c < largest):
                largest, most = c, totals[c]
        for j in range(starts[i], starts[i + 1]):
            totals[codes[indices[j]]] = 0.0
        out[i] = largest


@compiled
def _largest(totals, largest, c):
    """The class with the largest total after that of c has grown; the first of equals."""
    if totals[c] > totals[largest] or (totals[c] == totals[largest] and c < largest):
        return c
    return largest


#: Weights of neighbors: 1; 1/d; exp(−d²/2h²) with h the distance of the k-th neighbor.
UNIFORM, DISTANCE, GAUSSIAN = 0, 1, 2


@compiled
def _weight(kind, d, nearest, farthest):
    """Weight of a neighbor at distance d, relative to that of the nearest."""
    if kind == DISTANCE:
        if nearest == 0.0:
            return 1.0 if d == 0.0 else 0.0
        return nearest / d
    if kind == GAUSSIAN and farthest > 0.0:
        return math.exp(-0.5 * (d / farthest) ** 2)
    return 1.0


@compiled
def _farthest(distances, indices, w, k):
    """The distance of the neighbor with which a total weight of k is reached."""
    total = 0.0
    for j in range(indices.shape[0]):
        total += w[indices[j]]
        if total >= k * (1.0 - 1e-12):
            return distances[j]
    return distances[-1]


@compiled
def means_by_count(distances, indices, w, codes, values, kind, counts, means, effective):
    """means[t, c] = Σ v·value over neighbors of code c / Σ v, v over the first ``counts[t]`` ones.

    Neighbors come from near to far, each counted as often as its weight says and no more often than
    the count allows. ``effective[t]`` is (Σ v)² / Σ v².
    """
    j, filled, total, square = 0, 0.0, 0.0, 0.0
    sums = np.zeros(means.shape[1])
    for t in range(counts.shape[0]):
        k, farthest = counts[t], 0.0
        if kind == GAUSSIAN:  # another bandwidth: from the beginning
            j, filled, total, square = 0, 0.0, 0.0, 0.0
            sums[:] = 0.0
            farthest = _farthest(distances, indices, w, k)
        while j < indices.shape[0] and filled + w[indices[j]] <= k:
            index = indices[j]
            v = _weight(kind, distances[j], distances[0], farthest)
            sums[codes[index]] += w[index] * v * values[index]
            total += w[index] * v
            square += w[index] * v * v
            filled += w[index]
            j += 1
        means[t] = sums
        weight, squares = total, square
        if j < indices.shape[0] and filled < k:
            index, part = indices[j], k - filled
            v = _weight(kind, distances[j], distances[0], farthest)
            means[t, codes[index]] += part * v * values[index]
            weight += part * v
            squares += part * v * v
        for c in range(means.shape[1]):
            means[t, c] /= weight
        effective[t] = weight * weight / squares


@compiled
def class_losses(
    distances, indices, w, codes, values, kind, counts, truth, v, smoothing, n_classes
):
    """Σ v·loss of rows with these neighbors, for every count: error, log loss by smoothing."""
    n_counts, n_smoothing = counts.shape[0], smoothing.shape[0]
    means, effective = np.empty((n_counts, n_classes)), np.empty(n_counts)
    out = np.zeros((n_counts, 1 + n_smoothing))
    for i in range(indices.shape[0]):
        means_by_count(distances[i], indices[i], w, codes, values, kind, counts, means, effective)
        for t in range(n_counts):
            class_mean, m = means[t, truth[i]], effective[t]
            if means[t].argmax() != truth[i]:
                out[t, 0] += v[i]
            for s in range(n_smoothing):
                p = (m * class_mean + smoothing[s] / n_classes) / (m + smoothing[s])
                # The smallest probability whose logarithm is taken.
                out[t, 1 + s] -= v[i] * math.log(max(p, 1e-15))
    return out


@compiled
def number_losses(distances, indices, w, codes, values, kind, counts, truth, v):
    """Σ v·loss of rows with these neighbors, for every count: squared error, absolute error."""
    means, effective = np.empty((counts.shape[0], 1)), np.empty(counts.shape[0])
    out = np.zeros((counts.shape[0], 2))
    for i in range(indices.shape[0]):
        means_by_count(distances[i], indices[i], w, codes, values, kind, counts, means, effective)
        for t in range(counts.shape[0]):
            error = abs(means[t, 0] - truth[i])
            out[t, 0] += v[i] * error * error
            out[t, 1] += v[i] * error
    return out


@compiled
def means_of_neighbors(distances, indices, w, codes, values, kind, k, smoothing, means):
    """The prediction of every row by its k neighbors; proportions of classes are smoothed."""
    counts, effective = np.full(1, k), np.empty(1)
    for i in range(indices.shape[0]):
        row = means[i : i + 1]
        means_by_count(distances[i], indices[i], w, codes, values, kind, counts, row, effective)
        if smoothing > 0.0:
            for c in range(means.shape[1]):
                means[i, c] = (effective[0] * means[i, c] + smoothing / means.shape[1]) / (
                    effective[0] + smoothing
                )


@compiled(fastmath=FLAGS)
def gaussian_weights(distances, inverse, weights):
    """exp(−½ (d² − m²)/h²) of every row, with m its least distance, and 1/h as ``inverse``.

    The difference is a product, as the square of a large distance would overflow. Where m is
    infinite, all weights are one.
    """
    for i in range(len(distances)):
        row, out = distances[i], weights[i]
        nearest = row[0]
        for j in range(row.size):
            nearest = smaller(nearest, row[j])
        if nearest == np.inf:
            out[:] = 1.0
            continue
        for j in range(row.size):
            beyond, both = (row[j] - nearest) * inverse, (row[j] + nearest) * inverse
            t = -0.5 * beyond * smaller(both, FARTHEST)
            e = exponential(larger(t, LEAST))
            out[j] = e if t >= LEAST else 0.0


# -------------------------------------------------------------------------------------------------
# Sums of kernels K(u), u = d/h, and of g = −u K′(u), over points at given distances.


@compiled(fastmath=FLAGS)
def _terms(row, inverse, gaussian, terms, values):
    """t = −ln K(u) and exp(top − t) of every point, with top the least t, which is returned."""
    top = FARTHEST
    for j in range(row.size):
        u = row[j] * inverse
        t = smaller(0.5 * u * u if gaussian else u, FARTHEST)
        terms[j] = t
        top = smaller(top, t)
    for j in range(row.size):
        t = top - terms[j]
        e = exponential(larger(t, LEAST))
        values[j] = e if t >= LEAST else 0.0
    return top


@compiled(fastmath=SUMS)
def _weighted_sums(w, terms, values):
    total = slope = 0.0
    for j in range(w.size):
        part = w[j] * values[j]
        total += part
        slope += part * terms[j]
    return total, slope


@compiled
def kernel_sums(distances, w, kind, h, log, ratio):
    """ln Σ w K, relative to the nearest point, and Σ w g / Σ w K: exp(−u²/2), or exp(−u)."""
    terms, values = np.empty(w.size), np.empty(w.size)
    for i in range(distances.shape[0]):
        top = _terms(distances[i], 1.0 / h, kind == 0, terms, values)
        if not top < FARTHEST:
            log[i], ratio[i] = -np.inf, np.nan
            continue
        total, slope = _weighted_sums(w, terms, values)
        log[i] = math.log(total) - top
        ratio[i] = (2.0 if kind == 0 else 1.0) * slope / total


@compiled
def bounded_kernel_sums(distances, w, kind, h, log, ratio):
    """The same of kernels that end at u = 1: 1, 1 − u², 1 − u and cos(πu/2)."""
    for i in range(distances.shape[0]):
        total = slope = 0.0
        for j in range(distances.shape[1]):
            u = distances[i, j] / h
            if not u < 1.0:
                continue
            if kind == 2:
                total += w[j]
            elif kind == 3:
                total += w[j] * (1.0 - u) * (1.0 + u)
                slope += w[j] * 2.0 * u * u
            elif kind == 4:
                total += w[j] * (1.0 - u)
                slope += w[j] * u
            else:
                angle = 0.5 * math.pi * u
                total += w[j] * math.cos(angle)
                slope += w[j] * angle * math.sin(angle)
        log[i] = math.log(total) if total > 0.0 else -np.inf
        ratio[i] = slope / total if total > 0.0 else np.nan
