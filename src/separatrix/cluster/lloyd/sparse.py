"""Lloyd iterations over compressed rows that are never filled in.

Of every row an upper bound of the distance to its own center and a lower bound of that to any other
are stored. Centers that move change the bounds by their steps, and while the first is below the
second the row keeps its center (Hamerly 2010). The sums of a cluster are computed from its rows
whenever one joins or leaves it, so that no rounding errors accumulate in the means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cluster.lloyd.iterations import LloydResult
from separatrix.cluster.lloyd.sparse_rows import SparseRows, transposed
from separatrix.rows.block import Floats, Ints
from separatrix.threads import one_blas_thread, parallel_map


def sparse_lloyd(x: Any, w: Floats, start: Floats, *, max_iter: int) -> LloydResult:
    """Lloyd iterations of CSR rows of positive weight from the centers ``start`` (k x d)."""
    iterations, converged = 0, False
    with one_blas_thread():  # set once, not by every step
        state = _SparseLloyd(SparseRows(x, len(start)), w, start)
        while iterations < max_iter:
            iterations += 1
            if not state.assign():
                converged = True
                break
            state.update_centers()
        if not converged:
            state.assign()
        losses = state.losses()
    weights = np.asarray(np.bincount(state.label, w, minlength=len(start)), dtype=float)
    label = state.label.astype(np.int32)
    return LloydResult(state.centers, label, weights, float(losses.sum()), iterations, converged)


class _SparseLloyd:
    """Labels and bounds of the rows, and the centers."""

    def __init__(self, rows: SparseRows, w: Floats, start: Floats) -> None:
        n = len(w)
        self.rows, self.w, self.centers = rows, w, start.copy()
        self.label = np.full(n, -1)
        self.upper, self.lower = np.full(n, np.inf), np.zeros(n)
        self.changed = np.zeros(len(start), dtype=bool)
        self._set_norms()

    def _set_norms(self) -> None:
        self.norms = np.einsum("ij,ij->i", self.centers, self.centers)
        self.by_column = transposed(self.centers)

    def assign(self) -> int:
        """Assign every row to its nearest center; the number of rows that moved."""
        found = parallel_map(self._assign_piece, range(len(self.rows.cuts)))
        self.changed[:] = np.any([changed for _, changed in found], axis=0)
        moved = sum(count for count, _ in found)
        return moved + self._fill_empty_clusters()

    def _assign_piece(self, piece: int) -> tuple[int, Any]:
        """Assign the rows of a piece; how many moved, and which clusters they joined or left."""
        at = self.rows.cuts[piece]
        label, upper, lower = self.label[at], self.upper[at], self.lower[at]
        changed = np.zeros(len(self.centers), dtype=bool)
        open_rows = np.flatnonzero(upper >= lower)
        if not len(open_rows):
            return 0, changed
        square = self.rows.squared_distances(
            piece, self.by_column, self.norms, None if len(open_rows) == len(label) else open_rows
        )
        here = np.arange(len(open_rows))
        new = square.argmin(axis=1)
        near = square[here, new]
        square[here, new] = np.inf
        error = self.rows.rounding * (self.rows.square[at][open_rows] + self.norms.max())
        upper[open_rows] = np.sqrt(near + error)
        lower[open_rows] = np.sqrt(np.maximum(square.min(axis=1) - error, 0.0))
        old = label[open_rows]
        moved = new != old
        changed[new[moved]] = True
        changed[old[moved & (old >= 0)]] = True
        label[open_rows] = new
        return int(moved.sum()), changed

    def update_centers(self) -> None:
        """Move centers to the means of their rows."""
        k = len(self.centers)
        order = np.argsort(self.label, kind="stable")
        ends = np.searchsorted(self.label[order], np.arange(k + 1))
        steps = np.zeros(k)

        def move(j: int) -> None:
            members: Ints = order[ends[j] : ends[j + 1]]
            if not len(members):
                return
            mean = self.rows.cluster_sum(members, self.w) / self.w[members].sum()
            steps[j] = np.linalg.norm(mean - self.centers[j])
            self.centers[j] = mean

        parallel_map(move, np.flatnonzero(self.changed).tolist())
        self._set_norms()
        self._loosen(steps * (1 + 1e-12))

    def _loosen(self, steps: Floats) -> None:
        """Bounds after the centers have moved: of the others, the fastest counts."""
        fastest = int(steps.argmax())
        others = np.full(len(steps), steps[fastest])
        others[fastest] = np.delete(steps, fastest).max(initial=0.0)
        self.upper += steps[self.label]
        self.lower -= others[self.label]

    def losses(self) -> Floats:
        """w ‖x − c‖² of every row and its own center."""

        def one(piece: int) -> Floats:
            square = self.rows.squared_distances(piece, self.by_column, self.norms, None)
            own = self.label[self.rows.cuts[piece]]
            return np.asarray(square[np.arange(len(own)), own])

        squares = parallel_map(one, range(len(self.rows.cuts)))
        return np.asarray(self.w * np.concatenate(squares))

    def _fill_empty_clusters(self) -> int:
        """Every empty cluster gets the row that adds most to the inertia; how many were filled."""
        count = np.bincount(self.label, minlength=len(self.centers))
        empty = np.flatnonzero(count == 0)
        if not len(empty):
            return 0
        losses, filled = self.losses(), 0
        for j in empty:
            losses[count[self.label] == 1] = 0.0
            i = int(losses.argmax())
            # products leave rounding errors where a row equals its center
            if losses[i] <= self.rows.rounding * self.w[i] * (self.rows.square[i] + 1e-300):
                break
            count[self.label[i]] -= 1
            self.changed[[self.label[i], j]] = True
            self.label[i], count[j], losses[i] = j, 1, 0.0
            self.upper[i], self.lower[i] = np.inf, 0.0
            filled += 1
        return filled
