"""Minimum spanning tree of points, whose edges sorted by length are single linkage.

In few dimensions by Borůvka's algorithm with a k-d tree; in many, or in other metrics, by Prim's.
Both store a few numbers per point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cluster.loops.spanning_tree import boruvka, prim
from separatrix.distances.base import Metric
from separatrix.distances.search.kd_tree import KDTree
from separatrix.distances.vectors import Chebyshev, Euclidean, Manhattan
from separatrix.kernels.base import n_items
from separatrix.rows.block import Floats, Ints

#: In more dimensions a k-d tree does not pay.
MAX_DIMENSIONS = 12
#: Nearest neighbors of every point that are computed first.
N_NEAREST = 3
#: Fewer points take no time with distances to all, and have fewer loops to compile.
FEW_POINTS = 4000


def minimum_spanning_tree(
    x: Any, metric: Metric, first: Ints, second: Ints, height: Floats
) -> None:
    """Fill in the n − 1 edges (point, point, length) of validated points, in any order."""
    n = n_items(x)
    kind = {Euclidean: "euclidean", Manhattan: "manhattan", Chebyshev: "chebyshev"}.get(
        type(metric)
    )
    if kind and n >= FEW_POINTS and 1 <= x.shape[1] <= MAX_DIMENSIONS:
        _boruvka(x, kind, first, second, height)
    elif kind == "euclidean" and x.shape[1]:
        columns = np.ascontiguousarray((x - x.mean(axis=0)).T)
        outside = np.arange(n), np.full(n, np.inf), np.zeros(n, dtype=np.int64)
        prim(columns, *outside, np.empty(len(columns)), np.empty(n), first, second, height)
        np.sqrt(height, out=height)
    else:
        _prim(metric, x, first, second, height)


def _boruvka(x: Floats, kind: str, first: Ints, second: Ints, height: Floats) -> None:
    tree = KDTree(x, kind)
    n, k = len(x), min(N_NEAREST, len(x) - 1)
    order = tree.arrays[1]
    # In the order of the boxes, so that queries share cached points.
    found = tree.nearest_reduced(x[order], k + 1)
    itself = found.indices == order[:, None]
    itself[~itself.any(axis=1), -1] = True  # among many equal points
    others, lengths = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    others[order] = found.indices[~itself].reshape(n, k)
    lengths[order] = found.distances[~itself].reshape(n, k)
    boruvka(x, tree.arrays, tree.metric, lengths, others, first, second, height)
    if kind == "euclidean":
        np.sqrt(height, out=height)


def _prim(metric: Metric, x: Any, first: Ints, second: Ints, height: Floats) -> None:
    """Prim's algorithm, a row of distances at a time."""
    state, n = metric.precompute(x), n_items(x)
    left = np.arange(n - 1)
    nearest, here = np.full(n - 1, n - 1), n - 1
    distance = np.full(n - 1, np.inf)
    row = np.empty((1, n))
    for step in range(n - 1):
        metric.fill(x[here : here + 1], state, row)
        closer = row[0, left] < distance
        distance[closer], nearest[closer] = row[0, left[closer]], here
        at = int(distance.argmin())
        here = int(left[at])
        first[step], second[step], height[step] = nearest[at], here, distance[at]
        rest = np.arange(len(left)) != at
        left, nearest, distance = left[rest], nearest[rest], distance[rest]
