"""Centers of radial basis functions, and how far apart they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.catalogue import DECLARATIONS
from separatrix.distances.search import NearestNeighborSearch


def place_centers(z: Floats, w: Floats, count: int, random_state: Any) -> Floats:
    """Centers by K-means of rows; as many as there are distinct rows where those are fewer."""
    distinct = min(count, len(np.unique(z, axis=0)))
    clusters = DECLARATIONS["KMeans"].load()(distinct, random_state=random_state)
    return np.asarray(clusters.fit(z, sample_weight=w).cluster_centers_)


def neighbor_distance(centers: Floats) -> float:
    """The median distance from a center to its nearest other one; 1 for one center alone."""
    if len(centers) < 2:
        return 1.0
    search = NearestNeighborSearch(centers)
    return float(np.median(search.nearest_others(1, centers).distances))
