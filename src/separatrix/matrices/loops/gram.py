"""Inner products of sparse rows."""

from __future__ import annotations

from separatrix.compilation import compiled


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
