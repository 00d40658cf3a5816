"""k-means++ over pieces of the rows: candidates are compared on threads, draws look at one piece.

The cuts depend on the table alone, so that the same rows are drawn on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix.cluster.loops.plusplus import TILE, compare_candidates
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Numbers that are worth a piece of their own.
MIN_WORK = 100_000


def draw(weight: Floats, u: Floats) -> Ints:
    """Rows at which the cumulative weight passes the fractions u; never one of weight zero."""
    cumulative = np.cumsum(weight)
    found = np.searchsorted(cumulative, u * cumulative[-1], side="right")
    last = int(np.flatnonzero(weight)[-1])
    return np.asarray(np.minimum(found, last))


class CutRows:
    """Weighted rows in pieces, with ``squares(rows)(piece)``: squared distances to some rows."""

    def __init__(
        self, w: Floats, cuts: list[slice], squares: Callable[[Ints], Callable[[int], Floats]]
    ) -> None:
        self.w, self.cuts, self.squares = w, cuts, squares

    def losses(self, candidates: Ints, last: int, nearest: Floats, closer: Floats) -> Floats:
        """The inertia that each candidate would leave as a center, piece by piece.

        ``closer[last]`` becomes ``nearest``, the squared distances so far, then ``closer``
        (candidates x n) those with each candidate.
        """
        squares = self.squares(candidates)

        def compare(piece: int) -> Floats:
            rows = self.cuts[piece]
            nearest[rows] = closer[last, rows]
            near = np.minimum(squares(piece).T, nearest[rows])
            closer[: len(candidates), rows] = near
            return np.asarray(near @ self.w[rows])

        return np.array(parallel_map(compare, range(len(self.cuts))))


class TiledRows:
    """The same for rows in tiles by column; those up to the end of the last have weight zero."""

    def __init__(self, z: Floats, w: Floats) -> None:
        (n, d), self.count = z.shape, -(-len(z) // TILE)
        self.z, self.w = z, np.zeros(self.count * TILE)
        self.w[:n] = w
        self.tiles = np.zeros((self.count, d, TILE))
        at = pieces(self.count, max(1, MIN_WORK // (TILE * max(d, 1))))
        self.cuts = [slice(some.start * TILE, some.stop * TILE) for some in at]
        parallel_map(self._fill, at)

    def _fill(self, some: slice) -> None:
        for t in range(some.start, some.stop):
            rows = self.z[t * TILE : (t + 1) * TILE]
            self.tiles[t, :, : len(rows)] = rows.T

    def losses(self, candidates: Ints, last: int, nearest: Floats, closer: Floats) -> Floats:
        """As those of :class:`CutRows`."""
        left, points = np.empty((len(self.cuts), len(candidates))), self.z[candidates]
        shape = (self.count, TILE)
        weight, near = self.w.reshape(shape), nearest.reshape(shape)
        found = closer.reshape(-1, *shape)

        def compare(i: int) -> None:
            rows = self.cuts[i]
            nearest[rows] = closer[last, rows]
            first, stop = rows.start // TILE, rows.stop // TILE
            compare_candidates(self.tiles, weight, points, first, stop, near, found, left[i])

        parallel_map(compare, range(len(self.cuts)))
        return left


def plusplus_rows(rows: CutRows | TiledRows, k: int, rng: np.random.Generator) -> Ints:
    """Positions of rows drawn by k-means++."""
    trials, w = 2 + int(np.log(k)), rows.w
    chosen, nearest = [int(draw(w, rng.random(1))[0])], np.empty(len(w))
    closer = np.empty((trials, len(w)))
    closer[0] = np.inf
    left, best = rows.losses(np.array(chosen), 0, nearest, closer), 0
    for _ in range(1, k):
        u = rng.random(trials)
        if not left[:, best].any():  # every row equals a center
            chosen.append(int(draw(w, u)[0]))
            continue
        candidates = _draw_in_pieces(w, closer[best], left[:, best], rows.cuts, u)
        left = rows.losses(candidates, best, nearest, closer)
        best = int(left.sum(axis=0).argmin())
        chosen.append(int(candidates[best]))
    return np.array(chosen)


def _draw_in_pieces(w: Floats, nearest: Floats, loss: Floats, cuts: list[slice], u: Floats) -> Ints:
    """As :func:`draw` by the losses w · nearest, whose sums in pieces of rows are known."""
    before = np.cumsum(np.r_[0.0, loss])
    found = []
    for target, piece in zip(u * before[-1], draw(loss, u).tolist(), strict=True):
        inner = w[cuts[piece]] * nearest[cuts[piece]]
        fraction = (target - before[piece]) / loss[piece]
        found.append(cuts[piece].start + int(draw(inner, np.array([fraction]))[0]))
    return np.array(found)
