"""Nearest neighbors among few points: all distances, without a loop to compile."""

from __future__ import annotations

import numpy as np

from separatrix.distances.search import Neighbors
from separatrix.rows.block import Floats


def nearest_of_few(x: Floats, points: Floats, k: int) -> Neighbors:
    """The k nearest points of every row of x in Euclidean distance; ties in the order of points.

    Squares are summed in the order of features, as other searches do.
    """
    squares = np.zeros((len(x), len(points)))
    step = np.empty_like(squares)
    for f in range(x.shape[1]):
        np.subtract(x[:, f, None], points[:, f], out=step)
        step *= step
        squares += step
    last = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
    near = squares <= last
    tied = np.flatnonzero(near.sum(axis=1) > k)  # more than k, of which the first ones count
    for i in tied:
        near[i] = False
        near[i, np.argsort(squares[i], kind="stable")[:k]] = True
    indices = np.nonzero(near)[1].reshape(-1, k)
    squares = squares[near].reshape(-1, k)
    order = np.argsort(squares, axis=1, kind="stable")
    distances = np.sqrt(np.take_along_axis(squares, order, 1))
    return Neighbors(distances, np.take_along_axis(indices, order, 1))
