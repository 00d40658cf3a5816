"""The minimum spanning tree of points, whose edges by length are single linkage.

In few dimensions all trees of a forest grow at once, each along the shortest way out (Borůvka),
found in a k-d tree; in many, or in other metrics, one tree grows point by point (Prim). Neither
ever holds more than a few numbers per point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cluster.loops.spanning_tree import grow_from_one, grow_together
from separatrix.distances.base import Metric
from separatrix.distances.search.kd_tree import KDTree
from separatrix.distances.vectors import Chebyshev, Euclidean, Manhattan
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: In more dimensions boxes are no help.
MOST_DIMENSIONS = 12
#: Nearest others that every point knows from the start.
KNOWN = 3
FEW_POINTS = 200


def spanning_tree(X: Any, metric: Metric) -> tuple[Ints, Ints, Floats]:
    """n − 1 edges (point, point, length), in no particular order."""
    x = metric.validate(X)
    n = n_items(x)
    if n < 1:
        raise InputError("No points: nothing to cluster.")
    first, second, height = (
        np.empty(n - 1, np.int64),
        np.empty(n - 1, np.int64),
        np.empty(n - 1),
    )
    kind = {Euclidean: "euclidean", Manhattan: "manhattan", Chebyshev: "chebyshev"}.get(
        type(metric)
    )
    if kind and n >= FEW_POINTS and 1 <= x.shape[1] <= MOST_DIMENSIONS:
        _forest(x, kind, first, second, height)
    elif kind == "euclidean" and x.shape[1]:
        grow_from_one(np.ascontiguousarray((x - x.mean(axis=0)).T), first, second, height)
        np.sqrt(height, out=height)
    else:
        _any_metric(metric, x, first, second, height)
    return first, second, height


def _forest(x: Floats, kind: str, first: Ints, second: Ints, height: Floats) -> None:
    tree = KDTree(x, kind)
    n, k = len(x), min(KNOWN, len(x) - 1)
    order = tree.arrays[1]
    found = tree.nearest_reduced(x[order], k + 1)  # asked box by box: one question warms the next
    itself = found.indices == order[:, None]
    itself[~itself.any(axis=1), -1] = True  # among many equal points
    others, lengths = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    others[order] = found.indices[~itself].reshape(n, k)
    lengths[order] = found.distances[~itself].reshape(n, k)
    grow_together(x, tree.arrays, tree.metric, lengths, others, first, second, height)
    if kind == "euclidean":
        np.sqrt(height, out=height)


def _any_metric(metric: Metric, x: Any, first: Ints, second: Ints, height: Floats) -> None:
    """Prim's way, a row of distances at a time."""
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
        keep = np.arange(len(left)) != at
        left, nearest, distance = left[keep], nearest[keep], distance[keep]
