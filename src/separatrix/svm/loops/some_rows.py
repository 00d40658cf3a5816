"""Loops over some of the rows of a sparse matrix, given by the begins and ends of their entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.compilation import compiled

Array = Any


@compiled
def sparse_dot(begin: int, end: int, indices: Array, data: Array, v: Array) -> float:
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
def some_rows_times(
    start: int,
    stop: int,
    rows: Array,
    begins: Array,
    ends: Array,
    indices: Array,
    data: Array,
    v: Array,
    out: Array,
) -> None:
    """out[k] = x·v for the rows number ``start`` to ``stop`` of a list."""
    for k in range(start, stop):
        i = rows[k]
        out[k] = sparse_dot(begins[i], ends[i], indices, data, v)


@compiled
def some_rows_sum(
    start: int,
    stop: int,
    rows: Array,
    begins: Array,
    ends: Array,
    indices: Array,
    data: Array,
    r: Array,
    out: Array,
) -> None:
    """Out += Σ r[k] x over the rows number ``start`` to ``stop`` of a list."""
    for k in range(start, stop):
        i, factor = rows[k], r[k]
        if factor != 0.0:
            for at in range(begins[i], ends[i]):
                out[np.uint64(indices[at])] += factor * data[at]


@compiled
def some_rows_gram(
    start: int,
    stop: int,
    rows: Array,
    begins: Array,
    ends: Array,
    indices: Array,
    data: Array,
    r: Array,
    out: Array,
) -> None:
    """Out += Σ r[k] x xᵀ over the rows number ``start`` to ``stop`` of a list, both triangles."""
    for k in range(start, stop):
        i = rows[k]
        for at in range(begins[i], ends[i]):
            factor, line = r[k] * data[at], out[np.uint64(indices[at])]
            for other in range(begins[i], ends[i]):
                line[np.uint64(indices[other])] += factor * data[other]


@compiled
def in_single(
    start: int, stop: int, indptr: Array, data: Array, single: Array, square: Array
) -> tuple[float, float]:
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
def heavy_first(
    start: int,
    stop: int,
    indptr: Array,
    indices: Array,
    data: Array,
    label: Array,
    heavy: int,
    labels: Array,
    values: Array,
    ends: Array,
    rest: Array,
) -> None:
    """Number the columns of rows by ``label``, those below ``heavy`` first.

    ``ends`` are where the heavy entries of a row end, ``rest`` is Σ x² of the others.
    """
    for i in range(start, stop):
        front = indptr[i]
        for at in range(indptr[i], indptr[i + 1]):
            own = label[indices[at]]
            if own < heavy:
                labels[front], values[front] = own, data[at]
                front += 1
        ends[i] = front
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            own = label[indices[at]]
            if own >= heavy:
                labels[front], values[front] = own, data[at]
                front += 1
                total += data[at] * data[at]
        rest[i] = total


@compiled
def with_own_columns(
    rows: Array,
    begins: Array,
    ends: Array,
    indices: Array,
    data: Array,
    label: Array,
    count: int,
    labels: Array,
    values: Array,
) -> int:
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
