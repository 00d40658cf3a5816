"""The loops of statistics, compiled: sums by class and by part."""

from __future__ import annotations

import math

import numpy as np

from separatrix.arrays import NDArray
from separatrix.compilation import compiled

# -------------------------------------------------------------------------------------------------
# Scatter matrices by class in one pass: rows are copied to buffers, full buffers are multiplied.
#
# A buffer holds some hundred rows of one class in Fortran order, so that an inner product of two
# columns is a sum over contiguous memory; twelve such sums at a time stay in registers.


Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@compiled(fastmath={"reassoc", "contract"})
def add_products(z: Floats, m: int, gram: Floats) -> None:
    """Add z zᵀ over the first ``m`` columns of z to the lower triangle of ``gram``.

    Computed in blocks of four by three, so the number of rows of z is a multiple of four; the last
    block of a row of blocks may overlap the one before, whose columns are not added again.
    """
    for i in range(0, z.shape[0], 4):
        for first in range(0, i + 4, 3):
            j = first if first < i + 1 else i + 1
            s00 = s01 = s02 = s10 = s11 = s12 = s20 = s21 = s22 = s30 = s31 = s32 = 0.0
            for r in range(m):
                a0, a1, a2, a3 = z[i, r], z[i + 1, r], z[i + 2, r], z[i + 3, r]
                b0, b1, b2 = z[j, r], z[j + 1, r], z[j + 2, r]
                s00, s01, s02 = s00 + a0 * b0, s01 + a0 * b1, s02 + a0 * b2
                s10, s11, s12 = s10 + a1 * b0, s11 + a1 * b1, s12 + a1 * b2
                s20, s21, s22 = s20 + a2 * b0, s21 + a2 * b1, s22 + a2 * b2
                s30, s31, s32 = s30 + a3 * b0, s31 + a3 * b1, s32 + a3 * b2
            if j == first:
                gram[i, j] += s00
                gram[i + 1, j] += s10
                gram[i + 2, j] += s20
                gram[i + 3, j] += s30
            if j + 1 >= first:
                gram[i, j + 1] += s01
                gram[i + 1, j + 1] += s11
                gram[i + 2, j + 1] += s21
                gram[i + 3, j + 1] += s31
            gram[i, j + 2] += s02
            gram[i + 1, j + 2] += s12
            gram[i + 2, j + 2] += s22
            gram[i + 3, j + 2] += s32


@compiled
def add_rows(
    x: Floats,
    codes: Codes,
    w: Floats,
    shift: Floats,
    first: Floats,
    buffers: Floats,
    filled: Codes,
    gram: Floats,
) -> None:
    """Add Σ w (x − sₖ) to ``first[k]``, and copy √w (x − sₖ) to the buffer of class k.

    A full buffer z adds z zᵀ to ``gram``. A single buffer serves all classes. Empty weights stand
    for a weight of one each.
    """
    pooled, unweighted, size = len(buffers) == 1, len(w) == 0, buffers.shape[2]
    for i in range(x.shape[0]):
        k = codes[i]
        at = 0 if pooled else k
        r = filled[at]
        weight = 1.0 if unweighted else w[i]
        root = 1.0 if unweighted else math.sqrt(weight)
        for j in range(x.shape[1]):
            v = x[i, j] - shift[k, j]
            first[k, j] += weight * v
            buffers[at, j, r] = root * v
        filled[at] = r + 1
        if r + 1 == size:
            add_products(buffers[at], size, gram[at])
            filled[at] = 0


@compiled
def flush_buffers(buffers: Floats, filled: Codes, gram: Floats) -> None:
    """Add z zᵀ of the rows left in each buffer z to ``gram``."""
    for k in range(len(buffers)):
        if filled[k]:
            add_products(buffers[k], filled[k], gram[k])
            filled[k] = 0


# -------------------------------------------------------------------------------------------------
# Sums by class and column, and scores of naive Bayes; NaN is a missing value.


@compiled
def add_by_class(
    x: Floats,
    codes: NDArray[np.int64],
    w: Floats,
    shift: Floats,
    seen: Floats,
    first: Floats,
    second: Floats,
) -> None:
    """Add Σw, Σw(x − shift) and Σw(x − shift)² of every class and column, without missing values.

    ``shift`` is a value of the class itself, so that the squares lose no digits.
    """
    for i in range(x.shape[0]):
        k, weight = codes[i], w[i]
        for j in range(x.shape[1]):
            v = x[i, j] - shift[k, j]
            present = v == v  # NaN is not equal to itself
            u = weight if present else 0.0
            v = v if present else 0.0
            seen[k, j] += u
            first[k, j] += u * v
            second[k, j] += u * v * v


