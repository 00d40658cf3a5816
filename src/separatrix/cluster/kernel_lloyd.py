"""K-means in the feature space of a kernel, where centers have no coordinates.

    ‖φ(x) − μ_j‖² = κ(x,x) − 2 · mean over j of κ(x,·) + mean over j × j of κ        (centroid)
    mean over y in j of ‖φ(x) − φ(y)‖                                                (members)

With a Mercer kernel, assignment by centroids lowers the inertia at every iteration, as K-means
does. Assignment by the mean distance to members minimizes no such objective and may return to an
earlier partition, and so may any assignment with an indefinite kernel; the iterations then stop.
The Gram matrix is stored where it fits, and else computed again by blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.kernels.base import PreparedKernel

#: Bytes of a Gram matrix that is stored between iterations, and of one block of it.
MAX_STORED, BLOCK = 1 << 29, 1 << 25
ASSIGNMENTS = ("centroid", "members")


class KernelLloydStatus(StrEnum):
    """How the iterations ended."""

    CONVERGED = "converged"
    CYCLE = "cycle"
    MAX_ITER = "max_iter"


@dataclass(frozen=True)
class KernelPartition:
    """``labels`` of all rows; ``norms`` ‖μ_j‖² by cluster; ``inertia`` and the ``status``."""

    labels: Ints
    norms: Floats
    inertia: float
    iterations: int
    status: KernelLloydStatus
    history: Floats
    visited: dict[bytes, float]

    @property
    def partitions(self) -> list[tuple[Ints, float]]:
        """Labels and objective of every partition of the iterations, from the start on."""
        return [(np.frombuffer(labels, self.labels.dtype), v) for labels, v in self.visited.items()]


class GramBlocks:
    """The Gram matrix of the training rows, some rows at a time."""

    def __init__(self, prepared: PreparedKernel) -> None:
        self.prepared, self.n = prepared, len(prepared)
        self.diagonal = np.asarray(prepared.diagonal, dtype=float)
        self.whole = prepared.gram() if 8 * self.n**2 <= MAX_STORED else None

    def __iter__(self) -> Iterator[tuple[slice, Floats]]:
        step = max(1, BLOCK // (8 * self.n))
        for a in range(0, self.n, step):
            part = slice(a, min(a + step, self.n))
            whole = self.whole
            yield part, self.rows(np.arange(self.n)[part]) if whole is None else whole[part]

    def rows(self, index: Ints) -> Floats:
        """κ of some training rows with all."""
        return np.asarray(self.prepared.take(index) if self.whole is None else self.whole[index])

    def squared_distances(self, i: int) -> Floats:
        """‖φ(x) − φ(xᵢ)‖² of all rows, at least 0."""
        square = self.diagonal - 2.0 * self.rows(np.array([i]))[0] + self.diagonal[i]
        return np.asarray(np.maximum(square, 0.0))


def mean_weights(labels: Ints, weight: Floats, k: int) -> Floats:
    """Weights of rows in the mean of their cluster (n x k)."""
    total = np.asarray(np.bincount(labels, weight, minlength=k), dtype=float)
    weights = np.zeros((len(labels), k))
    weights[np.arange(len(labels)), labels] = weight / total[labels]
    return weights


def kernel_distances(block: Floats, self_products: Floats, others: Floats) -> Floats:
    """√(κ(x,x) − 2κ(x,z) + κ(z,z)) from a block of κ and the two diagonals."""
    return np.asarray(np.sqrt(np.maximum(self_products[:, None] - 2.0 * block + others, 0.0)))


class _ClusterSums:
    """Σ w m(x, z) over the members z of every cluster, with m = κ or the distance from it.

    A row that moves takes its terms from one sum to another, so that an iteration costs a column of
    the Gram matrix for every row that moved and not the whole of it.
    """

    def __init__(self, gram: GramBlocks, weight: Floats, k: int, assign: str) -> None:
        self.gram, self.weight, self.k, self.assign = gram, weight, k, assign

    def recompute(self, labels: Ints) -> None:
        """All sums from all pairs."""
        membership = np.zeros((self.gram.n, self.k))
        membership[np.arange(self.gram.n), labels] = self.weight
        self.labels, self.exact = labels, True
        self.sums = np.concatenate(
            [self._terms(block, rows) @ membership for rows, block in self.gram]
        )

    def update(self, labels: Ints) -> None:
        """The sums after some rows moved."""
        moved = np.flatnonzero(labels != self.labels)
        # Where more than this fraction of the rows moved, sums are recomputed.
        if len(moved) > 0.3 * self.gram.n:
            return self.recompute(labels)
        for rows in np.array_split(moved, max(1, -(-8 * len(moved) * self.gram.n // BLOCK))):
            change = np.zeros((len(rows), self.k))
            here = np.arange(len(rows))
            change[here, labels[rows]] += self.weight[rows]
            change[here, self.labels[rows]] -= self.weight[rows]
            self.sums += self._terms(self.gram.rows(rows), rows).T @ change
        self.labels, self.exact = labels, not len(moved) and self.exact
        return None

    def _terms(self, block: Floats, rows: Ints | slice) -> Floats:
        if self.assign == "centroid":
            return block
        return kernel_distances(block, self.gram.diagonal[rows], self.gram.diagonal)

    def distances(self) -> tuple[Floats, Floats, Floats]:
        """Distances of rows to clusters (centroids: squared), ‖μ‖² or zeros, cluster weights."""
        total = np.bincount(self.labels, self.weight, minlength=self.k).astype(float)
        means = self.sums / np.where(total > 0, total, 1.0)
        norms = np.zeros(self.k)
        if self.assign == "centroid":
            mean = means[np.arange(self.gram.n), self.labels]
            norms += np.bincount(self.labels, self.weight * mean, minlength=self.k)
            norms /= np.where(total > 0, total, 1.0)
            means = self.gram.diagonal[:, None] - 2.0 * means + norms
        return means, norms, total


def kernel_lloyd(
    gram: GramBlocks, weight: Floats, start: Ints, k: int, *, assign: str, max_iter: int
) -> KernelPartition:
    """Iterations from the partition ``start`` until it is unchanged or repeats an earlier one."""
    history, status = [], KernelLloydStatus.MAX_ITER
    visited = {start.tobytes(): np.nan}
    sums = _ClusterSums(gram, weight, k, assign)
    sums.recompute(start)
    rows = np.arange(gram.n)
    for _ in range(max_iter):
        distances, _, total = sums.distances()
        history.append(float(weight @ distances[rows, sums.labels]))
        visited[sums.labels.tobytes()] = history[-1]
        new = _assign(distances, total, sums.labels, weight)
        if np.array_equal(new, sums.labels):
            if sums.exact:
                status = KernelLloydStatus.CONVERGED
                break
            sums.recompute(new)  # without the rounding errors of many updates
            continue
        sums.update(new)
        if new.tobytes() in visited:
            status = KernelLloydStatus.CYCLE
            break
        visited[new.tobytes()] = np.nan
    return _result(sums, np.array(history), status, visited)


def _result(
    sums: _ClusterSums, history: Floats, status: KernelLloydStatus, visited: dict[bytes, float]
) -> KernelPartition:
    gram, weight, labels = sums.gram, sums.weight, sums.labels
    if sums.assign != "centroid" or not sums.exact:
        sums = _ClusterSums(gram, weight, sums.k, "centroid")
        sums.recompute(labels)
    squares, norms, _ = sums.distances()
    inertia = float(weight @ squares[np.arange(gram.n), labels])
    if np.isnan(visited[labels.tobytes()]):
        visited[labels.tobytes()] = inertia
    return KernelPartition(labels, norms, inertia, len(history), status, history, visited)


def _assign(distances: Floats, total: Floats, labels: Ints, weight: Floats) -> Ints:
    """Nearest clusters; a row stays where another is nearer by rounding only. None is emptied."""
    rows = np.arange(len(labels))
    distances = np.where(total > 0, distances, np.inf)
    new = distances.argmin(axis=1)
    noise = 1e-12 * np.abs(distances[rows, labels]).max(initial=0.0)
    stays = distances[rows, labels] <= distances[rows, new] + noise
    new = np.where(stays, labels, new)
    loss = weight * distances[rows, new]
    for j in range(len(total)):
        if not (new == j).any():
            several = np.bincount(new, minlength=len(total))[new] > 1
            far = int(np.where(several, loss, -np.inf).argmax())
            new[far], loss[far] = j, -np.inf
    return np.asarray(new)


def reassignment_gain(gram: GramBlocks, weight: Floats, labels: Ints, k: int, assign: str) -> float:
    """By how much the best reassignment of a row lowers its distance, clusters held fixed.

    Recomputed block by block from the definition, relative to the largest distance of a row to its
    own cluster; differences that rounding of the Gram matrix explains count as zero.
    """
    weights = mean_weights(labels, weight, k)
    norms = np.zeros(k)
    if assign == "centroid":
        for rows, block in gram:
            norms += ((block @ weights) * weights[rows]).sum(axis=0)
    gain, largest = 0.0, 0.0
    for rows, block in gram:
        if assign == "centroid":
            diagonal = gram.diagonal[rows]
            distances = diagonal[:, None] - 2.0 * (block @ weights) + norms
        else:
            distances = kernel_distances(block, gram.diagonal[rows], gram.diagonal) @ weights
        current = distances[np.arange(len(distances)), labels[rows]]
        gain = max(gain, float((current - distances.min(axis=1)).max()))
        largest = max(largest, float(np.abs(current).max()))
    scale = float(np.abs(gram.diagonal).max())
    noise = 1e-13 * (scale if assign == "centroid" else np.sqrt(scale))
    return (gain - noise) / largest if gain > noise else 0.0
