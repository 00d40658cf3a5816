"""Products with compressed rows, compiled."""

from __future__ import annotations

from typing import Any

from separatrix.compilation import compiled

# -------------------------------------------------------------------------------------------------
# Inner products of sparse rows.


@compiled
def sparse_gram_rows(start, stop, row_starts, columns, values, starts, rows, entries, out):
    """Rows ``start:stop`` of X Xᵀ into ``out``, from X by compressed rows and columns."""
    for i in range(start, stop):
        for at in range(row_starts[i], row_starts[i + 1]):
            j, value = columns[at], values[at]
            for k in range(starts[j], starts[j + 1]):
                out[i, rows[k]] += value * entries[k]


@compiled
def center_rows(x, start, stop, center, factor, root, out):
    """out = √w (x − c)/s for the columns ``start:stop`` of rows in C order; factor is 1/s."""
    c, f = center[start:stop], factor[start:stop]
    for i in range(x.shape[0]):
        row, to = x[i, start:stop], out[i]
        for j in range(to.shape[0]):
            to[j] = (row[j] - c[j]) * (f[j] * root[i])


@compiled
def center_columns(x, start, stop, center, factor, root, out):
    """The same for Xᵀ in C order: one row of ``x`` and ``out`` is one column of the table."""
    for j in range(start, stop):
        column, to = x[j], out[j - start]
        for i in range(to.shape[0]):
            to[i] = (column[i] - center[j]) * (factor[j] * root[i])


# -------------------------------------------------------------------------------------------------
# Products of compressed rows with dense vectors; compressed columns are the rows of Xᵀ.


Array = Any


@compiled(fastmath={"reassoc", "contract"})
def rows_times(
    start: int, stop: int, indptr: Array, indices: Array, data: Array, v: Array, out: Array
) -> None:
    """out[i] = Σⱼ xᵢⱼ vⱼ for the rows start to stop; two sums do not wait for each other."""
    at = indptr[start]
    for i in range(start, stop):
        end = indptr[i + 1]
        a = b = 0.0
        while at + 1 < end:
            a += data[at] * v[indices[at]]
            b += data[at + 1] * v[indices[at + 1]]
            at += 2
        if at < end:
            a += data[at] * v[indices[at]]
            at += 1
        out[i] = a + b


@compiled
def add_rows(indptr: Array, indices: Array, data: Array, r: Array, out: Array) -> None:
    """Add Σᵢ rᵢ xᵢⱼ to out[j], from compressed rows."""
    for i in range(len(indptr) - 1):
        factor = r[i]
        for at in range(indptr[i], indptr[i + 1]):
            out[indices[at]] += factor * data[at]


@compiled
def rows_times_columns(
    start: int, stop: int, indptr: Array, indices: Array, data: Array, v: Array, out: Array
) -> None:
    """out[i, :] = Σⱼ xᵢⱼ v[j, :] for the rows start to stop."""
    for i in range(start, stop):
        row = out[i]
        row[:] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            value, other = data[at], v[indices[at]]
            for k in range(row.shape[0]):
                row[k] += value * other[k]


@compiled
def weighted_squares(
    start: int, stop: int, indptr: Array, indices: Array, data: Array, w: Array, out: Array
) -> None:
    """out[i] = Σⱼ wⱼ xᵢⱼ² for the rows start to stop."""
    for i in range(start, stop):
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            total += w[indices[at]] * data[at] * data[at]
        out[i] = total


@compiled
def add_centered_squares(
    indptr: Array, indices: Array, data: Array, c: Array, mean: Array, squares: Array, stored: Array
) -> None:
    """Add Σ c (x − x̄)² and Σ c over the stored entries of every column, from compressed rows."""
    for i in range(indptr.shape[0] - 1):
        weight = c[i]
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            off = data[at] - mean[j]
            squares[j] += weight * off * off
            stored[j] += weight
