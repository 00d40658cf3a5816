"""Centers of K-means laid out for the search: in groups of near ones, sixteen to a tile."""

from __future__ import annotations

import numpy as np

from separatrix.cluster.loops.kmeans import Centers
from separatrix.cluster.loops.tiles import LANES
from separatrix.rows.block import Floats, Ints

#: Groups of centers with a lower bound each.
MAX_GROUPS = 16


def center_layout(centers: Floats, max_groups: int) -> Centers:
    """Centers in groups of near ones, each group an integral number of tiles."""
    k, d = centers.shape
    wanted = -(-k // LANES)
    per_group = -(-wanted // max_groups)
    groups = -(-wanted // per_group)
    lanes = groups * per_group * LANES
    order = proximity_order(centers, np.arange(k), per_group * LANES)
    lane_of, center_of = np.zeros(k, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
    lane_of[order] = np.arange(k)
    center_of[:k] = order
    tiles = np.zeros((lanes // LANES, d + 1, LANES), dtype=np.float32)
    tiles[:, d] = np.inf
    layout = Centers(
        np.zeros((k, d)),
        lane_of // (per_group * LANES),
        np.zeros((k, d + 1), dtype=np.float32),
        tiles,
        lane_of,
        center_of,
        np.zeros(k),
        np.zeros(groups + 1),
        float((centers**2).sum(axis=1).max()),
    )
    fill_tiles(layout, centers)
    return layout


def fill_tiles(layout: Centers, centers: Floats) -> None:
    """Write the centers into their lanes."""
    layout.exact[:] = layout.single[:, :-1] = centers
    layout.single[:, -1] = 0.5 * (centers**2).sum(axis=1)
    tile, lane = np.divmod(layout.lane_of, LANES)
    layout.tiles[tile, :, lane] = layout.single


def proximity_order(centers: Floats, index: Ints, size: int) -> Ints:
    """Order by recursive bisection along the widest column, into runs of ``size``."""
    if len(index) <= size:
        return index
    chosen = centers[index]
    order = index[np.argsort(chosen[:, chosen.var(axis=0).argmax()], kind="stable")]
    runs = -(-len(index) // size)
    half = (runs // 2) * size
    return np.concatenate(
        [proximity_order(centers, order[:half], size), proximity_order(centers, order[half:], size)]
    )
