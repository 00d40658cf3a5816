"""Distances of pairs of sparse rows."""

from __future__ import annotations

from separatrix.compilation import compiled


@compiled
def pair_squares(pairs, row_starts, columns, values, starts, others, entries, out):
    """out[p] = ‖x − z‖² of the row pairs[0, p] and the point pairs[1, p], both compressed by rows.

    Columns of a row ascend, each once.
    """
    for p in range(pairs.shape[1]):
        a, last = row_starts[pairs[0, p]], row_starts[pairs[0, p] + 1]
        b, end = starts[pairs[1, p]], starts[pairs[1, p] + 1]
        total = 0.0
        while a < last or b < end:
            if b == end or (a < last and columns[a] < others[b]):
                v = values[a]
                a += 1
            elif a == last or others[b] < columns[a]:
                v = entries[b]
                b += 1
            else:
                v = values[a] - entries[b]
                a += 1
                b += 1
            total += v * v
        out[p] = total