@compiled
def add_squares(
    x: Floats, codes: NDArray[np.int64], w: Floats, shift: Floats, first: Floats, second: Floats
) -> None:
    """Add Σw(x − shift) and Σw(x − shift)² of every class and column where no value is missing.

    Empty weights stand for a weight of one each.
    """
    unweighted = len(w) == 0
    for i in range(x.shape[0]):
        k = codes[i]
        weight = 1.0 if unweighted else w[i]
        for j in range(x.shape[1]):
            v = x[i, j] - shift[k, j]
            first[k, j] += weight * v
            second[k, j] += weight * v * v


@compiled(fastmath={"reassoc", "contract"})
def add_gaussian_scores(
    x: Floats, mean: Floats, precision: Floats, constant: Floats, scores: Floats
) -> None:
    """Add Σⱼ cₖⱼ − ½ pₖⱼ (xⱼ − μₖⱼ)² to the score of every row and class, over observed values.

    Computed from the differences, so that no digits are lost far from the origin.
    """
    for i in range(x.shape[0]):
        for k in range(mean.shape[0]):
            total = 0.0
            for j in range(x.shape[1]):
                v = x[i, j] - mean[k, j]
                term = constant[k, j] - 0.5 * precision[k, j] * v * v
                total += term if v == v else 0.0
            scores[i, k] += total


@compiled
def add_level_scores(
    x: Floats,
    columns: NDArray[np.int64],
    values: Floats,
    starts: NDArray[np.int64],
    logs: Floats,
    scores: Floats,
) -> bool:
    """Add the row of ``logs`` (levels x K) of each value's level to the scores of its row.

    The levels of ``columns[c]`` are ``values[starts[c]:starts[c + 1]]``, ascending. NaN adds
    nothing. Returns False at the first value that is not a level; the scores are then incomplete.
    """
    for i in range(x.shape[0]):
        for c in range(columns.shape[0]):
            v = x[i, columns[c]]
            if v != v:
                continue
            low, high = starts[c], starts[c + 1] - 1
            if not (low <= high and values[low] <= v <= values[high]):
                return False
            at = min(low + int(v - values[low]), high)  # exact for levels 0, 1, 2, …
            if values[at] != v:
                while low < high:
                    at = (low + high) // 2
                    if values[at] < v:
                        low = at + 1
                    else:
                        high = at
                at = low
                if values[at] != v:
                    return False
            for k in range(scores.shape[1]):
                scores[i, k] += logs[at, k]
    return True


# -------------------------------------------------------------------------------------------------
# Sums of counts by class, and their logarithms: what naive Bayes on counts is made of.


@compiled
def add_compressed_counts(
    rows: Codes,
    codes: Codes,
    first: int,
    indptr: Codes,
    indices: NDArray[np.int32],
    data: Floats,
    w: Floats,
    counts: Floats,
) -> bool:
    """Add w x of some compressed rows to ``counts[k − first]`` of their class k.

    Empty weights stand for a weight of one each. Returns whether every value is at least zero.
    """
    unweighted, good = len(w) == 0, True
    for at in range(rows.shape[0]):
        i = rows[at]
        k = codes[i] - first
        weight = 1.0 if unweighted else w[i]
        for p in range(indptr[i], indptr[i + 1]):
            v = data[p]
            good &= v >= 0.0
            counts[k, indices[p]] += weight * v
    return good


@compiled
def add_counts(x: Floats, codes: Codes, w: Floats, counts: Floats) -> bool:
    """The same for dense rows."""
    unweighted, bad = len(w) == 0, 0
    for i in range(x.shape[0]):
        k = codes[i]
        weight = 1.0 if unweighted else w[i]
        for j in range(x.shape[1]):
            v = x[i, j]
            bad |= 0 if v >= 0.0 else 1
            counts[k, j] += weight * v
    return bad == 0


@compiled
def log_counts(
    start: int, stop: int, counts: Floats, added: float, logs: Floats, minus: Floats, out: Floats
) -> None:
    """out[j, k] = ln(counts[k, j] + a) − minus[k] for the columns start to stop.

    ``logs`` holds ln(c + a) of the counts c = 0, 1, 2, …, which most counts of texts are.
    """
    most = len(logs)
    for j in range(start, stop):
        for k in range(counts.shape[0]):
            c = counts[k, j]
            whole = int(c) if c < most else most
            if whole < most and whole == c:
                out[j, k] = logs[whole] - minus[k]
            else:
                out[j, k] = math.log(c + added) - minus[k]


# -------------------------------------------------------------------------------------------------
# Levels counted by class, looked up by their codes.


@compiled
def largest_codes(x: Floats, columns: Codes, most: float, codes: Codes) -> None:
    """Raise ``found`` to the largest value of each column; −1 where one is not a code."""
    for i in range(x.shape[0]):
        for c in range(columns.shape[0]):
            v = x[i, columns[c]]
            if v != v:
                continue
            if not 0.0 <= v <= most or v != int(v):
                codes[c] = -1
                return
            codes[c] = max(codes[c], int(v))


