"""Inner products from the columns themselves: for tables wider than they are long."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

from separatrix.linear.elastic_net.problem import Problem, Settings, Units
from separatrix.rows.block import Block, Floats, Ints, Matrix

#: Sparse tables are made dense up to this many entries, or when so large a share is not zero.
DENSE_ENTRIES, DENSE_SHARE = 20_000_000, 0.25
#: Entries of a matrix that are worth a thread.
ENTRIES_PER_THREAD = 1_000_000


class DenseColumns:
    """Columns ``u`` (n x d) and target ``t`` of length one; those of the set lie side by side."""

    def __init__(self, u: Floats, t: Floats) -> None:
        self.u, self.t = u, t
        threads = max(1, min(os.cpu_count() or 1, u.size // ENTRIES_PER_THREAD))
        self._cuts = [u.shape[1] * i // threads for i in range(threads + 1)]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._size, self._room = 0, np.empty((0, len(t)))
        self.target = self._against(t)

    @property
    def _set(self) -> Floats:
        return self._room[: self._size]

    def grow(self, new: Ints) -> Floats:
        """Inner products of the enlarged set with the new columns."""
        size = self._size + len(new)
        if size > len(self._room):
            room = np.empty((size + self._size, len(self.t)))
            room[: self._size] = self._set
            self._room = room
        self._room[self._size : size] = self.u[:, new].T
        self._size = size
        return np.asarray(self._set @ self._set[-len(new) :].T)

    def keep(self, positions: Ints) -> None:
        """Drop the others."""
        self._room, self._size = self._set[positions], len(positions)

    def gradient(self, beta: Floats) -> tuple[Floats, float]:
        """Uᵀr and ‖r‖² for r = t − Σ βᵢ uᵢ."""
        r = self.t - beta @ self._set
        return self._against(r), float(r @ r)

    def _against(self, r: Floats) -> Floats:
        """Uᵀr: the one product that is large, so the columns are shared among threads."""
        if self._pool is None:
            return np.asarray(self.u.T @ r)
        pieces = [self.u.T[a:b] for a, b in zip(self._cuts, self._cuts[1:], strict=False)]
        return np.concatenate(list(self._pool.map(lambda piece: piece @ r, pieces)))


class SparseColumns:
    """uⱼ = (aⱼ − μⱼ v)/sⱼ with sparse aⱼ: centred without filling in the zeros. ‖v‖ = 1."""

    def __init__(self, a: Matrix, mean: Floats, spread: Floats, v: Floats, t: Floats) -> None:
        self.a, self.mean, self.spread, self.v, self.t = a, mean, spread, v, t
        self.target = self._against(t)
        self._index = np.zeros(0, dtype=np.int64)

    def _against(self, r: Floats) -> Floats:
        return np.asarray((self.a.T @ r - self.mean * float(self.v @ r)) / self.spread)

    def grow(self, new: Ints) -> Floats:
        """Inner products of the enlarged set with the new columns."""
        self._index = np.concatenate([self._index, new])
        at = self._index
        product = (self.a[:, at].T @ self.a[:, new]).toarray()
        product -= np.outer(self.mean[at], self.mean[new])
        return np.asarray(product / np.outer(self.spread[at], self.spread[new]))

    def keep(self, positions: Ints) -> None:
        """Drop the others."""
        self._index = self._index[positions]

    def gradient(self, beta: Floats) -> tuple[Floats, float]:
        """Uᵀr and ‖r‖² for r = t − Σ βᵢ uᵢ."""
        at = self._index
        share = beta / self.spread[at]
        r = self.t - self.a[:, at] @ share + self.v * float(self.mean[at] @ share)
        return self._against(r), float(r @ r)


def problem_from_block(block: Block, settings: Settings, target: int = 0) -> Problem:
    """The elastic net of one target, from rows in memory."""
    if block.w is not None and (block.w == 0.0).any():  # a row of weight zero is a row removed
        block = block.take(np.flatnonzero(block.w > 0.0))
    w = block.weights
    v = np.sqrt(w / w.sum())
    x, y = block.x, block.y[:, target]
    y_mean = float(v**2 @ y) if settings.fit_intercept else 0.0
    t = (y - y_mean) * v
    y_scale = float(np.linalg.norm(t))
    t /= y_scale or 1.0
    if sparse.issparse(x):
        share = x.nnz / max(1, x.shape[0] * x.shape[1])
        if x.shape[0] * x.shape[1] > DENSE_ENTRIES and share < DENSE_SHARE:
            return _sparse_problem(x, t, v, float(w.sum()), (y_mean, y_scale), settings)
        x = x.toarray()
    mean = v**2 @ x if settings.fit_intercept else np.zeros(x.shape[1])
    u = x - mean
    if block.w is not None:
        u *= v[:, None] * np.sqrt(block.n)
    spread = np.sqrt(np.einsum("ij,ij->j", u, u) / block.n)
    units = Units(mean, spread, y_mean, y_scale, float(w.sum()))
    live = units.live
    if len(live) < u.shape[1]:
        u = u[:, live]
    u /= spread[live] * np.sqrt(block.n)
    return Problem(DenseColumns(u, t), units, settings)


def _sparse_problem(
    x: Matrix, t: Floats, v: Floats, weight: float, y_units: tuple[float, float], settings: Settings
) -> Problem:
    """As above with the columns left sparse; the spread is summed about the mean throughout."""
    a = sparse.csc_array(x.multiply(v[:, None]))
    mean = np.asarray(a.T @ v) if settings.fit_intercept else np.zeros(x.shape[1])
    column = np.repeat(np.arange(a.shape[1]), np.diff(a.indptr))
    about = a.data - mean[column] * v[a.indices]
    stored = np.bincount(column, v[a.indices] ** 2, minlength=a.shape[1])
    spread = np.bincount(column, about**2, minlength=a.shape[1])
    spread += mean**2 * np.maximum(1.0 - stored, 0.0)
    units = Units(mean, np.sqrt(spread), *y_units, weight)
    live = units.live
    geometry = SparseColumns(a[:, live], mean[live], units.x_scale[live], v, t)
    return Problem(geometry, units, settings)
