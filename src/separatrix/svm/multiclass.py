"""Several classes from machines of two: who trains on what, and who wins."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from separatrix.kernels import Linear, Precomputed
from separatrix.rows.block import Floats, Ints
from separatrix.svm.binary_svm import BinarySVM, SolverOptions, train
from separatrix.svm.dual.points import Points
from separatrix.svm.dual.primal_route import few_columns
from separatrix.svm.dual.problem import classes_problem


def two_sides(points: Points, rows: Ints, side: Floats, C: Floats, how: SolverOptions) -> BinarySVM:
    """The machine of rows with sides ±1 and prices C."""
    return train(points, rows, classes_problem(side, C), how)


def shared(points: Points, megabytes: float) -> Points:
    """Points whose Gram matrix is computed once for all machines, where it fits into memory.

    Numbers are compared again as fast as they are looked up, structures are not.
    """
    fits = 8e-6 * points.n**2 <= megabytes
    plain = isinstance(points.kernel, Linear) and few_columns(points.x)
    if points.given or plain or not fits or (points.single and points.n > 2000):
        return points
    gram = points.gram(np.arange(points.n)).astype(float)
    return Points(Precomputed(), gram, mercer=points.mercer)


def part_of(points: Points, rows: Ints) -> Points:
    """Some of the rows as a table of their own."""
    x = points.x[np.ix_(rows, rows)] if points.given else points.rows(rows)
    return Points(points.kernel, x, mercer=points.mercer)


def side_by_side(svms: list[BinarySVM], n: int) -> Floats:
    """β of every row in each machine."""
    weights = np.zeros((n, len(svms)))
    for j, svm in enumerate(svms):
        weights[svm.rows, j] = svm.beta
    return weights


def by_pairs(svms: list[BinarySVM], codes: Ints, k: int) -> Floats:
    """β against each other class: a row takes part in the k − 1 machines of its own class."""
    weights = np.zeros((len(codes), k - 1))
    for svm, (i, j) in zip(svms, combinations(range(k), 2), strict=True):
        own = codes[svm.rows]
        weights[svm.rows[own == i], j - 1] = svm.beta[own == i]
        weights[svm.rows[own == j], i] = svm.beta[own == j]
    return weights


def votes_of(scores: Floats, k: int) -> Floats:
    """Votes of the pairs, and less than half a vote for how clearly they were won."""
    votes, clear = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    for s, (i, j) in zip(scores.T, combinations(range(k), 2), strict=True):
        votes[:, i] += s <= 0
        votes[:, j] += s > 0
        clear[:, i] -= s
        clear[:, j] += s
    return votes + clear / (3.0 * (np.abs(clear) + 1.0))
