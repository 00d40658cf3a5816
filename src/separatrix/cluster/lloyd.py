"""K-means in memory: rows to their nearest center, centers to the means, until nothing moves.

    minimize Σᵢ wᵢ ‖xᵢ − c_{label(i)}‖²

Neither step can raise the scatter, and there are finitely many partitions, so the sweeps end; what
they end in is a local optimum. Sums follow the rows that moved; they are taken afresh when the
sweeps have ended, so that the means are those of the rows and not of a history of updates.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.loops import assignments as cluster_rows
from separatrix.cluster.loops import kmeans as compiled
from separatrix.cluster.loops.kmeans import Centers, Cloud, State
from separatrix.cluster.loops.tiles import LANES
from separatrix.rows.block import Floats

#: Rows whose sums are taken together. Fixed, so that numbers depend on no number of threads.
ROWS_PER_CHUNK = 16_384
#: Groups of centers that get a lower bound of their own.
MOST_GROUPS = 16


@dataclass(frozen=True)
class Clustering:
    """Centers, the label of every row, and how the sweeps went."""

    centers: Floats
    labels: NDArray[np.int32]
    mass: Floats
    scatter: float
    iterations: int
    settled: bool
    history: Floats


def lloyd(x: Floats, w: Floats, start: Floats, *, max_iter: int, tol: float = 0.0) -> Clustering:
    """Sweeps from the centers ``start`` (k x d) until no row moves, or no center by more than tol.

    ``tol`` is relative to the mean variance of the columns; weights must be positive.
    """
    with _Sweeps(x, w, start) as sweeps:
        history, settled = [], False
        enough = tol * sweeps.variance
        for _ in range(max_iter):
            moved = sweeps.assign()
            history.append(sweeps.step())
            settled = not moved and sweeps.afresh() == 0.0
            if settled or (tol > 0 and history[-1] <= enough):
                break
        if not settled:
            sweeps.assign()
        return sweeps.result(np.array(history), settled)


class _Sweeps:
    """Rows and centers about the mean of all rows, in units of the widest deviation."""

    def __init__(self, x: Floats, w: Floats, start: Floats) -> None:
        n, d = x.shape
        self.cuts = [*range(0, n, ROWS_PER_CHUNK), n]
        self.mean = (w @ x) / w.sum()
        self.unit = float(max((x.max(axis=0) - self.mean).max(), (self.mean - x.min(axis=0)).max()))
        self.unit = self.unit or 1.0
        single, square = np.empty((n, d), np.float32), np.empty(n, np.float32)
        self.x, self.cloud = x, Cloud(np.empty((n, d)), single, square, w)
        self.centers = laid_out(np.ascontiguousarray((start - self.mean) / self.unit))
        groups = len(self.centers.group_gone) - 1
        self.state = State(
            np.zeros(n, dtype=np.int32),
            np.full(n, np.inf, dtype=np.float32),
            np.full((n, groups), -np.inf, dtype=np.float32),
            np.full(n, -np.inf, dtype=np.float32),
        )
        self.slack = (2 * d + 16) * 2.0**-24
        k, chunks = len(start), -(-n // ROWS_PER_CHUNK)
        self.sums, self.mass, self.count = np.zeros((k, d)), np.zeros(k), np.zeros(k, dtype=int)
        self.parts = (np.zeros((chunks, k, d)), np.zeros((chunks, k)), np.zeros((chunks, k), int))
        self.first = True

    def __enter__(self) -> _Sweeps:
        workers = min(os.cpu_count() or 1, len(self.cuts) - 1)
        self.pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self.tasks = np.array_split(np.arange(len(self.cuts) - 1), 4 * workers)

        def one(start: int, stop: int, *_: Any) -> None:
            cluster_rows.center_rows(self.x, self.mean, self.unit, start, stop, *self.cloud[:3])

        self._over_chunks(one)
        self.variance = float(self.cloud.weight @ self.cloud.square) / self.cloud.weight.sum()
        self.variance /= self.x.shape[1]
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def _over_chunks(self, work: Callable[..., Any]) -> list[Any]:
        """``work(start, stop, sums, mass, count)`` of every chunk, on threads."""

        def several(chunks: NDArray[np.int64]) -> list[Any]:
            return [
                work(self.cuts[i], self.cuts[i + 1], *(part[i] for part in self.parts))
                for i in chunks.tolist()
            ]

        if self.pool is None:
            return several(np.arange(len(self.cuts) - 1))
        return [out for outs in self.pool.map(several, self.tasks) for out in outs]

    def _gather(self) -> None:
        for total, part in zip((self.sums, self.mass, self.count), self.parts, strict=True):
            total += part.sum(axis=0)
            part[:] = 0

    # -- the two steps -------------------------------------------------------------------------

    def assign(self) -> int:
        """Every row to its nearest center; how many moved."""

        def one(start: int, stop: int, *parts: Any) -> int:
            rows = (self.cloud, self.centers, self.state, self.slack, start, stop)
            return int(compiled.sweep(*rows, *parts))

        moved = sum(self._over_chunks(one))
        if self.first:  # labels of the first sweep replace none
            self.first = False
            self._sum_afresh()
            return len(self.state.label)
        self._gather()
        return int(moved)

    def step(self) -> float:
        """Centers to means, empty ones to far rows; the sum of squares of their steps."""
        for j in np.flatnonzero(self.count == 0):
            self._refill(int(j))
        kept = self.count > 0
        new = self.centers.exact.copy()
        new[kept] = self.sums[kept] / self.mass[kept, None]
        return self._move_to(new)

    def afresh(self) -> float:
        """Sums from the rows as they are; how far the centers step from the updated ones."""
        before = self.centers.exact.copy()
        self._sum_afresh()
        self.step()
        moved = np.abs(before - self.centers.exact).max()
        return float(moved) if moved > 1e-15 * np.sqrt(self.centers.reach) else 0.0

    def _sum_afresh(self) -> None:
        for total in (self.sums, self.mass, self.count, *self.parts):
            total[:] = 0

        def one(start: int, stop: int, *parts: Any) -> None:
            cluster_rows.add_rows(
                self.cloud.exact, self.cloud.weight, self.state.label, start, stop, *parts
            )

        self._over_chunks(one)
        self._gather()

    def _move_to(self, new: Floats) -> float:
        old = self.centers
        steps = np.sqrt(((new - old.exact) ** 2).sum(axis=1))
        old.gone[:] += steps
        groups = len(old.group_gone) - 1
        fastest = np.zeros(groups)
        np.maximum.at(fastest, old.group_of, steps)
        old.group_gone[:groups] += fastest
        old.group_gone[groups] += steps.max()
        fill_tiles(old, new)
        self.centers = old._replace(reach=float((new**2).sum(axis=1).max()))
        return float((steps**2).sum())

    def _refill(self, j: int) -> None:
        """An empty cluster gets the row that adds most to the scatter, which falls by that."""
        loss = self.cloud.weight * self.own_squares()
        i = int(loss.argmax())
        if loss[i] <= 0.0:
            return  # every row sits on its center: there is nothing to gain
        a, w, x = int(self.state.label[i]), self.cloud.weight[i], self.cloud.exact[i]
        self.state.label[i] = j
        self.state.upper[i] = np.inf
        self.state.lower[i], self.state.lowest[i] = -np.inf, -np.inf
        self.count[[a, j]] += (-1, 1)
        self.mass[a], self.mass[j] = self.mass[a] - w, w
        self.sums[a] -= w * x
        self.sums[j] = w * x
        moved = self.centers.exact.copy()
        moved[j] = x
        self._move_to(moved)

    # -- what came out -------------------------------------------------------------------------

    def own_squares(self) -> Floats:
        """‖x − c‖² of every row to its own center, in the inner unit."""
        out = np.empty(len(self.state.label))

        def one(start: int, stop: int, *_: Any) -> None:
            cluster_rows.own_squares(
                self.cloud.exact, self.centers.exact, self.state.label, start, stop, out
            )

        self._over_chunks(one)
        return out

    def result(self, history: Floats, settled: bool) -> Clustering:
        """In the units of the rows."""
        squares = self.cloud.weight * self.own_squares()
        parts = [float(squares[a:b].sum()) for a, b in pairwise(self.cuts)]
        return Clustering(
            self.centers.exact * self.unit + self.mean,
            self.state.label,
            self.mass,
            sum(parts) * self.unit**2,
            len(history),
            settled,
            history * self.unit**2,
        )


# -- the layout of centers ---------------------------------------------------------------------


def laid_out(centers: Floats) -> Centers:
    """Centers in groups of near ones, each group a whole number of tiles."""
    k, d = centers.shape
    tiles = -(-k // LANES)
    per_group = -(-tiles // MOST_GROUPS)
    groups = -(-tiles // per_group)
    lanes = groups * per_group * LANES
    order = near_together(centers, np.arange(k), per_group * LANES)
    lane_of, center_of = np.zeros(k, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
    lane_of[order] = np.arange(k)
    center_of[:k] = order
    layout = Centers(
        np.zeros((k, d)),
        np.zeros((k, d), dtype=np.float32),
        np.zeros(k, dtype=np.float32),
        np.zeros((lanes // LANES, d, LANES), dtype=np.float32),
        np.full((lanes // LANES, LANES), np.inf, dtype=np.float32),
        lane_of,
        center_of,
        lane_of // (per_group * LANES),
        np.zeros(k),
        np.zeros(groups + 1),
        float((centers**2).sum(axis=1).max()),
    )
    fill_tiles(layout, centers)
    return layout


def fill_tiles(layout: Centers, centers: Floats) -> None:
    """Write the centers into their lanes."""
    layout.exact[:] = layout.single[:] = centers
    layout.halves[:] = 0.5 * (centers**2).sum(axis=1)
    tile, lane = np.divmod(layout.lane_of, LANES)
    layout.tiles[tile, :, lane] = centers
    layout.norms[tile, lane] = layout.halves


def near_together(centers: Floats, index: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The centers in an order in which runs of ``size`` are near each other: halved, and so on."""
    if len(index) <= size:
        return index
    spread = centers[index]
    order = index[np.argsort(spread[:, spread.var(axis=0).argmax()], kind="stable")]
    runs = -(-len(index) // size)
    half = (runs // 2) * size
    return np.concatenate(
        [near_together(centers, order[:half], size), near_together(centers, order[half:], size)]
    )
