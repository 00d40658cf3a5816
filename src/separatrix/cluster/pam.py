"""K-medoids from a matrix of distances: k rows such that the rows are near one of them.

    minimize Σ w d(x, nearest medoid)

Alternating (rows to the nearest medoid, medoid to the middle of its rows) is quick and stops early;
exchanges of one medoid for one other row go on from there until none helps.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.initialization import drawn
from separatrix.cluster.loops import pam as compiled
from separatrix.rows.block import Floats, Ints
from separatrix.threads import one_blas_thread

Singles = NDArray[np.float32]

#: Candidates that are priced before the best exchanges among them are made.
BATCH = 512
#: A change below this share of the loss is rounding: distances are held in single precision.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Medoids:
    """Rows chosen as medoids, the label of every row, and the loss in the unit of the matrix."""

    index: Ints
    labels: Ints
    loss: float
    iterations: int
    settled: bool


class _Table:
    """Distances with the nearest and second nearest medoid of every row."""

    def __init__(self, distance: Singles, weight: Floats, pool: ThreadPoolExecutor) -> None:
        n = len(distance)
        self.distance, self.weight, self.pool = distance, weight, pool
        self.near, self.next = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.first, self.second = np.full(n, np.inf), np.full(n, np.inf)

    def place(self, medoids: Ints) -> float:
        """Assign all rows; the loss."""
        n = len(self.near)
        compiled.two_nearest(
            self.distance, medoids, self.near, self.next, self.first, self.second, 0, n
        )
        self.near[medoids] = np.arange(len(medoids))  # a medoid is its own, also among equals
        return float(self.weight @ self.first)

    def exchange(self, medoids: Ints, m: int) -> float:
        """The rows after medoid m became another; the loss."""
        table = (self.near, self.next, self.first, self.second)
        compiled.exchanged(self.distance, medoids, m, *table)
        self.near[medoids] = np.arange(len(medoids))
        return float(self.weight @ self.first)

    def over_rows(self, work: Callable[[int, int], None], start: int, stop: int) -> None:
        """``work(a, b)`` on pieces of the rows, on threads."""
        step = max(16, (stop - start) // 8 + 1)
        cuts = range(start, stop, step)
        list(self.pool.map(lambda a: work(a, min(a + step, stop)), cuts))


def k_medoids(
    distance: Singles, weight: Floats, start: Ints, *, method: str, max_iter: int
) -> Medoids:
    """Alternate from the rows ``start``; with method "pam", then exchange until nothing helps."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        table = _Table(distance, weight, pool)
        medoids, sweeps, settled = alternate(table, start.copy(), max_iter)
        if method == "pam":
            swaps, settled = exchange(table, medoids, max_iter)
            sweeps += swaps
        return Medoids(medoids, table.near.copy(), table.place(medoids), sweeps, settled)


def alternate(table: _Table, medoids: Ints, max_iter: int) -> tuple[Ints, int, bool]:
    """Medoids to the row of least total distance of their clusters, until none moves."""
    for sweep in range(1, max_iter + 1):
        table.place(medoids)
        new = medoids.copy()
        order = np.argsort(table.near, kind="stable")
        ends = np.searchsorted(table.near[order], np.arange(len(medoids) + 1))
        for m in range(len(medoids)):
            members = order[ends[m] : ends[m + 1]]
            totals = np.empty(len(members))
            compiled.totals_within(table.distance, members, table.weight, totals)
            own = totals[members == medoids[m]]
            best = int(totals.argmin())
            if totals[best] < own.min(initial=np.inf) * (1 - ROUNDING):
                new[m] = members[best]
        if np.array_equal(new, medoids):
            return medoids, sweep, True
        medoids = new
    return medoids, max_iter, False


