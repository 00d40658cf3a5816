"""Loops over the negative rows that bound a version space of boxes.

A negative row is NaN in the columns where the most specific box contains its value: only a face in
another column can leave it out.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled


@compiled
def undominated(rows, lower, upper, chosen, most):
    """Mark the rows that no other implies: (how many, how many were looked at).

    A row is implied by one that is nearer in every column where that one is outside: a box without
    the nearer row is without the farther one. Rows come nearest first, so that only earlier rows
    can imply a row. After ``most`` comparisons the rest is marked unseen.
    """
    n, d = rows.shape
    count, work = 0, 0
    for i in range(n):
        implied = False
        if work < most:
            for k in range(count):
                work += 1
                at = chosen[k]
                implied = True
                for j in range(d):
                    v = rows[at, j]
                    if (v < lower[j] and not rows[i, j] <= v) or (
                        v > upper[j] and not rows[i, j] >= v
                    ):
                        implied = False
                        break
                if implied:
                    break
        if not implied:
            chosen[count] = i
            count += 1
    return count


@compiled
def free_of_rows(x, rows, lower, upper, result):
    """Whether the box around the most specific one and a point contains no negative row."""
    n, d = x.shape
    for i in range(n):
        result[i] = True
        for k in range(len(rows)):
            inside = True
            for j in range(d):
                v = rows[k, j]
                if v < min(lower[j], x[i, j]) or v > max(upper[j], x[i, j]):
                    inside = False
                    break
            if inside:
                result[i] = False
                break


@compiled
def can_stop_at(rows, lower, upper, at, column):
    """Whether some most general box has its face of this column at the negative row ``at``.

    It has if the box around the most specific one and the row, open at this face, contains no other
    negative row: it can then grow everywhere else without leaving the row out by another face.
    """
    d = rows.shape[1]
    face = rows[at, column]
    below = face < lower[column]
    for k in range(len(rows)):
        inside = True
        for j in range(d):
            v = rows[k, j]
            if j == column:
                if (v <= face or v > upper[j]) if below else (v >= face or v < lower[j]):
                    inside = False
                    break
                continue
            low, high = lower[j], upper[j]
            if rows[at, j] < low:
                low = rows[at, j]
            if rows[at, j] > high:
                high = rows[at, j]
            if v < low or v > high:
                inside = False
                break
        if inside:
            return False
    return True


@compiled
def common_faces(rows, lower, upper, common):
    """The faces of the box common to all most general ones, open; infinite where none has any."""
    n, d = rows.shape
    for j in range(d):
        common[0, j], common[1, j] = -np.inf, np.inf
        for i in range(n):
            v = rows[i, j]
            if v < lower[j] and v > common[0, j]:
                if can_stop_at(rows, lower, upper, i, j):
                    common[0, j] = v
            elif v > upper[j] and v < common[1, j] and can_stop_at(rows, lower, upper, i, j):
                common[1, j] = v
