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
    """The same iterations with every distance, in one compiled loop."""
    mean, unit = Table(x, w).origin_and_unit()
    z = np.ascontiguousarray((x - mean) / unit)
    (n, d), k, tile = z.shape, len(start), small_tables.TILE
    centers, label = (start - mean) / unit, np.full(n, -1, dtype=np.int32)
    cluster_weights = np.empty(k)
    work = (np.empty((k, d)), np.empty(k, np.int64), np.empty(n), np.empty(tile, np.int32))
    iterations, converged, inertia = small_tables.lloyd(
        z, np.ascontiguousarray(z.T), unit_weights(w, n), centers, max_iter, label, cluster_weights,
        *work, np.empty(tile),
    )  # fmt: skip
    inertia *= unit**2
    return LloydResult(
        centers * unit + mean, label, cluster_weights, inertia, iterations, converged
    )


def first_best(runs: list[LloydResult]) -> LloydResult:
    """The first of least inertia; runs that differ by rounding alone are equally good."""
    least = min(run.inertia for run in runs)
    return next(run for run in runs if run.inertia <= least * (1.0 + 1e-12))
