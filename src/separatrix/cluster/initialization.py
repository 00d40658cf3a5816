"""Initial centers, medoids and partitions: drawn far apart, greedy (BUILD), or at random.

k-means++ draws each center with probability proportional to its weight times its squared distance
(medoids: its distance) to the centers before it. Draws follow the cumulative weight of the rows in
lexicographic order, so that neither the order of rows nor their units matter, and a row of weight
w is drawn like w equal rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_random_state

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster.loops import TILE, compare_candidates, plusplus, total_reductions
from separatrix.cluster.streaming import CompressedRows
from separatrix.rows.schema import n_items
from separatrix.threads import PIECE_NUMBERS, parallel_map, pieces

if TYPE_CHECKING:
    from separatrix.cluster.kernel_lloyd import GramBlocks


Singles = NDArray[np.float32]

#: Numbers in a table up to which one compiled loop draws all centers.
SMALL = 150_000


def lexicographic_order(x: Any) -> Ints:
    """Rows sorted by the first column, ties by the next ones; other items in their own order."""
    if sparse.issparse(x):
        return _order_by_keys(x.shape[0], _sparse_keys(x))
    if not isinstance(x, np.ndarray) or x.ndim != 2:
        return np.arange(n_items(x))
    if x.shape[1]:
        order = np.argsort(x[:, 0], kind="stable")
        if (np.diff(x[order, 0]) > 0).all():  # no ties: later columns do not count
            return order
    return _order_by_keys(len(x), ((x[:, f],) for f in range(x.shape[1])))


def _order_by_keys(n: int, rounds: Iterable[tuple[Any, ...]]) -> Ints:
    """Rows sorted by the keys of the first round (the first key counts most), ties by the next.

    Later rounds look at tied rows only. The place of a row is where its group of ties begins.
    """
    place, tied = np.zeros(n, dtype=np.int64), np.arange(n)
    for keys in rounds:
        if len(tied) < 2:
            break
        tied_keys = [key[tied] for key in keys]
        if all((key == key[0]).all() for key in tied_keys):
            continue
        order = np.lexsort((*tied_keys[::-1], place[tied]))
        tied, here = tied[order], np.arange(len(tied))
        group = np.r_[True, np.diff(place[tied]) != 0]
        new = group.copy()
        for key in tied_keys:
            new[1:] |= np.diff(key[order]) != 0
        begin = np.maximum.accumulate(np.where(group, here, 0))
        place[tied] += np.maximum.accumulate(np.where(new, here, 0)) - begin
        tied = tied[~new | ~np.r_[new[1:], True]]
    return np.argsort(place, kind="stable")


def _sparse_keys(x: Any) -> Iterator[tuple[Any, ...]]:
    """Keys by which compressed rows are in the order of the same rows filled in.

    At the first entry in which two rows differ, that in the earlier column decides: a positive one
    is larger than the zero of the other row, a negative one smaller.
    """
    x = sparse.csr_array(x, copy=True)
    x.sum_duplicates()
    x.eliminate_zeros()
    n, d = x.shape
    length = np.diff(x.indptr)
    for position in range(int(length.max(initial=0))):
        has = np.flatnonzero(length > position)
        at = x.indptr[has] + position
        column, value = np.zeros(n, dtype=np.int64), np.zeros(n)
        value[has] = x.data[at]
        column[has] = np.sign(value[has]) * (d - x.indices[at])
        yield column, value


def seed_generator(random_state: Any) -> tuple[int, np.random.Generator]:
    """Seed of a sample of rows, and the generator of the centers of K-means."""
    seeds = check_random_state(random_state).randint(2**31 - 1, size=2)
    return int(seeds[0]), np.random.default_rng(seeds[1])


# -- centers of K-means ----------------------------------------------------------------------------


class SortedRows(NamedTuple):
    """Rows in lexicographic order relative to their mean, their ‖·‖², weights, and the mean."""

    z: Floats
    square: Floats
    weight: Floats
    origin: Floats


def sorted_rows(x: Floats, w: Floats) -> SortedRows:
    """What all initializations of the same rows share."""
    order = lexicographic_order(x)
    origin = (w @ x) / w.sum()
    z, square = np.empty(x.shape), np.empty(len(x))

    def center(rows: slice) -> None:
        np.subtract(x[order[rows]], origin, out=z[rows])
        np.einsum("ij,ij->i", z[rows], z[rows], out=square[rows])

    parallel_map(center, pieces(len(x), PIECE_NUMBERS // max(x.shape[1], 1)))
    return SortedRows(z, square, w[order], origin)


def kmeans_plusplus(x: Floats, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """k-means++ centers: of 2 + log k candidates the one that leaves the least inertia is taken.

    When every row equals a center already, the last centers repeat rows.
    """
    return plusplus_centers(sorted_rows(x, w), k, rng)


def plusplus_centers(rows: SortedRows, k: int, rng: np.random.Generator) -> Floats:
    """k-means++ centers of sorted rows."""
    z, square, w, origin = rows
    trials = 2 + int(np.log(k))
    if z.size <= SMALL:
        u = rng.random(1 + (k - 1) * trials)
        centers, work = np.zeros(k, dtype=np.int64), np.empty((3, len(z)))
        plusplus(z, np.ascontiguousarray(z.T), w, trials, u, centers, work)
        return np.asarray(z[centers] + origin)
    # Columns up to which distances to candidates are summed by column; else from products of BLAS.
    if z.shape[1] <= 64:
        return np.asarray(z[plusplus_rows(TiledRows(z, w), k, rng)] + origin)
    # What is done for each piece is worth it for so many rows, however wide they are.
    cuts = pieces(len(z), max(64, PIECE_NUMBERS // z.shape[1]))

    def squares(candidates: Ints) -> Callable[[int], Floats]:
        points, norms = z[candidates], square[candidates]
        return lambda piece: _squared_distances(z[cuts[piece]], square[cuts[piece]], points, norms)

    return np.asarray(z[plusplus_rows(CutRows(w, cuts, squares), k, rng)] + origin)


def sparse_plusplus(x: Any, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """k-means++ centers of compressed rows, which are not filled in."""
    order = lexicographic_order(x)
    x, w = x[order], w[order]
    rows = CompressedRows(x, 2 + int(np.log(k)))

    def squares(candidates: Ints) -> Callable[[int], Floats]:
        by_column = np.ascontiguousarray(x[candidates].toarray().T)
        norms = rows.square[candidates]

        def of_piece(piece: int) -> Floats:
            out = rows.squared_distances(piece, by_column, norms)
            # products leave rounding errors where a row equals a candidate
            out[out <= rows.rounding * (rows.square[rows.cuts[piece]][:, None] + norms)] = 0.0
            return out

        return of_piece

    return np.asarray(x[plusplus_rows(CutRows(w, rows.cuts, squares), k, rng)].toarray())


def sparse_random(x: Any, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Compressed rows drawn by weight, none twice."""
    order = lexicographic_order(x)
    left, chosen = w[order], []
    for _ in range(k):
        chosen.append(int(draw(left, rng.random(1))[0]))
        left[chosen[-1]] = 0.0
    return np.asarray(x[order[chosen]].toarray())


