"""K-means over rows that are read again at every sweep: files, Dask, sparse matrices.

One additive statistic a sweep, :class:`~separatrix.cluster.cluster_sums.ClusterSums`; nothing is
kept of a row. The last pass is the proof for both ways to fit.
"""

from __future__ import annotations

import numpy as np

from separatrix.cluster.cluster_sums import ClusterSums
from separatrix.cluster.lloyd import Clustering
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows

#: A step below this share of the typical distance to a center is rounding.
ROUNDING = 1e-12


def lloyd_streamed(
    rows: Rows, scale: Floats, start: Floats, *, max_iter: int, tol: float, variance: float
) -> Clustering:
    """Sweeps from ``start`` (in units of ``scale``) until no center moves. Labels stay empty."""
    centers, history, settled = start, [], False
    for _ in range(max_iter):
        sums = rows.reduce(ClusterSums(centers, scale))
        new = sums.means()
        step = float(((new - centers) ** 2).sum())
        centers = new
        history.append(step)
        typical = sums.scatter / sums.mass.sum()
        settled = step <= ROUNDING**2 * (typical + variance)
        if settled or (tol > 0 and step <= tol * variance):
            break
    final = rows.reduce(ClusterSums(centers, scale))
    return Clustering(
        centers,
        np.zeros(0, dtype=np.int32),
        final.mass,
        final.scatter,
        len(history),
        settled,
        np.array(history),
    )


def certify(rows: Rows, scale: Floats, found: Clustering, variance: float) -> Certificate:
    """Nearest centers and means taken afresh from the rows, in double precision.

    ``kkt`` is the largest distance of a center from the mean of the rows nearest to it, as a share
    of the typical deviation of a row: zero exactly at the partitions where sweeps stand still.
    """
    sums = rows.reduce(ClusterSums(found.centers, scale, found.mass))
    kept = sums.mass > 0
    off = np.sqrt(((sums.shift[kept] / sums.mass[kept, None]) ** 2).sum(axis=1))
    spread = np.sqrt(variance * found.centers.shape[1]) or 1.0
    if sums.movers:
        single = (
            f"Moving one row with both means following would still help for {sums.movers} rows, "
            f"by {sums.gain:.3g} at most."
        )
    else:
        single = "Nor does moving any one row with both means following."
    notes = ["A local optimum: other starts may end lower.", single]
    if not kept.all():
        notes.append(f"{int((~kept).sum())} of the {len(kept)} clusters are empty.")
    return Certificate(
        claim="With the centers held, no reassignment lowers the scatter; centers are the means",
        primal=float(sums.scatter),
        kkt=float(off.max(initial=0.0)) / spread,
        tolerance=1e-9,
        statistic="distances in double precision, from all rows",
        notes=tuple(notes),
        promised=("kkt",),
    )
