"""Exact Euclidean nearest neighbors by products, for many dimensions.

    ‖x − z‖² = ‖x‖² + 2 (½‖z‖² − x·z)

The bracket orders the points z by distance from x. Rows and points, measured from the mean, are
rounded to integers of sixteen bits in units of their own norms, whose products are exact. The
residual of the rounding is known, so by Cauchy and Schwarz the error of x·z is at most

    ‖x − x̃‖ ‖z‖ + ‖x̃‖ ‖z − z̃‖

and a scan of the bounds leaves somewhat more than k candidates, whose distances are computed in
double precision.
"""

from __future__ import annotations

import itertools

import numpy as np

from separatrix.distances.extent import center_and_reach
from separatrix.distances.loops import integer_search as loops
from separatrix.distances.loops.integer_products import POINTS, ROWS
from separatrix.distances.search import Neighbors
from separatrix.rows.block import Floats, Ints
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Bytes of a block of points that stays in the cache while all rows of a piece meet it.
BLOCK_BYTES = 1 << 16
#: Groups of rows in a piece: fewer would read the points too often, more would need much memory.
MIN_GROUPS, MAX_GROUPS = 8, 256
#: Panels of points in a piece, at least.
MIN_TILES = 256
#: Products of a panel and a pair of columns that are worth a thread, at least.
MIN_PRODUCTS = 1 << 16
#: Candidates of a row beyond twice the neighbors, for which there is room.
ROOM = 16
#: Rows farther out, in units of the farthest point, are compared in double precision alone.
FAR = 1e15


class ProductSearch:
    """Centered points as integers for candidates, in double precision for distances."""

    def __init__(self, points: Floats) -> None:
        self._points = np.ascontiguousarray(points, dtype=np.float64)
        n, d = self._points.shape
        self._center, reach = center_and_reach(self._points)
        # a power of two: no unit leaves the range of numbers, and no digit is lost
        self._inverse = 0.5 ** np.ceil(np.log2(reach)) if reach > 0.0 else 1.0
        self._tiles, measures = self._room(n, POINTS)
        parallel_map(
            lambda part: self._pack(self._points, part, self._tiles, measures),
            pieces(len(self._tiles), 16),
        )
        norms, scales, residuals = measures.T
        #: The relative residual of any row of integers.
        self._residual = 0.5 * np.sqrt(d) / loops.LARGEST_NORM * (1.0 + 1e-9)
        error = self._residual * norms + (1.0 + self._residual) * residuals
        table = np.full((len(self._tiles) * POINTS, 3), np.nan, dtype=np.float32)  # no point: NaN
        table[:n, 0] = 0.5 * norms**2 * (1.0 - loops.ROUNDING)
        table[:n, 1] = error + loops.ROUNDING * norms + 1e-37
        table[:n, 2] = scales
        self._table = np.ascontiguousarray(table.reshape(-1, POINTS, 3).swapaxes(1, 2))
        self._farthest = float(norms.max(initial=0.0))

    def nearest(self, x: Floats, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        parts, spans = self._pieces(len(x), k)
        found = np.empty((len(spans), len(x), k))
        indices = np.empty((len(spans), len(x), k), dtype=np.int64)

        def search(piece: tuple[slice, int]) -> None:
            part, at = piece
            self._search(x[part], spans[at], found[at, part], indices[at, part])

        parallel_map(search, list(itertools.product(parts, range(len(spans)))))
        return _merged(found, indices, k)

    def _pieces(self, q: int, k: int) -> tuple[list[slice], list[slice]]:
        """Slices of rows and of tiles; few rows are searched in parts of the points."""
        groups, n_tiles = -(-q // ROWS), len(self._tiles)
        most = max(MIN_PIECES, -(-groups // MAX_GROUPS))
        parts = [
            slice(part.start * ROWS, min(part.stop * ROWS, q))
            for part in pieces(groups, MIN_GROUPS, most)
        ]
        smallest = max(MIN_TILES, MIN_PRODUCTS // self._tiles.shape[1], -(-4 * k // POINTS))
        return parts, pieces(n_tiles, smallest, max(1, MIN_PIECES // len(parts)))

    def _room(self, n: int, width: int) -> tuple[Ints, Floats]:
        """Room for n rows as integers in groups of ``width``, and for their measures."""
        pairs = (self._points.shape[1] + 1) // 2
        return _aligned((-(-n // width), pairs, width)), np.empty((n, 3))

    def _pack(self, x: Floats, groups: slice, packed: Ints, measures: Floats) -> None:
        span = groups.start, groups.stop
        row = np.zeros(2 * packed.shape[1])
        loops.pack(x, self._center, self._inverse, *span, row, packed, measures)

    def _search(self, x: Floats, span: slice, found: Floats, indices: Ints) -> None:
        k, (q, d) = found.shape[1], x.shape
        if not q:
            return
        rows, measures = self._room(q, ROWS)
        self._pack(x, slice(0, len(rows)), rows, measures)
        norms, scales, _ = measures.T
        far = norms > FAR
        slack = 4.0 * (d + 4) * np.finfo(float).eps * (norms + self._farthest) ** 2
        slack = np.where(far, np.inf, slack + 1e-36 * (1.0 + norms))
        table = np.zeros((len(rows) * ROWS, 3), dtype=np.float32)
        table[:, 0] = -np.inf
        table[:q, 0] = np.inf
        table[:q, 1] = np.where(far, 0.0, norms)
        table[:q, 2] = np.where(far, 0.0, scales)
        of_rows = np.ascontiguousarray(table.reshape(-1, ROWS, 3).swapaxes(1, 2))
        block = max(1, BLOCK_BYTES // (64 * self._tiles.shape[1]))
        room = 2 * k + ROOM
        candidates = (
            np.empty((q, room)), np.empty((q, room)), np.empty((q, room), dtype=np.int64),
            np.zeros(q, dtype=np.int64), np.empty((ROWS, POINTS), dtype=np.float32), np.empty(room),
        )  # fmt: skip
        loops.scan(
            x, self._points, rows, self._tiles, self._table, of_rows, norms.copy(), slack,
            self._inverse, span.start, span.stop, block, *candidates, found, indices,
        )  # fmt: skip


def _aligned(shape: tuple[int, ...]) -> Ints:
    """An array that starts with a cache line: no load of a vector crosses two."""
    size = 4 * int(np.prod(shape))
    raw = np.empty(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return np.asarray(raw[start : start + size].view(np.int32).reshape(shape))


def _merged(found: Floats, indices: Ints, k: int) -> Neighbors:
    """The k nearest of those found in each part of the points."""
    if len(found) == 1:
        return Neighbors(np.sqrt(found[0]), indices[0])
    found, indices = np.hstack(list(found)), np.hstack(list(indices))
    order = np.lexsort((indices, found))[:, :k]
    return Neighbors(
        np.sqrt(np.take_along_axis(found, order, 1)), np.take_along_axis(indices, order, 1)
    )
