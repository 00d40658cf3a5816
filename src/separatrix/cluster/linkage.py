"""Agglomerative clustering: the whole history of mergers, in SciPy's form.

Complete, average and Ward's linkage are reducible: a merger is never nearer to a third cluster than
the nearer of its halves was. Clusters that are nearest to each other may therefore merge at once,
all such pairs of a round together, and the history is the same as if the closest pair had always
gone first. Centroids are not reducible, and there the closest pair does go first. Single linkage is
the minimum spanning tree in disguise.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix.cluster.loops import linkage as loops
from separatrix.cluster.reciprocal_pairs import Merges, merged_by_distance
from separatrix.cluster.spanning_tree import spanning_tree
from separatrix.distances.base import as_dense_matrix
from separatrix.distances.names import metric_from
from separatrix.distances.vectors import Euclidean
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

LINKAGES = ("single", "complete", "average", "centroid", "ward")


def linkage(X: Any, method: str = "average", metric: Any = "euclidean") -> Floats:
    """(n − 1) x 4: the two clusters of each merger, their distance, and the size of the union.

    Points are numbered 0 … n − 1 and mergers from n on, in order of distance (centroid: of
    merging, in which distances may fall). ``metric`` may be "precomputed".
    """
    chosen = metric_from(metric).fitted(X)
    if method not in LINKAGES:
        raise InputError(f"No linkage {method!r}.", remedy=f"Choose of {', '.join(LINKAGES)}.")
    if method in ("centroid", "ward"):
        if type(chosen) is not Euclidean:
            raise InputError(
                f"{method} linkage is about means of points, in Euclidean distance.",
                remedy="Give points and metric='euclidean', or use average linkage.",
            )
        merges = _from_means(as_dense_matrix(X), method)
    elif method == "single":
        merges = spanning_tree(X, chosen)
    else:
        kind = loops.COMPLETE if method == "complete" else loops.AVERAGE
        found = merged_by_distance(chosen, X, kind)
        merges = found.first, found.second, found.height
    first, second, height = merges
    order = np.arange(len(height)) if method == "centroid" else np.argsort(height, kind="stable")
    table = np.empty((len(height), 4))
    loops.numbered(first, second, height, order, table)
    return table


Columns = tuple[Ints, Ints, Floats]


def _from_means(x: Floats, method: str) -> Columns:
    n = len(x)
    rows = Merges(n)
    merges = rows.room
    columns = np.ascontiguousarray((x - x.mean(axis=0)).T) if x.shape[1] else np.zeros((1, n))
    if method == "ward":
        loops.ward_chain(columns, np.ones(n), *merges)
        return merges
    nearest, square = np.full(n, -1), np.full(n, np.inf)
    # A slot looks at those after it: this many of the first have half of the work.
    half = int(n * (1 - np.sqrt(0.5)))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: loops.nearest_later(columns, half, n, nearest, square))
        loops.nearest_later(columns, 0, half, nearest, square)
        other.result()
    loops.centroids(columns, nearest, square, *merges)
    return merges
