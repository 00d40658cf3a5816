"""Scatter of many columns by class, in tiles of the symmetric half on threads.

    S = Σ w (x − sₖ)(x − sₖ)ᵀ        for all classes together, or for each

Slabs of rows are centered and multiplied tile by tile. Every tile is summed by one thread, slab
after slab: the sums are the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.statistics.class_sums import ClassSums, provisional_centers
from separatrix.statistics.grouped import counting_argsort
from separatrix.threads import parallel_map, pieces

#: Rows of a slab, and columns of a tile at least.
SLAB_ROWS, TILE_COLUMNS = 4096, 96
#: Blocks of columns at most: their pairs are the tiles.
MAX_BLOCKS = 12


def tiled_sums(x: Floats, codes: Ints, w: Floats | None, k: int, *, pooled: bool) -> ClassSums:
    """Sums over rows with positive weights and class ``codes``, for many columns."""
    n, d = x.shape
    shift = provisional_centers(x, codes, k)
    first = np.zeros((k, d))
    gram = np.zeros((1 if pooled else k, d, d))
    weights = np.empty(0) if w is None else np.ascontiguousarray(w)
    order = np.arange(n) if pooled else counting_argsort(codes)
    blocks = pieces(d, TILE_COLUMNS, MAX_BLOCKS)
    tiles = [(a, b) for i, a in enumerate(blocks) for b in blocks[: i + 1]]
    z = np.empty((min(SLAB_ROWS, n), d))
    for start in range(0, n, SLAB_ROWS):
        rows = order[start : start + SLAB_ROWS]
        _center(np.asarray(x), rows, codes, weights, shift, first, z)
        runs = [(0, 0, len(rows))] if pooled else list(_runs(codes[rows]))

        def add(tile: tuple[slice, slice], runs: list[tuple[int, int, int]] = runs) -> None:
            a, b = tile
            for c, low, high in runs:
                gram[c, a, b] += z[low:high, a].T @ z[low:high, b]

        parallel_map(add, tiles)
    for a, b in tiles:
        if a is not b:
            gram[:, b, a] = gram[:, a, b].swapaxes(1, 2)
    return ClassSums(shift, first, gram)


def _center(
    x: Floats, rows: Ints, codes: Ints, w: Floats, shift: Floats, first: Floats, z: Floats
) -> None:
    """Fill a slab with centered rows, and add their sums by class, piece after piece."""
    from separatrix.statistics.loops.shifted_rows import shift_rows

    def one(part: slice) -> Floats:
        sums = np.zeros_like(first)
        shift_rows(x, rows[part], codes, w, shift, sums, z[part])
        return sums

    for sums in parallel_map(one, pieces(len(rows), max(64, 4 * len(first)))):
        first += sums


def _runs(codes: Ints) -> Iterator[tuple[int, int, int]]:
    """Class, start and stop of every run of equal codes."""
    cuts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for low, high in pairwise(cuts):
        yield int(codes[low]), low, high