@compiled
def add_levels(
    x: Floats, codes: Codes, w: Floats, columns: Codes, starts: Codes, counts: Floats
) -> None:
    """Add the weight of a row to ``counts[level, class]`` of each of its values.

    The levels of ``columns[c]`` are ``starts[c]``, ``starts[c] + 1``, …; NaN is the last of them.
    """
    for i in range(x.shape[0]):
        k, weight = codes[i], w[i]
        for c in range(columns.shape[0]):
            v = x[i, columns[c]]
            at = starts[c + 1] - 1 if v != v else starts[c] + int(v)
            counts[at, k] += weight


# -------------------------------------------------------------------------------------------------
# Sums of products by part in one call: rows are gathered by part, centered and multiplied.
#
# One call without the interpreter for a whole block: many short ones would wait for it in turn.


Ints = NDArray[np.int64]

# An integer of NumPy: a number in the source would compile a variant of its own.
FIRST = np.int64(0)


@compiled
def _part_order(labels: Ints, start: int, stop: int, low: int, ends: Ints, order: Ints) -> None:
    """Rows start … stop in stable order of their labels; those of low + k end at ends[k]."""
    for k in range(len(ends)):
        ends[k] = 0
    for i in range(start, stop):
        ends[labels[i] - low] += 1
    for k in range(1, len(ends)):
        ends[k] += ends[k - 1]
    for i in range(stop - 1, start - 1, -1):
        k = labels[i] - low
        ends[k] -= 1
        order[ends[k]] = i
    for k in range(len(ends) - 1):
        ends[k] = ends[k + 1]
    ends[len(ends) - 1] = stop - start


@compiled
def _gather(x: Floats, order: Ints, start: int, m: int, z: Floats, first: int) -> None:
    """z[first + j, i] = x[order[start + i], j] of m rows."""
    for j in range(x.shape[1]):
        for i in range(m):
            z[first + j, i] = x[order[start + i], j]


@compiled
def add_parts(
    x: Floats,
    y: Floats,
    w: Floats,
    labels: Ints,
    low: int,
    order: Ints,
    ends: Ints,
    z: Floats,
    counts: Ints,
    shift: Floats,
    sums: Floats,
) -> None:
    """Add z zᵀ to sums[k] over the rows labeled low + k, z = √w ((x, y) − shift[k], 1).

    As many rows as ``order`` has room for are sorted by part at a time, so that gathering stays in
    cache, and then multiplied in chunks for which ``z`` has room; its rows beyond those used are
    zero. There is room for the ``ends`` of the parts. ``shift[k]`` becomes the mean of the first
    rows of the part. No w stands for ones.
    """
    d, p, chunk = x.shape[1], shift.shape[1], z.shape[1]
    center_rows = 64  # rows whose mean is the provisional center of their part
    for first in range(0, len(labels), len(order)):
        last = first + len(order) if first + len(order) < len(labels) else len(labels)
        _part_order(labels, first, last, low, ends, order)
        start = 0
        for k in range(len(ends)):
            while start < ends[k]:
                m = chunk if chunk < ends[k] - start else ends[k] - start
                _gather(x, order, start, m, z, FIRST)
                _gather(y, order, start, m, z, d)
                for j in range(p):
                    if counts[k] == 0:
                        shift[k, j] = _mean(z, j, m if m < center_rows else center_rows)
                    center = shift[k, j]
                    for i in range(m):
                        z[j, i] -= center
                for i in range(m):
                    z[p, i] = 1.0
                if len(w):
                    for i in range(m):
                        root = math.sqrt(w[order[start + i]])
                        for j in range(p + 1):
                            z[j, i] *= root
                add_products(z, m, sums[k])
                counts[k] += m
                start += m


@compiled
def _mean(z: Floats, j: int, m: int) -> float:
    """The mean of the first m of z[j]; 0 where it is not finite."""
    total = 0.0
    for i in range(m):
        total += z[j, i] / m
    return total if math.isfinite(total) else 0.0


# -------------------------------------------------------------------------------------------------
# Rows about the center of their class.


@compiled
def shift_rows(
    x: Floats, rows: Codes, codes: Codes, w: Floats, shift: Floats, first: Floats, z: Floats
) -> None:
    """z = √w (x − sₖ) of some rows, each of class k, and Σ w (x − sₖ) added to ``first[k]``.

    Empty weights stand for a weight of one each.
    """
    unweighted = len(w) == 0
    for r in range(rows.shape[0]):
        i = rows[r]
        k = codes[i]
        weight = 1.0 if unweighted else w[i]
        root = math.sqrt(weight)
        for j in range(x.shape[1]):
            v = x[i, j] - shift[k, j]
            first[k, j] += weight * v
            z[r, j] = root * v
