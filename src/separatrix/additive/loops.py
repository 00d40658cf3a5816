"""Sums over rows of a spline design, of which every row has few entries that are not zero."""

from __future__ import annotations

from separatrix.compilation import compiled


@compiled
def spline_entries(z, knots, first, table, offset, index, value):
    """The entries of one column: piece s of z, and powers of z − origin by ``table[s]``.

    ``table`` (pieces x powers x entries) holds the coefficients of the basis functions that are not
    zero on a piece, the first of which is ``first``.
    """
    powers, width = table.shape[1], table.shape[2]
    for i in range(z.shape[0]):
        s = piece_of(knots, z[i])
        u = z[i] - knots[max(s - 1, 0)]
        for k in range(width):
            total = 0.0
            for power in range(powers - 1, -1, -1):
                total = total * u + table[s, power, k]
            index[i, k] = offset + first[s] + k
            value[i, k] = total


@compiled
def piece_of(knots, z):
    """How many knots are at most z."""
    low, high = 0, knots.shape[0]
    while low < high:
        middle = (low + high) // 2
        if knots[middle] <= z:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def product_entries(left, left_value, right, right_value, width, offset, index, value):
    """The entries of the products of two columns; ``width`` functions belong to the right one."""
    for i in range(left.shape[0]):
        at = 0
        for a in range(left.shape[1]):
            for b in range(right.shape[1]):
                index[i, at] = offset + left[i, a] * width + right[i, b]
                value[i, at] = left_value[i, a] * right_value[i, b]
                at += 1


@compiled
def add_gram(start, stop, index, value, w, out):
    """out += Σ w b bᵀ over rows, above the diagonal; ``index`` is sorted in every row."""
    width = index.shape[1]
    for i in range(start, stop):
        for a in range(width):
            weighted = w[i] * value[i, a]
            if weighted != 0.0:
                row = out[index[i, a]]
                for b in range(a, width):
                    row[index[i, b]] += weighted * value[i, b]


@compiled
def add_cross(start, stop, index, value, r, out):
    """out += Σ b r over rows."""
    for i in range(start, stop):
        for a in range(index.shape[1]):
            row = out[index[i, a]]
            for k in range(r.shape[1]):
                row[k] += value[i, a] * r[i, k]


@compiled
def rows_times(start, stop, index, value, c, out):
    """out = b·c of rows."""
    for i in range(start, stop):
        for k in range(c.shape[1]):
            total = 0.0
            for a in range(index.shape[1]):
                total += value[i, a] * c[index[i, a], k]
            out[i, k] = total


@compiled
def add_piecewise(z, knots, table, out):
    """out += the piecewise polynomials of ``table`` (pieces x powers x functions) at z."""
    for i in range(z.shape[0]):
        s = piece_of(knots, z[i])
        u = z[i] - knots[max(s - 1, 0)]
        for k in range(table.shape[2]):
            total = 0.0
            for power in range(table.shape[1] - 1, -1, -1):
                total = total * u + table[s, power, k]
            out[i, k] += total


@compiled
def add_cells(start, stop, bins, counts, r, w, pairs, sums, weights):
    """Sums of r and of w by the cells of pairs of binned columns (pairs x bins² x outputs)."""
    for i in range(start, stop):
        for p in range(pairs.shape[0]):
            j, k = pairs[p, 0], pairs[p, 1]
            cell = bins[i, j] * counts[k] + bins[i, k]
            for output in range(r.shape[1]):
                sums[p, cell, output] += r[i, output]
                weights[p, cell, output] += w[i, output]
