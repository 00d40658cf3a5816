"""K-means in memory by Lloyd iterations.

    minimize Σᵢ wᵢ ‖xᵢ − c_{label(i)}‖²

An iteration assigns every row to its nearest center and moves every center to the mean of its rows.
Neither step can raise the inertia, and there are finitely many partitions, so the iterations end,
in a local optimum. Sums are updated by the rows that moved, and recomputed from all rows before the
end, so that no rounding errors accumulate in the means.

Rows of a large table are read where they lie, and centered batch by batch: memory holds the table
once, and of every row a label and the bounds of its distances. Those of others are centered once.
Of wide rows there is a centered copy in single precision, up to a size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.lloyd.table import Table
from separatrix.cluster.loops import small_tables
from separatrix.rows.block import Floats, unit_weights
from separatrix.threads import one_blas_thread

#: Rows times columns times centers up to which plain distances are faster than bounds.
SMALL = 1_000_000


@dataclass(frozen=True)
class LloydResult:
    """Centers, labels (none of streamed rows) and weights of the clusters, and the inertia."""

    centers: Floats
    labels: NDArray[np.int32]
    cluster_weights: Floats
    inertia: float
    iterations: int
    converged: bool


def lloyd(
    x: Floats,
    w: Floats | None,
    start: Floats,
    *,
    max_iter: int,
    transform: Callable[[Floats], Floats] | None = None,
    origin: tuple[Floats, float] | None = None,
) -> LloydResult:
    """Lloyd iterations from the centers ``start`` (k x d) until no row moves.

    Weights must be positive; None is one for every row. Rows are taken through ``transform``
    whenever they are read. ``origin`` is what is known of :meth:`Table.origin_and_unit`.
    """
    if x.size * len(start) <= SMALL:
        return _small(x if transform is None else transform(x), w, start, max_iter)
    from separatrix.cluster.lloyd.bounded import BoundedLloyd  # compiled where it is needed
    from separatrix.cluster.lloyd.wide import MIN_COLUMNS, WideLloyd

    iterations, converged = 0, False
    with one_blas_thread():  # set once, not by every step
        kind = WideLloyd if x.shape[1] >= MIN_COLUMNS else BoundedLloyd
        state = kind(Table(x, w, transform, origin), start)
        while iterations < max_iter and not converged:
            iterations += 1
            moved = state.assign()
            state.update_centers()
            converged = not moved and state.recompute() == 0.0
        if not converged:
            state.assign()
        return LloydResult(*state.result(), iterations, converged)


def _small(x: Floats, w: Floats | None, start: Floats, max_iter: int) -> LloydResult:
    """The same iterations with every distance, in one compiled loop but for empty clusters."""
    mean, unit = Table(x, w).origin_and_unit()
    z = np.ascontiguousarray((x - mean) / unit)
    (n, d), k, tile = z.shape, len(start), small_tables.TILE
    centers, label, weight = (start - mean) / unit, np.full(n, -1, np.int32), unit_weights(w, n)
    totals = Totals(np.empty(k), np.empty((k, d)), np.empty(k, np.int64))
    work = (np.empty(n), np.empty(tile, np.int32), np.empty(tile), np.empty(tile))
    by_column = np.ascontiguousarray(z.T)
    iterations, converged = 0, False
    while not converged:
        done, moved = small_tables.lloyd(
            z, by_column, weight, centers, max_iter - iterations, label, *totals, *work
        )
        iterations += done
        if iterations == max_iter:
            break
        iterations += 1
        moved += _fill_empty_clusters(z, weight, label, work[0], totals)
        converged = moved == 0
        if not converged:
            some = totals.counts > 0
            centers[some] = totals.sums[some] / totals.weight[some, None]
    inertia = float((weight * work[0]).sum()) * unit**2
    return LloydResult(centers * unit + mean, label, totals.weight, inertia, iterations, converged)


class Totals(NamedTuple):
    """Weights, weighted sums of rows, and numbers of rows of the clusters."""

    weight: Floats
    sums: Floats
    counts: NDArray[np.int64]


def _fill_empty_clusters(
    z: Floats, weight: Floats, label: NDArray[np.int32], squares: Floats, totals: Totals
) -> int:
    """Every empty cluster gets the row that adds most to the inertia; how many were filled."""
    filled = 0
    for j in np.flatnonzero(totals.counts == 0):
        loss = np.where(totals.counts[label] > 1, weight * squares, 0.0)
        far = int(loss.argmax())
        if loss[far] > 0.0:  # else every row equals its center
            a, row = label[far], weight[far] * z[far]
            label[far], squares[far] = j, 0.0
            for total, change in zip(totals, (weight[far], row, 1), strict=True):
                total[a] -= change
                total[j] = change
            filled += 1
    return filled


def first_best(runs: list[LloydResult]) -> LloydResult:
    """The first of least inertia; runs that differ by rounding alone are equally good."""
    least = min(run.inertia for run in runs)
    return next(run for run in runs if run.inertia <= least * (1.0 + 1e-12))
