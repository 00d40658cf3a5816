"""K-means in the space of a kernel, where centres have no coordinates: clusters are partitions.

    ‖φ(x) − μ_j‖² = κ(x,x) − 2 · mean over j of κ(x,·) + mean over j × j of κ        (centroid)
    mean over y in j of ‖φ(x) − φ(y)‖                                                (members)

Assigning by centroids lowers the scatter at every sweep, as K-means does. Assigning by the mean
distance to members follows no such quantity and may come back to a partition it has left; it then
stops and says so. The Gram matrix is kept where it fits, and else computed again by blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats
from separatrix.similarity.kernels.base import Prepared
from separatrix.solvers.kmeans_start import drawn

Index = NDArray[np.int64]
#: Bytes of a Gram matrix that is kept between sweeps, and of one block of it.
KEPT, BLOCK = 1 << 29, 1 << 25


@dataclass(frozen=True)
class KernelPartition:
    """``labels`` of all rows; ``norms`` ‖μ_j‖² and ``mass`` by cluster; the scatter and the end."""

    labels: Index
    mass: Floats
    norms: Floats
    scatter: float
    iterations: int
    ending: str  # settled, cycle, limit
    history: Floats


class GramBlocks:
    """κ of all anchors with all anchors, some rows at a time."""

    def __init__(self, anchors: Prepared) -> None:
        self.anchors, self.n = anchors, len(anchors)
        self.diagonal = np.asarray(anchors.diagonal, dtype=float)
        self.whole = anchors.gram() if 8 * self.n**2 <= KEPT else None

    def __iter__(self) -> Iterator[tuple[slice, Floats]]:
        step = max(1, BLOCK // (8 * self.n))
        for a in range(0, self.n, step):
            rows = slice(a, min(a + step, self.n))
            yield rows, self._rows(np.arange(rows.start, rows.stop))

    def _rows(self, index: Index) -> Floats:
        return np.asarray(self.anchors.take(index) if self.whole is None else self.whole[index])

    def squares_to(self, i: int) -> Floats:
        """‖φ(x) − φ(xᵢ)‖² of all rows."""
        square = self.diagonal - 2.0 * self._rows(np.array([i]))[0] + self.diagonal[i]
        return np.asarray(np.maximum(square, 0.0))


def membership(labels: Index, weight: Floats, k: int) -> tuple[Floats, Floats]:
    """Weights of rows in the mean of their cluster (n x k), and the mass of the clusters."""
    mass = np.asarray(np.bincount(labels, weight, minlength=k), dtype=float)
    share = np.zeros((len(labels), k))
    share[np.arange(len(labels)), labels] = weight / mass[labels]
    return share, mass


def to_centroids(gram: GramBlocks, share: Floats) -> tuple[Floats, Floats]:
    """‖φ(x) − μ_j‖² for all rows and clusters, and ‖μ_j‖²."""
    towards = np.concatenate([block @ share for _, block in gram])
    norms = np.einsum("ij,ij->j", share, towards)
    return gram.diagonal[:, None] - 2.0 * towards + norms, norms


def to_members(gram: GramBlocks, share: Floats) -> tuple[Floats, Floats]:
    """Mean distance to the members of every cluster, and ‖μ_j‖²."""
    out, norms = np.empty_like(share), np.zeros(share.shape[1])
    for rows, block in gram:
        norms += np.einsum("ij,ij->j", share[rows], block @ share)
        out[rows] = kernel_distances(block, gram.diagonal[rows], gram.diagonal) @ share
    return out, norms


def kernel_distances(block: Floats, own: Floats, others: Floats) -> Floats:
    """√(κ(x,x) − 2κ(x,z) + κ(z,z)) from a block of κ and the two diagonals."""
    return np.asarray(np.sqrt(np.maximum(own[:, None] - 2.0 * block + others, 0.0)))


MEASURES: dict[str, Callable[[GramBlocks, Floats], tuple[Floats, Floats]]] = {
    "centroid": to_centroids,
    "members": to_members,
}


def kernel_sweeps(
    gram: GramBlocks, weight: Floats, start: Index, k: int, *, assign: str, max_iter: int
) -> KernelPartition:
    """Sweeps from the partition ``start`` until it stays or repeats an earlier one."""
    labels, history, ending = start, [], "limit"
    seen = {labels.tobytes()}
    for _ in range(max_iter):
        share, mass = membership(labels, weight, k)
        measured, _ = MEASURES[assign](gram, share)
        history.append(float(weight @ measured[np.arange(gram.n), labels]))
        new = _assigned(measured, mass, labels, weight)
        if np.array_equal(new, labels):
            ending = "settled"
            break
        labels = new
        if labels.tobytes() in seen:
            ending = "cycle"
            break
        seen.add(labels.tobytes())
    share, mass = membership(labels, weight, k)
    squares, norms = to_centroids(gram, share)
    own = np.maximum(squares[np.arange(gram.n), labels], 0.0)
    return KernelPartition(
        labels, mass, norms, float(weight @ own), len(history), ending, np.array(history)
    )


def _assigned(measured: Floats, mass: Floats, labels: Index, weight: Floats) -> Index:
    """Nearest clusters; a row stays where another is nearer by rounding only. None is emptied."""
    rows = np.arange(len(labels))
    measured = np.where(mass > 0, measured, np.inf)
    new = measured.argmin(axis=1)
    noise = 1e-12 * np.abs(measured[rows, labels]).max(initial=0.0)
    stays = measured[rows, labels] <= measured[rows, new] + noise
    new = np.where(stays, labels, new)
    loss = weight * measured[rows, new]
    for j in range(len(mass)):
        if not (new == j).any():
            crowd = np.bincount(new, minlength=len(mass))[new] > 1
            far = int(np.where(crowd, loss, -np.inf).argmax())
            new[far], loss[far] = j, -np.inf
    return np.asarray(new)


def spread_partition(gram: GramBlocks, weight: Floats, k: int, rng: np.random.Generator) -> Index:
    """Rows drawn far apart in the space of the kernel; every row joins the nearest of them."""
    chosen = [int(drawn(weight, rng.random(1))[0])]
    nearest, labels = gram.squares_to(chosen[0]), np.zeros(gram.n, dtype=np.int64)
    for j in range(1, k):
        pull = weight * nearest
        pull[chosen] = 0.0
        if not pull.any():
            pull = weight.copy()
            pull[chosen] = 0.0
        i = int(drawn(pull, rng.random(1))[0])
        squares = gram.squares_to(i)
        closer = squares < nearest
        closer[i] = True
        labels[closer], nearest = j, np.minimum(nearest, squares)
        chosen.append(i)
    labels[chosen] = np.arange(k)
    return labels