def random_centers(x: Floats, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Rows drawn by weight; none twice, and no two equal ones while there are others."""
    z, square, w, origin = sorted_rows(x, w)
    left, chosen = w.copy(), []
    for _ in range(k):
        chosen.append(draw(left if left.any() else w, rng.random(1))[0])
        last = chosen[-1:]
        left[_squared_distances(z, square, z[last], square[last])[:, 0] == 0.0] = 0.0
    return np.asarray(z[np.array(chosen)] + origin)


def _squared_distances(z: Floats, square: Floats, c: Floats, norms: Floats) -> Floats:
    """‖z − c‖² of all pairs; exactly 0 for equal rows, and where only rounding is left."""
    out = z @ c.T
    out *= -2.0
    out += square[:, None]
    out += norms
    noise = 16 * np.finfo(float).eps * (square[:, None] + norms)
    close = np.argwhere(out <= noise)
    if len(close) <= 4 * len(z):  # from differences where products cancel
        i, j = close.T
        out[i, j] = ((z[i] - c[j]) ** 2).sum(axis=1)
    return np.maximum(out, 0.0)


# -- medoids, from a matrix of distances -----------------------------------------------------------


def build_medoids(distance: Singles, weight: Floats, k: int, _: Any) -> Ints:
    """BUILD: first the medoid of all rows, then the row that lowers the loss most, and so on."""
    n = len(distance)
    nearest, reduction = np.full(n, np.inf), np.empty(n)
    chosen = [int((distance @ weight.astype(np.float32)).argmin())]

    def reduce(rows: slice) -> None:
        total_reductions(distance, nearest, weight, rows.start, rows.stop, reduction)

    while len(chosen) < k:
        np.minimum(nearest, distance[chosen[-1]], out=nearest)
        parallel_map(reduce, pieces(n, PIECE_NUMBERS // n))
        reduction[chosen] = -1.0
        chosen.append(int(reduction.argmax()))
    return np.array(chosen, dtype=np.int64)


def kmedoids_plusplus(distance: Singles, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows drawn by weight times distance to those before; of 2 + log k the best is taken."""
    chosen = [int(draw(weight, rng.random(1))[0])]
    nearest = distance[chosen[0]].astype(float)
    for _ in range(1, k):
        loss = weight * nearest
        loss[chosen] = 0.0
        if not loss.any():  # every row equals a medoid
            others = np.setdiff1d(np.arange(len(weight)), chosen)
            return np.concatenate([chosen, others[: k - len(chosen)]]).astype(np.int64)
        candidates = draw(loss, rng.random(2 + int(np.log(k))))
        losses = np.minimum(distance[candidates], nearest) @ weight
        chosen.append(int(candidates[losses.argmin()]))
        np.minimum(nearest, distance[chosen[-1]], out=nearest)
    return np.array(chosen, dtype=np.int64)


def random_medoids(distance: Singles, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows drawn by weight; none twice, and no two equal ones while there are others."""
    left, chosen = weight.copy(), []
    for u in rng.random(k):
        chosen.append(int(draw(left, np.array([u]))[0]))
        left[distance[chosen[-1]] == 0.0] = 0.0
        if not left.any():
            left = weight.copy()
            left[chosen] = 0.0
    return np.array(chosen, dtype=np.int64)


# -- partitions of kernel K-means ------------------------------------------------------------------


def kernel_plusplus(gram: GramBlocks, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Labels by the nearest of k rows drawn by k-means++ with distances from the kernel."""
    chosen = [int(draw(weight, rng.random(1))[0])]
    nearest, labels = gram.squared_distances(chosen[0]), np.zeros(gram.n, dtype=np.int64)
    for j in range(1, k):
        loss = weight * nearest
        loss[chosen] = 0.0
        if not loss.any():
            loss = weight.copy()
            loss[chosen] = 0.0
        i = int(draw(loss, rng.random(1))[0])
        squares = gram.squared_distances(i)
        closer = squares < nearest
        closer[i] = True
        labels[closer], nearest = j, np.minimum(nearest, squares)
        chosen.append(i)
    labels[chosen] = np.arange(k)
    return labels


# -------------------------------------------------------------------------------------------------
# k-means++ over pieces of the rows: candidates are compared on threads, draws look at one piece.
#
# The cuts depend on the table alone, so that the same rows are drawn on any number of threads.


def draw(weight: Floats, u: Floats) -> Ints:
    """Rows at which the cumulative weight passes the fractions u; never one of weight zero."""
    cumulative = np.cumsum(weight)
    position = np.searchsorted(cumulative, u * cumulative[-1], side="right")
    last = int(np.flatnonzero(weight)[-1])
    return np.asarray(np.minimum(position, last))


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
        at = pieces(self.count, max(1, PIECE_NUMBERS // (TILE * max(d, 1))))
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
        value = closer.reshape(-1, *shape)

        def compare(i: int) -> None:
            rows = self.cuts[i]
            nearest[rows] = closer[last, rows]
            first, stop = rows.start // TILE, rows.stop // TILE
            compare_candidates(self.tiles, weight, points, first, stop, near, value, left[i])

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
    draws = []
    for target, piece in zip(u * before[-1], draw(loss, u).tolist(), strict=True):
        inner = w[cuts[piece]] * nearest[cuts[piece]]
        fraction = (target - before[piece]) / loss[piece]
        draws.append(cuts[piece].start + int(draw(inner, np.array([fraction]))[0]))
    return np.array(draws)