def exchange(table: _Table, medoids: Ints, max_iter: int) -> tuple[int, bool]:
    """Exchange medoids in place while some exchange lowers the loss; passes, and whether done.

    Candidates are priced a batch at a time on all cores; of a batch the promising ones are priced
    again, best first, after every exchange. A pass without any is the proof that none helps.
    """
    n, k = len(table.near), len(medoids)
    removal, change, which = np.zeros(k), np.zeros(n), np.zeros(n, np.int64)
    loss = table.place(medoids)
    quiet, start, rounds = 0, 0, 0

    def work(a: int, b: int) -> None:
        compiled.price(
            table.distance, table.near, table.first, table.second, table.weight, removal,
            a, b, change, which,
        )  # fmt: skip

    compiled.removals(table.near, table.first, table.second, table.weight, removal)
    while quiet < n and rounds < max_iter and k < n:
        stop = min(start + BATCH, n)
        table.over_rows(work, start, stop)
        quiet += stop - start
        promising = start + np.flatnonzero(change[start:stop] < -ROUNDING * loss)
        for c in promising[np.argsort(change[promising], kind="stable")].tolist():
            if c in medoids:
                continue
            work(c, c + 1)
            if change[c] < -ROUNDING * loss:
                medoids[which[c]] = c
                loss = table.exchange(medoids, int(which[c]))
                compiled.removals(table.near, table.first, table.second, table.weight, removal)
                quiet = 0
        start = stop % n
        rounds += start == 0
    return rounds, bool(quiet >= n or k >= n)


# -- where to begin ----------------------------------------------------------------------------


def build_start(distance: Singles, weight: Floats, k: int, _: Any) -> Ints:
    """BUILD: first the medoid of all rows, then the row that helps most, and so on."""
    first = np.full(len(distance), np.inf)
    chosen = [int((distance @ weight.astype(np.float32)).argmin())]
    gain = np.empty(len(distance))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        table = _Table(distance, weight, pool)
        while len(chosen) < k:
            np.minimum(first, distance[chosen[-1]], out=first)
            table.over_rows(
                lambda a, b: compiled.relief(distance, first, weight, a, b, gain),
                0,
                len(distance),
            )
            gain[chosen] = -1.0
            chosen.append(int(gain.argmax()))
    return np.array(chosen, dtype=np.int64)


def spread_start(distance: Singles, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows drawn by weight times distance to those before; of several the one that helps most."""
    chosen = [int(drawn(weight, rng.random(1))[0])]
    first = distance[chosen[0]].astype(float)
    for _ in range(1, k):
        pull = weight * first
        pull[chosen] = 0.0
        if not pull.any():  # every row sits on a medoid: any others serve
            spare = np.setdiff1d(np.arange(len(weight)), chosen)
            return np.concatenate([chosen, spare[: k - len(chosen)]]).astype(np.int64)
        tried = drawn(pull, rng.random(2 + int(np.log(k))))
        losses = np.minimum(distance[tried], first) @ weight
        chosen.append(int(tried[losses.argmin()]))
        np.minimum(first, distance[chosen[-1]], out=first)
    return np.array(chosen, dtype=np.int64)


def random_start(distance: Singles, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows drawn by weight, none twice."""
    left, chosen = weight.copy(), []
    for u in rng.random(k):
        chosen.append(int(drawn(left, np.array([u]))[0]))
        left[distance[chosen[-1]] == 0.0] = 0.0
        if not left.any():
            left = weight.copy()
            left[chosen] = 0.0
    return np.array(chosen, dtype=np.int64)


def best_exchange(distance: Singles, weight: Floats, medoids: Ints) -> float:
    """The most that any exchange would take off the loss, recomputed from all distances.

    Shares no code with the search. With m left out a row falls back on held(m) = its second
    nearest medoid if m is its nearest, else the nearest; row c in place of m then leaves

        Σ w min(d(c, ·), first)  −  Σ over rows of m (min(d, first) − min(d, second))

    and the sums over the rows of every m are products with the 0/1 matrix of membership.
    """
    n, k = len(weight), len(medoids)
    to = np.sort(distance[medoids], axis=0)
    first, second = to[0], to[1] if k > 1 else np.full(n, np.inf, dtype=np.float32)
    member = np.zeros((n, k), dtype=np.float32)
    member[np.arange(n), distance[medoids].argmin(axis=0)] = weight
    ends = np.where(np.isfinite(second), second, distance.max())

    def least(a: int) -> float:
        rows = distance[a : a + step]
        near = np.minimum(rows, first)
        kept = near @ member
        left = np.minimum(rows, ends, out=near) @ member if k > 1 else rows @ member
        return float((kept.sum(axis=1, dtype=float)[:, None] - kept + left).min())

    step = max(1, 1_000_000 // n)
    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        best = min(pool.map(least, range(0, n, step)))
    return float(weight @ first.astype(float)) - best
