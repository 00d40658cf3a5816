"""K-means, k-medoids and kernel k-means sweep by sweep: the states between start and fixed point.

    kmeans_sweeps    centers after t iterations, labels of the nearest one, Σ ‖x − c‖²
    kmedoids_sweeps  medoids after each alternation, then after each pass of swaps, Σ d(x, medoid)
    kernel_sweeps    partitions, Σ ‖φ(x) − μ‖²

The states are those of the estimators with ``n_init=1`` and the same seed, or the same start, and
the last one is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster import kmedoids
from separatrix.cluster.initialization import kernel_plusplus, lexicographic_order, seed_generator
from separatrix.cluster.kernel_kmeans import KernelKMeans
from separatrix.cluster.kernel_lloyd import GramBlocks, kernel_lloyd
from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.lloyd import lloyd, nearest_centers
from separatrix.distances.metrics import Euclidean


@dataclass(frozen=True)
class Sweep:
    """``labels`` of all rows, the ``loss``, and the ``step`` that led here from the state before.

    ``centers`` are the rows' means, or medoids; those of a kernel have no coordinates. Of medoids
    ``rows`` are the numbers.
    """

    labels: NDArray[np.integer]
    loss: float
    step: str
    centers: Floats | None = None
    rows: Ints | None = None


def kmeans_sweeps(
    z: Floats, k: int, init: Any = "k-means++", seed: int = 0, max_iter: int = 300
) -> list[Sweep]:
    """States of ``KMeans(k, init=init, n_init=1, random_state=seed)`` on the rows ``z``.

    Examples
    --------
    >>> from separatrix.cluster.sweeps import kmeans_sweeps
    >>> import numpy as np
    >>> x = np.array([[8.0], [44.0], [50.0], [58.0], [84.0]])
    >>> [round(sweep.loss) for sweep in kmeans_sweeps(x, 2, [[8.0], [44.0]])]
    [1832, 932]
    """
    weight, (_, rng) = np.ones(len(z)), seed_generator(seed)
    model = KMeans(k, init=init, n_init=1, max_iter=max_iter)
    model.standardizer_ = None
    start = model._initial_centers(z, weight, rng)[0]
    labels, squares = nearest_centers(z, start)
    sweeps = [Sweep(labels, float(squares.sum()), "start", start)]
    for t in range(1, max_iter + 1):
        full = len(np.unique(sweeps[-1].labels)) == k
        # an empty cluster is filled by what the iterations before it know: from the start again
        begin, steps = (sweeps[-1].centers, 1) if full else (start, t)
        run = lloyd(z, None, np.asarray(begin), max_iter=steps)
        if run.converged or (full and np.array_equal(run.labels, sweeps[-1].labels)):
            break
        sweeps.append(Sweep(run.labels, run.inertia, "move", run.centers))
    end = lloyd(z, None, start, max_iter=max_iter)
    last = Sweep(end.labels, end.inertia, "move", end.centers)
    settled = len(sweeps) > 1 and np.allclose(
        end.centers, np.asarray(sweeps[-1].centers), rtol=1e-12
    )
    return [*(sweeps[:-1] if settled else sweeps), last]


def medoid_distances(z: Floats) -> tuple[kmedoids.Singles, Ints]:
    """Distances of all pairs, relative to a unit, of the rows in the order that is returned."""
    order = lexicographic_order(z)
    return kmedoids.pairwise_distances(Euclidean(), z, order), order


def kmedoids_sweeps(
    z: Floats,
    distances: tuple[kmedoids.Singles, Ints],
    k: int,
    init: Any = "k-medoids++",
    seed: int = 0,
    max_iter: int = 300,
) -> list[Sweep]:
    """States of ``KMedoids(k, init=init, n_init=1, random_state=seed)`` on the rows ``z``."""
    distance, order = distances
    weight = np.ones(len(z))
    model = kmedoids.KMedoids(k, init=init, n_init=1, random_state=seed)
    medoids = model._initial_medoids(distance, weight, order, model._generator())
    sweeps = [_medoid_sweep(z, order, medoids, "start")]
    assignment = kmedoids._Assignment(distance, weight)
    for step in ("move", "swap"):
        for _ in range(max_iter):  # each step depends on the medoids alone
            before = medoids.copy()
            if step == "move":
                medoids, _, n_moved = kmedoids._alternate(assignment, medoids, 1)
            else:
                _, n_moved = kmedoids._swap(assignment, medoids, 1)
            if not np.array_equal(before, medoids):
                sweeps.append(_medoid_sweep(z, order, medoids, step))
            if n_moved:
                break
    return sweeps


def _medoid_sweep(z: Floats, order: Ints, medoids: Ints, step: str) -> Sweep:
    rows = order[medoids]
    labels, squares = nearest_centers(z, z[rows])
    labels[rows] = np.arange(len(rows))
    return Sweep(labels, float(np.sqrt(squares).sum()), step, z[rows], rows)


def kernel_sweeps(
    z: Floats, k: int, gamma: float, seed: int = 0, max_iter: int = 300
) -> list[Sweep]:
    """States of ``KernelKMeans(k, gamma=gamma, n_init=1, random_state=seed)`` on the rows ``z``."""
    model = KernelKMeans(k, gamma=gamma, n_init=1, random_state=seed)
    model._set_kernel(z)
    order, weight = lexicographic_order(z), np.ones(len(z))
    gram = GramBlocks(model.kernel_.prepare(z).subset(order))
    start = kernel_plusplus(gram, weight, k, model._generator())
    run = kernel_lloyd(gram, weight, start, k, assign="centroid", max_iter=max_iter)
    sweeps: list[Sweep] = []
    for partition, loss in run.partitions:
        labels = np.empty(len(z), dtype=np.int64)
        labels[order] = partition
        sweeps.append(Sweep(labels, loss, "move" if sweeps else "start"))
    return sweeps
