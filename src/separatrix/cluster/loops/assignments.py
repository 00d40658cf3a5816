"""Passes over rows in clusters: centering, sums, own distances, and what a move would gain."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def less(a, b):
    """The smaller; no branch, and no care for NaN."""
    return a if a < b else b


@njit(cache=True, nogil=True, inline="always")
def more(a, b):
    """The larger."""
    return a if a > b else b


@njit(cache=True, nogil=True, inline="always")
def square_to(x, i, centers, a):
    """‖x − c‖² of row i and center a, in double precision."""
    total = 0.0
    for j in range(x.shape[1]):
        step = x[i, j] - centers[a, j]
        total += step * step
    return total


@njit(cache=True, nogil=True)
def center_rows(x, mean, unit, start, stop, exact, single, square):
    """Rows about the mean, in the given unit: exact, in single precision, and ‖x‖²."""
    for i in range(start, stop):
        total = np.float32(0.0)
        for f in range(x.shape[1]):
            value = (x[i, f] - mean[f]) / unit
            exact[i, f] = value
            small = np.float32(value)
            single[i, f] = small
            total += small * small
        square[i] = total


@njit(cache=True, nogil=True)
def add_rows(x, weight, label, start, stop, sums, mass, count):
    """Sums, weights and numbers of the rows ``start:stop`` by cluster."""
    for i in range(start, stop):
        a, w = label[i], weight[i]
        mass[a] += w
        count[a] += 1
        for f in range(x.shape[1]):
            sums[a, f] += w * x[i, f]


@njit(cache=True, nogil=True)
def own_squares(x, centers, label, start, stop, out):
    """‖x − c‖² of every row to the center of its own cluster."""
    for i in range(start, stop):
        out[i] = square_to(x, i, centers, label[i])


@njit(cache=True, nogil=True)
def judge(product, square, norms, mass, weight, label, nearest, lead, gain):
    """From x·c of every row and center: the nearest center, and what a move to another would gain.

    Moving a row of weight w from cluster a to b lowers the scatter, with both means following, by

        w · (mₐ/(mₐ − w) ‖x − cₐ‖² − m_b/(m_b + w) ‖x − c_b‖²)

    ``gain`` gets the largest of these over b; a row alone in its cluster gains nothing. ``lead`` is
    by how much the second nearest center is farther, squared. Unknown masses are infinite.
    """
    for i in range(product.shape[0]):
        best, value, second = 0, np.inf, np.inf
        for j in range(norms.size):
            v = norms[j] - 2.0 * product[i, j]
            second = less(second, more(value, v))
            if v < value:
                best, value = j, v
        w, other = weight[i], np.inf
        lead[i] = second - value
        for j in range(norms.size):
            v = (norms[j] - 2.0 * product[i, j] + square[i]) * (mass[j] / (mass[j] + w))
            if v < other and j != best:
                other = v
        label[i], nearest[i] = best, max(value + square[i], 0.0)
        rest = mass[best] - w
        gain[i] = w * (mass[best] / rest * nearest[i] - other) if rest > 0.5 * w else 0.0
